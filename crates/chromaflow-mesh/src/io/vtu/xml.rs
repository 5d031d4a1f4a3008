//! Tags of an XML file, one after another, as far as VTK's files need them.
//!
//! **Source**: W3C, *Extensible Markup Language 1.0*, sections 2.5, 2.6, 3.1 and 4.6; no entities are declared, no sections are CDATA.

use crate::parse::Fault;
use crate::parse::text::show;

/// A tag.
#[derive(Debug)]
pub(super) struct Tag<'a> {
    pub name: &'a str,
    attributes: &'a str,
    /// The byte of its `<`, and the one after its `>`.
    pub at: usize,
    pub end: usize,
    pub form: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// `<a>`
    Opens,
    /// `</a>`
    Closes,
    /// `<a/>`
    Empty,
}

/// The place of `word` at or after `from`.
fn find(bytes: &[u8], from: usize, word: &[u8]) -> Option<usize> {
    bytes.get(from..)?.windows(word.len()).position(|w| w == word).map(|n| from + n)
}

/// The next tag at or after a byte; none at the end of the file.
pub(super) fn next(bytes: &[u8], mut from: usize) -> Result<Option<Tag<'_>>, Fault> {
    loop {
        let Some(at) = find(bytes, from, b"<") else { return Ok(None) };
        let cut = || Fault::new(at, "a tag that does not end: is the file cut short?");
        let rest = &bytes[at..];
        let passed_over: [(&[u8], &[u8]); 3] = [(b"<!--", b"-->"), (b"<?", b"?>"), (b"<!", b">")];
        if let Some((_, last)) = passed_over.iter().find(|(first, _)| rest.starts_with(first)) {
            from = find(bytes, at, last).ok_or_else(cut)? + last.len();
            continue;
        }
        let (mut quote, mut end) = (None, at + 1);
        loop {
            match (quote, *bytes.get(end).ok_or_else(cut)?) {
                (None, b'>') => break,
                (None, b @ (b'"' | b'\'')) => quote = Some(b),
                (Some(q), b) if b == q => quote = None,
                _ => {}
            }
            end += 1;
        }
        let text = std::str::from_utf8(&bytes[at + 1..end])
            .map_err(|_| Fault::new(at, "a tag that is no text: is this an XML file?"))?;
        let (text, form) = match (text.strip_prefix('/'), text.strip_suffix('/')) {
            (Some(text), _) => (text, Form::Closes),
            (_, Some(text)) => (text, Form::Empty),
            _ => (text, Form::Opens),
        };
        let text = text.trim();
        let (name, attributes) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        return Ok(Some(Tag { name, attributes, at, end: end + 1, form }));
    }
}

impl Tag<'_> {
    /// The value of an attribute.
    pub(super) fn get(&self, name: &str) -> Option<String> {
        let mut rest = self.attributes;
        loop {
            let (key, after) = rest.split_once('=')?;
            let after = after.trim_start();
            let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
            let (value, next) = after[1..].split_once(quote)?;
            if key.trim() == name {
                return Some(unescaped(value));
            }
            rest = next;
        }
    }

    /// The value of an attribute that must be there.
    pub(super) fn required(&self, name: &str) -> Result<String, Fault> {
        self.get(name).ok_or_else(|| self.fault(format!("<{}> without {name}=", self.name)))
    }

    /// The value of an attribute that must be a natural number.
    pub(super) fn natural(&self, name: &str) -> Result<usize, Fault> {
        let text = self.required(name)?;
        text.trim().parse().map_err(|_| {
            let found = show(text.as_bytes());
            self.fault(format!("<{}>: {name} must be a natural number, found {found:?}", self.name))
        })
    }

    pub(super) fn fault(&self, what: impl Into<String>) -> Fault {
        Fault::new(self.at, what)
    }
}

/// Text without the five entities that XML has of itself and those of characters by number.
fn unescaped(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        plain.push_str(before);
        let known = after.split_once(';').and_then(|(entity, after)| {
            let number =
                |digits: &str, radix| u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
            let c = match (entity, entity.strip_prefix("#x"), entity.strip_prefix('#')) {
                ("lt", ..) => '<',
                ("gt", ..) => '>',
                ("amp", ..) => '&',
                ("quot", ..) => '"',
                ("apos", ..) => '\'',
                (_, Some(digits), _) => number(digits, 16)?,
                (_, None, Some(digits)) => number(digits, 10)?,
                _ => return None,
            };
            Some((c, after))
        });
        let (c, after) = known.unwrap_or(('&', after));
        plain.push(c);
        rest = after;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_come_with_their_attributes() {
        let text =
            "<?xml version=\"1.0\"?>\n<!-- <no> -->\n<A b = \"1 > 0\" c='x &amp; &#121;&lt;'>text<B/></A >";
        let mut from = 0;
        let mut tags = Vec::new();
        while let Some(tag) = next(text.as_bytes(), from).unwrap() {
            from = tag.end;
            tags.push(tag);
        }
        let seen: Vec<_> = tags.iter().map(|t| (t.name, t.form)).collect();
        assert_eq!(seen, [("A", Form::Opens), ("B", Form::Empty), ("A", Form::Closes)]);
        assert_eq!(tags[0].get("b").as_deref(), Some("1 > 0"));
        assert_eq!(tags[0].get("c").as_deref(), Some("x & y<"));
        assert_eq!(tags[0].get("d"), None);
        assert!(tags[0].natural("b").unwrap_err().what.contains("must be a natural number, found \"1 > 0\""));
        assert_eq!(unescaped("&nbsp;&;&"), "&nbsp;&;&");
    }

    #[test]
    fn tags_that_do_not_end_are_faults() {
        for text in ["<A b=\"1>", "<!-- ", "<A", "<"] {
            assert!(next(text.as_bytes(), 0).unwrap_err().what.contains("cut short"), "{text}");
        }
        assert!(next(b"no tag", 0).unwrap().is_none());
    }
}
