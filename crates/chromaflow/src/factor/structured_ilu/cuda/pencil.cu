// Block ILU(0) of 7-point stencils with the schedule on the device: what the passes (passes_warps.cu, passes_blocks.cu)
// and the factorizations (factor_rows.cu, factor_warps.cu, factor_blocks.cu) share.
//
// A tile is TJ x TK columns of cells along i; a thread block takes tiles by tickets. Within a tile the columns advance
// together, one hyperplane a step: column (lj, lk) stands lj + lk cells behind column (0, 0), and what it needs of its
// neighbors is in shared memory since the step before. Between tiles a value is its own flag (device.cuh). Blocks come
// into shared memory by asynchronous copies, STAGES steps deep.
//
// Constants: NB, TJ, TK, STAGES, COPIERS.
#define Q (NB * NB)
#define COLUMNS (TJ * TK)
#define PER_WARP (32 / NB)
#define WARPS ((COLUMNS + PER_WARP - 1) / PER_WARP)
#define THREADS (WARPS * 32)
#define ROW (NB + NB % 2)  // a vector of NB values in shared memory, 16-byte aligned
// Cells in shared memory lie NB doubles (mod 16) apart, so that rows of neighboring cells meet different banks.
#define APART(values) (((values) + 15) / 16 * 16 + ROW)
// Of a factorization: couplings with k-1, j-1, i-1, the diagonal block, and the neighbors' couplings with the cell.
#define STAGED_7 APART(7 * Q)
#define SMALL (NB <= 8)  // a row of all couplings fits registers
#define EVERYONE 0xffffffffu
#if NB % 2 == 0
#define VEC 2
#else
#define VEC 1
#endif

extern __shared__ double2 shared_memory[];

// ---- asynchronous copies

template <int bytes>
__device__ __forceinline__ void copy_chunk(void* to, const void* from) {
    const u32 there = (u32)__cvta_generic_to_shared(to);
    if (bytes == 16) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(there), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_async(double* to, const double* from) { copy_chunk<8 * VEC>(to, from); }
__device__ __forceinline__ void end_of_step() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
// ---- end of machine instructions

// Tiles in the order of tickets: first cell and cells of the grid block, and the first column. For the backward pass
// all places count from the other end.
struct Tile {
    u32 first, ni, nj, nk, j0, k0, unused[2];
};

// The lane's place: its column in the tile and its row. Lanes without a column stand in for their warp's first and
// write nothing: what they read is then ordered by the warp's own barriers.
struct Place {
    u32 r, column, lj, lk;
    bool mine;
};
__device__ __forceinline__ Place place() {
    const u32 lane = threadIdx.x % 32, first = threadIdx.x / 32 * PER_WARP, column = first + lane / NB;
    Place p;
    p.mine = lane < PER_WARP * NB && column < COLUMNS;
    p.r = lane % NB, p.column = p.mine ? column : first;
    p.lj = p.column % TJ, p.lk = p.column / TJ;
    return p;
}

__device__ __forceinline__ double shfl(double v, int from) { return __shfl_sync(EVERYONE, v, from); }

// The next tile, the same for all threads.
__device__ __forceinline__ u32 next_tile(u32* tickets) {
    __shared__ u32 ticket;
    __syncthreads();
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    return ticket;
}
__device__ __forceinline__ void load_row(const double* from, double* v) {
#pragma unroll
    for (int c = 0; c + 1 < NB; c += 2) {
        const double2 two = *(const double2*)(from + c);
        v[c] = two.x, v[c + 1] = two.y;
    }
    if (NB % 2) v[NB - 1] = from[NB - 1];
}
// Column c of a block in shared memory.
__device__ __forceinline__ void load_column(const double* block, int c, double* v) {
#if NB % 2 == 0
    load_row(block + c * NB, v);
#else
#pragma unroll
    for (int k = 0; k < NB; k++) v[k] = block[c * NB + k];
#endif
}

// The column's line of cells in the direction of a pass.
template <bool back>
struct Line {
    u32 start, ni, step_j, step_k;  // first cell met; distances of neighbors
    bool exists, has_j, has_k;
    __device__ Line(const Tile& t, const Place& p) {
        const u32 j = t.j0 + p.lj, k = t.k0 + p.lk;
        exists = p.mine && j < t.nj && k < t.nk;
        ni = t.ni, step_j = t.ni, step_k = t.ni * t.nj;
        start = !exists ? t.first
                : back  ? t.first + (t.ni - 1) + t.ni * ((t.nj - 1 - j) + t.nj * (t.nk - 1 - k))
                        : t.first + t.ni * (j + t.nj * k);
        has_j = exists && j > 0, has_k = exists && k > 0;
    }
    __device__ bool at(int ii) const { return exists && (u32)ii < ni; }
    __device__ u64 cell(int ii) const { return back ? start - ii : start + ii; }
    __device__ u64 neighbor(int ii, u32 step) const { return back ? cell(ii) + step : cell(ii) - step; }
};

// Poisons what tiles will wait for; a thread block a tile.
extern "C" __global__ void pencil_poison(PoisonTiles) {
    const Tile t = table[blockIdx.x];
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 j = t.j0 + column % TJ, k = t.k0 + column / TJ;
        const bool next_j = column % TJ == TJ - 1 && j + 1 < t.nj && k < t.nk,
                   next_k = column / TJ == TK - 1 && k + 1 < t.nk && j < t.nj;
        if (!next_j && !next_k) continue;
        double* line = inverse + (u64)(t.first + t.ni * (j + t.nj * k)) * Q;
        for (u32 e = threadIdx.x; e < t.ni * Q; e += blockDim.x) line[e] = POISON;
    }
}
