// Sums of inviscid fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block takes 32 x ROWS cells along i and j and marches through planes along k. A face's flux is computed once and goes
// to the other cell through shared memory. Faces of the boundary take the fluxes that boundary_fluxes left for them.
//
// Of the warps of a thread block the first ROWS have a row of cells each, and compute the fluxes along k; ROWS warps each
// have the lower faces along i and along j, two those at the tile's upper end along j and along i. While a plane's fluxes are
// computed, the first warps make the cells of the next one, and those of faces along i its rim; the warps of faces along j
// then add up. So a thread holds one face's numbers at a time, and there are warps enough to hide the latencies.
#define ROWS 4
#define THREADS (32 * (3 * ROWS + 2))
#define WIDE (COLUMNS + 4)
#define HIGH (ROWS + 4)
#define RIM_CELLS (4 * COLUMNS + 4 * ROWS)
#define FACES ((ROWS + 1) * (COLUMNS + 1))

// Flux through the lower face of a cell along an axis where it lies on the boundary.
__device__ __forceinline__ void take_boundary(const Tile& tile, const Sides& sides, u32 axis, const u32* cell, u64 faces, const double* __restrict__ fluxes,
                                              State& flux) {
    const bool high = pick(cell, axis) != 0;
    const u32 f = sides.face(tile.block, tile.b.count, axis, high, cell);
    if (f == NONE) return;
#pragma unroll
    for (int c = 0; c < 5; c++) flux[c] = high ? fluxes[c * faces + f] : -fluxes[c * faces + f];
}

// What the fluxes of a cell's six faces share, in shared memory as pairs of numbers that lie APART.
#define APART (HIGH * WIDE)
#if SCHEME < 2
typedef pointwise::CentralCell<double> Cell;
#define PAIRS 4
__device__ __forceinline__ Cell cell_of(pointwise::Gas<double> gas, const State& w) { return pointwise::central_cell(gas, w); }
__device__ __forceinline__ void put(double2* at, const Cell& cell) {
    at[0] = {cell.q[0], cell.q[1]}, at[APART] = {cell.q[2], cell.q[3]};
    at[2 * APART] = {cell.q[4], cell.pressure}, at[3 * APART] = {cell.inverse, cell.sound};
}
__device__ __forceinline__ Cell get(const double2* at) {
    const double2 a = at[0], b = at[APART], c = at[2 * APART], d = at[3 * APART];
    return {{a.x, a.y, b.x, b.y, c.x}, c.y, d.x, d.y};
}
#else
typedef State Cell;
#define PAIRS 3
__device__ __forceinline__ Cell cell_of(pointwise::Gas<double>, const State& w) { return w; }
__device__ __forceinline__ void put(double2* at, const Cell& cell) {
    at[0] = {cell[0], cell[1]}, at[APART] = {cell[2], cell[3]}, at[2 * APART] = {cell[4], 0};
}
__device__ __forceinline__ Cell get(const double2* at) {
    const double2 a = at[0], b = at[APART];
    return {a.x, a.y, b.x, b.y, at[2 * APART].x};
}
#endif

__device__ __forceinline__ State inviscid(const Setup& setup, const Cell& a, const Cell& b, const Cell& c, const Cell& d, const Vec3& n) {
#if SCHEME == 0
    return pointwise::scalar_dissipation_of(a, b, c, d, n, setup.dissipation());
#elif SCHEME == 1
    return pointwise::matrix_dissipation_of(setup.gas(), a, b, c, d, n, setup.dissipation());
#else
    return pointwise::flux_roe_muscl(setup.gas(), a, b, c, d, n, setup.kappa, setup.limited, setup.fix());
#endif
}
// Two planes of cells with their rim; fluxes through faces along i and j of two planes, along k of four; what is on its way to the
// next plane: states two planes above with areas along k, of the first threads, and states of the rim.
struct FluxMemory {
    double2 cells[2][PAIRS][HIGH][WIDE];
    double sides[2][2][5][ROWS + 1][COLUMNS + 1];
    double along_k[4][5][ROWS][COLUMNS];
    double ahead[8][ROWS][COLUMNS];
    double rim_ahead[5][RIM_CELLS];
};
#define PLANE_OF_CELLS (PAIRS * APART)
#define PLANE_OF_SIDES (10 * FACES)
#define PLANE_OF_K (5 * ROWS * COLUMNS)

