// Multicolor sweep with one thread block per row: for block sizes at which one row fills a thread block.
//
// Constants: NB block size; LD rows of a stored column, NB rounded up to whole vectors of 16 bytes; THREADS, a
// multiple of LD / 2; UB loads a thread has in flight; MINB; DEARLY; MODE 0 sweep, 1 residual.
//
// A row's blocks are one run of columns of LD values (zeros behind the first NB), streamed as vectors of VEC values. As
// VEC THREADS is a multiple of LD, a thread meets the same VEC block rows at every step, VEC THREADS / LD columns
// further on. The inverse diagonal lies alike, as pairs of doubles. Twin: ../reference.rs.
#define VEC (16 / STORED)
#define STEP (VEC * THREADS / LD)  // columns a step
#define DSTRIDE (NB * LD)          // doubles between inverse diagonals
#define KD ((DSTRIDE / 2 + THREADS - 1) / THREADS)
#define KEEP_D (KD <= 8)

// The sum over g of part[g * LD + i] for thread i < LD, G terms, in a fixed order; all threads call it.
template <int G, typename A>
__device__ __forceinline__ A sum_columns(A* part) {
    constexpr int H = THREADS / LD;
    const int t = threadIdx.x;
    __syncthreads();
    A sum = 0;
    if (G > 8 && H > 1) {
        if (t < H * LD) {
            for (int g = t / LD; g < G; g += H) sum += part[g * LD + t % LD];
        }
        __syncthreads();
        if (t < H * LD) part[t] = sum;
        __syncthreads();
        sum = 0;
        if (t < NB) {
#pragma unroll
            for (int h = 0; h < (H > 1 ? H : 1); h++) sum += part[h * LD + t];
        }
    } else if (t < NB) {
        for (int g = 0; g < G; g++) sum += part[g * LD + t];
    }
    return sum;
}

#if MODE == 1
#define ARGUMENTS PanelProduct
#else
#define ARGUMENTS PanelSweep
#endif
extern "C" __global__ void __launch_bounds__(THREADS, MINB) panel(ARGUMENTS) {
    __shared__ Sum part[VEC * THREADS];
    __shared__ double part_d[2 * THREADS];
    __shared__ double rs[NB];
    const u32 t = threadIdx.x, row = first + blockIdx.x;
    const u32 lo = row_ptr[row], blocks = row_ptr[row + 1] - lo;
    const u32 vectors = blocks * (NB * LD / VEC);
    const char* v = values + (u64)lo * (NB * LD * STORED);
    const u32* ix = index + lo;
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
    u32 column = t * VEC / LD;
    for (u32 at = t; at < vectors || !waited;) {
        u32 w[UB][4], col[UB];
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) load16(w[u], v + (u64)(at + u * THREADS) * 16);
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) {
                const u32 j = column + u * STEP, kb = j / NB;
                col[u] = load_index(ix + kb) * NB + (j - kb * NB);
            }
        if (!waited) {
            launch_dependents();
            wait_for_predecessors();
            if (stop && *(volatile const int*)stop) return;
            waited = true;
        }
        Sum xv[UB];
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) xv[u] = load_x(x + col[u]);
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (at + u * THREADS < vectors) {
#pragma unroll
                for (int e = 0; e < VEC; e++) acc[e] += element(w[u], e) * xv[u];
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
    // The rows of a pair behind NB hold zeros and go into sums that nobody reads.
    if (KEEP_D) {
#pragma unroll
        for (int k = 0; k < KD; k++)
            if (t + k * THREADS < DSTRIDE / 2) {
                const double rj = rs[2 * (t + k * THREADS) / LD];
                p[0] += d[k][0] * rj, p[1] += d[k][1] * rj;
            }
    } else {
        for (u32 at = t; at < DSTRIDE / 2; at += THREADS) {
            double two[2];
            load_2f64(two, di + 2 * at);
            const double rj = rs[2 * at / LD];
            p[0] += two[0] * rj, p[1] += two[1] * rj;
        }
    }
    part_d[2 * t] = p[0], part_d[2 * t + 1] = p[1];
    double xi = sum_columns<2 * THREADS / LD>(part_d);
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
