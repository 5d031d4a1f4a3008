// What the kernels of line systems share.
//
// Constants: STORE, the type of the arrays; REAL, that of factors and sums (float or double); NB, the rank. Blocks are
// column-major: entry (r, c) at c * NB + r.

typedef STORE S;
typedef REAL T;
#define Q (NB * NB)

// 1 / v: for double an approximation of 20 bits and two Newton steps (one rounding or two away from the nearest), a third of
// the division's latency; 0 gives NaN or infinity.
__device__ __forceinline__ float reciprocal(float v) { return 1.0f / v; }
__device__ __forceinline__ double reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    r = fma(r, fma(-v, r, 1.0), r);
    return fma(r, fma(-v, r, 1.0), r);
}
__device__ __forceinline__ bool finite(T v) { return v - v == T(0); }

// Copies to shared memory that do not wait; between numbers of two types, ordinary ones.
template <class V> __device__ __forceinline__ void copy_async(V *to, const V *from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (sizeof(V) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_async(double *to, const float *from) { *to = *from; }
template <class V> __device__ __forceinline__ void copy_piece(V *to, const V *from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_piece(double *, const float *) {}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// LU in place: unit L below the diagonal, reciprocal pivots on it.
__device__ __forceinline__ void factor(T (&b)[Q]) {
#pragma unroll
    for (int k = 0; k < NB; k++) {
        b[k * NB + k] = reciprocal(b[k * NB + k]);
#pragma unroll
        for (int r = k + 1; r < NB; r++) b[k * NB + r] *= b[k * NB + k];
#pragma unroll
        for (int c = k + 1; c < NB; c++)
#pragma unroll
            for (int r = k + 1; r < NB; r++) b[c * NB + r] -= b[k * NB + r] * b[c * NB + k];
    }
}

__device__ __forceinline__ void solve(const T (&lu)[Q], T (&v)[NB]) {
#pragma unroll
    for (int k = 0; k < NB; k++)
#pragma unroll
        for (int r = k + 1; r < NB; r++) v[r] -= lu[k * NB + r] * v[k];
#pragma unroll
    for (int k = NB - 1; k >= 0; k--) {
        v[k] *= lu[k * NB + k];
#pragma unroll
        for (int r = 0; r < k; r++) v[r] -= lu[k * NB + r] * v[k];
    }
}
