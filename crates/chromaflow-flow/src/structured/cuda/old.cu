// -DSCHEME=0 -DVISCOUS=2 -DQUICK=1 -DROWS=8
// Emitted from Rust by chromaflow-pointwise: edit the Rust files that the #line marks name.
#pragma once
namespace pointwise {
template <class A, int N> struct Array {
    A v[N];
    __device__ constexpr A& operator[](int i) { return v[i]; }
    __device__ constexpr const A& operator[](int i) const { return v[i]; }
};
template <class A, class... B> __device__ __forceinline__ Array<A, 1 + int(sizeof...(B))> array_of(A a, B... b) { return {{a, b...}}; }
template <int N, class A> __device__ __forceinline__ Array<A, N> array_fill(A a) {
    Array<A, N> out;
    #pragma unroll
    for (int i = 0; i < N; ++i) out.v[i] = a;
    return out;
}
template <class A, class B> struct Tuple2 { A _0; B _1; };
template <class A, class B, class C> struct Tuple3 { A _0; B _1; C _2; };
template <class A, class B, class C, class D> struct Tuple4 { A _0; B _1; C _2; D _3; };
template <class A, class B> __device__ __forceinline__ Tuple2<A, B> tuple_of(A a, B b) { return {a, b}; }
template <class A, class B, class C> __device__ __forceinline__ Tuple3<A, B, C> tuple_of(A a, B b, C c) { return {a, b, c}; }
template <class A, class B, class C, class D> __device__ __forceinline__ Tuple4<A, B, C, D> tuple_of(A a, B b, C c, D d) { return {a, b, c, d}; }
template <class T> __device__ __forceinline__ T select(bool mask, T yes, T no) { return mask ? yes : no; }
template <class T> __device__ __forceinline__ T real_min(T a, T b) { return a < b ? a : b; }
template <class T> __device__ __forceinline__ T real_max(T a, T b) { return a > b ? a : b; }
// Quotients and square roots in double: rounded to nearest or, with QUICK, from approximations r of 20 bits by one step of third
// order, r (1 + e + e^2) or r (1 + e/2 + 3 e^2/8) where e is what r leaves: a rounding or two away and without branches.
// There divisors below 1e-307 and above 1e307 give no numbers, and roots of numbers below 1e-307 are zero.
template <class A, class B> __device__ __forceinline__ auto quotient(A a, B b) { return a / b; }
#if QUICK
__device__ __forceinline__ double quotient(double a, double b) {
    double r;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(b));
    const double e = fma(-b, r, 1.0);
    return a * fma(r, fma(e, e, e), r);
}
__device__ __forceinline__ double real_rsqrt(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    const double e = fma(-x * r, r, 1.0);
    return fma(r * e, fma(0.375, e, 0.5), r);
}
__device__ __forceinline__ double real_sqrt(double x) {
    double r;
    asm("rsqrt.approx.ftz.f64 %0, %1;" : "=d"(r) : "d"(x));
    const double root = x * r, e = fma(-root, r, 1.0);
    const bool zero = 2u * unsigned(__double2hiint(x)) < 0x200000u;
    return zero ? 0.0 : fma(root * e, fma(0.375, e, 0.5), root);
}
#else
__device__ __forceinline__ double real_rsqrt(double x) { return rsqrt(x); }
__device__ __forceinline__ double real_sqrt(double x) { return sqrt(x); }
#endif
__device__ __forceinline__ float real_rsqrt(float x) { return rsqrtf(x); }
__device__ __forceinline__ float real_sqrt(float x) { return sqrtf(x); }
__device__ __forceinline__ double real_abs(double x) { return fabs(x); }
__device__ __forceinline__ float real_abs(float x) { return fabsf(x); }
__device__ __forceinline__ double real_exp(double x) { return exp(x); }
__device__ __forceinline__ float real_exp(float x) { return expf(x); }
__device__ __forceinline__ double real_ln(double x) { return log(x); }
__device__ __forceinline__ float real_ln(float x) { return logf(x); }
__device__ __forceinline__ double real_powf(double x, double y) { return pow(x, y); }
__device__ __forceinline__ float real_powf(float x, float y) { return powf(x, y); }
enum class GhostKind : int { Velocity, Pressure, Mirror, Far };
enum class ViscosityLaw : int { Constant, Sutherland };
enum class WallHeat : int { Adiabatic, Isothermal };
template <class T> struct Gas { T gamma; };
template <class T> __device__ __forceinline__ Gas<T> make_Gas(T gamma) { return {gamma}; }
template <class T> struct Transport { T scale; T prandtl; ViscosityLaw law; T sutherland; };
template <class T> __device__ __forceinline__ Transport<T> make_Transport(T scale, T prandtl, ViscosityLaw law, T sutherland) { return {scale, prandtl, law, sutherland}; }
template <class T> struct WaveFactors { T diagonal; T first_by_pressure; T first_by_mass; T second_by_pressure; T second_by_mass; };
template <class T> __device__ __forceinline__ WaveFactors<T> make_WaveFactors(T diagonal, T first_by_pressure, T first_by_mass, T second_by_pressure, T second_by_mass) { return {diagonal, first_by_pressure, first_by_mass, second_by_pressure, second_by_mass}; }
template <class T> struct WaveSpeeds { T normal_velocity; T sound2; T area2; T by_sound; T slow; T middle; T fast; };
template <class T> __device__ __forceinline__ WaveSpeeds<T> make_WaveSpeeds(T normal_velocity, T sound2, T area2, T by_sound, T slow, T middle, T fast) { return {normal_velocity, sound2, area2, by_sound, slow, middle, fast}; }
template <class T> struct EntropyFix { T acoustic; T convective; };
template <class T> __device__ __forceinline__ EntropyFix<T> make_EntropyFix(T acoustic, T convective) { return {acoustic, convective}; }
template <class T> struct RoeAverage { Array<T, 2> share; T density; Array<T, 3> velocity; T sound2; Array<T, 3> change; T kinetic; };
template <class T> __device__ __forceinline__ RoeAverage<T> make_RoeAverage(Array<T, 2> share, T density, Array<T, 3> velocity, T sound2, Array<T, 3> change, T kinetic) { return {share, density, velocity, sound2, change, kinetic}; }
template <class T> struct Dissipation { T second; T fourth; T acoustic; T convective; };
template <class T> __device__ __forceinline__ Dissipation<T> make_Dissipation(T second, T fourth, T acoustic, T convective) { return {second, fourth, acoustic, convective}; }
template <class T> struct CentralCell { Array<T, 5> q; T pressure; T inverse; T sound; };
template <class T> __device__ __forceinline__ CentralCell<T> make_CentralCell(Array<T, 5> q, T pressure, T inverse, T sound) { return {q, pressure, inverse, sound}; }
template <class T> struct HllcWaves { T slow; T fast; };
template <class T> __device__ __forceinline__ HllcWaves<T> make_HllcWaves(T slow, T fast) { return {slow, fast}; }
template <class T> struct Inlet { T total_pressure; T total_temperature; Array<T, 3> direction; };
template <class T> __device__ __forceinline__ Inlet<T> make_Inlet(T total_pressure, T total_temperature, Array<T, 3> direction) { return {total_pressure, total_temperature, direction}; }
template <class T> struct InletState { Array<T, 5> w; Array<T, 5> slope; };
template <class T> __device__ __forceinline__ InletState<T> make_InletState(Array<T, 5> w, Array<T, 5> slope) { return {w, slope}; }
template <class T> struct PseudoWaves { Array<T, 3> velocity; Array<T, 3> normal; T area; Array<T, 3> lambda; T slowness; };
template <class T> __device__ __forceinline__ PseudoWaves<T> make_PseudoWaves(Array<T, 3> velocity, Array<T, 3> normal, T area, Array<T, 3> lambda, T slowness) { return {velocity, normal, area, lambda, slowness}; }
template <class T> struct WaveFace { Array<T, 3> half_speed; Array<T, 3> second; T fourth; };
template <class T> __device__ __forceinline__ WaveFace<T> make_WaveFace(Array<T, 3> half_speed, Array<T, 3> second, T fourth) { return {half_speed, second, fourth}; }
template <class T, int N> struct CellWeights { Array<Array<T, 3>, N> weight; T volume; };
template <class T, int N> __device__ __forceinline__ CellWeights<T, N> make_CellWeights(Array<Array<T, 3>, N> weight, T volume) { return {weight, volume}; }
static __device__ constexpr Array<Array<Array<int, 4>, 2>, 3> CORNERS = Array<Array<Array<int, 4>, 2>, 3>{{Array<Array<int, 4>, 2>{{Array<int, 4>{{0, 2, 4, 6}}, Array<int, 4>{{1, 3, 5, 7}}}}, Array<Array<int, 4>, 2>{{Array<int, 4>{{0, 1, 4, 5}}, Array<int, 4>{{2, 3, 6, 7}}}}, Array<Array<int, 4>, 2>{{Array<int, 4>{{0, 1, 2, 3}}, Array<int, 4>{{4, 5, 6, 7}}}}}};
static __device__ constexpr Array<Array<int, 3>, 4> PYRAMID_TRIANGLES = Array<Array<int, 3>, 4>{{Array<int, 3>{{0, 1, 4}}, Array<int, 3>{{1, 2, 4}}, Array<int, 3>{{2, 3, 4}}, Array<int, 3>{{3, 0, 4}}}};
static __device__ constexpr Array<int, 4> PYRAMID_QUAD = Array<int, 4>{{0, 3, 2, 1}};
static __device__ constexpr Array<Array<int, 3>, 2> PRISM_TRIANGLES = Array<Array<int, 3>, 2>{{Array<int, 3>{{0, 2, 1}}, Array<int, 3>{{3, 4, 5}}}};
static __device__ constexpr Array<Array<int, 4>, 3> PRISM_QUADS = Array<Array<int, 4>, 3>{{Array<int, 4>{{0, 1, 4, 3}}, Array<int, 4>{{1, 2, 5, 4}}, Array<int, 4>{{2, 0, 3, 5}}}};
static __device__ constexpr Array<Array<int, 3>, 4> TET_TRIANGLES = Array<Array<int, 3>, 4>{{Array<int, 3>{{0, 2, 1}}, Array<int, 3>{{0, 1, 3}}, Array<int, 3>{{1, 2, 3}}, Array<int, 3>{{2, 0, 3}}}};
static __device__ constexpr Array<Array<int, 4>, 6> HEX_QUADS = Array<Array<int, 4>, 6>{{Array<int, 4>{{0, 3, 2, 1}}, Array<int, 4>{{4, 5, 6, 7}}, Array<int, 4>{{0, 1, 5, 4}}, Array<int, 4>{{1, 2, 6, 5}}, Array<int, 4>{{2, 3, 7, 6}}, Array<int, 4>{{3, 0, 4, 7}}}};
template <class T> __device__ __forceinline__ Array<T, 5> conserved(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ Array<T, 5> primitive(Gas<T> gas, const Array<T, 5>& q);
template <class T> __device__ __forceinline__ T sound_speed(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ T total_enthalpy(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ T temperature(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ T entropy(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ T viscosity(Transport<T> transport, T t);
template <class T> __device__ __forceinline__ Array<T, 25> by_conserved(Gas<T> gas, const Array<T, 5>& w, const Array<T, 25>& block);
template <class T> __device__ __forceinline__ Array<T, 25> primitive_by_conserved(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ Array<T, 25> from_primitive_block(Gas<T> gas, const Array<T, 5>& w, const Array<T, 25>& block);
template <class T> __device__ __forceinline__ Array<T, 25> conserved_by_primitive(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ Array<T, 25> multiply(const Array<T, 25>& a, const Array<T, 25>& b);
template <class T> __device__ __forceinline__ Array<T, 5> flux(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> flux_of_enthalpy(const Array<T, 5>& w, T enthalpy, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> flux_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> flux_change(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n, const Array<T, 5>& x);
template <class T> __device__ __forceinline__ Array<T, 25> wave_matrix(Gas<T> gas, const Array<T, 3>& velocity, T enthalpy, const Array<T, 3>& n, T normal_velocity, WaveFactors<T> factors);
template <class T> __device__ __forceinline__ WaveSpeeds<T> wave_speeds(T normal_velocity, T sound2, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ WaveFactors<T> absolute_factors(const WaveSpeeds<T>& x);
template <class T> __device__ __forceinline__ T spectral_radius(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ RoeAverage<T> roe_average(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr);
template <class T> __device__ __forceinline__ T rounded(T x, T d, T by_2d);
template <class T> __device__ __forceinline__ WaveFactors<T> rounded_factors(T normal_velocity, T sound2, const Array<T, 3>& n, EntropyFix<T> fix);
template <class T> __device__ __forceinline__ Array<T, 5> flux_roe(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n, EntropyFix<T> fix);
template <class T> __device__ __forceinline__ Array<T, 25> roe_absolute(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n, EntropyFix<T> fix);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 25>, Array<T, 25>> flux_roe_jacobians(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n, EntropyFix<T> fix);
template <class T> __device__ __forceinline__ T pressure_switch(T before, T here, T after);
template <class T> __device__ __forceinline__ Array<T, 2> switch_parts(T before, T here, T after);
template <class T> __device__ __forceinline__ CentralCell<T> central_cell(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ Array<T, 2> weights(const Array<T, 4>& pressure, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 5>, Array<T, 2>> central_mean(const CentralCell<T>& b, const CentralCell<T>& c, const Array<T, 3>& half);
template <class T> __device__ __forceinline__ Array<T, 5> flux_scalar_dissipation(Gas<T> gas, const Array<T, 5>& wa, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 5>& wd, const Array<T, 3>& n, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ Array<T, 5> scalar_dissipation_of(const CentralCell<T>& a, const CentralCell<T>& b, const CentralCell<T>& c, const CentralCell<T>& d, const Array<T, 3>& n, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ Array<T, 5> flux_matrix_dissipation(Gas<T> gas, const Array<T, 5>& wa, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 5>& wd, const Array<T, 3>& n, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ Array<T, 5> matrix_dissipation_of(Gas<T> gas, const CentralCell<T>& a, const CentralCell<T>& b, const CentralCell<T>& c, const CentralCell<T>& d, const Array<T, 3>& n, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ Array<T, 25> dissipation_matrix(Gas<T> gas, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 3>& n, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ WaveFactors<T> floored_factors(T normal_velocity, T sound2, const Array<T, 3>& n, Dissipation<T> dissipation);
template <class T> __device__ __forceinline__ Array<T, 2> extrapolate_muscl(T before, T here, T after, T kappa, T limited);
template <class T> __device__ __forceinline__ Array<T, 5> flux_roe_muscl(Gas<T> gas, const Array<T, 5>& wa, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 5>& wd, const Array<T, 3>& n, T kappa, T limited, EntropyFix<T> fix);
template <class T> __device__ __forceinline__ HllcWaves<T> hllc_waves(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& normal);
template <class T> __device__ __forceinline__ Array<T, 5> flux_hllc(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> hllc_between(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& normal, HllcWaves<T> waves);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 25>, Array<T, 25>> flux_hllc_jacobians(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> van_leer_split(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n, T sign);
template <class T> __device__ __forceinline__ Array<T, 25> van_leer_split_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n, T sign);
template <class T> __device__ __forceinline__ Array<T, 5> flux_van_leer(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 25>, Array<T, 25>> flux_van_leer_jacobians(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> flux_through(Gas<T> gas, const Array<T, 5>& wb, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> flux_through_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 5>& wb, const Array<T, 25>& dwb_dw, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> bc_farfield(Gas<T> gas, const Array<T, 5>& w, const Array<T, 5>& free, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> bc_farfield_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 5>& free, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ InletState<T> inlet_state(Gas<T> gas, const Array<T, 5>& w, Inlet<T> inlet, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> bc_inlet(Gas<T> gas, const Array<T, 5>& w, Inlet<T> inlet, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> bc_inlet_jacobian(Gas<T> gas, const Array<T, 5>& w, Inlet<T> inlet, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> bc_outlet(Gas<T> gas, const Array<T, 5>& w, T back, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> bc_outlet_jacobian(Gas<T> gas, const Array<T, 5>& w, T back, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> flux_slip_wall(const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> flux_slip_wall_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> strong_wall_residual(Gas<T> gas, WallHeat heat, const Array<T, 5>& q, T temperature, const Array<T, 5>& residual);
template <class T> __device__ __forceinline__ Array<T, 25> strong_wall_diagonal(Gas<T> gas, WallHeat heat, T temperature, const Array<T, 25>& block);
template <class T> __device__ __forceinline__ Array<T, 25> strong_wall_off_diagonal(WallHeat heat, const Array<T, 25>& block);
template <class T> __device__ __forceinline__ Array<T, 5> strong_wall_state(Gas<T> gas, WallHeat heat, const Array<T, 5>& w, T temperature);
template <class T> __device__ __forceinline__ T rise(T value, T smallest, T largest, T slope);
template <class T> __device__ __forceinline__ T limiter_barth(T allowed, T slope);
template <class T> __device__ __forceinline__ T limiter_venkatakrishnan(T allowed, T slope, T eps2);
template <class T> __device__ __forceinline__ T limiter_michalak(T allowed, T slope, T range, T eps2);
template <class T> __device__ __forceinline__ T extrapolate(T own, T other, T projected, T kappa, T phi);
template <class T> __device__ __forceinline__ T van_albada(T a, T b, T eps2);
template <class T> __device__ __forceinline__ T extrapolate_van_albada(T own, T other, T projected, T kappa, T eps2);
template <class T> __device__ __forceinline__ T keep_positive(T extrapolated, T own);
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible(T beta, const Array<T, 4>& q, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 16> flux_incompressible_jacobian(T beta, const Array<T, 4>& q, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible_derivative(T beta, const Array<T, 4>& q, const Array<T, 4>& dq, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ T spectral_radius_incompressible(T beta, const Array<T, 4>& q, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ PseudoWaves<T> pseudo_waves(T beta, const Array<T, 4>& q, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 4> pseudo_wave_function(const PseudoWaves<T>& x, const Array<T, 3>& f, const Array<T, 4>& dq);
template <class T> __device__ __forceinline__ Array<T, 16> pseudo_wave_matrix(const PseudoWaves<T>& x, const Array<T, 3>& f);
template <class T> __device__ __forceinline__ Array<T, 3> pseudo_wave_sizes(const PseudoWaves<T>& x);
template <class T> __device__ __forceinline__ Array<T, 4> mean_state(const Array<T, 4>& l, const Array<T, 4>& r);
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible_roe(T beta, const Array<T, 4>& ql, const Array<T, 4>& qr, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 16>, Array<T, 16>> flux_incompressible_roe_jacobians(T beta, const Array<T, 4>& ql, const Array<T, 4>& qr, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 4>, Array<T, 4>> flux_incompressible_roe_derivatives(T beta, const Array<T, 4>& ql, const Array<T, 4>& qr, const Array<T, 3>& n, const Array<T, 4>& dq);
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible_central(T beta, const Array<T, 4>& before, const Array<T, 4>& left, const Array<T, 4>& right, const Array<T, 4>& after, const Array<T, 3>& n, T fourth, T convective);
template <class T> __device__ __forceinline__ T flux_scalar(T volume, T left, T right);
template <class T> __device__ __forceinline__ T normal_slope(const Array<T, 3>& metric, T across, const Array<T, 2>& first, const Array<T, 2>& second);
template <class T> __device__ __forceinline__ Array<T, 3> pseudo_wave_signs(T v);
template <class T> __device__ __forceinline__ Array<T, 4> ghost_incompressible(GhostKind kind, T beta, const Array<T, 4>& q, T next, const Array<T, 4>& given, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 16> ghost_incompressible_jacobian(GhostKind kind, T beta, const Array<T, 4>& q, const Array<T, 4>& given, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> continued_state(const Array<T, 5>& w1, const Array<T, 5>& w2, T share);
template <class T> __device__ __forceinline__ Array<T, 5> mirrored_state(const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> ghost_no_slip(const Array<T, 5>& w);
template <class T> __device__ __forceinline__ Array<T, 5> ghost_isothermal(Gas<T> gas, const Array<T, 5>& w, T wall);
template <class T> __device__ __forceinline__ T wall_pressure(T p1, T p2, T share);
template <class T> __device__ __forceinline__ Tuple2<Array<T, 4>, Array<Array<T, 3>, 4>> wall_gradient(Gas<T> gas, WallHeat heat, const Array<T, 5>& w1, const Array<T, 5>& w2, T wall, const Array<T, 3>& n, T volume, T deep);
template <class T> __device__ __forceinline__ Array<T, 5> corner_face(Gas<T> gas, const Array<Array<T, 5>, 8>& q, int axis, int high);
template <class T> __device__ __forceinline__ Array<T, 5> corner_mean(Gas<T> gas, const Array<Array<T, 5>, 8>& q);
template <class T> __device__ __forceinline__ Array<Array<T, 3>, 4> corner_gradient(Gas<T> gas, const Array<Array<T, 5>, 8>& q, const Array<Array<Array<T, 3>, 2>, 3>& area, T volume);
template <class T> __device__ __forceinline__ Array<T, 2> smoothing_weights(Dissipation<T> dissipation, T a, T b);
template <class T> __device__ __forceinline__ T smoothing(const Array<T, 5>& u, const Array<T, 2>& above, const Array<T, 2>& below, T radius_above, T radius_below);
template <class T> __device__ __forceinline__ Array<T, 5> slip_state(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 5> to_waves(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& k, const Array<T, 5>& x);
template <class T> __device__ __forceinline__ Array<T, 5> from_waves(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& k, const Array<T, 5>& a);
template <class T> __device__ __forceinline__ Array<T, 3> unit_normal(const Array<T, 3>& low, const Array<T, 3>& high);
template <class T> __device__ __forceinline__ Array<T, 5> middle_state(const Array<T, 5>& b, const Array<T, 5>& c);
template <class T> __device__ __forceinline__ Array<T, 2> wave_weights(const Array<T, 4>& pressure, Dissipation<T> dissipation, T share, bool fourth, bool near_);
template <class T> __device__ __forceinline__ WaveFace<T> wave_face(Gas<T> gas, const Array<T, 5>& before, const Array<T, 5>& after, const Array<T, 3>& area, const Array<T, 2>& weights, bool at_end, T viscous);
template <class T> __device__ __forceinline__ Array<Array<T, 5>, 3> wave_rows(const WaveFace<T>& low, const WaveFace<T>& high, T tau);
template <class T> __device__ __forceinline__ Array<T, 4> velocity_and_temperature(Gas<T> gas, const Array<T, 5>& w);
template <class T> __device__ __forceinline__ Array<T, 3> traction(T mu, const Array<Array<T, 3>, 4>& gradient, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ T conductivity_by_mu(Gas<T> gas, Transport<T> transport);
template <class T> __device__ __forceinline__ Array<T, 5> flux_viscous(Gas<T> gas, Transport<T> transport, const Array<T, 4>& face, const Array<Array<T, 3>, 4>& gradient, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 4> flux_viscous_across(T ratio, T mu, const Array<T, 4>& before, const Array<T, 4>& after, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 4> flux_viscous_along(T ratio, T mu, const Array<T, 4>& middle, const Array<Array<T, 4>, 2>& change, const Array<Array<T, 3>, 2>& area, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ Array<T, 25> flux_viscous_block(Gas<T> gas, Transport<T> transport, const Array<T, 5>& w, const Array<T, 4>& face, const Array<T, 3>& force, const Array<T, 3>& weight, T share, const Array<T, 3>& n);
template <class T> __device__ __forceinline__ T spectral_radius_viscous(Gas<T> gas, Transport<T> transport, const Array<T, 5>& w, const Array<T, 3>& n, T volume);
template <class T> __device__ __forceinline__ Array<T, 3> triangle_area(const Array<T, 3>& a, const Array<T, 3>& b, const Array<T, 3>& c);
template <class T> __device__ __forceinline__ Tuple2<Array<Array<T, 3>, 4>, T> quad_shares(const Array<Array<T, 3>, 4>& x);
template <class T, int N> __device__ __forceinline__ void add_triangle(CellWeights<T, N>& cell, const Array<Array<T, 3>, N>& x, Array<int, 3> corners);
template <class T, int N> __device__ __forceinline__ void add_quad(CellWeights<T, N>& cell, const Array<Array<T, 3>, N>& x, Array<int, 4> corners);
template <class T, int N> __device__ __forceinline__ CellWeights<T, N> empty();
template <class T, int N> __device__ __forceinline__ CellWeights<T, N> divide(CellWeights<T, N> cell);
template <class T> __device__ __forceinline__ CellWeights<T, 4> tet_weights(const Array<Array<T, 3>, 4>& x);
template <class T> __device__ __forceinline__ CellWeights<T, 5> pyramid_weights(const Array<Array<T, 3>, 5>& x);
template <class T> __device__ __forceinline__ CellWeights<T, 6> prism_weights(const Array<Array<T, 3>, 6>& x);
template <class T> __device__ __forceinline__ CellWeights<T, 8> hex_weights(const Array<Array<T, 3>, 8>& x);
template <class T> __device__ __forceinline__ Array<T, 3> edge_augmented(const Array<T, 3>& gradient, T difference, const Array<T, 3>& dx);
#line 70 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 5> conserved(Gas<T> gas, const Array<T, 5>& w) {
#line 71 "src/gas/state.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
const auto p = part_1_[4];
#line 72 "src/gas/state.rs"
const auto kinetic = ((T(0.5) * rho) * ((((u * u) + (v * v)) + (s * s))));
#line 74 "src/gas/state.rs"
const auto by_g1 = quotient(T(1.0), ((gas.gamma - T(1.0))));
#line 75 "src/gas/state.rs"
return array_of(rho, (rho * u), (rho * v), (rho * s), ((p * by_g1) + kinetic));
}

#line 80 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 5> primitive(Gas<T> gas, const Array<T, 5>& q) {
#line 81 "src/gas/state.rs"
const auto r = quotient(T(1.0), q[0]);
#line 82 "src/gas/state.rs"
const auto u = (q[1] * r);
#line 83 "src/gas/state.rs"
const auto v = (q[2] * r);
#line 84 "src/gas/state.rs"
const auto s = (q[3] * r);
#line 85 "src/gas/state.rs"
const auto kinetic = (T(0.5) * ((((q[1] * u) + (q[2] * v)) + (q[3] * s))));
#line 86 "src/gas/state.rs"
return array_of(q[0], u, v, s, (((gas.gamma - T(1.0))) * ((q[4] - kinetic))));
}

#line 91 "src/gas/state.rs"
template <class T> __device__ __forceinline__ T sound_speed(Gas<T> gas, const Array<T, 5>& w) {
#line 92 "src/gas/state.rs"
return real_sqrt((quotient((gas.gamma * w[4]), w[0])));
}

#line 97 "src/gas/state.rs"
template <class T> __device__ __forceinline__ T total_enthalpy(Gas<T> gas, const Array<T, 5>& w) {
#line 98 "src/gas/state.rs"
const auto speed2 = (((w[1] * w[1]) + (w[2] * w[2])) + (w[3] * w[3]));
#line 99 "src/gas/state.rs"
return (quotient((gas.gamma * w[4]), ((((gas.gamma - T(1.0))) * w[0]))) + (T(0.5) * speed2));
}

#line 104 "src/gas/state.rs"
template <class T> __device__ __forceinline__ T temperature(Gas<T> gas, const Array<T, 5>& w) {
#line 105 "src/gas/state.rs"
return quotient((gas.gamma * w[4]), w[0]);
}

#line 111 "src/gas/state.rs"
template <class T> __device__ __forceinline__ T entropy(Gas<T> gas, const Array<T, 5>& w) {
#line 112 "src/gas/state.rs"
return quotient((gas.gamma * w[4]), real_powf(w[0], gas.gamma));
}

#line 120 "src/gas/state.rs"
template <class T> __device__ __forceinline__ T viscosity(Transport<T> transport, T t) {
#line 121 "src/gas/state.rs"
if ((transport.law == ViscosityLaw::Constant)) {
#line 122 "src/gas/state.rs"
return T(1.0);
}
#line 124 "src/gas/state.rs"
return quotient(((t * real_sqrt(t)) * ((T(1.0) + transport.sutherland))), ((t + transport.sutherland)));
}

#line 131 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 25> by_conserved(Gas<T> gas, const Array<T, 5>& w, const Array<T, 25>& block) {
#line 132 "src/gas/state.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 133 "src/gas/state.rs"
const auto g1 = (gas.gamma - T(1.0));
#line 134 "src/gas/state.rs"
const auto r = quotient(T(1.0), rho);
#line 135 "src/gas/state.rs"
const auto phi = ((T(0.5) * g1) * ((((u * u) + (v * v)) + (s * s))));
#line 136 "src/gas/state.rs"
auto out = array_fill<25>(T(0.0));
#line 137 "src/gas/state.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 138 "src/gas/state.rs"
const auto by_p = block[(20 + i)];
#line 139 "src/gas/state.rs"
const auto by_u = (block[(5 + i)] * r);
#line 140 "src/gas/state.rs"
const auto by_v = (block[(10 + i)] * r);
#line 141 "src/gas/state.rs"
const auto by_s = (block[(15 + i)] * r);
#line 142 "src/gas/state.rs"
const auto g1_p = (g1 * by_p);
#line 143 "src/gas/state.rs"
out[i] = ((block[i] - ((((u * by_u) + (v * by_v)) + (s * by_s)))) + (phi * by_p));
#line 144 "src/gas/state.rs"
out[(5 + i)] = (by_u - (u * g1_p));
#line 145 "src/gas/state.rs"
out[(10 + i)] = (by_v - (v * g1_p));
#line 146 "src/gas/state.rs"
out[(15 + i)] = (by_s - (s * g1_p));
#line 147 "src/gas/state.rs"
out[(20 + i)] = g1_p;
}
#line 149 "src/gas/state.rs"
return out;
}

#line 154 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 25> primitive_by_conserved(Gas<T> gas, const Array<T, 5>& w) {
#line 155 "src/gas/state.rs"
auto identity = array_fill<25>(T(0.0));
#line 156 "src/gas/state.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 157 "src/gas/state.rs"
identity[(i * 6)] = T(1.0);
}
#line 159 "src/gas/state.rs"
return by_conserved(gas, w, identity);
}

#line 165 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 25> from_primitive_block(Gas<T> gas, const Array<T, 5>& w, const Array<T, 25>& block) {
#line 166 "src/gas/state.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 167 "src/gas/state.rs"
const auto r = quotient(T(1.0), ((gas.gamma - T(1.0))));
#line 168 "src/gas/state.rs"
const auto kinetic = (T(0.5) * ((((u * u) + (v * v)) + (s * s))));
#line 169 "src/gas/state.rs"
auto out = array_fill<25>(T(0.0));
#line 170 "src/gas/state.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 171 "src/gas/state.rs"
const auto d_rho = block[(c * 5)];
#line 172 "src/gas/state.rs"
const auto d_u = (rho * block[((c * 5) + 1)]);
#line 173 "src/gas/state.rs"
const auto d_v = (rho * block[((c * 5) + 2)]);
#line 174 "src/gas/state.rs"
const auto d_s = (rho * block[((c * 5) + 3)]);
#line 175 "src/gas/state.rs"
out[(c * 5)] = d_rho;
#line 176 "src/gas/state.rs"
out[((c * 5) + 1)] = ((u * d_rho) + d_u);
#line 177 "src/gas/state.rs"
out[((c * 5) + 2)] = ((v * d_rho) + d_v);
#line 178 "src/gas/state.rs"
out[((c * 5) + 3)] = ((s * d_rho) + d_s);
#line 179 "src/gas/state.rs"
out[((c * 5) + 4)] = (((((kinetic * d_rho) + (u * d_u)) + (v * d_v)) + (s * d_s)) + (r * block[((c * 5) + 4)]));
}
#line 181 "src/gas/state.rs"
return out;
}

#line 186 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 25> conserved_by_primitive(Gas<T> gas, const Array<T, 5>& w) {
#line 187 "src/gas/state.rs"
auto identity = array_fill<25>(T(0.0));
#line 188 "src/gas/state.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 189 "src/gas/state.rs"
identity[(i * 6)] = T(1.0);
}
#line 191 "src/gas/state.rs"
return from_primitive_block(gas, w, identity);
}

#line 196 "src/gas/state.rs"
template <class T> __device__ __forceinline__ Array<T, 25> multiply(const Array<T, 25>& a, const Array<T, 25>& b) {
#line 197 "src/gas/state.rs"
auto out = array_fill<25>(T(0.0));
#line 198 "src/gas/state.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 199 "src/gas/state.rs"
#pragma unroll
for (int r = 0; r < 5; ++r) {
#line 200 "src/gas/state.rs"
auto sum = (a[r] * b[(c * 5)]);
#line 201 "src/gas/state.rs"
#pragma unroll
for (int k = 1; k < 5; ++k) {
#line 202 "src/gas/state.rs"
sum += (a[((k * 5) + r)] * b[((c * 5) + k)]);
}
#line 204 "src/gas/state.rs"
out[((c * 5) + r)] = sum;
}
}
#line 207 "src/gas/state.rs"
return out;
}

#line 15 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n) {
#line 16 "src/flux/euler.rs"
return flux_of_enthalpy(w, total_enthalpy(gas, w), n);
}

#line 21 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_of_enthalpy(const Array<T, 5>& w, T enthalpy, const Array<T, 3>& n) {
#line 22 "src/flux/euler.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
const auto p = part_1_[4];
#line 23 "src/flux/euler.rs"
const auto mass = (rho * ((((u * n[0]) + (v * n[1])) + (s * n[2]))));
#line 24 "src/flux/euler.rs"
return array_of(mass, ((mass * u) + (p * n[0])), ((mass * v) + (p * n[1])), ((mass * s) + (p * n[2])), (mass * enthalpy));
}

#line 32 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ Array<T, 25> flux_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n) {
#line 33 "src/flux/euler.rs"
const auto velocity = array_of(w[1], w[2], w[3]);
#line 34 "src/flux/euler.rs"
const auto normal_velocity = (((w[1] * n[0]) + (w[2] * n[1])) + (w[3] * n[2]));
#line 35 "src/flux/euler.rs"
const auto factors = make_WaveFactors(normal_velocity, T(0.0), T(1.0), T(1.0), T(0.0));
#line 42 "src/flux/euler.rs"
return wave_matrix(gas, velocity, total_enthalpy(gas, w), n, normal_velocity, factors);
}

#line 47 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_change(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n, const Array<T, 5>& x) {
#line 48 "src/flux/euler.rs"
const auto part_1_ = w;
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 49 "src/flux/euler.rs"
const auto normal_velocity = (((u * n[0]) + (v * n[1])) + (s * n[2]));
#line 50 "src/flux/euler.rs"
const auto kinetic = (T(0.5) * ((((u * u) + (v * v)) + (s * s))));
#line 51 "src/flux/euler.rs"
const auto pressure = (((gas.gamma - T(1.0))) * ((((((kinetic * x[0]) - (u * x[1])) - (v * x[2])) - (s * x[3])) + x[4])));
#line 52 "src/flux/euler.rs"
const auto mass = ((((n[0] * x[1]) + (n[1] * x[2])) + (n[2] * x[3])) - (normal_velocity * x[0]));
#line 53 "src/flux/euler.rs"
return array_of(((normal_velocity * x[0]) + mass), (((normal_velocity * x[1]) + (u * mass)) + (n[0] * pressure)), (((normal_velocity * x[2]) + (v * mass)) + (n[1] * pressure)), (((normal_velocity * x[3]) + (s * mass)) + (n[2] * pressure)), (((normal_velocity * x[4]) + (total_enthalpy(gas, w) * mass)) + (normal_velocity * pressure)));
}

#line 80 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ Array<T, 25> wave_matrix(Gas<T> gas, const Array<T, 3>& velocity, T enthalpy, const Array<T, 3>& n, T normal_velocity, WaveFactors<T> factors) {
#line 88 "src/flux/euler.rs"
const auto part_1_ = velocity;
const auto u = part_1_[0];
const auto v = part_1_[1];
const auto s = part_1_[2];
#line 89 "src/flux/euler.rs"
const auto g1 = (gas.gamma - T(1.0));
#line 90 "src/flux/euler.rs"
const auto phi = ((T(0.5) * g1) * ((((u * u) + (v * v)) + (s * s))));
#line 91 "src/flux/euler.rs"
const auto pressure = array_of(phi, ((-g1) * u), ((-g1) * v), ((-g1) * s), g1);
#line 92 "src/flux/euler.rs"
const auto mass = array_of((-normal_velocity), n[0], n[1], n[2], T(0.0));
#line 93 "src/flux/euler.rs"
const auto first = array_of(T(1.0), u, v, s, enthalpy);
#line 94 "src/flux/euler.rs"
const auto second = array_of(T(0.0), n[0], n[1], n[2], normal_velocity);
#line 95 "src/flux/euler.rs"
auto a = array_fill<25>(T(0.0));
#line 96 "src/flux/euler.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 97 "src/flux/euler.rs"
const auto x = ((factors.first_by_pressure * pressure[c]) + (factors.first_by_mass * mass[c]));
#line 98 "src/flux/euler.rs"
const auto y = ((factors.second_by_pressure * pressure[c]) + (factors.second_by_mass * mass[c]));
#line 99 "src/flux/euler.rs"
a[(c * 5)] = x;
#line 100 "src/flux/euler.rs"
#pragma unroll
for (int r = 1; r < 5; ++r) {
#line 101 "src/flux/euler.rs"
a[((c * 5) + r)] = ((first[r] * x) + (second[r] * y));
}
#line 103 "src/flux/euler.rs"
a[(c * 6)] += factors.diagonal;
}
#line 105 "src/flux/euler.rs"
return a;
}

#line 128 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ WaveSpeeds<T> wave_speeds(T normal_velocity, T sound2, const Array<T, 3>& n) {
#line 130 "src/flux/euler.rs"
const auto area2 = (((T(1e-200) + (n[0] * n[0])) + (n[1] * n[1])) + (n[2] * n[2]));
#line 131 "src/flux/euler.rs"
const auto by_sound = real_rsqrt(((sound2 * area2)));
#line 132 "src/flux/euler.rs"
const auto sound = ((sound2 * area2) * by_sound);
#line 133 "src/flux/euler.rs"
const auto middle = real_abs(normal_velocity);
#line 134 "src/flux/euler.rs"
const auto slow = real_abs(((middle - sound)));
#line 135 "src/flux/euler.rs"
return make_WaveSpeeds(normal_velocity, sound2, area2, by_sound, slow, middle, (middle + sound));
}

#line 140 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ WaveFactors<T> absolute_factors(const WaveSpeeds<T>& x) {
#line 141 "src/flux/euler.rs"
const auto mean = (((((T(0.5) * ((x.fast + x.slow))) - x.middle)) * x.by_sound) * x.by_sound);
#line 142 "src/flux/euler.rs"
const auto half = ((T(0.5) * x.by_sound) * ((x.fast - x.slow)));
#line 143 "src/flux/euler.rs"
const auto half_2 = select<T>((x.normal_velocity < T(0.0)), (-half), half);
#line 144 "src/flux/euler.rs"
return make_WaveFactors(x.middle, (mean * x.area2), half_2, half_2, (mean * x.sound2));
}

#line 155 "src/flux/euler.rs"
template <class T> __device__ __forceinline__ T spectral_radius(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n) {
#line 156 "src/flux/euler.rs"
const auto normal_velocity = (((w[1] * n[0]) + (w[2] * n[1])) + (w[3] * n[2]));
#line 157 "src/flux/euler.rs"
const auto area2 = (((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]));
#line 158 "src/flux/euler.rs"
return (real_abs(normal_velocity) + real_sqrt(((quotient((gas.gamma * w[4]), w[0]) * area2))));
}

#line 47 "src/flux/roe.rs"
template <class T> __device__ __forceinline__ RoeAverage<T> roe_average(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr) {
#line 48 "src/flux/roe.rs"
const auto by_density = real_rsqrt(((wl[0] * wr[0])));
#line 49 "src/flux/roe.rs"
const auto ratio = (wr[0] * by_density);
#line 50 "src/flux/roe.rs"
const auto a = quotient(T(1.0), ((T(1.0) + ratio)));
#line 51 "src/flux/roe.rs"
const auto b = (a * ratio);
#line 52 "src/flux/roe.rs"
auto velocity = array_fill<3>(T(0.0));
#line 53 "src/flux/roe.rs"
auto change = array_fill<3>(T(0.0));
#line 54 "src/flux/roe.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 55 "src/flux/roe.rs"
change[i] = (wr[(1 + i)] - wl[(1 + i)]);
#line 56 "src/flux/roe.rs"
velocity[i] = (wl[(1 + i)] + (b * change[i]));
}
#line 58 "src/flux/roe.rs"
const auto kinetic = (T(0.5) * ((((change[0] * change[0]) + (change[1] * change[1])) + (change[2] * change[2]))));
#line 60 "src/flux/roe.rs"
const auto sound2 = (((gas.gamma * by_density) * (((b * wl[4]) + (a * wr[4])))) + (((((gas.gamma - T(1.0))) * a) * b) * kinetic));
#line 61 "src/flux/roe.rs"
return make_RoeAverage(array_of(a, b), (wl[0] * ratio), velocity, sound2, change, kinetic);
}

#line 66 "src/flux/roe.rs"
template <class T> __device__ __forceinline__ T rounded(T x, T d, T by_2d) {
#line 67 "src/flux/roe.rs"
const auto rest = real_max(((d - x)), T(0.0));
#line 68 "src/flux/roe.rs"
return (x + ((rest * rest) * by_2d));
}

#line 73 "src/flux/roe.rs"
template <class T> __device__ __forceinline__ WaveFactors<T> rounded_factors(T normal_velocity, T sound2, const Array<T, 3>& n, EntropyFix<T> fix) {
#line 74 "src/flux/roe.rs"
auto x = wave_speeds(normal_velocity, sound2, n);
#line 75 "src/flux/roe.rs"
const auto acoustic = (real_max(fix.acoustic, T(1e-30)) * x.fast);
#line 76 "src/flux/roe.rs"
const auto convective = (real_max(fix.convective, T(1e-30)) * x.fast);
#line 77 "src/flux/roe.rs"
const auto by_both = quotient(T(0.5), ((acoustic * convective)));
#line 78 "src/flux/roe.rs"
x.slow = rounded(x.slow, acoustic, (convective * by_both));
#line 79 "src/flux/roe.rs"
x.middle = rounded(x.middle, convective, (acoustic * by_both));
#line 80 "src/flux/roe.rs"
return absolute_factors(x);
}

#line 101 "src/flux/roe.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_roe(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n, EntropyFix<T> fix) {
#line 103 "src/flux/roe.rs"
const auto by_g1 = quotient(T(1.0), ((gas.gamma - T(1.0))));
#line 104 "src/flux/roe.rs"
const auto x = roe_average(gas, wl, wr);
#line 105 "src/flux/roe.rs"
const auto part_1_ = x.share;
const auto a = part_1_[0];
const auto b = part_1_[1];
#line 106 "src/flux/roe.rs"
const auto half = array_of((T(0.5) * n[0]), (T(0.5) * n[1]), (T(0.5) * n[2]));
#line 107 "src/flux/roe.rs"
const auto vl = (((wl[1] * half[0]) + (wl[2] * half[1])) + (wl[3] * half[2]));
#line 108 "src/flux/roe.rs"
const auto vr = (((wr[1] * half[0]) + (wr[2] * half[1])) + (wr[3] * half[2]));
#line 109 "src/flux/roe.rs"
const auto d_normal = (vr - vl);
#line 110 "src/flux/roe.rs"
const auto normal_velocity = (vl + (b * d_normal));
#line 111 "src/flux/roe.rs"
const auto f = rounded_factors(normal_velocity, x.sound2, half, fix);
#line 113 "src/flux/roe.rs"
const auto d_pressure = (wr[4] - wl[4]);
#line 114 "src/flux/roe.rs"
const auto d_mass = (x.density * d_normal);
#line 115 "src/flux/roe.rs"
const auto first = ((f.first_by_pressure * d_pressure) + (f.first_by_mass * d_mass));
#line 116 "src/flux/roe.rs"
const auto second = ((f.second_by_pressure * d_pressure) + (f.second_by_mass * d_mass));
#line 117 "src/flux/roe.rs"
const auto part_2_ = tuple_of((wl[0] * vl), (wr[0] * vr));
const auto ml = part_2_._0;
const auto mr = part_2_._1;
#line 118 "src/flux/roe.rs"
const auto mass = (((ml + mr) - first) - (f.diagonal * ((wr[0] - wl[0]))));
#line 119 "src/flux/roe.rs"
const auto part_3_ = tuple_of((b * ml), (a * mr));
const auto bml = part_3_._0;
const auto amr = part_3_._1;
#line 120 "src/flux/roe.rs"
const auto by_change = ((amr - bml) - (f.diagonal * x.density));
#line 121 "src/flux/roe.rs"
const auto pressure = ((wl[4] + wr[4]) - second);
#line 122 "src/flux/roe.rs"
const auto half_mass = (T(0.5) * mass);
#line 123 "src/flux/roe.rs"
auto momentum = array_fill<3>(T(0.0));
#line 124 "src/flux/roe.rs"
auto work = T(0.0);
#line 125 "src/flux/roe.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 127 "src/flux/roe.rs"
const auto moved = ((by_change * x.change[i]) + (half_mass * x.velocity[i]));
#line 128 "src/flux/roe.rs"
momentum[i] = ((moved + (half_mass * x.velocity[i])) + (pressure * half[i]));
#line 129 "src/flux/roe.rs"
work += (x.velocity[i] * moved);
}
#line 131 "src/flux/roe.rs"
const auto internal = (((gas.gamma * (((vl * wl[4]) + (vr * wr[4])))) - (f.diagonal * d_pressure)) - (x.sound2 * first));
#line 132 "src/flux/roe.rs"
const auto energy = (((work + (by_g1 * internal)) + ((((b * bml) + (a * amr))) * x.kinetic)) - (normal_velocity * second));
#line 133 "src/flux/roe.rs"
return array_of(mass, momentum[0], momentum[1], momentum[2], energy);
}

#line 138 "src/flux/roe.rs"
template <class T> __device__ __forceinline__ Array<T, 25> roe_absolute(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n, EntropyFix<T> fix) {
#line 145 "src/flux/roe.rs"
const auto x = roe_average(gas, wl, wr);
#line 146 "src/flux/roe.rs"
const auto part_1_ = x.velocity;
const auto u = part_1_[0];
const auto v = part_1_[1];
const auto s = part_1_[2];
#line 147 "src/flux/roe.rs"
const auto normal_velocity = (((u * n[0]) + (v * n[1])) + (s * n[2]));
#line 148 "src/flux/roe.rs"
const auto factors = rounded_factors(normal_velocity, x.sound2, n, fix);
#line 149 "src/flux/roe.rs"
const auto enthalpy = (quotient(x.sound2, ((gas.gamma - T(1.0)))) + (T(0.5) * ((((u * u) + (v * v)) + (s * s)))));
#line 150 "src/flux/roe.rs"
return wave_matrix(gas, x.velocity, enthalpy, n, normal_velocity, factors);
}

#line 158 "src/flux/roe.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 25>, Array<T, 25>> flux_roe_jacobians(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n, EntropyFix<T> fix) {
#line 165 "src/flux/roe.rs"
const auto absolute = roe_absolute(gas, wl, wr, n, fix);
#line 166 "src/flux/roe.rs"
auto left = flux_jacobian(gas, wl, n);
#line 167 "src/flux/roe.rs"
auto right = flux_jacobian(gas, wr, n);
#line 168 "src/flux/roe.rs"
#pragma unroll
for (int i = 0; i < 25; ++i) {
#line 169 "src/flux/roe.rs"
left[i] = (T(0.5) * ((left[i] + absolute[i])));
#line 170 "src/flux/roe.rs"
right[i] = (T(0.5) * ((right[i] - absolute[i])));
}
#line 172 "src/flux/roe.rs"
return tuple_of(left, right);
}

#line 43 "src/flux/central.rs"
template <class T> __device__ __forceinline__ T pressure_switch(T before, T here, T after) {
#line 44 "src/flux/central.rs"
const auto part_1_ = switch_parts(before, here, after);
const auto bend = part_1_[0];
const auto sum = part_1_[1];
#line 45 "src/flux/central.rs"
return quotient(bend, sum);
}

#line 50 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 2> switch_parts(T before, T here, T after) {
#line 51 "src/flux/central.rs"
const auto sides = (T(0.5) * ((before + after)));
#line 52 "src/flux/central.rs"
return array_of(real_abs(((sides - here))), (sides + here));
}

#line 70 "src/flux/central.rs"
template <class T> __device__ __forceinline__ CentralCell<T> central_cell(Gas<T> gas, const Array<T, 5>& w) {
#line 71 "src/flux/central.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
const auto p = part_1_[4];
#line 72 "src/flux/central.rs"
const auto inverse = quotient(T(1.0), rho);
#line 73 "src/flux/central.rs"
const auto part_2_ = tuple_of((rho * u), (rho * v), (rho * s));
const auto mu = part_2_._0;
const auto mv = part_2_._1;
const auto ms = part_2_._2;
#line 75 "src/flux/central.rs"
const auto share = quotient(gas.gamma, ((gas.gamma - T(1.0))));
#line 76 "src/flux/central.rs"
const auto enthalpy = ((share * p) + (T(0.5) * ((((mu * u) + (mv * v)) + (ms * s)))));
#line 77 "src/flux/central.rs"
return make_CentralCell(array_of(rho, mu, mv, ms, enthalpy), p, inverse, real_sqrt((((gas.gamma * p) * inverse))));
}

#line 88 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 2> weights(const Array<T, 4>& pressure, Dissipation<T> dissipation) {
#line 89 "src/flux/central.rs"
const auto left = switch_parts(pressure[0], pressure[1], pressure[2]);
#line 90 "src/flux/central.rs"
const auto right = switch_parts(pressure[1], pressure[2], pressure[3]);
#line 92 "src/flux/central.rs"
const auto larger = quotient(real_max(((left[0] * right[1])), (right[0] * left[1])), ((left[1] * right[1])));
#line 93 "src/flux/central.rs"
const auto second = (dissipation.second * larger);
#line 94 "src/flux/central.rs"
const auto fourth = real_max(((dissipation.fourth - second)), T(0.0));
#line 95 "src/flux/central.rs"
return array_of((second + (T(3.0) * fourth)), fourth);
}

#line 100 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 5>, Array<T, 2>> central_mean(const CentralCell<T>& b, const CentralCell<T>& c, const Array<T, 3>& half) {
#line 101 "src/flux/central.rs"
const auto vb = (((((b.q[1] * half[0]) + (b.q[2] * half[1])) + (b.q[3] * half[2]))) * b.inverse);
#line 102 "src/flux/central.rs"
const auto vc = (((((c.q[1] * half[0]) + (c.q[2] * half[1])) + (c.q[3] * half[2]))) * c.inverse);
#line 103 "src/flux/central.rs"
auto mean = array_fill<5>(T(0.0));
#line 104 "src/flux/central.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 105 "src/flux/central.rs"
mean[i] = ((b.q[i] * vb) + (c.q[i] * vc));
}
#line 107 "src/flux/central.rs"
const auto pressure = (b.pressure + c.pressure);
#line 108 "src/flux/central.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 3; ++i_2) {
#line 109 "src/flux/central.rs"
mean[(1 + i_2)] += (pressure * half[i_2]);
}
#line 111 "src/flux/central.rs"
return tuple_of(mean, array_of(vb, vc));
}

#line 130 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_scalar_dissipation(Gas<T> gas, const Array<T, 5>& wa, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 5>& wd, const Array<T, 3>& n, Dissipation<T> dissipation) {
#line 139 "src/flux/central.rs"
const auto part_1_ = tuple_of(central_cell(gas, wa), central_cell(gas, wb));
const auto a = part_1_._0;
const auto b = part_1_._1;
#line 140 "src/flux/central.rs"
const auto part_2_ = tuple_of(central_cell(gas, wc), central_cell(gas, wd));
const auto c = part_2_._0;
const auto d = part_2_._1;
#line 141 "src/flux/central.rs"
return scalar_dissipation_of(a, b, c, d, n, dissipation);
}

#line 146 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 5> scalar_dissipation_of(const CentralCell<T>& a, const CentralCell<T>& b, const CentralCell<T>& c, const CentralCell<T>& d, const Array<T, 3>& n, Dissipation<T> dissipation) {
#line 154 "src/flux/central.rs"
const auto half = array_of((T(0.5) * n[0]), (T(0.5) * n[1]), (T(0.5) * n[2]));
#line 155 "src/flux/central.rs"
const auto part_1_ = central_mean(b, c, half);
auto flux_2 = part_1_._0;
const auto speeds = part_1_._1;
#line 156 "src/flux/central.rs"
const auto area = real_sqrt(((((half[0] * half[0]) + (half[1] * half[1])) + (half[2] * half[2]))));
#line 157 "src/flux/central.rs"
const auto radius = ((real_abs(speeds[0]) + real_abs(speeds[1])) + (((b.sound + c.sound)) * area));
#line 158 "src/flux/central.rs"
const auto part_2_ = weights(array_of(a.pressure, b.pressure, c.pressure, d.pressure), dissipation);
const auto near_ = part_2_[0];
const auto far = part_2_[1];
#line 159 "src/flux/central.rs"
const auto part_3_ = tuple_of((radius * near_), (radius * far));
const auto near__2 = part_3_._0;
const auto far_2 = part_3_._1;
#line 160 "src/flux/central.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 161 "src/flux/central.rs"
flux_2[i] = ((flux_2[i] - (near__2 * ((c.q[i] - b.q[i])))) + (far_2 * ((d.q[i] - a.q[i]))));
}
#line 163 "src/flux/central.rs"
return flux_2;
}

#line 171 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_matrix_dissipation(Gas<T> gas, const Array<T, 5>& wa, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 5>& wd, const Array<T, 3>& n, Dissipation<T> dissipation) {
#line 180 "src/flux/central.rs"
const auto part_1_ = tuple_of(central_cell(gas, wa), central_cell(gas, wb));
const auto a = part_1_._0;
const auto b = part_1_._1;
#line 181 "src/flux/central.rs"
const auto part_2_ = tuple_of(central_cell(gas, wc), central_cell(gas, wd));
const auto c = part_2_._0;
const auto d = part_2_._1;
#line 182 "src/flux/central.rs"
return matrix_dissipation_of(gas, a, b, c, d, n, dissipation);
}

#line 187 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 5> matrix_dissipation_of(Gas<T> gas, const CentralCell<T>& a, const CentralCell<T>& b, const CentralCell<T>& c, const CentralCell<T>& d, const Array<T, 3>& n, Dissipation<T> dissipation) {
#line 196 "src/flux/central.rs"
const auto half = array_of((T(0.5) * n[0]), (T(0.5) * n[1]), (T(0.5) * n[2]));
#line 197 "src/flux/central.rs"
const auto part_1_ = central_mean(b, c, half);
const auto flux_2 = part_1_._0;
const auto speeds = part_1_._1;
#line 198 "src/flux/central.rs"
const auto part_2_ = weights(array_of(a.pressure, b.pressure, c.pressure, d.pressure), dissipation);
const auto near_ = part_2_[0];
const auto far = part_2_[1];
#line 199 "src/flux/central.rs"
auto x = array_fill<5>(T(0.0));
#line 200 "src/flux/central.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 201 "src/flux/central.rs"
x[i] = ((near_ * ((c.q[i] - b.q[i]))) - (far * ((d.q[i] - a.q[i]))));
}
#line 204 "src/flux/central.rs"
x[4] = ((near_ * (((c.q[4] - b.q[4]) - ((c.pressure - b.pressure))))) - (far * (((d.q[4] - a.q[4]) - ((d.pressure - a.pressure))))));
#line 206 "src/flux/central.rs"
auto velocity = array_fill<3>(T(0.0));
#line 207 "src/flux/central.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 3; ++i_2) {
#line 208 "src/flux/central.rs"
velocity[i_2] = (T(0.5) * (((b.q[(1 + i_2)] * b.inverse) + (c.q[(1 + i_2)] * c.inverse))));
}
#line 210 "src/flux/central.rs"
const auto part_3_ = velocity;
const auto u = part_3_[0];
const auto v = part_3_[1];
const auto s = part_3_[2];
#line 211 "src/flux/central.rs"
const auto normal_velocity = (speeds[0] + speeds[1]);
#line 212 "src/flux/central.rs"
const auto sound2 = quotient((gas.gamma * ((b.pressure + c.pressure))), ((b.q[0] + c.q[0])));
#line 213 "src/flux/central.rs"
const auto f = floored_factors(normal_velocity, sound2, n, dissipation);
#line 214 "src/flux/central.rs"
const auto g1 = (gas.gamma - T(1.0));
#line 215 "src/flux/central.rs"
const auto kinetic = (T(0.5) * ((((u * u) + (v * v)) + (s * s))));
#line 216 "src/flux/central.rs"
const auto d_pressure = (g1 * (((((x[4] + (kinetic * x[0])) - (u * x[1])) - (v * x[2])) - (s * x[3]))));
#line 217 "src/flux/central.rs"
const auto d_mass = ((((n[0] * x[1]) + (n[1] * x[2])) + (n[2] * x[3])) - (normal_velocity * x[0]));
#line 218 "src/flux/central.rs"
const auto first = ((f.first_by_pressure * d_pressure) + (f.first_by_mass * d_mass));
#line 219 "src/flux/central.rs"
const auto second = ((f.second_by_pressure * d_pressure) + (f.second_by_mass * d_mass));
#line 220 "src/flux/central.rs"
const auto enthalpy = (kinetic + (quotient(T(1.0), g1) * sound2));
#line 221 "src/flux/central.rs"
return array_of(((flux_2[0] - (f.diagonal * x[0])) - first), (((flux_2[1] - (f.diagonal * x[1])) - (u * first)) - (n[0] * second)), (((flux_2[2] - (f.diagonal * x[2])) - (v * first)) - (n[1] * second)), (((flux_2[3] - (f.diagonal * x[3])) - (s * first)) - (n[2] * second)), (((flux_2[4] - (f.diagonal * x[4])) - (enthalpy * first)) - (normal_velocity * second)));
}

#line 233 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 25> dissipation_matrix(Gas<T> gas, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 3>& n, Dissipation<T> dissipation) {
#line 240 "src/flux/central.rs"
auto velocity = array_fill<3>(T(0.0));
#line 241 "src/flux/central.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 242 "src/flux/central.rs"
velocity[i] = (T(0.5) * ((wb[(1 + i)] + wc[(1 + i)])));
}
#line 244 "src/flux/central.rs"
const auto part_1_ = velocity;
const auto u = part_1_[0];
const auto v = part_1_[1];
const auto s = part_1_[2];
#line 245 "src/flux/central.rs"
const auto normal_velocity = (((u * n[0]) + (v * n[1])) + (s * n[2]));
#line 246 "src/flux/central.rs"
const auto sound2 = quotient((gas.gamma * ((wb[4] + wc[4]))), ((wb[0] + wc[0])));
#line 247 "src/flux/central.rs"
const auto factors = floored_factors(normal_velocity, sound2, n, dissipation);
#line 248 "src/flux/central.rs"
const auto enthalpy = ((T(0.5) * ((((u * u) + (v * v)) + (s * s)))) + quotient(sound2, ((gas.gamma - T(1.0)))));
#line 249 "src/flux/central.rs"
return wave_matrix(gas, velocity, enthalpy, n, normal_velocity, factors);
}

#line 254 "src/flux/central.rs"
template <class T> __device__ __forceinline__ WaveFactors<T> floored_factors(T normal_velocity, T sound2, const Array<T, 3>& n, Dissipation<T> dissipation) {
#line 260 "src/flux/central.rs"
auto x = wave_speeds(normal_velocity, sound2, n);
#line 261 "src/flux/central.rs"
x.slow = real_max(x.slow, (dissipation.acoustic * x.fast));
#line 262 "src/flux/central.rs"
x.middle = real_max(x.middle, (dissipation.convective * x.fast));
#line 263 "src/flux/central.rs"
return absolute_factors(x);
}

#line 272 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 2> extrapolate_muscl(T before, T here, T after, T kappa, T limited) {
#line 273 "src/flux/central.rs"
const auto part_1_ = tuple_of((here - before), (after - here));
const auto back = part_1_._0;
const auto ahead = part_1_._1;
#line 274 "src/flux/central.rs"
const auto part_2_ = tuple_of((after - before), (ahead - back));
const auto slope = part_2_._0;
const auto bend = part_2_._1;
#line 276 "src/flux/central.rs"
const auto tiny = (((T(1e-12) * here) * here) + T(1e-20));
#line 277 "src/flux/central.rs"
const auto product = (((T(2.0) * back) * ahead) + tiny);
#line 279 "src/flux/central.rs"
const auto s = real_max((quotient(product, (((bend * bend) + product)))), (T(1.0) - limited));
#line 280 "src/flux/central.rs"
const auto part_3_ = tuple_of((T(0.25) * s), ((kappa * s) * bend));
const auto quarter = part_3_._0;
const auto bend_2 = part_3_._1;
#line 281 "src/flux/central.rs"
return array_of((here - (quarter * ((slope - bend_2)))), (here + (quarter * ((slope + bend_2)))));
}

#line 287 "src/flux/central.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_roe_muscl(Gas<T> gas, const Array<T, 5>& wa, const Array<T, 5>& wb, const Array<T, 5>& wc, const Array<T, 5>& wd, const Array<T, 3>& n, T kappa, T limited, EntropyFix<T> fix) {
#line 298 "src/flux/central.rs"
auto left = array_fill<5>(T(0.0));
#line 299 "src/flux/central.rs"
auto right = array_fill<5>(T(0.0));
#line 300 "src/flux/central.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 301 "src/flux/central.rs"
left[i] = extrapolate_muscl(wa[i], wb[i], wc[i], kappa, limited)[1];
#line 302 "src/flux/central.rs"
right[i] = extrapolate_muscl(wb[i], wc[i], wd[i], kappa, limited)[0];
}
#line 304 "src/flux/central.rs"
return flux_roe(gas, left, right, n, fix);
}

#line 18 "src/flux/hllc.rs"
template <class T> __device__ __forceinline__ HllcWaves<T> hllc_waves(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& normal) {
#line 19 "src/flux/hllc.rs"
const auto root = real_sqrt((quotient(wr[0], wl[0])));
#line 20 "src/flux/hllc.rs"
const auto a = quotient(T(1.0), ((T(1.0) + root)));
#line 21 "src/flux/hllc.rs"
const auto b = (root * a);
#line 22 "src/flux/hllc.rs"
const auto u = ((a * wl[1]) + (b * wr[1]));
#line 23 "src/flux/hllc.rs"
const auto v = ((a * wl[2]) + (b * wr[2]));
#line 24 "src/flux/hllc.rs"
const auto s = ((a * wl[3]) + (b * wr[3]));
#line 25 "src/flux/hllc.rs"
const auto enthalpy = ((a * total_enthalpy(gas, wl)) + (b * total_enthalpy(gas, wr)));
#line 26 "src/flux/hllc.rs"
const auto sound = real_sqrt(((((gas.gamma - T(1.0))) * ((enthalpy - (T(0.5) * ((((u * u) + (v * v)) + (s * s)))))))));
#line 27 "src/flux/hllc.rs"
const auto mean = (((u * normal[0]) + (v * normal[1])) + (s * normal[2]));
#line 28 "src/flux/hllc.rs"
const auto left = (((wl[1] * normal[0]) + (wl[2] * normal[1])) + (wl[3] * normal[2]));
#line 29 "src/flux/hllc.rs"
const auto right = (((wr[1] * normal[0]) + (wr[2] * normal[1])) + (wr[3] * normal[2]));
#line 30 "src/flux/hllc.rs"
return make_HllcWaves(real_min(((left - sound_speed(gas, wl))), (mean - sound)), real_max(((right + sound_speed(gas, wr))), (mean + sound)));
}

#line 41 "src/flux/hllc.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_hllc(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n) {
#line 42 "src/flux/hllc.rs"
const auto area = real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300));
#line 43 "src/flux/hllc.rs"
const auto inverse = quotient(T(1.0), area);
#line 44 "src/flux/hllc.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 45 "src/flux/hllc.rs"
const auto waves = hllc_waves(gas, wl, wr, normal);
#line 46 "src/flux/hllc.rs"
const auto unit = hllc_between(gas, wl, wr, normal, waves);
#line 47 "src/flux/hllc.rs"
auto out = array_fill<5>(T(0.0));
#line 48 "src/flux/hllc.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 49 "src/flux/hllc.rs"
out[i] = (area * unit[i]);
}
#line 51 "src/flux/hllc.rs"
return out;
}

