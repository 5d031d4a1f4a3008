//! Renumberings and their inverses.

use crate::vector;
use chromaflow_device::Team;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// A renumbering of rows: `new_of_old` and its inverse `old_of_new`.
///
/// ```
/// use chromaflow::Permutation;
/// let p = Permutation::from_old_of_new(vec![2, 0, 1])?; // new row 0 is old row 2
/// assert_eq!(p.new_of_old(), [1, 2, 0]);
/// let (mut moved, mut back) = ([0.0; 6], [0.0; 6]);
/// p.gather(2, &[0., 1., 10., 11., 20., 21.], &mut moved);
/// assert_eq!(moved, [20., 21., 0., 1., 10., 11.]);
/// p.scatter(2, &moved, &mut back);
/// assert_eq!(back, [0., 1., 10., 11., 20., 21.]);
/// # Ok::<(), chromaflow::order::NotAPermutation>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permutation {
    new_of_old: Vec<u32>,
    old_of_new: Vec<u32>,
    /// It moves nothing.
    identity: bool,
}

/// A list of rows in which one is missing, out of range or named twice.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("not a permutation: entry {at} names row {row}, which is out of range or named before")]
pub struct NotAPermutation {
    /// Position in the list.
    pub at: usize,
    /// The row it names.
    pub row: u32,
}

impl Permutation {
    /// The permutation that leaves all as it is.
    #[must_use]
    pub fn identity(rows: usize) -> Self {
        let all: Vec<u32> = (0..u32::try_from(rows).expect("32-bit row numbers")).collect();
        Self { new_of_old: all.clone(), old_of_new: all, identity: true }
    }

    /// From the list of old rows in their new order.
    ///
    /// # Errors
    /// [`NotAPermutation`] when a row is out of range or named twice.
    pub fn from_old_of_new(old_of_new: Vec<u32>) -> Result<Self, NotAPermutation> {
        let mut new_of_old = vec![u32::MAX; old_of_new.len()];
        let mut identity = true;
        for (at, &row) in old_of_new.iter().enumerate() {
            identity &= row as usize == at;
            match new_of_old.get_mut(row as usize) {
                Some(slot) if *slot == u32::MAX => *slot = at as u32,
                _ => return Err(NotAPermutation { at, row }),
            }
        }
        Ok(Self { new_of_old, old_of_new, identity })
    }

    /// The same on all members of a team.
    pub(super) fn from_old_of_new_with(old_of_new: Vec<u32>, team: &Team) -> Result<Self, NotAPermutation> {
        let rows = old_of_new.len();
        if team.size() == 1 || rows < vector::PARALLEL_FROM {
            return Self::from_old_of_new(old_of_new);
        }
        let new_of_old: Vec<AtomicU32> = (0..rows).map(|_| AtomicU32::new(u32::MAX)).collect();
        let (wrong, moved) = (AtomicBool::new(false), AtomicBool::new(false));
        team.run(|member| {
            let share = member.share(rows);
            let (mut own_wrong, mut own_moved) = (false, false);
            for (at, &row) in share.clone().zip(&old_of_new[share]) {
                own_moved |= row as usize != at;
                let before = new_of_old.get(row as usize).map(|slot| slot.swap(at as u32, Relaxed));
                own_wrong |= before != Some(u32::MAX);
            }
            wrong.fetch_or(own_wrong, Relaxed);
            moved.fetch_or(own_moved, Relaxed);
        });
        if wrong.into_inner() {
            // Which entry it is, one of them says.
            return Self::from_old_of_new(old_of_new);
        }
        let new_of_old = new_of_old.into_iter().map(AtomicU32::into_inner).collect();
        Ok(Self { new_of_old, old_of_new, identity: !moved.into_inner() })
    }

    /// Of rows that go group by group and keep their order there: the group of each, and where groups begin.
    pub(super) fn by_groups(group: &[u32], mut next: Vec<u32>) -> Self {
        let (mut new_of_old, mut old_of_new) = (Vec::with_capacity(group.len()), vec![0; group.len()]);
        let mut identity = true;
        for (row, &group) in (0_u32..).zip(group) {
            let new = &mut next[group as usize];
            old_of_new[*new as usize] = row;
            new_of_old.push(*new);
            identity &= *new == row;
            *new += 1;
        }
        Self { new_of_old, old_of_new, identity }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.old_of_new.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.old_of_new.is_empty()
    }

    /// Whether every row stays where it is.
    pub fn is_identity(&self) -> bool {
        self.identity
    }

    /// Where each old row has gone.
    pub fn new_of_old(&self) -> &[u32] {
        &self.new_of_old
    }

    /// Where each new row comes from.
    pub fn old_of_new(&self) -> &[u32] {
        &self.old_of_new
    }

    /// `self` first, then `next`.
    ///
    /// # Panics
    /// When the lengths differ.
    pub fn then(&self, next: &Permutation) -> Permutation {
        assert_eq!(self.len(), next.len());
        let old_of_new: Vec<u32> = next.old_of_new.iter().map(|&mid| self.old_of_new[mid as usize]).collect();
        Self::from_old_of_new(old_of_new).expect("two permutations make one")
    }

    /// The way back.
    pub fn inverse(&self) -> Permutation {
        Self {
            new_of_old: self.old_of_new.clone(),
            old_of_new: self.new_of_old.clone(),
            identity: self.identity,
        }
    }

