// The inviscid residual: node-wise limiters, fluxes through the faces between control volumes, their sums, boundaries.
// Twins: limits.rs, edges.rs, mod.rs.
//
// Constants: FLUX 0 Roe, 1 HLLC, 2 van Leer; LIMITER 0 none, 1 van Albada, 2 Venkatakrishnan, 3 Barth; MOMENTS fluxes
// that vary over faces.

#if LIMITER >= 2
// Factors of node-wise limiters, [row][5]. Eight lanes a row; threads: 128.
extern "C" __global__ void __launch_bounds__(128)
node_limits(NodeLimits) {
    const u32 lane = threadIdx.x % 8, row = (blockIdx.x * 128 + threadIdx.x) / 8;
    const u32 mask = 0xffu << (threadIdx.x & 24);
    if (row >= rows) return;
    const double own = nodes[(u64)row * 8 + lane];
    double smallest = own, largest = own;
    const u32 first = row_ptr[row], end = row_ptr[row + 1];
    for (u32 k = first; k < end; k++) {
        const double other = nodes[(u64)col_idx[k] * 8 + lane];
        smallest = other < smallest ? other : smallest, largest = other > largest ? other : largest;
    }
    const u32 v = lane < 5 ? lane : 0;
    const double* g = gradients + (u64)row * 16 + v;
    const double gx = g[0], gy = g[5], gz = g[10];
    double phi = 1;
    const u32 from = mapped_first ? mapped_first[row] : 0;
#pragma unroll 1
    for (u32 k = first; k < end; k++) {
        double half = 0.5 * (nodes[(u64)col_idx[k] * 8 + lane] - own);
        if (from && lane >= 5) half += 0.5 * mapped[(u64)(from + k - first) * 3 + lane - 5];
        const double x = __shfl_sync(mask, half, 5, 8), y = __shfl_sync(mask, half, 6, 8),
                     z = __shfl_sync(mask, half, 7, 8);
        const double slope = x * gx + y * gy + z * gz;
        const double allowed = pointwise::rise(own, smallest, largest, slope);
#if LIMITER == 3
        const double edge = pointwise::limiter_barth(allowed, slope);
#else
        const double edge = pointwise::limiter_venkatakrishnan(allowed, slope, params->eps2[v]);
#endif
        phi = edge < phi ? edge : phi;
    }
    if (lane < 5) out[(u64)row * 5 + lane] = phi;
}
#endif

__device__ __forceinline__ Gradient load_gradient(const double* __restrict__ gradients, u32 i) {
    const double2* p = reinterpret_cast<const double2*>(gradients + (u64)i * 16);
    Gradient g;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const double2 two = p[k];
        g[2 * k] = two.x, g[2 * k + 1] = two.y;
    }
    return g;
}

#if MOMENTS
// A number with its derivative along one direction: what `flux` takes to tell how it varies over a face.
struct Rate {
    double v, d;
    Rate() = default;
    __device__ Rate(double v, double d = 0) : v(v), d(d) {}
};
__device__ __forceinline__ Rate operator+(Rate a, Rate b) { return {a.v + b.v, a.d + b.d}; }
__device__ __forceinline__ Rate operator-(Rate a, Rate b) { return {a.v - b.v, a.d - b.d}; }
__device__ __forceinline__ Rate operator*(Rate a, Rate b) { return {a.v * b.v, a.v * b.d + a.d * b.v}; }
__device__ __forceinline__ Rate operator/(Rate a, Rate b) {
    const double q = a.v / b.v;
    return {q, (a.d - q * b.d) / b.v};
}

// The sum over axes of (dF/dx_d) . moment[d], at the mean of both sides and of their gradients, of each variable a
// part.
__device__ __forceinline__ State first_moment(pointwise::Gas<double> gas, const State& wl, const State& wr,
                                               const Gradient& gl, const Gradient& gr, const State& weights,
                                              const double* __restrict__ moment) {
    const pointwise::Gas<Rate> rate_gas = {Rate(gas.gamma)};
    State sum = {0, 0, 0, 0, 0};
#pragma unroll
    for (int d = 0; d < 3; d++) {
        pointwise::Array<Rate, 5> w;
        pointwise::Array<Rate, 3> n;
#pragma unroll
        for (int v = 0; v < 5; v++)
            w[v] = Rate(0.5 * (wl[v] + wr[v]), 0.5 * weights[v] * (gl[d * 5 + v] + gr[d * 5 + v]));
#pragma unroll
        for (int k = 0; k < 3; k++) n[k] = Rate(moment[3 * d + k]);
        const auto f = pointwise::flux(rate_gas, w, n);
#pragma unroll
        for (int v = 0; v < 5; v++) sum[v] += f[v].d;
    }
    return sum;
}
#endif

