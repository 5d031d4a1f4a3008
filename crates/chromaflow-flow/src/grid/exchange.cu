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
