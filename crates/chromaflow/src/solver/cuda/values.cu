// What comes from a caller and goes back: blocks and vectors in the caller's order and in the order inside.
//
// *bad becomes the least position, among what was given, of a number that is none, or that becomes none in f32.
__device__ __forceinline__ void look_at(double v, u64 at, u64* bad) {
    if (!(fabs(v) <= 1.7976931348623157e308)) atomicMin(bad, at);
}
// The caller's blocks, column-major or by rows: block k inside is block source[k] of the caller, the first `rows` of
// them diagonal ones. A row of another rank, of which the caller has no block, gets the identity. `narrow`, where there
// is such, gets the off-diagonal blocks in f32; then bad[2] becomes 0 where an entry has all digits of f32, else bad[1]
// the least position of one that has not.
extern "C" __global__ void take_blocks(TakeBlocks) {
    const u64 q = (u64)nb * nb, n = blocks * q, of_diag = (u64)rows * q;
    bool held = false;
    u64 small = 0xffffffffffffffffull;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x) {
        const u32 e = (u32)(at % q), block = source[at / q];
        if (block == 0xffffffffu) {
            diag[at] = e % (nb + 1) == 0 ? 1.0 : 0.0;
            continue;
        }
        const u64 from = block * q + (by_rows ? e % nb * nb + e / nb : e);
        const double v = given[from];
        look_at(v, from, bad);
        if (fabs(v) >= 1.1754943508222875e-38) {
            held = true;
        } else if (v != 0.0 && from < small) {
            small = from;
        }
        if (at < of_diag) {
            diag[at] = v;
        } else {
            off[at - of_diag] = v;
            if (narrow) {
                narrow[at - of_diag] = (float)v;
                look_at((float)v, from, bad);
            }
        }
    }
    if (!narrow) return;
    if (held) {
        bad[2] = 0;
    } else {
        atomicMin(bad + 1, small);
    }
}
// to = the rows of a vector in the order inside: row i is row old[i] of the caller, or zero where he has it not.
// *largest becomes the largest magnitude: bits of numbers without sign are in the order of the numbers.
extern "C" __global__ void take_vector(TakeVector) {
    double most = 0.0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x) {
        const u32 row = old[at / nb];
        const u64 from = (u64)row * nb + at % nb;
        const double v = row < rows ? given[from] : 0.0;
        if (bad) look_at(v, from, bad);
        most = fmax(most, fabs(v));
        to[at] = v;
    }
    if (!bad) return;
    for (int lane = 16; lane; lane /= 2) most = fmax(most, __shfl_xor_sync(0xffffffffu, most, lane));
    if (threadIdx.x % 32 == 0 && most > 0.0) atomicMax((u64*)largest, (u64)__double_as_longlong(most));
}
// The way back.
extern "C" __global__ void give_vector(GiveVector) {
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x) {
        const u32 row = old[at / nb];
        if (row < rows) to[(u64)row * nb + at % nb] = from[at];
    }
}
// The number of non-zero values that become zero in f16.
extern "C" __global__ void count_underflow(CountUnderflow) {
    const float beta = *scale;
    u32 lost = 0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x)
        lost += values[at] != 0.0f && (float_to_half(values[at] * beta) & 0x7fffu) == 0;
    lost = __reduce_add_sync(0xffffffffu, lost);
    if (threadIdx.x % 32 == 0 && lost) atomicAdd(count, (u64)lost);
}
