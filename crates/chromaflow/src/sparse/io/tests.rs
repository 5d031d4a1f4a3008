use super::*;
use proptest::prelude::*;
use std::io::Cursor;

fn market(text: &str) -> Result<(ScalarCsr, Option<usize>), Located> {
    matrix_market::read_matrix(&mut Cursor::new(text.as_bytes()))
}

fn message(text: &str) -> String {
    market(text).expect_err("faulty").in_file(Path::new("a.mtx")).to_string()
}

/// Dense rows of a scalar matrix.
fn dense(m: &ScalarCsr) -> Vec<Vec<f64>> {
    let a = m.to_blocks(1).unwrap();
    let mut rows = vec![vec![0.0; m.cols()]; m.rows()];
    for (r, row) in rows.iter_mut().enumerate() {
        for k in a.pattern().range(r) {
            row[a.pattern().col_idx()[k] as usize] = a.values()[k];
        }
    }
    rows
}

#[test]
fn symmetries_and_fields() {
    let head = "%%MatrixMarket matrix coordinate";
    let general = format!("{head} real general\n% a comment\n\n2 3 3\n1 1 1.5\n2 3 -2e1\n1 2 3.5D+00\n");
    assert_eq!(dense(&market(&general).unwrap().0), [[1.5, 3.5, 0.0], [0.0, 0.0, -20.0]]);
    let symmetric = format!("{head} integer symmetric\n2 2 2\n1 1 4\n2 1 7\n");
    assert_eq!(dense(&market(&symmetric).unwrap().0), [[4.0, 7.0], [7.0, 0.0]]);
    let skew = format!("{head} real skew-symmetric\n2 2 1\n2 1 7\n");
    assert_eq!(dense(&market(&skew).unwrap().0), [[0.0, -7.0], [7.0, 0.0]]);
    let pattern = format!("{head} PATTERN general\n1 2 1\n1 2\n");
    assert_eq!(dense(&market(&pattern).unwrap().0), [[0.0, 1.0]]);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let written = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("\u{feff}{text}")).unwrap();
        path
    };
    let matrix = written("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n");
    written("a_b.mtx", "%%MatrixMarket matrix array real general\n2 1\n5\n6\n");
    let file = read_matrix(&matrix, Some(1)).unwrap();
    assert_eq!((file.matrix.values(), file.rhs.as_deref()), (&[3.0, 4.0][..], Some(&[5.0, 6.0][..])));
    let unknown = Fault::UnknownFormat.to_string();
    for (text, what) in [("", "an empty file"), ("\u{feff}", &unknown), ("2 2 2\n", &unknown)] {
        let error = read_matrix(&written("b.mtx", text), None).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

#[test]
fn faults_name_place_and_remedy() {
    let head = "%%MatrixMarket matrix coordinate real general\n";
    let said = |body: &str, what: &str| {
        let text = message(&format!("{head}{body}"));
        assert!(text.contains(what), "{text}");
    };
    said("2 2 2\n1 1 1\n", "line 4: the file ends after 1 of 2 entries");
    said("2 2 1\n1 1 1\n2 2 1\n", "line 4: the header promises 1 entries, but more follow");
    said("2 2 1\n3 1 1\n", "line 3: entry (3, 1) lies outside the matrix of 2 rows and 2 columns");
    said("2 2 1\n0 1 1\n", "entry (0, 1) lies outside");
    said("2 2 1\n1 2 nan\n", "line 3: the entry in row 1, column 2 is NaN");
    said("2 2 1\n1 2 1e999\n", "row 1, column 2 is inf");
    said("2 2 1\n1 2 zero\n", "expected a number, found `zero`");
    said("2 2 2\n1 2 1\n1 2 1\n", "entry (1, 2) is given twice");
    said("4000000000 4000000000 1\n1 1 1\n", "most rows would be empty");
    said("9000000000 1 1\n1 1 1\n", "more than 32-bit indices hold");
    said("two by two\n", "line 2: expected rows, columns and entries");
    assert!(message("%%MatrixMarket matrix coordinate complex general\n").contains("complex"));
    assert!(message("%%MatrixMarket matrix array real general\n2 2\n").contains("coordinate form"));
    assert!(message("%%MatrixMarket vector\n").contains("line 1: expected %%MatrixMarket matrix"));
    let (matrix, _) = market(&format!("{head}6 6 1\n1 1 1\n")).unwrap();
    let text = matrix.to_blocks(4).unwrap_err().to_string();
    assert!(text.contains("does not divide a matrix of 6 rows") && text.ends_with("1, 2, 3, 6"), "{text}");
}

#[test]
fn petsc_faults_name_the_byte() {
    let a = market("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n").unwrap().0;
    let mut bytes = Vec::new();
    petsc::write_matrix(&mut bytes, &a.to_blocks(1).unwrap()).unwrap();
    petsc::write_vector(&mut bytes, &[1.0, 2.0]).unwrap();
    // id, rows, cols, nnz | lengths 16 | columns 24 | values 32 | id, length 48 | values 56..72
    assert_eq!(bytes.len(), 72);
    let said = |change: &dyn Fn(&mut Vec<u8>), what: &str| {
        let mut bad = bytes.clone();
        change(&mut bad);
        let error = petsc::read_matrix(&mut Cursor::new(bad)).expect_err("faulty");
        let text = error.in_file(Path::new("a.petsc")).to_string();
        assert!(text.contains(what), "{text}");
    };
    assert!(petsc::read_matrix(&mut Cursor::new(bytes.clone())).is_ok());
    said(&|b| b.truncate(60), "byte 56: the file ends after 0 of 2 values");
    said(&|b| b.truncate(28), "byte 28: the file ends after 1 of 2 columns");
    said(&|b| b[27] = 9, "byte 24: entry (1, 10) lies outside");
    said(
        &|b| b[40..48].copy_from_slice(&f64::NAN.to_be_bytes()),
        "byte 40: the entry in row 2, column 2 is NaN",
    );
    said(&|b| b[19] = 2, "the row lengths add up to 3, but the header says 2");
    said(&|b| b[..4].reverse(), "little-endian");
    said(&|b| b[12..16].fill(255), "dense PETSc matrix");
    said(&|b| b[4] = 255, "expected a count");
    said(&|b| b[51] = 1, "expected the end, or a vector");
}

/// Complex numbers in single precision have the length of real ones in double; what they hold gives them away, and nothing else is taken for them.
#[test]
fn petsc_pairs_of_short_numbers_are_refused() {
    let n = 12;
    let with = |value: &dyn Fn(usize) -> f64| {
        let mut bytes = Vec::new();
        for number in [1_211_216, n, n, n].into_iter().chain(vec![1; n as usize]).chain(0..n) {
            bytes.extend(i32::to_be_bytes(number));
        }
        (0..n as usize).for_each(|i| bytes.extend(value(i).to_be_bytes()));
        petsc::read_matrix(&mut Cursor::new(bytes))
    };
    let pair = |i: usize| {
        let [re, im] = [4.1 + i as f32, 0.3 - 0.7 * i as f32].map(f32::to_bits);
        f64::from_bits(u64::from(re) << 32 | u64::from(im))
    };
    let error = with(&pair).expect_err("pairs").in_file(Path::new("a.petsc")).to_string();
    assert!(
        error.contains("complex ones in single precision") && error.contains("double precision"),
        "{error}"
    );
    let thirds = |i: usize| (i as f64 + 1.0) / 3.0;
    let short = |i: usize| f64::from(1.1_f32 + i as f32);
    let waves = |i: usize| 1e5 * (i as f64 + 0.5).sin();
    let wide = |i: usize| 10f64.powi(3 * i as i32 - 18) / 7.0;
    for value in [&thirds as &dyn Fn(usize) -> f64, &short, &waves, &wide, &|i| i as f64] {
        assert!(with(value).is_ok());
    }
}

#[test]
fn petsc_with_64_bit_indices() {
    let mut bytes = Vec::new();
    for n in [1_211_216_i64, 1, 1, 1, 1, 0] {
        bytes.extend(n.to_be_bytes());
    }
    bytes.extend(5.0_f64.to_be_bytes());
    for n in [1_211_214_i64, 1] {
        bytes.extend(n.to_be_bytes());
    }
    bytes.extend(6.0_f64.to_be_bytes());
    let (matrix, rhs) = petsc::read_matrix(&mut Cursor::new(bytes)).unwrap();
    assert_eq!((dense(&matrix), rhs), (vec![vec![5.0]], Some(vec![6.0])));
}

/// Other files are told what they are.
#[test]
fn other_formats_are_named() {
    let mut tar = vec![0; 1024];
    tar[..9].copy_from_slice(b"A/A.mtx\0\0");
    tar[257..262].copy_from_slice(b"ustar");
    let boeing = "1138 BUS POWER SYSTEM NETWORK                                           1138_BUS\n\
                  \u{20}          1054            90           245           719             0\n\
                  RSA                     1138          1138          2596             0\n(13I6) (16I5)\n";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.mtx");
    for (bytes, what) in [
        (&b""[..], "an empty file is not supported: write or copy it again"),
        (b"BZh91AY&SY", "packed by bzip2 is not supported: unpack it (bunzip2)"),
        (b"PK\x03\x04", "a zip archive"),
        (b"\x89HDF\r\n", "an HDF5 file"),
        (b"MATLAB 5.0 MAT-file", "a MATLAB file"),
        (&tar, "a tar archive is not supported: unpack it (tar xf)"),
        (boeing.as_bytes(), "a Harwell-Boeing file"),
        (b"1 1 4.0\n1 2 3.0\n2 2 1.0\n", "neither a Matrix Market file"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let matrix = read_matrix(&path, None).unwrap_err().to_string();
        assert!(matrix.contains(what), "{matrix}");
        assert!(read_vector(&path).unwrap_err().to_string().contains(what));
    }
    let packed = folder.path().join("a.mtx.gz");
    let mut file = AtomicFile::create(&packed).unwrap();
    file.write_all(&tar).unwrap();
    file.commit().unwrap();
    assert!(read_matrix(&packed, None).unwrap_err().to_string().contains("a tar archive"));
}

/// Full blocks on the diagonal, couplings of any kind beside them, on grids and on graphs without order.
#[test]
fn block_sizes_are_found_whatever_couplings_are() {
    let mut seed = 1_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize
    };
    let line = 14;
    let nodes = line * line;
    let grid: Vec<_> = (0..nodes)
        .flat_map(|i| {
            [(i, i + 1), (i, i + line)]
                .into_iter()
                .filter(move |e| e.1 < nodes && (e.1 != i + 1 || e.1 % line > 0))
        })
        .collect();
    let graph: Vec<_> =
        (0..6 * nodes).map(|_| (random() % nodes, random() % nodes)).filter(|e| e.0 != e.1).collect();
    for nb in 1..=8 {
        for (shape, edges) in [("grid", &grid), ("graph", &graph)] {
            for kind in ["full", "diagonal", "triangular", "random"] {
                let mut places = std::collections::BTreeSet::new();
                for node in 0..nodes {
                    places.extend((0..nb * nb).map(|k| (node * nb + k / nb, node * nb + k % nb)));
                }
                for (from, to) in edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]) {
                    for (r, c) in (0..nb * nb).map(|k| (k / nb, k % nb)) {
                        let coupled = match kind {
                            "full" => true,
                            "diagonal" => r == c,
                            "triangular" => r >= c,
                            _ => r == c || random() % 10 < 3,
                        };
                        if coupled {
                            places.insert((from * nb + r, to * nb + c));
                        }
                    }
                }
                let entries: Vec<_> = places.iter().map(|&(r, c)| (r as u32, c as u32, 1.0)).collect();
                let n = nodes * nb;
                let found = detect_block_size(&ScalarCsr::from_entries(n, n, &entries).unwrap());
                assert_eq!(found, nb, "{kind} couplings on a {shape}");
            }
        }
    }
    // Lines of a grid are no blocks, nor are cliques with few couplings between them.
    for line in 5..=16 {
        let near = |i: u32, j: u32| i.abs_diff(j) == line || (i.abs_diff(j) <= 1 && i / line == j / line);
        let n = 40 * line;
        let grid: Vec<_> = (0..n * n).map(|k| (k / n, k % n, 1.0)).filter(|e| near(e.0, e.1)).collect();
        let found = detect_block_size(&ScalarCsr::from_entries(n as usize, n as usize, &grid).unwrap());
        assert_eq!(found, 1, "lines of {line}");
    }
    let mut places: std::collections::BTreeSet<_> =
        (0..320).flat_map(|i| (0..8).map(move |j| (i, i / 8 * 8 + j))).collect();
    places.extend((0..800).map(|_| (random() % 320, random() % 320)));
    let cliques: Vec<_> = places.iter().map(|&(r, c)| (r as u32, c as u32, 1.0)).collect();
    assert_eq!(detect_block_size(&ScalarCsr::from_entries(320, 320, &cliques).unwrap()), 1);
}

