// Block ILU(0) of 7-point stencils with the schedule on the device.
//
// A tile is TJ x TK columns of cells along i; a thread block takes tiles by tickets. Within a tile the columns advance
// together, one hyperplane a step: column (lj, lk) stands lj + lk cells behind column (0, 0), and what it needs of its
// neighbors is in shared memory since the step before. Between tiles a value is its own flag (device.cuh).
//
// In the passes a cell has NB lanes of one warp, lane r its row r; in the factorization a warp where TENSOR. Blocks come into shared memory by asynchronous copies, steps ahead.
//
// Constants: NB, TJ, TK, STAGES (of the passes).
#define Q (NB * NB)
#define COLUMNS (TJ * TK)
#define PER_WARP (32 / NB)
#define WARPS ((COLUMNS + PER_WARP - 1) / PER_WARP)
#define THREADS (WARPS * 32)
#define ROW (NB + NB % 2)  // a vector of NB values in shared memory, 16-byte aligned
// Cells in shared memory lie NB doubles (mod 16) apart, so that rows of neighboring cells meet different banks.
#define APART(values) (((values) + 15) / 16 * 16 + ROW)
#define SMALL (NB <= 8)  // a row of all couplings fits registers
// Whether the factorization's products are the tensor cores': where that was faster (bench/block-ilu-h200.md).
#define TENSOR (NB == 5 || NB == 7 || NB == 8)
#if NB % 2 == 0
#define VEC 2
#else
#define VEC 1
#endif

extern __shared__ double2 shared_memory[];

// ---- asynchronous copies

__device__ __forceinline__ void copy_async(double* to, const double* from) {
#if VEC == 2
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
#endif
}
__device__ __forceinline__ void copy_one_async(double* to, const double* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((u32)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void end_of_step() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int pending>
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(pending) : "memory");
}
// Two neighboring entries of a row.
struct Pair {
    double a, b;
};
// c += a b, an 8 x 4 times a 4 x 8 matrix, by a warp.
__device__ __forceinline__ void multiply_add(Pair& c, double a, double b) {
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};" : "+d"(c.a), "+d"(c.b) : "d"(a), "d"(b));
}
// ---- end of machine instructions

// Tiles in the order of tickets: first cell and cells of the grid block, and the first column. For the backward pass all
// places count from the other end.
struct Tile {
    u32 first, ni, nj, nk, j0, k0, unused[2];
};

// The lane's place: its column in the tile and its row. Lanes without a column stand in for another and write nothing.
struct Place {
    u32 r, column, lj, lk;
    bool mine;
};
__device__ __forceinline__ Place place() {
    const u32 lane = threadIdx.x % 32, column = threadIdx.x / 32 * PER_WARP + lane / NB;
    Place p;
    p.mine = lane < PER_WARP * NB && column < COLUMNS;
    p.r = lane % NB, p.column = p.mine ? column : 0;
    p.lj = p.column % TJ, p.lk = p.column / TJ;
    return p;
}

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
        start = !exists ? t.first : back ? t.first + (t.ni - 1) + t.ni * ((t.nj - 1 - j) + t.nj * (t.nk - 1 - k)) : t.first + t.ni * (j + t.nj * k);
        has_j = exists && j > 0, has_k = exists && k > 0;
    }
    __device__ bool at(int ii) const { return exists && (u32)ii < ni; }
    __device__ u64 cell(int ii) const { return back ? start - ii : start + ii; }
    __device__ u64 neighbor(int ii, u32 step) const { return back ? cell(ii) + step : cell(ii) - step; }
};

// ---- passes
#define STAGED APART(4 * Q)  // three couplings, the inverse, and the right-hand side behind them

