// Vectors, norms, conversions and reference kernels that know no block size at compile time. STORAGE sets the type of
// x.

// Between f64 and the type of x.
extern "C" __global__ void to_x(ToX) {
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x)
        to[at] = (Sum)from[at];
}
extern "C" __global__ void from_x(FromX) {
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x)
        to[at] = from[at];
}
// y = alpha x + beta y.
extern "C" __global__ void axpby(Axpby) {
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x)
        y[at] = beta == 0 ? alpha * x[at] : alpha * x[at] + beta * y[at];
}
// Partial sums of x . y, one a thread block; add_partials makes them one number.
extern "C" __global__ void dot(Dot) {
    double sum = 0;
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x)
        sum += x[at] * y[at];
    block_sum_to(sum, partials + blockIdx.x);
}
extern "C" __global__ void add_partials(AddPartials) {
    double sum = 0;
    for (u32 at = threadIdx.x; at < n; at += blockDim.x) sum += partials[at];
    block_sum_to(sum, to);
}
// Products of w with v[0] ... v[count - 1] and, where there is room for it, with itself: `pass` gets the former,
// `total` their sum over passes (the first one sets it), *size the latter. The last thread block to finish adds the
// partial sums, in the order of the blocks; `done`, zero before, is zero again after it.
#define MANY 8
extern "C" __global__ void __launch_bounds__(256) many_dots(ManyDots) {
    __shared__ double sums[8][MANY];
    __shared__ bool last;
    const u32 t = threadIdx.x, lane = t % 32, warp = t / 32, items = count + (size ? 1 : 0);
    for (u32 base = 0; base < items; base += MANY) {
        const double* p[MANY];
        double sum[MANY];
#pragma unroll
        for (u32 i = 0; i < MANY; i++) p[i] = base + i < count ? v[base + i] : w, sum[i] = 0;
        const u32 live = min(items - base, (u32)MANY);
        for (u64 at = (u64)blockIdx.x * 256 + t; at < n; at += (u64)gridDim.x * 256) {
            const double x = w[at];
#pragma unroll
            for (u32 i = 0; i < MANY; i++)
                if (i < live) sum[i] += p[i][at] * x;
        }
#pragma unroll
        for (u32 i = 0; i < MANY; i++) {
            for (int s = 16; s; s >>= 1) sum[i] += __shfl_down_sync(0xffffffffu, sum[i], s);
            if (lane == 0) sums[warp][i] = sum[i];
        }
        __syncthreads();
        if (t < live) {
            double all = 0;
            for (u32 i = 0; i < 8; i++) all += sums[i][t];
            partials[(u64)(base + t) * gridDim.x + blockIdx.x] = all;
        }
        __syncthreads();
    }
    __threadfence();
    __syncthreads();
    if (t == 0) last = atomicAdd(done, 1u) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    for (u32 i = warp; i < items; i += 8) {
        double sum = 0;
        for (u32 b = lane; b < gridDim.x; b += 32) sum += *(volatile double*)(partials + (u64)i * gridDim.x + b);
        for (int s = 16; s; s >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, s);
        if (lane) continue;
        if (i == count) *size = sum;
        else pass[i] = sum, total[i] = first ? sum : total[i] + sum;
    }
    if (t == 0) *done = 0;
}
// y += sign (a[0] v[0] + ... + a[count - 1] v[count - 1]).
extern "C" __global__ void __launch_bounds__(256) combine(Combine) {
    for (u64 at = (u64)blockIdx.x * 256 + threadIdx.x; at < n; at += (u64)gridDim.x * 256) {
        double sum = 0;
#pragma unroll 4
        for (u32 i = 0; i < count; i++) sum += a[i] * v[i][at];
        y[at] += sign * sum;
    }
}
// The sum of partial sums as an entry of a residual history, with the test that ends a solve. history: [0] number of
// entries, [1] norm of b, [2] norm to reach, then the entries. *stop becomes 1 once a norm is small enough, 2 when it
// is no number or has grown too much.
extern "C" __global__ void begin_norms(BeginNorms) {
    __shared__ double total;
    double sum = 0;
    for (u32 at = threadIdx.x; at < n; at += blockDim.x) sum += partials[at];
    block_sum_to(sum, &total);
    __syncthreads();
    if (threadIdx.x == 0) {
        const double norm = sqrt(total);
        history[0] = 0, history[1] = norm, history[2] = tolerance * (norm > 0 ? norm : 1.0);
        *stop = 0;
    }
}
extern "C" __global__ void add_norm(AddNorm) {
    __shared__ double total;
    if (*stop) return;
    double sum = 0;
    for (u32 at = threadIdx.x; at < n; at += blockDim.x) sum += partials[at];
    block_sum_to(sum, &total);
    __syncthreads();
    if (threadIdx.x == 0) {
        const double norm = sqrt(total);
        const u32 count = (u32)history[0];
        if (count < capacity) history[3 + count] = norm;
        history[0] = count + 1;
        const double first = count ? history[3] : norm;
        if (!(norm < 1e300) || norm > growth * first) *stop = 2;
        else if (norm <= history[2]) *stop = 1;
    }
}

