//! The method as the papers write it, sequential and in f64, on dense rows.

/// A dense matrix of blocks, kept as a plain row-major array.
pub(super) struct Dense {
    pub rows: usize,
    pub nb: usize,
    pub values: Vec<f64>,
}

impl Dense {
    fn at(&self, i: usize, j: usize) -> f64 {
        self.values[i * self.rows * self.nb + j]
    }

    /// b - A x.
    pub(super) fn residual(&self, b: &[f64], x: &[f64]) -> Vec<f64> {
        (0..b.len()).map(|i| b[i] - (0..x.len()).map(|j| self.at(i, j) * x[j]).sum::<f64>()).collect()
    }

    /// One pass over block rows in the order given: x_i <- (1 - damping) x_i + damping D_i^-1 (b_i - O_i x), with the
    /// latest values if `latest`, else with those from before the pass.
    pub(super) fn relax(
        &self,
        b: &[f64],
        x: &mut [f64],
        order: impl Iterator<Item = usize>,
        damping: f64,
        latest: bool,
    ) {
        let before = x.to_vec();
        for row in order {
            let own = row * self.nb..(row + 1) * self.nb;
            let source = if latest { x.to_vec() } else { before.clone() };
            let rest: Vec<f64> = own
                .clone()
                .map(|i| {
                    let others = (0..source.len()).filter(|j| !own.contains(j));
                    b[i] - others.map(|j| self.at(i, j) * source[j]).sum::<f64>()
                })
                .collect();
            let new = self.solve_block(row, rest);
            for (k, i) in own.enumerate() {
                x[i] = source[i] + damping * (new[k] - source[i]);
            }
        }
    }

    /// D_row^-1 r by Gaussian elimination with partial pivoting.
    fn solve_block(&self, row: usize, mut r: Vec<f64>) -> Vec<f64> {
        let (nb, first) = (self.nb, row * self.nb);
        let mut a: Vec<Vec<f64>> =
            (0..nb).map(|i| (0..nb).map(|j| self.at(first + i, first + j)).collect()).collect();
        for k in 0..nb {
            let pivot = (k..nb).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs())).unwrap();
            a.swap(k, pivot);
            r.swap(k, pivot);
            for i in k + 1..nb {
                let factor = a[i][k] / a[k][k];
                for j in k..nb {
                    a[i][j] -= factor * a[k][j];
                }
                r[i] -= factor * r[k];
            }
        }
        for k in (0..nb).rev() {
            r[k] = (r[k] - (k + 1..nb).map(|j| a[k][j] * r[j]).sum::<f64>()) / a[k][k];
        }
        r
    }
}