#line 56 "src/flux/hllc.rs"
template <class T> __device__ __forceinline__ Array<T, 5> hllc_between(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& normal, HllcWaves<T> waves) {
#line 63 "src/flux/hllc.rs"
const auto left = (((wl[1] * normal[0]) + (wl[2] * normal[1])) + (wl[3] * normal[2]));
#line 64 "src/flux/hllc.rs"
const auto right = (((wr[1] * normal[0]) + (wr[2] * normal[1])) + (wr[3] * normal[2]));
#line 65 "src/flux/hllc.rs"
const auto ml = (wl[0] * ((waves.slow - left)));
#line 66 "src/flux/hllc.rs"
const auto mr = (wr[0] * ((waves.fast - right)));
#line 67 "src/flux/hllc.rs"
const auto contact = quotient(((((wr[4] - wl[4]) + (left * ml)) - (right * mr))), ((ml - mr)));
#line 69 "src/flux/hllc.rs"
const auto is_left = (contact >= T(0.0));
#line 70 "src/flux/hllc.rs"
auto w = wr;
#line 71 "src/flux/hllc.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 72 "src/flux/hllc.rs"
w[i] = select<T>(is_left, wl[i], wr[i]);
}
#line 74 "src/flux/hllc.rs"
const auto speed = select<T>(is_left, waves.slow, waves.fast);
#line 75 "src/flux/hllc.rs"
const auto factor = select<T>(is_left, real_min(waves.slow, T(0.0)), real_max(waves.fast, T(0.0)));
#line 76 "src/flux/hllc.rs"
const auto v = select<T>(is_left, left, right);
#line 77 "src/flux/hllc.rs"
const auto q = conserved(gas, w);
#line 78 "src/flux/hllc.rs"
const auto f = flux(gas, w, normal);
#line 79 "src/flux/hllc.rs"
const auto jump = (contact - v);
#line 80 "src/flux/hllc.rs"
const auto mass = quotient((w[0] * ((speed - v))), ((speed - contact)));
#line 81 "src/flux/hllc.rs"
const auto star = array_of(mass, (mass * ((w[1] + (jump * normal[0])))), (mass * ((w[2] + (jump * normal[1])))), (mass * ((w[3] + (jump * normal[2])))), (mass * ((quotient(q[4], w[0]) + (jump * ((contact + quotient(w[4], ((w[0] * ((speed - v))))))))))));
#line 88 "src/flux/hllc.rs"
auto out = array_fill<5>(T(0.0));
#line 89 "src/flux/hllc.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 5; ++i_2) {
#line 90 "src/flux/hllc.rs"
out[i_2] = (f[i_2] + (factor * ((star[i_2] - q[i_2]))));
}
#line 92 "src/flux/hllc.rs"
return out;
}

