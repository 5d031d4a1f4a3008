//! The device's factorization against the textbook.

use super::super::tests::{distance, jacobian};
use super::super::{Fill, reference};
use super::*;
use crate::gpu::test_stream;
use crate::{Jacobian, Policy};

fn compare(stream: &Stream, a: &Jacobian, b: &[f64], options: BlockIluOptions, tolerance: f64, what: &str) {
    let factors = reference::factor(a, options.fill, options.shift).unwrap();
    let expected = reference::solve(a, &factors, b);
    let device = DeviceJacobian::upload(stream, a).unwrap();
    let mut ilu = DeviceBlockIlu::new(stream, a.pattern(), a.nb(), options).unwrap();
    let b = stream.upload(b).unwrap();
    for _ in 0..2 {
        ilu.factor(&device).unwrap();
        let report = ilu.report().unwrap().unwrap();
        assert_eq!(report.shifted > 0.0, options.shift > 0.0, "{what}");
        for _ in 0..2 {
            let mut x = stream.upload(&vec![f64::NAN; b.len()]).unwrap();
            ilu.solve(&b, &mut x).unwrap();
            let error = distance(&x.download().unwrap(), &expected);
            assert!(error < tolerance, "{what}: {error}");
        }
    }
}

#[test]
fn cuda_general_ilu_is_the_textbook() {
    let Some(stream) = test_stream() else { return };
    for nb in (1..=9).chain([12, 16, 31, 32]) {
        let dims = if nb > 9 { "3,3,2" } else { "6,5,7" };
        for kind in ["kuhn", "grid7"] {
            let case = format!("{kind}:{dims}:{nb}");
            for (policy, storage, tolerance) in
                [(Policy::D, Storage::F64, 1e-11), (Policy::Ds, Storage::F32, 1e-5)]
            {
                let (a, b) = jacobian(&case, policy);
                for (fill, shift) in
                    [(Fill::Level(0), 0.0), (Fill::Level(2), 0.0), (Fill::DiagonalOnly, 0.01)]
                {
                    let options = BlockIluOptions { fill, storage, shift, ..BlockIluOptions::default() };
                    compare(&stream, &a, &b, options, tolerance, &format!("{case} {policy} {fill:?}"));
                }
            }
        }
    }
}

#[test]
fn cuda_general_ilu_tells_of_bad_rows() {
    let Some(stream) = test_stream() else { return };
    let (mut a, _) = jacobian("kuhn:3,3,3:4", Policy::D);
    let options = BlockIluOptions { storage: Storage::F64, ..BlockIluOptions::default() };
    let mut ilu = DeviceBlockIlu::new(&stream, a.pattern(), 4, options).unwrap();
    a.diag[..16].fill(0.0);
    for c in 0..4 {
        a.diag[c * 4 + 3 - c] = 1.0; // regular, but a zero pivot
    }
    ilu.factor(&DeviceJacobian::upload(&stream, &a).unwrap()).unwrap();
    assert_eq!(ilu.report().unwrap().unwrap().pivoted, [0]);
    a.diag[5 * 16] = f64::NAN;
    ilu.factor(&DeviceJacobian::upload(&stream, &a).unwrap()).unwrap();
    assert!(ilu.report().unwrap().is_err());
}

/// Few rows, for compute-sanitizer.
#[test]
fn cuda_small_case() {
    let Some(stream) = test_stream() else { return };
    let (a, b) = jacobian("kuhn:3,3,3:5", Policy::D);
    let options = BlockIluOptions { storage: Storage::F64, ..BlockIluOptions::default() };
    compare(&stream, &a, &b, options, 1e-11, "small");
}

/// Every row comes behind those it needs; updates name blocks that exist, of rows above.
#[test]
fn symbolic_phase_names_what_a_row_changes() {
    let (a, _) = jacobian("kuhn:3,4,3:1", Policy::D);
    let p = a.pattern();
    let s = Symbolic::new(p, Fill::Level(0)).unwrap();
    for (side, order) in s.order.iter().enumerate() {
        let mut position = vec![usize::MAX; p.rows()];
        for (at, &row) in order.iter().enumerate() {
            for &column in &s.columns[side][s.first[side][at] as usize..s.first[side][at + 1] as usize] {
                assert!(position[column as usize] < at);
                assert!(p.find(row as usize, column as usize).is_some());
            }
            position[row as usize] = at;
        }
    }
    assert_eq!(s.columns[0].len() + s.columns[1].len(), p.nnzb());
    let mut seen = 0;
    for i in 0..p.rows() {
        for ik in p.range(i) {
            let k = p.col_idx()[ik];
            for &[block, place] in &s.updates[s.update_ptr[ik] as usize..s.update_ptr[ik + 1] as usize] {
                let j = s.columns[1][block as usize];
                let row_of_block = s.upper_at[k as usize] <= block;
                assert!(row_of_block && j > k && p.find(k as usize, j as usize).is_some());
                let expected = if j as usize == i {
                    p.range(i).len()
                } else {
                    p.find(i, j as usize).unwrap() - p.range(i).start
                };
                assert_eq!(place as usize, expected);
                seen += 1;
            }
        }
    }
    assert_eq!(seen, s.updates.len());
}
