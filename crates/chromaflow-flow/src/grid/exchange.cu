// Ghost cells beyond interfaces. Twin: exchange.rs.
typedef unsigned int u32;
typedef unsigned long long u64;

// Where a component of a cell lies: `by_cell` where those of a cell lie together, else those of all cells.
static __device__ __forceinline__ u64 place(u32 by_cell, u32 components, u64 cells, u64 cell, u64 c) {
    return by_cell ? cell * components + c : c * cells + cell;
}

// A thread a value. Cells behind the last one are rows of `others`.
extern "C" __global__ void __launch_bounds__(256)
fill_ghosts(FillGhosts) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)pairs * components) return;
    const u64 pair = by_cell ? i / components : i % pairs, c = by_cell ? i % components : i / pairs;
    const uint2 copy = copies[pair];
    const double value = copy.y < cells ? fields[place(by_cell, components, cells, copy.y, c)]
                                        : others[(copy.y - cells) * components + c];
    fields[place(by_cell, components, cells, copy.x, c)] = value;
}

// Rows {cell, row} of what other ranks need; zeros of no cell. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
take_cells(TakeCells) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)count * components) return;
    const u64 n = by_cell ? i / components : i % count, c = by_cell ? i % components : i / count;
    const uint2 cell = list[n];
    rows[(u64)cell.y * components + c] =
        cell.x == 0xffffffffu ? 0.0 : fields[place(by_cell, components, cells, cell.x, c)];
}

// Ghost cells whose vector, components 1 to 3, is turned: {ghost, cell, number of the matrix}. A thread a cell.
extern "C" __global__ void __launch_bounds__(256)
fill_turned_ghosts(FillTurnedGhosts) {
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    const u32* copy = copies + 3 * (u64)i;
    const double* m = matrices + 9 * copy[2];
    const u64 step = by_cell ? 1 : cells;
    const double* from = fields + (by_cell ? (u64)copy[1] * components : copy[1]);
    double* to = fields + (by_cell ? (u64)copy[0] * components : copy[0]);
    const double v[3] = {from[step], from[2 * step], from[3 * step]};
    for (u32 c = 0; c < components; c++) {
        const bool turns = c >= 1 && c <= 3;
        const double* row = m + (turns ? 3 * (c - 1) : 0);
        to[c * step] = turns ? row[0] * v[0] + row[1] * v[1] + row[2] * v[2] : from[c * step];
    }
}
