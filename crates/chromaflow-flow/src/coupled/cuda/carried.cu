// The matrix of unknowns that a flow carries, and open boundaries. Twin: ../matrix.rs.
//
// Constants: NB unknowns a node; STORED 8 or 4 bytes of an off-diagonal value.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// Of a position of a row: what the edge brings to the spectral radius, and the entries off the diagonal with the other
// sign.
__device__ __forceinline__ double radius_and_entries(const CarriedFace* faces, u32 signed_edge, double (&entries)[NB]) {
    const CarriedFace& face = faces[signed_edge & 0x7fffffffu];
    const double passing = signed_edge >> 31 ? -face.passing : face.passing;
    double most = 0;
#pragma unroll
    for (int v = 0; v < NB; v++) {
        const double through = face.through[signed_edge >> 31][v];
        entries[v] = through - fmin(passing, 0.0);
        most = fmax(most, through);
    }
    return 0.5 * fabs(passing) + most;
}

// Off the diagonal min(m, 0) - Gamma |n|^2 / (n . dx) of each face, on it their sum with the other sign, the slope
// times the volume, and V/dt: a thread a row. `slopes`: blocks as those of the matrix.
extern "C" __global__ void __launch_bounds__(128)
carried_rows(CarriedRows) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    double sum[NB] = {}, speed = 0;
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        double entries[NB];
        speed += radius_and_entries(faces, signed_edge[k], entries);
#pragma unroll
        for (int e = 0; e < NB * NB; e++)
            off[(u64)k * (NB * NB) + e] = (Value)(e % (NB + 1) == 0 ? -entries[e / (NB + 1)] : 0.0);
#pragma unroll
        for (int v = 0; v < NB; v++) sum[v] += entries[v];
    }
    const double time = speed / cfl + 2 * volumes[i] * growth[i];
#pragma unroll
    for (int e = 0; e < NB * NB; e++) {
        const double own = e % (NB + 1) == 0 ? sum[e / (NB + 1)] + time : 0.0;
        diag[(u64)i * (NB * NB) + e] = own + volumes[i] * slopes[(u64)i * (NB * NB) + e];
    }
}

// The V/dt that carried_rows puts on the diagonal: a thread a row.
extern "C" __global__ void __launch_bounds__(128)
carried_pseudo_times(CarriedPseudoTimes) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    double speed = 0;
    double entries[NB];
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) speed += radius_and_entries(faces, signed_edge[k], entries);
    pseudo_time[i] = speed / cfl + 2 * volumes[i] * growth[i];
}

// What open boundaries add to residuals, to diagonal blocks or to V/dt alone, as `to` says (`AddTo` in carried.rs): a
// thread a node, its parts of the boundary in the order of the patches. `given`: the values of what enters through each
// patch; `per_volume`: unknowns are one per volume, not per mass.
#define RESIDUAL 0
#define DIAGONAL 1
extern "C" __global__ void __launch_bounds__(128)
carried_boundary(CarriedBoundary) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w;
    double sum[NB], rate = 0;
    if (to == RESIDUAL)
        for (int v = 0; v < NB; v++) sum[v] = out[(u64)i * NB + v];
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        const Condition& condition = conditions[patch_of[k]];
        if (pointwise::condition_class(condition) != pointwise::ConditionClass::Open) continue;
        const double mass = pointwise::condition_flux(condition, params->gas(), w, load_vec3(areas, k))[0];
        const double passing = per_volume ? mass / w[0] : mass;
        if (to == RESIDUAL) {
            for (int v = 0; v < NB; v++)
                sum[v] += pointwise::flux_entering(passing, values[(u64)i * NB + v], given[patch_of[k] * NB + v]);
        } else {
            rate += 0.5 * fabs(passing) / cfl - (to == DIAGONAL ? fmin(passing, 0.0) : 0.0);
        }
    }
    if (to == RESIDUAL) {
        for (int v = 0; v < NB; v++) out[(u64)i * NB + v] = sum[v];
    } else if (to == DIAGONAL) {
        for (int v = 0; v < NB; v++) out[(u64)i * (NB * NB) + v * (NB + 1)] += rate;
    } else {
        out[i] += rate;
    }
}

// What carried_boundary adds to the derivative of a residual along a direction, of amounts per mass: the flow's from
// `nodes` to `moved` in a step of 1 / `inverse`, `changes` those of the unknowns. A thread a node.
extern "C" __global__ void __launch_bounds__(128)
carried_boundary_along(CarriedBoundaryAlong) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w, end = load_node(moved, i).w;
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        const Condition& condition = conditions[patch_of[k]];
        if (pointwise::condition_class(condition) != pointwise::ConditionClass::Open) continue;
        const Vec3 n = load_vec3(areas, k);
        const double start = pointwise::condition_flux(condition, params->gas(), w, n)[0];
        const Along mass(start, (pointwise::condition_flux(condition, params->gas(), end, n)[0] - start) * inverse);
        for (int v = 0; v < NB; v++) {
            const Along own(values[(u64)i * NB + v], changes[(u64)i * NB + v]);
            out[(u64)i * NB + v] += pointwise::flux_entering(mass, own, Along(given[patch_of[k] * NB + v])).d;
        }
    }
}
