//! The part of a rank, made of the elements and faces that came to it.

use super::curve::{Node, before};
use super::elements::{Directory, Face, Pack, corners};
use super::sides::{InFile, Twin};
use super::{Held, Sliced, SlicedError};
use crate::laps::Laps;
use crate::mesh::pairs::Pairs;
use crate::mesh::{Kind, Marker, Mesh, Names, Planar, mend};
use crate::numbering::Numbering;
use crate::ranks::bits::Bits;
use crate::ranks::post::{Ghosts, Table, distinct, gather_all};
use crate::ranks::{Part, Quality};
use chromaflow::dist::{Items, Priority};
use chromaflow::order::{Adjacency, ColoringMethod, Plan, PlanReport, Spread, priority_of};
use chromaflow_comm::{CommError, Communicator, Op};
use chromaflow_device::Team;

/// What a rank keeps of a mesh that no rank has whole, as its file has it: periodic sides are apart.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Its part, nodes by rows; where sides were joined, in the order of the file.
    pub mesh: Mesh,
    /// Rank that owns the row of each node of it.
    pub owner: Vec<u32>,
    /// Row here of each node of it.
    pub rows: Vec<u32>,
    /// The boundary of the whole mesh, nodes in the order of their rows; of a planar one without its planes.
    pub surface: Mesh,
    /// Those rows, of a planar mesh of the first plane's nodes.
    pub surface_rows: Vec<u32>,
    /// Nodes of the file that have no row of their own.
    pub twins: Vec<Twin>,
    /// The most bytes that it held of meshes at once.
    pub held: Held,
}

/// All that has come to a rank.
pub struct Found<'a> {
    pub sliced: &'a Sliced,
    pub ranks: &'a dyn Communicator,
    /// Ranks as they stand along the curve.
    pub order: Vec<u32>,
    pub directory: Directory<'a>,
    /// Own nodes along the curve.
    pub owned: Vec<Node>,
    /// Nodes of elements around own nodes, ascending.
    pub near: Vec<u32>,
    /// Two layers of elements around own nodes.
    pub all: Pack,
}

/// Nodes of a part, in the order of their numbers in the file.
struct Nodes {
    numbers: Vec<u32>,
    owner: Vec<u32>,
    /// Those of this rank along the curve.
    own: Vec<u32>,
    ghosts: Ghosts,
}

impl Nodes {
    fn of(found: &Found<'_>) -> Result<Self, CommError> {
        let rank = found.ranks.rank() as u32;
        let owned = found.owned.iter().map(|node| node.number);
        let named = found.all.nodes().map(|node| found.sliced.sides.lowest(node));
        let numbers = distinct(named.chain(owned.clone()));
        let owner = found.directory.owners(&numbers)?;
        let table = Table::of(&numbers);
        let place = |number: u32| table.get(number).expect("a node of this part");
        let others = (0..).zip(&owner).filter(|(_, owner)| **owner != rank);
        let ghosts = others.map(|(at, &owner)| (at, owner, numbers[at as usize]));
        let ghosts = Ghosts::new(found.ranks, ghosts, place)?;
        Ok(Self { own: owned.map(place).collect(), owner, ghosts, numbers })
    }
}

