// The diagonalized factors of one axis: along each line three families of waves with scalar pentadiagonal systems, the
// first of them with three right-hand sides. Twin: structured/diagonal.rs; coefficients and waves are pointwise.
//
// Rows are made where they are used, from states, areas and time steps that stream through shared memory. What goes out
// to memory and comes back are the factors of the elimination, x_p = z_p - g_p x_{p+1} - h_p x_{p+2}: KEPT numbers a
// cell.
#define FAMILIES 3
#define AHEAD 6         // rows of the elimination on their way
#define BEHIND 4        // rows of the substitution on their way
#define ROW 15          // state 5, area 3, tau, right-hand side 5, volume
typedef pointwise::WaveFace<double> WaveFace;
typedef pointwise::Array<pointwise::Array<double, 5>, FAMILIES> WaveRows;

// The face `number` of a line of n rows between cells of these states; p: pressures of the four cells around it.
__device__ __forceinline__ WaveFace wave_face(const Setup& setup, u32 fourth, bool open, u32 number, u32 n, double pa,
                                              const State& b, const State& c, double pd, const Vec3& area,
                                              double volume) {
    const pointwise::Gas<double> gas = setup.gas();
    double viscous = 0;
#if VISCOUS
    viscous = pointwise::spectral_radius_viscous(gas, setup.transport(), pointwise::middle_state(b, c), area, volume);
#endif
    const bool near = open && (number <= 1 || number + 1 >= n), at_end = open && (number == 0 || number == n);
    const auto weights = pointwise::wave_weights(pointwise::Array<double, 4>{{pa, b[4], c[4], pd}}, setup.dissipation(),
                                                 setup.implicit_dissipation, fourth != 0, near);
    return pointwise::wave_face(gas, b, c, area, weights, at_end, viscous);
}
__device__ __forceinline__ u32 family_of(u32 wave) { return wave < 3 ? 0 : wave - 2; }

// The last two rows' factors of an elimination with WIDTH columns.
template <int WIDTH> struct Last {
    double g[2][FAMILIES], h[2][FAMILIES];
    double z[2][WIDTH];
    __device__ Last() {
#pragma unroll
        for (int k = 0; k < 2; k++) {
#pragma unroll
            for (int f = 0; f < FAMILIES; f++) g[k][f] = h[k][f] = 0;
#pragma unroll
            for (int c = 0; c < WIDTH; c++) z[k][c] = 0;
        }
    }
    // One row more: its lower bands are eliminated. `family` of each column.
    template <class Family>
    __device__ void eliminate(const WaveRows& rows, const double (&right)[WIDTH], Family family) {
        double lower[FAMILIES][3];
#pragma unroll
        for (int f = 0; f < FAMILIES; f++) {
            const double e = rows[f][0], a = rows[f][1] - e * g[1][f];
            const double pivot = pointwise::quotient(1.0, rows[f][2] - e * h[1][f] - a * g[0][f]);
            const double next = (rows[f][3] - a * h[0][f]) * pivot;
            lower[f][0] = e, lower[f][1] = a, lower[f][2] = pivot;
            g[1][f] = g[0][f], h[1][f] = h[0][f], g[0][f] = next, h[0][f] = rows[f][4] * pivot;
        }
#pragma unroll
        for (int c = 0; c < WIDTH; c++) {
            const int f = family(c);
            const double value = (right[c] - lower[f][0] * z[1][c] - lower[f][1] * z[0][c]) * lower[f][2];
            z[1][c] = z[0][c], z[0][c] = value;
        }
    }
};

