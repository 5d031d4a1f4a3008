// What every turbulence model on structured grids needs: ghosts, norms, updates, the matrix. Behind the model.
// Twins: structured/turbulence/mod.rs and ghosts.rs, structured/newton/beside.rs.
//
// Constant: STORED 8 or 4 bytes of an off-diagonal value. Vectors are [rows][NB] in the order of the matrix.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// Where a patch lies, as boundary.cu has it.
struct Side {
    u32 axis, high, step, deep;
};
// Places of the two cells of a column inside, and of its two ghosts.
struct Column {
    u64 at, inner, one, two;
    __device__ Column(const Side& side, u64 at) : at(at) {
        const u64 s = side.step;
        inner = side.deep ? (side.high ? at - s : at + s) : at;
        one = side.high ? at + s : at - s, two = side.high ? at + 2 * s : at - 2 * s;
    }
};
// Values of the two ghosts of a column; `height` is the distance of its cell from the wall, where the model takes
// it, `law` where a law of the wall holds.
template <class T>
__device__ __forceinline__ void ghosts_of(const Numbers<T>& numbers, const Column& column, const Side& side,
                                          const Condition& condition, double height, const LawNode* law,
                                          pointwise::Array<T, 2> (&ghosts)[NB]) {
    const Field& f = numbers.f;
    const u64 at = column.at;
    const auto kind = pointwise::condition_class(condition);
    bool leaves = true;
    if (kind == pointwise::ConditionClass::Open) {
        const Vec3 area_up = area_at(f.area + 3 * side.axis * f.total, f.total, side.high ? column.one : at);
        const State a = f.state(at), b = f.state(column.one);
        double through = 0;
#pragma unroll
        for (int c = 0; c < 3; c++) through += 0.5 * (a[1 + c] + b[1 + c]) * area_up[c];
        leaves = side.high ? through >= 0 : through <= 0;
    }
    if (kind == pointwise::ConditionClass::NoSlip) {
        beyond_wall(numbers, at, column.inner, column.one, height, law, ghosts);
        return;
    }
#pragma unroll
    for (int v = 0; v < NB; v++) {
        const T value = leaves ? numbers.value(v, at) : T(f.model->inflow[v]);
        if (kind == pointwise::ConditionClass::Slip) ghosts[v] = {value, numbers.value(v, column.inner)};
        else ghosts[v] = {value, value};
    }
}
// A thread a column {cell, patch}; columns of one launch do not read each other's ghosts.
extern "C" __global__ void __launch_bounds__(128)
fill_values(FillValues) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const Side side = sides[columns[n].y];
    const Column column(side, columns[n].x);
    const Numbers<double> numbers = {FIELD, nullptr, nullptr, nullptr};
    Pair ghosts[NB];
    ghosts_of(numbers, column, side, conditions[columns[n].y], heights ? heights[n] : 0.0,
              has_law(laws, n) ? laws + n : nullptr, ghosts);
#pragma unroll
    for (int v = 0; v < NB; v++) to[v * total + column.one] = ghosts[v][0], to[v * total + column.two] = ghosts[v][1];
}

// What an unknown and its residual are measured by in a cell. Twin: GridTurbulence::weight.
__device__ __forceinline__ double weight_of(const Model& model, int v, double value) {
    return fabs(value) + (v == 0 ? model.inflow[0] : 0.0);
}

// Partial sums of (R / weight)^2 / V, NB a thread block, and the first cell with a residual or a value that is none.
extern "C" __global__ void __launch_bounds__(CHUNK)
norms(Norms) {
    double sum[NB] = {};
    for (u32 chunk = blockIdx.x; chunk < chunk_count; chunk += gridDim.x) {
        const GridCell cell = grid_cell(blocks, chunks, chunk);
        bool bad = false;
        if (cell.inside) {
            const double inverse = 1.0 / volume[cell.at];
#pragma unroll
            for (int v = 0; v < NB; v++) {
                const double own = r[v * total + cell.at], value = values[v * total + cell.at];
                const double measured = own / weight_of(*model, v, value);
                sum[v] += measured * measured * inverse;
                bad = bad || !is_good(v, value) || !(fabs(own) <= 1.7976931348623157e308);
            }
        }
        tell_first(bad, cell.number, first_bad);
    }
    block_sums(sum);
    if (threadIdx.x == 0)
        for (int v = 0; v < NB; v++) partials[blockIdx.x * NB + v] = sum[v];
}

