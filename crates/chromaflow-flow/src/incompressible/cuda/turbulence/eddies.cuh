// A turbulence model on the grid: what passes faces and the boundary, weights, updates. Behind cells.cuh.
// Twins: turbulence/mod.rs, faces.rs, boundary.rs.
//
// Constants: EDDIES unknowns, 1 nut or 2 k and omega; VARIANT of the latter, as KOmegaVariant counts; HYBRID which
// hybrid, as HybridForm counts from 1, 0 for none; LAWS 1 of the wall, 2 with a blended omega, 0 none; CURVED 1 with
// SA-RC; QUADRATIC 1 QCR2000, 2 QCR2020, 0 none.
//
// Of cells and ghosts, `coefficients` [2, 3 or 5][cells]: eddy viscosity, what k and omega diffuse by, the derivatives
// of the first by the unknowns, of QCR2020 fw; beyond walls with laws the eddy viscosity of their friction, y+. Of
// rows, `sources`
// [2 or 5][rows]: those of the unknowns and their derivatives, of nut by nut, of k by k and by omega, of omega by
// omega; `distance` from walls.
#if EDDIES == 1
#define BY 1
#else
#define DIFFUSING 1
#define BY 3
#endif
// Of nut alone.
#define RELATION 2
// What a patch is, in the order of `class` in boundary.rs.
#define WALL 0
#define MIRROR 1
#define OPEN 2

#if EDDIES == 1
__device__ __forceinline__ pointwise::SpalartAllmaras<double> model_of(const Fluid* __restrict__ fluid) {
    return {static_cast<pointwise::SaVariant>((int)fluid->model.variant), fluid->viscosity};
}
#else
__device__ __forceinline__ pointwise::KOmega<double> model_of(const Fluid* __restrict__ fluid) {
    return {static_cast<pointwise::KOmegaVariant>(VARIANT), fluid->model.ambient_k, fluid->model.ambient_omega,
            fluid->model.roughness};
}
#endif
// The model's law of the wall.
__device__ __forceinline__ pointwise::WallLaw law_of_wall() {
    return EDDIES == 1 ? pointwise::WallLaw::SpalartAllmarasOfCells : static_cast<pointwise::WallLaw>(1 + VARIANT);
}
// What an unknown of a cell is measured by.
__device__ __forceinline__ double weight_of(const Fluid* __restrict__ fluid, int v, double value) {
    return EDDIES == 1 ? 1.0 : fabs(value) + (v == 0 ? fluid->model.inflow[0] : 0.0);
}
// A value less its update.
__device__ __forceinline__ double updated(const Fluid* __restrict__ fluid, double value, double x) {
#if EDDIES == 1
    return model_of(fluid).variant == pointwise::SaVariant::Negative ? value - x : pointwise::sa_kept(value, x);
#else
    return pointwise::k_omega_kept(value, x);
#endif
}
// Whether the update was cut.
__device__ __forceinline__ bool is_cut(double value, double x, double made) {
#if EDDIES == 1
    return made > value - x;
#else
    return x > pointwise::k_omega_uncut(value);
#endif
}

// (grad u)^T n of the face of axis d below the cell at `face`, from differences along all axes.
__device__ __forceinline__ Vec3 transposed(const double* __restrict__ q, const double* __restrict__ area,
                                           const double* __restrict__ volumes, u32 cells, uint2 strides, int d,
                                           u32 face, const Vec3& n) {
    const u32 below = face - step_along(strides, d);
    const double over = 2.0 / (volumes[face] + volumes[below]);
    Vec3 stress = {0, 0, 0};
#pragma unroll
    for (int e = 0; e < 3; e++) {
        if (!(AXES >> e & 1)) continue;
        const u32 s = step_along(strides, e);
        const Vec3 own = face_area(area, cells, e, face);
        Vec3 mean = own;
        double along = 0;
        if (e == d) {
#pragma unroll
            for (int j = 0; j < 3; j++) {
                const double* u = q + (u64)(1 + j) * cells;
                along += n[j] * (u[face] - u[below]);
            }
        } else {
            const Vec3 a = face_area(area, cells, e, face + s), b = face_area(area, cells, e, below),
                       c = face_area(area, cells, e, below + s);
#pragma unroll
            for (int j = 0; j < 3; j++) {
                const double* u = q + (u64)(1 + j) * cells;
                mean[j] = 0.25 * (own[j] + a[j] + b[j] + c[j]);
                along += 0.25 * n[j] * (u[face + s] - u[face - s] + u[below + s] - u[below - s]);
            }
        }
#pragma unroll
        for (int i = 0; i < 3; i++) stress[i] += mean[i] * along * over;
    }
    return stress;
}
// The same of a face of the boundary.
__device__ __forceinline__ Vec3 transposed_at(const double* __restrict__ q, const double* __restrict__ area,
                                              const double* __restrict__ volumes, u32 cells, const Face& face) {
    const u32 upper = max(face.cell, face.ghost), step = upper - min(face.cell, face.ghost);
    const uint2 strides = face.axis == 0   ? make_uint2(face.along[0], face.along[1])
                          : face.axis == 1 ? make_uint2(step, face.along[0])
                                           : make_uint2(face.along[1], step);
    return transposed(q, area, volumes, cells, strides, face.axis, upper, face.n);
}

