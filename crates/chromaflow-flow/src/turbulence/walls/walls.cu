// The shear of laws of the wall in gradients of nodes next to walls. Twin: mod.rs.
//
// Constants: GRADIENTS derivatives a row.

// Replaces it in d(u, v, w, ...)_i / dx_k, [row][GRADIENTS]; what was there goes to `before`, [count][9]. A thread a
// node.
extern "C" __global__ void __launch_bounds__(128)
replace_shear(ReplaceShear) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const LawNode here = layers[at];
    double* own = gradients + (u64)here.node * GRADIENTS;
    Tensor velocity;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) velocity[i][k] = before[(u64)at * 9 + 3 * i + k] = own[3 * i + k];
    const State w = load_node(nodes, here.other).w;
    const Tensor found = pointwise::law_gradient(params->gas(), params->transport(), here.place, w, velocity);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) own[3 * i + k] = found[i][k];
}

// The same of derivatives along a direction, of the states `along` and of the gradients `slopes`, at the gradients
// `before`.
extern "C" __global__ void __launch_bounds__(128)
replace_shear_along(ReplaceShearAlong) {
    const u32 at = blockIdx.x * 128 + threadIdx.x;
    if (at >= count) return;
    const LawNode here = layers[at];
    double* own = slopes + (u64)here.node * GRADIENTS;
    pointwise::Array<pointwise::Array<Along, 3>, 3> velocity;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) velocity[i][k] = Along(before[(u64)at * 9 + 3 * i + k], own[3 * i + k]);
    const StateAlong w = load_state_along(nodes, along, here.other);
    const auto place = along_of(here.place);
    const auto found = pointwise::law_gradient(gas_along(params), transport_along(params), place, w, velocity);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) own[3 * i + k] = found[i][k].d;
}
