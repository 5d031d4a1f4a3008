// The nearest-neighbor Jacobian, row by row. Twins: positions.rs, mod.rs.
//
// Constants: STORED 8 or 4 bytes of an off-diagonal value; SCHEME 0 Roe, 1 van Leer; VISCOUS; THREADS; CHUNK 0: blocks in the order
// of the pattern, else in that of the sweeps, with chunks of so many rows.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// The thin-layer part of the viscous flux from `left` to `right`: differences along the edge taken across the face.
__device__ __forceinline__ void subtract_viscous(pointwise::Gas<double> gas, pointwise::Transport<double> transport, const Node& left,
                                                 const Node& right, const Vec3& n, Block& own, Block& other) {
    const Vec3 dx = {right.x[0] - left.x[0], right.x[1] - left.x[1], right.x[2] - left.x[2]};
    const double area = pointwise::real_max(sqrt(dot(n, n)), 1e-300);
    const double inverse = 1.0 / (sqrt(dot(dx, dx)) * area);
    const Vec3 weight = {n[0] * inverse, n[1] * inverse, n[2] * inverse}, back = {-weight[0], -weight[1], -weight[2]};
    const auto fl = pointwise::velocity_and_temperature(gas, left.w), fr = pointwise::velocity_and_temperature(gas, right.w);
    auto face = fl;
#pragma unroll
    for (int v = 0; v < 4; v++) face[v] = 0.5 * (fl[v] + fr[v]);
    const Vec3 still = {0, 0, 0};
    const Block by_left = pointwise::flux_viscous_block(gas, transport, left.w, face, still, back, 0.5, n);
    const Block by_right = pointwise::flux_viscous_block(gas, transport, right.w, face, still, weight, 0.5, n);
#pragma unroll
    for (int i = 0; i < 25; i++) own[i] -= by_left[i], other[i] -= by_right[i];
}

// One position: the blocks dF_ij / dq_i and dF_ij / dq_j of the flux from `row` to its neighbor, and the spectral radius.
__device__ __forceinline__ double position_blocks(u32 row, u32 k, const u32* col_idx, const u32* signed_edge, const double* areas,
                                                  const double* nodes, const double* volumes, const Params* params, Block& own, Block& other) {
    const pointwise::Gas<double> gas = params->gas();
    const u32 edge = signed_edge[k];
    const double sign = edge >> 31 ? -1.0 : 1.0;
    Vec3 n = load_vec3(areas, edge & 0x7fffffffu);
#pragma unroll
    for (int d = 0; d < 3; d++) n[d] *= sign;
    const Node left = load_node(nodes, row), right = load_node(nodes, col_idx[k]);
    double speed = fabs(left.w[1] * n[0] + left.w[2] * n[1] + left.w[3] * n[2]) + pointwise::sound_speed(gas, left.w) * sqrt(dot(n, n));
#if SCHEME == 0
    const pointwise::EntropyFix<double> fix = {params->jacobian_fix, params->jacobian_fix};
    const Block absolute = pointwise::roe_absolute(gas, left.w, right.w, n, fix);
    own = pointwise::flux_jacobian(gas, left.w, n), other = pointwise::flux_jacobian(gas, right.w, n);
#pragma unroll
    for (int i = 0; i < 25; i++) {
        own[i] = 0.5 * (own[i] + absolute[i]);
        other[i] = 0.5 * (other[i] - absolute[i]);
    }
#else
    const auto both = pointwise::flux_van_leer_jacobians(gas, left.w, right.w, n);
    own = both._0, other = both._1;
#endif
#if VISCOUS
    const pointwise::Transport<double> transport = params->transport();
    speed += pointwise::spectral_radius_viscous(gas, transport, left.w, n, volumes[row]);
    subtract_viscous(gas, transport, left, right, n, own, other);
#endif
    return speed;
}

