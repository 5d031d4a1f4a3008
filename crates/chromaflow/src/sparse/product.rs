#![allow(unsafe_code)]
//! Products with a Jacobian whose diagonal blocks are not factored.

use super::Jacobian;
use crate::relax::{Diagonal, SharedMut, product_rows};
use chromaflow_device::{Isa, Team};

impl Jacobian {
    /// y = A x = (D + O) x.
    ///
    /// **Shapes**: `x`, `y`: `[rows, nb]`. **Precision**: x, y and all sums f64; values as stored.
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn multiply(&self, team: &Team, x: &[f64], y: &mut [f64]) {
        self.product(team, None, x, y);
    }

    /// r = b - A x.
    ///
    /// **Shapes**, **Precision**: as [`Jacobian::multiply`].
    ///
    /// # Panics
    /// When a length is wrong.
    pub fn residual(&self, team: &Team, b: &[f64], x: &[f64], r: &mut [f64]) {
        self.product(team, Some(b), x, r);
    }

    fn product(&self, team: &Team, b: Option<&[f64]>, x: &[f64], y: &mut [f64]) {
        let (rows, nb) = (self.rows(), self.nb());
        assert!(b.is_none_or(|b| b.len() == rows * nb), "b has one value a row");
        assert_eq!((x.len(), y.len()), (rows * nb, rows * nb), "x and y have one value a row");
        assert_eq!(self.diag.len(), rows * nb * nb, "one diagonal block a row");
        let isa = Isa::detect();
        let y = SharedMut(y.as_mut_ptr());
        // Shares of about equal numbers of blocks.
        let row_ptr = self.pattern().row_ptr();
        let cost = |row: usize| row_ptr[row] as usize + 2 * row;
        team.run(|member| {
            let blocks = member.share(cost(rows));
            let row_at = |target| {
                let (mut low, mut high) = (0, rows);
                while low < high {
                    let middle = usize::midpoint(low, high);
                    if cost(middle) < target { low = middle + 1 } else { high = middle }
                }
                low
            };
            let mine = row_at(blocks.start)..if blocks.end == cost(rows) { rows } else { row_at(blocks.end) };
            let diag = Diagonal::Plain(self.diag.as_ptr());
            let b = b.map(<[f64]>::as_ptr);
            // SAFETY: all lengths were checked, the members' rows are disjoint, and `isa` is this machine's.
            unsafe { product_rows(isa, self, diag, b, x.as_ptr(), y.get(), mine) };
        });
    }
}
