// What a step on structured grids does cell by cell: time steps, change in time and norms, update.
// Twins: structured/residual.rs (time steps), structured/mod.rs.

// tau = dt / V, with dt = CFL V / radius in steady flow, dt / (1 + rate dt) in unsteady flow; the least dt of each
// thread block. The radius is the largest of the axes' (mean = 0) or its geometric mean with the smallest. Of
// Newton-Krylov steps each cell takes a share.
extern "C" __global__ void __launch_bounds__(CHUNK, 5)
time_steps(TimeSteps) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    double dt = 1e300;
    if (cell.inside) {
        const u32 active = actives[cell.block],
                  stride[3] = {1, blocks[cell.block].stride[1], blocks[cell.block].stride[2]};
        const pointwise::Gas<double> gas = setup->gas();
        const State state = state_at(w, total, cell.at);
        const double v = volume[cell.at];
        const double sound = pointwise::sound_speed(gas, state);
        double largest = 1e-300, smallest = 1e300;
#if VISCOUS
        pointwise::Array<double, 2> diffusing = {0, 0};
        if (eddies) diffusing = setup->diffusing(pointwise::temperature(gas, state), eddies[cell.at]);
#endif
#pragma unroll
        for (int d = 0; d < 3; d++) {
            if (!(active >> d & 1)) continue;
            const double* from = area + 3 * d * total;
            const Vec3 low = area_at(from, total, cell.at), high = area_at(from, total, cell.at + stride[d]);
            const Vec3 n = {0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])};
            double radius = fabs(state[1] * n[0] + state[2] * n[1] + state[3] * n[2]) + sound * sqrt(dot(n, n));
#if VISCOUS
            radius += 2.0 * (eddies ? pointwise::spectral_radius_viscous_of(gas, diffusing, state, n, v)
                                    : pointwise::spectral_radius_viscous(gas, setup->transport(), state, n, v));
#endif
            largest = pointwise::real_max(largest, radius), smallest = pointwise::real_min(smallest, radius);
        }
        if (mean) largest = sqrt(largest * smallest);
        dt = cfl * v / largest;
        if (cfl_shares) dt *= cfl_shares[cell.number];
        dt = dt / (1.0 + rate * dt);
        tau[cell.at] = dt / v;
    }
    __shared__ double warps[CHUNK / 32];
    for (int s = 16; s; s >>= 1) dt = pointwise::real_min(dt, __shfl_down_sync(0xffffffffu, dt, s));
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = dt;
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int k = 1; k < CHUNK / 32; k++) dt = pointwise::real_min(dt, warps[k]);
        least[blockIdx.x] = dt;
    }
}

// The sum of jumps of pressure over the neighbors of each cell along the axes. Twin: structured/residual.rs.
extern "C" __global__ void __launch_bounds__(CHUNK)
find_jumps(FindJumps) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const double* const p = w + 4 * total + cell.at;
    const u32 active = actives[cell.block],
              stride[3] = {1, blocks[cell.block].stride[1], blocks[cell.block].stride[2]};
    double sum = 0;
#pragma unroll
    for (int d = 0; d < 3; d++)
        if (active >> d & 1) {
            const double below = *(p - stride[d]), above = *(p + stride[d]);
            sum += pointwise::pressure_jump(*p, below) + pointwise::pressure_jump(*p, above);
        }
    jumps[cell.at] = sum;
}

// r += V / dt (now q + last q_last + before q_before) in unsteady flow; partial sums of R^2 / V, five a thread block;
// the first cell with a residual or a state that is non-physical or not finite.
extern "C" __global__ void __launch_bounds__(CHUNK)
finish_residual(FinishResidual) {
    double sum[5] = {0, 0, 0, 0, 0};
    for (u32 chunk = blockIdx.x; chunk < chunk_count; chunk += gridDim.x) {
        const GridCell cell = grid_cell(blocks, chunks, chunk);
        bool bad = false;
        if (cell.inside) {
            State residual = state_at(r, total, cell.at);
            const double v = volume[cell.at];
            bool good = w[cell.at] > 0 && w[4 * total + cell.at] > 0;
            if (w_last) {
                const pointwise::Gas<double> gas = setup->gas();
                const State q = pointwise::conserved(gas, state_at(w, total, cell.at)),
                            q1 = pointwise::conserved(gas, state_at(w_last, total, cell.at));
                const State q2 = pointwise::conserved(gas, state_at(w_before, total, cell.at));
#pragma unroll
                for (int c = 0; c < 5; c++) {
                    // Differences first: they are small beside the values.
                    residual[c] += v * (now * (q[c] - q1[c]) + before * (q2[c] - q1[c]));
                    r[c * total + cell.at] = residual[c];
                }
            }
            const double inverse = 1.0 / v;
#pragma unroll
            for (int c = 0; c < 5; c++) {
                sum[c] += residual[c] * residual[c] * inverse;
                good = good && fabs(residual[c]) <= 1.7976931348623157e308;
            }
            bad = !good;
        }
        tell_first(bad, cell.number, first_bad);
    }
    block_sums(sum);
    if (threadIdx.x == 0)
        for (int c = 0; c < 5; c++) partials[blockIdx.x * 5 + c] = sum[c];
}
extern "C" __global__ void add_parts(AddParts) {
    sum_parts(ptr, width, partials, to);
}

// The state of q + share dq, dq being what the line systems left in r, into `next`; counts[0] cells whose update was
// cut, counts[1] the first cell left without a state. What a cell takes decides about its next share of the CFL number.
extern "C" __global__ void __launch_bounds__(CHUNK)
apply_update(ApplyUpdate) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    bool cut = false, bad = false;
    if (cell.inside) {
        const pointwise::Gas<double> gas = setup->gas();
        const State old = state_at(w, total, cell.at), dq = state_at(r, total, cell.at);
        State q = pointwise::conserved(gas, old);
        const State x = {-dq[0], -dq[1], -dq[2], -dq[3], -dq[4]};
        const double share_of_velocity = pointwise::velocity_share(gas, old, x, setup->max_velocity_change);
        const double share = update_share(gas, q, old, x, setup->max_change, setup->max_rise, share_of_velocity);
        if (cfl_shares) cfl_shares[cell.number] = pointwise::next_cfl_share(cfl_shares[cell.number], share);
#pragma unroll
        for (int c = 0; c < 5; c++) q[c] -= share * x[c];
        const State made = pointwise::primitive(gas, q);
        cut = share < 1.0;
        bool good = made[0] > 0 && made[4] > 0;
#pragma unroll
        for (int c = 0; c < 5; c++) {
            good = good && fabs(made[c]) <= 1.7976931348623157e308;
            next[c * total + cell.at] = made[c];
        }
        bad = !good;
    }
    tell_first(bad, cell.number, first_bad);
    const u32 count = __popc(__ballot_sync(0xffffffffu, cut));
    if (threadIdx.x % 32 == 0 && count) atomicAdd(limited, count);
}
