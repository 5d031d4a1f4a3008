// What the kernels of structured grids share, behind common.cuh and grid.cuh.
//
// Arrays of all blocks with ghosts, see grid.cuh, `total` entries a component: w [5], area [3 axes][3], volume, tau, r
// [5]. Constants: SCHEME 0 central with scalar dissipation, 1 with matrix dissipation, 2 Roe; VISCOUS 0 no, 1
// thin-layer, 2 full.

// Numbers of the set-up, in the order of `setup_record` in setup.rs.
struct Setup {
    double gamma;
    double second, fourth, acoustic, convective;
    double kappa, limited, fix_acoustic, fix_convective;
    double viscosity, prandtl, law, sutherland;
    double implicit_dissipation, max_change;
    double turbulent_prandtl;   // 0 where there is no turbulence model
    double max_rise, max_velocity_change;
    double cutoff_mach;
    __device__ pointwise::Gas<double> gas() const { return {gamma}; }
    __device__ pointwise::Dissipation<double> dissipation() const {
        return {second, fourth, acoustic, convective, cutoff_mach};
    }
    // Between cells with these sums of jumps of pressure.
    __device__ pointwise::RoeFix<double> fix(double before, double after) const {
        return {fix_acoustic, pointwise::convective_at_shocks(fix_convective, before, after), cutoff_mach, 1.0};
    }
    __device__ pointwise::RoeFix<double> fix() const { return {fix_acoustic, fix_convective, cutoff_mach, 1.0}; }
    __device__ pointwise::Transport<double> transport() const {
        return {viscosity, prandtl, law != 0 ? pointwise::ViscosityLaw::Sutherland : pointwise::ViscosityLaw::Constant,
                sutherland};
    }
    __device__ bool is_turbulent() const { return turbulent_prandtl > 0; }
    // Viscosity and conductivity at a temperature under an eddy viscosity.
    __device__ pointwise::Array<double, 2> diffusing(double t, double eddies) const {
        const auto own = pointwise::molecular(gas(), transport(), t);
        return is_turbulent() ? pointwise::with_eddies(gas(), own, eddies, turbulent_prandtl) : own;
    }
};

// A link to a cell beyond an interface whose column the matrix leaves out: its face counts.
#define APART 0x7fffffffu

// The gas in numbers as they are, or with their derivatives along a direction.
template <class T> __device__ __forceinline__ pointwise::Gas<T> gas_of(const Setup& setup) {
    return {T(setup.gamma)};
}
template <class T> __device__ __forceinline__ pointwise::Transport<T> transport_of(const Setup& setup) {
    const auto t = setup.transport();
    return {T(t.scale), T(t.prandtl), t.law, T(t.sutherland)};
}
// Whether a law of the wall holds at a face or in a column of ghosts, in kernels of walls with laws (LAWS). Twin:
// `laws` in setup.rs.
#ifndef LAWS
#define LAWS 0
#endif
__device__ __forceinline__ bool has_law(const LawNode* laws, u32 n) { return LAWS && laws[n].other != NONE; }

__device__ __forceinline__ State state_at(const double* __restrict__ w, u64 total, u64 at) {
    return {w[at], w[total + at], w[2 * total + at], w[3 * total + at], w[4 * total + at]};
}
// `area` begins with the first component of an axis.
__device__ __forceinline__ Vec3 area_at(const double* __restrict__ area, u64 total, u64 at) {
    return {area[at], area[total + at], area[2 * total + at]};
}

// a[axis] of an array in registers.
__device__ __forceinline__ u32 pick(const u32* a, u32 axis) { return axis == 0 ? a[0] : axis == 1 ? a[1] : a[2]; }

// Number of the boundary's face at an end of an axis, or NONE. `face_of` has the faces of each side of each block from
// `side_ptr` on, the first tangential axis fastest.
struct Sides {
    const u32* ptr;
    const u32* face_of;
    __device__ u32 face(u32 block, const u32* count, u32 axis, u32 high, const u32* cell) const {
        const u32 u = axis == 2 ? 0 : axis + 1, v = axis == 0 ? 2 : axis - 1;
        return face_of[ptr[6 * block + 2 * axis + high] + pick(cell, u) + pick(count, u) * pick(cell, v)];
    }
};

// Sums over one part {first face, faces} of a wall each: pressure force, its moment, friction, its moment (12 numbers),
// of loads [6][count] at `middles` [3][count]; thread blocks of 256.
__device__ __forceinline__ void sum_wall_forces(u32 count, const uint2* __restrict__ parts,
                                                const double* __restrict__ middles, const double* __restrict__ loads,
                                                double cx, double cy, double cz, double* __restrict__ partials) {
    Vec3 arm = {}, f[2] = {};
    const uint2 part = parts[blockIdx.x];
    if (threadIdx.x < part.y) {
        const u64 at = part.x + threadIdx.x, n = count;
        arm = {middles[at] - cx, middles[n + at] - cy, middles[2 * n + at] - cz};
#pragma unroll
        for (int k = 0; k < 2; k++)
            f[k] = {loads[3 * k * n + at], loads[(3 * k + 1) * n + at], loads[(3 * k + 2) * n + at]};
    }
    sum_forces(arm, f, partials);
}

#define COLUMNS 32
// A thread block's tile {block, i, j, k of its first cell}, COLUMNS cells wide along i, and the planes along k that it
// marches through.
struct Tile {
    GridBlock b;
    u32 block, i, j, first, end;
    __device__ Tile(const GridBlock* blocks, const uint4* tiles, u32 planes) {
        const uint4 tile = tiles[blockIdx.x];
        block = tile.x, b = blocks[tile.x];
        i = tile.y, j = tile.z, first = tile.w, end = min(first + planes, b.count[2]);
    }
    // Place of a cell; indices may be ghosts' and are cut off where there are none any more.
    __device__ u32 place(u32 ci, u32 cj, u32 ck) const {
        ci = min((int)ci, (int)b.count[0] + 1), cj = min((int)cj, (int)b.count[1] + 1);
        return b.offset + (ci + 2) + (cj + 2) * b.stride[1] + (ck + 2) * b.stride[2];
    }
};

// As above with 32 bits for the numbers of all components: more would fit no memory.
__device__ __forceinline__ State state_of(const double* __restrict__ w, u32 pitch, u32 at) {
    return {w[at], w[at + pitch], w[at + 2 * pitch], w[at + 3 * pitch], w[at + 4 * pitch]};
}
__device__ __forceinline__ Vec3 vector_of(const double* __restrict__ area, u32 pitch, u32 at) {
    return {area[at], area[at + pitch], area[at + 2 * pitch]};
}
