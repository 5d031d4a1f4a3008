// The recurrences of a sweep over lines, whose rows have z = B^-1 (b - O x) in the room:
//
//     y_i = z_i - E_i y_{i-1}, upward      x_i = y_i - F_i x_{i+1}, downward
//
// NB lanes a line, each with a row of the blocks. Blocks of the lines of a warp stand side by side, [row of the line]
// [column][lane]: every request is a whole line of memory. They do not depend on the recurrences, so that those of
// AHEAD rows are on their way while as many are used. A lane writes y where it reads z.
//
// Where rows pass between ranks (PASSES) the first `edge` thread blocks send theirs when they are done, row after row
// of a line; where nothing of the color follows, `tells`, the last of them says so (direct.cuh). They need not wait:
// the sweep before them did.
//
// Constants: NB; AHEAD; PASSES. Twin: ../sweep.rs.
#define PER_WARP (32 / NB)
#if PASSES
#define ARGUMENTS SolvePassingLines
#define RESIDENT , 8  // thread blocks a multiprocessor: left alone the compiler spills for the sake of more
#else
#define ARGUMENTS SolveLines
#define RESIDENT
#endif

__device__ __forceinline__ Sum load_block(const Sum* p) {
#if STORAGE == 0
    return load_f64(p);
#else
    u32 w;
    load4(&w, p);
    return __uint_as_float(w);
#endif
}

// Rows of a pass, `AHEAD` at a time: those of part k are k AHEAD .. from the end that the pass begins at.
struct Part {
    Sum block[AHEAD][NB], value[AHEAD];
};

struct Walk {
    const Sum* blocks;  // of this lane
    Sum* room;          // of this lane
    u32 rows, longest;  // of its line, and of its warp
    bool down;

    __device__ __forceinline__ u32 row(u32 step) const { return down ? longest - 1 - step : step; }

    __device__ __forceinline__ void load_blocks(Part& part, u32 k) const {
#pragma unroll
        for (int s = 0; s < AHEAD; s++)
#pragma unroll
            for (int c = 0; c < NB; c++) {
                const u32 step = k * AHEAD + s;
                part.block[s][c] = step < longest ? load_block(blocks + ((u64)row(step) * NB + c) * 32) : 0;
            }
    }

    __device__ __forceinline__ void load_values(Part& part, u32 k) const {
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            const u32 step = k * AHEAD + s;
            part.value[s] = step < longest && row(step) < rows ? load_x(room + (u64)row(step) * NB) : 0;
        }
    }

    __device__ __forceinline__ void load(Part& part, u32 k) const {
        load_blocks(part, k);
        load_values(part, k);
    }

    // value <- value - block (what came before), row after row, each given to `put`.
    template <class Put> __device__ __forceinline__ void use(const Part& part, u32 k, Sum& last, Put put) const {
        const u32 base = threadIdx.x % 32 / NB * NB;
#pragma unroll
        for (int s = 0; s < AHEAD; s++) {
            const u32 step = k * AHEAD + s;
            Sum sum = part.value[s];
#pragma unroll
            for (int c = 0; c < NB; c++) sum -= part.block[s][c] * __shfl_sync(0xffffffffu, last, base + c);
            last = sum;
            if (step < longest && row(step) < rows) put(row(step), sum);
        }
    }

    // The whole pass; the first part is loaded.
    template <class Put> __device__ __forceinline__ void go(Part& even, Put put) const {
        Part odd;
        Sum last = 0;
        for (u32 k = 0; k * AHEAD < longest; k += 2) {
            load(odd, k + 1);
            use(even, k, last, put);
            load(even, k + 2);
            use(odd, k + 1, last, put);
        }
    }
};

#if PASSES
// Rows of a line to whom reads them, some at a time: their addresses are on their way together. A lane its entry.
__device__ __forceinline__ void send_line(const Mail* m, const Line& line, const Sum* x, u32 r) {
    constexpr u32 TOGETHER = 4;
    for (u32 i = 0; i < line.rows; i += TOGETHER) {
        mail::Sent<Sum> to[TOGETHER];
        Sum value[TOGETHER];
#pragma unroll
        for (u32 u = 0; u < TOGETHER; u++)
            if (i + u < line.rows) {
                to[u] = mail::address<Sum>(m, line.row + i + u, NB);
                value[u] = load_x(x + (u64)(line.row + i + u) * NB + r);
            }
#pragma unroll
        for (u32 u = 0; u < TOGETHER; u++)
            if (i + u < line.rows) mail::send(m, to[u], NB, r, value[u]);
    }
}
#endif

extern "C" __global__ void __launch_bounds__(64 RESIDENT) solve_lines(ARGUMENTS) {
    const u32 lane = threadIdx.x % 32, group = lane / NB, r = lane % NB;
    const u32 id = first + (blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32) * PER_WARP + group;
    uint4 raw = {0, 0, 0, 0};
    if (group < PER_WARP && id < end) raw = *reinterpret_cast<const uint4*>(lines + id);
    const Line line = {raw.x, raw.y, raw.z, raw.w};
    const u32 longest = __reduce_max_sync(0xffffffffu, line.rows);
    const u64 blocks = (u64)__shfl_sync(0xffffffffu, line.slot, 0) * (NB * 32) + lane;
    const u64 own = (u64)line.row * NB + r;
    Walk walk = {e + blocks, room + own, line.rows, longest, false};
    Part part;
    walk.load_blocks(part, 0);
#if PASSES
    __shared__ mail::Desk desk;
    if (blockIdx.x < edge && tells) mail::prepare(desk, mail_of, step);
#endif
    launch_dependents();
    wait_for_predecessors();
    walk.load_values(part, 0);
    walk.go(part, [&](u32 i, Sum y) { room[own + (u64)i * NB] = y; });
    __syncwarp();
    walk.blocks = f + blocks, walk.down = true;
    walk.load(part, 0);
    walk.go(part, [&](u32 i, Sum xi) {
        Sum* to = x + own + (u64)i * NB;
        if (omega != 1.0) {
            const double old = load_x(to);
            xi = (Sum)(old + omega * ((double)xi - old));
        }
        *to = xi;
    });
#if PASSES
    mail::delay();
    if (blockIdx.x < edge) {
        send_line(mail_of, line, x, r);
        if (tells) mail::post(desk, edge);
        else __threadfence_system();
    }
#endif
}
