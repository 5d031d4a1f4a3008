// What every system beside a flow does, whatever its equations: sources, nodes of given values, norms, update.
// Twin: ../system.rs.
//
// Constants: NB unknowns a node; STORED 8 or 4 bytes of an off-diagonal value. `floors`, [NB]: of unknowns that are
// measured by their own value at each node, what is added to it; negative of others.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// What the measure of an unknown, and of its residual, is multiplied by at a node.
__device__ __forceinline__ double weight(const double* __restrict__ floors, const double* __restrict__ values, u64 at) {
    const double floor = floors[at % NB];
    return floor < 0 ? 1.0 : fabs(values[at]) + floor;
}

// r -= V source.
extern "C" __global__ void __launch_bounds__(256)
subtract_source(SubtractSource) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at < (u64)rows * NB) residual[at] -= volumes[at / NB] * source[at];
}
extern "C" __global__ void __launch_bounds__(128) held_residual(HeldResidual) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at < count)
        for (int v = 0; v < NB; v++) residual[(u64)node_of[at] * NB + v] = 0;
}
// Rows of given values are identities: a thread a row.
extern "C" __global__ void __launch_bounds__(128)
held_rows(HeldRows) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 row = node_of[at];
    for (u64 e = (u64)row_ptr[row] * (NB * NB); e < (u64)row_ptr[row + 1] * (NB * NB); e++) off[e] = 0;
    for (int e = 0; e < NB * NB; e++) diag[(u64)row * (NB * NB) + e] = e % (NB + 1) == 0 ? 1.0 : 0.0;
}

__device__ __forceinline__ bool is_finite(const double* values, u64 row) {
    bool good = true;
    for (int v = 0; v < NB; v++) good = good && fabs(values[row * NB + v]) <= 1.7976931348623157e308;
    return good;
}
// Partial sums of R^2 / V, of local unknowns (R / value)^2 / V, NB a thread block, and the first node with a residual
// or an unknown that is not finite.
extern "C" __global__ void __launch_bounds__(256)
residual_norms(ResidualNorms) {
    double sum[NB] = {};
    for (u64 base = (u64)blockIdx.x * 256; base < rows; base += (u64)gridDim.x * 256) {
        const u64 i = base + threadIdx.x;
        bool bad = false;
        if (i < rows) {
            const double inverse = 1.0 / volumes[i];
#pragma unroll
            for (int v = 0; v < NB; v++) {
                const double measured = residual[i * NB + v] / weight(floors, values, i * NB + v);
                sum[v] += measured * measured * inverse;
            }
            bad = !is_finite(residual, i) || !is_finite(values, i);
        }
        tell_first(bad, (u32)i, first_bad);
    }
    block_sums(sum);
    if (threadIdx.x == 0)
        for (int v = 0; v < NB; v++) partials[blockIdx.x * NB + v] = sum[v];
}
extern "C" __global__ void add_parts(AddParts) {
    sum_parts(ptr, width, partials, to);
}

// Where the equations cut no update.
extern "C" __global__ void __launch_bounds__(256)
subtract_update(SubtractUpdate) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at < (u64)rows * NB) values[at] -= update[at];
}
// The first node with an unknown that is not finite.
extern "C" __global__ void __launch_bounds__(128) check_values(CheckValues) {
    const u64 i = (u64)blockIdx.x * 128 + threadIdx.x;
    tell_first(i < rows && !is_finite(values, i), (u32)i, first_bad);
}

// For Newton-Krylov steps, a thread a value. `base` has the values where the derivative is taken; `units` those of each
// unknown and of its residual, [NB]; `pseudo_time` V/dt of each row, by which and by their values residuals of local
// unknowns are measured where they are measured `by_change`.
struct Units {
    double unknown, residual, by_change;
};
__device__ __forceinline__ double residual_weight(bool by_change, const double* __restrict__ floors,
                                                  const double* __restrict__ base,
                                                  const double* __restrict__ pseudo_time, u64 at) {
    if (!by_change || floors[at % NB] < 0) return 1.0;
    const double time = pseudo_time[at / NB];
    return weight(floors, base, at) * (time > 0 ? time : 1.0);
}
__device__ __forceinline__ Units units_at(const Units* __restrict__ units, const double* __restrict__ floors,
                                          const double* __restrict__ base,
                                          const double* __restrict__ pseudo_time, u64 at) {
    const Units of = units[at % NB];
    return {of.unknown * weight(floors, base, at),
            of.residual * residual_weight(of.by_change != 0, floors, base, pseudo_time, at), of.by_change};
}
// Values and residuals of the unknown v over their weights, and zeros of the others.
extern "C" __global__ void __launch_bounds__(256)
measured(Measured) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * NB) return;
    const double over = residual_weight(by_change, floors, base, pseudo_time, at);
    of_values[at] = at % NB == v ? base[at] / weight(floors, base, at) : 0.0;
    of_residuals[at] = at % NB == v ? residual[at] / over : 0.0;
}
// values = base + h v
extern "C" __global__ void __launch_bounds__(256)
set_beside(SetBeside) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at < (u64)rows * NB) values[at] = base[at] + h * (units[at % NB].unknown * weight(floors, base, at)) * v[at];
}
// y = ((moved - residual) / h + V/dt v) / unit
extern "C" __global__ void __launch_bounds__(256)
slopes(Slopes) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * NB) return;
    const Units unit = units_at(units, floors, base, pseudo_time, at);
    y[at] = ((moved[at] - residual[at]) * inverse + pseudo_time[at / NB] * unit.unknown * v[at]) / unit.residual;
}
// y = (slope + V/dt v) / unit
extern "C" __global__ void __launch_bounds__(256)
add_pseudo_time(AddPseudoTime) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * NB) return;
    const Units unit = units_at(units, floors, base, pseudo_time, at);
    y[at] = (slope[at] + pseudo_time[at / NB] * unit.unknown * v[at]) / unit.residual;
}
// Between what is measured and what is not: values and residuals, to and fro as `to` says (`Measure` in newton.rs).
#define RESIDUAL_FROM 0
#define RESIDUAL_TO 1
#define VALUE_FROM 2
extern "C" __global__ void __launch_bounds__(256)
measure(Measure) {
    const u64 at = (u64)blockIdx.x * 256 + threadIdx.x;
    if (at >= (u64)rows * NB) return;
    const Units unit = units_at(units, floors, base, pseudo_time, at);
    out[at] = to == RESIDUAL_FROM ? from[at] * unit.residual
              : to == RESIDUAL_TO ? from[at] / unit.residual
              : to == VALUE_FROM  ? from[at] * unit.unknown
                                  : from[at] / unit.unknown;
}
// Given values keep what they have.
extern "C" __global__ void __launch_bounds__(128)
held_slopes(HeldSlopes) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    for (int k = 0; k < NB; k++) y[(u64)node_of[at] * NB + k] = v[(u64)node_of[at] * NB + k];
}
