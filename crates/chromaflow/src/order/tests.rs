use super::*;
use crate::sparse::ShapeError;
use crate::{BlockCsr, BlockPattern, Jacobian, OffDiagonal, Policy};
use chromaflow_device::Team;
use proptest::prelude::*;

/// A pattern with diagonal from its undirected edges, or from arcs when `symmetric` is false.
fn pattern(rows: usize, edges: &[(usize, usize)], symmetric: bool) -> BlockPattern {
    let mut sets: Vec<Vec<u32>> = (0..rows as u32).map(|r| vec![r]).collect();
    for &(a, b) in edges {
        sets[a].push(b as u32);
        if symmetric {
            sets[b].push(a as u32);
        }
    }
    let mut row_ptr = vec![0];
    let mut col_idx = Vec::new();
    for mut set in sets {
        set.sort_unstable();
        set.dedup();
        col_idx.extend(set);
        row_ptr.push(col_idx.len() as u32);
    }
    BlockPattern::new(rows, row_ptr, col_idx).unwrap()
}

fn graph(rows: usize, edges: &[(usize, usize)]) -> Adjacency {
    Adjacency::of(&pattern(rows, edges, true)).unwrap()
}

#[test]
fn one_sided_entries_are_neighbors_both_ways() {
    let one_sided = Adjacency::of(&pattern(4, &[(0, 3), (2, 1)], false)).unwrap();
    assert_eq!(one_sided, graph(4, &[(0, 3), (1, 2)]));
    assert_eq!(one_sided.edges(), 2);
    let wide = BlockPattern::new(5, vec![0, 1], vec![4]).unwrap();
    assert_eq!(Adjacency::of(&wide), Err(ShapeError::NotSquare { rows: 1, cols: 5 }));
}

#[test]
fn cuthill_mckee_numbers_a_path_end_to_end() {
    // The path 3 - 0 - 4 - 1 - 5 - 2.
    let path = graph(6, &[(3, 0), (0, 4), (4, 1), (1, 5), (5, 2)]);
    let order = reverse_cuthill_mckee(&path);
    assert_eq!(Spread::of(&path.permuted(&order)), Spread { bandwidth: 1, profile: 5 });
    assert_eq!(Spread::of(&path), Spread { bandwidth: 4, profile: 3 + 4 + 4 });
    assert!(
        [[3, 0, 4, 1, 5, 2], [2, 5, 1, 4, 0, 3]].contains(&<[u32; 6]>::try_from(order.old_of_new()).unwrap())
    );
}

#[test]
fn cuthill_mckee_finds_the_band_of_a_shuffled_grid() {
    // An 8 x 30 grid in random order: the best bandwidth is the short side, 8.
    let (nx, ny) = (8, 30);
    let shuffle = |k: usize| (k * 97 + 13) % (nx * ny);
    let mut edges = Vec::new();
    for j in 0..ny {
        for i in 0..nx {
            let at = i + nx * j;
            if i + 1 < nx {
                edges.push((shuffle(at), shuffle(at + 1)));
            }
            if j + 1 < ny {
                edges.push((shuffle(at), shuffle(at + nx)));
            }
        }
    }
    let plan = Plan::new(&pattern(nx * ny, &edges, true), &PlanOptions::default()).unwrap();
    assert!(plan.report.before.bandwidth > 100);
    assert!(plan.report.after.bandwidth <= 9, "{:?}", plan.report);
    assert!(plan.report.after.profile <= 9 * 240, "{:?}", plan.report);
    assert_eq!(plan.report.colors, 2, "level by level a grid takes two colors");
    assert_eq!((plan.report.smallest, plan.report.largest), (120, 120));
}

