// Sources and viscosities of cells, the measure of residuals. Behind real/along.cuh.
// Twins: turbulence/terms.rs, mod.rs.

#if LAWS
// What laws of the wall give with the present velocities: eddy viscosity and y+ beyond walls; `shear` [6][rows] of rows
// at walls the way off the wall and the law's shear. A thread a row at the boundary. Twin: turbulence/laws.rs.
extern "C" __global__ void __launch_bounds__(128)
find_laws(FindLaws) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= count) return;
    const auto law = law_of_wall();
    const double nu = fluid->viscosity;
    for (u32 k = ptr[i]; k < ptr[i + 1]; k++) {
        const Face face = load_face(index, metric, list[k]);
        const double area_here = sqrt(dot(face.n, face.n)), away_from = distance[face.row];
        if (kinds[face.patch * KINDS + KINDS - 1] != WALL || !(area_here > 0)) continue;
        const Q4 inside = load_q4(q, cells, face.cell), wall = load_given(given, list[k]);
        Vec3 away, u;
        double through = 0, square = 0;
#pragma unroll
        for (int c = 0; c < 3; c++) {
            away[c] = -face.n[c] / area_here, u[c] = inside[1 + c] - wall[1 + c];
            through += u[c] * away[c];
        }
#pragma unroll
        for (int c = 0; c < 3; c++) u[c] -= through * away[c], square += u[c] * u[c];
        const double speed = sqrt(square), reynolds = speed * away_from / nu;
        const auto found = pointwise::law_units(law, reynolds);
        const double units = found[0], rate = units / away_from;
        to[face.ghost] = reynolds > 0 ? nu * (units * units / reynolds - 1.0) : 0.0;
        to[(u64)cells + face.ghost] = units;
        const double by = rate * rate * nu * found[1] / fmax(speed, 2.2250738585072014e-308);
#pragma unroll
        for (int c = 0; c < 3; c++) {
            shear[(u64)c * rows + face.row] = away[c];
            shear[(u64)(3 + c) * rows + face.row] = by * u[c];
        }
    }
}
#endif

#if CURVED || QUADRATIC
// Velocities about a cell as velocities.cuh takes them.
struct Velocities {
    const double *__restrict__ q, *__restrict__ area, *__restrict__ volumes;
    const unsigned char* __restrict__ open;
    u32 cells, cell;
    uint2 strides;
    __device__ Vec3 velocity(u64 at) const { return {q[cells + at], q[2 * (u64)cells + at], q[3 * (u64)cells + at]}; }
    __device__ double volume(u64 at) const { return volumes[at]; }
    __device__ u32 stride(u32 axis) const { return step_along(strides, axis); }
    __device__ bool has(u32 axis) const { return AXES >> axis & 1; }
    __device__ Vec3 areas(u32 axis, u64 at) const {
        const Vec3 low = face_area(area, cells, axis, at), high = face_area(area, cells, axis, at + stride(axis));
        return {low[0] + high[0], low[1] + high[1], low[2] + high[2]};
    }
    __device__ bool next(u32 side, u64& beyond, Vec3& n) const {
        const u32 axis = side / 2, high = side % 2, face = high ? cell + stride(axis) : cell;
        beyond = high ? face : cell - stride(axis);
        if (!has(axis) || !(open[face] >> axis & 1)) return false;
        const Vec3 up = face_area(area, cells, axis, face);
#pragma unroll
        for (int c = 0; c < 3; c++) n[c] = high ? up[c] : -up[c];
        return true;
    }
};
#endif

#if QUADRATIC
// Subtracts what a quadratic constitutive relation adds to the stress from what leaves cells. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
add_quadratic(AddQuadratic) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
    const uint2 p = place[row];
    const Velocities grid = {q, area, volumes, open, cells, p.x, strides[p.y & 0xffff]};
    const double* fw = QUADRATIC == 2 ? coefficients + (u64)RELATION * cells : nullptr;
    const auto sum = quadratic_flux(grid, p.x, coefficients, fw, true);
#pragma unroll
    for (int c = 1; c < 4; c++) residual[(u64)row * NB + c] -= sum[c];
}
#endif

#if HYBRID
// (Delta, h_max, h_wn) of a row; `lengths` [2, with ways to corners 26][rows]. Twin: turbulence/hybrid/cells.rs.
__device__ __forceinline__ Vec3 grid_lengths(const double* __restrict__ lengths, u64 rows, bool arms,
                                             const Tensor& gradient) {
    double delta = lengths[0], turned = 0;
    if (arms) {
        for (int n = 0; n < 8; n++) {
            const double* arm = lengths + (2 + 3 * n) * rows;
            turned = fmax(turned, pointwise::turned_arm(gradient, Vec3{arm[0], arm[rows], arm[2 * rows]}));
        }
        delta = pointwise::length_across_vorticity(gradient, turned, lengths[0]);
    }
    return {delta, lengths[0], lengths[rows]};
}
#endif

