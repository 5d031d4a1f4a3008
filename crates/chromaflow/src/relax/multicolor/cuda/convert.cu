// From the assembled matrix to the layouts of sliced.cu (SLICED 1, chunks of C rows) and panel.cu (SLICED 0), and the
// inverse of the diagonal blocks.
//
// Constants: NB; LD rows of a stored column of panel.cu; STORAGE of the result; IN storage of the assembled off-diagonal blocks
// (2: scaled already).
#if IN == 0
typedef double In;
#elif IN == 1
typedef float In;
#else
typedef u16 In;
#endif

struct Chunk {
    u32 slot, slots, row, rows;
};
#define LANES (C * NB)
#define SLOT_BYTES ((u64)LANES * NB * STORED)
#define PAIR_WORDS (2 * NB * STORED / 4)
#define ONE_WORDS ((NB * STORED + 3) / 4)
#define DSTRIDE (NB * LD)

// The bits of a stored value.
__device__ __forceinline__ u64 stored(In value, float scale) {
#if STORAGE == 0
    return (u64)__double_as_longlong((double)value);
#elif STORAGE == 1
    return __float_as_uint((float)value);
#elif STORAGE == 2 && IN == 2
    return value;
#elif STORAGE == 2
    return float_to_half((float)value * scale);
#else
    return float_to_bf16((float)value);
#endif
}

__device__ __forceinline__ void put(u32* w, int e, u64 bits) {
#if STORED == 8
    w[2 * e] = (u32)bits, w[2 * e + 1] = (u32)(bits >> 32);
#elif STORED == 4
    w[e] = (u32)bits;
#else
    w[e / 2] = e % 2 ? w[e / 2] | (u32)bits << 16 : (u32)bits;
#endif
}

#if SLICED
template <int WORDS, bool REST>
__device__ __forceinline__ void store_lane(const u32* w, char* base, u32 lane) {
    constexpr int V4 = WORDS / 4, V2 = WORDS % 4 / 2, V1 = WORDS % 2;
#pragma unroll
    for (int v = 0; v < V4; v++)
        *(uint4*)(base + ((u32)v * LANES + lane) * 16) = make_uint4(w[4 * v], w[4 * v + 1], w[4 * v + 2], w[4 * v + 3]);
    base += V4 * LANES * 16;
    if (V2) *(uint2*)(base + lane * 8) = make_uint2(w[4 * V4], w[4 * V4 + 1]);
    base += V2 * LANES * 8;
    if (V1) *(u32*)(base + lane * 4) = w[4 * V4 + 2 * V2];
    base += V1 * LANES * 4;
    if (REST) *(u16*)(base + lane * 2) = (u16)w[WORDS];
}

// One column of NB values of slot `s` of a row, zeros behind its end.
__device__ __forceinline__ void take(u32* w, int at, const In* in, u32 lo, u32 len, u32 s, u32 c, float scale) {
    if (s < len) {
        const In* from = in + ((u64)(lo + s) * NB + c) * NB;
#pragma unroll
        for (int i = 0; i < NB; i++) put(w, at + i, stored(from[i], scale));
    } else {
#pragma unroll
        for (int i = 0; i < NB; i++) put(w, at + i, 0);
    }
}