#if !CLOSED
// r goes from the residual or the update so far to the solution along `axis`, whose areas `area` begins with. Two
// threads share a line and eliminate towards its middle, as in lines.cu. `groups` as there; `kept` has room for KEPT
// numbers a cell.
#define KEPT 11
#define LINES 32
#define THREADS 64
#define STEP_BACK 19    // factors 11, state 5, area 3
extern "C" __global__ void __launch_bounds__(THREADS, 4) waves(WaveLines) {
    extern __shared__ double memory[];
    const u32 lane = threadIdx.x % LINES, half = threadIdx.x / LINES;
    const Line line(blocks, groups[blockIdx.x], axis, lane);
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 n = line.rows, middle = (n + 1) / 2, rows = half ? n - middle : middle;
    const long long up = pick(line.b.stride, axis), step = half ? -up : up;
    const u64 first = line.first + (half ? (u64)(n - 1) * up : 0);
    auto place = [&](int p) { return first + (u64)(p * step); };
    // Faces have the number of the cell above them. They are seen as from the lower end; their speeds change sign.
    auto face_ahead = [&](int p) { return half ? place(p) : place(p + 1); };
    auto number = [&](u32 p) { return half ? n - p : p; };     // of the face behind row p
    auto scratch = [&](u32 p, u32 e) {
        return (u64)line.b.first * KEPT + ((u64)(half ? n - 1 - p : p) * KEPT + e) * line.count + line.line;
    };
    auto between = [&](const State& behind, const State& ahead, double beyond_behind, double beyond_ahead, u32 p,
                       const Vec3& area, double volume) {
        WaveFace face = half ? wave_face(setup, fourth, true, number(p), n, beyond_ahead, ahead, behind, beyond_behind,
                                         area, volume)
                             : wave_face(setup, fourth, true, number(p), n, beyond_behind, behind, ahead, beyond_ahead,
                                         area, volume);
#pragma unroll
        for (int f = 0; f < FAMILIES; f++) face.half_speed[f] = half ? -face.half_speed[f] : face.half_speed[f];
        return face;
    };

    auto fetch_slot = [&](u32 p, u32 e) { return memory + (p % AHEAD * ROW + e) * THREADS + threadIdx.x; };
    auto fetch = [&](u32 p) {   // one row beyond the last: its pressure is asked for
        if (p <= rows && p <= n) {
            const u64 own = place((int)p), ahead = place((int)p + 1), face = face_ahead((int)p);
            fetch_row([&](u32 e) { return fetch_slot(p, e); }, total, w + ahead, area + face, taus + own, p < rows,
                      r + own, volume + ahead);
        }
        copy_commit();
    };
    for (u32 p = 0; p < AHEAD - 1; p++) fetch(p);
    const Vec3 end_area = area_at(area, total, half ? place(-1) : place(0));
    State wb = state_at(w, total, place(-1)), wo = state_at(w, total, place(0));
    Vec3 nb = end_area;
    double vo = 0, vb = 0;
#if VISCOUS
    vb = volume[place(-1)], vo = volume[place(0)];
#endif
    Last<5> last;
    auto family = [](int c) { return c < 3 ? 0 : c - 2; };
    copy_wait<AHEAD - 2>();
    // The face at the end: its differences take no pressures.
    WaveFace low = between(wb, wo, wb[4], wo[4], 0, nb, 0.5 * (vb + vo));
#pragma unroll 1
    for (u32 p = 0; p < rows; p++) {
        fetch(p + AHEAD - 1);
        copy_wait<AHEAD - 2>();
        State wa, v;
        Vec3 na;
#pragma unroll
        for (int c = 0; c < 5; c++) wa[c] = *fetch_slot(p, c), v[c] = *fetch_slot(p, 9 + c);
#pragma unroll
        for (int c = 0; c < 3; c++) na[c] = *fetch_slot(p, 5 + c);
        const double tau = *fetch_slot(p, 8), beyond = *fetch_slot(p + 1, 4);
        double va = 0;
#if VISCOUS
        va = *fetch_slot(p, 14);
#endif
        scale_residual(line, tau, v);
        const WaveFace high = between(wo, wa, wb[4], beyond, p + 1, na, 0.5 * (vo + va));
        WaveRows coefficients = pointwise::wave_rows(low, high, tau);
        // Beyond the ends of the line there is no change.
#pragma unroll
        for (int f = 0; f < FAMILIES; f++) {
            if (p < 2) coefficients[f][0] = 0;
            if (p < 1) coefficients[f][1] = 0;
            if (p + 1 >= n) coefficients[f][3] = 0;
            if (p + 2 >= n) coefficients[f][4] = 0;
        }
        const State wave = pointwise::to_waves(gas, wo, pointwise::unit_normal(nb, na), v);
        last.eliminate(coefficients, {wave[0], wave[1], wave[2], wave[3], wave[4]}, family);
        if (line.live) {
#pragma unroll
            for (int f = 0; f < FAMILIES; f++)
                kept[scratch(p, f)] = last.g[0][f], kept[scratch(p, 3 + f)] = last.h[0][f];
#pragma unroll
            for (int c = 0; c < 5; c++) kept[scratch(p, 6 + c)] = last.z[0][c];
        }
        low = high, wb = wo, wo = wa, nb = na, vo = va;
    }
    copy_wait<0>();
    __syncthreads();
    // Where the halves meet, both know the last two rows of each other.
    double* mine = memory + half * 22 * LINES + lane;
    const double* others = memory + (1 - half) * 22 * LINES + lane;
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int f = 0; f < FAMILIES; f++)
            mine[(11 * k + f) * LINES] = last.g[k][f], mine[(11 * k + 3 + f) * LINES] = last.h[k][f];
