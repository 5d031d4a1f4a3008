// The passes of an apply for large blocks: a thread block a cell, a tile of cells is a single column (TJ = TK = 1). A
// unit of LANES lanes has a lane for every row; units share out the columns of all blocks, which come into registers
// STAGES - 1 cells ahead.
#define LANES (NB <= 16 ? 16 : 32)
#define UNITS (NB <= 12 ? 4 : 8)
#define PASS_THREADS (UNITS * LANES)
#define MINE ((NB + UNITS - 1) / UNITS)

// What a lane has of a cell: its row of the unit's columns of three couplings and of the inverse, and the right-hand
// side.
struct Piece {
    Coupling block[3][MINE];
    double inverse[MINE], right, unscale;
};

// forward:  out = D^-1 (right - sum of lower out)   right = b, out = y, next = x
// backward: out = right - D^-1 sum of upper out     right = y, out = x, next = y
// Where the other pass lets tiles wait for `next`, it is poisoned here.
template <bool back>
__device__ __forceinline__ void pass(u32 tiles, const Tile* __restrict__ table, u32* tickets,
                                     const char* __restrict__ couplings, const double* __restrict__ inverse,
                                     const double* right, double* out, double* next) {
    __shared__ double x[3][ROW], sums[ROW], parts[UNITS][LANES];
    const u32 r = threadIdx.x % LANES, unit = threadIdx.x / LANES;
    const bool row = r < NB, first = threadIdx.x < NB;
    for (;;) {
        const u32 number = next_tile(tickets);
        if (number >= tiles) break;
        const Tile t = table[number];
        Place p;
        p.lj = p.lk = 0, p.mine = true;
        const Line<back> line(t, p);
        const bool poison = t.j0 > 0 || t.k0 > 0;
        auto fetch = [&](u32 ii, Piece& to) {
            if (ii >= t.ni || !row) return;
            const u64 cell = line.cell(ii);
            const char* const from = couplings + COUPLINGS_BYTES * cell;
            const bool has[3] = {line.has_k, line.has_j, ii > 0};
#pragma unroll
            for (int m = 0; m < MINE; m++) {
                if (NB % UNITS != 0 && unit + m * UNITS >= NB) continue;
                const u32 at = (unit + m * UNITS) * NB + r;
#pragma unroll
                for (int d = 0; d < 3; d++)
                    if (has[d]) to.block[d][m] = ((const Coupling*)from)[(back ? 2 - d : d) * Q + at];
                to.inverse[m] = inverse[cell * Q + at];
            }
            if (first) to.right = right[cell * NB + r], to.unscale = unscale_of(from);
        };
        // Values of other tiles: a thread has one of the line towards k, or of that towards j.
        const bool towards_k = threadIdx.x < NB, asked = threadIdx.x < 2 * NB && (towards_k ? line.has_k : line.has_j);
        const u32 asked_row = towards_k ? threadIdx.x : threadIdx.x - NB,
                  asked_step = towards_k ? line.step_k : line.step_j;
        auto place_of = [&](u32 ii) { return out + line.neighbor(ii, asked_step) * NB + asked_row; };
        auto ask = [&](u32 ii) { return asked && ii < t.ni ? peek(place_of(ii)) : 0.0; };
        // The sum over all units of what they have of a row.
        auto total = [&] {
            double v[UNITS];
#pragma unroll
            for (int u = 0; u < UNITS; u++) v[u] = parts[u][r];
#pragma unroll
            for (int n = UNITS / 2; n; n /= 2)
#pragma unroll
                for (int u = 0; u < n; u++) v[u] += v[u + n];
            return v[0];
        };
        Piece pieces[STAGES];
        double coming = ask(0);
#pragma unroll
        for (int g = 0; g < STAGES - 1; g++) fetch(g, pieces[g]);
        for (u32 i0 = 0; i0 < t.ni; i0 += STAGES) {
#pragma unroll
            for (int g = 0; g < STAGES; g++) {
                const u32 ii = i0 + g;
                if (ii >= t.ni) break;
                fetch(ii + STAGES - 1, pieces[(g + STAGES - 1) % STAGES]);
                const Piece& mine = pieces[g];
                if (asked) x[towards_k ? 0 : 1][asked_row] = await(coming, place_of(ii));
                coming = ask(ii + 1);
                __syncthreads();
                const bool has[3] = {line.has_k, line.has_j, ii > 0};
                double part[3] = {0, 0, 0};
#pragma unroll
                for (int d = 0; d < 3; d++) {
                    if (!has[d]) continue;
#pragma unroll
                    for (int m = 0; m < MINE; m++)
                        if (NB % UNITS == 0 || unit + m * UNITS < NB)
                            part[d] += widen(mine.block[d][m]) * x[d][unit + m * UNITS];
                }
                parts[unit][r] = part[0] + part[1] + part[2];
                __syncthreads();
                if (first) sums[r] = back ? total() : mine.right - mine.unscale * total();
                __syncthreads();
                double y = 0;
#pragma unroll
                for (int m = 0; m < MINE; m++)
                    if (NB % UNITS == 0 || unit + m * UNITS < NB) y += mine.inverse[m] * sums[unit + m * UNITS];
                parts[unit][r] = y;
                __syncthreads();
                if (first) {
                    const double value = back ? mine.right - mine.unscale * total() : total();
                    const u64 at = line.cell(ii) * NB + r;
                    x[2][r] = value;
                    post(out + at, result(value));
                    if (poison) next[at] = POISON;
                }
            }
        }
    }
    return_tickets(tickets, gridDim.x);
}

extern "C" __global__ void __launch_bounds__(PASS_THREADS, 1) pencil_forward(PassTiles) {
    pass<false>(tiles, table, tickets, couplings, inverse, b, y, x);
}
extern "C" __global__ void __launch_bounds__(PASS_THREADS, 1) pencil_backward(PassTiles) {
    pass<true>(tiles, table, tickets, couplings, inverse, y, x, y);
}
