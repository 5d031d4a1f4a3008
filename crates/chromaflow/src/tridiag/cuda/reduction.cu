// Cyclic reduction, one thread block a system in shared memory; system by system.

#define PQ (Q | 1)      // odd strides keep rows in different banks
#define PV (NB | 1)

// At least SHARE threads (a power of two) work on a row: each factors its block and takes some of the columns.
extern "C" __global__ void __launch_bounds__(THREADS) cyclic_reduction(WholeLines) {
    extern __shared__ __align__(16) unsigned char memory[];
    T *a = reinterpret_cast<T *>(memory), *b = a + rows * PQ, *c = b + rows * PQ, *f = c + rows * PQ;
    const long long base = (long long)blockIdx.x * rows;
    // Blocks of odd size lie in shared memory as they do outside and move in pieces of 16 bytes.
    constexpr int PIECE = 16 / sizeof(T);
    if (sizeof(S) == sizeof(T) && PQ == Q && rows * Q % PIECE == 0 &&
        (((size_t)lower | (size_t)diag | (size_t)upper) & 15) == 0) {
        for (int e = threadIdx.x * PIECE; e < rows * Q; e += THREADS * PIECE) {
            copy_piece(a + e, lower + base * Q + e);
            copy_piece(b + e, diag + base * Q + e);
            copy_piece(c + e, upper + base * Q + e);
        }
    } else {
        for (int e = threadIdx.x; e < rows * Q; e += THREADS) {
            const int to = e / Q * PQ + e % Q;
            copy_async(a + to, lower + base * Q + e);
            copy_async(b + to, diag + base * Q + e);
            copy_async(c + to, upper + base * Q + e);
        }
    }
    for (int e = threadIdx.x; e < rows * NB; e += THREADS) copy_async(f + e / NB * PV + e % NB, rhs + base * NB + e);
    copy_commit();
    copy_wait<0>();
    __syncthreads();
    if (threadIdx.x < Q) { a[threadIdx.x] = 0; c[(rows - 1) * PQ + threadIdx.x] = 0; }
    __syncthreads();
    // SHARE threads to a row while rows are many, up to MOST_SHARE as they get fewer.
    int share = SHARE, lane, first, step;
    auto divide = [&](int busy) {
        while (busy * share * 2 <= THREADS && share < MOST_SHARE) share *= 2;
        lane = threadIdx.x % share;
        first = threadIdx.x / share;
        step = THREADS / share;
    };
    int d = 1;
    // Columns of row k that this thread solves: NB of a, NB of c, one of f.
    auto normalize = [&](int k, bool couplings) {
        T lu[Q];
#pragma unroll
        for (int e = 0; e < Q; e++) lu[e] = b[k * PQ + e];
        factor<NB>(lu);
        for (int j = lane; j < 2 * NB + 1; j += share) {
            if (!couplings && j < 2 * NB) continue;
            T *column = j < NB ? a + k * PQ + j * NB : j < 2 * NB ? c + k * PQ + (j - NB) * NB : f + k * PV;
            T v[NB];
#pragma unroll
            for (int r = 0; r < NB; r++) v[r] = column[r];
            solve<NB>(lu, v);
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
                    const T* left = part == 0   ? a + lo * PQ + col * NB
                                    : part == 2 ? c + lo * PQ + col * NB
                                                : f + lo * PV;
                    const T* next = part == 1   ? c + hi * PQ + col * NB
                                    : part == 2 ? a + hi * PQ + col * NB
                                                : f + hi * PV;
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
        for (int j = threadIdx.x; (2 * j + 1) * d <= rows; j += THREADS) {
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
    for (int e = threadIdx.x; e < rows * NB; e += THREADS) {
        const T v = f[e / NB * PV + e % NB];
        fine = fine && finite(v);
        x[base * NB + e] = S(v);
    }
    if (!fine) atomicMin(bad, (int)blockIdx.x);
}