// A face of a cell as the cell has it: places of both cells, and of the upper one.
struct Side {
    u32 at, beyond, face, step;
    int axis;
    bool high;
};

// The model's unknowns and coefficients.
struct Turbulence {
    const Fluid* __restrict__ fluid;
    const double *__restrict__ q, *__restrict__ coefficients;
    u32 cells;
    __device__ const double* values(int v) const { return q + (u64)(FLOW + v) * cells; }
    // The mean eddy viscosity of two cells, and its derivative by an unknown of one.
    __device__ double at_face(u32 a, u32 b) const { return 0.5 * (coefficients[a] + coefficients[b]); }
    __device__ double at_face_by(int v, u32 at) const { return 0.5 * coefficients[(u64)(BY + v) * cells + at]; }
    // What an unknown diffuses by.
    __device__ double gamma(int v, const Side& side) const {
#if EDDIES == 1
        const double* nut = values(v);
        const pointwise::Array<double, 2> ones = {1.0, 1.0}, both = {nut[side.at], nut[side.beyond]};
        return pointwise::sa_diffusivity(model_of(fluid), ones, both);
#else
        const double* of = coefficients + (u64)(DIFFUSING + v) * cells;
        return 0.5 * (of[side.at] + of[side.beyond]);
#endif
    }
    // What leaves of an unknown through a side that is no boundary, `outwards` the volume that leaves with it.
    __device__ double through(int v, const Side& side, double outwards, const double* __restrict__ slopes,
                              uint2 strides) const {
        const double *of = values(v), below = of[side.face - side.step], above = of[side.face];
        double left = below, right = above;
        if (fluid->model.second_order != 0)
            extrapolate(fluid, of[side.face - 2 * side.step], below, above, of[side.face + side.step], left, right);
        const double own = side.high ? below : above, other = side.high ? above : below;
        const double from = side.high ? left : right, to = side.high ? right : left;
        const double metric = slopes[(u64)SLOPES * side.axis * cells + side.face];
        double gradient = metric * (other - own);
#if SKEWED
        const double along = face_slope(of, slopes, cells, strides, side.axis, side.face);
        double skew = (side.high ? along : -along) - gradient;
#if EDDIES == 2
        const pointwise::Array<double, 2> ends = {own, other};
        skew = pointwise::skew_of_positive(metric, ends, skew);
#endif
        gradient += skew;
#endif
        return fmin(outwards, 0.0) * (to - own) + fmax(outwards, 0.0) * (from - own) - gamma(v, side) * gradient;
    }
};

// What the unknowns of a cell are measured by: rows and columns of the matrix are scaled so.
struct Weights {
    double of[EDDIES];
    __device__ Weights(const Turbulence& turbulence, u32 at) {
#pragma unroll
        for (int v = 0; v < EDDIES; v++) of[v] = weight_of(turbulence.fluid, v, turbulence.values(v)[at]);
    }
    __device__ double at(int v) const { return v == 0 ? of[0] : of[EDDIES - 1]; }
    // Measures a column of a block of the cell's row, `other` the weights of the column's cell.
    __device__ void measure(double* column, u32 col, const Weights& other) const {
#if EDDIES == 2
        if (col >= FLOW) {
            const double by = other.at(col - FLOW);
#pragma unroll
            for (int r = 0; r < NB; r++) column[r] *= by;
        }
#pragma unroll
        for (int v = 0; v < EDDIES; v++) column[FLOW + v] /= of[v];
#endif
    }
};
// A column of the derivative of what a cell's sources take, per volume; `sources` are those of its row, `rate` the
// residual of the first unknown over the volume and what the unknown is measured by.
__device__ __forceinline__ void source_column(u32 col, const double* __restrict__ sources, u64 rows, double rate,
                                              double (&column)[EDDIES]) {
#if EDDIES == 1
    column[0] = col == FLOW ? fmax(-sources[rows], 0.0) : 0.0;
#else
    const Vec3 by = {sources[2 * rows], sources[3 * rows], sources[4 * rows]};
    const auto slope = pointwise::k_omega_slope(by);
    column[0] = col == FLOW ? slope[0][0] + pointwise::k_resolving(-rate, by[0]) : col == FLOW + 1 ? slope[0][1] : 0.0;
    column[1] = col == FLOW ? slope[1][0] : col == FLOW + 1 ? slope[1][1] : 0.0;
#endif
}

