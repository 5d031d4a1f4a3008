// Lines cut into chunks: a group of G lanes a chunk. Ranks to 16, lines of any length, open or periodic.
//
// Arrays are system by system; `rows` rows a line, the same number of chunks (nearly equal ones) in each line. The last
// row of a chunk is its separator; for the others, with the separators u before and w behind the chunk,
//
//     forward:   x_i = g_i - C'_i x_{i+1} - E_i u        backward:   x_i = g_i - W_i w - V_i u.
//
// The separators then form a line of one row a chunk (`join`), which is solved in the same way; `spread` gives the
// other rows. A line that is not cut (`line`) has no separator: it ends after the forward pass with x_i = g_i - C'_i
// x_{i+1}. With KEEP, M = B'^-1 and N = B'^-1 A of all rows stay, for later right-hand sides.
//
// Lane c of a group owns column c of each block (with lanes beyond NB repeating the last), and entry c of vectors in
// `row`.

#define G (NB == 1 ? 1 : NB == 2 ? 2 : NB <= 4 ? 4 : NB <= 8 ? 8 : 16)

struct Chunk {
    int lane, col;       // in the group; the column it works on
    unsigned mask;       // of the group in its warp
    long long system;    // of the batch
    int number;          // of the chunk in its line
    long long first, end; // rows of all lines
    bool live;
};

__device__ __forceinline__ long long border(int rows, int chunks, int number) {
    return (long long)rows * number / chunks;
}

// Whether a chunk has rows besides its separator.
__device__ __forceinline__ bool inner_rows(int rows, int chunks, int number) {
    return border(rows, chunks, number + 1) - border(rows, chunks, number) > 1;
}

__device__ __forceinline__ Chunk chunk_of(long long index, int rows, int chunks, int systems) {
    Chunk c;
    c.lane = threadIdx.x % G;
    c.col = c.lane < NB ? c.lane : NB - 1;
    c.mask = (unsigned)((1u << G) - 1) << (threadIdx.x % 32 / G * G);
    c.system = index / chunks;
    c.number = (int)(index % chunks);
    c.first = c.system * rows + border(rows, chunks, c.number);
    c.end = c.system * rows + border(rows, chunks, c.number + 1);
    c.live = c.system < systems;
    return c;
}

// This thread's group among all of the grid.
__device__ __forceinline__ long long own_group() { return ((long long)blockIdx.x * THREADS + threadIdx.x) / G; }

__device__ __forceinline__ T from_lane(const Chunk &c, T v, int lane) {
    return G == 1 ? v : __shfl_sync(c.mask, v, lane, G);
}

template <class V> __device__ __forceinline__ void load_column(const V *block, int col, T (&v)[NB]) {
#pragma unroll
    for (int r = 0; r < NB; r++) v[r] = T(block[col * NB + r]);
}
template <class V> __device__ __forceinline__ void load_vector(const V *from, T (&v)[NB]) {
#pragma unroll
    for (int r = 0; r < NB; r++) v[r] = T(from[r]);
}
__device__ __forceinline__ void store_column(const Chunk &c, T *block, const T (&v)[NB]) {
    if (c.lane < NB) {
#pragma unroll
        for (int r = 0; r < NB; r++) block[c.lane * NB + r] = v[r];
    }
}
// Every lane has the whole vector; lane r writes entry r.
__device__ __forceinline__ void store_vector(const Chunk &c, T *to, const T (&v)[NB]) {
#pragma unroll
    for (int r = 0; r < NB; r++)
        if (c.lane == r) to[r] = v[r];
}
__device__ __forceinline__ void clear(T (&v)[NB]) {
#pragma unroll
    for (int r = 0; r < NB; r++) v[r] = 0;
}

// v -= block u for column vectors of the lane.
template <class V> __device__ __forceinline__ void sub_mul(const V *block, int k, T u, T (&v)[NB]) {
#pragma unroll
    for (int r = 0; r < NB; r++) v[r] -= T(block[k * NB + r]) * u;
}

