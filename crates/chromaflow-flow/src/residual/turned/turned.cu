// Ends of the edges at the seam in the axes of the row beyond it, and their fluxes back. Twin: mod.rs.

struct Turn {
    double m[9];
    __device__ __forceinline__ void apply(const double* v, u32 step, double* out) const {
#pragma unroll
        for (int r = 0; r < 3; r++) out[r] = m[3 * r] * v[0] + m[3 * r + 1] * v[step] + m[3 * r + 2] * v[2 * step];
    }
    __device__ __forceinline__ void back(const double* v, double* out) const {
#pragma unroll
        for (int c = 0; c < 3; c++) out[c] = m[c] * v[0] + m[3 + c] * v[1] + m[6 + c] * v[2];
    }
};

// Node records, gradients and factors of limiters of the ends of edges, two an edge. A thread an end; threads: 128.
extern "C" __global__ void __launch_bounds__(128) turned_ends(TurnedEnds) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u64 i = ends[at];
    const Turn turn = reinterpret_cast<const Turn*>(turns)[at / 2];
    const double *node = nodes + i * 8, *gradient = gradients + i * 16;
    double *node_out = to_nodes + (u64)at * 8, *gradient_out = to_gradients + (u64)at * 16;
    node_out[0] = node[0], node_out[4] = node[4];
    turn.apply(node + 1, 1, node_out + 1);
    turn.apply(node + 5, 1, node_out + 5);
    double along[15];
#pragma unroll
    for (int v = 0; v < 5; v++) {
        double d[3];
        turn.apply(gradient + v, 5, d);
        along[v] = d[0], along[5 + v] = d[1], along[10 + v] = d[2];
    }
#pragma unroll
    for (int d = 0; d < 3; d++) {
        gradient_out[5 * d] = along[5 * d], gradient_out[5 * d + 4] = along[5 * d + 4];
        turn.apply(along + 5 * d + 1, 1, gradient_out + 5 * d + 1);
    }
    gradient_out[SHOCK] = gradient[SHOCK];
    if (!limits) return;
    // Those of an image are its row's; others are means by the squares of the cosines.
    const uint2 factor = factors[at];
    const double* own = limits + (u64)factor.x * 5;
    double* limit_out = to_limits + (u64)at * 5;
    limit_out[0] = own[0], limit_out[4] = own[4];
    for (int r = 0; r < 3; r++) {
        const double* row = turn.m + 3 * r;
        limit_out[1 + r] = factor.y ? row[0] * row[0] * own[1] + row[1] * row[1] * own[2] + row[2] * row[2] * own[3]
                                    : own[1 + r];
    }
}

// Fluxes of those edges in place of the others. A thread an edge; threads: 128.
extern "C" __global__ void __launch_bounds__(128) turned_back(TurnedBack) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const Turn turn = reinterpret_cast<const Turn*>(turns)[at];
    const double* flux = from + (u64)at * 5;
    double* out = fluxes + (u64)edges[at] * 5;
    out[0] = flux[0], out[4] = flux[4];
    turn.back(flux + 1, out + 1);
}
