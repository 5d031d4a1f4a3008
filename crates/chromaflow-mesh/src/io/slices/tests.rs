//! Slices held against the reader of the whole file.

use super::*;
use crate::generate::{Cells, box_mesh};
use crate::raw::mirror;
use crate::{Loaded, load, write};
use std::fmt::Write as _;

#[test]
fn ranges_are_whole_and_know_their_readers() {
    for (count, parts) in [(0, 3), (1, 5), (7, 3), (1000, 7), (5, 8)] {
        let mut next = 0;
        for part in 0..parts {
            let range = range_of(count, parts, part);
            assert_eq!(range.start, next);
            assert!(range.clone().all(|i| reader_of(count, parts, i) == part));
            next = range.end;
        }
        assert_eq!(next, count);
    }
}

/// The file as so many readers see it.
fn opened(path: &Path, parts: usize) -> Result<Slices, MeshError> {
    let survey = |part| Survey::of(path, &ReadOptions::default(), part, parts);
    let surveys = (0..parts).map(survey).collect::<Result<Vec<_>, _>>()?;
    let seen: Vec<Vec<u8>> = surveys.iter().map(|survey| survey.seen().to_vec()).collect();
    let mut all = surveys.into_iter().map(|survey| survey.joined(&seen));
    all.next().expect("one reader at least")
}

/// Slices one behind the other are the mesh, and know where the file has everything.
fn check(path: &Path, parts: usize) {
    let Loaded { mesh, places, report, flipped, .. } = load(path, &ReadOptions::default()).unwrap();
    assert!(report.is_clean() && flipped.faces == 0);
    let slices = opened(path, parts).unwrap();
    assert_eq!(slices.counts(), Counts::of(&mesh));
    let (mut nodes, mut elements, mut first) = (Vec::new(), [const { Vec::<u32>::new() }; 4], [0; 4]);
    let patches = patches(&slices, parts);
    let mut markers: Vec<Marker> = slices.markers(&patches);
    let mut of_marker = vec![[0; 2]; markers.len()];
    for part in 0..parts {
        let slice = slices.read(part, parts).unwrap();
        assert_eq!((slice.first_node, slice.first), (nodes.len(), first), "part {part} of {parts}");
        nodes.extend(slice.nodes);
        for (k, kind) in Kind::ALL.into_iter().enumerate() {
            first[k] += slice.elements[k].len() / kind.nodes();
            elements[k].extend(&slice.elements[k]);
        }
        for face in slice.faces {
            let marker = patches.binary_search(&face.patch).unwrap();
            let (own, [triangles, quads]) = (&mut markers[marker], &mut of_marker[marker]);
            let [a, b, c, d] = face.nodes;
            let (corners, number) = if d == u32::MAX {
                own.triangles.push([a, b, c]);
                (3, triangles)
            } else {
                own.quads.push(face.nodes);
                (4, quads)
            };
            assert_eq!(slices.source.face(face.number as usize), places.face(marker, corners, *number));
            *number += 1;
        }
    }
    if let Some(planar) = slices.planar() {
        assert_eq!(Some(planar), mesh.planar);
        nodes.extend_from_within(..);
        nodes[planar.nodes_2d..].iter_mut().for_each(|x| x[2] = planar.depth);
        let (prisms, hexes) = (mesh.prisms.clone(), mesh.hexes.clone());
        let mut layer = Mesh { prisms, hexes, markers, ..Mesh::default() };
        layer.markers.extend(Planar::markers());
        layer.fill_planes();
        markers = layer.markers;
    }
    assert!(nodes == mesh.nodes);
    for (k, kind) in Kind::ALL.into_iter().enumerate() {
        // Slices keep what the whole reader turns over.
        let mut turned = 0;
        for (i, found) in elements[k].chunks_exact_mut(kind.nodes()).enumerate() {
            if found != mesh.nodes_of(kind, i) {
                mirror(kind, found);
                turned += 1;
            }
            assert_eq!(found, mesh.nodes_of(kind, i), "{kind} {i}");
        }
        assert_eq!((elements[k].len(), turned), (kind.nodes() * mesh.count(kind), flipped.elements[k]));
    }
    assert!(markers == mesh.markers, "markers of {}", path.display());
    for number in 0..slices.planar().map_or(mesh.nodes.len(), |planar| planar.nodes_2d) {
        assert_eq!(slices.source.node(number), places.node(number));
    }
    for (kind, count) in Kind::ALL.into_iter().zip(slices.counts().elements) {
        for number in 0..count {
            assert_eq!(slices.source.element(kind, number), places.element(kind, number), "{kind} {number}");
        }
    }
}

