// Least squares gradients at the nodes. Twin: cpu.rs.
//
// Eight lanes a row, one for each component of a node record: the differences of all variables and the moments of the
// neighbors' positions come out of the same three products. Results: [row][16], derivative of variable v along axis d
// at d * 5 + v, and at 15 the sum of pressure_jump. `mapped`: what is added to the increments of some rows, [..][3],
// from `mapped_first` of the row on; of none where that is 0.

// Inverse of a symmetric positive definite matrix (xx, xy, xz, yy, yz, zz), zero where it is singular. Scaled to a unit
// diagonal first, so that flat cells lose no digits.
__device__ __forceinline__ void inverse(const double (&m)[6], double (&out)[6]) {
    const double sx = 1.0 / sqrt(m[0]), sy = 1.0 / sqrt(m[3]), sz = 1.0 / sqrt(m[5]);
    const double xy = m[1] * sx * sy, xz = m[2] * sx * sz, yz = m[4] * sy * sz;
    const double cxx = 1.0 - yz * yz, cxy = xz * yz - xy, cxz = xy * yz - xz;
    const double det = cxx + xy * cxy + xz * cxz;
    const double r = det > 1e-14 ? 1.0 / det : 0.0;
    const bool good = det > 1e-14;
    out[0] = good ? cxx * r * sx * sx : 0.0;
    out[1] = good ? cxy * r * sx * sy : 0.0;
    out[2] = good ? cxz * r * sx * sz : 0.0;
    out[3] = good ? (1.0 - xz * xz) * r * sy * sy : 0.0;
    out[4] = good ? (xy * xz - yz) * r * sy * sz : 0.0;
    out[5] = good ? (1.0 - xy * xy) * r * sz * sz : 0.0;
}

// The sum over eight lanes, in all of them.
__device__ __forceinline__ double sum_of_eight(u32 mask, double x) {
#pragma unroll
    for (int step = 4; step; step /= 2) x += __shfl_xor_sync(mask, x, step, 8);
    return x;
}

// Threads: 128, sixteen rows.
extern "C" __global__ void __launch_bounds__(128)
least_squares(LeastSquares) {
    constexpr int FLIGHT = 4;  // neighbors whose records are loaded at a time
    const u32 lane = threadIdx.x % 8, row = (blockIdx.x * 128 + threadIdx.x) / 8;
    const u32 mask = 0xffu << (threadIdx.x & 24);
    if (row >= rows) return;
    const double own = nodes[(u64)row * 8 + lane];
    double sum[3] = {0, 0, 0};
    const u32 first = row_ptr[row], end = row_ptr[row + 1], from = mapped_first ? mapped_first[row] : 0;
    for (u32 k = first; k < end; k += FLIGHT) {
        double other[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) other[f] = nodes[(u64)col_idx[min(k + f, end - 1)] * 8 + lane];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            double diff = other[f] - own;
            if (from && lane >= 5) diff += mapped[(u64)(from + min(k + f, end - 1) - first) * 3 + lane - 5];
            const double x = __shfl_sync(mask, diff, 5, 8), y = __shfl_sync(mask, diff, 6, 8),
                         z = __shfl_sync(mask, diff, 7, 8);
            if (k + f < end) {
                const double weight = by_distance ? 1.0 / (x * x + y * y + z * z) : 1.0;
                sum[0] += weight * x * diff, sum[1] += weight * y * diff, sum[2] += weight * z * diff;
            }
        }
    }
    // Quotients take long: here a lane has a neighbor.
    const double pressure = __shfl_sync(mask, own, 4, 8);
    double jumps = 0;
    for (u32 k = first + lane; k < end; k += 8)
        jumps += pointwise::pressure_jump(pressure, nodes[(u64)col_idx[k] * 8 + 4]);
    jumps = sum_of_eight(mask, jumps);
    double m[6], inv[6];
    m[0] = __shfl_sync(mask, sum[0], 5, 8), m[1] = __shfl_sync(mask, sum[0], 6, 8),
    m[2] = __shfl_sync(mask, sum[0], 7, 8);
    m[3] = __shfl_sync(mask, sum[1], 6, 8), m[4] = __shfl_sync(mask, sum[1], 7, 8),
    m[5] = __shfl_sync(mask, sum[2], 7, 8);
    if (m[5] == 0) m[5] = 1;  // all neighbors in one plane z: nothing changes along z
    inverse(m, inv);
    if (lane < 5) {
        double* g = out + (u64)row * 16 + lane;
        g[0] = inv[0] * sum[0] + inv[1] * sum[1] + inv[2] * sum[2];
        g[5] = inv[1] * sum[0] + inv[3] * sum[1] + inv[4] * sum[2];
        g[10] = inv[2] * sum[0] + inv[4] * sum[1] + inv[5] * sum[2];
        if (lane == 4) g[11] = jumps;
    }
}

// The same at nodes on planes of symmetry, over neighbors and their mirror images: `weights` has how many each has.
// Eight lanes a node, a lane a neighbor. Twin: mirrors.rs.
extern "C" __global__ void __launch_bounds__(128)
mirror_gradients(MirrorGradients) {
    const u32 lane = threadIdx.x % 8, at = (blockIdx.x * 128 + threadIdx.x) / 8;
    const u32 mask = 0xffu << (threadIdx.x & 24);
    if (at >= count) return;
    const MirrorNode here = mirrors[at];
    const Node own = load_node(nodes, here.node);
    pointwise::Array<double, 24> sums = {};
    double jumps = 0;
    const u32 first = row_ptr[here.node], end = row_ptr[here.node + 1];
    const u32 from = mapped_first ? mapped_first[here.node] : 0;
    for (u32 k = first + lane; k < end; k += 8) {
        const Node other = load_node(nodes, col_idx[k]);
        Vec3 d;
        State diff;
        for (int i = 0; i < 3; i++)
            d[i] = other.x[i] - own.x[i] + (from ? mapped[(u64)(from + k - first) * 3 + i] : 0.0);
        for (int v = 0; v < 5; v++) diff[v] = other.w[v] - own.w[v];
        const double images = weights[here.first + (k - first)];
        pointwise::mirror_add(here.mirror, by_distance ? images / dot(d, d) : images, d, diff, sums);
        jumps += images * pointwise::pressure_jump(own.w[4], other.w[4]);
    }
#pragma unroll
    for (int e = 0; e < 24; e++) sums[e] = sum_of_eight(mask, sums[e]);
    jumps = sum_of_eight(mask, jumps);
    const auto gradient = pointwise::mirror_gradient(here.mirror, sums);
    double* g = out + (u64)here.node * 16;
#pragma unroll
    for (int e = 0; e < 15; e++)
        if (e % 8 == lane) g[e] = gradient[e];
    if (lane == 7) g[15] = jumps;
}
