// The nearest-neighbor Jacobian, row by row. Twins: positions.rs, mod.rs.
//
// Constants: STORED 8 or 4 bytes of an off-diagonal value; SCHEME 0 Roe, 1 van Leer; VISCOUS 1 by the gas, 2 by eddies,
// too; THREADS; CHUNK 0: blocks in the order of the pattern, else in that of the sweeps, with chunks of so many rows.
// `eddies`: the eddy viscosity of each node, where VISCOUS is 2.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// One position: the block dF_ij / dq_j of the flux from a row to its neighbor, what dF_ij / dq_i adds to the row, half
// the area, and the spectral radius. Of Roe's block `own` is the part with |A| only: the rest, A(q_i), is linear in the
// area, so that the sum of a row's areas serves for all.
__device__ __forceinline__ double position_blocks(const Node& left, u32 row, double volume, u32 neighbor, u32 edge,
                                                  const double* areas, const double* nodes, const double* eddies,
                                                  const Params* params, Block& own, Block& other, Vec3& half) {
    const pointwise::Gas<double> gas = params->gas();
    const double sign = edge >> 31 ? -1.0 : 1.0;
    Vec3 n = load_vec3(areas, edge & 0x7fffffffu);
#pragma unroll
    for (int d = 0; d < 3; d++) n[d] *= sign, half[d] = 0.5 * n[d];
    const Node right = load_node(nodes, neighbor);
    double speed = fabs(left.w[1] * n[0] + left.w[2] * n[1] + left.w[3] * n[2]) +
                   pointwise::sound_speed(gas, left.w) * sqrt(dot(n, n));
#if SCHEME == 0
    const pointwise::RoeFix<double> fix = params->matrix_fix();
    own = pointwise::roe_absolute(gas, left.w, right.w, n, fix);
    other = pointwise::flux_jacobian(gas, right.w, half);
#pragma unroll
    for (int i = 0; i < 25; i++) own[i] *= 0.5, other[i] -= own[i];
#else
    const auto both = pointwise::flux_van_leer_jacobians(gas, left.w, right.w, n);
    own = both._0, other = both._1;
#endif
#if VISCOUS
    const pointwise::Transport<double> transport = params->transport();
    const auto face = pointwise::mean_velocity_and_temperature(gas, left.w, right.w);
    auto diffusing = pointwise::molecular(gas, transport, face[3]);
#if VISCOUS == 2
    diffusing =
        pointwise::with_eddies(gas, diffusing, 0.5 * (eddies[row] + eddies[neighbor]), params->turbulent_prandtl);
    speed += pointwise::spectral_radius_viscous_of(gas, diffusing, left.w, n, volume);
#else
    speed += pointwise::spectral_radius_viscous(gas, transport, left.w, n, volume);
#endif
    const Vec3 dx = params->between(left.x, right.x);
    const auto viscous =
        pointwise::thin_layer_blocks(gas, diffusing, face, left.w, right.w, pointwise::weight_across(n, dx), n);
#pragma unroll
    for (int i = 0; i < 25; i++) own[i] -= viscous._0[i], other[i] -= viscous._1[i];
#endif
    return speed;
}

// Adds to a row's block what is linear in its halved areas.
__device__ __forceinline__ void add_linear(const Node& node, const Params* params, const Vec3& area, double* block,
                                           u32 stride) {
    const Block part = pointwise::flux_jacobian(params->gas(), node.w, area);
#pragma unroll
    for (int i = 0; i < 25; i++) block[i * stride] += part[i];
}