// Row `lane` of block times the vector whose entries the lanes hold.
template <class V> __device__ __forceinline__ T row_times(const Chunk &c, const V *block, T entry) {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < NB; k++) sum += T(block[k * NB + c.col]) * from_lane(c, entry, k);
    return sum;
}

// A step of Gauss-Jordan elimination: v of B v' = v, with column k of B in p.
__device__ __forceinline__ void eliminate_entry(const T (&p)[NB], int k, T pivot, T (&v)[NB]) {
    const T t = v[k] * pivot;
#pragma unroll
    for (int r = 0; r < NB; r++) v[r] = r == k ? t : v[r] - p[r] * t;
}

// Forward and, for lines that are cut, backward pass over the inner rows of a chunk. `cp` gets C' (W in the end unless
// KEEP), `ep` E (V in the end), `gp` g; with KEEP `mp`, `np` get M and N and `wp` W, and there is no right-hand side.
template <bool SPLIT, bool KEEP>
__device__ __forceinline__ void pass(const S* lower, const S* diag, const S* upper, const S* rhs, T* cp, T* ep, T* gp,
                                     T* mp, T* np, T* wp, int rows, int chunks, int systems, int periodic) {
    const Chunk c = chunk_of(own_group(), rows, chunks, systems);
    if (!c.live) return;
    const long long last = SPLIT ? c.end - 1 : c.end;
    T pc[NB], pe[NB], pg[NB]; // of the row above, then of the row below
    clear(pc); clear(pe); clear(pg);
    for (long long i = c.first; i < last; i++) {
        T b[NB], u[NB], e[NB], n[NB], v[NB];
        load_column(diag + i * Q, c.col, b);
        clear(e); clear(n); clear(v);
        if (!KEEP) load_vector(rhs + i * NB, v);
        const S *a = lower + i * Q;
        if (i > c.first) {
#pragma unroll
            for (int k = 0; k < NB; k++) {
                sub_mul(a, k, pc[k], b);
                if (SPLIT) sub_mul(a, k, pe[k], e);
                if (!KEEP) sub_mul(a, k, pg[k], v);
            }
            if (KEEP) load_column(a, c.col, n);
        } else if (SPLIT && (c.number > 0 || periodic)) {
            load_column(a, c.col, e);
        }
        if (SPLIT || i + 1 < last) load_column(upper + i * Q, c.col, u);
        else clear(u);
#pragma unroll
        for (int k = 0; k < NB; k++) {
            T p[NB];
#pragma unroll
            for (int r = 0; r < NB; r++) p[r] = from_lane(c, b[r], k);
            const T pivot = reciprocal(p[k]);
            if (KEEP && c.col == k) {
                clear(b);
                b[k] = 1;
            }
            eliminate_entry(p, k, pivot, b);
            eliminate_entry(p, k, pivot, u);
            if (SPLIT) eliminate_entry(p, k, pivot, e);
            if (KEEP) eliminate_entry(p, k, pivot, n);
            else eliminate_entry(p, k, pivot, v);
        }
        store_column(c, cp + i * Q, u);
        if (SPLIT) store_column(c, ep + i * Q, e);
        if (KEEP) {
            store_column(c, mp + i * Q, b);
            store_column(c, np + i * Q, n);
        } else {
            store_vector(c, gp + i * NB, v);
        }
#pragma unroll
        for (int r = 0; r < NB; r++) { pc[r] = u[r]; pe[r] = e[r]; pg[r] = v[r]; }
    }
    if (!SPLIT || last <= c.first) return;
    __syncwarp(c.mask);
    if (KEEP) store_column(c, wp + (last - 1) * Q, pc);
    for (long long i = last - 2; i >= c.first; i--) {
        T w[NB], e[NB], v[NB];
        clear(w); clear(v);
        load_column(ep + i * Q, c.col, e);
        if (!KEEP) load_vector(gp + i * NB, v);
        const T *a = cp + i * Q;
#pragma unroll
        for (int k = 0; k < NB; k++) {
            sub_mul(a, k, pc[k], w);
            sub_mul(a, k, pe[k], e);
            if (!KEEP) sub_mul(a, k, pg[k], v);
        }
        // All lanes have read C' before W replaces it.
        __syncwarp(c.mask);
        store_column(c, (KEEP ? wp : cp) + i * Q, w);
        store_column(c, ep + i * Q, e);
        if (!KEEP) store_vector(c, gp + i * NB, v);
#pragma unroll
        for (int r = 0; r < NB; r++) { pc[r] = w[r]; pe[r] = e[r]; pg[r] = v[r]; }
    }
}

