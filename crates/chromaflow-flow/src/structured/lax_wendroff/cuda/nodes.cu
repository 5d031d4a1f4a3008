// What nodes of the Lax-Wendroff scheme get, a thread a node. Twins: lax_wendroff/nodes.rs, shared_nodes.rs,
// multigrid.rs, mod.rs.

#if !COARSE
// Ghost nodes {ghost, node, next, one further}: the node's values where there is no next one, else a parabola through
// the three (a line where there is no third). Pressures beyond the boundary keep to a tenth of those on it.
extern "C" __global__ void __launch_bounds__(128)
fill_ghosts(FillGhosts) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const uint4 here = ghosts[n];
    for (int c = 0; c < 6; c++) {
        const double* of = q + c * total;
        double value = of[here.y];
        if (here.z != NONE) {
            value = here.w != NONE ? 3.0 * (of[here.y] - of[here.z]) + of[here.w] : 2.0 * of[here.y] - of[here.z];
            if (c == 5) value = pointwise::real_max(value, 0.1 * of[here.y]);
        }
        q[c * total + here.x] = value;
    }
}

// Second and fourth differences along one axis: what they give to a node, from the radii of its edges.
__device__ __forceinline__ void smooth(const double* __restrict__ q, u64 total, u64 at, u32 step,
                                       const pointwise::Dissipation<double>& dissipation, double ahead, double back,
                                       State& sum) {
    const double* p = q + 5 * total + at - 2 * (u64)step;
    const pointwise::Array<double, 5> line = {p[0], p[step], p[2 * step], p[3 * step], p[4 * step]};
    const double s0 = pointwise::pressure_switch(line[0], line[1], line[2]),
                 s1 = pointwise::pressure_switch(line[1], line[2], line[3]);
    const double s2 = pointwise::pressure_switch(line[2], line[3], line[4]);
    const auto below = pointwise::smoothing_weights(dissipation, s0, s1),
               above = pointwise::smoothing_weights(dissipation, s1, s2);
#pragma unroll
    for (int c = 0; c < 5; c++) {
        const double* u = q + c * total + at - 2 * (u64)step;
        const pointwise::Array<double, 5> values = {u[0], u[step], u[2 * step], u[3 * step], u[4 * step]};
        sum[c] += pointwise::smoothing(values, above, below, ahead, back);
    }
}
#endif

// What the eight cells around each node give it, over its control volume: the next state and its pressure, [6], and its
// time step; on coarse grids the change, [5]. Copies of shared nodes get their sums as they are.
extern "C" __global__ void __launch_bounds__(CHUNK)
node_changes(NodeChanges) {
    const GridCell node = grid_cell(blocks, chunks, blockIdx.x);
    if (!node.inside) return;
    const GridBlock b = blocks[node.block];
    const CellCount count(b);
    const u32 active = actives[node.block];
    State sum = {0, 0, 0, 0, 0};
#if !COARSE
    double dt = 1.7976931348623157e308, ahead[3] = {0, 0, 0}, back[3] = {0, 0, 0};
#endif
#pragma unroll
    for (u32 around = 0; around < 8; around++) {
        const u32 upper[3] = {around & 1, around >> 1 & 1, around >> 2};
        const u64 at = node.at - (1 - upper[0]) - (1 - upper[1]) * b.stride[1] - (1 - upper[2]) * b.stride[2];
        const double* from = kept + at;
#pragma unroll
        for (int c = 0; c < 5; c++) {
            double value = from[c * total];
#pragma unroll
            for (u32 d = 0; d < 3; d++) {
                const double second = from[(SECOND_ORDER + 5 * d + c) * total];
                value += upper[d] == 0 ? second : -second;
            }
            sum[c] += 0.125 * value;
        }
#if !COARSE
        const double step = from[STEP * total];
        if (step > 0) dt = pointwise::real_min(dt, step);
#pragma unroll
        for (u32 d = 0; d < 3; d++) {
            const double radius = 0.25 * from[(RADII + d) * total];
            if (upper[d] == 0) back[d] += radius; else ahead[d] += radius;
        }
#endif
    }
#if !COARSE
#pragma unroll
    for (u32 d = 0; d < 3; d++)
        if (active >> d & 1) smooth(q, total, node.at, b.stride[d], setup->dissipation(), ahead[d], back[d], sum);
#endif
    // Second-order terms across the boundary have no partner beyond it.
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        const bool high = node.index[d] == count.of[d];
        if (!(active >> d & 1) || !(high || node.index[d] == 0)) continue;
        for (u32 around = 0; around < 4; around++) {
            const u32 u = d == 2 ? 0 : d + 1, w = d == 0 ? 2 : d - 1;
            u32 cell[3] = {node.index[0], node.index[1], node.index[2]};
            for (u32 e = 0; e < 3; e++) {
                if (e == d) cell[e] -= high;
                if (e == u) cell[e] -= around & 1;
                if (e == w) cell[e] -= around >> 1;
            }
            if (!count.has(cell)) continue;
            const u32 face = Sides{side_ptr, face_of}.face(node.block, count.of, d, high, cell);
            if (face != NONE)
                for (int c = 0; c < 5; c++) sum[c] -= dropped[c * faces + face];
        }
    }
    const double v = node_volume[node.at];
    if (v < 0) {
#pragma unroll
        for (int c = 0; c < 5; c++) next[c * total + node.at] = sum[c];
#if !COARSE
        steps[node.at] = dt;
#endif
        return;
    }
