// Sums of viscous fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block takes 32 x ROWS cells along i and j and marches through at most 64 planes along k, a thread a cell. A
// warp has a row of cells; others have the cells around the tile, each with its share in one flux, the first of which
// asks for the next plane's numbers. All derivatives along k are the thread's own; neighbors along i and j are in
// shared memory.
//
// The flux through a face is that of the change across it, and half of what each of its two cells has of the changes
// along the other two axes. So a cell makes three such halves of its central differences, whichever faces take them.
// Cell c of a row has
//   flux(c + 1) - flux(c) = [across(c + 1) + half(c + 1)] - across(c) - half(c - 1)
// and takes the bracket (`up`) from the cell above and `down` from the cell below: along i by shuffles, along j from
// shared memory, a plane later, so that one barrier a plane does. Where a face is shut, since the boundary has its own
// flux there or it has no area, half(c - 1) or the bracket is -half(c) and across(c) is 0.
//
// What of a plane needs no other thread is done between arriving at that barrier (`done`) and waiting for it.
typedef pointwise::Array<double, 4> Thermal;    // u, v, w, T

#define WIDE (COLUMNS + 2 * BEFORE)
#define PLACES ((ROWS + 2) * WIDE)
#define PLACES_J ((ROWS + 3) * WIDE)
#define RIM_WARPS (2 + (2 * ROWS + 4 + 31) / 32)
#define WARPS (ROWS + RIM_WARPS)
#define THREADS (32 * WARPS)
// Places of what cells leave for their neighbors: a column around the tile.
#define LEFT_WIDE (COLUMNS + 2)
#define LEFT ((ROWS + 2) * LEFT_WIDE)
// Boxes begin at multiples of 128 bytes.
#define PADDED(n) ((n) + 15 & ~15)
// Planes whose areas are at hand or on their way; of states one more.
#define TURNS 2
#define STAGES 3
// Under a turbulence model (TURBULENT) eddy viscosities follow the states of a plane; conductivity over viscosity takes
// their place.
#define HEAT PADDED(5 * PLACES)
#define SLOT (HEAT + (TURBULENT ? PADDED(PLACES) : 0))
// Shared memory, in numbers: T, u, v, w and viscosity (first the state) of three planes, their volumes; lower faces
// along i, along j and along k of two; what cells left in two; a bit a plane for shut faces at the ends of i and of j,
// low and high; barriers for two planes whose numbers came, and that all threads are done with.
enum {
    STATE = 0,
    VOLUME = STATE + STAGES * SLOT,
    FACE_I = VOLUME + STAGES * PADDED(PLACES),
    FACE_J = FACE_I + TURNS * PADDED(3 * PLACES),
    FACE_K = FACE_J + TURNS * PADDED(3 * PLACES_J),
    UP = FACE_K + TURNS * PADDED(3 * PLACES),
    DOWN = UP + 8 * LEFT,
    SHUT_I = DOWN + 8 * LEFT,
    SHUT_J = SHUT_I + 2 * ROWS,
    FULL = SHUT_J + 2 * COLUMNS,
    DONE = FULL + 2,
    ENTRIES = DONE + 2
};

static_assert(8 * ENTRIES == SHARED, "as the launch has it");

__device__ __forceinline__ Thermal thermal_at(const double* at) {
    return {at[PLACES], at[2 * PLACES], at[3 * PLACES], at[0]};
}
__device__ __forceinline__ Vec3 area_in(const double* at, int apart) { return {at[0], at[apart], at[2 * apart]}; }
__device__ __forceinline__ Thermal operator-(const Thermal& a, const Thermal& b) {
    return {a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]};
}
__device__ __forceinline__ Vec3 operator+(const Vec3& a, const Vec3& b) {
    return {a[0] + b[0], a[1] + b[1], a[2] + b[2]};
}
// Read again rather than kept in registers, of which there are too few.
__device__ __forceinline__ double again(const double* at) { return *(const volatile double*)at; }
__device__ __forceinline__ Thermal thermal_again(const double* at) {
    return {again(at + PLACES), again(at + 2 * PLACES), again(at + 3 * PLACES), again(at)};
}
__device__ __forceinline__ Vec3 area_again(const double* at, int apart) {
    return {again(at), again(at + apart), again(at + 2 * apart)};
}
__device__ __forceinline__ bool is_zero(const Vec3& n) { return n[0] == 0 && n[1] == 0 && n[2] == 0; }

