// Ghost cells, residual and its parts at the boundary. Twins: ghosts.rs, residual.rs.

// What leaves each cell, [rows][NB]: a thread a row sums its own faces.
extern "C" __global__ void __launch_bounds__(128)
residual(Residual) {
    __shared__ double shared[128 * NB];
    const u32 base = blockIdx.x * 128, row = base + threadIdx.x;
    if (row < rows) {
        const uint2 p = place[row], s = strides[p.y & 0xffff];
        Q4 sum = {0, 0, 0, 0};
#if SCALARS > 0
        double carried[SCALARS];
#pragma unroll
        for (int m = 0; m < SCALARS; m++) carried[m] = 0;
#endif
#if EDDIES
        const Turbulence turbulence = {fluid, q, coefficients, cells};
        double losses[EDDIES] = {};
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
#if EDDIES
            const double eddies = turbulence.at_face(face - step, face);
            const Vec3 turned = transposed(q, area, volumes, cells, s, d, face, n);
#pragma unroll
            for (int c = 0; c < 3; c++) flux[1 + c] -= eddies * turned[c];
#else
            const double eddies = 0;
#endif
            if (fluid->viscosity > 0) {
                const double viscosity = fluid->viscosity + eddies;
#pragma unroll
                for (int c = 1; c < 4; c++)
                    flux[c] -= viscosity * face_slope(q + (u64)c * cells, slopes, cells, s, d, face);
            }
#pragma unroll
            for (int c = 0; c < 4; c++) sum[c] += sign * flux[c];
#if SCALARS > 0
#pragma unroll
            for (int m = 0; m < SCALARS; m++) {
                const double* field = q + (u64)(4 + m) * cells;
                double l, r;
                reconstruct(fluid, ORDER == 2 ? field[face - 2 * step] : 0.0, field[face - step], field[face],
                            ORDER == 2 ? field[face + step] : 0.0, l, r);
                carried[m] += sign * (pointwise::flux_scalar(volume, l, r) -
                                      diffusivity(fluid, m, eddies) * face_slope(field, slopes, cells, s, d, face));
            }
#endif
#if EDDIES
            const Side side = {p.x, (f & 1) ? p.x + step : p.x - step, face, step, d, (f & 1) != 0};
#pragma unroll
            for (int v = 0; v < EDDIES; v++) losses[v] += turbulence.through(v, side, sign * volume, slopes, s);
#endif
        }
#if SCALARS > 0
        const double volume = volumes[p.x];
#pragma unroll
        for (int m = 0; m < SCALARS; m++) {
            const Scalar& scalar = fluid->scalars[m];
            const double excess = volume * (q[(u64)(4 + m) * cells + p.x] - scalar.reference);
#pragma unroll
            for (int c = 0; c < 3; c++) sum[1 + c] -= excess * scalar.buoyancy[c];
            shared[threadIdx.x * NB + 4 + m] = carried[m];
        }
#endif
#if EDDIES
#pragma unroll
        for (int v = 0; v < EDDIES; v++)
            shared[threadIdx.x * NB + FLOW + v] = losses[v] - volumes[p.x] * sources[(u64)v * rows + row];
#endif
#pragma unroll
        for (int c = 0; c < 4; c++) shared[threadIdx.x * NB + c] = sum[c];
    }
    __syncthreads();
    const u32 count = min(128u, rows - base) * NB;
    for (u32 i = threadIdx.x; i < count; i += 128) out[(u64)base * NB + i] = shared[i];
}

// A thread a face.
extern "C" __global__ void __launch_bounds__(128)
boundary_ghosts(BoundaryGhosts) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= faces) return;
    const Face face = load_face(index, metric, i);
    const u32* kind = kinds + face.patch * KINDS;
    const Q4 inside = load_q4(q, cells, face.cell), values = load_given(given, i);
    const Q4 ghost = ghost_state(face, (pointwise::GhostKind)kind[0], fluid->beta, inside, q, values);
#pragma unroll
    for (int c = 0; c < 4; c++) q[(u64)c * cells + face.ghost] = ghost[c];
    double leaving = 0;
#pragma unroll
    for (int c = 0; c < 3; c++) leaving += 0.5 * (inside[1 + c] + ghost[1 + c]) * face.n[c];
#pragma unroll
    for (int m = 4; m < FLOW; m++) {
        double* field = q + (u64)m * cells;
        const double value = field[face.cell];
        field[face.ghost] = is_fixed(kind[m - 3], leaving) ? 2.0 * given[(u64)i * FLOW + m] - value : value;
    }
#if EDDIES
#pragma unroll
    for (int v = 0; v < EDDIES; v++) {
        const Turbulence turbulence = {fluid, q, coefficients, cells};
        double* field = q + (u64)(FLOW + v) * cells;
        field[face.ghost] =
            beyond_boundary(turbulence, kind[KINDS - 1], face, v, field[face.cell], leaving, distance[face.row]);
    }
#endif
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
#if EDDIES
        const u32 kind = kinds[face.patch * KINDS + KINDS - 1];
        const Turbulence turbulence = {fluid, q, coefficients, cells};
        const double eddies = eddies_at(coefficients, kind, face);
#else
        const double eddies = 0;
#endif
        const Q4 flux = boundary_flux(q, cells, face, fluid, eddies, friction);
#if EDDIES
        if (eddies > 0 && kind != WALL) {
            const Vec3 turned = transposed_at(q, area, volumes, cells, face);
#pragma unroll
            for (int c = 0; c < 3; c++) friction[c] -= eddies * turned[c];
        }
#endif
#if SKEWED
        if ((pointwise::GhostKind)kinds[face.patch * KINDS] == pointwise::GhostKind::Mirror) {
            const double through = dot(friction, face.n) / fmax(dot(face.n, face.n), 2.2250738585072014e-308);
#pragma unroll
            for (int c = 0; c < 3; c++) friction[c] = through * face.n[c];
        }
#endif
        to[0] += flux[0];
#pragma unroll
        for (int c = 0; c < 3; c++) to[1 + c] += flux[1 + c] + friction[c];
#if NB > 4
        const double volume = flux[0] / fluid->beta;
#pragma unroll
        for (int m = 0; m < SCALARS; m++) {
            double mean;
            double slope = at_face(q + (u64)(4 + m) * cells, face, mean);
            if (kinds[face.patch * KINDS + 1 + m] == 0) slope = 0;
#if EDDIES
            to[4 + m] += volume * mean - diffusivity_at(turbulence, m, kind, face) * slope;
#else
            to[4 + m] += volume * mean - diffusivity(fluid, m, eddies) * slope;
#endif
        }
#endif
#if EDDIES
#pragma unroll
        for (int v = 0; v < EDDIES; v++) {
            const double own = q[(u64)(FLOW + v) * cells + face.cell];
            to[FLOW + v] += through_boundary(turbulence, kind, face, v, own, volume, distance[face.row])[0];
        }
#endif
    }
}