#if COARSE
#pragma unroll
    for (int c = 0; c < 5; c++) next[c * total + node.at] = sum[c] / v;
#else
    State made;
#pragma unroll
    for (int c = 0; c < 5; c++) next[c * total + node.at] = made[c] = q[c * total + node.at] + dt * sum[c] / v;
    next[5 * total + node.at] = pointwise::primitive(setup->gas(), made)[4];
    steps[node.at] = dt;
#endif
}

// Sums over the copies of each shared node, then as above; a thread a node.
extern "C" __global__ void __launch_bounds__(128)
join_copies(JoinCopies) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    State sum = {0, 0, 0, 0, 0};
#if !COARSE
    double dt = 1.7976931348623157e308;
#endif
    for (u32 k = ptr[n]; k < ptr[n + 1]; k++) {
        for (int c = 0; c < 5; c++) sum[c] += next[c * total + copies[k]];
#if !COARSE
        dt = pointwise::real_min(dt, steps[copies[k]]);
#endif
    }
    const u64 first = copies[ptr[n]];
    const double v = -node_volume[first];
    for (int c = 0; c < 5; c++) {
#if COARSE
        sum[c] = sum[c] / v;
#else
        sum[c] = q[c * total + first] + dt * sum[c] / v;
#endif
    }
    for (u32 k = ptr[n]; k < ptr[n + 1]; k++) {
        for (int c = 0; c < 5; c++) next[c * total + copies[k]] = sum[c];
#if !COARSE
        next[5 * total + copies[k]] = pointwise::primitive(setup->gas(), sum)[4];
        steps[copies[k]] = dt;
#endif
    }
}

#if COARSE
// States of the coarse nodes, of each block's `factors` fine cells a side of a coarse one.
extern "C" __global__ void __launch_bounds__(CHUNK)
inject(Inject) {
    const GridCell node = grid_cell(blocks, chunks, blockIdx.x);
    if (!node.inside) return;
    const GridBlock fine = finest[node.block];
    u64 at = fine.offset;
    for (u32 d = 0; d < 3; d++) at += (u64)(node.index[d] * factors[3 * node.block + d] + 2) * fine.stride[d];
    for (int c = 0; c < 5; c++) q[c * total + node.at] = from[c * finest_total + at];
}

// Adds changes of coarse nodes to the fine ones between them, and makes the pressure.
extern "C" __global__ void __launch_bounds__(CHUNK)
interpolate(Interpolate) {
    const GridCell node = grid_cell(finest, chunks, blockIdx.x);
    if (!node.inside) return;
    const GridBlock coarse = blocks[node.block];
    u64 at = coarse.offset;
    double share[3];
    for (u32 d = 0; d < 3; d++) {
        const u32 factor = factors[3 * node.block + d], low = min(node.index[d] / factor, coarse.count[d] - 2);
        share[d] = (double)(node.index[d] - low * factor) / (double)factor;
        at += (u64)(low + 2) * coarse.stride[d];
    }
    State sum = state_at(q, finest_total, node.at);
#pragma unroll
    for (u32 corner = 0; corner < 8; corner++) {
        const double weight = (corner & 1 ? share[0] : 1.0 - share[0]) * (corner >> 1 & 1 ? share[1] : 1.0 - share[1]) *
                              (corner >> 2 ? share[2] : 1.0 - share[2]);
        const u64 from = at + (corner & 1) + (corner >> 1 & 1) * coarse.stride[1] + (corner >> 2) * coarse.stride[2];
#pragma unroll
        for (int c = 0; c < 5; c++) sum[c] += weight * change[c * total + from];
    }
#pragma unroll
    for (int c = 0; c < 5; c++) q[c * finest_total + node.at] = sum[c];
    q[5 * finest_total + node.at] = pointwise::primitive(setup->gas(), sum)[4];
}
#else
// Squares of what a step changed over its time step, five partial sums a thread block; the first node
// whose state is non-physical or not finite.
extern "C" __global__ void __launch_bounds__(CHUNK)
rates(Rates) {
    double sum[5] = {0, 0, 0, 0, 0};
    for (u32 chunk = blockIdx.x; chunk < chunk_count; chunk += gridDim.x) {
        const GridCell node = grid_cell(blocks, chunks, chunk);
        bool bad = false;
        if (node.inside) {
            const double time = steps[node.at], v = own_volume[node.at];
            bool good = q[node.at] > 0 && q[5 * total + node.at] > 0;
#pragma unroll
            for (int c = 0; c < 5; c++) {
                const double value = q[c * total + node.at], rate = (value - before[c * total + node.at]) / time;
                sum[c] += rate * rate * v;
                good = good && fabs(value) <= 1.7976931348623157e308;
            }
            bad = !good;
        }
        tell_first(bad, node.number, first_bad);
    }
    block_sums(sum);
    if (threadIdx.x == 0)
        for (int c = 0; c < 5; c++) partials[blockIdx.x * 5 + c] = sum[c];
}
extern "C" __global__ void add_parts(AddParts) {
    sum_parts(ptr, width, partials, to);
}
#endif
