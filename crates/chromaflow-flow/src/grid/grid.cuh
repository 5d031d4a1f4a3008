// The blocks of a grid in arrays of all of them: what kernels over grids share. Includes no header.
//
// An array has `total` entries a component: the blocks one after another, each with its ghost cells, i fastest.
// Kernels go over chunks: CHUNK consecutive entries of one block from its first cell to its last, ghosts between rows
// among them.
#define CHUNK 256

// A block, in the order of `record` in device.rs.
struct GridBlock {
    unsigned offset;        // first entry in the arrays
    unsigned first;         // number of its first cell among those of all blocks, i fastest, without ghosts
    unsigned count[3];      // cells
    unsigned stride[3];     // 1, and the distances of neighbors along j and k
};

// A thread's entry of a chunk.
struct GridCell {
    unsigned at;            // place in the arrays
    unsigned index[3];      // i, j, k
    unsigned number;        // number among the cells of all blocks
    unsigned block;
    bool inside;            // whether it is a cell of the block rather than a ghost
};

// `chunks` {block, entry of the block where the chunk begins}.
__device__ __forceinline__ GridCell grid_cell(const GridBlock* __restrict__ blocks, const uint2* __restrict__ chunks,
                                              unsigned chunk) {
    const uint2 here = chunks[chunk];
    const GridBlock b = blocks[here.x];
    const unsigned local = here.y + threadIdx.x;
    const unsigned plane = local / b.stride[2], rest = local - plane * b.stride[2];
    const unsigned row = rest / b.stride[1];
    GridCell cell;
    cell.at = b.offset + local;
    cell.index[0] = rest - row * b.stride[1] - 2, cell.index[1] = row - 2, cell.index[2] = plane - 2;
    cell.inside = cell.index[0] < b.count[0] && cell.index[1] < b.count[1] && cell.index[2] < b.count[2];
    cell.number = b.first + cell.index[0] + b.count[0] * (cell.index[1] + b.count[1] * cell.index[2]);
    cell.block = here.x;
    return cell;
}
