//! Curves in a terminal: each character is two by four dots (Braille patterns, Unicode from U+2800).

use std::fmt::Write;

/// A curve: its letter in the margin, its color and its values.
pub struct Curve {
    /// Its name.
    pub name: &'static str,
    /// ANSI color.
    pub color: u8,
    /// Values at equal distances; not all need be finite.
    pub values: Vec<f64>,
}

/// Bits of the dots of a character, by column and row.
const DOTS: [[u8; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// Draws curves over a common axis in `width` by `height` characters, with the axis's ends in the margin.
pub fn draw(curves: &[Curve], width: usize, height: usize, label: impl Fn(f64) -> String) -> Vec<String> {
    let finite = || curves.iter().flat_map(|c| &c.values).copied().filter(|v| v.is_finite());
    let (low, high) = finite().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let margin = 10;
    let inner = width.saturating_sub(margin + 1).max(4);
    let mut cells = vec![(0u8, 0u8); inner * height];
    if low.is_finite() {
        let size = if high > low { high - low } else { 1.0 };
        let (columns, rows) = (2 * inner, 4 * height);
        for curve in curves {
            let mut last: Option<usize> = None;
            for x in 0..columns {
                let at = x as f64 / (columns - 1) as f64 * curve.values.len().saturating_sub(1) as f64;
                let v = |i: f64| curve.values.get(i as usize).copied().unwrap_or(f64::NAN);
                let v = v(at.floor()) + (at - at.floor()) * (v(at.ceil()) - v(at.floor()));
                if !v.is_finite() {
                    continue;
                }
                let y = (((high - v) / size) * (rows - 1) as f64).round() as usize;
                let from = last.unwrap_or(y);
                for y in from.min(y)..=from.max(y) {
                    let cell = &mut cells[(y / 4) * inner + x / 2];
                    *cell = (cell.0 | DOTS[x % 2][y % 4], curve.color);
                }
                last = Some(y);
            }
        }
    }
    let line = |row: usize| {
        let margin_text = match row {
            _ if !low.is_finite() => String::new(),
            0 => label(high),
            r if r + 1 == height => label(low),
            _ => String::new(),
        };
        let mut text = format!("{margin_text:>margin$} ");
        for &(bits, color) in &cells[row * inner..(row + 1) * inner] {
            let dot = char::from_u32(0x2800 + u32::from(bits)).unwrap_or(' ');
            if bits == 0 {
                text.push(' ');
            } else {
                let _ = write!(text, "\x1b[{color}m{dot}\x1b[0m");
            }
        }
        text
    };
    (0..height).map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_falling_line_goes_from_corner_to_corner() {
        let curve = Curve { name: "r", color: 36, values: (0..40).map(|i| 0.0 - f64::from(i)).collect() };
        let lines = draw(&[curve], 31, 5, |v| format!("{v}"));
        let plain: Vec<String> =
            lines.iter().map(|l| l.replace("\x1b[36m", "").replace("\x1b[0m", "")).collect();
        assert!(plain[0].starts_with("         0 ") && plain[4].starts_with("       -39 "));
        assert!(plain.len() == 5 && plain.iter().all(|l| l.chars().count() == 31));
        let filled = |line: &str| line.chars().skip(11).position(|c| c != ' ').unwrap();
        let starts: Vec<usize> = plain.iter().map(|l| filled(l)).collect();
        assert!(starts.windows(2).all(|s| s[0] < s[1]), "{starts:?}");
    }

    #[test]
    fn nothing_to_draw_is_an_empty_field() {
        let lines =
            draw(&[Curve { name: "r", color: 36, values: vec![f64::NAN] }], 30, 3, |v| format!("{v}"));
        assert!(lines.iter().all(|l| l.trim().is_empty()) && lines.len() == 3);
    }
}