#line 101 "src/flux/hllc.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 25>, Array<T, 25>> flux_hllc_jacobians(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n) {
#line 102 "src/flux/hllc.rs"
const auto zero = T(0.0);
#line 103 "src/flux/hllc.rs"
const auto one = T(1.0);
#line 104 "src/flux/hllc.rs"
const auto area = real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300));
#line 105 "src/flux/hllc.rs"
const auto inverse = quotient(one, area);
#line 106 "src/flux/hllc.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 107 "src/flux/hllc.rs"
const auto waves = hllc_waves(gas, wl, wr, normal);
#line 108 "src/flux/hllc.rs"
const auto left = (((wl[1] * normal[0]) + (wl[2] * normal[1])) + (wl[3] * normal[2]));
#line 109 "src/flux/hllc.rs"
const auto right = (((wr[1] * normal[0]) + (wr[2] * normal[1])) + (wr[3] * normal[2]));
#line 110 "src/flux/hllc.rs"
const auto al = (waves.slow - left);
#line 111 "src/flux/hllc.rs"
const auto ar = (waves.fast - right);
#line 112 "src/flux/hllc.rs"
const auto below = quotient(one, (((wl[0] * al) - (wr[0] * ar))));
#line 113 "src/flux/hllc.rs"
const auto contact = (((((wr[4] - wl[4]) + ((left * wl[0]) * al)) - ((right * wr[0]) * ar))) * below);
#line 115 "src/flux/hllc.rs"
const auto is_left = (contact >= zero);
#line 116 "src/flux/hllc.rs"
auto own = wr;
#line 117 "src/flux/hllc.rs"
auto other = wl;
#line 118 "src/flux/hllc.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 119 "src/flux/hllc.rs"
own[i] = select<T>(is_left, wl[i], wr[i]);
#line 120 "src/flux/hllc.rs"
other[i] = select<T>(is_left, wr[i], wl[i]);
}
#line 122 "src/flux/hllc.rs"
const auto speed = select<T>(is_left, waves.slow, waves.fast);
#line 123 "src/flux/hllc.rs"
const auto factor = (area * select<T>(is_left, real_min(waves.slow, zero), real_max(waves.fast, zero)));
#line 124 "src/flux/hllc.rs"
const auto own_v = select<T>(is_left, left, right);
#line 125 "src/flux/hllc.rs"
const auto other_v = select<T>(is_left, right, left);
#line 126 "src/flux/hllc.rs"
const auto own_a = select<T>(is_left, al, ar);
#line 127 "src/flux/hllc.rs"
const auto other_a = select<T>(is_left, ar, al);
#line 129 "src/flux/hllc.rs"
const auto own_side = select<T>(is_left, below, (-below));
#line 130 "src/flux/hllc.rs"
const auto contact_by_own = array_of(((own_side * own_a) * ((own_v - contact))), ((own_side * own[0]) * (((own_a - own_v) + contact))), (-own_side));
#line 132 "src/flux/hllc.rs"
const auto contact_by_other = array_of((((-own_side) * other_a) * ((other_v - contact))), (((-own_side) * other[0]) * (((other_a - other_v) + contact))), own_side);
#line 137 "src/flux/hllc.rs"
const auto part_1_ = own;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
const auto p = part_1_[4];
#line 138 "src/flux/hllc.rs"
const auto velocity = array_of(u, v, s);
#line 139 "src/flux/hllc.rs"
const auto jump = (contact - own_v);
#line 140 "src/flux/hllc.rs"
const auto b = quotient(one, ((speed - contact)));
#line 141 "src/flux/hllc.rs"
const auto alpha = (own_a * b);
#line 142 "src/flux/hllc.rs"
const auto mass = (rho * alpha);
#line 143 "src/flux/hllc.rs"
const auto ratio = quotient(p, own_a);
#line 144 "src/flux/hllc.rs"
const auto kinetic = (T(0.5) * ((((u * u) + (v * v)) + (s * s))));
#line 145 "src/flux/hllc.rs"
const auto by_g1 = quotient(one, ((gas.gamma - one)));
#line 147 "src/flux/hllc.rs"
const auto star = array_of(rho, (rho * ((u + (jump * normal[0])))), (rho * ((v + (jump * normal[1])))), (rho * ((s + (jump * normal[2])))), (((p * by_g1) + (rho * kinetic)) + (jump * (((rho * contact) + ratio)))));
#line 154 "src/flux/hllc.rs"
const auto by_contact = array_of(((alpha * b) * star[0]), (((alpha * b) * star[1]) + (mass * normal[0])), (((alpha * b) * star[2]) + (mass * normal[1])), (((alpha * b) * star[3]) + (mass * normal[2])), (((alpha * b) * star[4]) + (alpha * ((((rho * contact) + ratio) + (rho * jump))))));
#line 161 "src/flux/hllc.rs"
auto own_block = array_fill<25>(zero);
#line 162 "src/flux/hllc.rs"
auto other_block = array_fill<25>(zero);
#line 163 "src/flux/hllc.rs"
#pragma unroll
for (int r = 0; r < 5; ++r) {
#line 164 "src/flux/hllc.rs"
own_block[r] = (by_contact[r] * contact_by_own[0]);
#line 165 "src/flux/hllc.rs"
own_block[(20 + r)] = (by_contact[r] * contact_by_own[2]);
#line 166 "src/flux/hllc.rs"
other_block[r] = (by_contact[r] * contact_by_other[0]);
#line 167 "src/flux/hllc.rs"
other_block[(20 + r)] = (by_contact[r] * contact_by_other[2]);
#line 168 "src/flux/hllc.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 169 "src/flux/hllc.rs"
own_block[(((5 * k) + 5) + r)] = ((((by_contact[r] * contact_by_own[1]) - (b * star[r]))) * normal[k]);
#line 170 "src/flux/hllc.rs"
other_block[(((5 * k) + 5) + r)] = ((by_contact[r] * contact_by_other[1]) * normal[k]);
}
}
#line 173 "src/flux/hllc.rs"
own_block[0] += alpha;
#line 174 "src/flux/hllc.rs"
#pragma unroll
for (int k_2 = 0; k_2 < 3; ++k_2) {
#line 175 "src/flux/hllc.rs"
own_block[(1 + k_2)] += (alpha * ((velocity[k_2] + (jump * normal[k_2]))));
#line 176 "src/flux/hllc.rs"
own_block[((6 * k_2) + 6)] += mass;
#line 177 "src/flux/hllc.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 3; ++i_2) {
#line 178 "src/flux/hllc.rs"
own_block[(((5 * k_2) + 6) + i_2)] -= ((mass * normal[i_2]) * normal[k_2]);
}
#line 180 "src/flux/hllc.rs"
own_block[((5 * k_2) + 9)] += (alpha * (((rho * velocity[k_2]) + (normal[k_2] * (((quotient((jump * ratio), own_a) - (rho * contact)) - ratio))))));
}
#line 183 "src/flux/hllc.rs"
own_block[4] += (alpha * ((kinetic + (jump * contact))));
#line 184 "src/flux/hllc.rs"
own_block[24] += (alpha * ((by_g1 + quotient(jump, own_a))));
#line 185 "src/flux/hllc.rs"
auto own_q = by_conserved(gas, own, own_block);
#line 186 "src/flux/hllc.rs"
auto other_q = by_conserved(gas, other, other_block);
#line 187 "src/flux/hllc.rs"
#pragma unroll
for (int i_3 = 0; i_3 < 5; ++i_3) {
#line 188 "src/flux/hllc.rs"
own_q[(i_3 * 6)] -= one;
}
#line 190 "src/flux/hllc.rs"
const auto own_flux = flux_jacobian(gas, own, n);
#line 191 "src/flux/hllc.rs"
auto by_left = array_fill<25>(zero);
#line 192 "src/flux/hllc.rs"
auto by_right = array_fill<25>(zero);
#line 193 "src/flux/hllc.rs"
#pragma unroll
for (int i_4 = 0; i_4 < 25; ++i_4) {
#line 194 "src/flux/hllc.rs"
own_q[i_4] = (own_flux[i_4] + (factor * own_q[i_4]));
#line 195 "src/flux/hllc.rs"
other_q[i_4] *= factor;
#line 196 "src/flux/hllc.rs"
by_left[i_4] = select<T>(is_left, own_q[i_4], other_q[i_4]);
#line 197 "src/flux/hllc.rs"
by_right[i_4] = select<T>(is_left, other_q[i_4], own_q[i_4]);
}
#line 199 "src/flux/hllc.rs"
return tuple_of(by_left, by_right);
}

