// Green-Gauss weights of the nodes of an element, by how many it has.
__device__ __forceinline__ auto cell_weights(const pointwise::Array<Vec3, 4>& x) { return pointwise::tet_weights(x); }
__device__ __forceinline__ auto cell_weights(const pointwise::Array<Vec3, 5>& x) {
    return pointwise::pyramid_weights(x);
}
__device__ __forceinline__ auto cell_weights(const pointwise::Array<Vec3, 6>& x) { return pointwise::prism_weights(x); }
__device__ __forceinline__ auto cell_weights(const pointwise::Array<Vec3, 8>& x) { return pointwise::hex_weights(x); }
