use super::generate::{Airfoil, AirfoilC, BoxGrid, Cavity, Channel, ChannelCylinder, Cylinder, FlatPlate};
use super::*;
use crate::MeshError;
use crate::periodic::Motion;
use proptest::prelude::*;
use std::path::Path;

/// Axes and directions that a block can have.
fn orientations() -> Vec<([usize; 3], [bool; 3])> {
    let axes = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    axes.iter().flat_map(|&a| (0..8).map(move |r| (a, [r & 1 == 1, r & 2 == 2, r & 4 == 4]))).collect()
}

fn wavy() -> Grid {
    BoxGrid { cells: [6, 5, 4], size: [2.0, 1.0, 0.5], wave: 0.06 }.grid()
}

/// Ghost cells beyond interfaces hold the neighbor's coordinates, at the place where the metrics have their centers.
fn assert_exchange(grid: &Grid) {
    let metrics = Metrics::of_grid(grid);
    let exchange = Exchange::new(grid);
    let mut fields: Vec<Vec<f64>> = metrics
        .iter()
        .map(|m| {
            let mut field = vec![f64::NAN; 3 * m.cells.len()];
            for at in m.cells.places() {
                for c in 0..3 {
                    field[c * m.cells.len() + at] = m.center[c][at];
                }
            }
            field
        })
        .collect();
    exchange.fill(&mut fields, 3);
    for interface in grid.interfaces.iter().flat_map(|i| [i.clone(), i.reversed()]) {
        let (m, field) = (&metrics[interface.a.block], &fields[interface.a.block]);
        let step = if interface.a.side.high { 1 } else { -1 };
        for cell in interface.a.cells() {
            for layer in 1..=2 {
                let mut ghost = cell.map(|n| n as isize);
                ghost[interface.a.side.axis] += step * layer;
                let at = m.cells.at(ghost);
                let found = std::array::from_fn(|c| field[c * m.cells.len() + at]);
                let found = interface.motion.image(found);
                for c in 0..3 {
                    let allowed = 1e-13 * (1.0 + m.center[c][at].abs());
                    assert!((found[c] - m.center[c][at]).abs() < allowed, "{interface:?}: {ghost:?}");
                }
            }
        }
    }
}

#[test]
fn any_orientation_of_any_neighbor() {
    for (axis, reverse) in orientations() {
        let grid = wavy().split(0, 0, 2).unwrap().split(1, 1, 3).unwrap().split(0, 2, 2).unwrap();
        let grid = grid.reorient(1, axis, reverse);
        grid.check().unwrap();
        assert_exchange(&grid);
        let flips = reverse.iter().filter(|r| **r).count();
        let even = [[0, 1, 2], [1, 2, 0], [2, 0, 1]].contains(&axis);
        let m = Metrics::of_grid(&grid);
        assert_eq!(m[1].right_handed, (flips % 2 == 0) == even);
        let volume: f64 = m.iter().map(Metrics::total_volume).sum();
        assert!((volume - 1.0).abs() < 1e-14, "{volume}");
        assert!(m.iter().all(|m| m.closure_error() < 1e-16));
        for (block, m) in grid.blocks.iter().zip(&m) {
            let cells: Vec<_> = m.cells.places().map(|at| (m.center(at), m.volume[at])).collect();
            assert_eq!(block.centers_and_volumes(), cells, "those of the points alone");
            assert_eq!(block.is_right_handed(), m.right_handed);
        }
    }
}

/// Rows of a block lie as far from multiples of 32 bytes as its first one; what fills them up is no cell.
#[test]
fn rows_are_aligned() {
    for count in [[1, 1, 1], [5, 3, 2], [8, 4, 1], [31, 2, 3]] {
        let cells = Cells::new(count);
        assert!(cells.rows().all(|row| row % ALIGNED == GHOSTS), "{count:?}");
        assert_eq!(cells.len() % ALIGNED, 0);
        let (mut last, mut found) = (0, 0);
        for at in (0..cells.len()).filter(|&at| cells.has(at)) {
            assert_eq!(cells.at(cells.cell(at)), at);
            (last, found) = (at, found + 1);
        }
        assert_eq!(found, count.map(|n| n + 2 * GHOSTS).iter().product::<usize>());
        assert_eq!(last, cells.at(count.map(|n| (n + GHOSTS) as isize - 1)));
    }
}

