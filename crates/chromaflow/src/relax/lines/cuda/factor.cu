// Elimination of lines without pivoting between blocks:
//
//     B_i = D_i - A_i F_{i-1}      E_i = B_i^-1 A_i      F_i = B_i^-1 C_i
//
// B goes where the inversion of diagonal blocks finds it, E and F where sweeps over lines read them. 3 NB lanes a line,
// each with a column of [B A C], so that Gauss-Jordan elimination of B leaves E and F beside it; the columns of the
// next row are on their way meanwhile. A row's pivots are chosen as invert.cu chooses them, which tells of singular B,
// too.
//
// Constants: NB, at most 10; STORAGE of the sweeps, whose x has the type of E and F; IN storage of the assembled
// blocks. Twin: ../factor.rs.
#define COLUMNS (3 * NB)
#define PER_WARP (32 / COLUMNS)
#define KEEP_PIVOT 0.1

__device__ __forceinline__ double widened(In value) {
#if IN == 2
    return half_to_float(value);
#else
    return value;
#endif
}

extern "C" __global__ void __launch_bounds__(128) factor_lines(FactorLines) {
    constexpr u32 ALL = 0xffffffffu;
    const u32 lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const u32 group = lane / COLUMNS, base = group * COLUMNS, kind = lane % COLUMNS / NB, c = lane % NB;
    const u32 id = warp * PER_WARP + group;
    uint4 raw = {0, 0, 0, 0};
    if (group < PER_WARP && id < count) raw = *reinterpret_cast<const uint4*>(lines + id);
    const Line line = {raw.x, raw.y, raw.z, raw.w};
    const u32 longest = __reduce_max_sync(ALL, line.rows);
    double f[NB], next[NB];
    // Column `c` of D, A or C of row i; beyond the line's end that of the identity.
    auto load = [&](u32 i) {
        const u32 row = line.row + i;
        const u32 k = i < line.rows && kind > 0 ? near[2 * (u64)row + kind - 1] : ~0u;
#pragma unroll
        for (int r = 0; r < NB; r++) next[r] = kind == 0 && r == (int)c ? 1.0 : 0.0;
        if (i < line.rows && kind == 0) {
            const double* from = diag + ((u64)row * NB + c) * NB;
#pragma unroll
            for (int r = 0; r < NB; r++) next[r] = from[r];
        }
        if (k != ~0u) {
            const In* from = off + ((u64)k * NB + c) * NB;
            const double back = unscale ? (double)unscale[(u64)row * unscale_stride] : 1.0;
#pragma unroll
            for (int r = 0; r < NB; r++) next[r] = back * widened(from[r]);
        }
    };
#pragma unroll
    for (int r = 0; r < NB; r++) f[r] = 0;
    load(0);
    for (u32 i = 0; i < longest; i++) {
        double a[NB];
#pragma unroll
        for (int r = 0; r < NB; r++) a[r] = next[r];
        load(i + 1);
        const bool live = i < line.rows;
#pragma unroll
        for (int k = 0; k < NB; k++) {
            const double g = __shfl_sync(ALL, f[k], base + 2 * NB + c);
#pragma unroll
            for (int r = 0; r < NB; r++) {
                const double entry = __shfl_sync(ALL, a[r], base + NB + k);
                if (kind == 0) a[r] -= entry * g;
            }
        }
        if (live && kind == 0) {
            double* to = b + ((u64)(line.row + i) * NB + c) * NB;
#pragma unroll
            for (int r = 0; r < NB; r++) to[r] = a[r];
        }
#pragma unroll
        for (int k = 0; k < NB; k++) {
            double p[NB], largest = 0;
            u32 pivot = k;
#pragma unroll
            for (int r = 0; r < NB; r++) {
                p[r] = __shfl_sync(ALL, a[r], base + k);
                if (r >= k && fabs(p[r]) > largest) largest = fabs(p[r]), pivot = r;
            }
            if (fabs(p[k]) >= KEEP_PIVOT * largest) pivot = k;
#pragma unroll
            for (int r = k + 1; r < NB; r++)
                if (r == (int)pivot) {
                    double s = a[r];
                    a[r] = a[k], a[k] = s;
                    s = p[r];
                    p[r] = p[k], p[k] = s;
                }
            a[k] *= 1.0 / p[k];
#pragma unroll
            for (int r = 0; r < NB; r++)
                if (r != k) a[r] -= p[r] * a[k];
        }
        if (live && kind > 0) {
            Sum* to = (kind == 1 ? e_out : f_out) + ((u64)(line.slot + i) * NB + c) * 32 + line.lane;
#pragma unroll
            for (int r = 0; r < NB; r++) to[r] = (Sum)a[r];
        }
#pragma unroll
        for (int r = 0; r < NB; r++) f[r] = a[r];
    }
}
