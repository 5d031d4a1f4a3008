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

// Calls `face(axis, row, column)` for the faces along i and j of a plane of the tile, and puts the results where the cells
// on both sides find them. Threads below TI also take the upper rim along j, the next TJ that along i.
template <class F> __device__ __forceinline__ void plane_fluxes(const Tile& tile, FluxTiles& shared, F face) {
    const u32 t = threadIdx.x;
#pragma unroll 1
    for (int turn = 0; turn < 3; turn++) {
        u32 axis = turn, row = tile.ty, column = tile.tx;
        if (turn == 2) {
            if (t >= TI + TJ) break;
            axis = t < TI ? 1 : 0, row = t < TI ? TJ : t - TI, column = t < TI ? t : TI;
        }
        const State flux = face(axis, row, column);
#pragma unroll
        for (int c = 0; c < 5; c++) {
            if (axis == 0) shared.i[c][row][column] = flux[c];
            else shared.j[c][row][column] = flux[c];
        }
    }
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

// r = the sum of the fluxes out of each cell.
extern "C" __global__ void __launch_bounds__(256, 2)
fluxes(u64 total, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ side_ptr,
       const u32* __restrict__ face_of, u64 faces, const double* __restrict__ at_boundary, const double* __restrict__ w,
       const double* __restrict__ area, const Setup* __restrict__ numbers, double* __restrict__ r) {
    __shared__ double cells[PARTS][TJ + 4][TI + 4];
    __shared__ FluxTiles shared;
    const Tile tile(blocks, tiles);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 plane = tile.b.stride[2], column = tile.place(tile.i, tile.j, (int)tile.first);
    const bool own = tile.i < tile.b.count[0] && tile.j < tile.b.count[1];
    auto put = [&](u32 row, u32 col, const Cell& cell) {
#pragma unroll
        for (int c = 0; c < 5; c++) cells[c][row][col] = cell.w[c];
#if SCHEME == 0
        cells[5][row][col] = cell.enthalpy, cells[6][row][col] = cell.sound;
#endif
    };
    auto get = [&](u32 row, u32 col) {
        Cell cell;
#pragma unroll
        for (int c = 0; c < 5; c++) cell.w[c] = cells[c][row][col];
#if SCHEME == 0
        cell.enthalpy = cells[5][row][col], cell.sound = cells[6][row][col];
#endif
        return cell;
    };
    // The flux through the lower face along k of cell k of this column.
    auto across_k = [&](u32 k, u32 at, const Cell& a, const Cell& b, const Cell& c, const Cell& d) {
        State flux = {0, 0, 0, 0, 0};
        const u32 cell[3] = {tile.i, tile.j, k};
        if (own && !from_boundary(tile, sides, 2, cell, faces, at_boundary, flux))
            flux = inviscid(setup, a, b, c, d, area_at(area + 6 * total, total, at));
        return flux;
    };
    Cell a = cell_of(gas, state_at(w, total, column - 2 * plane)), b = cell_of(gas, state_at(w, total, column - plane));
    Cell c = cell_of(gas, state_at(w, total, column)), d = cell_of(gas, state_at(w, total, column + plane));
    State below = across_k(tile.first, column, a, b, c, d);
    u32 at = column;
    for (u32 k = tile.first; k < tile.end; k++, at += plane) {
        a = b, b = c, c = d, d = cell_of(gas, state_at(w, total, at + 2 * plane));
        put(tile.ty + 2, tile.tx + 2, b);
        // The rim of the plane: two rows on both sides, two columns on both sides.
        const u32 t = threadIdx.x;
        if (t < 4 * TI + 4 * TJ) {
            const u32 n = t < 4 * TI ? t / TI : (t - 4 * TI) / TJ, along = t < 4 * TI ? t % TI : (t - 4 * TI) % TJ;
            const u32 row = t < 4 * TI ? (n < 2 ? n : TJ + n) : along + 2, col = t < 4 * TI ? along + 2 : (n < 2 ? n : TI + n);
            const u32 rim = tile.place((int)(tile.i - tile.tx + col) - 2, (int)(tile.j - tile.ty + row) - 2, (int)k);
            put(row, col, cell_of(gas, state_at(w, total, rim)));
        }
        __syncthreads();
        plane_fluxes(tile, shared, [&](u32 axis, u32 row, u32 col) {
            const u32 cell[3] = {tile.i - tile.tx + col, tile.j - tile.ty + row, k};
            State flux = {0, 0, 0, 0, 0};
            const bool there = cell[0] < tile.b.count[0] + (axis == 0) && cell[1] < tile.b.count[1] + (axis == 1);
            if (there && !from_boundary(tile, sides, axis, cell, faces, at_boundary, flux)) {
                const u32 y = row + 2, x = col + 2, dy = axis == 1, dx = axis == 0;
                const Vec3 n = area_at(area + 3 * axis * total, total, tile.place((int)cell[0], (int)cell[1], (int)k));
                flux = inviscid(setup, get(y - 2 * dy, x - 2 * dx), get(y - dy, x - dx), get(y, x), get(y + dy, x + dx), n);
            }
            return flux;
        });
        const State above = across_k(k + 1, at + plane, a, b, c, d);
        __syncthreads();
        if (own) {
#pragma unroll
            for (int v = 0; v < 5; v++) {
                const double along_i = shared.i[v][tile.ty][tile.tx + 1] - shared.i[v][tile.ty][tile.tx];
                const double along_j = shared.j[v][tile.ty + 1][tile.tx] - shared.j[v][tile.ty][tile.tx];
                r[v * total + at] = along_i + along_j + (above[v] - below[v]);
            }
        }
        below = above;
    }
}

// ---- viscous -----------------------------------------------------------------------------------------------------------
#if VISCOUS
__device__ __forceinline__ pointwise::Array<double, 4> thermal(pointwise::Gas<double> gas, const double* __restrict__ w, u64 total, u64 at) {
    return pointwise::velocity_and_temperature(gas, state_at(w, total, at));
}

// Viscous flux through the lower face of the cell at `at`: derivatives along the three index directions, turned into
// gradients by the areas over the mean volume.
__device__ __forceinline__ State viscous(const Setup& setup, const GridBlock& block, u32 active, u64 total, u32 axis, u32 at, const double* __restrict__ w,
                                         const double* __restrict__ area, const double* __restrict__ volume) {
    const pointwise::Gas<double> gas = setup.gas();
    const u64 c = at, b = c - pick(block.stride, axis);
    const Vec3 n = area_at(area + 3 * axis * total, total, c);
    const double inverse = 2.0 / (volume[b] + volume[c]);
    const auto before = thermal(gas, w, total, b), after = thermal(gas, w, total, c);
    pointwise::Array<Vec3, 4> gradient;
    pointwise::Array<double, 4> middle;
#pragma unroll
    for (int i = 0; i < 4; i++) {
        middle[i] = 0.5 * (before[i] + after[i]);
#pragma unroll
        for (int k = 0; k < 3; k++) gradient[i][k] = (after[i] - before[i]) * n[k] * inverse;
    }
#if VISCOUS == 2
    const double quarter = 0.25 * inverse;
#pragma unroll 1
    for (u32 turn = 1; turn < 3; turn++) {
        const u32 other = (axis + turn) % 3;
        if (!(active >> other & 1)) continue;
        const u64 s = pick(block.stride, other);
        Vec3 mean = {0, 0, 0};
        const double* from = area + 3 * other * total;
        const Vec3 a0 = area_at(from, total, b), a1 = area_at(from, total, b + s), a2 = area_at(from, total, c), a3 = area_at(from, total, c + s);
#pragma unroll
        for (int k = 0; k < 3; k++) mean[k] = 0.25 * (a0[k] + a1[k] + a2[k] + a3[k]);
        const auto t0 = thermal(gas, w, total, b + s), t1 = thermal(gas, w, total, c + s);
        const auto t2 = thermal(gas, w, total, b - s), t3 = thermal(gas, w, total, c - s);
#pragma unroll
        for (int i = 0; i < 4; i++) {
            const double change = quarter * (t0[i] + t1[i] - t2[i] - t3[i]);
#pragma unroll
            for (int k = 0; k < 3; k++) gradient[i][k] += change * mean[k];
        }
    }
#endif
    return pointwise::flux_viscous(gas, setup.transport(), middle, gradient, n);
}

// r -= the sum of the viscous fluxes out of each cell, but for those through the boundary.
extern "C" __global__ void __launch_bounds__(256, 2)
viscous_fluxes(u64 total, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ actives,
               const u32* __restrict__ side_ptr, const u32* __restrict__ face_of, const double* __restrict__ w, const double* __restrict__ area,
               const double* __restrict__ volume, const Setup* __restrict__ numbers, double* __restrict__ r) {
    __shared__ FluxTiles shared;
    const Tile tile(blocks, tiles);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const u32 active = actives[tile.block];
    const bool own = tile.i < tile.b.count[0] && tile.j < tile.b.count[1];
    auto face = [&](u32 axis, u32 i, u32 j, u32 k) {
        const u32 cell[3] = {i, j, k};
        State flux = {0, 0, 0, 0, 0};
        if (!(i < tile.b.count[0] + (axis == 0) && j < tile.b.count[1] + (axis == 1))) return flux;
        const u32 index = pick(cell, axis);
        const bool high = index == pick(tile.b.count, axis);
        if ((index == 0 || high) && sides.face(tile.block, tile.b.count, axis, high, cell) != NONE) return flux;
        return viscous(setup, tile.b, active, total, axis, tile.place((int)i, (int)j, (int)k), w, area, volume);
    };
    State below = face(2, tile.i, tile.j, tile.first);
    for (u32 k = tile.first; k < tile.end; k++) {
        State above = below;
        const u32 t = threadIdx.x;
        // The faces along i and j of plane k, the rim's, and those along k above: one text for all of them.
#pragma unroll 1
        for (int turn = 0; turn < 4; turn++) {
            u32 axis = turn, row = tile.ty, col = tile.tx, up = turn == 2;
            if (turn == 3) {
                if (t >= TI + TJ) break;
                axis = t < TI ? 1 : 0, row = t < TI ? TJ : t - TI, col = t < TI ? t : TI;
            }
            const State flux = face(axis, tile.i - tile.tx + col, tile.j - tile.ty + row, k + up);
            if (turn == 2) {
                above = flux;
                continue;
            }
#pragma unroll
            for (int c = 0; c < 5; c++) {
                if (axis == 0) shared.i[c][row][col] = flux[c];
                else shared.j[c][row][col] = flux[c];
            }
        }
        __syncthreads();
        if (own) {
            const u32 at = tile.place(tile.i, tile.j, (int)k);
#pragma unroll
            for (int v = 1; v < 5; v++) {
                const double along_i = shared.i[v][tile.ty][tile.tx + 1] - shared.i[v][tile.ty][tile.tx];
                const double along_j = shared.j[v][tile.ty + 1][tile.tx] - shared.j[v][tile.ty][tile.tx];
                r[v * total + at] -= along_i + along_j + (above[v] - below[v]);
            }
        }
        __syncthreads();
        below = above;
    }
}
#endif