/// The corner ghosts of four blocks around an edge are the diagonal neighbor's cells.
#[test]
fn corners_come_with_one_exchange() {
    let grid = wavy().split(0, 0, 3).unwrap().split(0, 1, 2).unwrap().split(1, 1, 2).unwrap();
    grid.check().unwrap();
    let metrics = Metrics::of_grid(&grid);
    let whole = &Metrics::of_grid(&wavy())[0];
    let exchange = Exchange::new(&grid);
    let mut fields: Vec<Vec<f64>> = metrics.iter().map(|m| m.center[0].clone()).collect();
    for (field, m) in fields.iter_mut().zip(&metrics) {
        for at in 0..m.cells.len() {
            let cell = m.cells.cell(at);
            if (0..3).any(|d| !(0..m.cells.count[d] as isize).contains(&cell[d])) {
                field[at] = f64::NAN;
            }
        }
    }
    exchange.fill(&mut fields, 1);
    let at = metrics[0].cells.at([3, 2, 1]);
    let expected = whole.center[0][whole.cells.at([3, 2, 1])];
    assert!((fields[0][at] - expected).abs() < 1e-14);
    assert!((metrics[0].center[0][at] - expected).abs() < 1e-14);
}

#[test]
fn generators_are_sound() {
    let plates = FlatPlate { cells: [10, 20, 24], height: 0.5, growth: 1.2 }.grid();
    let ring = Cylinder { cells: [60, 20], radius: 10.0, growth: 1.15, triangles: false }.grid();
    let airfoil = Airfoil { cells: [80, 24], radius: 20.0, growth: 1.2, triangles: false }.grid();
    let c = AirfoilC { cells: [16, 60, 24], radius: 20.0, growth: 1.25 }.grid();
    let channel = Channel { cells: [30, 10], thickness: 0.1, triangles: false }.grid();
    let cavity = Cavity { cells: [16, 16], clustering: 1.5 }.grid();
    let benchmark = ChannelCylinder { cells: [64, 20, 30], growth: 1.06 }.grid();
    for grid in [&plates, &ring, &airfoil, &c, &channel, &cavity, &benchmark, &wavy()] {
        grid.check().unwrap_or_else(|e| panic!("{e}"));
        assert_exchange(grid);
        assert!(Metrics::of_grid(grid).iter().all(|m| m.right_handed && m.closure_error() < 1e-13));
    }
    assert_eq!(
        plates.markers(),
        ["inlet", "outlet", "top", "symmetry_front", "symmetry_back", "symmetry", "wall"]
    );
    assert_eq!(ring.planar_axis(), Some(2));
    // The channel without the polygon of 64 corners.
    let hole = 0.5 * 64.0 * (std::f64::consts::TAU / 64.0).sin() * 0.05_f64.powi(2);
    let volume: f64 = Metrics::of_grid(&benchmark).iter().map(Metrics::total_volume).sum();
    assert!((volume - (2.2 * 0.41 - hole)).abs() < 1e-12);
    // The ring's chords enclose a polygon.
    let sides = 60.0;
    let area = 0.5 * sides * (std::f64::consts::TAU / sides).sin() * (100.0 - 0.25);
    assert!((Metrics::of_grid(&ring)[0].total_volume() - area).abs() < 1e-11);
    let volume = Metrics::of_grid(&c.clone().split(0, 0, 7).unwrap().split(0, 1, 9).unwrap());
    let whole = Metrics::of_grid(&c)[0].total_volume();
    assert!((volume.iter().map(Metrics::total_volume).sum::<f64>() - whole).abs() < 1e-10 * whole);
}

