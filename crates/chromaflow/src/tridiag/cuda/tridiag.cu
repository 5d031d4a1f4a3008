// Batches of block tridiagonal systems: a kernel for each engine, and the change of layout.
//
// Constants: REAL (float or double), NB (rank); STAGES and THREADS of the Thomas engines, AHEAD of the scalar one;
// CR_THREADS, SHARE and MOST_SHARE of cyclic reduction. Blocks are column-major: entry (r, c) at c * NB + r.

typedef REAL T;
#define Q (NB * NB)
#define WIDTH (3 * Q + NB)

// 1 / v: for double an approximation of 20 bits and two Newton steps (one rounding or two away from the nearest), a third of
// the division's latency; 0 gives NaN or infinity.
__device__ __forceinline__ float reciprocal(float v) { return 1.0f / v; }
__device__ __forceinline__ double reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    r = fma(r, fma(-v, r, 1.0), r);
    return fma(r, fma(-v, r, 1.0), r);
}
__device__ __forceinline__ bool finite(T v) { return v - v == T(0); }

__device__ __forceinline__ void copy_async(T *to, const T *from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    if (sizeof(T) == 8) asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared), "l"(from) : "memory");
    else asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_piece(T *to, const T *from) {
    unsigned shared = (unsigned)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copy_wait() {
    asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory");
}

// LU in place: unit L below the diagonal, reciprocal pivots on it.
__device__ __forceinline__ void factor(T (&b)[Q]) {
#pragma unroll
    for (int k = 0; k < NB; k++) {
        b[k * NB + k] = reciprocal(b[k * NB + k]);
#pragma unroll
        for (int r = k + 1; r < NB; r++) b[k * NB + r] *= b[k * NB + k];
#pragma unroll
        for (int c = k + 1; c < NB; c++)
#pragma unroll
            for (int r = k + 1; r < NB; r++) b[c * NB + r] -= b[k * NB + r] * b[c * NB + k];
    }
}

__device__ __forceinline__ void solve(const T (&lu)[Q], T (&v)[NB]) {
#pragma unroll
    for (int k = 0; k < NB; k++)
#pragma unroll
        for (int r = k + 1; r < NB; r++) v[r] -= lu[k * NB + r] * v[k];
#pragma unroll
    for (int k = NB - 1; k >= 0; k--) {
        v[k] *= lu[k * NB + k];
#pragma unroll
        for (int r = 0; r < k; r++) v[r] -= lu[k * NB + r] * v[k];
    }
}

// ---- Thomas, one thread a system; entry e of row i of system s at (i * width + e) * systems + s -------------------
// Rows stream through shared memory, STAGES - 1 ahead, each thread copying and reading its own; C' goes to `factors`
// (as C), f' to x.
extern "C" __global__ void __launch_bounds__(THREADS) thomas_thread(
    const T *__restrict__ lower, const T *__restrict__ diag, const T *__restrict__ upper, const T *__restrict__ rhs,
    T *x, T *factors, int rows, int systems, int *bad) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *stage = reinterpret_cast<T *>(memory) + threadIdx.x;
    const int own = blockIdx.x * THREADS + threadIdx.x;
    const long long S = systems;
    const long long s = own < systems ? own : systems - 1;
    auto slot = [&](int k, int e) { return stage + ((k % STAGES) * WIDTH + e) * THREADS; };
    auto fetch = [&](int i) {
        if (i < rows) {
            const T *a = lower + (long long)i * Q * S + s, *b = diag + (long long)i * Q * S + s;
            const T *c = upper + (long long)i * Q * S + s, *f = rhs + (long long)i * NB * S + s;
#pragma unroll
            for (int e = 0; e < Q; e++) {
                copy_async(slot(i, e), a + e * S);
                copy_async(slot(i, Q + e), b + e * S);
                copy_async(slot(i, 2 * Q + e), c + e * S);
            }
#pragma unroll
            for (int e = 0; e < NB; e++) copy_async(slot(i, 3 * Q + e), f + e * S);
        }
        copy_commit();
    };
    for (int i = 0; i < STAGES - 1; i++) fetch(i);
    T cp[Q], fp[NB];
#pragma unroll
    for (int e = 0; e < Q; e++) cp[e] = 0;
#pragma unroll
    for (int e = 0; e < NB; e++) fp[e] = 0;
    for (int i = 0; i < rows; i++) {
        fetch(i + STAGES - 1);
        copy_wait<STAGES - 1>();
        T b[Q], v[NB];
#pragma unroll
        for (int e = 0; e < Q; e++) b[e] = *slot(i, Q + e);
#pragma unroll
        for (int e = 0; e < NB; e++) v[e] = *slot(i, 3 * Q + e);
        if (i > 0) {
#pragma unroll
            for (int k = 0; k < NB; k++) {
                T a[NB];
#pragma unroll
                for (int r = 0; r < NB; r++) a[r] = *slot(i, k * NB + r);
#pragma unroll
                for (int c = 0; c < NB; c++)
#pragma unroll
                    for (int r = 0; r < NB; r++) b[c * NB + r] -= a[r] * cp[c * NB + k];
#pragma unroll
                for (int r = 0; r < NB; r++) v[r] -= a[r] * fp[k];
            }
        }
        factor(b);
        solve(b, v);
#pragma unroll
        for (int e = 0; e < NB; e++) {
            fp[e] = v[e];
            if (own < systems) x[((long long)i * NB + e) * S + s] = v[e];
        }
        if (i + 1 < rows) {
#pragma unroll
            for (int c = 0; c < NB; c++) {
#pragma unroll
                for (int r = 0; r < NB; r++) v[r] = *slot(i, 2 * Q + c * NB + r);
                solve(b, v);
#pragma unroll
                for (int r = 0; r < NB; r++) {
                    cp[c * NB + r] = v[r];
                    if (own < systems) factors[((long long)i * Q + c * NB + r) * S + s] = v[r];
                }
            }
        }
    }
    copy_wait<0>();
    // Back-substitution: fp is the solution of the row below.
    auto back = [&](int i) {
        if (i >= 0) {
#pragma unroll
            for (int e = 0; e < Q; e++) copy_async(slot(i, e), factors + ((long long)i * Q + e) * S + s);
#pragma unroll
            for (int e = 0; e < NB; e++) copy_async(slot(i, Q + e), x + ((long long)i * NB + e) * S + s);
        }
        copy_commit();
    };
    bool fine = true;
#pragma unroll
    for (int e = 0; e < NB; e++) fine = fine && finite(fp[e]);
    for (int k = 0; k < STAGES - 1; k++) back(rows - 2 - k);
    for (int i = rows - 2; i >= 0; i--) {
        back(i - (STAGES - 1));
        copy_wait<STAGES - 1>();
        T v[NB];
#pragma unroll
        for (int e = 0; e < NB; e++) v[e] = *slot(i, Q + e);
#pragma unroll
        for (int k = 0; k < NB; k++)
#pragma unroll
            for (int r = 0; r < NB; r++) v[r] -= *slot(i, k * NB + r) * fp[k];
#pragma unroll
        for (int e = 0; e < NB; e++) {
            fp[e] = v[e];
            fine = fine && finite(v[e]);
            if (own < systems) x[((long long)i * NB + e) * S + s] = v[e];
        }
    }
    if (!fine && own < systems) atomicMin(bad, own);
}

