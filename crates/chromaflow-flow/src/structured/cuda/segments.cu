// Approximate factorization where lines are few or close on themselves: every line in segments, a thread each. Twin:
// structured/lines.rs.
//
// The first row of a segment is its separator. The rows behind it are eliminated as x_p = y_p - C_p x_{p+1} - Z_p x_s,
// with x_s the separator's unknowns, which leaves a block-tridiagonal system of the separators, closed where the line
// is: that is solved by parallel cyclic reduction in shared memory, then the rows follow (Wang 1981).
//
// A thread block of THREADS has the PARTS segments each of THREADS / PARTS neighboring lines.
#define THREADS 64
#define COUPLED 55      // numbers that a segment gives to others: two blocks and a vector

// Rows of a line's system one after another: -behind x_{p-1} + own x_p + ahead x_{p+1} = right.
struct Rows {
    const Setup& setup;
    const Line& line;
    u64 total;
    u64 step;
    u32 ends[2];            // the boundary's faces at both ends, or NONE
    bool closed;
    const double* __restrict__ w;
    const double* __restrict__ area;
    const double* __restrict__ volume;
    // Of the face behind the next row.
    State wb, wo;
    Vec3 nb;
    Damping db;
    double vb, vo;

    __device__ Vec3 face(u32 p) const {
        if ((p == 0 && ends[0] != NONE) || (p == line.rows && ends[1] != NONE)) return {0, 0, 0};
        return area_at(area, total, line.first + p * step);
    }
    __device__ void begin(u32 p) {
        const u64 at = line.first + p * step;
        wb = state_at(w, total, at - step), wo = state_at(w, total, at), nb = face(p);
        vb = 0, vo = 0;
#if VISCOUS
        vb = volume[at - step], vo = volume[at];
#endif
        db = damping_of(setup, wb, wo, nb, vb, vo);
    }
    // Row p without its coupling ahead, which `ahead_of` makes; `next` goes on.
    struct Ahead {
        State w;
        Vec3 n;
        Damping damping;
        double volume;
    };
    __device__ Ahead look(u32 p) const {
        const u64 at = line.first + (p + 1) * step;
        Ahead a;
        a.w = state_at(w, total, at), a.n = face(p + 1), a.volume = 0;
#if VISCOUS
        a.volume = volume[at];
#endif
        a.damping = damping_of(setup, wo, a.w, a.n, vo, a.volume);
        return a;
    }
    __device__ Block own(u32 p, const Ahead& a, double tau, const double* __restrict__ jacobians, u64 faces) const {
        Block b = own_block(setup, wo, nb, a.n, tau, db, a.damping);
        if (p == 0 && ends[0] != NONE) add_boundary(b, tau, jacobians, faces, ends[0]);
        if (p + 1 == line.rows && ends[1] != NONE) add_boundary(b, tau, jacobians, faces, ends[1]);
        return b;
    }
    __device__ Block behind(u32 p, double tau) const {
        if (p == 0 && !closed) return Block{};
        return coupling(setup, wb, nb, tau, 1.0, db);
    }
    __device__ Block ahead(u32 p, const Ahead& a, double tau) const {
        if (p + 1 == line.rows && !closed) return Block{};
        return coupling(setup, a.w, a.n, tau, -1.0, a.damping);
    }
    __device__ void next(const Ahead& a) { wb = wo, wo = a.w, nb = a.n, db = a.damping, vb = vo, vo = a.volume; }
};

__device__ __forceinline__ State zero() { return {0, 0, 0, 0, 0}; }
__device__ __forceinline__ State unit(int c) {
    return {c == 0 ? 1.0 : 0.0, c == 1 ? 1.0 : 0.0, c == 2 ? 1.0 : 0.0, c == 3 ? 1.0 : 0.0, c == 4 ? 1.0 : 0.0};
}
__device__ __forceinline__ State minus(State x) { return {-x[0], -x[1], -x[2], -x[3], -x[4]}; }
__device__ __forceinline__ void put_column(Block& b, int c, const State& x) {
#pragma unroll
    for (int s = 0; s < 5; s++) b[c * 5 + s] = x[s];
}

