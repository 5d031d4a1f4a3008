//! Numbers and words of text and binary files, with the place of each.

pub(crate) mod binary;
pub(crate) mod text;

/// What is wrong in a file: byte and words.
#[derive(Debug)]
pub(crate) struct Fault {
    pub at: u64,
    pub what: String,
}

impl Fault {
    pub fn new(at: usize, what: impl Into<String>) -> Self {
        Self { at: at as u64, what: what.into() }
    }

    /// The error that it is in this file.
    pub fn of(self, path: &std::path::Path) -> crate::MeshError {
        crate::MeshError::Syntax {
            path: path.to_owned(),
            place: crate::Place::Byte(self.at),
            what: self.what,
        }
    }
}
