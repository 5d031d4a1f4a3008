// The factorization of large blocks: a thread block a cell, a warp a tile of 8 x 8 entries, products by the tensor
// cores. A tile of cells is a single column (TJ = TK = 1).
#define SIDE ((NB + 7) / 8)
#define FACTOR_THREADS (SIDE * SIDE * 32)
#define STRIDE ((NB + 3) / 8 * 8 + 4)  // columns of blocks in shared memory: 4 mod 8, so that fragments meet all banks
#define SPACED (NB * STRIDE)
#define SMALL_STRIDE 12                // of a tile
#define TILE_SPACED (8 * SMALL_STRIDE)
#define PER_THREAD ((Q + FACTOR_THREADS - 1) / FACTOR_THREADS)
#define CHUNKS (7 * Q / VEC)
#define INVERSION ((2 * SIDE + 1) * TILE_SPACED)

// Two neighboring entries of a row of a result: lane l has row l / 4 and columns 2 (l % 4) and the next one.
struct Pair {
    double a, b;
};
// c += a b, an 8 x 4 times a 4 x 8 matrix, by a warp.
__device__ __forceinline__ void multiply_add(Pair& c, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c.a), "+d"(c.b)
        : "d"(a), "d"(b));
}
__device__ __forceinline__ double over_row(double v) {
    v += __shfl_xor_sync(EVERYONE, v, 1);
    return v + __shfl_xor_sync(EVERYONE, v, 2);
}
// c += A B for the tile of rows from `row` on and columns from `column` on: A and B with columns STRIDE apart.
__device__ __forceinline__ void multiply_tile(Pair& c, const double* a, const double* b, u32 row, u32 column,
                                              u32 lane) {
    const u32 m = lane % 4, r = row + lane / 4, v = column + lane / 4;
#pragma unroll
    for (int h = 0; h < (NB + 3) / 4; h++) {
        const u32 k = 4 * h + m;
        multiply_add(c, k < NB && r < NB ? a[k * STRIDE + r] : 0.0, k < NB && v < NB ? b[v * STRIDE + k] : 0.0);
    }
}
// A tile in the registers of a warp is inverted in place, two rows at a time.
__device__ __forceinline__ void invert_tile(Pair& a, u32 lane) {
    const int own = lane & ~3, m = lane % 4, row = lane / 4;
#pragma unroll
    for (int n = 0; n < 8; n += 2) {
        const int first = 4 * n + n / 2, second = first + 4;
        const double p00 = shfl(a.a, first), p01 = shfl(a.b, first), p10 = shfl(a.a, second), p11 = shfl(a.b, second);
        double f0 = shfl(a.a, own + n / 2), f1 = shfl(a.b, own + n / 2);
        Pair v0 = {shfl(a.a, 4 * n + m), shfl(a.b, 4 * n + m)},
             v1 = {shfl(a.a, 4 * n + 4 + m), shfl(a.b, 4 * n + 4 + m)};
        const double scale = reciprocal(fma(p00, p11, -(p01 * p10)));
        if (row == n) f0 = -1, f1 = 0;
        if (row == n + 1) f0 = 0, f1 = -1;
        if (row / 2 == n / 2 || m == n / 2) a.a = 0, a.b = 0;
        if (m == n / 2) v0.a = 1, v0.b = 0, v1.a = 0, v1.b = 1;
        const double g0 = fma(f0, p11, -(f1 * p10)), g1 = fma(f1, p00, -(f0 * p01));
        a.a = fma(-fma(g0, v0.a, g1 * v1.a), scale, a.a), a.b = fma(-fma(g0, v0.b, g1 * v1.b), scale, a.b);
    }
}
// A tile in shared memory, column by column: written, read as a left factor's half h, read as a right factor's half h.
__device__ __forceinline__ void keep_tile(double* to, Pair v, u32 lane) {
    double* at = to + 2 * (lane % 4) * SMALL_STRIDE + lane / 4;
    at[0] = v.a, at[SMALL_STRIDE] = v.b;
}
__device__ __forceinline__ double left_half(const double* tile, int h, u32 lane) {
    return tile[(4 * h + lane % 4) * SMALL_STRIDE + lane / 4];
}
__device__ __forceinline__ double right_half(const double* tile, int h, u32 lane) {
    return tile[lane / 4 * SMALL_STRIDE + 4 * h + lane % 4];
}