#line 18 "src/flux/van_leer.rs"
template <class T> __device__ __forceinline__ Array<T, 5> van_leer_split(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n, T sign) {
#line 19 "src/flux/van_leer.rs"
const auto area = real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300));
#line 20 "src/flux/van_leer.rs"
const auto inverse = quotient(T(1.0), area);
#line 21 "src/flux/van_leer.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 22 "src/flux/van_leer.rs"
const auto c = sound_speed(gas, w);
#line 23 "src/flux/van_leer.rs"
const auto normal_velocity = (((((u * n[0]) + (v * n[1])) + (s * n[2]))) * inverse);
#line 24 "src/flux/van_leer.rs"
const auto x = (normal_velocity + (sign * c));
#line 25 "src/flux/van_leer.rs"
const auto mass = quotient(((((area * sign) * rho) * x) * x), ((T(4.0) * c)));
#line 26 "src/flux/van_leer.rs"
const auto push = quotient((((((T(2.0) * sign) * c) - normal_velocity)) * inverse), gas.gamma);
#line 27 "src/flux/van_leer.rs"
const auto e = ((((gas.gamma - T(1.0))) * normal_velocity) + ((T(2.0) * sign) * c));
#line 28 "src/flux/van_leer.rs"
const auto energy = (quotient((e * e), ((T(2.0) * (((gas.gamma * gas.gamma) - T(1.0)))))) + (T(0.5) * (((((u * u) + (v * v)) + (s * s)) - (normal_velocity * normal_velocity)))));
#line 30 "src/flux/van_leer.rs"
const auto mixed = array_of(mass, (mass * ((u + (n[0] * push)))), (mass * ((v + (n[1] * push)))), (mass * ((s + (n[2] * push)))), (mass * energy));
#line 32 "src/flux/van_leer.rs"
const auto whole = flux(gas, w, n);
#line 33 "src/flux/van_leer.rs"
const auto all = (((sign * normal_velocity)) >= c);
#line 34 "src/flux/van_leer.rs"
const auto nothing = (((sign * normal_velocity)) <= (-c));
#line 35 "src/flux/van_leer.rs"
auto out = array_fill<5>(T(0.0));
#line 36 "src/flux/van_leer.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 37 "src/flux/van_leer.rs"
out[i] = select<T>(all, whole[i], select<T>(nothing, T(0.0), mixed[i]));
}
#line 39 "src/flux/van_leer.rs"
return out;
}

#line 44 "src/flux/van_leer.rs"
template <class T> __device__ __forceinline__ Array<T, 25> van_leer_split_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n, T sign) {
#line 45 "src/flux/van_leer.rs"
const auto zero = T(0.0);
#line 46 "src/flux/van_leer.rs"
const auto one = T(1.0);
#line 47 "src/flux/van_leer.rs"
const auto two = T(2.0);
#line 48 "src/flux/van_leer.rs"
const auto area = real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300));
#line 49 "src/flux/van_leer.rs"
const auto inverse = quotient(one, area);
#line 50 "src/flux/van_leer.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 51 "src/flux/van_leer.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
const auto p = part_1_[4];
#line 52 "src/flux/van_leer.rs"
const auto velocity = array_of(u, v, s);
#line 53 "src/flux/van_leer.rs"
const auto c = sound_speed(gas, w);
#line 54 "src/flux/van_leer.rs"
const auto by_c = quotient(one, c);
#line 55 "src/flux/van_leer.rs"
const auto normal_velocity = (((u * normal[0]) + (v * normal[1])) + (s * normal[2]));
#line 56 "src/flux/van_leer.rs"
const auto x = (normal_velocity + (sign * c));
#line 58 "src/flux/van_leer.rs"
const auto mass_by_rho = (((((area * sign) * x) * x) * T(0.25)) * by_c);
#line 59 "src/flux/van_leer.rs"
const auto mass = (mass_by_rho * rho);
#line 60 "src/flux/van_leer.rs"
const auto mass_by_v = (((((area * sign) * rho) * x) * T(0.5)) * by_c);
#line 61 "src/flux/van_leer.rs"
const auto mass_by_c = (((T(0.5) * mass_by_v) * (((sign * c) - normal_velocity))) * by_c);
#line 63 "src/flux/van_leer.rs"
const auto by_gamma = quotient(one, gas.gamma);
#line 64 "src/flux/van_leer.rs"
const auto push = (((((two * sign) * c) - normal_velocity)) * by_gamma);
#line 65 "src/flux/van_leer.rs"
const auto e = ((((gas.gamma - one)) * normal_velocity) + ((two * sign) * c));
#line 66 "src/flux/van_leer.rs"
const auto by_g2 = quotient(one, (((gas.gamma * gas.gamma) - one)));
#line 67 "src/flux/van_leer.rs"
const auto energy = (T(0.5) * (((((((e * e) * by_g2) + (u * u)) + (v * v)) + (s * s)) - (normal_velocity * normal_velocity))));
#line 68 "src/flux/van_leer.rs"
const auto carried = array_of(one, (u + (normal[0] * push)), (v + (normal[1] * push)), (s + (normal[2] * push)), energy);
#line 69 "src/flux/van_leer.rs"
const auto energy_by_v = (quotient(e, ((gas.gamma + one))) - normal_velocity);
#line 70 "src/flux/van_leer.rs"
const auto by_sound = array_of(zero, (((two * sign) * by_gamma) * normal[0]), (((two * sign) * by_gamma) * normal[1]), (((two * sign) * by_gamma) * normal[2]), (((two * sign) * e) * by_g2));
#line 78 "src/flux/van_leer.rs"
const auto c_by_rho = quotient(((-T(0.5)) * c), rho);
#line 79 "src/flux/van_leer.rs"
const auto c_by_p = quotient((T(0.5) * c), p);
#line 80 "src/flux/van_leer.rs"
auto mixed = array_fill<25>(zero);
#line 81 "src/flux/van_leer.rs"
#pragma unroll
for (int r = 0; r < 5; ++r) {
#line 82 "src/flux/van_leer.rs"
const auto by_c_2 = ((mass_by_c * carried[r]) + (mass * by_sound[r]));
#line 83 "src/flux/van_leer.rs"
mixed[r] = ((mass_by_rho * carried[r]) + (by_c_2 * c_by_rho));
#line 84 "src/flux/van_leer.rs"
mixed[(20 + r)] = (by_c_2 * c_by_p);
#line 85 "src/flux/van_leer.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 86 "src/flux/van_leer.rs"
mixed[(((5 * k) + 5) + r)] = ((mass_by_v * normal[k]) * carried[r]);
}
}
#line 89 "src/flux/van_leer.rs"
#pragma unroll
for (int k_2 = 0; k_2 < 3; ++k_2) {
#line 90 "src/flux/van_leer.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 91 "src/flux/van_leer.rs"
mixed[(((5 * k_2) + 6) + i)] -= (((mass * by_gamma) * normal[i]) * normal[k_2]);
}
#line 93 "src/flux/van_leer.rs"
mixed[((6 * k_2) + 6)] += mass;
#line 94 "src/flux/van_leer.rs"
mixed[((5 * k_2) + 9)] += (mass * ((velocity[k_2] + (energy_by_v * normal[k_2]))));
}
#line 96 "src/flux/van_leer.rs"
const auto mixed_2 = by_conserved(gas, w, mixed);
#line 97 "src/flux/van_leer.rs"
const auto whole = flux_jacobian(gas, w, n);
#line 98 "src/flux/van_leer.rs"
const auto all = (((sign * normal_velocity)) >= c);
#line 99 "src/flux/van_leer.rs"
const auto nothing = (((sign * normal_velocity)) <= (-c));
#line 100 "src/flux/van_leer.rs"
auto out = array_fill<25>(zero);
#line 101 "src/flux/van_leer.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 25; ++i_2) {
#line 102 "src/flux/van_leer.rs"
out[i_2] = select<T>(all, whole[i_2], select<T>(nothing, zero, mixed_2[i_2]));
}
#line 104 "src/flux/van_leer.rs"
return out;
}

#line 109 "src/flux/van_leer.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_van_leer(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n) {
#line 110 "src/flux/van_leer.rs"
auto out = van_leer_split(gas, wl, n, T(1.0));
#line 111 "src/flux/van_leer.rs"
const auto right = van_leer_split(gas, wr, n, T((-1.0)));
#line 112 "src/flux/van_leer.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 113 "src/flux/van_leer.rs"
out[i] += right[i];
}
#line 115 "src/flux/van_leer.rs"
return out;
}

#line 122 "src/flux/van_leer.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 25>, Array<T, 25>> flux_van_leer_jacobians(Gas<T> gas, const Array<T, 5>& wl, const Array<T, 5>& wr, const Array<T, 3>& n) {
#line 128 "src/flux/van_leer.rs"
const auto left = van_leer_split_jacobian(gas, wl, n, T(1.0));
#line 129 "src/flux/van_leer.rs"
const auto right = van_leer_split_jacobian(gas, wr, n, T((-1.0)));
#line 130 "src/flux/van_leer.rs"
return tuple_of(left, right);
}

#line 28 "src/bc/mod.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_through(Gas<T> gas, const Array<T, 5>& wb, const Array<T, 3>& n) {
#line 29 "src/bc/mod.rs"
return flux(gas, wb, n);
}

#line 36 "src/bc/mod.rs"
template <class T> __device__ __forceinline__ Array<T, 25> flux_through_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 5>& wb, const Array<T, 25>& dwb_dw, const Array<T, 3>& n) {
#line 43 "src/bc/mod.rs"
const auto dqb_dw = from_primitive_block(gas, wb, dwb_dw);
#line 44 "src/bc/mod.rs"
const auto df_dw = multiply(flux_jacobian(gas, wb, n), dqb_dw);
#line 45 "src/bc/mod.rs"
return by_conserved(gas, w, df_dw);
}

#line 24 "src/bc/farfield.rs"
template <class T> __device__ __forceinline__ Array<T, 5> bc_farfield(Gas<T> gas, const Array<T, 5>& w, const Array<T, 5>& free, const Array<T, 3>& n) {
#line 25 "src/bc/farfield.rs"
const auto inverse = quotient(T(1.0), real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300)));
#line 26 "src/bc/farfield.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 27 "src/bc/farfield.rs"
const auto g1 = (gas.gamma - T(1.0));
#line 28 "src/bc/farfield.rs"
const auto ci = sound_speed(gas, w);
#line 29 "src/bc/farfield.rs"
const auto co = sound_speed(gas, free);
#line 30 "src/bc/farfield.rs"
const auto vi = (((w[1] * normal[0]) + (w[2] * normal[1])) + (w[3] * normal[2]));
#line 31 "src/bc/farfield.rs"
const auto vo = (((free[1] * normal[0]) + (free[2] * normal[1])) + (free[3] * normal[2]));
#line 32 "src/bc/farfield.rs"
const auto two = quotient(T(2.0), g1);
#line 34 "src/bc/farfield.rs"
const auto plus = select<T>((((-vo)) < co), (vi + (two * ci)), (vo + (two * co)));
#line 35 "src/bc/farfield.rs"
const auto minus = select<T>((vi < ci), (vo - (two * co)), (vi - (two * ci)));
#line 36 "src/bc/farfield.rs"
const auto vb = (T(0.5) * ((plus + minus)));
#line 37 "src/bc/farfield.rs"
const auto cb = ((T(0.25) * g1) * ((plus - minus)));
#line 38 "src/bc/farfield.rs"
const auto out = (vb > T(0.0));
#line 40 "src/bc/farfield.rs"
const auto vu = select<T>(out, vi, vo);
#line 41 "src/bc/farfield.rs"
const auto cu = select<T>(out, ci, co);
#line 42 "src/bc/farfield.rs"
const auto rho = (select<T>(out, w[0], free[0]) * real_powf((quotient((cb * cb), ((cu * cu)))), quotient(T(1.0), g1)));
#line 43 "src/bc/farfield.rs"
const auto change = (vb - vu);
#line 44 "src/bc/farfield.rs"
return array_of(rho, (select<T>(out, w[1], free[1]) + (change * normal[0])), (select<T>(out, w[2], free[2]) + (change * normal[1])), (select<T>(out, w[3], free[3]) + (change * normal[2])), quotient(((rho * cb) * cb), gas.gamma));
}

#line 55 "src/bc/farfield.rs"
template <class T> __device__ __forceinline__ Array<T, 25> bc_farfield_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 5>& free, const Array<T, 3>& n) {
#line 56 "src/bc/farfield.rs"
const auto zero = T(0.0);
#line 57 "src/bc/farfield.rs"
const auto one = T(1.0);
#line 58 "src/bc/farfield.rs"
const auto inverse = quotient(one, real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300)));
#line 59 "src/bc/farfield.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 60 "src/bc/farfield.rs"
const auto g1 = (gas.gamma - one);
#line 61 "src/bc/farfield.rs"
const auto ci = sound_speed(gas, w);
#line 62 "src/bc/farfield.rs"
const auto co = sound_speed(gas, free);
#line 63 "src/bc/farfield.rs"
const auto vi = (((w[1] * normal[0]) + (w[2] * normal[1])) + (w[3] * normal[2]));
#line 64 "src/bc/farfield.rs"
const auto vo = (((free[1] * normal[0]) + (free[2] * normal[1])) + (free[3] * normal[2]));
#line 65 "src/bc/farfield.rs"
const auto two = quotient(T(2.0), g1);
#line 66 "src/bc/farfield.rs"
const auto subsonic_in = (((-vo)) < co);
#line 67 "src/bc/farfield.rs"
const auto subsonic_out = (vi < ci);
#line 68 "src/bc/farfield.rs"
const auto plus = select<T>(subsonic_in, (vi + (two * ci)), (vo + (two * co)));
#line 69 "src/bc/farfield.rs"
const auto minus = select<T>(subsonic_out, (vo - (two * co)), (vi - (two * ci)));
#line 70 "src/bc/farfield.rs"
const auto vb = (T(0.5) * ((plus + minus)));
#line 71 "src/bc/farfield.rs"
const auto cb = ((T(0.25) * g1) * ((plus - minus)));
#line 72 "src/bc/farfield.rs"
const auto out = (vb > zero);
#line 73 "src/bc/farfield.rs"
const auto cu = select<T>(out, ci, co);
#line 74 "src/bc/farfield.rs"
const auto rho = (select<T>(out, w[0], free[0]) * real_powf((quotient((cb * cb), ((cu * cu)))), quotient(one, g1)));
#line 76 "src/bc/farfield.rs"
const auto in_plus = select<T>(subsonic_in, one, zero);
#line 77 "src/bc/farfield.rs"
const auto in_minus = select<T>(subsonic_out, zero, one);
#line 78 "src/bc/farfield.rs"
const auto in_state = select<T>(out, one, zero);
#line 79 "src/bc/farfield.rs"
auto block = array_fill<25>(zero);
#line 80 "src/bc/farfield.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 82 "src/bc/farfield.rs"
const auto d_rho = ((c == 0) ? one : zero);
#line 83 "src/bc/farfield.rs"
const auto d_vi = ((c == 1) ? normal[0] : ((c == 2) ? normal[1] : ((c == 3) ? normal[2] : zero)));
#line 92 "src/bc/farfield.rs"
const auto d_ci = ((c == 0) ? quotient(((-T(0.5)) * ci), w[0]) : ((c == 4) ? quotient((T(0.5) * ci), w[4]) : zero));
#line 99 "src/bc/farfield.rs"
const auto d_plus = (in_plus * ((d_vi + (two * d_ci))));
#line 100 "src/bc/farfield.rs"
const auto d_minus = (in_minus * ((d_vi - (two * d_ci))));
#line 101 "src/bc/farfield.rs"
const auto d_vb = (T(0.5) * ((d_plus + d_minus)));
#line 102 "src/bc/farfield.rs"
const auto d_cb = ((T(0.25) * g1) * ((d_plus - d_minus)));
#line 104 "src/bc/farfield.rs"
const auto d_rhob = (rho * (((in_state * ((quotient(d_rho, w[0]) - quotient((two * d_ci), ci)))) + quotient((two * d_cb), cb))));
#line 105 "src/bc/farfield.rs"
const auto change = (d_vb - (in_state * d_vi));
#line 106 "src/bc/farfield.rs"
block[(c * 5)] = d_rhob;
#line 107 "src/bc/farfield.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 108 "src/bc/farfield.rs"
const auto own = ((c == (k + 1)) ? in_state : zero);
#line 109 "src/bc/farfield.rs"
block[(((c * 5) + 1) + k)] = (own + (change * normal[k]));
}
#line 111 "src/bc/farfield.rs"
block[((c * 5) + 4)] = quotient(((((d_rhob * cb) * cb) + (((T(2.0) * rho) * cb) * d_cb))), gas.gamma);
}
#line 113 "src/bc/farfield.rs"
return block;
}

#line 51 "src/bc/open.rs"
template <class T> __device__ __forceinline__ InletState<T> inlet_state(Gas<T> gas, const Array<T, 5>& w, Inlet<T> inlet, const Array<T, 3>& n) {
#line 52 "src/bc/open.rs"
const auto zero = T(0.0);
#line 53 "src/bc/open.rs"
const auto one = T(1.0);
#line 54 "src/bc/open.rs"
const auto two = T(2.0);
#line 55 "src/bc/open.rs"
const auto inverse = quotient(one, real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300)));
#line 56 "src/bc/open.rs"
const auto g1 = (gas.gamma - one);
#line 57 "src/bc/open.rs"
const auto k = quotient(two, g1);
#line 58 "src/bc/open.rs"
const auto d = inlet.direction;
#line 59 "src/bc/open.rs"
const auto m = real_min(((((((d[0] * n[0]) + (d[1] * n[1])) + (d[2] * n[2]))) * inverse)), T((-0.1)));
#line 60 "src/bc/open.rs"
const auto v = (((((w[1] * n[0]) + (w[2] * n[1])) + (w[3] * n[2]))) * inverse);
#line 61 "src/bc/open.rs"
const auto invariant = (v + (k * sound_speed(gas, w)));
#line 62 "src/bc/open.rs"
const auto c02 = inlet.total_temperature;
#line 63 "src/bc/open.rs"
const auto a = ((m * m) + k);
#line 64 "src/bc/open.rs"
const auto rest = (quotient((invariant * invariant), k) - ((c02 * m) * m));
#line 65 "src/bc/open.rs"
const auto root = real_sqrt(real_max((((invariant * invariant) - (a * rest))), T(1e-12)));
#line 66 "src/bc/open.rs"
const auto c = quotient(((invariant + root)), a);
#line 67 "src/bc/open.rs"
const auto c_slope = quotient(((one + quotient(((invariant - quotient((a * invariant), k))), root))), a);
#line 69 "src/bc/open.rs"
const auto inflow = (((invariant - (k * c))) < zero);
#line 70 "src/bc/open.rs"
const auto speed = select<T>(inflow, quotient(((invariant - (k * c))), m), zero);
#line 71 "src/bc/open.rs"
const auto speed_slope = select<T>(inflow, quotient(((one - (k * c_slope))), m), zero);
#line 72 "src/bc/open.rs"
const auto c_2 = select<T>(inflow, c, real_sqrt(c02));
#line 73 "src/bc/open.rs"
const auto c_slope_2 = select<T>(inflow, c_slope, zero);
#line 74 "src/bc/open.rs"
const auto c2 = (c_2 * c_2);
#line 75 "src/bc/open.rs"
const auto p = (inlet.total_pressure * real_powf((quotient(c2, c02)), quotient(gas.gamma, g1)));
#line 76 "src/bc/open.rs"
const auto rho = quotient((gas.gamma * p), c2);
#line 77 "src/bc/open.rs"
const auto log_c = quotient((two * c_slope_2), c_2);
#line 78 "src/bc/open.rs"
const auto p_slope = (quotient((p * gas.gamma), g1) * log_c);
#line 79 "src/bc/open.rs"
return make_InletState(array_of(rho, (speed * d[0]), (speed * d[1]), (speed * d[2]), p), array_of((rho * ((quotient(p_slope, p) - log_c))), (speed_slope * d[0]), (speed_slope * d[1]), (speed_slope * d[2]), p_slope));
}

#line 97 "src/bc/open.rs"
template <class T> __device__ __forceinline__ Array<T, 5> bc_inlet(Gas<T> gas, const Array<T, 5>& w, Inlet<T> inlet, const Array<T, 3>& n) {
#line 98 "src/bc/open.rs"
return inlet_state(gas, w, inlet, n).w;
}

#line 103 "src/bc/open.rs"
template <class T> __device__ __forceinline__ Array<T, 25> bc_inlet_jacobian(Gas<T> gas, const Array<T, 5>& w, Inlet<T> inlet, const Array<T, 3>& n) {
#line 104 "src/bc/open.rs"
const auto slope = inlet_state(gas, w, inlet, n).slope;
#line 105 "src/bc/open.rs"
const auto inverse = quotient(T(1.0), real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300)));
#line 107 "src/bc/open.rs"
const auto kc = quotient(sound_speed(gas, w), ((gas.gamma - T(1.0))));
#line 108 "src/bc/open.rs"
const auto invariant = array_of(quotient((-kc), w[0]), (n[0] * inverse), (n[1] * inverse), (n[2] * inverse), quotient(kc, w[4]));
#line 109 "src/bc/open.rs"
auto block = array_fill<25>(T(0.0));
#line 110 "src/bc/open.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 111 "src/bc/open.rs"
#pragma unroll
for (int r = 0; r < 5; ++r) {
#line 112 "src/bc/open.rs"
block[((c * 5) + r)] = (slope[r] * invariant[c]);
}
}
#line 115 "src/bc/open.rs"
return block;
}

#line 123 "src/bc/open.rs"
template <class T> __device__ __forceinline__ Array<T, 5> bc_outlet(Gas<T> gas, const Array<T, 5>& w, T back, const Array<T, 3>& n) {
#line 124 "src/bc/open.rs"
const auto one = T(1.0);
#line 125 "src/bc/open.rs"
const auto inverse = quotient(one, real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300)));
#line 126 "src/bc/open.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 127 "src/bc/open.rs"
const auto v = (((w[1] * normal[0]) + (w[2] * normal[1])) + (w[3] * normal[2]));
#line 128 "src/bc/open.rs"
const auto c = sound_speed(gas, w);
#line 129 "src/bc/open.rs"
const auto rho = (w[0] * real_powf((quotient(back, w[4])), quotient(one, gas.gamma)));
#line 130 "src/bc/open.rs"
const auto cb = real_sqrt((quotient((gas.gamma * back), rho)));
#line 131 "src/bc/open.rs"
const auto change = (quotient(T(2.0), ((gas.gamma - one))) * ((c - cb)));
#line 132 "src/bc/open.rs"
const auto subsonic = array_of(rho, (w[1] + (change * normal[0])), (w[2] + (change * normal[1])), (w[3] + (change * normal[2])), back);
#line 134 "src/bc/open.rs"
const auto leaves = (v >= c);
#line 135 "src/bc/open.rs"
auto wb = array_fill<5>(T(0.0));
#line 136 "src/bc/open.rs"
#pragma unroll
for (int i = 0; i < 5; ++i) {
#line 137 "src/bc/open.rs"
wb[i] = select<T>(leaves, w[i], subsonic[i]);
}
#line 139 "src/bc/open.rs"
return wb;
}

#line 144 "src/bc/open.rs"
template <class T> __device__ __forceinline__ Array<T, 25> bc_outlet_jacobian(Gas<T> gas, const Array<T, 5>& w, T back, const Array<T, 3>& n) {
#line 145 "src/bc/open.rs"
const auto zero = T(0.0);
#line 146 "src/bc/open.rs"
const auto one = T(1.0);
#line 147 "src/bc/open.rs"
const auto inverse = quotient(one, real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300)));
#line 148 "src/bc/open.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 149 "src/bc/open.rs"
const auto v = (((w[1] * normal[0]) + (w[2] * normal[1])) + (w[3] * normal[2]));
#line 150 "src/bc/open.rs"
const auto c = sound_speed(gas, w);
#line 151 "src/bc/open.rs"
const auto x = real_powf((quotient(back, w[4])), quotient(one, gas.gamma));
#line 152 "src/bc/open.rs"
const auto rho = (w[0] * x);
#line 153 "src/bc/open.rs"
const auto cb = real_sqrt((quotient((gas.gamma * back), rho)));
#line 154 "src/bc/open.rs"
const auto k = quotient(one, ((gas.gamma - one)));
#line 156 "src/bc/open.rs"
const auto change_by_rho = quotient((k * ((cb - c))), w[0]);
#line 157 "src/bc/open.rs"
const auto change_by_p = quotient((k * ((c - quotient(cb, gas.gamma)))), w[4]);
#line 158 "src/bc/open.rs"
auto block = array_fill<25>(zero);
#line 159 "src/bc/open.rs"
block[0] = x;
#line 160 "src/bc/open.rs"
block[20] = quotient((-rho), ((gas.gamma * w[4])));
#line 161 "src/bc/open.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 162 "src/bc/open.rs"
block[(1 + i)] = (change_by_rho * normal[i]);
#line 163 "src/bc/open.rs"
block[(21 + i)] = (change_by_p * normal[i]);
#line 164 "src/bc/open.rs"
block[((6 * i) + 6)] = one;
}
#line 166 "src/bc/open.rs"
const auto leaves = (v >= c);
#line 167 "src/bc/open.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 25; ++i_2) {
#line 168 "src/bc/open.rs"
const auto identity = (((i_2 % 6) == 0) ? one : zero);
#line 169 "src/bc/open.rs"
block[i_2] = select<T>(leaves, identity, block[i_2]);
}
#line 171 "src/bc/open.rs"
return block;
}

