// k and omega on structured grids: terms of cells, residual, the numbers of its matrix, derivatives along a direction.
// Twins: structured/turbulence/lanes.rs, k_omega.rs, along.rs. Behind real/along.cuh.
//
// Constant: VARIANT the model, as KOmegaVariant counts.

// What the matrix takes of sources and changes in time, numbers a cell.
#define SLOPES 4
// Sources of a cell and their derivatives.
#define SOURCES 5

typedef pointwise::Array<Along, 2> PairAlong;

template <>
__device__ __forceinline__ Along Numbers<Along>::number(const double* values, const double* slopes, u64 at) {
    return {values[at], slopes[at]};
}
template <class T> __device__ __forceinline__ pointwise::Gas<T> gas_of(const Setup& setup) { return {T(setup.gamma)}; }
template <class T> __device__ __forceinline__ T molecular_of(const Setup& setup, const pointwise::Array<T, 5>& w) {
    const auto t = setup.transport();
    const pointwise::Transport<T> transport = {T(t.scale), T(t.prandtl), t.law, T(t.sutherland)};
    return transport.scale * pointwise::viscosity(transport, pointwise::temperature(gas_of<T>(setup), w));
}
template <class T> __device__ __forceinline__ pointwise::KOmega<T> model_of(const Model& model) {
    return {static_cast<pointwise::KOmegaVariant>(VARIANT), T(model.ambient_k), T(model.ambient_omega)};
}

// omega at the wall next to a cell at this distance, `one` its ghost.
template <class T>
__device__ __forceinline__ T wall_omega(const Numbers<T>& f, u64 at, u64 one, double distance) {
    const auto own = f.state(at), ghost = f.state(one);
    pointwise::Array<T, 5> mean;
#pragma unroll
    for (int c = 0; c < 5; c++) mean[c] = T(0.5) * (own[c] + ghost[c]);
    return pointwise::k_omega_wall(model_of<T>(*f.f.model), molecular_of(*f.f.setup, mean) / mean[0], T(distance));
}
// Values of both ghosts beyond a wall without slip, from those of two cells.
template <class T>
__device__ __forceinline__ pointwise::Array<T, 2> beyond_wall(const Numbers<T>& f, int v, u64 at, u64 inner, u64 one,
                                                              double distance) {
    if (v == 0) return {-f.value(0, at), -f.value(0, inner)};
    const T twice = T(2.0) * wall_omega(f, at, one, distance);
    return {twice - f.value(1, at), twice - f.value(1, inner)};
}

template <class T> using Terms = pointwise::Array<T, 10>;
// As k_omega_terms has them, of a cell.
template <class T>
__device__ __forceinline__ Terms<T> terms_of(const Numbers<T>& numbers, const Steps& steps, u64 at, double distance,
                                             double share) {
    const Field& f = numbers.f;
    pointwise::Array<pointwise::Array<T, 3>, 5> gradients = {};
    const double scale = 0.25 / f.volume[at];
#pragma unroll
    for (u32 axis = 0; axis < 3; axis++) {
        if (!steps.has(axis)) continue;
        const u32 s = steps.stride[axis];
        const Vec3 areas = f.areas(axis, s, at);
#pragma unroll
        for (int i = 0; i < 5; i++) {
            T change(0.0);
            if (i < 3) {
                const u64 from = (1 + i) * f.total + at;
                change = numbers.number(f.w, numbers.w_along, from + s);
                change -= numbers.number(f.w, numbers.w_along, from - s);
            } else {
                change = numbers.value(i - 3, at + s) - numbers.value(i - 3, at - s);
            }
#pragma unroll
            for (int k = 0; k < 3; k++) gradients[i][k] += T(scale * areas[k]) * change;
        }
    }
    const auto w = numbers.state(at);
    const pointwise::Array<T, 2> gas = {w[0], molecular_of(*f.setup, w)};
    const pointwise::Array<T, 2> turbulence = {numbers.value(0, at), numbers.value(1, at)};
    return pointwise::k_omega_terms(model_of<T>(*f.model), gas, T(distance), T(share), turbulence, gradients);
}
// Eddy viscosities, what k and omega diffuse by, sources and their derivatives [SOURCES].
extern "C" __global__ void __launch_bounds__(CHUNK)
find_terms(FindTerms) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Numbers<double> numbers = {FIELD, nullptr, nullptr, nullptr};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const double share = production ? production[cell.number] : 1.0;
    const auto found = terms_of(numbers, steps, cell.at, distance[cell.number], share);
    eddies[cell.at] = found[0];
#pragma unroll
    for (int v = 0; v < 2; v++) diffusing[v * total + cell.at] = found[1 + v];
