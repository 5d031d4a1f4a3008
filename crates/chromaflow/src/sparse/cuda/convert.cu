// From the assembled matrix to the layouts of sliced.cu (SLICED 1, chunks of C rows) and panel.cu (SLICED 0).
//
// Constants: NB; LD rows of a stored column of panel.cu; STORAGE of the result; IN storage of the assembled
// off-diagonal blocks (2: scaled already).

using sell::Chunk;
#define LANES (C * NB)
#define SLOT_BYTES ((u64)LANES * NB * STORED)
#define PAIR_WORDS (2 * NB * STORED / 4)
#define ONE_WORDS ((NB * STORED + 3) / 4)

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
__device__ __forceinline__ void take(u32* w, int at, const In* in, const u32* kept, u32 lo, u32 len, u32 s, u32 c,
                                     float scale) {
    if (s < len) {
        const In* from = in + ((u64)(kept ? kept[lo + s] : lo + s) * NB + c) * NB;
#pragma unroll
        for (int i = 0; i < NB; i++) put(w, at + i, stored(from[i], scale));
    } else {
#pragma unroll
        for (int i = 0; i < NB; i++) put(w, at + i, 0);
    }
}

// Grid: a thread block per chunk and SPREAD parts of its slots; threads: LANES.
extern "C" __global__ void __launch_bounds__(LANES) to_sliced(ToSliced) {
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
        take(w, 0, given, kept, lo, len, 2 * p, c, s);
        take(w, NB, given, kept, lo, len, 2 * p + 1, c, s);
        store_lane<PAIR_WORDS, false>(w, v + p * 2 * SLOT_BYTES, lane);
    }
    if (k.slots % 2) {
        u32 w[ONE_WORDS];
        take(w, 0, given, kept, lo, len, k.slots - 1, c, s);
        store_lane<NB * STORED / 4, (NB * STORED) % 4 != 0>(w, v + (u64)(k.slots - 1) * SLOT_BYTES, lane);
    }
}

// Column numbers; padding, whose values are zeros, reads its own row, or behind the last row of a chunk the first.
extern "C" __global__ void sliced_index(SlicedIndex) {
    const Chunk k = chunks[blockIdx.x];
    for (u32 at = threadIdx.x; at < k.slots * C; at += blockDim.x) {
        const u32 s = at / C, r = at % C;
        const u32 row = perm[k.row + (r < k.rows ? r : 0)], lo = row_ptr[row];
        u32 column = row;
        if (r < k.rows && s < row_ptr[row + 1] - lo) column = col_idx[lo + s];
        index[(u64)k.slot * C + at] = column;
    }
}
#else
// Grid: a thread block per row. Columns of LD values, zeros behind the first NB; LD STORED is a multiple of 16.
extern "C" __global__ void to_panel(ToPanel) {
    constexpr int VEC = 16 / STORED;
    const u32 row = blockIdx.x, lo = row_ptr[row], vectors = (row_ptr[row + 1] - lo) * (NB * LD / VEC);
    char* to = values + (u64)lo * (NB * LD * STORED);
    const float s = scale ? scale[(u64)row * scale_stride] : 1;
    for (u32 at = threadIdx.x; at < vectors; at += blockDim.x) {
        const u32 column = at / (LD / VEC), top = at % (LD / VEC) * VEC;
        const u32 block = lo + column / NB;
        const In* from = given + ((u64)(kept ? kept[block] : block) * NB + column % NB) * NB;
        u32 w[4];
#pragma unroll
        for (int e = 0; e < VEC; e++) put(w, e, top + e < NB ? stored(from[top + e], s) : 0);
        *(uint4*)(to + (u64)at * 16) = make_uint4(w[0], w[1], w[2], w[3]);
    }
}
#endif