// Eddy viscosity at a face of the boundary, and y+ where the wall has a law.
__device__ __forceinline__ double eddies_at(const double* __restrict__ coefficients, u32 kind, const Face& face) {
    if (kind == WALL) return LAWS ? coefficients[face.ghost] : 0.0;
    return coefficients[face.cell];
}
__device__ __forceinline__ double units_at(const Turbulence& turbulence, const Face& face) {
    return LAWS ? turbulence.coefficients[(u64)turbulence.cells + face.ghost] : 0.0;
}
// What a scalar diffuses by there.
__device__ __forceinline__ double diffusivity_at(const Turbulence& turbulence, int m, u32 kind, const Face& face) {
#if LAWS
    const double own = turbulence.fluid->scalars[m].diffusivity, nu = turbulence.fluid->viscosity;
    const double units = units_at(turbulence, face);
    if (kind == WALL) return own > 0 ? nu * units / pointwise::law_heat(nu / own, units) : own;
#endif
    return diffusivity(turbulence.fluid, m, eddies_at(turbulence.coefficients, kind, face));
}

// The wall's value of an unknown next to a cell at this distance.
__device__ __forceinline__ double at_wall(const Turbulence& turbulence, const Face& face, int v, double height) {
#if EDDIES == 2
    const Fluid* fluid = turbulence.fluid;
#if LAWS
    const auto both =
        pointwise::k_omega_law_of_cells(model_of(fluid), LAWS == 2, units_at(turbulence, face), fluid->viscosity,
                                        height);
    return v == 0 ? both[0] : both[1];
#else
    if (v == 1) return pointwise::k_omega_wall(model_of(fluid), fluid->viscosity, height);
#endif
#endif
    return 0;
}
// An unknown beyond the boundary, `own` that of the cell, `leaving` the volume that leaves.
__device__ __forceinline__ double beyond_boundary(const Turbulence& turbulence, u32 kind, const Face& face, int v,
                                                  double own, double leaving, double height) {
    if (kind == WALL) return 2.0 * at_wall(turbulence, face, v, height) - own;
    return kind == OPEN && leaving < 0 ? turbulence.fluid->model.inflow[v] : own;
}
// What leaves of an unknown through a face of the boundary, and its derivatives by the unknown and by the volume.
__device__ __forceinline__ Vec3 through_boundary(const Turbulence& turbulence, u32 kind, const Face& face, int v,
                                                 double own, double volume, double height) {
    const Fluid* fluid = turbulence.fluid;
    if (kind == MIRROR) return {0, 0, 0};
    if (kind == OPEN) {
        const double change = fluid->model.inflow[v] - own, enters = fmin(volume, 0.0);
        return {enters * change, -enters, volume < 0 ? change : 0.0};
    }
    // Half a cell away.
#if EDDIES == 1
    const pointwise::Array<double, 2> ones = {1.0, 1.0}, both = {own, -own};
    const double held = pointwise::sa_diffusivity(model_of(fluid), ones, both);
    double gamma = held;
#if LAWS
    // Not cut at zero: as `to_wall` in boundary.rs.
    if (own > 0) gamma = pointwise::sa_diffusivity_to_wall(model_of(fluid), 1.0, own);
#endif
#elif LAWS
    const double held = turbulence.coefficients[(u64)(DIFFUSING + v) * turbulence.cells + face.cell], gamma = held;
#else
    const double held = fluid->viscosity, gamma = held;
#endif
    const double by = 2.0 * face.slope[0];
    return {by * gamma * (own - at_wall(turbulence, face, v, height)), by * held, 0};
}
