// What the flow solver's kernels share, behind the emitted pointwise physics. Compiled by NVRTC with no header.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef pointwise::Array<double, 3> Vec3;
typedef pointwise::Array<double, 5> State;
typedef pointwise::Array<double, 16> Gradient;
const u32 SHOCK = 15;  // where a gradient has the sum of pressure_jump
typedef pointwise::Array<double, 25> Block;
#define NONE 0xffffffffu

// Numbers of the set-up, in the order of `Params` in mod.rs.
struct Params {
    double gamma, kappa, eps2[5], acoustic_fix, entropy_fix, matrix_acoustic_fix, matrix_entropy_fix, cutoff_mach;
    double viscosity, prandtl, law, sutherland;
    double max_change, max_rise, max_velocity_change, depth, turbulent_prandtl, dissipation;
    double most_in_layers, depth_of_layers;
    // Translations after which the mesh repeats, and their reciprocals.
    double periods, step[3][3], across[3][3];
    __device__ pointwise::Gas<double> gas() const { return {gamma}; }
    __device__ pointwise::RoeFix<double> fix() const { return {acoustic_fix, entropy_fix, cutoff_mach, dissipation}; }
    // Of the face between nodes at these places, with these sums of pressure_jump.
    __device__ pointwise::RoeFix<double> fix_of(const Vec3& n, const Vec3& a, const Vec3& b, double jumps_a,
                                                   double jumps_b) const {
        pointwise::RoeFix<double> fixed = fix();
        if (most_in_layers > 0) {
            const Vec3 way = between(a, b);
            fixed.convective = pointwise::convective_in_layers(entropy_fix, most_in_layers, n, way, depth_of_layers);
        }
        fixed.convective = pointwise::convective_at_shocks(fixed.convective, jumps_a, jumps_b);
        return fixed;
    }
    __device__ pointwise::RoeFix<double> matrix_fix() const {
        return {matrix_acoustic_fix, matrix_entropy_fix, cutoff_mach, 1.0};
    }
    __device__ pointwise::Transport<double> transport() const {
        return {viscosity, prandtl, law != 0 ? pointwise::ViscosityLaw::Sutherland : pointwise::ViscosityLaw::Constant,
                sutherland};
    }
    // From the place of a node to that of a neighbor. Twin: `between` in dual/mod.rs.
    __device__ __forceinline__ Vec3 between(const Vec3& a, const Vec3& b) const {
        Vec3 dx = {b[0] - a[0], b[1] - a[1], b[2] - a[2]};
        for (int k = 0; k < periods; k++) {
            const Vec3 t = {step[k][0], step[k][1], step[k][2]}, r = {across[k][0], across[k][1], across[k][2]};
            dx = pointwise::nearest_image(dx, t, r);
        }
        return dx;
    }
    // Corners of an element next to its first. Twin: `drawn_together`, there.
    template <int N> __device__ __forceinline__ void draw_together(pointwise::Array<Vec3, N>& x) const {
        if (periods == 0) return;
#pragma unroll
        for (int p = 1; p < N; p++) {
            const Vec3 dx = between(x[0], x[p]);
#pragma unroll
            for (int d = 0; d < 3; d++) x[p][d] = x[0][d] + dx[d];
        }
    }
};