/// Level by level on any number of threads it is the queue of the paper: every row's neighbors behind those of the rows before it.
#[test]
fn cuthill_mckee_is_that_of_one_queue_on_any_team() {
    let n = 32;
    let shuffle = |k: usize| (k * 9973 + 17) % (n * n * n);
    let mut edges = Vec::new();
    for at in 0..n * n * n {
        for (step, side) in [(1, at % n), (n, at / n % n), (n * n, at / (n * n))] {
            // One corner is a component of its own.
            if side + 1 < n && at + step > n / 2 {
                edges.push((shuffle(at), shuffle(at + step)));
            }
        }
    }
    let graph = graph(n * n * n, &edges);
    let one = reverse_cuthill_mckee(&graph);
    let order: Vec<u32> = one.old_of_new().iter().rev().copied().collect();
    let (mut queue, mut head, mut seen) = (Vec::new(), 0, vec![false; order.len()]);
    while queue.len() < order.len() {
        let start = order[queue.len()];
        seen[start as usize] = true;
        queue.push(start);
        while head < queue.len() {
            let row = queue[head] as usize;
            let mut near: Vec<u32> =
                graph.neighbors(row).iter().copied().filter(|&r| !seen[r as usize]).collect();
            near.sort_by_key(|&r| (graph.degree(r as usize), r));
            for &r in &near {
                seen[r as usize] = true;
            }
            queue.extend(near);
            head += 1;
        }
    }
    assert!(order == queue);
    for threads in [2, 3, 5] {
        let team = Team::new(threads);
        assert!(super::rcm::reverse_cuthill_mckee_with(&graph, &team) == one);
        assert!(graph.permuted_with(&one, &team) == graph.permuted(&one));
        for symmetric in [true, false] {
            let pattern = pattern(n * n * n, &edges, symmetric);
            assert!(Adjacency::with_team(&pattern, &team).unwrap() == graph);
        }
    }
}

#[test]
fn all_components_and_lone_rows_are_numbered() {
    let islands = graph(7, &[(0, 5), (5, 2), (3, 6)]);
    let order = reverse_cuthill_mckee(&islands);
    assert_eq!(order.len(), 7);
    assert_eq!(Spread::of(&islands.permuted(&order)).bandwidth, 1);
    assert_eq!(reverse_cuthill_mckee(&graph(0, &[])).len(), 0);
}

#[test]
fn vertex_orders_differ_where_they_should() {
    // The crown: complete bipartite less a matching, the two sides interleaved; natural order is the bad one.
    let crown: Vec<_> =
        (0..5).flat_map(|i| (0..5).filter(move |&j| i != j).map(move |j| (2 * i, 2 * j + 1))).collect();
    let crown = graph(10, &crown);
    assert_eq!(Coloring::greedy(&crown, VertexOrder::Natural).count(), 5);
    // A wheel: its hub comes last by number, first by degree; smallest-last colors it with 3 as well.
    let wheel: Vec<_> = (0..6).flat_map(|i| [(i, (i + 1) % 6), (i, 6)]).collect();
    let wheel = graph(7, &wheel);
    assert_eq!(Coloring::greedy(&wheel, VertexOrder::LargestFirst).colors()[6], 0);
    for order in VertexOrder::ALL {
        assert_eq!(Coloring::greedy(&wheel, order).count(), 3, "{order}");
        assert_eq!(order.name().parse::<VertexOrder>(), Ok(order));
    }
    assert!("random".parse::<VertexOrder>().is_err());
}

#[test]
fn a_conflict_names_both_rows() {
    let chain = graph(3, &[(0, 1), (1, 2)]);
    let bad = Coloring::new(vec![0, 1, 1]);
    assert_eq!(bad.check(&chain), Err(ColoringError::Conflict { row: 1, neighbor: 2, color: 1 }));
    assert_eq!(Coloring::new(vec![0]).check(&chain), Err(ColoringError::Length { found: 1, rows: 3 }));
    assert_eq!(Coloring::new(vec![7, 3, 7]).colors(), [1, 0, 1]);
    let batches = RowBatches::new(vec![0, 2, 3]);
    let p = pattern(3, &[(0, 1), (1, 2)], true);
    assert_eq!(batches.check(&p), Err(BatchError::Dependent { row: 0, column: 1, batch: 0 }));
    assert_eq!(RowBatches::single(2).check(&p), Err(BatchError::Rows { found: 2, rows: 3 }));
}

