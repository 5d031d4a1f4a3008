use super::{Dual, LANES, LaneKernel, Lanes, Mask, Packet, Real, dispatch};
use chromaflow_device::Isa;

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

struct All<'a>(&'a Packet, &'a Packet, &'a mut [Packet; 9]);
impl LaneKernel for All<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let out = all_operations(V::load(self.0), V::from_array(&self.1.0));
        for k in 0..9 {
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
        let mut out = [Packet::ZERO; 9];
        dispatch(isa, All(&x, &y, &mut out));
        for l in 0..LANES {
            let scalar = all_operations(x.0[l], y.0[l]);
            for k in 0..9 {
                assert_eq!(out[k].0[l].to_bits(), scalar[k].to_bits(), "{isa:?} lane {l} operation {k}");
            }
        }
    }
}

struct Records<'a, const N: usize>(&'a [[f64; N]], [u32; LANES]);
impl<const N: usize> LaneKernel for Records<'_, N> {
    type Output = [[f64; LANES]; N];
    #[inline(always)]
    fn run<V: Lanes>(self) -> Self::Output {
        V::gather(self.0, &self.1).map(|v| v.to_array())
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
    for k in 0..9 {
        assert_eq!(dual[k].v, value[k]);
        let fd = [(by_x.0[k] - by_x.1[k]) / (2.0 * h), (by_y.0[k] - by_y.1[k]) / (2.0 * h)];
        for i in 0..2 {
            assert!((dual[k].d[i] - fd[i]).abs() < 1e-8, "operation {k} by {i}: {} {}", dual[k].d[i], fd[i]);
        }
    }
}

struct Turned<const N: usize>(usize);
impl<const N: usize> LaneKernel for Turned<N> {
    type Output = (Vec<[f64; N]>, Vec<[f32; N]>, [f64; N]);
    #[inline(always)]
    fn run<V: Lanes>(self) -> Self::Output {
        let mut lanes = [V::c(0.0); N];
        for k in 0..N {
            lanes[k] = V::from_array(&std::array::from_fn(|l| value(l, k)));
        }
        let (mut wide, mut narrow) = (vec![[-1.0; N]; self.0], vec![[-1.0; N]; self.0]);
        V::scatter(&lanes, &mut wide);
        V::scatter_single(&lanes, &mut narrow);
        (wide, narrow, V::totals(&lanes))
    }
}

fn value(lane: usize, k: usize) -> f64 {
    (1 + lane) as f64 / (3 + 7 * k) as f64
}

/// Records of every length around those of whole registers, fewer records than lanes among them.
fn lanes_and_records<const N: usize>() {
    let records: Vec<[f64; N]> = (0..40).map(|i| std::array::from_fn(|k| value(i, k))).collect();
    let index = [39, 1, 4, 1, 5, 9, 19, 0];
    for isa in Isa::available() {
        let gathered = dispatch(isa, Records(&records, index));
        for k in 0..N {
            assert_eq!(gathered[k], index.map(|i| value(i as usize, k)), "{isa:?} {N}");
        }
        for count in 0..=LANES {
            let (wide, narrow, totals) = dispatch(isa, Turned::<N>(count));
            for (l, (wide, narrow)) in wide.iter().zip(&narrow).enumerate() {
                assert!((0..N).all(|k| wide[k] == value(l, k) && narrow[k] == value(l, k) as f32));
            }
            for k in 0..N {
                let s = |l: usize| value(l, k) + value(l + 1, k);
                assert_eq!(totals[k], (s(0) + s(2)) + (s(4) + s(6)), "{isa:?} {N}");
            }
        }
    }
}

#[test]
fn records_become_lanes_and_lanes_records() {
    lanes_and_records::<1>();
    lanes_and_records::<3>();
    lanes_and_records::<5>();
    lanes_and_records::<8>();
    lanes_and_records::<15>();
    lanes_and_records::<25>();
    lanes_and_records::<26>();
}
