// The grid, the set-up and the boundary as all kernels have them.
//
// Constants: NB unknowns a cell, the last EDDIES of them (0, 1 or 2) those of a turbulence model; AXES bits of the axes
// along which anything happens; SKEWED grids that are not orthogonal; ORDER 1 or 2; LIMITED; CENTRAL fluxes with matrix
// dissipation in the place of Roe's. Arrays of cells hold all blocks with their ghosts, `cells` values a component;
// rows are the cells inside.
typedef pointwise::Array<double, 4> Q4;
// Unknowns of the flow, and scalars among them.
#define FLOW (NB - EDDIES)
#define SCALARS (FLOW - 4)

// Numbers of the set-up, then those of a turbulence model, then those of each scalar, in the order of `numbers` in
// grid.rs.
struct Model {
    double inflow[2], variant, prandtl, second_order, rotating, cfl_ratio, ambient_k, ambient_omega, roughness;
};
struct Scalar {
    double diffusivity, buoyancy[3], reference;
};
struct Fluid {
    double beta, viscosity, kappa, fourth, convective;
#if EDDIES
    Model model;
#endif
    Scalar scalars[SCALARS > 0 ? SCALARS : 1];
};
// What a scalar diffuses by under an eddy viscosity.
__device__ __forceinline__ double diffusivity(const Fluid* __restrict__ fluid, int m, double eddies) {
#if EDDIES
    return fluid->scalars[m].diffusivity + eddies / fluid->model.prandtl;
#else
    return fluid->scalars[m].diffusivity;
#endif
}

// The grid: `place` {cell, block and faces whose neighbor is the cell itself (bits 16 to 21)} of each row; `strides`
// along j and k of each block; bits of `open` say which lower faces lie between cells; `slopes` [3][3 or 1][cells] as
// Block::slopes.
#define SLOPES (SKEWED ? 3 : 1)

__device__ __forceinline__ u32 step_along(uint2 strides, int d) { return d == 0 ? 1 : d == 1 ? strides.x : strides.y; }
__device__ __forceinline__ Vec3 face_area(const double* __restrict__ area, u32 cells, int d, u32 face) {
    const double* a = area + (u64)3 * d * cells + face;
    return {a[0], a[cells], a[2 * (u64)cells]};
}
__device__ __forceinline__ Vec3 open_area(const double* __restrict__ area, const unsigned char* __restrict__ open,
                                          u32 cells, int d, u32 face) {
    Vec3 n = face_area(area, cells, d, face);
    const double factor = open[face] >> d & 1 ? 1.0 : 0.0;
#pragma unroll
    for (int c = 0; c < 3; c++) n[c] *= factor;
    return n;
}
__device__ __forceinline__ Q4 load_q4(const double* __restrict__ q, u32 cells, u32 at) {
    return {q[at], q[(u64)cells + at], q[2 * (u64)cells + at], q[3 * (u64)cells + at]};
}

// The gradient of a component along the area of a face.
__device__ __forceinline__ double face_slope(const double* __restrict__ f, const double* __restrict__ slopes, u32 cells,
                                             uint2 strides, int d, u32 face) {
    const u32 below = face - step_along(strides, d);
    const double across = f[face] - f[below];
    const double* s = slopes + (u64)SLOPES * d * cells + face;
#if SKEWED
    const u32 e = step_along(strides, (d + 1) % 3), g = step_along(strides, (d + 2) % 3);
    const Vec3 metric = {s[0], s[cells], s[2 * (u64)cells]};
    const pointwise::Array<double, 2> first = {f[face + e] - f[face - e], f[below + e] - f[below - e]};
    const pointwise::Array<double, 2> second = {f[face + g] - f[face - g], f[below + g] - f[below - g]};
    return pointwise::normal_slope(metric, across, first, second);
#else
    return s[0] * across;
#endif
}