#[test]
fn matrices_move_with_their_rows() {
    let p = pattern(4, &[(0, 2), (2, 1), (1, 3)], false);
    let values: Vec<f64> = (0..p.nnzb() * 4).map(|i| i as f64).collect();
    let a = BlockCsr::new(p.clone(), 2, values).unwrap();
    let permutation = Permutation::from_old_of_new(vec![2, 0, 3, 1]).unwrap();
    let moved = a.permuted(&permutation);
    for row in 0..4 {
        for &col in p.columns(row) {
            let to = |r: usize| permutation.new_of_old()[r] as usize;
            let (from, at) = (p.find(row, col as usize), moved.pattern().find(to(row), to(col as usize)));
            assert_eq!(a.block(from.unwrap()), moved.block(at.unwrap()));
        }
    }
    for policy in Policy::ALL {
        let split_then_move = Jacobian::from_csr(&a, policy).unwrap().permuted(&permutation);
        let move_then_split = Jacobian::from_csr(&moved, policy).unwrap();
        assert_eq!(split_then_move.pattern(), move_then_split.pattern());
        assert_eq!(&*split_then_move.diag, &*move_then_split.diag);
        match (&split_then_move.off, &move_then_split.off) {
            (OffDiagonal::F64(x), OffDiagonal::F64(y)) => assert_eq!(&**x, &**y),
            (OffDiagonal::F32(x), OffDiagonal::F32(y)) => assert_eq!(&**x, &**y),
            _ => panic!("precision changed"),
        }
    }
}

#[test]
fn bands_are_kept_and_scattered_rows_reordered() {
    // A grid of 20 x 20 in its own order, and the same rows shuffled by a stride that shares no factor with 400.
    let at = |i: usize, j: usize| i + 20 * j;
    let mut edges = Vec::new();
    for j in 0..20 {
        for i in 0..20 {
            if i + 1 < 20 {
                edges.push((at(i, j), at(i + 1, j)));
            }
            if j + 1 < 20 {
                edges.push((at(i, j), at(i, j + 1)));
            }
        }
    }
    let shuffled: Vec<_> = edges.iter().map(|&(a, b)| (a * 147 % 400, b * 147 % 400)).collect();
    let options = PlanOptions { rcm: Rcm::UnlessBanded, coloring: ColoringMethod::None, balance: false };
    let plan = |edges: &[_]| Plan::new(&pattern(400, edges, true), &options).unwrap();
    let kept = plan(&edges);
    assert_eq!(kept.permutation, Permutation::identity(400));
    assert_eq!((kept.report.before, kept.report.after.bandwidth), (kept.report.after, 20));
    let moved = plan(&shuffled);
    assert!(moved.report.before.bandwidth > 100 && moved.report.after.bandwidth <= 21, "{:?}", moved.report);
}

/// Layers around a body: m nodes around it, m along it, n off it.
fn layers(m: usize, n: usize) -> Vec<(usize, usize)> {
    let at = |i: usize, j: usize, k: usize| i + m * (j + m * k);
    let mut edges = Vec::new();
    for (i, j, k) in (0..m * m * n).map(|r| (r % m, r / m % m, r / m / m)) {
        edges.push((at(i, j, k), at((i + 1) % m, j, k)));
        edges.extend((j + 1 < m).then(|| (at(i, j, k), at(i, j + 1, k))));
        edges.extend((k + 1 < n).then(|| (at(i, j, k), at(i, j, k + 1))));
    }
    edges
}

/// Level sets of factors with one level of fill: chains around the body in the order of Cuthill and McKee, a few colors for each front when fronts are
/// colored; and the band is about as wide as it was.
#[test]
fn colored_fronts_have_short_chains() {
    // Numbered as it comes: rows of a front then stand in no order that is short by itself.
    let rows = 24 * 24 * 12;
    let edges: Vec<_> = layers(24, 12).iter().map(|&(a, b)| (a * 2695 % rows, b * 2695 % rows)).collect();
    let p = pattern(rows, &edges, true);
    let levels = |rcm| {
        let options = PlanOptions { rcm, coloring: ColoringMethod::None, balance: false };
        let plan = Plan::new(&p, &options).unwrap();
        let inside = p.permuted(&plan.permutation).0;
        let filled = crate::factor::block_ilu::fill_pattern(&inside, 1).unwrap();
        let counts =
            [LevelSchedule::lower(&filled), LevelSchedule::upper(&filled)].map(|s| s.batches().len());
        (counts, plan.report.after.bandwidth)
    };
    let ([plain, _], band) = levels(Rcm::Always);
    let ([lower, upper], colored_band) = levels(Rcm::ColoredFronts(1));
    assert!(lower.max(upper) <= 6 * (12 + 24 + 12) && plain > 3 * lower, "{plain} {lower} {upper}");
    assert!(colored_band <= 2 * band, "{band} {colored_band}");
}

