// What a step does besides residual and Jacobian: time derivative, held nodes, norms, forces, update.
// Twins: ../flow.rs, ../space.rs, ../unsteady.rs, march/forces.rs.

// rho u v w p of node records from conserved states.
__device__ __forceinline__ void store_primitive(pointwise::Gas<double> gas, const State& q, double* nodes, u64 i) {
    const State w = pointwise::primitive(gas, q);
#pragma unroll
    for (int v = 0; v < 5; v++) nodes[i * 8 + v] = w[v];
}
extern "C" __global__ void __launch_bounds__(128) refresh_nodes(RefreshNodes) {
    const u64 i = blockIdx.x * 128 + threadIdx.x;
    if (i < rows) store_primitive(params->gas(), load_state(q, i), nodes, i);
}

// r += V (now q + last q_last + before q_before) - V source; the third momentum of planar flows is not solved for.
extern "C" __global__ void __launch_bounds__(256)
complete_residual(CompleteResidual) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * 5) return;
    double r = residual[at];
    if (q_last) r += volumes[at / 5] * (now * q[at] + last * q_last[at] + before * q_before[at]);
    if (source) r -= volumes[at / 5] * source[at];
    if (planar && at % 5 == 3) r = 0;
    residual[at] = r;
}

// What remains of the balances of nodes on walls without slip is the friction and the heat that the wall takes up:
// `friction` [walls][4], heat last.
extern "C" __global__ void __launch_bounds__(128)
wall_residual(WallResidual) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const WallNode here = walls[at];
    double* r = residual + (u64)here.node * 5;
    const State row = load_state(residual, here.node);
    for (int d = 0; d < 3; d++) friction[(u64)at * 4 + d] = -row[1 + d], r[1 + d] = 0;
    const double energy = pointwise::strong_wall_energy(here.wall, row);
    const bool isothermal = here.heat == pointwise::WallHeat::Isothermal;
    friction[(u64)at * 4 + 3] = isothermal ? -energy : 0.0;
    r[4] = isothermal ? 0.0 : energy;
}
// What walls with a law take up, added to their nodes: `loads` [laws][4], heat last.
extern "C" __global__ void __launch_bounds__(128)
law_residual(LawResidual) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const State w = load_node(nodes, laws[at].other).w;
    const auto load = pointwise::law_load(params->gas(), params->transport(), laws[at].place, w);
    const State flux = pointwise::law_flux(laws[at].place, load);
    for (int d = 0; d < 4; d++) loads[(u64)at * 4 + d] = load[d];
    for (int v = 0; v < 5; v++) residual[(u64)laws[at].node * 5 + v] += flux[v];
}
// What mirror images leave of the balances of nodes on planes of symmetry.
extern "C" __global__ void __launch_bounds__(128)
mirror_residual(MirrorResidual) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const MirrorNode here = mirrors[at];
    const State kept = pointwise::mirror_kept(here.mirror, load_state(residual, here.node));
    for (int k = 1; k < 4; k++) residual[(u64)here.node * 5 + k] = kept[k];
}
extern "C" __global__ void __launch_bounds__(128) held_residual(HeldResidual) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at < count)
        for (int v = 0; v < 5; v++) residual[(u64)node_of[at] * 5 + v] = 0;
}

__device__ __forceinline__ bool is_bad(const double* values, const double* nodes, u64 i) {
    bool good = nodes[i * 8] > 0 && nodes[i * 8 + 4] > 0;
    for (int v = 0; v < 5; v++) good = good && fabs(values[i * 5 + v]) <= 1.7976931348623157e308;
    return !good;
}
// Partial sums of R^2 / V, five a thread block, and the first node with a residual or a state that is non-physical or
// not finite.
extern "C" __global__ void __launch_bounds__(256)
residual_norms(ResidualNorms) {
    double sum[5] = {0, 0, 0, 0, 0};
    const u32 step = gridDim.x * 256;
    for (u64 base = (u64)blockIdx.x * 256; base < rows; base += step) {
        const u64 i = base + threadIdx.x;
        bool bad = false;
        if (i < rows) {
            const double inverse = 1.0 / volumes[i];
#pragma unroll
            for (int v = 0; v < 5; v++) sum[v] += residual[i * 5 + v] * residual[i * 5 + v] * inverse;
            bad = is_bad(residual, nodes, i);
        }
        tell_first(bad, (u32)i, first_bad);
    }
    block_sums(sum);
    if (threadIdx.x == 0)
        for (int v = 0; v < 5; v++) partials[blockIdx.x * 5 + v] = sum[v];
}
extern "C" __global__ void add_parts(AddParts) {
    sum_parts(ptr, width, partials, to);
}

