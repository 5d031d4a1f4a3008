// The passes of an apply, forward and backward substitution, warp-specialized. Consumers ("solvers"): a cell has NB
// lanes of one warp, lane r its row r; producers ("copiers") fetch blocks and right-hand sides; receivers wait for the
// halo, what comes from other tiles, a lane a value.
// Where the inverse lies behind three couplings, and the right-hand side behind that.
#define BEHIND (COUPLINGS_BYTES / 8)
#define STAGED APART(BEHIND + Q)
#define RECEIVERS (((TJ + TK) * NB + 31) / 32)
#define PASS_THREADS ((WARPS + COPIERS + RECEIVERS) * 32)
// Thread blocks that a multiprocessor is to have room for.
#define RESIDENT (PASS_THREADS <= 768 ? 768 / PASS_THREADS : 1)
#define COUPLING_CHUNK (FACTORS ? 16 : 8 * VEC)
#define COUPLING_CHUNKS (COUPLINGS_BYTES / COUPLING_CHUNK)
#define CHUNKS (COUPLING_CHUNKS + (Q + NB) / VEC)
#define CHUNKS_A_LANE ((CHUNKS + 31) / 32)
#define CELLS_A_COPIER ((COLUMNS + COPIERS - 1) / COPIERS)

// forward:  out = D^-1 (right - sum of lower out)   right = b, out = y, next = x
// backward: out = right - D^-1 sum of upper out     right = y, out = x, next = y
// Where the other pass lets tiles wait for `next`, it is poisoned here.
template <bool back>
__device__ __forceinline__ void pass(u32 tiles, const Tile* __restrict__ table, u32* tickets,
                                     const char* __restrict__ couplings, const double* __restrict__ inverse,
                                     const double* right, double* out, double* next) {
    double* const stages = (double*)shared_memory;              // [STAGES][COLUMNS][STAGED]
    double* const values = stages + STAGES * COLUMNS * STAGED;  // [2][COLUMNS][ROW]
    double* const halo = values + 2 * COLUMNS * ROW;            // [2][TJ + TK][ROW]
    double* const sums = halo + 2 * (TJ + TK) * ROW;            // [COLUMNS][ROW]
    double* const zeros = sums + COLUMNS * ROW;                 // [Q + ROW]
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (u32 e = threadIdx.x; e < Q + ROW; e += PASS_THREADS) zeros[e] = 0;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        const int steps = t.ni + min((u32)TJ, t.nj - t.j0) + min((u32)TK, t.nk - t.k0) - 2;
        if (warp < WARPS) {
            const Place p = place();
            const Line<back> line(t, p);
            const int delay = p.lj + p.lk;
            // Whether the other pass has another tile behind this column.
            const u32 other_j = t.nj - 1 - (t.j0 + p.lj), other_k = t.nk - 1 - (t.k0 + p.lk);
            const bool poison = line.exists && ((other_j % TJ == TJ - 1 && other_j + 1 < t.nj) ||
                                                (other_k % TK == TK - 1 && other_k + 1 < t.nk));
            double *const own = values + p.column * ROW, *const sum_row = sums + p.column * ROW;
            const double *const from_k = p.lk > 0 ? own - TJ * ROW : halo + p.lj * ROW;
            const double *const from_j = p.lj > 0 ? own - ROW : halo + (TJ + p.lk) * ROW;
            const u32 apart_k = p.lk > 0 ? COLUMNS * ROW : (TJ + TK) * ROW,
                      apart_j = p.lj > 0 ? COLUMNS * ROW : (TJ + TK) * ROW;
            double coupling[3][NB], inverse_row[NB], right_value, unscale = 1;
            // The blocks of a step; a neighbor that is not there has blocks of zeros.
            auto take = [&](int s) {
                const double* mine = stages + (s % STAGES * COLUMNS + p.column) * STAGED;
                const bool has[3] = {line.has_k, line.has_j, s > delay};
#pragma unroll
                for (int d = 0; d < 3; d++) {
                    const Coupling* from =
                        has[d] ? (const Coupling*)mine + (back ? 2 - d : d) * Q + p.r : (const Coupling*)zeros;
#pragma unroll
                    for (int c = 0; c < NB; c++) coupling[d][c] = widen(from[c * NB]);
                }
#pragma unroll
                for (int c = 0; c < NB; c++) inverse_row[c] = mine[BEHIND + c * NB + p.r];
                right_value = mine[BEHIND + Q + p.r];
                unscale = unscale_of(mine);
            };
            __syncthreads();
            take(0);
            for (int s = 0; s < steps; s++) {
                __syncthreads();
                const u32 before = (s + 1) % 2, now = s % 2;
                double x[3][NB], part[3];
                load_row(line.has_k ? from_k + (p.lk > 0 ? before : now) * apart_k : zeros, x[0]);
                load_row(line.has_j ? from_j + (p.lj > 0 ? before : now) * apart_j : zeros, x[1]);
                load_row(s > delay ? own + before * COLUMNS * ROW : zeros, x[2]);
#pragma unroll
                for (int d = 0; d < 3; d++) {
                    part[d] = coupling[d][0] * x[d][0];
#pragma unroll
                    for (int c = 1; c < NB; c++) part[d] += coupling[d][c] * x[d][c];
                }
                const double sum = part[0] + part[1] + part[2];
                if (p.mine) sum_row[p.r] = back ? sum : right_value - unscale * sum;
                __syncwarp();
                double y[2] = {0, 0}, v[NB];
                load_row(sum_row, v);
#pragma unroll
                for (int c = 0; c < NB; c++) y[c % 2] += inverse_row[c] * v[c];
                const double value = back ? right_value - unscale * (y[0] + y[1]) : y[0] + y[1];
                if (p.mine) own[now * COLUMNS * ROW + p.r] = value;
                take(s + 1);
                if (line.at(s - delay)) {
                    const u64 at = line.cell(s - delay) * NB + p.r;
                    post(out + at, result(value));
                    if (poison) next[at] = POISON;
                }
            }
        } else if (warp < WARPS + COPIERS) {
            // The lane's pieces of its cells: where those of each line's first cell lie, how far apart, where they go.
            const char* piece[CELLS_A_COPIER][CHUNKS_A_LANE];
            int delay[CELLS_A_COPIER], ni[CELLS_A_COPIER], apart[CHUNKS_A_LANE], place[CHUNKS_A_LANE];
#pragma unroll
            for (int f = 0; f < CELLS_A_COPIER; f++) {
                const u32 at = warp - WARPS + f * COPIERS;
                Place p;
                p.lj = at % TJ, p.lk = at / TJ, p.mine = at < COLUMNS;
                const Line<back> line(t, p);
                delay[f] = p.lj + p.lk, ni[f] = line.exists ? t.ni : 0;
                const u64 cell = line.start;
#pragma unroll
                for (int m = 0; m < CHUNKS_A_LANE; m++) {
                    const u32 chunk = m * 32 + lane, e = (chunk - COUPLING_CHUNKS) * VEC;  // of the inverse, and on
                    const bool first = chunk < COUPLING_CHUNKS, second = e < Q;
                    piece[f][m] = first ? couplings + COUPLINGS_BYTES * cell + chunk * COUPLING_CHUNK
                                        : (const char*)(second ? inverse + cell * Q + e : right + cell * NB + (e - Q));
                    apart[m] = (back ? -1 : 1) * (first ? COUPLINGS_BYTES : second ? 8 * Q : 8 * NB);
                    place[m] = first ? chunk * COUPLING_CHUNK : 8 * (BEHIND + e);
                }
            }
            auto fetch = [&](int s) {
#pragma unroll
                for (int f = 0; f < CELLS_A_COPIER; f++) {
                    const int ii = s - delay[f];
                    if ((u32)ii >= (u32)ni[f]) continue;
                    char* const to = (char*)(stages + (s % STAGES * COLUMNS + warp - WARPS + f * COPIERS) * STAGED);
#pragma unroll
                    for (int m = 0; m < CHUNKS_A_LANE; m++) {
                        const u32 chunk = m * 32 + lane;
                        const char* const from = piece[f][m] + (long long)ii * apart[m];
                        if (chunk < COUPLING_CHUNKS) copy_chunk<COUPLING_CHUNK>(to + place[m], from);
                        else if (chunk < CHUNKS) copy_chunk<8 * VEC>(to + place[m], from);
                    }
                }
                end_of_step();
            };
            for (int s = 0; s < STAGES; s++) fetch(s);
            wait_for_copies<STAGES - 1>();
            __syncthreads();
            for (int s = 0; s < steps; s++) {
                wait_for_copies<STAGES - 2>();
                __syncthreads();
                fetch(s + STAGES);
            }
        } else {
            // First the faces towards k - 1, then those towards j - 1.
            const u32 e = threadIdx.x - (WARPS + COPIERS) * 32, which = e / NB, r = e % NB;
            Place p;
            p.lj = which < TJ ? which : 0, p.lk = which < TJ ? 0 : which - TJ, p.mine = which < TJ + TK;
            const Line<back> line(t, p);
            const bool asked = which < TJ ? line.has_k : line.has_j;
            const u32 step = which < TJ ? line.step_k : line.step_j;
            const int delay = p.lj + p.lk;
            double* const to = halo + which * ROW + r;
            auto place_of = [&](int s) { return out + line.neighbor(s - delay, step) * NB + r; };
            auto ask = [&](int s) { return asked && line.at(s - delay) ? peek(place_of(s)) : 0.0; };
            auto receive = [&](int s, double v) {
                if (asked && line.at(s - delay)) to[s % 2 * (TJ + TK) * ROW] = await(v, place_of(s));
            };
            double first = ask(0), second = ask(1);
            receive(0, first);
            __syncthreads();
            for (int s = 0; s < steps; s++) {
                first = second, second = ask(s + 2);
                __syncthreads();
                receive(s + 1, first);
            }
        }
    }
    return_tickets(tickets, gridDim.x);
}

extern "C" __global__ void __launch_bounds__(PASS_THREADS, RESIDENT) pencil_forward(PassTiles) {
    pass<false>(tiles, table, tickets, couplings, inverse, b, y, x);
}
extern "C" __global__ void __launch_bounds__(PASS_THREADS, RESIDENT) pencil_backward(PassTiles) {
    pass<true>(tiles, table, tickets, couplings, inverse, y, x, y);
}