// All threads, wherever they are in the text.
__device__ __forceinline__ void meet() { asm volatile("bar.sync 1, %0;" ::"n"(THREADS) : "memory"); }

// r = the sum of the fluxes out of each cell. Dynamic shared memory: FluxMemory.
extern "C" __global__ void __launch_bounds__(THREADS, SCHEME == 0 ? 2 : 1)
fluxes(u64 total, u32 planes, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ side_ptr,
       const u32* __restrict__ face_of, u64 faces, const double* __restrict__ at_boundary, const double* __restrict__ w,
       const double* __restrict__ area, const Setup* __restrict__ numbers, double* __restrict__ r) {
    extern __shared__ double memory[];
    FluxMemory& shared = *reinterpret_cast<FluxMemory*>(memory);
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 warp = threadIdx.x / 32, lane = threadIdx.x % 32, plane = tile.b.stride[2], pitch = (u32)total;
    if (warp < ROWS) {
        const u32 i = tile.i + lane, j = tile.j + warp;
        const bool own = i < tile.b.count[0] && j < tile.b.count[1];
        double* const ahead = &shared.ahead[0][warp][lane];
        double2* const mine = &shared.cells[0][0][warp + 2][lane + 2];
        double* const out = &shared.along_k[0][0][warp][lane];
        u32 at = tile.place(i, j, tile.first);  // of plane k + 1
        auto fetch = [&] {
#pragma unroll
            for (int c = 0; c < 5; c++) copy_async(ahead + c * ROWS * COLUMNS, w + (at + plane + c * pitch));
#pragma unroll
            for (int c = 0; c < 3; c++) copy_async(ahead + (5 + c) * ROWS * COLUMNS, area + (at + (6 + c) * pitch));
            copy_commit();
        };
        fetch();
        // Cells k - 1 to k + 2, of which the first waits in shared memory.
        put(mine + tile.first % 2 * PLANE_OF_CELLS, cell_of(gas, state_of(w, pitch, at - 2 * plane)));
        Cell b = cell_of(gas, state_of(w, pitch, at - plane)), c = cell_of(gas, state_of(w, pitch, at));
        put(mine + (tile.first + 1) % 2 * PLANE_OF_CELLS, b);
#pragma unroll 1
        for (u32 k = tile.first - 1; k != tile.end; k++) {
            copy_wait<0>();
            const Cell d = cell_of(gas, {ahead[0], ahead[ROWS * COLUMNS], ahead[2 * ROWS * COLUMNS], ahead[3 * ROWS * COLUMNS], ahead[4 * ROWS * COLUMNS]});
            const Vec3 n = {ahead[5 * ROWS * COLUMNS], ahead[6 * ROWS * COLUMNS], ahead[7 * ROWS * COLUMNS]};
            at += plane;
            if (k + 1 < tile.end) fetch();
            double2* const slot = mine + (k + 1) % 2 * PLANE_OF_CELLS;
            const Cell a = get(slot);
            put(slot, c);
            State flux = inviscid(setup, a, b, c, d, n);
            if (own && (k + 1 == 0 || k + 1 == tile.b.count[2])) {
                const u32 cell[3] = {i, j, k + 1};
                take_boundary(tile, sides, 2, cell, faces, at_boundary, flux);
            }
#pragma unroll
            for (int v = 0; v < 5; v++) out[k % 4 * PLANE_OF_K + v * ROWS * COLUMNS] = flux[v];
            b = c, c = d;
            meet();
        }
    } else {
        const u32 g = warp - ROWS, s = threadIdx.x - 32 * ROWS;
        const bool last = g == 2 * ROWS + 1, adds = g >= ROWS && g < 2 * ROWS;
        const u32 axis = g >= ROWS && !last, row = last ? lane % ROWS : g % ROWS + (g == 2 * ROWS ? ROWS : 0), col = last ? COLUMNS : lane;
        const u32 i = tile.i + col, j = tile.j + row;
        const bool in = i < tile.b.count[0] + (axis == 0) && j < tile.b.count[1] + (axis == 1), own = adds && i < tile.b.count[0];
        const bool end = in && (axis ? j == 0 || j == tile.b.count[1] : i == 0 || i == tile.b.count[0]);
        const u32 step = axis ? WIDE : 1;
        const double2* const mine = &shared.cells[0][0][row + 2][col + 2];
        double* const side = &shared.sides[0][axis][0][row][col];
        const double* const column = &shared.along_k[0][0][row % ROWS][lane];
        u32 at = tile.place(i, j, tile.first);
        // The rim: two rows on both sides, two columns on both sides.
        const bool rim = s < RIM_CELLS, rows = s < 4 * COLUMNS;
        const u32 n_rim = rows ? s / COLUMNS : (s - 4 * COLUMNS) / ROWS, along = rows ? s % COLUMNS : (s - 4 * COLUMNS) % ROWS;
        const u32 rim_row = !rim ? 0 : rows ? (n_rim < 2 ? n_rim : ROWS + n_rim) : along + 2;
        const u32 rim_col = !rim ? 0 : rows ? along + 2 : n_rim < 2 ? n_rim : COLUMNS + n_rim;
        double2* const rims = &shared.cells[0][0][rim_row][rim_col];
        u32 rim_at = tile.place(tile.i + rim_col - 2, tile.j + rim_row - 2, tile.first);
        double* const rim_ahead = &shared.rim_ahead[0][rim ? s : 0];
        auto fetch = [&](u32 place) {
#pragma unroll
            for (int c = 0; c < 5; c++) copy_async(rim_ahead + c * RIM_CELLS, w + (place + c * pitch));
            copy_commit();
        };
        if (rim) {
            fetch(rim_at + plane);
            put(rims + tile.first % 2 * PLANE_OF_CELLS, cell_of(gas, state_of(w, pitch, rim_at)));
        }
        Vec3 next = vector_of(area, pitch, at + 3 * axis * pitch);
        meet();
#pragma unroll 1
        for (u32 k = tile.first; k != tile.end; k++) {
            if (rim) {
                copy_wait<0>();
                const State state = {rim_ahead[0], rim_ahead[RIM_CELLS], rim_ahead[2 * RIM_CELLS], rim_ahead[3 * RIM_CELLS], rim_ahead[4 * RIM_CELLS]};
                fetch(rim_at + 2 * plane);
                put(rims + (k + 1) % 2 * PLANE_OF_CELLS, cell_of(gas, state));
                rim_at += plane;
            }
            const Vec3 n = next;
            next = vector_of(area, pitch, at + plane + 3 * axis * pitch);
            const double2* const c = mine + k % 2 * PLANE_OF_CELLS;
            State flux = inviscid(setup, get(c - 2 * step), get(c - step), get(c), get(c + step), n);
            if (end) {
                const u32 cell[3] = {i, j, k};
                take_boundary(tile, sides, axis, cell, faces, at_boundary, flux);
            }
            double* const to = side + k % 2 * PLANE_OF_SIDES;
            if (!last || lane < ROWS) {
#pragma unroll
                for (int v = 0; v < 5; v++) to[v * FACES] = flux[v];
            }
            meet();
            if (adds) {
                const double *const along_i = to - 5 * FACES, *const above = column + k % 4 * PLANE_OF_K, *const below = column + (k - 1) % 4 * PLANE_OF_K;
#pragma unroll
                for (int v = 0; v < 5; v++) {
                    const double along_k = above[v * ROWS * COLUMNS] - below[v * ROWS * COLUMNS];
                    const double sum = (along_i[v * FACES + 1] - along_i[v * FACES]) + (to[v * FACES + COLUMNS + 1] - flux[v]) + along_k;
                    if (own && j < tile.b.count[1]) r[at + v * pitch] = sum;
                }
            }
            at += plane;
        }
    }
}
