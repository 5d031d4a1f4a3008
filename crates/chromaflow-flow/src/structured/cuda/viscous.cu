// Sums of viscous fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block takes 32 x ROWS cells along i and j and marches through at most 64 planes along k, a thread a cell. A warp has a row of
// cells; others have the cells around the tile, each with its share in one flux. All derivatives along k are the thread's own;
// neighbors along i and j are in shared memory, where the next plane's numbers arrive by asynchronous copies meanwhile.
//
// The flux through a face is that of the change across it, and half of what each of its two cells has of the changes along the
// other two axes. So a cell makes three such halves of its central differences, whichever faces take them. Cell c of a row has
//   flux(c + 1) - flux(c) = [across(c + 1) + half(c + 1)] - across(c) - half(c - 1)
// and takes the bracket (`up`) from the cell above and `down` from the cell below: along i by shuffles, along j from shared memory,
// a plane later, so that one barrier a plane does. Where the boundary has its own flux, half(c - 1) or the bracket is -half(c) and
// across(c) is 0.
typedef pointwise::Array<double, 4> Thermal;    // u, v, w, T

#define HIGH (ROWS + 3)
#define WIDE (COLUMNS + 3)
#define PLACES (HIGH * WIDE)
#define RIM_WARPS (2 + (2 * ROWS + 4 + 31) / 32)
#define THREADS (32 * (ROWS + RIM_WARPS))
// All by the place of a cell in the tile: a row and a column before, two beyond.
struct ViscousMemory {
    double cells[2][6][PLACES];     // u, v, w, T, viscosity, volume of this plane and the other
    double areas[2][6][PLACES];     // of the lower faces along i and j
    double coming[9][PLACES];       // of the next plane: state, area along k, volume
    double up[2][4][PLACES];        // of this plane and the one before
    double down[2][4][PLACES];
    u64 shut[4][PLACES];            // a bit a plane where the boundary has its own flux: lower and upper end along i, along j
};
enum { CELLS = 0, AREAS = 12 * PLACES, COMING = 24 * PLACES, UP = 33 * PLACES, DOWN = 41 * PLACES };

__device__ __forceinline__ Thermal thermal_at(const double* at) { return {at[0], at[PLACES], at[2 * PLACES], at[3 * PLACES]}; }
__device__ __forceinline__ Vec3 area_in(const double* at) { return {at[0], at[PLACES], at[2 * PLACES]}; }
__device__ __forceinline__ Thermal operator-(const Thermal& a, const Thermal& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}; }
__device__ __forceinline__ Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

