// The inverses of the diagonal blocks, where sweeps over sliced blocks (SLICED 1, chunks of C rows) or panels (SLICED
// 0) read them.
//
// Constants: NB; LD rows of a stored column of panels; C; SLICED.
using sell::Chunk;
#define LANES (C * NB)
#define DSTRIDE (NB * LD)

// Where the inverse of a block goes: place q of the sweep's own order.
struct Place {
    bool live;
    u32 row;       // row of the assembled matrix
    double* to;    // element (0, 0)
    u32 column;    // doubles between columns
};
__device__ __forceinline__ Place place_of(u32 q, u32 count, const Chunk* chunks, const u32* perm, double* dinv) {
    Place p = {false, 0, dinv, 0};
    if (q >= count) return p;
#if SLICED
    const Chunk k = chunks[q / C];
    const u32 r = q % C;
    p.live = r < k.rows;
    if (p.live) p.row = perm[k.row + r];
    p.to = dinv + (u64)(q / C) * (LANES * NB) + r * NB;
    p.column = LANES;
#else
    p.live = true, p.row = q, p.to = dinv + (u64)q * DSTRIDE, p.column = LD;
#endif
    return p;
}

// report[0] rows whose pivots were exchanged, [1] singular rows, [2] the first of them.
__device__ __forceinline__ void tell(u32* report, u32 row, bool exchanged, bool singular) {
    if (exchanged) atomicAdd(report, 1u);
    if (singular) atomicAdd(report + 1, 1u), atomicMin(report + 2, row);
}

// Gauss-Jordan inversion in place. A diagonal pivot is kept unless it is smaller than a tenth of its column's largest;
// then rows are exchanged, and columns at the end. A column without a finite non-zero pivot makes the row singular: its
// inverse is set to zero and the row is reported.
#define KEEP_PIVOT 0.1
#if NB <= 8
// A lane holds a column; a warp 32 / NB blocks.
extern "C" __global__ void __launch_bounds__(128) invert(Invert) {
    constexpr u32 PER_WARP = 32 / NB, ALL = 0xffffffffu;
    const u32 lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const u32 block = lane / NB, c = lane % NB;
    Place at = place_of(block < PER_WARP ? warp * PER_WARP + block : ~0u, count, chunks, perm, dinv);
    double a[NB];
#pragma unroll
    for (int i = 0; i < NB; i++)
        a[i] = at.live ? diag[(u64)at.row * (NB * NB) + c * NB + i] : (i == (int)c ? 1.0 : 0.0);
    bool singular = false, exchanged = false;
    u32 to = c, from[NB];
#pragma unroll
    for (int k = 0; k < NB; k++) {
        const u32 source = block * NB + k;
        double f[NB], largest = 0;
        u32 p = k;
#pragma unroll
        for (int i = 0; i < NB; i++) {
            f[i] = __shfl_sync(ALL, a[i], source);
            if (i >= k && fabs(f[i]) > largest) largest = fabs(f[i]), p = i;
        }
        if (fabs(f[k]) >= KEEP_PIVOT * largest) p = k;
        from[k] = p;
        exchanged |= p != k;
#pragma unroll
        for (int i = k + 1; i < NB; i++)
            if (i == (int)p) {
                double s = a[i];
                a[i] = a[k], a[k] = s;
                s = f[i];
                f[i] = f[k], f[k] = s;
            }
        singular |= !(fabs(f[k]) > 0) || !(fabs(f[k]) < 1e300);
        const double inverse = 1.0 / f[k];
        if (c == (u32)k) {
#pragma unroll
            for (int i = 0; i < NB; i++) a[i] = i == k ? 1.0 : 0.0;
        }
        a[k] *= inverse;
#pragma unroll
        for (int i = 0; i < NB; i++)
            if (i != k) a[i] -= f[i] * a[k];
    }
#pragma unroll
    for (int k = NB - 1; k >= 0; k--) to = to == (u32)k ? from[k] : to == from[k] ? (u32)k : to;
    if (at.live) {
#pragma unroll
        for (int i = 0; i < NB; i++) at.to[(u64)to * at.column + i] = singular ? 0.0 : a[i];
        if (c == 0) tell(report, at.row, exchanged, singular);
    }
}
#else
// A thread block per diagonal block, held in shared memory with rows of NB | 1 doubles; dynamic: NB (NB | 1) doubles.
extern "C" __global__ void __launch_bounds__(256) invert(Invert) {
    extern __shared__ double a[];  // (row i, column j) at j * PITCH + i
    constexpr int PITCH = NB | 1;
    __shared__ double f[NB];
    __shared__ u32 pivot, order[NB], from[NB];
    const Place at = place_of(blockIdx.x, count, chunks, perm, dinv);
    if (!at.live) return;
    const u32 t = threadIdx.x;
    for (u32 e = t; e < NB * NB; e += blockDim.x) a[e / NB * PITCH + e % NB] = diag[(u64)at.row * (NB * NB) + e];
    bool singular = false, exchanged = false;
    __syncthreads();
    for (u32 k = 0; k < NB; k++) {
        if (t < 32) {
            double largest = -1;
            u32 p = k;
            for (u32 i = k + t; i < NB; i += 32)
                if (fabs(a[k * PITCH + i]) > largest) largest = fabs(a[k * PITCH + i]), p = i;
            for (int s = 16; s; s >>= 1) {
                const double other = __shfl_xor_sync(0xffffffffu, largest, s);
                const u32 other_p = __shfl_xor_sync(0xffffffffu, p, s);
                if (other > largest || (other == largest && other_p < p)) largest = other, p = other_p;
            }
            if (t == 0) pivot = from[k] = fabs(a[k * PITCH + k]) >= KEEP_PIVOT * largest ? k : p;
        }
        __syncthreads();
        const u32 p = pivot;
        exchanged |= p != k;
        for (u32 j = t; j < NB; j += blockDim.x) {
            const double s = a[j * PITCH + p];
            a[j * PITCH + p] = a[j * PITCH + k], a[j * PITCH + k] = s;
        }
        __syncthreads();
        for (u32 i = t; i < NB; i += blockDim.x) f[i] = a[k * PITCH + i];
        __syncthreads();
        const double fk = f[k], inverse = 1.0 / fk;
        singular |= !(fabs(fk) > 0) || !(fabs(fk) < 1e300);
        for (u32 j = t; j < NB; j += blockDim.x) a[j * PITCH + k] = (j == k ? 1.0 : a[j * PITCH + k]) * inverse;
        __syncthreads();
        for (u32 e = t; e < NB * NB; e += blockDim.x) {
            const u32 i = e % NB, j = e / NB;
            if (i != k) a[j * PITCH + i] = (j == k ? 0.0 : a[j * PITCH + i]) - f[i] * a[j * PITCH + k];
        }
        __syncthreads();
    }
    if (t == 0) {
        for (u32 j = 0; j < NB; j++) order[j] = j;
        for (int k = NB - 1; k >= 0; k--) {
            const u32 s = order[k];
            order[k] = order[from[k]], order[from[k]] = s;
        }
        tell(report, at.row, exchanged, singular);
    }
    __syncthreads();
    for (u32 e = t; e < NB * NB; e += blockDim.x) {
        const u32 i = e % NB, j = e / NB;
        at.to[(u64)j * at.column + i] = singular ? 0.0 : a[order[j] * PITCH + i];
    }
}
#endif
