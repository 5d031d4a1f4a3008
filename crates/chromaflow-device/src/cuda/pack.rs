//! Machine code that comes with a program: many kernels in one file, each packed, found by source and architecture.
//!
//! A file is the word `CFKERN01`, the number of kernels, for each 16 bytes of key, place, packed length and length, and then the
//! packed images. A source that has changed since has another key and is compiled as if there were no pack.

use super::compile::{KernelSource, identify};
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use std::io::{Read, Write};
use std::sync::OnceLock;

const MAGIC: &[u8; 8] = b"CFKERN01";
/// Key, place, packed length, length: 8-byte numbers, the first two of them the key.
const ENTRY: usize = 40;
/// The largest image that is believed.
const LARGEST: usize = 1 << 28;

static SHIPPED: OnceLock<&'static [u8]> = OnceLock::new();

/// Makes the kernels of a pack known to this process, once, before the first is asked for.
pub fn ship(pack: &'static [u8]) {
    let _ = SHIPPED.set(pack);
}

/// Number of kernels that came with this program.
pub fn shipped() -> usize {
    SHIPPED.get().map_or(0, |pack| entries(pack).count())
}

/// The machine code that came with the program: that of the architecture, or of an earlier one of the same family, which runs on it.
pub(super) fn find(source: &KernelSource, arch: &str) -> Option<Vec<u8>> {
    find_in(SHIPPED.get()?, source, arch)
}

fn find_in(pack: &[u8], source: &KernelSource, arch: &str) -> Option<Vec<u8>> {
    let number: u32 = arch.strip_prefix("sm_")?.parse().ok()?;
    for minor in (0..=number % 10).rev() {
        let key = identify(source, &format!("sm_{}", number / 10 * 10 + minor));
        if let Some(entry) = entries(pack).find(|e| e.key == key) {
            let packed = pack.get(entry.place..entry.place.checked_add(entry.packed)?)?;
            let mut image = Vec::with_capacity(entry.length.min(LARGEST));
            DeflateDecoder::new(packed).take(LARGEST as u64).read_to_end(&mut image).ok()?;
            return (image.len() == entry.length).then_some(image);
        }
    }
    None
}

struct Entry {
    key: [u64; 2],
    place: usize,
    packed: usize,
    length: usize,
}

fn entries(pack: &[u8]) -> impl Iterator<Item = Entry> {
    let word =
        |bytes: &[u8], n: usize| u64::from_le_bytes(bytes[8 * n..8 * n + 8].try_into().expect("eight bytes"));
    let (head, rest) =
        if pack.starts_with(MAGIC) { pack.split_at(pack.len().min(16)) } else { (pack, &[][..]) };
    let count = if head.len() == 16 { word(head, 1) as usize } else { 0 };
    rest.chunks_exact(ENTRY).take(count).map(move |e| Entry {
        key: [word(e, 0), word(e, 1)],
        place: word(e, 2) as usize,
        packed: word(e, 3) as usize,
        length: word(e, 4) as usize,
    })
}

/// A pack of kernels: source, architecture (`sm_90`), machine code. Of the same source and architecture the first counts.
pub fn pack<'a>(kernels: impl IntoIterator<Item = (&'a KernelSource, &'a str, &'a [u8])>) -> Vec<u8> {
    let mut all: Vec<([u64; 2], Vec<u8>, usize)> = Vec::new();
    for (source, arch, image) in kernels {
        let key = identify(source, arch);
        if all.iter().any(|e| e.0 == key) {
            continue;
        }
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let packed = encoder.write_all(image).and_then(|()| encoder.finish());
        all.push((key, packed.expect("writing to memory does not fail"), image.len()));
    }
    let mut out = MAGIC.to_vec();
    out.extend((all.len() as u64).to_le_bytes());
    let mut place = 16 + ENTRY * all.len();
    for (key, packed, length) in &all {
        for number in [key[0], key[1], place as u64, packed.len() as u64, *length as u64] {
            out.extend(number.to_le_bytes());
        }
        place += packed.len();
    }
    for (_, packed, _) in &all {
        out.extend(packed);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_found_by_source_and_family() {
        let (a, b) = (KernelSource::new("a", "text").define("NB", 5), KernelSource::new("b", "text"));
        let image = |n: u8| vec![n; 1000];
        let (one, two, three) = (image(1), image(2), image(3));
        let file = pack([(&a, "sm_80", &one[..]), (&a, "sm_90", &two[..]), (&b, "sm_90", &three[..])]);
        let find = |source, arch| find_in(&file, source, arch);
        assert_eq!(find(&a, "sm_90"), Some(two));
        assert_eq!(find(&b, "sm_90"), Some(three));
        assert_eq!(find(&a, "sm_86"), Some(one), "a later device of the family");
        assert_eq!(find(&a, "sm_100"), None);
        assert_eq!(find(&b, "sm_80"), None);
        assert_eq!(find(&KernelSource::new("a", "other").define("NB", 5), "sm_90"), None);
        assert_eq!(entries(&file).count(), 3);
        for cut in 0..file.len() {
            assert_ne!(find_in(&file[..cut], &b, "sm_90"), Some(image(0)), "cut to {cut} bytes");
        }
    }
}