// r -= the sum of the viscous fluxes out of each cell, but for those through the boundary. Dynamic shared memory: ViscousMemory.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
viscous_fluxes(u64 total, u32 planes, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ actives,
               const u32* __restrict__ side_ptr, const u32* __restrict__ face_of, const double* __restrict__ w, const double* __restrict__ area,
               const double* __restrict__ volume, const Setup* __restrict__ numbers, double* __restrict__ r) {
    extern __shared__ double memory[];
    ViscousMemory& shared = *reinterpret_cast<ViscousMemory*>(memory);
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const pointwise::Transport<double> transport = setup.transport();
    const double ratio = pointwise::conductivity_by_mu(gas, transport);

    // The thread's cell: of the tile; of the row below or above it; of the columns beside it, then the corners. Idle threads
    // stand where there is none, so that they read nothing that others write.
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const bool of_tile = warp < ROWS, of_row = warp == ROWS || warp == ROWS + 1;
    const u32 s = threadIdx.x - 32 * (ROWS + 2), c = s - 2 * ROWS;
    const bool of_column = !of_tile && !of_row && s < 2 * ROWS, idle = !of_tile && !of_row && s >= 2 * ROWS + 4;
    const bool upper = of_row ? warp == ROWS + 1 : of_column && s >= ROWS;
    const u32 row = of_tile ? warp + 1 : of_row ? upper * (ROWS + 1) : of_column ? 1 + s % ROWS : idle ? 0 : (c & 1) * (ROWS + 1);
    const u32 col = of_tile || of_row ? lane + 1 : of_column ? upper * (COLUMNS + 1) : idle ? COLUMNS + 2 : (c >> 1 & 1) * (COLUMNS + 1);
    const u32 i = tile.i + col - 1, j = tile.j + row - 1;
    const bool inside = of_tile && i < tile.b.count[0] && j < tile.b.count[1];
    double* const mine = memory + row * WIDE + col;
    const u32 plane = tile.b.stride[2], pitch = (u32)total;
    u32 at = tile.place(i, j, tile.first - 1);
    // Along axes without derivatives nothing changes.
    const u32 active = actives[tile.block];
    const int beside = active & 1, beyond = active & 2 ? WIDE : 0;

    const u32 slot = (u32)__cvta_generic_to_shared(mine);
    auto ask_coming = [&](u32 place) {
        if (idle) return;
        const double* from = w + place;
        copy_async<COMING>(slot, from), copy_async<COMING + PLACES>(slot, from += pitch), copy_async<COMING + 2 * PLACES>(slot, from += pitch);
        copy_async<COMING + 3 * PLACES>(slot, from += pitch), copy_async<COMING + 4 * PLACES>(slot, from += pitch);
        from = area + (place + 6 * pitch);
        copy_async<COMING + 5 * PLACES>(slot, from), copy_async<COMING + 6 * PLACES>(slot, from += pitch), copy_async<COMING + 7 * PLACES>(slot, from += pitch);
        copy_async<COMING + 8 * PLACES>(slot, volume + place);
    };
    auto ask_areas = [&](u32 place, u32 odd) {
        if (idle) return;
        const u32 to = slot + odd * (6 * PLACES * 8);
        const double* from = area + place;
        copy_async<AREAS>(to, from), copy_async<AREAS + PLACES>(to, from += pitch), copy_async<AREAS + 2 * PLACES>(to, from += pitch);
        copy_async<AREAS + 3 * PLACES>(to, from += pitch), copy_async<AREAS + 4 * PLACES>(to, from += pitch), copy_async<AREAS + 5 * PLACES>(to, from += pitch);
        if (upper) {
            // The next face, for the sum.
            const u32 there = to + 8 * (of_row ? 3 * PLACES + WIDE : 1);
            from = area + (place + (of_row ? tile.b.stride[1] + 3 * pitch : 1));
            copy_async<AREAS>(there, from), copy_async<AREAS + PLACES>(there, from += pitch), copy_async<AREAS + 2 * PLACES>(there, from += pitch);
        }
    };
    auto put_cell = [&](const State& state, double cell_volume, u32 odd) {
        const Thermal t = pointwise::velocity_and_temperature(gas, state);
        double* const to = mine + odd * (6 * PLACES);
        if (!idle) {
#pragma unroll
            for (int v = 0; v < 4; v++) to[v * PLACES] = t[v];
            to[4 * PLACES] = transport.scale * pointwise::viscosity(transport, t[3]), to[5 * PLACES] = cell_volume;
        }
        return t;
    };

    // In front of the first plane, which needs of the one before no more than its change and its share along k.
    u32 odd = 0;
    ask_areas(at, odd), ask_coming(at + plane);
    copy_commit();
    u64* const shut = &shared.shut[0][0] + row * WIDE + col;
    bool ends[2] = {false, false};
#pragma unroll
    for (u32 end = 0; end < 4; end++) {
        const u32 axis = end / 2, high = end % 2, at_end = high ? tile.b.count[axis] - 1 : 0;
        u64 bits = 0;
        if (inside && (axis == 0 ? i : j) == at_end) {
#pragma unroll 8
            for (u32 n = 0; n < tile.end - tile.first; n++) {
                const u32 cell[3] = {i, j, tile.first + n};
                bits |= (u64)(sides.face(tile.block, tile.b.count, axis, high, cell) != NONE) << n;
            }
        }
        if (of_tile) shut[end * PLACES] = bits;
        if (__any_sync(0xffffffffu, bits != 0)) ends[axis] = true;
    }
    auto is_shut = [&](u32 end, u32 n) { return shut[end * PLACES] >> (n & 63) & 1; };
    const u32 cell[3] = {i, j, 0};
    const bool bottom = inside && tile.first == 0 && sides.face(tile.block, tile.b.count, 2, 0, cell) != NONE;
    const bool top = inside && tile.end == tile.b.count[2] && sides.face(tile.block, tile.b.count, 2, 1, cell) != NONE;
    const State before_first = state_of(w, pitch, at);
    put_cell(before_first, volume[at], odd), put_cell(before_first, volume[at], odd ^ 1);
    Vec3 area_k = vector_of(area, pitch, at + 6 * pitch);
    // Of a cell: what it has of its sum so far. Through the face above it: all but the next cell's half.
    double pending[4] = {0, 0, 0, 0}, above_k[4] = {0, 0, 0, 0}, residual[4] = {0, 0, 0, 0};
    const u32 last = tile.end - tile.first + 1;
    copy_wait<0>();
    __syncthreads();
#pragma unroll 1
    for (u32 n = 0;; n++, odd ^= 1, at += plane) {      // plane tile.first - 1 + n
        const u32 other = odd ^ 1;
        const double* const own = mine + odd * (6 * PLACES);
        const double* const next = mine + other * (6 * PLACES);
        if (n < last) ask_areas(at + plane, other);
        if (of_tile) {
            // The plane before takes what its cells have left for each other.
            const double *up = mine + (UP + 4 * PLACES * other), *down = mine + (DOWN + 4 * PLACES * other);
            double above[4], under[4], rim[4] = {0, 0, 0, 0};
#pragma unroll
            for (int v = 0; v < 4; v++) above[v] = up[v * PLACES + WIDE], under[v] = down[v * PLACES - WIDE];
            if (lane == 0 && !(ends[0] && is_shut(0, n - 2))) {
#pragma unroll
                for (int v = 0; v < 4; v++) rim[v] = -down[v * PLACES - 1];
            }
            if (lane == COLUMNS - 1 && !(ends[0] && is_shut(1, n - 2))) {
#pragma unroll
                for (int v = 0; v < 4; v++) rim[v] = up[v * PLACES + 1];
            }
            if (ends[1]) {
                const bool first = is_shut(2, n - 2), final = is_shut(3, n - 2);
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    if (first) under[v] = 0;    // taken already
                    if (final) above[v] = -down[v * PLACES];
                }
            }
#pragma unroll
            for (int v = 0; v < 4; v++) residual[v] -= pending[v] + ((above[v] - under[v]) + rim[v]);
        }
        const Thermal now = thermal_at(own);
        Thermal change_k;
        Vec3 sum_k;
        {
            const double* const from = mine + COMING;
            const Thermal old = thermal_at(next);
            const State state = {from[0], from[PLACES], from[2 * PLACES], from[3 * PLACES], from[4 * PLACES]};
            const Vec3 low_k = area_k;
            area_k = area_in(from + 5 * PLACES);
            const Thermal after = put_cell(state, from[8 * PLACES], other);
            if (n < last) ask_coming(at + 2 * plane);
            copy_commit();
            sum_k = low_k + area_k, change_k = active & 4 ? after - old : Thermal{0, 0, 0, 0};
        }
        // The change across the face between this cell and another.
        auto across = [&](const double* cell, const Thermal& before, const Thermal& after, const Vec3& n) {
            const double mu = pointwise::quotient(cell[4 * PLACES] + own[4 * PLACES], cell[5 * PLACES] + own[5 * PLACES]);
            return pointwise::flux_viscous_across(ratio, mu, before, after, n);
        };
        if (of_tile) {
            const Thermal flux = across(next, now, thermal_at(next), area_k);
            const bool first = bottom && n == 1, final = top && n == last;
#pragma unroll
            for (int v = 0; v < 4; v++) {
                if (final) residual[v] += above_k[v];
                pending[v] = flux[v] - (first ? 0 : above_k[v]), above_k[v] = flux[v];
            }
        }
        // Changes over two cells and sums of two areas are each twice what they stand for; half of the flux.
        const double scale = own[4 * PLACES] * pointwise::quotient(0.0625, own[5 * PLACES]);
        auto along = [&](const Thermal& a, const Thermal& b, const Vec3& sum_a, const Vec3& sum_b, const Vec3& sum) -> Thermal {
#if VISCOUS == 2
            return pointwise::flux_viscous_along<double>(ratio, scale, now, {a, b}, {sum_a, sum_b}, sum);
#else
            return {0, 0, 0, 0};
#endif
        };
        const double* const areas = mine + (AREAS + 6 * PLACES * odd);
        const Vec3 n_i = area_in(areas), n_j = area_in(areas + 3 * PLACES);
        const Vec3 sum_i = n_i + area_in(areas + 1), sum_j = n_j + area_in(areas + 3 * PLACES + WIDE);
        double* const up = mine + (UP + 4 * PLACES * odd);
        double* const down = mine + (DOWN + 4 * PLACES * odd);
        if (of_tile) {
            const Thermal change_i = thermal_at(own + beside) - thermal_at(own - beside), change_j = thermal_at(own + beyond) - thermal_at(own - beyond);
            {
                const Thermal half = along(change_i, change_j, sum_i, sum_j, sum_k);
                const bool first = bottom && n == 1, final = top && n == last;
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    if (n > 1 && inside) r[at - plane + (v + 1) * pitch] = final ? residual[v] : residual[v] - half[v];
                    if (first) pending[v] += half[v];
                    above_k[v] += half[v];
                }
            }
            if (n == last) break;
            {
                const Thermal flux = across(own - 1, thermal_at(own - 1), now, n_i), half = along(change_j, change_k, sum_j, sum_k, sum_i);
                auto add = [&](bool first, bool final) {
#pragma unroll
                    for (int v = 0; v < 4; v++) {
                        const double above = __shfl_down_sync(0xffffffffu, flux[v] + half[v], 1), under = __shfl_up_sync(0xffffffffu, half[v], 1);
                        pending[v] += final ? -half[v] : lane == COLUMNS - 1 ? 0 : above;
                        pending[v] += first ? half[v] : (lane == 0 ? 0 : -under) - flux[v];
                    }
                };
                if (ends[0]) add(is_shut(0, n - 1), is_shut(1, n - 1));
                else add(false, false);
            }
            {
                const Thermal flux = across(own - WIDE, thermal_at(own - WIDE), now, n_j), half = along(change_i, change_k, sum_i, sum_k, sum_j);
                const bool first = ends[1] && is_shut(2, n - 1);
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    up[v * PLACES] = flux[v] + half[v], down[v * PLACES] = half[v];
                    pending[v] += first ? half[v] : -flux[v];
                }
            }
            // On its way during the barrier; the compiler would ask where it takes it.
            if (n > 0 && inside) {
#pragma unroll
                for (int v = 0; v < 4; v++) asm volatile("ld.global.f64 %0, [%1];" : "=d"(residual[v]) : "l"(r + (at + (v + 1) * pitch)));
            }
        } else {
            if (n == last) break;
            // Along the axis that leaves the tile.
            auto leave = [&](int back, const Thermal& half, const Vec3& n) {
                if (upper) {
                    const Thermal flux = across(own - back, thermal_at(own - back), now, n);
#pragma unroll
                    for (int v = 0; v < 4; v++) up[v * PLACES] = flux[v] + half[v];
                } else {
#pragma unroll
                    for (int v = 0; v < 4; v++) down[v * PLACES] = half[v];
                }
            };
            if (of_row) leave(WIDE, along(thermal_at(own + beside) - thermal_at(own - beside), change_k, sum_i, sum_k, sum_j), n_j);
            else if (of_column) leave(1, along(thermal_at(own + beyond) - thermal_at(own - beyond), change_k, sum_j, sum_k, sum_i), n_i);
        }
        copy_wait<0>();
        __syncthreads();
    }
}