#if NB == 1
// ---- Thomas, one thread a scalar system, factors in shared memory: no memory traffic but the data's own ----------
// C' and f' of row i of a thread at (2 i) THREADS and (2 i + 1) THREADS; AHEAD rows are loaded at once.
extern "C" __global__ void __launch_bounds__(THREADS) thomas_scalar(
    const T *__restrict__ lower, const T *__restrict__ diag, const T *__restrict__ upper, const T *__restrict__ rhs,
    T *x, int rows, int systems, int *bad) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *factors = reinterpret_cast<T *>(memory) + threadIdx.x;
    const int own = blockIdx.x * THREADS + threadIdx.x;
    const long long S = systems;
    const long long s = own < systems ? own : systems - 1;
    T c = 0, f = 0;
    T a[AHEAD], b[AHEAD], u[AHEAD], g[AHEAD];
    auto load = [&](int first) {
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = first + k < rows ? first + k : rows - 1;
            const long long at = (long long)i * S + s;
            a[k] = lower[at]; b[k] = diag[at]; u[k] = upper[at]; g[k] = rhs[at];
        }
    };
    load(0);
    a[0] = 0;
    for (int first = 0; first < rows; first += AHEAD) {
        T a0[AHEAD], b0[AHEAD], u0[AHEAD], g0[AHEAD];
#pragma unroll
        for (int k = 0; k < AHEAD; k++) { a0[k] = a[k]; b0[k] = b[k]; u0[k] = u[k]; g0[k] = g[k]; }
        if (first + AHEAD < rows) load(first + AHEAD);
#pragma unroll
        for (int k = 0; k < AHEAD; k++) {
            const int i = first + k;
            if (i < rows) {
                const T pivot = reciprocal(b0[k] - a0[k] * c);
                f = (g0[k] - a0[k] * f) * pivot;
                c = i + 1 < rows ? u0[k] * pivot : T(0);
                factors[2 * i * THREADS] = c;
                factors[(2 * i + 1) * THREADS] = f;
            }
        }
    }
    bool fine = true;
    T below = 0;
