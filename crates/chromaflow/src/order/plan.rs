//! From a pattern to the order in which its rows are swept.

use super::fronts::colored_fronts;
use super::rcm::reverse_cuthill_mckee_with;
use super::{Adjacency, Coloring, Lines, Permutation, RowBatches, Spread, VertexOrder};
use crate::BlockPattern;
use crate::sparse::{SIGMA, ShapeError, check_len, check_square};
use chromaflow_device::Team;
use std::sync::Mutex;

/// How rows get their colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColoringMethod {
    /// No colors: one batch in the order of the rows (for Jacobi relaxation and plain products).
    None,
    /// Two colors where these are enough ([`Coloring::parity`]), else [`Coloring::greedy`] and a [`Coloring::reduced`] pass.
    Greedy(VertexOrder),
    /// As few as a greedy coloring, smallest last, a [`Coloring::reduced`] pass over it and [`Coloring::without_smallest`]
    /// find: fewer synchronizations of a sweep, which decide on a GPU.
    Fewest,
    /// [`Coloring::by_numbers`], those of the rows as they are given: the colors do not depend on the order of the rows, and are the same where ranks
    /// find them together.
    Parallel,
    /// [`Coloring::levels`]: sweeps through these batches are Gauss-Seidel sweeps in the order of the rows.
    Levels,
}

/// Whether rows are put in reverse Cuthill-McKee order, so that neighbors are close to one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rcm {
    /// Never: as they are given.
    Never,
    /// Unless they lie in a band as they are given, of a mean width of no more than rows^(2/3): what reverse Cuthill-McKee gives for a
    /// mesh in three dimensions. The graph is not built then, and all is the quicker.
    UnlessBanded,
    /// Always.
    #[default]
    Always,
    /// Always, and the rows of each front by colors, so that incomplete factors with levels of fill up to this one have few level sets: each
    /// front of Cuthill and McKee adds its few colors, where in their own order it may add a chain of all its rows.
    ColoredFronts(usize),
}

impl Rcm {
    /// Whether the rows of this pattern are reordered.
    pub fn reorders(self, pattern: &BlockPattern) -> bool {
        match self {
            Rcm::Never => false,
            Rcm::UnlessBanded => {
                let rows = pattern.rows();
                let reach =
                    |row| pattern.columns(row).first().map_or(0, |&first| row.saturating_sub(first as usize));
                let profile: u64 = (0..rows).map(|row| reach(row) as u64).sum();
                profile as f64 > (rows as f64).powf(5.0 / 3.0)
            }
            Rcm::Always | Rcm::ColoredFronts(_) => true,
        }
    }

    /// The same for incomplete factors with so many levels of fill: rows that are reordered anyway stand by colored fronts.
    #[must_use]
    pub fn for_fill(self, levels: u32) -> Self {
        match self {
            Rcm::Always if levels > 0 => Rcm::ColoredFronts(levels as usize),
            _ => self,
        }
    }

    /// The order of a graph that is reordered.
    fn order(self, graph: &Adjacency, team: &Team) -> Permutation {
        let permutation = reverse_cuthill_mckee_with(graph, team);
        match self {
            Rcm::ColoredFronts(fill) => {
                let fronts = colored_fronts(&graph.permuted_with(&permutation, team), fill);
                permutation.then(&fronts)
            }
            Rcm::Never | Rcm::UnlessBanded | Rcm::Always => permutation,
        }
    }
}

/// What [`Plan::new`] shall do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanOptions {
    /// Reverse Cuthill-McKee before coloring, so that rows of one color stand in the order of the band.
    pub rcm: Rcm,
    /// How rows get their colors.
    pub coloring: ColoringMethod,
    /// Whether colors are made nearly equal in size ([`Coloring::balanced`]).
    pub balance: bool,
}

impl Default for PlanOptions {
    /// Reverse Cuthill-McKee, two colors or greedy ones in that order, sizes as they fall.
    fn default() -> Self {
        Self { rcm: Rcm::Always, coloring: ColoringMethod::Greedy(VertexOrder::Natural), balance: false }
    }
}