#line 8 "src/bc/wall.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_slip_wall(const Array<T, 5>& w, const Array<T, 3>& n) {
#line 9 "src/bc/wall.rs"
return array_of(T(0.0), (w[4] * n[0]), (w[4] * n[1]), (w[4] * n[2]), T(0.0));
}

#line 15 "src/bc/wall.rs"
template <class T> __device__ __forceinline__ Array<T, 25> flux_slip_wall_jacobian(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n) {
#line 16 "src/bc/wall.rs"
const auto g1 = (gas.gamma - T(1.0));
#line 17 "src/bc/wall.rs"
const auto part_1_ = w;
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 18 "src/bc/wall.rs"
const auto pressure = array_of(((T(0.5) * g1) * ((((u * u) + (v * v)) + (s * s)))), ((-g1) * u), ((-g1) * v), ((-g1) * s), g1);
#line 19 "src/bc/wall.rs"
auto out = array_fill<25>(T(0.0));
#line 20 "src/bc/wall.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 21 "src/bc/wall.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 22 "src/bc/wall.rs"
out[(((c * 5) + 1) + k)] = (n[k] * pressure[c]);
}
}
#line 25 "src/bc/wall.rs"
return out;
}

#line 54 "src/bc/wall.rs"
template <class T> __device__ __forceinline__ Array<T, 5> strong_wall_residual(Gas<T> gas, WallHeat heat, const Array<T, 5>& q, T temperature, const Array<T, 5>& residual) {
#line 61 "src/bc/wall.rs"
auto out = array_of(residual[0], q[1], q[2], q[3], residual[4]);
#line 62 "src/bc/wall.rs"
if ((heat == WallHeat::Isothermal)) {
#line 63 "src/bc/wall.rs"
out[4] = (q[4] - quotient((q[0] * temperature), ((gas.gamma * ((gas.gamma - T(1.0)))))));
}
#line 65 "src/bc/wall.rs"
return out;
}

#line 71 "src/bc/wall.rs"
template <class T> __device__ __forceinline__ Array<T, 25> strong_wall_diagonal(Gas<T> gas, WallHeat heat, T temperature, const Array<T, 25>& block) {
#line 77 "src/bc/wall.rs"
auto out = strong_wall_off_diagonal(heat, block);
#line 78 "src/bc/wall.rs"
#pragma unroll
for (int k = 1; k < 4; ++k) {
#line 79 "src/bc/wall.rs"
out[(k * 6)] = T(1.0);
}
#line 81 "src/bc/wall.rs"
if ((heat == WallHeat::Isothermal)) {
#line 82 "src/bc/wall.rs"
out[4] = quotient((-temperature), ((gas.gamma * ((gas.gamma - T(1.0))))));
#line 83 "src/bc/wall.rs"
out[24] = T(1.0);
}
#line 85 "src/bc/wall.rs"
return out;
}

#line 90 "src/bc/wall.rs"
template <class T> __device__ __forceinline__ Array<T, 25> strong_wall_off_diagonal(WallHeat heat, const Array<T, 25>& block) {
#line 91 "src/bc/wall.rs"
auto out = block;
#line 92 "src/bc/wall.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 93 "src/bc/wall.rs"
#pragma unroll
for (int k = 1; k < 4; ++k) {
#line 94 "src/bc/wall.rs"
out[((c * 5) + k)] = T(0.0);
}
#line 96 "src/bc/wall.rs"
if ((heat == WallHeat::Isothermal)) {
#line 97 "src/bc/wall.rs"
out[((c * 5) + 4)] = T(0.0);
}
}
#line 100 "src/bc/wall.rs"
return out;
}

#line 106 "src/bc/wall.rs"
template <class T> __device__ __forceinline__ Array<T, 5> strong_wall_state(Gas<T> gas, WallHeat heat, const Array<T, 5>& w, T temperature) {
#line 107 "src/bc/wall.rs"
const auto zero = T(0.0);
#line 108 "src/bc/wall.rs"
if ((heat == WallHeat::Isothermal)) {
#line 109 "src/bc/wall.rs"
return array_of(w[0], zero, zero, zero, quotient((w[0] * temperature), gas.gamma));
}
#line 111 "src/bc/wall.rs"
return array_of(w[0], zero, zero, zero, w[4]);
}

#line 8 "src/limiter/limiters.rs"
template <class T> __device__ __forceinline__ T rise(T value, T smallest, T largest, T slope) {
#line 9 "src/limiter/limiters.rs"
return (select<T>((slope > T(0.0)), largest, smallest) - value);
}

#line 19 "src/limiter/limiters.rs"
template <class T> __device__ __forceinline__ T limiter_barth(T allowed, T slope) {
#line 20 "src/limiter/limiters.rs"
const auto flat = (real_abs(slope) < T(1e-30));
#line 21 "src/limiter/limiters.rs"
const auto ratio = quotient(allowed, select<T>(flat, T(1.0), slope));
#line 22 "src/limiter/limiters.rs"
return select<T>(flat, T(1.0), real_max(real_min(ratio, T(1.0)), T(0.0)));
}

#line 40 "src/limiter/limiters.rs"
template <class T> __device__ __forceinline__ T limiter_venkatakrishnan(T allowed, T slope, T eps2) {
#line 41 "src/limiter/limiters.rs"
const auto eps2_2 = real_max(eps2, T(1e-30));
#line 42 "src/limiter/limiters.rs"
const auto top = (((allowed * allowed) + ((T(2.0) * allowed) * slope)) + eps2_2);
#line 43 "src/limiter/limiters.rs"
return quotient(top, (((((allowed * allowed) + (allowed * slope)) + ((T(2.0) * slope) * slope)) + eps2_2)));
}

#line 54 "src/limiter/limiters.rs"
template <class T> __device__ __forceinline__ T limiter_michalak(T allowed, T slope, T range, T eps2) {
#line 55 "src/limiter/limiters.rs"
const auto one = T(1.0);
#line 56 "src/limiter/limiters.rs"
const auto flat = (real_abs(slope) < T(1e-30));
#line 57 "src/limiter/limiters.rs"
const auto ratio = real_min(real_max((quotient(allowed, select<T>(flat, one, slope))), T(0.0)), T(1.5));
#line 58 "src/limiter/limiters.rs"
const auto y = select<T>(flat, T(1.5), ratio);
#line 59 "src/limiter/limiters.rs"
const auto cubic = (y * ((one + (y * ((T(((-4.0) / 27.0)) * y))))));
#line 60 "src/limiter/limiters.rs"
const auto eps2_2 = real_max(eps2, T(1e-30));
#line 61 "src/limiter/limiters.rs"
const auto s = real_min(real_max(((quotient((range * range), eps2_2) - one)), T(0.0)), one);
#line 62 "src/limiter/limiters.rs"
const auto off = (one + ((s * s) * (((T(2.0) * s) - T(3.0)))));
#line 63 "src/limiter/limiters.rs"
return (off + (((one - off)) * cubic));
}

#line 18 "src/limiter/umuscl.rs"
template <class T> __device__ __forceinline__ T extrapolate(T own, T other, T projected, T kappa, T phi) {
#line 19 "src/limiter/umuscl.rs"
return (own + ((T(0.5) * phi) * (((kappa * ((other - own))) + (((T(1.0) - kappa)) * projected)))));
}

#line 27 "src/limiter/umuscl.rs"
template <class T> __device__ __forceinline__ T van_albada(T a, T b, T eps2) {
#line 28 "src/limiter/umuscl.rs"
const auto eps2_2 = real_max(eps2, T(1e-30));
#line 29 "src/limiter/umuscl.rs"
const auto x = quotient((((a * b) + (T(0.5) * eps2_2))), ((((a * a) + (b * b)) + eps2_2)));
#line 30 "src/limiter/umuscl.rs"
const auto t = real_min(real_max(((x * T(20.0))), T(0.0)), T(1.0));
#line 31 "src/limiter/umuscl.rs"
const auto end = (((T(0.05) * t) * t) * ((T(4.0) - (T(2.0) * t))));
#line 32 "src/limiter/umuscl.rs"
return select<T>((x >= T(0.05)), (T(2.0) * x), end);
}

#line 41 "src/limiter/umuscl.rs"
template <class T> __device__ __forceinline__ T extrapolate_van_albada(T own, T other, T projected, T kappa, T eps2) {
#line 42 "src/limiter/umuscl.rs"
const auto central = (other - own);
#line 43 "src/limiter/umuscl.rs"
const auto upwind = ((T(2.0) * projected) - central);
#line 44 "src/limiter/umuscl.rs"
const auto s = van_albada(central, upwind, eps2);
#line 45 "src/limiter/umuscl.rs"
const auto ks = (kappa * s);
#line 46 "src/limiter/umuscl.rs"
return (own + ((T(0.25) * s) * (((((T(1.0) - ks)) * upwind) + (((T(1.0) + ks)) * central)))));
}

#line 59 "src/limiter/umuscl.rs"
template <class T> __device__ __forceinline__ T keep_positive(T extrapolated, T own) {
#line 60 "src/limiter/umuscl.rs"
const auto floor = (T(0.25) * own);
#line 61 "src/limiter/umuscl.rs"
const auto below = (extrapolated < floor);
#line 63 "src/limiter/umuscl.rs"
const auto under = ((T(2.0) * floor) - select<T>(below, extrapolated, floor));
#line 64 "src/limiter/umuscl.rs"
return select<T>(below, quotient((floor * floor), under), extrapolated);
}

#line 21 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible(T beta, const Array<T, 4>& q, const Array<T, 3>& n) {
#line 22 "src/incompressible/flux.rs"
const auto part_1_ = q;
const auto p = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto w = part_1_[3];
#line 23 "src/incompressible/flux.rs"
const auto volume = (((u * n[0]) + (v * n[1])) + (w * n[2]));
#line 24 "src/incompressible/flux.rs"
return array_of((beta * volume), ((u * volume) + (p * n[0])), ((v * volume) + (p * n[1])), ((w * volume) + (p * n[2])));
}

#line 29 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 16> flux_incompressible_jacobian(T beta, const Array<T, 4>& q, const Array<T, 3>& n) {
#line 30 "src/incompressible/flux.rs"
const auto volume = (((q[1] * n[0]) + (q[2] * n[1])) + (q[3] * n[2]));
#line 31 "src/incompressible/flux.rs"
auto a = array_fill<16>(T(0.0));
#line 32 "src/incompressible/flux.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 33 "src/incompressible/flux.rs"
a[(1 + i)] = n[i];
#line 34 "src/incompressible/flux.rs"
a[(4 * ((1 + i)))] = (beta * n[i]);
#line 35 "src/incompressible/flux.rs"
#pragma unroll
for (int j = 0; j < 3; ++j) {
#line 36 "src/incompressible/flux.rs"
a[(((4 * ((1 + j))) + 1) + i)] = (q[(1 + i)] * n[j]);
}
#line 38 "src/incompressible/flux.rs"
a[(((4 * ((1 + i))) + 1) + i)] += volume;
}
#line 40 "src/incompressible/flux.rs"
return a;
}

#line 45 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible_derivative(T beta, const Array<T, 4>& q, const Array<T, 4>& dq, const Array<T, 3>& n) {
#line 46 "src/incompressible/flux.rs"
const auto volume = (((q[1] * n[0]) + (q[2] * n[1])) + (q[3] * n[2]));
#line 47 "src/incompressible/flux.rs"
const auto change = (((dq[1] * n[0]) + (dq[2] * n[1])) + (dq[3] * n[2]));
#line 48 "src/incompressible/flux.rs"
return array_of((beta * change), (((q[1] * change) + (dq[1] * volume)) + (dq[0] * n[0])), (((q[2] * change) + (dq[2] * volume)) + (dq[0] * n[1])), (((q[3] * change) + (dq[3] * volume)) + (dq[0] * n[2])));
}

#line 58 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ T spectral_radius_incompressible(T beta, const Array<T, 4>& q, const Array<T, 3>& n) {
#line 59 "src/incompressible/flux.rs"
const auto volume = (((q[1] * n[0]) + (q[2] * n[1])) + (q[3] * n[2]));
#line 60 "src/incompressible/flux.rs"
return (real_abs(volume) + real_sqrt((((volume * volume) + (beta * ((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]))))))));
}

#line 77 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ PseudoWaves<T> pseudo_waves(T beta, const Array<T, 4>& q, const Array<T, 3>& n) {
#line 78 "src/incompressible/flux.rs"
const auto area = real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]))));
#line 79 "src/incompressible/flux.rs"
const auto inverse = quotient(T(1.0), real_max(area, T(1e-300)));
#line 80 "src/incompressible/flux.rs"
const auto normal = array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
#line 81 "src/incompressible/flux.rs"
const auto v = (((q[1] * normal[0]) + (q[2] * normal[1])) + (q[3] * normal[2]));
#line 82 "src/incompressible/flux.rs"
const auto c = real_sqrt((((v * v) + beta)));
#line 83 "src/incompressible/flux.rs"
const auto velocity = array_of(q[1], q[2], q[3]);
#line 84 "src/incompressible/flux.rs"
return make_PseudoWaves(velocity, normal, area, array_of((v - c), v, (v + c)), quotient(T(1.0), c));
}

#line 92 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 4> pseudo_wave_function(const PseudoWaves<T>& x, const Array<T, 3>& f, const Array<T, 4>& dq) {
#line 93 "src/incompressible/flux.rs"
const auto part_1_ = x.lambda;
const auto minus = part_1_[0];
const auto plus = part_1_[2];
#line 94 "src/incompressible/flux.rs"
const auto dv = (((x.normal[0] * dq[1]) + (x.normal[1] * dq[2])) + (x.normal[2] * dq[3]));
#line 95 "src/incompressible/flux.rs"
const auto half = (T(0.5) * x.slowness);
#line 96 "src/incompressible/flux.rs"
const auto up = ((((f[2] - f[1])) * half) * ((dq[0] + (plus * dv))));
#line 97 "src/incompressible/flux.rs"
const auto down = ((((f[1] - f[0])) * half) * ((dq[0] + (minus * dv))));
#line 98 "src/incompressible/flux.rs"
const auto along = (x.slowness * ((up - down)));
#line 99 "src/incompressible/flux.rs"
const auto across = (x.slowness * (((down * plus) - (up * minus))));
#line 100 "src/incompressible/flux.rs"
return array_of((((f[1] * dq[0]) - (up * minus)) - (down * plus)), (((f[1] * dq[1]) + (along * x.velocity[0])) + (across * x.normal[0])), (((f[1] * dq[2]) + (along * x.velocity[1])) + (across * x.normal[1])), (((f[1] * dq[3]) + (along * x.velocity[2])) + (across * x.normal[2])));
}

#line 110 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 16> pseudo_wave_matrix(const PseudoWaves<T>& x, const Array<T, 3>& f) {
#line 111 "src/incompressible/flux.rs"
auto a = array_fill<16>(T(0.0));
#line 112 "src/incompressible/flux.rs"
#pragma unroll
for (int c = 0; c < 4; ++c) {
#line 113 "src/incompressible/flux.rs"
auto unit = array_fill<4>(T(0.0));
#line 114 "src/incompressible/flux.rs"
unit[c] = T(1.0);
#line 115 "src/incompressible/flux.rs"
const auto column = pseudo_wave_function(x, f, unit);
#line 116 "src/incompressible/flux.rs"
#pragma unroll
for (int r = 0; r < 4; ++r) {
#line 117 "src/incompressible/flux.rs"
a[((4 * c) + r)] = column[r];
}
}
#line 120 "src/incompressible/flux.rs"
return a;
}

#line 125 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 3> pseudo_wave_sizes(const PseudoWaves<T>& x) {
#line 126 "src/incompressible/flux.rs"
return array_of(((-x.area) * x.lambda[0]), (x.area * real_abs(x.lambda[1])), (x.area * x.lambda[2]));
}

#line 130 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 4> mean_state(const Array<T, 4>& l, const Array<T, 4>& r) {
#line 131 "src/incompressible/flux.rs"
const auto half = T(0.5);
#line 132 "src/incompressible/flux.rs"
return array_of((half * ((l[0] + r[0]))), (half * ((l[1] + r[1]))), (half * ((l[2] + r[2]))), (half * ((l[3] + r[3]))));
}

#line 145 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible_roe(T beta, const Array<T, 4>& ql, const Array<T, 4>& qr, const Array<T, 3>& n) {
#line 146 "src/incompressible/flux.rs"
const auto x = pseudo_waves(beta, mean_state(ql, qr), n);
#line 147 "src/incompressible/flux.rs"
const auto dq = array_of((qr[0] - ql[0]), (qr[1] - ql[1]), (qr[2] - ql[2]), (qr[3] - ql[3]));
#line 148 "src/incompressible/flux.rs"
const auto damped = pseudo_wave_function(x, pseudo_wave_sizes(x), dq);
#line 149 "src/incompressible/flux.rs"
const auto fl = flux_incompressible(beta, ql, n);
#line 150 "src/incompressible/flux.rs"
const auto fr = flux_incompressible(beta, qr, n);
#line 151 "src/incompressible/flux.rs"
auto out = array_fill<4>(T(0.0));
#line 152 "src/incompressible/flux.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 153 "src/incompressible/flux.rs"
out[i] = (T(0.5) * (((fl[i] + fr[i]) - damped[i])));
}
#line 155 "src/incompressible/flux.rs"
return out;
}

#line 163 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 16>, Array<T, 16>> flux_incompressible_roe_jacobians(T beta, const Array<T, 4>& ql, const Array<T, 4>& qr, const Array<T, 3>& n) {
#line 169 "src/incompressible/flux.rs"
const auto x = pseudo_waves(beta, mean_state(ql, qr), n);
#line 170 "src/incompressible/flux.rs"
const auto absolute = pseudo_wave_matrix(x, pseudo_wave_sizes(x));
#line 171 "src/incompressible/flux.rs"
auto left = flux_incompressible_jacobian(beta, ql, n);
#line 172 "src/incompressible/flux.rs"
auto right = flux_incompressible_jacobian(beta, qr, n);
#line 173 "src/incompressible/flux.rs"
#pragma unroll
for (int i = 0; i < 16; ++i) {
#line 174 "src/incompressible/flux.rs"
left[i] = (T(0.5) * ((left[i] + absolute[i])));
#line 175 "src/incompressible/flux.rs"
right[i] = (T(0.5) * ((right[i] - absolute[i])));
}
#line 177 "src/incompressible/flux.rs"
return tuple_of(left, right);
}

#line 182 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 4>, Array<T, 4>> flux_incompressible_roe_derivatives(T beta, const Array<T, 4>& ql, const Array<T, 4>& qr, const Array<T, 3>& n, const Array<T, 4>& dq) {
#line 189 "src/incompressible/flux.rs"
const auto x = pseudo_waves(beta, mean_state(ql, qr), n);
#line 190 "src/incompressible/flux.rs"
const auto damped = pseudo_wave_function(x, pseudo_wave_sizes(x), dq);
#line 191 "src/incompressible/flux.rs"
auto left = flux_incompressible_derivative(beta, ql, dq, n);
#line 192 "src/incompressible/flux.rs"
auto right = flux_incompressible_derivative(beta, qr, dq, n);
#line 193 "src/incompressible/flux.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 194 "src/incompressible/flux.rs"
left[i] = (T(0.5) * ((left[i] + damped[i])));
#line 195 "src/incompressible/flux.rs"
right[i] = (T(0.5) * ((right[i] - damped[i])));
}
#line 197 "src/incompressible/flux.rs"
return tuple_of(left, right);
}

#line 207 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ Array<T, 4> flux_incompressible_central(T beta, const Array<T, 4>& before, const Array<T, 4>& left, const Array<T, 4>& right, const Array<T, 4>& after, const Array<T, 3>& n, T fourth, T convective) {
#line 217 "src/incompressible/flux.rs"
const auto mean = mean_state(left, right);
#line 218 "src/incompressible/flux.rs"
const auto x = pseudo_waves(beta, mean, n);
#line 219 "src/incompressible/flux.rs"
const auto sizes = pseudo_wave_sizes(x);
#line 220 "src/incompressible/flux.rs"
const auto bounded = array_of(sizes[0], real_max(sizes[1], (convective * real_max(sizes[0], sizes[2]))), sizes[2]);
#line 221 "src/incompressible/flux.rs"
auto third = array_fill<4>(T(0.0));
#line 222 "src/incompressible/flux.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 223 "src/incompressible/flux.rs"
third[i] = ((after[i] - before[i]) - (T(3.0) * ((right[i] - left[i]))));
}
#line 225 "src/incompressible/flux.rs"
const auto damped = pseudo_wave_function(x, bounded, third);
#line 226 "src/incompressible/flux.rs"
const auto f = flux_incompressible(beta, mean, n);
#line 227 "src/incompressible/flux.rs"
auto out = array_fill<4>(T(0.0));
#line 228 "src/incompressible/flux.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 4; ++i_2) {
#line 229 "src/incompressible/flux.rs"
out[i_2] = (f[i_2] + (fourth * damped[i_2]));
}
#line 231 "src/incompressible/flux.rs"
return out;
}

#line 239 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ T flux_scalar(T volume, T left, T right) {
#line 240 "src/incompressible/flux.rs"
return (T(0.5) * (((volume * ((left + right))) - (real_abs(volume) * ((right - left))))));
}

#line 248 "src/incompressible/flux.rs"
template <class T> __device__ __forceinline__ T normal_slope(const Array<T, 3>& metric, T across, const Array<T, 2>& first, const Array<T, 2>& second) {
#line 249 "src/incompressible/flux.rs"
return ((metric[0] * across) + (T(0.25) * (((metric[1] * ((first[0] + first[1]))) + (metric[2] * ((second[0] + second[1])))))));
}

#line 25 "src/incompressible/ghost.rs"
template <class T> __device__ __forceinline__ Array<T, 3> pseudo_wave_signs(T v) {
#line 26 "src/incompressible/ghost.rs"
const auto one = T(1.0);
#line 27 "src/incompressible/ghost.rs"
return array_of((-one), select<T>((v < T(0.0)), (-one), one), one);
}

#line 45 "src/incompressible/ghost.rs"
template <class T> __device__ __forceinline__ Array<T, 4> ghost_incompressible(GhostKind kind, T beta, const Array<T, 4>& q, T next, const Array<T, 4>& given, const Array<T, 3>& n) {
#line 53 "src/incompressible/ghost.rs"
const auto two = T(2.0);
#line 54 "src/incompressible/ghost.rs"
if (kind == GhostKind::Velocity) {
{
#line 56 "src/incompressible/ghost.rs"
return array_of(((two * q[0]) - next), ((two * given[1]) - q[1]), ((two * given[2]) - q[2]), ((two * given[3]) - q[3]));
}
}
else if (kind == GhostKind::Pressure) {
return array_of(((two * given[0]) - q[0]), q[1], q[2], q[3]);
}
else if (kind == GhostKind::Mirror) {
{
#line 60 "src/incompressible/ghost.rs"
const auto area2 = real_max(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]))), T(1e-300));
#line 61 "src/incompressible/ghost.rs"
const auto twice = quotient((two * ((((q[1] * n[0]) + (q[2] * n[1])) + (q[3] * n[2])))), area2);
#line 62 "src/incompressible/ghost.rs"
return array_of(q[0], (q[1] - (twice * n[0])), (q[2] - (twice * n[1])), (q[3] - (twice * n[2])));
}
}
else {
{
#line 66 "src/incompressible/ghost.rs"
const auto x = pseudo_waves(beta, mean_state(q, given), n);
#line 67 "src/incompressible/ghost.rs"
const auto dq = array_of((q[0] - given[0]), (q[1] - given[1]), (q[2] - given[2]), (q[3] - given[3]));
#line 68 "src/incompressible/ghost.rs"
const auto kept = pseudo_wave_function(x, pseudo_wave_signs(x.lambda[1]), dq);
#line 69 "src/incompressible/ghost.rs"
return array_of((given[0] + kept[0]), (given[1] + kept[1]), (given[2] + kept[2]), (given[3] + kept[3]));
}
}
}

#line 77 "src/incompressible/ghost.rs"
template <class T> __device__ __forceinline__ Array<T, 16> ghost_incompressible_jacobian(GhostKind kind, T beta, const Array<T, 4>& q, const Array<T, 4>& given, const Array<T, 3>& n) {
#line 84 "src/incompressible/ghost.rs"
const auto one = T(1.0);
#line 85 "src/incompressible/ghost.rs"
auto a = array_fill<16>(T(0.0));
#line 86 "src/incompressible/ghost.rs"
if (kind == GhostKind::Velocity) {
{
#line 88 "src/incompressible/ghost.rs"
a[0] = one;
#line 89 "src/incompressible/ghost.rs"
#pragma unroll
for (int i = 1; i < 4; ++i) {
#line 90 "src/incompressible/ghost.rs"
a[(5 * i)] = (-one);
}
}
}
else if (kind == GhostKind::Pressure) {
{
#line 94 "src/incompressible/ghost.rs"
a[0] = (-one);
#line 95 "src/incompressible/ghost.rs"
#pragma unroll
for (int i_2 = 1; i_2 < 4; ++i_2) {
#line 96 "src/incompressible/ghost.rs"
a[(5 * i_2)] = one;
}
}
}
else if (kind == GhostKind::Mirror) {
{
#line 100 "src/incompressible/ghost.rs"
const auto area2 = real_max(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]))), T(1e-300));
#line 101 "src/incompressible/ghost.rs"
a[0] = one;
#line 102 "src/incompressible/ghost.rs"
#pragma unroll
for (int i_3 = 0; i_3 < 3; ++i_3) {
#line 103 "src/incompressible/ghost.rs"
#pragma unroll
for (int j = 0; j < 3; ++j) {
#line 104 "src/incompressible/ghost.rs"
a[(((4 * ((1 + j))) + 1) + i_3)] = quotient((((-T(2.0)) * n[i_3]) * n[j]), area2);
}
#line 106 "src/incompressible/ghost.rs"
a[(5 * ((1 + i_3)))] += one;
}
}
}
else {
{
#line 110 "src/incompressible/ghost.rs"
const auto x = pseudo_waves(beta, mean_state(q, given), n);
#line 111 "src/incompressible/ghost.rs"
a = pseudo_wave_matrix(x, pseudo_wave_signs(x.lambda[1]));
}
}
#line 114 "src/incompressible/ghost.rs"
return a;
}

