// What happens in the cells of the Lax-Wendroff scheme, a thread a cell. Twin: lax_wendroff/cells.rs.

__device__ __forceinline__ double radius_of(const Setup* __restrict__ setup, const State& mean, const Vec3& n,
                                            double volume) {
    double radius = pointwise::spectral_radius(setup->gas(), mean, n);
#if VISCOUS
    radius += 2.0 * pointwise::spectral_radius_viscous(setup->gas(), setup->transport(), mean, n, volume);
#endif
    return radius;
}

#if COARSE
// Changes of the next finer grid's nodes: `now`, less `before` where it is given.
struct Finer {
    const double *now, *before;
    u64 total;
    const GridBlock* blocks;
    __device__ double change(u32 c, u64 at) const {
        return before ? now[c * total + at] - before[c * total + at] : now[c * total + at];
    }
    // Around the node in the middle of a coarse cell: it counts a half along each axis, its neighbors a quarter each.
    // An axis of a single cell stays: the middle lies between two nodes.
    __device__ State around(u32 block, const GridBlock& coarse, const u32* cell) const {
        const GridBlock fine = blocks[block];
        u32 width[3];
        u64 first = fine.offset;
        for (u32 d = 0; d < 3; d++) {
            const bool same = fine.count[d] == coarse.count[d];
            width[d] = same ? 2 : 3;
            first += (u64)((same ? cell[d] : 2 * cell[d]) + 2) * fine.stride[d];
        }
        State sum = {0, 0, 0, 0, 0};
        for (u32 k = 0; k < width[2]; k++)
            for (u32 j = 0; j < width[1]; j++)
                for (u32 i = 0; i < width[0]; i++) {
                    const double wi = width[0] == 2 || i == 1 ? 0.5 : 0.25, wj = width[1] == 2 || j == 1 ? 0.5 : 0.25;
                    const double wk = width[2] == 2 || k == 1 ? 0.5 : 0.25, weight = wi * wj * wk;
                    const u64 at = first + i + (u64)j * fine.stride[1] + (u64)k * fine.stride[2];
#pragma unroll
                    for (int c = 0; c < 5; c++) sum[c] += weight * change(c, at);
                }
        return sum;
    }
};
#endif

// V dU / dt of each cell, the terms (A dU - 2 F_viscous) . S of each axis, the radii, dt: [24]. The time step is
// `given`, or `courant` V over the largest radius where that is zero. On coarse grids dU is the finer grid's, and the
// rates are times dt / V. The second-order terms of nodes on the boundary, an eighth with the sign of the side, go to
// `dropped`, [5][faces].
extern "C" __global__ void __launch_bounds__(CHUNK)
cell_changes(CellChanges) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    const GridBlock b = blocks[cell.block];
    const CellCount count(b);
    if (!cell.inside || !count.has(cell.index)) return;
    const Sides sides = {side_ptr, face_of};
    const u32 active = actives[cell.block];
    const pointwise::Gas<double> gas = setup->gas();
    const Corners corners = corners_at(q, total, cell.at, b.stride);
    const Areas areas = areas_at(area, total, cell.at, b.stride);
    const State mean = pointwise::corner_mean(gas, corners);
    const double v = volume[cell.at];
    double largest = 1e-300;
    u32 face[3][2];
#if !COARSE
    State sum = {0, 0, 0, 0, 0};
#endif
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        face[d][0] = face[d][1] = NONE;
        if (!(active >> d & 1)) continue;
#pragma unroll
        for (u32 high = 0; high < 2; high++) {
            if (cell.index[d] == (high ? count.of[d] - 1 : 0))
                face[d][high] = sides.face(cell.block, count.of, d, high, cell.index);
#if !COARSE
            if (face[d][high] == NONE) {
                const State through =
                    pointwise::flux(gas, pointwise::corner_face(gas, corners, d, high), areas[d][high]);
#pragma unroll
                for (int c = 0; c < 5; c++) sum[c] += high ? through[c] : -through[c];
            } else {
#pragma unroll
                for (int c = 0; c < 5; c++) sum[c] += boundary_fluxes[c * faces + face[d][high]];
            }
#endif
        }
        largest = pointwise::real_max(largest, radius_of(setup, mean, mean_area(areas, d), v));
    }
    const double dt = given > 0 ? given : courant * v / largest;
    State change, du;
#if COARSE
    du = Finer{now, before, finer_total, finer_blocks}.around(cell.block, b, cell.index);
#pragma unroll
    for (int c = 0; c < 5; c++) change[c] = du[c];
    const double scale = dt / v;
#else
#pragma unroll
    for (int c = 0; c < 5; c++) change[c] = -sum[c], du[c] = dt * change[c] / v;
    const double scale = 1;
#endif
#if VISCOUS
    const auto middle = pointwise::velocity_and_temperature(gas, mean);
    const auto gradient = pointwise::corner_gradient(gas, corners, areas, v);
#endif
    double* to = kept + cell.at;
#pragma unroll
    for (int c = 0; c < 5; c++) to[c * total] = change[c];
    to[STEP * total] = dt;
#pragma unroll
    for (u32 d = 0; d < 3; d++) {
        if (!(active >> d & 1)) continue;
        const Vec3 n = mean_area(areas, d);
        State second = pointwise::flux_change(gas, mean, n, du);
#pragma unroll
        for (u32 high = 0; high < 2; high++)
            if (face[d][high] != NONE)
                for (int c = 0; c < 5; c++)
                    dropped[c * faces + face[d][high]] = (high ? 0.125 : -0.125) * (scale * second[c]);
#if VISCOUS
        const State viscous = pointwise::flux_viscous(gas, setup->transport(), middle, gradient, n);
#pragma unroll
        for (int c = 0; c < 5; c++) second[c] -= 2.0 * viscous[c];
#endif
#pragma unroll
        for (int c = 0; c < 5; c++) to[(SECOND_ORDER + 5 * d + c) * total] = scale * second[c];
        to[(RADII + d) * total] = pointwise::spectral_radius(gas, mean, n);
    }
}

#if !COARSE
// The local time step of each cell.
extern "C" __global__ void __launch_bounds__(CHUNK)
cell_steps(CellSteps) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    const GridBlock b = blocks[cell.block];
    if (!cell.inside || !CellCount(b).has(cell.index)) return;
    const State mean = pointwise::corner_mean(setup->gas(), corners_at(q, total, cell.at, b.stride));
    const Areas areas = areas_at(area, total, cell.at, b.stride);
    double largest = 1e-300;
#pragma unroll
    for (u32 d = 0; d < 3; d++)
        if (actives[cell.block] >> d & 1)
            largest = pointwise::real_max(largest, radius_of(setup, mean, mean_area(areas, d), volume[cell.at]));
    steps[cell.at] = courant * volume[cell.at] / largest;
}
#endif