// Fluxes from a to b of all edges, [edges][5]. They leave through shared memory, so that stores are whole lines.
template <bool SECOND>
__device__ __forceinline__ void edge_fluxes(u32 edges, const uint2* __restrict__ ends, const double* __restrict__ areas,
                                            const double* __restrict__ nodes, const double* __restrict__ gradients,
                                            const double* __restrict__ limits, const u32* __restrict__ mapped_first,
                                            const double* __restrict__ mapped,
                                            const double* __restrict__ moments,
                                            const Params* __restrict__ params, double* __restrict__ out) {
    __shared__ double shared[128 * 5];
    const u32 base = blockIdx.x * 128, e = base + threadIdx.x;
    if (e < edges) {
        const uint2 ab = ends[e];
        const Vec3 n = load_vec3(areas, e);
        const Node a = load_node(nodes, ab.x), b = load_node(nodes, ab.y);
        const pointwise::Gas<double> gas = params->gas();
        State wl = a.w, wr = b.w, besides = {0, 0, 0, 0, 0};
        double jumps_a = 0, jumps_b = 0;
        if (SECOND) {
            const Gradient gl = load_gradient(gradients, ab.x), gr = load_gradient(gradients, ab.y);
            jumps_a = gl[SHOCK], jumps_b = gr[SHOCK];
            Vec3 to_r, to_l;
            const u32 added = mapped_first ? mapped_first[e] : 0;
#pragma unroll
            for (int d = 0; d < 3; d++) {
                to_r[d] = b.x[d] - a.x[d], to_l[d] = -to_r[d];
                if (added) to_r[d] += mapped[(u64)added * 6 + d], to_l[d] += mapped[(u64)added * 6 + 3 + d];
            }
            State eps2, pl, pr;
#pragma unroll
            for (int v = 0; v < 5; v++) {
                eps2[v] = params->eps2[v];
                pl[v] = LIMITER >= 2 ? limits[(u64)ab.x * 5 + v] : 1.0,
                pr[v] = LIMITER >= 2 ? limits[(u64)ab.y * 5 + v] : 1.0;
            }
            constexpr pointwise::FaceLimit limit =
                LIMITER == 0   ? pointwise::FaceLimit::Free
                : LIMITER == 1 ? pointwise::FaceLimit::Edge : pointwise::FaceLimit::Node;
            const double kappa = pointwise::kappa_at_shocks(params->kappa, jumps_a, jumps_b);
            const auto sides = pointwise::face_states(limit, kappa, eps2, a.w, b.w, to_r, to_l, gl, gr, pl, pr);
            wl = sides._0, wr = sides._1;
#if MOMENTS
            auto weights = pointwise::moment_weights(limit, eps2, a.w, b.w, to_r, to_l, gl, gr, pl, pr);
            const double weight = pointwise::kappa_at_shocks(1.0, jumps_a, jumps_b);
#pragma unroll
            for (int v = 0; v < 5; v++) weights[v] *= weight;
            besides = first_moment(gas, wl, wr, gl, gr, weights, moments + (u64)e * 9);
#endif
        }
#if FLUX == 0
        State f = pointwise::flux_roe(gas, wl, wr, n, params->fix_of(n, a.x, b.x, jumps_a, jumps_b));
#elif FLUX == 1
        State f = pointwise::flux_hllc(gas, wl, wr, n);
#else
        State f = pointwise::flux_van_leer(gas, wl, wr, n);
#endif
        if (SECOND) f[4] = pointwise::energy_with_mass(gas, f, a.w, b.w, n, jumps_a, jumps_b);
#pragma unroll
        for (int v = 0; v < 5; v++) shared[threadIdx.x * 5 + v] = f[v] + besides[v];
    }
    __syncthreads();
    const u32 count = min(128u, edges - base) * 5;
    for (u32 at = threadIdx.x; at < count; at += 128) out[(u64)base * 5 + at] = shared[at];
}
extern "C" __global__ void __launch_bounds__(128) edge_fluxes_1(EdgeFluxes) {
    edge_fluxes<false>(edges, ends, areas, nodes, gradients, limits, mapped_first, mapped, moments, params, out);
}
extern "C" __global__ void __launch_bounds__(128) edge_fluxes_2(EdgeFluxes) {
    edge_fluxes<true>(edges, ends, areas, nodes, gradients, limits, mapped_first, mapped, moments, params, out);
}

