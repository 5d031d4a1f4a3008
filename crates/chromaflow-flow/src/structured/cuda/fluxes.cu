// Sums of inviscid fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block takes COLUMNS x ROWS cells along i and j and marches through planes along k; a warp has a row of
// cells. A thread computes the fluxes through its cell's lower faces; those through the upper ones come from the plane
// after, from the next warp and from the next lane. Three warps more have the faces of the tile's upper end along j,
// those of its upper end along i, and the copies to shared memory: states with a rim of two, areas, and the fluxes that
// boundary_fluxes left for faces of the boundary, all of a plane while the one before is worked at. From compute
// capability 9.0 on the GPU copies boxes by itself; before, all warps share in that.
//
// No barrier holds all: warps wait until a plane's copies have come (`full`) and until their neighbors' fluxes have
// (`along`), the copying one until everybody is done with what it overwrites (`free`).
//
// Constants beside those of structured.cuh: ROWS, and SHARED, the bytes of FluxMemory.
#define THREADS (32 * (ROWS + 3))
#define WIDE (COLUMNS + 4)
#define HIGH (ROWS + 4)
// Faces of the tile that may be the boundary's: lower and upper end along j, then along i.
#define EDGES (2 * COLUMNS + 2 * ROWS)

// What the fluxes through a cell's faces share, and what those below a face give to it along an axis: the second one
// and the first or, with Roe's flux, what the first one gives to the face, made once for its two faces, and that cell.
#if SCHEME < 2
typedef pointwise::CentralCell<double> Cell;
__device__ __forceinline__ Cell cell_of(const Setup& setup, const State& w) {
    return pointwise::central_cell(setup.gas(), w);
}
#else
typedef State Cell;
__device__ __forceinline__ Cell cell_of(const Setup&, const State& w) { return w; }
__device__ __forceinline__ void extrapolate(const Setup& setup, const Cell& a, const Cell& b, const Cell& c,
                                            State& lower, State& upper) {
#pragma unroll
    for (int v = 0; v < 5; v++) {
        const auto both = pointwise::extrapolate_muscl(a[v], b[v], c[v], setup.kappa, setup.limited);
        lower[v] = both[0], upper[v] = both[1];
    }
}
#endif
struct Below {
    Cell given, cell;
};
// Below the face between b and c, a below b.
__device__ __forceinline__ Below below_of(const Setup& setup, const Cell& a, const Cell& b, const Cell& c) {
#if SCHEME < 2
    return {a, b};
#else
    Below below = {{}, b};
    State lower;
    extrapolate(setup, a, b, c, lower, below.given);
    return below;
#endif
}
// The flux through the face between what is below and the cell c, above which d is; then c is below. `jump` has the sum
// of jumps of pressure of the cell c, that of the one below `step` before.
__device__ __forceinline__ State through(const Setup& setup, Below& below, const Cell& c, const Cell& d,
                                         const Vec3& n, const double* jump, u32 step) {
#if SCHEME == 0
    const State flux = pointwise::scalar_dissipation_of(below.given, below.cell, c, d, n, setup.dissipation());
    below = {below.cell, c};
#elif SCHEME == 1
    const State flux =
        pointwise::matrix_dissipation_of(setup.gas(), below.given, below.cell, c, d, n, setup.dissipation());
    below = {below.cell, c};
#else
    State lower, upper;
    extrapolate(setup, below.cell, c, d, lower, upper);
    const auto fix = setup.fix(*(jump - step), *jump);
    const State flux = pointwise::flux_roe(setup.gas(), below.given, lower, n, fix);
    below = {upper, c};
#endif
    return flux;
}

// A plane's states with their rim.
struct alignas(128) States {
    double w[5][HIGH][WIDE];
};
// A plane's areas of lower faces, with those of the tile's upper ends along i (and one more, as boxes are multiples of
// 16 bytes) and j.
struct Areas {
    alignas(128) double i[3][ROWS][COLUMNS + 2];
    alignas(128) double j[3][ROWS + 1][COLUMNS];
    alignas(128) double k[3][ROWS][COLUMNS];
};
struct FluxMemory {
    States states[3];
    Areas areas[2];
    // Fluxes through lower faces along j and the upper end; through the upper end along i.
    double along_j[2][5][ROWS + 1][COLUMNS];
    double end_of_i[2][5][ROWS];
#if SCHEME == 2
    // What the cells before a row give to its first face.
    double before_i[3][5][ROWS];
#endif
    // Fluxes through the boundary's faces, their numbers (NONE: a face between cells), and where those begin in the
    // table.
    double edge[2][5][EDGES];
    u64 full[2], free[2], along[2][ROWS + 2];
    u32 number[3][EDGES];
    u32 first_number[EDGES];
    u32 count[3];
};

