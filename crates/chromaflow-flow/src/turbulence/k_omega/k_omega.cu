// The k-omega models: their residual, and the numbers of their matrix. Twin: cpu.rs.
//
// Constants: VARIANT the model, as KOmegaVariant counts; NB = 2 unknowns a node; HYBRID as hybrid.cuh
// has it.
#define GRADIENTS 15

typedef pointwise::Array<double, 2> Pair;
typedef pointwise::Array<Along, 2> PairAlong;

// Numbers of the model, in the order of `numbers` in cuda.rs.
struct Numbers {
    double ambient_k, ambient_omega, roughness;
};
template <class T> __device__ __forceinline__ pointwise::KOmega<T> model_of(const Numbers* numbers) {
    return {static_cast<pointwise::KOmegaVariant>(VARIANT), T(numbers->ambient_k), T(numbers->ambient_omega),
            T(numbers->roughness)};
}
// Density and viscosity.
__device__ __forceinline__ Pair gas_at(const State& w, const Params* params) {
    const pointwise::Transport<double> transport = params->transport();
    return {w[0], transport.scale * pointwise::viscosity(transport, pointwise::temperature(params->gas(), w))};
}
__device__ __forceinline__ PairAlong gas_along_at(const StateAlong& w, const Params* params) {
    const pointwise::Transport<Along> transport = transport_along(params);
    return {w[0], transport.scale * pointwise::viscosity(transport, pointwise::temperature(gas_along(params), w))};
}
__device__ __forceinline__ Pair load_pair(const double* __restrict__ from, u32 i) {
    return {from[(u64)i * 2], from[(u64)i * 2 + 1]};
}

// Values at walls with a law, from the state `w` off them. Models have laws of their own.
template <class T>
__device__ __forceinline__ pointwise::Array<T, 2> law_values(pointwise::KOmega<T> model, pointwise::Gas<T> gas,
                                                             pointwise::Transport<T> transport,
                                                             pointwise::LawPlace<T> place,
                                                             const pointwise::Array<T, 5>& w, bool blended) {
    place.law = static_cast<pointwise::WallLaw>(1 + VARIANT);
    const auto friction = pointwise::law_friction(gas, transport, place, w);
    return pointwise::k_omega_law(model, blended, friction[0], friction[1] * place.distance / friction[0],
                                  place.distance);
}
// Values at walls without slip: a thread a node. `heights`, by rows: distance of the first node off the wall;
// `law_of`, by rows: which law it has, from 1.
extern "C" __global__ void __launch_bounds__(128)
k_omega_walls(KOmegaWalls) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    if (law_of && law_of[i]) {
        const LawNode law = laws[law_of[i] - 1];
        const Pair both = law_values(model_of<double>(numbers), params->gas(), params->transport(), law.place,
                                     load_node(nodes, law.other).w, blended);
        values[(u64)i * 2] = both[0], values[(u64)i * 2 + 1] = both[1];
        return;
    }
    const Pair gas = gas_at(load_node(nodes, i).w, params);
    values[(u64)i * 2] = 0;
    values[(u64)i * 2 + 1] = pointwise::k_omega_wall(model_of<double>(numbers), gas[1] / gas[0], heights[i]);
}