// Largest magnitude of finite values, as the bits of a non-negative float (which order as integers do).
extern "C" __global__ void largest(Largest) {
    u32 m = 0;
    auto take = [&](u32 v) {
        v &= 0x7fffffffu;
        if (v < 0x7f800000u && v > m) m = v;
    };
    const u64 step = (u64)gridDim.x * blockDim.x, at0 = (u64)blockIdx.x * blockDim.x + threadIdx.x, n4 = n / 4;
    const uint4* x4 = (const uint4*)x;
    u64 at = at0;
    for (; at + 3 * step < n4; at += 4 * step) {
        const uint4 v0 = x4[at], v1 = x4[at + step], v2 = x4[at + 2 * step], v3 = x4[at + 3 * step];
        take(v0.x), take(v0.y), take(v0.z), take(v0.w), take(v1.x), take(v1.y), take(v1.z), take(v1.w);
        take(v2.x), take(v2.y), take(v2.z), take(v2.w), take(v3.x), take(v3.y), take(v3.z), take(v3.w);
    }
    for (; at < n4; at += step) {
        const uint4 v = x4[at];
        take(v.x), take(v.y), take(v.z), take(v.w);
    }
    for (u64 i = n4 * 4 + at0; i < n; i += step) take(__float_as_uint(x[i]));
    m = __reduce_max_sync(0xffffffffu, m);
    if (threadIdx.x % 32 == 0 && m) atomicMax(bits, m);
}
#define HALF_MAX 65504.0f
// beta = 65504 / largest; scale[0] = beta, scale[1] = 1 / beta. All zeros: 1.
extern "C" __global__ void global_scale(GlobalScale) {
    const float m = __uint_as_float(*bits);
    *scale = m > 0 ? HALF_MAX / m : 1.0f;
    *unscale = m > 0 ? m / HALF_MAX : 1.0f;
}
// The same for every row; a warp a row.
extern "C" __global__ void row_scales(RowScales) {
    const u32 row = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32;
    if (row >= rows) return;
    u32 m = 0;
    for (u64 at = (u64)row_ptr[row] * q + threadIdx.x % 32; at < (u64)row_ptr[row + 1] * q; at += 32) {
        const u32 v = __float_as_uint(x[at]) & 0x7fffffffu;
        if (v < 0x7f800000u && v > m) m = v;
    }
    m = __reduce_max_sync(0xffffffffu, m);
    if (threadIdx.x % 32 == 0) {
        const float f = __uint_as_float(m);
        scale[row] = f > 0 ? HALF_MAX / f : 1.0f;
        unscale[row] = f > 0 ? f / HALF_MAX : 1.0f;
    }
}

