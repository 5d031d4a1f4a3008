//! Which array is stored in which precision.

use std::fmt;
use std::str::FromStr;

/// The precision of the arrays of a relaxation.
///
/// | policy | D (diagonal, factored or inverted) | O (off-diagonal) | x (correction) | b |
/// |---|---|---|---|---|
/// | `d`   | f64 | f64 | f64 | f64 |
/// | `ds`  | f64 | f32 | f32 | f64 |
/// | `dsh` | f64 | f16, scaled | f32 | f64 |
///
/// **Precision**: products O x accumulate in f64 for `d`, in f32 for `ds` and `dsh`; b - O x and the solve with D are
/// f64 in all three. **Source**: Walden, Nielsen, Diskin, Zubair, *A Mixed Precision Multicolor Point-Implicit Solver
/// for Unstructured Grids on GPUs* (2019).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Policy {
    /// All f64: the reference.
    D,
    /// Off-diagonal blocks and correction in f32 (FUN3D's double-single).
    #[default]
    Ds,
    /// Off-diagonal blocks in scaled f16, correction in f32 (FUN3D's double-single-half).
    Dsh,
}

impl Policy {
    /// All policies, widest first.
    pub const ALL: [Policy; 3] = [Policy::D, Policy::Ds, Policy::Dsh];

    /// The name used in case files, on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Policy::D => "d",
            Policy::Ds => "ds",
            Policy::Dsh => "dsh",
        }
    }

    /// Bytes of one off-diagonal value.
    pub fn off_bytes(self) -> usize {
        match self {
            Policy::D => 8,
            Policy::Ds => 4,
            Policy::Dsh => 2,
        }
    }

    /// Bytes of one value of the correction x.
    pub fn x_bytes(self) -> usize {
        if self == Policy::D { 8 } else { 4 }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A policy name that is not one.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("unknown precision policy `{0}`: expected d, ds or dsh")]
pub struct UnknownPolicy(String);

impl FromStr for Policy {
    type Err = UnknownPolicy;
    fn from_str(s: &str) -> Result<Self, UnknownPolicy> {
        Policy::ALL.into_iter().find(|p| p.name() == s).ok_or_else(|| UnknownPolicy(s.to_owned()))
    }
}
