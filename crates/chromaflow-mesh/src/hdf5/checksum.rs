//! The checksum of HDF5's headers.
//!
//! **Source**: R. Jenkins, *lookup3* (2006), `hashlittle` with the initial value 0.

/// The checksum of some bytes.
pub(super) fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let mut s = [start; 3];
    let word = |part: &[u8]| part.iter().rev().fold(0_u32, |n, &b| n << 8 | u32::from(b));
    let mut rest = bytes;
    while rest.len() > 12 {
        let (part, after) = rest.split_at(12);
        for (value, part) in s.iter_mut().zip(part.chunks(4)) {
            *value = value.wrapping_add(word(part));
        }
        mix(&mut s);
        rest = after;
    }
    if rest.is_empty() {
        return s[2];
    }
    for (value, part) in s.iter_mut().zip(rest.chunks(4)) {
        *value = value.wrapping_add(word(part));
    }
    last(&mut s);
    s[2]
}

fn mix(s: &mut [u32; 3]) {
    for (step, turn) in [4, 6, 8, 16, 19, 4].into_iter().enumerate() {
        let (a, b, c) = (step % 3, (step + 1) % 3, (step + 2) % 3);
        s[a] = s[a].wrapping_sub(s[c]) ^ s[c].rotate_left(turn);
        s[c] = s[c].wrapping_add(s[b]);
    }
}

fn last(s: &mut [u32; 3]) {
    for (step, turn) in [14, 11, 25, 16, 4, 14, 24].into_iter().enumerate() {
        let (to, from) = ((step + 2) % 3, (step + 1) % 3);
        s[to] = (s[to] ^ s[from]).wrapping_sub(s[from].rotate_left(turn));
    }
}

#[cfg(test)]
mod tests {
    use super::lookup3;

    #[test]
    fn the_sums_are_those_of_the_source() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }
}