// Grid: a thread block per chunk and SPREAD parts of its slots; threads: LANES.
extern "C" __global__ void __launch_bounds__(LANES)
to_sliced(const Chunk* __restrict__ chunks, const u32* __restrict__ perm, const u32* __restrict__ row_ptr, const In* __restrict__ in,
          const float* __restrict__ scale, u32 scale_stride, char* __restrict__ values) {
    const Chunk k = chunks[blockIdx.x];
    const u32 lane = threadIdx.x, r = lane / NB, c = lane % NB;
    u32 lo = 0, len = 0;
    float s = 1;
    if (r < k.rows) {
        const u32 row = perm[k.row + r];
        lo = row_ptr[row], len = row_ptr[row + 1] - lo;
        if (scale) s = scale[(u64)row * scale_stride];
    }
    char* v = values + k.slot * SLOT_BYTES;
    for (u32 p = 0; p < k.slots / 2; p++) {
        u32 w[PAIR_WORDS];
        take(w, 0, in, lo, len, 2 * p, c, s);
        take(w, NB, in, lo, len, 2 * p + 1, c, s);
        store_lane<PAIR_WORDS, false>(w, v + p * 2 * SLOT_BYTES, lane);
    }
    if (k.slots % 2) {
        u32 w[ONE_WORDS];
        take(w, 0, in, lo, len, k.slots - 1, c, s);
        store_lane<NB * STORED / 4, (NB * STORED) % 4 != 0>(w, v + (u64)(k.slots - 1) * SLOT_BYTES, lane);
    }
}

// Column numbers in sweep order; padding reads the row of zeros behind the last one.
extern "C" __global__ void sliced_index(const Chunk* __restrict__ chunks, const u32* __restrict__ perm, const u32* __restrict__ place,
                                        const u32* __restrict__ row_ptr, const u32* __restrict__ col_idx, u32 rows, u32* __restrict__ index) {
    const Chunk k = chunks[blockIdx.x];
    for (u32 at = threadIdx.x; at < k.slots * C; at += blockDim.x) {
        const u32 s = at / C, r = at % C;
        u32 column = rows;
        if (r < k.rows) {
            const u32 row = perm[k.row + r], lo = row_ptr[row];
            if (s < row_ptr[row + 1] - lo) column = place[col_idx[lo + s]];
        }
        index[(u64)k.slot * C + at] = column;
    }
}
#else
// Grid: a thread block per row. Columns of LD values, zeros behind the first NB; LD STORED is a multiple of 16.
extern "C" __global__ void to_panel(const u32* __restrict__ row_ptr, const In* __restrict__ in, const float* __restrict__ scale,
                                    u32 scale_stride, char* __restrict__ values) {
    constexpr int VEC = 16 / STORED;
    const u32 row = blockIdx.x, lo = row_ptr[row], vectors = (row_ptr[row + 1] - lo) * (NB * LD / VEC);
    const In* from = in + (u64)lo * (NB * NB);
    char* to = values + (u64)lo * (NB * LD * STORED);
    const float s = scale ? scale[(u64)row * scale_stride] : 1;
    for (u32 at = threadIdx.x; at < vectors; at += blockDim.x) {
        const u32 column = at / (LD / VEC), top = at % (LD / VEC) * VEC;
        u32 w[4];
#pragma unroll
        for (int e = 0; e < VEC; e++) put(w, e, top + e < NB ? stored(from[(u64)column * NB + top + e], s) : 0);
        *(uint4*)(to + (u64)at * 16) = make_uint4(w[0], w[1], w[2], w[3]);
    }
}
#endif

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
extern "C" __global__ void __launch_bounds__(128)
invert(u32 count, const Chunk* __restrict__ chunks, const u32* __restrict__ perm, const double* __restrict__ diag,
       double* __restrict__ dinv, u32* __restrict__ report) {
    constexpr u32 PER_WARP = 32 / NB, ALL = 0xffffffffu;
    const u32 lane = threadIdx.x % 32, warp = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    const u32 block = lane / NB, c = lane % NB;
    Place at = place_of(block < PER_WARP ? warp * PER_WARP + block : ~0u, count, chunks, perm, dinv);
    double a[NB];
#pragma unroll
    for (int i = 0; i < NB; i++) a[i] = at.live ? diag[(u64)at.row * (NB * NB) + c * NB + i] : (i == (int)c ? 1.0 : 0.0);
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
extern "C" __global__ void __launch_bounds__(256)
invert(u32 count, const Chunk* __restrict__ chunks, const u32* __restrict__ perm, const double* __restrict__ diag,
       double* __restrict__ dinv, u32* __restrict__ report) {
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
