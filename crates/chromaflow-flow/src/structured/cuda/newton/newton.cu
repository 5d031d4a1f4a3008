// Newton-Krylov steps: states beside the present one, differences of residuals, and the first-order matrix that
// preconditions. Twins: newton/mod.rs, newton/matrix.rs.
//
// Vectors are [rows][5], rows in the order of the matrix; `row_of` has the row of each cell by its number. STORED: 8 or
// 4 bytes of an off-diagonal value.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// The residual and the conserved state where the derivative is taken.
extern "C" __global__ void __launch_bounds__(CHUNK)
take_base(TakeBase) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const State state = pointwise::conserved(setup->gas(), state_at(w, total, cell.at));
    const u64 row = (u64)row_of[cell.number] * 5;
#pragma unroll
    for (int c = 0; c < 5; c++) base[row + c] = r[c * total + cell.at], q[row + c] = state[c];
}

// The primitive state of q + h v.
extern "C" __global__ void __launch_bounds__(CHUNK)
set_beside(SetBeside) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const pointwise::Gas<double> gas = setup->gas();
    State q = pointwise::conserved(gas, state_at(from, total, cell.at));
    const u64 row = (u64)row_of[cell.number] * 5;
#pragma unroll
    for (int c = 0; c < 5; c++) q[c] += h * v[row + c];
    const State moved = pointwise::primitive(gas, q);
#pragma unroll
    for (int c = 0; c < 5; c++) w[c * total + cell.at] = moved[c];
}

// y = (r - base) / h + V/dt v, r the residual of q + h v.
extern "C" __global__ void __launch_bounds__(CHUNK)
slopes(Slopes) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const double pseudo_time = 1.0 / tau[cell.at];
    const u64 row = (u64)row_of[cell.number] * 5;
#pragma unroll
    for (int c = 0; c < 5; c++)
        y[row + c] = (r[c * total + cell.at] - base[row + c]) * inverse + pseudo_time * v[row + c];
}

// Residuals over V/dt, or back, a thread a row.
extern "C" __global__ void __launch_bounds__(CHUNK)
weigh(Weigh) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const double weight = back ? 1.0 / tau[cell.at] : tau[cell.at];
    const u64 row = (u64)row_of[cell.number] * 5;
#pragma unroll
    for (int c = 0; c < 5; c++) to[row + c] = from[row + c] * weight;
}

// -x in the place of the residual.
extern "C" __global__ void __launch_bounds__(CHUNK)
put_update(PutUpdate) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const u64 row = (u64)row_of[cell.number] * 5;
#pragma unroll
    for (int c = 0; c < 5; c++) r[c * total + cell.at] = -x[row + c];
}

// The derivatives of the flux out through a face by the cell's own state and by the one beyond.
__device__ __forceinline__ void face_blocks(const Setup& setup, const State& here, const State& there, const Vec3& n,
                                            double size, double eddies, double least, Block& own,
                                            Block& other) {
    const pointwise::Gas<double> gas = setup.gas();
    pointwise::RoeFix<double> fix = setup.fix();
    fix.acoustic = pointwise::real_max(fix.acoustic, 0.1), fix.convective = pointwise::real_max(fix.convective, least);
    const Vec3 half = {0.5 * n[0], 0.5 * n[1], 0.5 * n[2]};
    // Viscous terms first: the other way about blocks do not fit the registers.
#if VISCOUS
    const auto middle = pointwise::mean_velocity_and_temperature(gas, here, there);
    const auto diffusing = setup.diffusing(middle[3], eddies);
    const Vec3 weight = {n[0] / size, n[1] / size, n[2] / size};
    const auto viscous = pointwise::thin_layer_blocks(gas, diffusing, middle, here, there, weight, n);
#pragma unroll
    for (int e = 0; e < 25; e++) own[e] = -viscous._0[e], other[e] = -viscous._1[e];
#else
#pragma unroll
    for (int e = 0; e < 25; e++) own[e] = other[e] = 0;
#endif
    const Block damping = pointwise::roe_absolute(gas, here, there, n, fix);
#pragma unroll
    for (int e = 0; e < 25; e++) own[e] += 0.5 * damping[e], other[e] -= 0.5 * damping[e];
    const Block by_other = pointwise::flux_jacobian(gas, there, half);
#pragma unroll
    for (int e = 0; e < 25; e++) other[e] += by_other[e];
    const Block by_own = pointwise::flux_jacobian(gas, here, half);
#pragma unroll
    for (int e = 0; e < 25; e++) own[e] += by_own[e];
}
// By the state before its vectors are turned by the matrix m. Twin: march/turned.rs.
__device__ __forceinline__ void turn_columns(Block& block, const double* __restrict__ m) {
#pragma unroll
    for (int r = 0; r < 5; r++) {
        const double row[3] = {block[5 + r], block[10 + r], block[15 + r]};
#pragma unroll
        for (int c = 0; c < 3; c++) block[5 * (1 + c) + r] = row[0] * m[c] + row[1] * m[3 + c] + row[2] * m[6 + c];
    }
}

