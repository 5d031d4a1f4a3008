//! A march over ranks. Rank 0 leads: what it is asked for it tells the others, who follow with their part of it; what they have to agree on
//! goes through their [`Share`].

use super::{BadPlace, Coefficients, FlowError, Host, LargestResidual, March, Order, Place};
use crate::grid::Grid;
use crate::output::{Field, Restart};
use crate::ranks::{BlockRanks, Ranks};
use chromaflow::dist::{Links, Share};
use chromaflow_comm::{CommError, Communicator, Op, Tag};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// What orders travel with.
const ORDERS: Tag = Tag::Halo(2);

impl Order {
    /// Tells the others what this rank is about to do, where it leads some.
    pub(super) fn tell(self, share: Option<&Arc<Share>>) -> Result<(), FlowError> {
        let Some(share) = share.filter(|share| share.ranks().rank() == 0) else { return Ok(()) };
        share.check()?;
        let ranks = share.ranks();
        (1..ranks.size()).try_for_each(|to| ranks.send(to, ORDERS, self.pack()))?;
        Ok(())
    }

    /// What rank 0 has this one do next, which it tells in so long; none where nobody leads.
    fn next(share: Option<&Arc<Share>>, patience: Duration) -> Result<Option<Self>, FlowError> {
        let Some(share) = share.filter(|share| share.ranks().rank() > 0) else { return Ok(None) };
        let bytes = share.ranks().receive_within(patience, 0, ORDERS);
        let bytes = bytes.map_err(|error| error.during("between two iterations"))?;
        let length = CommError::Length { from: 0, expected: 9, found: bytes.len() };
        Ok(Some(Self::unpack(&bytes).ok_or(length)?))
    }
}

impl<S: Host> March<S> {
    /// Does a rank's part of whatever rank 0 is asked for, until rank 0 ends ([`March::dismiss`]), and waits for so long each time, but at the
    /// beginning and after fields, which rank 0 prepares and writes by itself: `part` of what is not done alike by all systems.
    pub(crate) fn follow_by(
        &mut self,
        patience: Duration,
        part: impl Fn(&mut Self, Order) -> Result<(), FlowError>,
    ) -> Result<(), FlowError> {
        let mut wait = Duration::MAX;
        while let Some(order) = Order::next(self.host.share(), wait)? {
            wait = if matches!(order, Order::Fields | Order::Pieces) { Duration::MAX } else { patience };
            if !matches!(order, Order::Step | Order::Reports) {
                // Rank 0 looks at its own state of the host, too.
                self.sync()?;
            }
            match order {
                Order::Step => drop(self.try_step()?),
                Order::Iterations(most) => self.set_iterations(most),
                Order::LargestCfl(largest) => self.set_largest_cfl(largest),
                Order::Reports => drop(self.rank_reports()),
                Order::End => break,
                other => part(self, other)?,
            }
        }
        Ok(())
    }

    /// Ends what the others follow; nothing where there are no others.
    pub fn dismiss(&self) {
        // Whoever cannot be told has ended.
        let _ = self.host.tell(Order::End);
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
        check(self.host.share())
    }
}

/// This rank's blocks of a grid, where there are ranks.
pub(crate) fn blocks_of(grid: &Grid, ranks: Option<&Ranks>) -> Result<Option<BlockRanks>, FlowError> {
    let Some(ranks) = ranks else { return Ok(None) };
    let (blocks, size) = (grid.blocks.len(), ranks.ranks.size());
    if size > 1 && grid.rotation().is_some() {
        // Fluxes through turned sides are joined from both.
        let what = "a grid with sides that are turned about an axis".to_owned();
        return Err(FlowError::NotOverRanks { what, remedy: "give the sector as a mesh" });
    }
    if blocks < size {
        return Err(FlowError::FewBlocks { blocks, ranks: size });
    }
    Ok(Some(BlockRanks::new(ranks, grid)?))
}

