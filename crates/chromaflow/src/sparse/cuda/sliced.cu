// Rows of a matrix in sliced blocks (SELL-C-sigma): products and sweeps. The rows of a batch stand in chunks of C rows,
// padded to their longest row; rows of like length among sigma were brought together before they were cut. Vectors, the
// diagonal and column numbers keep the order of the matrix: `perm` says which row stands where, so nothing is gathered
// before a product or after it; it is null where the rows came in that order, as those of a plan do: sweeps then spend
// neither a load nor a register on it.
//
// Constants: NB block size; C rows a chunk; G chunks a thread block; UB pairs of slots a thread has in flight; SP lane
// groups that share the slots of a row; MINB thread blocks a multiprocessor must hold; DEARLY loads the inverse
// diagonal before the predecessors are waited for, ONE the odd last slot with the first pairs; MODE 0 sweep of a
// relaxation over rows in the order of the matrix, 1 product or residual, 2 sweep over rows in another order, 3 the
// same that passes rows between ranks: its first `edge` thread blocks wait for the neighbors' rows and send theirs, 4
// that waits for them alone.
//
// Small blocks are bound not by memory but by the sectors of x that multiprocessors ask the L2 cache for. Chunks of one
// thread block, near one another in the mesh, find most of them in L1.
//
// One value of x feeds the NB products of a lane (layout: sell.cuh). Index [slot][row] of each chunk; inverse diagonal
// [column][lane].
// Padding holds zeros and reads a row of its own chunk.
// Source: Kreutzer, Hager, Wellein, Fehske, Bishop (2014), SIAM J. Sci. Comput. 36(5), with blocks for scalars and
// pairs of slots. Twins: ../row_product.rs, ../../relax/multicolor/reference.rs.
using sell::Chunk;
#define LANES (C * NB)
#define GROUP (LANES * SP)  // threads of a chunk
#define SLOT_BYTES ((u64)LANES * NB * STORED)
#define PAIR_WORDS (2 * NB * STORED / 4)
#define ONE_WORDS ((NB * STORED + 3) / 4)
#define PAD (NB | 1)
// Tiles were measured on Hopper; elsewhere the compiler's other demand for registers is met by one thread block less.
#if __CUDA_ARCH__ == 900 || MINB == 1
#define RESIDENT MINB
#else
#define RESIDENT (MINB - 1)
#endif
#define ALONE (NB == 1 && SP == 1)  // a thread has the whole sum of its row
#define SWEEP (MODE != 1)
#define AWAITS (MODE >= 3)
#define SENDS (MODE == 3)
// Where an owner's value stands in a vector, and the row it belongs to.
#if MODE == 0
#define ROW (k.row + r)
#define AT ((u64)k.row * NB + lane)
#else
#define ROW row
#define AT ((u64)row * NB + c)
#endif

// All threads of chunk `g`.
__device__ __forceinline__ void chunk_barrier(u32 g) {
#if G == 1 || GROUP % 32 != 0
    __syncthreads();
#elif GROUP == 32
    __syncwarp();
#else
    asm volatile("bar.sync %0, %1;" ::"r"(g + 1), "n"(GROUP) : "memory");
#endif
}

// A lane's WORDS words (and, when REST, two more bytes) of a run that starts at `base`.
template <int WORDS, bool REST>
__device__ __forceinline__ void load_lane(u32* w, const char* base, u32 lane) {
    constexpr int V4 = WORDS / 4, V2 = WORDS % 4 / 2, V1 = WORDS % 2;
#pragma unroll
    for (int v = 0; v < V4; v++) load16(w + 4 * v, base + ((u32)v * LANES + lane) * 16);
    base += V4 * LANES * 16;
    if (V2) load8(w + 4 * V4, base + lane * 8);
    base += V2 * LANES * 8;
    if (V1) load4(w + 4 * V4 + 2 * V2, base + lane * 4);
    base += V1 * LANES * 4;
    if (REST) load2(w + WORDS, base + lane * 2);
}