extern "C" __global__ void __launch_bounds__(FACTOR_THREADS, 1) pencil_factor(FactorTiles) {
    double* const stages = (double*)shared_memory;    // [2][7][SPACED]
    double* const inverses = stages + 14 * SPACED;    // [3][SPACED]: of the neighbors in k, j, i
    double* const products = inverses + 3 * SPACED;   // [3][SPACED]
    double* const inversion = products + 3 * SPACED;  // [2][INVERSION]
    double* const sums = inversion + 2 * INVERSION;   // [2][SIDE][8 SIDE]
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32, ti = warp / SIDE, tj = warp % SIDE;
    const u32 row = 8 * ti + lane / 4, column = 8 * tj + 2 * (lane % 4);
    const bool has_a = row < NB && column < NB, has_b = row < NB && column + 1 < NB;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        const u32 start = t.first + t.ni * (t.j0 + t.nj * t.k0), step_j = t.ni, step_k = t.ni * t.nj;
        const bool has_j = t.j0 > 0, has_k = t.k0 > 0;
        auto fetch = [&](u32 ii) {
            if (ii < t.ni) {
                const u64 cell = start + ii;
                for (u32 chunk = threadIdx.x; chunk < CHUNKS; chunk += FACTOR_THREADS) {
                    const u32 e = chunk * VEC, which = e / Q, at = e % Q;
                    const double* from = lower + 3 * cell * Q + e;
                    if (which == 3) from = diag + cell * Q + at;
                    if (which == 4) from = upper + (3 * (cell - step_k) + 2) * Q + at;
                    if (which == 5) from = upper + (3 * (cell - step_j) + 1) * Q + at;
                    if (which == 6) from = upper + 3 * (cell - 1) * Q + at;
                    if ((which == 4 && !has_k) || (which == 5 && !has_j) || (which == 6 && ii == 0)) continue;
                    copy_async(stages + (ii % 2 * 7 + which) * SPACED + at / NB * STRIDE + at % NB, from);
                }
            }
            end_of_step();
        };
        double from_k[PER_THREAD], from_j[PER_THREAD];
        auto ask = [&](u32 ii) {
            if (ii >= t.ni) return;
            const double* at = inverse + (u64)(start + ii) * Q;
#pragma unroll
            for (int n = 0; n < PER_THREAD; n++) {
                const u32 e = threadIdx.x + n * FACTOR_THREADS;
                if (e < Q && has_k) from_k[n] = peek(at - (u64)step_k * Q + e);
                if (e < Q && has_j) from_j[n] = peek(at - (u64)step_j * Q + e);
            }
        };
        fetch(0);
        ask(0);
        for (u32 ii = 0; ii < t.ni; ii++) {
            const u64 cell = start + ii;
            fetch(ii + 1);
            wait_for_copies<1>();
#pragma unroll
            for (int n = 0; n < PER_THREAD; n++) {
                const u32 e = threadIdx.x + n * FACTOR_THREADS, to = e / NB * STRIDE + e % NB;
                const double* at = inverse + cell * Q + e;
                if (e < Q && has_k) inverses[to] = await(from_k[n], at - (u64)step_k * Q);
                if (e < Q && has_j) inverses[SPACED + to] = await(from_j[n], at - (u64)step_j * Q);
            }
            __syncthreads();
            const double* mine = stages + ii % 2 * 7 * SPACED;
            const bool has[3] = {has_k, has_j, ii > 0};
            Pair product[3] = {};
#pragma unroll
            for (int d = 0; d < 3; d++)
                if (has[d]) multiply_tile(product[d], mine + d * SPACED, inverses + d * SPACED, 8 * ti, 8 * tj, lane);
#pragma unroll
            for (int d = 0; d < 3; d++) {
                double* at = products + d * SPACED + column * STRIDE + row;
                if (has[d] && has_a) at[0] = product[d].a;
                if (has[d] && has_b) at[STRIDE] = product[d].b;
            }
            __syncthreads();
            ask(ii + 1);
            Pair change[3] = {};
#pragma unroll
            for (int d = 0; d < 3; d++)
                if (has[d])
                    multiply_tile(change[d], products + d * SPACED, mine + (4 + d) * SPACED, 8 * ti, 8 * tj, lane);
            // Past the block's end the identity.
            const double* own = mine + 3 * SPACED + column * STRIDE + row;
            Pair a = {has_a ? own[0] : row == column ? 1.0 : 0.0, has_b ? own[STRIDE] : row == column + 1 ? 1.0 : 0.0};
            if (shift != 0) {
                double largest = fmax(has_a ? fabs(a.a) : 0.0, has_b ? fabs(a.b) : 0.0);
                for (int m = 16; m; m >>= 1) largest = fmax(largest, __shfl_xor_sync(EVERYONE, largest, m));
                if (lane == 0) sums[warp] = largest;
                __syncthreads();
                for (int m = 0; m < SIDE * SIDE; m++) largest = fmax(largest, sums[m]);
                __syncthreads();
                a.a += row == column && has_a ? shift * largest : 0.0;
                a.b += row == column + 1 && has_b ? shift * largest : 0.0;
                if (threadIdx.x == 0) atomicMax((u64*)(findings + 2), (u64)__double_as_longlong(shift * largest));
            }
            if (has_a) a.a -= change[0].a + change[1].a + change[2].a;
            if (has_b) a.b -= change[0].b + change[1].b + change[2].b;
            const Pair given = a;
            const double sum = over_row((has_a ? a.a : 0.0) + (has_b ? a.b : 0.0));
            if (lane % 4 == 0) sums[tj * 8 * SIDE + row] = sum;
            // Gauss-Jordan elimination in place (Alg. 5), a row of tiles at a time.
#pragma unroll
            for (int p = 0; p < SIDE; p++) {
                double* const pivot = inversion + p % 2 * INVERSION;                    // inverted
                double *const left = pivot + TILE_SPACED, *const right = left + SIDE * TILE_SPACED;
                if (ti == p && tj == p) invert_tile(a, lane), keep_tile(pivot, a, lane);
                if (ti != p && tj == p) keep_tile(left + ti * TILE_SPACED, a, lane);
                if (ti == p && tj != p) keep_tile(right + tj * TILE_SPACED, a, lane);
                __syncthreads();
                if (ti == p) {
                    if (tj != p) {
                        a = Pair{0, 0};
                        for (int h = 0; h < 2; h++)
                            multiply_add(a, left_half(pivot, h, lane), right_half(right + tj * TILE_SPACED, h, lane));
                    }
                } else {
                    Pair factor = {0, 0};
                    for (int h = 0; h < 2; h++)
                        multiply_add(factor, -left_half(left + ti * TILE_SPACED, h, lane), right_half(pivot, h, lane));
                    if (tj == p) {
                        a = factor;
                    } else {  // the result is a left factor whose columns come in the order 0, 2, 4, 6, 1, 3, 5, 7
                        const double* from = right + tj * TILE_SPACED + lane / 4 * SMALL_STRIDE + 2 * (lane % 4);
                        multiply_add(a, factor.a, from[0]);
                        multiply_add(a, factor.b, from[1]);
                    }
                }
            }
            // The inverse times the block's row sums is a vector of ones.
            double one = 0;
            for (int m = 0; m < SIDE; m++) {
                if (has_a) one += a.a * sums[m * 8 * SIDE + column];
                if (has_b) one += a.b * sums[m * 8 * SIDE + column + 1];
            }
            one = over_row(one);
            double* const ones = sums + SIDE * 8 * SIDE;
            if (lane % 4 == 0) ones[tj * 8 * SIDE + row] = one;
            __syncthreads();
            bool bad = false;
            if (threadIdx.x < NB) {
                one = -1;
                for (int m = 0; m < SIDE; m++) one += ones[m * 8 * SIDE + threadIdx.x];
                bad = !(fabs(one) <= GUARD);
            }
            if (__syncthreads_or(bad)) {
                const u32 at_a = column * NB + row, at_b = at_a + NB;
                if (has_a) products[at_a] = given.a;
                if (has_b) products[at_b] = given.b;
                __syncthreads();
                if (threadIdx.x == 0) note(findings, invert_pivoted(products, sums, guard), (u32)cell);
                __syncthreads();
                if (has_a) a.a = products[at_a];
                if (has_b) a.b = products[at_b];
                __syncthreads();
            }
            double* const out = inverse + cell * Q + column * NB + row;
            double* const before = inverses + 2 * SPACED + column * STRIDE + row;
            if (has_a) post(out, result(a.a)), before[0] = a.a;
            if (has_b) post(out + NB, result(a.b)), before[STRIDE] = a.b;
        }
    }
    return_tickets(tickets, gridDim.x);
}