impl Found<'_> {
    /// Checks the mesh, orders and colors its rows, and puts the part together.
    pub fn into_part(
        self,
        numbering: Numbering<'_>,
        (team, laps): (&Team, &mut Laps),
        viscous: bool,
        mut held: Held,
    ) -> Result<(Part, Kept), SlicedError> {
        let (ranks, rank) = (self.ranks, self.ranks.rank() as u32);
        let nodes = Nodes::of(&self)?;
        let mut places = vec![[0.0; 3]; nodes.numbers.len()];
        nodes.own.iter().zip(&self.owned).for_each(|(&at, node)| places[at as usize] = node.at);
        nodes.ghosts.exchange(ranks, &mut places)?;
        let sides = &self.sliced.sides;
        let in_file = InFile::of(sides, self.all.nodes(), (&nodes.numbers, &places));
        let Local { mut mesh, numbers, faces } = self.mesh(&in_file);
        let owns: Vec<bool> = in_file.node.iter().map(|&at| nodes.owner[at as usize] == rank).collect();
        let names =
            Names { slices: &self.sliced.slices, nodes: &in_file.numbers, elements: &numbers, faces: &faces };
        let report = mend(&mut mesh, &owns, &names, team.size());
        self.sliced.judged(ranks, report)?;
        self.sliced.are_narrow(ranks, &mesh)?;
        let apart = (!sides.is_empty()).then(|| mesh.clone());
        if apart.is_some() {
            mesh = sides.joined(&mesh, &in_file, places);
        }
        laps.end("check");
        let edges = Pairs::edges_with(&mesh, team.size());
        let n = nodes.numbers.len();
        let graph = Adjacency::with_team(&edges.below(n).graph_with(team.size()).0, team)
            .expect("edges make a square pattern");
        let rows = self.rows(&nodes, &graph, numbering, team)?;
        let element_colors =
            if viscous { self.element_colors(&mesh, &numbers, &nodes, &edges)? } else { Vec::new() };
        laps.end("color");
        let quality = self.quality(&nodes, &graph)?;
        let row_of = |at: u32| rows.global[in_file.node[at as usize] as usize];
        let of_file = (&in_file, apart.as_ref().unwrap_or(&mesh));
        let (file_surface, surface_rows) = self.surface(of_file, &faces, &owns, row_of)?;
        let surface = sides.boundary(&file_surface, &surface_rows);
        // From the order of the file to that of rows.
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_unstable_by_key(|&at| rows.global[at as usize]);
        let mut new = vec![0; order.len()];
        (0..).zip(&order).for_each(|(row, &at)| new[at as usize] = row);
        let planes = 0..=usize::from(mesh.planar.is_some());
        let place = |plane: usize| order.iter().map(move |&at| at as usize + plane * n);
        mesh.nodes = planes.flat_map(place).map(|at| mesh.nodes[at]).collect();
        mesh.renumber(|i| new[i as usize % n] + i / n as u32 * n as u32);
        let by_row = |of: &[u32]| -> Vec<u32> { order.iter().map(|&at| of[at as usize]).collect() };
        let [global, file, owner] = [&rows.global, &nodes.numbers, &nodes.owner].map(|of| by_row(of));
        let complete = file.iter().map(|number| u8::from(self.near.binary_search(number).is_ok())).collect();
        let bound = |&offset: &u32| global.partition_point(|&row| row < offset) as u32;
        held.at("the part", 2 * mesh_bytes(&mesh) + self.all.bytes() + mesh_bytes(&surface));
        let kept_owner = if apart.is_some() {
            in_file.node.iter().map(|&at| nodes.owner[at as usize]).collect()
        } else {
            owner.iter().copied().cycle().take(mesh.nodes.len()).collect()
        };
        let kept = Kept {
            rows: if apart.is_some() {
                in_file.node.iter().map(|&at| new[at as usize]).collect()
            } else {
                (0..mesh.nodes.len() as u32).map(|at| at % n as u32).collect()
            },
            mesh: apart.unwrap_or_else(|| mesh.clone()),
            owner: kept_owner,
            surface: file_surface,
            surface_rows,
            twins: sides.twins(),
            held,
        };
        let part = Part {
            colors: rows.offsets.iter().map(bound).collect(),
            owner,
            lines: Vec::new(),
            whole: rows.whole,
            report: rows.report,
            seam: None,
            mesh,
            global,
            element_colors,
            complete,
            file,
            surface,
            quality,
        };
        Ok((part, kept))
    }

    /// The elements and faces here by numbers of the file's nodes here.
    fn mesh(&self, in_file: &InFile) -> Local {
        fn lists<const N: usize>(list: &[u32], at: impl Fn(u32) -> u32) -> (Vec<[u32; N]>, Vec<u32>) {
            let each = list.chunks_exact(N + 1);
            each.map(|e| (std::array::from_fn(|k| at(e[k + 1])), e[0])).unzip()
        }
        let table = Table::of(&in_file.numbers);
        let at = |number: u32| table.get(number).expect("a node of this part");
        let [a, b, c, d] = &self.all.elements;
        let ((tets, a), (pyramids, b)) = (lists(a, at), lists(b, at));
        let ((prisms, c), (hexes, d)) = (lists(c, at), lists(d, at));
        let mut markers = self.sliced.markers.clone();
        let mut faces = vec![[Vec::new(), Vec::new()]; markers.len()];
        for face in &self.all.faces {
            let marker = face[4] as usize;
            push(&mut markers[marker], corners(face).iter().map(|&i| at(i)));
            faces[marker][corners(face).len() - 3].push([face[5], face[6]]);
        }
        let nodes = in_file.places.clone();
        let nodes_2d = nodes.len() / 2;
        let planar = self.sliced.sides.planar.map(|planar| Planar { nodes_2d, ..planar });
        let mut mesh = Mesh { nodes, tets, pyramids, prisms, hexes, markers, planar, ..Mesh::default() };
        if planar.is_some() {
            mesh.fill_planes();
            let [.., front, back] = &mut faces[..] else { unreachable!("two planes") };
            // In the planes' lists they have the numbers of their elements; in the file they are no faces.
            let of = |numbers: &[u32]| numbers.iter().map(|&number| [number, u32::MAX]).collect::<Vec<_>>();
            (*front, *back) = ([of(&c), of(&d)], [of(&c), of(&d)]);
        }
        Local { mesh, numbers: [a, b, c, d], faces }
    }

    /// The number of every row here in the whole mesh: by colors, within one along the curve; for incomplete factors of each rank's rows in
    /// the order that one rank alone would give them.
    fn rows(
        &self,
        nodes: &Nodes,
        graph: &Adjacency,
        numbering: Numbering<'_>,
        team: &Team,
    ) -> Result<Rows, SlicedError> {
        let (ranks, n, own) = (self.ranks, nodes.numbers.len(), &nodes.own);
        let mut degrees = vec![0; n];
        for &i in own {
            degrees[i as usize] = graph.degree(i as usize) as u32;
        }
        nodes.ghosts.exchange(ranks, &mut degrees)?;
        let first = before(ranks, &self.order, &[own.len() as u64])?[0][0] as u32;
        let mut along = vec![0; n];
        (first..).zip(own).for_each(|(row, &i)| along[i as usize] = row);
        let colored = numbering.plan.coloring != ColoringMethod::None;
        let colors = if colored {
            let priority: Vec<Priority> = degrees
                .iter()
                .zip(&nodes.numbers)
                .map(|(&degree, &number)| priority_of(degree as usize, number as usize))
                .collect();
            let items = Items {
                ranks,
                ghosts: &nodes.ghosts,
                owned: own.clone(),
                priority: &priority,
                numbers: &nodes.numbers,
                neighbors: |i: u32, visit: &mut dyn FnMut(u32)| {
                    graph.neighbors(i as usize).iter().for_each(|&j| visit(j));
                },
            };
            items.few()?
        } else {
            let mut place = vec![u32::MAX; n];
            (0..).zip(own).for_each(|(at, &i)| place[i as usize] = at);
            let here = |i: u32| Some(place[i as usize]).filter(|&at| at != u32::MAX);
            let inside = Pairs::new(own.len(), |pair| {
                for (at, &i) in (0..).zip(own) {
                    let others = graph.neighbors(i as usize).iter().filter_map(|&j| here(j));
                    others.filter(|&j| j > at).for_each(|j| pair(at, j));
                }
            });
            let plan = Plan::with_team(&inside.graph_with(team.size()).0, &numbering.plan, team);
            let plan = plan.expect("edges make a square pattern");
            own.iter()
                .zip(plan.permutation.new_of_old())
                .for_each(|(&i, new)| along[i as usize] = first + new);
            vec![0; n]
        };
        nodes.ghosts.exchange(ranks, &mut along)?;
        let mut count = [own.iter().map(|&i| f64::from(colors[i as usize]) + 1.0).fold(0.0, f64::max)];
        ranks.reduce(Op::Max, &mut count)?;
        // Rows and costs of each color.
        let count = count[0] as usize;
        let mut sizes = vec![0_u64; 2 * count];
        for &i in own {
            let color = colors[i as usize] as usize;
            sizes[color] += 1;
            sizes[count + color] += u64::from(degrees[i as usize]) + 2;
        }
        let sums = before(ranks, &self.order, &sizes)?;
        let mut offsets = vec![0_u32];
        sums[..count].iter().for_each(|[_, all]| offsets.push(offsets[offsets.len() - 1] + *all as u32));
        let mut next: Vec<u32> =
            sums[..count].iter().zip(&offsets).map(|(sum, at)| sum[0] as u32 + at).collect();
        let mut global = if colored { vec![0; n] } else { along.clone() };
        for &i in own.iter().filter(|_| colored) {
            let next = &mut next[colors[i as usize] as usize];
            global[i as usize] = *next;
            *next += 1;
        }
        nodes.ghosts.exchange(ranks, &mut global)?;
        let whole: Vec<[u64; 2]> = (0..count).map(|c| [sums[c][1], sums[count + c][1]]).collect();
        let [sizes, costs] = [0, 1].map(|k| whole.iter().map(move |color| color[k]));
        let report = PlanReport {
            rows: sizes.clone().sum::<u64>() as usize,
            edges: ((costs.sum::<u64>() - 2 * sizes.clone().sum::<u64>()) / 2) as usize,
            max_degree: most(ranks, own.iter().map(|&i| degrees[i as usize] as usize))?,
            before: self.spread(graph, own, &nodes.numbers)?,
            after: self.spread(graph, own, &along)?,
            colors: count,
            smallest: sizes.clone().min().unwrap_or(0) as usize,
            largest: sizes.max().unwrap_or(0) as usize,
            lines: 0,
            in_lines: 0,
        };
        Ok(Rows { global, offsets, whole, report })
    }

    /// Bandwidth and profile of all rows where these are their numbers.
    fn spread(&self, graph: &Adjacency, own: &[u32], numbers: &[u32]) -> Result<Spread, CommError> {
        let number = |i: u32| numbers[i as usize] as usize;
        let reach = |&i: &u32| {
            let first = graph.neighbors(i as usize).iter().map(|&j| number(j)).min();
            number(i).saturating_sub(first.unwrap_or(usize::MAX))
        };
        let mut profile = [own.iter().map(|i| reach(i) as f64).sum::<f64>()];
        self.ranks.reduce(Op::Sum, &mut profile)?;
        Ok(Spread { bandwidth: most(self.ranks, own.iter().map(reach))?, profile: profile[0] as u64 })
    }

    /// Colors of all elements here that no two of one type with a common edge share.
    fn element_colors(
        &self,
        mesh: &Mesh,
        numbers: &[Vec<u32>; 4],
        nodes: &Nodes,
        edges: &Pairs,
    ) -> Result<Vec<u32>, CommError> {
        let rank = self.ranks.rank() as u32;
        let mut all = Vec::with_capacity(mesh.elements());
        for kind in Kind::ALL {
            let (count, numbers) = (mesh.count(kind), &numbers[kind as usize]);
            // The owner of its lowest node has all elements around that one, and their neighbors.
            let owner = |e: u32| {
                let low = mesh.nodes_of(kind, e as usize).iter().min().expect("an element has nodes");
                nodes.owner[*low as usize]
            };
            let others = (0..count as u32).filter(|&e| owner(e) != rank);
            let ghosts = others.map(|e| (e, owner(e), numbers[e as usize]));
            let place = |number: u32| numbers.binary_search(&number).expect("its owner has it") as u32;
            let ghosts = Ghosts::new(self.ranks, ghosts, place)?;
            let edges_of = |e: u32| {
                let nodes = mesh.nodes_of(kind, e as usize);
                kind.edges().iter().map(|&[p, q]| edges.find(nodes[p], nodes[q]))
            };
            let mut starts = vec![0_u32; edges.len() + 1];
            (0..count as u32).flat_map(edges_of).for_each(|edge| starts[edge as usize + 1] += 1);
            (0..edges.len()).for_each(|edge| starts[edge + 1] += starts[edge]);
            let (mut next, mut list) = (starts.clone(), vec![0; starts[edges.len()] as usize]);
            for e in 0..count as u32 {
                for edge in edges_of(e) {
                    let next = &mut next[edge as usize];
                    list[*next as usize] = e;
                    *next += 1;
                }
            }
            let around =
                |edge: u32| &list[starts[edge as usize] as usize..starts[edge as usize + 1] as usize];
            let priority: Vec<Priority> =
                numbers.iter().map(|&number| priority_of(1, number as usize)).collect();
            let items = Items {
                ranks: self.ranks,
                ghosts: &ghosts,
                owned: (0..count as u32).filter(|&e| owner(e) == rank).collect(),
                priority: &priority,
                numbers,
                neighbors: |e: u32, visit: &mut dyn FnMut(u32)| {
                    edges_of(e).flat_map(around).filter(|&&other| other != e).for_each(|&other| visit(other));
                },
            };
            all.extend(items.colors()?);
        }
        Ok(all)
    }

    /// How even the parts are, and what is cut.
    fn quality(&self, nodes: &Nodes, graph: &Adjacency) -> Result<Quality, CommError> {
        let rank = self.ranks.rank() as u32;
        let degree = |i: u32| graph.neighbors(i as usize).len() as u64;
        let others =
            |i: u32| graph.neighbors(i as usize).iter().filter(|&&j| nodes.owner[j as usize] != rank).count();
        let cost: u64 = nodes.own.iter().map(|&i| degree(i) + 2).sum();
        let cut: u64 = nodes.own.iter().map(|&i| others(i) as u64).sum();
        let all = gather_all(self.ranks, &[cost, cut, nodes.own.len() as u64])?;
        let of = |k: usize| all.iter().map(move |rank| rank[k]);
        let (sum, most) = (of(0).sum::<u64>() as f64, of(0).max().unwrap_or(0) as f64);
        Ok(Quality {
            ranks: all.len() as u32,
            balance: if sum > 0.0 { most * all.len() as f64 / sum } else { 1.0 },
            cut: of(1).sum::<u64>() / 2,
            rows: [of(2).min().unwrap_or(0), of(2).max().unwrap_or(0)],
        })
    }

    /// The boundary of the whole mesh as its file has it, its nodes in the order of their rows, then of the file, and these rows; each rank tells
    /// of faces whose lowest node it owns, as its elements turn them.
    fn surface(
        &self,
        (in_file, mesh): (&InFile, &Mesh),
        faces: &[[Vec<[u32; 2]>; 2]],
        owns: &[bool],
        row_of: impl Fn(u32) -> u32,
    ) -> Result<(Mesh, Vec<u32>), CommError> {
        let (mut told, mut seen): (Vec<Face>, _) = (Vec::new(), Bits::new(mesh.nodes.len()));
        let planar = self.sliced.sides.planar;
        let counts = |marker: &Marker| planar.is_none() || !marker.is_plane();
        for (m, marker) in mesh.markers.iter().enumerate().filter(|(_, marker)| counts(marker)) {
            let triangles = marker.triangles.iter().map(|&[a, b, c]| [a, b, c, u32::MAX]);
            let lists = [
                triangles.zip(&faces[m][0]).collect::<Vec<_>>(),
                marker.quads.iter().copied().zip(&faces[m][1]).collect(),
            ];
            for (nodes, &[number, of_file]) in lists.into_iter().flatten() {
                let here = || nodes.iter().filter(|&&i| i != u32::MAX);
                seen.extend(here().copied());
                if here().min().is_some_and(|&low| owns[low as usize]) {
                    let in_numbers = |i: u32| in_file.numbers.get(i as usize).copied().unwrap_or(u32::MAX);
                    let [a, b, c, d] = nodes.map(in_numbers);
                    told.push([a, b, c, d, m as u32, number, of_file]);
                }
            }
        }
        let mut nodes: Vec<([u32; 2], [f64; 3])> = Vec::new();
        let front = mesh.planar.map_or(mesh.nodes.len(), |planar| planar.nodes_2d);
        let own: Vec<u32> =
            seen.list().into_iter().filter(|&i| owns[i as usize] && (i as usize) < front).collect();
        let rows: Vec<[u32; 2]> = own.iter().map(|&i| [row_of(i), in_file.numbers[i as usize]]).collect();
        let places: Vec<[f64; 3]> = own.iter().map(|&i| mesh.nodes[i as usize]).collect();
        for (rows, places) in gather_all(self.ranks, &rows)?.into_iter().zip(gather_all(self.ranks, &places)?)
        {
            nodes.extend(rows.into_iter().zip(places));
        }
        nodes.sort_unstable_by_key(|node| node.0);
        let (rows, places): (Vec<[u32; 2]>, _) = nodes.into_iter().unzip();
        let table = Table::of(&rows.iter().map(|row| row[1]).collect::<Vec<_>>());
        let mut faces = gather_all(self.ranks, &told)?.concat();
        faces.sort_unstable_by_key(super::elements::place_of);
        let markers = self.sliced.markers.iter().filter(|marker| counts(marker)).cloned().collect();
        let mut surface = Mesh { nodes: places, markers, ..Mesh::default() };
        let count = surface.nodes.len() as u32;
        if let Some(Planar { depth, .. }) = planar {
            surface.planar = Some(Planar { nodes_2d: count as usize, depth });
            let back: Vec<_> = surface.nodes.iter().map(|&[x, y, _]| [x, y, depth]).collect();
            surface.nodes.extend(back);
        }
        let at = |&number: &u32| {
            let behind = u32::from(!self.sliced.sides.is_in_front(number));
            let number = planar.map_or(number, |planar| number % planar.nodes_2d as u32);
            table.get(number).expect("a node of the boundary") + behind * count
        };
        for face in &faces {
            push(&mut surface.markers[face[4] as usize], corners(face).iter().map(at));
        }
        Ok((surface, rows.into_iter().map(|row| row[0]).collect()))
    }
}

