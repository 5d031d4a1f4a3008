use super::*;

/// The files of the CGNS library have the checksums that this makes.
#[test]
fn headers_have_the_checksums_of_the_library() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cgns/sections_hdf5.cgns.xz");
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut chromaflow::files::open(&path).unwrap(), &mut bytes).unwrap();
    let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    assert_eq!(lookup3(&bytes[..44]), word(44), "superblock");
    let mut found = 0;
    for at in 0..bytes.len() - 4 {
        // Object headers of version 2: times and the phase change of attributes, as their flags say.
        if &bytes[at..at + 4] == b"OHDR" {
            let flags = bytes[at + 5];
            let skip = usize::from(flags & 0x20 > 0) * 16 + usize::from(flags & 0x10 > 0) * 4;
            let width = 1 << (flags & 3);
            let size = bytes[at + 6 + skip..][..width].iter().rev().fold(0, |n, &b| n << 8 | usize::from(b));
            let end = at + 6 + skip + width + size;
            assert_eq!(lookup3(&bytes[at..end]), word(end), "header at {at}");
            found += 1;
        }
    }
    assert!(found > 50, "{found}");
}

#[test]
fn arrays_of_another_length_are_errors() {
    let mut root = Group::default();
    root.array("a", Number::F64, &[3], |out| out.write_all(&[0; 16]));
    let error = write(&mut Vec::new(), &root).unwrap_err().to_string();
    assert!(error.contains("24 bytes gave 16"), "{error}");
}
