//! PETSc binary files.
//!
//! All numbers are big endian. A matrix is the class id, rows, columns, entries, the length of each row, the columns,
//! the values, scalar row by scalar row whether it was AIJ or BAIJ; a vector is the class id, its length, the values.
//! Values are real numbers in double precision. The file does not say so: single precision and complex numbers are found out by the length, and
//! complex ones in single precision by what they look like ([`are_pairs`]), if enough of them have an imaginary part.
//! A build with 64-bit indices writes all integers with eight bytes, the class id too, which tells it.

use super::error::Located;
use super::scalar::for_entries;
use super::{Fault, Place, ScalarCsr};
use crate::BlockCsr;
use std::io::{self, BufRead, Write};

const MATRIX: i64 = 1_211_216;
const VECTOR: i64 = 1_211_214;
/// Bytes read at a time, so that memory grows with what is there and not with what the header says.
const PIECE: usize = 1 << 20;

struct Reader<'a> {
    input: &'a mut dyn BufRead,
    at: u64,
    /// Bytes of an integer.
    int: usize,
}

impl Reader<'_> {
    fn here(&self) -> Place {
        Place::Byte(self.at)
    }

    /// Up to `count` items of `width` bytes, decoded one by one; an error where fewer are there.
    fn items<T>(
        &mut self,
        what: &'static str,
        count: usize,
        width: usize,
        mut decode: impl FnMut(usize, &[u8]) -> Result<T, Fault>,
    ) -> Result<Vec<T>, Located> {
        let mut items = Vec::new();
        let mut bytes = vec![0; (PIECE / width).min(count) * width];
        while items.len() < count {
            let wanted = ((count - items.len()) * width).min(bytes.len());
            let got = fill(self.input, &mut bytes[..wanted]).map_err(|e| self.here().fault(e.into()))?;
            for item in bytes[..got].chunks_exact(width) {
                items.push(decode(items.len(), item).map_err(|fault| self.here().fault(fault))?);
                self.at += width as u64;
            }
            if got < wanted {
                let fault = Fault::Truncated { what, found: items.len(), expected: count };
                return Err(self.here().fault(fault));
            }
        }
        Ok(items)
    }

    fn ints(&mut self, what: &'static str, count: usize) -> Result<Vec<i64>, Located> {
        let int = self.int;
        self.items(what, count, int, |_, bytes| Ok(decode_int(bytes)))
    }

    fn reals(&mut self, count: usize, place: impl Fn(usize) -> (usize, usize)) -> Result<Vec<f64>, Located> {
        self.items("values", count, 8, |i, bytes| {
            let value = f64::from_be_bytes(bytes.try_into().expect("eight bytes"));
            if value.is_finite() {
                return Ok(value);
            }
            let (row, col) = place(i);
            Err(Fault::NotFinite { row, col, value })
        })
    }

    /// A class id, which tells the width of integers; `None` at the end of the file.
    fn class_id(&mut self) -> Result<Option<i64>, Located> {
        let place = self.here();
        let mut bytes = [0; 4];
        let got = fill(self.input, &mut bytes).map_err(|e| place.fault(e.into()))?;
        if got == 0 {
            return Ok(None);
        }
        self.at += got as u64;
        self.int = 4;
        if got == 4 && bytes == [0; 4] {
            self.int = 8;
            let more = fill(self.input, &mut bytes).map_err(|e| place.fault(e.into()))?;
            self.at += more as u64;
        }
        let id = i64::from(i32::from_be_bytes(bytes));
        let swapped = i64::from(i32::from_le_bytes(bytes));
        if [MATRIX, VECTOR].contains(&swapped) {
            let what = "a little-endian PETSc file".to_owned();
            return Err(
                place.fault(Fault::Unsupported { what, remedy: "PETSc itself writes big-endian files" })
            );
        }
        Ok(Some(id))
    }
}

fn decode_int(bytes: &[u8]) -> i64 {
    match bytes.try_into() {
        Ok(four) => i64::from(i32::from_be_bytes(four)),
        Err(_) => i64::from_be_bytes(bytes.try_into().expect("four or eight bytes")),
    }
}

