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

__device__ __forceinline__ View view_of(const Side& side, u64 total, u64 at, const double* __restrict__ w, const double* __restrict__ area) {
    View view;
    view.inner = side.deep ? (side.high ? at - side.step : at + side.step) : at;
    view.w1 = state_at(w, total, at), view.w2 = state_at(w, total, view.inner);
    view.n = area_at(area + 3 * side.axis * total, total, side.high ? at + side.step : at);
    if (!side.high)
        for (int c = 0; c < 3; c++) view.n[c] = -view.n[c];
    return view;
}

__device__ __forceinline__ State face_state(pointwise::Gas<double> gas, const Patch& patch, const View& view) {
    const State inside = pointwise::continued_state(view.w1, view.w2, 0.5);
    switch ((int)patch.kind) {
        case FAR: return pointwise::bc_farfield(gas, inside, patch.stream(), view.n);
        case INLET: return pointwise::bc_inlet(gas, inside, patch.inlet(), view.n);
        case OUTLET: return pointwise::bc_outlet(gas, inside, patch.pressure, view.n);
        default: return inside;
    }
}

// States of the two ghosts of each column {cell, patch}; columns of one launch do not read each other's ghosts.
extern "C" __global__ void __launch_bounds__(128)
fill_ghosts(u32 count, u64 total, const uint2* __restrict__ columns, const Patch* __restrict__ patches, const Side* __restrict__ sides,
            const double* __restrict__ area, const Setup* __restrict__ setup, double* w) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const u64 at = columns[n].x;
    const Side side = sides[columns[n].y];
    const Patch& patch = patches[columns[n].y];
    const pointwise::Gas<double> gas = setup->gas();
    const View view = view_of(side, total, at, w, area);
    State first, second;
    switch ((int)patch.kind) {
        case SYMMETRY: first = pointwise::mirrored_state(view.w1, view.n), second = pointwise::mirrored_state(view.w2, view.n); break;
        case SLIP:
            first = pointwise::continued_state(view.w1, view.w2, 1.0);
            second = pointwise::continued_state(first, view.w1, 1.0);
            break;
        case ADIABATIC: first = pointwise::ghost_no_slip(view.w1), second = pointwise::ghost_no_slip(view.w2); break;
        case ISOTHERMAL:
            first = pointwise::ghost_isothermal(gas, view.w1, patch.temperature);
            second = pointwise::ghost_isothermal(gas, view.w2, patch.temperature);
            break;
        default: {
            const State face = face_state(gas, patch, view);
            first = pointwise::continued_state(face, view.w1, 1.0);
            second = pointwise::continued_state(first, face, 1.0);
        }
    }
    const u64 one = side.high ? at + side.step : at - side.step, two = side.high ? at + 2 * side.step : at - 2 * side.step;
    for (int c = 0; c < 5; c++) w[c * total + one] = first[c], w[c * total + two] = second[c];
}