fn random_graph() -> impl Strategy<Value = (usize, Vec<(usize, usize)>)> {
    (1..60_usize).prop_flat_map(|rows| (Just(rows), proptest::collection::vec((0..rows, 0..rows), 0..200)))
}

/// A shuffled grid of 24 x 24 x 24 rows with diagonals: levels wide enough for all members, whose rows hang together.
#[test]
fn plans_do_not_depend_on_the_number_of_threads() {
    let (n, rows) = (24, 24 * 24 * 24);
    let at = |i: usize, j: usize, k: usize| (((i * n + j) * n + k) * 7919 + 13) % rows;
    let mut edges = Vec::new();
    for (i, j, k) in (0..rows).map(|r| (r / (n * n), r / n % n, r % n)) {
        for [di, dj, dk] in [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]] {
            if i + di < n && j + dj < n && k + dk < n {
                edges.push((at(i, j, k), at(i + di, j + dj, k + dk)));
            }
        }
    }
    let pattern = pattern(rows, &edges, true);
    let graph = Adjacency::of(&pattern).unwrap();
    let greedy = Coloring::greedy(&graph, VertexOrder::Natural);
    let one = Plan::new(&pattern, &PlanOptions::default()).unwrap();
    for threads in [2, 3, 8] {
        let team = Team::new(threads);
        assert_eq!(Adjacency::with_team(&pattern, &team).unwrap(), graph);
        assert_eq!(Coloring::greedy_with(&graph, VertexOrder::Natural, &team), greedy);
        let plan = Plan::with_team(&pattern, &PlanOptions::default(), &team).unwrap();
        assert_eq!((&plan.permutation, plan.report), (&one.permutation, one.report), "{threads} threads");
        assert_eq!(plan.batches.offsets(), one.batches.offsets());
    }
}

/// Every row waits for the one before it, whichever member has that.
#[test]
fn a_path_is_colored_alike_by_any_team() {
    let rows = 20_000;
    let path = graph(rows, &(1..rows).map(|i| (i - 1, i)).collect::<Vec<_>>());
    let coloring = Coloring::greedy_with(&path, VertexOrder::Natural, &Team::new(3));
    assert!(coloring.colors().iter().zip(0..).all(|(&color, row)| color == row % 2));
}

/// As many blocks above the diagonal as below it, and yet none of them is the other's image.
#[test]
fn one_sided_patterns_are_seen_by_all_threads() {
    let lopsided = BlockPattern::new(4, vec![0, 1, 1, 2, 2], vec![3, 1]).unwrap();
    let graph = Adjacency::of(&lopsided).unwrap();
    assert_eq!(graph.neighbors(1), [2]);
    let mirrored = BlockPattern::new(3, vec![0, 1, 3, 4], vec![1, 0, 2, 0]).unwrap();
    for pattern in [lopsided, mirrored] {
        let one = Adjacency::of(&pattern).unwrap();
        assert_eq!(Adjacency::with_team(&pattern, &Team::new(3)).unwrap(), one);
    }
}