#line 9 "src/structured/beyond.rs"
template <class T> __device__ __forceinline__ Array<T, 5> continued_state(const Array<T, 5>& w1, const Array<T, 5>& w2, T share) {
#line 10 "src/structured/beyond.rs"
auto w = array_fill<5>(T(0.0));
#line 11 "src/structured/beyond.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 12 "src/structured/beyond.rs"
w[c] = (w1[c] + (share * ((w1[c] - w2[c]))));
}
#line 14 "src/structured/beyond.rs"
w[0] = real_min(real_max(w[0], (T(0.5) * w1[0])), (T(2.0) * w1[0]));
#line 15 "src/structured/beyond.rs"
w[4] = real_min(real_max(w[4], (T(0.5) * w1[4])), (T(2.0) * w1[4]));
#line 16 "src/structured/beyond.rs"
return w;
}

#line 21 "src/structured/beyond.rs"
template <class T> __device__ __forceinline__ Array<T, 5> mirrored_state(const Array<T, 5>& w, const Array<T, 3>& n) {
#line 22 "src/structured/beyond.rs"
const auto area2 = real_max(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]))), T(1e-300));
#line 23 "src/structured/beyond.rs"
const auto twice = quotient((T(2.0) * ((((w[1] * n[0]) + (w[2] * n[1])) + (w[3] * n[2])))), area2);
#line 24 "src/structured/beyond.rs"
return array_of(w[0], (w[1] - (twice * n[0])), (w[2] - (twice * n[1])), (w[3] - (twice * n[2])), w[4]);
}

#line 29 "src/structured/beyond.rs"
template <class T> __device__ __forceinline__ Array<T, 5> ghost_no_slip(const Array<T, 5>& w) {
#line 30 "src/structured/beyond.rs"
return array_of(w[0], (-w[1]), (-w[2]), (-w[3]), w[4]);
}

#line 36 "src/structured/beyond.rs"
template <class T> __device__ __forceinline__ Array<T, 5> ghost_isothermal(Gas<T> gas, const Array<T, 5>& w, T wall) {
#line 37 "src/structured/beyond.rs"
const auto t = temperature(gas, w);
#line 38 "src/structured/beyond.rs"
const auto ghost = real_min(real_max((((T(2.0) * wall) - t)), (T(0.5) * t)), (T(2.0) * t));
#line 39 "src/structured/beyond.rs"
return array_of(quotient((gas.gamma * w[4]), ghost), (-w[1]), (-w[2]), (-w[3]), w[4]);
}

#line 45 "src/structured/beyond.rs"
template <class T> __device__ __forceinline__ T wall_pressure(T p1, T p2, T share) {
#line 46 "src/structured/beyond.rs"
return real_min(real_max(((p1 + (share * ((p1 - p2))))), (T(0.5) * p1)), (T(2.0) * p1));
}

#line 54 "src/structured/beyond.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<T, 4>, Array<Array<T, 3>, 4>> wall_gradient(Gas<T> gas, WallHeat heat, const Array<T, 5>& w1, const Array<T, 5>& w2, T wall, const Array<T, 3>& n, T volume, T deep) {
#line 64 "src/structured/beyond.rs"
const auto two_cells = (deep > T(0.5));
#line 65 "src/structured/beyond.rs"
const auto t1 = temperature(gas, w1);
#line 66 "src/structured/beyond.rs"
const auto t2 = temperature(gas, w2);
#line 67 "src/structured/beyond.rs"
auto at_wall = array_fill<4>(T(0.0));
#line 69 "src/structured/beyond.rs"
at_wall[3] = select<T>(two_cells, quotient((((T(9.0) * t1) - t2)), T(8.0)), t1);
#line 70 "src/structured/beyond.rs"
if ((heat == WallHeat::Isothermal)) {
#line 71 "src/structured/beyond.rs"
at_wall[3] = wall;
}
#line 73 "src/structured/beyond.rs"
const auto first = array_of(w1[1], w1[2], w1[3], t1);
#line 74 "src/structured/beyond.rs"
const auto second = array_of(w2[1], w2[2], w2[3], t2);
#line 75 "src/structured/beyond.rs"
auto gradient = array_fill<4>(array_fill<3>(T(0.0)));
#line 76 "src/structured/beyond.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 78 "src/structured/beyond.rs"
const auto far = quotient(((((T(9.0) * first[i]) - second[i]) - (T(8.0) * at_wall[i]))), T(3.0));
#line 79 "src/structured/beyond.rs"
const auto near_ = (T(2.0) * ((first[i] - at_wall[i])));
#line 80 "src/structured/beyond.rs"
const auto slope = select<T>(two_cells, far, near_);
#line 81 "src/structured/beyond.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 82 "src/structured/beyond.rs"
gradient[i][k] = quotient(((-slope) * n[k]), volume);
}
}
#line 85 "src/structured/beyond.rs"
if ((heat == WallHeat::Adiabatic)) {
#line 86 "src/structured/beyond.rs"
#pragma unroll
for (int k_2 = 0; k_2 < 3; ++k_2) {
#line 87 "src/structured/beyond.rs"
gradient[3][k_2] = T(0.0);
}
}
#line 90 "src/structured/beyond.rs"
return tuple_of(at_wall, gradient);
}

#line 16 "src/structured/lax_wendroff/pointwise.rs"
template <class T> __device__ __forceinline__ Array<T, 5> corner_face(Gas<T> gas, const Array<Array<T, 5>, 8>& q, int axis, int high) {
#line 17 "src/structured/lax_wendroff/pointwise.rs"
auto mean = array_fill<5>(T(0.0));
#line 18 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int b = 0; b < 4; ++b) {
#line 19 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 20 "src/structured/lax_wendroff/pointwise.rs"
mean[c] += (T(0.25) * q[CORNERS[axis][high][b]][c]);
}
}
#line 23 "src/structured/lax_wendroff/pointwise.rs"
return primitive(gas, mean);
}

#line 28 "src/structured/lax_wendroff/pointwise.rs"
template <class T> __device__ __forceinline__ Array<T, 5> corner_mean(Gas<T> gas, const Array<Array<T, 5>, 8>& q) {
#line 29 "src/structured/lax_wendroff/pointwise.rs"
auto mean = array_fill<5>(T(0.0));
#line 30 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int b = 0; b < 8; ++b) {
#line 31 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int c = 0; c < 5; ++c) {
#line 32 "src/structured/lax_wendroff/pointwise.rs"
mean[c] += (T(0.125) * q[b][c]);
}
}
#line 35 "src/structured/lax_wendroff/pointwise.rs"
return primitive(gas, mean);
}

#line 41 "src/structured/lax_wendroff/pointwise.rs"
template <class T> __device__ __forceinline__ Array<Array<T, 3>, 4> corner_gradient(Gas<T> gas, const Array<Array<T, 5>, 8>& q, const Array<Array<Array<T, 3>, 2>, 3>& area, T volume) {
#line 47 "src/structured/lax_wendroff/pointwise.rs"
const auto inverse = quotient(T(1.0), volume);
#line 48 "src/structured/lax_wendroff/pointwise.rs"
auto gradient = array_fill<4>(array_fill<3>(T(0.0)));
#line 49 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int axis = 0; axis < 3; ++axis) {
#line 50 "src/structured/lax_wendroff/pointwise.rs"
const auto low = velocity_and_temperature(gas, corner_face(gas, q, axis, 0));
#line 51 "src/structured/lax_wendroff/pointwise.rs"
const auto high = velocity_and_temperature(gas, corner_face(gas, q, axis, 1));
#line 52 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 53 "src/structured/lax_wendroff/pointwise.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 54 "src/structured/lax_wendroff/pointwise.rs"
gradient[i][k] += (inverse * (((high[i] * area[axis][1][k]) - (low[i] * area[axis][0][k]))));
}
}
}
#line 58 "src/structured/lax_wendroff/pointwise.rs"
return gradient;
}

#line 63 "src/structured/lax_wendroff/pointwise.rs"
template <class T> __device__ __forceinline__ Array<T, 2> smoothing_weights(Dissipation<T> dissipation, T a, T b) {
#line 64 "src/structured/lax_wendroff/pointwise.rs"
const auto second = (dissipation.second * real_max(a, b));
#line 65 "src/structured/lax_wendroff/pointwise.rs"
return array_of(second, real_max(((dissipation.fourth - second)), T(0.0)));
}

#line 71 "src/structured/lax_wendroff/pointwise.rs"
template <class T> __device__ __forceinline__ T smoothing(const Array<T, 5>& u, const Array<T, 2>& above, const Array<T, 2>& below, T radius_above, T radius_below) {
#line 72 "src/structured/lax_wendroff/pointwise.rs"
const auto three = T(3.0);
#line 73 "src/structured/lax_wendroff/pointwise.rs"
const auto low = (u[2] - u[1]);
#line 74 "src/structured/lax_wendroff/pointwise.rs"
const auto high = (u[3] - u[2]);
#line 75 "src/structured/lax_wendroff/pointwise.rs"
const auto third_below = ((u[3] - u[0]) - (three * low));
#line 76 "src/structured/lax_wendroff/pointwise.rs"
const auto third_above = ((u[4] - u[1]) - (three * high));
#line 77 "src/structured/lax_wendroff/pointwise.rs"
return ((radius_above * (((above[0] * high) - (above[1] * third_above)))) - (radius_below * (((below[0] * low) - (below[1] * third_below)))));
}

#line 84 "src/structured/lax_wendroff/pointwise.rs"
template <class T> __device__ __forceinline__ Array<T, 5> slip_state(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& n) {
#line 85 "src/structured/lax_wendroff/pointwise.rs"
const auto size = real_max(real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), T(1e-300));
#line 86 "src/structured/lax_wendroff/pointwise.rs"
const auto unit = array_of(quotient(n[0], size), quotient(n[1], size), quotient(n[2], size));
#line 87 "src/structured/lax_wendroff/pointwise.rs"
const auto normal = (((w[1] * unit[0]) + (w[2] * unit[1])) + (w[3] * unit[2]));
#line 88 "src/structured/lax_wendroff/pointwise.rs"
const auto c = sound_speed(gas, w);
#line 89 "src/structured/lax_wendroff/pointwise.rs"
const auto pressure = real_min(real_max(((w[4] + ((w[0] * c) * normal))), (T(0.5) * w[4])), (T(2.0) * w[4]));
#line 90 "src/structured/lax_wendroff/pointwise.rs"
const auto rho = (w[0] + quotient(((pressure - w[4])), ((c * c))));
#line 91 "src/structured/lax_wendroff/pointwise.rs"
return array_of(rho, (w[1] - (normal * unit[0])), (w[2] - (normal * unit[1])), (w[3] - (normal * unit[2])), pressure);
}

#line 12 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ Array<T, 5> to_waves(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& k, const Array<T, 5>& x) {
#line 13 "src/structured/waves.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 14 "src/structured/waves.rs"
const auto c = sound_speed(gas, w);
#line 15 "src/structured/waves.rs"
const auto kinetic = (T(0.5) * ((((u * u) + (v * v)) + (s * s))));
#line 16 "src/structured/waves.rs"
const auto dp = (((gas.gamma - T(1.0))) * ((((((kinetic * x[0]) - (u * x[1])) - (v * x[2])) - (s * x[3])) + x[4])));
#line 17 "src/structured/waves.rs"
const auto du = array_of(quotient(((x[1] - (u * x[0]))), rho), quotient(((x[2] - (v * x[0]))), rho), quotient(((x[3] - (s * x[0]))), rho));
#line 18 "src/structured/waves.rs"
const auto entropy_2 = (x[0] - quotient(dp, ((c * c))));
#line 19 "src/structured/waves.rs"
const auto along = (((k[0] * du[0]) + (k[1] * du[1])) + (k[2] * du[2]));
#line 20 "src/structured/waves.rs"
const auto pressure = quotient(dp, ((rho * c)));
#line 21 "src/structured/waves.rs"
return array_of((((k[0] * entropy_2) + (du[1] * k[2])) - (du[2] * k[1])), (((k[1] * entropy_2) + (du[2] * k[0])) - (du[0] * k[2])), (((k[2] * entropy_2) + (du[0] * k[1])) - (du[1] * k[0])), (pressure + along), (pressure - along));
}

#line 32 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ Array<T, 5> from_waves(Gas<T> gas, const Array<T, 5>& w, const Array<T, 3>& k, const Array<T, 5>& a) {
#line 33 "src/structured/waves.rs"
const auto part_1_ = w;
const auto rho = part_1_[0];
const auto u = part_1_[1];
const auto v = part_1_[2];
const auto s = part_1_[3];
#line 34 "src/structured/waves.rs"
const auto c = sound_speed(gas, w);
#line 35 "src/structured/waves.rs"
const auto half = T(0.5);
#line 36 "src/structured/waves.rs"
const auto along = (half * ((a[3] - a[4])));
#line 37 "src/structured/waves.rs"
const auto dp = (((half * rho) * c) * ((a[3] + a[4])));
#line 38 "src/structured/waves.rs"
const auto drho = ((((k[0] * a[0]) + (k[1] * a[1])) + (k[2] * a[2])) + quotient(dp, ((c * c))));
#line 39 "src/structured/waves.rs"
const auto du = array_of((((k[1] * a[2]) - (k[2] * a[1])) + (k[0] * along)), (((k[2] * a[0]) - (k[0] * a[2])) + (k[1] * along)), (((k[0] * a[1]) - (k[1] * a[0])) + (k[2] * along)));
#line 44 "src/structured/waves.rs"
const auto kinetic = (half * ((((u * u) + (v * v)) + (s * s))));
#line 45 "src/structured/waves.rs"
return array_of(drho, ((u * drho) + (rho * du[0])), ((v * drho) + (rho * du[1])), ((s * drho) + (rho * du[2])), ((quotient(dp, ((gas.gamma - T(1.0)))) + (kinetic * drho)) + (rho * ((((u * du[0]) + (v * du[1])) + (s * du[2]))))));
}

#line 56 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ Array<T, 3> unit_normal(const Array<T, 3>& low, const Array<T, 3>& high) {
#line 57 "src/structured/waves.rs"
const auto n = array_of((low[0] + high[0]), (low[1] + high[1]), (low[2] + high[2]));
#line 58 "src/structured/waves.rs"
const auto inverse = quotient(T(1.0), real_sqrt(((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))));
#line 59 "src/structured/waves.rs"
return array_of((n[0] * inverse), (n[1] * inverse), (n[2] * inverse));
}

#line 64 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ Array<T, 5> middle_state(const Array<T, 5>& b, const Array<T, 5>& c) {
#line 65 "src/structured/waves.rs"
auto mean = array_fill<5>(T(0.0));
#line 66 "src/structured/waves.rs"
#pragma unroll
for (int v = 0; v < 5; ++v) {
#line 67 "src/structured/waves.rs"
mean[v] = (T(0.5) * ((b[v] + c[v])));
}
#line 69 "src/structured/waves.rs"
return mean;
}

#line 89 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ Array<T, 2> wave_weights(const Array<T, 4>& pressure, Dissipation<T> dissipation, T share, bool fourth, bool near_) {
#line 96 "src/structured/waves.rs"
if ((!fourth)) {
#line 97 "src/structured/waves.rs"
return array_of(share, T(0.0));
}
#line 99 "src/structured/waves.rs"
const auto left = pressure_switch(pressure[0], pressure[1], pressure[2]);
#line 100 "src/structured/waves.rs"
const auto right = pressure_switch(pressure[1], pressure[2], pressure[3]);
#line 101 "src/structured/waves.rs"
const auto e2 = (dissipation.second * real_max(left, right));
#line 102 "src/structured/waves.rs"
const auto two = T(2.0);
#line 103 "src/structured/waves.rs"
if (near_) {
#line 104 "src/structured/waves.rs"
return array_of((two * ((e2 + (two * dissipation.fourth)))), T(0.0));
}
#line 106 "src/structured/waves.rs"
const auto e4 = real_max(((dissipation.fourth - e2)), T(0.0));
#line 107 "src/structured/waves.rs"
return array_of((two * ((e2 + (two * ((dissipation.fourth - e4)))))), (two * e4));
}

#line 113 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ WaveFace<T> wave_face(Gas<T> gas, const Array<T, 5>& before, const Array<T, 5>& after, const Array<T, 3>& area, const Array<T, 2>& weights, bool at_end, T viscous) {
#line 122 "src/structured/waves.rs"
const auto half = T(0.5);
#line 123 "src/structured/waves.rs"
const auto mean = middle_state(before, after);
#line 124 "src/structured/waves.rs"
const auto speed = (((mean[1] * area[0]) + (mean[2] * area[1])) + (mean[3] * area[2]));
#line 125 "src/structured/waves.rs"
const auto sound = (sound_speed(gas, mean) * real_sqrt(((((area[0] * area[0]) + (area[1] * area[1])) + (area[2] * area[2])))));
#line 126 "src/structured/waves.rs"
const auto half_speed = array_of((half * speed), (half * ((speed + sound))), (half * ((speed - sound))));
#line 127 "src/structured/waves.rs"
if (at_end) {
#line 128 "src/structured/waves.rs"
auto second = array_fill<3>(viscous);
#line 129 "src/structured/waves.rs"
#pragma unroll
for (int f = 0; f < 3; ++f) {
#line 130 "src/structured/waves.rs"
second[f] += real_abs(half_speed[f]);
}
#line 132 "src/structured/waves.rs"
return make_WaveFace(half_speed, second, T(0.0));
}
#line 134 "src/structured/waves.rs"
const auto radius = (half * ((spectral_radius(gas, before, area) + spectral_radius(gas, after, area))));
#line 135 "src/structured/waves.rs"
return make_WaveFace(half_speed, array_fill<3>(((radius * weights[0]) + viscous)), (radius * weights[1]));
}

#line 141 "src/structured/waves.rs"
template <class T> __device__ __forceinline__ Array<Array<T, 5>, 3> wave_rows(const WaveFace<T>& low, const WaveFace<T>& high, T tau) {
#line 142 "src/structured/waves.rs"
const auto three = T(3.0);
#line 143 "src/structured/waves.rs"
auto rows = array_fill<3>(array_fill<5>(T(0.0)));
#line 144 "src/structured/waves.rs"
#pragma unroll
for (int f = 0; f < 3; ++f) {
#line 145 "src/structured/waves.rs"
const auto part_1_ = tuple_of(low.second[f], high.second[f], low.fourth, high.fourth);
const auto l2 = part_1_._0;
const auto h2 = part_1_._1;
const auto l4 = part_1_._2;
const auto h4 = part_1_._3;
#line 146 "src/structured/waves.rs"
rows[f] = array_of((tau * l4), (-((tau * ((((low.half_speed[f] + l2) + (three * l4)) + h4))))), ((tau * (((((high.half_speed[f] - low.half_speed[f]) + l2) + h2) + (three * ((l4 + h4)))))) + T(1.0)), (tau * ((((high.half_speed[f] - h2) - (three * h4)) - l4))), (tau * h4));
}
#line 154 "src/structured/waves.rs"
return rows;
}

#line 8 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ Array<T, 4> velocity_and_temperature(Gas<T> gas, const Array<T, 5>& w) {
#line 9 "src/viscous/stress.rs"
return array_of(w[1], w[2], w[3], temperature(gas, w));
}

#line 17 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ Array<T, 3> traction(T mu, const Array<Array<T, 3>, 4>& gradient, const Array<T, 3>& n) {
#line 18 "src/viscous/stress.rs"
const auto bulk = (T(((-2.0) / 3.0)) * (((gradient[0][0] + gradient[1][1]) + gradient[2][2])));
#line 19 "src/viscous/stress.rs"
auto out = array_fill<3>(T(0.0));
#line 20 "src/viscous/stress.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 21 "src/viscous/stress.rs"
auto sum = (bulk * n[i]);
#line 22 "src/viscous/stress.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 23 "src/viscous/stress.rs"
sum += (((gradient[i][k] + gradient[k][i])) * n[k]);
}
#line 25 "src/viscous/stress.rs"
out[i] = (mu * sum);
}
#line 27 "src/viscous/stress.rs"
return out;
}

#line 32 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ T conductivity_by_mu(Gas<T> gas, Transport<T> transport) {
#line 33 "src/viscous/stress.rs"
return quotient(T(1.0), ((transport.prandtl * ((gas.gamma - T(1.0))))));
}

#line 51 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ Array<T, 5> flux_viscous(Gas<T> gas, Transport<T> transport, const Array<T, 4>& face, const Array<Array<T, 3>, 4>& gradient, const Array<T, 3>& n) {
#line 58 "src/viscous/stress.rs"
const auto mu = (transport.scale * viscosity(transport, face[3]));
#line 59 "src/viscous/stress.rs"
const auto force = traction(mu, gradient, n);
#line 60 "src/viscous/stress.rs"
const auto heat = ((mu * conductivity_by_mu(gas, transport)) * ((((gradient[3][0] * n[0]) + (gradient[3][1] * n[1])) + (gradient[3][2] * n[2]))));
#line 63 "src/viscous/stress.rs"
const auto work = (((face[0] * force[0]) + (face[1] * force[1])) + (face[2] * force[2]));
#line 64 "src/viscous/stress.rs"
return array_of(T(0.0), force[0], force[1], force[2], (work + heat));
}

#line 78 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ Array<T, 4> flux_viscous_across(T ratio, T mu, const Array<T, 4>& before, const Array<T, 4>& after, const Array<T, 3>& n) {
#line 79 "src/viscous/stress.rs"
auto change = array_fill<4>(T(0.0));
#line 80 "src/viscous/stress.rs"
#pragma unroll
for (int i = 0; i < 4; ++i) {
#line 81 "src/viscous/stress.rs"
change[i] = (after[i] - before[i]);
}
#line 83 "src/viscous/stress.rs"
const auto through = (mu * ((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2]))));
#line 85 "src/viscous/stress.rs"
const auto along = ((mu * T((1.0 / 3.0))) * ((((change[0] * n[0]) + (change[1] * n[1])) + (change[2] * n[2]))));
#line 86 "src/viscous/stress.rs"
auto force = array_fill<3>(T(0.0));
#line 87 "src/viscous/stress.rs"
auto work = T(0.0);
#line 88 "src/viscous/stress.rs"
#pragma unroll
for (int i_2 = 0; i_2 < 3; ++i_2) {
#line 89 "src/viscous/stress.rs"
force[i_2] = ((change[i_2] * through) + (along * n[i_2]));
#line 90 "src/viscous/stress.rs"
work += (((before[i_2] + after[i_2])) * force[i_2]);
}
#line 92 "src/viscous/stress.rs"
return array_of(force[0], force[1], force[2], ((T(0.5) * work) + ((ratio * through) * change[3])));
}

#line 99 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ Array<T, 4> flux_viscous_along(T ratio, T mu, const Array<T, 4>& middle, const Array<Array<T, 4>, 2>& change, const Array<Array<T, 3>, 2>& area, const Array<T, 3>& n) {
#line 107 "src/viscous/stress.rs"
auto through = array_fill<2>(T(0.0));
#line 108 "src/viscous/stress.rs"
auto along = array_fill<2>(T(0.0));
#line 109 "src/viscous/stress.rs"
auto divergence = array_fill<2>(T(0.0));
#line 110 "src/viscous/stress.rs"
#pragma unroll
for (int d = 0; d < 2; ++d) {
#line 111 "src/viscous/stress.rs"
through[d] = (((area[d][0] * n[0]) + (area[d][1] * n[1])) + (area[d][2] * n[2]));
#line 112 "src/viscous/stress.rs"
along[d] = (((change[d][0] * n[0]) + (change[d][1] * n[1])) + (change[d][2] * n[2]));
#line 113 "src/viscous/stress.rs"
divergence[d] = (((change[d][0] * area[d][0]) + (change[d][1] * area[d][1])) + (change[d][2] * area[d][2]));
}
#line 115 "src/viscous/stress.rs"
const auto bulk = (T(((-2.0) / 3.0)) * ((divergence[0] + divergence[1])));
#line 116 "src/viscous/stress.rs"
auto force = array_fill<3>(T(0.0));
#line 117 "src/viscous/stress.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 119 "src/viscous/stress.rs"
const auto first = (((bulk * n[i]) + (change[0][i] * through[0])) + (area[0][i] * along[0]));
#line 120 "src/viscous/stress.rs"
force[i] = (mu * (((first + (change[1][i] * through[1])) + (area[1][i] * along[1]))));
}
#line 122 "src/viscous/stress.rs"
const auto heat = (mu * ((ratio * (((change[0][3] * through[0]) + (change[1][3] * through[1]))))));
#line 123 "src/viscous/stress.rs"
const auto work = (((middle[0] * force[0]) + (middle[1] * force[1])) + (middle[2] * force[2]));
#line 124 "src/viscous/stress.rs"
return array_of(force[0], force[1], force[2], (work + heat));
}