// Forces on walls: partial sums of pressure force, its moment, friction, its moment (12 numbers), a thread block a part
// of one patch. `faces` {node, place among the walls without slip or NONE}; `areas` [faces][4] with the share of
// friction last; `normals` [faces][3], zeros at edges. What walls take up along the normal counts as pressure.
extern "C" __global__ void __launch_bounds__(256)
wall_forces(WallForces) {
    Vec3 arm = {}, f[2] = {};
    const uint2 part = parts[blockIdx.x];
    if (threadIdx.x < part.y) {
        const u64 at = part.x + threadIdx.x;
        const uint2 face = faces[at];
        const Node node = load_node(nodes, face.x);
        arm = {node.x[0] - cx, node.x[1] - cy, node.x[2] - cz};
#pragma unroll
        for (int d = 0; d < 3; d++) {
            f[0][d] = (node.w[4] - free_pressure) * areas[at * 4 + d];
            f[1][d] = face.y == NONE ? 0.0 : areas[at * 4 + 3] * friction[(u64)face.y * 4 + d];
        }
        const Vec3 normal = {normals[at * 3], normals[at * 3 + 1], normals[at * 3 + 2]};
        const double along = f[1][0] * normal[0] + f[1][1] * normal[1] + f[1][2] * normal[2];
#pragma unroll
        for (int d = 0; d < 3; d++) {
            f[0][d] += along * normal[d];
            f[1][d] -= along * normal[d];
        }
    }
    sum_forces(arm, f, partials);
}

// q <- q - share x; the old state is kept, nodes whose update was cut are counted and take less of the CFL number.
extern "C" __global__ void __launch_bounds__(128)
apply_update(ApplyUpdate) {
    const u64 i = (u64)blockIdx.x * 128 + threadIdx.x;
    bool cut = false;
    if (i < rows) {
        const pointwise::Gas<double> gas = params->gas();
        State state = load_state(q, i);
        const State old = state, dq = load_state(x, i);
        const State w = load_node(nodes, (u32)i).w;
        const double share_of_velocity = pointwise::velocity_share(gas, w, dq, params->max_velocity_change);
        const double share = update_share(gas, state, w, dq, params->max_change, params->max_rise, share_of_velocity);
#pragma unroll
        for (int v = 0; v < 5; v++) state[v] -= share * dq[v];
        if (planar) state[3] = 0;
        cut = fabs(dq[0]) > 1e-6 * old[0] && fabs(old[0] - state[0]) < 0.999 * fabs(dq[0]);
#pragma unroll
        for (int v = 0; v < 5; v++) last_good[i * 5 + v] = old[v], q[i * 5 + v] = state[v];
        store_primitive(gas, state, nodes, i);
        cfl_shares[i] = pointwise::next_cfl_share(cfl_shares[i], share);
    }
    const u32 count = __popc(__ballot_sync(0xffffffffu, cut));
    if (threadIdx.x % 32 == 0 && count) atomicAdd(limited, count);
}
// Corrections in f32 would let the walls drift off their conditions.
extern "C" __global__ void __launch_bounds__(128)
hold_walls(HoldWalls) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const WallNode here = walls[at];
    const u64 i = here.node;
    const pointwise::Gas<double> gas = params->gas();
    const State state = pointwise::strong_wall_conserved(gas, here.heat, here.wall, load_state(q, i));
#pragma unroll
    for (int v = 1; v < 5; v++) q[i * 5 + v] = state[v];
    store_primitive(gas, state, nodes, i);
}
extern "C" __global__ void __launch_bounds__(128)
hold_mirrors(HoldMirrors) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const MirrorNode here = mirrors[at];
    const State state = pointwise::mirror_kept(here.mirror, load_state(q, here.node));
#pragma unroll
    for (int k = 1; k < 4; k++) q[(u64)here.node * 5 + k] = state[k];
    store_primitive(params->gas(), state, nodes, here.node);
}
// The first node whose state is non-physical or not finite.
extern "C" __global__ void __launch_bounds__(128) check_state(CheckState) {
    const u64 i = (u64)blockIdx.x * 128 + threadIdx.x;
    tell_first(i < rows && is_bad(q, nodes, i), (u32)i, first_bad);
}