// Coefficients of cells and sources of rows, see eddies.cuh; `production` [rows]: what production is multiplied by, 1
// where there is none; `lengths` of the grid, of hybrids; `shear` of
// laws of the wall. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
find_terms(FindTerms) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
    const uint2 p = place[row], steps = strides[p.y & 0xffff];
    const u32 at = p.x;
    // d(u, v, w, unknowns)_i / dx_k, from the means of both cells at each face.
    pointwise::Array<Vec3, 5> gradients = {};
    const double scale = 0.25 / volumes[at];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        if (!(AXES >> d & 1)) continue;
        const u32 s = step_along(steps, d);
        const Vec3 low = face_area(area, cells, d, at), high = face_area(area, cells, d, at + s);
#pragma unroll
        for (int i = 0; i < (EDDIES == 1 ? 3 : 5); i++) {
            const double* values = q + (u64)(i < 3 ? 1 + i : FLOW + i - 3) * cells;
            const double change = values[at + s] - values[at - s];
#pragma unroll
            for (int k = 0; k < 3; k++) gradients[i][k] += scale * change * (low[k] + high[k]);
        }
    }
#if LAWS
    Vec3 across = {0, 0, 0};
    double through = 0;
#pragma unroll
    for (int i = 0; i < 3; i++) {
#pragma unroll
        for (int k = 0; k < 3; k++) across[i] += gradients[i][k] * shear[(u64)k * rows + row];
        through += across[i] * shear[(u64)i * rows + row];
    }
#pragma unroll
    for (int i = 0; i < 3; i++) {
        const double missing =
            shear[(u64)(3 + i) * rows + row] - (across[i] - through * shear[(u64)i * rows + row]);
#pragma unroll
        for (int k = 0; k < 3; k++) gradients[i][k] += missing * shear[(u64)k * rows + row];
    }
#endif
    const double share = production ? production[row] : 1.0, away = distance[row];
    const Tensor gradient = {gradients[0], gradients[1], gradients[2]};
#if HYBRID
    const auto form = static_cast<pointwise::HybridForm>(HYBRID - 1);
    const Vec3 grid = grid_lengths(lengths + row, rows, arms != 0, gradient);
#endif
#if EDDIES == 1
    double omega = pointwise::vorticity(gradient);
    if (fluid->model.rotating != 0) omega = pointwise::sa_rotating(omega, pointwise::deformation(gradient)[0]);
    const double nut = q[(u64)FLOW * cells + at];
    const auto model = model_of(fluid);
#if HYBRID
    const double length = pointwise::sa_hybrid_length(model, form, 1.0, nut, away, grid, gradient)[0];
#else
    const double length = away;
#endif
    double produced = share;
#if CURVED
    const Velocities velocities = {q, area, volumes, open, cells, at, steps};
    produced *= pointwise::sa_turning(gradient, change_of_strain(velocities, at));
#endif
#if QUADRATIC == 2
    coefficients[(u64)RELATION * cells + at] = pointwise::sa_relation(model, 1.0, nut, gradient, away);
#endif
    const auto source = pointwise::sa_source_turning(model, 1.0, nut, omega, length, produced);
    const Along ratio = pointwise::eddy_ratio(Along(nut, 1.0));
    coefficients[at] = model.scale * ratio.v, coefficients[(u64)BY * cells + at] = model.scale * ratio.d;
    sources[row] = source[0], sources[(u64)rows + row] = source[1];
#else
    const pointwise::Array<double, 2> gas = {1.0, fluid->viscosity},
                                      turbulence = {q[(u64)FLOW * cells + at], q[(u64)(FLOW + 1) * cells + at]};
#if HYBRID
    const auto found = pointwise::k_omega_terms_of_hybrid(model_of(fluid), form, gas, away, share, turbulence,
                                                          gradients, grid)._0;
#else
    const auto found = pointwise::k_omega_terms(model_of(fluid), gas, away, share, turbulence, gradients);
#endif
    coefficients[at] = found[0];
#pragma unroll
    for (int v = 0; v < 2; v++) {
        coefficients[(u64)(DIFFUSING + v) * cells + at] = found[1 + v];
        coefficients[(u64)(BY + v) * cells + at] = found[8 + v];
    }
#pragma unroll
    for (int c = 0; c < 5; c++) sources[(u64)c * rows + row] = found[3 + c];
#endif
}

// Residuals of the unknowns over what cells measure them by. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
measure_residual(MeasureResidual) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
#pragma unroll
    for (int v = 0; v < EDDIES; v++)
        residual[(u64)row * NB + FLOW + v] /= weight_of(fluid, v, q[(u64)(FLOW + v) * cells + place[row].x]);
}