// r goes from the residual or the update so far to the solution along `axis`, whose areas `area` begins with. `groups`
// as in lines.cu; `factors` and `loops` have room for 25 numbers a cell, `values` for 5. Dynamic shared memory: 2 x
// COUPLED numbers a thread. Where the segments of a line begin follows from its length alone.
extern "C" __global__ void __launch_bounds__(THREADS) segments(BlockSegments) {
    extern __shared__ double memory[];
    const uint2 group = groups[blockIdx.x];
    const u32 n = pick(blocks[group.x & 0x7fffffffu].count, axis);
    u32 parts = 1;
    while (parts < PARTS && 4 * parts <= n) parts *= 2;
    const u32 together = THREADS / parts, lane = threadIdx.x % together, q = threadIdx.x / together;
    const Line line(blocks, group, axis, lane);
    const Setup setup = *numbers;
    const u64 step = pick(line.b.stride, axis);
    const u32 first = q * n / parts, end = (q + 1) * n / parts;
    auto scratch = [&](u32 p, u32 e, u32 width) {
        return (u64)line.b.first * width + ((u64)p * width + e) * line.count + line.line;
    };
    auto right = [&](u32 p, double tau) {
        State v = state_at(r, total, line.first + p * step);
        scale_residual(line, tau, v);
        return v;
    };
    Rows rows = {setup, line, total, step, {NONE, NONE}, closed != 0, w, area, volume};
    const Sides sides = {side_ptr, face_of};
    if (!closed) {
        rows.ends[0] = sides.face(line.block, line.b.count, axis, 0, line.cell);
        rows.ends[1] = sides.face(line.block, line.b.count, axis, 1, line.cell);
    }
    // Threads beyond the last line repeat it, and write nothing that others read: their scratch is that line's.
    const bool live = line.live;

    // The rows behind the separator: cp = C, fp = y of the row before; Z in memory.
    Block cp;
    State fp = zero();
#pragma unroll
    for (int e = 0; e < 25; e++) cp[e] = 0;
    auto kept_z = [&](u32 p, int c) {
        State z;
#pragma unroll
        for (int s = 0; s < 5; s++) z[s] = loops[scratch(p, c * 5 + s, 25)];
        return z;
    };
    if (live) {
        if (first + 1 < end) rows.begin(first + 1);
#pragma unroll 1
        for (u32 p = first + 1; p < end; p++) {
            const double tau = taus[line.first + p * step];
            const typename Rows::Ahead ahead = rows.look(p);
            State v = right(p, tau);
            Block b = rows.own(p, ahead, tau, jacobians, faces);
            const Block a = rows.behind(p, tau);
            eliminate_behind<5, 1>(a, cp, fp, b, v);
            factor<5>(b);
            solve<5>(b, v);
            fp = v;
#pragma unroll
            for (int e = 0; e < 5; e++) values[scratch(p, e, 5)] = v[e];
#pragma unroll
            for (int c = 0; c < 5; c++) {
                State z = zero();
                if (p == first + 1) z = minus(column_of(a, c));
                else add_product<5, 1>(a, kept_z(p - 1, c), z);
                solve<5>(b, z);
#pragma unroll
                for (int s = 0; s < 5; s++) loops[scratch(p, c * 5 + s, 25)] = z[s];
            }
            cp = rows.ahead(p, ahead, tau);
            solve_columns<5>(b, cp);
#pragma unroll
            for (int e = 0; e < 25; e++) factors[scratch(p, e, 25)] = cp[e];
            rows.next(ahead);
        }
    }
    // What the next separator sees of the last row: x = y - Z x_s - C x_next. With no row behind the separator that row
    // is the separator itself.
    auto slot = [&](u32 half, u32 part, u32 e) {
        return memory + (half * COUPLED + e) * THREADS + part * together + lane;
    };
    auto vector_of = [&](u32 half, u32 part, u32 e) {
        return State{*slot(half, part, e), *slot(half, part, e + 1), *slot(half, part, e + 2), *slot(half, part, e + 3),
                     *slot(half, part, e + 4)};
    };
    auto put_vector = [&](u32 half, u32 e, const State& v) {
#pragma unroll
        for (int s = 0; s < 5; s++) *slot(half, q, e + s) = v[s];
    };
    if (live) {
#pragma unroll
        for (int c = 0; c < 5; c++) {
            const State z = first + 1 < end ? kept_z(end - 1, c) : minus(unit(c));
            put_vector(0, c * 5, z), put_vector(0, 25 + c * 5, column_of(cp, c));
        }
        put_vector(0, 50, fp);
    }
    __syncthreads();
    if (live) {
        // The separator's row; what couples to its right neighbor and to its left one goes to the other half of the
        // memory.
        const u32 left = q == 0 ? parts - 1 : q - 1;
        auto other = [&](u32 e) { return vector_of(0, left, e); };
        // The first row behind the separator: x = y - Z x_s - W x_next.
        Block z, across;
#pragma unroll
        for (int c = 0; c < 5; c++) {
            put_column(z, c, first + 1 < end ? kept_z(end - 1, c) : zero());
            put_column(across, c, first + 1 < end ? column_of(cp, c) : minus(unit(c)));
        }
        State y = fp;
#pragma unroll 1
        for (u32 p = end - 2; end > 1 && p > first && p < end; p--) {
            Block c;
#pragma unroll
            for (int e = 0; e < 25; e++) c[e] = factors[scratch(p, e, 25)];
            State own;
#pragma unroll
            for (int e = 0; e < 5; e++) own[e] = values[scratch(p, e, 5)];
            add_product<5, -1>(c, y, own);
            y = own;
#pragma unroll
            for (int k = 0; k < 5; k++) {
                State column = kept_z(p, k), product = zero();
                add_product<5, -1>(c, column_of(z, k), column);
                put_column(z, k, column);
                add_product<5, -1>(c, column_of(across, k), product);
                put_column(across, k, product);
            }
        }
        const double tau = taus[line.first + first * step];
        rows.begin(first);
        const typename Rows::Ahead ahead = rows.look(first);
        Block b = rows.own(first, ahead, tau, jacobians, faces);
        State v = right(first, tau);
        {
            const Block a = rows.ahead(first, ahead, tau);
            add_product<5, -1>(a, y, v);
#pragma unroll
            for (int c = 0; c < 5; c++) {
                State x = column_of(b, c), product = zero();
                add_product<5, -1>(a, column_of(z, c), x);
                put_column(b, c, x);
                add_product<5, -1>(a, column_of(across, c), product);
                put_column(across, c, product);
            }
        }
        const Block a = rows.behind(first, tau);
        add_product<5, 1>(a, other(50), v);
#pragma unroll
        for (int c = 0; c < 5; c++) {
            State x = column_of(b, c);
            add_product<5, 1>(a, other(25 + c * 5), x);
            put_column(b, c, x);
        }
        factor<5>(b);
        solve<5>(b, v);
#pragma unroll
        for (int c = 0; c < 5; c++) {
            State before = zero(), after = column_of(across, c);
            add_product<5, 1>(a, other(c * 5), before);
            solve<5>(b, before), solve<5>(b, after);
            put_vector(1, c * 5, before), put_vector(1, 25 + c * 5, after);
        }
        put_vector(1, 50, v);
    }
    __syncthreads();
    // Parallel cyclic reduction of before x_{q-d} + x_q + after x_{q+d} = v, counted around the ends.
    u32 half = 1;
#pragma unroll 1
    for (u32 d = 1; d < parts; d *= 2) {
        if (live) {
            const u32 low = (q + parts - d) % parts, high = (q + d) % parts;
            auto of = [&](u32 part, u32 e) { return vector_of(half, part, e); };
            Block before, after, b;
#pragma unroll
            for (int c = 0; c < 5; c++) put_column(before, c, of(q, c * 5)), put_column(after, c, of(q, 25 + c * 5));
            State v = of(q, 50);
            add_product<5, -1>(before, of(low, 50), v), add_product<5, -1>(after, of(high, 50), v);
#pragma unroll
            for (int c = 0; c < 5; c++) {
                State x = unit(c);
                add_product<5, -1>(before, of(low, 25 + c * 5), x), add_product<5, -1>(after, of(high, c * 5), x);
                put_column(b, c, x);
            }
            factor<5>(b);
            solve<5>(b, v);
#pragma unroll
            for (int c = 0; c < 5; c++) {
                State x = zero(), y = zero();
                add_product<5, -1>(before, of(low, c * 5), x), add_product<5, -1>(after, of(high, 25 + c * 5), y);
                solve<5>(b, x), solve<5>(b, y);
                put_vector(1 - half, c * 5, x), put_vector(1 - half, 25 + c * 5, y);
            }
            put_vector(1 - half, 50, v);
        }
        half = 1 - half;
        __syncthreads();
    }
    // Now each couples to itself alone.
    State x = zero();
    if (live) {
        Block b;
#pragma unroll
        for (int c = 0; c < 5; c++) {
            State column = unit(c);
#pragma unroll
            for (int s = 0; s < 5; s++) column[s] += *slot(half, q, c * 5 + s) + *slot(half, q, 25 + c * 5 + s);
            put_column(b, c, column);
            x[c] = *slot(half, q, 50 + c);
        }
        factor<5>(b);
        solve<5>(b, x);
        put_vector(1 - half, 0, x);
    }
    __syncthreads();
    if (!live) return;
    const u32 next = q + 1 == parts ? 0 : q + 1;
    State behind = vector_of(1 - half, next, 0);
    bool fine = all_finite(x);
#pragma unroll
    for (int c = 0; c < 5; c++) r[c * total + line.first + first * step] = x[c];
#pragma unroll 1
    for (u32 p = end - 1; p > first; p--) {
        State y;
#pragma unroll
        for (int e = 0; e < 5; e++) y[e] = values[scratch(p, e, 5)];
#pragma unroll
        for (int k = 0; k < 5; k++) {
            const State z = kept_z(p, k);
#pragma unroll
            for (int s = 0; s < 5; s++) y[s] -= factors[scratch(p, k * 5 + s, 25)] * behind[k] + z[s] * x[k];
        }
        fine = fine && all_finite(y);
        behind = y;
#pragma unroll
        for (int c = 0; c < 5; c++) r[c * total + line.first + p * step] = y[c];
    }
    if (!fine) atomicMin(bad, line.number(axis, 0));
}