/// All patches of a file.
fn patches(slices: &Slices, parts: usize) -> Vec<i64> {
    let mut all: Vec<i64> = slices.named().collect();
    for part in 0..parts {
        all.extend(slices.read(part, parts).unwrap().faces.iter().map(|face| face.patch));
    }
    all.sort_unstable();
    all.dedup();
    all
}

/// A mesh of all types of elements and its text.
fn text() -> (Mesh, String) {
    let mesh = box_mesh([4, 4, 4], [1.0, 2.0, 3.0], Cells::Mixed, 0.1);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.su2");
    write(&path, &mesh).unwrap();
    (mesh, std::fs::read_to_string(path).unwrap())
}

/// The lines of data behind a key.
fn block<'a>(text: &'a str, key: &str) -> Vec<&'a str> {
    let behind = text.lines().skip_while(move |line| !line.starts_with(key)).skip(1);
    behind.take_while(|line| !line.contains('=')).collect()
}

/// The same mesh as people write it: other ends of lines, comments, numbers and orders of blocks.
fn odd_texts(text: &str) -> Vec<String> {
    let (points, mut cells) = (block(text, "NPOIN="), block(text, "NELEM="));
    let markers = &text[text.find("NMARK=").unwrap()..];
    // Types by turns.
    cells.sort_by_key(|line| line.len() * 7919 % 31);
    let mixed = format!("NDIME= 3\nNPOIN= {}\n{}\n", points.len(), points.join("\n"))
        + markers.trim_end()
        + &format!("\nNELEM= {}\n{}", cells.len(), cells.join("\n"));
    let exponents = text.lines().map(|line| match line.split_once(' ') {
        Some((x, rest)) if x.contains('e') => format!("\t{},  {rest} % a node\n", x.replace('e', "D")),
        _ => format!("{line} %of = all\n\n % = no key\n"),
    });
    let left_out = "\nFFD_NBOX= 1\n1 2 3\nMARKER_TAG= SEND_RECEIVE\nMARKER_ELEMS= 2\nSEND_TO= 1\n1 5\n1 7\n";
    let counted = text.matches("MARKER_TAG").count();
    let more = text.replace(&format!("NMARK= {counted}"), &format!("NMARK= {}", counted + 1));
    vec![text.replace('\n', "\r\n"), text.trim_end().to_owned(), mixed, exponents.collect(), more + left_out]
}

#[test]
fn slices_of_texts_are_the_mesh() {
    let dir = tempfile::tempdir().unwrap();
    let (_, text) = text();
    let mut odd = odd_texts(&text);
    odd.push(text);
    for (k, text) in odd.into_iter().enumerate() {
        let path = dir.path().join(format!("{k}.su2"));
        std::fs::write(&path, &text).unwrap();
        for parts in [1, 2, 3, 5, 40] {
            check(&path, parts);
        }
        // Threads read by slices, too; one of them reads line by line.
        let read = |threads| load(&path, &ReadOptions { threads, ..ReadOptions::default() }).unwrap();
        let one = read(1);
        for threads in [2, 3, 7] {
            let several = read(threads);
            assert!(several.mesh == one.mesh && several.notes == one.notes && several.report == one.report);
            let last = one.mesh.tets.len() - 1;
            for i in [0, last / 2, last] {
                let place = |l: &Loaded| l.places.element(Kind::Tetrahedron, i);
                assert_eq!(place(&several), place(&one));
            }
        }
    }
}

