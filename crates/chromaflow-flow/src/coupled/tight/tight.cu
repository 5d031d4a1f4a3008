// One matrix of a flow and of a system that it depends on. Twin: mod.rs.
//
// Constants: NB unknowns a node of the system; STORED 8 or 4 bytes of an off-diagonal value.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif
#define WIDTH (5 + NB)
#define BLOCK (WIDTH * WIDTH)

typedef pointwise::Array<double, 2> Pair;

// What unknowns and residuals of the system are measured by: a thread a value. `floors`: what is added to the size of
// those that are measured by it, negative of others.
extern "C" __global__ void __launch_bounds__(256)
joint_weights(JointWeights) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * NB) return;
    const double floor = floors[at % NB];
    weights[at] = floor < 0 ? 1.0 : fabs(values[at]) + floor;
}
// Where walls have laws, the shear is theirs: a thread a node.
extern "C" __global__ void __launch_bounds__(128)
joint_laws(JointLaws) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    for (int v = 0; v < NB; v++)
        for (int k = 0; k < 9; k++) slopes[(u64)node_of[at] * NB + v].turning[k / 3][k % 3] = 0;
}

// What joins a row's residuals with the states of another node, or its own.
struct Joint {
    // Of the flow by the unknowns, [unknown][residual], and of the system by the flow, [residual][state].
    State of_flow[NB], beside[NB];
};
// A block, its unknowns and residuals measured by the values of their nodes, `wi` of the row and `wj` of the column.
template <class From, class To>
__device__ __forceinline__ void put(const From* own, const From* beside, const Joint& joint, const double* wi,
                                    const double* wj, To* out) {
#pragma unroll
    for (int c = 0; c < 5; c++) {
#pragma unroll
        for (int r = 0; r < 5; r++) out[c * WIDTH + r] = (To)own[c * 5 + r];
#pragma unroll
        for (int r = 0; r < NB; r++) out[c * WIDTH + 5 + r] = (To)(joint.beside[r][c] / wi[r]);
    }
#pragma unroll
    for (int c = 0; c < NB; c++) {
#pragma unroll
        for (int r = 0; r < 5; r++) out[(5 + c) * WIDTH + r] = (To)(joint.of_flow[c][r] * wj[c]);
#pragma unroll
        for (int r = 0; r < NB; r++) out[(5 + c) * WIDTH + 5 + r] = (To)(beside[c * NB + r] * wj[c] / wi[r]);
    }
}
// The gradient of an unknown along the normal of a face, times its area, from what diffuses through it.
__device__ __forceinline__ double through_face(const CarriedFace& face, const double* diffused, u32 side, int v,
                                               double across) {
    const double factor = face.through[side][v], flux = NB == 1 ? diffused[1 + side] : diffused[NB + v];
    return factor == 0 ? 0.0 : flux / factor * across;
}
// A thread a row. `diffused`, [edges]: carried and diffused, as the model has them.
extern "C" __global__ void __launch_bounds__(128)
joint_rows(JointRows) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    const pointwise::Gas<double> gas = params->gas();
    const Node here = load_node(nodes, i);
    const double* wi = weights + (u64)i * NB;
    Joint sum;
#pragma unroll
    for (int v = 0; v < NB; v++) {
        const NodeSlopes& own = slopes[(u64)i * NB + v];
        const Pair source = {own.source[0], own.source[1]};
        sum.beside[v] = pointwise::joint_by_state(gas, here.w, source);
#pragma unroll
        for (int c = 0; c < 5; c++) sum.beside[v][c] *= -volumes[i], sum.of_flow[v][c] = 0;
    }
#pragma unroll 1
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const u32 signed_ = signed_edge[k], e = signed_ & 0x7fffffffu, side = signed_ >> 31, j = col_idx[k];
        const double sign = side ? -1.0 : 1.0, mass = sign * fluxes[(u64)e * 5];
        const Node there = load_node(nodes, j);
        const Vec3 area = load_vec3(areas, e);
        Vec3 n;
#pragma unroll
        for (int d = 0; d < 3; d++) n[d] = sign * area[d];
        const Vec3 dx = params->between(here.x, there.x);
        const double across = dot(pointwise::weight_across(n, dx), n), densities = here.w[0] + there.w[0];
        State by_other;
#pragma unroll
        for (int c = 0; c < 5; c++) by_other[c] = (double)own_off[(u64)k * 25 + c * 5];
        const State by_own = pointwise::joint_mass_by_own(n, by_other);
        Joint joint;
