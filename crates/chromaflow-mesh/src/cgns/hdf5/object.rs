//! Object headers: messages about a group or an array.

use super::super::tree::{Fault, Image, Values};
use super::group::{self, Link};
use super::{chunks, filters};

/// What the messages of a header say.
#[derive(Default)]
pub(super) struct Object {
    /// Bodies of messages: type, place, length.
    messages: Vec<(u64, usize, usize)>,
    /// Names and texts of attributes.
    texts: Vec<(String, String)>,
}

/// Messages of a header that are believed.
const MOST: usize = 1 << 16;

impl Object {
    pub fn read(image: Image<'_>, at: usize) -> Result<Self, Fault> {
        let mut object = Self::default();
        if image.take(at, 4)? == b"OHDR" {
            object.read_new(image, at)?;
        } else {
            object.read_old(image, at)?;
        }
        for (at, _) in object.all(0x0C).collect::<Vec<_>>() {
            object.texts.extend(attribute(image, at)?);
        }
        Ok(object)
    }

    /// Version 1: blocks of messages whose bodies fill multiples of 8 bytes.
    fn read_old(&mut self, image: Image<'_>, at: usize) -> Result<(), Fault> {
        let version = image.number(at, 1)?;
        if version != 1 {
            return Err(Fault::new(
                at,
                format!("an HDF5 object header of version {version}: expected 1 or 2"),
            ));
        }
        let mut blocks = vec![(at + 16, image.number(at + 8, 4)? as usize)];
        while let Some((mut at, length)) = blocks.pop() {
            image.take(at, length)?;
            let end = at + length;
            while at + 8 <= end {
                let (kind, size) = (image.number(at, 2)?, image.number(at + 2, 2)? as usize);
                self.push(image, &mut blocks, (kind, at + 8, size))?;
                at += 8 + size;
            }
        }
        Ok(())
    }

    /// Version 2.
    fn read_new(&mut self, image: Image<'_>, at: usize) -> Result<(), Fault> {
        let flags = image.number(at + 5, 1)?;
        let mut first = at + 6;
        first += if flags & 0x20 > 0 { 16 } else { 0 };
        first += if flags & 0x10 > 0 { 4 } else { 0 };
        let width = 1 << (flags & 3);
        let head = if flags & 4 > 0 { 6 } else { 4 };
        let length = image.number(first, width)? as usize;
        let mut blocks = vec![(first + width, length)];
        while let Some((mut at, length)) = blocks.pop() {
            image.take(at, length)?;
            let mut end = at + length;
            if self.messages.iter().any(|m| m.0 == 0x10) {
                image.expect(at, b"OCHK")?;
                (at, end) = (at + 4, end.saturating_sub(4));
            }
            while at + head <= end {
                let (kind, size) = (image.number(at, 1)?, image.number(at + 1, 2)? as usize);
                self.push(image, &mut blocks, (kind, at + head, size))?;
                at += head + size;
            }
        }
        Ok(())
    }

    fn push(
        &mut self,
        image: Image<'_>,
        blocks: &mut Vec<(usize, usize)>,
        message: (u64, usize, usize),
    ) -> Result<(), Fault> {
        let (kind, at, size) = message;
        image.take(at, size)?;
        if kind == 0x10 {
            blocks.push((image.place(at, 8)?, image.number(at + 8, 8)? as usize));
        }
        self.messages.push(message);
        if self.messages.len() > MOST {
            return Err(Fault::new(at, "an HDF5 object header of more messages than can be: it is damaged"));
        }
        Ok(())
    }

