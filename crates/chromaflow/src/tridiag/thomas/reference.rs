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
                block[k * m + r] /= pivot;
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
                v[r] -= self.factors[k * m + r] * v[k];
            }
        }
        for k in (0..m).rev() {
            v[k] /= self.factors[k * m + k];
            for r in 0..k {
                v[r] -= self.factors[k * m + r] * v[k];
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
            v[r] -= block[c * m + r] * w[c];
        }
    }
}

/// The factors of one system, for any number of right-hand sides.
#[derive(Clone, Debug)]
pub struct FactoredLine<T> {
    rank: usize,
    /// A, the factors of B' and C' of the rows (without the last one of a periodic line).
    lower: Vec<T>,
    pivots: Vec<Lu<T>>,
    upper: Vec<T>,
    border: Option<Border<T>>,
}

/// The last row of a periodic line.
#[derive(Clone, Debug)]
struct Border<T> {
    /// How the other rows answer to each component of the last unknown.
    answers: Vec<Vec<T>>,
    lower: Vec<T>,
    schur: Lu<T>,
    upper: Vec<T>,
}

impl<T: Real> Line<T> {
    /// Factors the blocks.
    ///
    /// # Errors
    /// The row whose block is singular.
    pub fn factor(&self, pivoting: bool) -> Result<FactoredLine<T>, usize> {
        let (m, q) = (self.rank, self.rank * self.rank);
        let n = self.diag.len() / q;
        let block = |values: &[T], i: usize| values[i * q..(i + 1) * q].to_vec();
        let plus = |a: Vec<T>, b: &[T]| a.iter().zip(b).map(|(&a, &b)| a + b).collect::<Vec<T>>();
        if self.periodic && n == 1 {
            let all = plus(plus(block(&self.diag, 0), &self.lower), &self.upper);
            let pivots = vec![Lu::new(m, all, pivoting).ok_or(0usize)?];
            return Ok(FactoredLine {
                rank: m,
                lower: self.lower.clone(),
                pivots,
                upper: self.upper.clone(),
                border: None,
            });
        }
        let rows = if self.periodic { n - 1 } else { n };
        let (lower, mut upper) = (self.lower[..rows * q].to_vec(), self.upper[..rows * q].to_vec());
        let mut pivots = Vec::with_capacity(rows);
        for i in 0..rows {
            let mut b = block(&self.diag, i);
            if i > 0 {
                for c in 0..m {
                    let above = &upper[(i - 1) * q + c * m..(i - 1) * q + (c + 1) * m];
                    sub_mul(m, &lower[i * q..(i + 1) * q], above, &mut b[c * m..(c + 1) * m]);
                }
            }
            let lu = Lu::new(m, b, pivoting).ok_or(i)?;
            for column in upper[i * q..(i + 1) * q].chunks_exact_mut(m) {
                lu.solve(column);
            }
            pivots.push(lu);
        }
        let mut factored = FactoredLine { rank: m, lower, pivots, upper, border: None };
        if self.periodic {
            let last = n - 1;
            let answers: Vec<Vec<T>> = (0..m)
                .map(|c| {
                    let mut column = vec![T::from_f64(0.0); last * m];
                    for r in 0..m {
                        column[r] = self.lower[c * m + r];
                        let at = (last - 1) * m + r;
                        column[at] += self.upper[(last - 1) * q + c * m + r];
                    }
                    factored.sweep(&mut column);
                    column
                })
                .collect();
            let (lower, upper) = (block(&self.lower, last), block(&self.upper, last));
            let mut schur = block(&self.diag, last);
            for (coupling, at) in [(&upper, 0), (&lower, (last - 1) * m)] {
                for (column, answer) in schur.chunks_exact_mut(m).zip(&answers) {
                    sub_mul(m, coupling, &answer[at..at + m], column);
                }
            }
            let schur = Lu::new(m, schur, pivoting).ok_or(last)?;
            factored.border = Some(Border { answers, lower, schur, upper });
        }
        Ok(factored)
    }

    /// Solves for one right-hand side `[rows, rank]`.
    ///
    /// # Errors
    /// The row whose block is singular.
    pub fn solve(&self, rhs: &[T], pivoting: bool) -> Result<Vec<T>, usize> {
        let mut x = rhs.to_vec();
        self.factor(pivoting)?.solve(&mut x);
        Ok(x)
    }
}

impl<T: Real> FactoredLine<T> {
    /// Solves for one right-hand side `[rows, rank]`, which the solution replaces.
    pub fn solve(&self, x: &mut [T]) {
        let m = self.rank;
        let Some(Border { answers, lower, schur, upper }) = &self.border else { return self.sweep(x) };
        let (others, last) = x.split_at_mut(self.pivots.len() * m);
        self.sweep(others);
        sub_mul(m, upper, &others[..m], last);
        sub_mul(m, lower, &others[others.len() - m..], last);
        schur.solve(last);
        for (answer, &value) in answers.iter().zip(&*last) {
            for (x, &a) in others.iter_mut().zip(answer) {
                *x -= a * value;
            }
        }
    }

    /// Elimination and back-substitution of a right-hand side, the ends free.
    fn sweep(&self, x: &mut [T]) {
        let (m, q) = (self.rank, self.rank * self.rank);
        let n = self.pivots.len();
        for i in 0..n {
            let (above, here) = x.split_at_mut(i * m);
            if i > 0 {
                sub_mul(m, &self.lower[i * q..(i + 1) * q], &above[(i - 1) * m..], &mut here[..m]);
            }
            self.pivots[i].solve(&mut here[..m]);
        }
        for i in (0..n.saturating_sub(1)).rev() {
            let (here, below) = x.split_at_mut((i + 1) * m);
            sub_mul(m, &self.upper[i * q..(i + 1) * q], &below[..m], &mut here[i * m..]);
        }
    }
}
