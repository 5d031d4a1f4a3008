// The passes of an apply. A cell has NB lanes of one warp, lane r its row r.
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