#line 136 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ Array<T, 25> flux_viscous_block(Gas<T> gas, Transport<T> transport, const Array<T, 5>& w, const Array<T, 4>& face, const Array<T, 3>& force, const Array<T, 3>& weight, T share, const Array<T, 3>& n) {
#line 146 "src/viscous/stress.rs"
const auto zero = T(0.0);
#line 147 "src/viscous/stress.rs"
const auto mu = (transport.scale * viscosity(transport, face[3]));
#line 148 "src/viscous/stress.rs"
const auto across = (((weight[0] * n[0]) + (weight[1] * n[1])) + (weight[2] * n[2]));
#line 149 "src/viscous/stress.rs"
auto block = array_fill<25>(zero);
#line 150 "src/viscous/stress.rs"
#pragma unroll
for (int j = 0; j < 3; ++j) {
#line 151 "src/viscous/stress.rs"
auto work = (share * force[j]);
#line 152 "src/viscous/stress.rs"
#pragma unroll
for (int i = 0; i < 3; ++i) {
#line 153 "src/viscous/stress.rs"
const auto own = ((i == j) ? across : zero);
#line 154 "src/viscous/stress.rs"
const auto by = (mu * (((own + (weight[i] * n[j])) - ((T((2.0 / 3.0)) * n[i]) * weight[j]))));
#line 155 "src/viscous/stress.rs"
block[(((5 * j) + 6) + i)] = by;
#line 156 "src/viscous/stress.rs"
work += (face[i] * by);
}
#line 158 "src/viscous/stress.rs"
block[((5 * j) + 9)] = work;
}
#line 161 "src/viscous/stress.rs"
const auto by_temperature = ((mu * conductivity_by_mu(gas, transport)) * across);
#line 162 "src/viscous/stress.rs"
const auto t_by_p = quotient(gas.gamma, w[0]);
#line 163 "src/viscous/stress.rs"
block[4] = quotient((((-by_temperature) * t_by_p) * w[4]), w[0]);
#line 164 "src/viscous/stress.rs"
block[24] = (by_temperature * t_by_p);
#line 165 "src/viscous/stress.rs"
return by_conserved(gas, w, block);
}

#line 173 "src/viscous/stress.rs"
template <class T> __device__ __forceinline__ T spectral_radius_viscous(Gas<T> gas, Transport<T> transport, const Array<T, 5>& w, const Array<T, 3>& n, T volume) {
#line 180 "src/viscous/stress.rs"
const auto mu = (transport.scale * viscosity(transport, temperature(gas, w)));
#line 181 "src/viscous/stress.rs"
const auto factor = real_max((quotient(gas.gamma, transport.prandtl)), T((4.0 / 3.0)));
#line 182 "src/viscous/stress.rs"
return quotient(((factor * mu) * ((((n[0] * n[0]) + (n[1] * n[1])) + (n[2] * n[2])))), ((w[0] * volume)));
}

#line 25 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ Array<T, 3> triangle_area(const Array<T, 3>& a, const Array<T, 3>& b, const Array<T, 3>& c) {
#line 26 "src/viscous/green_gauss.rs"
const auto half = T(0.5);
#line 27 "src/viscous/green_gauss.rs"
const auto p = array_of((b[0] - a[0]), (b[1] - a[1]), (b[2] - a[2]));
#line 28 "src/viscous/green_gauss.rs"
const auto q = array_of((c[0] - a[0]), (c[1] - a[1]), (c[2] - a[2]));
#line 29 "src/viscous/green_gauss.rs"
return array_of((half * (((p[1] * q[2]) - (p[2] * q[1])))), (half * (((p[2] * q[0]) - (p[0] * q[2])))), (half * (((p[0] * q[1]) - (p[1] * q[0])))));
}

#line 39 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ Tuple2<Array<Array<T, 3>, 4>, T> quad_shares(const Array<Array<T, 3>, 4>& x) {
#line 40 "src/viscous/green_gauss.rs"
const auto zero = T(0.0);
#line 41 "src/viscous/green_gauss.rs"
auto middle = array_fill<3>(zero);
#line 42 "src/viscous/green_gauss.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 43 "src/viscous/green_gauss.rs"
middle[k] = (T(0.25) * ((((x[0][k] + x[1][k]) + x[2][k]) + x[3][k])));
}
#line 45 "src/viscous/green_gauss.rs"
auto share = array_fill<4>(array_fill<3>(zero));
#line 46 "src/viscous/green_gauss.rs"
auto volume = zero;
#line 47 "src/viscous/green_gauss.rs"
auto whole = array_fill<3>(zero);
#line 48 "src/viscous/green_gauss.rs"
#pragma unroll
for (int e = 0; e < 4; ++e) {
#line 49 "src/viscous/green_gauss.rs"
const auto next = (((e + 1)) % 4);
#line 50 "src/viscous/green_gauss.rs"
const auto area = triangle_area(x[e], x[next], middle);
#line 51 "src/viscous/green_gauss.rs"
#pragma unroll
for (int k_2 = 0; k_2 < 3; ++k_2) {
#line 52 "src/viscous/green_gauss.rs"
const auto third = (T((1.0 / 3.0)) * area[k_2]);
#line 53 "src/viscous/green_gauss.rs"
share[e][k_2] += third;
#line 54 "src/viscous/green_gauss.rs"
share[next][k_2] += third;
#line 55 "src/viscous/green_gauss.rs"
whole[k_2] += (T(0.25) * third);
#line 56 "src/viscous/green_gauss.rs"
volume += ((T((1.0 / 3.0)) * third) * (((x[e][k_2] + x[next][k_2]) + middle[k_2])));
}
}
#line 59 "src/viscous/green_gauss.rs"
#pragma unroll
for (int e_2 = 0; e_2 < 4; ++e_2) {
#line 60 "src/viscous/green_gauss.rs"
#pragma unroll
for (int k_3 = 0; k_3 < 3; ++k_3) {
#line 61 "src/viscous/green_gauss.rs"
share[e_2][k_3] += whole[k_3];
}
}
#line 64 "src/viscous/green_gauss.rs"
return tuple_of(share, volume);
}

#line 69 "src/viscous/green_gauss.rs"
template <class T, int N> __device__ __forceinline__ void add_triangle(CellWeights<T, N>& cell, const Array<Array<T, 3>, N>& x, Array<int, 3> corners) {
#line 70 "src/viscous/green_gauss.rs"
const auto part_1_ = corners;
const auto a = part_1_[0];
const auto b = part_1_[1];
const auto c = part_1_[2];
#line 71 "src/viscous/green_gauss.rs"
const auto area = triangle_area(x[a], x[b], x[c]);
#line 72 "src/viscous/green_gauss.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 73 "src/viscous/green_gauss.rs"
const auto third = (T((1.0 / 3.0)) * area[k]);
#line 74 "src/viscous/green_gauss.rs"
cell.weight[a][k] += third;
#line 75 "src/viscous/green_gauss.rs"
cell.weight[b][k] += third;
#line 76 "src/viscous/green_gauss.rs"
cell.weight[c][k] += third;
#line 77 "src/viscous/green_gauss.rs"
cell.volume += ((T((1.0 / 3.0)) * third) * (((x[a][k] + x[b][k]) + x[c][k])));
}
}

#line 83 "src/viscous/green_gauss.rs"
template <class T, int N> __device__ __forceinline__ void add_quad(CellWeights<T, N>& cell, const Array<Array<T, 3>, N>& x, Array<int, 4> corners) {
#line 84 "src/viscous/green_gauss.rs"
const auto part_1_ = corners;
const auto a = part_1_[0];
const auto b = part_1_[1];
const auto c = part_1_[2];
const auto d = part_1_[3];
#line 85 "src/viscous/green_gauss.rs"
const auto part_2_ = quad_shares(array_of(x[a], x[b], x[c], x[d]));
const auto share = part_2_._0;
const auto volume = part_2_._1;
#line 86 "src/viscous/green_gauss.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 87 "src/viscous/green_gauss.rs"
cell.weight[a][k] += share[0][k];
#line 88 "src/viscous/green_gauss.rs"
cell.weight[b][k] += share[1][k];
#line 89 "src/viscous/green_gauss.rs"
cell.weight[c][k] += share[2][k];
#line 90 "src/viscous/green_gauss.rs"
cell.weight[d][k] += share[3][k];
}
#line 92 "src/viscous/green_gauss.rs"
cell.volume += volume;
}

#line 97 "src/viscous/green_gauss.rs"
template <class T, int N> __device__ __forceinline__ CellWeights<T, N> empty() {
#line 98 "src/viscous/green_gauss.rs"
return make_CellWeights(array_fill<N>(array_fill<3>(T(0.0))), T(0.0));
}

#line 103 "src/viscous/green_gauss.rs"
template <class T, int N> __device__ __forceinline__ CellWeights<T, N> divide(CellWeights<T, N> cell) {
#line 104 "src/viscous/green_gauss.rs"
auto out = cell;
#line 105 "src/viscous/green_gauss.rs"
const auto inverse = quotient(T(1.0), cell.volume);
#line 106 "src/viscous/green_gauss.rs"
#pragma unroll
for (int i = 0; i < N; ++i) {
#line 107 "src/viscous/green_gauss.rs"
#pragma unroll
for (int k = 0; k < 3; ++k) {
#line 108 "src/viscous/green_gauss.rs"
out.weight[i][k] *= inverse;
}
}
#line 111 "src/viscous/green_gauss.rs"
return out;
}

#line 116 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ CellWeights<T, 4> tet_weights(const Array<Array<T, 3>, 4>& x) {
#line 117 "src/viscous/green_gauss.rs"
auto cell = empty<T, 4>();
#line 118 "src/viscous/green_gauss.rs"
#pragma unroll
for (int f = 0; f < 4; ++f) {
#line 119 "src/viscous/green_gauss.rs"
add_triangle(cell, x, TET_TRIANGLES[f]);
}
#line 121 "src/viscous/green_gauss.rs"
return divide(cell);
}

#line 126 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ CellWeights<T, 5> pyramid_weights(const Array<Array<T, 3>, 5>& x) {
#line 127 "src/viscous/green_gauss.rs"
auto cell = empty<T, 5>();
#line 128 "src/viscous/green_gauss.rs"
#pragma unroll
for (int f = 0; f < 4; ++f) {
#line 129 "src/viscous/green_gauss.rs"
add_triangle(cell, x, PYRAMID_TRIANGLES[f]);
}
#line 131 "src/viscous/green_gauss.rs"
add_quad(cell, x, PYRAMID_QUAD);
#line 132 "src/viscous/green_gauss.rs"
return divide(cell);
}

#line 137 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ CellWeights<T, 6> prism_weights(const Array<Array<T, 3>, 6>& x) {
#line 138 "src/viscous/green_gauss.rs"
auto cell = empty<T, 6>();
#line 139 "src/viscous/green_gauss.rs"
#pragma unroll
for (int f = 0; f < 2; ++f) {
#line 140 "src/viscous/green_gauss.rs"
add_triangle(cell, x, PRISM_TRIANGLES[f]);
}
#line 142 "src/viscous/green_gauss.rs"
#pragma unroll
for (int f_2 = 0; f_2 < 3; ++f_2) {
#line 143 "src/viscous/green_gauss.rs"
add_quad(cell, x, PRISM_QUADS[f_2]);
}
#line 145 "src/viscous/green_gauss.rs"
return divide(cell);
}

#line 162 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ CellWeights<T, 8> hex_weights(const Array<Array<T, 3>, 8>& x) {
#line 163 "src/viscous/green_gauss.rs"
auto cell = empty<T, 8>();
#line 164 "src/viscous/green_gauss.rs"
#pragma unroll
for (int f = 0; f < 6; ++f) {
#line 165 "src/viscous/green_gauss.rs"
add_quad(cell, x, HEX_QUADS[f]);
}
#line 167 "src/viscous/green_gauss.rs"
return divide(cell);
}

#line 179 "src/viscous/green_gauss.rs"
template <class T> __device__ __forceinline__ Array<T, 3> edge_augmented(const Array<T, 3>& gradient, T difference, const Array<T, 3>& dx) {
#line 180 "src/viscous/green_gauss.rs"
const auto along = (((gradient[0] * dx[0]) + (gradient[1] * dx[1])) + (gradient[2] * dx[2]));
#line 181 "src/viscous/green_gauss.rs"
const auto factor = quotient(((difference - along)), ((((dx[0] * dx[0]) + (dx[1] * dx[1])) + (dx[2] * dx[2]))));
#line 182 "src/viscous/green_gauss.rs"
return array_of((gradient[0] + (factor * dx[0])), (gradient[1] + (factor * dx[1])), (gradient[2] + (factor * dx[2])));
}

} // namespace pointwise

#line 1 "common.cuh"
// What the flow solver's kernels share, behind the emitted pointwise physics. Compiled by NVRTC with no header.
typedef unsigned int u32;
typedef unsigned long long u64;
typedef pointwise::Array<double, 3> Vec3;
typedef pointwise::Array<double, 5> State;
typedef pointwise::Array<double, 15> Gradient;
typedef pointwise::Array<double, 25> Block;
#define NONE 0xffffffffu

// Numbers of the set-up, in the order of `Params` in mod.rs.
struct Params {
    double gamma, kappa, eps, entropy_fix, jacobian_fix;
    double viscosity, prandtl, law, sutherland;
    double max_change, depth;
    __device__ pointwise::Gas<double> gas() const { return {gamma}; }
    __device__ pointwise::Transport<double> transport() const {
        return {viscosity, prandtl, law != 0 ? pointwise::ViscosityLaw::Sutherland : pointwise::ViscosityLaw::Constant, sutherland};
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
__device__ __forceinline__ Vec3 load_vec3(const double* __restrict__ from, u32 i) {
    const double* p = from + (u64)i * 3;
    return {p[0], p[1], p[2]};
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
__device__ __forceinline__ void sum_parts(const u32* __restrict__ ptr, u32 width, const double* __restrict__ partials, double* __restrict__ to) {
    const u32 component = threadIdx.x / 32;
    double sum = 0;
    for (u32 part = ptr[blockIdx.x] + threadIdx.x % 32; part < ptr[blockIdx.x + 1]; part += 32) sum += partials[(u64)part * width + component];
    for (int s = 16; s; s >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, s);
    if (threadIdx.x % 32 == 0) to[blockIdx.x * width + component] = sum;
}

// Sums over a thread block of forces, pressure's and friction's, and of their moments: force, moment, force, moment (12 numbers).
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

// The share of an update that a node can take: changes of density and pressure stay below `most`.
__device__ __forceinline__ double update_share(pointwise::Gas<double> gas, const State& q, const State& w, const State& x, double most) {
    const double kinetic = 0.5 * (w[1] * w[1] + w[2] * w[2] + w[3] * w[3]);
    const double d_p = (gas.gamma - 1.0) * (kinetic * x[0] - w[1] * x[1] - w[2] * x[2] - w[3] * x[3] + x[4]);
    double share = fmin(fmin(1.0, most / fmax(fabs(x[0]) / w[0], 1e-30)), most * w[4] / fmax(fabs(d_p), 1e-30));
    // The pressure is not linear in q: check, and halve while it would fall too far.
    for (int turn = 0; turn < 20; turn++) {
        State next;
#pragma unroll
        for (int v = 0; v < 5; v++) next[v] = q[v] - share * x[v];
        if (pointwise::primitive(gas, next)[4] > fmax(1.0 - 2.0 * most, 0.05) * w[4]) break;
        share *= 0.5;
    }
    return share;
}

// A boundary condition, in the order of `patch_record` in residual/cuda.rs.
struct Patch {
    double kind;  // 0 far field, 1 wall or symmetry, 2 inlet, 3 outlet, 4 extrapolation
    double free[5];
    double pressure;  // of an inlet its total pressure
    double temperature;
    double direction[3];
    __device__ State stream() const { return {free[0], free[1], free[2], free[3], free[4]}; }
    __device__ pointwise::Inlet<double> inlet() const { return {pressure, temperature, {direction[0], direction[1], direction[2]}}; }
};

#line 1 "grid.cuh"
// The blocks of a grid in arrays of all of them: what kernels over grids share. Includes no header.
//
// An array has `total` entries a component: the blocks one after another, each with its ghost cells, i fastest.
// Kernels go over chunks: CHUNK consecutive entries of one block from its first cell to its last, ghosts between rows among
// them.
#define CHUNK 256

// A block, in the order of `record` in device.rs.
struct GridBlock {
    unsigned offset;        // first entry in the arrays
    unsigned first;         // number of its first cell among those of all blocks, i fastest, without ghosts
    unsigned count[3];      // cells
    unsigned stride[3];     // 1, and the distances of neighbors along j and k
};

// A thread's entry of a chunk.
struct GridCell {
    unsigned at;            // place in the arrays
    unsigned index[3];      // i, j, k
    unsigned number;        // number among the cells of all blocks
    unsigned block;
    bool inside;            // whether it is a cell of the block rather than a ghost
};

// `chunks` {block, entry of the block where the chunk begins}.
__device__ __forceinline__ GridCell grid_cell(const GridBlock* __restrict__ blocks, const uint2* __restrict__ chunks, unsigned chunk) {
    const uint2 here = chunks[chunk];
    const GridBlock b = blocks[here.x];
    const unsigned local = here.y + threadIdx.x;
    const unsigned plane = local / b.stride[2], rest = local - plane * b.stride[2];
    const unsigned row = rest / b.stride[1];
    GridCell cell;
    cell.at = b.offset + local;
    cell.index[0] = rest - row * b.stride[1] - 2, cell.index[1] = row - 2, cell.index[2] = plane - 2;
    cell.inside = cell.index[0] < b.count[0] && cell.index[1] < b.count[1] && cell.index[2] < b.count[2];
    cell.number = b.first + cell.index[0] + b.count[0] * (cell.index[1] + b.count[1] * cell.index[2]);
    cell.block = here.x;
    return cell;
}

#line 1 "structured.cuh"
// What the kernels of structured grids share, behind common.cuh and grid.cuh.
//
// Arrays of all blocks with ghosts, see grid.cuh, `total` entries a component: w [5], area [3 axes][3], volume, tau, r [5].
// Constants: SCHEME 0 central with scalar dissipation, 1 with matrix dissipation, 2 Roe; VISCOUS 0 no, 1 thin-layer, 2 full.

// Numbers of the set-up, in the order of `setup_record` in setup.rs.
struct Setup {
    double gamma;
    double second, fourth, acoustic, convective;
    double kappa, limited, fix_acoustic, fix_convective;
    double viscosity, prandtl, law, sutherland;
    double implicit_dissipation, max_change;
    __device__ pointwise::Gas<double> gas() const { return {gamma}; }
    __device__ pointwise::Dissipation<double> dissipation() const { return {second, fourth, acoustic, convective}; }
    __device__ pointwise::EntropyFix<double> fix() const { return {fix_acoustic, fix_convective}; }
    __device__ pointwise::Transport<double> transport() const {
        return {viscosity, prandtl, law != 0 ? pointwise::ViscosityLaw::Sutherland : pointwise::ViscosityLaw::Constant, sutherland};
    }
};

__device__ __forceinline__ State state_at(const double* __restrict__ w, u64 total, u64 at) {
    return {w[at], w[total + at], w[2 * total + at], w[3 * total + at], w[4 * total + at]};
}
// `area` begins with the first component of an axis.
__device__ __forceinline__ Vec3 area_at(const double* __restrict__ area, u64 total, u64 at) { return {area[at], area[total + at], area[2 * total + at]}; }

// a[axis] of an array in registers.
__device__ __forceinline__ u32 pick(const u32* a, u32 axis) { return axis == 0 ? a[0] : axis == 1 ? a[1] : a[2]; }

// Number of the boundary's face at an end of an axis, or NONE. `face_of` has the faces of each side of each block from
// `side_ptr` on, the first tangential axis fastest.
struct Sides {
    const u32* ptr;
    const u32* face_of;
    __device__ u32 face(u32 block, const u32* count, u32 axis, u32 high, const u32* cell) const {
        const u32 u = axis == 2 ? 0 : axis + 1, v = axis == 0 ? 2 : axis - 1;
        return face_of[ptr[6 * block + 2 * axis + high] + pick(cell, u) + pick(count, u) * pick(cell, v)];
    }
};

// Kinds of `Patch` (common.cuh) here.
enum { FAR, SLIP, INLET, OUTLET, EXTRAPOLATION, SYMMETRY, ADIABATIC, ISOTHERMAL };

// Sums over one part {first face, faces} of a wall each: pressure force, its moment, friction, its moment (12 numbers), of
// loads [6][count] at `middles` [3][count]; thread blocks of 256.
__device__ __forceinline__ void sum_wall_forces(u32 count, const uint2* __restrict__ parts, const double* __restrict__ middles,
                                                const double* __restrict__ loads, double cx, double cy, double cz, double* __restrict__ partials) {
    Vec3 arm = {}, f[2] = {};
    const uint2 part = parts[blockIdx.x];
    if (threadIdx.x < part.y) {
        const u64 at = part.x + threadIdx.x, n = count;
        arm = {middles[at] - cx, middles[n + at] - cy, middles[2 * n + at] - cz};
#pragma unroll
        for (int k = 0; k < 2; k++) f[k] = {loads[3 * k * n + at], loads[(3 * k + 1) * n + at], loads[(3 * k + 2) * n + at]};
    }
    sum_forces(arm, f, partials);
}

// Copies to shared memory that go on by themselves.
__device__ __forceinline__ void copy_async(double* to, const double* from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from) : "memory");
}
// To a place AT numbers behind the address `to` in shared memory: no register for each.
template <int AT> __device__ __forceinline__ void copy_async(u32 to, const double* from) {
    asm volatile("cp.async.ca.shared.global [%0 + %2], [%1], 8;" ::"r"(to), "l"(from), "n"(8 * AT) : "memory");
}
__device__ __forceinline__ void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int LEFT> __device__ __forceinline__ void copy_wait() { asm volatile("cp.async.wait_group %0;" ::"n"(LEFT) : "memory"); }

#define COLUMNS 32
// A thread block's tile {block, i, j, k of its first cell}, COLUMNS cells wide along i, and the planes along k that it marches through.
struct Tile {
    GridBlock b;
    u32 block, i, j, first, end;
    __device__ Tile(const GridBlock* blocks, const uint4* tiles, u32 planes) {
        const uint4 tile = tiles[blockIdx.x];
        block = tile.x, b = blocks[tile.x];
        i = tile.y, j = tile.z, first = tile.w, end = min(first + planes, b.count[2]);
    }
    // Place of a cell; indices may be ghosts' and are cut off where there are none any more.
    __device__ u32 place(u32 ci, u32 cj, u32 ck) const {
        ci = min((int)ci, (int)b.count[0] + 1), cj = min((int)cj, (int)b.count[1] + 1);
        return b.offset + (ci + 2) + (cj + 2) * b.stride[1] + (ck + 2) * b.stride[2];
    }
};

// As above with 32 bits for the numbers of all components: more would fit no memory.
__device__ __forceinline__ State state_of(const double* __restrict__ w, u32 pitch, u32 at) {
    return {w[at], w[at + pitch], w[at + 2 * pitch], w[at + 3 * pitch], w[at + 4 * pitch]};
}
__device__ __forceinline__ Vec3 vector_of(const double* __restrict__ area, u32 pitch, u32 at) { return {area[at], area[at + pitch], area[at + 2 * pitch]}; }

// Boxes of arrays copied to shared memory, and barriers for those who work with them while others come. Behind structured.cuh.

__device__ __forceinline__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void barrier_init(u64* barrier, u32 arrivals) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals) : "memory");
}
// Before anybody uses barriers set up by the thread.
__device__ __forceinline__ void barriers_ready() {
#if __CUDA_ARCH__ >= 9000
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
}
// Arrival of a warp.
__device__ __forceinline__ void barrier_arrive(u64* barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
}
// Arrival of a thread.
__device__ __forceinline__ void barrier_arrive_thread(u64* barrier) {
    asm volatile("{ .reg .b64 t; mbarrier.arrive.shared.b64 t, [%0]; }" ::"r"(shared_address(barrier)) : "memory");
}
// Arrival of a warp that asks for boxes of so many bytes, which count where the GPU copies them by itself.
__device__ __forceinline__ void barrier_expect(u64* barrier, u32 bytes) {
#if __CUDA_ARCH__ >= 9000
    if (threadIdx.x % 32 == 0) asm volatile("{ .reg .b64 t; mbarrier.arrive.expect_tx.shared.b64 t, [%0], %1; }" ::"r"(shared_address(barrier)), "r"(bytes) : "memory");
#else
    barrier_arrive(barrier);
#endif
}
// Waits for use number `use` of one of two barriers that take turns.
__device__ __forceinline__ void barrier_wait(u64* barrier, u32 use) {
#if __CUDA_ARCH__ >= 9000
#define BARRIER_TEST "mbarrier.try_wait.parity.shared.b64"
#else
#define BARRIER_TEST "mbarrier.test_wait.parity.shared.b64"
#endif
    asm volatile("{ .reg .pred p; W: " BARRIER_TEST " p, [%0], %1; @!p bra W; }" ::"r"(shared_address(barrier)), "r"(use / 2 % 2) : "memory");
}
// Arrival when all copies of the lane have come.
__device__ __forceinline__ void arrive_after_copies(u64* barrier) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(shared_address(barrier)) : "memory");
}