// x_i = g_i - C'_i x_{i+1} of a group's rows from the last, into `gp` for chunks, into `x` for whole lines.
template <bool SPLIT>
__device__ __forceinline__ void back(const Chunk& c, long long last, const T* cp, T* gp, S* x, int columns, int column,
                                     T below, int* bad) {
    bool fine = finite(below);
    for (long long i = last - 1; i >= c.first; i--) {
        const long long at = (i * columns + column) * NB + c.col;
        if (i < last - 1) below = gp[at] - row_times(c, cp + i * Q, below);
        fine = fine && finite(below);
        if (c.lane < NB) {
            if (SPLIT) gp[at] = below;
            else x[at] = S(below);
        }
    }
    if (!SPLIT && !fine) atomicMin(bad, (int)c.system);
}

extern "C" __global__ void __launch_bounds__(THREADS) line(Line) {
    pass<false, false>(lower, diag, upper, rhs, cp, nullptr, gp, nullptr, nullptr, nullptr, rows, 1, systems, 0);
    const Chunk c = chunk_of(own_group(), rows, 1, systems);
    if (!c.live) return;
    __syncwarp(c.mask);
    back<false>(c, c.end, cp, gp, x, 1, 0, gp[(c.end - 1) * NB + c.col], bad);
}

extern "C" __global__ void __launch_bounds__(THREADS) split(Split) {
    pass<true, false>(lower, diag, upper, rhs, cp, ep, gp, nullptr, nullptr, nullptr, rows, chunks, systems, periodic);
}

extern "C" __global__ void __launch_bounds__(THREADS) keep_line(KeepLine) {
    pass<false, true>(lower, diag, upper, nullptr, cp, nullptr, nullptr, mp, np, nullptr, rows, 1, systems, 0);
}

extern "C" __global__ void __launch_bounds__(THREADS) keep_split(KeepSplit) {
    pass<true, true>(lower, diag, upper, nullptr, cp, ep, nullptr, mp, np, wp, rows, chunks, systems, periodic);
}

// The row of a chunk's separator w in the line of separators: a u + b w + c w' = f. A periodic line of one chunk is
// closed: b gets a and c. With `np` its couplings to the rows beside it are kept there and in `kp`.
extern "C" __global__ void __launch_bounds__(THREADS) join(Join) {
    const long long index = own_group();
    const Chunk c = chunk_of(index, rows, chunks, systems);
    if (!c.live) return;
    const long long i = c.end - 1;
    T a[NB], b[NB], u[NB], f[NB];
    load_column(diag + i * Q, c.col, b);
    clear(a); clear(u); clear(f);
    if (rhs) load_vector(rhs + i * NB, f);
    const bool left = c.number > 0 || periodic, right = c.number + 1 < chunks || periodic;
    const S *al = lower + i * Q, *cl = upper + i * Q;
    if (i > c.first) {
        const long long q = (i - 1) * Q;
#pragma unroll
        for (int k = 0; k < NB; k++) {
            sub_mul(al, k, vp[q + c.col * NB + k], a);
            sub_mul(al, k, wp[q + c.col * NB + k], b);
            if (rhs) sub_mul(al, k, gp[(i - 1) * NB + k], f);
        }
    } else if (left) {
        load_column(al, c.col, a);
    }
    const int next = c.number + 1 < chunks ? c.number + 1 : 0;
    const long long n = c.system * rows + border(rows, chunks, next);
    const bool inner = inner_rows(rows, chunks, next);
    if (right && inner) {
#pragma unroll
        for (int k = 0; k < NB; k++) {
            sub_mul(cl, k, vp[n * Q + c.col * NB + k], b);
            sub_mul(cl, k, wp[n * Q + c.col * NB + k], u);
            if (rhs) sub_mul(cl, k, gp[n * NB + k], f);
        }
    } else if (right) {
        load_column(cl, c.col, u);
    }
    if (np) {
        T v[NB];
        load_column(al, c.col, v);
        if (i == c.first) clear(v);
        store_column(c, np + i * Q, v);
        load_column(cl, c.col, v);
        if (!right || !inner) clear(v);
        store_column(c, kp + i * Q, v);
    }
    if (periodic && chunks == 1) {
#pragma unroll
        for (int r = 0; r < NB; r++) b[r] += a[r] + u[r];
        clear(a); clear(u);
    }
    store_column(c, ra + index * Q, a);
    store_column(c, rb + index * Q, b);
    store_column(c, rc + index * Q, u);
    if (rhs) store_vector(c, rf + index * NB, f);
}