/// Cutting a block that meets itself cuts its interface on both sides.
#[test]
fn cuts_through_interfaces() {
    let c = || AirfoilC { cells: [8, 20, 6], radius: 10.0, growth: 1.3 }.grid();
    for at in [3, 8, 14, 30] {
        for (axis, reverse) in [([0, 1, 2], [false; 3]), ([1, 0, 2], [false, true, false])] {
            let grid = c().reorient(0, axis, reverse).split(0, axis[0], at).unwrap();
            grid.check().unwrap_or_else(|e| panic!("cut at {at}: {e}"));
            assert_exchange(&grid);
        }
    }
    let ring = Cylinder { cells: [12, 4], radius: 4.0, growth: 1.2, triangles: false }.grid();
    let grid = ring.split(0, 0, 5).unwrap().split(0, 1, 2).unwrap().split(1, 0, 3).unwrap();
    grid.check().unwrap();
    assert_exchange(&grid);
    assert!(
        wavy().split(0, 0, 6).is_err() && wavy().split(1, 0, 1).is_err() && wavy().split(0, 3, 1).is_err()
    );
}

#[test]
fn thin_axes_go_last() {
    for axis in [[0, 1, 2], [1, 2, 0], [2, 0, 1]] {
        let grid =
            Channel { cells: [7, 4], thickness: 0.1, triangles: false }.grid().reorient(0, axis, [false; 3]);
        let turned = grid.thin_axis_last();
        assert_eq!(turned.planar_axis(), Some(2));
        assert!(Metrics::of_grid(&turned)[0].right_handed);
        turned.check().unwrap();
    }
}

#[test]
fn errors_name_block_and_index() {
    let message = |grid: &Grid| grid.check().unwrap_err().to_string();
    let mut grid = wavy().split(0, 0, 2).unwrap();
    let at = grid.blocks[1].index([2, 3, 1]);
    grid.blocks[1].nodes[at][0] -= 2.0;
    let text = message(&grid);
    assert!(text.contains("block 1, cell [1, 2, 0]") && text.contains("volume -"), "{text}");
    grid.blocks[1].nodes[at][1] = f64::NAN;
    assert!(message(&grid).contains("block 1, point [2, 3, 1]"), "{}", message(&grid));

    let mut grid = wavy().split(0, 0, 2).unwrap();
    let at = grid.blocks[1].index([0, 3, 1]);
    grid.blocks[1].nodes[at][0] += 0.01;
    let text = message(&grid);
    assert!(text.contains("point [2, 3, 1] of block 0") && text.contains("[0, 3, 1] of block 1"), "{text}");

    let mut grid = wavy();
    grid.patches[1].window.high[2] = 3;
    let text = message(&grid);
    assert!(
        text.contains("i high") && text.contains("cell [5, 0, 3]") && text.contains("0 patches"),
        "{text}"
    );
    grid.patches[1].window.high[2] = 5;
    assert!(matches!(grid.check(), Err(GridError::Outside { .. })));
    let mut grid = wavy();
    grid.patches.push(grid.patches[0].clone());
    assert!(message(&grid).contains("2 patches"));
    let mut grid = wavy().split(0, 0, 2).unwrap();
    grid.interfaces[0].map.offset[1] += 1;
    assert!(matches!(grid.check(), Err(GridError::Pairing { number: 0, .. })));
    let mut grid = wavy();
    grid.blocks[0].nodes.pop();
    assert!(matches!(grid.check(), Err(GridError::Shape { block: 0, .. })));
}

/// Blocks with IBLANK, in a folder.
fn blanked() -> Grid {
    let mut grid = wavy().split(0, 0, 2).unwrap();
    for block in &mut grid.blocks {
        block.blank = (0..block.nodes.len() as i32).map(|n| n % 3 - 1).collect();
    }
    grid
}

