// The matrix: fluxes (AFILL), time steps (TSD), boundary; couplings of blocks in the linear residual. Twins: fill.rs,
// system.rs.
//
// AFILL is a thread a column of a cell's blocks: it goes over the six faces, differentiates the flux along its own
// unknown, and puts the neighbor's column into shared memory, from where whole blocks go out.

// Local time steps: the largest spectral radius of the three directions over the CFL number. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
time_steps(TimeSteps) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
    const uint2 p = place[row], s = strides[p.y & 0xffff];
    const Q4 state = load_q4(q, cells, p.x);
#if EDDIES
    double spread = fluid->viscosity + coefficients[p.x], radius = 0;
#else
    double spread = fluid->viscosity, radius = 0;
#endif
#pragma unroll
    for (int m = 0; m < SCALARS; m++) spread = fmax(spread, fluid->scalars[m].diffusivity);
#pragma unroll
    for (int d = 0; d < 3; d++) {
        if (!(AXES >> d & 1)) continue;
        const Vec3 low = face_area(area, cells, d, p.x), high = face_area(area, cells, d, p.x + step_along(s, d));
        const Vec3 mean = {0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])};
        radius = fmax(radius, pointwise::spectral_radius_incompressible(fluid->beta, state, mean) +
                                  2.0 * spread * dot(mean, mean) / volumes[p.x]);
    }
    steps[row] = radius / cfl;
}

// Blocks of shared memory go out: `count` values from `tile` to blocks of NB * NB values, `apart` blocks from one to
// the next.
__device__ __forceinline__ void put_blocks(const double* tile, u32 count, double* __restrict__ to, u32 apart) {
    for (u32 i = threadIdx.x; i < count; i += CELLS * NB)
        to[(u64)(i / (NB * NB)) * apart * NB * NB + i % (NB * NB)] = tile[i];
}

