// Dense blocks on a GPU: elimination in registers, and the copies to shared memory that feed it.
//
// A block is an array of N * N numbers in registers, column-major: entry (r, c) at c * N + r; any type with [] does.
// Twin: dense.rs, which guards its pivots; here a zero pivot gives NaN or infinity, which the caller finds in its
// results.

// 1 / v: for double an approximation of 20 bits and two Newton steps (one rounding or two away from the nearest), a
// third of the division's latency; 0 gives NaN or infinity.
__device__ __forceinline__ float reciprocal(float v) { return 1.0f / v; }
__device__ __forceinline__ double reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    r = fma(r, fma(-v, r, 1.0), r);
    return fma(r, fma(-v, r, 1.0), r);
}

// LU in place without pivoting: unit L below the diagonal, reciprocal pivots on it.
template <int N, class Block> __device__ __forceinline__ void factor(Block& b) {
#pragma unroll
    for (int k = 0; k < N; k++) {
        b[k * N + k] = reciprocal(b[k * N + k]);
#pragma unroll
        for (int r = k + 1; r < N; r++) b[k * N + r] *= b[k * N + k];
#pragma unroll
        for (int c = k + 1; c < N; c++)
#pragma unroll
            for (int r = k + 1; r < N; r++) b[c * N + r] -= b[k * N + r] * b[c * N + k];
    }
}

// v becomes the solution of L U x = v.
template <int N, class Block, class Vector> __device__ __forceinline__ void solve(const Block& lu, Vector& v) {
#pragma unroll
    for (int k = 0; k < N; k++)
#pragma unroll
        for (int r = k + 1; r < N; r++) v[r] -= lu[k * N + r] * v[k];
#pragma unroll
    for (int k = N - 1; k >= 0; k--) {
        v[k] *= lu[k * N + k];
#pragma unroll
        for (int r = 0; r < k; r++) v[r] -= lu[k * N + r] * v[k];
    }
}

// v += SIGN a x.
template <int N, int SIGN, class Block, class From, class To>
__device__ __forceinline__ void add_product(const Block& a, const From& x, To& v) {
#pragma unroll
    for (int k = 0; k < N; k++)
#pragma unroll
        for (int r = 0; r < N; r++) v[r] += SIGN * a[k * N + r] * x[k];
}

// The columns of c become B^-1 c, with B as `factor` left it.
template <int N, class Block> __device__ __forceinline__ void solve_columns(const Block& lu, Block& c) {
#pragma unroll
    for (int k = 0; k < N; k++) {
        decltype(+c[0]) x[N];
#pragma unroll
        for (int r = 0; r < N; r++) x[r] = c[k * N + r];
        solve<N>(lu, x);
#pragma unroll
        for (int r = 0; r < N; r++) c[k * N + r] = x[r];
    }
}

// A row of an elimination along a line: b x + c x' = v behind a row that is x = f' - C' x' already, to which it is
// coupled by -SIGN a: b += SIGN a C', v += SIGN a f'.
template <int N, int SIGN, class A, class C, class F, class B, class V>
__device__ __forceinline__ void eliminate_behind(const A& a, const C& cp, const F& fp, B& b, V& v) {
#pragma unroll
    for (int k = 0; k < N; k++) {
        decltype(+v[0]) column[N];
#pragma unroll
        for (int r = 0; r < N; r++) column[r] = SIGN * a[k * N + r];
#pragma unroll
        for (int c = 0; c < N; c++)
#pragma unroll
            for (int r = 0; r < N; r++) b[c * N + r] += column[r] * cp[c * N + k];
#pragma unroll
        for (int r = 0; r < N; r++) v[r] += column[r] * fp[k];
    }
}

// Copies of 4 or 8 bytes to shared memory that go on by themselves; between numbers of two types, ordinary ones.
template <class V> __device__ __forceinline__ void copy_async(V* to, const V* from) {
    static_assert(sizeof(V) == 4 || sizeof(V) == 8, "what the instruction takes");
    const unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (sizeof(V) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_async(double* to, const float* from) { *to = *from; }
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}