static_assert(sizeof(FluxMemory) == SHARED, "as the launch has it");

// Results go past the first-level cache.
__device__ __forceinline__ void put_result(double* to, double x) {
    asm volatile("st.global.L1::no_allocate.f64 [%0], %1;" ::"l"(to), "d"(x) : "memory");
}

// r = the sum of the fluxes out of each cell. `maps` of each block: states with a rim, areas of lower faces along i, j,
// k. Dynamic shared memory: FluxMemory.
extern "C" __global__ void __launch_bounds__(THREADS, 1) fluxes(Fluxes) {
    extern __shared__ __align__(128) unsigned char memory[];
    FluxMemory& shared = *reinterpret_cast<FluxMemory*>(memory);
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const u32 s = threadIdx.x, warp = s / 32, lane = s % 32, plane = tile.b.stride[2], pitch = (u32)total;
    if (s < 3) shared.count[s] = pick(tile.b.count, s);
    if (s == 0) {
        for (int n = 0; n < 2; n++) {
            // Copies of each thread, and of boxes; all warps but the copying one; a warp.
            barrier_init(&shared.full[n], COPIERS + 1), barrier_init(&shared.free[n], 32 * (ROWS + 2));
            for (int row = 0; row < ROWS + 2; row++) barrier_init(&shared.along[n][row], 32);
        }
        barriers_ready();
    }
    __syncthreads();
    const u32* const count = shared.count;
    const u32 i = tile.i + lane;

    auto get = [&](const double* p) {
        return cell_of(setup, {p[0], p[HIGH * WIDE], p[2 * HIGH * WIDE], p[3 * HIGH * WIDE], p[4 * HIGH * WIDE]});
    };
    auto edge_take = [&](u32 e, u32 k, double sign, State& flux) {
        if (shared.number[k % 3][e] == NONE) return;
#pragma unroll
        for (int v = 0; v < 5; v++) flux[v] = sign * shared.edge[k % 2][v][e];
    };

    // A plane's areas, the states of the next one, and at first its own, when all are done with what these overwrite.
    auto fetch = [&](u32 k) {
        const u32 n = k - tile.first;
        if (n > 1) barrier_wait(&shared.free[n % 2], n - 2);
        const TensorMap* const map = maps + 4 * tile.block;
        u64* const full = &shared.full[n % 2];
        Areas& to = shared.areas[k % 2];
        const u32 ahead = sizeof(double[5][HIGH][WIDE]);
        const u32 bytes = ahead + sizeof(to.k) + (k == tile.end ? 0 : sizeof(to.i) + sizeof(to.j)) + (n ? 0 : ahead);
        if (warp == ROWS + 2) barrier_expect(full, bytes);
        auto states = [&](u32 p) {
            copy_box<5, HIGH, WIDE, COPIERS>(&shared.states[p % 3].w[0][0][0], map, w, tile.b, pitch, 0, tile.i, tile.j,
                                             p + 2, full);
        };
        if (n == 0) states(k);
        states(k + 1);
        copy_box<3, ROWS, COLUMNS, COPIERS>(to.k[0][0], map + 3, area, tile.b, pitch, 6, tile.i + 2, tile.j + 2, k + 2,
                                            full);
        if (k == tile.end) return;
        copy_box<3, ROWS + 1, COLUMNS, COPIERS>(to.j[0][0], map + 2, area, tile.b, pitch, 3, tile.i + 2, tile.j + 2,
                                                k + 2, full);
        copy_box<3, ROWS, COLUMNS + 2, COPIERS>(to.i[0][0], map + 1, area, tile.b, pitch, 0, tile.i + 2, tile.j + 2,
                                                k + 2, full);
    };
    // The part of the other warps in it.
    auto share_in = [&](u32 k) {
#if __CUDA_ARCH__ < 900
        fetch(k);
        arrive_after_copies(&shared.full[(k - tile.first) % 2]);
#endif
    };

    if (warp == ROWS + 2) {
        // The boundary's fluxes of a plane, whose numbers came with the one before, and the numbers of the next.
        auto edges_fetch = [&](u32 k) {
            copy_wait<0>();
#pragma unroll 1
            for (u32 e = lane; e < EDGES && k < tile.end; e += 32) {
                const u32 first = shared.first_number[e], f = shared.number[k % 3][e];
                if (first == NONE) continue;
                if (f != NONE)
#pragma unroll
                    for (int v = 0; v < 5; v++) copy_async(&shared.edge[k % 2][v][e], at_boundary + (v * faces + f));
                copy_async(&shared.number[(k + 1) % 3][e],
                           face_of + (first + (e < 2 * COLUMNS ? 1 : count[1]) * min(k + 1, count[2] - 1)));
            }
            copy_commit();
            arrive_after_copies(&shared.full[(k - tile.first) % 2]);
        };
        fetch(tile.first);
#pragma unroll 1
        for (u32 t = lane; t < EDGES; t += 32) {
            const u32 axis = t < 2 * COLUMNS, e = axis ? t : t - 2 * COLUMNS, along = axis ? COLUMNS : ROWS,
                      high = e >= along;
            const u32 other_index = (axis ? tile.i : tile.j) + (high ? e - along : e),
                      many = axis ? count[1] : count[0];
            const u32 begin = axis ? tile.j : tile.i, end = begin + (axis ? ROWS : COLUMNS);
            const bool here =
                (high ? begin < many && many <= end : begin == 0) && other_index < (axis ? count[0] : count[1]);
            const u32 first =
                here ? sides.ptr[6 * tile.block + 2 * axis + high] + other_index * (axis ? count[2] : 1) : NONE;
            shared.first_number[t] = first;
#pragma unroll
            for (int v = 0; v < 3; v++) shared.number[v][t] = NONE;
            if (here) shared.number[tile.first % 3][t] = face_of[first + (axis ? 1 : count[1]) * tile.first];
        }
        edges_fetch(tile.first);
        __syncthreads();
#pragma unroll 1
        for (u32 k = tile.first; k != tile.end; k++) {
            fetch(k + 1);
            edges_fetch(k + 1);
        }
        return;
    }
    share_in(tile.first);
    if (warp >= ROWS) {
        // The faces of an upper end: a lane a column or a row.
        const bool of_j = warp == ROWS;
        const u32 place = of_j ? lane : lane % ROWS, row = of_j ? ROWS : place, col = of_j ? lane : COLUMNS;
#if SCHEME == 2
        if (!of_j) {
            const u32 at = tile.place(tile.i, tile.j + place, tile.first);
            const State given =
                below_of(setup, state_of(w, pitch, at - 2), state_of(w, pitch, at - 1), state_of(w, pitch, at)).given;
#pragma unroll
            for (int v = 0; v < 5; v++) shared.before_i[tile.first % 3][v][place] = given[v];
        }
#endif
        __syncthreads();
        const u32 step = of_j ? WIDE : 1, apart = of_j ? (ROWS + 1) * COLUMNS : ROWS * (COLUMNS + 2);
        const u32 along = of_j ? tile.b.stride[1] : 1;
        u32 at = tile.place(tile.i + col, tile.j + row, tile.first);
#pragma unroll 1
        for (u32 k = tile.first; k != tile.end; k++) {
            const u32 n = k - tile.first;
            share_in(k + 1);
            barrier_wait(&shared.full[n % 2], n);
            const double *const c = &shared.states[k % 3].w[0][row + 2][col + 2],
                                *const a =
                                    of_j ? &shared.areas[k % 2].j[0][row][col] : &shared.areas[k % 2].i[0][row][col];
            const double* b = c - step;
#if SCHEME == 2
            // The other lanes make what comes before the next plane's rows.
            if (!of_j && lane >= ROWS) b = &shared.states[(k + 1) % 3].w[0][row + 2][1];
#endif
            Below below = below_of(setup, get(b - step), get(b), get(b + step));
#if SCHEME == 2
            if (!of_j && lane >= ROWS)
#pragma unroll
                for (int v = 0; v < 5; v++) shared.before_i[(k + 1) % 3][v][place] = below.given[v];
#endif
            State flux =
                through(setup, below, get(c), get(c + step), {a[0], a[apart], a[2 * apart]}, jumps + at, along);
            at += plane;
            if (of_j ? tile.j + ROWS == count[1] && i < count[0]
                     : tile.i + COLUMNS == count[0] && tile.j + place < count[1])
                edge_take(of_j ? COLUMNS + place : 2 * COLUMNS + ROWS + place, k, 1, flux);
            double* const to = of_j ? &shared.along_j[k % 2][0][ROWS][place] : &shared.end_of_i[k % 2][0][place];
            if (of_j || lane < ROWS)
#pragma unroll
                for (int v = 0; v < 5; v++) to[v * (of_j ? (ROWS + 1) * COLUMNS : ROWS)] = flux[v];
            barrier_arrive(&shared.along[n % 2][warp]);
            barrier_arrive(&shared.free[n % 2]);
        }
        return;
    }

    const u32 j = tile.j + warp;
    const bool in_i = i < count[0], in_j = j < count[1];
    u32 at = tile.place(i, j, tile.first);
    // Along k, and the sum of the fluxes so far.
    auto cell = [&](u32 place) { return cell_of(setup, state_of(w, pitch, place)); };
    Below below = below_of(setup, cell(at - 2 * plane), cell(at - plane), cell(at));
    State sum = {};
    at -= plane;
    __syncthreads();
#pragma unroll 1
    for (u32 k = tile.first;; k++) {
        const u32 n = k - tile.first;
        const Areas& areas = shared.areas[k % 2];
        if (k != tile.end) share_in(k + 1);
        barrier_wait(&shared.full[n % 2], n);
        const double *const c = &shared.states[k % 3].w[0][warp + 2][lane + 2];
        const double *const next = &shared.states[(k + 1) % 3].w[0][warp + 2][lane + 2];
        State flux = through(setup, below, get(c), get(next),
                             {areas.k[0][warp][lane], areas.k[1][warp][lane], areas.k[2][warp][lane]},
                             jumps + at + plane, plane);
        if ((k == 0 || k == count[2]) && in_i && in_j) {
            const u32 high = k != 0, f = face_of[sides.ptr[6 * tile.block + 4 + high] + i + count[0] * j];
            if (f != NONE)
#pragma unroll
                for (int v = 0; v < 5; v++) flux[v] = high ? at_boundary[v * faces + f] : -at_boundary[v * faces + f];
        }
        if (n != 0 && in_i && in_j)
#pragma unroll
            for (int v = 0; v < 5; v++) put_result(r + (at + v * pitch), sum[v] + flux[v]);
        if (k == tile.end) break;
#pragma unroll
        for (int v = 0; v < 5; v++) sum[v] = -flux[v];

        const Cell here = below.cell;
        double* const along_j = &shared.along_j[k % 2][0][warp][lane];
        Below beside = below_of(setup, get(c - 2 * WIDE), get(c - WIDE), here);
        flux = through(setup, beside, here, get(c + WIDE),
                       {areas.j[0][warp][lane], areas.j[1][warp][lane], areas.j[2][warp][lane]}, jumps + at + plane,
                       tile.b.stride[1]);
        if (in_i && (j == 0 || j == count[1])) edge_take((j ? COLUMNS : 0) + lane, k, j ? 1 : -1, flux);
#pragma unroll
        for (int v = 0; v < 5; v++) along_j[v * (ROWS + 1) * COLUMNS] = flux[v], sum[v] -= flux[v];
        barrier_arrive(&shared.along[n % 2][warp]);

        const Vec3 normal = {areas.i[0][warp][lane], areas.i[1][warp][lane], areas.i[2][warp][lane]};
#if SCHEME < 2
        beside = below_of(setup, get(c - 2), get(c - 1), here);
        flux = through(setup, beside, here, get(c + 1), normal, jumps, 1);
#else
        // What the cell before gives comes from its lane.
        State lower, upper;
        extrapolate(setup, get(c - 1), here, get(c + 1), lower, upper);
#pragma unroll
        for (int v = 0; v < 5; v++) {
            const double given = __shfl_up_sync(0xffffffffu, upper[v], 1);
            upper[v] = lane == 0 ? shared.before_i[k % 3][v][warp] : given;
        }
        const double* const jump = jumps + at + plane;
        flux = pointwise::flux_roe(setup.gas(), upper, lower, normal, setup.fix(*(jump - 1), *jump));
#endif
        if ((i == 0 || i == count[0]) && in_j) edge_take(2 * COLUMNS + (i ? ROWS : 0) + warp, k, i ? 1 : -1, flux);
#pragma unroll
        for (int v = 0; v < 5; v++) {
            const double right = __shfl_down_sync(0xffffffffu, flux[v], 1);
            sum[v] += (lane == 31 ? 0 : right) - flux[v];
        }
        barrier_wait(&shared.along[n % 2][warp + 1], n);
        barrier_wait(&shared.along[n % 2][ROWS + 1], n);
#pragma unroll
        for (int v = 0; v < 5; v++) {
            sum[v] += along_j[v * (ROWS + 1) * COLUMNS + COLUMNS];
            if (lane == 31) sum[v] += shared.end_of_i[k % 2][v][warp];
        }
        barrier_arrive(&shared.free[n % 2]);
        at += plane;
    }
}
