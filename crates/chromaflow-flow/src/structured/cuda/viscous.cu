// Sums of viscous fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block of 256 threads takes 32 x 8 cells along i and j and marches through planes along k. A face's flux is computed
// once, by the thread of the cell above it; the cells of the tile's upper rim get theirs from threads that work twice.
// Fluxes go to the cells below through shared memory, along k in registers.
typedef pointwise::Array<double, 4> Thermal;    // u, v, w, T
#if VISCOUS == 2
#define DIRECTIONS 3
#else
#define DIRECTIONS 1
#endif

// Brings a line of memory to the second-level cache.
__device__ __forceinline__ void prefetch(const double* at) { asm volatile("prefetch.global.L2 [%0];" ::"l"(at)); }

// Four planes of the tile with a rim of one cell: those that the fluxes of a plane need, and the next. Sums of the areas of
// the two faces of each cell along each axis, in one plane. What goes to neighbors of the fluxes.
#define RING 4
#define ROWS 8
#define HIGH (ROWS + 2)
#define WIDE (COLUMNS + 2)
#define APART (HIGH * WIDE)
#define RIM (2 * WIDE + 2 * ROWS)
struct ViscousTiles {
    double thermal[RING][4][HIGH][WIDE];
#if VISCOUS == 2
    double sums[9][HIGH][WIDE];
#endif
    double i[4][ROWS][COLUMNS + 1];
    double j[4][ROWS + 1][COLUMNS];
};
__device__ __forceinline__ Thermal thermal_at(const double* at) { return {at[0], at[APART], at[2 * APART], at[3 * APART]}; }
__device__ __forceinline__ Vec3 sum_at(const double* at, u32 axis) { return {at[3 * axis * APART], at[(3 * axis + 1) * APART], at[(3 * axis + 2) * APART]}; }

// One direction of a face's gradients: the changes across it, or those along another axis, which are the means of the two cells'.
struct Changes {
    pointwise::Array<Thermal, DIRECTIONS> change;
    pointwise::Array<Vec3, DIRECTIONS> area;
};
// Direction `d` of four places: beyond b and c, before b and c; the sums of the areas of b and of c.
__device__ __forceinline__ void add_along(Changes& changes, int d, const double* b_up, const double* c_up, const double* b_down, const double* c_down,
                                          const Vec3& sb, const Vec3& sc) {
    const Thermal t0 = thermal_at(b_up), t1 = thermal_at(c_up), t2 = thermal_at(b_down), t3 = thermal_at(c_down);
#pragma unroll
    for (int i = 0; i < 4; i++) changes.change[d][i] = (t0[i] + t1[i]) - (t2[i] + t3[i]);
#pragma unroll
    for (int i = 0; i < 3; i++) changes.area[d][i] = 0.0625 * (sb[i] + sc[i]);
}
__device__ __forceinline__ State viscous(const Setup& setup, Changes& changes, const Thermal& before, const Thermal& after, const Vec3& n, double volumes) {
    Thermal middle;
#pragma unroll
    for (int i = 0; i < 4; i++) middle[i] = 0.5 * (before[i] + after[i]), changes.change[0][i] = after[i] - before[i];
    changes.area[0] = n;
    return pointwise::flux_viscous_of_changes(setup.gas(), setup.transport(), middle, changes.change, changes.area, pointwise::quotient(2.0, volumes), n);
}

