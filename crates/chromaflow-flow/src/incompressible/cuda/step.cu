// What a step does besides residual and matrix. Twin: march.rs.

// r += V (now q + last q_last + before q_before) - V source, but for the first in the pressure's equation. A thread a
// value.
extern "C" __global__ void __launch_bounds__(256)
add_time_and_source(AddTimeAndSource) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)rows * NB) return;
    const u32 c = i % NB, at = place[i / NB].x;
    const double volume = volumes[at];
    double r = residual[i];
    if (q_last && c > 0) r += volume * (now * q[(u64)c * cells + at] + last * q_last[i] + before * q_before[i]);
    if (source) r -= volume * source[i];
    residual[i] = r;
}

// The state as rows. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
take_rows(TakeRows) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i < (u64)rows * NB) out[i] = q[i % NB * cells + place[i / NB].x];
}

// Partial sums of R^2 / V, NB a thread block of LANES * NB threads.
#define LANES (NB <= 16 ? 256 / NB : 8)
extern "C" __global__ void __launch_bounds__(LANES * NB)
residual_norms(ResidualNorms) {
    __shared__ double sums[LANES * NB];
    const u32 c = threadIdx.x % NB;
    double sum = 0;
    for (u32 row = blockIdx.x * LANES + threadIdx.x / NB; row < rows; row += gridDim.x * LANES) {
        const double r = residual[(u64)row * NB + c];
        sum += r * r / volumes[place[row].x];
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x >= NB) return;
    for (u32 l = 1; l < LANES; l++) sum += sums[l * NB + c];
    partials[blockIdx.x * NB + c] = sum;
}
extern "C" __global__ void add_parts(AddParts) {
    sum_parts(ptr, width, partials, to);
}

// Forces on walls: partial sums of pressure force, its moment, friction, its moment, a thread block a part {first face,
// faces} of one patch.
extern "C" __global__ void __launch_bounds__(256)
wall_forces(WallForces) {
    Vec3 arm = {}, f[2] = {};
    const uint2 part = parts[blockIdx.x];
    if (threadIdx.x < part.y) {
        const Face face = load_face(index, metric, part.x + threadIdx.x);
        const double* center = metric + (u64)(part.x + threadIdx.x) * 9 + 6;
        arm = {center[0] - cx, center[1] - cy, center[2] - cz};
        const double p = 0.5 * (q[face.cell] + q[face.ghost]);
#if EDDIES
        boundary_flux(q, cells, face, fluid, eddies_at(coefficients, WALL, face), f[1]);
#else
        boundary_flux(q, cells, face, fluid, 0, f[1]);
#endif
#pragma unroll
        for (int d = 0; d < 3; d++) f[0][d] = p * face.n[d];
    }
    sum_forces(arm, f, partials);
}

// q -= x, of a turbulence model as far as its unknowns' range goes; the old state is kept. `counts`: the first row
// whose update is not finite, the number of those whose update was cut. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
apply_update(ApplyUpdate) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    bool bad = false;
#if EDDIES
    bool cut = false;
#endif
    if (row < rows) {
        const u32 at = place[row].x;
#pragma unroll
        for (int c = 0; c < FLOW; c++) {
            const u64 i = (u64)c * cells + at;
            const double old = q[i], change = x[(u64)row * NB + c];
            last_good[i] = old, q[i] = old - change;
            bad = bad || !(fabs(change) <= 1.7976931348623157e308);
        }
#if EDDIES
#pragma unroll
        for (int v = 0; v < EDDIES; v++) {
            const u64 i = (u64)(FLOW + v) * cells + at;
            const double old = q[i], change = x[(u64)row * NB + FLOW + v];
            const double by = change * weight_of(fluid, v, old), made = updated(fluid, old, by);
            last_good[i] = old, q[i] = made;
            cut = cut || is_cut(old, by, made);
            bad = bad || !(fabs(change) <= 1.7976931348623157e308);
        }
#endif
    }
    tell_first(bad, row, counts);
#if EDDIES
    const u32 some = __popc(__ballot_sync(0xffffffffu, cut));
    if (threadIdx.x % 32 == 0 && some) atomicAdd(counts + 1, some);
#endif
}
