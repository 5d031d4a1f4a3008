// r = b - A x for 7-point stencils. A thread owns VEC rows of COLUMNS-spaced columns of all seven blocks of a cell, so
// that its loads are independent of one another and the threads of a cell read each block as one run.
#define Q (NB * NB)
#if NB % 2 == 0
#define VEC 2
#else
#define VEC 1
#endif
#define ROWS (NB / VEC)
// Threads of a cell along a block's columns; a thread takes every COLUMNS-th.
#define COLUMNS (ROWS * NB <= 512 ? NB : 512 / ROWS)
#define PER_CELL (ROWS * COLUMNS)
#define CELLS (PER_CELL > 128 ? 1 : 256 / PER_CELL)

__device__ __forceinline__ void load_values(double* v, const double* p) {
#if VEC == 2
    load_2f64(v, p);
#else
    v[0] = load_f64(p);
#endif
}

extern "C" __global__ void __launch_bounds__(CELLS * PER_CELL) stencil_residual(ResidualOfStencil) {
    __shared__ double part[CELLS][COLUMNS][NB + (NB % 2 ? 0 : 1)];
    const u32 own = threadIdx.x / PER_CELL, e = threadIdx.x % PER_CELL, c0 = e / ROWS, row = e % ROWS * VEC;
    const u32 cell = blockIdx.x * CELLS + own;
    if (cell < cells) {
        const Place place = place_of(cell, blocks, grids);
        const uint4 g = place.grid;
        const u32 i = place.i, j = place.j, k = place.k;
        // Neighbors in the order k-1, j-1, i-1, i+1, j+1, k+1: whether there is one, and how far.
        const u32 step[3] = {g.y * g.z, g.y, 1};
        const bool has[6] = {k > 0, j > 0, i > 0, i + 1 < g.y, j + 1 < g.z, k + 1 < g.w};
        double sum[VEC] = {};
        for (u32 c = c0; c < NB; c += COLUMNS) {
            const u32 e = c * NB + row;
            double v[7][VEC], f[7];
#pragma unroll
            for (int s = 0; s < 3; s++) {
                f[s] = f[3 + s] = 0;
                for (int w = 0; w < VEC; w++) v[s][w] = v[3 + s][w] = 0;
                if (has[s]) {
                    load_values(v[s], lower + (3 * (u64)cell + s) * Q + e);
                    f[s] = x[(u64)(cell - step[s]) * NB + c];
                }
                if (has[3 + s]) {
                    load_values(v[3 + s], upper + (3 * (u64)cell + s) * Q + e);
                    f[3 + s] = x[(u64)(cell + step[2 - s]) * NB + c];
                }
            }
            load_values(v[6], diag + (u64)cell * Q + e);
            f[6] = x[(u64)cell * NB + c];
#pragma unroll
            for (int s = 0; s < 7; s++)
                for (int w = 0; w < VEC; w++) sum[w] += v[s][w] * f[s];
        }
        for (int w = 0; w < VEC; w++) part[own][c0][row + w] = sum[w];
    }
    __syncthreads();
    for (u32 t = threadIdx.x; t < CELLS * NB; t += blockDim.x) {
        const u32 cell = blockIdx.x * CELLS + t / NB, u = t % NB;
        if (cell >= cells) break;
        double total = b[(u64)cell * NB + u];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) total -= part[t / NB][c][u];
        r[(u64)cell * NB + u] = total;
    }
}