#[test]
fn files_come_back_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let map = folder.path().join("a.nmf");
    let cut = AirfoilC { cells: [8, 20, 6], radius: 10.0, growth: 1.3 }.grid().split(0, 0, 3).unwrap();
    let mut periodic = wavy();
    periodic.patches.drain(0..2);
    let (a, b) = (Window::whole(0, Side::ALL[0], [7, 6, 5]), Window::whole(0, Side::ALL[1], [7, 6, 5]));
    let index = IndexMap::between(&a, &b, [(1, 0, 5), (2, 0, 4)]);
    periodic.interfaces.push(Interface { a, b, map: index, motion: Motion::Translation([-2.0, 0.0, 0.0]) });
    for (n, grid) in
        [wavy(), cut.reorient(1, [2, 0, 1], [true, true, false]), blanked(), periodic].iter().enumerate()
    {
        for form in [Form::Text, Form::Records, Form::Stream] {
            for (double, big_endian) in [(true, true), (true, false), (false, true), (false, false)] {
                let format = Plot3d { form, double, big_endian };
                let path = folder.path().join(if form == Form::Text { "a.p3dfmt" } else { "a.xyz.gz" });
                write(&path, &map, grid, format).unwrap();
                let read_back = read(&path, &map, &Plot3dOptions::default());
                let back = read_back.unwrap_or_else(|e| panic!("grid {n}, {format:?}: {e}"));
                if double || form == Form::Text {
                    assert_eq!(&back, grid, "{format:?}");
                } else {
                    assert_eq!((&back.patches, &back.interfaces), (&grid.patches, &grid.interfaces));
                    for (x, y) in back.blocks.iter().zip(&grid.blocks) {
                        assert_eq!(x.blank, y.blank);
                        let pairs = x.nodes.as_flattened().iter().zip(y.nodes.as_flattened());
                        assert!(pairs.into_iter().all(|(x, &y)| *x == f64::from(y as f32)));
                    }
                }
            }
        }
    }
}

/// Records have marks: wherever they are cut short, they are told to be.
#[test]
fn records_cut_anywhere_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xyz");
    for grid in [blanked(), wavy(), wavy().split(0, 0, 2).unwrap()] {
        for (double, big_endian) in [(true, false), (false, true)] {
            let format = Plot3d { form: Form::Records, double, big_endian };
            write_plot3d(&path, &grid.blocks, format).unwrap();
            let data = std::fs::read(&path).unwrap();
            for end in (0..data.len()).rev() {
                std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(end as u64).unwrap();
                let read = read_plot3d(&path, &Plot3dOptions::default());
                assert!(read.is_err(), "{end} of {} bytes, {format:?}", data.len());
            }
        }
    }
}

fn text_blocks(text: &str, name: &str) -> Result<Vec<Block>, GridError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    read_plot3d(&path, &Plot3dOptions::default())
}

/// A file of blocks in a variant that [`write_plot3d`] need not know: (records, counted, planar, blanks), bytes of a real, byte order.
fn variant(blocks: &[Block], how: [bool; 4], real: usize, big: bool) -> Vec<u8> {
    let [records, counted, planar, with_blanks] = how;
    let axes = if planar { 2 } else { 3 };
    let int = |n: i32| if big { n.to_be_bytes() } else { n.to_le_bytes() }.to_vec();
    let value = |x: f64| match (real, big) {
        (8, true) => x.to_be_bytes().to_vec(),
        (8, false) => x.to_le_bytes().to_vec(),
        (_, true) => (x as f32).to_be_bytes().to_vec(),
        (_, false) => (x as f32).to_le_bytes().to_vec(),
    };
    let record = |body: Vec<u8>| {
        let mark = if records { int(body.len() as i32) } else { Vec::new() };
        [mark.clone(), body, mark].concat()
    };
    let mut file = if counted { record(int(blocks.len() as i32)) } else { Vec::new() };
    let sizes = blocks.iter().flat_map(|b| &b.points[..axes]).flat_map(|&n| int(n as i32));
    file.extend(record(sizes.collect()));
    for block in blocks {
        // Of a layer its first plane.
        let count = block.points[..axes].iter().product::<usize>();
        let nodes = &block.nodes[..count];
        let xyz = (0..axes).flat_map(|c| nodes.iter().map(move |x| x[c])).flat_map(value);
        let blanks = if with_blanks { int(1).repeat(count) } else { Vec::new() };
        file.extend(record(xyz.chain(blanks).collect()));
    }
    file
}

