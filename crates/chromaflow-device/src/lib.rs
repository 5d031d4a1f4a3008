//! The device layer: where memory lives and who computes.
//!
//! * [`Team`]: threads with barriers that cost well under a microsecond. A multicolor sweep has one
//!   barrier per color, so the general thread pools (20 microseconds and more per parallel region) do not serve.
//! * [`Isa`]: which vector instructions the machine has, found once.
//! * [`SharedSlice`]: an output that members write in disjoint parts, in the order of a schedule.
//! * [`ranges`]: named ranges of time for profilers, by NVTX.
//! * [`Buffer`]: 64-byte aligned memory with a readable tail, whose pages are placed by their first writer.
//! * [`cores`]: those that this process may use, how they lie, and shares of them for ranks.
//! * [`LargePages`]: a program's memory, of large arrays in large pages.
#![deny(unsafe_code)]

mod buffer;
mod clock;
pub mod cores;
#[cfg(feature = "cuda")]
pub mod cuda;
mod isa;
mod pages;
mod prefetch;
pub mod ranges;
mod shared;
pub mod stream;
mod team;
mod team_error;

pub use buffer::{Buffer, give_back_freed};
pub use clock::cpu_time;
pub use isa::Isa;
pub use pages::{LargePages, keep_freed};
pub use prefetch::prefetch;
pub use shared::SharedSlice;
pub use team::{Member, Team, split};
pub use team_error::TeamError;
