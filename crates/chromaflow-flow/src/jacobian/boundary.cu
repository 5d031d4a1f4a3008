// What boundaries add to diagonal blocks. Twin: mod.rs.

// Adds the boundary's part to diagonal blocks, that of far fields or that of all else; see boundary_fluxes.
template <bool FAR> __device__ __forceinline__ void add_boundary(BoundaryJacobians) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w;
    const pointwise::Gas<double> gas = params->gas();
    double* block = diag + (u64)i * 25;
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        const auto& condition = conditions[patch_of[k]];
        if ((condition.kind == pointwise::ConditionKind::Farfield) != FAR) continue;
        const Vec3 n = load_vec3(areas, k);
        const Block add = FAR ? pointwise::flux_farfield_jacobian(gas, w, condition.farfield.free, n)
                              : pointwise::condition_flux_jacobian(condition, gas, w, n);
#pragma unroll
        for (int e = 0; e < 25; e++) block[e] += add[e];
    }
}
// Kernels of their own: a far field has the matrix of its state beside that of Roe's flux.
extern "C" __global__ void __launch_bounds__(128) boundary_jacobians(BoundaryJacobians) {
    add_boundary<false>(count, node_of, stuck, ptr, patch_of, areas, conditions, nodes, params, diag);
}
extern "C" __global__ void __launch_bounds__(128) farfield_jacobians(BoundaryJacobians) {
    add_boundary<true>(count, node_of, stuck, ptr, patch_of, areas, conditions, nodes, params, diag);
}
