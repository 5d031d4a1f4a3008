// Sums of inviscid fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block takes COLUMNS x ROWS cells along i and j and marches through planes along k; a warp has a row of cells. A plane's
// cells are in shared memory with a rim of two, those above and below in their threads. A thread computes the fluxes through its
// cell's lower faces along i and j and through the upper one along k; fluxes through the other faces come from the next lane, the
// next warp and the plane before. Faces of the boundary take the fluxes that boundary_fluxes left for them.
//
// The warps share the rim: while a plane's fluxes are computed, five make the rim's cells of the next one, one each has the
// faces of the tile's upper end along i and along j, and one copies what the boundary's faces take in the next plane.
#define ROWS 8
#define THREADS (32 * ROWS)
#define WIDE (COLUMNS + 4)
#define HIGH (ROWS + 4)
// Cells of the rim: two rows on both sides, then two columns; with them the faces of both upper ends.
#define RIM_CELLS (4 * COLUMNS + 4 * ROWS)
#define RIM (RIM_CELLS + 64)
// Faces of the tile that may be the boundary's: lower and upper end along j, then along i.
#define EDGES (2 * COLUMNS + 2 * ROWS)

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
// Two planes of cells with their rim; fluxes through lower faces along j of two planes, and through the upper end along i; states of
// the next plane's rim and areas of the upper ends, on their way; fluxes of two planes through the boundary's faces, their numbers of
// three (NONE: a face between cells), and where those begin in the table; cells of the block, which would take registers.
struct FluxMemory {
    double2 cells[2][PAIRS][HIGH][WIDE];
    double along_j[2][5][ROWS + 1][COLUMNS];
    double end_of_i[2][5][ROWS];
    double ahead[5][RIM];
    double edge[2][5][EDGES];
    u32 number[3][EDGES];
    u32 first_number[EDGES];
    u32 count[3];
};
#define PLANE_OF_CELLS (PAIRS * APART)
#define ROW_OF_J ((ROWS + 1) * COLUMNS)

// Areas are read once, so they go first out of the caches, where states stay for the neighbors; so do the results.
__device__ __forceinline__ Vec3 area_once(const double* __restrict__ area, u32 pitch, u32 at) {
    return {__ldcs(area + at), __ldcs(area + (at + pitch)), __ldcs(area + (at + 2 * pitch))};
}
__device__ __forceinline__ void copy_async(u32* to, const u32* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}

// Thread blocks for which a multiprocessor's shared memory has room.
#if __CUDA_ARCH__ >= 900
#define RESIDENT 2
#else
#define RESIDENT 1
#endif