/// The lines of both, comments and images of symmetric files left out.
#[test]
fn entries_given_twice_have_their_lines() {
    let head = "%%MatrixMarket matrix coordinate real";
    let said = |text: String| message(&text);
    let general = said(format!("{head} general\n% no\n3 3 4\n1 1 1\n\n2 1 5\n% why\n3 3 1\n2 1 6\n"));
    assert!(general.contains("line 9: entry (2, 1) is given twice, in line 6 before: add up"), "{general}");
    let symmetric = said(format!("{head} symmetric\n3 3 5\n1 1 1\n2 1 5\n2 2 1\n3 3 1\n1 2 5\n"));
    assert!(symmetric.contains("line 7") && symmetric.contains("in line 4 before"), "{symmetric}");
}

#[test]
fn block_sizes_are_found_where_blocks_are() {
    // Tridiagonal blocks with holes in them; a scalar band has no block size.
    for nb in [2_usize, 3, 4, 5, 7] {
        let n = 40 * nb;
        let mut entries = Vec::new();
        for i in 0..n {
            for j in 0..n {
                if (i / nb).abs_diff(j / nb) <= 1 && (i == j || !(i * 5 + j * 3).is_multiple_of(4)) {
                    entries.push((i as u32, j as u32, 1.0));
                }
            }
        }
        assert_eq!(detect_block_size(&ScalarCsr::from_entries(n, n, &entries).unwrap()), nb);
    }
    let band: Vec<_> =
        (0..64_u32).flat_map(|i| (i.saturating_sub(2)..64.min(i + 3)).map(move |j| (i, j, 1.0))).collect();
    assert_eq!(detect_block_size(&ScalarCsr::from_entries(64, 64, &band).unwrap()), 1);
    // A scalar five-point stencil with lines of eight has none either.
    let near = |i: u32, j: u32| i.abs_diff(j) == 8 || (i.abs_diff(j) <= 1 && i / 8 == j / 8);
    let grid: Vec<_> = (0..256 * 256).map(|k| (k / 256, k % 256, 1.0)).filter(|e| near(e.0, e.1)).collect();
    assert_eq!(detect_block_size(&ScalarCsr::from_entries(256, 256, &grid).unwrap()), 1);
    assert_eq!(detect_block_size(&ScalarCsr::from_entries(0, 0, &[]).unwrap()), 1);
    // The same holes in every block, and far more holes than entries: found by its period.
    let hole = |i: u32, j: u32| i % 7 != j % 7 && !(i % 7 + 2 * (j % 7)).is_multiple_of(5);
    let near = |i: u32, j: u32| (i / 7).abs_diff(j / 7) <= 2 && !hole(i, j);
    let holes: Vec<_> = (0..280 * 280).map(|k| (k / 280, k % 280, 1.0)).filter(|e| near(e.0, e.1)).collect();
    assert_eq!(detect_block_size(&ScalarCsr::from_entries(280, 280, &holes).unwrap()), 7);
    if let Some(path) = chromaflow_testkit::data("matrices/DK01R.mtx.xz") {
        assert_eq!(read_matrix(&path, None).unwrap().matrix.nb(), 7);
    }
}