#pragma unroll
    for (int c = 0; c < SOURCES; c++) terms[c * total + cell.at] = found[3 + c];
}
// Derivatives of the same, of sources those of k and omega; the eddy viscosity is that of a step h.
extern "C" __global__ void __launch_bounds__(CHUNK)
find_terms_along(FindTermsAlong) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Numbers<Along> numbers = {FIELD, w_along, values_along, nullptr};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const double share = production ? production[cell.number] : 1.0;
    const auto found = terms_of(numbers, steps, cell.at, distance[cell.number], share);
    eddies[cell.at] = found[0].v + h * found[0].d;
#pragma unroll
    for (int v = 0; v < 2; v++) {
        diffusing_along[v * total + cell.at] = found[1 + v].d, terms_along[v * total + cell.at] = found[3 + v].d;
    }
}

__device__ __forceinline__ Link link_of(const Field& f, u32 kind, u64 at, u64 beyond, const Vec3& n) {
    Link link = {0, {0, 0}};
    if (kind == SLIP) return link;
    const State a = f.state(at);
    if (kind == WALL) {
        // Half a cell away.
        link.spread[0] = link.spread[1] = molecular_of(*f.setup, a) * (2.0 * dot(n, n) / f.volume[at]);
        return link;
    }
    const State b = f.state(beyond);
#pragma unroll
    for (int c = 0; c < 3; c++) link.passing += 0.5 * (a[0] * a[1 + c] + b[0] * b[1 + c]) * n[c];
    if (kind == OPEN) return link;
    const double across = dot(n, n) / (0.5 * (f.volume[at] + f.volume[beyond]));
#pragma unroll
    for (int v = 0; v < 2; v++)
        link.spread[v] = 0.5 * (f.aux[v * f.total + at] + f.aux[v * f.total + beyond]) * across;
    return link;
}

// grad phi . n of a cell's changes along the axes other than this one.
template <class T>
__device__ __forceinline__ T along(const Numbers<T>& numbers, const Steps& steps, u32 axis, int v, u64 at,
                                   const Vec3& n) {
    T sum(0.0);
#pragma unroll
    for (u32 other = 0; other < 3; other++) {
        if (other == axis || !steps.has(other)) continue;
        const u32 s = steps.stride[other];
        sum += T(dot(numbers.f.areas(other, s, at), n)) * (numbers.value(v, at + s) - numbers.value(v, at - s));
    }
    return T(0.25 / numbers.f.volume[at]) * sum;
}
// What leaves through a face between cells.
template <class T>
__device__ __forceinline__ T leaves_between(const Numbers<T>& numbers, const Steps& steps, u32 axis, int v, u64 at,
                                            u64 beyond, const Vec3& n, const T& mass) {
    const Field& f = numbers.f;
    const double square = dot(n, n), across = square / (0.5 * (f.volume[at] + f.volume[beyond]));
    const T own = numbers.value(v, at), other = numbers.value(v, beyond), zero(0.0);
    T leaves = pointwise::real_min(mass, zero) * (other - own);
    // Nothing diffuses through faces without area.
    if (square > 0) {
        T through = T(across) * (other - own);
        if (f.model->full != 0) {
            const T skew = T(0.5) * (along(numbers, steps, axis, v, at, n) + along(numbers, steps, axis, v, beyond, n));
            const pointwise::Array<T, 2> ends = {own, other};
            through += pointwise::skew_of_positive(T(across), ends, skew);
        }
        leaves -= T(0.5) * (numbers.aux(v, at) + numbers.aux(v, beyond)) * through;
    }
    if (f.model->second_order != 0) {
        const T behind = numbers.value(v, 2 * at - beyond), far = numbers.value(v, 2 * beyond - at);
        const T kappa(f.model->kappa), one(1.0);
        const T left = pointwise::extrapolate(own, other, T(0.5) * (other - behind), kappa, one);
        const T right = pointwise::extrapolate(other, own, T(-0.5) * (far - own), kappa, one);
        leaves += pointwise::real_max(mass, zero) * (left - own);
        leaves += pointwise::real_min(mass, zero) * (right - other);
    }
    return leaves;
}
// What leaves a cell through its faces, of both unknowns.
template <class T>
__device__ __forceinline__ pointwise::Array<T, 2> leaving(const Numbers<T>& numbers, const GridBlock& block,
                                                          const Steps& steps, const GridCell& cell, const Sides& sides,
                                                          const u32* kinds, double distance) {
    const Field& f = numbers.f;
    const u64 at = cell.at;
    pointwise::Array<T, 2> sums = {T(0.0), T(0.0)};
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        const u32 axis = side / 2, high = side % 2;
        const u32 step = pick(steps.stride, axis), end = high ? pick(block.count, axis) - 1 : 0;
        u32 kind = INSIDE;
        if (pick(cell.index, axis) == end) {
            const u32 face = sides.face(cell.block, block.count, axis, high, cell.index);
            if (face != NONE) kind = kinds[face];
        }
        // As on the host the boundary counts along axes that the grid lacks, too.
        if (kind == SLIP || (kind == INSIDE && !steps.has(axis))) continue;
        const u64 beyond = high ? at + step : at - step;
        const Vec3 n = f.outwards(axis, high, at, beyond);
        const auto a = numbers.state(at);
        if (kind == WALL) {
            const T spread = molecular_of(*f.setup, a) * T(2.0 * dot(n, n) / f.volume[at]);
            sums[0] += spread * numbers.value(0, at);
            sums[1] += spread * (numbers.value(1, at) - wall_omega(numbers, at, beyond, distance));
            continue;
        }
        const auto b = numbers.state(beyond);
        T mass(0.0);
#pragma unroll
        for (int c = 0; c < 3; c++) mass += T(0.5 * n[c]) * (a[0] * a[1 + c] + b[0] * b[1 + c]);
#pragma unroll
        for (int v = 0; v < 2; v++) {
            if (kind == OPEN) sums[v] += pointwise::flux_entering(mass, numbers.value(v, at), T(f.model->inflow[v]));
            else sums[v] += leaves_between(numbers, steps, axis, v, at, beyond, n, mass);
        }
    }
    return sums;
}

