// What the kernels of line systems share, behind block.cuh.
//
// Constants: STORE, the type of the arrays; REAL, that of factors and sums (float or double); NB, the rank. Blocks are
// column-major: entry (r, c) at c * NB + r.

typedef STORE S;
typedef REAL T;
#define Q (NB * NB)

__device__ __forceinline__ bool finite(T v) { return v - v == T(0); }

// Copies of 16 bytes to shared memory; between numbers of two types there are none.
template <class V> __device__ __forceinline__ void copy_piece(V *to, const V *from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_piece(double *, const float *) {}
