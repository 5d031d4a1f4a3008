#define BLOCK APART(NB * ROW)
// Warp-specialized. Consumers: multipliers form A_im D_m^-1 A_mi, a lane two rows of one direction; inverters subtract
// that from the diagonal block and invert, a lane a row. Producers: copiers fetch blocks, and receive the halo, what
// comes from other tiles.
#define PAIRS ((NB + 1) / 2)
#define CELLS_A_WARP (32 / (3 * PAIRS))
#define MULTIPLIERS ((COLUMNS + CELLS_A_WARP - 1) / CELLS_A_WARP)
#define INVERTERS WARPS
#define FACTOR_THREADS ((MULTIPLIERS + INVERTERS + COPIERS) * 32)
#define CHUNKS (7 * Q / VEC)
#define CHUNKS_A_LANE ((CHUNKS + 31) / 32)
#define FACES_A_WARP ((TJ + TK + COPIERS - 1) / COPIERS)
#define PER_LANE ((Q + 31) / 32)

// Gauss-Jordan elimination in place (Alg. 5), two rows at a time; lane `base` + r has row r.
__device__ __forceinline__ void invert_rows(double* a, int r, int base) {
#pragma unroll
    for (int n = 0; n + 1 < NB; n += 2) {
        double v0[NB], v1[NB];
#pragma unroll
        for (int c = 0; c < NB; c++) {
            const int e = (n + c) % NB;  // pivots first
            v0[e] = shfl(a[e], base + n), v1[e] = shfl(a[e], base + n + 1);
        }
        const double p00 = v0[n], p01 = v0[n + 1], p10 = v1[n], p11 = v1[n + 1];
        const double scale = reciprocal(fma(p00, p11, -(p01 * p10)));
        const bool first = r == n, second = r == n + 1;
        const double f0 = first ? -1.0 : second ? 0.0 : a[n], f1 = first ? 0.0 : second ? -1.0 : a[n + 1];
        const double g0 = fma(f0, p11, -(f1 * p10)), g1 = fma(f1, p00, -(f0 * p01));
#pragma unroll
        for (int c = 0; c < NB; c++) {
            const double own = first || second ? 0.0 : a[c];
            a[c] = c == n ? -g0 * scale : c == n + 1 ? -g1 * scale : fma(-fma(g0, v0[c], g1 * v1[c]), scale, own);
        }
    }
    if (NB % 2) {
        const int n = NB - 1;
        double v[NB];
#pragma unroll
        for (int c = 0; c < NB; c++) v[c] = shfl(a[c], base + n);
        const double scale = reciprocal(v[n]), f = r == n ? -1.0 : a[n];
#pragma unroll
        for (int c = 0; c < NB; c++) a[c] = c == n ? -f * scale : fma(-(f * v[c]), scale, r == n ? 0.0 : a[c]);
    }
}

