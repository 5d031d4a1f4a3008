//! A solver whose nodes are divided among ranks. Rank 0 leads: what it is asked for it tells the others, who do their part of it in
//! [`FlowSolver::follow`].

use super::periodic::{joined, without_sides};
use super::{FlowSolver, FlowSystem};
use crate::config::{Equations, FlowConfig};
use crate::gas::mach;
use crate::laps::Laps;
use crate::march::linear::numbering;
use crate::march::{BadPlace, FlowError, LargestResidual, Order, Place};
use crate::mesh::Mesh;
use crate::mesh::pairs::Pairs;
use crate::mesh::periodic::Images;
use crate::output::{Field, Restart};
use crate::ranks::{Given, Part, Quality, Turning, Whole, divide};
use crate::residual::{element_colors, primitive_of};
use chromaflow::Permutation;
use chromaflow::dist::{Links, Share};
use chromaflow::order::Plan;
use chromaflow_comm::{CommError, Communicator, Op, Tag};
use chromaflow_device::Team;
use std::borrow::Cow;
use std::sync::Arc;

/// What orders travel with.
const ORDERS: Tag = Tag::Halo(2);

/// Who computes together.
#[derive(Clone, Debug)]
pub struct Ranks {
    /// This rank and the others.
    pub ranks: Arc<dyn Communicator>,
    /// Whether results are to be the same, bit for bit, on any number of ranks: inner products and norms are then exact before
    /// their one rounding.
    pub reproducible: bool,
}

/// A part of a mesh, and what rank 0 knows of the whole.
pub(super) struct Divided {
    pub(super) part: Part,
    pub(super) whole: Option<Whole>,
    pub(super) ranks: Ranks,
}

impl FlowSolver {
    /// As [`FlowSolver::new`], over ranks: rank 0 has the mesh, the others get their parts of it. Rank 0 is then used as a solver
    /// alone would be, while the others [`follow`](FlowSolver::follow). Collective.
    ///
    /// Residual, matrix and sweeps of each row are those of one rank alone, bit for bit; sums over all rows are to rounding, or exact
    /// ([`Ranks::reproducible`]). Incomplete factors are of each rank's own rows: the number of ranks then shows in how fast
    /// linear systems are solved.
    ///
    /// # Errors
    /// As [`FlowSolver::new`]; [`FlowError::NotOverRanks`] for what one rank alone computes; [`FlowError::Ranks`].
    pub fn over_ranks(
        mesh: Option<&Mesh>,
        config: FlowConfig,
        team: Arc<Team>,
        ranks: Ranks,
    ) -> Result<Self, FlowError> {
        let laps = Laps::default();
        let around = config.implicit.preconditioner;
        if around.sweeps_in_levels() {
            return Err(FlowError::NotOverRanks {
                what: format!("the preconditioner `{around}`"),
                remedy: "choose `multicolor`, `lines` or `ilu0`",
            });
        }
        let given = match mesh {
            Some(mesh) => {
                let (merged, images) = joined(mesh, &super::setup::completed(mesh, config.clone())?)?;
                Some((mesh, merged, images))
            }
            None => None,
        };
        Self::divided(given, config, (team, laps), ranks)
    }

