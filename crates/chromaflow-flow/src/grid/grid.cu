// Reductions over the cells of a grid. Behind grid.cuh.
// A fixed number of thread blocks, sums in a fixed order.
// OPERATION 0 min, 1 max, 2 sum, 3 sum of squares. Entries that are no number make every result one.
__device__ __forceinline__ double neutral(unsigned op) {
    return op == 0   ? __longlong_as_double(0x7ff0000000000000ll)
           : op == 1 ? -__longlong_as_double(0x7ff0000000000000ll)
                     : 0.0;
}
__device__ __forceinline__ double merged(unsigned op, double a, double b) {
    if (op >= 2) return a + b;
    if (a != a || b != b) return a + b;
    return op == 0 ? (a < b ? a : b) : (a > b ? a : b);
}
__device__ __forceinline__ double over_block(unsigned op, double value) {
    __shared__ double warps[8];
    for (int s = 16; s; s >>= 1) value = merged(op, value, __shfl_down_sync(0xffffffffu, value, s));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = value;
    __syncthreads();
    if (threadIdx.x == 0)
        for (int w = 1; w < 8; w++) value = merged(op, value, warps[w]);
    return value;
}
// Threads: 256 = CHUNK. One number a thread block.
extern "C" __global__ void __launch_bounds__(256)
reduce_cells(ReduceCells) {
    double value = neutral(op);
    for (unsigned chunk = blockIdx.x; chunk < chunk_count; chunk += gridDim.x) {
        const GridCell cell = grid_cell(blocks, chunks, chunk);
        if (!cell.inside) continue;
        const double x = field[cell.at];
        value = merged(op, value, op == 3 ? x * x : x);
    }
    value = over_block(op, value);
    if (threadIdx.x == 0) partials[blockIdx.x] = value;
}
// One thread block of 256.
extern "C" __global__ void __launch_bounds__(256)
reduce_partials(ReducePartials) {
    double value = neutral(op);
    for (unsigned n = threadIdx.x; n < count; n += 256) value = merged(op, value, partials[n]);
    value = over_block(op, value);
    if (threadIdx.x == 0) *out = value;
}
