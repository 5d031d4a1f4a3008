// Scalar systems by Thomas, a thread each, the system index fastest, the factors on the chip: no memory traffic but the
// data's own. C' and f' of row i of a thread at (2 i) THREADS and (2 i + 1) THREADS; AHEAD rows are loaded at once.
extern "C" __global__ void __launch_bounds__(THREADS) thomas_scalar(WholeLines) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *factors = reinterpret_cast<T *>(memory) + threadIdx.x;
    const int own = blockIdx.x * THREADS + threadIdx.x;
    const long long step = systems;
    const long long s = own < systems ? own : systems - 1;
    T c = 0, f = 0;
    S a[AHEAD], b[AHEAD], u[AHEAD], g[AHEAD];
    auto load = [&](int first) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = first + k < rows ? first + k : rows - 1;
            const long long at = (long long)i * step + s;
            a[k] = lower[at]; b[k] = diag[at]; u[k] = upper[at]; g[k] = rhs[at];
        }
    };
    load(0);
    a[0] = 0;
    for (int first = 0; first < rows; first += AHEAD) {
        S a0[AHEAD], b0[AHEAD], u0[AHEAD], g0[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) { a0[k] = a[k]; b0[k] = b[k]; u0[k] = u[k]; g0[k] = g[k]; }
        if (first + AHEAD < rows) load(first + AHEAD);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = first + k;
            if (i < rows) {
                const T pivot = reciprocal(T(b0[k]) - T(a0[k]) * c);
                f = (T(g0[k]) - T(a0[k]) * f) * pivot;
                c = i + 1 < rows ? T(u0[k]) * pivot : T(0);
                factors[2 * i * THREADS] = c;
                factors[(2 * i + 1) * THREADS] = f;
            }
        }
    }
    bool fine = true;
    T below = 0;
#pragma unroll 8
    for (int i = rows - 1; i >= 0; i--) {
        below = factors[(2 * i + 1) * THREADS] - factors[2 * i * THREADS] * below;
        fine = fine && finite(below);
        if (own < systems) x[(long long)i * step + s] = S(below);
    }
    if (!fine && own < systems) atomicMin(bad, own);
}