// forward:  out = D^-1 (right - sum of lower out)   right = b, out = y, next = x
// backward: out = right - D^-1 sum of upper out     right = y, out = x, next = y
// Where the other pass lets tiles wait for `next`, it is poisoned here.
template <bool back>
__device__ __forceinline__ void pass(u32 tiles, const Tile* __restrict__ table, u32* tickets, const double* __restrict__ couplings,
                                     const double* __restrict__ inverse, const double* right, double* out, double* next) {
    double* const stages = (double*)shared_memory;              // [STAGES][COLUMNS][STAGED]
    double* const values = stages + STAGES * COLUMNS * STAGED;  // [2][COLUMNS][ROW]
    double* const halo = values + 2 * COLUMNS * ROW;            // [2][COLUMNS][ROW]
    double* const sums = halo + 2 * COLUMNS * ROW;              // [COLUMNS][ROW]
    double* const zeros = sums + COLUMNS * ROW;                 // [ROW]
    const Place p = place();
    double *const halo_j = halo + p.column * ROW, *const halo_k = halo + (COLUMNS + p.column) * ROW, *const sum_row = sums + p.column * ROW;
    if (threadIdx.x < ROW) zeros[threadIdx.x] = 0;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        const Line<back> line(t, p);
        const int delay = p.lj + p.lk;
        const bool ask_j = line.has_j && p.lj == 0, ask_k = line.has_k && p.lk == 0;
        // Whether the other pass has another tile behind this column.
        const u32 other_j = t.nj - 1 - (t.j0 + p.lj), other_k = t.nk - 1 - (t.k0 + p.lk);
        const bool poison = line.exists && ((other_j % TJ == TJ - 1 && other_j + 1 < t.nj) || (other_k % TK == TK - 1 && other_k + 1 < t.nk));
        const int steps = t.ni + min((u32)TJ, t.nj - t.j0) + min((u32)TK, t.nk - t.k0) - 2;
        auto fetch = [&](int s) {
            const int ii = s - delay;
            if (line.at(ii)) {
                const u64 cell = line.cell(ii);
                double* to = stages + (s % STAGES * COLUMNS + p.column) * STAGED;
                const double *from = couplings + 3 * cell * Q, *inv = inverse + cell * Q;
#pragma unroll
                for (int e = 0; e < 3 * NB; e += VEC) copy_async(to + e * NB + p.r * VEC, from + e * NB + p.r * VEC);
#pragma unroll
                for (int e = 0; e < NB; e += VEC) copy_async(to + 3 * Q + e * NB + p.r * VEC, inv + e * NB + p.r * VEC);
                copy_one_async(to + 4 * Q + p.r, right + cell * NB + p.r);
            }
            end_of_step();
        };
        auto ask = [&](int ii, bool asked, u32 step) {
            return asked && line.at(ii) ? peek(out + line.neighbor(ii, step) * NB + p.r) : 0.0;
        };
        auto step = [&](int s, double& from_j, double& from_k) {
            const int ii = s - delay;
            const bool active = line.at(ii);
#if !SMALL
            __syncwarp();  // all lanes have read what the copies will overwrite
#endif
            fetch(s + STAGES - 1);
            wait_for_copies<STAGES - 1>();
            __syncwarp();
            const double* mine = stages + (s % STAGES * COLUMNS + p.column) * STAGED;
            const double right_value = mine[4 * Q + p.r];
#if SMALL
            double coupling[3][NB], inverse_row[NB];
#pragma unroll
            for (int d = 0; d < 3; d++)
#pragma unroll
                for (int c = 0; c < NB; c++) coupling[d][c] = mine[(back ? 2 - d : d) * Q + c * NB + p.r];
#pragma unroll
            for (int c = 0; c < NB; c++) inverse_row[c] = mine[3 * Q + c * NB + p.r];
#endif
            if (active && ask_j) halo_j[p.r] = await(from_j, out + line.neighbor(ii, line.step_j) * NB + p.r);
            if (active && ask_k) halo_k[p.r] = await(from_k, out + line.neighbor(ii, line.step_k) * NB + p.r);
            from_j = ask(ii + 2, ask_j, line.step_j), from_k = ask(ii + 2, ask_k, line.step_k);
            __syncthreads();
            const double* before = values + (s + 1) % 2 * COLUMNS * ROW + p.column * ROW;
            const bool has[3] = {line.has_k, line.has_j, ii > 0};
            const double* x[3] = {p.lk > 0 ? before - TJ * ROW : halo_k, p.lj > 0 ? before - ROW : halo_j, before};
            double part[3] = {0, 0, 0};
#pragma unroll
            for (int d = 0; d < 3; d++)
                if (has[d]) {
#if SMALL
                    double v[NB];
                    load_row(x[d], v);
#pragma unroll
                    for (int c = 0; c < NB; c++) part[d] += coupling[d][c] * v[c];
#else
#pragma unroll 8
                    for (int c = 0; c < NB; c++) part[d] += mine[(back ? 2 - d : d) * Q + c * NB + p.r] * x[d][c];
#endif
                }
            const double sum = part[0] + part[1] + part[2];
            if (p.mine) sum_row[p.r] = back ? sum : right_value - sum;
            __syncwarp();
            double y[2] = {0, 0};
#if SMALL
            double v[NB];
            load_row(sum_row, v);
#pragma unroll
            for (int c = 0; c < NB; c++) y[c % 2] += inverse_row[c] * v[c];
#else
#pragma unroll 8
            for (int c = 0; c < NB; c++) y[c % 2] += mine[3 * Q + c * NB + p.r] * sum_row[c];
#endif
            if (active) {
                const double value = back ? right_value - (y[0] + y[1]) : y[0] + y[1];
                const u64 at = line.cell(ii) * NB + p.r;
                values[s % 2 * COLUMNS * ROW + p.column * ROW + p.r] = value;
                post(out + at, result(value));
                if (poison) next[at] = POISON;
            }
        };
        double j0 = ask(-delay, ask_j, line.step_j), k0 = ask(-delay, ask_k, line.step_k);
        double j1 = ask(1 - delay, ask_j, line.step_j), k1 = ask(1 - delay, ask_k, line.step_k);
        for (int s = 0; s < STAGES - 1; s++) fetch(s);
        for (int s = 0; s < steps; s += 2) {
            step(s, j0, k0);
            if (s + 1 < steps) step(s + 1, j1, k1);
        }
    }
    return_tickets(tickets, gridDim.x);
}

