// The boundary of structured grids: ghost cells, fluxes and forces, Jacobians. A thread a face or a column of ghosts.
// Twin: structured/boundary.rs.

// Where a patch lies: axis, 1 at its high end, distance of neighbors along the axis, 1 where a second cell is inside.
struct Side {
    u32 axis, high, step, deep;
};

// A face as its cell sees it.
struct View {
    State w1, w2;
    Vec3 n;
    u64 inner;
};

__device__ __forceinline__ View view_of(const Side& side, u64 total, u64 at, const double* __restrict__ w,
                                        const double* __restrict__ area) {
    View view;
    view.inner = side.deep ? (side.high ? at - side.step : at + side.step) : at;
    view.w1 = state_at(w, total, at), view.w2 = state_at(w, total, view.inner);
    view.n = area_at(area + 3 * side.axis * total, total, side.high ? at + side.step : at);
    if (!side.high)
        for (int c = 0; c < 3; c++) view.n[c] = -view.n[c];
    return view;
}

// Sets the back pressure of an outlet whose parts here are those from `first` to `end`, from the flow through all of it
// and its slope; with `hold` it is the one that the next are adapted from.
static __device__ void adapt(Condition* conditions, pointwise::Gas<double> gas, const u32* parts, u32 first, u32 end,
                             double flow, double slope, u32 alone, u32 hold) {
    if (first == end) return;
    const Condition& one = conditions[parts[3 * first]];
    const double pressure = pointwise::adapted_pressure(one, gas, flow, slope, (double)alone);
    for (u32 part = first; part < end; part++) {
        conditions[parts[3 * part]].outlet.pressure = pressure;
        if (hold) conditions[parts[3 * part]].held = pressure;
    }
}

// The back pressure of outlets of given mass flow, a thread block each; `parts` {patch, range of its faces} from
// ptr[outlet] on. With `flows` what flows out here and its slope, to be added to those of other ranks.
extern "C" __global__ void __launch_bounds__(256)
adapt_outlets(AdaptOutlets) {
    const u32 first = ptr[blockIdx.x], end = ptr[blockIdx.x + 1];
    double sum[2] = {0, 0};
    for (u32 part = first; part < end; part++) {
        const u32 patch = parts[3 * part];
        for (u32 f = parts[3 * part + 1] + threadIdx.x; f < parts[3 * part + 2]; f += 256) {
            const View view = view_of(sides[patch], total, faces[f].x, w, area);
            const auto flow = pointwise::face_flow(conditions[patch], setup->gas(), view.w1, view.w2, view.n);
            sum[0] += flow[0], sum[1] += flow[1];
        }
    }
    block_sums(sum);
    if (threadIdx.x > 0) return;
    if (flows)
        flows[2 * blockIdx.x] = sum[0], flows[2 * blockIdx.x + 1] = sum[1];
    else
        adapt(conditions, setup->gas(), parts, first, end, sum[0], sum[1], alone, hold);
}

// The same by the flows of all ranks, a thread an outlet.
extern "C" __global__ void __launch_bounds__(128)
adapt_by_flows(AdaptByFlows) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    adapt(conditions, setup->gas(), parts, ptr[n], ptr[n + 1], flows[2 * n], flows[2 * n + 1], alone, hold);
}

// States of the two ghosts of each column {cell, patch}; columns of one launch do not read each other's ghosts.
extern "C" __global__ void __launch_bounds__(128)
fill_ghosts(FillGhosts) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const u64 at = columns[n].x;
    const Side side = sides[columns[n].y];
    const View view = view_of(side, total, at, w, area);
    const Vec3 x = load_vec3(middles, n);
    auto ghosts = pointwise::ghost_states(conditions[columns[n].y], setup->gas(), view.w1, view.w2, view.n, x);
#if VISCOUS
    if (has_law(laws, n)) {
        const pointwise::Array<State, 2> cells = {view.w1, view.w2};
        ghosts = pointwise::law_ghosts(setup->gas(), setup->transport(), laws[n].place, cells, ghosts);
    }
#endif
    const u64 one = side.high ? at + side.step : at - side.step,
              two = side.high ? at + 2 * side.step : at - 2 * side.step;
    for (int c = 0; c < 5; c++) w[c * total + one] = ghosts[0][c], w[c * total + two] = ghosts[1][c];
}

// Fluxes out through the faces {cell, patch}, [5][count], and the forces on walls, [6][count]: pressure above
// `free_pressure`, friction.
extern "C" __global__ void __launch_bounds__(128)
boundary_fluxes(BoundaryFluxes) {
    const u32 f = blockIdx.x * 128 + threadIdx.x;
    if (f >= count) return;
    const u64 at = faces[f].x;
    const Side side = sides[faces[f].y];
    const Condition& condition = conditions[faces[f].y];
    const pointwise::Gas<double> gas = setup->gas();
    const View view = view_of(side, total, at, w, area);
    const auto kind = pointwise::condition_class(condition);
    State flux;
    Vec3 friction = {0, 0, 0};
    if (kind == pointwise::ConditionClass::Open) {
        flux = pointwise::continued_flux(condition, gas, view.w1, view.w2, view.n);
    } else {
        State at_face = view.w1;
        at_face[4] = pointwise::pressure_on(condition, view.w1, view.w2);
        flux = pointwise::flux_slip_wall(at_face, view.n);
#if VISCOUS
        if (has_law(laws, f)) {
            const auto place = laws[f].place;
            const auto load = pointwise::law_load(gas, setup->transport(), place, view.w1);
            const State taken = pointwise::law_flux(place, load);
            for (int c = 0; c < 5; c++) flux[c] += taken[c];
            friction = {-load[0], -load[1], -load[2]};
        } else if (kind == pointwise::ConditionClass::NoSlip) {
            const double v1 = volume[at], v2 = volume[view.inner];
            // Under turbulent flow of the first cell alone, as on the host.
            const bool deep = side.deep && !setup->is_turbulent();
            const double at_wall =
                setup->is_turbulent() ? v1 : pointwise::real_max(1.5 * v1 - 0.5 * v2, 0.5 * v1);
            const Vec3 x = {middles[f], middles[count + f], middles[2 * (u64)count + f]};
            const auto wall = pointwise::wall_gradient(condition, gas, view.w1, view.w2, view.n, x, at_wall,
                                                       deep ? 1.0 : 0.0);
            const auto transport = setup->transport();
            const State viscous = pointwise::flux_viscous(gas, transport, wall._0, wall._1, view.n);
            for (int c = 0; c < 5; c++) flux[c] -= viscous[c];
            const double mu = transport.scale * pointwise::viscosity(transport, wall._0[3]);
            friction = pointwise::traction(mu, wall._1, view.n);
        }
#endif
        for (int c = 0; c < 3; c++) {
            loads[(u64)c * count + f] = (at_face[4] - free_pressure) * view.n[c];
            loads[(u64)(3 + c) * count + f] = -friction[c];
        }
    }
    for (int c = 0; c < 5; c++) fluxes[(u64)c * count + f] = flux[c];
}

