// A passive scalar: its residual, and the numbers of its matrix. Twin: cpu.rs.
//
// Constants: LIMITED reconstruction by van Albada; MOMENTS fluxes that vary over faces.

// Numbers of the scalar, in the order of `Numbers` in cuda.rs. A constant Gamma is not negative.
struct Numbers {
    double gamma, schmidt, eps2;
};

// phi, zeros, and the place of each node: what the least squares take. A thread a number.
extern "C" __global__ void __launch_bounds__(256)
make_records(MakeRecords) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * 8) return;
    const u32 v = at % 8;
    records[at] = v == 0 ? phi[at / 8] : v < 5 ? 0.0 : nodes[at];
}

// Gamma at the nodes and, in unsteady runs, the slope of the rate of change.
extern "C" __global__ void __launch_bounds__(128)
make_gammas(MakeGammas) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    double gamma = numbers->gamma;
    if (gamma < 0) {
        const pointwise::Transport<double> transport = params->transport();
        const double t = pointwise::temperature(params->gas(), load_node(nodes, i).w);
        gamma = transport.scale * pointwise::viscosity(transport, t) / numbers->schmidt;
    }
    gammas[i] = gamma;
    if (q_last) {
        const pointwise::Array<double, 2> factors = {last, before},
                                          densities = {q_last[(u64)i * 5], q_before[(u64)i * 5]};
        slopes[i] = pointwise::rate_slope_of_carried(factors, densities);
    }
}

// Area over the length across the face.
__device__ __forceinline__ double weight(const Vec3& n, const Vec3& dx) {
    return dot(pointwise::weight_across(n, dx), n);
}

// What leaves a for b through each face, of first order without gradients, and the face of the matrix. A thread an
// edge.
extern "C" __global__ void __launch_bounds__(128)
scalar_fluxes(ScalarFluxes) {
    const u32 e = blockIdx.x * 128 + threadIdx.x;
    if (e >= edges) return;
    const uint2 ab = ends[e];
    const Vec3 n = load_vec3(areas, e);
    const Node a = load_node(nodes, ab.x), b = load_node(nodes, ab.y);
    const Vec3 dx = params->between(a.x, b.x);
    const double mass = mass_fluxes[(u64)e * 5], pa = phi[ab.x], pb = phi[ab.y],
                 gamma = 0.5 * (gammas[ab.x] + gammas[ab.y]);
    double left = pa, right = pb, besides = 0;
    Vec3 mean = {0, 0, 0};
    const double across = weight(n, dx);
    faces[e] = {mass, {{gamma * across}, {gamma * across}}};
    if (gradients) {
        const double *ga = gradients + (u64)ab.x * 16, *gb = gradients + (u64)ab.y * 16;
        const double along_a = ga[0] * dx[0] + ga[5] * dx[1] + ga[10] * dx[2],
                     along_b = gb[0] * dx[0] + gb[5] * dx[1] + gb[10] * dx[2];
#if LIMITED
        left = pointwise::extrapolate_van_albada(pa, pb, along_a, params->kappa, numbers->eps2);
        right = pointwise::extrapolate_van_albada(pb, pa, -along_b, params->kappa, numbers->eps2);
#else
        left = pointwise::extrapolate(pa, pb, along_a, params->kappa, 1.0);
        right = pointwise::extrapolate(pb, pa, -along_b, params->kappa, 1.0);
#endif
#pragma unroll
        for (int d = 0; d < 3; d++) mean[d] = 0.5 * (ga[5 * d] + gb[5 * d]);
#if MOMENTS
        const double* moment = moments + (u64)e * 9;
#pragma unroll
        for (int k = 0; k < 3; k++) {
            const double momentum = 0.5 * (a.w[0] * a.w[1 + k] + b.w[0] * b.w[1 + k]);
#pragma unroll
            for (int d = 0; d < 3; d++) besides += momentum * mean[d] * moment[3 * d + k];
        }
#endif
    }
    out[e] = pointwise::flux_carried(mass, left, right) + besides +
             pointwise::flux_diffused(gamma, across, pb - pa, mean, dx, n);
}

// What leaves each control volume less phi times the mass that leaves it, and the rate of change: a thread a row.
extern "C" __global__ void __launch_bounds__(128)
scalar_residual(ScalarResidual) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const double own = phi[i];
    double sum = 0;
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const u32 signed_ = signed_edge[k], e = signed_ & 0x7fffffffu;
        // Two roundings as on the host, so that a constant cancels to the last bit.
        const double part = __dsub_rn(fluxes[e], __dmul_rn(mass_fluxes[(u64)e * 5], own));
        sum += signed_ >> 31 ? -part : part;
    }
    if (q_last) {
        const pointwise::Array<double, 2> factors = {last, before},
                                          densities = {q_last[(u64)i * 5], q_before[(u64)i * 5]},
                                          values = {phi_last[i], phi_before[i]};
        sum += volumes[i] * pointwise::rate_of_carried(factors, densities, own, values);
    }
    residual[i] = sum;
}