/// Reads until `bytes` is full or the input ends; how many were read.
fn fill(input: &mut dyn BufRead, bytes: &mut [u8]) -> io::Result<usize> {
    let mut at = 0;
    while at < bytes.len() {
        match input.read(&mut bytes[at..]) {
            Ok(0) => break,
            Ok(n) => at += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(at)
}

fn count(what: &'static str, value: i64) -> Result<usize, Fault> {
    match u32::try_from(value) {
        Ok(n) => Ok(n as usize),
        Err(_) if value < 0 => Err(Fault::expected("a count of rows, columns or entries", value.to_string())),
        Err(_) => Err(Fault::TooLarge { what, count: value as u64 }),
    }
}

/// Whether these are two numbers of 32 bits each: at least eight have second halves that single precision alone does not explain, and all halves
/// lie, as such numbers, within six orders of 1, which the ends of mantissas do one time in six.
fn are_pairs(values: &[f64]) -> bool {
    let halves = |v: &f64| [(v.to_bits() >> 32) as u32, v.to_bits() as u32];
    let near_one = |half: u32| half == 0 || (1e-6..1e6).contains(&f32::from_bits(half).abs());
    let full = values.iter().filter(|v| halves(v)[1] & 0x1fff_ffff != 0).count();
    full >= 8 && values.iter().flat_map(halves).all(near_one)
}

/// The matrix, and the vector that follows it.
pub(super) fn read_matrix(input: &mut dyn BufRead) -> Result<(ScalarCsr, Option<Vec<f64>>), Located> {
    let mut file = Reader { input, at: 0, int: 4 };
    match file.class_id()? {
        Some(MATRIX) => {}
        Some(VECTOR) => {
            let fault = Fault::expected("a matrix (class id 1211216)", "a vector (1211214)");
            return Err(Place::Byte(0).fault(fault));
        }
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |id| id.to_string());
            return Err(Place::Byte(0).fault(Fault::expected("PETSc's class id of a matrix, 1211216", found)));
        }
    }
    let place = file.here();
    let header = file.ints("numbers of the header", 3)?;
    if header[2] == -1 {
        let what = "a dense PETSc matrix".to_owned();
        return Err(
            place.fault(Fault::Unsupported { what, remedy: "convert it to AIJ or BAIJ before writing" })
        );
    }
    let sizes = [("rows", 0), ("columns", 1), ("entries", 2)].map(|(what, i)| count(what, header[i]));
    let [rows, cols, nnz] = sizes.map(|size| size.map_err(|fault| place.fault(fault)));
    let (rows, cols, nnz) = (rows?, cols?, nnz?);
    let place = file.here();
    let mut row_ptr = vec![0_usize];
    let mut sum = 0_u64;
    for length in file.ints("row lengths", rows)? {
        let length = u64::try_from(length)
            .map_err(|_| place.fault(Fault::expected("a row length", length.to_string())))?;
        sum = sum.saturating_add(length);
        row_ptr.push(usize::try_from(sum).unwrap_or(usize::MAX));
    }
    if sum != nnz as u64 {
        return Err(place.fault(Fault::Counts { sum, nnz: nnz as u64 }));
    }
    let row_of = |i: usize| row_ptr.partition_point(|&p| p <= i); // from 1
    let int = file.int;
    let col_idx: Vec<u32> = file.items("columns", nnz, int, |i, bytes| {
        let col = decode_int(bytes);
        if (0..cols as i64).contains(&col) {
            Ok(col as u32)
        } else {
            Err(Fault::Index { row: row_of(i) as i64, col: col.saturating_add(1), rows, cols })
        }
    })?;
    let place = file.here();
    let values = file.reals(nnz, |i| (row_of(i), col_idx[i] as usize + 1))?;
    if are_pairs(&values) {
        let what = "values that are pairs of 32-bit numbers, complex ones in single precision,".to_owned();
        let remedy = "write real numbers in double precision, as PETSc's usual build does";
        return Err(place.fault(Fault::Unsupported { what, remedy }));
    }
    let rhs = match file.class_id()? {
        None => None,
        Some(VECTOR) => Some(vector_body(&mut file)?),
        Some(other) => {
            let fault = Fault::expected(
                "the end, or a vector (class id 1211214), after values that are real numbers of 64 bits (single precision and complex numbers have other \
                 lengths)",
                other.to_string(),
            );
            return Err(file.here().fault(fault));
        }
    };
    let matrix = ScalarCsr::from_rows(cols, row_ptr, col_idx, values).map_err(|f| Place::File.fault(f))?;
    // A matrix without columns to speak of is as suspicious as one without rows.
    if cols > nnz.max(1 << 20) {
        return Err(place.fault(Fault::TooSparse { rows, cols, nnz }));
    }
    Ok((matrix, rhs))
}

pub(super) fn read_vector(input: &mut dyn BufRead) -> Result<Vec<f64>, Located> {
    let mut file = Reader { input, at: 0, int: 4 };
    match file.class_id()? {
        Some(VECTOR) => vector_body(&mut file),
        other => {
            let found = other.map_or_else(|| "nothing".to_owned(), |id| id.to_string());
            Err(Place::Byte(0).fault(Fault::expected("PETSc's class id of a vector, 1211214", found)))
        }
    }
}

fn vector_body(file: &mut Reader<'_>) -> Result<Vec<f64>, Located> {
    let place = file.here();
    let len = file.ints("vector lengths", 1)?[0];
    let len = count("entries", len).map_err(|fault| place.fault(fault))?;
    file.reals(len, |i| (i + 1, 1))
}

pub(super) fn write_matrix(out: &mut dyn Write, matrix: &BlockCsr) -> io::Result<()> {
    let (pattern, nb) = (matrix.pattern(), matrix.nb());
    let entries = pattern.nnzb() * nb * nb;
    let too_large = || io::Error::other("the matrix has more entries than PETSc's 32-bit integers count");
    let int = |n: usize| i32::try_from(n).map(i32::to_be_bytes).map_err(|_| too_large());
    for n in [MATRIX as usize, pattern.rows() * nb, pattern.cols() * nb, entries] {
        out.write_all(&int(n)?)?;
    }
    for row in 0..pattern.rows() {
        let length = int(pattern.columns(row).len() * nb)?;
        (0..nb).try_for_each(|_| out.write_all(&length))?;
    }
    for_entries(matrix, |_, col, _| out.write_all(&(col as i32).to_be_bytes()))?;
    for_entries(matrix, |_, _, value| out.write_all(&value.to_be_bytes()))
}

pub(super) fn write_vector(out: &mut dyn Write, values: &[f64]) -> io::Result<()> {
    let len =
        i32::try_from(values.len()).map_err(|_| io::Error::other("the vector is too long for PETSc"))?;
    out.write_all(&(VECTOR as i32).to_be_bytes())?;
    out.write_all(&len.to_be_bytes())?;
    values.iter().try_for_each(|v| out.write_all(&v.to_be_bytes()))
}