    /// From the mesh of the file, what merging its periodic sides left, and which node became which, on the rank that has them.
    pub(super) fn divided(
        given: Option<(&Mesh, Cow<'_, Mesh>, Option<Images>)>,
        config: FlowConfig,
        (team, mut laps): (Arc<Team>, Laps),
        ranks: Ranks,
    ) -> Result<Self, FlowError> {
        let config = without_sides(config);
        let images = given.as_ref().and_then(|(_, _, images)| images.as_ref());
        let whole = given.as_ref().map(|(file, mesh, _)| Given {
            mesh,
            file: images.map_or(&[][..], |images| &images.first),
            turning: images
                .and_then(|images| Some(Turning { mesh: file, images, turned: images.turned.as_ref()? })),
        });
        let viscous = config.equations == Equations::Laminar;
        let color =
            |mesh: &Mesh, edges: &Pairs| if viscous { element_colors(mesh, edges) } else { Vec::new() };
        let (part, whole) =
            divide(&*ranks.ranks, whole, numbering(&config.implicit), (&team, &mut laps), color)?;
        let images = given.and_then(|(_, _, images)| images);
        let config = super::setup::completed(&part.mesh, config)?;
        let edges = Pairs::edges_with(&part.mesh, team.size());
        let plan = Plan {
            permutation: Permutation::identity(part.global.len()),
            batches: part.batches(),
            report: part.report,
        };
        let mesh = part.mesh.clone();
        laps.end("edges");
        Self::numbered(
            (mesh, plan, edges),
            config,
            (team, laps),
            (images, Some(Divided { part, whole, ranks })),
        )
    }

    /// Does a rank's part of whatever rank 0 is asked for, until rank 0 ends ([`FlowSolver::dismiss`]).
    ///
    /// # Errors
    /// [`FlowError::Ranks`] when another rank has failed.
    pub fn follow(&mut self) -> Result<(), FlowError> {
        while let Some(order) = self.host.next_order()? {
            if !matches!(order, Order::Step | Order::Reports) {
                // Rank 0 looks at its own state of the host, too.
                self.sync()?;
            }
            match order {
                Order::Step => drop(self.try_step()?),
                Order::Iterations(most) => self.set_iterations(most),
                Order::LargestCfl(largest) => self.set_largest_cfl(largest),
                Order::Fields => drop(self.fields()),
                Order::Pieces => self.host.write_piece()?,
                Order::Restart => drop(self.restart()),
                Order::Resume => self.resume(&Restart::default())?,
                Order::Largest => {
                    let found = self.residuals();
                    drop(self.in_mesh_order(found.equations, &found.rates));
                    drop(self.largest_residual(&found));
                }
                Order::Release => self.release(),
                Order::Forces => drop(self.forces()),
                Order::Heights => drop(self.y_plus()),
                Order::Reports => drop(self.rank_reports()),
                Order::End => break,
            }
        }
        Ok(())
    }

    /// Ends the others' [`follow`](FlowSolver::follow); nothing where there are no others.
    pub fn dismiss(&self) {
        // Whoever cannot be told has ended.
        let _ = crate::march::Host::tell(&self.host, Order::End);
    }

    /// How the mesh was divided among ranks; none where it was not.
    pub fn division(&self) -> Option<Quality> {
        self.host.over.as_ref().map(|rows| rows.quality).filter(|quality| quality.ranks > 1)
    }

    /// Seconds that this rank has spent in exchanges and sums; waiting for others is most of it.
    pub fn exchange_seconds(&self) -> f64 {
        self.host.share().map_or(0.0, |share| share.seconds())
    }

    /// Whether all ranks still answer.
    ///
    /// # Errors
    /// [`FlowError::Ranks`].
    pub fn check_ranks(&self) -> Result<(), FlowError> {
        self.host.check_ranks()
    }
}

impl FlowSystem {
    /// The rank's rows, where there are ranks.
    pub(super) fn share(&self) -> Option<&Arc<Share>> {
        self.over.as_ref().map(|rows| &rows.share)
    }

    pub(super) fn check_ranks(&self) -> Result<(), FlowError> {
        Ok(self.share().map_or(Ok(()), |share| share.check())?)
    }

    /// Whether this rank leads others.
    fn leads(&self) -> Option<&dyn Communicator> {
        let ranks = &**self.share()?.ranks();
        (ranks.rank() == 0 && ranks.size() > 1).then_some(ranks)
    }

    /// Tells the others what this rank is about to do, where it leads.
    pub(super) fn tell_others(&self, order: Order) -> Result<(), FlowError> {
        let Some(ranks) = self.leads() else { return Ok(()) };
        self.check_ranks()?;
        for to in 1..ranks.size() {
            ranks.send(to, ORDERS, order.pack())?;
        }
        Ok(())
    }

    /// What rank 0 has this one do next; none where nobody leads.
    fn next_order(&self) -> Result<Option<Order>, FlowError> {
        let Some(share) = self.share().filter(|share| share.ranks().rank() > 0) else { return Ok(None) };
        // Rank 0 may write files for as long as it takes.
        let bytes = share.ranks().receive_patiently(0, ORDERS)?;
        let length = CommError::Length { from: 0, expected: 9, found: bytes.len() };
        Ok(Some(Order::unpack(&bytes).ok_or(length)?))
    }

