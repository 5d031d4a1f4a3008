// Scalar systems, a warp each, system by system: LANE_ROWS neighbouring rows a lane. Each lane eliminates all of its
// rows but the last, as `chunks.cu` has it; the 32 last rows are solved by parallel cyclic reduction through shuffles.
// Lines of up to 32 LANE_ROWS rows; rows beyond the end read x = 0.
#define PIECE (16 / (int)sizeof(S))

__device__ __forceinline__ void load_rows(const S *from, int first, int rows, T fill, T (&v)[LANE_ROWS]) {
    if (LANE_ROWS % PIECE == 0 && rows % PIECE == 0 && ((size_t)from & 15) == 0) {
        struct alignas(16) Piece { S v[PIECE]; };
#pragma unroll
        for (int k = 0; k < LANE_ROWS; k += PIECE) {
            const bool in = first + k < rows;
            Piece p;
            if (in) p = *reinterpret_cast<const Piece *>(from + first + k);
#pragma unroll
            for (int j = 0; j < PIECE; j++)
                if (k + j < LANE_ROWS) v[k + j] = in ? T(p.v[j]) : fill;
        }
    } else {
#pragma unroll
        for (int k = 0; k < LANE_ROWS; k++) v[k] = first + k < rows ? T(from[first + k]) : fill;
    }
}

extern "C" __global__ void __launch_bounds__(64) warp_scalar(WholeLines) {
    const int system = blockIdx.x * 2 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (system >= systems) return;
    const unsigned all = 0xffffffffu;
    const long long base = (long long)system * rows;
    const int first = lane * LANE_ROWS;
    constexpr int END = LANE_ROWS - 1;
    T a[LANE_ROWS], b[LANE_ROWS], c[LANE_ROWS], f[LANE_ROWS];
    load_rows(lower + base, first, rows, T(0), a);
    load_rows(diag + base, first, rows, T(1), b);
    load_rows(upper + base, first, rows, T(0), c);
    load_rows(rhs + base, first, rows, T(0), f);
    if (lane == 0) a[0] = 0;
#pragma unroll
    for (int k = 0; k < LANE_ROWS; k++)
        if (first + k == rows - 1) c[k] = 0;
    // x_k = f_k - c_k x_{k+1} - a_k u; then c_k acts on the last row of the lane.
#pragma unroll
    for (int k = 0; k < END; k++) {
        const T pivot = reciprocal(k > 0 ? b[k] - a[k] * c[k > 0 ? k - 1 : 0] : b[k]);
        if (k > 0) {
            f[k] -= a[k] * f[k > 0 ? k - 1 : 0];
            a[k] = -a[k] * a[k > 0 ? k - 1 : 0];
        }
        a[k] *= pivot;
        c[k] *= pivot;
        f[k] *= pivot;
    }
#pragma unroll
    for (int k = END - 2; k >= 0; k--) {
        f[k] -= c[k] * f[k + 1];
        a[k] -= c[k] * a[k + 1];
        c[k] = -c[k] * c[k + 1];
    }
    T l = a[END], d = b[END], u = c[END], g = f[END];
    if (END > 0) {
        constexpr int INNER = END > 0 ? END - 1 : 0;
        const T below_a = __shfl_down_sync(all, a[0], 1), below_c = __shfl_down_sync(all, c[0], 1);
        const T below_f = __shfl_down_sync(all, f[0], 1);
        d -= l * c[INNER] + u * below_a;
        g -= l * f[INNER] + u * below_f;
        l = -l * a[INNER];
        u = lane < 31 ? -u * below_c : T(0);
    }
    {
        const T pivot = reciprocal(d);
        l *= pivot;
        u *= pivot;
        g *= pivot;
    }
    // Rows with b = 1; the couplings of the first and last rows stay zero.
#pragma unroll
    for (int s = 1; s < 32; s *= 2) {
        const T la = __shfl_up_sync(all, l, s), ua = __shfl_up_sync(all, u, s), ga = __shfl_up_sync(all, g, s);
        const T lb = __shfl_down_sync(all, l, s), ub = __shfl_down_sync(all, u, s), gb = __shfl_down_sync(all, g, s);
        const T pivot = reciprocal(T(1) - l * ua - u * lb);
        g = (g - l * ga - u * gb) * pivot;
        l = -l * la * pivot;
        u = -u * ub * pivot;
    }
    const T before = __shfl_up_sync(all, g, 1);
    bool fine = finite(g);
#pragma unroll
    for (int k = 0; k < END; k++) {
        f[k] -= c[k] * g + (lane > 0 ? a[k] * before : T(0));
        fine = fine && finite(f[k]);
    }
    f[END] = g;
    S *to = x + base;
    if (LANE_ROWS % PIECE == 0 && rows % PIECE == 0 && ((size_t)to & 15) == 0) {
        struct alignas(16) Piece { S v[PIECE]; };
#pragma unroll
        for (int k = 0; k < LANE_ROWS; k += PIECE) {
            Piece p;
#pragma unroll
            for (int j = 0; j < PIECE; j++) p.v[j] = S(f[k + j < LANE_ROWS ? k + j : 0]);
            if (first + k < rows) *reinterpret_cast<Piece *>(to + first + k) = p;
        }
    } else {
#pragma unroll
        for (int k = 0; k < LANE_ROWS; k++)
            if (first + k < rows) to[first + k] = S(f[k]);
    }
    if (!fine) atomicMin(bad, system);
}
