// Rows on their way between ranks inside of sweeps: a rank writes what it sends straight into its neighbors' x, says so
// by a number in their memory, and waits for theirs.
//
// Steps: 0, x may be written by others; k, the rows of the k-th color are with the neighbors and what they sent before
// was read. A number is that of the step, after all steps of earlier launches (`base`), so that a graph may be launched
// again without new arguments. A row of x is sent again a sweep later, which is after its reader has said, by the
// number of the color before, that it has read it: there is no second copy.
//
// Order: rows are written, then (fence of the whole system) the count of finished thread blocks, then by the last of
// them the number (store-release); who has read the number (load-acquire, which also empties L1) reads the rows.
//
// Whoever waits does so for kernels that wait for earlier steps only, on devices of their own: so it ends. It also ends
// once `patience` is over or the neighbor has left, with a word to the host; whoever waits after that does not.
struct Mail {
    u64 neighbors;
    u32* base;            // steps of all launches before this one
    u32* flags;           // a number from each neighbor, FLAG words apart
    u32* const* theirs;   // where the neighbors await a number from here
    void* const* x;       // the neighbors' x
    const u32* first;     // of each own row the first of its `targets`; one more
    const uint2* targets; // neighbor and row there
    u32* done;            // thread blocks of this step that have written
    u32* alarm;           // on the host: [0] 1 + neighbor that failed to come (+ LEFT), [1 + n] whether n has left
    u64 patience;         // units of 2^20 nanoseconds, about a millisecond
};
#define FLAG 32
#define LEFT 0x80000000u

namespace mail {
__device__ __forceinline__ u32 acquire(const u32* p) {
    u32 v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ void release(u32* p, u32 v) {
    asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(p), "r"(v) : "memory");
}
__device__ __forceinline__ u64 nanoseconds() {
    u64 t;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));
    return t;
}

// For tests: thread blocks of a step come and go at any time.
__device__ __forceinline__ void delay() {
#ifdef DELAY
    const u32 at = (u32)nanoseconds() + blockIdx.x * 7919u;
    asm volatile("nanosleep.u32 %0;" ::"r"((at * 2654435761u >> 16) % DELAY));
#endif
}

__device__ __forceinline__ bool missing(const u32* flag, u32 wanted) { return (int)(acquire(flag) - wanted) < 0; }

// Until all neighbors have come to `step`; all threads of the block call it.
__device__ __forceinline__ void wait(const Mail* m, u32 step) {
    const u32 wanted = *(volatile const u32*)m->base + 1 + step;
    for (u32 n = threadIdx.x; n < (u32)m->neighbors; n += blockDim.x) {
        const u32* flag = m->flags + n * FLAG;
        // Where nothing has come after some looks the clock is looked at, and the host's words.
        u32 since = 0;
        for (u32 looks = 1; missing(flag, wanted); looks++) {
            if (looks % 1024) continue;
            volatile u32* alarm = m->alarm;
            if (alarm[0]) break;
            const u32 now = (u32)(nanoseconds() >> 20);
            if (looks == 1024) since = now;
            const bool left = alarm[1 + n] && missing(flag, wanted);
            if (left || now - since > (u32)m->patience) alarm[0] = (1 + n) | (left ? LEFT : 0u);
        }
    }
    __syncthreads();
}

// Value c of a row, of `nb`, to all who read it.
template <class Value> __device__ __forceinline__ void send(const Mail* m, u32 row, u32 nb, u32 c, Value value) {
    const u32 end = m->first[row + 1];
    for (u32 i = m->first[row]; i < end; i++) {
        const uint2 to = m->targets[i];
        static_cast<Value*>(m->x[to.x])[(u64)to.y * nb + c] = value;
    }
}

// Tells all neighbors that this rank has come to `step`; one thread.
__device__ __forceinline__ void tell(const Mail* m, u32 step) {
    const u32 number = *(volatile const u32*)m->base + 1 + step;
    __threadfence_system();
    for (u32 n = 0; n < (u32)m->neighbors; n++) release(m->theirs[n], number);
}

// This block has sent its rows; the last of `blocks` tells. All threads call it.
__device__ __forceinline__ void post(const Mail* m, u32 step, u32 blocks) {
    __syncthreads();
    if (threadIdx.x) return;
    __threadfence_system();
    if (atomicAdd(m->done, 1u) + 1 < blocks) return;
    *m->done = 0;
    tell(m, step);
}
}  // namespace mail
