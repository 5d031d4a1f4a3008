// What the kernels of the Lax-Wendroff scheme share, behind common.cuh, grid.cuh and structured.cuh.
//
// Arrays of the nodes of all blocks with ghosts, see grid.cuh, `total` entries a component: q [6] (conserved variables,
// pressure), steps (the least of the cells around), node_volume (of the whole control volume, on
// coarse grids an eighth for each cell around; with a minus where several copies of the
// node share it). A cell's arrays have the place of its lowest node: area [3 axes][3], volume, kept [24]. Kept values
// are zero where there is no cell, so that nodes take all eight cells around them. Constants: VISCOUS; COARSE, grids
// that carry the changes of finer ones.
typedef pointwise::Array<State, 8> Corners;
enum { SECOND_ORDER = 5, RADII = 20, STEP = 23 };

__device__ __forceinline__ Corners corners_at(const double* __restrict__ q, u64 total, u64 at, const u32* stride) {
    Corners corners;
#pragma unroll
    for (u32 b = 0; b < 8; b++)
        corners[b] = state_at(q, total, at + (b & 1) * stride[0] + (b >> 1 & 1) * stride[1] + (b >> 2) * stride[2]);
    return corners;
}

typedef pointwise::Array<pointwise::Array<Vec3, 2>, 3> Areas;
__device__ __forceinline__ Areas areas_at(const double* __restrict__ area, u64 total, u64 at, const u32* stride) {
    Areas areas;
#pragma unroll
    for (u32 d = 0; d < 3; d++)
#pragma unroll
        for (u32 high = 0; high < 2; high++)
            areas[d][high] = area_at(area + 3 * d * total, total, at + high * stride[d]);
    return areas;
}
__device__ __forceinline__ Vec3 mean_area(const Areas& areas, u32 axis) {
    const Vec3 &low = areas[axis][0], &high = areas[axis][1];
    return {0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])};
}

// Numbers of cells of a block of nodes.
struct CellCount {
    u32 of[3];
    __device__ explicit CellCount(const GridBlock& b) : of{b.count[0] - 1, b.count[1] - 1, b.count[2] - 1} {}
    __device__ bool has(const u32* cell) const { return cell[0] < of[0] && cell[1] < of[1] && cell[2] < of[2]; }
};
