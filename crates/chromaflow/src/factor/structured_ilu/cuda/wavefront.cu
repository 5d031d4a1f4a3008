// Block ILU(0) of 7-point stencils, one hyperplane i + j + k at a time: the two styles of Luo, Edwards, Luo, Mueller
// (2015).
//
// Blocks are column-major; NB is a constant. A hyperplane is a run of points: the cell, and the distances to its
// neighbors in k, j, i on the lower or the upper side, 0 where there is none. Blocks without neighbor are never read.
#define Q (NB * NB)

struct Point {
    u32 cell, k, j, i;
    __device__ u32 step(int s) const { return s == 0 ? k : s == 1 ? j : i; }
};

// A_im of the lower neighbor in direction s = k, j, i; and A_mi, the upper block that this neighbor has for the cell.
__device__ __forceinline__ const double* lower_block(const double* lower, Point p, int s) {
    return lower + (3 * (u64)p.cell + s) * Q;
}
__device__ __forceinline__ const double* upper_of_neighbor(const double* upper, Point p, int s) {
    return upper + (3 * (u64)(p.cell - p.step(s)) + 2 - s) * Q;
}
// Entry (u, v) of A B.
__device__ __forceinline__ double product_entry(const double* a, const double* b, int u, int v) {
    double sum = 0;
    for (int k = 0; k < NB; k++) sum += a[k * NB + u] * b[v * NB + k];
    return sum;
}
// Entry u of A x.
__device__ __forceinline__ double product_entry(const double* a, const double* x, int u) {
    double sum = 0;
    for (int k = 0; k < NB; k++) sum += a[k * NB + u] * x[k];
    return sum;
}

// The diagonal blocks, with shift * max |block| added to their diagonals; a warp a cell.
extern "C" __global__ void begin(Begin) {
    const u32 cell = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (cell >= cells) return;
    double largest = 0;
    if (shift != 0) {
        for (int e = lane; e < Q; e += 32) largest = fmax(largest, fabs(diag[(u64)cell * Q + e]));
        for (int s = 16; s; s >>= 1) largest = fmax(largest, __shfl_xor_sync(0xffffffffu, largest, s));
        if (lane == 0) atomicMax(most, (u64)__double_as_longlong(shift * largest));
    }
    for (int e = lane; e < Q; e += 32)
        inverse[(u64)cell * Q + e] = diag[(u64)cell * Q + e] + (e % (NB + 1) == 0 ? shift * largest : 0.0);
}

// The first cell whose inverse is not finite; a warp a cell.
extern "C" __global__ void find_singular(FindSingular) {
    const u32 cell = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (cell >= cells) return;
    bool finite = true;
    for (int e = lane; e < Q; e += 32) finite &= fabs(inverse[(u64)cell * Q + e]) < 1e300;
    if (!__all_sync(0xffffffffu, finite) && lane == 0) atomicMin(first, cell);
}

// ---- ACC style: every stage is a kernel of its own, one thread an element (Alg. 4, 6, 7).

extern "C" __global__ void acc_products(Products) {
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / Q);
    const int e = (int)(t % Q);
    if (q >= count) return;
    const Point p = points[q];
    for (int s = 0; s < 3; s++)
        if (p.step(s))
            work[((u64)s * count + q) * Q + e] =
                product_entry(lower_block(lower, p, s), inverse + (u64)(p.cell - p.step(s)) * Q, e % NB, e / NB);
}
extern "C" __global__ void acc_subtract(Subtract) {
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / Q);
    const int e = (int)(t % Q);
    if (q >= count) return;
    const Point p = points[q];
    double d = inverse[(u64)p.cell * Q + e];
    for (int s = 0; s < 3; s++)
        if (p.step(s))
            d -= product_entry(work + ((u64)s * count + q) * Q, upper_of_neighbor(upper, p, s), e % NB, e / NB);
    inverse[(u64)p.cell * Q + e] = d;
}
// Row r and column r are scaled.
extern "C" __global__ void acc_scale(Eliminate) {
    const int per = NB > 1 ? 2 * (NB - 1) : 1;
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / per);
    if (q >= count || NB == 1) return;
    int w = (int)(t % per);
    const int a = w >= NB - 1;
    w -= a * (NB - 1);
    w += w >= r;
    const int b = a * (w - r), u = r + b, v = w - b;
    double* d = inverse + (u64)points[q].cell * Q;
    d[v * NB + u] = (1 - 2 * a) * d[v * NB + u] / d[r * NB + r];
}
// All other entries are eliminated.
extern "C" __global__ void acc_eliminate(Eliminate) {
    const int m = NB > 1 ? NB - 1 : 1;
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / (m * m));
    if (q >= count || NB == 1) return;
    int u = (int)(t % (m * m)) % m, v = (int)(t % (m * m)) / m;
    u += u >= r, v += v >= r;
    double* d = inverse + (u64)points[q].cell * Q;
    d[v * NB + u] += d[r * NB + u] * d[v * NB + r] * d[r * NB + r];
}
extern "C" __global__ void acc_pivot(Eliminate) {
    const u32 q = blockIdx.x * blockDim.x + threadIdx.x;
    if (q >= count) return;
    double* d = inverse + (u64)points[q].cell * Q + r * NB + r;
    *d = 1.0 / *d;
}