/// Every binary variant is told by the file alone: records or a stream, with or without the count of blocks, of two or three dimensions, with or
/// without IBLANK, reals of 4 or 8 bytes, either byte order.
#[test]
fn every_variant_of_binary_plot3d_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.xyz");
    // Numbers that floats have, so that both kinds of reals give the same.
    let block = |points: [usize; 3]| Block::new(points, |[i, j, k]| [i as f64, 0.5 * j as f64, k as f64]);
    let layer = |points: [usize; 2]| block([points[0], points[1], 2]);
    // Counts and sizes that look like marks of records: 4, 8, 12.
    let spatial = [vec![block([5, 4, 3])], vec![block([4, 4, 12]), block([12, 3, 4]), block([2, 2, 2])]];
    let planar = [vec![layer([5, 4])], vec![layer([12, 4]); 12]];
    for (dimensions, blocks) in [(3, &spatial), (2, &planar)] {
        for (blocks, bits) in blocks.iter().flat_map(|blocks| (0..32).map(move |bits| (blocks, bits))) {
            let [records, counted, blanks, double, big] = [0, 1, 2, 3, 4].map(|bit| bits >> bit & 1 == 1);
            if blocks.len() > 1 && !counted {
                continue;
            }
            let how = [records, counted, dimensions == 2, blanks];
            std::fs::write(&path, variant(blocks, how, if double { 8 } else { 4 }, big)).unwrap();
            let read = read_plot3d(&path, &Plot3dOptions::default());
            let told = format!("{how:?}, reals of 8 bytes {double}, big {big}, {} blocks", blocks.len());
            let read = read.unwrap_or_else(|e| panic!("{told}: {e}"));
            let points =
                |blocks: &[Block]| -> Vec<_> { blocks.iter().map(|b| (b.points, b.nodes.clone())).collect() };
            assert_eq!(points(&read), points(blocks), "{told}");
            assert!(read.iter().all(|b| b.blank.is_empty() != blanks), "{told}");
        }
    }
    // One that is cut short is told so, whichever it is.
    for counted in [false, true] {
        let mut file = variant(&spatial[0], [false, counted, false, false], 8, false);
        file.pop();
        std::fs::write(&path, file).unwrap();
        let message = read_plot3d(&path, &Plot3dOptions::default()).unwrap_err().to_string();
        assert!(message.contains("1439 bytes for 60 points"), "{message}");
    }
}

#[test]
fn text_by_fortrans_rules() {
    let one =
        text_blocks(" 1\n 2, 2*2\n 2*0., 2*1.0D0, 4*2.\n 8*-1.5, 1 2\n3 4 5 6 7 8.E+0\n", "a.fmt").unwrap();
    assert_eq!(one[0].points, [2, 2, 2]);
    assert_eq!(one[0].node([1, 1, 0]), [1.0, -1.5, 4.0]);
    // No count of blocks; blanks behind.
    let zeros = "0 ".repeat(24);
    assert!(text_blocks(&format!("2 2 2\n{zeros}"), "a.fmt").unwrap()[0].blank.is_empty());
    assert_eq!(text_blocks(&format!("2 2 2\n{zeros} 8*1"), "a.fmt").unwrap()[0].blank, [1; 8]);
    let other_name = text_blocks(&format!(" 2 2 2\n{zeros}"), "a.xyz").unwrap();
    assert_eq!(other_name[0].points, [2, 2, 2], "by what it holds");
    assert!(text_blocks("<html> 2 2 2 </html>", "a.xyz").is_err());
    // Two-dimensional, by its own header or by its name.
    let flat = text_blocks("1\n3 2\n0 1 2 0 1 2\n0 0 0 1 1 1", "a.fmt").unwrap();
    assert_eq!((flat[0].points, flat[0].node([2, 1, 1])), ([3, 2, 2], [2.0, 1.0, 1.0]));
    assert_eq!(text_blocks("2\n2 2 2 2\n0 1 0 1 0 0 1 1\n5 6 5 6 0 0 1 1", "a.p2dfmt").unwrap().len(), 2);
    for (bad, part) in [
        ("", "empty"),
        ("1\n2 2", "cut short"),
        ("1\n2 2 2\n 1 2 3", "cut short"),
        ("1\n2 2 2\n 999999999999*0.", "more than"),
        ("1\n2 2 x\n", "line 2"),
        ("1\n2 0 2\n", "positive"),
        ("1\n2 1e12 1e12\n", "more than can be"),
        ("4000000000000\n", "blocks"),
        ("-1\n", "natural"),
    ] {
        let message = text_blocks(bad, "a.fmt").unwrap_err().to_string();
        assert!(message.contains(part), "{bad:?}: {message}");
    }
}

