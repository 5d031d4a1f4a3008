#define BLOCK APART(Q)

// The factorization with a lane a row of a cell: a row of A_im D_m^-1 A_mi needs no other row.
extern "C" __global__ void __launch_bounds__(THREADS, 1) pencil_factor(FactorTiles) {
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
            const double* inverses[3] = {p.lk > 0 ? before - TJ * BLOCK : halo_k, p.lj > 0 ? before - BLOCK : halo_j,
                                         before};
            // Rows of A_im D_m^-1 and of its product with A_mi need no other row. A neighbor that is not there has
            // blocks of zeros: without branches the three directions run side by side.
#if SMALL
#pragma unroll
#else
#pragma unroll 1
#endif
            for (int d = 0; d < 3; d++) {
                const double *l = has[d] ? mine + d * Q + r : zeros, *m = has[d] ? inverses[d] : zeros,
                             *u = has[d] ? mine + (4 + d) * Q : zeros;
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
            const bool again =
                (bad >> (threadIdx.x % 32 / NB * NB) & (NB == 32 ? 0xffffffffu : (1u << NB % 32) - 1)) != 0 && p.mine;
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