extern "C" __global__ void __launch_bounds__(THREADS, 1)
pencil_forward(u32 tiles, const Tile* __restrict__ table, u32* tickets, const double* __restrict__ lower, const double* __restrict__ inverse,
               const double* b, double* y, double* x) {
    pass<false>(tiles, table, tickets, lower, inverse, b, y, x);
}
extern "C" __global__ void __launch_bounds__(THREADS, 1)
pencil_backward(u32 tiles, const Tile* __restrict__ table, u32* tickets, const double* __restrict__ upper, const double* __restrict__ inverse,
                double* y, double* x) {
    pass<true>(tiles, table, tickets, upper, inverse, y, x, y);
}

// ---- factorization
#define STAGED_7 APART(7 * Q)  // couplings with k-1, j-1, i-1, the diagonal block, and the neighbors' couplings with the cell
#define BLOCK APART(Q)

#if TENSOR
// A warp a cell: products of blocks by the tensor cores, padded to 8 x 8. Lane l has entries (l / 4, 2 (l % 4)) and the next
// one in that row of a result; of a left factor (l / 4, l % 4), of a right factor (l % 4, l / 4), four columns or rows at a time.
#define FACTOR_THREADS (COLUMNS * 32)
#define CHUNKS (7 * Q / VEC)
#define PER_LANE ((Q + 31) / 32)
#define EVERYONE 0xffffffffu

