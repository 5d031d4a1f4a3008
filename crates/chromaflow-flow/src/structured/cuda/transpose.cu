// Planes of i and j transposed, so that lines along i lie side by side: entry (i, j) of a block's plane goes to
// (i + 2)(nj + 4) + j + 2 of the same plane, or comes `back`. Tiles {block, i, j, plane} of 32 x 32 entries, counted
// with ghosts; a thread block a tile and component: those of `a`, then those of `b` and `c`. Threads: 256.
extern "C" __global__ void __launch_bounds__(256)
transpose(TransposePlanes) {
    __shared__ double tile[32][33];
    const u32 components = na + nb + nc, component = blockIdx.x % components;
    const uint4 here = tiles[blockIdx.x / components];
    const GridBlock block = blocks[here.x];
    const u32 wide = block.stride[1], high = block.count[1] + 4, tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    double* plain = component < na        ? a + component * total
                    : component < na + nb ? b + (component - na) * total
                                          : c + (component - na - nb) * total;
    const u64 base = block.offset + (u64)here.w * block.stride[2];
    plain += base;
    double* other = turned + component * total + base;
    // The entries of a tile with x fastest, x from x0 on below wide_x, to where y is fastest.
    auto turn = [&](const double* from, u32 x0, u32 wide_x, u32 y0, u32 wide_y, double* to) {
#pragma unroll
        for (u32 n = ty; n < 32; n += 8)
            if (x0 + tx < wide_x && y0 + n < wide_y) tile[n][tx] = from[(u64)(y0 + n) * wide_x + x0 + tx];
        __syncthreads();
#pragma unroll
        for (u32 n = ty; n < 32; n += 8)
            if (x0 + n < wide_x && y0 + tx < wide_y) to[(u64)(x0 + n) * wide_y + y0 + tx] = tile[tx][n];
    };
    if (!back)
        turn(plain, here.y, wide, here.z, high, other);
    else
        turn(other, here.z, high, here.y, wide, plain);
}
