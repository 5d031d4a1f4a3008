// Ghost cells beyond interfaces. Twin: exchange.rs.
typedef unsigned int u32;
typedef unsigned long long u64;

// A thread a value; `by_cell` where components of a cell lie together, else those of all cells.
extern "C" __global__ void __launch_bounds__(256)
fill_ghosts(FillGhosts) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)pairs * components) return;
    const u64 pair = by_cell ? i / components : i % pairs, c = by_cell ? i % components : i / pairs;
    const uint2 copy = copies[pair];
    if (by_cell)
        fields[(u64)copy.x * components + c] = fields[(u64)copy.y * components + c];
    else
        fields[c * cells + copy.x] = fields[c * cells + copy.y];
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