#pragma unroll
        for (int c = 0; c < 5; c++) mine[(11 * k + 6 + c) * LINES] = last.z[k][c];
    }
    __syncthreads();
    // x of the row nearer to the middle and of the one before.
    State x1, x2;
#pragma unroll
    for (int c = 0; c < 5; c++) {
        const int f = family(c);
        const double g = others[f * LINES], h = others[(3 + f) * LINES], z = others[(6 + c) * LINES];
        const double g2 = others[(11 + f) * LINES], h2 = others[(14 + f) * LINES], z2 = others[(17 + c) * LINES];
        const double mg = last.g[0][f], mh = last.h[0][f];
        // p x + q y = s and t x + u y = v of the last rows x here and y there, the rows before them eliminated.
        const double p = 1.0 - mh * h2, q = mg - mh * g2, s = last.z[0][c] - mh * z2;
        const double t = g - h * last.g[1][f], u = 1.0 - h * last.h[1][f], v = z - h * last.z[1][c];
        const double inverse = pointwise::quotient(1.0, p * u - q * t);
        x1[c] = (s * u - q * v) * inverse, x2[c] = (p * v - t * s) * inverse;
    }
    __syncthreads();
    // Outwards: x1 is the solution of the row to be written first, x2 of the one beyond it.
    auto back_slot = [&](u32 q, u32 e) { return memory + (q % BEHIND * STEP_BACK + e) * THREADS + threadIdx.x; };
    auto back = [&](u32 q) {    // row rows - 1 - q
        if (q < rows) {
            const u32 p = rows - 1 - q;
            const u64 own = place((int)p), face = half ? place((int)p - 1) : own;
#pragma unroll
            for (int e = 0; e < KEPT; e++) copy_async(back_slot(q, e), kept + scratch(p, e));
#pragma unroll
            for (int c = 0; c < 5; c++) copy_async(back_slot(q, 11 + c), w + c * total + own);
#pragma unroll
            for (int c = 0; c < 3; c++) copy_async(back_slot(q, 16 + c), area + c * total + face);
        }
        copy_commit();
    };
    for (u32 q = 0; q < BEHIND - 1; q++) back(q);
    bool fine = true;
