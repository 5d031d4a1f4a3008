// What the device kernels share. Compiled by NVRTC with no header. STORAGE: 0 f64, 1 f32, 2 scaled f16, 3 bf16.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned short u16;

#if STORAGE == 0
typedef double Sum;  // products and their sums; also the type of x
#define STORED 8
#else
typedef float Sum;
#define STORED (STORAGE == 1 ? 4 : 2)
#endif

#ifdef IN  // storage of assembled blocks that a kernel reads
#if IN == 0
typedef double In;
#elif IN == 1
typedef float In;
#else
typedef u16 In;
#endif
#endif

// Asks for a line of the second-level cache, without a register for it.
__device__ __forceinline__ void prefetch_l2(const void* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }

// Programmatic dependent launch: let the successor start, and wait until all predecessors are done and visible.
__device__ __forceinline__ void launch_dependents() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
__device__ __forceinline__ void wait_for_predecessors() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Streaming loads of the matrix, which is read once a sweep. HINT 0: as any load; 1: leaves no trace in L1; 2: and goes
// first out of L2.
#ifndef HINT
#define HINT 1
#endif
#if HINT == 0
#define MATRIX "ld.global.nc"
#else
#define MATRIX "ld.global.nc.L1::no_allocate"
#endif
#if HINT == 2
__device__ __forceinline__ u64 evict_first() {
    u64 policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    return policy;
}
#define LOAD(how, type, regs, ptr, policy) how ".L2::cache_hint" type " " regs ", [" ptr "], " policy ";"
#define FROM(p) "l"(p), "l"(evict_first())
#else
#define LOAD(how, type, regs, ptr, policy) how type " " regs ", [" ptr "];"
#define FROM(p) "l"(p)
#endif
__device__ __forceinline__ void load16(u32* w, const void* p) {
    asm volatile(LOAD(MATRIX, ".v4.u32", "{%0,%1,%2,%3}", "%4", "%5")
                 : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3])
                 : FROM(p));
}
__device__ __forceinline__ void load8(u32* w, const void* p) {
    asm volatile(LOAD(MATRIX, ".v2.u32", "{%0,%1}", "%2", "%3") : "=r"(w[0]), "=r"(w[1]) : FROM(p));
}
__device__ __forceinline__ void load4(u32* w, const void* p) {
    asm volatile(LOAD(MATRIX, ".u32", "%0", "%1", "%2") : "=r"(w[0]) : FROM(p));
}
__device__ __forceinline__ void load2(u32* w, const void* p) {
    u16 h;
    asm volatile(LOAD(MATRIX, ".u16", "%0", "%1", "%2") : "=h"(h) : FROM(p));
    w[0] = h;
}
__device__ __forceinline__ double load_f64(const double* p) {
    double v;
    asm volatile(LOAD(MATRIX, ".f64", "%0", "%1", "%2") : "=d"(v) : FROM(p));
    return v;
}
__device__ __forceinline__ void load_2f64(double* v, const double* p) {
    asm volatile(LOAD(MATRIX, ".v2.f64", "{%0,%1}", "%2", "%3") : "=d"(v[0]), "=d"(v[1]) : FROM(p));
}
// Indices are read by several threads of a row, so they may stay in L1.
__device__ __forceinline__ u32 load_index(const u32* p) {
    u32 v;
    asm volatile(LOAD("ld.global.nc", ".u32", "%0", "%1", "%2") : "=r"(v) : FROM(p));
    return v;
}
// x is written by the kernels before this one: an ordinary load, after wait_for_predecessors.
__device__ __forceinline__ Sum load_x(const Sum* p) {
    Sum v;
#if STORAGE == 0
    asm volatile("ld.global.f64 %0, [%1];" : "=d"(v) : "l"(p));
#else
    asm volatile("ld.global.f32 %0, [%1];" : "=f"(v) : "l"(p));
#endif
    return v;
}

__device__ __forceinline__ float half_to_float(u32 bits) {
    float f;
    asm("{.reg .b16 h; cvt.u16.u32 h, %1; cvt.f32.f16 %0, h;}" : "=f"(f) : "r"(bits));
    return f;
}
__device__ __forceinline__ u32 float_to_half(float f) {
    u16 h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
__device__ __forceinline__ u32 float_to_bf16(float f) {
    u32 b = __float_as_uint(f);
    if ((b & 0x7fffffffu) > 0x7f800000u) return (b >> 16) | 0x40u;  // NaN stays NaN
    return (b + 0x7fffu + ((b >> 16) & 1u)) >> 16;
}

// Element e of values packed in 32-bit words.
__device__ __forceinline__ Sum element(const u32* w, int e) {
#if STORAGE == 0
    return __hiloint2double((int)w[2 * e + 1], (int)w[2 * e]);
#elif STORAGE == 1
    return __uint_as_float(w[e]);
#elif STORAGE == 2
    float lo, hi;
    asm("{.reg .b16 l, h; mov.b32 {l, h}, %2; cvt.f32.f16 %0, l; cvt.f32.f16 %1, h;}"
        : "=f"(lo), "=f"(hi)
        : "r"(w[e / 2]));
    return e % 2 ? hi : lo;
#else
    return __uint_as_float(e % 2 ? w[e / 2] & 0xffff0000u : w[e / 2] << 16);
#endif
}

// The sum of `value` over the thread block, in an order that does not change from launch to launch.
__device__ __forceinline__ void block_sum_to(double value, double* partial) {
    __shared__ double warp_sums[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int live = min(32, (int)blockDim.x - warp * 32);
    const u32 mask = 0xffffffffu >> (32 - live);
    for (int s = 16; s; s >>= 1) {
        const double other = __shfl_down_sync(mask, value, s);
        if (lane + s < live) value += other;
    }
    if (lane == 0) warp_sums[warp] = value;
    __syncthreads();
    if (threadIdx.x == 0) {
        double sum = 0;
        for (int i = 0; i < ((int)blockDim.x + 31) / 32; i++) sum += warp_sums[i];
        *partial = sum;
    }
}
