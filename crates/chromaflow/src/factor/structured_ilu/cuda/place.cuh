// Cells of all grid blocks are numbered through. grids: for each grid block {first cell, ni, nj, nk}.

// The grid block of a cell, and the cell's place there.
struct Place {
    uint4 grid;
    u32 i, j, k;
};
__device__ __forceinline__ Place place_of(u32 cell, u32 blocks, const uint4* __restrict__ grids) {
    u32 low = 0, high = blocks - 1;
    while (low < high) {
        const u32 middle = (low + high + 1) / 2;
        if (grids[middle].x <= cell) low = middle;
        else high = middle - 1;
    }
    const uint4 g = grids[low];
    const u32 at = cell - g.x;
    return {g, at % g.y, at / g.y % g.z, at / g.y / g.z};
}
