//! Dense oracles, as simple as can be.

/// Solves A x = b by Gaussian elimination with partial pivoting; `None` where A is singular to working precision.
///
/// **Shapes**: `a [n (column), n (row)]`, column-major; `b [n]`.
///
/// ```
/// let x = chromaflow_testkit::dense_solve(&[0.0, 2.0, 1.0, 3.0], &[2.0, 8.0]).unwrap(); // [0 1; 2 3] x = [2; 8]
/// assert_eq!(x, [1.0, 2.0]);
/// ```
///
/// # Panics
/// When `a` has not the square of `b`'s length.
pub fn dense_solve(a: &[f64], b: &[f64]) -> Option<Vec<f64>> {
    let n = b.len();
    assert_eq!(a.len(), n * n, "a is square and fits b");
    let (mut a, mut x) = (a.to_vec(), b.to_vec());
    let largest = a.iter().fold(0.0_f64, |m, v| m.max(v.abs()));
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[k * n + i].abs().total_cmp(&a[k * n + j].abs()))?;
        if a[k * n + pivot].abs() <= f64::EPSILON * largest || a[k * n + pivot].is_nan() {
            return None;
        }
        if pivot != k {
            (0..n).for_each(|c| a.swap(c * n + k, c * n + pivot));
            x.swap(k, pivot);
        }
        for i in k + 1..n {
            let factor = a[k * n + i] / a[k * n + k];
            for c in k + 1..n {
                a[c * n + i] -= factor * a[c * n + k];
            }
            x[i] -= factor * x[k];
        }
    }
    for k in (0..n).rev() {
        for c in k + 1..n {
            x[k] -= a[c * n + k] * x[c];
        }
        x[k] /= a[k * n + k];
    }
    Some(x)
}

/// A block-sparse matrix made dense.
///
/// **Shapes**: `values [nnzb, nb (column), nb (row)]` in, `[cols * nb (column), rows * nb (row)]` out.
pub fn dense_of_blocks(cols: usize, row_ptr: &[u32], col_idx: &[u32], nb: usize, values: &[f64]) -> Vec<f64> {
    let rows = row_ptr.len() - 1;
    let mut dense = vec![0.0; rows * nb * cols * nb];
    for row in 0..rows {
        for k in row_ptr[row] as usize..row_ptr[row + 1] as usize {
            for c in 0..nb {
                for r in 0..nb {
                    let column = col_idx[k] as usize * nb + c;
                    dense[column * rows * nb + row * nb + r] = values[(k * nb + c) * nb + r];
                }
            }
        }
    }
    dense
}

/// `y = A x` with a dense column-major matrix of `y.len()` rows.
pub fn dense_multiply(a: &[f64], x: &[f64], rows: usize) -> Vec<f64> {
    let mut y = vec![0.0; rows];
    for (column, x) in a.chunks_exact(rows.max(1)).zip(x) {
        y.iter_mut().zip(column).for_each(|(y, v)| *y += v * x);
    }
    y
}