#[test]
fn names_of_companions() {
    let name = |p: &str| sibling(Path::new(p), "_b").to_string_lossy().into_owned();
    assert_eq!(name("d/a.x.mtx.xz"), "d/a.x_b.mtx.xz");
    assert_eq!(name("a.mtx"), "a_b.mtx");
    assert_eq!(info_path(Path::new("a.petsc.gz")), Path::new("a.petsc.info"));
}

fn random_matrix() -> impl Strategy<Value = BlockCsr> {
    let value = prop_oneof![Just(0.0), -1e3..1e3, any::<f64>().prop_filter("finite", |v| v.is_finite())];
    (1..7_usize, 1..5_usize, proptest::collection::btree_set((0..7_usize, 0..7_usize), 1..20)).prop_flat_map(
        move |(n, nb, blocks)| {
            let mut row_ptr = vec![0];
            let mut col_idx = Vec::new();
            for row in 0..n {
                let columns: std::collections::BTreeSet<u32> =
                    blocks.iter().filter(|b| b.0 % n == row).map(|b| (b.1 % n) as u32).collect();
                col_idx.extend(columns);
                row_ptr.push(col_idx.len() as u32);
            }
            let pattern = crate::BlockPattern::new(n, row_ptr, col_idx).unwrap();
            let values = proptest::collection::vec(value.clone(), pattern.nnzb() * nb * nb);
            values.prop_map(move |values| BlockCsr::new(pattern.clone(), nb, values).unwrap())
        },
    )
}