// What the equations take of a node.
struct Terms {
    double diffusing[2], sources[5];
};
// The same, as `NodeTerms` in mod.rs has it, and the eddy viscosity. `gas`: density and viscosity; `grid`: lengths.
template <class T> struct NodeTerms {
    pointwise::Array<T, 2> diffusing;
    pointwise::Array<T, 5> sources;
    T eddy;
};
template <class T> using Three = pointwise::Array<T, 3>;
template <class T>
__device__ __forceinline__ NodeTerms<T> terms_of(pointwise::KOmega<T> model, const pointwise::Array<T, 2>& gas,
                                                 const pointwise::Array<T, 2>& turbulence,
                                                 const pointwise::Array<Three<T>, 3>& velocity,
                                                 const pointwise::Array<Three<T>, 2>& slopes, double distance,
                                                 const double* production, const Vec3& grid) {
    const auto blending = pointwise::k_omega_blending(model, gas, T(distance), turbulence, slopes);
    const auto deformation = pointwise::deformation(velocity);
    const auto rate = pointwise::k_omega_rate(model, blending[1], turbulence[1], deformation);
    NodeTerms<T> out;
    out.diffusing = pointwise::k_omega_diffusing(model, blending[0], rate[0], gas, turbulence);
    out.eddy = gas[0] * turbulence[0] / rate[0];
    T shortened(1.0);
#if HYBRID
    const Three<T> lengths = {T(grid[0]), T(grid[1]), T(grid[2])};
    shortened = pointwise::sst_shortened(HYBRID_FORM, blending[0], gas, out.eddy, T(distance), turbulence, lengths,
                                         velocity)[0];
#endif
    // Read where it is wanted: all registers are taken by then.
    const auto share = T(production ? *production : 1.0);
    out.sources = pointwise::k_omega_sources(model, blending[0], rate, gas[0], turbulence,
                                             pointwise::producing(deformation, share), slopes, shortened);
    return out;
}
// A thread a row; gradients d(u, v, w, k, omega)_i / dx_k, [row][GRADIENTS].
extern "C" __global__ void __launch_bounds__(128)
k_omega_terms(KOmegaTerms) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Tensor velocity = load_tensor(gradients, 5, i);
    pointwise::Array<Vec3, 2> slopes;
#pragma unroll
    for (int v = 0; v < 2; v++) slopes[v] = load_vec3(gradients, 5 * i + 3 + v);
    Vec3 grid = {};
#if HYBRID
    grid = grid_lengths(i, lengths, corner_ptr, arms, velocity);
#endif
    const Pair gas = gas_at(load_node(nodes, i).w, params), turbulence = load_pair(values, i);
    const NodeTerms<double> found =
        terms_of(model_of<double>(numbers), gas, turbulence, velocity, slopes, distance[i],
                 production ? production + i : nullptr, grid);
    Terms out;
#pragma unroll
    for (int v = 0; v < 2; v++) out.diffusing[v] = found.diffusing[v];
#pragma unroll
    for (int v = 0; v < 5; v++) out.sources[v] = found.sources[v];
    terms[i] = out;
    eddies[i] = found.eddy;
}

// How what is taken of a node changes: a thread a row, one variable after another.
extern "C" __global__ void __launch_bounds__(128)
k_omega_slopes(KOmegaSlopes) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Tensor base = load_tensor(gradients, 5, i);
    pointwise::Array<Three<Along>, 2> slopes;
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const Vec3 slope = load_vec3(gradients, 5 * i + 3 + v);
        slopes[v] = {Along(slope[0]), Along(slope[1]), Along(slope[2])};
    }
    Vec3 grid = {};
#if HYBRID
    grid = grid_lengths(i, lengths, corner_ptr, arms, base);
#endif
    const State w = load_node(nodes, i).w;
    const Pair both = load_pair(values, i);
    NodeSlopes* to = out + (u64)i * 2;
#pragma unroll 1
    for (int c = 0; c < 13; c++) {
        const StateAlong state = {Along(w[0], c == 0), Along(w[1]), Along(w[2]), Along(w[3]), Along(w[4], c == 1)};
        const PairAlong gas = {state[0], transport_along(params).scale *
                                             pointwise::viscosity(transport_along(params),
                                                                  pointwise::temperature(gas_along(params), state))};
        const PairAlong turbulence = {Along(both[0], c == 2), Along(both[1], c == 3)};
        pointwise::Array<Three<Along>, 3> velocity;
#pragma unroll
        for (int r = 0; r < 3; r++)
#pragma unroll
            for (int k = 0; k < 3; k++) velocity[r][k] = Along(base[r][k], c == 4 + 3 * r + k);
        const NodeTerms<Along> found =
            terms_of(model_of<Along>(numbers), gas, turbulence, velocity, slopes, distance[i],
                     production ? production + i : nullptr, grid);
#pragma unroll
        for (int v = 0; v < 2; v++) {
            if (c < 2) to[v].spread[c] = found.diffusing[v].d, to[v].source[c] = found.sources[v].d;
            else if (c == 2 + v) to[v].eddy = found.eddy.d;
            else if (c > 3) to[v].turning[(c - 4) / 3][(c - 4) % 3] = found.sources[v].d;
        }
    }
}