/// Refuses sums that no device of several ranks takes.
///
/// # Errors
/// [`FlowError::NotOverRanks`].
#[cfg(feature = "cuda")]
pub(crate) fn refuse_exact(share: Option<&Arc<Share>>) -> Result<(), FlowError> {
    if share.is_some_and(|share| share.exact()) {
        return Err(FlowError::NotOverRanks {
            what: "a sum on GPUs that is exact before it is rounded (`--reproducible`)".to_owned(),
            remedy: "use CPU cores",
        });
    }
    Ok(())
}

/// Whether all ranks still answer.
pub(crate) fn check(share: Option<&Arc<Share>>) -> Result<(), FlowError> {
    Ok(share.map_or(Ok(()), |share| share.check())?)
}

/// A restart whose fields are by rows of this rank, from one of the leading rank's, which is of so many `places`: all its facts and fields.
/// `scatter` gives each rank its values of a field of that width. Collective.
pub(crate) fn scattered(
    ranks: &dyn Communicator,
    restart: &Restart,
    places: usize,
    scatter: impl Fn(usize, &[f64]) -> Result<Vec<f64>, CommError>,
) -> Result<Restart, FlowError> {
    let mut names = Vec::new();
    let mut fault = Vec::new();
    if ranks.rank() == 0 {
        for field in &restart.fields {
            let expected = field.components * places;
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
        let values = scatter(components as usize, values)?;
        out.fields.push(Field { name, components: components as usize, values });
    }
    for (name, bits) in pairs(facts) {
        out.facts.insert(name, f64::from_bits(bits));
    }
    Ok(out)
}

/// Whether any rank found a fault in a restart: all end with it then.
pub(crate) fn agreed<T>(share: Option<&Arc<Share>>, found: Result<T, FlowError>) -> Result<T, FlowError> {
    let Some(share) = share else { return found };
    let mut bad = [f64::from(u8::from(found.is_err()))];
    share.reduce(Op::Max, &mut bad);
    share.check()?;
    match found {
        Ok(_) if bad[0] > 0.0 => Err(FlowError::Restart {
            field: "of another rank".to_owned(),
            problem: "is not a state that it can go on from".to_owned(),
        }),
        found => found,
    }
}

/// The row of this rank that has a number in the whole system, where it is its own.
fn own_row(share: &Share, row: usize) -> Option<usize> {
    share.global().binary_search(&(row as u32)).ok().filter(|&row| share.owns(row))
}

/// The place of a row, by its number in the whole system, and the state there, from the rank that owns it: `here` gives it of a row of that
/// rank. Collective.
pub(crate) fn place(share: &Share, row: usize, here: impl Fn(usize) -> BadPlace) -> BadPlace {
    let mine = own_row(share, row).map_or_else(Vec::new, |row| here(row).pack());
    let all = share.ranks().gather_all(&mine).unwrap_or_default();
    let rank = all.iter().position(|bytes| !bytes.is_empty());
    let found = rank.and_then(|rank| BadPlace::unpack(&all[rank]));
    let found = found.map(|found| BadPlace { rank: rank.filter(|_| all.len() > 1), ..found });
    found.unwrap_or_else(|| BadPlace {
        place: Place::Node(row),
        at: [f64::NAN; 3],
        marker: None,
        state: Vec::new(),
        variables: Cow::Borrowed("its rank has ended"),
        rank: None,
    })
}

/// Where the residual of the last step is largest over all ranks: `part` is a row's part of the sum of R^2/V, `here` its place, `flow` what
/// [`Host::mach_and_pressure`] has. Collective.
pub(crate) fn largest(
    share: &Share,
    part: impl Fn(usize) -> f64,
    here: impl Fn(usize) -> BadPlace,
    flow: impl Fn(usize) -> Option<[f64; 2]>,
) -> Option<LargestResidual> {
    let [whole] = share.sum_rows(|i| [part(i)]);
    let own = share.owned().iter().cloned().flatten().filter(|&i| part(i) > 0.0);
    let row = own.fold(None, |best: Option<usize>, i| match best {
        Some(b) if part(b) >= part(i) => Some(b),
        _ => Some(i),
    });
    let mut largest = [row.map_or(0.0, &part)];
    share.reduce(Op::Max, &mut largest);
    // Of equal ones the lowest row, as one rank alone finds it.
    let row = share.lowest(row.filter(|&i| part(i) == largest[0]))?;
    // It is the same whoever has it.
    let at = BadPlace { rank: None, ..place(share, row, here) };
    // Mach number, pressure, and whether there are such.
    let mut seen = [0.0; 3];
    if let Some([mach, pressure]) = own_row(share, row).and_then(flow) {
        seen = [mach, pressure, 1.0];
    }
    share.sum(&mut seen);
    let flow = (seen[2] > 0.0).then_some([seen[0], seen[1]]);
    Some(LargestResidual { at, share: largest[0] / whole, flow })
}

/// Force and moment of pressure and of friction, to be told other ranks.
pub(crate) fn loads(of: &[Coefficients; 2]) -> [f64; 12] {
    let all = of.map(|of| [of.force, of.moment]);
    std::array::from_fn(|k| all.as_flattened().as_flattened()[k])
}

/// The half of these that pressure has, or friction.
pub(crate) fn part(loads: &[f64]) -> Coefficients {
    Coefficients {
        force: std::array::from_fn(|d| loads[d]),
        moment: std::array::from_fn(|d| loads[3 + d]),
        ..Coefficients::default()
    }
}

impl BadPlace {
    /// As bytes: numbers, then marker and names of the unknowns.
    fn pack(&self) -> Vec<u8> {
        let place = match self.place {
            Place::Node(node) => vec![node],
            Place::Cell { block, cell: [i, j, k] } => vec![block, i, j, k],
        };
        let mut numbers = vec![place.len() as f64];
        numbers.extend(place.iter().map(|&number| number as f64));
        numbers.extend(self.at);
        numbers.extend(&self.state);
        let mut bytes = (numbers.len() as u64).to_le_bytes().to_vec();
        for v in numbers {
            bytes.extend_from_slice(&v.to_le_bytes());
        }
        let marker = self.marker.as_deref().unwrap_or("");
        bytes.extend(format!("{}{marker}\0{}", u8::from(self.marker.is_some()), self.variables).into_bytes());
        bytes
    }

    fn unpack(bytes: &[u8]) -> Option<Self> {
        let (count, rest) = bytes.split_first_chunk::<8>()?;
        let (numbers, text) = rest.split_at_checked(8 * u64::from_le_bytes(*count) as usize)?;
        let numbers: Vec<f64> = numbers.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let (&indices, rest) = numbers.split_first()?;
        let (place, rest) = rest.split_at_checked(indices as usize)?;
        let (&at, state) = rest.split_first_chunk::<3>()?;
        let place = match *place {
            [node] => Place::Node(node as usize),
            [block, i, j, k] => Place::Cell { block: block as usize, cell: [i, j, k].map(|n| n as usize) },
            _ => return None,
        };
        let (marker, variables) = str::from_utf8(text).ok()?.split_once('\0')?;
        Some(Self {
            place,
            at,
            marker: marker.strip_prefix('1').map(str::to_owned),
            state: state.to_vec(),
            variables: Cow::Owned(variables.to_owned()),
            rank: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_read_back() {
        let place = Place::Cell { block: 3, cell: [5, 0, 7] };
        let node = BadPlace {
            place: Place::Node(17),
            at: [0.1, -2.0, 3.5],
            marker: Some("wing".to_owned()),
            state: vec![1.0, f64::INFINITY],
            variables: "density, momentum".into(),
            rank: None,
        };
        for bad in [node.clone(), BadPlace { place, marker: None, state: Vec::new(), ..node }] {
            assert_eq!(BadPlace::unpack(&bad.pack()), Some(bad.clone()));
            assert_eq!(BadPlace::unpack(&bad.pack()[..30]), None);
        }
    }
}