#pragma unroll 1
    for (u32 q = 0; q < rows; q++) {
        back(q + BEHIND - 1);
        copy_wait<BEHIND - 1>();
        if (q > 0) {
#pragma unroll
            for (int c = 0; c < 5; c++) {
                const int f = family(c);
                const double x = *back_slot(q, 6 + c) - *back_slot(q, f) * x1[c] - *back_slot(q, 3 + f) * x2[c];
                x2[c] = x1[c], x1[c] = x;
            }
        }
        State state;
        Vec3 behind;
#pragma unroll
        for (int c = 0; c < 5; c++) state[c] = *back_slot(q, 11 + c);
#pragma unroll
        for (int c = 0; c < 3; c++) behind[c] = *back_slot(q, 16 + c);
        const State x = pointwise::from_waves(gas, state, pointwise::unit_normal(nb, behind), x1);
        nb = behind;
        fine = fine && all_finite(x);
        if (line.live) {
#pragma unroll
            for (int c = 0; c < 5; c++) r[c * total + place((int)(rows - 1 - q))] = x[c];
        }
    }
    if (!fine && line.live) atomicMin(bad, line.number(axis, 0));
}
#else
// Lines that close on themselves, of at least six rows, a thread a line: their last two rows are a border, whose
// unknowns are carried along as two right-hand sides more of each family, x = y - Z border.
#define KEPT 17         // factors 6, columns 11
#define LINES 32
#define WIDTH 11
extern "C" __global__ void __launch_bounds__(LINES) closed_waves(WaveLines) {
    const Line line(blocks, groups[blockIdx.x], axis, threadIdx.x);
    if (!line.live) return;
    const Setup setup = *numbers;
    const pointwise::Gas<double> gas = setup.gas();
    const u32 n = line.rows, inner = n - 2;
    const u64 step = pick(line.b.stride, axis);
    auto scratch = [&](u32 p, u32 e) {
        return (u64)line.b.first * KEPT + ((u64)p * KEPT + e) * line.count + line.line;
    };
    // Columns 0 to 4 are the waves, 5 + 2 f + b the border's unknown b of family f.
    auto family = [](int c) { return c < 3 ? 0 : c < 5 ? c - 2 : (c - 5) / 2; };
    Last<WIDTH> last;
    WaveRows border[2];
    State border_right[2];
    auto cell = [&](u32 p) { return line.first + p * step; };
    State wb = state_at(w, total, line.first - step), wo = state_at(w, total, line.first);
    Vec3 nb = area_at(area, total, line.first);
    double vb = 0, vo = 0;
#if VISCOUS
    vb = volume[line.first - step], vo = volume[line.first];
#endif
    WaveFace low = wave_face(setup, fourth, false, 0, n, w[4 * total + line.first - 2 * step], wb, wo,
                             w[4 * total + cell(1)], nb, 0.5 * (vb + vo));
#pragma unroll 1
    for (u32 p = 0; p < n; p++) {
        const u64 at = cell(p);
        const State wa = state_at(w, total, at + step);
        const Vec3 na = area_at(area, total, at + step);
        const double tau = taus[at];
        double va = 0;
#if VISCOUS
        va = volume[at + step];
#endif
        State v = state_at(r, total, at);
        scale_residual(line, tau, v);
        const WaveFace high =
            wave_face(setup, fourth, false, p + 1, n, wb[4], wo, wa, w[4 * total + at + 2 * step], na, 0.5 * (vo + va));
        WaveRows rows = pointwise::wave_rows(low, high, tau);
        const State wave = pointwise::to_waves(gas, wo, pointwise::unit_normal(nb, na), v);
        if (p < inner) {
            double right[WIDTH] = {wave[0], wave[1], wave[2], wave[3], wave[4], 0, 0, 0, 0, 0, 0};
            // What reaches around the ends or into the border.
#pragma unroll
            for (int f = 0; f < FAMILIES; f++) {
                double* to = right + 5 + 2 * f;
                if (p == 0) to[0] = rows[f][0], to[1] = rows[f][1], rows[f][0] = rows[f][1] = 0;
                if (p == 1) to[1] = rows[f][0], rows[f][0] = 0;
                if (p + 2 == inner) to[0] = rows[f][4], rows[f][4] = 0;
                if (p + 1 == inner) to[0] = rows[f][3], to[1] = rows[f][4], rows[f][3] = rows[f][4] = 0;
            }
            last.eliminate(rows, right, family);
#pragma unroll
            for (int f = 0; f < FAMILIES; f++)
                kept[scratch(p, f)] = last.g[0][f], kept[scratch(p, 3 + f)] = last.h[0][f];
#pragma unroll
            for (int c = 0; c < WIDTH; c++) kept[scratch(p, 6 + c)] = last.z[0][c];
        } else {
            border[p == inner ? 0 : 1] = rows, border_right[p == inner ? 0 : 1] = wave;
        }
        low = high, wb = wo, wo = wa, nb = na, vo = va;
    }
    // Upwards; of the first two and the last two inner rows the border takes its part.
    double x1[WIDTH], x2[WIDTH], top[2][WIDTH];
#pragma unroll
    for (int c = 0; c < WIDTH; c++) x1[c] = last.z[0][c], x2[c] = 0, top[0][c] = x1[c], top[1][c] = 0;
#pragma unroll 1
    for (int p = (int)inner - 2; p >= 0; p--) {
#pragma unroll
        for (int c = 0; c < WIDTH; c++) {
            const int f = family(c);
            const double x = kept[scratch(p, 6 + c)] - kept[scratch(p, f)] * x1[c] - kept[scratch(p, 3 + f)] * x2[c];
            x2[c] = x1[c], x1[c] = x;
            kept[scratch(p, 6 + c)] = x;
            if (p == (int)inner - 2) top[1][c] = x;
        }
    }
    // Rows of the border: e x_{p-2} + a x_{p-1} + b x_p + c x_{p+1} + d x_{p+2} counted around the ends.
    State ends[2];
#pragma unroll
    for (int c = 0; c < 5; c++) {
        const int f = family(c), z = 5 + 2 * f;
        const auto &one = border[0][f], &two = border[1][f];
        // Row n - 2 sees inner - 2, inner - 1, itself, n - 1, 0; row n - 1 sees inner - 1, n - 2, itself, 0, 1.
        const double m00 = one[2] - one[0] * top[1][z] - one[1] * top[0][z] - one[4] * x1[z];
        const double m01 = one[3] - one[0] * top[1][z + 1] - one[1] * top[0][z + 1] - one[4] * x1[z + 1];
        const double m10 = two[1] - two[0] * top[0][z] - two[3] * x1[z] - two[4] * x2[z];
        const double m11 = two[2] - two[0] * top[0][z + 1] - two[3] * x1[z + 1] - two[4] * x2[z + 1];
        const double s = border_right[0][c] - one[0] * top[1][c] - one[1] * top[0][c] - one[4] * x1[c];
        const double t = border_right[1][c] - two[0] * top[0][c] - two[3] * x1[c] - two[4] * x2[c];
        const double inverse = pointwise::quotient(1.0, m00 * m11 - m01 * m10);
        ends[0][c] = (m11 * s - m01 * t) * inverse, ends[1][c] = (m00 * t - m10 * s) * inverse;
    }
    bool fine = true;
    nb = area_at(area, total, line.first);
#pragma unroll 1
    for (u32 p = 0; p < n; p++) {
        State wave = p == inner ? ends[0] : ends[1];
        if (p < inner) {
#pragma unroll
            for (int c = 0; c < 5; c++) {
                const int z = 6 + 5 + 2 * family(c);
                wave[c] =
                    kept[scratch(p, 6 + c)] - kept[scratch(p, z)] * ends[0][c] - kept[scratch(p, z + 1)] * ends[1][c];
            }
        }
        const u64 at = cell(p);
        const Vec3 na = area_at(area, total, at + step);
        const State x = pointwise::from_waves(gas, state_at(w, total, at), pointwise::unit_normal(nb, na), wave);
        nb = na;
        fine = fine && all_finite(x);
#pragma unroll
        for (int c = 0; c < 5; c++) r[c * total + at] = x[c];
    }
    if (!fine) atomicMin(bad, line.number(axis, 0));
}
#endif