// Takes the update in r; cells whose update was cut, and the first left without a value.
extern "C" __global__ void __launch_bounds__(CHUNK)
update(Update) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    bool cut = false, bad = false;
    if (cell.inside) {
#pragma unroll
        for (int v = 0; v < NB; v++) {
            const u64 at = v * total + cell.at;
            const double value = values[at], x = r[at], made = updated(*model, v, value, x);
            cut = cut || is_cut(value, x, made), bad = bad || !is_good(v, made);
            values[at] = made;
        }
    }
    tell_first(bad, cell.number, first_bad);
    const u32 count = __popc(__ballot_sync(0xffffffffu, cut));
    if (threadIdx.x % 32 == 0 && count) atomicAdd(limited, count);
}

// Subtracts what a quadratic constitutive relation adds to viscous fluxes from the sums of fluxes out of each cell;
// `relation` fw of QCR2020, none of QCR2000. Twin: stress.rs.
extern "C" __global__ void __launch_bounds__(CHUNK)
add_quadratic(AddQuadratic) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const Field f = FIELD;
    const GridBlock& block = blocks[cell.block];
    const Steps steps(block, actives[cell.block]);
    const Sides sides = {side_table, side_table};
    const auto sum = quadratic_flux(Velocities{f, block, steps, cell, sides}, cell.at, eddies, relation,
                                    f.model->full != 0);
#pragma unroll
    for (int c = 1; c < 5; c++) r[c * total + cell.at] -= sum[c];
}

// Between arrays of cells and vectors.
extern "C" __global__ void __launch_bounds__(CHUNK)
gather(Gather) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
#pragma unroll
    for (int v = 0; v < NB; v++) to[(u64)row_of[cell.number] * NB + v] = from[v * total + cell.at];
}
extern "C" __global__ void __launch_bounds__(CHUNK)
scatter(Scatter) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
#pragma unroll
    for (int v = 0; v < NB; v++) to[v * total + cell.at] = from[(u64)row_of[cell.number] * NB + v];
}

// The matrix: for each unknown an M-matrix of first-order advection and the differences across faces, with slopes of
// sources and V/dt. A thread a row; `links` as newton.cu has them.
extern "C" __global__ void __launch_bounds__(128)
assemble_rows(AssembleRows) {
    const u32 row = blockIdx.x * 128 + threadIdx.x;
    if (row >= rows) return;
    const Field f = FIELD;
    const uint2 place = places[row];
    const Steps steps(blocks[place.y], actives[place.y]);
    const u64 at = place.x;
    for (u64 e = (u64)row_ptr[row] * (NB * NB); e < (u64)row_ptr[row + 1] * (NB * NB); e++) off[e] = 0;
    double sum[NB] = {}, speed = 0;
#pragma unroll 1
    for (u32 side = 0; side < 6; side++) {
        const u32 axis = side / 2, high = side % 2;
        if (!steps.has(axis)) continue;
        const u32 step = pick(steps.stride, axis), found = links[(u64)side * rows + row];
        const u64 beyond = high ? at + step : at - step;
        // A cell next to itself has no entry.
        const bool boundary = found != NONE && found >> 31;
        const u32 kind = boundary ? kinds[found & 0x7fffffffu] : INSIDE;
        const Link link = link_of(f, kind, at, beyond, f.outwards(axis, high, at, beyond));
        speed += link.speed();
#pragma unroll
        for (int v = 0; v < NB; v++) {
            sum[v] += link.coupling(v);
            if (found == NONE || found == APART || boundary) continue;
            // Two sides may have the same cell beyond.
            Value* entry = off + (u64)found * (NB * NB) + v * (NB + 1);
            *entry = (Value)(*entry - link.coupling(v));
        }
    }
    double block[NB * NB];
    const double size = volume[at], least = slope_of(slopes, total, at, block), time = speed / cfl + size * least;
    pseudo_time[row] = time;
#pragma unroll
    for (int e = 0; e < NB * NB; e++)
        diag[(u64)row * (NB * NB) + e] = size * block[e] + (e % (NB + 1) == 0 ? sum[e / (NB + 1)] + time : 0.0);
}
