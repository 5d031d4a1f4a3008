// The blocks of the implicit operator, 5 x 5 and column-major in registers; they are eliminated by the library's
// block.cuh.

__device__ __forceinline__ State column_of(const Block& a, int c) {
    return {a[c * 5], a[c * 5 + 1], a[c * 5 + 2], a[c * 5 + 3], a[c * 5 + 4]};
}

// ---- Jacobians
// The
// dissipation of a face: a number times the identity, or a share of |A| with the viscous radius on its diagonal.
#if SCHEME != 0
typedef Block Damping;
#else
typedef double Damping;
#endif
__device__ __forceinline__ Damping damping_of(const Setup& setup, const State& wb, const State& wa, const Vec3& n,
                                              double vb, double va) {
    const pointwise::Gas<double> gas = setup.gas();
    double viscous = 0;
#if VISCOUS
    const State mean = {0.5 * (wb[0] + wa[0]), 0.5 * (wb[1] + wa[1]), 0.5 * (wb[2] + wa[2]), 0.5 * (wb[3] + wa[3]),
                        0.5 * (wb[4] + wa[4])};
    viscous = pointwise::spectral_radius_viscous(gas, setup.transport(), mean, n, 0.5 * (vb + va));
#endif
#if SCHEME != 0
#if SCHEME == 1
    Block out = pointwise::dissipation_matrix(gas, wb, wa, n, setup.dissipation());
#else
    Block out = pointwise::roe_absolute(gas, wb, wa, n, setup.fix());
#endif
#pragma unroll
    for (int e = 0; e < 25; e++) out[e] *= setup.implicit_dissipation;
#pragma unroll
    for (int k = 0; k < 5; k++) out[6 * k] += viscous;
    return out;
#else
    return 0.5 * setup.implicit_dissipation *
               (pointwise::spectral_radius(gas, wb, n) + pointwise::spectral_radius(gas, wa, n)) +
           viscous;
#endif
}
// to += factor damping.
__device__ __forceinline__ void add_damping(Block& to, double factor, const Damping& damping) {
#if SCHEME != 0
#pragma unroll
    for (int e = 0; e < 25; e++) to[e] += factor * damping[e];
#else
#pragma unroll
    for (int k = 0; k < 5; k++) to[6 * k] += factor * damping;
#endif
}
// tau (A(w, n) / 2 + sign damping): the coupling to the cell of state w across the face n, which points from the cell
// behind to the cell ahead.
__device__ __forceinline__ Block coupling(const Setup& setup, const State& w, const Vec3& n, double tau, double sign,
                                          const Damping& damping) {
    Block a = pointwise::flux_jacobian(setup.gas(), w, n);
#pragma unroll
    for (int e = 0; e < 25; e++) a[e] *= 0.5 * tau;
    add_damping(a, sign * tau, damping);
    return a;
}
// I + tau (A(w, n_ahead - n_behind) / 2 + both dampings): flux Jacobians are linear in the area.
__device__ __forceinline__ Block own_block(const Setup& setup, const State& w, const Vec3& behind, const Vec3& ahead,
                                           double tau, const Damping& db, const Damping& da) {
    const Vec3 n = {ahead[0] - behind[0], ahead[1] - behind[1], ahead[2] - behind[2]};
    Block b = pointwise::flux_jacobian(setup.gas(), w, n);
#pragma unroll
    for (int e = 0; e < 25; e++) b[e] = 0.5 * tau * b[e] + (e % 6 == 0 ? 1.0 : 0.0);
    add_damping(b, tau, db);
    add_damping(b, tau, da);
    return b;
}
__device__ __forceinline__ void add_boundary(Block& b, double tau, const double* __restrict__ jacobians, u64 faces,
                                             u32 face) {
#pragma unroll
    for (int e = 0; e < 25; e++) b[e] += tau * jacobians[e * faces + face];
}
