//! The Thomas algorithm: block Gauss elimination from the first row to the last, then back-substitution.
//!
//! ```text
//! B'_i = B_i - A_i C'_{i-1}      C'_i = B'_i^-1 C_i      f'_i = B'_i^-1 (f_i - A_i f'_{i-1})
//! x_i  = f'_i - C'_i x_{i+1}
//! ```
//!
//! **Source**: Stone et al. (2011), Eq. 2; Golub, Van Loan, *Matrix Computations* (2013), section 4.5.1.

pub(crate) mod cpu;
pub mod reference;