// What leaves each cell less what its sources bring, with the change in time in unsteady runs, and what the matrix
// takes of sources and change.
extern "C" __global__ void __launch_bounds__(CHUNK)
residual(KOmegaResidual) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Numbers<double> numbers = {FIELD, nullptr, nullptr, nullptr};
    const Sides sides = {side_ptr, face_of};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const u64 at = cell.at;
    Pair sums = leaving(numbers, blocks[cell.block], steps, cell, sides, kinds, distance[cell.number]);
    const double size = volume[at];
    double rate = 0;
    const Pair factors = {last, before};
    Pair densities = {1, 1};
    if (values_last) {
        densities = {w_last[at], w_before[at]};
        rate = pointwise::rate_slope_of_carried(factors, densities);
    }
#pragma unroll
    for (int v = 0; v < 2; v++) {
        sums[v] -= size * terms[v * total + at];
        if (values_last) {
            const Pair earlier = {values_last[v * total + at], values_before[v * total + at]};
            sums[v] += size * pointwise::rate_of_carried(factors, densities, values[v * total + at], earlier);
        }
        r[v * total + at] = sums[v];
    }
    const Vec3 by = {terms[2 * total + at], terms[3 * total + at], terms[4 * total + at]};
    const auto slope = pointwise::k_omega_slope(by);
    const double content = size * fmax(values[at], 2.2250738585072014e-308);
    slopes[at] = slope[0][0] + rate, slopes[total + at] = slope[0][1], slopes[2 * total + at] = slope[1][1] + rate;
    slopes[3 * total + at] = pointwise::k_resolving(-sums[0] / content, by[0]);
}
// The derivative of that along a direction.
extern "C" __global__ void __launch_bounds__(CHUNK)
derivative(Derivative) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Numbers<Along> numbers = {FIELD, w_along, values_along, aux_along};
    const Sides sides = {side_ptr, face_of};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const u64 at = cell.at;
    const PairAlong sums = leaving(numbers, blocks[cell.block], steps, cell, sides, kinds, distance[cell.number]);
    double rate = 0;
    if (w_last) {
        const Pair factors = {last, before}, densities = {w_last[at], w_before[at]};
        rate = pointwise::rate_slope_of_carried(factors, densities);
    }
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const u64 own = v * total + at;
        r[own] = sums[v].d + volume[at] * (rate * values_along[own] - terms_along[own]);
    }
}

// A value less its update.
__device__ __forceinline__ double updated(const Model&, int, double value, double x) {
    return pointwise::k_omega_kept(value, x);
}
// Whether a value is in its range.
__device__ __forceinline__ bool is_good(int v, double value) {
    return (v == 0 ? value >= 0 : value > 0) && value <= 1.7976931348623157e308;
}
// The slope of a cell's residual by its unknowns, column-major, over its volume, and what V/dt has at least over it.
__device__ __forceinline__ double slope_of(const double* slopes, u64 total, u64 at, double (&block)[4]) {
    block[0] = slopes[at], block[1] = 0, block[2] = slopes[total + at], block[3] = slopes[2 * total + at];
    return slopes[3 * total + at];
}
