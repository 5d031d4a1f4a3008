// Ghost cells, residual and its parts at the boundary. Twins: ghosts.rs, residual.rs.
//
// Constants: NB unknowns a cell; AXES bits of the axes along which anything happens; SKEWED grids that are not
// orthogonal; ORDER 1 or 2; LIMITED; CENTRAL fluxes with matrix dissipation in the place of Roe's. Arrays of cells hold
// all blocks with their ghosts, `cells` values a component; rows are the cells inside.
typedef pointwise::Array<double, 4> Q4;

// Numbers of the set-up, then those of each scalar, in the order of `numbers` in mod.rs.
struct Scalar {
    double diffusivity, buoyancy[3], reference;
};
struct Fluid {
    double beta, viscosity, kappa, fourth, convective;
    Scalar scalars[NB > 4 ? NB - 4 : 1];
};

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

__device__ __forceinline__ void reconstruct(const Fluid* __restrict__ fluid, double before, double left, double right,
                                            double after, double& l, double& r) {
#if ORDER == 1
    l = left, r = right;
#elif LIMITED
    l = pointwise::extrapolate_van_albada(left, right, 0.5 * (right - before), fluid->kappa, 1e-12);
    r = pointwise::extrapolate_van_albada(right, left, 0.5 * (left - after), fluid->kappa, 1e-12);
#else
    l = pointwise::extrapolate(left, right, 0.5 * (right - before), fluid->kappa, 1.0);
    r = pointwise::extrapolate(right, left, 0.5 * (left - after), fluid->kappa, 1.0);
#endif
}

// What leaves each cell, [rows][NB]: a thread a row sums its own faces.
extern "C" __global__ void __launch_bounds__(128)
residual(Residual) {
    __shared__ double shared[128 * NB];
    const u32 base = blockIdx.x * 128, row = base + threadIdx.x;
    if (row < rows) {
        const uint2 p = place[row], s = strides[p.y & 0xffff];
        Q4 sum = {0, 0, 0, 0};
#if NB > 4
        double carried[NB - 4];
#pragma unroll
        for (int m = 0; m < NB - 4; m++) carried[m] = 0;
#endif
#pragma unroll 1
        for (int f = 0; f < 6; f++) {
            const int d = f / 2;
            if (!(AXES >> d & 1)) continue;
            const u32 step = step_along(s, d), face = p.x + (f & 1) * step;
            const double sign = f & 1 ? 1.0 : -1.0;
            const Vec3 n = open_area(area, open, cells, d, face);
            const Q4 left = load_q4(q, cells, face - step), right = load_q4(q, cells, face);
#if ORDER == 2
            const Q4 before = load_q4(q, cells, face - 2 * step), after = load_q4(q, cells, face + step);
#else
            const Q4 before = left, after = right;
#endif
#if CENTRAL && ORDER == 2
            Q4 flux = pointwise::flux_incompressible_central(fluid->beta, before, left, right, after, n, fluid->fourth,
                                                             fluid->convective);
#else
            Q4 ql, qr;
#pragma unroll
            for (int c = 0; c < 4; c++) reconstruct(fluid, before[c], left[c], right[c], after[c], ql[c], qr[c]);
            Q4 flux = pointwise::flux_incompressible_roe(fluid->beta, ql, qr, n);
#endif
#if NB > 4
            const double volume = flux[0] / fluid->beta;
#endif
            if (fluid->viscosity > 0) {
#pragma unroll
                for (int c = 1; c < 4; c++)
                    flux[c] -= fluid->viscosity * face_slope(q + (u64)c * cells, slopes, cells, s, d, face);
            }
#pragma unroll
            for (int c = 0; c < 4; c++) sum[c] += sign * flux[c];
#if NB > 4
#pragma unroll
            for (int m = 0; m < NB - 4; m++) {
                const double* field = q + (u64)(4 + m) * cells;
                double l, r;
                reconstruct(fluid, ORDER == 2 ? field[face - 2 * step] : 0.0, field[face - step], field[face],
                            ORDER == 2 ? field[face + step] : 0.0, l, r);
                carried[m] += sign * (pointwise::flux_scalar(volume, l, r) -
                                      fluid->scalars[m].diffusivity * face_slope(field, slopes, cells, s, d, face));
            }
#endif
        }
#if NB > 4
        const double volume = volumes[p.x];
#pragma unroll
        for (int m = 0; m < NB - 4; m++) {
            const Scalar& scalar = fluid->scalars[m];
            const double excess = volume * (q[(u64)(4 + m) * cells + p.x] - scalar.reference);
#pragma unroll
            for (int c = 0; c < 3; c++) sum[1 + c] -= excess * scalar.buoyancy[c];
            shared[threadIdx.x * NB + 4 + m] = carried[m];
        }
#endif
#pragma unroll
        for (int c = 0; c < 4; c++) shared[threadIdx.x * NB + c] = sum[c];
    }
    __syncthreads();
    const u32 count = min(128u, rows - base) * NB;
    for (u32 i = threadIdx.x; i < count; i += 128) out[(u64)base * NB + i] = shared[i];
}