proptest! {
    #[test]
    fn every_plan_is_a_coloring((rows, edges) in random_graph(), choice in 0..4_usize, rcm in 0..5_usize, balance: bool) {
        let rcm = [Rcm::Never, Rcm::UnlessBanded, Rcm::Always, Rcm::ColoredFronts(1), Rcm::ColoredFronts(3)][rcm];
        let p = pattern(rows, &edges, false);
        let coloring = if choice < 3 {
            ColoringMethod::Greedy(VertexOrder::ALL[choice])
        } else {
            ColoringMethod::Parallel
        };
        let plan = Plan::new(&p, &PlanOptions { rcm, coloring, balance }).unwrap();
        let (moved, source) = p.permuted(&plan.permutation);
        plan.batches.check(&moved).unwrap();
        // One-sided entries: no row of a batch is read by another one either.
        for row in 0..rows {
            for &c in moved.columns(row) {
                let batch = plan.batches.iter().position(|b| b.contains(&row)).unwrap();
                prop_assert!(c as usize == row || !plan.batches.range(batch).contains(&(c as usize)));
            }
        }
        prop_assert!(plan.batches.iter().all(|b| !b.is_empty()));
        prop_assert!(plan.report.colors <= plan.report.max_degree + 1);
        let mut seen = source.clone();
        seen.sort_unstable();
        prop_assert!(seen.iter().enumerate().all(|(i, &k)| i == k as usize));
    }

    /// Factors with so many levels of fill couple no two rows of a color of a front: there are no more level sets than colors in all.
    #[test]
    fn fill_couples_no_rows_of_a_color((rows, edges) in random_graph(), fill in 0..3_usize) {
        let p = pattern(rows, &edges, true);
        let rcm = reverse_cuthill_mckee(&Adjacency::of(&p).unwrap());
        let inside = Adjacency::of(&p).unwrap().permuted(&rcm);
        let (order, colors) = super::fronts::colored_fronts_and_count(&inside, fill);
        let inside = p.permuted(&rcm.then(&order)).0;
        let filled = if fill > 0 {
            crate::factor::block_ilu::fill_pattern(&inside, fill as u32).unwrap()
        } else {
            inside
        };
        prop_assert!(LevelSchedule::lower(&filled).batches().len() <= colors);
    }

    #[test]
    fn a_color_keeps_the_order_of_its_rows((rows, edges) in random_graph()) {
        let (permutation, batches) = Coloring::greedy(&graph(rows, &edges), VertexOrder::SmallestLast).renumber();
        for batch in batches.iter() {
            prop_assert!(permutation.old_of_new()[batch].windows(2).all(|w| w[0] < w[1]));
        }
    }

    #[test]
    /// The loop over rows by their priority, whatever their order and the number of threads.
    #[test]
    fn colors_by_numbers_see_neither_threads_nor_order((rows, edges) in random_graph(), step in 1..60_usize) {
        let g = graph(rows, &edges);
        let numbers: Vec<u32> = (0..rows as u32).map(|i| 3 * i + 1).collect();
        let one = Coloring::parallel(&g, &numbers, &Team::new(1));
        let mut order: Vec<usize> = (0..rows).collect();
        order.sort_by_key(|&r| std::cmp::Reverse(priority_of(g.degree(r), numbers[r] as usize)));
        let mut expected = vec![u32::MAX; rows];
        for r in order {
            let free = |c: &u32| g.neighbors(r).iter().all(|&n| expected[n as usize] != *c);
            expected[r] = (0..=rows as u32).find(free).unwrap();
        }
        prop_assert_eq!(one.colors(), &expected[..]);
        prop_assert_eq!(&one, &Coloring::parallel(&g, &numbers, &Team::new(3)));
        let all = Coloring::by_numbers(&g, &numbers, &Team::new(1));
        all.check(&g).unwrap();
        prop_assert!(all.count() <= one.count());
        prop_assert_eq!(&all, &Coloring::by_numbers(&g, &numbers, &Team::new(3)));
        prop_assert_eq!(Coloring::parity(&g, &numbers).is_some(), all.count() < 3);
        let step = (step..step + 60).find(|s| (2..=rows).all(|d| rows % d > 0 || s % d > 0)).unwrap();
        let turned = Permutation::from_old_of_new((0..rows).map(|i| (i * step % rows) as u32).collect()).unwrap();
        let of_turned: Vec<u32> = turned.old_of_new().iter().map(|&old| numbers[old as usize]).collect();
        let other = Coloring::by_numbers(&g.permuted(&turned), &of_turned, &Team::new(2));
        prop_assert!(turned.old_of_new().iter().zip(other.colors()).all(|(&old, &color)| all.colors()[old as usize] == color));
    }

    #[test]
    fn balancing_never_adds_colors_nor_spread((rows, edges) in random_graph()) {
        let g = graph(rows, &edges);
        let plain = Coloring::greedy(&g, VertexOrder::Natural);
        let even = plain.clone().balanced(&g);
        even.check(&g).unwrap();
        prop_assert_eq!(plain.count(), even.count());
        prop_assert!(even.sizes().iter().max() <= plain.sizes().iter().max());
        prop_assert!(even.sizes().iter().min() >= plain.sizes().iter().min());
    }

    #[test]
    fn greedy_passes_over_colors_never_add_one((rows, edges) in random_graph(), passes in 1usize..6) {
        let g = graph(rows, &edges);
        let plain = Coloring::greedy(&g, VertexOrder::SmallestLast);
        let fewer = plain.clone().reduced(&g, passes);
        fewer.check(&g).unwrap();
        prop_assert!(fewer.count() <= plain.count());
        prop_assert_eq!(fewer.sizes().iter().sum::<usize>(), rows);
    }

    #[test]
    fn exchanges_of_colors_leave_a_coloring_without_empty_colors((rows, edges) in random_graph()) {
        let g = graph(rows, &edges);
        let plain = Coloring::greedy(&g, VertexOrder::Natural);
        let fewer = plain.clone().without_smallest(&g);
        fewer.check(&g).unwrap();
        prop_assert!(fewer.count() <= plain.count());
        prop_assert!(fewer.sizes().iter().all(|&s| s > 0));
        prop_assert_eq!(fewer.sizes().iter().sum::<usize>(), rows);
    }

    #[test]
    fn smallest_last_needs_no_more_than_the_degeneracy((rows, edges) in random_graph()) {
        let g = graph(rows, &edges);
        // Degeneracy by its definition: take away a row of least degree until none is left.
        let mut left: Vec<usize> = (0..rows).collect();
        let mut degeneracy = 0;
        while !left.is_empty() {
            let degree = |r: usize| g.neighbors(r).iter().filter(|&&n| left.contains(&(n as usize))).count();
            let least = left.iter().copied().min_by_key(|&r| degree(r)).unwrap();
            degeneracy = degeneracy.max(degree(least));
            left.retain(|&r| r != least);
        }
        prop_assert!(Coloring::greedy(&g, VertexOrder::SmallestLast).count() <= degeneracy + 1);
    }
}

