// k and omega on structured grids: terms of cells, residual, the numbers of its matrix, derivatives along a direction.
// Twins: structured/turbulence/lanes.rs, k_omega.rs, along.rs. Behind real/along.cuh.
//
// Constants: VARIANT the model, as KOmegaVariant counts; HYBRID as hybrid.cuh has it.

// What the matrix takes of sources and changes in time, numbers a cell.
#define SLOPES 4
// Sources of a cell and their derivatives.
#define SOURCES 5

typedef pointwise::Array<Along, 2> PairAlong;

template <>
__device__ __forceinline__ Along Numbers<Along>::number(const double* values, const double* slopes, u64 at) {
    return {values[at], slopes[at]};
}
template <class T> __device__ __forceinline__ T molecular_of(const Setup& setup, const pointwise::Array<T, 5>& w) {
    const pointwise::Transport<T> transport = transport_of<T>(setup);
    return transport.scale * pointwise::viscosity(transport, pointwise::temperature(gas_of<T>(setup), w));
}
template <class T> __device__ __forceinline__ pointwise::KOmega<T> model_of(const Model& model) {
    return {static_cast<pointwise::KOmegaVariant>(VARIANT), T(model.ambient_k), T(model.ambient_omega),
            T(model.roughness)};
}

// A wall with a law, which is the model's own.
template <class T>
__device__ __forceinline__ pointwise::LawPlace<T> place_with_law(const LawNode* law) {
    auto place = place_of<T>(law->place);
    place.law = static_cast<pointwise::WallLaw>(1 + VARIANT);
    return place;
}

// k and omega at the wall next to a cell at this distance, `one` its ghost; `law` where a law of the wall holds.
template <class T>
__device__ __forceinline__ pointwise::Array<T, 2> at_wall(const Numbers<T>& f, u64 at, u64 one, double distance,
                                                          const LawNode* law) {
    const auto own = f.state(at);
    const auto model = model_of<T>(*f.f.model);
    if (law) {
        const Setup& setup = *f.f.setup;
        const auto found = pointwise::law_friction(gas_of<T>(setup), transport_of<T>(setup), place_with_law<T>(law),
                                                   own);
        const T near(distance);
        return pointwise::k_omega_law_of_cells(model, f.f.model->blended != 0, found[0], found[1] * near / found[0],
                                               near);
    }
    const auto ghost = f.state(one);
    pointwise::Array<T, 5> mean;
#pragma unroll
    for (int c = 0; c < 5; c++) mean[c] = T(0.5) * (own[c] + ghost[c]);
    return {T(0.0), pointwise::k_omega_wall(model, molecular_of(*f.f.setup, mean) / mean[0], T(distance))};
}
// Values of both ghosts beyond a wall without slip, from those of two cells.
template <class T>
__device__ __forceinline__ void beyond_wall(const Numbers<T>& f, u64 at, u64 inner, u64 one, double distance,
                                            const LawNode* law, pointwise::Array<T, 2> (&ghosts)[2]) {
    const auto wall = at_wall(f, at, one, distance, law);
#pragma unroll
    for (int v = 0; v < 2; v++) {
        const T twice = T(2.0) * wall[v];
        ghosts[v] = {twice - f.value(v, at), twice - f.value(v, inner)};
    }
}

// Lengths of the grid about a cell, where there is a hybrid.
struct Lengths {
    u32 number;
    const double* lengths;
    const u32* corner_ptr;
    const double* arms;
#if HYBRID
    __device__ Vec3 at(const Tensor& velocity) const {
        return grid_lengths(number, lengths, corner_ptr, arms, velocity);
    }
#endif
};
__device__ __forceinline__ double plain(double value) { return value; }
__device__ __forceinline__ double plain(const Along& value) { return value.v; }
template <class T> using Terms = pointwise::Array<T, 10>;
// As k_omega_terms has them, of a cell.
template <class T>
__device__ __forceinline__ Terms<T> terms_of(const Numbers<T>& numbers, const Steps& steps, u64 at, double distance,
                                             double share, const LawNode* law, const Lengths& of_grid) {
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
    if (law) {
        pointwise::Array<pointwise::Array<T, 3>, 3> velocity = {gradients[0], gradients[1], gradients[2]};
        velocity = pointwise::law_gradient(gas_of<T>(*f.setup), transport_of<T>(*f.setup), place_with_law<T>(law), w,
                                           velocity);
        for (int i = 0; i < 3; i++) gradients[i] = velocity[i];
    }
    const pointwise::Array<T, 2> gas = {w[0], molecular_of(*f.setup, w)};
    const pointwise::Array<T, 2> turbulence = {numbers.value(0, at), numbers.value(1, at)};
#if HYBRID
    Tensor velocity;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) velocity[i][k] = plain(gradients[i][k]);
    const Vec3 found = of_grid.at(velocity);
    const pointwise::Array<T, 3> lengths = {T(found[0]), T(found[1]), T(found[2])};
    return pointwise::k_omega_terms_of_hybrid(model_of<T>(*f.model), HYBRID_FORM, gas, T(distance), T(share),
                                              turbulence, gradients, lengths)._0;
