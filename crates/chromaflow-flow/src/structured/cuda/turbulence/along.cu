// Ghosts of the derivatives along a direction of k and omega and of the flow. Behind eddies.cu.
// Twin: structured/turbulence/along.rs.

__device__ __forceinline__ pointwise::Array<Along, 3> lifted(const pointwise::Array<double, 3>& x) {
    return {Along(x[0]), Along(x[1]), Along(x[2])};
}
__device__ __forceinline__ pointwise::Condition<Along> lifted(const Condition& c) {
    const auto& w = c.farfield.free;
    pointwise::Condition<Along> out;
    out.kind = c.kind, out.heat = c.heat;
    out.farfield = {{Along(w[0]), Along(w[1]), Along(w[2]), Along(w[3]), Along(w[4])}};
    out.inlet = {Along(c.inlet.total_pressure), Along(c.inlet.total_temperature), lifted(c.inlet.direction)};
    out.velocity_inlet = {lifted(c.velocity_inlet.velocity), Along(c.velocity_inlet.temperature)};
    out.outlet = {Along(c.outlet.pressure), Along(c.outlet.total_temperature)};
    out.cutoff_mach = Along(c.cutoff_mach), out.mass_flow = Along(c.mass_flow), out.temperature = Along(c.temperature);
    out.motion = {lifted(c.motion.velocity), lifted(c.motion.rotation), lifted(c.motion.center)};
    return out;
}

// The primitive states of cells along the direction v of the conserved ones.
extern "C" __global__ void __launch_bounds__(CHUNK)
states_along(StatesAlong) {
    const GridCell cell = grid_cell(blocks, chunks, blockIdx.x);
    if (!cell.inside) return;
    const State q = pointwise::conserved(setup->gas(), state_at(w, total, cell.at));
    pointwise::Array<Along, 5> moving;
#pragma unroll
    for (int c = 0; c < 5; c++) moving[c] = Along(q[c], v[(u64)row_of[cell.number] * 5 + c]);
    const auto made = pointwise::primitive(gas_of<Along>(*setup), moving);
#pragma unroll
    for (int c = 0; c < 5; c++) w_along[c * total + cell.at] = made[c].d;
}
// A thread a column, as fill_ghosts of boundary.cu.
extern "C" __global__ void __launch_bounds__(128)
ghosts_along(GhostsAlong) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const Side side = sides[columns[n].y];
    const Column column(side, columns[n].x);
    const Numbers<Along> numbers = {FIELD, w_along, nullptr, nullptr};
    const Vec3 area_out = numbers.f.outwards(side.axis, side.high, column.at, column.one);
    const pointwise::Array<StateAlong, 2> cells = {numbers.state(column.at), numbers.state(column.inner)};
    auto ghosts = pointwise::ghost_states(lifted(conditions[columns[n].y]), gas_of<Along>(*setup), cells[0], cells[1],
                                          lifted(area_out), lifted(load_vec3(middles, n)));
    if (has_law(laws, n))
        ghosts = pointwise::law_ghosts(gas_of<Along>(*setup), transport_of<Along>(*setup),
                                       place_of<Along>(laws[n].place), cells, ghosts);
#pragma unroll
    for (int c = 0; c < 5; c++)
        w_along[c * total + column.one] = ghosts[0][c].d, w_along[c * total + column.two] = ghosts[1][c].d;
}
extern "C" __global__ void __launch_bounds__(128)
values_along(ValuesAlong) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const Side side = sides[columns[n].y];
    const Column column(side, columns[n].x);
    const Numbers<Along> numbers = {FIELD, w_along, slopes, nullptr};
    PairAlong ghosts[NB];
    ghosts_of(numbers, column, side, conditions[columns[n].y], heights[n], has_law(laws, n) ? laws + n : nullptr,
              ghosts);
#pragma unroll
    for (int v = 0; v < NB; v++)
        slopes[v * total + column.one] = ghosts[v][0].d, slopes[v * total + column.two] = ghosts[v][1].d;
}
// Eddy viscosities beyond boundaries: nothing on walls without slip.
extern "C" __global__ void __launch_bounds__(128)
mirror_eddies(MirrorEddies) {
    const u32 n = blockIdx.x * 128 + threadIdx.x;
    if (n >= count) return;
    const Side side = sides[columns[n].y];
    const Column column(side, columns[n].x);
    const bool wall = pointwise::condition_class(conditions[columns[n].y]) == pointwise::ConditionClass::NoSlip;
    eddies[column.one] = wall ? -eddies[column.at] : eddies[column.at];
}