extern "C" __global__ void __launch_bounds__(FACTOR_THREADS, NB <= 5 ? 2 : 1) pencil_factor(FactorTiles) {
    double* const stages = (double*)shared_memory;             // [STAGES][COLUMNS][STAGED_7]
    double* const blocks =
        stages + STAGES * COLUMNS * STAGED_7;                  // [COLUMNS][BLOCK]: newest inverses, columns ROW apart
    double* const halo = blocks + COLUMNS * BLOCK;             // [TJ + TK][BLOCK]
    double* const parts =
        halo + (TJ + TK) * BLOCK;  // [COLUMNS][3][BLOCK]: what each direction takes away, rows ROW apart
    double* const work =
        parts + 3 * COLUMNS * BLOCK;  // [COLUMNS][BLOCK]: what is inverted, rows ROW apart, and their sums
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        const int steps = t.ni + min((u32)TJ, t.nj - t.j0) + min((u32)TK, t.nk - t.k0) - 2;
        const u32 step_j = t.ni, step_k = t.ni * t.nj;
        if (warp < MULTIPLIERS) {
            const u32 group = min(lane / (3 * PAIRS), (u32)CELLS_A_WARP - 1), at = warp * CELLS_A_WARP + group,
                      d = lane / PAIRS % 3;
            const u32 r0 = lane % PAIRS * 2, r1 = min(r0 + 1, (u32)NB - 1), lj = at % TJ, lk = at / TJ, j = t.j0 + lj,
                      k = t.k0 + lk;
            const bool exists = lane < CELLS_A_WARP * 3 * PAIRS && at < COLUMNS && j < t.nj && k < t.nk;
            const bool has = d == 0 ? k > 0 : d == 1 ? j > 0 : true;
            const int delay = lj + lk;
            const double* const before = blocks + (exists ? at : 0) * BLOCK;
            const double* const neighbor = d == 2   ? before
                                           : d == 1 ? (lj > 0 ? before - BLOCK : halo + (TJ + lk) * BLOCK)
                                                    : (lk > 0 ? before - TJ * BLOCK : halo + lj * BLOCK);
            double* const part = parts + ((exists ? at : 0) * 3 + d) * BLOCK;
            auto active = [&](int s) { return exists && (u32)(s - delay) < t.ni; };
            auto staged = [&](int s) { return stages + (s % STAGES * COLUMNS + at) * STAGED_7; };
            double l0[NB], l1[NB];
            auto take = [&](int s) {
                if (!active(s)) return;
                const double* from = staged(s) + d * Q;
#pragma unroll
                for (int k = 0; k < NB; k++) {
#if NB % 2 == 0
                    const double2 two = *(const double2*)(from + k * NB + r0);
                    l0[k] = two.x, l1[k] = two.y;
#else
                    l0[k] = from[k * NB + r0], l1[k] = from[k * NB + r1];
#endif
                }
            };
            auto multiply = [&](int s) {
                if (!active(s)) return;
                double x0[NB] = {}, x1[NB] = {};
                if (has && (d < 2 || s > delay)) {
                    double p0[NB], p1[NB];
#pragma unroll
                    for (int c = 0; c < NB; c++) {
                        double v[NB];
                        load_row(neighbor + c * ROW, v);
                        p0[c] = l0[0] * v[0], p1[c] = l1[0] * v[0];
#pragma unroll
                        for (int k = 1; k < NB; k++) p0[c] += l0[k] * v[k], p1[c] += l1[k] * v[k];
                    }
                    const double* u = staged(s) + (4 + d) * Q;
#pragma unroll
                    for (int c = 0; c < NB; c++) {
                        double v[NB];
                        load_column(u, c, v);
#pragma unroll
                        for (int k = 0; k < NB; k++) x0[c] += p0[k] * v[k], x1[c] += p1[k] * v[k];
                    }
                }
#pragma unroll
                for (int c = 0; c < NB; c += 2) {
                    double2 two;
                    two.x = x0[c], two.y = c + 1 < NB ? x0[c + 1] : 0.0;
                    *(double2*)(part + r0 * ROW + c) = two;
                    two.x = x1[c], two.y = c + 1 < NB ? x1[c + 1] : 0.0;
                    if (r0 + 1 < NB) *(double2*)(part + r1 * ROW + c) = two;
                }
            };
            __syncthreads();
            take(0);
            __syncthreads();
            for (int s = 0; s < steps; s++) {
                multiply(s);
                if (__syncthreads_or(0)) {
                    __syncthreads();
                    multiply(s);
                    __syncthreads();
                }
                take(s + 1);
                __syncthreads();
            }
        } else if (warp < MULTIPLIERS + INVERTERS) {
            const u32 group = min(lane / NB, (u32)PER_WARP - 1), at = (warp - MULTIPLIERS) * PER_WARP + group;
            const int r = lane % NB, base = group * NB;
            const u32 lj = at % TJ, lk = at / TJ, j = t.j0 + lj, k = t.k0 + lk;
            const bool mine = lane < PER_WARP * NB && at < COLUMNS, exists = mine && j < t.nj && k < t.nk;
            const u32 start = t.first + t.ni * (j + t.nj * k);
            const int delay = lj + lk;
            double* const to = blocks + (mine ? at : 0) * BLOCK;
            double* const given = work + (mine ? at : 0) * BLOCK;
            const double* const part = parts + (mine ? at : 0) * 3 * BLOCK + r * ROW;
            auto active = [&](int s) { return exists && (u32)(s - delay) < t.ni; };
            double a[NB];
            // Posts the inverse of step s where it times the block's row sums is a vector of ones; says where it is
            // not.
            auto check = [&](int s) {
                double sums[NB], sum = -1;
                load_row(given + NB * ROW, sums);
#pragma unroll
                for (int c = 0; c < NB; c++) sum += a[c] * sums[c];
                const u32 bad = __ballot_sync(EVERYONE, active(s) && !(fabs(sum) <= GUARD));
                const bool again = active(s) && (bad >> base & ((1u << NB) - 1)) != 0;
                double* const out = inverse + (u64)(start + (s - delay)) * Q + r;
                if (active(s) && !again) {
#pragma unroll
                    for (int c = 0; c < NB; c++) post(out + c * NB, result(a[c]));
                }
                return again;
            };
            // With pivoting.
            auto invert_again = [&](int s, bool again) {
                double *const block = given, *const out = inverse + (u64)(start + (s - delay)) * Q + r;
                load_row(block + r * ROW, a);
                __syncwarp();
                if (again) {
#pragma unroll
                    for (int c = 0; c < NB; c++) block[c * NB + r] = a[c];
                }
                __syncwarp();
                if (again && r == 0) note(findings, invert_pivoted(block, block + Q, guard), start + (s - delay));
                __syncwarp();
                if (again) {
#pragma unroll
                    for (int c = 0; c < NB; c++) {
                        const double v = block[c * NB + r];
                        to[c * ROW + r] = v;
                        post(out + c * NB, result(v));
                    }
                }
            };
            __syncthreads();
            __syncthreads();
            for (int s = 0; s < steps; s++) {
                const bool again = s > 0 && check(s - 1);
                double own[NB];
                if (active(s)) {
                    const double* from = stages + (s % STAGES * COLUMNS + at) * STAGED_7 + 3 * Q + r;
#pragma unroll
                    for (int c = 0; c < NB; c++) own[c] = from[c * NB];
                }
                if (shift != 0) {
                    double most = 0;
#pragma unroll
                    for (int c = 0; c < NB; c++) most = fmax(most, fabs(own[c]));
                    double largest = most;
#pragma unroll
                    for (int c = 0; c < NB; c++) largest = fmax(largest, shfl(most, base + c));
#pragma unroll
                    for (int c = 0; c < NB; c++) own[c] += c == r ? shift * largest : 0.0;
                    if (active(s) && r == 0)
                        atomicMax((u64*)(findings + 2), (u64)__double_as_longlong(shift * largest));
                }
                if (__syncthreads_or(again)) {
                    invert_again(s - 1, again);
                    __syncthreads();
                    __syncthreads();
                }
                double x[3][NB];
#pragma unroll
                for (int d = 0; d < 3; d++) load_row(part + d * BLOCK, x[d]);
#pragma unroll
                for (int c = 0; c < NB; c++) a[c] = own[c] - (x[0][c] + x[1][c] + x[2][c]);
#pragma unroll
                for (int c = 0; c < NB; c += 2) {
                    double2 two;
                    two.x = a[c], two.y = c + 1 < NB ? a[c + 1] : 0.0;
                    if (mine) *(double2*)(given + r * ROW + c) = two;
                }
                double sum = 0;
#pragma unroll
                for (int c = 0; c < NB; c++) sum += a[c];
                if (mine) given[NB * ROW + r] = sum;
                invert_rows(a, r, base);
                if (active(s)) {
#pragma unroll
                    for (int c = 0; c < NB; c++) to[c * ROW + r] = a[c];
                }
                __syncthreads();
            }
            const bool again = check(steps - 1);
            if (__ballot_sync(EVERYONE, again)) invert_again(steps - 1, again);
        } else {
            const u32 number_here = warp - MULTIPLIERS - INVERTERS;
            // The lane's pieces of a cell's blocks: where they lie for cell 0, and of which block of the seven they
            // are.
            const double* piece[CHUNKS_A_LANE];
            u64 blocks_of = 0;
#pragma unroll
            for (int m = 0; m < CHUNKS_A_LANE; m++) {
                const u32 e = (m * 32 + lane) * VEC, which = min(e / Q, 7u);
                piece[m] = lower + e;
                if (which == 3) piece[m] = diag + (e - 3 * Q);
                if (which == 4) piece[m] = upper + (e - 4 * Q) + 2 * Q - 3 * Q * (u64)step_k;
                if (which == 5) piece[m] = upper + (e - 5 * Q) + Q - 3 * Q * (u64)step_j;
                if (which == 6) piece[m] = upper + (e - 6 * Q) - 3 * Q;
                blocks_of |= (u64)which << 4 * m;
            }
            auto fetch = [&](int s) {
                for (u32 at = number_here; at < COLUMNS; at += COPIERS) {
                    const u32 lj = at % TJ, lk = at / TJ, j = t.j0 + lj, k = t.k0 + lk;
                    const int ii = s - (int)(lj + lk);
                    if (j >= t.nj || k >= t.nk || (u32)ii >= t.ni) continue;
                    const u32 cell = t.first + t.ni * (j + t.nj * k) + ii;
                    const u32 there = 15 | (k > 0 ? 16 : 0) | (j > 0 ? 32 : 0) | (ii > 0 ? 64 : 0);
                    double* to = stages + (s % STAGES * COLUMNS + at) * STAGED_7 + lane * VEC;
#pragma unroll
                    for (int m = 0; m < CHUNKS_A_LANE; m++) {
                        const u32 which = (u32)(blocks_of >> 4 * m) & 15;
                        if (there >> which & 1)
                            copy_async(to + m * 32 * VEC, piece[m] + (u64)cell * (which == 3 ? Q : 3 * Q));
                    }
                }
                end_of_step();
            };
            // What comes from other tiles: first the faces towards k - 1, then those towards j - 1.
            double face[FACES_A_WARP][PER_LANE];
            auto each_face = [&](int s, auto visit) {
#pragma unroll
                for (int f = 0; f < FACES_A_WARP; f++) {
                    const u32 which = number_here + f * COPIERS;
                    const bool towards_k = which < TJ;
                    const u32 lj = towards_k ? which : 0, lk = towards_k ? 0 : which - TJ, j = t.j0 + lj, k = t.k0 + lk;
                    const int ii = s - (int)(lj + lk);
                    if (which >= TJ + TK || j >= t.nj || k >= t.nk || (u32)ii >= t.ni || (towards_k ? k : j) == 0)
                        continue;
                    const u32 cell = t.first + t.ni * (j + t.nj * k) + ii - (towards_k ? step_k : step_j);
#pragma unroll
                    for (int n = 0; n < PER_LANE; n++) {
                        const u32 e = n * 32 + lane;
                        if (e < Q)
                            visit(face[f][n], inverse + (u64)cell * Q + e,
                                  halo + which * BLOCK + e / NB * ROW + e % NB);
                    }
                }
            };
            auto ask = [&](int s) { each_face(s, [](double& v, const double* from, double*) { v = peek(from); }); };
            auto receive = [&](int s) {
                each_face(s, [](double& v, const double* from, double* to) { *to = await(v, from); });
            };
            ask(0);
            for (int s = 0; s < STAGES; s++) fetch(s);
            wait_for_copies<STAGES - 1>();
            __syncthreads();
            receive(0);
            __syncthreads();
            for (int s = 0; s < steps; s++) {
                ask(s + 1);
                wait_for_copies<STAGES - 2>();
                if (__syncthreads_or(0)) {
                    __syncthreads();
                    __syncthreads();
                }
                fetch(s + STAGES);
                receive(s + 1);
                __syncthreads();
            }
        }
    }
    return_tickets(tickets, gridDim.x);
}
