// Velocities in the cells of a structured grid as models of turbulence see them: gradients, quadratic constitutive
// relations, strain along the flow. Twin: velocities.rs.
//
// A Grid has velocity(at), volume(at), areas(axis, at), the sum of the areas of a cell's two faces along an axis,
// stride(axis), and has(axis), whether anything happens along it; and of one cell next(side, beyond, n): whether there
// is a cell beyond a side, its place and the area towards it.
typedef pointwise::Array<double, 6> Strain;

// d(u, v, w)_i / dx_k of a cell, from the means of both cells at each face.
template <class Grid> __device__ __forceinline__ Tensor velocity_gradient(const Grid& grid, u64 at) {
    Tensor gradient = {};
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++) {
        if (!grid.has(axis)) continue;
        const u32 s = grid.stride(axis);
        const Vec3 areas = grid.areas(axis, at), before = grid.velocity(at - s), after = grid.velocity(at + s);
#pragma unroll
        for (int i = 0; i < 3; i++) {
            const double change = 0.25 * (after[i] - before[i]) / grid.volume(at);
#pragma unroll
            for (int k = 0; k < 3; k++) gradient[i][k] += change * areas[k];
        }
    }
    return gradient;
}

// DS_ij/Dt of a cell in steady flow: the sum over its faces that are no boundary of U (S_j - S_i) / 2 over the volume,
// U the volume that leaves.
template <class Grid> __device__ __forceinline__ Strain change_of_strain(const Grid& grid, u64 at) {
    const Strain own = pointwise::strain_rates(velocity_gradient(grid, at));
    Strain change = {};
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        u64 beyond;
        Vec3 n;
        if (!grid.next(side, beyond, n)) continue;
        const Vec3 a = grid.velocity(at), b = grid.velocity(beyond);
        double passing = 0;
#pragma unroll
        for (int c = 0; c < 3; c++) passing += 0.5 * (a[c] + b[c]) * n[c];
        const Strain there = pointwise::strain_rates(velocity_gradient(grid, beyond));
        const double leaving = 0.5 * passing / grid.volume(at);
#pragma unroll
        for (int c = 0; c < 6; c++) change[c] += leaving * (there[c] - own[c]);
    }
    return change;
}

// The sum over a cell's faces that are no boundary of what a quadratic relation adds to the viscous flux outwards:
// nothing of mass, momentum, its work. `relation` fw of cells of QCR2020, none of QCR2000; `full`: gradients have the
// changes along faces.
template <class Grid>
__device__ __forceinline__ pointwise::Array<double, 5> quadratic_flux(const Grid& grid, u64 at, const double* eddies,
                                                                      const double* relation, bool full) {
    pointwise::Array<double, 5> sum = {};
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        u64 beyond;
        Vec3 n;
        if (!grid.next(side, beyond, n) || dot(n, n) == 0) continue;
        const Vec3 own = grid.velocity(at), other = grid.velocity(beyond);
        pointwise::Array<Vec3, 4> gradient = {};
        const double across = 1.0 / (0.5 * (grid.volume(at) + grid.volume(beyond)));
#pragma unroll
        for (int i = 0; i < 3; i++)
#pragma unroll
            for (int k = 0; k < 3; k++) gradient[i][k] = across * (other[i] - own[i]) * n[k];
        if (full) {
#pragma unroll 1
            for (int end = 0; end < 2; end++) {
                const u64 here = end ? beyond : at;
                const double scale = 0.125 / grid.volume(here);
#pragma unroll 1
                for (u32 along = 0; along < 3; along++) {
                    if (along == side / 2 || !grid.has(along)) continue;
                    const u32 s = grid.stride(along);
                    const Vec3 areas = grid.areas(along, here), before = grid.velocity(here - s),
                               after = grid.velocity(here + s);
#pragma unroll
                    for (int i = 0; i < 3; i++)
#pragma unroll
                        for (int k = 0; k < 3; k++) gradient[i][k] += scale * (after[i] - before[i]) * areas[k];
                }
            }
        }
        const pointwise::Array<double, 4> face = {0.5 * (own[0] + other[0]), 0.5 * (own[1] + other[1]),
                                                  0.5 * (own[2] + other[2]), 0.0};
        const double viscosity = 0.5 * (eddies[at] + eddies[beyond]);
        const auto flux =
            relation ? pointwise::flux_quadratic_2020(viscosity, 0.5 * (relation[at] + relation[beyond]), face,
                                                      gradient, n)
                     : pointwise::flux_quadratic(viscosity, face, gradient, n);
#pragma unroll
        for (int c = 1; c < 5; c++) sum[c] += flux[c];
    }
    return sum;
}
