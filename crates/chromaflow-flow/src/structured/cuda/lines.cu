// Approximate factorization: the block-tridiagonal systems of all grid lines along one axis. Twin: structured/lines.rs.
//
// Jacobian blocks are made where they are used, from states, areas and time steps that stream through shared memory; only
// C' = B'^-1 C and f' of the elimination go out to memory and come back. Two threads share a line and eliminate towards its
// middle, one from each end (twisted factorization): half the chain of dependent rows, twice the lines in flight. Seen from
// the upper end a line looks as from the lower one with all areas reversed.
//
// LINES lines a thread block; the first warp has their lower halves, the second their upper ones. Constant: CLOSED 1 for lines
// that close on themselves.
#define LINES 32
#define THREADS 64
#define AHEAD 6         // rows of the elimination on their way
#define BEHIND 3        // rows of the substitution on their way
#define ROW 15          // state 5, area 3, tau, right-hand side 5, volume

// 1 / v by an approximation of 20 bits and two Newton steps; 0 gives NaN or infinity.
__device__ __forceinline__ double reciprocal(double v) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(v));
    r = fma(r, fma(-v, r, 1.0), r);
    return fma(r, fma(-v, r, 1.0), r);
}
// LU in place without pivoting: unit L below the diagonal, reciprocal pivots on it.
__device__ __forceinline__ void factor(Block& b) {
#pragma unroll
    for (int k = 0; k < 5; k++) {
        b[k * 5 + k] = reciprocal(b[k * 5 + k]);
#pragma unroll
        for (int r = k + 1; r < 5; r++) b[k * 5 + r] *= b[k * 5 + k];
#pragma unroll
        for (int c = k + 1; c < 5; c++)
#pragma unroll
            for (int r = k + 1; r < 5; r++) b[c * 5 + r] -= b[k * 5 + r] * b[c * 5 + k];
    }
}
__device__ __forceinline__ void solve(const Block& lu, State& v) {
#pragma unroll
    for (int k = 0; k < 5; k++)
#pragma unroll
        for (int r = k + 1; r < 5; r++) v[r] -= lu[k * 5 + r] * v[k];
#pragma unroll
    for (int k = 4; k >= 0; k--) {
        v[k] *= lu[k * 5 + k];
#pragma unroll
        for (int r = 0; r < k; r++) v[r] -= lu[k * 5 + r] * v[k];
    }
}
// v -= a x.
__device__ __forceinline__ void subtract(const Block& a, const State& x, State& v) {
#pragma unroll
    for (int k = 0; k < 5; k++)
#pragma unroll
        for (int r = 0; r < 5; r++) v[r] -= a[k * 5 + r] * x[k];
}
__device__ __forceinline__ State column_of(const Block& a, int c) { return {a[c * 5], a[c * 5 + 1], a[c * 5 + 2], a[c * 5 + 3], a[c * 5 + 4]}; }

