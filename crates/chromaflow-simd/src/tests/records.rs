use super::{Check, everywhere};
use crate::{LANES, Lanes, Packet, Simd};
use chromaflow_device::Isa;

fn value(lane: usize, k: usize) -> f64 {
    (1 + lane) as f64 / (3 + 7 * k) as f64
}

struct Records<const N: usize>;
impl<const N: usize> Check for Records<N> {
    fn check<S: Simd>(&self, isa: Isa) {
        let records: Vec<[f64; N]> = (0..40).map(|i| std::array::from_fn(|k| value(i, k))).collect();
        let index = [39, 1, 4, 1, 5, 9, 19, 0];
        let gathered: [S::Eight; N] = Lanes::gather(&records, &index);
        for k in 0..N {
            assert_eq!(gathered[k].to_array(), index.map(|i| value(i as usize, k)), "{isa:?} {N}");
        }
        let lanes: [S::Eight; N] =
            std::array::from_fn(|k| S::Eight::from_array(&std::array::from_fn(|l| value(l, k))));
        for count in 0..=LANES {
            let (mut wide, mut narrow) = (vec![[-1.0; N]; count], vec![[-1.0; N]; count]);
            Lanes::scatter(&lanes, &mut wide);
            Lanes::scatter_single(&lanes, &mut narrow);
            for (l, (wide, narrow)) in wide.iter().zip(&narrow).enumerate() {
                assert!((0..N).all(|k| wide[k] == value(l, k) && narrow[k] == value(l, k) as f32));
            }
        }
        let totals = Lanes::totals(&lanes);
        for k in 0..N {
            let s = |l: usize| value(l, k) + value(l + 1, k);
            assert_eq!(totals[k], (s(0) + s(2)) + (s(4) + s(6)), "{isa:?} {N}");
            let mut packet = Packet::ZERO;
            lanes[k].store(&mut packet);
            assert_eq!(S::Eight::load(&packet).to_array(), packet.0);
        }
    }
}

/// Records of every length around those of whole registers, fewer records than lanes among them.
#[test]
fn records_become_lanes_and_lanes_records() {
    everywhere(&Records::<1>);
    everywhere(&Records::<3>);
    everywhere(&Records::<5>);
    everywhere(&Records::<8>);
    everywhere(&Records::<15>);
    everywhere(&Records::<25>);
    everywhere(&Records::<26>);
    everywhere(&Records::<32>);
}
