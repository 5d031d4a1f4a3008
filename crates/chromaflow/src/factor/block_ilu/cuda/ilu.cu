// Block ILU of any pattern: a warp a row, in the order of the level sets. A row waits for the values of the rows it
// needs (device.cuh), not for whole levels.
//
// Factors lie in the order in which the passes read them: the lower blocks of the rows in the order of the forward
// pass, the upper ones in that of the backward pass. Blocks are column-major.
//
// Constants: NB up to 32; FACTOR32: factors are stored in f32; OFF: off-diagonal blocks of A are 0 f64, 1 f32, 2 scaled
// f16; ROWS: rows (warps) of a thread block; LEAN: keeps nothing of the rows above in shared memory. Arguments:
// arguments.rs.
#define Q (NB * NB)
#define THREADS (32 * ROWS)
#define GROUPS (32 / NB)  // columns that a warp takes at a time
#define PER_LANE ((Q + 31) / 32)
#define EVERYONE 0xffffffffu
#if NB <= 8 && !LEAN
#define AHEAD ((4 * Q + 31) / 32)  // values of upper blocks that a lane asks for one row above ahead of their use
#else
#define AHEAD 0
#endif
#define COLUMNS (NB <= 4 ? 8 : NB <= 8 ? 12 : 4)  // columns of a row that a lane reads before it waits
#if FACTOR32
typedef float Factor;
#else
typedef double Factor;
#endif

extern __shared__ double2 shared_memory[];

// The place of this warp's row in the order of the pass.
__device__ __forceinline__ u32 next_row(u32* tickets) {
    __shared__ u32 ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(tickets, 1u);
    __syncthreads();
    return_tickets(tickets, gridDim.x);
    return ticket * ROWS + threadIdx.x / 32;
}

__device__ __forceinline__ double off_value(const void* off, u64 at, float unscale) {
#if OFF == 0
    return ((const double*)off)[at];
#elif OFF == 1
    return ((const float*)off)[at];
#else
    return half_to_float(((const u16*)off)[at]) * unscale;
#endif
}

// Before a factorization: what rows will wait for.
extern "C" __global__ void ilu_poison(Poison) {
    const u64 step = (u64)gridDim.x * blockDim.x, first = (u64)blockIdx.x * blockDim.x + threadIdx.x;
#if FACTOR32
    for (u64 at = first; at < upper_values; at += step) upper[at] = __uint_as_float(0xffffffffu);
#else
    for (u64 at = first; at < upper_values; at += step) upper[at] = POISON;
#endif
    for (u64 at = first; at < diag_values; at += step) inverse[at] = POISON;
}

