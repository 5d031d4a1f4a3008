// Rows whose equations are replaced in part or whole, and what laws of the wall take of nodes off them. Twin: mod.rs.
//
// Constants: STORED 8 or 4 bytes of an off-diagonal value; CHUNK 0: blocks in the order of the pattern, else in that of
// the sweeps, with chunks of so many rows.
#if STORED == 8
typedef double Value;
#else
typedef float Value;
#endif

// Where the off-diagonal values of a row are: entry `e` of its blocks one after another, each column by column.
#if CHUNK
using sell::Chunk;
typedef sell::BlockSink<5, CHUNK, Value> Sink;
struct RowValues {
    Sink sink;
    u32 seat, count;
    __device__ RowValues(u32 row, const u32* row_ptr, const void* chunks, const u32* seats, Value* off)
        : sink(off, static_cast<const Chunk*>(chunks)[seats[row] / CHUNK]), seat(seats[row] % CHUNK),
          count((row_ptr[row + 1] - row_ptr[row]) * 25) {}
    __device__ Value& operator[](u32 e) const { return sink.at(seat, e / 25, e % 5, e / 5 % 5); }
};
#else
struct RowValues {
    Value* out;
    u32 count;
    __device__ RowValues(u32 row, const u32* row_ptr, const void*, const u32*, Value* off)
        : out(off + (u64)row_ptr[row] * 25), count((row_ptr[row + 1] - row_ptr[row]) * 25) {}
    __device__ Value& operator[](u32 e) const { return out[e]; }
};
#endif

// Rows of nodes on walls without slip: the velocity (and, where the wall's temperature is given, the internal energy)
// stays. A warp a node.
extern "C" __global__ void __launch_bounds__(128)
wall_rows(WallRows) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32;
    if (at >= count) return;
    const WallNode here = walls[at];
    const bool isothermal = here.heat == pointwise::WallHeat::Isothermal;
    const RowValues values(here.node, row_ptr, chunks, seats, off);
    for (u32 e = threadIdx.x % 32 * 5; e < values.count; e += 160) {
        const State row = {0, values[e + 1], values[e + 2], values[e + 3], values[e + 4]};
        for (u32 k = 1; k < 4; k++) values[e + k] = 0;
        values[e + 4] = isothermal ? 0.0 : pointwise::strong_wall_energy(here.wall, row);
    }
    if (threadIdx.x % 32 == 0) {
        Block block;
        for (int e = 0; e < 25; e++) block[e] = diag[(u64)here.node * 25 + e];
        block = pointwise::strong_wall_diagonal(params->gas(), here.heat, here.wall, block);
        for (int e = 0; e < 25; e++) diag[(u64)here.node * 25 + e] = block[e];
    }
}

// What a law of the wall takes of the node off it: its derivative by the state there, in the block of that node. A
// thread a node.
extern "C" __global__ void __launch_bounds__(128)
law_rows(LawRows) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const LawNode here = laws[at];
    const RowValues values(here.node, row_ptr, chunks, seats, off);
    const u32 first = row_ptr[here.node], end = row_ptr[here.node + 1];
    u32 k = first;
    while (k < end && col_idx[k] != here.other) k++;
    if (k == end) return;
    const State w = load_node(nodes, here.other).w;
    const auto place = along_of(here.place);
    Block block;
#pragma unroll 1
    for (int c = 0; c < 5; c++) {
        StateAlong state;
        for (int v = 0; v < 5; v++) state[v] = Along(w[v], v == c ? 1.0 : 0.0);
        const auto load = pointwise::law_load(gas_along(params), transport_along(params), place, state);
        const StateAlong flux = pointwise::law_flux(place, load);
        for (int v = 0; v < 5; v++) block[5 * c + v] = flux[v].d;
    }
    block = pointwise::by_conserved(params->gas(), w, block);
    for (u32 e = 0; e < 25; e++) {
        Value& entry = values[25 * (k - first) + e];
        entry = static_cast<Value>(entry + block[e]);
    }
}

// Rows of nodes on planes of symmetry: what mirror images leave, and momentum out of the planes stays. A warp a node.
extern "C" __global__ void __launch_bounds__(128)
mirror_rows(MirrorRows) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32;
    if (at >= count) return;
    const MirrorNode here = mirrors[at];
    const RowValues values(here.node, row_ptr, chunks, seats, off);
    for (u32 e = threadIdx.x % 32 * 5; e < values.count; e += 160) {
        const State row = {values[e], values[e + 1], values[e + 2], values[e + 3], values[e + 4]};
        const State kept = pointwise::mirror_kept(here.mirror, row);
        for (u32 k = 1; k < 4; k++) values[e + k] = static_cast<Value>(kept[k]);
    }
    if (threadIdx.x % 32 == 0) {
        Block block;
        for (int e = 0; e < 25; e++) block[e] = diag[(u64)here.node * 25 + e];
        block = pointwise::mirror_block(here.mirror, 1.0, block);
        for (int e = 0; e < 25; e++) diag[(u64)here.node * 25 + e] = block[e];
    }
}

// Rows of nodes whose whole state is given: nothing depends on neighbors. A warp a node.
extern "C" __global__ void __launch_bounds__(128)
held_rows(HeldRows) {
    const u32 at = blockIdx.x * 4 + threadIdx.x / 32;
    if (at >= count) return;
    const RowValues values(node_of[at], row_ptr, chunks, seats, off);
    for (u32 e = threadIdx.x % 32; e < values.count; e += 32) values[e] = 0;
}