// f32 to scaled f16 in place, in one pass: storage reduction with ordered tickets.
//
// A thread block takes the next chunk of CHUNK values by a ticket, reads it into registers and raises the chunk's flag.
// It will write where chunk c / 2 was read from, so it waits for that flag: an earlier ticket, taken by a block that
// waits for nothing before it raises its flag, so there is no deadlock however few blocks run at once.
// counts: [0] not finite or beyond f16, [1] became zero, [2] became subnormal (bits lost).
#define NARROW_THREADS 512
#define NARROW_VECTORS 8
#define CHUNK (NARROW_THREADS * NARROW_VECTORS * 4)
template <bool per_row>
__device__ __forceinline__ void narrow_in_place(u64 n, float* data, const float* __restrict__ scale,
                                                const u32* __restrict__ row_ptr, u32 rows, u32 q, u32* ticket,
                                                u32* flags, u64* counts) {
    __shared__ u32 shared_chunk;
    const u32 t = threadIdx.x, chunks = (u32)((n + CHUNK - 1) / CHUNK);
    const float one_scale = per_row ? 1.0f : *scale;
    u32 over = 0, under = 0, sub = 0;
    for (;;) {
        __syncthreads();
        if (t == 0) shared_chunk = atomicAdd(ticket, 1u);
        __syncthreads();
        const u32 chunk = shared_chunk;
        if (chunk >= chunks) break;
        const u64 base = (u64)chunk * CHUNK;
        const bool whole = base + CHUNK <= n;
        float v[NARROW_VECTORS][4];
#pragma unroll
        for (int k = 0; k < NARROW_VECTORS; k++) {
            const u64 at = base + (u64)(k * NARROW_THREADS + t) * 4;
            if (whole) {
                asm volatile("ld.global.v4.f32 {%0,%1,%2,%3}, [%4];"
                             : "=f"(v[k][0]), "=f"(v[k][1]), "=f"(v[k][2]), "=f"(v[k][3])
                             : "l"(data + at));
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++) v[k][e] = at + e < n ? *(volatile float*)(data + at + e) : 0.0f;
            }
        }
        u32 h[NARROW_VECTORS][2];
#pragma unroll
        for (int k = 0; k < NARROW_VECTORS; k++) {
            const u64 at = base + (u64)(k * NARROW_THREADS + t) * 4;
            u32 row = 0;
            if (per_row && at < n) {
                // The last row that starts at or before this block.
                const u32 block = (u32)(at / q);
                u32 lo = 0, hi = rows;
                while (hi - lo > 1) {
                    const u32 mid = (lo + hi) / 2;
                    if (row_ptr[mid] <= block) lo = mid; else hi = mid;
                }
                row = lo;
            }
            u32 bits[4];
#pragma unroll
            for (int e = 0; e < 4; e++) {
                float s = one_scale;
                if (per_row && at + e < n) {
                    while ((at + e) / q >= row_ptr[row + 1]) row++;
                    s = scale[row];
                }
                bits[e] = float_to_half(v[k][e] * s);
                const u32 magnitude = bits[e] & 0x7fffu;
                over += magnitude >= 0x7c00u;
                under += magnitude == 0 && v[k][e] != 0.0f;
                sub += magnitude > 0 && magnitude < 0x400u;
            }
            h[k][0] = bits[0] | bits[1] << 16, h[k][1] = bits[2] | bits[3] << 16;
        }
        __syncthreads();  // all of the chunk is read
        if (t == 0) {
            asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flags + chunk), "r"(1u) : "memory");
            u32 raised = 0;
            while (!raised)
                asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(raised) : "l"(flags + chunk / 2) : "memory");
        }
        __syncthreads();
        u16* out = (u16*)data;