// r = the sum of the fluxes out of each cell. Dynamic shared memory: FluxMemory.
extern "C" __global__ void __launch_bounds__(THREADS, RESIDENT)
fluxes(u64 total, u32 planes, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ side_ptr,
       const u32* __restrict__ face_of, u64 faces, const double* __restrict__ at_boundary, const double* __restrict__ w,
       const double* __restrict__ area, const Setup* __restrict__ numbers, double* __restrict__ r) {
    extern __shared__ double memory[];
    FluxMemory& shared = *reinterpret_cast<FluxMemory*>(memory);
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    if (threadIdx.x < 3) shared.count[threadIdx.x] = pick(tile.b.count, threadIdx.x);
    __syncthreads();
    const u32* const count = shared.count;
    const u32 s = threadIdx.x, warp = s / 32, lane = s % 32, plane = tile.b.stride[2], pitch = (u32)total;
    const u32 i = tile.i + lane, j = tile.j + warp;
    const bool in_i = i < count[0], in_j = j < count[1];
    double2* const mine = &shared.cells[0][0][warp + 2][lane + 2];
    u32 at = tile.place(i, j, tile.first);

    // The boundary's fluxes of a plane on their way, whose numbers came a plane before, and the numbers of the next.
    auto edge_fetch = [&](u32 e, u32 k) {
        const u32 first = shared.first_number[e], f = shared.number[k % 3][e];
        if (first == NONE || k >= tile.end) return;
        if (f != NONE)
#pragma unroll
            for (int v = 0; v < 5; v++) copy_async(&shared.edge[k % 2][v][e], at_boundary + (v * faces + f));
        copy_async(&shared.number[(k + 1) % 3][e], face_of + (first + (e < 2 * COLUMNS ? 1 : count[1]) * min(k + 1, count[2] - 1)));
    };
    auto edge_take = [&](u32 e, u32 k, double sign, State& flux) {
        if (shared.number[k % 3][e] == NONE) return;
#pragma unroll
        for (int v = 0; v < 5; v++) flux[v] = sign * shared.edge[k % 2][v][e];
    };

    // This thread's part of the rim: a cell, or the lower face of one along an axis.
    const bool rim_cell = s < RIM_CELLS, rim = s < RIM;
    const u32 rim_axis = s >= RIM_CELLS + 32;
    u32 row, col;
    if (s < 4 * COLUMNS)
        row = warp < 2 ? warp : ROWS + warp, col = lane + 2;
    else if (rim_cell)
        row = s % ROWS + 2, col = (s - 4 * COLUMNS) / ROWS + (s < 4 * COLUMNS + 2 * ROWS ? 0 : COLUMNS);
    else
        row = rim_axis ? ROWS + 2 : lane % ROWS + 2, col = rim_axis ? lane + 2 : COLUMNS + 2;
    double2* const other = &shared.cells[0][0][row][col];
    double* const ahead = &shared.ahead[0][rim ? s : 0];
    u32 rim_at = tile.place(tile.i + col - 2, tile.j + row - 2, tile.first) + (rim_cell ? 0 : 3 * rim_axis * pitch);
    const double* const rim_from = rim_cell ? w : area;
    auto rim_fetch = [&](u32 from) {
#pragma unroll
        for (int v = 0; v < 5; v++)
            if (rim_cell || v < 3) copy_async(ahead + v * RIM, rim_from + (from + v * pitch));
        copy_commit();
    };

    // The flux between the planes k and k + 1 from the cells k - 1 to k + 2 of a column, the first of which is in shared memory,
    // where that of k + 1 takes its place.
    Cell b, c;
    auto along_k = [&](u32 k, const State& state) {
        const Vec3 n = area_once(area, pitch, at + plane + 6 * pitch);
        const Cell d = cell_of(gas, state);
        double2* const slot = mine + (k + 1) % 2 * PLANE_OF_CELLS;
        const Cell a = get(slot);
        put(slot, c);
        State flux = inviscid(setup, a, b, c, d, n);
        const u32 high = k + 1 != 0;
        if ((!high || k + 1 == count[2]) && in_i && in_j) {
            const u32 f = face_of[sides.ptr[6 * tile.block + 4 + high] + i + count[0] * j];
            if (f != NONE)
#pragma unroll
                for (int v = 0; v < 5; v++) flux[v] = high ? at_boundary[v * faces + f] : -at_boundary[v * faces + f];
        }
        b = c, c = d;
        return flux;
    };

    if (s < EDGES) {
        const u32 axis = s < 2 * COLUMNS, e = axis ? s : s - 2 * COLUMNS, along = axis ? COLUMNS : ROWS, high = e >= along;
        const u32 other_index = (axis ? tile.i : tile.j) + (high ? e - along : e), many = axis ? count[1] : count[0];
        const u32 begin = axis ? tile.j : tile.i, end = begin + (axis ? ROWS : COLUMNS);
        const bool here = (high ? begin < many && many <= end : begin == 0) && other_index < (axis ? count[0] : count[1]);
        const u32 first = here ? sides.ptr[6 * tile.block + 2 * axis + high] + other_index * (axis ? count[2] : 1) : NONE;
        shared.first_number[s] = first;
#pragma unroll
        for (int v = 0; v < 3; v++) shared.number[v][s] = NONE;
        if (here) shared.number[tile.first % 3][s] = face_of[first + (axis ? 1 : count[1]) * tile.first];
        edge_fetch(s, tile.first);
    }
    at -= plane;
    put(mine + tile.first % 2 * PLANE_OF_CELLS, cell_of(gas, state_of(w, pitch, at - plane)));
    b = cell_of(gas, state_of(w, pitch, at)), c = cell_of(gas, state_of(w, pitch, at + plane));
    put(mine + (tile.first + 1) % 2 * PLANE_OF_CELLS, b);
    State below = along_k(tile.first - 1, state_of(w, pitch, at + 2 * plane));
    at += plane;
    copy_commit();
    copy_wait<0>();
    if (rim_cell) put(other + tile.first % 2 * PLANE_OF_CELLS, cell_of(gas, state_of(w, pitch, rim_at)));
    if (rim) rim_fetch(rim_cell ? rim_at + plane : rim_at);
    Vec3 n_i = area_once(area, pitch, at), n_j = area_once(area, pitch, at + 3 * pitch);
    __syncthreads();
#pragma unroll 1
    for (u32 k = tile.first; k != tile.end; k++) {
        const double2* const slot = mine + k % 2 * PLANE_OF_CELLS;
        double* const along_j = &shared.along_j[k % 2][0][warp][lane];
        if (!rim) {
#pragma unroll 1
            for (u32 e = s - RIM; e < EDGES; e += THREADS - RIM) edge_fetch(e, k + 1);
            copy_commit();
        }
        const State state = state_of(w, pitch, at + 2 * plane);
        State flux = inviscid(setup, get(slot - 2), get(slot - 1), b, get(slot + 1), n_i);
        if ((i == 0 || i == count[0]) && in_j) edge_take(2 * COLUMNS + (i ? ROWS : 0) + warp, k, i ? 1 : -1, flux);
        State sum;
#pragma unroll
        for (int v = 0; v < 5; v++) {
            const double right = __shfl_down_sync(0xffffffffu, flux[v], 1);
            sum[v] = (lane == 31 ? 0 : right) - flux[v] - below[v];
        }
        flux = inviscid(setup, get(slot - 2 * WIDE), get(slot - WIDE), b, get(slot + WIDE), n_j);
        if (in_i && (j == 0 || j == count[1])) edge_take((j ? COLUMNS : 0) + lane, k, j ? 1 : -1, flux);
#pragma unroll
        for (int v = 0; v < 5; v++) along_j[v * ROW_OF_J] = flux[v], sum[v] -= flux[v];
        below = along_k(k, state);
#pragma unroll
        for (int v = 0; v < 5; v++) sum[v] += below[v];

        copy_wait<0>();
        rim_at += plane;
        if (rim_cell) {
            const State state = {ahead[0], ahead[RIM], ahead[2 * RIM], ahead[3 * RIM], ahead[4 * RIM]};
            rim_fetch(rim_at + plane);
            put(other + (k + 1) % 2 * PLANE_OF_CELLS, cell_of(gas, state));
        } else if (rim) {
            const double2* const c = other + k % 2 * PLANE_OF_CELLS;
            const u32 step = rim_axis ? WIDE : 1;
            const Vec3 n = {ahead[0], ahead[RIM], ahead[2 * RIM]};
            rim_fetch(rim_at);
            flux = inviscid(setup, get(c - 2 * step), get(c - step), get(c), get(c + step), n);
            if (rim_axis ? tile.j + ROWS == count[1] && in_i : tile.i + COLUMNS == count[0] && tile.j + lane % ROWS < count[1])
                edge_take(rim_axis ? COLUMNS + lane : 2 * COLUMNS + ROWS + lane % ROWS, k, 1, flux);
            double* const to = rim_axis ? &shared.along_j[k % 2][0][ROWS][lane] : &shared.end_of_i[k % 2][0][lane % ROWS];
            if (rim_axis || lane < ROWS)
#pragma unroll
                for (int v = 0; v < 5; v++) to[v * (rim_axis ? ROW_OF_J : ROWS)] = flux[v];
        }
        n_i = area_once(area, pitch, at + plane), n_j = area_once(area, pitch, at + plane + 3 * pitch);
        __syncthreads();
#pragma unroll
        for (int v = 0; v < 5; v++) {
            sum[v] += along_j[v * ROW_OF_J + COLUMNS];
            if (lane == 31) sum[v] += shared.end_of_i[k % 2][v][warp];
            if (in_i && in_j) __stcs(r + (at + v * pitch), sum[v]);
        }
        at += plane;
    }
}
