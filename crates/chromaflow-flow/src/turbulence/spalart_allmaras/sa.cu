// The Spalart-Allmaras model: its residual, and the numbers of its matrix. Twin: cpu.rs.
//
// Constants: VARIANT the form of the model, as SaVariant counts; HYBRID as hybrid.cuh has it.

__device__ __forceinline__ pointwise::SpalartAllmaras<double> model_of(const Params* params) {
    return {static_cast<pointwise::SaVariant>(VARIANT), params->viscosity};
}

// nu and the eddy viscosity. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
sa_viscosities(SaViscosities) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const State w = load_node(nodes, i).w;
    const double mu = pointwise::viscosity(params->transport(), pointwise::temperature(params->gas(), w));
    const auto both = pointwise::sa_viscosities(model_of(params), w[0], mu, nut[i]);
    nu[i] = both[0], eddies[i] = both[1];
}

// nut is one per volume: the density plays no part in what it changes by in time.
__device__ __forceinline__ pointwise::Array<double, 2> unit() { return {1.0, 1.0}; }

// Source per volume, and what the matrix takes of its derivative and of the rate of change. A thread a row; gradients
// d(u, v, w, nut)_i / dx_k, [row][12]. `unsteady`: `last` and `before` are factors in time; `production`: what
// production is multiplied by, 1 where there is none; `seen`, if given, the length and what stands for 1 in 1 - ft2.
extern "C" __global__ void __launch_bounds__(128)
sa_sources(SaSources) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Tensor velocity = load_tensor(gradients, 4, i);
    double length = distance[i];
#if HYBRID
    const Vec3 grid = grid_lengths(i, lengths, corner_ptr, arms, velocity);
    length = pointwise::sa_hybrid_length(model_of(params), HYBRID_FORM, nu[i], nut[i], length, grid, velocity)[0];
#endif
    double omega = pointwise::vorticity(velocity);
    double turning = 1.0;
    if (rotation == 1) omega = pointwise::sa_rotating(omega, pointwise::deformation(velocity)[0]);
    if (rotation == 2) {
        // The change of the strain along the flow.
        const auto own = pointwise::strain_rates(velocity);
        pointwise::Array<double, 6> change = {0, 0, 0, 0, 0, 0};
        for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
            const u32 signed_ = signed_edge[k], j = col_idx[k];
            const double density = nodes[(u64)i * 8] + nodes[(u64)j * 8];
            const double volume = 2.0 * fluxes[(u64)(signed_ & 0x7fffffffu) * 5] / density;
            const double leaving = (signed_ >> 31 ? -0.5 : 0.5) * volume / volumes[i];
            const auto other = pointwise::strain_rates(load_tensor(gradients, 4, j));
#pragma unroll
            for (int c = 0; c < 6; c++) change[c] += leaving * (other[c] - own[c]);
        }
        turning = pointwise::sa_turning(velocity, change);
    }
    if (production) turning *= production[i];
    const auto both = pointwise::sa_source_turning(model_of(params), nu[i], nut[i], omega, length, turning);
    if (seen) seen[(u64)i * 2] = length, seen[(u64)i * 2 + 1] = turning;
    source[i] = both[0];
    double slope = fmax(-both[1], 0.0);
    if (unsteady) {
        const pointwise::Array<double, 2> factors = {last, before};
        slope += pointwise::rate_slope_of_carried(factors, unit());
    }
    slopes[i] = slope;
}

// How what is taken of a node changes: a thread a row, one variable after another. Lengths of hybrids and what rotation
// makes of production, `seen`, stay what they are.
extern "C" __global__ void __launch_bounds__(128)
sa_slopes(SaSlopes) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Tensor velocity = load_tensor(gradients, 4, i);
    const State w = load_node(nodes, i).w;
    const pointwise::SpalartAllmaras<Along> model = {static_cast<pointwise::SaVariant>(VARIANT),
                                                     Along(params->viscosity)};
    const Along length(seen[(u64)i * 2]), turning(seen[(u64)i * 2 + 1]);
    NodeSlopes& to = out[i];
