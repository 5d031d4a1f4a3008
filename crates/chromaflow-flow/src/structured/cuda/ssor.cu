// Symmetric successive over-relaxation of the unfactored operator, plane i + j + k = const after plane. Twin:
// structured/ssor.rs.
//
// `open` are areas with zeros where the boundary's fluxes take the place of those between cells; `damping` [3][total]
// the dissipation of the lower faces of cells; `x` [5][total] the update so far, zero beyond boundaries.

// Dissipation of the lower faces of all cells and of the faces at the upper ends.
extern "C" __global__ void __launch_bounds__(CHUNK)
face_damping(FaceDamping) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    const GridBlock block = blocks[cell.block];
    const pointwise::Gas<double> gas = setup->gas();
    const u32 active = actives[cell.block];
    auto face = [&](u32 d, u64 at) {
        const u64 below = at - pick(block.stride, d);
        const State b = state_at(w, total, below), c = state_at(w, total, at);
        const Vec3 n = area_at(open + 3 * d * total, total, at);
        double sum = 0.5 * setup->implicit_dissipation *
                     (pointwise::spectral_radius(gas, b, n) + pointwise::spectral_radius(gas, c, n));
#if VISCOUS
        sum += pointwise::spectral_radius_viscous(gas, setup->transport(), pointwise::middle_state(b, c), n,
                                                  0.5 * (volume[below] + volume[at]));
#endif
        damping[d * total + at] = sum;
    };
    if (!cell.inside) return;
#pragma unroll 1
    for (u32 d = 0; d < 3; d++) {
        if (!(active >> d & 1)) continue;
        face(d, cell.at);
        if (pick(cell.index, d) + 1 == pick(block.count, d)) face(d, cell.at + pick(block.stride, d));
    }
}

// 1 + tau D of a cell.
__device__ __forceinline__ double own_number(u64 total, u64 at, u32 active, const GridBlock& block,
                                             const double* __restrict__ damping, double tau) {
    double sum = 0;
#pragma unroll
    for (u32 d = 0; d < 3; d++)
        if (active >> d & 1) sum += damping[d * total + at] + damping[d * total + at + pick(block.stride, d)];
    return 1.0 + tau * sum;
}

// Factored blocks [25][count] of the cells {block, i, j, k} next to the boundary: its faces add their own derivatives,
// and half the cell's Jacobian with the area of its open faces, which is that of the closed ones turned round.
extern "C" __global__ void __launch_bounds__(128) boundary_cells(BoundaryCells) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const uint4 here = cells[n];
    const GridBlock block = blocks[here.x];
    const u32 cell[3] = {here.y, here.z, here.w}, active = actives[here.x];
    const u64 at = block.offset + (u64)(here.y + 2) * block.stride[0] + (u64)(here.z + 2) * block.stride[1] +
                   (u64)(here.w + 2) * block.stride[2];
    const double tau = taus[at];
    const State state = state_at(w, total, at);
    const Sides sides = {side_ptr, face_of};
    Block full;
#pragma unroll
    for (int e = 0; e < 25; e++) full[e] = 0;
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        const u32 axis = side / 2, high = side % 2;
        if (!(active >> axis & 1) || pick(cell, axis) != (high ? pick(block.count, axis) - 1 : 0)) continue;
        const u32 face = sides.face(here.x, block.count, axis, high, cell);
        if (face == NONE) continue;
        Vec3 normal = area_at(area + 3 * axis * total, total, high ? at + pick(block.stride, axis) : at);
        if (!high) normal = {-normal[0], -normal[1], -normal[2]};
        const Block own = pointwise::flux_jacobian(setup->gas(), state, normal);
#pragma unroll
        for (int e = 0; e < 25; e++) full[e] += jacobians[(u64)e * faces + face] - 0.5 * own[e];
    }
    const double number = own_number(total, at, active, block, damping, tau);
#pragma unroll
    for (int e = 0; e < 25; e++) full[e] = tau * full[e] + (e % 6 == 0 ? number : 0.0);
    factor<5>(full);
#pragma unroll
    for (int e = 0; e < 25; e++) factors[(u64)e * count + n] = full[e];
}

// One plane of all blocks: groups {block, first of its cells in `order`, how many}; the cells {place, number of the
// factored block or NONE} of `order` are those of a block and plane one after another.
extern "C" __global__ void __launch_bounds__(128) sweep_plane(SweepPlane) {
    const uint4 group = groups[blockIdx.x];
    if (threadIdx.x >= group.z) return;
    const GridBlock block = blocks[group.x];
    const u32 active = actives[group.x];
    const uint2 cell = order[group.y + threadIdx.x];
    const u64 at = cell.x;
    const pointwise::Gas<double> gas = setup->gas();
    State sum = {0, 0, 0, 0, 0};
    double number = 0;
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        if (!(active >> d & 1)) continue;
#pragma unroll
        for (u32 high = 0; high < 2; high++) {
            const u64 step = pick(block.stride, d), other = high ? at + step : at - step, face = high ? at + step : at;
            const State dx = state_at(x, total, other);
            const State change =
                pointwise::flux_change(gas, state_at(w, total, other), area_at(open + 3 * d * total, total, face), dx);
            const double damped = damping[d * total + face], sign = high ? 0.5 : -0.5;
            number += damped;
#pragma unroll
            for (int v = 0; v < 5; v++) sum[v] += sign * change[v] - damped * dx[v];
        }
    }
    const double tau = taus[at];
    State value;
#pragma unroll
    for (int v = 0; v < 5; v++) value[v] = -(tau * (r[v * total + at] + sum[v]));
    if (cell.y == NONE) {
        const double inverse = pointwise::quotient(1.0, 1.0 + tau * number);
#pragma unroll
        for (int v = 0; v < 5; v++) value[v] *= inverse;
    } else {
        Block lu;
#pragma unroll
        for (int e = 0; e < 25; e++) lu[e] = factors[(u64)e * dense + cell.y];
        solve<5>(lu, value);
    }
#pragma unroll
    for (int v = 0; v < 5; v++) {
        const double own = x[v * total + at];
        x[v * total + at] = own + relaxation * (value[v] - own);
    }
}
