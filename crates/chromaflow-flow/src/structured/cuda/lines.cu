// Approximate factorization: the block-tridiagonal systems of all grid lines along one axis. Twin: structured/lines.rs.
//
// Jacobian blocks are made where they are used, from states, areas and time steps that stream through shared memory;
// only C' = B'^-1 C and f' of the elimination go out to memory and come back. Two threads share a line and eliminate
// towards its middle, one from each end (twisted factorization): half the chain of dependent rows, twice the lines in
// flight. Seen from the upper end a line looks as from the lower one with all areas reversed.
//
// LINES lines a thread block; the first warp has their lower halves, the second their upper ones.
#define LINES 32
#define THREADS 64
#define AHEAD 6         // rows of the elimination on their way
#define BEHIND 3        // rows of the substitution on their way
#define ROW 15          // state 5, area 3, tau, right-hand side 5, volume

// Numbers of a thread in shared memory.
struct Slots {
    const double* first;
    __device__ double operator[](int e) const { return first[e * THREADS]; }
};

// r goes from the residual or the update so far to the solution along `axis`, whose areas `area` begins with. `groups`
// {block, with the highest bit set where r is an update already; first line}; `factors` has room for 25 numbers a cell,
// `values` for 5.
extern "C" __global__ void __launch_bounds__(THREADS, 4) lines(BlockLines) {
    extern __shared__ double memory[];
    const u32 lane = threadIdx.x % LINES, half = threadIdx.x / LINES;
    const Line line(blocks, groups[blockIdx.x], axis, lane);
    const Sides sides = {side_ptr, face_of};
    const Setup setup = *numbers;
    const u32 n = line.rows, middle = (n + 1) / 2, rows = half ? n - middle : middle;
    const long long up = pick(line.b.stride, axis), step = half ? -up : up;
    const u64 first = line.first + (half ? (u64)(n - 1) * up : 0);
    const double sign = half ? -1.0 : 1.0;
    auto place = [&](int p) { return first + (u64)(p * step); };
    // Faces have the number of the cell above them.
    auto face_behind = [&](int p) { return half ? place(p - 1) : place(p); };
    auto face_ahead = [&](int p) { return half ? place(p) : place(p + 1); };
    auto oriented = [&](Vec3 a) { return Vec3{sign * a[0], sign * a[1], sign * a[2]}; };
    const u32 end = sides.face(line.block, line.b.count, axis, half, line.cell);
    const u32 other_end = n == 1 ? sides.face(line.block, line.b.count, axis, 1, line.cell) : NONE;
    auto scratch = [&](u32 p, u32 e, u32 width) {
        return (u64)line.b.first * width + ((u64)(half ? n - 1 - p : p) * width + e) * line.count + line.line;
    };

    auto fetch_slot = [&](u32 p, u32 e) { return memory + (p % AHEAD * ROW + e) * THREADS + threadIdx.x; };
    auto fetch = [&](u32 p) {
        if (p < rows) {
            const u64 own = place((int)p), ahead = place((int)p + 1), face = face_ahead((int)p);
            fetch_row([&](u32 e) { return fetch_slot(p, e); }, total, w + ahead, area + face, taus + own, true, r + own,
                      volume + ahead);
        }
        copy_commit();
    };
    for (u32 p = 0; p < AHEAD - 1; p++) fetch(p);

    Block cp;
    State fp = {0, 0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < 25; e++) cp[e] = 0;
    State wb = state_at(w, total, place(-1)), wo = state_at(w, total, place(0));
    Vec3 nb = end == NONE ? oriented(area_at(area, total, face_behind(0))) : Vec3{0, 0, 0};
    double vb = 0, vo = 0;
#if VISCOUS
    vb = volume[place(-1)], vo = volume[place(0)];
#endif
    Damping db = damping_of(setup, wb, wo, nb, vb, vo);
    for (u32 p = 0; p < rows; p++) {
        fetch(p + AHEAD - 1);
        copy_wait<AHEAD - 1>();
        State wa, v;
        Vec3 na;
#pragma unroll
        for (int c = 0; c < 5; c++) wa[c] = *fetch_slot(p, c), v[c] = *fetch_slot(p, 9 + c);
#pragma unroll
        for (int c = 0; c < 3; c++) na[c] = other_end == NONE ? sign * *fetch_slot(p, 5 + c) : 0.0;
        const double tau = *fetch_slot(p, 8);
        double va = 0;
#if VISCOUS
        va = *fetch_slot(p, 14);
#endif
        scale_residual(line, tau, v);
        const Damping da = damping_of(setup, wo, wa, na, vo, va);
        Block b = own_block(setup, wo, nb, na, tau, db, da);
        if (p == 0) {
            if (end != NONE) add_boundary(b, tau, jacobians, faces, end);
            if (other_end != NONE) add_boundary(b, tau, jacobians, faces, other_end);
        } else {
            // The coupling to the cell behind is minus this.
            const Block a = coupling(setup, wb, nb, tau, 1.0, db);
            eliminate_behind<5, 1>(a, cp, fp, b, v);
        }
        factor<5>(b);
        solve<5>(b, v);
        fp = v;
        cp = coupling(setup, wa, na, tau, -1.0, da);
        solve_columns<5>(b, cp);
        if (n == 1) cp = Block{};
        if (p + 1 < rows && line.live) {
#pragma unroll
            for (int e = 0; e < 25; e++) factors[scratch(p, e, 25)] = cp[e];
#pragma unroll
            for (int e = 0; e < 5; e++) values[scratch(p, e, 5)] = fp[e];
        }
        wb = wo, wo = wa, nb = na, db = da, vb = vo, vo = va;
    }
    copy_wait<0>();
    __syncthreads();
    // Where the halves meet: x = f' - C' y below, y = g' - A' x above.
    double* meeting = memory + lane;
    if (half) {
#pragma unroll
        for (int e = 0; e < 25; e++) meeting[e * LINES] = cp[e];
#pragma unroll
        for (int e = 0; e < 5; e++) meeting[(25 + e) * LINES] = fp[e];
    }
    __syncthreads();
    if (!half) {
        Block m;
#pragma unroll
        for (int c = 0; c < 5; c++) {
            State x = {0, 0, 0, 0, 0};
            x[c] = 1.0;
            const State a = {meeting[(c * 5) * LINES], meeting[(c * 5 + 1) * LINES], meeting[(c * 5 + 2) * LINES],
                             meeting[(c * 5 + 3) * LINES], meeting[(c * 5 + 4) * LINES]};
            add_product<5, -1>(cp, a, x);
#pragma unroll
            for (int s = 0; s < 5; s++) m[c * 5 + s] = x[s];
        }
        const State g = {meeting[25 * LINES], meeting[26 * LINES], meeting[27 * LINES], meeting[28 * LINES],
                         meeting[29 * LINES]};
        add_product<5, -1>(cp, g, fp);
        factor<5>(m);
        solve<5>(m, fp);
#pragma unroll
        for (int e = 0; e < 5; e++) meeting[(30 + e) * LINES] = fp[e];
    }
    __syncthreads();
    if (half) {
        const State x = {meeting[30 * LINES], meeting[31 * LINES], meeting[32 * LINES], meeting[33 * LINES],
                         meeting[34 * LINES]};
        add_product<5, -1>(cp, x, fp);
    }
    __syncthreads();
    // Outwards: fp is the solution of the row nearer to the middle.
    auto back_slot = [&](u32 q, u32 e) { return memory + (q % BEHIND * 30 + e) * THREADS + threadIdx.x; };
    auto back = [&](u32 q) {    // row rows - 2 - q
        if (q + 1 < rows) {
            const u32 p = rows - 2 - q;
#pragma unroll
            for (int e = 0; e < 25; e++) copy_async(back_slot(q, e), factors + scratch(p, e, 25));
#pragma unroll
            for (int e = 0; e < 5; e++) copy_async(back_slot(q, 25 + e), values + scratch(p, e, 5));
        }
        copy_commit();
    };
    bool fine = true;
    auto give = [&](u32 p) {
        const u64 at = place((int)p);
        fine = fine && all_finite(fp);
        if (!line.live) return;
#pragma unroll
        for (int c = 0; c < 5; c++) r[c * total + at] = fp[c];
    };
    for (u32 q = 0; q < BEHIND - 1; q++) back(q);
    if (rows > 0) give(rows - 1);
    for (u32 q = 0; q + 1 < rows; q++) {
        back(q + BEHIND - 1);
        copy_wait<BEHIND - 1>();
        State v;
#pragma unroll
        for (int e = 0; e < 5; e++) v[e] = *back_slot(q, 25 + e);
        add_product<5, -1>(Slots{back_slot(q, 0)}, fp, v);
        fp = v;
        give(rows - 2 - q);
    }
    if (!fine && line.live) atomicMin(bad, line.number(axis, 0));
}