#[test]
fn neutral_map_files_with_faults() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.nmf");
    let head = "# x \\\n 1 \\\n\n 1 3 4 5 \\\n";
    let read = |rows: &str| {
        std::fs::write(&path, format!("{head}{rows}")).unwrap();
        read_nmf(&path)
    };
    let (dimensions, grid) =
        read("'wall' 1 3 1 4 5 1\n\"ONE_TO_ONE\" 1 1 1 3 2 4 1 2 3 1 4 2 .TRUE.\n").unwrap();
    assert_eq!(dimensions, [[3, 4, 5]]);
    assert_eq!(grid.patches[0].window, Window::whole(0, Side::ALL[0], [3, 4, 5]));
    let i = &grid.interfaces[0];
    assert_eq!((i.map.axis, i.map.sign), ([1, 0, 2], [-1, -1, 1]));
    assert_eq!(i.map.node([0, 1, 0]), [2, 3, 4]);
    for (bad, part) in [
        ("wall 2 3 1 4 1 5", "block 2: expected 1 to 1"),
        ("wall 1 7 1 4 1 5", "face 7"),
        ("wall 1 3 1 4 1 6", "point 6 along k of block 1: expected 1 to 5"),
        ("wall 1 3 1 4 0 5", "point 0"),
        ("wall 1 3 1 4", "S is missing"),
        ("wall 1 3 2 2 1 5", "no cells"),
        ("one-to-one 1 3 1 4 1 5 1 4 1 3 1 5 false", "4 points, its partner 3"),
        ("one-to-one 1 3 1 4 1 5 1 4 1 4 1 5 maybe", "TRUE or FALSE"),
        ("one-to-one 1 3 1 4 1 5", "the block is missing"),
    ] {
        let message = read(bad).unwrap_err().to_string();
        assert!(message.contains(part) && message.contains("line 5"), "{bad:?}: {message}");
    }
    for (bad, part) in [("", "cut short"), ("2\n1 3 3 3\n", "cut short"), ("1\n1 1 3 3\n", "IDIM is 1")] {
        std::fs::write(&path, bad).unwrap();
        let message = read_nmf(&path).unwrap_err().to_string();
        assert!(message.contains(part), "{message}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// A file that ends anywhere, or has a byte changed, gives an error or another grid: never a panic.
    #[test]
    fn damaged_files(form in 0..3usize, blank: bool, cut in 0.0..1.0f64, flip in 0.0..1.0f64, bits in 1..=255u8) {
        let folder = tempfile::tempdir().unwrap();
        let form = [Form::Text, Form::Records, Form::Stream][form];
        let path = folder.path().join(if form == Form::Text { "a.fmt" } else { "a.xyz" });
        let grid = if blank { blanked() } else { wavy().split(0, 0, 2).unwrap() };
        write_plot3d(&path, &grid.blocks, Plot3d { form, ..Plot3d::default() }).unwrap();
        let data = std::fs::read(&path).unwrap();
        let end = (cut * data.len() as f64) as usize;
        std::fs::write(&path, &data[..end]).unwrap();
        let result = read_plot3d(&path, &Plot3dOptions::default());
        // Text that loses its last digits, or just its blanks, can still be a grid. A stream has no marks: one that ends where
        // a file in single precision or without blanks would end is such a file.
        let points: usize = grid.blocks.iter().map(|b| b.nodes.len()).sum();
        let whole = [12, 16, 24, 28].map(|bytes| 4 + 12 * grid.blocks.len() + bytes * points);
        if form != Form::Text && !(form == Form::Stream && whole.contains(&end)) {
            prop_assert!(result.is_err(), "{end} of {} bytes", data.len());
        }
        let mut changed = data.clone();
        changed[(flip * data.len() as f64) as usize] ^= bits;
        std::fs::write(&path, &changed).unwrap();
        if let Ok(blocks) = read_plot3d(&path, &Plot3dOptions::default()) {
            let mut other = grid.clone();
            other.blocks = blocks;
            let _ = other.check();
        }

        let map = folder.path().join("a.nmf");
        write_nmf(&map, &grid).unwrap();
        let text = std::fs::read(&map).unwrap();
        let mut changed = text.clone();
        changed[(flip * text.len() as f64) as usize] ^= bits;
        for damaged in [&text[..(cut * text.len() as f64) as usize], &changed[..]] {
            std::fs::write(&map, damaged).unwrap();
            if let Ok((_, mut other)) = read_nmf(&map) {
                other.blocks.clone_from(&grid.blocks);
                let _ = other.check();
            }
        }
    }
}

/// A planar file with the map of the grid in three dimensions, its planes along i or along j, is the grid of the layer's own map.
#[test]
fn a_planar_file_takes_the_map_of_its_layer_in_space() {
    let grid = AirfoilC { cells: [6, 12, 8], radius: 10.0, growth: 1.4 }.grid();
    let dir = tempfile::tempdir().unwrap();
    let [points, map] = ["a.p2dfmt", "a.nmf"].map(|name| dir.path().join(name));
    let [ni, nj, _] = grid.blocks[0].points;
    let plane = &grid.blocks[0].nodes[..ni * nj];
    let column = |c: usize| plane.iter().map(|x| format!("{:?}", x[c])).collect::<Vec<_>>().join("\n");
    std::fs::write(&points, format!("1\n{ni} {nj}\n{}\n{}\n", column(0), column(1))).unwrap();
    for axes in [[1, 2, 0], [0, 2, 1], [0, 1, 2]] {
        // What lies at the two planes has other names in a map of three dimensions.
        let mut in_space = grid.clone().reorient(0, axes, [false; 3]);
        for patch in &mut in_space.patches {
            if [crate::Planar::FRONT, crate::Planar::BACK].contains(&patch.name.as_str()) {
                patch.name = "symmetry_y_strong".into();
            }
        }
        write_nmf(&map, &in_space).unwrap();
        let found = read(&points, &map, &Plot3dOptions::default()).unwrap();
        assert_eq!((&found.blocks, &found.interfaces), (&grid.blocks, &grid.interfaces), "{axes:?}");
        let sides = |grid: &Grid| {
            let mut sides: Vec<_> = grid.patches.iter().map(|p| (p.name.clone(), p.window)).collect();
            sides.sort_by_key(|s| (s.1.side.axis, s.1.side.high, s.1.low));
            sides
        };
        if axes[2] != 2 {
            assert_eq!(sides(&found), sides(&grid), "{axes:?}");
            assert!(found.to_mesh().planar.is_some());
        }
    }
    // Blocks that a map of other numbers of points is for.
    let other = AirfoilC { cells: [6, 12, 9], radius: 10.0, growth: 1.4 }.grid();
    write_nmf(&map, &other).unwrap();
    let error = read(&points, &map, &Plot3dOptions::default()).unwrap_err().to_string();
    assert!(error.contains("is for blocks of [[25, 10, 2]] points"), "{error}");
}

/// Grids from elsewhere, with what their publishers say of them.
#[test]
fn published_grids() {
    let Some(data) = chromaflow_testkit::data("structured") else { return };
    let file = |name: &str| data.join(name);
    let load = |points: &str, map: &str| {
        let grid =
            read(&file(points), &file(map), &Plot3dOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_exchange(&grid);
        grid
    };
    let step = load("tmr_backstep_4blk/backstep5_4levdn.p3dbin.xz", "tmr_backstep_4blk/backstep5_4levdn.nmf");
    assert_eq!(
        (step.blocks.len(), step.interfaces.len(), step.cells()),
        (4, 3, 32 * 32 + 12 * 32 + 48 * 56 + 16 * 56)
    );
    let wake = load("tmr_n0012/n0012_113-33.p3dfmt.xz", "tmr_n0012/n0012_113-33.nmf");
    assert_eq!((wake.planar_axis(), wake.interfaces.len()), (Some(0), 1));
    let plate = load(
        "tmr_flatplate/flatplate_clust2_3levelsdown_69x49.p3dfmt.xz",
        "tmr_flatplate/flatplate_clust2_3levelsdown_69x49.nmf",
    );
    assert_eq!(
        plate.markers(),
        [
            "symmetry_y_strong",
            "subsonic_inflow_pt",
            "back_pressure",
            "symmetry_z_strong",
            "viscous_solid",
            "farfield_riem"
        ]
    );
    let flat = "../turbulence/tmr_bump2d/bump_4levelsdown_89x41";
    let channel = load(&format!("{flat}.p2dfmt.xz"), &format!("{flat}.nmf"));
    assert_eq!(channel.blocks[0].points, [89, 41, 2]);
    let named = |name: &str| channel.patches.iter().find(|p| p.name == name).map(|p| p.window);
    let wall = named("viscous_solid").unwrap();
    assert_eq!((wall.low, wall.high), ([24, 0, 0], [64, 0, 1]));
    assert_eq!(named("subsonic_inflow_pt").unwrap().side, Side { axis: 0, high: false });
    let bump = load("tmr_bump3d/bump3d_9x89x41.p3dfmt.xz", "tmr_bump3d/grid9x89x41.nmf");
    assert_eq!(bump.cells(), 28_160);
    for (name, points) in [
        ("cfl3d_axibump/bumpgrd.fmt.xz", vec![[2, 181, 101]]),
        ("cfl3d_flatplate/grdflat5.fmt.xz", vec![[65, 97, 2]]),
        ("cfl3d_ejectornozzle_3blk/nozzle.p3dfmt.xz", vec![[2, 31, 41], [2, 31, 71], [2, 101, 121]]),
        ("cfl3d_n0012_steady/n0012_257.fmt.xz", vec![[2, 257, 129]]),
        ("tmr_n0012/n0012_225-65.p2dfmt.xz", vec![[225, 65, 2]]),
        ("tmr_flatplate/flatplate_clust2_2levelsdown_137x97.p2dfmt.xz", vec![[137, 97, 2]]),
    ] {
        let blocks =
            read_plot3d(Path::new(&file(name)), &Plot3dOptions::default()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(blocks.iter().map(|b| b.points).collect::<Vec<_>>(), points, "{name}");
    }
    let wrong = read(
        &file("tmr_n0012/n0012_113-33.p3dfmt.xz"),
        &file("tmr_bump3d/grid9x89x41.nmf"),
        &Plot3dOptions::default(),
    );
    assert!(matches!(wrong, Err(GridError::Mismatch(_))));
    let missing = read_plot3d(Path::new("nowhere.fmt"), &Plot3dOptions::default());
    assert!(matches!(missing, Err(GridError::Read(MeshError::File(_)))));
}

#[test]
fn interfaces_are_found_from_the_points_alone() {
    let c = AirfoilC { cells: [8, 20, 6], radius: 5.0, growth: 1.2 }.grid();
    let channel = ChannelCylinder { cells: [16, 6, 10], growth: 1.2 }.grid();
    let split = BoxGrid { cells: [6, 5, 4], size: [1.0; 3], wave: 0.05 }.grid().split(0, 0, 2).unwrap();
    for grid in [c, channel, split] {
        let mut found = Grid::joined(grid.blocks.clone());
        found.check().unwrap();
        let mut expected = grid.clone();
        let order = |g: &mut Grid| {
            for i in &mut g.interfaces {
                if (i.a.block, i.a.low) > (i.b.block, i.b.low) {
                    *i = i.reversed();
                }
            }
            g.interfaces.sort_by_key(|i| (i.a.block, i.a.low, i.a.high));
        };
        order(&mut found);
        order(&mut expected);
        assert_eq!(found.interfaces, expected.interfaces);
        let mesh = found.to_connected_mesh().unwrap();
        let report = crate::check(&mesh, None);
        assert!(report.is_clean(), "{report}");
        assert_eq!(mesh.planar.is_some(), grid.planar_axis().is_some());
    }
}

/// So does one of which rounding leaves a radius: sin(pi) is not 0.
#[test]
fn a_collapsed_axis_becomes_prisms() {
    for radius in [0.0, 3.0 * std::f64::consts::PI.sin()] {
        // A quarter of a tube whose inner radius is zero.
        let block = Block::new([4, 5, 3], |[i, j, k]| {
            let (r, t) = (radius.max(i as f64), j as f64 * std::f64::consts::FRAC_PI_8);
            [r * t.cos(), r * t.sin(), k as f64]
        });
        let mesh = Grid::joined(vec![block]).to_connected_mesh().unwrap();
        assert_eq!((mesh.prisms.len(), mesh.hexes.len()), (8, 16));
        assert!(crate::check(&mesh, None).is_clean());
        assert!(mesh.marker("block1_imin").is_none(), "the axis has no area");
    }
}
