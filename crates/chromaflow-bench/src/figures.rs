//! Figures of papers, as tables, numbers and pictures.

use chromaflow_cli::error::{CliError, CliResult};
use chromaflow_cli::plot::{self, Picture};
use serde_json::Value;
use std::path::Path;

/// The figures of a run.
#[derive(Default)]
pub struct Figures {
    /// Names, tables and numbers.
    tables: Vec<(&'static str, String, Value)>,
    /// And what they look like.
    pub pictures: Vec<(&'static str, Picture)>,
}

impl Figures {
    /// Adds a table in Markdown, and its numbers.
    pub fn add(&mut self, name: &'static str, table: String, numbers: Value) {
        self.tables.push((name, table, numbers));
    }

    /// Whether a figure of this name was added.
    pub fn has(&self, name: &str) -> bool {
        self.tables.iter().any(|t| t.0 == name)
    }

    /// The tables.
    pub fn markdown(&self) -> String {
        self.tables.iter().map(|(_, table, _)| table.as_str()).collect()
    }

    /// The numbers by name.
    pub fn json(&self) -> Value {
        self.tables.iter().map(|(name, _, numbers)| ((*name).to_owned(), numbers.clone())).collect()
    }

    /// Draws the pictures into a folder, which is made where there is none; another picture of the same name gets a number.
    ///
    /// # Errors
    /// A folder that cannot be made, a picture that cannot be written.
    pub fn draw(&self, folder: &Path) -> CliResult<()> {
        make_folder(folder)?;
        for (i, (name, picture)) in self.pictures.iter().enumerate() {
            let again = self.pictures[..i].iter().filter(|p| p.0 == *name).count();
            let stem = if again == 0 { (*name).to_owned() } else { format!("{name}_{}", again + 1) };
            plot::draw(&folder.join(stem), picture)?;
        }
        Ok(())
    }
}

/// Makes a folder for results.
///
/// # Errors
/// When it cannot be made.
pub fn make_folder(folder: &Path) -> CliResult<()> {
    std::fs::create_dir_all(folder)
        .map_err(|e| CliError::environment(format!("cannot make {}: {e}", folder.display())))
}

/// `1-4,8` as numbers.
///
/// # Errors
/// Text that is none, numbers that are no block sizes.
pub fn list(text: &str) -> CliResult<Vec<usize>> {
    let bad = || CliError::input(format!("`{text}`: expected numbers such as 5, 1-10 or 1,2,5"));
    let mut numbers = Vec::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |s: &str| s.trim().parse::<usize>().map_err(|_| bad());
        numbers.extend(number(first)?..=number(last)?);
    }
    if numbers.is_empty() || numbers.iter().any(|nb| !(1..=chromaflow::MAX_NB).contains(nb)) {
        return Err(bad());
    }
    Ok(numbers)
}