extern "C" __global__ void __launch_bounds__(CELLS * NB)
fill_matrix(FillMatrix) {
    __shared__ double tile[CELLS * NB * NB];
    const u32 first = blockIdx.x * CELLS, col = threadIdx.x % NB, count = min((u32)CELLS, rows - first) * NB * NB;
    const u32 row = min(first + threadIdx.x / NB, rows - 1);
    double* column = tile + threadIdx.x / NB * NB * NB + col * NB;
    const uint2 p = place[row], s = strides[p.y & 0xffff];
    const Q4 unit = {col == 0 ? 1.0 : 0.0, col == 1 ? 1.0 : 0.0, col == 2 ? 1.0 : 0.0, col == 3 ? 1.0 : 0.0};
    Q4 own = {0, 0, 0, 0};
#if NB > 4
    // Of the scalars, then of a turbulence model.
    double own_carried[NB - 4];
#pragma unroll
    for (int m = 0; m < NB - 4; m++) own_carried[m] = 0;
#endif
#if EDDIES
    const Turbulence turbulence = {fluid, q, coefficients, cells};
    const Weights own_weights(turbulence, p.x);
#endif
#pragma unroll 1
    for (int f = 0; f < 6; f++) {
        const int d = f / 2;
        if (!(AXES >> d & 1)) continue;
        const bool upwards = f & 1;
        const u32 step = step_along(s, d), face = p.x + (upwards ? step : 0);
        const Vec3 n = open_area(area, open, cells, d, face);
        const Q4 ql = load_q4(q, cells, face - step), qr = load_q4(q, cells, face);
        const double metric = slopes[(u64)SLOPES * d * cells + face];
        const auto both = pointwise::flux_incompressible_roe_derivatives(fluid->beta, ql, qr, n, unit);
        // The cell is on the left of its upper faces, on the right of its lower ones, where the flux enters.
        Q4 here, there;
#if EDDIES
        const double eddies = turbulence.at_face(face - step, face);
#else
        const double eddies = 0;
#endif
        const double friction = (fluid->viscosity + eddies) * metric;
#pragma unroll
        for (int r = 0; r < 4; r++) {
            here[r] = upwards ? both._0[r] : -both._1[r], there[r] = upwards ? both._1[r] : -both._0[r];
            if (r > 0) here[r] += friction * unit[r], there[r] -= friction * unit[r];
        }
        const bool folded = p.y >> (16 + f) & 1;
#if EDDIES
        const Side side = {p.x, upwards ? face : face - step, face, step, d, upwards};
        if (col >= FLOW) {
            const Vec3 turned = transposed(q, area, volumes, cells, s, d, face, n);
            const double mine = turbulence.at_face_by(col - FLOW, side.at);
            const double other = turbulence.at_face_by(col - FLOW, side.beyond);
#pragma unroll
            for (int c = 0; c < 3; c++) {
                const double along = face_slope(q + (u64)(1 + c) * cells, slopes, cells, s, d, face) + turned[c];
                const double out = upwards ? along : -along;
                here[1 + c] = -mine * out, there[1 + c] = -other * out;
            }
        }
#endif
#pragma unroll
        for (int r = 0; r < 4; r++) {
            own[r] += folded ? here[r] + there[r] : here[r];
            column[r] = there[r];
        }
#if NB > 4
        const double volume = pointwise::flux_incompressible_roe(fluid->beta, ql, qr, n)[0] / fluid->beta;
        const double outwards = upwards ? volume : -volume;
#pragma unroll
        for (int m = 0; m < SCALARS; m++) {
            const double* field = q + (u64)(4 + m) * cells;
            const double from = (volume >= 0 ? field[face - step] : field[face]) / fluid->beta;
            const double spread = diffusivity(fluid, m, eddies) * metric;
            const bool self = col == 4 + m;
            const double mine = self ? 0.5 * (outwards + fabs(outwards)) + spread : from * here[0];
            const double other = self ? 0.5 * (outwards - fabs(outwards)) - spread : from * there[0];
            // Columns of scalars have here = there = 0 in the rows of the flow.
            own_carried[m] += folded ? mine + other : mine;
            column[4 + m] = other;
        }
#endif
#if EDDIES
#pragma unroll
        for (int v = 0; v < EDDIES; v++) {
            const double* field = turbulence.values(v);
            const double change = outwards < 0 ? (field[side.beyond] - field[side.at]) / fluid->beta : 0.0;
            const double coupling = turbulence.gamma(v, side) * metric - fmin(outwards, 0.0);
            const bool self = col == FLOW + v;
            const double mine = self ? coupling : change * here[0], other = self ? -coupling : change * there[0];
            own_carried[SCALARS + v] += folded ? mine + other : mine;
            column[FLOW + v] = other;
        }
        own_weights.measure(column, col, Weights(turbulence, side.beyond));
#endif
        __syncthreads();
        put_blocks(tile, count,
                   (upwards ? upper + (3 * (u64)first + d) * NB * NB : lower + (3 * (u64)first + 2 - d) * NB * NB), 3);
        __syncthreads();
    }
    const double volume = volumes[p.x], by_time = steps[row] + (col > 0 ? volume * rate : 0.0);
#pragma unroll
    for (int r = 0; r < 4; r++) column[r] = own[r] + by_time * unit[r];
#if SCALARS > 0
#pragma unroll
    for (int m = 0; m < SCALARS; m++) {
        const bool self = col == 4 + m;
        column[4 + m] = own_carried[m] + (self ? by_time : 0.0);
#pragma unroll
        for (int c = 0; c < 3; c++)
            if (self) column[1 + c] -= volume * fluid->scalars[m].buoyancy[c];
    }
#endif
#if EDDIES
    const Model& model = fluid->model;
    double source[EDDIES];
    source_column(col, sources + row, rows, residual[(u64)row * NB + FLOW] / volume, source);
#pragma unroll
    for (int v = 0; v < EDDIES; v++) {
        const double time = by_time + steps[row] * (1.0 / model.cfl_ratio - 1.0);
        column[FLOW + v] = own_carried[SCALARS + v] + volume * source[v] + (col == FLOW + v ? time : 0.0);
    }
    own_weights.measure(column, col, own_weights);
#endif
    __syncthreads();
    put_blocks(tile, count, diag + (u64)first * NB * NB, 1);
}

