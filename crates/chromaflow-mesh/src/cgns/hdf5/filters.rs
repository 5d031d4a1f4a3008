//! What was done to a chunk before it was written: shuffled, packed, summed up.
//!
//! **Source**: HDF5 file format specification, version 3.0, IV.A.2.l; Fletcher (1982), *An arithmetic checksum for serial transmissions*.

use super::super::tree::{Fault, Image};
use super::chunks::REMEDY;
use std::io::Read;

/// A step, in the order in which they were taken when the chunk was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filter {
    /// zlib.
    Deflate,
    /// The first bytes of all numbers, then the second ones, and so on; numbers have so many.
    Shuffle(usize),
    /// A checksum of four bytes at the end.
    Fletcher32,
}

/// The steps of a filter message.
pub(super) fn read(image: Image<'_>, at: usize) -> Result<Vec<Filter>, Fault> {
    let (version, count) = (image.number(at, 1)?, image.number(at + 1, 1)? as usize);
    let old = version == 1;
    if !old && version != 2 {
        return Err(Fault::new(at, format!("filters of version {version}: expected 1 or 2; {REMEDY}")));
    }
    let mut next = at + if old { 8 } else { 2 };
    let mut filters = Vec::with_capacity(count);
    for _ in 0..count {
        let place = next;
        let mut field = |width: usize| {
            next += width;
            image.number(next - width, width)
        };
        let id = field(2)?;
        let name = if old || id >= 256 { field(2)? as usize } else { 0 };
        let (_flags, values) = (field(2)?, field(2)? as usize);
        let title = String::from_utf8_lossy(image.take(next, name)?).trim_end_matches('\0').to_owned();
        next += if old { name.next_multiple_of(8) } else { name };
        let first = if values > 0 { image.number(next, 4)? as usize } else { 0 };
        next += 4 * if old { values.next_multiple_of(2) } else { values };
        filters.push(match id {
            1 => Filter::Deflate,
            2 if first > 0 => Filter::Shuffle(first),
            3 => Filter::Fletcher32,
            _ => {
                let known = [(4, "szip"), (5, "nbit"), (6, "scaleoffset")].into_iter().find(|k| k.0 == id);
                let title = known.map_or(title, |k| k.1.to_owned());
                return Err(Fault::new(
                    place,
                    format!("an array packed by HDF5's filter {id} ({title}): deflate, shuffle and fletcher32 are read; {REMEDY}"),
                ));
            }
        });
    }
    Ok(filters)
}

/// Undoes the steps, the last first; those of the bits in `mask` were not taken. No step makes more than `most` bytes.
pub(super) fn undo(
    filters: &[Filter],
    mask: u64,
    mut bytes: Vec<u8>,
    most: usize,
) -> Result<Vec<u8>, String> {
    for (n, filter) in filters.iter().enumerate().rev() {
        if mask >> n.min(63) & 1 > 0 {
            continue;
        }
        match *filter {
            Filter::Deflate => {
                let mut plain = Vec::new();
                let packed = flate2::read::ZlibDecoder::new(bytes.as_slice());
                packed
                    .take(most as u64 + 1)
                    .read_to_end(&mut plain)
                    .map_err(|e| format!("cannot be unpacked: {e}"))?;
                bytes = plain;
            }
            Filter::Shuffle(width) => bytes = unshuffled(&bytes, width),
            Filter::Fletcher32 => {
                let at = bytes.len().checked_sub(4).ok_or("has no room for its checksum")?;
                let sum = bytes.split_off(at);
                if fletcher32(&bytes).to_le_bytes() != sum[..] {
                    return Err("has another checksum than its data: it is damaged".to_owned());
                }
            }
        }
        if bytes.len() > most {
            return Err(format!("has more than the {most} bytes that it may have"));
        }
    }
    Ok(bytes)
}

fn unshuffled(bytes: &[u8], width: usize) -> Vec<u8> {
    let count = bytes.len() / width;
    let mut plain = Vec::with_capacity(bytes.len());
    for i in 0..count {
        plain.extend((0..width).map(|b| bytes[b * count + i]));
    }
    plain.extend(&bytes[count * width..]);
    plain
}

/// Sums of words of two bytes, the highest first, and of these sums, both modulo 2^16 - 1.
fn fletcher32(bytes: &[u8]) -> u32 {
    let fold = |sum: u32| (sum & 0xFFFF) + (sum >> 16);
    let (mut sum, mut sums) = (0_u32, 0_u32);
    for pair in bytes.chunks(2) {
        sum = fold(sum + (u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0))));
        sums = fold(sums + sum);
    }
    fold(sums) << 16 | fold(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_in_their_order() {
        assert_eq!(unshuffled(&[1, 4, 2, 5, 3, 6, 7], 3), [1, 2, 3, 4, 5, 6, 7]);
    }

    /// By hand: words 0x0102, 0x0300; sums 0x0102, 0x0402; their sum 0x0504.
    #[test]
    fn checksums_are_fletchers() {
        assert_eq!(fletcher32(&[1, 2, 3]), 0x0504_0402);
        assert_eq!(fletcher32(&[0xFF; 2000]), 0xFFFF_FFFF);
    }

    #[test]
    fn steps_are_undone_backwards_and_within_bounds() {
        use std::io::Write;
        let numbers: Vec<u8> = (0..40_u32).flat_map(u32::to_le_bytes).collect();
        let shuffled: Vec<u8> = (0..4).flat_map(|b| numbers.iter().skip(b).step_by(4).copied()).collect();
        let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(&shuffled).unwrap();
        let mut packed = packed.finish().unwrap();
        packed.extend(fletcher32(&packed).to_le_bytes());
        let filters = [Filter::Shuffle(4), Filter::Deflate, Filter::Fletcher32];
        assert_eq!(undo(&filters, 0, packed.clone(), 160).unwrap(), numbers);
        assert_eq!(undo(&filters, 1, packed.clone(), 160).unwrap(), shuffled);
        assert!(undo(&filters, 0, packed.clone(), 159).unwrap_err().contains("more than the 159"));
        packed[5] ^= 1;
        assert!(undo(&filters, 0, packed, 160).unwrap_err().contains("another checksum"));
    }
}
