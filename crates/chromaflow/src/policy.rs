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

    /// What O is stored in.
    pub fn storage(self) -> Storage {
        self.into()
    }

    /// Bytes of one off-diagonal value.
    pub fn off_bytes(self) -> usize {
        self.storage().bytes()
    }

    /// Bytes of one value of the correction x.
    pub fn x_bytes(self) -> usize {
        self.storage().x_bytes()
    }
}

/// What numbers stored blocks are: off-diagonal blocks of a matrix, and factors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// f64, of policy `d`: x and sums of O x in f64 too.
    F64,
    /// f32, of policy `ds`: half the bytes; sums and diagonal blocks stay f64.
    F32,
    /// f16, of policy `dsh`, each row of a triangle or of the matrix divided by a power of two that brings it into range: a quarter
    /// of the bytes. Three digits, and entries nine orders below the largest of their row are lost.
    F16,
    /// bfloat16, unscaled: for research, in sweeps on a GPU alone.
    Bf16,
}

impl Storage {
    /// All of them.
    pub const ALL: [Storage; 4] = [Storage::F64, Storage::F32, Storage::F16, Storage::Bf16];

    /// Its number in the kernels.
    pub fn code(self) -> u32 {
        self as u32
    }

    /// Bytes of a value.
    pub fn bytes(self) -> usize {
        match self {
            Storage::F64 => 8,
            Storage::F32 => 4,
            Storage::F16 | Storage::Bf16 => 2,
        }
    }

    /// Bytes of a value of x.
    pub fn x_bytes(self) -> usize {
        if self == Storage::F64 { 8 } else { 4 }
    }

    /// The storage that blocks are assembled in for it.
    pub fn assembled(self) -> Storage {
        if self == Storage::F64 { Storage::F64 } else { Storage::F32 }
    }

    /// The name used in results: that of the policy, or `bf16`.
    pub fn name(self) -> &'static str {
        match self {
            Storage::F64 => "d",
            Storage::F32 => "ds",
            Storage::F16 => "dsh",
            Storage::Bf16 => "bf16",
        }
    }
}

impl From<Policy> for Storage {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::D => Storage::F64,
            Policy::Ds => Storage::F32,
            Policy::Dsh => Storage::F16,
        }
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