// Faces of the boundary, one patch after another: `index` {cell, ghost, next cell inside, patch; strides along the
// face, row, 0}; `metric` area out of the domain, products of slopes, center (9 numbers); `given` [faces][NB]; `kinds`
// [patches][NB - 3]: the flow's condition, then those of scalars (0 no flux, 1 value, 2 value where the flow comes in).
struct Face {
    u32 cell, ghost, next, patch, along[2], row;
    Vec3 n, slope;
};
__device__ __forceinline__ Face load_face(const uint4* __restrict__ index, const double* __restrict__ metric,
                                          u32 face) {
    const uint4 a = index[2 * (u64)face], b = index[2 * (u64)face + 1];
    const double* m = metric + (u64)face * 9;
    return {a.x, a.y, a.z, a.w, {b.x, b.y}, b.z, {m[0], m[1], m[2]}, {m[3], m[4], m[5]}};
}
__device__ __forceinline__ Q4 load_given(const double* __restrict__ given, u32 face) {
    const double* g = given + (u64)face * NB;
    return {g[0], g[1], g[2], g[3]};
}
__device__ __forceinline__ Q4 ghost_state(const Face& face, pointwise::GhostKind kind, double beta, const Q4& inside,
                                          const double* __restrict__ q, const Q4& given) {
    return pointwise::ghost_incompressible(kind, beta, inside, q[face.next], given, face.n);
}
// Whether a scalar is given, `leaving` the volume that flows out.
__device__ __forceinline__ bool is_fixed(u32 kind, double leaving) { return kind == 1 || (kind == 2 && leaving < 0); }

// A thread a face.
extern "C" __global__ void __launch_bounds__(128)
boundary_ghosts(BoundaryGhosts) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= faces) return;
    const Face face = load_face(index, metric, i);
    const u32* kind = kinds + face.patch * (NB - 3);
    const Q4 inside = load_q4(q, cells, face.cell), values = load_given(given, i);
    const Q4 ghost = ghost_state(face, (pointwise::GhostKind)kind[0], fluid->beta, inside, q, values);
#pragma unroll
    for (int c = 0; c < 4; c++) q[(u64)c * cells + face.ghost] = ghost[c];
    double leaving = 0;
#pragma unroll
    for (int c = 0; c < 3; c++) leaving += 0.5 * (inside[1 + c] + ghost[1 + c]) * face.n[c];
#pragma unroll
    for (int m = 4; m < NB; m++) {
        double* field = q + (u64)m * cells;
        const double value = field[face.cell];
        field[face.ghost] = is_fixed(kind[m - 3], leaving) ? 2.0 * given[(u64)i * NB + m] - value : value;
    }
}

// Ghost cells on edges between two boundaries: {corner, both ghosts beside it, the cell opposite}. A thread a value.
extern "C" __global__ void __launch_bounds__(128)
corner_ghosts(CornerGhosts) {
    const u64 i = (u64)blockIdx.x * 128 + threadIdx.x;
    if (i >= (u64)corners * NB) return;
    const uint4 c = list[i % corners];
    double* field = q + i / corners * cells;
    field[c.x] = field[c.y] + field[c.z] - field[c.w];
}

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
// What leaves: inviscid flux, friction.
__device__ __forceinline__ Q4 boundary_flux(const double* __restrict__ q, u32 cells, const Face& face,
                                            const Fluid* __restrict__ fluid, Vec3& friction) {
    Q4 mean;
#pragma unroll
    for (int c = 0; c < 4; c++) {
        const double slope = at_face(q + (u64)c * cells, face, mean[c]);
        if (c) friction[c - 1] = -fluid->viscosity * slope;
    }
    return pointwise::flux_incompressible(fluid->beta, mean, face.n);
}

// Adds what leaves through the boundary: a thread a row, its faces from ptr[i] to ptr[i + 1] of `list` in the order of
// the patches.
extern "C" __global__ void __launch_bounds__(128)
boundary_residual(BoundaryResidual) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= count) return;
    for (u32 k = ptr[i]; k < ptr[i + 1]; k++) {
        const Face face = load_face(index, metric, list[k]);
        double* to = out + (u64)face.row * NB;
        Vec3 friction;
        const Q4 flux = boundary_flux(q, cells, face, fluid, friction);
        to[0] += flux[0];
#pragma unroll
        for (int c = 0; c < 3; c++) to[1 + c] += flux[1 + c] + friction[c];
#if NB > 4
        const double volume = flux[0] / fluid->beta;
#pragma unroll
        for (int m = 0; m < NB - 4; m++) {
            double mean;
            const double slope = at_face(q + (u64)(4 + m) * cells, face, mean);
            to[4 + m] += volume * mean - fluid->scalars[m].diffusivity * slope;
        }
#endif
    }
}