// Derivatives of the fluxes out by the cells' conserved variables, [25][count].
extern "C" __global__ void __launch_bounds__(128)
boundary_jacobians(BoundaryJacobians) {
    const u32 f = blockIdx.x * 128 + threadIdx.x;
    if (f >= count) return;
    const u64 at = faces[f].x;
    const Side side = sides[faces[f].y];
    const Condition& condition = conditions[faces[f].y];
    const pointwise::Gas<double> gas = setup->gas();
    const View view = view_of(side, total, at, w, area);
    Block block = pointwise::condition_flux_jacobian(condition, gas, view.w1, view.n);
#if VISCOUS
    if (has_law(laws, f)) {
        const auto place = along_of(laws[f].place);
        Block by;
#pragma unroll 1
        for (int c = 0; c < 5; c++) {
            StateAlong state;
            for (int v = 0; v < 5; v++) state[v] = Along(view.w1[v], v == c ? 1.0 : 0.0);
            const auto load = pointwise::law_load(gas_of<Along>(*setup), transport_of<Along>(*setup), place, state);
            const StateAlong flux = pointwise::law_flux(place, load);
            for (int v = 0; v < 5; v++) by[5 * c + v] = flux[v].d;
        }
        by = pointwise::by_conserved(gas, view.w1, by);
        for (int e = 0; e < 25; e++) block[e] += by[e];
    } else if (pointwise::condition_class(condition) == pointwise::ConditionClass::NoSlip) {
        const double v1 = volume[at], v2 = volume[view.inner];
        if (setup->is_turbulent()) {
            const Block by =
                pointwise::wall_friction_block(condition, gas, setup->transport(), view.w1, view.n, v1);
            for (int e = 0; e < 25; e++) block[e] -= by[e];
        } else {
            const double at_wall = pointwise::real_max(1.5 * v1 - 0.5 * v2, 0.5 * v1);
            const double damping =
                3.0 * pointwise::spectral_radius_viscous(gas, setup->transport(), view.w1, view.n, at_wall);
            for (int c = 1; c < 5; c++) block[6 * c] += damping;
        }
    }
#endif
    for (int e = 0; e < 25; e++) jacobians[(u64)e * count + f] = block[e];
}

// The limited inviscid flux out of the cell beside a turned side {face, distance of neighbors, axis, 1 at high ends}.
__device__ __forceinline__ State turned_side(const uint4& side, u64 total, const double* __restrict__ w,
                                             const double* __restrict__ area, const double* __restrict__ jumps,
                                             const Setup& setup) {
    const u64 at = side.x, step = side.y;
    const Vec3 n = area_at(area + 3 * side.z * total, total, at);
    const State a = state_at(w, total, at - 2 * step), b = state_at(w, total, at - step), c = state_at(w, total, at),
                d = state_at(w, total, at + step);
    State flux = pointwise::flux_roe_muscl(setup.gas(), a, b, c, d, n, setup.kappa, setup.limited,
                                           setup.fix(jumps[at - step], jumps[at]));
    if (!side.w)
        for (int v = 0; v < 5; v++) flux[v] = -flux[v];
    return flux;
}

// Fluxes through faces between turned sides are side a's: a thread a face, each of another cell b. `sides` {a, b},
// `turns` the matrix from a to b of each. Twin: structured/turned.rs.
extern "C" __global__ void __launch_bounds__(128)
join_turned(JoinTurned) {
#if SCHEME == 2
    const u32 f = blockIdx.x * 128 + threadIdx.x;
    if (f >= count) return;
    const uint4 side = sides[2 * (u64)f + 1];
    const State a = turned_side(sides[2 * (u64)f], total, w, area, jumps, *setup);
    const State b = turned_side(side, total, w, area, jumps, *setup);
    const double* m = turns + 9 * (u64)f;
    const u64 at = side.w ? side.x - side.y : side.x;
    for (int c = 0; c < 5; c++) {
        const double* row = m + (c >= 1 && c <= 3 ? 3 * (c - 1) : 0);
        const double enters = c >= 1 && c <= 3 ? row[0] * a[1] + row[1] * a[2] + row[2] * a[3] : a[c];
        r[c * total + at] += -enters - b[c];
    }
#endif
}

extern "C" __global__ void __launch_bounds__(256)
wall_forces(WallForces) {
    sum_wall_forces(count, parts, middles, loads, cx, cy, cz, partials);
}