#if CHUNK == 0
// Blocks (i, j) = dF_ij / dq_j in the order of the pattern, diagonal blocks the sum of dF_ij / dq_i + V/dt. A thread
// block takes the rows of one tile, whose positions fit its threads (a longer row has a tile of its own and is worked
// off in turns), a thread a position. Blocks leave through shared memory, so that stores are whole lines and the sums
// have the order of the row. `largest`, where it is given, gets the bits of the largest magnitude of what is stored.
extern "C" __global__ void __launch_bounds__(THREADS, SCHEME == 0 && !VISCOUS ? 4 : 2)
assemble(Assemble) {
    __shared__ double own_of[THREADS * 25], tail_of[THREADS * 4];  // halved area and spectral radius
    __shared__ Value block_of[THREADS * 25];
    const u32 t = threadIdx.x, first_row = tiles[blockIdx.x], end_row = tiles[blockIdx.x + 1];
    const u32 first = row_ptr[first_row], end = row_ptr[end_row];
    u32 most = 0;
    for (u32 base = first; base == first || base < end; base += THREADS) {
        const u32 k = base + t, stop = min(base + THREADS, end);
        if (k < end) {
            Block own, other;
            Vec3 half;
            const u32 row = row_of[k];
            const Node left = load_node(nodes, row);
            tail_of[t * 4 + 3] = position_blocks(left, row, volumes[row], col_idx[k], signed_edge[k], areas, nodes,
                                                 eddies, params, own, other, half);
#pragma unroll
            for (int d = 0; d < 3; d++) tail_of[t * 4 + d] = half[d];
#pragma unroll
            for (int i = 0; i < 25; i++) {
                own_of[t * 25 + i] = own[i], block_of[t * 25 + i] = (Value)other[i];
#if STORED == 4
                const u32 bits = __float_as_uint((float)other[i]) & 0x7fffffffu;
                if (bits < 0x7f800000u) most = max(most, bits);
#endif
            }
        }
        __syncthreads();
#if SCHEME == 0
        if (t < end_row - first_row) {
            const u32 lo = max(row_ptr[first_row + t], base), hi = min(row_ptr[first_row + t + 1], stop);
            Vec3 area = {0, 0, 0};
            for (u32 p = lo; p < hi; p++)
                for (int d = 0; d < 3; d++) area[d] += tail_of[(p - base) * 4 + d];
            if (lo < hi) add_linear(load_node(nodes, first_row + t), params, area, own_of + (lo - base) * 25, 1);
        }
        __syncthreads();
#endif
        for (u32 at = t; at < (end_row - first_row) * 25; at += THREADS) {
            const u32 row = first_row + at / 25, i = at % 25;
            const u32 lo = max(row_ptr[row], base) - base, hi = min(row_ptr[row + 1], stop) - base;
            double sum = base == first ? 0.0 : diag[(u64)row * 25 + i];
            for (u32 p = lo; p < hi; p++) sum += own_of[p * 25 + i];
            if (i % 6 == 0) {
                double radius = 0;
                for (u32 p = lo; p < hi; p++) radius += tail_of[p * 4 + 3];
                sum += radius / (cfl * cfl_shares[row]) + (base == first ? shift * volumes[row] : 0.0);
            }
            diag[(u64)row * 25 + i] = sum;
        }
        for (u32 at = t; at < (stop - base) * 25; at += THREADS) off[(u64)base * 25 + at] = block_of[at];
        __syncthreads();
    }
#if STORED == 4
    if (largest) {
#pragma unroll
        for (int s = 16; s; s >>= 1) most = max(most, __shfl_xor_sync(0xffffffffu, most, s));
        if (t % 32 == 0 && most > *(volatile u32*)largest) atomicMax(largest, most);
    }
#endif
}
#else
// Blocks go where the sweeps read them (chromaflow's sell.cuh), in chunks of CHUNK rows.
#define LANES (CHUNK * 5)
#define PER_VECTOR (16 / STORED)
using sell::Chunk;

// A warp works on ROWS rows and WIDE slots at once.
#define ROWS (CHUNK < 16 ? CHUNK : 16)
#define WARPS (THREADS / 32)
#define WIDE (32 / ROWS)                // slots of a warp
#define GROUPS (CHUNK / ROWS)           // of rows
#define SLOTS (WARPS / GROUPS * WIDE)   // slots of a thread block
#define STRIDE (THREADS + 1)            // of sums, so that neither rows nor components meet in a bank
#define SUMS 29                         // own block, halved area, spectral radius

