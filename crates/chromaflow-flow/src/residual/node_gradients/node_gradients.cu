// Gradients at nodes from those of the elements around them. Twin: mod.rs.
//
// Constant: MORE quantities phi besides the velocity.
// COUNT numbers of an element are d(u, v, w, phi)_i / dx_k, row by row; then comes the volume they count with.
#define COUNT (3 * (3 + MORE))
#define NUMBERS (COUNT + 1)

// A thread an element of N nodes; they leave through shared memory, so that stores are whole lines.
template <int N>
__device__ __forceinline__ void cell_gradients(u32 count, const u32* __restrict__ element_nodes,
                                               const double* __restrict__ nodes, u32 plane,
                                               const double* __restrict__ phi, const Params* __restrict__ params,
                                               double* __restrict__ out) {
    __shared__ double shared[128 * NUMBERS];
    const u32 base = blockIdx.x * 128, at = base + threadIdx.x;
    if (at < count) {
        pointwise::Array<Vec3, N> x;
        Vec3 f[N];
        u32 index[N];
#pragma unroll
        for (int p = 0; p < N; p++) {
            const u32 corner = element_nodes[(u64)at * N + p];
            index[p] = corner % plane;
            const Node node = load_node(nodes, index[p]);
            x[p] = node.x;
            if (corner >= plane) x[p][2] += params->depth;
            f[p] = {node.w[1], node.w[2], node.w[3]};
        }
        params->draw_together(x);
        const auto cell = cell_weights(x);
        double* mine = shared + threadIdx.x * NUMBERS;
#pragma unroll
        for (int v = 0; v < 3 + MORE; v++) {
            double values[N];
#pragma unroll
            for (int p = 0; p < N; p++) values[p] = v < 3 ? f[p][v % 3] : phi[(u64)index[p] * MORE + v - 3];
#pragma unroll
            for (int d = 0; d < 3; d++) {
                double sum = 0;
#pragma unroll
                for (int p = 0; p < N; p++) sum += cell.weight[p][d] * values[p];
                mine[3 * v + d] = sum;
            }
        }
        mine[COUNT] = cell.volume;
    }
    __syncthreads();
    const u32 numbers = min(128u, count - base) * NUMBERS;
    for (u32 k = threadIdx.x; k < numbers; k += 128) out[(u64)base * NUMBERS + k] = shared[k];
}
#define CELLS(N) \
    extern "C" __global__ void __launch_bounds__(128) \
    cell_gradients_##N(CellGradients) { \
        cell_gradients<N>(count, element_nodes, nodes, plane, phi, params, out); \
    }
CELLS(4)
CELLS(5)
CELLS(6)
CELLS(8)

// The mean of the elements around a node by their volumes, [row][COUNT]. Sixteen lanes a row, a lane a number.
extern "C" __global__ void __launch_bounds__(128)
node_means(NodeMeans) {
    const u32 lane = threadIdx.x % 16, row = (blockIdx.x * 128 + threadIdx.x) / 16;
    const u32 mask = 0xffffu << (threadIdx.x & 16);
    if (row >= rows) return;
    const u32 number = min(lane, NUMBERS - 1u);
    double sum = 0, whole = 0;
    for (u32 k = row_ptr[row]; k < row_ptr[row + 1]; k++) {
        const double part = cells[(u64)around[k] * NUMBERS + number], volume = __shfl_sync(mask, part, COUNT, 16);
        sum += volume * part, whole += volume;
    }
    if (lane < COUNT) out[(u64)row * COUNT + lane] = sum / whole;
}
