// Lengths of the grid about a row. Twin: grid.rs.
//
// Constant: HYBRID which hybrid, as HybridForm counts from 1; 0 for none.
#if HYBRID
__device__ constexpr pointwise::HybridForm HYBRID_FORM = static_cast<pointwise::HybridForm>(HYBRID - 1);

// (Delta, h_max, h_wn): `lengths` the last two, [row][2]; `arms` to the corners of control volumes where Delta is that
// across the vorticity, else none.
__device__ __forceinline__ Vec3 grid_lengths(u32 i, const double* __restrict__ lengths,
                                             const u32* __restrict__ corner_ptr, const double* __restrict__ arms,
                                             const Tensor& gradient) {
    const double longest = lengths[2 * (u64)i], across = lengths[2 * (u64)i + 1];
    double delta = longest;
    if (arms) {
        double turned = 0;
        for (u32 k = corner_ptr[i]; k < corner_ptr[i + 1]; k++)
            turned = fmax(turned, pointwise::turned_arm(gradient, load_vec3(arms, k)));
        delta = pointwise::length_across_vorticity(gradient, turned, longest);
    }
    return {delta, longest, across};
}
#endif