#define ROWS 32
#define THREADS (6 * ROWS)
// Blocks in the order of the pattern. A thread block takes ROWS rows, a warp one of their six sides (low and high along
// i, j, k), whose sums over a row have the order of the sides; blocks leave through shared memory, so that stores are
// whole lines. `links` [6][rows]: the position of the cell beyond, or with the highest bit set the number of the
// boundary's face, APART of a cell whose column is left out, or NONE; `turns` likewise one and the number of a matrix,
// where sides are turned.
extern "C" __global__ void __launch_bounds__(THREADS, 2)
assemble(Assemble) {
    __shared__ double sums[25][ROWS + 1];
    __shared__ Value staged[THREADS * 25];
    const u32 lane = threadIdx.x % 32, side = threadIdx.x / 32, axis = side / 2, high = side % 2;
    const u32 first_row = blockIdx.x * ROWS, end_row = min(first_row + ROWS, rows), row = first_row + lane;
    const u32 first = row_ptr[first_row], count = (row_ptr[end_row] - first) * 25;
    for (u32 at = threadIdx.x; at < count; at += THREADS) staged[at] = 0;
    u32 link = NONE;
    Block own, other;
    if (row < end_row) {
        const uint2 place = places[row];
        const u64 at = place.x;
        if (side == 0) {
            const double pseudo_time = 1.0 / tau[at] + shift * volume[at];
#pragma unroll
            for (int e = 0; e < 25; e++) sums[e][lane] = e % 6 == 0 ? pseudo_time : 0.0;
        }
        link = links[(u64)side * rows + row];
        if (link != NONE && link >> 31) {
            const u32 face = link & 0x7fffffffu;
#pragma unroll
            for (int e = 0; e < 25; e++) own[e] = jacobians[(u64)e * faces + face];
        } else if (link != NONE) {
            const u32 step = pick(blocks[place.y].stride, axis);
            const u64 beyond = high ? at + step : at - step;
            Vec3 n = area_at(area + 3 * axis * total, total, high ? beyond : at);
            if (!high) n = {-n[0], -n[1], -n[2]};
            const double size = VISCOUS ? 0.5 * (volume[at] + volume[beyond]) : 0.0;
            const double mean = eddies ? 0.5 * (eddies[at] + eddies[beyond]) : 0.0;
            face_blocks(*setup, state_at(w, total, at), state_at(w, total, beyond), n, size, mean, least, own, other);
            const u32 turn = turns ? turns[(u64)side * rows + row] : 0;
            if (turn) turn_columns(other, matrices + 9 * (u64)(turn - 1));
        }
    }
#pragma unroll 1
    for (u32 turn = 0; turn < 6; turn++) {
        __syncthreads();
        if (turn != side || link == NONE) continue;
#pragma unroll
        for (int e = 0; e < 25; e++) sums[e][lane] += own[e];
        if (link >> 31 || link == APART) continue;
        // Two sides may have the same cell beyond.
        Value* to = staged + (link - first) * 25;
#pragma unroll
        for (int e = 0; e < 25; e++) to[e] = (Value)(to[e] + other[e]);
    }
    __syncthreads();
    for (u32 at = threadIdx.x; at < count; at += THREADS) off[(u64)first * 25 + at] = staged[at];
    for (u32 at = threadIdx.x; at < (end_row - first_row) * 25; at += THREADS)
        diag[(u64)first_row * 25 + at] = sums[at % 25][at / 25];
}
