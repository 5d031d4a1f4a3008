// Copies of the couplings in f32 or f16, a warp for the three blocks of a cell on one side; blocks without a neighbor
// become zeros.

// The smallest power of two that brings the largest of some values into the range of f16 when they are divided by it.
__device__ __forceinline__ float power_of_two(float largest) {
    if (!(largest > 0)) return 1;
    const u32 bits = __float_as_uint(largest);
    const int e =
        (int)(bits >> 23) - 15 + ((bits & 0x7fffffu) > 0x7fe000u ? 1 : 0);  // 65504 is 1.11111111110000000000000 2^15
    return __uint_as_float((u32)max(e, 1) << 23);
}

extern "C" __global__ void __launch_bounds__(256) stencil_narrow(NarrowCouplings) {
    const u32 lane = threadIdx.x % 32, warps = gridDim.x * (blockDim.x / 32);
    for (u32 n = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32; n < 2 * cells; n += warps) {
        const u32 cell = n / 2;
        const bool above = n % 2;
        const Place place = place_of(cell, blocks, grids);
        const uint4 g = place.grid;
        const u32 i = place.i, j = place.j, k = place.k;
        const bool has[3] = {above ? i + 1 < g.y : k > 0, above ? j + 1 < g.z : j > 0, above ? k + 1 < g.w : i > 0};
        const double* const from = (above ? upper : lower) + 3 * (u64)cell * Q;
        char* const to = (above ? narrow_upper : narrow_lower) + (u64)cell * COUPLINGS_BYTES;
        auto value = [&](u32 e) { return has[e / Q] ? (float)from[e] : 0.0f; };
#if FACTORS == 1
        for (u32 e = lane; e < 3 * Q; e += 32) ((float*)to)[e] = value(e);
#elif FACTORS == 2
        float largest = 0;
        for (u32 e = lane; e < 3 * Q; e += 32) largest = fmaxf(largest, fabsf(value(e)));
        for (int s = 16; s; s >>= 1) largest = fmaxf(largest, __shfl_xor_sync(0xffffffffu, largest, s));
        const float unscale = power_of_two(largest), scale = 1 / unscale;
        for (u32 e = lane; e < 3 * Q; e += 32) ((u16*)to)[e] = (u16)float_to_half(value(e) * scale);
        if (lane == 0) *(float*)(to + UNSCALE_AT) = unscale;
#endif
    }
}