// A left factor of a block in shared memory, and a right one: the columns (rows) from 4 h on.
__device__ __forceinline__ double left(const double* block, int h, u32 lane) {
    const u32 r = lane / 4, k = 4 * h + lane % 4;
    return r < NB && k < NB ? block[k * NB + r] : 0.0;
}
__device__ __forceinline__ double right(const double* block, int h, u32 lane) {
    const u32 k = 4 * h + lane % 4, c = lane / 4;
    return k < NB && c < NB ? block[c * NB + k] : 0.0;
}
// A result as a left factor.
__device__ __forceinline__ double as_left(Pair v, int h, u32 lane) {
    const int from = (lane & ~3u) + (4 * h + lane % 4) / 2;
    const double a = __shfl_sync(EVERYONE, v.a, from), b = __shfl_sync(EVERYONE, v.b, from);
    return lane % 2 ? b : a;
}
__device__ __forceinline__ double over_row(double v) {
    v += __shfl_xor_sync(EVERYONE, v, 1);
    return v + __shfl_xor_sync(EVERYONE, v, 2);
}

extern "C" __global__ void __launch_bounds__(FACTOR_THREADS, 1)
pencil_factor(u32 tiles, const Tile* __restrict__ table, u32* tickets, const double* __restrict__ lower, const double* __restrict__ diag,
              const double* __restrict__ upper, double* inverse, double shift, int guard, u32* findings) {
    double* const stages = (double*)shared_memory;           // [2][COLUMNS][STAGED_7]
    double* const blocks = stages + 2 * COLUMNS * STAGED_7;  // [2][COLUMNS][BLOCK]
    double* const halo = blocks + 2 * COLUMNS * BLOCK;       // [TJ + TK][BLOCK]
    double* const swaps = halo + (TJ + TK) * BLOCK;          // [COLUMNS][ROW]
    const u32 lane = threadIdx.x % 32, row = lane / 4, column = 2 * (lane % 4);
    Place p;
    p.mine = true, p.r = 0, p.column = threadIdx.x / 32;
    p.lj = p.column % TJ, p.lk = p.column / TJ;
    double *const halo_k = halo + p.lj * BLOCK, *const halo_j = halo + (TJ + p.lk) * BLOCK;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        const Line<false> line(t, p);
        const int delay = p.lj + p.lk;
        const bool ask_j = line.has_j && p.lj == 0, ask_k = line.has_k && p.lk == 0;
        const int steps = t.ni + min((u32)TJ, t.nj - t.j0) + min((u32)TK, t.nk - t.k0) - 2;
        auto fetch = [&](int s) {
            const int ii = s - delay;
            if (line.at(ii)) {
                const u64 cell = line.cell(ii);
                double* to = stages + (s % 2 * COLUMNS + p.column) * STAGED_7;
#pragma unroll
                for (int n = 0; n < (CHUNKS + 31) / 32; n++) {
                    const u32 chunk = n * 32 + lane, e = chunk * VEC, which = e / Q;
                    if (chunk >= CHUNKS) continue;
                    const double* from = lower + 3 * cell * Q + e;
                    if (which == 3) from = diag + cell * Q + (e - 3 * Q);
                    if (which == 4) from = upper + (3 * (cell - line.step_k) + 2) * Q + (e - 4 * Q);
                    if (which == 5) from = upper + (3 * (cell - line.step_j) + 1) * Q + (e - 5 * Q);
                    if (which == 6) from = upper + 3 * (cell - 1) * Q + (e - 6 * Q);
                    if ((which == 4 && !line.has_k) || (which == 5 && !line.has_j) || (which == 6 && ii == 0)) continue;
                    copy_async(to + e, from);
                }
            }
            end_of_step();
        };
        double from_j[PER_LANE], from_k[PER_LANE];
        auto ask = [&](int ii, bool asked, u32 step, double* v) {
            if (asked && line.at(ii)) {
                const double* at = inverse + line.neighbor(ii, step) * Q + lane;
#pragma unroll
                for (int n = 0; n < PER_LANE; n++)
                    if (n * 32 + lane < Q) v[n] = peek(at + n * 32);
            }
        };
        // The inverse of a cell of another tile, into shared memory.
        auto receive = [&](int ii, u32 step, double* to, const double* v) {
            const double* at = inverse + line.neighbor(ii, step) * Q + lane;
#pragma unroll
            for (int n = 0; n < PER_LANE; n++)
                if (n * 32 + lane < Q) to[n * 32 + lane] = await(v[n], at + n * 32);
        };
        ask(-delay, ask_j, line.step_j, from_j), ask(-delay, ask_k, line.step_k, from_k);
        fetch(0);
        for (int s = 0; s < steps; s++) {
            const int ii = s - delay;
            const bool active = line.at(ii);
            fetch(s + 1);
            wait_for_copies<1>();
            if (active && ask_j) receive(ii, line.step_j, halo_j, from_j);
            if (active && ask_k) receive(ii, line.step_k, halo_k, from_k);
            ask(ii + 1, ask_j, line.step_j, from_j), ask(ii + 1, ask_k, line.step_k, from_k);
            __syncthreads();
            if (!active) continue;
            const u64 cell = line.cell(ii);
            const double* mine = stages + (s % 2 * COLUMNS + p.column) * STAGED_7;
            double* const block = blocks + (s % 2 * COLUMNS + p.column) * BLOCK;
            const double* before = blocks + ((s + 1) % 2 * COLUMNS + p.column) * BLOCK;
            const u32 at_a = column * NB + row, at_b = at_a + NB;
            const bool has_a = row < NB && column < NB, has_b = row < NB && column + 1 < NB;
            Pair a = {has_a ? mine[3 * Q + at_a] : 0.0, has_b ? mine[3 * Q + at_b] : 0.0};
            if (shift != 0) {
                double largest = fmax(fabs(a.a), fabs(a.b));
                for (int n = 16; n; n >>= 1) largest = fmax(largest, __shfl_xor_sync(EVERYONE, largest, n));
                a.a += row == column && has_a ? shift * largest : 0.0;
                a.b += row == column + 1 && has_b ? shift * largest : 0.0;
                if (lane == 0) atomicMax((u64*)(findings + 2), (u64)__double_as_longlong(shift * largest));
            }
            // A_im D_m^-1 A_mi, the three directions side by side.
            const bool has[3] = {line.has_k, line.has_j, ii > 0};
            const double* inverses[3] = {p.lk > 0 ? before - TJ * BLOCK : halo_k, p.lj > 0 ? before - BLOCK : halo_j, before};
            Pair product[3] = {}, change[3] = {};
#pragma unroll
            for (int d = 0; d < 3; d++)
                if (has[d])
#pragma unroll
                    for (int h = 0; 4 * h < NB; h++) multiply_add(product[d], left(mine + d * Q, h, lane), right(inverses[d], h, lane));
#pragma unroll
            for (int d = 0; d < 3; d++)
                if (has[d])
#pragma unroll
                    for (int h = 0; 4 * h < NB; h++) multiply_add(change[d], as_left(product[d], h, lane), right(mine + (4 + d) * Q, h, lane));
            a.a -= change[0].a + change[1].a + change[2].a;
            a.b -= change[0].b + change[1].b + change[2].b;
            if (has_a) block[at_a] = a.a;  // for inversion with pivoting
            if (has_b) block[at_b] = a.b;
            const double row_sum = over_row(a.a + a.b);
            // Gauss-Jordan elimination in place (Alg. 5).
#pragma unroll
            for (int n = 0; n < NB; n++) {
                const double mine_n = n % 2 ? a.b : a.a;  // in lanes of column n
                const double pivot = __shfl_sync(EVERYONE, mine_n, 4 * n + n / 2), f = __shfl_sync(EVERYONE, mine_n, (lane & ~3u) + n / 2);
                Pair v = {__shfl_sync(EVERYONE, a.a, 4 * n + lane % 4), __shfl_sync(EVERYONE, a.b, 4 * n + lane % 4)};
                const double scale = reciprocal(pivot);
                v.a = column == n ? scale : v.a * scale;
                v.b = column + 1 == n ? scale : v.b * scale;
                a.a = row == n ? v.a : (column == n ? 0.0 : a.a) - f * v.a;
                a.b = row == n ? v.b : (column + 1 == n ? 0.0 : a.b) - f * v.b;
            }
            // The inverse times the block's row sums is a vector of ones.
            const double one = over_row(a.a * __shfl_sync(EVERYONE, row_sum, 4 * column) + a.b * __shfl_sync(EVERYONE, row_sum, 4 * column + 4));
            if (__ballot_sync(EVERYONE, row < NB && !(fabs(one - 1) <= GUARD))) {
                __syncwarp();
                if (lane == 0) note(findings, invert_pivoted(block, swaps + p.column * ROW, guard), (u32)cell);
                __syncwarp();
                if (has_a) a.a = block[at_a];
                if (has_b) a.b = block[at_b];
                __syncwarp();
            }
            double* const out = inverse + cell * Q;
            if (has_a) block[at_a] = a.a, post(out + at_a, result(a.a));
            if (has_b) block[at_b] = a.b, post(out + at_b, result(a.b));
        }
    }
    return_tickets(tickets, gridDim.x);
}
#else
// A lane a row of a cell: a row of A_im D_m^-1 A_mi needs no other row.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
pencil_factor(u32 tiles, const Tile* __restrict__ table, u32* tickets, const double* __restrict__ lower, const double* __restrict__ diag,
              const double* __restrict__ upper, double* inverse, double shift, int guard, u32* findings) {
    double* const stages = (double*)shared_memory;           // [2][COLUMNS][STAGED_7]
    double* const blocks = stages + 2 * COLUMNS * STAGED_7;  // [2][COLUMNS][BLOCK]
    double* const halo = blocks + 2 * COLUMNS * BLOCK;       // [TJ + TK][BLOCK]
    double* const pivots = halo + (TJ + TK) * BLOCK;         // [2][COLUMNS][ROW]
    double* const row_sums = pivots + 2 * COLUMNS * ROW;     // [COLUMNS][ROW]
    double* const zeros = row_sums + COLUMNS * ROW;          // [Q + ROW]
    const Place p = place();
    const u32 r = p.r;
    double *const halo_k = halo + p.lj * BLOCK, *const halo_j = halo + (TJ + p.lk) * BLOCK;
    for (u32 e = threadIdx.x; e < Q + ROW; e += THREADS) zeros[e] = 0;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        const Line<false> line(t, p);
        const int delay = p.lj + p.lk;
        const bool ask_j = line.has_j && p.lj == 0, ask_k = line.has_k && p.lk == 0;
        const int steps = t.ni + min((u32)TJ, t.nj - t.j0) + min((u32)TK, t.nk - t.k0) - 2;
        auto fetch = [&](int s) {
            const int ii = s - delay;
            if (line.at(ii)) {
                const u64 cell = line.cell(ii);
                double* to = stages + (s % 2 * COLUMNS + p.column) * STAGED_7 + r * VEC;
                const double* from = lower + 3 * cell * Q + r * VEC;
#pragma unroll
                for (int e = 0; e < 3 * NB; e += VEC) copy_async(to + e * NB, from + e * NB);
                from = diag + cell * Q + r * VEC;
#pragma unroll
                for (int e = 0; e < NB; e += VEC) copy_async(to + 3 * Q + e * NB, from + e * NB);
                const bool has[3] = {line.has_k, line.has_j, ii > 0};
                const u32 distance[3] = {line.step_k, line.step_j, 1};
#pragma unroll
                for (int d = 0; d < 3; d++) {
                    if (!has[d]) continue;
                    from = upper + (3 * (cell - distance[d]) + 2 - d) * Q + r * VEC;
#pragma unroll
                    for (int e = 0; e < NB; e += VEC) copy_async(to + (4 + d) * Q + e * NB, from + e * NB);
                }
            }
            end_of_step();
        };
#if SMALL
        double from_j[NB], from_k[NB];
        auto ask = [&](int ii, bool asked, u32 step, double* v) {
            if (asked && line.at(ii)) {
                const double* at = inverse + line.neighbor(ii, step) * Q + r;
#pragma unroll
                for (int c = 0; c < NB; c++) v[c] = peek(at + c * NB);
            }
        };
        ask(-delay, ask_j, line.step_j, from_j), ask(-delay, ask_k, line.step_k, from_k);
#endif
        // The inverse of a cell of another tile, into shared memory.
        auto receive = [&](const double* at, double* to, const double* asked) {
#if SMALL
#pragma unroll
            for (int c = 0; c < NB; c++) to[c * NB + r] = await(asked[c], at + c * NB);
#else
#pragma unroll 4
            for (int c = 0; c < NB; c++) to[c * NB + r] = await(peek(at + c * NB), at + c * NB);
#endif
        };
        fetch(0);
        for (int s = 0; s < steps; s++) {
            const int ii = s - delay;
            const bool active = line.at(ii);
            const u64 cell = active ? line.cell(ii) : line.start;
            fetch(s + 1);
            wait_for_copies<1>();
            __syncwarp();
            const double* mine = stages + (s % 2 * COLUMNS + p.column) * STAGED_7;
            double* const block = blocks + (s % 2 * COLUMNS + p.column) * BLOCK;
            const double* before = blocks + ((s + 1) % 2 * COLUMNS + p.column) * BLOCK;
            double a[NB];  // the row of the diagonal block, at last of its inverse
#pragma unroll
            for (int c = 0; c < NB; c++) a[c] = mine[3 * Q + c * NB + r];
            if (shift != 0) {
                double largest = 0;
#pragma unroll
                for (int c = 0; c < NB; c++) largest = fmax(largest, fabs(a[c]));
                double* all = pivots + (COLUMNS + p.column) * ROW;
                if (p.mine) all[r] = largest;
                __syncwarp();
                for (int c = 0; c < NB; c++) largest = fmax(largest, all[c]);
#pragma unroll
                for (int c = 0; c < NB; c++) a[c] += c == r ? shift * largest : 0.0;
                if (active && r == 0) atomicMax((u64*)(findings + 2), (u64)__double_as_longlong(shift * largest));
            }
#if SMALL
            if (active && ask_j) receive(inverse + line.neighbor(ii, line.step_j) * Q + r, halo_j, from_j);
            if (active && ask_k) receive(inverse + line.neighbor(ii, line.step_k) * Q + r, halo_k, from_k);
            ask(ii + 1, ask_j, line.step_j, from_j), ask(ii + 1, ask_k, line.step_k, from_k);
#else
            if (active && ask_j) receive(inverse + line.neighbor(ii, line.step_j) * Q + r, halo_j, nullptr);
            if (active && ask_k) receive(inverse + line.neighbor(ii, line.step_k) * Q + r, halo_k, nullptr);
#endif
            __syncthreads();
            const bool has[3] = {line.has_k, line.has_j, ii > 0};
            const double* inverses[3] = {p.lk > 0 ? before - TJ * BLOCK : halo_k, p.lj > 0 ? before - BLOCK : halo_j, before};
            // Rows of A_im D_m^-1 and of its product with A_mi need no other row. A neighbor that is not there has blocks of
            // zeros: without branches the three directions run side by side.
#if SMALL
#pragma unroll
#else
#pragma unroll 1
#endif
            for (int d = 0; d < 3; d++) {
                const double *l = has[d] ? mine + d * Q + r : zeros, *m = has[d] ? inverses[d] : zeros, *u = has[d] ? mine + (4 + d) * Q : zeros;
                double product[NB], v[NB];
#if SMALL
                double row[NB];
#pragma unroll
                for (int k = 0; k < NB; k++) row[k] = l[k * NB];
#pragma unroll
                for (int c = 0; c < NB; c++) {
                    load_column(m, c, v);
                    product[c] = row[0] * v[0];
#pragma unroll
                    for (int k = 1; k < NB; k++) product[c] += row[k] * v[k];
                }
#else
#pragma unroll
                for (int c = 0; c < NB; c++) product[c] = 0;
#pragma unroll 2
                for (int k = 0; k < NB; k++) {
                    const double f = l[k * NB];
#pragma unroll
                    for (int c = 0; c < NB; c++) product[c] += f * m[c * NB + k];
                }
#endif
#pragma unroll
                for (int c = 0; c < NB; c++) {
                    load_column(u, c, v);
#pragma unroll
                    for (int k = 0; k < NB; k++) a[c] -= product[k] * v[k];
                }
            }
            double sum = 0;
#pragma unroll
            for (int c = 0; c < NB; c++) sum += a[c];
            if (p.mine) {
                row_sums[p.column * ROW + r] = sum;
#pragma unroll
                for (int c = 0; c < NB; c++) block[c * NB + r] = a[c];  // for inversion with pivoting
            }
            // Gauss-Jordan elimination in place (Alg. 5); the pivot's row goes round.
#pragma unroll
            for (int n = 0; n < NB; n++) {
                double* pivot_row = pivots + (n % 2 * COLUMNS + p.column) * ROW;
                if (r == n && p.mine) {
                    const double scale = reciprocal(a[n]);
                    a[n] = 1;
#pragma unroll
                    for (int c = 0; c < NB; c++) pivot_row[c] = a[c] *= scale;
                }
                __syncwarp();
                if (r != n) {
                    double v[NB];
                    load_row(pivot_row, v);
                    const double f = a[n];
                    a[n] = 0;
#pragma unroll
                    for (int c = 0; c < NB; c++) a[c] -= f * v[c];
                }
            }
            // The inverse times the block's row sums is a vector of ones.
            sum = -1;
#pragma unroll
            for (int c = 0; c < NB; c++) sum += a[c] * row_sums[p.column * ROW + c];
            const u32 bad = __ballot_sync(0xffffffffu, active && !(fabs(sum) <= GUARD));
            const bool again = (bad >> (threadIdx.x % 32 / NB * NB) & (NB == 32 ? 0xffffffffu : (1u << NB % 32) - 1)) != 0 && p.mine;
            if (bad) {
                if (again && r == 0) {
                    note(findings, invert_pivoted(block, pivots + p.column * ROW, guard), (u32)cell);
                }
                __syncwarp();
#pragma unroll
                for (int c = 0; c < NB; c++)
                    if (again) a[c] = block[c * NB + r];
            }
            if (p.mine && !again) {
#pragma unroll
                for (int c = 0; c < NB; c++) block[c * NB + r] = a[c];
            }
            if (active) {
#pragma unroll
                for (int c = 0; c < NB; c++) post(inverse + cell * Q + c * NB + r, result(a[c]));
            }
        }
    }
    return_tickets(tickets, gridDim.x);
}
#endif

// Poisons what tiles will wait for; a thread block a tile.
extern "C" __global__ void pencil_poison(const Tile* __restrict__ table, double* __restrict__ inverse) {
    const Tile t = table[blockIdx.x];
    for (u32 column = 0; column < COLUMNS; column++) {
        const u32 j = t.j0 + column % TJ, k = t.k0 + column / TJ;
        const bool next_j = column % TJ == TJ - 1 && j + 1 < t.nj && k < t.nk, next_k = column / TJ == TK - 1 && k + 1 < t.nk && j < t.nj;
        if (!next_j && !next_k) continue;
        double* line = inverse + (u64)(t.first + t.ni * (j + t.nj * k)) * Q;
        for (u32 e = threadIdx.x; e < t.ni * Q; e += blockDim.x) line[e] = POISON;
    }
}