// r -= the sum of the viscous fluxes out of each cell, but for those through the boundary. Derivatives along the three index
// directions are turned into gradients by the areas over the mean volume. Dynamic shared memory: ViscousTiles.
extern "C" __global__ void __launch_bounds__(256, 2)
viscous_fluxes(u64 total, u32 planes, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ actives,
               const u32* __restrict__ side_ptr, const u32* __restrict__ face_of, const double* __restrict__ w, const double* __restrict__ area,
               const double* __restrict__ volume, const Setup* __restrict__ numbers, double* __restrict__ r) {
    extern __shared__ double memory[];
    ViscousTiles& shared = *reinterpret_cast<ViscousTiles*>(memory);
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 t = threadIdx.x, tx = t % COLUMNS, ty = t / COLUMNS, i = tile.i + tx, j = tile.j + ty;
    // Axes without derivatives count with no area.
    const u32 active = actives[tile.block];
    const bool in_i = i < tile.b.count[0], in_j = j < tile.b.count[1], own = in_i && in_j;
    const bool end_i = in_j && (i == 0 || i == tile.b.count[0]), end_j = in_i && (j == 0 || j == tile.b.count[1]);
    const u32 face_axis = t < COLUMNS ? 1 : 0, face_row = t < COLUMNS ? ROWS : t - COLUMNS, face_col = t < COLUMNS ? t : COLUMNS;
    const u32 face_i = tile.i + face_col, face_j = tile.j + face_row;
    const bool rim_face = t < COLUMNS + ROWS;
    const bool end_rim = face_axis ? face_j == tile.b.count[1] && face_i < tile.b.count[0] : face_i == tile.b.count[0] && face_j < tile.b.count[1];
    // The rim: two rows of WIDE cells, two columns of ROWS; for the last threads, as the first have more faces.
    const bool rim = t >= COLUMNS * ROWS - RIM;
    const u32 s = t - (COLUMNS * ROWS - RIM), beyond = s - 2 * WIDE;
    const u32 rim_row = s < 2 * WIDE ? (s < WIDE ? 0 : ROWS + 1) : 1 + beyond % ROWS;
    const u32 rim_col = s < 2 * WIDE ? s % WIDE : (beyond < ROWS ? 0 : COLUMNS + 1);
    const u32 plane = tile.b.stride[2], step_j = tile.b.stride[1], pitch = (u32)total;
    u32 at = tile.place(i, j, tile.first);
    u32 rim_at = rim ? tile.place(tile.i + rim_col - 1, tile.j + rim_row - 1, tile.first) : at;
    u32 face_at = rim_face ? tile.place(face_i, face_j, tile.first) : at;
    const u32 mine = (ty + 1) * WIDE + tx + 1, rims = (rim_row % HIGH) * WIDE + rim_col % WIDE;
    auto vector = [&](u32 axis, u32 place) { return vector_of(area, pitch, place + 3 * axis * pitch); };
    auto ring = [&](u32 k) { return &shared.thermal[(k + RING) % RING][0][0][0]; };
    auto load = [&](u32 place) { return pointwise::velocity_and_temperature(gas, state_of(w, pitch, place)); };
    auto put = [&](double* to, const Thermal& value) {
#pragma unroll
        for (int c = 0; c < 4; c++) to[c * APART] = value[c];
    };
    for (int k = -1; k <= 1; k++) {
        put(ring(tile.first + (u32)k) + mine, load(at + (u32)k * plane));
        if (rim) put(ring(tile.first + (u32)k) + rims, load(rim_at + (u32)k * plane));
    }
#if VISCOUS == 2
    auto add = [](const Vec3& a, const Vec3& b, bool counts) {
        return counts ? Vec3{a[0] + b[0], a[1] + b[1], a[2] + b[2]} : Vec3{0, 0, 0};
    };
    auto sum_of = [&](u32 axis, u32 place, u32 step) { return add(vector(axis, place), vector(axis, place + step), active >> axis & 1); };
    auto put_sum = [&](u32 axis, u32 place, const Vec3& sum) {
#pragma unroll
        for (int c = 0; c < 3; c++) (&shared.sums[0][0][0])[(3 * axis + c) * APART + place] = sum[c];
    };
    const double* const sums = &shared.sums[0][0][0];
    Vec3 sum_i = sum_of(0, at, 1), sum_j = sum_of(1, at, step_j);
#endif
    // The face along k above plane k (or below the first): both cells are this column's.
    Vec3 low_k = vector(2, at), high_k = vector(2, at + plane);
    double vol = volume[at];
    auto along_k = [&](u32 k, const Vec3& n, double volumes, const Vec3& bi, const Vec3& ci, const Vec3& bj, const Vec3& cj) {   // between k and k + 1
        const double *b = ring(k) + mine, *c = ring(k + 1) + mine;
        Changes changes;
#if VISCOUS == 2
        add_along(changes, 1, b + 1, c + 1, b - 1, c - 1, bi, ci);
        add_along(changes, 2, b + WIDE, c + WIDE, b - WIDE, c - WIDE, bj, cj);
#endif
        return viscous(setup, changes, thermal_at(b), thermal_at(c), n, volumes);
    };
    auto closed = [&](u32 axis, u32 high, const u32* cell) { return sides.face(tile.block, tile.b.count, axis, high, cell) != NONE; };
    __syncthreads();
    State below;
    {
        const double vol_low = volume[at - plane];
#if VISCOUS == 2
        below = along_k(tile.first - 1, low_k, vol_low + vol, sum_of(0, at - plane, 1), sum_i, sum_of(1, at - plane, step_j), sum_j);
#else
        below = along_k(tile.first - 1, low_k, vol_low + vol, {}, {}, {}, {});
#endif
        const u32 cell[3] = {i, j, 0};
        if (tile.first == 0 && own && closed(2, 0, cell)) below = {0, 0, 0, 0, 0};
    }
#pragma unroll 1
    for (u32 k = tile.first; k < tile.end; k++) {
        // On their way: the state two planes above; to the second-level cache what the next plane takes.
        const bool more = k + 1 < tile.end;
        State next, rim_next;
        if (more) {
            next = state_of(w, pitch, at + 2 * plane);
            if (rim) rim_next = state_of(w, pitch, rim_at + 2 * plane);
        }
        if (k + 2 < tile.end) {
#pragma unroll
            for (int c = 0; c < 5; c++) prefetch(w + (at + 3 * plane + c * pitch));
#pragma unroll
            for (int c = 0; c < 9; c++) prefetch(area + (at + (c < 6 ? 2 : 3) * plane + c * pitch));
            prefetch(volume + at + 2 * plane);
#pragma unroll
            for (int c = 1; c < 5; c++) prefetch(r + (at + plane + c * pitch));
        }
        const Vec3 higher_k = vector(2, at + 2 * plane);
        const double vol_high = volume[at + plane];
#if VISCOUS == 2
        put_sum(0, mine, sum_i), put_sum(1, mine, sum_j), put_sum(2, mine, add(low_k, high_k, active >> 2 & 1));
        if (more && rim) {
#pragma unroll
            for (int c = 0; c < 6; c++) prefetch(area + (rim_at + plane + c * pitch));
#pragma unroll
            for (int c = 6; c < 9; c++) prefetch(area + (rim_at + 2 * plane + c * pitch));
        }
        if (rim) put_sum(0, rims, sum_of(0, rim_at, 1)), put_sum(1, rims, sum_of(1, rim_at, step_j)), put_sum(2, rims, sum_of(2, rim_at, plane));
        __syncthreads();
#endif
        const double *p = ring(k), *up = ring(k + 1), *down = ring(k - 1);
        const u32 cell[3] = {i, j, k};
        // The lower face along an axis of the cell at `c` of the tile; b is the cell before it.
        auto across = [&](u32 axis, u32 c, u32 back, u32 side, const Vec3& n, double volumes) {
            const u32 b = c - back;
            Changes changes;
#if VISCOUS == 2
            const u32 other = 1 - axis;
            add_along(changes, 1, p + b + side, p + c + side, p + b - side, p + c - side, sum_at(sums + b, other), sum_at(sums + c, other));
            add_along(changes, 2, up + b, up + c, down + b, down + c, sum_at(sums + b, 2), sum_at(sums + c, 2));
#endif
            return viscous(setup, changes, thermal_at(p + b), thermal_at(p + c), n, volumes);
        };
        State flux = across(0, mine, 1, WIDE, vector(0, at), volume[at - 1] + vol);
        if (end_i && closed(0, i != 0, cell)) flux = {0, 0, 0, 0, 0};
        double sum[4];
#pragma unroll
        for (int v = 0; v < 4; v++) shared.i[v][ty][tx] = flux[v + 1], sum[v] = -flux[v + 1];
        flux = across(1, mine, WIDE, 1, vector(1, at), volume[at - step_j] + vol);
        if (end_j && closed(1, j != 0, cell)) flux = {0, 0, 0, 0, 0};
#pragma unroll
        for (int v = 0; v < 4; v++) shared.j[v][ty][tx] = flux[v + 1], sum[v] -= flux[v + 1];
        if (rim_face) {
            const u32 c = (face_row + 1) * WIDE + face_col + 1;
            const u32 back = face_axis ? step_j : 1;
            flux = across(face_axis, c, face_axis ? WIDE : 1, face_axis ? 1 : WIDE, vector(face_axis, face_at),
                          volume[face_at - back] + volume[face_at]);
            const u32 there[3] = {face_i, face_j, k};
            if (end_rim && closed(face_axis, 1, there)) flux = {0, 0, 0, 0, 0};
#pragma unroll
            for (int v = 0; v < 4; v++) {
                if (face_axis) shared.j[v][ROWS][face_col] = flux[v + 1];
                else shared.i[v][face_row][COLUMNS] = flux[v + 1];
            }
        }
#if VISCOUS == 2
        const Vec3 next_i = sum_of(0, at + plane, 1), next_j = sum_of(1, at + plane, step_j);
        flux = along_k(k, high_k, vol + vol_high, sum_i, next_i, sum_j, next_j);
        sum_i = next_i, sum_j = next_j;
#else
        flux = along_k(k, high_k, vol + vol_high, {}, {}, {}, {});
#endif
        const u32 above[3] = {i, j, k + 1};
        if (own && k + 1 == tile.b.count[2] && closed(2, 1, above)) flux = {0, 0, 0, 0, 0};
#pragma unroll
        for (int v = 0; v < 4; v++) sum[v] += flux[v + 1] - below[v + 1], below[v + 1] = flux[v + 1];
        low_k = high_k, high_k = higher_k, vol = vol_high;
        double inviscid[4];
        if (own) {
#pragma unroll
            for (int v = 0; v < 4; v++) inviscid[v] = r[at + (v + 1) * pitch];
        }
        __syncthreads();
        if (own) {
#pragma unroll
            for (int v = 0; v < 4; v++) r[at + (v + 1) * pitch] = inviscid[v] - (sum[v] + (shared.i[v][ty][tx + 1] + shared.j[v][ty + 1][tx]));
        }
        if (more) {
            put(ring(k + 2) + mine, pointwise::velocity_and_temperature(gas, next));
            if (rim) put(ring(k + 2) + rims, pointwise::velocity_and_temperature(gas, rim_next));
        }
#if VISCOUS == 1
        __syncthreads();
#endif
        at += plane, rim_at += plane, face_at += plane;
    }
}