#else
    return pointwise::k_omega_terms(model_of<T>(*f.model), gas, T(distance), T(share), turbulence, gradients);
#endif
}
// Eddy viscosities, what k and omega diffuse by, sources and their derivatives [SOURCES].
extern "C" __global__ void __launch_bounds__(CHUNK)
find_terms(FindTerms) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Numbers<double> numbers = {FIELD, nullptr, nullptr, nullptr};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const double share = near[cell.number].y;
    const LawNode* const law = law_beside(blocks[cell.block], steps, cell, {side_table, side_table}, laws);
    const auto found = terms_of(numbers, steps, cell.at, near[cell.number].x, share, law,
                                {cell.number, lengths, corner_ptr, arms});
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
    const double share = near[cell.number].y;
    const LawNode* const law = law_beside(blocks[cell.block], steps, cell, {side_table, side_table}, laws);
    const auto found = terms_of(numbers, steps, cell.at, near[cell.number].x, share, law,
                                {cell.number, lengths, corner_ptr, arms});
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
        const double near = 2.0 * dot(n, n) / f.volume[at], own = molecular_of(*f.setup, a);
#pragma unroll
        for (int v = 0; v < 2; v++) link.spread[v] = (LAWS ? f.aux[v * f.total + at] : own) * near;
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
                                                          const u32* kinds, const LawNode* laws, double distance) {
    const Field& f = numbers.f;
    const u64 at = cell.at;
    pointwise::Array<T, 2> sums = {T(0.0), T(0.0)};
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        const u32 axis = side / 2, high = side % 2;
        const u32 step = pick(steps.stride, axis), end = high ? pick(block.count, axis) - 1 : 0;
        u32 kind = INSIDE, face = NONE;
        if (pick(cell.index, axis) == end) {
            face = sides.face(cell.block, block.count, axis, high, cell.index);
            if (face != NONE) kind = kinds[face];
        }
        // As on the host the boundary counts along axes that the grid lacks, too.
        if (kind == SLIP || (kind == INSIDE && !steps.has(axis))) continue;
        const u64 beyond = high ? at + step : at - step;
        const Vec3 n = f.outwards(axis, high, at, beyond);
        const auto a = numbers.state(at);
        if (kind == WALL) {
            const T near(2.0 * dot(n, n) / f.volume[at]), own = molecular_of(*f.setup, a);
            const auto wall = at_wall(numbers, at, beyond, distance, has_law(laws, face) ? laws + face : nullptr);
#pragma unroll
            for (int v = 0; v < 2; v++) {
                const T spread = (LAWS ? numbers.aux(v, at) : own) * near;
                sums[v] += spread * (numbers.value(v, at) - wall[v]);
            }
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
    const Sides sides = {side_table, side_table};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const u64 at = cell.at;
    Pair sums = leaving(numbers, blocks[cell.block], steps, cell, sides, kinds, laws, near[cell.number].x);
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
    const Sides sides = {side_table, side_table};
    const Steps steps(blocks[cell.block], actives[cell.block]);
    const u64 at = cell.at;
    const PairAlong sums = leaving(numbers, blocks[cell.block], steps, cell, sides, kinds, laws, near[cell.number].x);
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
// Whether the update was cut.
__device__ __forceinline__ bool is_cut(double value, double x, double) { return x > pointwise::k_omega_uncut(value); }
// Whether a value is in its range.
__device__ __forceinline__ bool is_good(int v, double value) {
    return (v == 0 ? value >= 0 : value > 0) && value <= 1.7976931348623157e308;
}
// The slope of a cell's residual by its unknowns, column-major, over its volume, and what V/dt has at least over it.
__device__ __forceinline__ double slope_of(const double* slopes, u64 total, u64 at, double (&block)[4]) {
    block[0] = slopes[at], block[1] = 0, block[2] = slopes[total + at], block[3] = slopes[2 * total + at];
    return slopes[3 * total + at];
}
