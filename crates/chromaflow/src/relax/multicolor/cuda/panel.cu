// Multicolor sweep with one thread block per row: for block sizes at which one row fills a thread block.
//
// Constants: NB block size; THREADS, at least NB and such that 2 THREADS is a multiple of NB; UB loads a thread has in flight; MINB;
// DEARLY; NATURAL rows start where the assembled matrix has them (16-byte aligned blocks), otherwise at `start`;
// MODE 0 sweep, 1 residual.
//
// A row's blocks are one run of columns of NB values, streamed as 16-byte vectors of VEC values. As VEC THREADS is a multiple of
// NB, a thread meets the same VEC block rows at every step, VEC THREADS / NB columns further on; where NB is no multiple of VEC a
// vector may end one column and begin the next, at the same place every time.
// Twin: ../reference.rs.
#define VEC (16 / STORED)
#define STEP (VEC * THREADS / NB)              // columns a step
#define DSTRIDE (NB * NB + (NB * NB) % 2)  // doubles between inverse diagonals
#define KD ((NB * NB / 2 + (NB * NB) % 2 + THREADS - 1) / THREADS)
#define KEEP_D (KD <= 8)

// The sum over g of part[g * NB + i] for thread i < NB, G terms, in a fixed order; all threads call it.
template <int G, typename A>
__device__ __forceinline__ A sum_columns(A* part) {
    constexpr int H = THREADS / NB;
    const int t = threadIdx.x;
    __syncthreads();
    A sum = 0;
    if (G > 8 && H > 1) {
        if (t < H * NB) {
            for (int g = t / NB; g < G; g += H) sum += part[g * NB + t % NB];
        }
        __syncthreads();
        if (t < H * NB) part[t] = sum;
        __syncthreads();
        sum = 0;
        if (t < NB) {
#pragma unroll
            for (int h = 0; h < (H > 1 ? H : 1); h++) sum += part[h * NB + t];
        }
    } else if (t < NB) {
        for (int g = 0; g < G; g++) sum += part[g * NB + t];
    }
    return sum;
}

extern "C" __global__ void __launch_bounds__(THREADS, MINB)
panel(u32 first, const u32* __restrict__ row_ptr, const u32* __restrict__ start, const char* __restrict__ values,
      const u32* __restrict__ index, const double* __restrict__ dinv, const double* __restrict__ b, const Sum* x, Sum* x_out,
      const float* __restrict__ unscale, u32 unscale_stride, double omega, const int* stop
#if MODE == 1
      , const double* __restrict__ diag, double* r_out, double* partials
#endif
) {
    __shared__ Sum part[VEC * THREADS];
    __shared__ double part_d[2 * THREADS];
    __shared__ double rs[NB];
    const u32 t = threadIdx.x, row = first + blockIdx.x;
    const u32 lo = row_ptr[row], blocks = row_ptr[row + 1] - lo;
    const u32 total = blocks * (NB * NB), vectors = (total + VEC - 1) / VEC, columns = blocks * NB;
    const char* v = values + (NATURAL ? (u64)lo * (NB * NB * STORED) : (u64)start[row] * 16);
    const u32* ix = index + lo;

    const u32 top = t * VEC % NB;                 // block row of this thread's first value
    const bool wraps = NB % VEC != 0 && top + VEC > NB;
    const double* di = dinv + (u64)row * DSTRIDE;
    double d[KEEP_D ? KD : 1][2];
#define LOAD_D \
    if (MODE == 0 && KEEP_D) { \
        _Pragma("unroll") for (int k = 0; k < KD; k++) \
            if (t + k * THREADS < DSTRIDE / 2) load_2f64(d[k], di + 2 * (t + k * THREADS)); \
    }
    Sum acc[VEC];
#pragma unroll
    for (int e = 0; e < VEC; e++) acc[e] = 0;
    if (DEARLY) { LOAD_D }

    bool waited = false;
    u32 column = t * VEC / NB;
    for (u32 at = t; at < vectors || !waited;) {
        u32 w[UB][4], col0[UB], col1[UB];
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) load16(w[u], v + (u64)(at + u * THREADS) * 16);
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) {
                const u32 j = column + u * STEP, kb = j / NB;
                col0[u] = load_index(ix + kb) * NB + (j - kb * NB);
                if (wraps) {
                    // The last vector of a row may end behind its last column, with zeros.
                    const u32 j1 = j + 1 < columns ? j + 1 : j, kb1 = j1 / NB;
                    col1[u] = load_index(ix + kb1) * NB + (j1 - kb1 * NB);
                }
            }
        if (!waited) {
            launch_dependents();
            wait_for_predecessors();
            if (stop && *(volatile const int*)stop) return;
            waited = true;
        }
        Sum x0[UB], x1[UB];
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) {
                x0[u] = load_x(x + col0[u]);
                x1[u] = wraps ? load_x(x + col1[u]) : x0[u];
            }
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) {
#pragma unroll
                for (int e = 0; e < VEC; e++)
                    acc[e] += element(w[u], e) * (NB % VEC != 0 && top + e >= NB ? x1[u] : x0[u]);
            }
        at += UB * THREADS;
        column += UB * STEP;
    }
    if (!DEARLY) { LOAD_D }
    const double back = unscale ? unscale[(u64)row * unscale_stride] : 1.0;
    const double bi = t < NB && b ? b[(u64)row * NB + t] : 0;
#pragma unroll
    for (int e = 0; e < VEC; e++) part[t * VEC + e] = acc[e];
    const Sum sum = sum_columns<STEP>(part);
#if MODE == 0
    if (t < NB) rs[t] = bi - back * (double)sum;
    __syncthreads();
    double p[2] = {0, 0};
    const u32 wrap = 2 * t % NB + 1 == NB;  // the second of a pair begins the next column
    if (KEEP_D) {
#pragma unroll
        for (int k = 0; k < KD; k++)
            if (t + k * THREADS < DSTRIDE / 2) {
                const u32 j = 2 * (t + k * THREADS) / NB;
                p[0] += d[k][0] * rs[j];
                if (2 * (t + k * THREADS) + 1 < NB * NB) p[1] += d[k][1] * rs[j + wrap];
            }
    } else {
        for (u32 at = t; at < DSTRIDE / 2; at += THREADS) {
            double two[2];
            load_2f64(two, di + 2 * at);
            const u32 j = 2 * at / NB;
            p[0] += two[0] * rs[j];
            if (2 * at + 1 < NB * NB) p[1] += two[1] * rs[j + wrap];
        }
    }
    part_d[2 * t] = p[0], part_d[2 * t + 1] = p[1];
    double xi = sum_columns<2 * THREADS / NB>(part_d);
    if (t < NB) {
        const u64 at = (u64)row * NB + t;
        if (omega != 1.0) {
            const double old = load_x(x + at);
            xi = old + omega * (xi - old);
        }
        x_out[at] = (Sum)xi;
    }
#else
    double res = 0;
    if (t < NB) {
        double ax = back * (double)sum;
        const double* block = diag + (u64)row * (NB * NB) + t;
        for (int l = 0; l < NB; l++) ax += block[l * NB] * (double)load_x(x + (u64)row * NB + l);
        res = b ? bi - ax : ax;
        if (r_out) r_out[(u64)row * NB + t] = res;
    }
    if (partials) block_sum_to(res * res, partials + blockIdx.x);
#endif
}