// Values on both sides of a face, of second order.
__device__ __forceinline__ void extrapolate(const Fluid* __restrict__ fluid, double before, double left, double right,
                                            double after, double& l, double& r) {
#if LIMITED
    l = pointwise::extrapolate_van_albada(left, right, 0.5 * (right - before), fluid->kappa, 1e-12);
    r = pointwise::extrapolate_van_albada(right, left, 0.5 * (left - after), fluid->kappa, 1e-12);
#else
    l = pointwise::extrapolate(left, right, 0.5 * (right - before), fluid->kappa, 1.0);
    r = pointwise::extrapolate(right, left, 0.5 * (left - after), fluid->kappa, 1.0);
#endif
}
// The same of the order of the flow's scheme.
__device__ __forceinline__ void reconstruct(const Fluid* __restrict__ fluid, double before, double left, double right,
                                            double after, double& l, double& r) {
#if ORDER == 1
    l = left, r = right;
#else
    extrapolate(fluid, before, left, right, after, l, r);
#endif
}

// Faces of the boundary, one patch after another: `index` {cell, ghost, next cell inside, patch; strides along the
// face, row, axis}; `metric` area out of the domain, products of slopes, center (9 numbers); `given` [faces][FLOW];
// `kinds` [patches][KINDS]: the flow's condition, those of scalars (0 no flux, 1 value, 2 value where the flow comes
// in), what the patch is to a turbulence model.
#define KINDS (FLOW - 3 + (EDDIES ? 1 : 0))
struct Face {
    u32 cell, ghost, next, patch, along[2], row, axis;
    Vec3 n, slope;
};
__device__ __forceinline__ Face load_face(const uint4* __restrict__ index, const double* __restrict__ metric,
                                          u32 face) {
    const uint4 a = index[2 * (u64)face], b = index[2 * (u64)face + 1];
    const double* m = metric + (u64)face * 9;
    return {a.x, a.y, a.z, a.w, {b.x, b.y}, b.z, b.w, {m[0], m[1], m[2]}, {m[3], m[4], m[5]}};
}
__device__ __forceinline__ Q4 load_given(const double* __restrict__ given, u32 face) {
    const double* g = given + (u64)face * FLOW;
    return {g[0], g[1], g[2], g[3]};
}
__device__ __forceinline__ Q4 ghost_state(const Face& face, pointwise::GhostKind kind, double beta, const Q4& inside,
                                          const double* __restrict__ q, const Q4& given) {
    return pointwise::ghost_incompressible(kind, beta, inside, q[face.next], given, face.n);
}
// Whether a scalar is given, `leaving` the volume that flows out.
__device__ __forceinline__ bool is_fixed(u32 kind, double leaving) { return kind == 1 || (kind == 2 && leaving < 0); }

// A component between cell and ghost, and its slope outwards.
__device__ __forceinline__ double at_face(const double* __restrict__ f, const Face& face, double& mean) {
    const double inside = f[face.cell], outside = f[face.ghost];
    mean = 0.5 * (inside + outside);
#if SKEWED
    const u32 e = face.along[0], g = face.along[1], a = face.cell, b = face.ghost;
    const pointwise::Array<double, 2> first = {f[a + e] - f[a - e], f[b + e] - f[b - e]},
                                      second = {f[a + g] - f[a - g], f[b + g] - f[b - g]};
    return pointwise::normal_slope(face.slope, outside - inside, first, second);
#else
    return face.slope[0] * (outside - inside);
#endif
}
// What leaves: inviscid flux, friction under an eddy viscosity.
__device__ __forceinline__ Q4 boundary_flux(const double* __restrict__ q, u32 cells, const Face& face,
                                            const Fluid* __restrict__ fluid, double eddies, Vec3& friction) {
    Q4 mean;
#pragma unroll
    for (int c = 0; c < 4; c++) {
        const double slope = at_face(q + (u64)c * cells, face, mean[c]);
        if (c) friction[c - 1] = -(fluid->viscosity + eddies) * slope;
    }
    return pointwise::flux_incompressible(fluid->beta, mean, face.n);
}