impl PlanOptions {
    /// Colors of a graph.
    fn color(&self, graph: &Adjacency, numbers: &[u32], team: &Team) -> Coloring {
        let coloring = match self.coloring {
            ColoringMethod::None => return Coloring::new(vec![0; graph.rows()]),
            ColoringMethod::Greedy(order) => Coloring::parity(graph, numbers)
                .unwrap_or_else(|| Coloring::greedy_with(graph, order, team).recolored(graph, team)),
            ColoringMethod::Fewest => {
                Coloring::greedy(graph, VertexOrder::SmallestLast).reduced(graph, 1).without_smallest(graph)
            }
            ColoringMethod::Parallel => Coloring::by_numbers(graph, numbers, team),
            ColoringMethod::Levels => Coloring::levels(graph),
        };
        // Levels that lend rows to one another are levels no more.
        let fixed = self.coloring == ColoringMethod::Levels;
        let coloring = if self.balance && !fixed { coloring.balanced(graph) } else { coloring };
        debug_assert!(coloring.check(graph).is_ok());
        coloring
    }
}

/// What [`Plan::new`] found and made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanReport {
    /// Rows of the pattern.
    pub rows: usize,
    /// Pairs of neighbors.
    pub edges: usize,
    /// Most neighbors of a row.
    pub max_degree: usize,
    /// Bandwidth and profile in the given order.
    pub before: Spread,
    /// Bandwidth and profile after reverse Cuthill-McKee, before coloring (as before where it is off).
    pub after: Spread,
    /// Number of colors.
    pub colors: usize,
    /// Rows of the smallest color.
    pub smallest: usize,
    /// Rows of the largest color.
    pub largest: usize,
    /// Number of lines, of two rows at least.
    pub lines: usize,
    /// Rows in them.
    pub in_lines: usize,
}

/// The order in which rows are swept: a permutation from the given order, and batches of the permuted rows. Rows of a color are
/// sorted by length within windows of [`SIGMA`]; without colors they keep their order.
///
/// ```
/// use chromaflow::{BlockPattern, order::{Plan, PlanOptions}};
/// // A chain 0 - 2 - 1 - 3, badly numbered.
/// let chain = BlockPattern::new(4, vec![0, 2, 5, 8, 10], vec![0, 2, 1, 2, 3, 0, 1, 2, 1, 3])?;
/// let plan = Plan::new(&chain, &PlanOptions::default())?;
/// assert_eq!((plan.report.before.bandwidth, plan.report.after.bandwidth), (2, 1));
/// assert_eq!(plan.batches.offsets(), [0, 2, 4]);
/// let (pattern, _) = chain.permuted(&plan.permutation);
/// plan.batches.check(&pattern)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Plan {
    /// From the given order to that of the sweeps.
    pub permutation: Permutation,
    /// Colors, in the order of the sweeps.
    pub batches: RowBatches,
    /// What was found and made.
    pub report: PlanReport,
}

impl Plan {
    /// Orders the rows of a square pattern (with or without its diagonal, symmetric or not) on one thread.
    ///
    /// # Errors
    /// [`ShapeError::NotSquare`].
    pub fn new(pattern: &BlockPattern, options: &PlanOptions) -> Result<Self, ShapeError> {
        Self::with_team(pattern, options, &Team::new(1))
    }

    /// The same, a parallel coloring on all members of `team`. The plan does not depend on their number.
    ///
    /// # Errors
    /// [`ShapeError::NotSquare`].
    pub fn with_team(pattern: &BlockPattern, options: &PlanOptions, team: &Team) -> Result<Self, ShapeError> {
        Self::of_lines(pattern, &Lines::default(), options, team)
    }

    /// The same for rows that form lines: those of a line stand one after the other, and lines that are coupled have different colors.
    /// Within a color long lines come first; rows in no line stand alone as lines of one. Without any line it is [`Plan::with_team`], whose
    /// batches know of no lines.
    ///
    /// # Errors
    /// [`ShapeError::NotSquare`]; [`ShapeError::Length`] for lines of a matrix with other rows.
    pub fn of_lines(
        pattern: &BlockPattern,
        lines: &Lines,
        options: &PlanOptions,
        team: &Team,
    ) -> Result<Self, ShapeError> {
        let given = Adjacency::with_team(pattern, team)?;
        if !lines.is_empty() {
            check_len("lines", lines.rows(), given.rows(), || {
                "those of a matrix with as many rows".to_owned()
            })?;
        }
        let before = Spread::of_with(&given, team);
        let rcm = options.rcm.reorders(pattern);
        let (band, graph) = if rcm {
            let permutation = options.rcm.order(&given, team);
            let graph = given.permuted_with(&permutation, team);
            (permutation, graph)
        } else {
            (Permutation::identity(given.rows()), given)
        };
        let after = if rcm { Spread::of_with(&graph, team) } else { before };
        let grouped = (!lines.is_empty()).then(|| lines.renumbered(&band).grouped(&graph));
        let given = band.old_of_new();
        let coloring = match &grouped {
            Some(grouped) => options.color(&grouped.graph, &grouped.numbers(given), team),
            None => options.color(&graph, given, team),
        };
        let uncolored = options.coloring == ColoringMethod::None;
        let (colors, batches) = match &grouped {
            Some(grouped) => grouped.renumber(&coloring),
            None => coloring.renumber(),
        };
        let sizes = || batches.iter().map(|rows| rows.len());
        let report = PlanReport {
            rows: graph.rows(),
            edges: graph.edges(),
            max_degree: graph.max_degree(),
            before,
            after,
            colors: coloring.count(),
            smallest: sizes().min().unwrap_or(0),
            largest: sizes().max().unwrap_or(0),
            lines: lines.len(),
            in_lines: lines.covered(),
        };
        let permutation =
            if uncolored { band.then(&colors) } else { by_length(pattern, [&band, &colors], &batches, team) };
        Ok(Self { permutation, batches, report })
    }
}

