// Cells of structured grids under a turbulence model: what its kernels share. Behind structured.cuh, before the model.
//
// Constants: NB unknowns a cell, 1 nut or 2 k and omega; LAWS 1 where walls have laws. Arrays have `total` entries a
// component as the flow's; `aux` is nu of the one model, what k and omega diffuse by of the other.

// Numbers of the model, in the order of `numbers` in mod.rs.
struct Model {
    double inflow[2];
    double variant, kappa, second_order, full, rotating, ambient_k, ambient_omega, roughness, blended;
};
// What is beyond a side of a cell; the boundary's as `kind` in mod.rs.
#define INSIDE 0
#define OPEN 1
#define SLIP 2
#define WALL 3

typedef pointwise::Array<double, 2> Pair;

// The flow and the model on the grid.
struct Field {
    u64 total;
    const double *w, *area, *volume, *values, *aux;
    const Setup* setup;
    const Model* model;
    __device__ State state(u64 at) const { return state_at(w, total, at); }
    __device__ double value(int v, u64 at) const { return values[v * total + at]; }
    // Sum of the areas of a cell's two faces along an axis.
    __device__ Vec3 areas(u32 axis, u32 step, u64 at) const {
        const double* from = area + 3 * axis * total;
        const Vec3 low = area_at(from, total, at), high = area_at(from, total, at + step);
        return {low[0] + high[0], low[1] + high[1], low[2] + high[2]};
    }
    // Area outwards of a cell's face, `beyond` the place of the next cell along the axis.
    __device__ Vec3 outwards(u32 axis, u32 high, u64 at, u64 beyond) const {
        const Vec3 n = area_at(area + 3 * axis * total, total, high ? beyond : at);
        if (high) return n;
        return {-n[0], -n[1], -n[2]};
    }
};
#define FIELD Field{total, w, area, volume, values, aux, setup, model}

// Numbers of the field as T has them: as they are, or with their derivatives along a direction.
template <class T> struct Numbers {
    Field f;
    const double *w_along, *values_along, *aux_along;
    __device__ pointwise::Array<T, 5> state(u64 at) const {
        pointwise::Array<T, 5> out;
#pragma unroll
        for (int c = 0; c < 5; c++) out[c] = number(f.w, w_along, c * f.total + at);
        return out;
    }
    __device__ T value(int v, u64 at) const { return number(f.values, values_along, v * f.total + at); }
    __device__ T aux(int v, u64 at) const { return number(f.aux, aux_along, v * f.total + at); }
    static __device__ T number(const double* values, const double* slopes, u64 at);
};
template <> __device__ __forceinline__ double Numbers<double>::number(const double* values, const double*, u64 at) {
    return values[at];
}

// Steps to the neighbors of a block's cells, and a bit an axis that it has.
struct Steps {
    u32 stride[3], active;
    __device__ Steps(const GridBlock& b, u32 active) : stride{1, b.stride[1], b.stride[2]}, active(active) {}
    __device__ bool has(u32 axis) const { return active >> axis & 1; }
};

// A side of a cell: the boundary's face there, NONE between cells, the next place along the axis, the area outwards.
struct Outside {
    u32 axis, face;
    u64 beyond;
    Vec3 n;
    __device__ __forceinline__ Outside(const Field& f, const GridBlock& block, const Steps& steps, const GridCell& cell,
                                       const Sides& sides, u32 side) {
        const u32 high = side % 2;
        axis = side / 2, face = NONE;
        const u32 step = pick(steps.stride, axis), end = high ? pick(block.count, axis) - 1 : 0;
        if (pick(cell.index, axis) == end) face = sides.face(cell.block, block.count, axis, high, cell.index);
        beyond = high ? cell.at + step : cell.at - step;
        n = f.outwards(axis, high, cell.at, beyond);
    }
};

// Velocities about a cell as velocities.cuh takes them.
struct Velocities {
    const Field& f;
    const GridBlock& block;
    const Steps& steps;
    const GridCell& cell;
    const Sides& sides;
    __device__ Vec3 velocity(u64 at) const {
        const double* u = f.w + f.total;
        return {u[at], u[f.total + at], u[2 * f.total + at]};
    }
    __device__ double volume(u64 at) const { return f.volume[at]; }
    __device__ Vec3 areas(u32 axis, u64 at) const { return f.areas(axis, pick(steps.stride, axis), at); }
    __device__ u32 stride(u32 axis) const { return pick(steps.stride, axis); }
    __device__ bool has(u32 axis) const { return steps.has(axis); }
    __device__ bool next(u32 side, u64& beyond, Vec3& n) const {
        if (!steps.has(side / 2)) return false;
        const Outside out(f, block, steps, cell, sides, side);
        beyond = out.beyond, n = out.n;
        return out.face == NONE;
    }
};

// A face as the cell on one of its sides has it: the volume or the mass that leaves, and what a difference of each
// unknown across it diffuses. Twin: links.rs.
struct Link {
    double passing, spread[NB];
    __device__ double coupling(int v) const { return spread[v] - fmin(passing, 0.0); }
    __device__ double speed() const { return 0.5 * fabs(passing) + fmax(spread[0], spread[NB - 1]); }
};

template <class T> __device__ __forceinline__ pointwise::LawPlace<T> place_of(const pointwise::LawPlace<double>& place);
template <>
__device__ __forceinline__ pointwise::LawPlace<double> place_of<double>(const pointwise::LawPlace<double>& place) {
    return place;
}
template <>
__device__ __forceinline__ pointwise::LawPlace<Along> place_of<Along>(const pointwise::LawPlace<double>& place) {
    return along_of(place);
}
// The wall with a law next to a cell, of several that whose face is nearest; none elsewhere. Twin: boundary/laws.rs.
__device__ __forceinline__ const LawNode* law_beside(const GridBlock& block, const Steps& steps, const GridCell& cell,
                                                     const Sides& sides, const LawNode* laws) {
    const LawNode* found = nullptr;
    if (!LAWS) return found;
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        const u32 axis = side / 2, high = side % 2;
        if (!steps.has(axis) || pick(cell.index, axis) != (high ? pick(block.count, axis) - 1 : 0)) continue;
        const u32 face = sides.face(cell.block, block.count, axis, high, cell.index);
        if (face == NONE || !has_law(laws, face)) continue;
        if (!found || laws[face].place.area > found->place.area) found = laws + face;
    }
    return found;
}