extern "C" __global__ void acc_forward_sum(Sums) {
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / NB);
    const int u = (int)(t % NB);
    if (q >= count) return;
    const Point p = points[q];
    double z = b[(u64)p.cell * NB + u];
    for (int s = 0; s < 3; s++)
        if (p.step(s)) z -= product_entry(lower_block(couplings, p, s), x + (u64)(p.cell - p.step(s)) * NB, u);
    work[t] = z;
}
extern "C" __global__ void acc_backward_sum(Sums) {
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / NB);
    const int u = (int)(t % NB);
    if (q >= count) return;
    const Point p = points[q];
    double z = 0;
    for (int s = 0; s < 3; s++)  // upper blocks lie in the order i, j, k
        if (p.step(s))
            z += product_entry(couplings + (3 * (u64)p.cell + 2 - s) * Q, x + (u64)(p.cell + p.step(s)) * NB, u);
    work[t] = z;
}
// x = D^-1 z forward, x -= D^-1 z backward.
extern "C" __global__ void acc_diagonal(Diagonal) {
    const u64 t = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    const u32 q = (u32)(t / NB);
    const int u = (int)(t % NB);
    if (q >= count) return;
    const u64 cell = points[q].cell;
    const double y = product_entry(inverse + cell * Q, work + (u64)q * NB, u);
    x[cell * NB + u] = backward ? x[cell * NB + u] - y : y;
}

// ---- CL style: a hyperplane is one kernel, one thread an element of a block throughout (Alg. 8 to 10).

#if Q <= 1024
#define POINTS (Q > 288 ? 1 : 288 / Q)  // points a thread block handles

extern "C" __global__ void __launch_bounds__(POINTS * Q) cl_factor(FactorPlane) {
    __shared__ double shared[3][POINTS][Q];
    const int qw = threadIdx.x / Q, e = threadIdx.x % Q, u = e % NB, v = e / NB;
    const u32 q = blockIdx.x * POINTS + qw;
    const bool live = q < count;
    Point p = {0, 0, 0, 0};
    if (live) p = points[q];
    for (int s = 0; s < 3; s++)
        if (p.step(s))
            shared[s][qw][e] = product_entry(lower_block(lower, p, s), inverse + (u64)(p.cell - p.step(s)) * Q, u, v);
    __syncthreads();
    double d = live ? inverse[(u64)p.cell * Q + e] : 1.0;
    for (int s = 0; s < 3; s++)
        if (p.step(s)) d -= product_entry(shared[s][qw], upper_of_neighbor(upper, p, s), u, v);
    __syncthreads();
    for (int r = 0; r < NB; r++) {
        double* st = shared[r % 2][qw];  // two buffers in turn: one barrier a step
        if (u == r || v == r) st[e] = d;
        __syncthreads();
        const double a = u == r, b = v == r, c = (1 - a) * (1 - b);
        const double other = c != 0 ? st[r * NB + u] * st[v * NB + r] : 0.0;
        d = (a * b + (a - b) * d - other) / st[r * NB + r] + c * d;
    }
    if (live) inverse[(u64)p.cell * Q + e] = d;
}

extern "C" __global__ void __launch_bounds__(POINTS * Q) cl_forward(SolvePlane) {
    __shared__ double part[POINTS][Q], z[POINTS][NB];
    const int qw = threadIdx.x / Q, e = threadIdx.x % Q, u = e % NB, v = e / NB;
    const u32 q = blockIdx.x * POINTS + qw;
    const bool live = q < count;
    Point p = {0, 0, 0, 0};
    if (live) p = points[q];
    double sum = 0;
    for (int s = 0; s < 3; s++)
        if (p.step(s)) sum += lower_block(couplings, p, s)[e] * x[(u64)(p.cell - p.step(s)) * NB + v];
    part[qw][e] = sum;
    __syncthreads();
    if (v == 0 && live) {
        double total = b[(u64)p.cell * NB + u];
        for (int k = 0; k < NB; k++) total -= part[qw][k * NB + u];
        z[qw][u] = total;
    }
    __syncthreads();
    part[qw][e] = live ? inverse[(u64)p.cell * Q + e] * z[qw][v] : 0.0;
    __syncthreads();
    if (v == 0 && live) {
        double total = 0;
        for (int k = 0; k < NB; k++) total += part[qw][k * NB + u];
        x[(u64)p.cell * NB + u] = total;
    }
}
extern "C" __global__ void __launch_bounds__(POINTS * Q) cl_backward(SolvePlane) {
    __shared__ double part[POINTS][Q], z[POINTS][NB];
    const int qw = threadIdx.x / Q, e = threadIdx.x % Q, u = e % NB, v = e / NB;
    const u32 q = blockIdx.x * POINTS + qw;
    const bool live = q < count;
    Point p = {0, 0, 0, 0};
    if (live) p = points[q];
    double sum = 0;
    for (int s = 0; s < 3; s++)
        if (p.step(s)) sum += couplings[(3 * (u64)p.cell + 2 - s) * Q + e] * x[(u64)(p.cell + p.step(s)) * NB + v];
    part[qw][e] = sum;
    __syncthreads();
    if (v == 0 && live) {
        double total = 0;
        for (int k = 0; k < NB; k++) total += part[qw][k * NB + u];
        z[qw][u] = total;
    }
    __syncthreads();
    part[qw][e] = live ? inverse[(u64)p.cell * Q + e] * z[qw][v] : 0.0;
    __syncthreads();
    if (v == 0 && live) {
        double total = 0;
        for (int k = 0; k < NB; k++) total += part[qw][k * NB + u];
        x[(u64)p.cell * NB + u] -= total;
    }
}
#endif