// to += what the lane above or below has, where there is one and `wanted`.
__device__ __forceinline__ void add_from_above(double& to, double value, bool wanted) {
    asm volatile(
        "{\n.reg .pred here, want;\n.reg .b32 low, high;\n.reg .f64 other;\nsetp.ne.u32 want, %2, 0;\nmov.b64 {low, "
        "high}, %1;\n"
        "shfl.sync.down.b32 low, low, 1, 31, -1;\nshfl.sync.down.b32 high|here, high, 1, 31, -1;\nand.pred here, here, "
        "want;\n"
        "mov.b64 other, {low, high};\n@here add.f64 %0, %0, other;\n}"
        : "+d"(to)
        : "d"(value), "r"((u32)wanted));
}
__device__ __forceinline__ void add_from_below(double& to, double value, bool wanted) {
    asm volatile(
        "{\n.reg .pred here, want;\n.reg .b32 low, high;\n.reg .f64 other;\nsetp.ne.u32 want, %2, 0;\nmov.b64 {low, "
        "high}, %1;\n"
        "shfl.sync.up.b32 low, low, 1, 0, -1;\nshfl.sync.up.b32 high|here, high, 1, 0, -1;\nand.pred here, here, "
        "want;\n"
        "mov.b64 other, {low, high};\n@here add.f64 %0, %0, other;\n}"
        : "+d"(to)
        : "d"(value), "r"((u32)wanted));
}

