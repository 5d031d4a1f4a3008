//! Synthetic problems named by a string, the same in every program that builds them.
//!
//! | case | problem |
//! |---|---|
//! | `kuhn:NX,NY,NZ:NB` | vertices of a box cut into Kuhn tetrahedra, 14 neighbors inside, row = i + NX (j + NY k) |
//! | `kuhn:NX,NY,NZ:NB:mc4` | the same, renumbered by color (i + j + k) mod 4, natural order within a color |
//! | `grid7:I,J,K:NB` | 7-point stencil, row = i + I (j + J k) |
//! | `btri:NSYS,NROW:M` | independent block tridiagonal systems of rank M |
//!
//! In place of NB, `kuhn` and `grid7` take sizes to concatenate: `grid7:I,J,K:4+6` has blocks of 10, with the systems
//! `grid7:I,J,K:4` and `grid7:I,J,K:6` on their diagonals and zeros elsewhere, so that its solution is the two systems' solutions
//! (Luo et al. 2015, section 4.3).
//!
//! Every value is a pure function of a stream number and a linear index. Values are multiples of 2^-24 in
//! [-0.5, 0.5), exact in f32; rows are strictly diagonally dominant. Blocks are column-major.

use std::fmt;
use std::str::FromStr;

const STREAM_OFF: u64 = 1;
const STREAM_DIAG: u64 = 2;
const STREAM_RHS: u64 = 3;
const STREAM_GUESS: u64 = 4;
const STREAM_LOWER: u64 = 11;
const STREAM_MIDDLE: u64 = 12;
const STREAM_UPPER: u64 = 13;
const STREAM_LINE_RHS: u64 = 14;

/// Which problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Vertices of a box cut into Kuhn tetrahedra; `true`: renumbered by four colors.
    Kuhn(bool),
    /// 7-point stencil.
    Grid7,
    /// Block tridiagonal systems.
    BlockTridiagonal,
}

/// A problem, its size and its block size.
///
/// ```
/// let case: chromaflow::gallery::Case = "kuhn:4,3,2:2".parse()?;
/// let system = case.pattern();
/// assert_eq!((case.rows(), system.col_idx.len()), (24, 162));
/// assert_eq!(case.diag(0, 3, 0, 0), 0.11630183458328247 + 0.5 * 4.0 * 2.0 + 1.0);
/// # Ok::<(), chromaflow::gallery::BadCase>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// Which problem.
    pub kind: Kind,
    /// NX, NY, NZ or I, J, K or NSYS, NROW, 1.
    pub dims: [usize; 3],
    /// Block size.
    pub nb: usize,
    /// Block sizes of the systems that are concatenated to this one: `[nb]` where it is a single one.
    pub parts: Vec<usize>,
}

/// The off-diagonal pattern of a case: columns ascend, the diagonal is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CasePattern {
    /// `[rows + 1]`.
    pub row_ptr: Vec<u32>,
    /// `[nnzb]`.
    pub col_idx: Vec<u32>,
    /// First row of each color and the end, where the case is in color order.
    pub colors: Option<Vec<u32>>,
}

/// A batch of block tridiagonal systems, `[system, row, column of block, row of block]`; the first `lower` and the
/// last `upper` block of each system are zero.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockTridiagonal {
    /// Blocks left of the diagonal.
    pub lower: Vec<f64>,
    /// Blocks on the diagonal.
    pub middle: Vec<f64>,
    /// Blocks right of the diagonal.
    pub upper: Vec<f64>,
    /// Right-hand sides, `[system, row, row of block]`.
    pub rhs: Vec<f64>,
}

/// A case string that is not one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCase(String);

impl fmt::Display for BadCase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "unknown case `{}`: expected kuhn:NX,NY,NZ:NB[:mc4], grid7:I,J,K:NB or btri:NSYS,NROW:M with sizes of at \
             least 1 (NB: a number, or 4+6 to concatenate)",
            self.0
        )
    }
}

impl std::error::Error for BadCase {}

impl FromStr for Case {
    type Err = BadCase;

