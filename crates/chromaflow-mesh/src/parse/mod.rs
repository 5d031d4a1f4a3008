//! Numbers and words of text and binary files, with the place of each.

pub(crate) mod binary;
pub(crate) mod text;
