//! Times of a step's components.

use super::super::Times;
use crate::gpu::Clock;
use chromaflow::gpu::GpuError;

/// A component of a step.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    Rhs,
    Lhs,
    Pipsr,
    LinearSolver,
    Misc,
}

/// Most marks of a step.
pub const MARKS: usize = 12;

/// Seconds by component since the last call.
pub fn times_of(clock: &mut Clock<Part>) -> Result<Times, GpuError> {
    let mut times = Times::default();
    clock.take(|part, seconds| {
        *match part {
            Part::Rhs => &mut times.rhs,
            Part::Lhs => &mut times.lhs,
            Part::Pipsr => &mut times.pipsr,
            Part::LinearSolver => &mut times.linear_solver,
            Part::Misc => &mut times.misc,
        } += seconds;
    })?;
    Ok(times)
}