    fn from_str(text: &str) -> Result<Self, BadCase> {
        let parse = || {
            let mut words = text.split(':');
            let (kind, sizes, nb) = (words.next()?, words.next()?, words.next()?);
            let order = words.next();
            let sizes: Vec<usize> = sizes.split(',').map(|s| s.parse().ok()).collect::<Option<_>>()?;
            let (kind, dims) = match (kind, &sizes[..], order) {
                ("kuhn", &[x, y, z], None) => (Kind::Kuhn(false), [x, y, z]),
                ("kuhn", &[x, y, z], Some("mc4")) => (Kind::Kuhn(true), [x, y, z]),
                ("grid7", &[x, y, z], None) => (Kind::Grid7, [x, y, z]),
                ("btri", &[systems, rows], None) => (Kind::BlockTridiagonal, [systems, rows, 1]),
                _ => return None,
            };
            let parts: Vec<usize> = nb.split('+').map(|m| m.parse().ok()).collect::<Option<_>>()?;
            let nb = parts.iter().try_fold(0_usize, |n, &m| n.checked_add(m))?;
            let splits = parts.len() == 1 || kind != Kind::BlockTridiagonal;
            let rows = dims.iter().try_fold(1_usize, |n, &d| n.checked_mul(d))?;
            let fits = u32::try_from(rows.checked_mul(15)?).is_ok() && (1..=128).contains(&nb);
            let whole = rows > 0 && parts.iter().all(|&m| m > 0);
            (whole && fits && splits && words.next().is_none()).then_some(Case { kind, dims, nb, parts })
        };
        parse().ok_or_else(|| BadCase(text.to_owned()))
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.dims;
        let nb = self.parts.iter().map(usize::to_string).collect::<Vec<_>>().join("+");
        match self.kind {
            Kind::Kuhn(false) => write!(f, "kuhn:{x},{y},{z}:{nb}"),
            Kind::Kuhn(true) => write!(f, "kuhn:{x},{y},{z}:{nb}:mc4"),
            Kind::Grid7 => write!(f, "grid7:{x},{y},{z}:{nb}"),
            Kind::BlockTridiagonal => write!(f, "btri:{x},{y}:{nb}"),
        }
    }
}

/// Neighbors of a vertex of a box cut into Kuhn tetrahedra: the nonzero vectors of {0, 1}^3 and their negatives.
const KUHN: [[i64; 3]; 14] = [
    [-1, -1, -1],
    [0, -1, -1],
    [-1, 0, -1],
    [0, 0, -1],
    [-1, -1, 0],
    [0, -1, 0],
    [-1, 0, 0],
    [1, 0, 0],
    [0, 1, 0],
    [1, 1, 0],
    [0, 0, 1],
    [1, 0, 1],
    [0, 1, 1],
    [1, 1, 1],
];
const GRID7: [[i64; 3]; 6] = [[0, 0, -1], [0, -1, 0], [-1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]];

impl Case {
    /// Number of block rows, those of all systems together.
    pub fn rows(&self) -> usize {
        self.dims.iter().product()
    }

    /// Where the off-diagonal blocks are.
    ///
    /// # Panics
    /// For block tridiagonal systems, whose pattern is implied.
    pub fn pattern(&self) -> CasePattern {
        let offsets: &[[i64; 3]] = match self.kind {
            Kind::Kuhn(_) => &KUHN,
            Kind::Grid7 => &GRID7,
            Kind::BlockTridiagonal => panic!("a block tridiagonal case has no stored pattern"),
        };
        let n = self.rows();
        let [nx, ny, nz] = self.dims;
        let place = |row: usize| [row % nx, row / nx % ny, row / (nx * ny)];
        let (mut old_of_new, mut colors) = ((0..n).collect::<Vec<_>>(), None);
        if self.kind == Kind::Kuhn(true) {
            let color = |&row: &usize| place(row).iter().sum::<usize>() % 4;
            old_of_new.sort_by_key(color); // stable: natural order within a color
            let ends = (0..=4).map(|c| old_of_new.partition_point(|row| color(row) < c) as u32);
            colors = Some(ends.collect());
        }
        let mut new_of_old = vec![0; n];
        for (new, &old) in old_of_new.iter().enumerate() {
            new_of_old[old] = new as u32;
        }
        let mut row_ptr = Vec::with_capacity(n + 1);
        let mut col_idx = Vec::with_capacity(n * offsets.len());
        row_ptr.push(0);
        for &old in &old_of_new {
            let start = col_idx.len();
            let [i, j, k] = place(old).map(|v| v as i64);
            for &[di, dj, dk] in offsets {
                let (i, j, k) = (i + di, j + dj, k + dk);
                if (0..nx as i64).contains(&i) && (0..ny as i64).contains(&j) && (0..nz as i64).contains(&k) {
                    col_idx.push(new_of_old[i as usize + nx * (j as usize + ny * k as usize)]);
                }
            }
            col_idx[start..].sort_unstable();
            row_ptr.push(col_idx.len() as u32);
        }
        CasePattern { row_ptr, col_idx, colors }
    }