    /// Old order to new order, `width` values a row.
    ///
    /// # Panics
    /// When a slice has not `len() * width` values.
    pub fn gather<T: Copy>(&self, width: usize, old: &[T], new: &mut [T]) {
        assert_eq!((old.len(), new.len()), (self.len() * width, self.len() * width));
        pick(width, &self.old_of_new, old, new);
    }

    /// New order back to old order, `width` values a row.
    ///
    /// # Panics
    /// When a slice has not `len() * width` values.
    pub fn scatter<T: Copy>(&self, width: usize, new: &[T], old: &mut [T]) {
        assert_eq!((old.len(), new.len()), (self.len() * width, self.len() * width));
        pick(width, &self.new_of_old, new, old);
    }

    /// [`Permutation::gather`] on all members of a team.
    ///
    /// # Panics
    /// As [`Permutation::gather`].
    pub fn gather_with<T: Copy + Send + Sync>(&self, team: &Team, width: usize, old: &[T], new: &mut [T]) {
        assert_eq!((old.len(), new.len()), (self.len() * width, self.len() * width));
        pick_with(team, width, &self.old_of_new, old, new);
    }

    /// [`Permutation::scatter`] on all members of a team.
    ///
    /// # Panics
    /// As [`Permutation::scatter`].
    pub fn scatter_with<T: Copy + Send + Sync>(&self, team: &Team, width: usize, new: &[T], old: &mut [T]) {
        assert_eq!((old.len(), new.len()), (self.len() * width, self.len() * width));
        pick_with(team, width, &self.new_of_old, new, old);
    }
}

impl Permutation {
    /// As [`Permutation::gather_with`] from an array that has the first rows alone: the others become zero.
    ///
    /// **Shapes**: `old [rows * width]`, `new [len() * width]`.
    ///
    /// ```
    /// use chromaflow::{Permutation, Team};
    /// let order = Permutation::from_old_of_new(vec![2, 0, 1])?;
    /// let (team, mut inside, mut own) = (Team::new(1), [9.0; 3], [0.0; 2]);
    /// order.gather_first_with(&team, 1, &[1.0, 2.0], &mut inside);
    /// assert_eq!(inside, [0.0, 1.0, 2.0]);
    /// order.scatter_first_with(&team, 1, &inside, &mut own);
    /// assert_eq!(own, [1.0, 2.0]);
    /// # Ok::<(), chromaflow::order::NotAPermutation>(())
    /// ```
    ///
    /// # Panics
    /// When `new` has not `len() * width` values, or `old` more or a part of a row.
    pub fn gather_first_with<T: Copy + Default + Send + Sync>(
        &self,
        team: &Team,
        width: usize,
        old: &[T],
        new: &mut [T],
    ) {
        if old.len() == self.len() * width {
            return self.gather_with(team, width, old, new);
        }
        assert!(new.len() == self.len() * width && old.len() < new.len() && old.len().is_multiple_of(width));
        let pick = |rows: &[u32], to: &mut [T]| {
            for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
                match old.get(row as usize * width..(row as usize + 1) * width) {
                    Some(from) => to.copy_from_slice(from),
                    None => to.fill(T::default()),
                }
            }
        };
        if team.size() == 1 || new.len() < vector::PARALLEL_FROM {
            return pick(&self.old_of_new, new);
        }
        vector::shares(team, new, self.len(), width, |share, to| pick(&self.old_of_new[share], to));
    }

    /// As [`Permutation::scatter_with`] to an array that has the first rows alone, see [`Permutation::gather_first_with`].
    ///
    /// **Shapes**: `new [len() * width]`, `old [rows * width]`.
    ///
    /// # Panics
    /// When `new` has not `len() * width` values, or `old` more or a part of a row.
    pub fn scatter_first_with<T: Copy + Send + Sync>(
        &self,
        team: &Team,
        width: usize,
        new: &[T],
        old: &mut [T],
    ) {
        assert!(new.len() == self.len() * width && old.len() <= new.len());
        let rows = old.len() / width.max(1);
        assert_eq!(old.len(), rows * width);
        pick_with(team, width, &self.new_of_old[..rows], new, old);
    }
}

fn pick_with<T: Copy + Send + Sync>(team: &Team, width: usize, rows: &[u32], from: &[T], to: &mut [T]) {
    if team.size() == 1 || to.len() < vector::PARALLEL_FROM {
        return pick(width, rows, from, to);
    }
    vector::shares(team, to, rows.len(), width, |share, to| pick(width, &rows[share], from, to));
}

/// Rows of `from` one after another; the common widths are constants, which saves a call for every row.
fn pick<T: Copy>(width: usize, rows: &[u32], from: &[T], to: &mut [T]) {
    match width {
        0 => {}
        1 => pick_constant::<T, 1>(rows, from, to),
        2 => pick_constant::<T, 2>(rows, from, to),
        3 => pick_constant::<T, 3>(rows, from, to),
        4 => pick_constant::<T, 4>(rows, from, to),
        5 => pick_constant::<T, 5>(rows, from, to),
        6 => pick_constant::<T, 6>(rows, from, to),
        7 => pick_constant::<T, 7>(rows, from, to),
        8 => pick_constant::<T, 8>(rows, from, to),
        _ => {
            for (to, &row) in to.chunks_exact_mut(width).zip(rows) {
                to.copy_from_slice(&from[row as usize * width..][..width]);
            }
        }
    }
}

fn pick_constant<T: Copy, const W: usize>(rows: &[u32], from: &[T], to: &mut [T]) {
    let (from, to) = (from.as_chunks::<W>().0, to.as_chunks_mut::<W>().0);
    for (to, &row) in to.iter_mut().zip(rows) {
        *to = from[row as usize];
    }
}
