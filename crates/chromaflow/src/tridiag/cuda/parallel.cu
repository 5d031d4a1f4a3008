// Parallel cyclic reduction, one thread block a system: a thread a row, which it holds; the neighbours' normalized rows
// are read from shared memory.

#define PQ (Q | 1)      // odd strides keep rows in different banks
#define PV (NB | 1)

extern "C" __global__ void __launch_bounds__(THREADS) parallel_cyclic_reduction(WholeLines) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *na = reinterpret_cast<T *>(memory), *nc = na + rows * PQ, *nf = nc + rows * PQ;
    const int i = threadIdx.x;
    const bool live = i < rows;
    const long long at = (long long)blockIdx.x * rows + (live ? i : rows - 1);
    T a[Q], b[Q], c[Q], f[NB];
#pragma unroll
    for (int e = 0; e < Q; e++) {
        a[e] = i > 0 ? T(lower[at * Q + e]) : T(0);
        b[e] = T(diag[at * Q + e]);
        c[e] = i + 1 < rows ? T(upper[at * Q + e]) : T(0);
    }
#pragma unroll
    for (int r = 0; r < NB; r++) f[r] = T(rhs[at * NB + r]);
    for (int s = 1; s < rows; s *= 2) {
        if (live) {
            T lu[Q], v[NB];
#pragma unroll
            for (int e = 0; e < Q; e++) lu[e] = b[e];
            factor<NB>(lu);
#pragma unroll
            for (int j = 0; j < 2 * NB + 1; j++) {
                T *to = j < NB ? na + i * PQ + j * NB : j < 2 * NB ? nc + i * PQ + (j - NB) * NB : nf + i * PV;
#pragma unroll
                for (int r = 0; r < NB; r++)
                    v[r] = j < NB ? a[j % NB * NB + r] : j < 2 * NB ? c[j % NB * NB + r] : f[r];
                solve<NB>(lu, v);
#pragma unroll
                for (int r = 0; r < NB; r++) to[r] = v[r];
            }
        }
        __syncthreads();
        // b and f lose both neighbours; the couplings reach twice as far.
        auto absorb = [&](T(&own)[Q], const T *same, const T *other, int j) {
            T far[Q];
#pragma unroll
            for (int col = 0; col < NB; col++) {
                T v[NB];
#pragma unroll
                for (int r = 0; r < NB; r++) v[r] = 0;
#pragma unroll
                for (int k = 0; k < NB; k++) {
                    const T w = same[j * PQ + col * NB + k], o = other[j * PQ + col * NB + k];
#pragma unroll
                    for (int r = 0; r < NB; r++) {
                        v[r] -= own[k * NB + r] * w;
                        b[col * NB + r] -= own[k * NB + r] * o;
                    }
                }
#pragma unroll
                for (int r = 0; r < NB; r++) far[col * NB + r] = v[r];
            }
#pragma unroll
            for (int k = 0; k < NB; k++)
#pragma unroll
                for (int r = 0; r < NB; r++) f[r] -= own[k * NB + r] * nf[j * PV + k];
#pragma unroll
            for (int e = 0; e < Q; e++) own[e] = far[e];
        };
        if (live && i >= s) absorb(a, na, nc, i - s);
        if (live && i + s < rows) absorb(c, nc, na, i + s);
        __syncthreads();
    }
    if (!live) return;
    factor<NB>(b);
    solve<NB>(b, f);
    bool fine = true;
#pragma unroll
    for (int r = 0; r < NB; r++) {
        fine = fine && finite(f[r]);
        x[at * NB + r] = S(f[r]);
    }
    if (!fine) atomicMin(bad, (int)blockIdx.x);
}