/// The text of a planar mesh of triangles and quadrilaterals, by turns.
fn flat_text() -> String {
    let (n, at) = (9, |i: usize, j: usize| j * 9 + i);
    let mut cells = Vec::new();
    for (i, j) in (0..n - 1).flat_map(|j| (0..n - 1).map(move |i| (i, j))) {
        let [a, b, c, d] = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)];
        if (i + 2 * j) % 3 == 0 {
            cells.extend([format!("5 {a} {b} {c}"), format!("5 {a} {c} {d} 17")]);
        } else {
            cells.push(format!("9 {a} {b} {c} {d}"));
        }
    }
    let places = (0..n * n).map(|k| format!("{} {}", k % n, 0.3 * (k / n) as f64 + 0.01 * (k % n) as f64));
    let mut text = format!("NDIME= 2\nNELEM= {}\n{}\n", cells.len(), cells.join("\n"));
    let places = places.collect::<Vec<_>>().join("\n");
    let _ = writeln!(text, "NPOIN= {}\n{places}\nNMARK= 4", n * n);
    let last = n - 1;
    // The nodes of each side, around the mesh.
    let on_side = |side: usize, k: usize| match side {
        0 => at(k, 0),
        1 => at(last, k),
        2 => at(last - k, last),
        _ => at(0, last - k),
    };
    for (side, name) in ["low", "right", "high", "left"].into_iter().enumerate() {
        let edge = |k: usize| format!("3 {} {}", on_side(side, k), on_side(side, k + 1));
        let edges = (0..last).map(edge).collect::<Vec<_>>().join("\n");
        let _ = writeln!(text, "MARKER_TAG= {name}\nMARKER_ELEMS= {last}\n{edges}");
    }
    text
}

