// How far states may move. Twin: mod.rs.

// The largest relative change of `rows` conserved states along v, where there is one, else by any change of length 1;
// as the bits of a positive number.
extern "C" __global__ void __launch_bounds__(256)
largest_change(LargestChange) {
    const u32 i = blockIdx.x * 256 + threadIdx.x;
    double change = 0;
    if (i < rows) {
        const State state = load_state(q, i);
        change = v ? pointwise::relative_change(state, load_state(v, i)) : pointwise::relative_change_at_most(state);
    }
#pragma unroll
    for (int s = 16; s; s >>= 1) change = fmax(change, __shfl_xor_sync(0xffffffffu, change, s));
    if (threadIdx.x % 32 == 0) atomicMax(largest, (u64)__double_as_longlong(change));
}