// As `assemble`, with the off-diagonal blocks where the sweeps read them: a thread block a chunk, a thread a row and
// every SLOTS-th slot of it. What a row adds up each thread adds up for itself; blocks are turned over within a warp.
extern "C" __global__ void __launch_bounds__(THREADS, SCHEME == 0 && !VISCOUS ? STORED == 8 ? 6 : 8 : 4)
assemble_sliced(AssembleSliced) {
    __shared__ double sums[SUMS * STRIDE];
    __shared__ __align__(16) Value staged[THREADS * 25];
    __shared__ u32 rows[CHUNK];
    const Chunk k = chunks[blockIdx.x];
    const u32 t = threadIdx.x, warp = t / 32, lane = t % 32, group = warp % GROUPS, r = group * ROWS + lane % ROWS;
    u32 row = NONE, lo = 0, len = 0;
    if (r < k.rows) row = perm[k.row + r], lo = row_ptr[row], len = row_ptr[row + 1] - lo;
    u32 s = warp / GROUPS * WIDE + lane / ROWS, neighbor = 0, edge = 0;
    if (s < len) neighbor = col_idx[lo + s], edge = signed_edge[lo + s];
    if (s == 0) rows[r] = row;
    double* mine = sums + t;
#pragma unroll
    for (int i = 0; i < SUMS; i++) mine[i * STRIDE] = 0;
    Value* stage = staged + warp * (32 * 25) + lane / (2 * ROWS) * (ROWS * 50);
    Value* out = values + (u64)k.slot * (LANES * 5);
    for (u32 first = warp / GROUPS * WIDE; first < k.slots; first += SLOTS, s += SLOTS) {
        Block other;
        if (s < len) {
            const u32 here = neighbor, via = edge;
            if (s + SLOTS < len) neighbor = col_idx[lo + s + SLOTS], edge = signed_edge[lo + s + SLOTS];
            Block own;
            Vec3 half;
            const Node left = load_node(nodes, row);
            mine[28 * STRIDE] += position_blocks(left, row, VISCOUS ? volumes[row] : 0.0, here, via, areas, nodes,
                                                 eddies, params, own, other, half);
#pragma unroll
            for (int d = 0; d < 3; d++) mine[(25 + d) * STRIDE] += half[d];
#pragma unroll
            for (int i = 0; i < 25; i++) mine[i * STRIDE] += own[i];
        } else {
#pragma unroll
            for (int i = 0; i < 25; i++) other[i] = 0;
        }
        // The warp's pairs of slots in the order of memory, then out in whole vectors: those of ROWS among CHUNK rows.
        const u32 odd = lane / ROWS % 2, n = (s | 1) < k.slots ? 10 : 5;
        if (n == 10 || !odd) {
#pragma unroll
            for (int i = 0; i < 5; i++) {
                const auto place = [&](u32 l) { return sell::place<Value, 5>(ROWS * 5, n, l, odd * 5 + i); };
                const u32 at = place(lane % ROWS * 5), step = place(1) - place(0);
#pragma unroll
                for (int c = 0; c < 5; c++) stage[at + c * step] = (Value)other[c * 5 + i];
            }
        }
        __syncwarp();
#pragma unroll
        for (u32 pair = 0; pair < WIDE / 2; pair++) {
            const u32 slot = first + 2 * pair;
            if (slot >= k.slots) break;
            const u32 n = slot + 1 < k.slots ? 10 : 5, whole = n / PER_VECTOR, rest = n % PER_VECTOR;
            const uint4* from = (const uint4*)(staged + warp * (32 * 25) + pair * (ROWS * 50));
            uint4* to = (uint4*)(out + (u64)slot * (LANES * 5));
#pragma unroll
            for (u32 v = 0; v < (ROWS * 50 + 32 * PER_VECTOR - 1) / PER_VECTOR / 32; v++) {
                const u32 at = v * 32 + lane, part = min(at / (ROWS * 5), whole);
                if (at >= ROWS * 5 * n / PER_VECTOR) break;
                const u32 begin = part == whole ? group * (ROWS * 5 * rest / PER_VECTOR) : group * (ROWS * 5);
                to[part * (LANES - ROWS * 5) + begin + at] = from[at];
            }
        }
        __syncwarp();
    }
    // The threads of a row together, and what is linear in its area and in its volume.
    __syncthreads();
    for (u32 at = t; at < CHUNK * SUMS; at += THREADS) {
        double* part = sums + at / CHUNK * STRIDE + at % CHUNK / ROWS * 32 + at % ROWS;
        double sum = 0;
#pragma unroll
        for (u32 p = 0; p < SLOTS; p++) sum += part[p / WIDE * (GROUPS * 32) + p % WIDE * ROWS];
        *part = sum;
    }
    __syncthreads();
    if (warp < GROUPS && lane < ROWS && row != NONE) {
        const double extra = mine[28 * STRIDE] / (cfl * cfl_shares[row]) + shift * volumes[row];
#pragma unroll
        for (int i = 0; i < 5; i++) mine[6 * i * STRIDE] += extra;
#if SCHEME == 0
        const Vec3 area = {mine[25 * STRIDE], mine[26 * STRIDE], mine[27 * STRIDE]};
        add_linear(load_node(nodes, row), params, area, mine, STRIDE);
#endif
    }
    __syncthreads();
    for (u32 at = t; at < CHUNK * 25; at += THREADS) {
        const u32 q = at / 25, i = at % 25;
        if (rows[q] != NONE) diag[(u64)rows[q] * 25 + i] = sums[i * STRIDE + q / ROWS * 32 + q % ROWS];
    }
}
#endif