// Node records are [rho u v w p x y z], 64 bytes.
struct Node {
    State w;
    Vec3 x;
};
__device__ __forceinline__ Node load_node(const double* __restrict__ nodes, u32 i) {
    const double2* p = reinterpret_cast<const double2*>(nodes + (u64)i * 8);
    const double2 a = p[0], b = p[1], c = p[2], d = p[3];
    return {{a.x, a.y, b.x, b.y, c.x}, {c.y, d.x, d.y}};
}
// Conserved states are [rows][5].
__device__ __forceinline__ State load_state(const double* q, u64 i) {
    return {q[i * 5], q[i * 5 + 1], q[i * 5 + 2], q[i * 5 + 3], q[i * 5 + 4]};
}
__device__ __forceinline__ Vec3 load_vec3(const double* __restrict__ from, u32 i) {
    const double* p = from + (u64)i * 3;
    return {p[0], p[1], p[2]};
}
// d(u, v, w)_i / dx_k of a row, of gradients of `count` quantities a row, the velocity's first.
typedef pointwise::Array<Vec3, 3> Tensor;
__device__ __forceinline__ Tensor load_tensor(const double* __restrict__ from, u32 count, u32 row) {
    Tensor t;
#pragma unroll
    for (int v = 0; v < 3; v++) t[v] = load_vec3(from, count * row + v);
    return t;
}
__device__ __forceinline__ double dot(const Vec3& a, const Vec3& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// Sums of K values over a thread block of whole warps, in an order that never changes; valid in thread 0.
template <int K> __device__ __forceinline__ void block_sums(double (&value)[K]) {
    __shared__ double warp_sums[32][K];
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (int k = 0; k < K; k++) {
        for (int s = 16; s; s >>= 1) value[k] += __shfl_down_sync(0xffffffffu, value[k], s);
        if (lane == 0) warp_sums[warp][k] = value[k];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int k = 0; k < K; k++) {
            value[k] = warp_sums[0][k];
            for (u32 i = 1; i < blockDim.x / 32; i++) value[k] += warp_sums[i][k];
        }
    }
}

// The least of the numbers `i` of threads that found something bad, over all of them.
__device__ __forceinline__ void tell_first(bool bad, u32 i, u32* first) {
    const u32 lowest = __reduce_min_sync(0xffffffffu, bad ? i : NONE);
    if (threadIdx.x % 32 == 0 && lowest != NONE) atomicMin(first, lowest);
}

// Sums of partials [parts][width] from ptr[blockIdx.x] to ptr[blockIdx.x + 1]; a warp a component.
__device__ __forceinline__ void sum_parts(const u32* __restrict__ ptr, u32 width, const double* __restrict__ partials,
                                          double* __restrict__ to) {
    const u32 component = threadIdx.x / 32;
    double sum = 0;
    for (u32 part = ptr[blockIdx.x] + threadIdx.x % 32; part < ptr[blockIdx.x + 1]; part += 32)
        sum += partials[(u64)part * width + component];
    for (int s = 16; s; s >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (threadIdx.x % 32 == 0) to[blockIdx.x * width + component] = sum;
}

// Sums over a thread block of forces, pressure's and friction's, and of their moments: force, moment, force, moment (12
// numbers).
__device__ __forceinline__ void sum_forces(const Vec3& arm, const Vec3 (&f)[2], double* __restrict__ partials) {
    double sum[12];
#pragma unroll
    for (int k = 0; k < 2; k++) {
#pragma unroll
        for (int d = 0; d < 3; d++) {
            sum[6 * k + d] = f[k][d];
            sum[6 * k + 3 + d] = arm[(d + 1) % 3] * f[k][(d + 2) % 3] - arm[(d + 2) % 3] * f[k][(d + 1) % 3];
        }
    }
    block_sums(sum);
    if (threadIdx.x == 0)
        for (int k = 0; k < 12; k++) partials[blockIdx.x * 12 + k] = sum[k];
}

// The share of an update that a node can take, no more than `most_of_it`. Twin: march/update.rs.
__device__ __forceinline__ double update_share(pointwise::Gas<double> gas, const State& q, const State& w,
                                               const State& x, double most, double rise, double most_of_it = 1.0) {
    double share = fmin(pointwise::linear_share(gas, w, x, most, rise), most_of_it);
    for (int halved = 0; halved < 20 && !(pointwise::pressure_margin(gas, q, w, x, share, most) > 0); halved++) {
        share *= 0.5;
    }
    return share;
}

typedef pointwise::Condition<double> Condition;
typedef pointwise::WallNode<double> WallNode;
typedef pointwise::LawNode<double> LawNode;
typedef pointwise::MirrorNode<double> MirrorNode;