fn bytes_of(a: &BlockCsr, format: Format, rhs: &[f64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    match format {
        Format::MatrixMarket => matrix_market::write_matrix(&mut bytes, a).unwrap(),
        Format::Petsc => {
            petsc::write_matrix(&mut bytes, a).unwrap();
            petsc::write_vector(&mut bytes, rhs).unwrap();
        }
    }
    bytes
}

fn read_bytes(bytes: &[u8], format: Format, nb: usize) -> Result<BlockCsr, Fault> {
    let mut input = Cursor::new(bytes);
    let scalar = match format {
        Format::MatrixMarket => matrix_market::read_matrix(&mut input).map_err(|e| e.fault)?.0,
        Format::Petsc => petsc::read_matrix(&mut input).map_err(|e| e.fault)?.0,
    };
    scalar.to_blocks(nb)
}

proptest! {
    #[test]
    fn what_is_written_comes_back(a in random_matrix(), petsc: bool) {
        let format = if petsc { Format::Petsc } else { Format::MatrixMarket };
        let rhs = vec![1.0; a.pattern().rows() * a.nb()];
        let back = read_bytes(&bytes_of(&a, format, &rhs), format, a.nb()).unwrap();
        prop_assert_eq!(a.pattern(), back.pattern());
        prop_assert_eq!(a.values(), back.values());
    }

    #[test]
    fn truncated_files_are_refused(a in random_matrix(), petsc: bool, at: proptest::sample::Index) {
        let format = if petsc { Format::Petsc } else { Format::MatrixMarket };
        let rhs = vec![1.0; a.pattern().rows() * a.nb()];
        let bytes = bytes_of(&a, format, &rhs);
        let cut = at.index(bytes.len());
        let read = read_bytes(&bytes[..cut], format, 1);
        // Three cuts leave a whole file: after the last digit, inside the last number, before the vector.
        let last_line = bytes[..bytes.len() - 1].iter().rposition(|&b| b == b'\n').unwrap_or(0);
        let whole = if petsc { bytes.len() - 8 - 8 * rhs.len() == cut } else { cut > last_line };
        prop_assert!(read.is_err() || whole);
    }

    #[test]
    fn corrupt_files_never_panic(
        a in random_matrix(),
        petsc: bool,
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let format = if petsc { Format::Petsc } else { Format::MatrixMarket };
        let rhs = vec![1.0; a.pattern().rows() * a.nb()];
        let mut bytes = bytes_of(&a, format, &rhs);
        for (at, byte) in changes {
            let at = at.index(bytes.len().min(200));
            bytes[at] = byte;
        }
        let _ = read_bytes(&bytes, format, 1);
        let _ = petsc::read_vector(&mut Cursor::new(&bytes));
        let _ = matrix_market::read_vector(&mut Cursor::new(&bytes));
    }
}