/// What a team makes is what one thread makes, and so is what is wrong with a list that is no permutation.
#[test]
fn permutations_do_not_depend_on_the_number_of_threads() {
    let rows = 40_000_u32;
    let scattered: Vec<u32> = (0..rows).map(|i| i * 7919 % rows).collect();
    let changed = |at: usize, row: u32| {
        let mut list = scattered.clone();
        list[at] = row;
        list
    };
    let (twice, outside) = (changed(33_333, scattered[5]), changed(20_000, rows));
    for list in [(0..rows).collect(), scattered, twice, outside] {
        let one = Permutation::from_old_of_new(list.clone());
        for threads in [2, 3, 8] {
            assert_eq!(Permutation::from_old_of_new_with(list.clone(), &Team::new(threads)), one);
        }
    }
    let (permutation, batches) = Coloring::new((0..rows).map(|i| i * i % 5).collect()).renumber();
    let again = Permutation::from_old_of_new(permutation.old_of_new().to_vec());
    assert_eq!(Ok(&permutation), again.as_ref());
    assert!(batches.iter().all(|rows| permutation.old_of_new()[rows].is_sorted()));
}

/// A band of three, whole and with a column that is too low at the beginning of a thread's rows and within them, or not there.
#[test]
fn patterns_are_checked_alike_by_any_number_of_threads() {
    let rows = 50_000_u32;
    let row_ptr: Vec<u32> = (0..=rows).map(|row| 3 * row).collect();
    let columns: Vec<u32> = (0..rows).flat_map(|row| [row, row + 1, row + 2]).collect();
    let cols = rows as usize + 2;
    let damages = [(0, 0), (3 * 25_000, 25_001), (3 * 30_000 + 1, 0), (3 * rows as usize - 1, rows + 2)];
    for (at, column) in damages {
        let mut columns = columns.clone();
        columns[at] = column;
        let one = BlockPattern::new(cols, row_ptr.clone(), columns.clone());
        assert_eq!(one.is_ok(), at == 0);
        for threads in [2, 3, 4, 9] {
            assert_eq!(BlockPattern::checked(cols, row_ptr.clone(), columns.clone(), threads), one);
        }
    }
}
