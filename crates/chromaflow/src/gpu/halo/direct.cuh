// Rows on their way between ranks inside of sweeps: a rank writes what it sends straight into its neighbors' x, says so
// by a number in their memory, and waits for theirs.
//
// Steps: 0, x may be written by others; k, the rows of the k-th color are with the neighbors and what they sent before
// was read. A number is that of the step, after all steps of earlier launches (`base`), so that a graph may be launched
// again without new arguments. A row of x is sent again a sweep later, which is after its reader has said, by the
// number of the color before, that it has read it: there is no second copy.
//
// Order: rows are written, then (fence of the whole system) the count of finished thread blocks, then by the last of
// them the number (store-release); who has read the number (load-acquire) reads the rows. A store-release waits for the
// stores before it to arrive, so each neighbor's number has a lane of its own: one after the other they would add up. A
// load-acquire empties L1, from which other thread blocks read x: it comes once, after looks that do not.
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
#define MOST 64  // neighbors
#define LEFT 0x80000000u

namespace mail {
__device__ __forceinline__ u32 acquire(const u32* p) {
    u32 v;
    asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
    return v;
}
__device__ __forceinline__ u32 look(const u32* p) {
    u32 v;
    asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
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

__device__ __forceinline__ bool missing(const u32* flag, u32 wanted) { return (int)(look(flag) - wanted) < 0; }

// What the thread blocks of a border have at hand before their turn comes: to look it up then would be half of the time
// that a step between small parts takes.
struct Desk {
    u32 neighbors, number;  // number: of this step
    const u32* flags;
    u32* done;
    u32* theirs[MOST];
};

// Fills the desk for `step`; all threads of the block call it, and meet before they read it.
__device__ __forceinline__ void prepare(Desk& desk, const Mail* m, u32 step) {
    const u32 neighbors = (u32)m->neighbors;
    for (u32 n = threadIdx.x; n < neighbors; n += blockDim.x) desk.theirs[n] = m->theirs[n];
    if (threadIdx.x) return;
    desk.neighbors = neighbors, desk.flags = m->flags, desk.done = m->done;
    desk.number = *(volatile const u32*)m->base + 1 + step;
}

// Until all neighbors have come to the step before that of the desk; all threads of the block call it.
__device__ __forceinline__ void wait(const Mail* m, const Desk& desk) {
    const u32 wanted = desk.number - 1;
    for (u32 n = threadIdx.x; n < desk.neighbors; n += blockDim.x) {
        const u32* flag = desk.flags + n * FLAG;
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
        acquire(flag);
    }
    __syncthreads();
}

// Where the values of a row go: to one neighbor, as a rule.
template <class Value> struct Sent {
    Value* to;      // none: nobody reads the row
    u32 next, end;  // further targets
};

template <class Value> __device__ __forceinline__ Value* target(const Mail* m, u32 i, u32 nb) {
    const uint2 to = m->targets[i];
    return static_cast<Value*>(m->x[to.x]) + (u64)to.y * nb;
}

template <class Value> __device__ __forceinline__ Sent<Value> address(const Mail* m, u32 row, u32 nb) {
    const u32 first = m->first[row], end = m->first[row + 1];
    return {first < end ? target<Value>(m, first, nb) : nullptr, first + 1, end};
}

// Value c of a row, of `nb`, to all who read it.
template <class Value>
__device__ __forceinline__ void send(const Mail* m, const Sent<Value>& sent, u32 nb, u32 c, Value value) {
    if (!sent.to) return;
    sent.to[c] = value;
    for (u32 i = sent.next; i < sent.end; i++) target<Value>(m, i, nb)[c] = value;
}

// Tells all neighbors that this rank has come to the desk's step; the first `lanes` threads of a block, of one warp.
__device__ __forceinline__ void tell(const Desk& desk, u32 lanes) {
    for (u32 n = threadIdx.x; n < desk.neighbors; n += lanes) release(desk.theirs[n], desk.number);
}

// This block has sent its rows; the last of `blocks` tells. All threads call it.
__device__ __forceinline__ void post(const Desk& desk, u32 blocks) {
    __syncthreads();
    const u32 lanes = blockDim.x < 32 ? blockDim.x : 32;
    if (threadIdx.x >= lanes) return;
    u32 last = 0;
    if (threadIdx.x == 0) {
        __threadfence_system();
        last = atomicAdd(desk.done, 1u) + 1 == blocks;
        if (last) *desk.done = 0;
    }
    if (__shfl_sync(0xffffffffu >> (32 - lanes), last, 0)) tell(desk, lanes);
}
}  // namespace mail
