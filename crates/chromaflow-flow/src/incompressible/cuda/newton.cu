// Newton-Krylov steps: states beside the present one, differences of residuals, measures. Twin: newton.rs.
//
// Vectors are [rows][NB]. `units` has what unknowns are measured by, NB of them, then what residuals are; `steps` is
// the volume over the time step of each row. States are measured where the derivative is taken.
__device__ __forceinline__ double weight_at(const Fluid* __restrict__ fluid, const double* __restrict__ q, u32 cells,
                                            u32 c, u32 at) {
#if EDDIES
    if (c >= FLOW) return weight_of(fluid, c - FLOW, q[(u64)c * cells + at]);
#endif
    return 1.0;
}

// Partial sums of squares of unknowns and of residuals over the row's steps, [blocks][2][NB]. Shape: residual_norms.
extern "C" __global__ void __launch_bounds__(LANES * NB)
newton_norms(NewtonNorms) {
    __shared__ double sums[2][LANES * NB];
    const u32 c = threadIdx.x % NB;
    double of_state = 0, of_residual = 0;
    for (u32 row = blockIdx.x * LANES + threadIdx.x / NB; row < rows; row += gridDim.x * LANES) {
        const u32 at = place[row].x;
        const double value = q[(u64)c * cells + at] / weight_at(fluid, q, cells, c, at);
        const double r = residual[(u64)row * NB + c] / (steps[row] * cfl);
        of_state += value * value, of_residual += r * r;
    }
    sums[0][threadIdx.x] = of_state, sums[1][threadIdx.x] = of_residual;
    __syncthreads();
    if (threadIdx.x >= NB) return;
    for (u32 l = 1; l < LANES; l++) of_state += sums[0][l * NB + c], of_residual += sums[1][l * NB + c];
    partials[(u64)blockIdx.x * 2 * NB + c] = of_state, partials[((u64)blockIdx.x * 2 + 1) * NB + c] = of_residual;
}

// What time steps add to the diagonal of each unknown's row. A thread a row.
extern "C" __global__ void __launch_bounds__(128)
newton_times(NewtonTimes) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
    double* out = times + (u64)row * NB;
#pragma unroll
    for (int c = 0; c < NB; c++) out[c] = steps[row];
#if EDDIES
#pragma unroll
    for (int v = 0; v < EDDIES; v++) out[FLOW + v] += steps[row] * (1.0 / fluid->model.cfl_ratio - 1.0);
#if EDDIES == 2
    const double volume = volumes[place[row].x], rate = residual[(u64)row * NB + FLOW] / volume;
    out[FLOW] += volume * pointwise::k_resolving(-rate, sources[row + 2 * (u64)rows]);
#endif
#endif
}

// q + h v. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
set_beside(SetBeside) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)rows * NB) return;
    const u32 c = i % NB, at = place[i / NB].x;
    const u64 to = (u64)c * cells + at;
    q[to] = base[to] + h * (weight_at(fluid, base, cells, c, at) * units[c]) * v[i];
}

// y = (r - base) / h + V/dt v as residuals are measured, r that of q + h v. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
newton_slopes(NewtonSlopes) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)rows * NB) return;
    const u32 c = i % NB;
    const double slope = (residual[i] - base[i]) * inverse + times[i] * units[c] * v[i];
    y[i] = slope / (steps[i / NB] * cfl * units[NB + c]);
}

// Residuals as they are measured, or back. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
weigh(Weigh) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= (u64)rows * NB) return;
    const double by = steps[i / NB] * cfl * units[NB + i % NB];
    to[i] = back ? from[i] * by : from[i] / by;
}

// Unknowns as they are measured, or back. A thread a value.
extern "C" __global__ void __launch_bounds__(256)
weigh_unknowns(WeighUnknowns) {
    const u64 i = (u64)blockIdx.x * 256 + threadIdx.x;
    if (i >= count) return;
    to[i] = back ? from[i] * units[i % NB] : from[i] / units[i % NB];
}
