// Sums of fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block of 256 threads takes 32 x 8 cells of PLANES planes along k, plane after plane. A face's flux is computed
// once, by the thread of the cell above it; the cells of the tile's upper rim get theirs from threads that work twice.
// Fluxes go to the cells below through shared memory, along k in registers. Faces of the boundary take the fluxes that
// boundary_fluxes left for them.
#define TI 32
#define TJ 8

// A thread's place in a tile {block, i, j, k of its first cell}.
struct Tile {
    GridBlock b;
    u32 block, i, j, first, end;
    u32 tx, ty;
    __device__ Tile(const GridBlock* blocks, const uint4* tiles) {
        const uint4 tile = tiles[blockIdx.x];
        block = tile.x, b = blocks[tile.x];
        tx = threadIdx.x % TI, ty = threadIdx.x / TI;
        i = tile.y + tx, j = tile.z + ty, first = tile.w;
        end = min(first + PLANES, b.count[2]);
    }
    // Place of a cell; indices may be ghosts' and are cut off where there are none any more.
    __device__ u32 place(int ci, int cj, int ck) const {
        ci = min(ci, (int)b.count[0] + 1), cj = min(cj, (int)b.count[1] + 1);
        return b.offset + (u32)(ci + 2) + (u32)(cj + 2) * b.stride[1] + (u32)(ck + 2) * b.stride[2];
    }
};

