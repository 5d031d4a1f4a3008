// Spalart-Allmaras on structured grids: viscosities, residual, the numbers of its matrix.
// Twin: structured/turbulence/spalart_allmaras.rs.
//
// Constants: CURVED 1 with SA-RC; HYBRID as hybrid.cuh has it.

// What the matrix takes of sources and changes in time, numbers a cell: of nut's.
#define SLOPES 1

__device__ __forceinline__ pointwise::SpalartAllmaras<double> model_of(const Field& f) {
    return {static_cast<pointwise::SaVariant>((int)f.model->variant), f.setup->viscosity};
}

// nu and the eddy viscosity of all cells and ghosts.
extern "C" __global__ void __launch_bounds__(256)
viscosities(Viscosities) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= total) return;
    const Field f = FIELD;
    const State own = f.state(at);
    const double mu = pointwise::viscosity(setup->transport(), pointwise::temperature(setup->gas(), own));
    const auto both = pointwise::sa_viscosities(model_of(f), own[0], mu, values[at]);
    nu[at] = both[0], eddies[at] = both[1];
}

// Values of both ghosts beyond a wall without slip, from those of two cells.
template <class T>
__device__ __forceinline__ void beyond_wall(const Numbers<T>& f, u64 at, u64 inner, u64, double, const LawNode*,
                                            pointwise::Array<T, 2> (&ghosts)[1]) {
    ghosts[0] = {-f.value(0, at), -f.value(0, inner)};
}

__device__ __forceinline__ double diffusivity(const Field& f, u64 at, u64 beyond) {
    const Pair nu = {f.aux[at], f.aux[beyond]}, nut = {f.values[at], f.values[beyond]};
    return pointwise::sa_diffusivity(model_of(f), nu, nut);
}
// What a wall with a law takes of nut over its value in the cell: negative where |grad nut|^2 brings it.
__device__ __forceinline__ double to_wall(const Field& f, u64 at, const Vec3& n) {
    const double near = 2.0 * dot(n, n) / f.volume[at];
    return near * pointwise::sa_diffusivity_to_wall(model_of(f), f.aux[at], f.values[at]);
}
__device__ __forceinline__ Link link_of(const Field& f, u32 kind, u64 at, u64 beyond, const Vec3& n) {
    Link link = {0, {0}};
    if (kind == SLIP) return link;
    if (LAWS && kind == WALL) {
        link.spread[0] = fmax(to_wall(f, at, n), 0.0);
        return link;
    }
    if (kind != WALL) {
        const State a = f.state(at), b = f.state(beyond);
#pragma unroll
        for (int c = 0; c < 3; c++) link.passing += 0.5 * (a[1 + c] + b[1 + c]) * n[c];
    }
    if (kind != OPEN) {
        // Walls are half a cell away.
        const double size = 0.5 * (kind == WALL ? f.volume[at] : f.volume[at] + f.volume[beyond]);
        link.spread[0] = diffusivity(f, at, beyond) * dot(n, n) / size;
    }
    return link;
}

// grad nut . n of a cell's changes along the axes other than this one.
__device__ __forceinline__ double along(const Field& f, const Steps& steps, u32 axis, u64 at, const Vec3& n) {
    double sum = 0;
#pragma unroll
    for (u32 other = 0; other < 3; other++) {
        if (other == axis || !steps.has(other)) continue;
        const u32 s = steps.stride[other];
        sum += (f.values[at + s] - f.values[at - s]) * dot(f.areas(other, s, at), n);
    }
    return 0.25 * sum / f.volume[at];
}

// What leaves through a face between cells besides what the matrix has of it.
__device__ __forceinline__ double rest_of(const Field& f, const Steps& steps, const Link& link, u32 axis, u64 at,
                                          u64 beyond, const Vec3& n) {
    double rest = 0;
    if (f.model->full != 0 && link.spread[0] > 0)
        rest -= 0.5 * diffusivity(f, at, beyond) *
                (along(f, steps, axis, at, n) + along(f, steps, axis, beyond, n));
    if (f.model->second_order != 0) {
        const double behind = f.values[2 * at - beyond], far = f.values[2 * beyond - at];
        const double own = f.values[at], other = f.values[beyond], kappa = f.model->kappa;
        const double left = pointwise::extrapolate(own, other, 0.5 * (other - behind), kappa, 1.0);
        const double right = pointwise::extrapolate(other, own, -0.5 * (far - own), kappa, 1.0);
        rest += fmax(link.passing, 0.0) * (left - own) + fmin(link.passing, 0.0) * (right - other);
    }
    return rest;
}

