// Least squares gradients at the nodes. Twin: cpu.rs.
//
// Eight lanes a row, one for each component of a node record: the differences of all variables and the moments of the
// neighbors' positions come out of the same three products. Results: [row][16], derivative of variable v along axis d
// at d * 5 + v, and at 15 the sum of pressure_jump. `mapped`: what is added to the increment of each position,
// [positions][3], or none.

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

// Threads: 128, sixteen rows.
extern "C" __global__ void __launch_bounds__(128)
least_squares(LeastSquares) {
    constexpr int FLIGHT = 4;  // neighbors whose records are loaded at a time
    const u32 lane = threadIdx.x % 8, row = (blockIdx.x * 128 + threadIdx.x) / 8;
    const u32 mask = 0xffu << (threadIdx.x & 24);
    if (row >= rows) return;
    const double own = nodes[(u64)row * 8 + lane];
    double sum[3] = {0, 0, 0}, jumps = 0;  // of lane 4, which has pressures, alone
    const u32 end = row_ptr[row + 1];
    for (u32 k = row_ptr[row]; k < end; k += FLIGHT) {
        double other[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) other[f] = nodes[(u64)col_idx[min(k + f, end - 1)] * 8 + lane];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) {
            double diff = other[f] - own;
            if (mapped && lane >= 5) diff += mapped[(u64)min(k + f, end - 1) * 3 + lane - 5];
            const double x = __shfl_sync(mask, diff, 5, 8), y = __shfl_sync(mask, diff, 6, 8),
                         z = __shfl_sync(mask, diff, 7, 8);
            if (k + f < end) {
                const double weight = by_distance ? 1.0 / (x * x + y * y + z * z) : 1.0;
                sum[0] += weight * x * diff, sum[1] += weight * y * diff, sum[2] += weight * z * diff;
                jumps += pointwise::pressure_jump(own, other[f]);
            }
        }
    }
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

// The same at nodes on planes of symmetry, over neighbors and their mirror images: `weights` has how many each has. A
// thread a node. Twin: mirrors.rs.
extern "C" __global__ void __launch_bounds__(128)
mirror_gradients(MirrorGradients) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const MirrorNode here = mirrors[at];
    const Node own = load_node(nodes, here.node);
    pointwise::Array<double, 24> sums = {};
    double jumps = 0;
    const u32 first = row_ptr[here.node], end = row_ptr[here.node + 1];
    for (u32 k = first; k < end; k++) {
        const Node other = load_node(nodes, col_idx[k]);
        Vec3 d;
        State diff;
        for (int i = 0; i < 3; i++) d[i] = other.x[i] - own.x[i] + (mapped ? mapped[(u64)k * 3 + i] : 0.0);
        for (int v = 0; v < 5; v++) diff[v] = other.w[v] - own.w[v];
        const double images = weights[here.first + (k - first)];
        pointwise::mirror_add(here.mirror, by_distance ? images / dot(d, d) : images, d, diff, sums);
        jumps += images * pointwise::pressure_jump(own.w[4], other.w[4]);
    }
    const auto gradient = pointwise::mirror_gradient(here.mirror, sums);
    for (int e = 0; e < 15; e++) out[(u64)here.node * 16 + e] = gradient[e];
    out[(u64)here.node * 16 + 15] = jumps;
}
