//! Arrays that callers lend.

use crate::status::{Failure, Status};
use std::ffi::c_void;

/// `CHROMAFLOW_HOST`.
pub const HOST: i32 = 0;
/// `CHROMAFLOW_CUDA`.
pub const CUDA: i32 = 1;

/// The types of entries, as `CHROMAFLOW_I32` and so on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Type {
    I32 = 1,
    I64 = 2,
    U32 = 3,
    U64 = 4,
    F32 = 5,
    F64 = 6,
}

impl Type {
    fn of(number: i32) -> Option<Self> {
        [Type::I32, Type::I64, Type::U32, Type::U64, Type::F32, Type::F64]
            .into_iter()
            .find(|t| *t as i32 == number)
    }
}

/// `chromaflow_array`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct Array {
    pub data: *const c_void,
    pub len: i64,
    pub r#type: i32,
    pub place: i32,
}

/// `chromaflow_array_mut`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub struct ArrayMut {
    pub data: *mut c_void,
    pub len: i64,
    pub r#type: i32,
    pub place: i32,
}

/// A type of entries that Rust has.
pub(crate) trait Entry: Copy {
    const TYPE: Type;
}

macro_rules! entries {
    ($($rust:ty = $name:ident),*) => {$(
        impl Entry for $rust {
            const TYPE: Type = Type::$name;
        }
    )*};
}
entries!(i32 = I32, i64 = I64, u32 = U32, u64 = U64, f32 = F32, f64 = F64);

impl ArrayMut {
    /// Vector `at` of `count` ones after one another.
    pub(crate) fn part(&self, at: usize, count: usize) -> Result<Self, Failure> {
        let part = self.as_in().part(at, count)?;
        Ok(Self { data: part.data.cast_mut(), len: part.len, ..*self })
    }

