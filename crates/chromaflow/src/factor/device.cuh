// What factorizations on a GPU share. Data are their own flags: results are filled beforehand with POISON, a NaN that
// no computation makes; consumers spin on relaxed loads until they see something else, values being written and read
// whole, so that nothing else has to be ordered. Atomic tickets hand out work in topological order, which guarantees
// forward progress: nobody waits for work that nobody has begun.
__device__ __forceinline__ double peek(const double* p) {
    double v;
    asm volatile("ld.relaxed.gpu.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
    return v;
}
__device__ __forceinline__ float peek(const float* p) {
    float v;
    asm volatile("ld.relaxed.gpu.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
    return v;
}
__device__ __forceinline__ void post(double* p, double v) {
    asm volatile("st.relaxed.gpu.global.f64 [%0], %1;" ::"l"(p), "d"(v));
}
__device__ __forceinline__ void post(float* p, float v) {
    asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(p), "f"(v));
}
// 1 / x to the last bit or two; zero, infinite and tiny x give NaN or infinity, which the check of an inverse finds.
__device__ __forceinline__ double reciprocal(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    const double e = fma(-x, y, 1.0);
    return fma(fma(e, e, e), y, y);
}
// ---- end of machine instructions

#define POISON __longlong_as_double(-1ll)
__device__ __forceinline__ bool arrived(double v) { return __double_as_longlong(v) != -1ll; }
__device__ __forceinline__ bool arrived(float v) { return __float_as_uint(v) != 0xffffffffu; }
// No result is POISON, not even one that is not a number.
__device__ __forceinline__ double result(double v) {
    return arrived(v) ? v : __longlong_as_double(0x7ff8000000000000ll);
}
__device__ __forceinline__ float result(float v) { return arrived(v) ? v : __uint_as_float(0x7fc00000u); }
template <typename T>
__device__ __forceinline__ T await(T v, const T* p) {
    while (!arrived(v)) v = peek(p);
    return v;
}

// The last of `takers` sets the tickets back for the next launch.
__device__ __forceinline__ void return_tickets(u32* tickets, u32 takers) {
    if (threadIdx.x == 0 && atomicAdd(tickets + 1, 1u) == takers - 1) tickets[0] = tickets[1] = 0;
}

// How far an inverse times the block's row sums may be from one before the block is inverted again, with pivoting.
#define GUARD 1e-6
// Inverts a column-major block by elimination with partial pivoting, one lane alone; `swaps` holds NB values. 0: the
// block is singular, 1: no rows were swapped, 2: some were.
__device__ __noinline__ int invert_pivoted(double* a, double* swaps, bool pivoting) {
    int outcome = 1;
    for (int p = 0; p < NB; p++) {
        int best = p;
        for (int r = p + 1; r < NB && pivoting; r++)
            if (fabs(a[p * NB + r]) > fabs(a[p * NB + best])) best = r;
        const double pivot = a[p * NB + best];
        if (!(fabs(pivot) > 0 && fabs(pivot) < 1e300)) return 0;
        swaps[p] = best;
        if (best != p) {
            outcome = 2;
            for (int c = 0; c < NB; c++) {
                const double v = a[c * NB + p];
                a[c * NB + p] = a[c * NB + best], a[c * NB + best] = v;
            }
        }
        const double scale = 1.0 / pivot;
        a[p * NB + p] = 1;
        for (int c = 0; c < NB; c++) a[c * NB + p] *= scale;
        for (int r = 0; r < NB; r++) {
            if (r == p) continue;
            const double f = a[p * NB + r];
            a[p * NB + r] = 0;
            for (int c = 0; c < NB; c++) a[c * NB + r] -= f * a[c * NB + p];
        }
    }
    for (int p = NB - 1; p >= 0; p--) {  // swapped rows of A are swapped columns of the inverse
        const int best = (int)swaps[p];
        for (int r = 0; r < NB && best != p; r++) {
            const double v = a[p * NB + r];
            a[p * NB + r] = a[best * NB + r], a[best * NB + r] = v;
        }
    }
    return outcome;
}
// findings: [0] first singular row, [1] number of pivoted rows, [2..4] bits of the largest shift, [4..] MOST_FINDINGS
// pivoted rows.
__device__ __forceinline__ void note(u32* findings, int outcome, u32 row) {
    if (outcome == 0) atomicMin(findings, row);
    if (outcome == 2) {
        const u32 at = atomicAdd(findings + 1, 1u);
        if (at < MOST_FINDINGS) findings[4 + at] = row;
    }
}