extern "C" __global__ void __launch_bounds__(THREADS, 1) ilu_factor(Factorize) {
    const u32 position = next_row(tickets), lane = threadIdx.x % 32;
    if (position >= rows) return;
    const u32 row_values = (room + 2) * Q + 2 * NB + (AHEAD ? room * Q + most_updates + room + 1 : 0);
    double* const row = (double*)shared_memory + threadIdx.x / 32 * row_values;
    double* const other = row + (room + 1) * Q;  // the inverse of a row above, then a copy of the diagonal block
    double* const sums = other + Q;
    const u32 i = order[position], begin = row_ptr[i], count = row_ptr[i + 1] - begin;
    const u32 low = lower_at[position], below = lower_at[position + 1] - low;
    const float scale = OFF == 2 ? unscale[i * unscale_stride] : 1.0f;
    const u32 a_begin = a_ptr[i], a_values = (a_ptr[i + 1] - a_begin) * Q;
    if (places) {
        for (u32 e = lane; e < count * Q; e += 32) row[e] = 0;
        __syncwarp();
    }
    for (u32 e = lane; e < a_values; e += 32) {
        const u32 to = places ? places[a_begin + e / Q] * Q + e % Q : e;
        row[to] = off_value(off, (u64)a_begin * Q + e, scale);
    }
    double* const own = row + count * Q;
    double largest = 0;
    for (u32 e = lane; e < Q; e += 32) {
        own[e] = diag[(u64)i * Q + e];
        largest = fmax(largest, fabs(own[e]));
    }
    if (shift != 0) {
        for (int s = 16; s; s >>= 1) largest = fmax(largest, __shfl_xor_sync(EVERYONE, largest, s));
        for (u32 e = lane; e < Q; e += 32)
            if (e % (NB + 1) == 0) own[e] += shift * largest;
        if (lane == 0) atomicMax((u64*)(findings + 2), (u64)__double_as_longlong(shift * largest));
    }
    // L_ik = A_ik D_k^-1, of the lower block s.
    const auto divide = [&](u32 s) {
        double* const block = row + s * Q;
        double product[PER_LANE];
#pragma unroll
        for (int m = 0; m < PER_LANE; m++) {
            const u32 e = m * 32 + lane, r = e % NB, c = e / NB;
            product[m] = 0;
            if (e < Q)
                for (int x = 0; x < NB; x++) product[m] += block[x * NB + r] * other[c * NB + x];
        }
        __syncwarp();
#pragma unroll
        for (int m = 0; m < PER_LANE; m++) {
            const u32 e = m * 32 + lane;
            if (e >= Q) continue;
            block[e] = product[m];
            lower[(u64)(low + s) * Q + e] = (Factor)product[m];
        }
        __syncwarp();
    };
#if AHEAD
    // What is known beforehand comes first: whom to wait for, and what to do then.
    double* const above = sums + 2 * NB;  // upper blocks of a row above
    uint2* const todo = (uint2*)(above + room * Q);
    u32* const heads = (u32*)(todo + most_updates);  // per lower block: its row, and where its updates begin
    const u32 updates_at = update_ptr[begin];
    for (u32 n = lane; n <= below; n += 32) {
        heads[2 * n] = n < below ? col_idx[begin + n] : 0;
        heads[2 * n + 1] = update_ptr[begin + n] - updates_at;
    }
    for (u32 n = lane; n < update_ptr[begin + below] - updates_at; n += 32) todo[n] = updates[updates_at + n];
    __syncwarp();
    double inverse_ahead[PER_LANE];
    Factor above_ahead[AHEAD];
    const auto fetch = [&](u32 s) {
        const u32 k = heads[2 * s], first = heads[2 * s + 1], values = (heads[2 * s + 3] - first) * Q;
#pragma unroll
        for (int m = 0; m < AHEAD; m++) {
            const u32 n = m * 32 + lane;
            if (n < values) above_ahead[m] = peek(upper + (u64)todo[first + n / Q].x * Q + n % Q);
        }
#pragma unroll
        for (int m = 0; m < PER_LANE; m++)
            if (m * 32 + lane < Q) inverse_ahead[m] = peek(inverse + (u64)k * Q + m * 32 + lane);
    };
    if (below > 0) fetch(0);
    for (u32 s = 0; s < below; s++) {
        const u32 k = heads[2 * s], first = heads[2 * s + 1], values = (heads[2 * s + 3] - first) * Q;
        double* const block = row + s * Q;
        // The row above posts its upper blocks before its inverse.
#pragma unroll
        for (int m = 0; m < AHEAD; m++) {
            const u32 n = m * 32 + lane;
            if (n < values) above[n] = (double)await(above_ahead[m], upper + (u64)todo[first + n / Q].x * Q + n % Q);
        }
        for (u32 n = AHEAD * 32 + lane; n < values; n += 32) {
            const Factor* at = upper + (u64)todo[first + n / Q].x * Q + n % Q;
            above[n] = (double)await(peek(at), at);
        }
#pragma unroll
        for (int m = 0; m < PER_LANE; m++)
            if (m * 32 + lane < Q)
                other[m * 32 + lane] = await(inverse_ahead[m], inverse + (u64)k * Q + m * 32 + lane);
        if (s + 1 < below) fetch(s + 1);
        __syncwarp();
        divide(s);
        // A_ij -= L_ik U_kj wherever (i, j) is stored
        for (u32 n = lane; n < values; n += 32) {
            const u32 e = n % Q, r = e % NB, c = e / NB;
            const double* column = above + n - e + c * NB;
            double sum = 0;
#pragma unroll
            for (int x = 0; x < NB; x++) sum += block[x * NB + r] * column[x];
            row[todo[first + n / Q].y * Q + e] -= sum;
        }
        __syncwarp();
    }
#else
    for (u32 s = 0; s < below; s++) {
        const u32 k = col_idx[begin + s];
        double* const block = row + s * Q;
        {
            double v[PER_LANE];
#pragma unroll
            for (int m = 0; m < PER_LANE; m++)
                v[m] = m * 32 + lane < Q ? peek(inverse + (u64)k * Q + m * 32 + lane) : 0.0;
#pragma unroll
            for (int m = 0; m < PER_LANE; m++)
                if (m * 32 + lane < Q) other[m * 32 + lane] = await(v[m], inverse + (u64)k * Q + m * 32 + lane);
        }
        __syncwarp();
        divide(s);
        // A_ij -= L_ik U_kj wherever (i, j) is stored
        const u32 first = update_ptr[begin + s], values = (update_ptr[begin + s + 1] - first) * Q;
        for (u32 n = lane; n < values; n += 32) {
            const uint2 update = updates[first + n / Q];
            const u32 e = n % Q, r = e % NB, c = e / NB;
            double sum = 0;
            // Above the diagonal blocks that rows need are in `upper`.
            const Factor* column = upper + (u64)update.x * Q + c * NB;
#pragma unroll 4
            for (int x = 0; x < NB; x++) sum += block[x * NB + r] * (double)await(peek(column + x), column + x);
            row[update.y * Q + e] -= sum;
        }
        __syncwarp();
    }
#endif
    for (u32 e = lane; e < Q; e += 32) other[e] = own[e];
    for (u32 n = lane; n < (count - below) * Q; n += 32)
        post(upper + (u64)upper_at[i] * Q + n, result((Factor)row[below * Q + n]));
    __syncwarp();
    if (lane < NB) {
        double sum = 0;
        for (int c = 0; c < NB; c++) sum += own[c * NB + lane];
        sums[lane] = sum;
    }
    // Gauss-Jordan elimination in place.
    for (int p = 0; p < NB; p++) {
        const double pivot = reciprocal(own[p * NB + p]);
        double v[PER_LANE];
#pragma unroll
        for (int m = 0; m < PER_LANE; m++) {
            const u32 e = m * 32 + lane, r = e % NB, c = e / NB;
            if (e >= Q) continue;
            const double scaled = c == p ? pivot : own[c * NB + p] * pivot;  // row p of the next block
            v[m] = r == p ? scaled : (c == p ? 0.0 : own[e]) - own[p * NB + r] * scaled;
        }
        __syncwarp();
#pragma unroll
        for (int m = 0; m < PER_LANE; m++)
            if (m * 32 + lane < Q) own[m * 32 + lane] = v[m];
        __syncwarp();
    }
    double one = -1;
    if (lane < NB)
        for (int c = 0; c < NB; c++) one += own[c * NB + lane] * sums[c];
    if (__ballot_sync(EVERYONE, lane < NB && !(fabs(one) <= GUARD))) {
        if (lane == 0) note(findings, invert_pivoted(other, sums + NB, guard), i);
        __syncwarp();
        for (u32 e = lane; e < Q; e += 32) own[e] = other[e];
    }
    for (u32 e = lane; e < Q; e += 32) post(inverse + (u64)i * Q + e, result(own[e]));
}

