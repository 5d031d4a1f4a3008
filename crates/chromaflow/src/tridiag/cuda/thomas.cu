// Thomas, one thread a system; entry e of row i of system s at (i * width + e) * systems + s.
//
// Rows stream through shared memory, STAGES - 1 ahead, each thread copying and reading its own; C' goes to `factors`
// (in the order of C), f' to `values` (in that of x), which is x itself where both have one type.

#define WIDTH (3 * Q + NB)

// Numbers of a thread in shared memory.
template <class V> struct Slots {
    const V *first;
    __device__ T operator[](int e) const { return T(first[e * THREADS]); }
};

extern "C" __global__ void __launch_bounds__(THREADS) thomas_thread(Thomas) {
    extern __shared__ __align__(16) unsigned char memory[];
    S *stage = reinterpret_cast<S *>(memory) + threadIdx.x;
    T *stage_back = reinterpret_cast<T *>(memory) + threadIdx.x;
    const int own = blockIdx.x * THREADS + threadIdx.x;
    const long long step = systems;
    const long long s = own < systems ? own : systems - 1;
    auto slot = [&](int k, int e) { return stage + ((k % STAGES) * WIDTH + e) * THREADS; };
    // A row of the way back has Q + NB numbers: no more bytes than one of the way out.
    auto slot_back = [&](int k, int e) { return stage_back + ((k % STAGES) * (Q + NB) + e) * THREADS; };
    auto fetch = [&](int i) {
        if (i < rows) {
            const S *a = lower + (long long)i * Q * step + s, *b = diag + (long long)i * Q * step + s;
            const S *c = upper + (long long)i * Q * step + s, *f = rhs + (long long)i * NB * step + s;
#pragma unroll
            for (int e = 0; e < Q; e++) {
                copy_async(slot(i, e), a + e * step);
                copy_async(slot(i, Q + e), b + e * step);
                copy_async(slot(i, 2 * Q + e), c + e * step);
            }
#pragma unroll
            for (int e = 0; e < NB; e++) copy_async(slot(i, 3 * Q + e), f + e * step);
        }
        copy_commit();
    };
    for (int i = 0; i < STAGES - 1; i++) fetch(i);
    T cp[Q], fp[NB];
#pragma unroll
    for (int e = 0; e < Q; e++) cp[e] = 0;
#pragma unroll
    for (int e = 0; e < NB; e++) fp[e] = 0;
    for (int i = 0; i < rows; i++) {
        fetch(i + STAGES - 1);
        copy_wait<STAGES - 1>();
        T b[Q], v[NB];
#pragma unroll
        for (int e = 0; e < Q; e++) b[e] = T(*slot(i, Q + e));
#pragma unroll
        for (int e = 0; e < NB; e++) v[e] = T(*slot(i, 3 * Q + e));
        if (i > 0) eliminate_behind<NB, -1>(Slots<S>{slot(i, 0)}, cp, fp, b, v);
        factor<NB>(b);
        solve<NB>(b, v);
#pragma unroll
        for (int e = 0; e < NB; e++) {
            fp[e] = v[e];
            if (own < systems) values[((long long)i * NB + e) * step + s] = v[e];
        }
        if (i + 1 < rows) {
#pragma unroll
            for (int c = 0; c < NB; c++) {
#pragma unroll
                for (int r = 0; r < NB; r++) v[r] = T(*slot(i, 2 * Q + c * NB + r));
                solve<NB>(b, v);
#pragma unroll
                for (int r = 0; r < NB; r++) {
                    cp[c * NB + r] = v[r];
                    if (own < systems) factors[((long long)i * Q + c * NB + r) * step + s] = v[r];
                }
            }
        }
    }
    copy_wait<0>();
#pragma unroll
    for (int e = 0; e < NB; e++)
        if (own < systems) x[((long long)(rows - 1) * NB + e) * step + s] = S(fp[e]);
    // Back-substitution: fp is the solution of the row below.
    auto back = [&](int i) {
        if (i >= 0) {
#pragma unroll
            for (int e = 0; e < Q; e++) copy_async(slot_back(i, e), factors + ((long long)i * Q + e) * step + s);
#pragma unroll
            for (int e = 0; e < NB; e++) copy_async(slot_back(i, Q + e), values + ((long long)i * NB + e) * step + s);
        }
        copy_commit();
    };
    bool fine = true;
#pragma unroll
    for (int e = 0; e < NB; e++) fine = fine && finite(fp[e]);
    // Where sums are wider than arrays, the numbers of the way back lie where other threads' rows lay.
    if (sizeof(S) != sizeof(T)) __syncthreads();
    for (int k = 0; k < STAGES - 1; k++) back(rows - 2 - k);
    for (int i = rows - 2; i >= 0; i--) {
        back(i - (STAGES - 1));
        copy_wait<STAGES - 1>();
        T v[NB];
#pragma unroll
        for (int e = 0; e < NB; e++) v[e] = *slot_back(i, Q + e);
        add_product<NB, -1>(Slots<T>{slot_back(i, 0)}, fp, v);
#pragma unroll
        for (int e = 0; e < NB; e++) {
            fp[e] = v[e];
            fine = fine && finite(v[e]);
            if (own < systems) x[((long long)i * NB + e) * step + s] = S(v[e]);
        }
    }
    if (!fine && own < systems) atomicMin(bad, own);
}