    /// First unknown and number of unknowns of the concatenated system that has unknown `r`.
    fn part(&self, r: usize) -> (usize, usize) {
        let mut start = 0;
        for &m in &self.parts {
            if r < start + m {
                return (start, m);
            }
            start += m;
        }
        panic!("unknown {r} of a block of {}", self.nb)
    }

    /// Values of the off-diagonal blocks from position `first_block` on, column-major, as many blocks as `values` holds.
    pub fn fill_off(&self, first_block: usize, values: &mut [f32]) {
        let (base, nb) = (base(STREAM_OFF), self.nb);
        for (block, values) in (first_block..).zip(values.chunks_exact_mut(nb * nb)) {
            for (c, column) in values.chunks_exact_mut(nb).enumerate() {
                let (start, m) = self.part(c);
                column.fill(0.0);
                for (r, v) in column[start..start + m].iter_mut().enumerate() {
                    *v = value(base, (block * m + c - start) * m + r) as f32;
                }
            }
        }
    }

    /// Element (`r`, `c`) of the diagonal block of `row`, which has `degree` neighbors.
    pub fn diag(&self, row: usize, degree: usize, r: usize, c: usize) -> f64 {
        let (start, m) = self.part(c);
        if !(start..start + m).contains(&r) {
            return 0.0;
        }
        let dominance = if r == c { 0.5 * ((degree + 1) * m) as f64 + 1.0 } else { 0.0 };
        value(base(STREAM_DIAG), (row * m + c - start) * m + r - start) + dominance
    }

    /// The diagonal block of `row`, column-major.
    pub fn fill_diag(&self, row: usize, degree: usize, block: &mut [f64]) {
        for c in 0..self.nb {
            for r in 0..self.nb {
                block[c * self.nb + r] = self.diag(row, degree, r, c);
            }
        }
    }

    /// Entry `i` (= row * nb + r) of the right-hand side.
    pub fn rhs(&self, i: usize) -> f64 {
        self.entry(STREAM_RHS, i)
    }

    /// Entry `i` of the first guess.
    pub fn guess(&self, i: usize) -> f64 {
        self.entry(STREAM_GUESS, i)
    }

    /// Entry `i` of a vector.
    fn entry(&self, stream: u64, i: usize) -> f64 {
        let (row, r) = (i / self.nb, i % self.nb);
        let (start, m) = self.part(r);
        value(base(stream), row * m + r - start)
    }

    /// The systems of a `btri` case.
    pub fn block_tridiagonal(&self) -> BlockTridiagonal {
        let ([systems, rows, _], m) = (self.dims, self.nb);
        let q = m * m;
        let blocks = |stream, keep: &dyn Fn(usize) -> bool, shift: f64| {
            let base = base(stream);
            (0..systems * rows * q)
                .map(|i| {
                    let diagonal = i % q % m == i % q / m;
                    let v = value(base, i) + if diagonal { shift } else { 0.0 };
                    if keep(i / q % rows) { v } else { 0.0 }
                })
                .collect()
        };
        let rhs = base(STREAM_LINE_RHS);
        BlockTridiagonal {
            lower: blocks(STREAM_LOWER, &|row| row > 0, 0.0),
            middle: blocks(STREAM_MIDDLE, &|_| true, 1.5 * m as f64 + 1.0),
            upper: blocks(STREAM_UPPER, &|row| row + 1 < rows, 0.0),
            rhs: (0..systems * rows * m).map(|i| value(rhs, i)).collect(),
        }
    }
}