// The sum of blocks times the vector's rows, for row lane % NB in lanes below NB (elsewhere parts of it). Lanes take
// columns of the row's blocks in turn, so that a warp reads them as one run; all that is there is read before the first
// wait.
__device__ __forceinline__ double panel_times(const Factor* __restrict__ panel, const u32* __restrict__ columns,
                                              u32 count, const double* x, u32 lane) {
    const u32 group = lane / NB;
    double sums[2] = {0, 0};
    if (group < GROUPS) {
        const u32 all = count * NB;
        for (u32 c = group; c < all; c += COLUMNS * GROUPS) {
            Factor f[COLUMNS];
            const double* at[COLUMNS];
            double v[COLUMNS];
#pragma unroll
            for (int m = 0; m < COLUMNS; m++) {
                const u32 d = c + m * GROUPS;
                f[m] = 0, v[m] = 0;
                if (d >= all) continue;
                at[m] = x + (u64)columns[d / NB] * NB + d % NB;
                f[m] = panel[(u64)d * NB + lane % NB];
                v[m] = peek(at[m]);
            }
            for (;;) {
                bool missing = false;
#pragma unroll
                for (int m = 0; m < COLUMNS; m++) {
                    if (arrived(v[m])) continue;
                    v[m] = peek(at[m]);
                    missing = true;
                }
                if (!missing) break;
            }
#pragma unroll
            for (int m = 0; m < COLUMNS; m++) sums[m % 2] += (double)f[m] * v[m];
        }
    }
    return sums[0] + sums[1];
}
// The sum over lanes of the same row, in lanes below NB.
__device__ __forceinline__ double over_groups(double v, u32 lane) {
#pragma unroll
    for (int s = 16; s; s >>= 1) {
        if (s >= GROUPS) continue;
        const double next = __shfl_down_sync(EVERYONE, v, s * NB);
        if (lane / NB + s < GROUPS) v += next;
    }
    return v;
}

