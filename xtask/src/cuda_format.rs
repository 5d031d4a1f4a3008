//! How CUDA text is laid out, since no formatter runs on it: at most [`WIDTH`] columns, no tabs, nothing behind a line's end, and
//! statements four columns deeper than what holds them. Where lines are broken, and how their parts are aligned, is the author's.

use crate::{rooms, run};
use std::fs;

/// Columns of a line.
const WIDTH: usize = 120;

/// Holds every CUDA file of the repository to that.
pub fn check() -> Result<(), String> {
    let root = run::root();
    let mut faults = Vec::new();
    for file in
        [rooms::sources(&root.join("crates"), "cu")?, rooms::sources(&root.join("crates"), "cuh")?].concat()
    {
        let name = file.strip_prefix(&root).expect("a file of the repository").display().to_string();
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let wide = wide_lines(&text).into_iter();
        faults.extend(wide.map(|(n, width)| format!("{name}:{n}: {width} columns (at most {WIDTH})")));
        faults.extend(misplaced(&text).into_iter().map(|(n, what)| format!("{name}:{n}: {what}")));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Lines that are too wide, and how wide.
fn wide_lines(text: &str) -> Vec<(usize, usize)> {
    let widths = text.lines().map(|line| line.chars().count());
    (1..).zip(widths).filter(|(_, width)| *width > WIDTH).collect()
}

/// Where a reader of CUDA text is.
#[derive(Clone, Debug)]
struct Reader {
    /// Columns at which the statements of each open block begin.
    blocks: Vec<usize>,
    /// That of the one statement of a loop or condition without braces.
    single: Option<usize>,
    /// Column of the statement at hand.
    statement: usize,
    /// Whether a statement begins.
    begins: bool,
    /// Open parentheses and brackets.
    open: usize,
}

/// Lines with tabs, with something behind their end, or with a statement at another column than its block has.
fn misplaced(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut here = Reader { blocks: vec![0], single: None, statement: 0, begins: true, open: 0 };
    let (mut branches, mut directive) = (Vec::new(), false);
    for (n, line) in (1..).zip(text.lines()) {
        if line.contains('\t') {
            found.push((n, "a tab: indent by blanks".to_owned()));
        }
        if line.ends_with(' ') {
            found.push((n, "blanks behind the line's end".to_owned()));
        }
        let code = without_comments(line);
        let word = code.trim();
        if directive || word.starts_with('#') {
            // Either branch of a condition continues what stood before it.
            let name = word.trim_start_matches('#').trim_start();
            if !directive && name.starts_with("if") {
                branches.push(here.clone());
            } else if !directive && name.starts_with("el") {
                here = branches.last().cloned().unwrap_or(here);
            } else if !directive && name.starts_with("endif") {
                branches.pop();
            }
            directive = word.ends_with('\\');
        } else if !word.is_empty() {
            let column = code.len() - code.trim_start().len();
            if let Some(expected) = here.read(word, column) {
                found.push((n, format!("begins at column {column}, its block at {expected}: {word}")));
            }
        }
    }
    found
}

impl Reader {
    /// Reads a line of code; the column where it should begin, if it begins elsewhere.
    fn read(&mut self, word: &str, column: usize) -> Option<usize> {
        let mut misplaced = None;
        if self.begins && self.open == 0 {
            let block = *self.blocks.last().unwrap_or(&0);
            let closes = word.starts_with('}');
            let expected = if closes { block.saturating_sub(4) } else { self.single.unwrap_or(block) };
            // Labels, and an `else` that belongs to a condition within a loop without braces, have columns of their own.
            let free = word.starts_with("case ") || word.ends_with(':') || word.starts_with("else");
            // The end of a namespace: its contents are not indented.
            let namespace = closes && self.blocks.len() > 1 && column == block;
            if column != expected && !free && !namespace {
                misplaced = Some(expected);
            }
            self.statement = column;
        }
        let indented =
            if word.starts_with("namespace ") || word.starts_with("extern \"C\" {") { 0 } else { 4 };
        for letter in word.chars() {
            match letter {
                '{' => self.blocks.push(self.statement + indented),
                '}' if self.blocks.len() > 1 => drop(self.blocks.pop()),
                '(' | '[' => self.open += 1,
                ')' | ']' => self.open = self.open.saturating_sub(1),
                _ => {}
            }
        }
        let ended = word.ends_with([';', '{', '}']) || (word.ends_with(':') && self.open == 0);
        let control = ["for ", "if ", "while ", "else", "} else"].iter().any(|c| word.starts_with(c));
        self.single = (!ended && control && self.begins && self.open == 0).then_some(self.statement + 4);
        self.begins = ended || self.single.is_some();
        misplaced
    }
}

/// A line without its comment and without what stands in quotes.
fn without_comments(line: &str) -> String {
    let mut code = String::with_capacity(line.len());
    let (mut quoted, mut letters) = (false, line.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if quoted => drop(letters.next()),
            '"' => quoted = !quoted,
            '/' if !quoted && letters.peek() == Some(&'/') => break,
            _ if quoted => {}
            _ => code.push(letter),
        }
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_stand_where_their_blocks_do() {
        let good = "\
namespace a {
template <int N>
__device__ int f(int x,
                 int y) {
    for (int i = 0; i < N; i++)
        for (int k = 0; k < N; k++) {
            if (i) x++;
#if N > 2
            if (k) {
                y--;
#else
            {
#endif
            }
        }
    switch (x) {
        case 1: return 2;
    }
    const auto g = [&](int z) {
        return z +
               x;
    };
    return g(y);  // a {
}
}  // namespace a
";
        assert_eq!(misplaced(good), []);
        let lines = |text: &str| misplaced(text).into_iter().map(|f| f.0).collect::<Vec<_>>();
        assert_eq!(lines("void f() {\n   int x;\n    x = 1;\n     return;\n  }\n"), [2, 4, 5]);
        assert_eq!(
            lines("void f() {\n    if (x)\n    y();\n    for (;;)\n        g();\n        h();\n}\n"),
            [3, 6]
        );
        assert_eq!(lines("int x;\t\nint y; \n"), [1, 2]);
        assert_eq!(wide_lines(&format!("a\n{}\n", "b".repeat(121))), [(2, 121)]);
    }

    #[test]
    fn the_repository_keeps_to_it() {
        check().unwrap();
    }
}