// Adds the boundary's derivatives to the diagonal: a thread a column of a row at the boundary.
extern "C" __global__ void __launch_bounds__(128)
boundary_matrix(BoundaryMatrix) {
    const u32 at = blockIdx.x * 128 + threadIdx.x, i = at / NB, col = at % NB;
    if (i >= count) return;
    const double beta = fluid->beta;
    for (u32 k = ptr[i]; k < ptr[i + 1]; k++) {
        const Face face = load_face(index, metric, list[k]);
        const u32* kind = kinds + face.patch * KINDS;
        const pointwise::GhostKind flow = (pointwise::GhostKind)kind[0];
        const Q4 inside = load_q4(q, cells, face.cell), values = load_given(given, list[k]);
        const Q4 ghost = ghost_state(face, flow, beta, inside, q, values);
        Q4 mean;
#pragma unroll
        for (int c = 0; c < 4; c++) mean[c] = 0.5 * (inside[c] + ghost[c]);
        double* column = diag + ((u64)face.row * NB + col) * NB;
#if EDDIES
        const u32 what = kind[KINDS - 1];
        const double eddies = eddies_at(coefficients, what, face);
        const Turbulence turbulence = {fluid, q, coefficients, cells};
        const Weights weights(turbulence, face.cell);
#else
        const double eddies = 0;
#endif
        const double leaving = pointwise::flux_incompressible(beta, mean, face.n)[0] / beta;
        if (col < 4) {
            const double friction = (fluid->viscosity + eddies) * face.slope[0];
            const auto all = pointwise::ghost_incompressible_jacobian(flow, beta, inside, values, face.n);
            Q4 follows = {0, 0, 0, 0}, half;
#pragma unroll
            for (int c = 0; c < 4; c++)
                if (col == c)
                    for (int r = 0; r < 4; r++) follows[r] = all[4 * c + r];
#pragma unroll
            for (int r = 0; r < 4; r++) half[r] = 0.5 * ((col == r ? 1.0 : 0.0) + follows[r]);
            const Q4 by_cell = pointwise::flux_incompressible_derivative(beta, mean, half, face.n);
#pragma unroll
            for (int r = 0; r < 4; r++)
                column[r] += by_cell[r] + (r > 0 ? friction * ((col == r ? 1.0 : 0.0) - follows[r]) : 0.0);
#if LAWS
            // As `add_friction_slope` in turbulence/laws.rs.
            if (what == WALL && col > 0) {
                const double size = fmax(sqrt(dot(face.n, face.n)), 2.2250738585072014e-308);
                Vec3 u, along;
                double through = 0, square = 0;
#pragma unroll
                for (int c = 0; c < 3; c++) {
                    u[c] = 0.5 * (inside[1 + c] - ghost[1 + c]);
                    through += u[c] * face.n[c] / size;
                }
#pragma unroll
                for (int c = 0; c < 3; c++) along[c] = u[c] - through * face.n[c] / size, square += along[c] * along[c];
                const auto law = law_of_wall();
                const double nu = fluid->viscosity;
                const auto found = pointwise::law_resistance(law, sqrt(square) * distance[face.row] / nu);
                if (square > 0) {
                    const double by = 2.0 * face.slope[0] * nu * found[1] / square;
                    const double own = col == 1 ? along[0] : col == 2 ? along[1] : along[2];
#pragma unroll
                    for (int r = 0; r < 3; r++) column[1 + r] += by * u[r] * own;
                }
            }
#endif
#pragma unroll
            for (int m = 4; m < FLOW; m++) {
                const double value = q[(u64)m * cells + face.cell];
                const double mid = is_fixed(kind[m - 3], leaving) ? given[(u64)list[k] * FLOW + m] : value;
                column[m] += mid * by_cell[0] / beta;
            }
#if EDDIES
#pragma unroll
            for (int v = 0; v < EDDIES; v++) {
                const double value = turbulence.values(v)[face.cell];
                const Vec3 leaves = through_boundary(turbulence, what, face, v, value, leaving, distance[face.row]);
                column[FLOW + v] += leaves[2] * by_cell[0] / beta / weights.of[v];
            }
        } else if (col >= FLOW) {
            const int v = col - FLOW;
            const double value = turbulence.values(v)[face.cell];
            column[col] += through_boundary(turbulence, what, face, v, value, leaving, distance[face.row])[1];
            if (what != WALL) {
                const Vec3 turned = transposed_at(q, area, volumes, cells, face);
#pragma unroll
                for (int c = 0; c < 3; c++) {
                    double middle;
                    const double slope = at_face(q + (u64)(1 + c) * cells, face, middle);
                    column[1 + c] -= 2.0 * turbulence.at_face_by(v, face.cell) * (slope + turned[c]) * weights.at(v);
                }
            }
#endif
        } else {
#if SCALARS > 0
            const double slope = is_fixed(kind[col - 3], leaving) ? -1.0 : 1.0;
#if EDDIES
            const double spread = diffusivity_at(turbulence, col - 4, what, face);
#else
            const double spread = diffusivity(fluid, col - 4, eddies);
#endif
            column[col] += leaving * 0.5 * (1.0 + slope) + spread * face.slope[0] * (1.0 - slope);
#endif
        }
    }
}

