// Block ILU(0) of 7-point stencils with the schedule on the device.
//
// A tile is TJ x TK columns of cells along i; a thread block takes tiles by tickets. Within a tile the columns advance
// together, one hyperplane a step: column (lj, lk) stands lj + lk cells behind column (0, 0), and what it needs of its
// neighbors is in shared memory since the step before. Between tiles a value is its own flag (device.cuh).
//
// A cell has NB lanes of one warp, lane r its row r. Blocks come into shared memory by asynchronous copies, steps ahead.
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
