// The matrix of one unknown that a flow carries, and open boundaries. Twin: ../matrix.rs.
//
// Constant: STORED 8 or 4 bytes of an off-diagonal value.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// Of a position of a row: the entry off the diagonal with the other sign, and what it brings to the spectral radius.
__device__ __forceinline__ pointwise::Array<double, 2> entry_and_radius(const CarriedFace* faces, u32 signed_edge) {
    const CarriedFace& face = faces[signed_edge & 0x7fffffffu];
    const double passing = signed_edge >> 31 ? -face.passing : face.passing, through = face.through[signed_edge >> 31];
    return {through - fmin(passing, 0.0), 0.5 * fabs(passing) + through};
}

// Off the diagonal min(m, 0) - Gamma |n|^2 / (n . dx) of each face, on it their sum with the other sign, the slope times the volume,
// and V/dt: a thread a row.
extern "C" __global__ void __launch_bounds__(128)
carried_rows(u32 rows, const u32* __restrict__ row_ptr, const u32* __restrict__ signed_edge, const CarriedFace* __restrict__ faces,
             const double* __restrict__ slopes, const double* __restrict__ volumes, double cfl, Value* __restrict__ off, double* __restrict__ diag) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    double sum = 0, speed = 0;
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) {
        const auto both = entry_and_radius(faces, signed_edge[k]);
        off[k] = (Value)-both[0];
        sum += both[0], speed += both[1];
    }
    diag[i] = sum + speed / cfl + volumes[i] * slopes[i];
}

// The V/dt that carried_rows puts on the diagonal: a thread a row.
extern "C" __global__ void __launch_bounds__(128)
carried_pseudo_times(u32 rows, const u32* __restrict__ row_ptr, const u32* __restrict__ signed_edge, const CarriedFace* __restrict__ faces, double cfl,
                     double* __restrict__ pseudo_time) {
    const u32 i = blockIdx.x * 128 + threadIdx.x;
    if (i >= rows) return;
    double speed = 0;
    for (u32 k = row_ptr[i]; k < row_ptr[i + 1]; k++) speed += entry_and_radius(faces, signed_edge[k])[1];
    pseudo_time[i] = speed / cfl;
}

// What open boundaries add to residuals, to diagonal entries or to V/dt alone, as `to` says (`AddTo` in carried.rs): a thread a node, its
// parts of the boundary in the order of the patches. `given`: the value of what enters through each patch; `per_volume`: the unknown is
// one per volume, not per mass.
#define RESIDUAL 0
#define DIAGONAL 1
extern "C" __global__ void __launch_bounds__(128)
carried_boundary(u32 count, const u32* __restrict__ node_of, const u32* __restrict__ ptr, const u32* __restrict__ patch_of,
                 const double* __restrict__ areas, const Condition* __restrict__ conditions, const double* __restrict__ nodes,
                 const Params* __restrict__ params, u32 per_volume, const double* __restrict__ given, const double* __restrict__ values, u32 to,
                 double cfl, double* out) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w;
    double sum = out[i];
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        const Condition& condition = conditions[patch_of[k]];
        if (pointwise::condition_class(condition) != pointwise::ConditionClass::Open) continue;
        const double mass = pointwise::condition_flux(condition, params->gas(), w, load_vec3(areas, k))[0];
        const double passing = per_volume ? mass / w[0] : mass;
        if (to == RESIDUAL) sum += pointwise::flux_entering(passing, values[i], given[patch_of[k]]);
        else sum += 0.5 * fabs(passing) / cfl - (to == DIAGONAL ? fmin(passing, 0.0) : 0.0);
    }
    out[i] = sum;
}
