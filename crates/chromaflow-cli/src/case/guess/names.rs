//! What the words of a marker's name say.

use super::Guess;

/// Words of a name, and the condition that they speak for; the first one found counts.
const NAMES: [(&[&str], Guess); 13] = [
    (&["periodic", "period", "periodicity", "cyclic"], Guess::Periodic),
    (&["symmetry", "sym", "symm", "symmetric", "symx", "symy", "symz"], Guess::Symmetry),
    (&["farfield", "far", "freestream", "riemann"], Guess::Farfield),
    (&["extrapolation", "extrapolate", "extrapolated", "extrap"], Guess::Extrapolation),
    (&["noslip", "viscous", "adiabatic"], Guess::NoSlip),
    (&["slip", "tangency", "inviscid", "euler"], Guess::SlipWall),
    // The wall of an inlet, or the outer one of a pipe, is a wall.
    (&["wall"], Guess::Wall),
    (&["inlet", "inflow", "nozzle"], Guess::Inlet),
    (&["outlet", "outflow", "exit", "backpressure"], Guess::Outlet),
    (&["wing", "airfoil", "body", "fuselage", "cylinder", "plate", "tail", "flap", "slat"], Guess::Wall),
    (&["blade", "vane", "nacelle", "pylon", "cowl", "hub", "shroud", "casing", "building"], Guess::Wall),
    (&GROUNDS, Guess::Wall),
    (&["outer", "ambient", "top"], Guess::Farfield),
];

/// Walls that bodies stand on, or drive along.
pub const GROUNDS: [&str; 5] = ["ground", "road", "floor", "terrain", "topography"];

/// Names that say all by themselves, with or without a number.
const WHOLE_NAMES: [(&[&str], Guess); 3] =
    [(&["in", "entry", "entrance"], Guess::Inlet), (&["out"], Guess::Outlet), (&["ff"], Guess::Farfield)];

/// What stands beside words that say something, without a mark between them.
const BESIDE: [&str; 25] = [
    "aft", "back", "base", "boundary", "bottom", "center", "edge", "end", "face", "field", "flat", "fore",
    "free", "front", "inner", "left", "lower", "main", "plane", "rear", "right", "side", "surface", "tip",
    "upper",
];

/// The words of a name: they end at marks, digits and where letters become large, and where a known word meets another.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    for (i, &c) in letters.iter().enumerate() {
        let before = i.checked_sub(1).map(|i| letters[i]);
        let small = |c: Option<&char>| c.is_some_and(|c| c.is_lowercase());
        // Of FFWall the W begins a word, too.
        let begins = c.is_uppercase()
            && (small(before.as_ref())
                || before.is_some_and(char::is_uppercase) && small(letters.get(i + 1)));
        if !c.is_alphabetic() || begins {
            words.push(String::new());
        }
        if c.is_alphabetic() {
            words.last_mut().expect("one at least").extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words.into_iter().flat_map(|word| known_parts(&word).unwrap_or_else(|| vec![word])).collect()
}

/// A word that is nothing but known words: those.
fn known_parts(word: &str) -> Option<Vec<String>> {
    if word.is_empty() {
        return Some(Vec::new());
    }
    let known = NAMES.iter().flat_map(|(words, _)| words.iter()).chain(&BESIDE);
    let mut begins: Vec<&str> = known.copied().filter(|known| word.starts_with(known)).collect();
    begins.sort_by_key(|known| std::cmp::Reverse(known.len()));
    begins.into_iter().find_map(|first| {
        let rest = &word[first.len()..];
        let rest = known_parts(rest.strip_prefix('s').filter(|rest| rest.is_empty()).unwrap_or(rest))?;
        Some(std::iter::once(first.to_owned()).chain(rest).collect())
    })
}

/// Whether words of a name, one or two that stand side by side, are one of these: "far field" is "farfield", too.
pub fn says(name: &str, known: &[&str]) -> bool {
    let words = words(name);
    let two = words.windows(2).map(|pair| pair.concat());
    words.iter().cloned().chain(two).any(|word| known.contains(&word.as_str()))
}

/// What a name says.
pub(super) fn by_name(name: &str) -> Option<Guess> {
    let alone = words(name);
    let whole =
        WHOLE_NAMES.iter().find(|(known, _)| matches!(&alone[..], [word] if known.contains(&word.as_str())));
    let part = || NAMES.iter().find(|(known, _)| says(name, known));
    whole.or_else(part).map(|(_, guess)| *guess)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_conditions_in_other_codes_are_known() {
        for (name, expected) in [
            ("back_pressure", Guess::Outlet),
            ("farfield_riem", Guess::Farfield),
            ("extrapolate", Guess::Extrapolation),
            ("viscous_solid", Guess::NoSlip),
            ("Free Stream", Guess::Farfield),
            ("FREE-STREAM", Guess::Farfield),
            ("FreeStream", Guess::Farfield),
            ("No Slip", Guess::NoSlip),
            ("supersonic inflow", Guess::Inlet),
            ("IN_1", Guess::Inlet),
            ("out", Guess::Outlet),
            ("FF", Guess::Farfield),
            ("Top Wall", Guess::Wall),
            ("outer_wall", Guess::Wall),
            ("inlet-wall", Guess::Wall),
            ("wing_top", Guess::Wall),
            ("tunnel-top", Guess::Farfield),
        ] {
            assert!(by_name(name) == Some(expected), "{name}");
        }
        assert!(by_name("pressure").is_none());
        assert!(by_name("intake").is_none());
    }

    /// Words count, not letters within them; they may stand side by side where nothing else does.
    #[test]
    fn names_are_read_word_by_word() {
        for (name, expected) in [
            ("topography", Some(Guess::Wall)),
            ("rooftop", None),
            ("windfarm", None),
            ("asymmetric_hull", None),
            ("slippery", None),
            ("plateau", None),
            ("symmetryPlane", Some(Guess::Symmetry)),
            ("sym2", Some(Guess::Symmetry)),
            ("slipwall", Some(Guess::SlipWall)),
            ("noslipwall", Some(Guess::NoSlip)),
            ("OuterWALL", Some(Guess::Wall)),
            ("INLETWall", Some(Guess::Wall)),
            ("wingtip", Some(Guess::Wall)),
            ("FarField3", Some(Guess::Farfield)),
            ("outlets", Some(Guess::Outlet)),
            ("upper walls", Some(Guess::Wall)),
            ("baseplate", Some(Guess::Wall)),
            ("naïve_wing", Some(Guess::Wall)),
        ] {
            assert!(by_name(name) == expected, "{name}");
        }
        assert!(says("left_ground", &GROUNDS) && !says("playground", &GROUNDS));
    }
}
