//! Systems whose rows are divided among ranks.
//!
//! Each rank has the rows it *owns* and *ghosts*: copies of rows of others that its own rows read. All of them stand in one
//! order, that of their numbers in the whole system, so that every row adds its blocks in the order that a single rank adds
//! them in. Two kinds of vectors follow from what is done with them:
//!
//! * *solutions* (x, corrections, the state): ghosts have their owners' values; products and residuals read them;
//! * *residuals* (b, r, A x, the vectors of a Krylov basis): ghosts are zero, so that sums over them are sums over what the
//!   rank owns, and a sum over all ranks is the sum over the system.
//!
//! Where a system repeats when it is turned, some ghosts are [`Images`]: a row of the same or another rank, as it looks from across the
//! seam.
//!
//! [`Links`] is all that a Krylov method asks of the other ranks; [`Share`] is it for ranks of a
//! [`Communicator`](chromaflow_comm::Communicator), with the exchange of one color after the other that sweeps need.

mod coloring;
pub mod exact;
mod images;
mod share;
#[cfg(test)]
pub(crate) mod tests;

pub use coloring::{Items, Priority};
pub(crate) use images::Folds;
pub use images::{Image, Images, turning};
pub use share::{Batch, Share, ShareError, SweepExchange};

use crate::vector;
use chromaflow_device::Team;
use std::fmt::Debug;

/// What a rank's part of a system asks of the other ranks. All ranks call the same functions in the same order.
///
/// A call cannot fail: an implementation remembers what went wrong, leaves NaN behind or does nothing from there on, and tells
/// whoever asks it.
pub trait Links: Debug + Send + Sync {
    /// Each value becomes its sum over all ranks, the same bits on every rank.
    fn sum(&self, values: &mut [f64]);

    /// Ghost rows of a solution become those of their owners.
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    fn exchange(&self, width: usize, x: &mut [f64]);

    /// Ghost rows become zero: what makes a residual of a product.
    ///
    /// **Shapes**: x `[owned and ghost rows, width]`.
    fn clear(&self, width: usize, x: &mut [f64]);

    /// Whether sums are to be exact before their one rounding, so that they do not depend on the number of ranks.
    fn exact(&self) -> bool {
        false
    }
}

/// The inner product of a system on this rank's threads and, where there are others, over all ranks. Vectors are residuals.
#[derive(Clone, Copy)]
pub struct Inner<'a> {
    team: &'a Team,
    links: Option<&'a dyn Links>,
}

impl<'a> Inner<'a> {
    /// Of this rank alone, or with others.
    pub fn new(team: &'a Team, links: Option<&'a dyn Links>) -> Self {
        Self { team, links }
    }

    /// x . y
    pub fn dot(&self, x: &[f64], y: &[f64]) -> f64 {
        let [sum] = self.dots([(x, y)]);
        sum
    }

    /// |x|
    pub fn norm2(&self, x: &[f64]) -> f64 {
        self.dot(x, x).sqrt()
    }

    /// Several inner products with one message to each rank.
    pub fn dots<const N: usize>(&self, pairs: [(&[f64], &[f64]); N]) -> [f64; N] {
        match self.links {
            Some(links) if links.exact() => {
                let mut sums = exact::Sums::new(N);
                for (k, (x, y)) in pairs.into_iter().enumerate() {
                    sums.add_products(k, x, y);
                }
                sums.over(links).try_into().expect("as many sums as pairs")
            }
            _ => {
                let mut sums = pairs.map(|(x, y)| vector::dot(self.team, x, y));
                self.complete(&mut sums);
                sums
            }
        }
    }

    /// The products of w with each of v, and last with itself, where sums are exact; else none.
    pub(crate) fn exact_products(&self, v: &[Vec<f64>], w: &[f64]) -> Option<Vec<f64>> {
        let links = self.links.filter(|links| links.exact())?;
        let mut sums = exact::Sums::new(v.len() + 1);
        for (k, v) in v.iter().enumerate() {
            sums.add_products(k, v, w);
        }
        sums.add_products(v.len(), w, w);
        Some(sums.over(links))
    }

    /// Sums over this rank's rows become sums over all.
    pub(crate) fn complete(&self, sums: &mut [f64]) {
        if let Some(links) = self.links {
            links.sum(sums);
        }
    }

    /// The threads.
    pub(crate) fn team(&self) -> &'a Team {
        self.team
    }
}
