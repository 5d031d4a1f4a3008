use super::{Dual, Mask, Real};

/// Every operation of `Real` once.
fn all_operations<T: Real>(x: T, y: T) -> [T; 9] {
    let m = x.lt(y).and(x.gt(T::c(0.3)).not()).or(y.ge(x).and(y.le(T::c(0.2))));
    let mut z = x + y * x - y / x;
    z += x;
    z -= y;
    z *= T::c(1.5);
    z /= T::c(0.7) + x;
    [
        z,
        T::select(m, x, y),
        (x.sqrt() * y.exp()).ln(),
        x.powf(y),
        (-x).abs().min(y),
        x.max(y) - x.min(z),
        (x - y).abs(),
        T::select(x.ge(y), T::c(1.0), T::c(-1.0)),
        (x * y).atan(),
    ]
}

#[test]
fn duals_against_finite_differences() {
    let (x, y, h) = (0.8, 1.3, 1e-6);
    let dual = all_operations(Dual::<f64, 2>::variable(x, 0), Dual::variable(y, 1));
    let value = all_operations(x, y);
    let by_x = (all_operations(x + h, y), all_operations(x - h, y));
    let by_y = (all_operations(x, y + h), all_operations(x, y - h));
    for k in 0..9 {
        assert_eq!(dual[k].v, value[k]);
        let fd = [(by_x.0[k] - by_x.1[k]) / (2.0 * h), (by_y.0[k] - by_y.1[k]) / (2.0 * h)];
        for i in 0..2 {
            assert!((dual[k].d[i] - fd[i]).abs() < 1e-8, "operation {k} by {i}: {} {}", dual[k].d[i], fd[i]);
        }
    }
}