/// Slices of a planar mesh are those of the layer that the whole reader makes of it, with the same depth and the same errors.
#[test]
fn slices_of_planar_texts_are_the_layer() {
    let dir = tempfile::tempdir().unwrap();
    let text = flat_text();
    let path = dir.path().join("flat.su2");
    // The nodes first.
    let (elements, points) = (text.find("NELEM").unwrap(), text.find("NPOIN").unwrap());
    let markers = text.find("NMARK").unwrap();
    let turned =
        [&text[..elements], &text[points..markers], &text[elements..points], &text[markers..]].concat();
    for text in [text.clone(), text.replace('\n', "\r\n"), turned] {
        std::fs::write(&path, text).unwrap();
        for parts in [1, 2, 3, 5, 40] {
            check(&path, parts);
        }
    }
    for depth in [0.25, 0.0, f64::NAN] {
        let options = ReadOptions { depth: Some(depth), ..ReadOptions::default() };
        match (Slices::open(&path, &options), crate::read(&path, &options)) {
            (Ok(slices), Ok(mesh)) => assert_eq!(slices.planar(), mesh.planar),
            (Err(said), Err(expected)) => assert_eq!(said.to_string(), expected.to_string()),
            (slices, _) => panic!("depth {depth}: {slices:?}"),
        }
    }
    for (from, to) in [
        ("\n5 ", "\n10 "),
        ("\n3 0 1\n", "\n5 0 1 2\n"),
        ("\n5 ", "\n3 "),
        ("\n9 ", "\n9 one "),
        ("\n9 1 ", "\n9 91 "),
        ("\n9 1 ", "\n9 1000000 "),
        ("\n3 0 ", "\n3 99 "),
        ("NDIME= 2", "NDIME= 3"),
        ("NPOIN= 81", "NPOIN= 82"),
        ("\n0 0\n", "\nnan 0\n"),
    ] {
        assert!(text.contains(from), "{from:?}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let expected = crate::read(&path, &ReadOptions::default()).unwrap_err().to_string();
        let read = |slices: Slices| slices.read(0, 1).map(drop);
        assert_eq!(opened(&path, 1).and_then(read).unwrap_err().to_string(), expected, "{from:?} {to:?}");
    }
}

/// A mesh in GMF's version 2, 3 or 4, in either byte order.
fn gmf(mesh: &Mesh, version: i32, big: bool) -> Vec<u8> {
    fn put(out: &mut Vec<u8>, value: i64, width: usize, big: bool) {
        let bytes = value.to_le_bytes();
        let mut own = bytes[..width].to_vec();
        if big {
            own.reverse();
        }
        out.extend(own);
    }
    let (position, width) = (if version > 2 { 8 } else { 4 }, if version > 3 { 8 } else { 4 });
    let mut out = Vec::new();
    put(&mut out, 1, 4, big);
    put(&mut out, version.into(), 4, big);
    let mut record = |keyword: i64, count: Option<usize>, body: Vec<u8>| {
        put(&mut out, keyword, 4, big);
        let own = out.len() + position + if count.is_some() { width } else { 0 } + body.len();
        put(&mut out, if keyword == 54 { 0 } else { own as i64 }, position, big);
        if let Some(n) = count {
            put(&mut out, n as i64, width, big);
        }
        out.extend(body);
    };
    let number = |value: i64, width: usize| {
        let mut bytes = Vec::new();
        put(&mut bytes, value, width, big);
        bytes
    };
    let list = |nodes: &[u32], reference: i64| -> Vec<u8> {
        let all = nodes.iter().map(|&n| i64::from(n) + 1).chain([reference]);
        all.flat_map(|n| number(n, width)).collect()
    };
    record(3, None, number(3, 4));
    let elements = |kind: Kind| -> Vec<u8> {
        (0..mesh.count(kind)).flat_map(|i| list(mesh.nodes_of(kind, i), 7)).collect()
    };
    // Hexahedra before anything else, tetrahedra in two records, a record that is not used between them.
    record(10, Some(mesh.hexes.len()), elements(Kind::Hexahedron));
    let half = mesh.tets.len() / 2;
    let tets = |part: &[[u32; 4]]| -> Vec<u8> { part.iter().flat_map(|e| list(e, 7)).collect() };
    record(8, Some(half), tets(&mesh.tets[..half]));
    record(5, Some(1), list(&[0, 1], 3));
    let vertices = mesh.nodes.iter().flat_map(|x| {
        let reals = x.iter().flat_map(|c| if big { c.to_be_bytes() } else { c.to_le_bytes() });
        reals.chain(number(0, width)).collect::<Vec<u8>>()
    });
    record(4, Some(mesh.nodes.len()), vertices.collect());
    record(8, Some(mesh.tets.len() - half), tets(&mesh.tets[half..]));
    record(9, Some(mesh.prisms.len()), elements(Kind::Prism));
    record(49, Some(mesh.pyramids.len()), elements(Kind::Pyramid));
    let of = |shape: usize| -> (usize, Vec<u8>) {
        let mut faces = Vec::new();
        for (number, marker) in (1..).zip(&mesh.markers) {
            if shape == 3 {
                faces.extend(marker.triangles.iter().map(|f| list(f, number)));
            } else {
                faces.extend(marker.quads.iter().map(|f| list(f, number)));
            }
        }
        (faces.len(), faces.concat())
    };
    for (keyword, shape) in [(7, 4), (6, 3)] {
        let (count, body) = of(shape);
        record(keyword, Some(count), body);
    }
    record(54, None, Vec::new());
    out
}

#[test]
fn slices_of_binary_files_are_the_mesh() {
    let dir = tempfile::tempdir().unwrap();
    let mesh = box_mesh([4, 4, 4], [1.0, 2.0, 3.0], Cells::Mixed, 0.1);
    let mut names = Vec::new();
    for (version, big) in [(2, false), (2, true), (3, false), (3, true), (4, false), (4, true)] {
        let name = format!("v{version}{big}.meshb");
        std::fs::write(dir.path().join(&name), gmf(&mesh, version, big)).unwrap();
        names.push(name);
    }
    for name in ["a.lb8.ugrid", "a.b4.ugrid", "a.r8l.ugrid", "own.meshb"] {
        write(&dir.path().join(name), &mesh).unwrap();
        names.push(name.to_owned());
    }
    std::fs::write(dir.path().join("own.mapbc"), "2\n1 4000 wing\n3 5000 far\n").unwrap();
    for name in names {
        for parts in [1, 2, 3, 5, 40] {
            check(&dir.path().join(&name), parts);
        }
    }
}

#[test]
fn slices_of_planar_binary_files_are_the_mesh() {
    let dir = tempfile::tempdir().unwrap();
    let text = dir.path().join("a.su2");
    std::fs::write(&text, flat_text()).unwrap();
    let path = dir.path().join("a.meshb");
    write(&path, &crate::read(&text, &ReadOptions::default()).unwrap()).unwrap();
    assert!(load(&path, &ReadOptions::default()).unwrap().mesh.planar.is_some());
    for parts in [1, 2, 3, 5, 40] {
        check(&path, parts);
    }
    let whole = std::fs::read(&path).unwrap();
    for cut in (0..whole.len()).step_by(61) {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let expected = crate::read(&path, &ReadOptions::default()).unwrap_err().to_string();
        let read = |slices: Slices| slices.read(0, 1).map(drop);
        assert_eq!(opened(&path, 1).and_then(read).unwrap_err().to_string(), expected, "{cut}");
    }
}

/// What one reader alone says of a damaged file is what the whole reader says.
#[test]
fn damaged_files_are_the_errors_of_the_whole_reader() {
    let dir = tempfile::tempdir().unwrap();
    let (mesh, text) = text();
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for cut in (0..text.len()).step_by(97) {
        files.push((format!("cut{cut}.su2"), text.as_bytes()[..cut].to_vec()));
    }
    let cells = block(&text, "NELEM=");
    let line = |k: usize| cells[k % cells.len()];
    let edits: [(&str, &str, &str); 14] = [
        ("type", line(9), "11 1 2 3 4"),
        ("flat", line(9), "5 1 2 3"),
        ("words", line(30), "10 1 2 three 4"),
        ("short", line(3), "10 1 2"),
        ("sign", line(3), "10 1 2 -3 4"),
        ("key", line(40), "NDUMP= 4"),
        ("count", "NELEM= ", "NELEM= 1"),
        ("few", "NPOIN= 1", "NPOIN= "),
        ("no number", "NPOIN= ", "NPOIN= many"),
        ("two", "NDIME= 3", "NDIME= 3\nNDIME= 3"),
        ("zones", "NDIME= 3", "NDIME= 3\nNZONE= 2"),
        ("markers", "NMARK= ", "NMARK= 1"),
        ("no tag", "MARKER_TAG= ", "% "),
        ("dimension", "NDIME= 3", "NDIME= 4"),
    ];
    for (name, from, to) in edits {
        files.push((format!("{name}.su2"), text.replacen(from, to, 1).into_bytes()));
    }
    let whole = gmf(&mesh, 3, false);
    for cut in (0..whole.len()).step_by(211) {
        files.push((format!("cut{cut}.meshb"), whole[..cut].to_vec()));
    }
    for (at, value) in [(0, 9), (4, 1), (4, 5), (20, 2), (36, -7), (40, 0), (44, -3)] {
        let mut bytes = whole.clone();
        bytes[at..at + 4].copy_from_slice(&i32::to_le_bytes(value));
        files.push((format!("{at} {value}.meshb"), bytes));
    }
    let mut wrong = 0;
    for (name, bytes) in files {
        let path = dir.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let Err(expected) = crate::read(&path, &ReadOptions::default()) else { continue };
        let read = |slices: Slices| slices.read(0, 1).map(|_| slices);
        match opened(&path, 1).and_then(read) {
            Err(said) => assert_eq!(said.to_string(), expected.to_string()),
            // What is wrong is seen where neighbors are.
            Ok(_) => assert!(matches!(expected, MeshError::Broken { .. }), "{}: {expected}", path.display()),
        }
        wrong += 1;
    }
    assert!(wrong > 60);
    // Errors of texts do not depend on where the readers' ranges end.
    for name in ["type.su2", "words.su2", "key.su2", "cut4850.su2"] {
        let path = dir.path().join(name);
        let expected = crate::read(&path, &ReadOptions::default()).unwrap_err().to_string();
        for parts in [2, 5] {
            let said = opened(&path, parts)
                .and_then(|slices| (0..parts).try_for_each(|part| slices.read(part, parts).map(drop)));
            assert_eq!(said.unwrap_err().to_string(), expected);
        }
    }
}
