#![allow(unsafe_code)]
//! Sweeps over lines and whole solves: what is enqueued, alone and over ranks.

use super::arguments::{SolveLines, SolvePassingLines};
use super::layout::Color;
use super::{LinesCuda, WARP};
use crate::Outcome;
use crate::gpu::{Direct, GpuError, Posts};
use crate::relax::over_ranks_cuda::{Part, Passing, Recorded, order};
use crate::relax::{Direction, Guess, RelaxError, SolveOptions, SolveReport};
use chromaflow_device::cuda::{DeviceBuffer, Read, Share};
use chromaflow_device::kernel_arguments;
use std::ops::Range;

impl LinesCuda {
    /// Solves A x = b as `options` say, with `b` and `x` on the device in the order of the matrix's rows.
    ///
    /// **Shapes**: `b`, `x [rows, nb]`.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Shape`], [`GpuError::Cuda`]; [`GpuError::Unsupported`] for tolerances, histories and
    /// restarts, which are for a Krylov method around the sweeps.
    pub fn solve(
        &mut self,
        b: &DeviceBuffer<f64>,
        x: &mut DeviceBuffer<f64>,
        options: &SolveOptions,
    ) -> Result<SolveReport, GpuError> {
        if options.tolerance.is_some() || options.history || options.restart.is_some() {
            return Err(GpuError::Unsupported(
                "sweeps over lines look at no residual on a GPU: put a Krylov method around them".to_owned(),
            ));
        }
        let report =
            |outcome, sweeps| SolveReport { outcome, sweeps, relative_residual: None, history: Vec::new() };
        if let Some(row) = self.singular {
            return Ok(report(Outcome::Breakdown { row }, 0));
        }
        self.points.set_rhs(b)?;
        match options.guess {
            Guess::Zero => self.points.clear()?,
            Guess::Given => self.points.set_x(x)?,
        }
        self.sweeps(options.direction, options.sweeps, options.damping)?;
        self.points.get_x(x)?;
        Ok(report(Outcome::IterationLimit, options.sweeps))
    }

    /// `count` sweeps from the present x, as one graph launch but where hosts pass rows between ranks.
    ///
    /// # Errors
    /// [`RelaxError::NotFactored`], [`GpuError::Cuda`].
    pub fn sweeps(&mut self, direction: Direction, count: usize, damping: f64) -> Result<(), GpuError> {
        if !self.points.is_factored() {
            return Err(RelaxError::NotFactored.into());
        }
        let direct = self.points.direct();
        let passing = self.share.as_ref().map(|share| Passing {
            share,
            direct: direct.is_some(),
            at_once: false,
            x: self.points.iterates()[0],
            row: self.points.row(),
        });
        let (key, stream) = ((direction, count, damping.to_bits()), self.points.stream());
        let mut graphs = std::mem::replace(&mut self.graphs, Recorded::new());
        let done = graphs.run(key, stream, passing.as_ref(), || match (direct, &passing) {
            (Some(direct), _) => self.record_direct(direct, (direction, count), damping),
            (None, Some(passing)) => {
                passing.sweeps((direction, count), self.colors.len(), &mut |color, part, dependent| {
                    self.launch(&self.colors[color], part, damping, dependent).map(|_| ())
                })
            }
            (None, None) => self.record((direction, count), damping),
        });
        self.graphs = graphs;
        done
    }

    fn record(&self, (direction, count): (Direction, usize), damping: f64) -> Result<(), GpuError> {
        let order = order(direction, self.colors.len());
        let mut dependent = false;
        for &color in (0..count).flat_map(|_| &order) {
            dependent |= self.launch(&self.colors[color], Part::All, damping, dependent)?;
        }
        Ok(())
    }

    /// A part of a color; whether it has rows.
    fn launch(&self, color: &Color, part: Part, damping: f64, dependent: bool) -> Result<bool, GpuError> {
        let [in_lines, lines, alone] = [&color.in_lines, &color.lines, &color.alone].map(|ranges| {
            let [border, rest] = ranges;
            match part {
                Part::Border => border.clone(),
                Part::Interior => rest.clone(),
                Part::All => border.start..rest.end,
            }
        });
        let mut dependent = dependent;
        let mut found = false;
        if !lines.is_empty() {
            self.points.launch_apart(in_lines, dependent)?;
            self.launch_lines(lines, damping, None)?;
            (dependent, found) = (true, true);
        }
        if !alone.is_empty() {
            self.points.launch_in_place(alone, damping, dependent)?;
            found = true;
        }
        Ok(found)
    }

    /// Sweeps over the rows of a rank that pass rows themselves: three launches a color, each with its border first, and one before and
    /// one after all. The last launch that has rows of the border tells the neighbors.
    fn record_direct(
        &self,
        direct: &Direct,
        (direction, count): (Direction, usize),
        damping: f64,
    ) -> Result<(), GpuError> {
        let order = order(direction, self.colors.len());
        let tile = self.points.matrix().tile();
        let awaiting = self.awaiting.as_ref().expect("made where kernels pass rows");
        let mut step = 0;
        direct.post(step)?;
        for &color in (0..count).flat_map(|_| &order) {
            step += 1;
            let Color { in_lines, lines, alone } = &self.colors[color];
            let [all_in_lines, all_lines, all_alone] =
                [in_lines, lines, alone].map(|[border, rest]| border.start..rest.end);
            if !all_lines.is_empty() {
                let posts = direct.posts(step, tile.blocks(in_lines[0].len()));
                self.points.launch_awaiting(awaiting, all_in_lines, &posts)?;
                let (edge, tells) = (blocks(&lines[0], self.points.matrix().nb()), alone[0].is_empty());
                self.launch_lines(all_lines, damping, Some((&direct.posts(step, edge), tells)))?;
            }
            if !all_alone.is_empty() {
                let posts = direct.posts(step, tile.blocks(alone[0].len()));
                self.points.launch_passing(all_alone, damping, &posts)?;
            }
            if lines[0].is_empty() && alone[0].is_empty() {
                direct.post(step)?;
            }
        }
        direct.end(step)
    }

    /// Up and down lines; where kernels pass rows with what says to whom, and whether the neighbors are told.
    fn launch_lines(
        &self,
        lines: Range<u32>,
        omega: f64,
        passes: Option<(&Posts, bool)>,
    ) -> Result<(), GpuError> {
        let nb = self.points.matrix().nb();
        let [e, f] = &self.couplings;
        let [x, room] = self.points.iterates();
        let arguments = kernel_arguments! { SolveLines {
            lines: &self.lines, first: lines.start, end: lines.end, e: Read::at(e.ptr()),
            f: Read::at(f.ptr()), room: Share::at(room), x: Share::at(x), omega,
        } };
        let launch = self.solve.launch(blocks(&lines, nb), 64);
        let launch = match passes {
            None => launch.record(&arguments),
            Some((posts, tells)) => {
                let (lines, posts) = (arguments, *posts);
                launch.record(&SolvePassingLines { lines, posts, tells: u32::from(tells) })
            }
        };
        // SAFETY: lines lie within the rows, their blocks within E and F; no line of a color reads another one's rows. What passes is as
        // in `MulticolorCuda::launch_passing`.
        Ok(unsafe { launch.dependent(true).enqueue(self.points.stream()) }?)
    }
}

/// Thread blocks that go through so many lines.
fn blocks(lines: &Range<u32>, nb: usize) -> usize {
    lines.len().div_ceil(WARP / nb).div_ceil(2)
}
