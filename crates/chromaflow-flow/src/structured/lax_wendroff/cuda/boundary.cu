// The boundary of the Lax-Wendroff scheme. Twin: lax_wendroff/boundary.rs.

// Where a patch lies: axis, 1 at its high end.
struct NodeSide {
    u32 axis, high;
};

#if !COARSE
// Fluxes out through the faces {cell, patch, block}, [5][count], and the forces on them, [6][count]: pressure above
// `free_pressure`, friction.
extern "C" __global__ void __launch_bounds__(128)
boundary_fluxes(BoundaryFluxes) {
    const u32 f = blockIdx.x * 128 + threadIdx.x;
    if (f >= count) return;
    const u64 at = faces[3 * f];
    const Condition& condition = conditions[faces[3 * f + 1]];
    const NodeSide side = sides[faces[3 * f + 1]];
    const u32* stride = blocks[faces[3 * f + 2]].stride;
    const u32 u = side.axis == 2 ? 0 : side.axis + 1, v = side.axis == 0 ? 2 : side.axis - 1;
    const u32 step = pick(stride, side.axis), su = pick(stride, u), sv = pick(stride, v);
    const u64 place = side.high ? at + step : at;
    State mean = {0, 0, 0, 0, 0};
    for (u32 b = 0; b < 4; b++) {
        const State corner = state_at(q, total, place + (b & 1) * su + (b >> 1) * sv);
        for (int c = 0; c < 5; c++) mean[c] += 0.25 * corner[c];
    }
    const pointwise::Gas<double> gas = setup->gas();
    Vec3 n = area_at(area + 3 * side.axis * total, total, place);
    if (!side.high)
        for (int c = 0; c < 3; c++) n[c] = -n[c];
    const State w = pointwise::boundary_face_state(condition, gas, pointwise::primitive(gas, mean), n);
    const State flux = pointwise::face_flux(condition, gas, w, n);
    for (int c = 0; c < 5; c++) fluxes[(u64)c * count + f] = flux[c];
    Vec3 friction = {0, 0, 0};
#if VISCOUS
    if (pointwise::condition_class(condition) == pointwise::ConditionClass::NoSlip) {
        const Corners corners = corners_at(q, total, at, stride);
        const auto gradient = pointwise::corner_gradient(gas, corners, areas_at(area, total, at, stride), volume[at]);
        const auto transport = setup->transport();
        const double mu =
            transport.scale *
            pointwise::viscosity(transport, pointwise::temperature(gas, pointwise::corner_mean(gas, corners)));
        friction = pointwise::traction(mu, gradient, n);
    }
#endif
    for (int c = 0; c < 3; c++) {
        loads[(u64)c * count + f] = (w[4] - free_pressure) * n[c];
        loads[(u64)(3 + c) * count + f] = -friction[c];
    }
}

extern "C" __global__ void __launch_bounds__(256)
wall_forces(WallForces) {
    sum_wall_forces(count, parts, middles, loads, cx, cy, cz, partials);
}
#endif

// A node's state with a boundary's part in it, from that of the interior; `n` is the area of its part of the boundary.
__device__ __forceinline__ State bounded(pointwise::Gas<double> gas, const Condition& condition, const Vec3& n,
                                         const Vec3& x, const State& q) {
    return pointwise::conserved(gas, pointwise::bounded_state(condition, gas, pointwise::primitive(gas, q), n, x));
}

// The boundary's conditions {patch, area} on each of its nodes, one after another, for all copies of the node; a thread
// a node. On fine grids on the state, with its pressure; on coarse ones on the change, as the difference that it makes,
// so that what is at rest stays there: the walls of coarse grids have other normals.
extern "C" __global__ void __launch_bounds__(128)
close_boundary(CloseBoundary) {
    const u32 p = blockIdx.x * 128 + threadIdx.x;
    if (p >= count) return;
    const pointwise::Gas<double> gas = setup->gas();
    const u64 at = copies[copy_ptr[p]];
    State value = state_at(to, total, at);
    const Vec3 x = load_vec3(places, p);
#if COARSE
    const State old = state_at(q, total, at);
#endif
    for (u32 k = ptr[p]; k < ptr[p + 1]; k++) {
        const Vec3 n = {areas[3 * k], areas[3 * k + 1], areas[3 * k + 2]};
        const Condition& condition = conditions[patch_of[k]];
#if COARSE
        State now = old;
        for (int c = 0; c < 5; c++) now[c] += value[c];
        const State before = bounded(gas, condition, n, x, old), after = bounded(gas, condition, n, x, now);
        for (int c = 0; c < 5; c++) value[c] = after[c] - before[c];
#else
        value = bounded(gas, condition, n, x, value);
#endif
    }
#if !COARSE
    const double pressure = pointwise::primitive(gas, value)[4];
#endif
    for (u32 k = copy_ptr[p]; k < copy_ptr[p + 1]; k++) {
        for (int c = 0; c < 5; c++) to[c * total + copies[k]] = value[c];
#if !COARSE
        to[5 * total + copies[k]] = pressure;
#endif
    }
}