#if CHUNK == 0
// Blocks (i, j) = dF_ij / dq_j in the order of the pattern, diagonal blocks the sum of dF_ij / dq_i + V/dt. A thread block takes
// the rows of one tile, whose positions fit its threads (a longer row has a tile of its own and is worked off in turns), a thread
// a position. Blocks leave through shared memory, so that stores are whole lines and the sums have the order of the row.
// `largest`, where it is given, gets the bits of the largest magnitude of what is stored.
extern "C" __global__ void __launch_bounds__(THREADS, SCHEME == 0 && !VISCOUS ? 3 : 2)
assemble(const u32* __restrict__ tiles, const u32* __restrict__ row_ptr, const u32* __restrict__ row_of, const u32* __restrict__ col_idx,
         const u32* __restrict__ signed_edge, const double* __restrict__ areas, const double* __restrict__ nodes,
         const double* __restrict__ volumes, const Params* __restrict__ params, double cfl, double shift, Value* __restrict__ off,
         double* diag, u32* largest) {
    __shared__ double own_of[THREADS * 25], speed_of[THREADS];
    __shared__ Value block_of[THREADS * 25];
    const u32 t = threadIdx.x, first_row = tiles[blockIdx.x], end_row = tiles[blockIdx.x + 1];
    const u32 first = row_ptr[first_row], end = row_ptr[end_row];
    u32 most = 0;
    for (u32 base = first; base == first || base < end; base += THREADS) {
        const u32 k = base + t;
        if (k < end) {
            Block own, other;
            speed_of[t] = position_blocks(row_of[k], k, col_idx, signed_edge, areas, nodes, volumes, params, own, other);
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
        const u32 stop = min(base + THREADS, end);
        for (u32 at = t; at < (end_row - first_row) * 25; at += THREADS) {
            const u32 row = first_row + at / 25, i = at % 25;
            const u32 lo = max(row_ptr[row], base) - base, hi = min(row_ptr[row + 1], stop) - base;
            double sum = base == first ? 0.0 : diag[(u64)row * 25 + i];
            for (u32 p = lo; p < hi; p++) sum += own_of[p * 25 + i];
            if (i % 6 == 0) {
                double radius = 0;
                for (u32 p = lo; p < hi; p++) radius += speed_of[p];
                sum += radius / cfl + (base == first ? shift * volumes[row] : 0.0);
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
// The layout of the sweeps (chromaflow's sliced.cu) for blocks of 5 x 5: chunks of CHUNK rows, lanes L = 5 r + column.
#define LANES (CHUNK * 5)
#define SLOTS (THREADS / CHUNK)  // slots a thread block works on at once: an even number
#define PER_VECTOR (16 / STORED)
struct Chunk {
    u32 slot, slots, row, rows;
};

// Where component i of the column of lane L of a slot stands among a chunk's values.
__device__ __forceinline__ u32 value_place(const Chunk& k, u32 slot, u32 lane, u32 i) {
    const bool alone = slot / 2 == k.slots / 2;
    const u32 e = alone ? i : slot % 2 * 5 + i, whole = (alone ? 5 : 10) / PER_VECTOR * PER_VECTOR, rest = (alone ? 5 : 10) - whole;
    const u32 base = slot / 2 * 2 * LANES * 5;
    if (e < whole) return base + (e / PER_VECTOR * LANES + lane) * PER_VECTOR + e % PER_VECTOR;
    return base + whole * LANES + lane * rest + e - whole;
}

// As `assemble`, with the off-diagonal blocks where the sweeps read them: a thread block a chunk, a thread a row and a slot.
extern "C" __global__ void __launch_bounds__(THREADS, STORED == 8 ? 4 : SCHEME == 0 && !VISCOUS ? 3 : 2)
assemble_sliced(const Chunk* __restrict__ chunks, const u32* __restrict__ perm, const u32* __restrict__ row_ptr, const u32* __restrict__ col_idx,
                const u32* __restrict__ signed_edge, const double* __restrict__ areas, const double* __restrict__ nodes,
                const double* __restrict__ volumes, const Params* __restrict__ params, double cfl, double shift,
                Value* __restrict__ values, double* __restrict__ diag) {
    __shared__ double own_of[THREADS * 25], speed_of[THREADS], sums[LANES * 5], radius[CHUNK];
    __shared__ Value block_of[THREADS * 25];
    __shared__ u32 rows[CHUNK];
    const Chunk k = chunks[blockIdx.x];
    const u32 t = threadIdx.x, r = t % CHUNK, s = t / CHUNK;
    u32 row = 0, lo = 0, len = 0;
    if (r < k.rows) row = perm[k.row + r], lo = row_ptr[row], len = row_ptr[row + 1] - lo;
    if (t < CHUNK) rows[t] = row, radius[t] = 0;
    for (u32 at = t; at < LANES * 5; at += THREADS) sums[at] = 0;
    Value* out = values + (u64)k.slot * (LANES * 5);
    for (u32 first = 0; first < k.slots; first += SLOTS) {
        if (first + s < len) {
            Block own, other;
            speed_of[t] = position_blocks(row, lo + first + s, col_idx, signed_edge, areas, nodes, volumes, params, own, other);
#pragma unroll
            for (int i = 0; i < 25; i++) own_of[t * 25 + i] = own[i], block_of[t * 25 + i] = (Value)other[i];
        } else {
            speed_of[t] = 0;
#pragma unroll
            for (int i = 0; i < 25; i++) own_of[t * 25 + i] = 0, block_of[t * 25 + i] = 0;
        }
        __syncthreads();
        const u32 count = min(k.slots - first, (u32)SLOTS);
        for (u32 at = t; at < LANES * 5; at += THREADS) {
            double sum = sums[at];
            for (u32 p = 0; p < count; p++) sum += own_of[p * (CHUNK * 25) + at];
            sums[at] = sum;
        }
        if (t < CHUNK) {
            double sum = radius[t];
            for (u32 p = 0; p < count; p++) sum += speed_of[p * CHUNK + t];
            radius[t] = sum;
        }
        // Values in the order of memory, a vector of 16 bytes a thread: whole vectors of a lane, then what remains of several.
        for (u32 p = 0; p < count; p += 2) {
            const Value* from = block_of + p * (CHUNK * 25);
            Value* to = out + (u64)(first + p) * (LANES * 5);
            const u32 n = p + 1 < count ? 10 : 5, whole = n / PER_VECTOR, rest = n % PER_VECTOR;
            for (u32 at = t; at < LANES * n / PER_VECTOR; at += THREADS) {
                __align__(16) Value v[PER_VECTOR];
                u32 lane = at % LANES, e = at / LANES * PER_VECTOR, end = e + PER_VECTOR;
                if (at >= LANES * whole) lane = (at - LANES * whole) * PER_VECTOR / rest, e = whole * PER_VECTOR, end = n;
#pragma unroll
                for (int c = 0; c < PER_VECTOR; c++) {
                    v[c] = from[e / 5 * (CHUNK * 25) + lane * 5 + e % 5];
                    if (++e == end) e = whole * PER_VECTOR, lane++;
                }
                *(uint4*)(to + at * PER_VECTOR) = *(const uint4*)v;
            }
        }
        __syncthreads();
    }
    __syncthreads();
    for (u32 at = t; at < k.rows * 25; at += THREADS) {
        const u32 row = rows[at / 25], i = at % 25;
        diag[(u64)row * 25 + i] = sums[at] + (i % 6 == 0 ? radius[at / 25] / cfl + shift * volumes[row] : 0.0);
    }
}
#endif

// Adds the boundary's part to diagonal blocks; see boundary_fluxes.
extern "C" __global__ void __launch_bounds__(128)
boundary_jacobians(u32 count, const u32* __restrict__ node_of, const u32* __restrict__ ptr, const u32* __restrict__ patch_of,
                   const double* __restrict__ areas, const Patch* __restrict__ patches, const double* __restrict__ nodes,
                   const Params* __restrict__ params, double* diag) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w;
    const pointwise::Gas<double> gas = params->gas();
    double* block = diag + (u64)i * 25;
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        const Vec3 n = load_vec3(areas, k);
        const Patch& patch = patches[patch_of[k]];
        Block add;
        switch ((int)patch.kind) {
            case 0: {
                const State wb = pointwise::bc_farfield(gas, w, patch.stream(), n);
                add = pointwise::flux_through_jacobian(gas, w, wb, pointwise::bc_farfield_jacobian(gas, w, patch.stream(), n), n);
                break;
            }
            case 1: add = pointwise::flux_slip_wall_jacobian(gas, w, n); break;
            case 2: {
                const State wb = pointwise::bc_inlet(gas, w, patch.inlet(), n);
                add = pointwise::flux_through_jacobian(gas, w, wb, pointwise::bc_inlet_jacobian(gas, w, patch.inlet(), n), n);
                break;
            }
            case 3: {
                const State wb = pointwise::bc_outlet(gas, w, patch.pressure, n);
                add = pointwise::flux_through_jacobian(gas, w, wb, pointwise::bc_outlet_jacobian(gas, w, patch.pressure, n), n);
                break;
            }
            default: add = pointwise::flux_jacobian(gas, w, n);
        }
#pragma unroll
        for (int e = 0; e < 25; e++) block[e] += add[e];
    }
}

// Zeros the entries of a row's off-diagonal blocks whose component lies in [from, to); a warp.
__device__ __forceinline__ void clear_row(u32 row, u32 from, u32 to, const u32* row_ptr, const void* chunks, const u32* seats, Value* off) {
    const u32 lane = threadIdx.x % 32, lo = row_ptr[row], count = (row_ptr[row + 1] - lo) * 25;
#if CHUNK == 0
    Value* out = off + (u64)lo * 25;
#else
    const u32 seat = seats[row];
    const Chunk k = static_cast<const Chunk*>(chunks)[seat / CHUNK];
    Value* out = off + (u64)k.slot * (LANES * 5);
#endif
    for (u32 e = lane; e < count; e += 32) {
        const u32 component = e % 5;
        if (component < from || component >= to) continue;
#if CHUNK == 0
        out[e] = 0;
#else
        out[value_place(k, e / 25, seat % CHUNK * 5 + e / 5 % 5, component)] = 0;
#endif
    }
}

// Rows of nodes on walls without slip: momentum (and, where the wall's temperature is given, the internal energy) stays.
// `temperature` is no number on adiabatic walls. A warp a node.
extern "C" __global__ void __launch_bounds__(128)
wall_rows(u32 count, const u32* __restrict__ node_of, const double* __restrict__ temperature, const u32* __restrict__ row_ptr,
          const void* __restrict__ chunks, const u32* __restrict__ seats, const Params* __restrict__ params, Value* off, double* diag) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32;
    if (at >= count) return;
    const u32 i = node_of[at];
    const double given = temperature[at];
    const bool isothermal = given == given;
    clear_row(i, 1, isothermal ? 5 : 4, row_ptr, chunks, seats, off);
    if (threadIdx.x % 32 == 0) {
        Block block;
        for (int e = 0; e < 25; e++) block[e] = diag[(u64)i * 25 + e];
        const auto heat = isothermal ? pointwise::WallHeat::Isothermal : pointwise::WallHeat::Adiabatic;
        block = pointwise::strong_wall_diagonal(params->gas(), heat, isothermal ? given : 0.0, block);
        for (int e = 0; e < 25; e++) diag[(u64)i * 25 + e] = block[e];
    }
}

// Rows of nodes whose whole state is given: nothing depends on neighbors. A warp a node.
extern "C" __global__ void __launch_bounds__(128)
held_rows(u32 count, const u32* __restrict__ node_of, const u32* __restrict__ row_ptr, const void* __restrict__ chunks,
          const u32* __restrict__ seats, Value* off) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32;
    if (at < count) clear_row(node_of[at], 0, 5, row_ptr, chunks, seats, off);
}
