use super::*;
use proptest::prelude::*;
use std::io::Cursor;

const PACKED: [Compression; 3] = [Compression::Gzip, Compression::Xz, Compression::Zstd];

fn pack(bytes: &[u8], compression: Compression) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), compression).unwrap();
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn unpack(bytes: Vec<u8>, compression: Compression) -> io::Result<Vec<u8>> {
    let mut out = Vec::new();
    decompress(Cursor::new(bytes), compression).take(1 << 24).read_to_end(&mut out)?;
    Ok(out)
}

fn sample(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i * i / 7 % 251) as u8).collect()
}

#[test]
fn what_is_packed_comes_back() {
    for compression in PACKED {
        for len in [0, 1, 1000, (4 << 20) + 17] {
            let bytes = sample(len);
            assert_eq!(
                unpack(pack(&bytes, compression), compression).unwrap(),
                bytes,
                "{compression:?} {len}"
            );
        }
        let twice = [pack(b"ab", compression), pack(b"cd", compression)].concat();
        assert_eq!(unpack(twice, compression).unwrap(), b"abcd", "{compression:?}");
    }
}

#[test]
fn every_truncation_is_told() {
    for compression in PACKED {
        let packed = pack(&sample(3000), compression);
        for len in 1..packed.len() {
            let error = unpack(packed[..len].to_vec(), compression).expect_err("truncated");
            let cause = error.get_ref().and_then(|e| e.downcast_ref::<DecompressError>());
            assert!(
                matches!(cause, Some(DecompressError::Truncated { .. })),
                "{compression:?} {len} of {}: {error:?}",
                packed.len()
            );
        }
    }
}

#[test]
fn packed_files_are_known_by_their_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = sample(3000);
    for compression in PACKED {
        for name in ["a.mtx", "a.gz", "a.xz", "a.zst", "a.bz2"] {
            let path = folder.path().join(name);
            std::fs::write(&path, pack(&bytes, compression)).unwrap();
            let mut found = Vec::new();
            open(&path).unwrap().read_to_end(&mut found).unwrap();
            assert_eq!(found, bytes, "{compression:?} as {name}");
        }
    }
}

#[test]
fn a_wrong_name_is_told() {
    for compression in PACKED {
        let error = unpack(b"NDIME= 3\nNELEM= 5\n".to_vec(), compression).expect_err("not packed");
        assert!(error.to_string().contains("check that its name"), "{error}");
    }
}

#[test]
fn nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "a.gz", "a.xz", "a.zst"] {
        let path = folder.path().join(name);
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(b"half").unwrap();
        drop(file);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
    let nowhere = folder.path().join("missing/a.gz");
    assert!(AtomicFile::create(&nowhere).is_err());
}

/// A file that several write appears when the one that leads says so, and not at all where that ends before.
#[test]
fn shared_files_are_whole_or_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let first = SharedFile::create(&path, 10).unwrap();
    let mut second = SharedFile::join(&path, first.temporary()).unwrap();
    second.write_at(8, b"ij").unwrap();
    drop(first);
    second.write_at(0, b"too late").unwrap();
    second.finish().unwrap();
    drop(second);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    assert!(SharedFile::join(&path, &folder.path().join("none")).is_err());
    assert!(SharedFile::create(&folder.path().join("missing/a"), 1).is_err());
    for name in ["a.gz", "a.xz", "a.zst"] {
        let error = SharedFile::create(&folder.path().join(name), 1).err().expect("no ranges").to_string();
        assert!(error.contains("written by one alone"), "{error}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// Ranges of plain and of packed files, apart, next to one another and beyond the end.
#[test]
fn ranges_are_read_of_plain_and_packed_files() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = sample(100_000);
    for name in ["a", "a.gz", "a.xz", "a.zst"] {
        let path = folder.path().join(name);
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(&bytes).unwrap();
        file.commit().unwrap();
        let mut file = RangeReader::open(&path).unwrap();
        let end = bytes.len();
        for range in [0..0, 0..8, 8..20, 5_000..70_000, 70_000..70_001, end - 3..end + 5] {
            let found = file.read_at(range.start as u64, range.len() as u64).unwrap();
            assert_eq!(found, bytes[range.start..range.end.min(end)], "{name} {range:?}");
        }
        assert!(file.read_at(2 * end as u64, 4).unwrap().is_empty());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn corrupt_streams_never_panic(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..6),
        kind in 0..3_usize,
    ) {
        let bytes = sample(5000);
        let mut packed = pack(&bytes, PACKED[kind]);
        let before = packed.clone();
        for (at, byte) in changes {
            let at = at.index(packed.len());
            packed[at] = byte;
        }
        if let Ok(out) = unpack(packed.clone(), PACKED[kind]) {
            // A changed header byte that carries no data (gzip's time stamp) harms nothing.
            prop_assert!(out == bytes || out.is_empty() || packed == before, "{:?}", PACKED[kind]);
        }
    }

    #[test]
    fn noise_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0..3_usize) {
        let magic: [&[u8]; 3] = [&[0x1f, 0x8b, 8], &[0xfd, b'7', b'z', b'X', b'Z', 0], &[0x28, 0xb5, 0x2f, 0xfd]];
        let _ = unpack([magic[kind], &bytes].concat(), PACKED[kind]);
    }
}
