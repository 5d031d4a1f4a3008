// Boxes of arrays copied to shared memory, by the Tensor Memory Accelerator where there is one, and the full and empty
// barriers (mbarrier) of their producers and consumers. Behind structured.cuh.

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void barrier_init(u64* barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// Before anybody uses barriers set up by the thread.
__device__ __forceinline__ void barriers_ready() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
// Arrival of a thread. Warps that arrive by one lane are no faster, and racecheck cannot follow them.
__device__ __forceinline__ void barrier_arrive(u64* barrier) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
}
// One arrival of the warp that asks for boxes of so many bytes, which count where the GPU copies them by itself.
__device__ __forceinline__ void barrier_expect(u64* barrier, u32 bytes) {
    if (threadIdx.x % 32) return;
#if __CUDA_ARCH__ >= 900
    asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
#else
    barrier_arrive(barrier);
#endif
}
// Waits for use number `use` of one of two barriers that take turns.
__device__ __forceinline__ void barrier_wait(u64* barrier, u32 use) {
#if __CUDA_ARCH__ >= 900
#define BARRIER_TEST "mbarrier.try_wait.parity.shared.b64"
#else
#define BARRIER_TEST "mbarrier.test_wait.parity.shared.b64"
#endif
    asm volatile("{ .reg .pred p; W: " BARRIER_TEST " p, [%0], %1; @!p bra W; }" ::"r"(shared_address(barrier)),
                 "r"(use / 2 % 2)
                 : "memory");
}
// Arrival when all copies of the lane have come.
__device__ __forceinline__ void arrive_after_copies(u64* barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Threads that copy boxes: a warp that asks the GPU for them, or all.
#if __CUDA_ARCH__ >= 900
#define COPIERS 32
#else
#define COPIERS THREADS
#endif
// A tensor map: what the GPU needs to know of an array to copy boxes of it, see tensor_map.rs.
struct alignas(128) TensorMap {
    u64 opaque[16];
};
// Boxes asked for from now on do not overtake what others wrote before to where they come.
__device__ __forceinline__ void fence_tensor_copies() {
#if __CUDA_ARCH__ >= 900
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
// A box of so many components, rows and cells from entry (i, j, k) of a block on, by so many threads, COPIERS;
// `barrier` counts its bytes where the GPU copies it by itself, asked by a warp. What lies beyond the block is no
// number that anybody uses.
template <int COMPONENTS, int HEIGHT, int WIDTH, int MANY>
__device__ __forceinline__ void copy_box(double* to, const TensorMap* map, const double* from, const GridBlock& b,
                                         u32 pitch, u32 first, u32 i, u32 j, u32 k, u64* barrier) {
#if __CUDA_ARCH__ >= 900
    if (threadIdx.x % 32 == 0)
        asm volatile(
            "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, "
            "%5}], [%6];" ::"r"(shared_address(to)),
            "l"(map), "r"(i), "r"(j), "r"(k), "r"(first), "r"(shared_address(barrier))
            : "memory");
#else
#pragma unroll 1
    for (u32 t = threadIdx.x % MANY; t < COMPONENTS * HEIGHT * WIDTH / 2; t += MANY) {
        const u32 x = min(i + 2 * (t % (WIDTH / 2)), b.stride[1] - 2),
                  y = min(j + t / (WIDTH / 2) % HEIGHT, b.count[1] + 3);
        const double* const pair =
            from + (b.offset + x + y * b.stride[1] + k * b.stride[2] + (first + t / (WIDTH / 2 * HEIGHT)) * pitch);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + 2 * t)), "l"(pair)
                     : "memory");
    }
#endif
}
