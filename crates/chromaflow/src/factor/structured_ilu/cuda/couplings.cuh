// How the couplings of a cell with its three lower or upper neighbors are stored. FACTORS 0: f64, as they lie in the
// matrix; 1: f32, 2: f16, times a number for each cell that lies behind them (narrow.cu). Copies are padded, so that
// all begin at multiples of 16 bytes.
#if FACTORS == 0
typedef double Coupling;
#define COUPLINGS_BYTES (24 * Q)
__device__ __forceinline__ double widen(double v) { return v; }
#elif FACTORS == 1
typedef float Coupling;
#define COUPLINGS_BYTES ((12 * Q + 15) / 16 * 16)
__device__ __forceinline__ double widen(float v) { return (double)v; }
#else
typedef u16 Coupling;
#define UNSCALE_AT ((6 * Q + 3) / 4 * 4)
#define COUPLINGS_BYTES ((UNSCALE_AT + 4 + 15) / 16 * 16)
__device__ __forceinline__ double widen(u16 v) { return (double)half_to_float(v); }
#endif
__device__ __forceinline__ double unscale_of(const void* couplings) {
#if FACTORS == 2
    return (double)*(const float*)((const char*)couplings + UNSCALE_AT);
#else
    return 1;
#endif
}