#pragma unroll 8
    for (int i = rows - 1; i >= 0; i--) {
        below = factors[(2 * i + 1) * THREADS] - factors[2 * i * THREADS] * below;
        fine = fine && finite(below);
        if (own < systems) x[(long long)i * S + s] = below;
    }
    if (!fine && own < systems) atomicMin(bad, own);
}
#endif

// ---- Cyclic reduction, one thread block a system in shared memory; system by system ------------------------------
// At least SHARE threads (a power of two) work on a row: each factors its block and takes some of the columns.
#define PQ (Q | 1)      // odd strides keep rows in different banks
#define PV (NB | 1)
extern "C" __global__ void __launch_bounds__(CR_THREADS) cyclic_reduction(
    const T *__restrict__ lower, const T *__restrict__ diag, const T *__restrict__ upper, const T *__restrict__ rhs,
    T *__restrict__ x, int rows, int *bad) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *a = reinterpret_cast<T *>(memory), *b = a + rows * PQ, *c = b + rows * PQ, *f = c + rows * PQ;
    const long long base = (long long)blockIdx.x * rows;
    // Blocks of odd size lie in shared memory as they do outside and move in pieces of 16 bytes.
    constexpr int PIECE = 16 / sizeof(T);
    if (PQ == Q && rows * Q % PIECE == 0 && (((size_t)lower | (size_t)diag | (size_t)upper) & 15) == 0) {
        for (int e = threadIdx.x * PIECE; e < rows * Q; e += CR_THREADS * PIECE) {
            copy_piece(a + e, lower + base * Q + e);
            copy_piece(b + e, diag + base * Q + e);
            copy_piece(c + e, upper + base * Q + e);
        }
    } else {
        for (int e = threadIdx.x; e < rows * Q; e += CR_THREADS) {
            const int to = e / Q * PQ + e % Q;
            copy_async(a + to, lower + base * Q + e);
            copy_async(b + to, diag + base * Q + e);
            copy_async(c + to, upper + base * Q + e);
        }
    }
    for (int e = threadIdx.x; e < rows * NB; e += CR_THREADS) copy_async(f + e / NB * PV + e % NB, rhs + base * NB + e);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    if (threadIdx.x < Q) { a[threadIdx.x] = 0; c[(rows - 1) * PQ + threadIdx.x] = 0; }
    __syncthreads();
    // SHARE threads to a row while rows are many, up to MOST_SHARE as they get fewer.
    int share = SHARE, lane, first, step;
    auto divide = [&](int busy) {
        while (busy * share * 2 <= CR_THREADS && share < MOST_SHARE) share *= 2;
        lane = threadIdx.x % share;
        first = threadIdx.x / share;
        step = CR_THREADS / share;
    };
    int d = 1;
    // Columns of row k that this thread solves: NB of a, NB of c, one of f.
    auto normalize = [&](int k, bool couplings) {
        T lu[Q];
#pragma unroll
        for (int e = 0; e < Q; e++) lu[e] = b[k * PQ + e];
        factor(lu);
        for (int j = lane; j < 2 * NB + 1; j += share) {
            if (!couplings && j < 2 * NB) continue;
            T *column = j < NB ? a + k * PQ + j * NB : j < 2 * NB ? c + k * PQ + (j - NB) * NB : f + k * PV;
            T v[NB];
#pragma unroll
            for (int r = 0; r < NB; r++) v[r] = column[r];
            solve(lu, v);
#pragma unroll
            for (int r = 0; r < NB; r++) column[r] = v[r];
        }
    };
    for (; rows / d > 1; d *= 2) {
        divide((rows / d + 1) / 2);
        for (int j = first; (2 * j + 1) * d <= rows; j += step) normalize((2 * j + 1) * d - 1, true);
        __syncthreads();
        // Every thread of a row must have read its couplings before any is replaced.
        for (int j0 = 0; (2 * j0 + 2) * d <= rows; j0 += step) {
            const int k = (2 * (j0 + first) + 2) * d - 1;
            const bool live = k < rows;
            const bool right = k + d < rows;
            T ca[Q], cc[Q];
            if (live) {
#pragma unroll
                for (int e = 0; e < Q; e++) { ca[e] = a[k * PQ + e]; cc[e] = right ? c[k * PQ + e] : T(0); }
            }
            __syncthreads();
            if (live) {
                const int lo = k - d, hi = right ? k + d : k - d;
                for (int j = lane; j < 3 * NB + 1; j += share) {
                    T v[NB];
                    // columns of a', then of c', then of b', then f'
                    const int part = j / NB, col = j % NB;
                    T *to = part == 0 ? a + k * PQ + col * NB : part == 1 ? c + k * PQ + col * NB
                          : part == 2 ? b + k * PQ + col * NB : f + k * PV;
                    const T *left = part == 0 ? a + lo * PQ + col * NB : part == 2 ? c + lo * PQ + col * NB : f + lo * PV;
                    const T *next = part == 1 ? c + hi * PQ + col * NB : part == 2 ? a + hi * PQ + col * NB : f + hi * PV;
#pragma unroll
                    for (int r = 0; r < NB; r++) v[r] = part < 2 ? T(0) : to[r];
                    if (part != 1) {
#pragma unroll
                        for (int m = 0; m < NB; m++)
#pragma unroll
                            for (int r = 0; r < NB; r++) v[r] -= ca[m * NB + r] * left[m];
                    }
                    if (part != 0) {
#pragma unroll
                        for (int m = 0; m < NB; m++)
#pragma unroll
                            for (int r = 0; r < NB; r++) v[r] -= cc[m * NB + r] * next[m];
                    }
#pragma unroll
                    for (int r = 0; r < NB; r++) to[r] = v[r];
                }
            }
        }
        __syncthreads();
    }
    divide(1);
    if (first == 0) normalize(d - 1, false);
    __syncthreads();
    for (d /= 2; d >= 1; d /= 2) {
        for (int j = threadIdx.x; (2 * j + 1) * d <= rows; j += CR_THREADS) {
            const int k = (2 * j + 1) * d - 1;
            T v[NB];
#pragma unroll
            for (int r = 0; r < NB; r++) v[r] = f[k * PV + r];
            if (k >= d) {
#pragma unroll
                for (int m = 0; m < NB; m++)
#pragma unroll
                    for (int r = 0; r < NB; r++) v[r] -= a[k * PQ + m * NB + r] * f[(k - d) * PV + m];
            }
            if (k + d < rows) {
#pragma unroll
                for (int m = 0; m < NB; m++)
#pragma unroll
                    for (int r = 0; r < NB; r++) v[r] -= c[k * PQ + m * NB + r] * f[(k + d) * PV + m];
            }
#pragma unroll
            for (int r = 0; r < NB; r++) f[k * PV + r] = v[r];
        }
        __syncthreads();
    }
    bool fine = true;
    for (int e = threadIdx.x; e < rows * NB; e += CR_THREADS) {
        const T v = f[e / NB * PV + e % NB];
        fine = fine && finite(v);
        x[base * NB + e] = v;
    }
    if (!fine) atomicMin(bad, (int)blockIdx.x);
}

// ---- layouts --------------------------------------------------------------------------------------------------
// out[i * cols + j] = in[j * rows + i]: system by system <-> system index fastest.
extern "C" __global__ void transpose(const T *__restrict__ in, T *__restrict__ out, long long rows, long long cols) {
    __shared__ T tile[32][33];
    const long long tiles = (cols + 31) / 32;
    const long long i0 = blockIdx.x / tiles * 32, j0 = blockIdx.x % tiles * 32;
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    for (int k = ty; k < 32; k += 8)
        if (j0 + k < cols && i0 + tx < rows) tile[k][tx] = in[(j0 + k) * rows + i0 + tx];
    __syncthreads();
    for (int k = ty; k < 32; k += 8)
        if (i0 + k < rows && j0 + tx < cols) out[(i0 + k) * cols + j0 + tx] = tile[tx][k];
}
