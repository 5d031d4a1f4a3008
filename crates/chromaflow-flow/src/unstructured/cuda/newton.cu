// The derivative of the residual by differences, for Newton-Krylov steps. Twin: ../newton.rs.

// q + h v, and its primitive variables; the third momentum of planar flows is zero.
extern "C" __global__ void __launch_bounds__(128)
set_beside(SetBeside) {
    const u64 i = (u64)blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    State state = load_state(base, i);
    const State along = load_state(v, i);
#pragma unroll
    for (int k = 0; k < 5; k++) state[k] += h * along[k];
    if (planar) state[3] = 0;
    const State w = pointwise::primitive(params->gas(), state);
#pragma unroll
    for (int k = 0; k < 5; k++) q[i * 5 + k] = state[k], nodes[i * 8 + k] = w[k];
}

// Derivatives of the primitive variables where conserved ones change by v, as records of nodes.
extern "C" __global__ void __launch_bounds__(128)
states_along(StatesAlong) {
    const u64 i = (u64)blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    StateAlong q;
#pragma unroll
    for (int k = 0; k < 5; k++) q[k] = Along(base[i * 5 + k], planar && k == 3 ? 0.0 : v[i * 5 + k]);
    const StateAlong w = pointwise::primitive(gas_along(params), q);
#pragma unroll
    for (int k = 0; k < 5; k++) along[i * 8 + k] = w[k].d;
#pragma unroll
    for (int k = 5; k < 8; k++) along[i * 8 + k] = nodes[i * 8 + k];
}
// The same on walls without slip, with what they hold.
extern "C" __global__ void __launch_bounds__(128)
walls_along(WallsAlong) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const WallNode here = walls[at];
    const u64 i = here.node;
    StateAlong q;
    for (int k = 0; k < 5; k++) q[k] = Along(base[i * 5 + k], v[i * 5 + k]);
    pointwise::Wall<Along> wall;
    wall.temperature = here.wall.temperature;
    for (int d = 0; d < 3; d++) wall.velocity[d] = here.wall.velocity[d];
    const pointwise::Gas<Along> gas = gas_along(params);
    const StateAlong w = pointwise::primitive(gas, pointwise::strong_wall_conserved(gas, here.heat, wall, q));
    for (int k = 0; k < 5; k++) along[i * 8 + k] = w[k].d;
}

// What residuals are divided by in GMRES's norm: V/dt of each row where `weighted`, else 1.
__device__ __forceinline__ double weight_of(u32 weighted, const double* __restrict__ pseudo_time, u64 row) {
    return weighted && pseudo_time[row] > 0 ? pseudo_time[row] : 1.0;
}
// out = residual / weight, or residual * weight where `back`. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
weigh(Weigh) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * 5) return;
    const double weight = weight_of(1, pseudo_time, at / 5);
    out[at] = back ? from[at] * weight : from[at] / weight;
}

// y = ((moved - base) / h + V/dt v) / weight; the identity for the third momentum of planar flows.
extern "C" __global__ void __launch_bounds__(256)
slopes(Slopes) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * 5) return;
    const double slope = (moved[at] - base[at]) * inverse + pseudo_time[at / 5] * v[at];
    y[at] = (planar && at % 5 == 3 ? v[at] : slope) / weight_of(weighted, pseudo_time, at / 5);
}

// What walls and conditions hold keeps what it has.
extern "C" __global__ void __launch_bounds__(128)
wall_slopes(WallSlopes) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const WallNode here = walls[at];
    const u64 i = (u64)here.node * 5;
    const int end = here.heat == pointwise::WallHeat::Isothermal ? 5 : 4;
    const double weight = weight_of(weighted, pseudo_time, here.node);
    for (int k = 1; k < end; k++) y[i + k] = v[i + k] / weight;
}
extern "C" __global__ void __launch_bounds__(128)
mirror_slopes(MirrorSlopes) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const MirrorNode here = mirrors[at];
    const double weight = weight_of(weighted, pseudo_time, here.node);
    State along = load_state(v, here.node);
    for (int k = 0; k < 5; k++) along[k] /= weight;
    const State rows = pointwise::mirror_rows(here.mirror, load_state(y, here.node), along);
    for (int k = 1; k < 4; k++) y[(u64)here.node * 5 + k] = rows[k];
}
extern "C" __global__ void __launch_bounds__(128)
held_slopes(HeldSlopes) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u64 i = (u64)node_of[at] * 5;
    const double weight = weight_of(weighted, pseudo_time, node_of[at]);
    for (int k = 0; k < 5; k++) y[i + k] = v[i + k] / weight;
}

// The sum of the spectral radii over the faces of each node, over the CFL number. eddies: none where there is no eddy
// viscosity.
extern "C" __global__ void __launch_bounds__(128)
pseudo_times(PseudoTimes) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const pointwise::Gas<double> gas = params->gas();
    const State w = load_node(nodes, i).w;
    const double sound = pointwise::sound_speed(gas, w);
    pointwise::Array<double, 2> diffusing = {};
    if (viscous) {
        diffusing = pointwise::molecular(gas, params->transport(), pointwise::temperature(gas, w));
        if (eddies) diffusing = pointwise::with_eddies(gas, diffusing, eddies[i], params->turbulent_prandtl);
    }
    double sum = 0;
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const Vec3 n = load_vec3(areas, signed_edge[k] & 0x7fffffffu);
        sum += fabs(w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) + sound * sqrt(dot(n, n));
        if (viscous) sum += pointwise::spectral_radius_viscous_of(gas, diffusing, w, n, volumes[i]);
    }
    pseudo_time[i] = sum / (cfl * cfl_shares[i]);
}