// Brings a line of memory to the second-level cache.
__device__ __forceinline__ void prefetch(const double* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

struct FluxTiles {
    double i[5][TJ][TI + 1];
    double j[5][TJ + 1][TI];
};

// Flux through the lower face of a cell along an axis where it lies on the boundary; false where it does not.
__device__ __forceinline__ bool from_boundary(const Tile& tile, const Sides& sides, u32 axis, const u32* cell, u64 faces, const double* __restrict__ fluxes,
                                              State& flux) {
    const u32 index = pick(cell, axis);
    const bool high = index == pick(tile.b.count, axis);
    if (index != 0 && !high) return false;
    const u32 f = sides.face(tile.block, tile.b.count, axis, high, cell);
    if (f == NONE) return false;
#pragma unroll
    for (int c = 0; c < 5; c++) flux[c] = high ? fluxes[c * faces + f] : -fluxes[c * faces + f];
    return true;
}

// ---- inviscid ----------------------------------------------------------------------------------------------------------
// What the fluxes of a cell's six faces share.
struct Cell {
    State w;
#if SCHEME == 0
    double enthalpy, sound;
#define PARTS 7
#else
#define PARTS 5
#endif
};

__device__ __forceinline__ Cell cell_of(pointwise::Gas<double> gas, const State& w) {
    Cell cell;
    cell.w = w;
#if SCHEME == 0
    cell.enthalpy = pointwise::total_enthalpy(gas, w), cell.sound = pointwise::sound_speed(gas, w);
#endif
    return cell;
}

__device__ __forceinline__ State inviscid(const Setup& setup, const Cell& a, const Cell& b, const Cell& c, const Cell& d, const Vec3& n) {
#if SCHEME == 0
    return pointwise::scalar_dissipation_of(a.w, b.w, c.w, d.w, pointwise::Array<double, 4>{{a.enthalpy, b.enthalpy, c.enthalpy, d.enthalpy}},
                                            pointwise::Array<double, 2>{{b.sound, c.sound}}, n, setup.dissipation());
#elif SCHEME == 1
    return pointwise::flux_matrix_dissipation(setup.gas(), a.w, b.w, c.w, d.w, n, setup.dissipation());
#else
    return pointwise::flux_roe_muscl(setup.gas(), a.w, b.w, c.w, d.w, n, setup.kappa, setup.limited, setup.fix());
#endif
}

// Shared memory of `fluxes`: a plane's cells with their rim, its fluxes, and what each thread has on its way for the next
// plane: the state two planes above, areas along i, j and k, a rim cell's state, a rim face's area.
#define RIM_CELLS (4 * TI + 4 * TJ)
#define RIM_FACES (TI + TJ)
struct FluxMemory {
    double cells[PARTS][TJ + 4][TI + 4];
    FluxTiles fluxes;
    double state[5][TI * TJ];
    double areas[9][TI * TJ];
    double rim_state[5][RIM_CELLS];
    double rim_area[3][RIM_FACES];
};

// r = the sum of the fluxes out of each cell. Dynamic shared memory: FluxMemory. Each plane has five groups of copies on
// their way, always in the same order, so that the oldest one is there when four are left.
extern "C" __global__ void __launch_bounds__(256, 2)
fluxes(u64 total, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ side_ptr,
       const u32* __restrict__ face_of, u64 faces, const double* __restrict__ at_boundary, const double* __restrict__ w,
       const double* __restrict__ area, const Setup* __restrict__ numbers, double* __restrict__ r) {
    extern __shared__ double memory[];
    FluxMemory& shared = *reinterpret_cast<FluxMemory*>(memory);
    const Tile tile(blocks, tiles);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 t = threadIdx.x, plane = tile.b.stride[2], column = tile.place(tile.i, tile.j, (int)tile.first);
    const bool own = tile.i < tile.b.count[0] && tile.j < tile.b.count[1];
    auto put = [&](u32 row, u32 col, const Cell& cell) {
#pragma unroll
        for (int c = 0; c < 5; c++) shared.cells[c][row][col] = cell.w[c];
#if SCHEME == 0
        shared.cells[5][row][col] = cell.enthalpy, shared.cells[6][row][col] = cell.sound;
#endif
    };
    auto get = [&](u32 row, u32 col) {
        Cell cell;
#pragma unroll
        for (int c = 0; c < 5; c++) cell.w[c] = shared.cells[c][row][col];
#if SCHEME == 0
        cell.enthalpy = shared.cells[5][row][col], cell.sound = shared.cells[6][row][col];
#endif
        return cell;
    };
    // The rim of cells: two rows on both sides, two columns on both sides; the rim of faces: one row, one column.
    const u32 n = t < 4 * TI ? t / TI : (t - 4 * TI) / TJ, along = t < 4 * TI ? t % TI : (t - 4 * TI) % TJ;
    const u32 rim_row = t < 4 * TI ? (n < 2 ? n : TJ + n) : along + 2, rim_col = t < 4 * TI ? along + 2 : (n < 2 ? n : TI + n);
    const u32 rim_cell = t < RIM_CELLS ? tile.place((int)(tile.i - tile.tx + rim_col) - 2, (int)(tile.j - tile.ty + rim_row) - 2, (int)tile.first) : column;
    const u32 face_axis = t < TI ? 1 : 0, face_row = t < TI ? TJ : t - TI, face_col = t < TI ? t : TI;
    const u32 rim_face = t < RIM_FACES ? tile.place((int)(tile.i - tile.tx + face_col), (int)(tile.j - tile.ty + face_row), (int)tile.first) : column;
    // Copies for the plane `up` above the first.
    auto fetch_states = [&](u32 up) {
        if (tile.first + up < tile.end) {
#pragma unroll
            for (int c = 0; c < 5; c++) copy_async(&shared.state[c][t], w + c * total + column + (u64)(up + 2) * plane);
            if (t < RIM_CELLS) {
#pragma unroll
                for (int c = 0; c < 5; c++) copy_async(&shared.rim_state[c][t], w + c * total + rim_cell + (u64)up * plane);
            }
        }
        copy_commit();
    };
    auto fetch_area = [&](u32 axis, u32 up) {   // axis 3: the rim's
        if (tile.first + up < tile.end) {
            const u64 at = (axis == 3 ? rim_face : column) + (u64)(up + (axis == 2)) * plane;
            const double* from = area + 3 * (axis == 3 ? face_axis : axis) * total + at;
            if (axis < 3 || t < RIM_FACES) {
#pragma unroll
                for (int c = 0; c < 3; c++) copy_async(axis == 3 ? &shared.rim_area[c][t] : &shared.areas[3 * axis + c][t], from + c * total);
            }
        }
        copy_commit();
    };
    fetch_states(0);
    fetch_area(0, 0), fetch_area(1, 0), fetch_area(3, 0), fetch_area(2, 0);
    // The flux through the lower face along k of cell k of this column.
    auto across_k = [&](u32 k, const Vec3& normal, const Cell& a, const Cell& b, const Cell& c, const Cell& d) {
        State flux = {0, 0, 0, 0, 0};
        const u32 cell[3] = {tile.i, tile.j, k};
        if (own && !from_boundary(tile, sides, 2, cell, faces, at_boundary, flux)) flux = inviscid(setup, a, b, c, d, normal);
        return flux;
    };
    Cell a = cell_of(gas, state_at(w, total, column - 2 * plane)), b = cell_of(gas, state_at(w, total, column - plane));
    Cell c = cell_of(gas, state_at(w, total, column)), d = cell_of(gas, state_at(w, total, column + plane));
    State below = across_k(tile.first, area_at(area + 6 * total, total, column), a, b, c, d);
    for (u32 k = tile.first, up = 0; k < tile.end; k++, up++) {
        copy_wait<4>();
        a = b, b = c, c = d;
        d = cell_of(gas, State{shared.state[0][t], shared.state[1][t], shared.state[2][t], shared.state[3][t], shared.state[4][t]});
        put(tile.ty + 2, tile.tx + 2, b);
        if (t < RIM_CELLS) {
            const State rim = {shared.rim_state[0][t], shared.rim_state[1][t], shared.rim_state[2][t], shared.rim_state[3][t], shared.rim_state[4][t]};
            put(rim_row, rim_col, cell_of(gas, rim));
        }
        fetch_states(up + 1);
        __syncthreads();
        // The faces along i and j, and the rim's: one text for all of them.
#pragma unroll 1
        for (u32 turn = 0; turn < 3; turn++) {
            copy_wait<4>();
            const bool rim = turn == 2;
            const u32 axis = rim ? face_axis : turn, row = rim ? face_row : tile.ty, col = rim ? face_col : tile.tx;
            const double* from = rim ? &shared.rim_area[0][t] : &shared.areas[3 * turn][t];
            const u32 apart = rim ? RIM_FACES : TI * TJ;
            const u32 cell[3] = {tile.i - tile.tx + col, tile.j - tile.ty + row, k};
            const bool there = (!rim || t < RIM_FACES) && cell[0] < tile.b.count[0] + (axis == 0) && cell[1] < tile.b.count[1] + (axis == 1);
            State flux = {0, 0, 0, 0, 0};
            if (there && !from_boundary(tile, sides, axis, cell, faces, at_boundary, flux)) {
                const Vec3 normal = {from[0], from[apart], from[2 * apart]};
                const u32 y = row + 2, x = col + 2, dy = axis == 1, dx = axis == 0;
                flux = inviscid(setup, get(y - 2 * dy, x - 2 * dx), get(y - dy, x - dx), get(y, x), get(y + dy, x + dx), normal);
            }
            fetch_area(rim ? 3 : turn, up + 1);
            if (there) {
#pragma unroll
                for (int v = 0; v < 5; v++) {
                    if (axis == 0) shared.fluxes.i[v][row][col] = flux[v];
                    else shared.fluxes.j[v][row][col] = flux[v];
                }
            }
        }
        copy_wait<4>();
        const State above = across_k(k + 1, Vec3{shared.areas[6][t], shared.areas[7][t], shared.areas[8][t]}, a, b, c, d);
        fetch_area(2, up + 1);
        __syncthreads();
        if (own) {
            const u64 at = column + (u64)up * plane;
#pragma unroll
            for (int v = 0; v < 5; v++) {
                const double along_i = shared.fluxes.i[v][tile.ty][tile.tx + 1] - shared.fluxes.i[v][tile.ty][tile.tx];
                const double along_j = shared.fluxes.j[v][tile.ty + 1][tile.tx] - shared.fluxes.j[v][tile.ty][tile.tx];
                r[v * total + at] = along_i + along_j + (above[v] - below[v]);
            }
        }
        below = above;
    }
    copy_wait<0>();
}

// ---- viscous -----------------------------------------------------------------------------------------------------------
#if VISCOUS
typedef pointwise::Array<double, 4> Thermal;    // u, v, w, T

// Four planes of the tile with a rim of one cell: those that the fluxes of a plane need, and the next.
#define RING 4
struct ThermalTiles {
    double value[RING][4][TJ + 2][TI + 2];
    __device__ Thermal get(u32 plane, u32 row, u32 col) const {
        const u32 p = plane % RING;
        return {value[p][0][row][col], value[p][1][row][col], value[p][2][row][col], value[p][3][row][col]};
    }
    __device__ void put(u32 plane, u32 row, u32 col, const Thermal& t) {
#pragma unroll
        for (int c = 0; c < 4; c++) value[plane % RING][c][row][col] = t[c];
    }
};
struct ViscousTiles {
    ThermalTiles thermal;
    double i[4][TJ][TI + 1];
    double j[4][TJ + 1][TI];
};

// r -= the sum of the viscous fluxes out of each cell, but for those through the boundary. Derivatives along the three index
// directions are turned into gradients by the areas over the mean volume. Dynamic shared memory: ViscousTiles.
extern "C" __global__ void __launch_bounds__(256, 2)
viscous_fluxes(u64 total, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ actives,
               const u32* __restrict__ side_ptr, const u32* __restrict__ face_of, const double* __restrict__ w, const double* __restrict__ area,
               const double* __restrict__ volume, const Setup* __restrict__ numbers, double* __restrict__ r) {
    extern __shared__ double memory[];
    ViscousTiles& shared = *reinterpret_cast<ViscousTiles*>(memory);
    const Tile tile(blocks, tiles);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 t = threadIdx.x;
#if VISCOUS == 2
    const u32 active = actives[tile.block];
#endif
    const bool own = tile.i < tile.b.count[0] && tile.j < tile.b.count[1];
    const int i0 = (int)(tile.i - tile.tx) - 1, j0 = (int)(tile.j - tile.ty) - 1;
    // The rim: two rows of TI + 2 cells, two columns of TJ.
    const bool rim = t < 2 * (TI + 2) + 2 * TJ;
    const u32 beyond = t - 2 * (TI + 2);
    const u32 rim_row = t < 2 * (TI + 2) ? (t < TI + 2 ? 0 : TJ + 1) : 1 + beyond % TJ;
    const u32 rim_col = t < 2 * (TI + 2) ? t % (TI + 2) : (beyond < TJ ? 0 : TI + 1);
    const u32 own_at = tile.place((int)tile.i, (int)tile.j, 0), plane = tile.b.stride[2];
    const u32 rim_at = rim ? tile.place(i0 + (int)rim_col, j0 + (int)rim_row, 0) : own_at;
    auto fill = [&](int k, const State& mine, const State& others) {
        shared.thermal.put((u32)(k + RING), tile.ty + 1, tile.tx + 1, pointwise::velocity_and_temperature(gas, mine));
        if (rim) shared.thermal.put((u32)(k + RING), rim_row, rim_col, pointwise::velocity_and_temperature(gas, others));
    };
    auto load = [&](u32 at, int k) { return state_at(w, total, (u64)((long long)at + (long long)k * plane)); };
    for (int k = (int)tile.first - 1; k <= (int)tile.first + 1; k++) fill(k, load(own_at, k), load(rim_at, k));
    __syncthreads();
    // Flux through the lower face along an axis of the cell at (row, col) of plane k of the tile with its rim.
    auto face = [&](u32 axis, u32 row, u32 col, u32 k) {
        const u32 cell[3] = {(u32)(i0 + (int)col), (u32)(j0 + (int)row), k};
        State flux = {0, 0, 0, 0, 0};
        if (!(cell[0] < tile.b.count[0] + (axis == 0) && cell[1] < tile.b.count[1] + (axis == 1))) return flux;
        const u32 index = pick(cell, axis);
        const bool high = index == pick(tile.b.count, axis);
        if ((index == 0 || high) && sides.face(tile.block, tile.b.count, axis, high, cell) != NONE) return flux;
        const u64 c = tile.place((int)cell[0], (int)cell[1], (int)k), b = c - pick(tile.b.stride, axis);
        const Vec3 n = area_at(area + 3 * axis * total, total, c);
        const double inverse = 2.0 / (volume[b] + volume[c]);
        const u32 kc = k + RING, kb = kc - (axis == 2), rb = row - (axis == 1), cb = col - (axis == 0);
        const Thermal before = shared.thermal.get(kb, rb, cb), after = shared.thermal.get(kc, row, col);
        pointwise::Array<Vec3, 4> gradient;
        Thermal middle;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            middle[i] = 0.5 * (before[i] + after[i]);
#pragma unroll
            for (int d = 0; d < 3; d++) gradient[i][d] = (after[i] - before[i]) * n[d] * inverse;
        }
#if VISCOUS == 2
        const double quarter = 0.25 * inverse;
#pragma unroll 1
        for (u32 turn = 1; turn < 3; turn++) {
            const u32 other = axis + turn >= 3 ? axis + turn - 3 : axis + turn;
            if (!(active >> other & 1)) continue;
            const u64 s = pick(tile.b.stride, other);
            const double* from = area + 3 * other * total;
            const Vec3 a0 = area_at(from, total, b), a1 = area_at(from, total, b + s), a2 = area_at(from, total, c), a3 = area_at(from, total, c + s);
            const u32 dk = other == 2, dr = other == 1, dc = other == 0;
            const Thermal t0 = shared.thermal.get(kb + dk, rb + dr, cb + dc), t1 = shared.thermal.get(kc + dk, row + dr, col + dc);
            const Thermal t2 = shared.thermal.get(kb - dk, rb - dr, cb - dc), t3 = shared.thermal.get(kc - dk, row - dr, col - dc);
            Vec3 mean;
#pragma unroll
            for (int d = 0; d < 3; d++) mean[d] = 0.25 * (a0[d] + a1[d] + a2[d] + a3[d]);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                const double change = quarter * (t0[i] + t1[i] - t2[i] - t3[i]);
#pragma unroll
                for (int d = 0; d < 3; d++) gradient[i][d] += change * mean[d];
            }
        }
#endif
        return pointwise::flux_viscous(gas, setup.transport(), middle, gradient, n);
    };
    State below = face(2, tile.ty + 1, tile.tx + 1, tile.first);
    for (u32 k = tile.first; k < tile.end; k++) {
        const bool more = k + 1 < tile.end;
        State mine, others;
        if (more) mine = load(own_at, (int)k + 2), others = load(rim_at, (int)k + 2);
        if (more) {
            const u64 next = own_at + (u64)(k + 1) * plane;
#pragma unroll
            for (int c = 0; c < 6; c++) prefetch(area + c * total + next);
#pragma unroll
            for (int c = 6; c < 9; c++) prefetch(area + c * total + next + plane);
            prefetch(volume + next + plane);
        }
        State above = below;
        // The faces along i and j of plane k, those along k above, and the rim's: one text for all of them.
#pragma unroll 1
        for (u32 turn = 0; turn < 4; turn++) {
            u32 axis = turn, row = tile.ty, col = tile.tx;
            if (turn == 3) {
                if (t >= TI + TJ) break;
                axis = t < TI ? 1 : 0, row = t < TI ? TJ : t - TI, col = t < TI ? t : TI;
            }
            const State flux = face(axis, row + 1, col + 1, k + (turn == 2));
            if (turn == 2) {
                above = flux;
                continue;
            }
#pragma unroll
            for (int c = 0; c < 4; c++) {
                if (axis == 0) shared.i[c][row][col] = flux[c + 1];
                else shared.j[c][row][col] = flux[c + 1];
            }
        }
        __syncthreads();
        if (own) {
            const u64 at = own_at + (u64)k * plane;
#pragma unroll
            for (int v = 0; v < 4; v++) {
                const double along_i = shared.i[v][tile.ty][tile.tx + 1] - shared.i[v][tile.ty][tile.tx];
                const double along_j = shared.j[v][tile.ty + 1][tile.tx] - shared.j[v][tile.ty][tile.tx];
                r[(v + 1) * total + at] -= along_i + along_j + (above[v + 1] - below[v + 1]);
            }
        }
        if (more) fill((int)k + 2, mine, others);
        __syncthreads();
        below = above;
    }
}
#endif