/// A part by numbers of its own.
struct Local {
    mesh: Mesh,
    /// Numbers of the elements of each type in the file.
    numbers: [Vec<u32>; 4],
    /// Numbers of each marker's triangles and quadrilaterals in its lists and in the file.
    faces: Vec<[Vec<[u32; 2]>; 2]>,
}

/// Rows of a part.
struct Rows {
    /// Number of each node here in the whole mesh.
    global: Vec<u32>,
    /// Where colors begin in the whole mesh, and the end.
    offsets: Vec<u32>,
    /// Rows and costs of each color.
    whole: Vec<[u64; 2]>,
    report: PlanReport,
}

/// Adds a face of three or four nodes.
pub(super) fn push(marker: &mut Marker, mut nodes: impl ExactSizeIterator<Item = u32>) {
    let triangle = nodes.len() == 3;
    let mut next = || nodes.next().expect("three or four nodes");
    let [a, b, c] = [next(), next(), next()];
    if triangle { marker.triangles.push([a, b, c]) } else { marker.quads.push([a, b, c, next()]) }
}

/// The largest of all ranks' numbers.
fn most(ranks: &dyn Communicator, own: impl Iterator<Item = usize>) -> Result<usize, CommError> {
    let mut most = [own.max().unwrap_or(0) as f64];
    ranks.reduce(Op::Max, &mut most)?;
    Ok(most[0] as usize)
}

fn mesh_bytes(mesh: &Mesh) -> usize {
    let faces = |m: &Marker| size_of_val(&m.triangles[..]) + size_of_val(&m.quads[..]);
    size_of_val(&mesh.nodes[..])
        + size_of_val(&mesh.tets[..])
        + size_of_val(&mesh.pyramids[..])
        + size_of_val(&mesh.prisms[..])
        + size_of_val(&mesh.hexes[..])
        + mesh.markers.iter().map(faces).sum::<usize>()
}