// d(u, v, w)_i / dx_k of a cell with the shear of the law that a wall next to it has.
__device__ __forceinline__ Tensor sheared(const Velocities& velocities, const LawNode* law) {
    const Field& f = velocities.f;
    const u64 at = velocities.cell.at;
    const Tensor gradient = velocity_gradient(velocities, at);
    if (!law) return gradient;
    return pointwise::law_gradient(f.setup->gas(), f.setup->transport(), law->place, f.state(at), gradient);
}

// fw of cells, which the constants of QCR2020 go by. Twin: stress.rs.
extern "C" __global__ void __launch_bounds__(CHUNK)
find_relation(FindRelation) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Field f = FIELD;
    const GridBlock& block = blocks[cell.block];
    const Steps steps(block, actives[cell.block]);
    const Sides sides = {side_table, side_table};
    const Tensor gradient =
        sheared(Velocities{f, block, steps, cell, sides}, law_beside(block, steps, cell, sides, laws));
    relation[cell.at] =
        pointwise::sa_relation(model_of(f), f.aux[cell.at], f.values[cell.at], gradient, near[cell.number].x);
}

// What leaves each cell less what its source brings, with the change in time in unsteady runs, and what the matrix
// takes of source and change.
extern "C" __global__ void __launch_bounds__(CHUNK)
residual(SaResidual) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Field f = FIELD;
    const GridBlock& block = blocks[cell.block];
    const Steps steps(block, actives[cell.block]);
    const Sides sides = {side_table, side_table};
    const u64 at = cell.at;
    const double own = values[at];
    double sum = 0;
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        if (!steps.has(side / 2)) continue;
        const Outside out(f, block, steps, cell, sides, side);
        const u32 kind = out.face == NONE ? INSIDE : kinds[out.face];
        const u64 beyond = out.beyond;
        const Vec3 n = out.n;
        const Link link = link_of(f, kind, at, beyond, n);
        const double other = kind == INSIDE ? values[beyond] : kind == OPEN ? model->inflow[0] : 0.0;
        double leaves = -link.coupling(0) * (other - own);
        if (kind == INSIDE) leaves += rest_of(f, steps, link, out.axis, at, beyond, n);
        if (LAWS && kind == WALL) leaves += fmin(to_wall(f, at, n), 0.0) * own;
        sum += leaves;
    }
    const Velocities velocities = {f, block, steps, cell, sides};
    const Tensor gradient = sheared(velocities, law_beside(block, steps, cell, sides, laws));
    double omega = pointwise::vorticity(gradient), produced = near[cell.number].y;
    if (f.model->rotating != 0) omega = pointwise::sa_rotating(omega, pointwise::deformation(gradient)[0]);
#if CURVED
    produced *= pointwise::sa_turning(gradient, change_of_strain(velocities, at));
#endif
    double length = near[cell.number].x;
#if HYBRID
    const Vec3 grid = grid_lengths(cell.number, lengths, corner_ptr, arms, gradient);
    length = pointwise::sa_hybrid_length(model_of(f), HYBRID_FORM, f.aux[at], own, length, grid, gradient)[0];
#endif
    const Pair source = pointwise::sa_source_turning(model_of(f), f.aux[at], own, omega, length, produced);
    sum -= volume[at] * source[0];
    double slope = fmax(-source[1], 0.0);
    if (values_last) {
        const Pair factors = {last, before}, unit = {1.0, 1.0}, earlier = {values_last[at], values_before[at]};
        sum += volume[at] * pointwise::rate_of_carried(factors, unit, own, earlier);
        slope += pointwise::rate_slope_of_carried(factors, unit);
    }
    r[at] = sum, slopes[at] = slope;
}

// A value less its update.
__device__ __forceinline__ double updated(const Model& model, int, double value, double x) {
    const bool free = static_cast<pointwise::SaVariant>((int)model.variant) == pointwise::SaVariant::Negative;
    return free ? value - x : pointwise::sa_kept(value, x);
}
// Whether the update was cut.
__device__ __forceinline__ bool is_cut(double value, double x, double made) { return made > value - x; }
// Whether a value is in its range.
__device__ __forceinline__ bool is_good(int, double value) { return fabs(value) <= 1.7976931348623157e308; }
// The slope of a cell's residual by its unknowns, column-major, over its volume, and what V/dt has at least over it.
__device__ __forceinline__ double slope_of(const double* slopes, u64, u64 at, double (&block)[1]) {
    block[0] = slopes[at];
    return 0;
}