    pub(crate) fn as_in(&self) -> Array {
        Array { data: self.data, len: self.len, r#type: self.r#type, place: self.place }
    }

    /// # Safety
    /// As [`Array::host`], and nobody else uses the entries meanwhile.
    pub(crate) unsafe fn host<'a, T: Entry>(&self, what: &str) -> Result<&'a mut [T], Failure> {
        // SAFETY: as the caller promises; the slice is only looked at for its place.
        let (start, len) =
            unsafe { self.as_in().host::<T>(what) }.map(|v| (v.as_ptr().cast_mut(), v.len()))?;
        // SAFETY: as the caller promises.
        Ok(unsafe { std::slice::from_raw_parts_mut(start, len) })
    }
}

impl Array {
    /// What the entries are.
    pub(crate) fn entries(&self, what: &str) -> Result<Type, Failure> {
        Type::of(self.r#type).ok_or_else(|| {
            Failure::argument(format!("{what}.type is {}: expected CHROMAFLOW_I32 and so on", self.r#type))
        })
    }

    /// Vector `at` of `count` ones after one another.
    pub(crate) fn part(&self, at: usize, count: usize) -> Result<Self, Failure> {
        let (bytes, len) = (self.width("the array")?, self.check("the array")? / count.max(1));
        Ok(Self { data: self.data.wrapping_byte_add(at * len * bytes), len: len as i64, ..*self })
    }

    /// Bytes of an entry.
    fn width(&self, what: &str) -> Result<usize, Failure> {
        Ok(match self.entries(what)? {
            Type::I32 | Type::U32 | Type::F32 => 4,
            Type::I64 | Type::U64 | Type::F64 => 8,
        })
    }

    /// Looks at all that can be looked at without reading; the number of entries.
    pub(crate) fn check(&self, what: &str) -> Result<usize, Failure> {
        let bytes = self.width(what)?;
        let fault = |text: String| Err(Failure::argument(text));
        if ![HOST, CUDA].contains(&self.place) {
            return fault(format!(
                "{what}.place is {}: expected CHROMAFLOW_HOST or CHROMAFLOW_CUDA",
                self.place
            ));
        }
        let len = usize::try_from(self.len).ok().filter(|n| *n <= isize::MAX as usize / bytes);
        let Some(len) = len else {
            return fault(format!("{what}.len is {}: expected a number of entries", self.len));
        };
        if len > 0 && self.data.is_null() {
            return fault(format!("{what}.data is NULL, but its len is {len}"));
        }
        if !(self.data as usize).is_multiple_of(bytes) {
            return fault(format!("{what}.data is not aligned to its entries of {bytes} bytes"));
        }
        Ok(len)
    }

    /// Entries on the host, of this type.
    ///
    /// # Safety
    /// `data` points to `len` entries that nobody changes meanwhile.
    pub(crate) unsafe fn host<'a, T: Entry>(&self, what: &str) -> Result<&'a [T], Failure> {
        let len = self.check(what)?;
        if self.place != HOST {
            let text = format!("{what} lies on a device, but this works on the host: copy it there");
            return Err(Failure::new(Status::Unsupported, text));
        }
        if self.entries(what)? != T::TYPE {
            let (found, expected) = (self.entries(what)?, T::TYPE);
            return Err(Failure::argument(format!(
                "{what} has entries CHROMAFLOW_{found:?}, expected CHROMAFLOW_{expected:?}"
            )));
        }
        if len == 0 {
            return Ok(&[]);
        }
        // SAFETY: aligned and not null (checked above); the rest as the caller promises.
        Ok(unsafe { std::slice::from_raw_parts(self.data.cast(), len) })
    }

    /// Integers on the host, whatever their type; those too large for ours become the largest there is.
    ///
    /// # Safety
    /// As [`Array::host`].
    pub(crate) unsafe fn integers(&self, what: &str) -> Result<Vec<i64>, Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            Ok(match self.entries(what)? {
                Type::I32 => self.host::<i32>(what)?.iter().map(|&v| v.into()).collect(),
                Type::I64 => self.host::<i64>(what)?.to_vec(),
                Type::U32 => self.host::<u32>(what)?.iter().map(|&v| v.into()).collect(),
                Type::U64 => {
                    let all = self.host::<u64>(what)?.iter();
                    all.map(|&v| i64::try_from(v).unwrap_or(i64::MAX)).collect()
                }
                kind @ (Type::F32 | Type::F64) => {
                    let text = format!("{what} has entries CHROMAFLOW_{kind:?}: expected integers");
                    return Err(Failure::argument(text));
                }
            })
        }
    }

    /// Vectors on the host in f64, f32 made wider.
    ///
    /// # Safety
    /// As [`Array::host`].
    pub(crate) unsafe fn doubles<'a>(
        &self,
        what: &str,
        room: &'a mut Vec<f64>,
    ) -> Result<&'a [f64], Failure> {
        // SAFETY: as the caller promises.
        unsafe {
            if self.entries(what)? != Type::F32 {
                return self.host::<f64>(what);
            }
            let single = self.host::<f32>(what)?;
            room.clear();
            room.extend(single.iter().map(|&v| f64::from(v)));
            Ok(room)
        }
    }
}

/// Refuses arrays that share memory, where one is written.
pub(crate) fn check_apart(read: (&str, &Array), written: (&str, &ArrayMut)) -> Result<(), Failure> {
    let span = |data: usize, len: i64, kind: i32| {
        let bytes =
            if [Type::I64 as i32, Type::U64 as i32, Type::F64 as i32].contains(&kind) { 8 } else { 4 };
        data..data.saturating_add(usize::try_from(len).unwrap_or(0).saturating_mul(bytes))
    };
    let a = span(read.1.data as usize, read.1.len, read.1.r#type);
    let b = span(written.1.data as usize, written.1.len, written.1.r#type);
    if a.start < b.end && b.start < a.end {
        let text = format!("{} and {} share memory: give two arrays", read.0, written.0);
        return Err(Failure::argument(text));
    }
    Ok(())
}