    fn all(&self, kind: u64) -> impl Iterator<Item = (usize, usize)> + '_ {
        self.messages.iter().filter(move |m| m.0 == kind).map(|m| (m.1, m.2))
    }

    /// Children, in no special order.
    pub fn links(&self, image: Image<'_>) -> Result<Vec<Link>, Fault> {
        let mut links = Vec::new();
        for (at, _) in self.all(0x06) {
            links.extend(Link::read(image, at)?);
        }
        for (at, _) in self.all(0x02) {
            group::dense(image, at, &mut links)?;
        }
        for (at, _) in self.all(0x11) {
            group::symbols(image, image.place(at, 8)?, image.place(at + 8, 8)?, &mut links)?;
        }
        Ok(links)
    }

    /// The text of an attribute of characters, that is stored in the header.
    pub fn text(&self, name: &str) -> Option<String> {
        self.texts.iter().find(|t| t.0 == name).map(|t| t.1.clone())
    }

    /// The array that it is: values, and dimensions with the fastest first.
    pub fn data(&self, image: Image<'_>) -> Result<(Values, Vec<usize>), Fault> {
        let of = |kind: u64, what: &str| {
            self.all(kind).next().ok_or_else(|| Fault::new(0, format!("an HDF5 array without its {what}")))
        };
        let ((space, _), (kind, _), (layout, _)) = (of(1, "shape")?, of(3, "type")?, of(8, "layout")?);
        let mut dims = shape(image, space)?;
        let (name, big) = number_type(image, kind)?;
        let (version, class) = (image.number(layout, 1)?, image.number(layout + 1, 1)?);
        if let (3..=5, 2) = (version, class) {
            let filters = self.all(0x0B).next().map(|(at, _)| filters::read(image, at)).transpose()?;
            let width = image.number(kind + 4, 4)? as usize;
            let data = chunks::read(image, layout, (&dims, width), &filters.unwrap_or_default())?;
            dims.reverse();
            let Some(data) = data else { return Ok((Values::None, dims)) };
            return Ok((Image { big, bytes: &data }.values(0, name, data.len() / width)?, dims));
        }
        dims.reverse();
        let count = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d));
        let count = count.filter(|&n| n <= image.bytes.len());
        let count = count.ok_or_else(|| {
            Fault::new(space, format!("an array of {dims:?} numbers: larger than the file"))
        })?;
        let at = match (version, class) {
            (3..=5, 0) => layout + 4,
            (3..=5, 1) if image.number(layout + 2, 8)? == u64::MAX => return Ok((Values::None, dims)),
            (3..=5, 1) => image.place(layout + 2, 8)?,
            _ => {
                let what = format!("an HDF5 array of layout {class}, version {version}; {}", chunks::REMEDY);
                return Err(Fault::new(layout, what));
            }
        };
        Ok((Image { big, ..image }.values(at, name, count)?, dims))
    }
}

/// Dimensions, the slowest first.
fn shape(image: Image<'_>, at: usize) -> Result<Vec<usize>, Fault> {
    let (version, rank) = (image.number(at, 1)?, image.number(at + 1, 1)? as usize);
    let first = at + if version == 1 { 8 } else { 4 };
    (0..rank).map(|d| Ok(image.number(first + 8 * d, 8)? as usize)).collect()
}

/// The type as CGNS names it, and whether its first byte is the highest.
fn number_type(image: Image<'_>, at: usize) -> Result<(&'static str, bool), Fault> {
    let (class, bits, size) = (image.number(at, 1)? & 15, image.number(at + 1, 1)?, image.number(at + 4, 4)?);
    let name = match (class, size) {
        (0 | 3, 1) => "C1",
        (0, 4) => "I4",
        (0, 8) => "I8",
        (1, 4) => "R4",
        (1, 8) => "R8",
        _ => {
            return Err(Fault::new(
                at,
                format!(
                    "numbers of HDF5 class {class} of {size} bytes: expected whole or real ones of 4 or 8"
                ),
            ));
        }
    };
    Ok((name, bits & 1 > 0))
}

/// Name and text of an attribute message; nothing where it is no text.
fn attribute(image: Image<'_>, at: usize) -> Result<Option<(String, String)>, Fault> {
    let version = image.number(at, 1)?;
    let size = |k: usize| image.number(at + 2 + 2 * k, 2).map(|n| n as usize);
    let [name, kind, space] = [size(0)?, size(1)?, size(2)?];
    let padded = |n: usize| if version == 1 { n.next_multiple_of(8) } else { n };
    let first = at + if version == 3 { 9 } else { 8 };
    let clean = |bytes: &[u8]| {
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).trim_end().to_owned()
    };
    let title = clean(image.take(first, name)?);
    let kind_at = first + padded(name);
    if image.number(kind_at, 1)? & 15 != 3 {
        return Ok(None);
    }
    let length = image.number(kind_at + 4, 4)? as usize;
    let text = image.take(kind_at + padded(kind) + padded(space), length)?;
    Ok(Some((title, clean(text))))
}