#if MODE == 1
#define ARGUMENTS SlicedProduct
#elif AWAITS
#define ARGUMENTS SlicedPeerSweep
#else
#define ARGUMENTS SlicedSweep
#endif
extern "C" __global__ void __launch_bounds__(GROUP * G, RESIDENT) sliced(ARGUMENTS) {
    __shared__ Sum parts[ALONE ? 1 : G][SP][LANES * PAD];
#if SP > 1
    __shared__ Sum group_sums[G][SP][LANES];
#endif
    __shared__ double residuals[G][LANES];
    const u32 g = G == 1 ? 0 : threadIdx.x / GROUP, t = G == 1 ? threadIdx.x : threadIdx.x % GROUP;
    const u32 sp = t / LANES, lane = t % LANES;
    const u32 r = lane / NB, c = lane % NB;
    auto& part = parts[ALONE ? 0 : g];
    auto& rs = residuals[g];
    const u32 id = first + blockIdx.x * G + g;
    uint4 raw = {0, 0, 0, 0};
    if (G == 1 || id < end) raw = *reinterpret_cast<const uint4*>(chunks + id);
    const Chunk k = {raw.x, raw.y, raw.z, raw.w};
    const u32 pairs = k.slots / 2;
    const char* v = values + k.slot * SLOT_BYTES;
    const u32* ix = index + (u64)k.slot * C + r;
    const bool owner = sp == 0 && r < k.rows;  // one thread per scalar row of the chunk
#if MODE != 0
    const u32 row = owner && perm ? load_index(perm + k.row + r) : k.row + r;  // of an owner
#endif

    Sum acc[NB];
#pragma unroll
    for (int i = 0; i < NB; i++) acc[i] = 0;
    u32 w[UB][PAIR_WORDS], col[UB][2], one[ONE_WORDS], one_col = 0;

    u32 p = sp;
#pragma unroll
    for (int u = 0; u < UB; u++)
        if (p + u * SP < pairs) {
            const u32* at = ix + (p + u * SP) * 2 * C;
            col[u][0] = load_index(at), col[u][1] = load_index(at + C);
        }
#pragma unroll
    for (int u = 0; u < UB; u++)
        if (p + u * SP < pairs) load_lane<PAIR_WORDS, false>(w[u], v + (p + u * SP) * 2 * SLOT_BYTES, lane);
    const bool has_one = (k.slots & 1) && sp == pairs % SP;
#define LOAD_ONE \
    if (has_one) { \
        one_col = load_index(ix + pairs * 2 * C); \
        load_lane<NB * STORED / 4, (NB * STORED) % 4 != 0>(one, v + pairs * 2 * SLOT_BYTES, lane); \
    }
    if (ONE) { LOAD_ONE }
    double d[NB], bi = 0;
    const u64 d_at = (u64)id * (LANES * NB) + lane;
#if SWEEP && DEARLY
    if (owner) {
#pragma unroll
        for (int l = 0; l < NB; l++) d[l] = load_f64(dinv + d_at + l * LANES);
        bi = load_f64(b + AT);
    }
#endif
#if AWAITS
    // What is in the way of a border is brought near before its turn comes: neighbors wait for it.
    __shared__ mail::Desk desk;
#if SENDS
    __shared__ mail::Sent<Sum> sent[G][C];
#endif
    if (blockIdx.x < edge) {
        mail::prepare(desk, mail_of, step);
        if (owner && c == 0) {
#if SENDS
            sent[g][r] = mail::address<Sum>(mail_of, row, NB);
#endif
            prefetch_l2(b + (u64)row * NB);
        }
        const char* indices = reinterpret_cast<const char*>(index + (u64)k.slot * C);
        const char* inverse = reinterpret_cast<const char*>(dinv + (u64)id * (LANES * NB));
        if (G == 1 || id < end) {
            for (u32 at = t * 128; at < k.slots * SLOT_BYTES; at += GROUP * 128) prefetch_l2(v + at);
            for (u32 at = t * 128; at < k.slots * C * 4; at += GROUP * 128) prefetch_l2(indices + at);
            for (u32 at = t * 128; at < LANES * NB * 8; at += GROUP * 128) prefetch_l2(inverse + at);
        }
        __syncthreads();
    }
#endif
#define BACK const double back = unscale ? unscale[(u64)(r < k.rows ? ROW : 0) * unscale_stride] : 1.0;
#if SP > 1
    BACK  // small systems wait for every load; large ones have no register to spare for it
#endif
    // Not earlier: what the successor loads ahead of its turn would take the memory's time from these loads.
    launch_dependents();
    wait_for_predecessors();
#if AWAITS
    mail::delay();
    if (blockIdx.x < edge) mail::wait(mail_of, desk);
#else
    if (stop && *(volatile const int*)stop) return;
#endif

    Sum one_x = 0;
    if (ONE && has_one) one_x = load_x(x + (u64)one_col * NB + c);
    do {
        Sum xv[UB][2];
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (p + u * SP < pairs) {
                xv[u][0] = load_x(x + (u64)col[u][0] * NB + c);
                xv[u][1] = load_x(x + (u64)col[u][1] * NB + c);
            }
        const u32 next = p + UB * SP;
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (next + u * SP < pairs) {
                const u32* at = ix + (next + u * SP) * 2 * C;
                col[u][0] = load_index(at), col[u][1] = load_index(at + C);
            }
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (p + u * SP < pairs) {
#pragma unroll
                for (int s = 0; s < 2; s++)
#pragma unroll
                    for (int i = 0; i < NB; i++) acc[i] += element(w[u], s * NB + i) * xv[u][s];
            }
        p = next;
#pragma unroll
        for (int u = 0; u < UB; u++)
            if (p + u * SP < pairs) load_lane<PAIR_WORDS, false>(w[u], v + (p + u * SP) * 2 * SLOT_BYTES, lane);
    } while (p < pairs);
    if (!ONE) {
        LOAD_ONE
        if (has_one) one_x = load_x(x + (u64)one_col * NB + c);
    }
    if (has_one) {
#pragma unroll
        for (int i = 0; i < NB; i++) acc[i] += element(one, i) * one_x;
    }
    if (SWEEP && !DEARLY && owner) {
#pragma unroll
        for (int l = 0; l < NB; l++) d[l] = load_f64(dinv + d_at + l * LANES);
        bi = load_f64(b + AT);
    }

#if ALONE
    const Sum sum = acc[0];
#else
#pragma unroll
    for (int i = 0; i < NB; i++) part[sp][lane * PAD + i] = acc[i];
    chunk_barrier(g);
    Sum sum = 0;
#endif
#if SP > 1
    // Each group adds its own partial sums, then the first adds the groups'.
#pragma unroll
    for (int l = 0; l < NB; l++) sum += part[sp][(r * NB + l) * PAD + c];
    group_sums[g][sp][lane] = sum;
    chunk_barrier(g);
    sum = 0;
    if (sp == 0) {
#pragma unroll
        for (int other = 0; other < SP; other++) sum += group_sums[g][other][lane];
    }
#elif !ALONE
#pragma unroll
    for (int l = 0; l < NB; l++) sum += part[0][(r * NB + l) * PAD + c];
#endif
#if SP == 1
    BACK
#endif
#if SWEEP
    if (sp == 0) rs[lane] = bi - back * (double)sum;
    if (NB > 1) chunk_barrier(g);
    if (owner) {
        double xi = 0;
#pragma unroll
        for (int l = 0; l < NB; l++) xi += d[l] * rs[r * NB + l];
        const u64 at = AT;
        if (omega != 1.0) {
            const double old = load_x(x + at);
            xi = old + omega * (xi - old);
        }
        x_out[at] = (Sum)xi;
#if SENDS
        if (blockIdx.x < edge) mail::send(mail_of, sent[g][r], NB, c, (Sum)xi);
#endif
    }
#if SENDS
    if (blockIdx.x < edge) mail::post(desk, edge);
#endif
#else
    // r = b - O x - D x, rows of D as assembled; without b the product A x.
    double res = 0;
    if (owner) {
        const double* block = diag + (u64)row * (NB * NB) + c;
        double ax = back * (double)sum;
        for (int l = 0; l < NB; l++) ax += block[l * NB] * (double)load_x(x + (u64)row * NB + l);
        res = b ? b[AT] - ax : ax;
        if (r_out) r_out[AT] = res;
    }
    if (partials) block_sum_to(res * res, partials + blockIdx.x);
#endif
}
