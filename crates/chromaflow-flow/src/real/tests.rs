use super::{Dual, LANES, LaneKernel, Lanes, Mask, Packet, Real, dispatch};
use chromaflow_device::Isa;

/// Every operation of `Real` once.
fn all_operations<T: Real>(x: T, y: T) -> [T; 8] {
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
    ]
}

struct All<'a>(&'a Packet, &'a Packet, &'a mut [Packet; 8]);
impl LaneKernel for All<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let out = all_operations(V::load(self.0), V::from_array(&self.1.0));
        for k in 0..8 {
            out[k].store(&mut self.2[k]);
        }
        assert_eq!(V::load(self.0).to_array(), self.0.0);
    }
}

#[test]
fn lanes_hold_the_bits_of_the_scalar() {
    let x = Packet([0.1, 0.25, 0.5, 0.5, 1.5, 2.0, 7.0, 1e-3]);
    let y = Packet([0.7, 0.15, 0.5, 0.1, -1.5, 3.0, -7.0, 0.11]);
    for isa in Isa::available() {
        let mut out = [Packet::ZERO; 8];
        dispatch(isa, All(&x, &y, &mut out));
        for l in 0..LANES {
            let scalar = all_operations(x.0[l], y.0[l]);
            for k in 0..8 {
                assert_eq!(out[k].0[l].to_bits(), scalar[k].to_bits(), "{isa:?} lane {l} operation {k}");
            }
        }
    }
}

struct Records<'a>(&'a [[f64; 3]], [u32; LANES]);
impl LaneKernel for Records<'_> {
    type Output = [[f64; LANES]; 3];
    #[inline(always)]
    fn run<V: Lanes>(self) -> Self::Output {
        V::gather(self.0, &self.1).map(|v| v.to_array())
    }
}

#[test]
fn gather_turns_records_into_lanes() {
    let records: Vec<[f64; 3]> = (0..20).map(|i| [f64::from(i), 0.5 * f64::from(i), -1.0]).collect();
    let index = [3, 1, 4, 1, 5, 9, 19, 0];
    for isa in Isa::available() {
        let out = dispatch(isa, Records(&records, index));
        assert_eq!(out[0], index.map(f64::from));
        assert_eq!(out[1], index.map(|i| 0.5 * f64::from(i)));
        assert_eq!(out[2], [-1.0; 8]);
    }
}

#[test]
fn not_a_number_is_never_hidden_by_the_second_argument() {
    // As the machine's own instructions have it: the second operand comes back where the two do not compare.
    assert!(Real::max(1.0, f64::NAN).is_nan());
    assert_eq!(Real::max(f64::NAN, 1.0), 1.0);
    assert!(Real::min(1.0, f64::NAN).is_nan());
}

#[test]
fn duals_against_finite_differences() {
    let (x, y, h) = (0.8, 1.3, 1e-6);
    let dual = all_operations(Dual::<f64, 2>::variable(x, 0), Dual::variable(y, 1));
    let value = all_operations(x, y);
    let by_x = (all_operations(x + h, y), all_operations(x - h, y));
    let by_y = (all_operations(x, y + h), all_operations(x, y - h));
    for k in 0..8 {
        assert_eq!(dual[k].v, value[k]);
        let fd = [(by_x.0[k] - by_x.1[k]) / (2.0 * h), (by_y.0[k] - by_y.1[k]) / (2.0 * h)];
        for i in 0..2 {
            assert!((dual[k].d[i] - fd[i]).abs() < 1e-8, "operation {k} by {i}: {} {}", dual[k].d[i], fd[i]);
        }
    }
}