__device__ __forceinline__ void copy_async(double* to, const double* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

// ---- Jacobians ---------------------------------------------------------------------------------------------------------
// Half the dissipation of a face: a number times the identity, or Roe's |A| / 2 with the viscous radius on its diagonal.
#if SCHEME == 2
typedef Block Damping;
#else
typedef double Damping;
#endif
__device__ __forceinline__ Damping damping_of(const Setup& setup, const State& wb, const State& wa, const Vec3& n, double vb, double va) {
    const pointwise::Gas<double> gas = setup.gas();
    double viscous = 0;
#if VISCOUS
    const State mean = {0.5 * (wb[0] + wa[0]), 0.5 * (wb[1] + wa[1]), 0.5 * (wb[2] + wa[2]), 0.5 * (wb[3] + wa[3]), 0.5 * (wb[4] + wa[4])};
    viscous = pointwise::spectral_radius_viscous(gas, setup.transport(), mean, n, 0.5 * (vb + va));
#endif
#if SCHEME == 2
    Block out = pointwise::roe_absolute(gas, wb, wa, n, setup.fix());
#pragma unroll
    for (int e = 0; e < 25; e++) out[e] *= 0.5;
#pragma unroll
    for (int k = 0; k < 5; k++) out[6 * k] += viscous;
    return out;
#else
    return 0.5 * setup.implicit_dissipation * (pointwise::spectral_radius(gas, wb, n) + pointwise::spectral_radius(gas, wa, n)) + viscous;
#endif
}
// to += factor damping.
__device__ __forceinline__ void add_damping(Block& to, double factor, const Damping& damping) {
#if SCHEME == 2
#pragma unroll
    for (int e = 0; e < 25; e++) to[e] += factor * damping[e];
#else
#pragma unroll
    for (int k = 0; k < 5; k++) to[6 * k] += factor * damping;
#endif
}
// tau (A(w, n) / 2 + sign damping): the coupling to the cell of state w across the face n, which points from the cell
// behind to the cell ahead.
__device__ __forceinline__ Block coupling(const Setup& setup, const State& w, const Vec3& n, double tau, double sign, const Damping& damping) {
    Block a = pointwise::flux_jacobian(setup.gas(), w, n);
#pragma unroll
    for (int e = 0; e < 25; e++) a[e] *= 0.5 * tau;
    add_damping(a, sign * tau, damping);
    return a;
}
// I + tau (A(w, n_ahead - n_behind) / 2 + both dampings): flux Jacobians are linear in the area.
__device__ __forceinline__ Block own_block(const Setup& setup, const State& w, const Vec3& behind, const Vec3& ahead, double tau, const Damping& db,
                                           const Damping& da) {
    const Vec3 n = {ahead[0] - behind[0], ahead[1] - behind[1], ahead[2] - behind[2]};
    Block b = pointwise::flux_jacobian(setup.gas(), w, n);
#pragma unroll
    for (int e = 0; e < 25; e++) b[e] = 0.5 * tau * b[e] + (e % 6 == 0 ? 1.0 : 0.0);
    add_damping(b, tau, db);
    add_damping(b, tau, da);
    return b;
}
__device__ __forceinline__ void add_boundary(Block& b, double tau, const double* __restrict__ jacobians, u64 faces, u32 face) {
#pragma unroll
    for (int e = 0; e < 25; e++) b[e] += tau * jacobians[e * faces + face];
}

// A thread's line.
struct Line {
    GridBlock b;
    u32 block, rows, count, line;   // rows of a line, lines of the block, its number
    bool scaled;                    // whether r is an update already rather than the residual
    u32 cell[3];
    u64 first;                      // place of its first cell
    bool live;
    __device__ Line(const GridBlock* blocks, const uint2* groups, u32 axis, u32 lane) {
        const uint2 group = groups[blockIdx.x];
        block = group.x & 0x7fffffffu, scaled = group.x >> 31, b = blocks[block];
        const u32 a = axis == 0 ? 1 : 0, c = axis == 2 ? 1 : 2;
        const u32 across = pick(b.count, a);
        rows = pick(b.count, axis), count = across * pick(b.count, c);
        live = group.y + lane < count;
        line = live ? group.y + lane : count - 1;
        const u32 x = line % across, y = line / across;
        cell[0] = axis == 0 ? 0 : x;
        cell[1] = axis == 0 ? x : axis == 1 ? 0 : y;
        cell[2] = axis == 2 ? 0 : y;
        first = b.offset + (u64)(cell[0] + 2) * b.stride[0] + (u64)(cell[1] + 2) * b.stride[1] + (u64)(cell[2] + 2) * b.stride[2];
    }
    __device__ u32 number(u32 axis, u32 row) const {
        const u32 i = axis == 0 ? row : cell[0], j = axis == 1 ? row : cell[1], k = axis == 2 ? row : cell[2];
        return b.first + i + b.count[0] * (j + b.count[1] * k);
    }
};

#if !CLOSED
// r goes from the residual or the update so far to the solution along `axis`, whose areas `area` begins with. `groups` {block,
// with the highest bit set where r is an update already; first line}; `factors` has room for 25 numbers a cell, `values` for 5.
extern "C" __global__ void __launch_bounds__(THREADS, 4)
lines(u64 total, u32 axis, const GridBlock* __restrict__ blocks, const uint2* __restrict__ groups, const u32* __restrict__ side_ptr,
      const u32* __restrict__ face_of, u64 faces, const double* __restrict__ jacobians, const double* __restrict__ w, const double* __restrict__ area,
      const double* __restrict__ taus, const double* __restrict__ volume, const Setup* __restrict__ numbers, double* r, double* factors, double* values,
      u32* bad) {
    extern __shared__ double memory[];
    const u32 lane = threadIdx.x % LINES, half = threadIdx.x / LINES;
    const Line line(blocks, groups, axis, lane);
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
    auto scratch = [&](u32 p, u32 e, u32 width) { return (u64)line.b.first * width + ((u64)(half ? n - 1 - p : p) * width + e) * line.count + line.line; };

    auto fetch_slot = [&](u32 p, u32 e) { return memory + (p % AHEAD * ROW + e) * THREADS + threadIdx.x; };
    auto fetch = [&](u32 p) {
        if (p < rows) {
            const u64 own = place((int)p), ahead = place((int)p + 1), face = face_ahead((int)p);
#pragma unroll
            for (int c = 0; c < 5; c++) {
                copy_async(fetch_slot(p, c), w + c * total + ahead);
                copy_async(fetch_slot(p, 9 + c), r + c * total + own);
            }
#pragma unroll
            for (int c = 0; c < 3; c++) copy_async(fetch_slot(p, 5 + c), area + c * total + face);
            copy_async(fetch_slot(p, 8), taus + own);
#if VISCOUS
            copy_async(fetch_slot(p, 14), volume + ahead);
#endif
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
        if (!line.scaled) {
#pragma unroll
            for (int c = 0; c < 5; c++) v[c] = -(tau * v[c]);
        }
        const Damping da = damping_of(setup, wo, wa, na, vo, va);
        Block b = own_block(setup, wo, nb, na, tau, db, da);
        if (p == 0) {
            if (end != NONE) add_boundary(b, tau, jacobians, faces, end);
            if (other_end != NONE) add_boundary(b, tau, jacobians, faces, other_end);
        } else {
            // The coupling to the cell behind is minus this.
            const Block a = coupling(setup, wb, nb, tau, 1.0, db);
#pragma unroll
            for (int k = 0; k < 5; k++) {
#pragma unroll
                for (int c = 0; c < 5; c++)
#pragma unroll
                    for (int s = 0; s < 5; s++) b[c * 5 + s] += a[k * 5 + s] * cp[c * 5 + k];
#pragma unroll
                for (int s = 0; s < 5; s++) v[s] += a[k * 5 + s] * fp[k];
            }
        }
        factor(b);
        solve(b, v);
        fp = v;
        cp = coupling(setup, wa, na, tau, -1.0, da);
#pragma unroll
        for (int c = 0; c < 5; c++) {
            State x = column_of(cp, c);
            solve(b, x);
#pragma unroll
            for (int s = 0; s < 5; s++) cp[c * 5 + s] = n > 1 ? x[s] : 0.0;
        }
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
            const State a = {meeting[(c * 5) * LINES], meeting[(c * 5 + 1) * LINES], meeting[(c * 5 + 2) * LINES], meeting[(c * 5 + 3) * LINES],
                             meeting[(c * 5 + 4) * LINES]};
            subtract(cp, a, x);
#pragma unroll
            for (int s = 0; s < 5; s++) m[c * 5 + s] = x[s];
        }
        const State g = {meeting[25 * LINES], meeting[26 * LINES], meeting[27 * LINES], meeting[28 * LINES], meeting[29 * LINES]};
        subtract(cp, g, fp);
        factor(m);
        solve(m, fp);
#pragma unroll
        for (int e = 0; e < 5; e++) meeting[(30 + e) * LINES] = fp[e];
    }
    __syncthreads();
    if (half) {
        const State x = {meeting[30 * LINES], meeting[31 * LINES], meeting[32 * LINES], meeting[33 * LINES], meeting[34 * LINES]};
        subtract(cp, x, fp);
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
#pragma unroll
        for (int c = 0; c < 5; c++) {
            fine = fine && fabs(fp[c]) <= 1.7976931348623157e308;
            if (line.live) r[c * total + at] = fp[c];
        }
    };
    for (u32 q = 0; q < BEHIND - 1; q++) back(q);
    if (rows > 0) give(rows - 1);
    for (u32 q = 0; q + 1 < rows; q++) {
        back(q + BEHIND - 1);
        copy_wait<BEHIND - 1>();
        State v;
#pragma unroll
        for (int e = 0; e < 5; e++) v[e] = *back_slot(q, 25 + e);
#pragma unroll
        for (int k = 0; k < 5; k++)
#pragma unroll
            for (int s = 0; s < 5; s++) v[s] -= *back_slot(q, k * 5 + s) * fp[k];
        fp = v;
        give(rows - 2 - q);
    }
    if (!fine && line.live) atomicMin(bad, line.number(axis, 0));
}
#else
// Lines that close on themselves, a thread a line: the last cell's unknowns are carried along as a second right-hand side of
// five columns, x = y - Z x_last. `loops` has room for 25 more numbers a cell.
extern "C" __global__ void __launch_bounds__(LINES)
closed_lines(u64 total, u32 axis, const GridBlock* __restrict__ blocks, const uint2* __restrict__ groups, const double* __restrict__ w,
             const double* __restrict__ area, const double* __restrict__ taus, const double* __restrict__ volume, const Setup* __restrict__ numbers,
             double* r, double* factors, double* values, double* loops, u32* bad) {
    const Line line(blocks, groups, axis, threadIdx.x);
    if (!line.live) return;
    const Setup setup = *numbers;
    const u32 n = line.rows;
    const u64 step = pick(line.b.stride, axis);
    auto scratch = [&](u32 p, u32 e, u32 width) { return (u64)line.b.first * width + ((u64)p * width + e) * line.count + line.line; };
    Block cp;
    State fp = {0, 0, 0, 0, 0};
#pragma unroll
    for (int e = 0; e < 25; e++) cp[e] = 0;
    State wb = state_at(w, total, line.first - step), wo = state_at(w, total, line.first);
    Vec3 nb = area_at(area, total, line.first);
    double vb = 0, vo = 0;
#if VISCOUS
    vb = volume[line.first - step], vo = volume[line.first];
#endif
    Damping db = damping_of(setup, wb, wo, nb, vb, vo);
    State last = {0, 0, 0, 0, 0};
#pragma unroll 1
    for (u32 p = 0; p < n; p++) {
        const u64 at = line.first + p * step;
        const State wa = state_at(w, total, at + step);
        const Vec3 na = area_at(area, total, at + step);
        const double tau = taus[at];
        double va = 0;
#if VISCOUS
        va = volume[at + step];
#endif
        State v = state_at(r, total, at);
        if (!line.scaled) {
#pragma unroll
            for (int c = 0; c < 5; c++) v[c] = -(tau * v[c]);
        }
        const Damping da = damping_of(setup, wo, wa, na, vo, va);
        Block b = own_block(setup, wo, nb, na, tau, db, da);
        // Minus the coupling behind, the coupling ahead.
        const Block a = coupling(setup, wb, nb, tau, 1.0, db);
        const Block ahead = coupling(setup, wa, na, tau, -1.0, da);
        if (p + 1 < n) {
            if (p > 0) {
#pragma unroll
                for (int c = 0; c < 5; c++) {
                    State x = column_of(b, c);
                    const State y = column_of(cp, c);
                    subtract(a, State{-y[0], -y[1], -y[2], -y[3], -y[4]}, x);
#pragma unroll
                    for (int s = 0; s < 5; s++) b[c * 5 + s] = x[s];
                }
                subtract(a, State{-fp[0], -fp[1], -fp[2], -fp[3], -fp[4]}, v);
            }
            factor(b);
            solve(b, v);
            fp = v;
#pragma unroll
            for (int e = 0; e < 5; e++) values[scratch(p, e, 5)] = v[e];
#pragma unroll
            for (int c = 0; c < 5; c++) {
                // Column c of what couples to the last cell.
                State z = {0, 0, 0, 0, 0};
                if (p == 0) {
                    z = column_of(a, c);
                    for (int s = 0; s < 5; s++) z[s] = -z[s];
                } else {
                    const State before = {loops[scratch(p - 1, c * 5, 25)], loops[scratch(p - 1, c * 5 + 1, 25)], loops[scratch(p - 1, c * 5 + 2, 25)],
                                          loops[scratch(p - 1, c * 5 + 3, 25)], loops[scratch(p - 1, c * 5 + 4, 25)]};
                    subtract(a, State{-before[0], -before[1], -before[2], -before[3], -before[4]}, z);
                }
                State x = column_of(ahead, c);
                if (p + 2 == n) {
                    for (int s = 0; s < 5; s++) z[s] += x[s];
                } else {
                    solve(b, x);
#pragma unroll
                    for (int s = 0; s < 5; s++) cp[c * 5 + s] = x[s], factors[scratch(p, c * 5 + s, 25)] = x[s];
                }
                solve(b, z);
#pragma unroll
                for (int s = 0; s < 5; s++) loops[scratch(p, c * 5 + s, 25)] = z[s];
            }
        } else {
            // Upwards through the open rows: y and Z whole; fp is y of the row above.
            if (n > 1) {
#pragma unroll 1
                for (int q = (int)n - 3; q >= 0; q--) {
                    State y = {values[scratch(q, 0, 5)], values[scratch(q, 1, 5)], values[scratch(q, 2, 5)], values[scratch(q, 3, 5)], values[scratch(q, 4, 5)]};
                    Block c;
#pragma unroll
                    for (int e = 0; e < 25; e++) c[e] = factors[scratch(q, e, 25)];
                    subtract(c, fp, y);
                    fp = y;
#pragma unroll
                    for (int e = 0; e < 5; e++) values[scratch(q, e, 5)] = y[e];
#pragma unroll
                    for (int k = 0; k < 5; k++) {
                        State z, above;
#pragma unroll
                        for (int s = 0; s < 5; s++) z[s] = loops[scratch(q, k * 5 + s, 25)], above[s] = loops[scratch(q + 1, k * 5 + s, 25)];
                        subtract(c, above, z);
#pragma unroll
                        for (int s = 0; s < 5; s++) loops[scratch(q, k * 5 + s, 25)] = z[s];
                    }
                }
                // The last row: b x - a x_before + ahead x_first = v.
                const u32 before = n - 2;
#pragma unroll
                for (int c = 0; c < 5; c++) {
                    State x = column_of(b, c), z, z0;
#pragma unroll
                    for (int s = 0; s < 5; s++) z[s] = -loops[scratch(before, c * 5 + s, 25)], z0[s] = loops[scratch(0, c * 5 + s, 25)];
                    subtract(a, z, x);
                    subtract(ahead, z0, x);
#pragma unroll
                    for (int s = 0; s < 5; s++) b[c * 5 + s] = x[s];
                }
                State y, y0;
#pragma unroll
                for (int s = 0; s < 5; s++) y[s] = -values[scratch(before, s, 5)], y0[s] = values[scratch(0, s, 5)];
                subtract(a, y, v);
                subtract(ahead, y0, v);
            } else {
#pragma unroll
                for (int e = 0; e < 25; e++) b[e] += ahead[e] - a[e];
            }
            factor(b);
            solve(b, v);
            last = v;
        }
        wb = wo, wo = wa, nb = na, db = da, vb = vo, vo = va;
    }
    bool fine = true;
#pragma unroll 1
    for (u32 p = 0; p < n; p++) {
        State x = last;
        if (p + 1 < n) {
#pragma unroll
            for (int s = 0; s < 5; s++) x[s] = values[scratch(p, s, 5)];
#pragma unroll
            for (int k = 0; k < 5; k++)
#pragma unroll
                for (int s = 0; s < 5; s++) x[s] -= loops[scratch(p, k * 5 + s, 25)] * last[k];
        }
#pragma unroll
        for (int c = 0; c < 5; c++) {
            fine = fine && fabs(x[c]) <= 1.7976931348623157e308;
            r[c * total + line.first + p * step] = x[c];
        }
    }
    if (!fine) atomicMin(bad, line.number(axis, 0));
}
#endif