// What passes each edge from a to b of k and of omega: carried, and by diffusion.
struct Flux {
    double carried[2], diffused[2];
};
// A thread an edge.
extern "C" __global__ void __launch_bounds__(128)
k_omega_faces(KOmegaFaces) {
    const u32 e = blockIdx.x * 128 + threadIdx.x;
    if (e >= edges) return;
    const uint2 ab = ends[e];
    const Vec3 n = load_vec3(areas, e), a = load_node(nodes, ab.x).x, b = load_node(nodes, ab.y).x;
    const Vec3 dx = params->between(a, b);
    const double mass = mass_fluxes[(u64)e * 5], across = dot(pointwise::weight_across(n, dx), n);
    Flux flux;
    CarriedFace face;
    face.passing = mass;
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const Vec3 ga = load_vec3(gradients, 5 * ab.x + 3 + v), gb = load_vec3(gradients, 5 * ab.y + 3 + v);
        const double pa = values[(u64)ab.x * 2 + v], pb = values[(u64)ab.y * 2 + v];
        double left = pa, right = pb;
        if (second_order) {
            left = pointwise::extrapolate(pa, pb, dot(ga, dx), params->kappa, 1.0);
            right = pointwise::extrapolate(pb, pa, -dot(gb, dx), params->kappa, 1.0);
        }
        Vec3 mean;
#pragma unroll
        for (int d = 0; d < 3; d++) mean[d] = 0.5 * (ga[d] + gb[d]);
        const double gamma = 0.5 * (terms[ab.x].diffusing[v] + terms[ab.y].diffusing[v]);
        flux.carried[v] = pointwise::flux_carried(mass, left, right);
        const Pair both = {pa, pb};
        flux.diffused[v] = gamma * pointwise::gradient_of_positive(across, both, mean, dx, n);
        face.through[0][v] = face.through[1][v] = gamma * across;
    }
    out[e] = flux;
    faces[e] = face;
}

// Derivatives along a direction of the flow, in records `along`, and of k and omega, `changes`. Twin: derivative.rs.

// Those of given values at walls without slip, in their places of `changes`.
extern "C" __global__ void __launch_bounds__(128)
k_omega_walls_along(KOmegaWallsAlong) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    if (law_of && law_of[i]) {
        const LawNode law = laws[law_of[i] - 1];
        const PairAlong both = law_values(model_of<Along>(numbers), gas_along(params), transport_along(params),
                                          along_of(law.place), load_state_along(nodes, along, law.other), blended);
        changes[(u64)i * 2] = both[0].d, changes[(u64)i * 2 + 1] = both[1].d;
        return;
    }
    const PairAlong gas = gas_along_at(load_state_along(nodes, along, i), params);
    changes[(u64)i * 2] = 0;
    changes[(u64)i * 2 + 1] = pointwise::k_omega_wall(model_of<Along>(numbers), gas[1] / gas[0], Along(heights[i])).d;
}

// Of a node's terms.
struct TermsAlong {
    double diffusing[2], sources[2];
};
// A thread a row. `moved` is the eddy viscosity after a step h along the direction.
extern "C" __global__ void __launch_bounds__(128)
k_omega_terms_along(KOmegaTermsAlong) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    pointwise::Array<Three<Along>, 3> velocity;
    pointwise::Array<Three<Along>, 2> slopes;
    Tensor base;
#pragma unroll
    for (int v = 0; v < 5; v++) {
        const Vec3 value = load_vec3(gradients, 5 * i + v), slope = load_vec3(gradients_along, 5 * i + v);
        const Three<Along> both = {Along(value[0], slope[0]), Along(value[1], slope[1]), Along(value[2], slope[2])};
        if (v < 3) velocity[v] = both, base[v] = value;
        else slopes[v - 3] = both;
    }
    Vec3 grid = {};
