// The nearest-neighbor Jacobian, row by row. Twins: positions.rs, mod.rs.
//
// Constants: STORED 8 or 4 bytes of an off-diagonal value; SCHEME 0 Roe, 1 van Leer; VISCOUS; THREADS.
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

// Blocks (i, j) = dF_ij / dq_j, diagonal blocks the sum of dF_ij / dq_i + V/dt. A thread block takes the rows of one tile,
// whose positions fit its threads (a longer row has a tile of its own and is worked off in turns), a thread a position.
// Blocks leave through shared memory, so that stores are whole lines and the sums have the order of the row.
extern "C" __global__ void __launch_bounds__(THREADS, SCHEME == 0 && !VISCOUS ? 3 : 2)
assemble(const u32* __restrict__ tiles, const u32* __restrict__ row_ptr, const u32* __restrict__ row_of, const u32* __restrict__ col_idx,
         const u32* __restrict__ signed_edge, const double* __restrict__ areas, const double* __restrict__ nodes,
         const double* __restrict__ volumes, const Params* __restrict__ params, double cfl, double shift, Value* __restrict__ off,
         double* diag) {
    __shared__ double own_of[THREADS * 25], speed_of[THREADS];
    __shared__ Value block_of[THREADS * 25];
    const u32 t = threadIdx.x, first_row = tiles[blockIdx.x], end_row = tiles[blockIdx.x + 1];
    const u32 first = row_ptr[first_row], end = row_ptr[end_row];
    const pointwise::Gas<double> gas = params->gas();
    for (u32 base = first; base == first || base < end; base += THREADS) {
        const u32 k = base + t;
        if (k < end) {
            const u32 row = row_of[k], edge = signed_edge[k];
            const double sign = edge >> 31 ? -1.0 : 1.0;
            Vec3 n = load_vec3(areas, edge & 0x7fffffffu);
#pragma unroll
            for (int d = 0; d < 3; d++) n[d] *= sign;
            const Node left = load_node(nodes, row), right = load_node(nodes, col_idx[k]);
            double speed = fabs(left.w[1] * n[0] + left.w[2] * n[1] + left.w[3] * n[2]) + pointwise::sound_speed(gas, left.w) * sqrt(dot(n, n));
#if SCHEME == 0
            const pointwise::EntropyFix<double> fix = {params->jacobian_fix, params->jacobian_fix};
            const Block absolute = pointwise::roe_absolute(gas, left.w, right.w, n, fix);
            Block own = pointwise::flux_jacobian(gas, left.w, n), other = pointwise::flux_jacobian(gas, right.w, n);
#pragma unroll
            for (int i = 0; i < 25; i++) {
                own[i] = 0.5 * (own[i] + absolute[i]);
                other[i] = 0.5 * (other[i] - absolute[i]);
            }
#else
            const auto both = pointwise::flux_van_leer_jacobians(gas, left.w, right.w, n);
            Block own = both._0, other = both._1;
#endif
#if VISCOUS
            const pointwise::Transport<double> transport = params->transport();
            speed += pointwise::spectral_radius_viscous(gas, transport, left.w, n, volumes[row]);
            subtract_viscous(gas, transport, left, right, n, own, other);
#endif
#pragma unroll
            for (int i = 0; i < 25; i++) own_of[t * 25 + i] = own[i], block_of[t * 25 + i] = (Value)other[i];
            speed_of[t] = speed;
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
}

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

// Rows of nodes on walls without slip: momentum (and, where the wall's temperature is given, the internal energy) stays.
// `temperature` is no number on adiabatic walls. A warp a node.
extern "C" __global__ void __launch_bounds__(128)
wall_rows(u32 count, const u32* __restrict__ node_of, const double* __restrict__ temperature, const u32* __restrict__ row_ptr,
          const Params* __restrict__ params, Value* off, double* diag) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (at >= count) return;
    const u32 i = node_of[at];
    const double given = temperature[at];
    const bool isothermal = given == given;
    for (u64 e = (u64)row_ptr[i] * 25 + lane; e < (u64)row_ptr[i + 1] * 25; e += 32) {
        const u32 component = e % 5;
        if (component >= 1 && component < (isothermal ? 5 : 4)) off[e] = 0;
    }
    if (lane == 0) {
        Block block;
        for (int e = 0; e < 25; e++) block[e] = diag[(u64)i * 25 + e];
        const auto heat = isothermal ? pointwise::WallHeat::Isothermal : pointwise::WallHeat::Adiabatic;
        block = pointwise::strong_wall_diagonal(params->gas(), heat, isothermal ? given : 0.0, block);
        for (int e = 0; e < 25; e++) diag[(u64)i * 25 + e] = block[e];
    }
}

// Rows of nodes whose whole state is given: nothing depends on neighbors. A warp a node.
extern "C" __global__ void __launch_bounds__(128) held_rows(u32 count, const u32* __restrict__ node_of, const u32* __restrict__ row_ptr, Value* off) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (at >= count) return;
    const u32 i = node_of[at];
    for (u64 e = (u64)row_ptr[i] * 25 + lane; e < (u64)row_ptr[i + 1] * 25; e += 32) off[e] = 0;
}