fn splitmix(z: u64) -> u64 {
    let z = z.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

pub(super) fn base(stream: u64) -> u64 {
    splitmix(0x0134_D8DF ^ stream.wrapping_mul(0xD134_2543_DE82_EF95))
}

pub(super) fn value(base: u64, i: usize) -> f64 {
    (splitmix(base.wrapping_add(i as u64)) >> 40) as f64 / 16_777_216.0 - 0.5
}

#[cfg(test)]
#[allow(clippy::excessive_precision)] // digits as the other generators print them
mod tests {
    use super::*;

    /// Check values that an independent C++ generator and an independent Python one agree on.
    #[test]
    fn agrees_with_other_generators() {
        for (name, n, nnz, hash, d0, last, sum) in [
            ("kuhn:4,3,2:2", 24, 162, 490438235, 9.1163018345832825, 0.011470019817352295, 0.295666098595),
            (
                "kuhn:18,18,18:5",
                5832,
                74086,
                755106291,
                21.116301834583282,
                -0.16660046577453613,
                -271.513694763,
            ),
            (
                "kuhn:18,18,18:5:mc4",
                5832,
                74086,
                247816016,
                21.116301834583282,
                -0.16660046577453613,
                -271.513694763,
            ),
            ("grid7:4,3,2:6", 24, 92, 80491528, 13.116301834583282, 0.47019946575164795, -2.76362168789),
        ] {
            let case: Case = name.parse().unwrap();
            assert_eq!(case.to_string(), name);
            let p = case.pattern();
            assert_eq!((case.rows(), p.col_idx.len()), (n, nnz));
            let found = p.col_idx.iter().fold(0_u64, |h, &c| (31 * h + u64::from(c)) % 1_000_000_007);
            assert_eq!(found, hash, "{name}");
            let mut off = vec![0.0; nnz * case.nb * case.nb];
            case.fill_off(0, &mut off);
            assert_eq!(off[0], 0.23122179508209229);
            assert_eq!(f64::from(off[off.len() - 1]), last);
            let total: f64 = off.iter().map(|&v| f64::from(v)).sum();
            assert!((total - sum).abs() < 1e-9 * sum.abs(), "{name}: {total}");
            assert_eq!(case.diag(0, p.row_ptr[1] as usize, 0, 0), d0);
            assert_eq!((case.rhs(0), case.guess(0)), (0.44480901956558228, 0.24749314785003662));
        }
    }

    #[test]
    fn block_tridiagonal_check_values() {
        let t = "btri:16,8:5".parse::<Case>().unwrap().block_tridiagonal();
        assert_eq!(t.lower[25], -0.47065353393554688);
        assert_eq!(t.middle[0], 8.7624402046203613);
        assert_eq!(t.upper[0], 0.071946918964385986);
        assert_eq!(t.rhs[0], -0.30097019672393799);
        assert!(t.lower[..25].iter().chain(&t.upper[7 * 25..8 * 25]).all(|&v| v == 0.0));
    }

    #[test]
    fn no_edge_joins_two_rows_of_a_color() {
        let p = "kuhn:7,5,6:1:mc4".parse::<Case>().unwrap().pattern();
        let colors = p.colors.unwrap();
        assert_eq!(colors.len(), 5);
        let color = |row: u32| colors.partition_point(|&first| first <= row);
        for row in 0..210 {
            for &col in &p.col_idx[p.row_ptr[row] as usize..p.row_ptr[row + 1] as usize] {
                assert_ne!(color(row as u32), color(col));
            }
        }
    }

    #[test]
    fn concatenated_systems_lie_side_by_side() {
        let [whole, first, second] =
            ["grid7:2,2,2:3+2", "grid7:2,2,2:3", "grid7:2,2,2:2"].map(|name| name.parse::<Case>().unwrap());
        assert_eq!((whole.nb, whole.to_string().as_str()), (5, "grid7:2,2,2:3+2"));
        let (mut off, mut off1, mut off2) = ([0.5; 50], [0.0; 18], [0.0; 8]);
        whole.fill_off(7, &mut off);
        first.fill_off(7, &mut off1);
        second.fill_off(7, &mut off2);
        for (r, c) in (0..25).map(|i| (i % 5, i / 5)) {
            for block in 0..2 {
                let at = |v: &[f32], nb: usize, r: usize, c: usize| {
                    v.get(block * nb * nb + c * nb + r).copied().map_or(0.0, f64::from)
                };
                let expected = match (r < 3, c < 3) {
                    (true, true) => at(&off1, 3, r, c),
                    (false, false) => at(&off2, 2, r - 3, c - 3),
                    _ => 0.0,
                };
                assert_eq!(at(&off, 5, r, c), expected);
            }
            let expected = match (r < 3, c < 3) {
                (true, true) => first.diag(6, 3, r, c),
                (false, false) => second.diag(6, 3, r - 3, c - 3),
                _ => 0.0,
            };
            assert_eq!(whole.diag(6, 3, r, c), expected);
        }
        let cell = |case: &Case| (0..case.nb).map(|r| case.rhs(4 * case.nb + r)).collect::<Vec<_>>();
        assert_eq!(cell(&whole), [cell(&first), cell(&second)].concat());
    }

    #[test]
    fn bad_cases_say_what_was_expected() {
        for bad in [
            "",
            "kuhn",
            "kuhn:1,2:5",
            "kuhn:0,1,1:5",
            "kuhn:2,2,2:5:mc5",
            "grid7:2,2,2:0",
            "btri:4:4",
            "btri:4,4:2+2",
            "grid7:2,2,2:4+0",
            "grid7:2,2,2:4+",
            "grid7:2,2,2:100+29",
            "x:1,1,1:1",
        ] {
            assert!(bad.parse::<Case>().unwrap_err().to_string().contains("expected kuhn"), "{bad}");
        }
    }
}