// r -= the sum of the viscous fluxes out of each cell, but for those through the boundary. `maps`: of each block those
// of boxes of w, of areas in ROWS + 2 and in ROWS + 3 rows, of volumes. Dynamic shared memory: as above.
extern "C" __global__ void __launch_bounds__(THREADS, 1) viscous_fluxes(ViscousFluxes) {
    extern __shared__ __align__(128) double memory[];
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const pointwise::Gas<double> gas = {gamma};
    const pointwise::Transport<double> transport = {
        viscosity, prandtl, sutherland_law ? pointwise::ViscosityLaw::Sutherland : pointwise::ViscosityLaw::Constant,
        sutherland};
    const double ratio = pointwise::conductivity_by_mu(gas, transport);
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 plane = tile.b.stride[2], pitch = (u32)total;
    // Along axes without derivatives nothing changes.
    const u32 active = actives[tile.block];
    // Planes of the march: those of the tile with one before and one beyond.
    const u32 last = tile.end - tile.first + 1;

    // What plane n needs: the states and volumes of the next one, and at first its own; areas. A warp of the rim asks
    // for it, or all threads copy.
    u64 *const full = (u64*)(memory + FULL), *const done = (u64*)(memory + DONE);
    auto fetch = [&](u32 n) {
        const TensorMap* const map = maps + (4 + TURBULENT) * tile.block;
        const u32 x = tile.i + 2 - BEFORE, y = tile.j + 1, z = tile.first + 1 + n, turn = n % TURNS;
        auto states = [&](u32 z, u32 slot) {
            copy_box<5, ROWS + 2, WIDE, COPIERS>(memory + (STATE + slot * SLOT), map, w, tile.b, pitch, 0,
                                                 x, y, z, full + turn);
            copy_box<1, ROWS + 2, WIDE, COPIERS>(memory + (VOLUME + slot * PADDED(PLACES)), map + 3, volume, tile.b,
                                                 pitch, 0, x, y, z, full + turn);
#if TURBULENT
            copy_box<1, ROWS + 2, WIDE, COPIERS>(memory + (STATE + slot * SLOT + HEAT), map + 4, eddies, tile.b, pitch,
                                                 0, x, y, z, full + turn);
#endif
        };
        fence_tensor_copies();
        if (warp == ROWS)
            barrier_expect(full + turn,
                           8 * ((12 + TURBULENT) * PLACES + 3 * PLACES_J + (n ? 0 : (6 + TURBULENT) * PLACES)));
        if (n == 0) states(z, 0);
        states(z + 1, (n + 1) % STAGES);
        copy_box<3, ROWS + 2, WIDE, COPIERS>(memory + (FACE_K + turn * PADDED(3 * PLACES)), map + 1, area, tile.b,
                                             pitch, 6, x, y, z + 1, full + turn);
        copy_box<3, ROWS + 2, WIDE, COPIERS>(memory + (FACE_I + turn * PADDED(3 * PLACES)), map + 1, area, tile.b,
                                             pitch, 0, x, y, z, full + turn);
        copy_box<3, ROWS + 3, WIDE, COPIERS>(memory + (FACE_J + turn * PADDED(3 * PLACES_J)), map + 2, area, tile.b,
                                             pitch, 3, x, y, z, full + turn);
        arrive_after_copies(full + turn);
    };
    if (warp == ROWS) {
        // Copies of each thread, and of boxes; all threads.
        if (lane == 0) {
            for (int n = 0; n < 2; n++) barrier_init(full + n, COPIERS + 1), barrier_init(done + n, THREADS);
            barriers_ready();
        }
        __syncwarp();
        if (COPIERS == 32) fetch(0);
    }
    __syncthreads();
    if (COPIERS == THREADS) fetch(0);
    // Temperature and viscosity take the place of density and pressure.
    auto put_cell = [&](double* at, double& mu) {
        const State state = {at[0], at[PLACES], at[2 * PLACES], at[3 * PLACES], at[4 * PLACES]};
        const Thermal t = pointwise::velocity_and_temperature(gas, state);
        mu = transport.scale * pointwise::viscosity(transport, t[3]);
#if TURBULENT
        const double heat = ratio * mu + eddy_ratio * at[HEAT];
        mu += at[HEAT], at[HEAT] = pointwise::quotient(heat, mu);
#endif
        at[0] = t[3], at[4 * PLACES] = mu;
        return t;
    };
    // Conductivity over viscosity of a cell, and of two.
    auto ratio_at = [&](const double* at) { return TURBULENT ? again(at + HEAT) : ratio; };
    auto ratio_of = [&](const double* a, const double* b) {
        if (!TURBULENT) return ratio;
        const double mu_a = again(a + 4 * PLACES), mu_b = again(b + 4 * PLACES);
        return pointwise::quotient(again(a + HEAT) * mu_a + again(b + HEAT) * mu_b, mu_a + mu_b);
    };
    // The change across the face between two cells of these sums of viscosities and of volumes.
    auto across = [&](double heat, double mu, double size, const Thermal& before, const Thermal& after, const Vec3& n) {
        return pointwise::flux_viscous_across(heat, pointwise::quotient(mu, size), before, after, n);
    };
    u32 here = 0;       // where the plane's states are: n modulo STAGES

    if (warp < ROWS) {
        const u32 i = tile.i + lane, j = tile.j + warp, *const count = tile.b.count;
        const bool inside = i < count[0] && j < count[1];
        double* const mine = memory + (warp + 1) * WIDE + lane + BEFORE;
        double* const left = memory + (warp + 1) * LEFT_WIDE + lane + 1;
        u64* const shut_i = (u64*)(memory + SHUT_I) + warp;
        u64* const shut_j = (u64*)(memory + SHUT_J) + lane;
        bool any_shut = PINCHED;
#pragma unroll
        for (u32 high = 0; high < 2; high++) {
            u64 bits = 0;
            if (j < count[1] && (high ? tile.i + COLUMNS >= count[0] : tile.i == 0)) {
                const u32* const from = face_of + (side_ptr[6 * tile.block + high] + j + count[1] * tile.first);
#pragma unroll
                for (u32 n = 0; n < 64; n += 32)
                    bits |= (u64)__ballot_sync(0xffffffffu, n + lane < last - 1 && from[(n + lane) * count[1]] != NONE)
                            << n;
            }
            if (lane == 0) shut_i[high * ROWS] = bits;
            any_shut |= bits != 0;
            if (j == (high ? count[1] - 1 : 0)) {
                bits = 0;
                const u32* const from = face_of + (side_ptr[6 * tile.block + 2 + high] + tile.first + count[2] * i);
#pragma unroll 16
                for (u32 n = 0; n < last - 1; n++) bits |= (u64)(inside && from[n] != NONE) << n;
                shut_j[high * COLUMNS] = bits;
                any_shut |= __any_sync(0xffffffffu, bits != 0) != 0;
            }
        }
        const u32 cell[3] = {i, j, 0};
        const bool bottom = inside && tile.first == 0 && sides.face(tile.block, count, 2, 0, cell) != NONE;
        const bool top = inside && tile.end == count[2] && sides.face(tile.block, count, 2, 1, cell) != NONE;
        const bool ends[4] = {i == 0, i == count[0] - 1, j == 0, j == count[1] - 1};
        u32 at = tile.place(i, j, tile.first - 1);
        Vec3 area_k = vector_of(area, pitch, at + 6 * pitch);
        // Of a cell: what it has of its sum so far. Through the face above it: all but the next cell's half.
        double pending[4] = {0, 0, 0, 0}, above_k[4] = {0, 0, 0, 0};
        u32 shut = 0;       // faces of the plane before: lower and upper along i, along j
        barrier_wait(full, 0);
        double mu;
        Thermal old = put_cell(mine + STATE, mu);
        barrier_arrive(done);
#pragma unroll 1
        for (u32 n = 0;; n++, at += plane) {      // plane tile.first - 1 + n
            const u32 turn = n % TURNS, next = here + 1 == STAGES ? 0 : here + 1;
            barrier_wait(full + turn, n);
            const double* const own = mine + (STATE + here * SLOT);
            const double* const size = mine + (VOLUME + here * PADDED(PLACES));
            const Thermal now = thermal_at(own);
            const Vec3 low_k = area_k;
            area_k = area_in(mine + (FACE_K + turn * PADDED(3 * PLACES)), PLACES);
            const bool shut_k = (n == 1 && bottom) || (n == last && top) || (PINCHED && is_zero(low_k));
            double sum[4];
            Thermal change_k;
            {
                double* const above = mine + (STATE + next * SLOT);
                const Thermal after = put_cell(above, mu);
                const double own_mu = own[4 * PLACES], own_size = *size;
                const Thermal flux =
                    across(ratio_of(own, above), own_mu + mu, own_size + mine[VOLUME + next * PADDED(PLACES)], now,
                           after, area_k);
                change_k = active & 4 ? after - old : Thermal{0, 0, 0, 0};
                old = now;
#pragma unroll
                for (int v = 0; v < 4; v++) sum[v] = pending[v];
                if (shut_k) {
#pragma unroll
                    for (int v = 0; v < 4; v++) sum[v] -= above_k[v], above_k[v] = 0;
                }
#pragma unroll
                for (int v = 0; v < 4; v++) pending[v] = flux[v] - above_k[v], above_k[v] = flux[v];
            }
            const Vec3 sum_k = low_k + area_k;
            // Changes over two cells and sums of two areas are each twice what they stand for; half of the flux.
            const double scale = again(own + 4 * PLACES) * pointwise::quotient(0.0625, again(size));
            auto along = [&](const Thermal& a, const Thermal& b, const Vec3& sum_a, const Vec3& sum_b,
                             const Vec3& sum) -> Thermal {
#if VISCOUS == 2
                return pointwise::flux_viscous_along<double>(ratio_at(own), scale, now, {a, b}, {sum_a, sum_b}, sum);
#else
                return {0, 0, 0, 0};
#endif
            };
            barrier_wait(done + n % 2, n);
            if (COPIERS == THREADS && n != last) fetch(n + 1);
            {
                // The plane before takes what its cells have left for each other.
                const double *const up = left + (UP + (~n & 1) * 4 * LEFT);
                const double *const down = left + (DOWN + (~n & 1) * 4 * LEFT);
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    const double above = up[v * LEFT + LEFT_WIDE], under = down[v * LEFT - LEFT_WIDE];
                    if (any_shut) sum[v] += (shut & 8 ? -down[v * LEFT] : above) - (shut & 4 ? 0 : under);
                    else sum[v] += above - under;
                }
                if (lane == 0 && !(shut & 1)) {
#pragma unroll
                    for (int v = 0; v < 4; v++) sum[v] -= down[v * LEFT - 1];
                }
                if (lane == COLUMNS - 1 && !(shut & 2)) {
#pragma unroll
                    for (int v = 0; v < 4; v++) sum[v] += up[v * LEFT + 1];
                }
            }
            const double* const face_i = mine + (FACE_I + turn * PADDED(3 * PLACES));
            const double* const face_j = mine + (FACE_J + turn * PADDED(3 * PLACES_J));
            const Vec3 n_i = area_in(face_i, PLACES), n_j = area_in(face_j, PLACES_J),
                       next_i = area_in(face_i + 1, PLACES), next_j = area_in(face_j + WIDE, PLACES_J);
            const Vec3 sum_i = n_i + next_i, sum_j = n_j + next_j;
            if (any_shut) {
                const u32 bit = n - 1 & 63;
                shut = 0;
#pragma unroll
                for (u32 end = 0; end < 4; end++)
                    if (ends[end] && ((end < 2 ? shut_i[end % 2 * ROWS] : shut_j[end % 2 * COLUMNS]) >> bit & 1))
                        shut |= 1 << end;
                if (PINCHED) shut |= is_zero(n_i) | is_zero(next_i) << 1 | is_zero(n_j) << 2 | is_zero(next_j) << 3;
            }
            const Thermal change_i = active & 1 ? thermal_at(own + 1) - thermal_at(own - 1) : Thermal{0, 0, 0, 0};
            const Thermal change_j = active & 2 ? thermal_at(own + WIDE) - thermal_at(own - WIDE) : Thermal{0, 0, 0, 0};
            {
                const Thermal half = along(change_i, change_j, sum_i, sum_j, sum_k);
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    if (shut_k) pending[v] += half[v];
                    else sum[v] += half[v];
                    above_k[v] += half[v];
                }
                if (n > 1 && inside) {
#pragma unroll
                    for (u32 v = 0; v < 4; v++)
                        asm volatile("red.global.add.f64 [%0], %1;" ::"l"(r + (at - plane + (v + 1) * pitch)),
                                     "d"(-sum[v])
                                     : "memory");
                }
                if (n == last) return;
            }
            {
                Thermal flux = across(ratio_of(own, own - 1), again(own + 4 * PLACES) + own[4 * PLACES - 1],
                                      again(size) + size[-1], thermal_again(own - 1), now, area_again(face_i, PLACES));
                const Thermal half = along(change_j, change_k, sum_j, sum_k, sum_i);
#pragma unroll
                for (int v = 0; v < 4; v++)
                    add_from_above(pending[v], flux[v] + half[v], !(shut & 2)),
                        add_from_below(pending[v], -half[v], !(shut & 1));
                if (any_shut) {
#pragma unroll
                    for (int v = 0; v < 4; v++) {
                        if (shut & 1) flux[v] = -half[v];
                        if (shut & 2) pending[v] -= half[v];
                    }
                }
#pragma unroll
                for (int v = 0; v < 4; v++) pending[v] -= flux[v];
            }
            {
                double *const up = left + (UP + (n & 1) * 4 * LEFT), *const down = left + (DOWN + (n & 1) * 4 * LEFT);
                Thermal flux = across(ratio_of(own, own - WIDE), again(own + 4 * PLACES) + own[4 * PLACES - WIDE],
                                      again(size) + size[-WIDE], thermal_again(own - WIDE), now,
                                      area_again(face_j, PLACES_J));
                const Vec3 sum_i = area_again(face_i, PLACES) + area_again(face_i + 1, PLACES);
                const Thermal change_i =
                    active & 1 ? thermal_again(own + 1) - thermal_again(own - 1) : Thermal{0, 0, 0, 0};
                const Thermal half = along(change_i, change_k, sum_i, sum_k, sum_j);
#pragma unroll
                for (int v = 0; v < 4; v++) up[v * LEFT] = flux[v] + half[v], down[v * LEFT] = half[v];
                if (shut & 4) {
#pragma unroll
                    for (int v = 0; v < 4; v++) flux[v] = -half[v];
                }
#pragma unroll
                for (int v = 0; v < 4; v++) pending[v] -= flux[v];
            }
            barrier_arrive(done + (n + 1) % 2);
            here = next;
        }
    } else {
        // The cells of the rows below and above the tile; then of the columns beside it, the corners. Threads beyond
        // have none.
        const bool of_row = warp < ROWS + 2;
        const u32 s = threadIdx.x - 32 * (ROWS + 2), c = s - 2 * ROWS;
        const bool of_column = !of_row && s < 2 * ROWS, idle = !of_row && s >= 2 * ROWS + 4;
        const bool upper = of_row ? warp == ROWS + 1 : of_column && s >= ROWS;
        const u32 row = of_row ? upper * (ROWS + 1) : of_column ? 1 + s % ROWS : (c & 1) * (ROWS + 1);
        const u32 col = of_row ? lane + 1 : of_column ? upper * (COLUMNS + 1) : (c >> 1 & 1) * (COLUMNS + 1);
        double* const mine = memory + row * WIDE + col + BEFORE - 1;
        double* const left = memory + row * LEFT_WIDE + col;
        const u32 at = tile.place(tile.i + col - 1, tile.j + row - 1, tile.first - 1);
        const int back = of_row ? WIDE : 1, ahead = of_row ? 1 : WIDE, beside = active & (of_row ? 1 : 2) ? ahead : 0;
        const int apart_out = of_row ? PLACES_J : PLACES, apart_beside = of_row ? PLACES : PLACES_J;
        Vec3 area_k = vector_of(area, pitch, at + 6 * pitch);
        barrier_wait(full, 0);
        double mu = 0;
        Thermal now = {0, 0, 0, 0};
        if (!idle) now = put_cell(mine + STATE, mu);
        Thermal old = now;
        barrier_arrive(done);
#pragma unroll 1
        for (u32 n = 0; n < last; n++) {
            const u32 turn = n % TURNS, next = here + 1 == STAGES ? 0 : here + 1;
            barrier_wait(full + turn, n);
            const double* const own = mine + (STATE + here * SLOT);
            const double* const size = mine + (VOLUME + here * PADDED(PLACES));
            const double own_mu = mu;
            const Vec3 low_k = area_k;
            area_k = area_in(mine + (FACE_K + turn * PADDED(3 * PLACES)), PLACES);
            const Vec3 sum_k = low_k + area_k;
            Thermal after = now;
            if (!idle) after = put_cell(mine + (STATE + next * SLOT), mu);
            const Thermal change_k = active & 4 ? after - old : Thermal{0, 0, 0, 0};
            barrier_wait(done + n % 2, n);
            if (COPIERS == THREADS || warp == ROWS) fetch(n + 1);
            if (of_row || of_column) {
                // Lower faces along the axis that leaves the tile, and along the other one.
                const double *const face_i = mine + (FACE_I + turn * PADDED(3 * PLACES)),
                                    *const face_j = mine + (FACE_J + turn * PADDED(3 * PLACES_J));
                const double *const face_out = of_row ? face_j : face_i, *const face_beside = of_row ? face_i : face_j;
                const Vec3 n_out = area_in(face_out, apart_out);
                Thermal half = {0, 0, 0, 0};
#if VISCOUS == 2
                const Vec3 sum_out = n_out + area_in(face_out + back, apart_out);
                const Vec3 sum_beside = area_in(face_beside, apart_beside) + area_in(face_beside + ahead, apart_beside);
                const double scale = own_mu * pointwise::quotient(0.0625, *size);
                half = pointwise::flux_viscous_along<double>(
                    ratio_at(own), scale, now, {thermal_at(own + beside) - thermal_at(own - beside), change_k},
                    {sum_beside, sum_k}, sum_out);
#endif
                if (upper) {
                    const double mean = pointwise::quotient(own[4 * PLACES - back] + own_mu, size[-back] + *size);
                    const Thermal flux =
                        pointwise::flux_viscous_across(ratio_of(own - back, own), mean, thermal_at(own - back), now,
                                                       n_out);
                    double* const up = left + (UP + (n & 1) * 4 * LEFT);
#pragma unroll
                    for (int v = 0; v < 4; v++) up[v * LEFT] = flux[v] + half[v];
                } else {
                    double* const down = left + (DOWN + (n & 1) * 4 * LEFT);
#pragma unroll
                    for (int v = 0; v < 4; v++) down[v * LEFT] = half[v];
                }
            }
            barrier_arrive(done + (n + 1) % 2);
            old = now, now = after;
            here = next;
        }
    }
}