// Sums of the edges' fluxes out of each control volume, [row][5], in the order of the row. `signed_edge` has the edge
// of each position of the pattern, with the highest bit set where its flux flows in. Five lanes a row, six rows a warp.
extern "C" __global__ void __launch_bounds__(128)
gather_fluxes(GatherFluxes) {
    constexpr int FLIGHT = 4;
    const u32 lane = threadIdx.x % 32, v = lane % 5, row = (blockIdx.x * 4 + threadIdx.x / 32) * 6 + lane / 5;
    if (lane >= 30 || row >= rows) return;
    double sum = 0;
    const u32 end = row_ptr[row + 1];
    for (u32 k = row_ptr[row]; k < end; k += FLIGHT) {
        double flux[FLIGHT];
        u32 edge[FLIGHT];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) edge[f] = signed_edge[min(k + f, end - 1)];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++) flux[f] = fluxes[(u64)(edge[f] & 0x7fffffffu) * 5 + v];
#pragma unroll
        for (int f = 0; f < FLIGHT; f++)
            if (k + f < end) sum += edge[f] >> 31 ? -flux[f] : flux[f];
    }
    out[(u64)row * 5 + v] = sum;
}

// Adds the fluxes through the boundary: a thread a node, its parts of the boundary in the order of the patches.
extern "C" __global__ void __launch_bounds__(128)
boundary_fluxes(BoundaryFluxes) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w;
    const pointwise::Gas<double> gas = params->gas();
    State sum;
#pragma unroll
    for (int v = 0; v < 5; v++) sum[v] = out[(u64)i * 5 + v];
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        const Vec3 n = load_vec3(areas, k);
        const State f = pointwise::node_flux(conditions[patch_of[k]], gas, w, n, stuck[at]);
#pragma unroll
        for (int v = 0; v < 5; v++) sum[v] += f[v];
    }
#pragma unroll
    for (int v = 0; v < 5; v++) out[(u64)i * 5 + v] = sum[v];
}

// The back pressure of outlets of given mass flow, a thread block an outlet {patch, range of its nodes and areas}. Over
// ranks first the flow through the nodes that each owns, `flows` [outlets][2], then the pressure by the flow through
// all. With `hold` it is the one that the next are adapted from.
__device__ __forceinline__ void adapt(Condition& condition, pointwise::Gas<double> gas, double flow, double slope,
                                      u32 alone, u32 hold) {
    condition.outlet.pressure = pointwise::adapted_pressure(condition, gas, flow, slope, (double)alone);
    if (hold) condition.held = condition.outlet.pressure;
}
extern "C" __global__ void __launch_bounds__(256)
adapt_outlets(AdaptOutlets) {
    const u32* outlet = outlets + 3 * blockIdx.x;
    Condition& condition = conditions[outlet[0]];
    double sum[2] = {0, 0};
    for (u32 k = outlet[1] + threadIdx.x; k < outlet[2]; k += 256) {
        const State w = load_node(nodes, node_of[k]).w;
        const auto flow = pointwise::outlet_flow(condition, params->gas(), w, load_vec3(areas, k));
        sum[0] += flow[0], sum[1] += flow[1];
    }
    block_sums(sum);
    if (threadIdx.x) return;
    if (flows) flows[2 * blockIdx.x] = sum[0], flows[2 * blockIdx.x + 1] = sum[1];
    else adapt(condition, params->gas(), sum[0], sum[1], alone, hold);
}
extern "C" __global__ void __launch_bounds__(128)
adapt_by_flows(AdaptByFlows) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    adapt(conditions[outlets[3 * at]], params->gas(), flows[2 * at], flows[2 * at + 1], alone, hold);
}
