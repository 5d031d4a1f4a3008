//! The Thomas algorithm as the books write it: one system, dense blocks, with partial pivoting inside blocks if asked.

use crate::tridiag::Real;

/// A factored dense block, column-major.
#[derive(Clone, Debug)]
pub struct Lu<T> {
    m: usize,
    factors: Vec<T>,
    rows: Vec<usize>,
}

impl<T: Real> Lu<T> {
    /// Factors `block`; None where a pivot is zero or not finite.
    pub fn new(m: usize, mut block: Vec<T>, pivoting: bool) -> Option<Self> {
        let mut rows: Vec<usize> = (0..m).collect();
        for k in 0..m {
            if pivoting {
                let size = |r: usize| block[k * m + r].to_f64().abs();
                let best = (k..m).max_by(|&r, &s| size(r).total_cmp(&size(s)).then(s.cmp(&r))).unwrap_or(k);
                rows.swap(k, best);
                for c in 0..m {
                    block.swap(c * m + k, c * m + best);
                }
            }
            let pivot = block[k * m + k];
            if pivot.to_f64() == 0.0 || !pivot.to_f64().is_finite() {
                return None;
            }
            for r in k + 1..m {
                block[k * m + r] = block[k * m + r] / pivot;
                for c in k + 1..m {
                    block[c * m + r] = block[c * m + r] - block[k * m + r] * block[c * m + k];
                }
            }
        }
        Some(Self { m, factors: block, rows })
    }

    /// `v <- block^-1 v`.
    pub fn solve(&self, v: &mut [T]) {
        let m = self.m;
        let permuted: Vec<T> = self.rows.iter().map(|&r| v[r]).collect();
        v.copy_from_slice(&permuted);
        for k in 0..m {
            for r in k + 1..m {
                v[r] = v[r] - self.factors[k * m + r] * v[k];
            }
        }
        for k in (0..m).rev() {
            v[k] = v[k] / self.factors[k * m + k];
            for r in 0..k {
                v[r] = v[r] - self.factors[k * m + r] * v[k];
            }
        }
    }
}

/// One system, row by row: `lower`, `diag`, `upper` are `[rows, rank (column), rank (row)]`.
#[derive(Clone, Debug)]
pub struct Line<T> {
    /// Rank of the blocks.
    pub rank: usize,
    /// A.
    pub lower: Vec<T>,
    /// B.
    pub diag: Vec<T>,
    /// C.
    pub upper: Vec<T>,
    /// A of the first row and C of the last couple the ends.
    pub periodic: bool,
}

/// `v <- v - block w`.
fn sub_mul<T: Real>(m: usize, block: &[T], w: &[T], v: &mut [T]) {
    for c in 0..m {
        for r in 0..m {
            v[r] = v[r] - block[c * m + r] * w[c];
        }
    }
}

impl<T: Real> Line<T> {
    /// Solves for one right-hand side `[rows, rank]`.
    ///
    /// # Errors
    /// The row whose block is singular.
    pub fn solve(&self, rhs: &[T], pivoting: bool) -> Result<Vec<T>, usize> {
        let (m, q) = (self.rank, self.rank * self.rank);
        let n = rhs.len() / m;
        if !self.periodic {
            let mut columns = vec![rhs.to_vec()];
            self.sweep(&self.upper, n, &mut columns, pivoting)?;
            return Ok(columns.swap_remove(0));
        }
        let last = n - 1;
        let block = |values: &[T], i: usize| values[i * q..(i + 1) * q].to_vec();
        let plus = |a: Vec<T>, b: &[T]| a.iter().zip(b).map(|(&a, &b)| a + b).collect::<Vec<T>>();
        if n == 1 {
            let all = plus(plus(block(&self.diag, 0), &self.lower), &self.upper);
            let mut x = rhs.to_vec();
            Lu::new(m, all, pivoting).ok_or(0usize)?.solve(&mut x);
            return Ok(x);
        }
        // Columns: the right-hand side, then how the other rows answer to each component of the last unknown.
        let mut columns = vec![rhs[..last * m].to_vec()];
        for c in 0..m {
            let mut column = vec![T::from_f64(0.0); last * m];
            for r in 0..m {
                column[r] = self.lower[c * m + r];
                let at = (last - 1) * m + r;
                column[at] = column[at] + self.upper[(last - 1) * q + c * m + r];
            }
            columns.push(column);
        }
        self.sweep(&self.upper, last, &mut columns, pivoting)?;
        let mut schur = block(&self.diag, last);
        let mut x = rhs[last * m..].to_vec();
        let ends = [(block(&self.upper, last), 0), (block(&self.lower, last), (last - 1) * m)];
        for (coupling, at) in &ends {
            sub_mul(m, coupling, &columns[0][*at..at + m], &mut x);
            for c in 0..m {
                sub_mul(m, coupling, &columns[c + 1][*at..at + m], &mut schur[c * m..(c + 1) * m]);
            }
        }
        Lu::new(m, schur, pivoting).ok_or(last)?.solve(&mut x);
        let (first, answers) = columns.split_first().expect("the right-hand side is a column");
        let mut out = first.clone();
        for (answer, &value) in answers.iter().zip(&x) {
            for (o, &a) in out.iter_mut().zip(answer) {
                *o = *o - a * value;
            }
        }
        out.extend(x);
        Ok(out)
    }

    /// Elimination and back-substitution of the first `n` rows, the ends free.
    fn sweep(&self, upper: &[T], n: usize, columns: &mut [Vec<T>], pivoting: bool) -> Result<(), usize> {
        let (m, q) = (self.rank, self.rank * self.rank);
        let mut upper = upper[..n * q].to_vec();
        for i in 0..n {
            let mut b = self.diag[i * q..(i + 1) * q].to_vec();
            let a = &self.lower[i * q..(i + 1) * q];
            if i > 0 {
                for c in 0..m {
                    let above = &upper[(i - 1) * q + c * m..(i - 1) * q + (c + 1) * m];
                    sub_mul(m, a, above, &mut b[c * m..(c + 1) * m]);
                }
            }
            let lu = Lu::new(m, b, pivoting).ok_or(i)?;
            for c in 0..m {
                lu.solve(&mut upper[i * q + c * m..i * q + (c + 1) * m]);
            }
            for column in &mut *columns {
                let (above, here) = column.split_at_mut(i * m);
                if i > 0 {
                    sub_mul(m, a, &above[(i - 1) * m..], &mut here[..m]);
                }
                lu.solve(&mut here[..m]);
            }
        }
        for i in (0..n.saturating_sub(1)).rev() {
            for column in &mut *columns {
                let (here, below) = column.split_at_mut((i + 1) * m);
                sub_mul(m, &upper[i * q..(i + 1) * q], &below[..m], &mut here[i * m..]);
            }
        }
        Ok(())
    }
}
