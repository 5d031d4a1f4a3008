// Grid lines along one axis, for the kernels that solve along them.

// A thread's line.
struct Line {
    GridBlock b;
    u32 block, rows, count, line;   // rows of a line, lines of the block, its number
    bool scaled;                    // whether r is an update already rather than the residual
    u32 cell[3];
    u64 first;                      // place of its first cell
    bool live;
    // Line number `lane` of a group {block, with the highest bit set where r is an update; first line}.
    __device__ Line(const GridBlock* blocks, uint2 group, u32 axis, u32 lane) {
        block = group.x & 0x7fffffffu, scaled = group.x >> 31, b = blocks[block];
        const u32 a = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;
        const u32 across = pick(b.count, a);
        rows = pick(b.count, axis), count = across * pick(b.count, c);
        live = group.y + lane < count;
        line = live ? group.y + lane : count - 1;
        const u32 x = line % across, y = line / across;
        cell[0] = axis == 0 ? 0 : x;
        cell[1] = axis == 0 ? x : axis == 1 ? 0 : y;
        cell[2] = axis == 2 ? 0 : y;
        first = b.offset + (u64)(cell[0] + 2) * b.stride[0] + (u64)(cell[1] + 2) * b.stride[1] +
                (u64)(cell[2] + 2) * b.stride[2];
    }
    __device__ u32 number(u32 axis, u32 row) const {
        const u32 i = axis == 0 ? row : cell[0], j = axis == 1 ? row : cell[1], k = axis == 2 ? row : cell[2];
        return b.first + i + b.count[0] * (j + b.count[1] * k);
    }
};

// Asks for what an elimination needs of a row: the next cell's state, the area of the face to it, the own cell's time
// step and, where it `has_right` the right-hand side, the next cell's volume. `slot(e)` takes number e of 15.
template <class Slot>
__device__ __forceinline__ void fetch_row(Slot slot, u64 total, const double* w, const double* area, const double* tau,
                                          bool has_right, const double* r, const double* volume) {
#pragma unroll
    for (int c = 0; c < 5; c++) {
        copy_async(slot(c), w + c * total);
        if (has_right) copy_async(slot(9 + c), r + c * total);
    }
#pragma unroll
    for (int c = 0; c < 3; c++) copy_async(slot(5 + c), area + c * total);
    copy_async(slot(8), tau);
#if VISCOUS
    copy_async(slot(14), volume);
#endif
}

// The right-hand side of a cell: the update so far, or -tau r in the first factor.
__device__ __forceinline__ void scale_residual(const Line& line, double tau, State& v) {
    if (line.scaled) return;
#pragma unroll
    for (int c = 0; c < 5; c++) v[c] = -(tau * v[c]);
}
__device__ __forceinline__ bool all_finite(const State& x) {
    bool fine = true;
#pragma unroll
    for (int c = 0; c < 5; c++) fine = fine && fabs(x[c]) <= 1.7976931348623157e308;
    return fine;
}