#pragma unroll
        for (int k = 0; k < NARROW_VECTORS; k++) {
            const u64 at = base + (u64)(k * NARROW_THREADS + t) * 4;
            if (whole) {
                *(uint2*)(out + at) = make_uint2(h[k][0], h[k][1]);
            } else {
#pragma unroll
                for (int e = 0; e < 4; e++)
                    if (at + e < n) out[at + e] = (u16)(h[k][e / 2] >> (e % 2 * 16));
            }
        }
    }
    over = __reduce_add_sync(0xffffffffu, over), under = __reduce_add_sync(0xffffffffu, under),
    sub = __reduce_add_sync(0xffffffffu, sub);
    if (t % 32 == 0) {
        if (over) atomicAdd(counts, (u64)over);
        if (under) atomicAdd(counts + 1, (u64)under);
        if (sub) atomicAdd(counts + 2, (u64)sub);
    }
}
extern "C" __global__ void __launch_bounds__(NARROW_THREADS, 2) narrow(Narrow) {
    narrow_in_place<false>(n, data, scale, nullptr, 0, 1, ticket, flags, counts);
}
extern "C" __global__ void __launch_bounds__(NARROW_THREADS) narrow_rows(NarrowRows) {
    narrow_in_place<true>(n, data, scale, row_ptr, rows, q, ticket, flags, counts);
}

// The sweep as the paper writes it, a thread per scalar row, on the assembled matrix and in f64: first r = b - O x,
// then x = D^-1 r. `stored` as STORAGE.
extern "C" __global__ void plain_residual(PlainResidual) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (u64)count * nb) return;
    const u32 row = first + (u32)(at / nb), i = (u32)(at % nb);
    double sum = 0;
    for (u32 k = row_ptr[row]; k < row_ptr[row + 1]; k++)
        for (u32 c = 0; c < nb; c++) {
            const u64 e = ((u64)k * nb + c) * nb + i;
            const double o = stored == 0   ? ((const double*)off)[e]
                             : stored == 1 ? ((const float*)off)[e]
                                           : half_to_float(((const u16*)off)[e]);
            sum += o * x[(u64)col_idx[k] * nb + c];
        }
    const double back = unscale ? unscale[(u64)row * unscale_stride] : 1.0;
    r[(u64)row * nb + i] = b[(u64)row * nb + i] - back * sum;
}
extern "C" __global__ void plain_solve(PlainSolve) {
    const u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (at >= (u64)count * nb) return;
    const u32 row = first + (u32)(at / nb), i = (u32)(at % nb);
    double sum = 0;
    for (u32 l = 0; l < nb; l++) sum += dinv[(u64)row * nb * nb + l * nb + i] * r[(u64)row * nb + l];
    x[(u64)row * nb + i] = sum;
}

// Values that are a pure function of a stream number and an index, in [-0.5, 0.5): amplitude * value, + shift where the
// index lies on the diagonal of a block (nb > 0).
__device__ __forceinline__ u64 splitmix(u64 z) {
    z += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}
template <typename T>
__device__ __forceinline__ void fill(u64 n, u64 stream, double amplitude, double shift, u32 nb, T* to) {
    const u64 base = splitmix(20240607ull ^ stream * 0xD1342543DE82EF95ull);
    for (u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x; at < n; at += (u64)gridDim.x * blockDim.x) {
        double v = amplitude * ((double)(splitmix(base + at) >> 40) * 0x1p-24 - 0.5);
        if (nb && at / nb % nb == at % nb) v += shift;
        to[at] = (T)v;
    }
}
extern "C" __global__ void fill_f32(FillF32) {
    fill(n, seed, amplitude, shift, nb, to);
}
extern "C" __global__ void fill_f64(FillF64) {
    fill(n, seed, amplitude, shift, nb, to);
}
// A read of everything, for the ceiling a sweep is compared with.
extern "C" __global__ void __launch_bounds__(512) read_all(ReadAll) {
    u32 any = 0;
    const u64 step = (u64)gridDim.x * blockDim.x;
    u64 at = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    for (; at + 3 * step < n16; at += 4 * step) {
        u32 w[4][4];
#pragma unroll
        for (int k = 0; k < 4; k++) load16(w[k], data + at + k * step);
#pragma unroll
        for (int k = 0; k < 4; k++) any |= w[k][0] & w[k][1] & w[k][2] & w[k][3];
    }
    for (; at < n16; at += step) {
        u32 w[4];
        load16(w, data + at);
        any |= w[0];
    }
    if (any == 0x12345678u) *sink = any;
}