/// The order of [`Plan`] without its report: where rows are not colored and stay as they are, no graph is built for it.
pub(crate) struct Order {
    pub(crate) permutation: Permutation,
    pub(crate) batches: RowBatches,
    /// Where it cost nothing more.
    report: Option<PlanReport>,
}

impl Order {
    /// Orders the rows as [`Plan::with_team`] does.
    ///
    /// # Errors
    /// [`ShapeError::NotSquare`].
    pub(crate) fn new(pattern: &BlockPattern, options: PlanOptions, team: &Team) -> Result<Self, ShapeError> {
        if options.coloring != ColoringMethod::None {
            let Plan { permutation, batches, report } = Plan::with_team(pattern, &options, team)?;
            return Ok(Self { permutation, batches, report: Some(report) });
        }
        check_square(pattern)?;
        let permutation = if options.rcm.reorders(pattern) {
            options.rcm.order(&Adjacency::with_team(pattern, team)?, team)
        } else {
            Permutation::identity(pattern.rows())
        };
        let rows = pattern.rows();
        let batches = if rows == 0 { RowBatches::new(vec![0]) } else { RowBatches::single(rows) };
        Ok(Self { permutation, batches, report: None })
    }

    /// An order that somebody else has found.
    pub(crate) fn given(permutation: Permutation, batches: RowBatches) -> Self {
        Self { permutation, batches, report: None }
    }

    /// What [`Plan`] would report; `inside` is the pattern in the new order.
    pub(crate) fn report(&self, inside: &BlockPattern) -> PlanReport {
        if let Some(report) = self.report {
            return report;
        }
        let graph = Adjacency::of(inside).expect("rows were ordered, so that there are as many columns");
        let rows = graph.rows();
        PlanReport {
            rows,
            edges: graph.edges(),
            max_degree: graph.max_degree(),
            before: Spread::at(&graph, self.permutation.old_of_new()),
            after: Spread::of(&graph),
            colors: self.batches.len(),
            smallest: self.batches.iter().map(|rows| rows.len()).min().unwrap_or(0),
            largest: self.batches.iter().map(|rows| rows.len()).max().unwrap_or(0),
            lines: 0,
            in_lines: 0,
        }
    }
}

/// The second permutation after the first, and the rows of its batches sorted by length, longest first, within windows of [`SIGMA`]; rows
/// of longer lines stay.
fn by_length(
    pattern: &BlockPattern,
    [band, colors]: [&Permutation; 2],
    batches: &RowBatches,
    team: &Team,
) -> Permutation {
    let mut old_of_new = vec![0_u32; band.len()];
    colors.gather_with(team, 1, band.old_of_new(), &mut old_of_new);
    let (mut windows, mut rest, mut at) = (Vec::new(), &mut old_of_new[..], 0);
    for alone in batches.iter().map(|batch| batches.alone(batch)) {
        let (own, after) = std::mem::take(&mut rest)[alone.start - at..].split_at_mut(alone.len());
        windows.extend(own.chunks_mut(SIGMA).map(Mutex::new));
        (rest, at) = (after, alone.end);
    }
    team.run(|member| {
        for window in &windows[member.share(windows.len())] {
            let mut rows = window.lock().expect("each member locks its own once");
            rows.sort_by_cached_key(|&row| std::cmp::Reverse(pattern.range(row as usize).len()));
        }
    });
    drop(windows);
    Permutation::from_old_of_new_with(old_of_new, team).expect("sorted rows are the same rows")
}