// Threads that copy boxes: a warp that asks the GPU for them, or all.
#if __CUDA_ARCH__ >= 9000
#define COPIERS 32
#else
#define COPIERS THREADS
#endif
// What the GPU needs to know of an array to copy boxes of it, see box_map in boxes.rs.
struct alignas(128) BoxMap {
    u64 opaque[16];
};
// Boxes asked for from now on do not overtake what others wrote before to where they come.
__device__ __forceinline__ void fence_boxes() {
#if __CUDA_ARCH__ >= 9000
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
#endif
}
// A box of so many components, rows and cells from entry (i, j, k) of a block on, by so many threads, COPIERS; `barrier` counts
// its bytes where the GPU copies it by itself, asked by a warp. What lies beyond the block is no number that anybody uses.
template <int COMPONENTS, int HEIGHT, int WIDTH, int MANY>
__device__ __forceinline__ void copy_box(double* to, const BoxMap* map, const double* from, const GridBlock& b, u32 pitch, u32 first, u32 i, u32 j, u32 k, u64* barrier) {
#if __CUDA_ARCH__ >= 9000
    if (threadIdx.x % 32 == 0)
        asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6];" ::"r"(shared_address(to)),
                     "l"(map), "r"(i), "r"(j), "r"(k), "r"(first), "r"(shared_address(barrier))
                     : "memory");
#else
#pragma unroll 1
    for (u32 t = threadIdx.x % MANY; t < COMPONENTS * HEIGHT * WIDTH / 2; t += MANY) {
        const u32 x = min(i + 2 * (t % (WIDTH / 2)), b.stride[1] - 2), y = min(j + t / (WIDTH / 2) % HEIGHT, b.count[1] + 3);
        const double* const pair = from + (b.offset + x + y * b.stride[1] + k * b.stride[2] + (first + t / (WIDTH / 2 * HEIGHT)) * pitch);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to + 2 * t)), "l"(pair) : "memory");
    }
#endif
}
// Sums of viscous fluxes out of the cells of structured grids. Twin: structured/residual.rs.
//
// A thread block takes 32 x ROWS cells along i and j and marches through at most 64 planes along k, a thread a cell. A warp has a row of
// cells; others have the cells around the tile, each with its share in one flux, the first of which asks for the next plane's numbers.
// All derivatives along k are the thread's own; neighbors along i and j are in shared memory.
//
// The flux through a face is that of the change across it, and half of what each of its two cells has of the changes along the
// other two axes. So a cell makes three such halves of its central differences, whichever faces take them. Cell c of a row has
//   flux(c + 1) - flux(c) = [across(c + 1) + half(c + 1)] - across(c) - half(c - 1)
// and takes the bracket (`up`) from the cell above and `down` from the cell below: along i by shuffles, along j from shared memory,
// a plane later, so that one barrier a plane does. Where a face is shut, since the boundary has its own flux there or it has no area,
// half(c - 1) or the bracket is -half(c) and across(c) is 0.
//
// What of a plane needs no other thread is done between arriving at that barrier (`done`) and waiting for it.
typedef pointwise::Array<double, 4> Thermal;    // u, v, w, T

#define WIDE (COLUMNS + 2 * BEFORE)
#define PLACES ((ROWS + 2) * WIDE)
#define PLACES_J ((ROWS + 3) * WIDE)
#define RIM_WARPS (2 + (2 * ROWS + 4 + 31) / 32)
#define WARPS (ROWS + RIM_WARPS)
#define THREADS (32 * WARPS)
// Places of what cells leave for their neighbors: a column around the tile.
#define LEFT_WIDE (COLUMNS + 2)
#define LEFT ((ROWS + 2) * LEFT_WIDE)
// Boxes begin at multiples of 128 bytes.
#define PADDED(n) ((n) + 15 & ~15)
// Planes whose areas are at hand or on their way; of states one more.
#define TURNS 2
#define STAGES 3
// Shared memory, in numbers: T, u, v, w and viscosity (first the state) of three planes, their volumes; lower faces along i, along j and
// along k of two; what cells left in two; a bit a plane for shut faces at the ends of i and of j, low and high; barriers for two planes
// whose numbers came, and that all threads are done with.
enum {
    STATE = 0, VOLUME = STATE + STAGES * PADDED(5 * PLACES), FACE_I = VOLUME + STAGES * PADDED(PLACES), FACE_J = FACE_I + TURNS * PADDED(3 * PLACES),
    FACE_K = FACE_J + TURNS * PADDED(3 * PLACES_J), UP = FACE_K + TURNS * PADDED(3 * PLACES), DOWN = UP + 8 * LEFT, SHUT_I = DOWN + 8 * LEFT,
    SHUT_J = SHUT_I + 2 * ROWS, FULL = SHUT_J + 2 * COLUMNS, DONE = FULL + 2, ENTRIES = DONE + 2
};

static_assert(8 * ENTRIES == SHARED, "as the launch has it");

__device__ __forceinline__ Thermal thermal_at(const double* at) { return {at[PLACES], at[2 * PLACES], at[3 * PLACES], at[0]}; }
__device__ __forceinline__ Vec3 area_in(const double* at, int apart) { return {at[0], at[apart], at[2 * apart]}; }
__device__ __forceinline__ Thermal operator-(const Thermal& a, const Thermal& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3]}; }
__device__ __forceinline__ Vec3 operator+(const Vec3& a, const Vec3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }
// Read again rather than kept in registers, of which there are too few.
__device__ __forceinline__ double again(const double* at) { return *(const volatile double*)at; }
__device__ __forceinline__ Thermal thermal_again(const double* at) { return {again(at + PLACES), again(at + 2 * PLACES), again(at + 3 * PLACES), again(at)}; }
__device__ __forceinline__ Vec3 area_again(const double* at, int apart) { return {again(at), again(at + apart), again(at + 2 * apart)}; }
__device__ __forceinline__ bool is_zero(const Vec3& n) { return n[0] == 0 && n[1] == 0 && n[2] == 0; }

// to += what the lane above or below has, where there is one and `wanted`.
__device__ __forceinline__ void add_from_above(double& to, double value, bool wanted) {
    asm volatile("{\n.reg .pred here, want;\n.reg .b32 low, high;\n.reg .f64 other;\nsetp.ne.u32 want, %2, 0;\nmov.b64 {low, high}, %1;\n"
                 "shfl.sync.down.b32 low, low, 1, 31, -1;\nshfl.sync.down.b32 high|here, high, 1, 31, -1;\nand.pred here, here, want;\n"
                 "mov.b64 other, {low, high};\n@here add.f64 %0, %0, other;\n}" : "+d"(to) : "d"(value), "r"((u32)wanted));
}
__device__ __forceinline__ void add_from_below(double& to, double value, bool wanted) {
    asm volatile("{\n.reg .pred here, want;\n.reg .b32 low, high;\n.reg .f64 other;\nsetp.ne.u32 want, %2, 0;\nmov.b64 {low, high}, %1;\n"
                 "shfl.sync.up.b32 low, low, 1, 0, -1;\nshfl.sync.up.b32 high|here, high, 1, 0, -1;\nand.pred here, here, want;\n"
                 "mov.b64 other, {low, high};\n@here add.f64 %0, %0, other;\n}" : "+d"(to) : "d"(value), "r"((u32)wanted));
}

// r -= the sum of the viscous fluxes out of each cell, but for those through the boundary. `maps`: of each block those of boxes of
// w, of areas in ROWS + 2 and in ROWS + 3 rows, of volumes. Dynamic shared memory: as above.
extern "C" __global__ void __launch_bounds__(THREADS, 1)
viscous_fluxes(u64 total, u32 planes, const GridBlock* __restrict__ blocks, const uint4* __restrict__ tiles, const u32* __restrict__ actives,
               const u32* __restrict__ side_ptr, const u32* __restrict__ face_of, const double* __restrict__ w, const double* __restrict__ area,
               const double* __restrict__ volume, double gamma, double viscosity, double prandtl, u32 sutherland_law, double sutherland,
               const BoxMap* __restrict__ maps, double* __restrict__ r) {
    extern __shared__ __align__(128) double memory[];
    const Tile tile(blocks, tiles, planes);
    const Sides sides = {side_ptr, face_of};
    const pointwise::Gas<double> gas = {gamma};
    const pointwise::Transport<double> transport = {viscosity, prandtl, sutherland_law ? pointwise::ViscosityLaw::Sutherland : pointwise::ViscosityLaw::Constant, sutherland};
    const double ratio = pointwise::conductivity_by_mu(gas, transport);
    const u32 lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const u32 plane = tile.b.stride[2], pitch = (u32)total;
    // Along axes without derivatives nothing changes.
    const u32 active = actives[tile.block];
    // Planes of the march: those of the tile with one before and one beyond.
    const u32 last = tile.end - tile.first + 1;

    // What plane n needs: the states and volumes of the next one, and at first its own; areas. A warp of the rim asks for it, or all
    // threads copy.
    u64 *const full = (u64*)(memory + FULL), *const done = (u64*)(memory + DONE);
    auto fetch = [&](u32 n) {
        const BoxMap* const map = maps + 4 * tile.block;
        const u32 x = tile.i + 2 - BEFORE, y = tile.j + 1, z = tile.first + 1 + n, turn = n % TURNS;
        auto states = [&](u32 z, u32 slot) {
            copy_box<5, ROWS + 2, WIDE, COPIERS>(memory + (STATE + slot * PADDED(5 * PLACES)), map, w, tile.b, pitch, 0, x, y, z, full + turn);
            copy_box<1, ROWS + 2, WIDE, COPIERS>(memory + (VOLUME + slot * PADDED(PLACES)), map + 3, volume, tile.b, pitch, 0, x, y, z, full + turn);
        };
        fence_boxes();
        if (warp == ROWS) barrier_expect(full + turn, 8 * (12 * PLACES + 3 * PLACES_J + (n ? 0 : 6 * PLACES)));
        if (n == 0) states(z, 0);
        states(z + 1, (n + 1) % STAGES);
        copy_box<3, ROWS + 2, WIDE, COPIERS>(memory + (FACE_K + turn * PADDED(3 * PLACES)), map + 1, area, tile.b, pitch, 6, x, y, z + 1, full + turn);
        copy_box<3, ROWS + 2, WIDE, COPIERS>(memory + (FACE_I + turn * PADDED(3 * PLACES)), map + 1, area, tile.b, pitch, 0, x, y, z, full + turn);
        copy_box<3, ROWS + 3, WIDE, COPIERS>(memory + (FACE_J + turn * PADDED(3 * PLACES_J)), map + 2, area, tile.b, pitch, 3, x, y, z, full + turn);
        arrive_after_copies(full + turn);
    };
    if (warp == ROWS) {
        // Copies of each thread, and of boxes; all threads.
        if (lane == 0) {
            for (int n = 0; n < 2; n++) barrier_init(full + n, COPIERS + 1), barrier_init(done + n, THREADS);
            barriers_ready();
        }
        __syncwarp();
        if (COPIERS == 32) fetch(0);
    }
    __syncthreads();
    if (COPIERS == THREADS) fetch(0);
    // Temperature and viscosity take the place of density and pressure.
    auto put_cell = [&](double* at, double& mu) {
        const State state = {at[0], at[PLACES], at[2 * PLACES], at[3 * PLACES], at[4 * PLACES]};
        const Thermal t = pointwise::velocity_and_temperature(gas, state);
        mu = transport.scale * pointwise::viscosity(transport, t[3]);
        at[0] = t[3], at[4 * PLACES] = mu;
        return t;
    };
    // The change across the face between two cells of these sums of viscosities and of volumes.
    auto across = [&](double mu, double size, const Thermal& before, const Thermal& after, const Vec3& n) {
        return pointwise::flux_viscous_across(ratio, pointwise::quotient(mu, size), before, after, n);
    };
    u32 here = 0;       // where the plane's states are: n modulo STAGES

    if (warp < ROWS) {
        const u32 i = tile.i + lane, j = tile.j + warp, *const count = tile.b.count;
        const bool inside = i < count[0] && j < count[1];
        double* const mine = memory + (warp + 1) * WIDE + lane + BEFORE;
        double* const left = memory + (warp + 1) * LEFT_WIDE + lane + 1;
        u64* const shut_i = (u64*)(memory + SHUT_I) + warp;
        u64* const shut_j = (u64*)(memory + SHUT_J) + lane;
        bool any_shut = PINCHED;
#pragma unroll
        for (u32 high = 0; high < 2; high++) {
            u64 bits = 0;
            if (j < count[1] && (high ? tile.i + COLUMNS >= count[0] : tile.i == 0)) {
                const u32* const from = face_of + (side_ptr[6 * tile.block + high] + j + count[1] * tile.first);
#pragma unroll
                for (u32 n = 0; n < 64; n += 32)
                    bits |= (u64)__ballot_sync(0xffffffffu, n + lane < last - 1 && from[(n + lane) * count[1]] != NONE) << n;
            }
            if (lane == 0) shut_i[high * ROWS] = bits;
            any_shut |= bits != 0;
            if (j == (high ? count[1] - 1 : 0)) {
                bits = 0;
                const u32* const from = face_of + (side_ptr[6 * tile.block + 2 + high] + tile.first + count[2] * i);
#pragma unroll 16
                for (u32 n = 0; n < last - 1; n++) bits |= (u64)(inside && from[n] != NONE) << n;
                shut_j[high * COLUMNS] = bits;
                any_shut |= __any_sync(0xffffffffu, bits != 0) != 0;
            }
        }
        const u32 cell[3] = {i, j, 0};
        const bool bottom = inside && tile.first == 0 && sides.face(tile.block, count, 2, 0, cell) != NONE;
        const bool top = inside && tile.end == count[2] && sides.face(tile.block, count, 2, 1, cell) != NONE;
        const bool ends[4] = {i == 0, i == count[0] - 1, j == 0, j == count[1] - 1};
        u32 at = tile.place(i, j, tile.first - 1);
        Vec3 area_k = vector_of(area, pitch, at + 6 * pitch);
        // Of a cell: what it has of its sum so far. Through the face above it: all but the next cell's half.
        double pending[4] = {0, 0, 0, 0}, above_k[4] = {0, 0, 0, 0};
        u32 shut = 0;       // faces of the plane before: lower and upper along i, along j
        barrier_wait(full, 0);
        double mu;
        Thermal old = put_cell(mine + STATE, mu);
        barrier_arrive_thread(done);
#pragma unroll 1
        for (u32 n = 0;; n++, at += plane) {      // plane tile.first - 1 + n
            const u32 turn = n % TURNS, next = here + 1 == STAGES ? 0 : here + 1;
            barrier_wait(full + turn, n);
            const double* const own = mine + (STATE + here * PADDED(5 * PLACES));
            const double* const size = mine + (VOLUME + here * PADDED(PLACES));
            const Thermal now = thermal_at(own);
            const Vec3 low_k = area_k;
            area_k = area_in(mine + (FACE_K + turn * PADDED(3 * PLACES)), PLACES);
            const bool shut_k = (n == 1 && bottom) || (n == last && top) || (PINCHED && is_zero(low_k));
            double sum[4];
            Thermal change_k;
            {
                const Thermal after = put_cell(mine + (STATE + next * PADDED(5 * PLACES)), mu);
                const double own_mu = own[4 * PLACES], own_size = *size;
                const Thermal flux = across(own_mu + mu, own_size + mine[VOLUME + next * PADDED(PLACES)], now, after, area_k);
                change_k = active & 4 ? after - old : Thermal{0, 0, 0, 0};
                old = now;
#pragma unroll
                for (int v = 0; v < 4; v++) sum[v] = pending[v];
                if (shut_k) {
#pragma unroll
                    for (int v = 0; v < 4; v++) sum[v] -= above_k[v], above_k[v] = 0;
                }
#pragma unroll
                for (int v = 0; v < 4; v++) pending[v] = flux[v] - above_k[v], above_k[v] = flux[v];
            }
            const Vec3 sum_k = low_k + area_k;
            // Changes over two cells and sums of two areas are each twice what they stand for; half of the flux.
            const double scale = again(own + 4 * PLACES) * pointwise::quotient(0.0625, again(size));
            auto along = [&](const Thermal& a, const Thermal& b, const Vec3& sum_a, const Vec3& sum_b, const Vec3& sum) -> Thermal {
#if VISCOUS == 2
                return pointwise::flux_viscous_along<double>(ratio, scale, now, {a, b}, {sum_a, sum_b}, sum);
#else
                return {0, 0, 0, 0};
#endif
            };
            barrier_wait(done + n % 2, n);
            if (COPIERS == THREADS && n != last) fetch(n + 1);
            {
                // The plane before takes what its cells have left for each other.
                const double *const up = left + (UP + (~n & 1) * 4 * LEFT), *const down = left + (DOWN + (~n & 1) * 4 * LEFT);
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    const double above = up[v * LEFT + LEFT_WIDE], under = down[v * LEFT - LEFT_WIDE];
                    if (any_shut) sum[v] += (shut & 8 ? -down[v * LEFT] : above) - (shut & 4 ? 0 : under);
                    else sum[v] += above - under;
                }
                if (lane == 0 && !(shut & 1)) {
#pragma unroll
                    for (int v = 0; v < 4; v++) sum[v] -= down[v * LEFT - 1];
                }
                if (lane == COLUMNS - 1 && !(shut & 2)) {
#pragma unroll
                    for (int v = 0; v < 4; v++) sum[v] += up[v * LEFT + 1];
                }
            }
            const double* const face_i = mine + (FACE_I + turn * PADDED(3 * PLACES));
            const double* const face_j = mine + (FACE_J + turn * PADDED(3 * PLACES_J));
            const Vec3 n_i = area_in(face_i, PLACES), n_j = area_in(face_j, PLACES_J), next_i = area_in(face_i + 1, PLACES), next_j = area_in(face_j + WIDE, PLACES_J);
            const Vec3 sum_i = n_i + next_i, sum_j = n_j + next_j;
            if (any_shut) {
                const u32 bit = n - 1 & 63;
                shut = 0;
#pragma unroll
                for (u32 end = 0; end < 4; end++)
                    if (ends[end] && ((end < 2 ? shut_i[end % 2 * ROWS] : shut_j[end % 2 * COLUMNS]) >> bit & 1)) shut |= 1 << end;
                if (PINCHED) shut |= is_zero(n_i) | is_zero(next_i) << 1 | is_zero(n_j) << 2 | is_zero(next_j) << 3;
            }
            const Thermal change_i = active & 1 ? thermal_at(own + 1) - thermal_at(own - 1) : Thermal{0, 0, 0, 0};
            const Thermal change_j = active & 2 ? thermal_at(own + WIDE) - thermal_at(own - WIDE) : Thermal{0, 0, 0, 0};
            {
                const Thermal half = along(change_i, change_j, sum_i, sum_j, sum_k);
#pragma unroll
                for (int v = 0; v < 4; v++) {
                    if (shut_k) pending[v] += half[v];
                    else sum[v] += half[v];
                    above_k[v] += half[v];
                }
                if (n > 1 && inside) {
#pragma unroll
                    for (u32 v = 0; v < 4; v++) asm volatile("red.global.add.f64 [%0], %1;" ::"l"(r + (at - plane + (v + 1) * pitch)), "d"(-sum[v]) : "memory");
                }
                if (n == last) return;
            }
            {
                Thermal flux = across(again(own + 4 * PLACES) + own[4 * PLACES - 1], again(size) + size[-1], thermal_again(own - 1), now, area_again(face_i, PLACES));
                const Thermal half = along(change_j, change_k, sum_j, sum_k, sum_i);
#pragma unroll
                for (int v = 0; v < 4; v++) add_from_above(pending[v], flux[v] + half[v], !(shut & 2)), add_from_below(pending[v], -half[v], !(shut & 1));
                if (any_shut) {
#pragma unroll
                    for (int v = 0; v < 4; v++) {
                        if (shut & 1) flux[v] = -half[v];
                        if (shut & 2) pending[v] -= half[v];
                    }
                }
#pragma unroll
                for (int v = 0; v < 4; v++) pending[v] -= flux[v];
            }
            {
                double *const up = left + (UP + (n & 1) * 4 * LEFT), *const down = left + (DOWN + (n & 1) * 4 * LEFT);
                Thermal flux = across(again(own + 4 * PLACES) + own[4 * PLACES - WIDE], again(size) + size[-WIDE], thermal_again(own - WIDE), now, area_again(face_j, PLACES_J));
                const Vec3 sum_i = area_again(face_i, PLACES) + area_again(face_i + 1, PLACES);
                const Thermal change_i = active & 1 ? thermal_again(own + 1) - thermal_again(own - 1) : Thermal{0, 0, 0, 0};
                const Thermal half = along(change_i, change_k, sum_i, sum_k, sum_j);
#pragma unroll
                for (int v = 0; v < 4; v++) up[v * LEFT] = flux[v] + half[v], down[v * LEFT] = half[v];
                if (shut & 4) {
#pragma unroll
                    for (int v = 0; v < 4; v++) flux[v] = -half[v];
                }
#pragma unroll
                for (int v = 0; v < 4; v++) pending[v] -= flux[v];
            }
            barrier_arrive_thread(done + (n + 1) % 2);
            here = next;
        }
    } else {
        // The cells of the rows below and above the tile; then of the columns beside it, the corners. Threads beyond have none.
        const bool of_row = warp < ROWS + 2;
        const u32 s = threadIdx.x - 32 * (ROWS + 2), c = s - 2 * ROWS;
        const bool of_column = !of_row && s < 2 * ROWS, idle = !of_row && s >= 2 * ROWS + 4;
        const bool upper = of_row ? warp == ROWS + 1 : of_column && s >= ROWS;
        const u32 row = of_row ? upper * (ROWS + 1) : of_column ? 1 + s % ROWS : (c & 1) * (ROWS + 1);
        const u32 col = of_row ? lane + 1 : of_column ? upper * (COLUMNS + 1) : (c >> 1 & 1) * (COLUMNS + 1);
        double* const mine = memory + row * WIDE + col + BEFORE - 1;
        double* const left = memory + row * LEFT_WIDE + col;
        const u32 at = tile.place(tile.i + col - 1, tile.j + row - 1, tile.first - 1);
        const int back = of_row ? WIDE : 1, ahead = of_row ? 1 : WIDE, beside = active & (of_row ? 1 : 2) ? ahead : 0;
        const int apart_out = of_row ? PLACES_J : PLACES, apart_beside = of_row ? PLACES : PLACES_J;
        Vec3 area_k = vector_of(area, pitch, at + 6 * pitch);
        barrier_wait(full, 0);
        double mu = 0;
        Thermal now = {0, 0, 0, 0};
        if (!idle) now = put_cell(mine + STATE, mu);
        Thermal old = now;
        barrier_arrive_thread(done);
#pragma unroll 1
        for (u32 n = 0; n < last; n++) {
            const u32 turn = n % TURNS, next = here + 1 == STAGES ? 0 : here + 1;
            barrier_wait(full + turn, n);
            const double* const own = mine + (STATE + here * PADDED(5 * PLACES));
            const double* const size = mine + (VOLUME + here * PADDED(PLACES));
            const double own_mu = mu;
            const Vec3 low_k = area_k;
            area_k = area_in(mine + (FACE_K + turn * PADDED(3 * PLACES)), PLACES);
            const Vec3 sum_k = low_k + area_k;
            Thermal after = now;
            if (!idle) after = put_cell(mine + (STATE + next * PADDED(5 * PLACES)), mu);
            const Thermal change_k = active & 4 ? after - old : Thermal{0, 0, 0, 0};
            barrier_wait(done + n % 2, n);
            if (COPIERS == THREADS || warp == ROWS) fetch(n + 1);
            if (of_row || of_column) {
                // Lower faces along the axis that leaves the tile, and along the other one.
                const double *const face_i = mine + (FACE_I + turn * PADDED(3 * PLACES)), *const face_j = mine + (FACE_J + turn * PADDED(3 * PLACES_J));
                const double *const face_out = of_row ? face_j : face_i, *const face_beside = of_row ? face_i : face_j;
                const Vec3 n_out = area_in(face_out, apart_out);
                Thermal half = {0, 0, 0, 0};
#if VISCOUS == 2
                const Vec3 sum_out = n_out + area_in(face_out + back, apart_out);
                const Vec3 sum_beside = area_in(face_beside, apart_beside) + area_in(face_beside + ahead, apart_beside);
                const double scale = own_mu * pointwise::quotient(0.0625, *size);
                half = pointwise::flux_viscous_along<double>(ratio, scale, now, {thermal_at(own + beside) - thermal_at(own - beside), change_k}, {sum_beside, sum_k}, sum_out);
#endif
                if (upper) {
                    const double mean = pointwise::quotient(own[4 * PLACES - back] + own_mu, size[-back] + *size);
                    const Thermal flux = pointwise::flux_viscous_across(ratio, mean, thermal_at(own - back), now, n_out);
                    double* const up = left + (UP + (n & 1) * 4 * LEFT);
#pragma unroll
                    for (int v = 0; v < 4; v++) up[v * LEFT] = flux[v] + half[v];
                } else {
                    double* const down = left + (DOWN + (n & 1) * 4 * LEFT);
#pragma unroll
                    for (int v = 0; v < 4; v++) down[v * LEFT] = half[v];
                }
            }
            barrier_arrive_thread(done + (n + 1) % 2);
            old = now, now = after;
            here = next;
        }
    }
}