#pragma unroll
        for (int v = 0; v < NB; v++) {
            const NodeSlopes &own = slopes[(u64)i * NB + v], &other = slopes[(u64)j * NB + v];
#pragma unroll
            for (int r = 0; r < 5; r++) {
                const double unit = 0.5 * sign * unit_fluxes[(u64)e * 5 + r];
                joint.of_flow[v][r] = unit * other.eddy;
                sum.of_flow[v][r] += unit * own.eddy;
            }
            const double difference = values[(u64)j * NB + v] - values[(u64)i * NB + v];
            Vec3 turning, back;
#pragma unroll
            for (int d = 0; d < 3; d++) {
                turning[d] = -0.5 * (own.turning[d][0] * n[0] + own.turning[d][1] * n[1] + own.turning[d][2] * n[2]);
                back[d] = -turning[d];
            }
            const double through =
                -0.5 * sign * through_face(faces[e], diffused + (u64)e * (NB == 1 ? 3 : 2 * NB), side, v, across);
            const Pair spread_own = {through * own.spread[0], through * own.spread[1]},
                       spread_other = {through * other.spread[0], through * other.spread[1]};
            const State a = pointwise::joint_carried(per_volume, mass, densities, difference, by_other),
                        b = pointwise::joint_by_state(gas, there.w, spread_other),
                        c = pointwise::joint_by_velocity(there.w, turning),
                        own_a = pointwise::joint_carried(per_volume, mass, densities, difference, by_own),
                        own_b = pointwise::joint_by_state(gas, here.w, spread_own),
                        own_c = pointwise::joint_by_velocity(here.w, back);
#pragma unroll
            for (int s = 0; s < 5; s++) {
                joint.beside[v][s] = a[s] + b[s] + c[s];
                sum.beside[v][s] += own_a[s] + own_b[s] + own_c[s];
            }
        }
        put(own_off + (u64)k * 25, beside_off + (u64)k * (NB * NB), joint, wi, weights + (u64)j * NB,
            off + (u64)k * BLOCK);
    }
    put(own_diag + (u64)i * 25, beside_diag + (u64)i * (NB * NB), sum, wi, wi, diag + (u64)i * BLOCK);
}

// What boundaries of the flow make of the columns that join it with the system, in all blocks of their nodes' rows: a
// warp a node.
template <class T, class F> __device__ __forceinline__ void change_column(T* column, F change) {
    const State before = {(double)column[0], (double)column[1], (double)column[2], (double)column[3],
                          (double)column[4]};
    const State after = change(before);
#pragma unroll
    for (int r = 0; r < 5; r++) column[r] = (T)after[r];
}
template <class F>
__device__ __forceinline__ void change_columns(u32 row, const u32* row_ptr, Value* off, double* diag, F change) {
    for (u32 at = row_ptr[row] * NB + threadIdx.x % 32; at < row_ptr[row + 1] * NB; at += 32)
        change_column(off + (u64)(at / NB) * BLOCK + (5 + at % NB) * WIDTH, change);
    if (threadIdx.x % 32 < NB) change_column(diag + (u64)row * BLOCK + (5 + threadIdx.x % 32) * WIDTH, change);
}
#define NODE                                            \
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32;   \
    if (at >= count) return
extern "C" __global__ void __launch_bounds__(128)
joint_walls(JointWalls) {
    NODE;
    const WallNode here = walls[at];
    const bool isothermal = here.heat == pointwise::WallHeat::Isothermal;
    change_columns(here.node, row_ptr, off, diag, [=](const State& r) {
        return State{r[0], 0, 0, 0, isothermal ? 0.0 : pointwise::strong_wall_energy(here.wall, r)};
    });
}
extern "C" __global__ void __launch_bounds__(128)
joint_mirrors(JointMirrors) {
    NODE;
    const MirrorNode here = mirrors[at];
    change_columns(here.node, row_ptr, off, diag,
                   [=](const State& r) { return pointwise::mirror_kept(here.mirror, r); });
}
extern "C" __global__ void __launch_bounds__(128)
joint_held(JointHeld) {
    NODE;
    change_columns(node_of[at], row_ptr, off, diag, [](const State&) { return State{0, 0, 0, 0, 0}; });
}
// Nothing of the flow in rows of given values of the system: a warp a node.
extern "C" __global__ void __launch_bounds__(128)
joint_given(JointHeld) {
    NODE;
    const u32 row = node_of[at];
    for (u32 e = row_ptr[row] * (5 * NB) + threadIdx.x % 32; e < row_ptr[row + 1] * (5 * NB); e += 32)
        off[(u64)(e / (5 * NB)) * BLOCK + e / NB % 5 * WIDTH + 5 + e % NB] = 0;
    if (threadIdx.x % 32 < 5 * NB)
        diag[(u64)row * BLOCK + threadIdx.x % 32 / NB * WIDTH + 5 + threadIdx.x % 32 % NB] = 0;
}

// Between vectors of the flow and of the system and those of both, residuals to it and states back: a thread a number.
extern "C" __global__ void __launch_bounds__(256)
joint_residual(JointResidual) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * WIDTH) return;
    const u64 i = at / WIDTH, k = at % WIDTH;
    out[at] = k < 5 ? own[i * 5 + k] : beside[i * NB + k - 5] / weights[i * NB + k - 5];
}
extern "C" __global__ void __launch_bounds__(256)
joint_state(JointState) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * WIDTH) return;
    const u64 i = at / WIDTH, k = at % WIDTH;
    if (k < 5) own[i * 5 + k] = from[at];
    else beside[i * NB + k - 5] = from[at] * weights[i * NB + k - 5];
}
// Fluxes without what goes across the layer of a planar mesh.
extern "C" __global__ void __launch_bounds__(256)
joint_planar(JointPlanar) {
    const u64 e = (u64)blockIdx.x * 256 + threadIdx.x;
    if (e < edges) fluxes[e * 5 + 3] = 0;
}