#if HYBRID
    grid = grid_lengths(i, lengths, corner_ptr, arms, base);
#endif
    const PairAlong gas = gas_along_at(load_state_along(nodes, along, i), params);
    const Pair own = load_pair(values, i), change = load_pair(changes, i);
    const PairAlong turbulence = {Along(own[0], change[0]), Along(own[1], change[1])};
    const NodeTerms<Along> found =
        terms_of(model_of<Along>(numbers), gas, turbulence, velocity, slopes, distance[i],
                 production ? production + i : nullptr, grid);
    TermsAlong out;
#pragma unroll
    for (int v = 0; v < 2; v++) out.diffusing[v] = found.diffusing[v].d, out.sources[v] = found.sources[v].d;
    terms[i] = out;
    moved[i] = found.eddy.v + h * found.eddy.d;
}

// Of what passes each edge; `mass_moved` are the mass fluxes after a step of 1 / `inverse`. A thread an edge.
extern "C" __global__ void __launch_bounds__(128)
k_omega_faces_along(KOmegaFacesAlong) {
    const u32 e = blockIdx.x * 128 + threadIdx.x;
    if (e >= edges) return;
    const uint2 ab = ends[e];
    const Vec3 n = load_vec3(areas, e), a = load_node(nodes, ab.x).x, b = load_node(nodes, ab.y).x;
    const Vec3 dx = params->between(a, b);
    const double start = mass_fluxes[(u64)e * 5], across = dot(pointwise::weight_across(n, dx), n);
    const Along mass(start, (mass_moved[(u64)e * 5] - start) * inverse);
    const Three<Along> dx_along = {Along(dx[0]), Along(dx[1]), Along(dx[2])};
    const Three<Along> n_along = {Along(n[0]), Along(n[1]), Along(n[2])};
    Flux flux;
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const Vec3 ga = load_vec3(gradients, 5 * ab.x + 3 + v), gb = load_vec3(gradients, 5 * ab.y + 3 + v);
        const Vec3 da = load_vec3(gradients_along, 5 * ab.x + 3 + v);
        const Vec3 db = load_vec3(gradients_along, 5 * ab.y + 3 + v);
        const Along pa(values[(u64)ab.x * 2 + v], changes[(u64)ab.x * 2 + v]);
        const Along pb(values[(u64)ab.y * 2 + v], changes[(u64)ab.y * 2 + v]);
        Along left = pa, right = pb;
        if (second_order) {
            const Along kappa(params->kappa), one(1.0);
            left = pointwise::extrapolate(pa, pb, Along(dot(ga, dx), dot(da, dx)), kappa, one);
            right = pointwise::extrapolate(pb, pa, Along(-dot(gb, dx), -dot(db, dx)), kappa, one);
        }
        Three<Along> mean;
#pragma unroll
        for (int d = 0; d < 3; d++) mean[d] = Along(0.5 * (ga[d] + gb[d]), 0.5 * (da[d] + db[d]));
        const PairAlong both = {pa, pb};
        const Along through = pointwise::gradient_of_positive(Along(across), both, mean, dx_along, n_along);
        const double gamma = 0.5 * (terms[ab.x].diffusing[v] + terms[ab.y].diffusing[v]);
        const double gamma_along = 0.5 * (terms_along[ab.x].diffusing[v] + terms_along[ab.y].diffusing[v]);
        flux.carried[v] = pointwise::flux_carried(mass, left, right).d;
        flux.diffused[v] = gamma_along * through.v + gamma * through.d;
    }
    out[e] = flux;
}

// Of the residual without what enters through boundaries. A thread a row. Earlier levels are none in steady runs.
extern "C" __global__ void __launch_bounds__(128)
k_omega_derivative(KOmegaDerivative) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Pair own = load_pair(values, i), change = load_pair(changes, i);
    double sum[2];