#pragma unroll 1
    for (int c = 0; c < 12; c++) {
        const pointwise::Array<Along, 2> state = {Along(w[0], c == 0), Along(w[4], c == 1)};
        pointwise::Array<pointwise::Array<Along, 3>, 3> gradient;
#pragma unroll
        for (int r = 0; r < 3; r++)
#pragma unroll
            for (int k = 0; k < 3; k++) gradient[r][k] = Along(velocity[r][k], c == 3 + 3 * r + k);
        const auto terms =
            pointwise::sa_joint_terms(model, gas_along(params), transport_along(params), state,
                                      Along(nut[i], c == 2), gradient, length, turning, rotating != 0);
        if (c < 2) to.spread[c] = terms[1].d, to.source[c] = terms[2].d;
        else if (c == 2) to.eddy = terms[0].d;
        else to.turning[(c - 3) / 3][(c - 3) % 3] = terms[2].d;
    }
}

// fw of QCR2020. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
sa_relations(SaRelations) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Tensor velocity = load_tensor(gradients, 4, i);
    relation[i] = pointwise::sa_relation(model_of(params), nu[i], nut[i], velocity, distance[i]);
}

// What passes each edge from a to b: carried, and by diffusion as a and as b see it.
struct Flux {
    double carried, diffused[2];
};
// A thread an edge.
extern "C" __global__ void __launch_bounds__(128)
sa_faces(SaFaces) {
    const u32 e = blockIdx.x * 128 + threadIdx.x;
    if (e >= edges) return;
    const uint2 ab = ends[e];
    const Vec3 n = load_vec3(areas, e), ga = load_vec3(gradients, 4 * ab.x + 3),
               gb = load_vec3(gradients, 4 * ab.y + 3);
    const Node a = load_node(nodes, ab.x), b = load_node(nodes, ab.y);
    const Vec3 dx = params->between(a.x, b.x);
    const double volume = 2.0 * fluxes[(u64)e * 5] / (a.w[0] + b.w[0]), na = nut[ab.x], nb = nut[ab.y];
    double left = na, right = nb;
    if (second_order) {
        left = pointwise::extrapolate(na, nb, dot(ga, dx), params->kappa, 1.0);
        right = pointwise::extrapolate(nb, na, -dot(gb, dx), params->kappa, 1.0);
    }
    Vec3 mean;
#pragma unroll
    for (int d = 0; d < 3; d++) mean[d] = 0.5 * (ga[d] + gb[d]);
    const auto model = model_of(params);
    const double nua = nu[ab.x], nub = nu[ab.y];
    const pointwise::Array<double, 2> nus = {nua, nub}, back = {nub, nua}, nuts = {na, nb}, nuts_back = {nb, na};
    const double across = dot(pointwise::weight_across(n, dx), n);
    const double through = -pointwise::flux_diffused(1.0, across, nb - na, mean, dx, n);
    const double da = pointwise::sa_diffusivity(model, nus, nuts),
                 db = pointwise::sa_diffusivity(model, back, nuts_back);
    out[e] = {pointwise::flux_carried(volume, left, right), {da * through, db * through}};
    faces[e] = {volume, {{da * across}, {db * across}}};
}

// What leaves each control volume less nut times the volume that leaves it, less the source, and the rate of change: a
// thread a row.
extern "C" __global__ void __launch_bounds__(128)
sa_residual(SaResidual) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const double own = nut[i];
    double sum = -volumes[i] * source[i];
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const u32 signed_ = signed_edge[k], e = signed_ & 0x7fffffffu;
        // Two roundings as on the host, so that a constant cancels to the last bit.
        const double part =
            __dsub_rn(fluxes[e].carried, __dmul_rn(faces[e].passing, own)) - fluxes[e].diffused[signed_ >> 31];
        sum += signed_ >> 31 ? -part : part;
    }
    if (nut_last) {
        const pointwise::Array<double, 2> factors = {last, before}, values = {nut_last[i], nut_before[i]};
        sum += volumes[i] * pointwise::rate_of_carried(factors, unit(), own, values);
    }
    residual[i] = sum;
}

// nut <- nut - update where negative values have no model; nodes whose update was cut are counted.
extern "C" __global__ void __launch_bounds__(256)
sa_update(SubtractUpdate) {
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    bool cut = false;
    if (i < rows) {
        const double own = values[i], change = update[i], kept = pointwise::sa_kept(own, change);
        cut = kept > own - change;
        values[i] = kept;
    }
    const u32 count = __popc(__ballot_sync(0xffffffffu, cut));
    if (threadIdx.x % 32 == 0 && count) atomicAdd(limited, count);
}
