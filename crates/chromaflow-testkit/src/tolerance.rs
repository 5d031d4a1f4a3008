//! How far results may lie from an oracle's.

/// Rounding of one sweep or product over well-conditioned test matrices, relative to the largest entry: sums of some hundred
/// products in f64 (`double`), or in f32 with operands that the oracle rounds in the same way.
pub fn rounding(double: bool) -> f64 {
    if double { 1e-13 } else { 2e-6 }
}
