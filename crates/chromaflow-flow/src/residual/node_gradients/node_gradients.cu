// Gradients at nodes from the corners of elements: sums over neighbors. Twin: mod.rs.
//
// Constant: MORE quantities phi besides the velocity. Out comes, row by row, d(u, v, w, phi)_i / dx_k.
#define QUANTITIES (3 + MORE)

// A thread a quantity of a row, so that those of a row read the same record at once.
extern "C" __global__ void __launch_bounds__(128)
corner_means(CornerMeans) {
    const u32 at = blockIdx.x * 128 + threadIdx.x, row = at / QUANTITIES, v = at % QUANTITIES;
    if (row >= rows) return;
    const double* values = v < 3 ? nodes + 1 + v : phi + v - 3;
    const u32 stride = v < 3 ? 8 : MORE;
    const double own = values[(u64)row * stride];
    double sum[3] = {0, 0, 0};
    for (u32 k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
        const double change = values[(u64)col_idx[k] * stride] - own;
#pragma unroll
        for (int d = 0; d < 3; d++) sum[d] += weights[(u64)k * 3 + d] * change;
    }
#pragma unroll
    for (int d = 0; d < 3; d++) out[(u64)at * 3 + d] = sum[d];
}
