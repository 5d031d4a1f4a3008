// A number and its derivative along one direction, for the emitted pointwise functions. Twin: Dual in dual.rs.
namespace pointwise {
struct Along {
    double v, d;
    Along() = default;
    __device__ __forceinline__ constexpr Along(double value, double slope = 0) : v(value), d(slope) {}
    __device__ __forceinline__ Along& operator+=(const Along& o) { return v += o.v, d += o.d, *this; }
    __device__ __forceinline__ Along& operator-=(const Along& o) { return v -= o.v, d -= o.d, *this; }
};
__device__ __forceinline__ Along operator+(const Along& a, const Along& b) { return {a.v + b.v, a.d + b.d}; }
__device__ __forceinline__ Along operator-(const Along& a, const Along& b) { return {a.v - b.v, a.d - b.d}; }
__device__ __forceinline__ Along operator-(const Along& a) { return {-a.v, -a.d}; }
__device__ __forceinline__ Along operator*(const Along& a, const Along& b) {
    return {a.v * b.v, b.v * a.d + a.v * b.d};
}
__device__ __forceinline__ Along operator/(const Along& a, const Along& b) {
    const double v = a.v / b.v, r = 1.0 / b.v;
    return {v, r * a.d - v * r * b.d};
}
__device__ __forceinline__ bool operator<(const Along& a, const Along& b) { return a.v < b.v; }
__device__ __forceinline__ bool operator<=(const Along& a, const Along& b) { return a.v <= b.v; }
__device__ __forceinline__ bool operator>(const Along& a, const Along& b) { return a.v > b.v; }
__device__ __forceinline__ bool operator>=(const Along& a, const Along& b) { return a.v >= b.v; }
// The root of zero, which has no derivative, has that of a constant.
__device__ __forceinline__ Along real_sqrt(const Along& x) {
    const double v = sqrt(x.v);
    return {v, v > 0 ? 0.5 / v * x.d : 0.0};
}
__device__ __forceinline__ Along real_abs(const Along& x) { return x.v < 0 ? -x : x; }
__device__ __forceinline__ Along real_exp(const Along& x) {
    const double v = exp(x.v);
    return {v, v * x.d};
}
__device__ __forceinline__ Along real_ln(const Along& x) { return {log(x.v), x.d / x.v}; }
__device__ __forceinline__ Along real_atan(const Along& x) { return {atan(x.v), x.d / (1.0 + x.v * x.v)}; }
__device__ __forceinline__ Along real_powf(const Along& x, const Along& y) {
    const double v = pow(x.v, y.v);
    return {v, y.v * pow(x.v, y.v - 1.0) * x.d + v * log(x.v) * y.d};
}
}
typedef pointwise::Along Along;
typedef pointwise::Array<Along, 5> StateAlong;
// rho, u, v, w and p of a node and their derivatives, of two records.
__device__ __forceinline__ StateAlong load_state_along(const double* __restrict__ nodes,
                                                       const double* __restrict__ along, u32 i) {
    const State w = load_node(nodes, i).w, d = load_node(along, i).w;
    return {Along(w[0], d[0]), Along(w[1], d[1]), Along(w[2], d[2]), Along(w[3], d[3]), Along(w[4], d[4])};
}
__device__ __forceinline__ pointwise::Gas<Along> gas_along(const Params* params) { return {Along(params->gamma)}; }
__device__ __forceinline__ pointwise::Transport<Along> transport_along(const Params* params) {
    const pointwise::Transport<double> t = params->transport();
    return {Along(t.scale), Along(t.prandtl), t.law, Along(t.sutherland)};
}
__device__ __forceinline__ pointwise::LawPlace<Along> along_of(const pointwise::LawPlace<double>& p) {
    const auto u = p.wall.velocity;
    return {p.law, p.heat, Along(p.area), Along(p.distance), {Along(p.away[0]), Along(p.away[1]), Along(p.away[2])},
            {Along(p.wall.temperature), {Along(u[0]), Along(u[1]), Along(u[2])}}};
}
