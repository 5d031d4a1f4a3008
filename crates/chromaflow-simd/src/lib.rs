//! Vectors of floating-point numbers, one implementation an instruction set, and the choice among them at run time.
//!
//! A loop is written once, as a [`Kernel`] over the vector types of any [`Simd`], and compiled for each set; [`dispatch`] runs
//! the copy that the machine is asked for. A lane means what the loop makes of it: an entry of a block or a row of it (sweeps,
//! factorizations), a system (lines), a node or an edge (flows).
//!
//! | | AVX-512 | AVX2 with FMA | plain arrays |
//! |---|---|---|---|
//! | [`Simd::F64`] | 8 | 4 | 8 |
//! | [`Simd::F32`] | 16 | 8 | 8 |
//! | [`Simd::Eight`] | 8 | 2 x 4 | 8 |
//!
//! The traits build on one another: [`Real`] is arithmetic, shared with scalars, in which nothing is fused: a lane holds the
//! bits of the scalar. A [`Vector`] knows its lanes besides, and fuses where it is told to ([`Vector::mul_add`]): there plain
//! arrays, which do not, differ from the others in the last bits. [`Load`] and [`Store`] convert (f16, f32, f64), [`Columns`]
//! turns arrays that lie one behind the other into lanes, [`Lanes`] records.
//!
//! ```
//! use chromaflow_device::Isa;
//! use chromaflow_simd::{Kernel, Lanes, Packet, Real, Simd, dispatch};
//!
//! struct Roots<'a>(&'a mut [Packet]);
//! impl Kernel for Roots<'_> {
//!     type Output = ();
//!     #[inline(always)]
//!     unsafe fn run<S: Simd>(self) {
//!         for packet in self.0 {
//!             S::Eight::load(packet).sqrt().store(packet);
//!         }
//!     }
//! }
//! let mut data = [Packet([4.0; 8]); 3];
//! // SAFETY: the loop asks for nothing.
//! unsafe { dispatch(Isa::detect(), Roots(&mut data)) };
//! assert_eq!(data[2].0, [2.0; 8]);
//! ```

mod columns;
mod dispatch;
mod eight;
mod operators;
mod plain;
mod real;
#[cfg(target_arch = "x86_64")]
mod records;
#[cfg(test)]
mod tests;
mod vector;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use columns::Columns;
pub use dispatch::{Kernel, Simd, dispatch};
pub use eight::{LANES, Lanes, Packet};
pub use half::f16;
pub use plain::{Plain, narrow};
pub use real::{Mask, Real};
pub use vector::{Bits, Elem, Four, Load, Native, Store, Turn, Vector, flush};