// The separators' right-hand sides with the couplings that `join` kept.
extern "C" __global__ void __launch_bounds__(THREADS) join_rhs(JoinRhs) {
    const long long group = own_group(), index = group / columns;
    const int column = (int)(group % columns);
    const Chunk c = chunk_of(index, rows, chunks, systems);
    if (!c.live) return;
    const long long i = c.end - 1, at = (i * columns + column) * NB + c.col;
    const int next = c.number + 1 < chunks ? c.number + 1 : 0;
    const long long n = c.system * rows + border(rows, chunks, next);
    T f = T(rhs[at]);
    if (i > c.first) f -= row_times(c, np + i * Q, gp[at - columns * NB]);
    if (inner_rows(rows, chunks, next)) f -= row_times(c, kp + i * Q, gp[(n * columns + column) * NB + c.col]);
    if (c.lane < NB) rf[(index * columns + column) * NB + c.col] = f;
}

// g of a right-hand side with kept factors, both passes.
template <bool SPLIT>
__device__ __forceinline__ void kept_pass(const S* rhs, const T* cp, const T* mp, const T* np, T* gp, S* x, int rows,
                                          int chunks, int systems, int columns, int* bad) {
    const long long group = own_group();
    const int column = (int)(group % columns);
    const Chunk c = chunk_of(group / columns, rows, chunks, systems);
    if (!c.live) return;
    const long long last = SPLIT ? c.end - 1 : c.end;
    T above = 0;
    for (long long i = c.first; i < last; i++) {
        const long long at = (i * columns + column) * NB + c.col;
        T g = row_times(c, mp + i * Q, T(rhs[at]));
        if (i > c.first) g -= row_times(c, np + i * Q, above);
        above = g;
        if (c.lane < NB) gp[at] = g;
    }
    __syncwarp(c.mask);
    if (last > c.first) back<SPLIT>(c, last, cp, gp, x, columns, column, above, bad);
}

extern "C" __global__ void __launch_bounds__(THREADS) kept_line(KeptLine) {
    kept_pass<false>(rhs, cp, mp, np, gp, x, rows, 1, systems, columns, bad);
}

extern "C" __global__ void __launch_bounds__(THREADS) kept_split(KeptSplit) {
    kept_pass<true>(rhs, cp, mp, np, gp, nullptr, rows, chunks, systems, columns, nullptr);
}

// All rows from the separators' solution y: a group a row and column.
extern "C" __global__ void __launch_bounds__(THREADS) spread(Spread) {
    const long long group = own_group(), i = group / columns;
    const int column = (int)(group % columns);
    const long long system = i / rows;
    if (system >= systems) return;
    const int number = (int)(((i % rows + 1) * chunks - 1) / rows);
    Chunk c = chunk_of(system * chunks + number, rows, chunks, systems);
    const long long at = (i * columns + column) * NB + c.col;
    const long long own = system * chunks + number, before = number > 0 ? own - 1 : own + chunks - 1;
    T v = y[(own * columns + column) * NB + c.col];
    if (i < c.end - 1) {
        T u = y[(before * columns + column) * NB + c.col];
        v = gp[at] - row_times(c, wp + i * Q, v);
        if (number > 0 || periodic) v -= row_times(c, vp + i * Q, u);
    }
    if (c.lane < NB) x[at] = S(v);
    if (!finite(v)) atomicMin(bad, (int)system);
}