// Fluxes out through the faces {cell, patch}, [5][count], and the forces on walls, [6][count]: pressure above
// `free_pressure`, friction.
extern "C" __global__ void __launch_bounds__(128)
boundary_fluxes(u32 count, u64 total, const uint2* __restrict__ faces, const Patch* __restrict__ patches, const Side* __restrict__ sides,
                const double* __restrict__ w, const double* __restrict__ area, const double* __restrict__ volume, const Setup* __restrict__ setup,
                double free_pressure, double* __restrict__ fluxes, double* __restrict__ loads) {
    const u32 f = blockIdx.x * 128 + threadIdx.x;
    if (f >= count) return;
    const u64 at = faces[f].x;
    const Side side = sides[faces[f].y];
    const Patch& patch = patches[faces[f].y];
    const pointwise::Gas<double> gas = setup->gas();
    const View view = view_of(side, total, at, w, area);
    const int kind = (int)patch.kind;
    State flux;
    Vec3 friction = {0, 0, 0};
    if (kind == SLIP || kind == SYMMETRY || kind == ADIABATIC || kind == ISOTHERMAL) {
        State at_face = view.w1;
        at_face[4] = pointwise::wall_pressure(view.w1[4], view.w2[4], kind == SLIP ? 0.5 : 0.125);
        flux = pointwise::flux_slip_wall(at_face, view.n);
#if VISCOUS
        if (kind == ADIABATIC || kind == ISOTHERMAL) {
            const double v1 = volume[at], v2 = volume[view.inner];
            const double at_wall = pointwise::real_max(1.5 * v1 - 0.5 * v2, 0.5 * v1);
            const auto heat = kind == ADIABATIC ? pointwise::WallHeat::Adiabatic : pointwise::WallHeat::Isothermal;
            const auto wall = pointwise::wall_gradient(gas, heat, view.w1, view.w2, patch.temperature, view.n, at_wall, side.deep ? 1.0 : 0.0);
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
    } else {
        flux = pointwise::flux_through(gas, face_state(gas, patch, view), view.n);
    }
    for (int c = 0; c < 5; c++) fluxes[(u64)c * count + f] = flux[c];
}

// Derivatives of the fluxes out by the cells' conserved variables, [25][count].
extern "C" __global__ void __launch_bounds__(128)
boundary_jacobians(u32 count, u64 total, const uint2* __restrict__ faces, const Patch* __restrict__ patches, const Side* __restrict__ sides,
                   const double* __restrict__ w, const double* __restrict__ area, const double* __restrict__ volume, const Setup* __restrict__ setup,
                   double* __restrict__ jacobians) {
    const u32 f = blockIdx.x * 128 + threadIdx.x;
    if (f >= count) return;
    const u64 at = faces[f].x;
    const Side side = sides[faces[f].y];
    const Patch& patch = patches[faces[f].y];
    const pointwise::Gas<double> gas = setup->gas();
    const View view = view_of(side, total, at, w, area);
    const State inside = view.w1;
    Block block;
    switch ((int)patch.kind) {
        case FAR: {
            const State free = patch.stream(), wb = pointwise::bc_farfield(gas, inside, free, view.n);
            block = pointwise::flux_through_jacobian(gas, inside, wb, pointwise::bc_farfield_jacobian(gas, inside, free, view.n), view.n);
            break;
        }
        case INLET: {
            const auto inlet = patch.inlet();
            const State wb = pointwise::bc_inlet(gas, inside, inlet, view.n);
            block = pointwise::flux_through_jacobian(gas, inside, wb, pointwise::bc_inlet_jacobian(gas, inside, inlet, view.n), view.n);
            break;
        }
        case OUTLET: {
            const State wb = pointwise::bc_outlet(gas, inside, patch.pressure, view.n);
            block = pointwise::flux_through_jacobian(gas, inside, wb, pointwise::bc_outlet_jacobian(gas, inside, patch.pressure, view.n), view.n);
            break;
        }
        case EXTRAPOLATION: block = pointwise::flux_jacobian(gas, inside, view.n); break;
        default:
            block = pointwise::flux_slip_wall_jacobian(gas, inside, view.n);
#if VISCOUS
            if ((int)patch.kind >= ADIABATIC) {
                const double v1 = volume[at], v2 = volume[view.inner];
                const double at_wall = pointwise::real_max(1.5 * v1 - 0.5 * v2, 0.5 * v1);
                const double damping = 3.0 * pointwise::spectral_radius_viscous(gas, setup->transport(), inside, view.n, at_wall);
                for (int c = 1; c < 5; c++) block[6 * c] += damping;
            }
#endif
    }
    for (int e = 0; e < 25; e++) jacobians[(u64)e * count + f] = block[e];
}

extern "C" __global__ void __launch_bounds__(256)
wall_forces(u32 count, const uint2* __restrict__ parts, const double* __restrict__ middles, const double* __restrict__ loads, double cx, double cy,
            double cz, double* __restrict__ partials) {
    sum_wall_forces(count, parts, middles, loads, cx, cy, cz, partials);
}