// y = b - L y; x is poisoned for the backward pass.
extern "C" __global__ void __launch_bounds__(THREADS, 1) ilu_forward(Forward) {
    const u32 position = next_row(tickets), lane = threadIdx.x % 32;
    if (position >= rows) return;
    const u32 i = order[position], begin = first[position], count = first[position + 1] - begin;
    const u64 at = (u64)i * NB + lane;
    const double right = lane < NB ? b[at] : 0.0;
    const double sum = over_groups(panel_times(lower + (u64)begin * Q, columns + begin, count, y, lane), lane);
    if (lane < NB) {
        post(y + at, result(right - sum));
        x[at] = POISON;
    }
}
// x = D^-1 (y - U x); y is poisoned for the next forward pass.
extern "C" __global__ void __launch_bounds__(THREADS, 1) ilu_backward(Backward) {
    const u32 position = next_row(tickets), lane = threadIdx.x % 32;
    if (position >= rows) return;
    const u32 i = order[position], begin = first[position], count = first[position + 1] - begin;
    const u64 at = (u64)i * NB + lane;
#define INVERSE_COLUMNS ((NB + GROUPS - 1) / GROUPS)  // columns of the inverse that a lane takes
#if NB <= 8
    double d[INVERSE_COLUMNS];
#pragma unroll
    for (int m = 0; m < INVERSE_COLUMNS; m++) {
        const u32 c = lane / NB + m * GROUPS;
        d[m] = lane / NB < GROUPS && c < NB ? inverse[(u64)i * Q + c * NB + lane % NB] : 0.0;
    }
#endif
    double right = 0;
    if (lane < NB) {
        right = y[at];
        y[at] = POISON;
    }
    right -= over_groups(panel_times(upper + (u64)begin * Q, columns + begin, count, x, lane), lane);
    double sum = 0;
#pragma unroll
    for (int m = 0; m < INVERSE_COLUMNS; m++) {
        const u32 c = lane / NB + m * GROUPS;
        const double t = __shfl_sync(EVERYONE, right, c % NB);
#if NB <= 8
        sum += d[m] * t;
#else
        if (lane / NB < GROUPS && c < NB) sum += inverse[(u64)i * Q + c * NB + lane % NB] * t;
#endif
    }
    sum = over_groups(sum, lane);
    if (lane < NB) post(x + at, result(sum));
}
