//! Numbers in tables and in files.

use std::fmt;

/// How the numbers of a table are written, all alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Seven decimals.
    Fixed,
    /// Six digits and an exponent.
    Exponent,
}

impl Look {
    /// Decimals for coefficients as they mostly are; exponents where decimals would show next to nothing of the largest number, or it has more digits
    /// than there is room for, as in units far from a body's size.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Self {
        let largest = values.into_iter().map(f64::abs).fold(0.0, f64::max);
        if largest == 0.0 || (1e-4..1e4).contains(&largest) { Self::Fixed } else { Self::Exponent }
    }

    /// A number.
    pub fn text(self, value: f64) -> String {
        without_negative_zero(match self {
            Self::Fixed => format!("{value:.7}"),
            Self::Exponent => format!("{value:.5e}"),
        })
    }
}

/// What has been rounded to zero has no sign.
pub fn without_negative_zero(text: String) -> String {
    let zero = text.strip_prefix('-').filter(|rest| rest.chars().all(|c| matches!(c, '0' | '.' | 'e')));
    zero.map(str::to_owned).unwrap_or(text)
}

/// A number in a file, with all its digits: with an exponent where it would begin or end in many zeros.
pub struct Cell(pub f64);

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(value) = *self;
        let plain = !value.is_finite() || (1e-5..1e16).contains(&value.abs());
        match value {
            0.0 => f.write_str("0"),
            _ if plain => write!(f, "{value}"),
            _ => write!(f, "{value:e}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables look as they always did, but for numbers of meshes in micrometres and kilometres.
    #[test]
    fn tables_are_legible_in_any_unit() {
        for (values, look, texts) in [
            ([0.3, -0.0144], Look::Fixed, ["0.3000000", "-0.0144000"]),
            ([-1e-9, 0.3], Look::Fixed, ["0.0000000", "0.3000000"]),
            ([0.0, -0.0], Look::Fixed, ["0.0000000", "0.0000000"]),
            ([-3.25e-7, 0.0], Look::Exponent, ["-3.25000e-7", "0.00000e0"]),
            ([-510_137_817_048.172, 1.5], Look::Exponent, ["-5.10138e11", "1.50000e0"]),
        ] {
            assert_eq!(Look::of(values), look, "{values:?}");
            assert_eq!(values.map(|v| look.text(v)), texts);
        }
        assert_eq!(Look::Exponent.text(-0.0), "0.00000e0");
    }

    #[test]
    fn numbers_in_files_are_short_and_whole() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-0.125, "-0.125"),
            (1e15, "1000000000000000"),
            (-2.092_820_217_638e-23, "-2.092820217638e-23"),
            (5e-324, "5e-324"),
            (3e20, "3e20"),
            (f64::INFINITY, "inf"),
        ] {
            let found = Cell(value).to_string();
            assert_eq!(found, text);
            assert_eq!(found.parse::<f64>().unwrap(), value);
        }
        assert_eq!(Cell(f64::NAN).to_string(), "NaN");
    }
}