    /// Ghosts get their owners' states: all that passes between two residuals.
    pub(super) fn exchange_states(&mut self) {
        let Some(share) = self.share().cloned() else { return };
        share.exchange(5, self.q.as_flattened_mut());
        // Not from q: a state that was given in primitive variables differs from them by rounding.
        share.exchange(8, self.nodes.as_flattened_mut());
        for system in &mut self.coupled {
            share.exchange(system.state.nb, &mut system.state.values);
        }
    }

    /// A row by its number in the whole mesh, the lowest of all ranks; a row of this solver where there are none.
    pub(super) fn lowest(&self, row: Option<usize>) -> Option<usize> {
        self.share().map_or(row, |share| share.lowest(row))
    }

    /// Number of a row in the mesh's file.
    pub(super) fn file_number(&self, row: usize) -> usize {
        match &self.over {
            None => self.file_node(self.plan.permutation.old_of_new()[row] as usize),
            Some(rows) => rows.file[row] as usize,
        }
    }

    /// The place of a row, by its number in the whole mesh, and the state there: from the rank that owns it.
    pub(super) fn place_over_ranks(&self, share: &Share, row: usize) -> BadPlace {
        let own = share.global().binary_search(&(row as u32)).ok().filter(|&row| share.owns(row));
        let mine = own.map_or_else(Vec::new, |row| packed(&self.place_here(row)));
        let all = share.ranks().gather_all(&mine).unwrap_or_default();
        let found = all.iter().find(|bytes| !bytes.is_empty()).and_then(|bytes| unpacked(bytes));
        found.unwrap_or_else(|| BadPlace {
            place: Place::Node(row),
            at: [f64::NAN; 3],
            marker: None,
            state: Vec::new(),
            variables: Cow::Borrowed("its rank has ended"),
        })
    }

    /// Values of rows as values of the mesh's nodes in the file's order: of all of them on the rank that leads, none elsewhere.
    pub(super) fn to_file_order(&self, width: usize, values: Vec<f64>) -> Vec<f64> {
        let (values, rows) = match &self.over {
            None => (values, self.plan.permutation.new_of_old()),
            Some(over) => {
                let all = over.gather(width, &values);
                let Some(whole) = &over.whole else { return Vec::new() };
                (all, whole.permutation.new_of_old())
            }
        };
        let mut out = Vec::with_capacity(width * self.file_nodes());
        for (node, row) in self.rows_of_file(rows).enumerate() {
            out.extend_from_slice(&values[row * width..][..width]);
            self.as_in_file(node, &mut out[node * width..]);
        }
        out
    }

    /// The row of each node of the mesh's file, of `rows` in the mesh's own order.
    pub(super) fn rows_of_file(&self, rows: &[u32]) -> impl Iterator<Item = usize> {
        (0..self.file_nodes()).map(|i| {
            let node = self.images.as_ref().map_or(i, |images| images.merged[i] as usize);
            rows[node % rows.len()] as usize
        })
    }

    /// A restart whose fields are by rows of this rank, from one of the leading rank's: all its facts and fields.
    pub(super) fn scattered(&self, restart: &Restart) -> Result<Option<Restart>, FlowError> {
        let Some(rows) = &self.over else { return Ok(None) };
        let ranks = &**rows.share.ranks();
        let mut names = Vec::new();
        let mut fault = Vec::new();
        if ranks.rank() == 0 {
            for field in &restart.fields {
                let expected = field.components * self.file_nodes();
                if field.values.len() != expected {
                    fault = format!("{}\0has {} values, {expected} expected", field.name, field.values.len())
                        .into_bytes();
                }
                names.extend(format!("{}\0{}\n", field.name, field.components).into_bytes());
            }
            names.push(b'\n');
            for (name, value) in &restart.facts {
                names.extend(format!("{name}\0{}\n", value.to_bits()).into_bytes());
            }
        }
        ranks.broadcast(0, &mut fault)?;
        if let Some((field, problem)) = String::from_utf8_lossy(&fault).split_once('\0') {
            return Err(FlowError::Restart { field: field.to_owned(), problem: problem.to_owned() });
        }
        ranks.broadcast(0, &mut names)?;
        let text = String::from_utf8_lossy(&names).into_owned();
        let (fields, facts) = text.split_once("\n\n").unwrap_or((text.trim_end(), ""));
        let mut out = Restart::default();
        let pairs = |lines: &'_ str| -> Vec<(String, u64)> {
            let pair =
                |line: &str| line.split_once('\0').and_then(|(n, v)| Some((n.to_owned(), v.parse().ok()?)));
            lines.lines().filter_map(pair).collect()
        };
        for (at, (name, components)) in pairs(fields).into_iter().enumerate() {
            let values = restart.fields.get(at).map_or(&[][..], |field| &field.values);
            let values = rows.scatter(components as usize, values)?;
            out.fields.push(Field { name, components: components as usize, values });
        }
        for (name, bits) in pairs(facts) {
            out.facts.insert(name, f64::from_bits(bits));
        }
        Ok(Some(out))
    }