// What couples a row through a face, in the low bits of `link`.
__device__ __forceinline__ const double* coupling(const double* __restrict__ lower, const double* __restrict__ upper,
                                                  u64 row, u32 link) {
    const u32 d = (link & 0xff) / 2;
    return link & 1 ? upper + (3 * row + d) * NB * NB : lower + (3 * row + 2 - d) * NB * NB;
}

// Adds to the diagonal of rows that are their own turned neighbors what couples them so: a thread an equation. Faces of
// one row follow one another, those of row i from ptr[i] to ptr[i + 1].
extern "C" __global__ void __launch_bounds__(128)
fold_turned(FoldTurned) {
    const u32 at = blockIdx.x * 128 + threadIdx.x, i = at / NB, e = at % NB;
    if (i >= count) return;
    const u64 row = row_of[i];
    for (u32 k = ptr[i]; k < ptr[i + 1]; k++) {
        const u32 link = folds[k];  // as in couple_blocks
        const double* block = coupling(lower, upper, row, link) + e;
        const double* m = matrices + 9 * ((link >> 8) - 1);
#pragma unroll
        for (int c = 0; c < NB; c++) {
            const double* column = m + (c >= 1 && c <= 3 ? c - 1 : 0);
            diag[(row * NB + c) * NB + e] +=
                c >= 1 && c <= 3 ? block[NB] * column[0] + block[2 * NB] * column[3] + block[3 * NB] * column[6]
                                 : block[c * NB];
        }
    }
}

// r -= A x over neighbors across interfaces: a thread an equation of a row that has any, those of row i from ptr[i] to
// ptr[i + 1]. Rows behind the last one are those of other ranks in the order in which they come.
extern "C" __global__ void __launch_bounds__(128)
couple_blocks(CoupleBlocks) {
    const u32 at = blockIdx.x * 128 + threadIdx.x, i = at / NB, e = at % NB;
    if (i >= count) return;
    const u64 row = row_of[i];
    double sum = r[row * NB + e];
    for (u32 k = ptr[i]; k < ptr[i + 1]; k++) {
        const uint2 link = links[k];  // face, one and the number of a matrix from bit 8 on; row of the neighbor
        const double* block = coupling(lower, upper, row, link.x) + e;
        const double* other = link.y < rows ? x + (u64)link.y * NB : others + (u64)come[link.y - rows] * NB;
#pragma unroll
        for (int c = 0; c < NB; c++) {
            double value = other[c];
            if (c >= 1 && c <= 3 && link.x >> 8) {
                const double* m = matrices + 9 * ((link.x >> 8) - 1) + 3 * (c - 1);
                value = m[0] * other[1] + m[1] * other[2] + m[2] * other[3];
            }
            sum -= block[c * NB] * value;
        }
    }
    r[row * NB + e] = sum;
}