#pragma unroll
    for (int v = 0; v < 2; v++) sum[v] = -volumes[i] * terms[i].sources[v];
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const u32 signed_ = signed_edge[k], e = signed_ & 0x7fffffffu;
        const Flux flux = fluxes[e];
        const double mass = mass_fluxes[(u64)e * 5], mass_along = (mass_moved[(u64)e * 5] - mass) * inverse;
#pragma unroll
        for (int v = 0; v < 2; v++) {
            const double part = flux.carried[v] - (mass_along * own[v] + mass * change[v]) - flux.diffused[v];
            sum[v] += signed_ >> 31 ? -part : part;
        }
    }
    if (q_last) {
        const Pair factors = {last, before}, densities = {q_last[(u64)i * 5], q_before[(u64)i * 5]};
        const double slope = volumes[i] * pointwise::rate_slope_of_carried(factors, densities);
#pragma unroll
        for (int v = 0; v < 2; v++) sum[v] += slope * change[v];
    }
#pragma unroll
    for (int v = 0; v < 2; v++) out[(u64)i * 2 + v] = sum[v];
}

// What leaves each control volume less k and omega times the mass that leaves it, less the sources, and the rate of
// change; and what the matrix takes of the derivatives. A thread a row. Earlier levels are none in steady runs.
extern "C" __global__ void __launch_bounds__(128)
k_omega_residual(KOmegaResidual) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const Pair own = load_pair(values, i);
    const Terms term = terms[i];
    double sum[2], rate_slope = 0;
#pragma unroll
    for (int v = 0; v < 2; v++) sum[v] = -volumes[i] * term.sources[v];
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const u32 signed_ = signed_edge[k], e = signed_ & 0x7fffffffu;
        const Flux flux = fluxes[e];
        const double mass = mass_fluxes[(u64)e * 5];
#pragma unroll
        for (int v = 0; v < 2; v++) {
            // Two roundings as on the host, so that a constant cancels to the last bit.
            const double part = __dsub_rn(flux.carried[v], __dmul_rn(mass, own[v])) - flux.diffused[v];
            sum[v] += signed_ >> 31 ? -part : part;
        }
    }
    if (q_last) {
        const Pair factors = {last, before}, densities = {q_last[(u64)i * 5], q_before[(u64)i * 5]};
#pragma unroll
        for (int v = 0; v < 2; v++) {
            const Pair earlier = {values_last[(u64)i * 2 + v], values_before[(u64)i * 2 + v]};
            sum[v] += volumes[i] * pointwise::rate_of_carried(factors, densities, own[v], earlier);
        }
        rate_slope = pointwise::rate_slope_of_carried(factors, densities);
    }
    // By columns.
    double* block = slopes + (u64)i * 4;
    block[0] = rate_slope - term.sources[2], block[1] = 0;
    block[2] = -term.sources[3], block[3] = fmax(-term.sources[4], 0.0) + rate_slope;
#pragma unroll
    for (int v = 0; v < 2; v++) residual[(u64)i * 2 + v] = sum[v];
}

// The rate at which k grows by its whole residual, no more than its source makes it. A thread a row.
extern "C" __global__ void __launch_bounds__(256)
k_omega_growth(KOmegaGrowth) {
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= rows) return;
    const double content = volumes[i] * fmax(values[(u64)i * 2], 2.2250738585072014e-308);
    growth[i] = fmax(fmin(-residual[(u64)i * 2] / content, terms[i].sources[2]), 0.0);
}

// Values less their update; nodes where it is cut are counted. A thread a row.
extern "C" __global__ void __launch_bounds__(256)
k_omega_update(SubtractUpdate) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    bool cut = false;
    if (i < rows) {
#pragma unroll
        for (int v = 0; v < 2; v++) {
            const double own = values[i * 2 + v], change = update[i * 2 + v];
            cut = cut || change > pointwise::k_omega_uncut(own);
            values[i * 2 + v] = pointwise::k_omega_kept(own, change);
        }
    }
    const u32 count = __popc(__ballot_sync(0xffffffffu, cut));
    if (threadIdx.x % 32 == 0 && count) atomicAdd(limited, count);
}