    /// Whether any rank found a fault in a restart: all end with it then.
    pub(super) fn agreed<T>(&self, found: Result<T, FlowError>) -> Result<T, FlowError> {
        let Some(share) = self.share() else { return found };
        let mut bad = [f64::from(u8::from(found.is_err()))];
        share.reduce(Op::Max, &mut bad);
        self.check_ranks()?;
        match found {
            Ok(_) if bad[0] > 0.0 => Err(FlowError::Restart {
                field: "of another rank".to_owned(),
                problem: "is not a state that it can go on from".to_owned(),
            }),
            found => found,
        }
    }

    /// Where the density residual of the last step is largest over all ranks.
    pub(super) fn largest_over_ranks(&self, share: &Share) -> Option<LargestResidual> {
        let part = |i: usize| self.residual[i][0].powi(2) / self.dual.volumes[i];
        let [whole] = share.sum_rows(|i| [part(i)]);
        let own = share.owned().iter().cloned().flatten().filter(|&i| part(i) > 0.0);
        let node = own.fold(None, |best: Option<usize>, i| match best {
            Some(b) if part(b) >= part(i) => Some(b),
            _ => Some(i),
        });
        let mut largest = [node.map_or(0.0, part)];
        share.reduce(Op::Max, &mut largest);
        // Of equal ones the lowest row, as one rank alone finds it.
        let row = share.lowest(node.filter(|&i| part(i) == largest[0]))?;
        let at = self.place_over_ranks(share, row);
        let local = share.global().binary_search(&(row as u32)).ok().filter(|&row| share.owns(row));
        let mut seen = [0.0; 2];
        if let Some(i) = local {
            let w = primitive_of(&self.nodes[i]);
            seen = [mach(self.gas, &w), w[4] / self.scale.pressure];
        }
        share.sum(&mut seen);
        Some(LargestResidual { at, share: largest[0] / whole, flow: Some(seen) })
    }
}

/// A place as bytes: numbers, then marker and names of the unknowns.
fn packed(place: &BadPlace) -> Vec<u8> {
    let Place::Node(node) = place.place else { unreachable!("a mesh has nodes") };
    let mut numbers = vec![node as f64, place.at[0], place.at[1], place.at[2]];
    numbers.extend(&place.state);
    let mut bytes = (numbers.len() as u64).to_le_bytes().to_vec();
    for v in numbers {
        bytes.extend_from_slice(&v.to_le_bytes());
    }
    let marker = place.marker.as_deref().unwrap_or("");
    bytes.extend(format!("{}{marker}\0{}", u8::from(place.marker.is_some()), place.variables).into_bytes());
    bytes
}

fn unpacked(bytes: &[u8]) -> Option<BadPlace> {
    let (count, rest) = bytes.split_first_chunk::<8>()?;
    let (numbers, text) = rest.split_at_checked(8 * u64::from_le_bytes(*count) as usize)?;
    let numbers: Vec<f64> = numbers.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    let (&[node, x, y, z], state) = numbers.split_first_chunk::<4>()?;
    let (marker, variables) = str::from_utf8(text).ok()?.split_once('\0')?;
    Some(BadPlace {
        place: Place::Node(node as usize),
        at: [x, y, z],
        marker: marker.strip_prefix('1').map(str::to_owned),
        state: state.to_vec(),
        variables: Cow::Owned(variables.to_owned()),
    })
}
