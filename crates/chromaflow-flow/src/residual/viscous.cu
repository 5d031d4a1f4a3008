// Viscous fluxes: gradients in elements by Green-Gauss, consistent with the edge's own difference off tetrahedra,
// through the element's part of each dual face. Twin: viscous.rs. `Cell<N>` (edges and faces of an element) is put
// before this text by cuda.rs, from the tables that the twin uses.
//
// Then what passes through open boundaries, by the gradients of their nodes. Twin: open_stress.rs.
//
// Constants: TURBULENT with the eddy viscosity of each node; QUADRATIC with a quadratic constitutive
// relation, 1 that of 2000, 2 that of 2020 with fw of each node, `relation`.
//
// A thread an element of one color: no two of a color share an edge.

// What is read through `p` is not read before this point: otherwise hexahedra and prisms need more than 255 registers.
template <typename P>
__device__ __forceinline__ void not_before_here(P& p) {
    asm volatile("" : "+l"(p));
}

template <int N>
__device__ __forceinline__ Vec3 face_middle(const pointwise::Array<Vec3, N>& x, int face) {
    Vec3 middle = {0, 0, 0};
    const int corners = Cell<N>::corner(face, 3) < 0 ? 3 : 4;
#pragma unroll
    for (int c = 0; c < 4; c++)
        if (c < corners) {
#pragma unroll
            for (int d = 0; d < 3; d++) middle[d] += 1.0 / corners * x[Cell<N>::corner(face, c)][d];
        }
    return middle;
}

template <int N>
__device__ __forceinline__ void element_fluxes(ElementFluxes) {
    constexpr int E = Cell<N>::EDGES;
    if (blockIdx.x * blockDim.x + threadIdx.x >= count) return;
    const u64 at = first + blockIdx.x * blockDim.x + threadIdx.x;
    const pointwise::Gas<double> gas = params->gas();
    const pointwise::Transport<double> transport = params->transport();
    pointwise::Array<Vec3, N> x;
    pointwise::Array<double, 4> f[N];
    u32 index[N];
    Vec3 center = {0, 0, 0};
#pragma unroll
    for (int p = 0; p < N; p++) {
        const u32 node = element_nodes[at * N + p];
        index[p] = node % plane;
        x[p] = load_node(nodes, index[p]).x;
        if (node >= plane) x[p][2] += params->depth;
    }
    params->draw_together(x);
#pragma unroll
    for (int p = 0; p < N; p++)
#pragma unroll
        for (int d = 0; d < 3; d++) center[d] += 1.0 / N * x[p][d];
    const auto cell = cell_weights(x);
    pointwise::Array<Vec3, 4> gradient = {};
    not_before_here(nodes);
#pragma unroll
    for (int p = 0; p < N; p++) {
        f[p] = pointwise::velocity_and_temperature(gas, load_node(nodes, index[p]).w);
#pragma unroll
        for (int v = 0; v < 4; v++)
#pragma unroll
            for (int d = 0; d < 3; d++) gradient[v][d] += cell.weight[p][d] * f[p][v];
    }
    not_before_here(element_edges);
    u32 ascending = 0;
#pragma unroll
    for (int e = 0; e < E; e++) ascending |= (u32)(index[Cell<N>::end(e, 0)] < index[Cell<N>::end(e, 1)]) << e;
#pragma unroll
    for (int e = 0; e < E; e++) {
        const int p = Cell<N>::end(e, 0), q = Cell<N>::end(e, 1);
        const u32 edge = element_edges[at * E + e];
        if (edge == NONE) continue;
        Vec3 area = {0, 0, 0}, dx;
#pragma unroll
        for (int d = 0; d < 3; d++) dx[d] = x[q][d] - x[p][d];
#pragma unroll
        for (int side = 0; side < 2; side++) {
            const Vec3 middle = face_middle<N>(x, Cell<N>::face(e, side));
            const double half = Cell<N>::forward(e, side) ? 0.5 : -0.5;
            Vec3 a, b;
#pragma unroll
            for (int d = 0; d < 3; d++) {
                const double mid = 0.5 * (x[p][d] + x[q][d]);
                a[d] = center[d] - mid, b[d] = middle[d] - mid;
            }
            area[0] += half * (a[1] * b[2] - a[2] * b[1]);
            area[1] += half * (a[2] * b[0] - a[0] * b[2]);
            area[2] += half * (a[0] * b[1] - a[1] * b[0]);
        }
        pointwise::Array<double, 4> face;
        pointwise::Array<Vec3, 4> own = gradient;
#pragma unroll
        for (int v = 0; v < 4; v++) {
            face[v] = 0.5 * (f[p][v] + f[q][v]);
            if (N != 4) own[v] = pointwise::edge_augmented(gradient[v], f[q][v] - f[p][v], dx);
        }
        pointwise::Array<double, 2> diffusing = pointwise::molecular(gas, transport, face[3]);
#if TURBULENT
        const double eddy_viscosity = 0.5 * (eddies[index[p]] + eddies[index[q]]);
        diffusing = pointwise::with_eddies(gas, diffusing, eddy_viscosity, params->turbulent_prandtl);
#endif
        State flux = pointwise::flux_viscous_of(diffusing, face, own, area);
#if QUADRATIC == 2
        const double mean = 0.5 * (relation[index[p]] + relation[index[q]]);
        const State besides = pointwise::flux_quadratic_2020(eddy_viscosity, mean, face, own, area);
#elif QUADRATIC
        const State besides = pointwise::flux_quadratic(eddy_viscosity, face, own, area);
#endif
#if QUADRATIC
#pragma unroll
        for (int v = 1; v < 5; v++) flux[v] += besides[v];
#endif
        const double sign = ascending >> e & 1 ? 1.0 : -1.0;
#pragma unroll
        for (int v = 1; v < 5; v++) fluxes[(u64)edge * 5 + v] -= sign * flux[v];
    }
}
#define ELEMENT(N, name) \
    extern "C" __global__ void __launch_bounds__(128) \
    name(ElementFluxes) { \
        element_fluxes<N>(first, count, element_nodes, element_edges, nodes, plane, eddies, relation, params, \
                          fluxes); \
    }
ELEMENT(4, viscous_tets)
ELEMENT(5, viscous_pyramids)
ELEMENT(6, viscous_prisms)
ELEMENT(8, viscous_hexes)

// A thread a node of the boundary, its parts of it in the order of the patches.
extern "C" __global__ void __launch_bounds__(128)
open_stress(OpenStress) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const u32 i = node_of[at];
    const State w = load_node(nodes, i).w;
    const pointwise::Gas<double> gas = params->gas();
    double mu = pointwise::molecular(gas, params->transport(), pointwise::temperature(gas, w))[0];
#if TURBULENT
    mu += eddies[i];
#endif
    pointwise::Array<double, 16> gradient;
#pragma unroll
    for (int k = 0; k < 16; k++) gradient[k] = gradients[(u64)i * 16 + k];
    State sum;
#pragma unroll
    for (int v = 0; v < 5; v++) sum[v] = out[(u64)i * 5 + v];
    for (u32 k = ptr[at]; k < ptr[at + 1]; k++) {
        if (pointwise::condition_class(conditions[patch_of[k]]) != pointwise::ConditionClass::Open) continue;
        const State flux = pointwise::flux_viscous_open(mu, w, gradient, load_vec3(areas, k));
#pragma unroll
        for (int v = 1; v < 5; v++) sum[v] -= flux[v];
    }
#pragma unroll
    for (int v = 1; v < 5; v++) out[(u64)i * 5 + v] = sum[v];
}
