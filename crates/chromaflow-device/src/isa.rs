//! Which vector instructions the machine has.

use std::sync::OnceLock;

/// Instruction sets that tuned CPU code is compiled for, weakest first.
///
/// ```
/// use chromaflow_device::Isa;
/// assert!(Isa::available().contains(&Isa::detect()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// What the compiler's target guarantees (SSE2 on x86-64).
    Portable,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX-512 F, BW, DQ and VL, with all of [`Isa::Avx2`].
    Avx512,
}

impl Isa {
    /// Name of the environment variable that caps [`Isa::detect`]: `portable`, `avx2` or `avx512`.
    pub const VARIABLE: &str = "CHROMAFLOW_ISA";

    /// The best set of this machine, or a weaker one asked for by [`Isa::VARIABLE`]; found once per process.
    #[must_use]
    pub fn detect() -> Self {
        static FOUND: OnceLock<Isa> = OnceLock::new();
        *FOUND.get_or_init(|| {
            let cap = std::env::var(Self::VARIABLE).ok().and_then(|name| Self::from_name(&name));
            cap.map_or_else(Self::strongest, |cap| cap.min(Self::strongest()))
        })
    }

    /// The best set of this machine, whatever was asked for.
    #[must_use]
    pub fn strongest() -> Self {
        static FOUND: OnceLock<Isa> = OnceLock::new();
        *FOUND.get_or_init(Self::hardware)
    }

    /// All sets that this machine can run, weakest first: what tests go through.
    #[must_use]
    pub fn available() -> Vec<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512]
            .into_iter()
            .filter(|&isa| isa <= Self::strongest())
            .collect()
    }

    /// Its name in [`Isa::VARIABLE`] and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Portable => "portable",
            Self::Avx2 => "avx2",
            Self::Avx512 => "avx512",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        [Self::Portable, Self::Avx2, Self::Avx512].into_iter().find(|isa| isa.name() == name)
    }

    #[cfg(target_arch = "x86_64")]
    fn hardware() -> Self {
        let avx2 = is_x86_feature_detected!("avx2")
            && is_x86_feature_detected!("fma")
            && is_x86_feature_detected!("f16c");
        let avx512 = is_x86_feature_detected!("avx512f")
            && is_x86_feature_detected!("avx512bw")
            && is_x86_feature_detected!("avx512dq")
            && is_x86_feature_detected!("avx512vl");
        match (avx2, avx512) {
            (true, true) => Self::Avx512,
            (true, false) => Self::Avx2,
            _ => Self::Portable,
        }
    }

    #[cfg(not(target_arch = "x86_64"))]
    fn hardware() -> Self {
        Self::Portable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for isa in Isa::available() {
            assert_eq!(Isa::from_name(isa.name()), Some(isa));
            assert!(Isa::Portable <= isa && isa <= Isa::strongest());
        }
        assert_eq!(Isa::from_name("sse9"), None);
    }
}
