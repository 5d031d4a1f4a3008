//! What the words of a marker's name say.

use super::Guess;

/// Words of a name, and the condition that they speak for; the first one found counts.
const NAMES: [(&[&str], Guess); 15] = [
    (&["periodic", "period", "periodicity", "cyclic"], Guess::Periodic),
    (&["symmetry", "sym", "symm", "symmetric", "symx", "symy", "symz", "symmetrie"], Guess::Symmetry),
    (&FAR, Guess::Farfield),
    (&["extrapolation", "extrapolate", "extrapolated", "extrap"], Guess::Extrapolation),
    (&["noslip", "viscous", "adiabatic"], Guess::NoSlip),
    (&["slip", "tangency", "inviscid", "euler"], Guess::SlipWall),
    // The wall of an inlet, or the outer one of a pipe, is a wall.
    (&["wall", "wand", "paroi", "pared"], Guess::Wall),
    (&INLETS, Guess::Inlet),
    (&OUTLETS, Guess::Outlet),
    (&["axis", "achse", "centerline", "centreline", "centerplane", "centreplane"], Guess::Symmetry),
    (&["wing", "airfoil", "body", "fuselage", "cylinder", "plate", "tail", "flap", "slat"], Guess::Wall),
    (&["blade", "vane", "nacelle", "pylon", "cowl", "hub", "shroud", "casing", "building"], Guess::Wall),
    (&["pipe", "duct", "tube", "lid", "ceiling", "bush", "shaft", "runner", "pad", "strut"], Guess::Wall),
    (&GROUNDS, Guess::Wall),
    (&["outer", "aussen", "ambient", "top"], Guess::Farfield),
];

/// What is far away wherever it lies.
pub(super) const FAR: [&str; 5] = ["farfield", "far", "freestream", "riemann", "fernfeld"];

/// What the flow comes in through.
const INLETS: [&str; 10] =
    ["inlet", "inflow", "entree", "entrée", "entrada", "einlass", "eintritt", "einlauf", "zulauf", "zufluss"];

/// What it leaves through; intakes end at the face of an engine.
const OUTLETS: [&str; 13] = [
    "outlet",
    "outflow",
    "exit",
    "backpressure",
    "engineface",
    "fanface",
    "sortie",
    "salida",
    "auslass",
    "austritt",
    "auslauf",
    "ablauf",
    "abfluss",
];

/// Walls that bodies stand on, or drive along.
pub const GROUNDS: [&str; 5] = ["ground", "road", "floor", "terrain", "topography"];

/// Names that say all by themselves, with or without a number.
const WHOLE_NAMES: [(&[&str], Guess); 4] = [
    (&["in", "entry", "entrance", "ein", "feed", "plenum", "chamber"], Guess::Inlet),
    (&["out", "aus"], Guess::Outlet),
    (&["ff"], Guess::Farfield),
    (&["cl"], Guess::Symmetry),
];

/// What stands beside words that say something, without a mark between them.
const BESIDE: [&str; 27] = [
    "aft", "back", "base", "boundary", "bottom", "center", "ebene", "edge", "end", "face", "field", "flat",
    "fore", "free", "front", "inner", "left", "lower", "main", "nozzle", "plane", "rear", "right", "side",
    "surface", "tip", "upper",
];

/// Of a nozzle, what is a wall of it.
const SIDES: [&str; 10] =
    ["in", "inner", "inside", "out", "outer", "outside", "lip", "side", "contour", "edge"];

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

/// An inlet or an outlet, where a name begins or ends with "in" or "out".
pub(super) fn edge_by_name(name: &str) -> Option<Guess> {
    let words = words(name);
    let explicit = says(name, &["wall", "wand", "paroi", "pared"]);
    let at_edge = |word: &str| [words.first(), words.last()].into_iter().flatten().any(|w| w == word);
    match (explicit, at_edge("in"), at_edge("out")) {
        (false, true, false) => Some(Guess::Inlet),
        (false, false, true) => Some(Guess::Outlet),
        _ => None,
    }
}

/// Whether a name is that of a side of something.
pub(super) fn says_side(name: &str) -> bool {
    says(name, &SIDES)
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
            ("engine face", Guess::Outlet),
            ("fan_face_2", Guess::Outlet),
            ("Rohr_Einlauf", Guess::Inlet),
            ("entree", Guess::Inlet),
            ("sortie", Guess::Outlet),
            ("paroi_exterieure", Guess::Wall),
            ("CL", Guess::Symmetry),
            ("centreline", Guess::Symmetry),
            ("Symmetrieebene", Guess::Symmetry),
            ("nozzle_exit_plane", Guess::Outlet),
            ("nozzle wall", Guess::Wall),
        ] {
            assert!(by_name(name) == Some(expected), "{name}");
        }
        assert!(by_name("pressure").is_none() && by_name("nozzle").is_none());
        for (name, expected) in [
            ("gas in", Some(Guess::Inlet)),
            ("p_out", Some(Guess::Outlet)),
            ("Riser_3_out", Some(Guess::Outlet)),
            ("out-2", Some(Guess::Outlet)),
            ("in_and_out", None),
            ("wall_in", None),
            ("built in place", None),
            ("pinout", None),
        ] {
            assert!(edge_by_name(name) == expected, "{name}");
        }
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
