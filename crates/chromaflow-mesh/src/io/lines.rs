//! FUN3D's files of implicit lines, `.lines_fmt`: chains of nodes, off walls through the layers of cells at them, that are solved for together.
//!
//! Text. The first line has the number of lines and that of their nodes, the second one the least and the largest number of nodes in a line; then, of each line,
//! their number, and its nodes one below the other, from 1. Of every line of text the first numbers count; words behind them (`Points in line for line =`, coordinates)
//! are for readers.
//!
//! **Source**: what the grid generators for the hemisphere cylinder of NASA's Turbulence Modeling Resource (Nishikawa 2015, `hc3dnumerics_grids`) write for
//! FUN3D, subroutine `line_info_file`.

use crate::pairs::Pairs;
use crate::parse::text::{Lines, Words};
use crate::{Mesh, MeshError};
use chromaflow::files::{AtomicFile, FileError};
use std::io::{self, Write};
use std::path::Path;

/// Reads the lines of a mesh: lists of its nodes, from 0. On planar meshes, lines of the front plane are those of both.
///
/// ```
/// use chromaflow_mesh::generate::{Cells, box_mesh};
/// use chromaflow_mesh::{read_lines, write_lines};
///
/// let mesh = box_mesh([1, 1, 2], [1.0; 3], Cells::Hexes, 0.0);
/// let up = (0..mesh.nodes.len() as u32).filter(|&i| mesh.nodes[i as usize][..2] == [0.0; 2]);
/// let mut line: Vec<u32> = up.collect();
/// line.sort_by(|&a, &b| mesh.nodes[a as usize][2].total_cmp(&mesh.nodes[b as usize][2]));
/// let file = std::env::temp_dir().join(format!("corner-{}.lines_fmt", std::process::id()));
/// write_lines(&file, &[line.clone()], &mesh)?;
/// assert_eq!(read_lines(&file, &mesh)?, [line]);
/// # std::fs::remove_file(file)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// With the line of the file: numbers that are missing or are none, a node that the mesh does not have, one that lies in two lines, two that follow one another and have no edge
/// between them, more or fewer nodes than announced.
pub fn read_lines(path: &Path, mesh: &Mesh) -> Result<Vec<Vec<u32>>, MeshError> {
    let (mut text, n) = (Lines::open(path)?, mesh.nodes.len());
    let edges = Pairs::edges(mesh);
    let (pattern, _) = edges.graph();
    let first = |text: &mut Lines, name: &str| -> Result<u64, MeshError> {
        while text.advance()? {
            let mut words = Words(text.text());
            if words.clone().next().is_some() {
                return words.natural(name).map_err(|w| text.error(w));
            }
        }
        Err(text.error(format!("the file ends before {name}")))
    };
    let count = first(&mut text, "the number of lines")?;
    let mut words = Words(text.text());
    words.next();
    let nodes = words.natural("the number of nodes in lines").map_err(|w| text.error(w))?;
    first(&mut text, "the least number of nodes in a line")?;
    if nodes > n as u64 || count > nodes {
        return Err(text.error(format!(
            "{count} lines of {nodes} nodes are announced, and the mesh has {n}: it is of another one"
        )));
    }
    let (mut lists, mut sum, mut line_of) = (Vec::new(), 0, vec![0; n]);
    for number in 1..=count as usize {
        let length = first(&mut text, "the number of nodes of a line")?;
        if length > n as u64 {
            return Err(text.error(format!("line {number} has {length} nodes, and the mesh {n}")));
        }
        let mut list: Vec<u32> = Vec::with_capacity(length as usize);
        for _ in 0..length {
            let node = first(&mut text, "a node of a line")?;
            if node == 0 || node > n as u64 {
                return Err(text.error(format!("node {node}: nodes are 1 to {n}")));
            }
            let row = node as usize - 1;
            if line_of[row] > 0 {
                return Err(text.error(format!("node {node} lies in line {} already", line_of[row])));
            }
            line_of[row] = number;
            if let Some(&last) = list.last() {
                let around = &pattern.col_idx()[pattern.range(last as usize)];
                if around.binary_search(&(row as u32)).is_err() {
                    let before = last + 1;
                    return Err(text.error(format!(
                        "nodes {before} and {node} follow one another in line {number} and have no edge between them"
                    )));
                }
            }
            list.push(row as u32);
        }
        sum += length;
        lists.push(list);
    }
    if sum != nodes {
        return Err(text.error(format!("lines have {sum} nodes, and {nodes} are announced")));
    }
    while text.advance()? {
        if Words(text.text()).next().is_some() {
            return Err(text.error(format!("something follows the last of {count} lines")));
        }
    }
    Ok(lists)
}

/// Writes lines of nodes, with the coordinates of the first and the last one of each.
///
/// # Errors
/// When the file cannot be written.
pub fn write_lines(path: &Path, lines: &[Vec<u32>], mesh: &Mesh) -> Result<(), FileError> {
    let mut file = AtomicFile::create(path)?;
    let lengths = || lines.iter().map(Vec::len);
    let mut body = || -> io::Result<()> {
        writeln!(file, "{} {} Total lines and points", lines.len(), lengths().sum::<usize>())?;
        let [least, most] = [lengths().min().unwrap_or(0), lengths().max().unwrap_or(0)];
        writeln!(file, "{least} {most} Min and max points in line")?;
        for (number, line) in lines.iter().enumerate() {
            writeln!(file, "{} Points in line for line = {}", line.len(), number + 1)?;
            for (at, &node) in line.iter().enumerate() {
                write!(file, "{}", node + 1)?;
                if at == 0 || at + 1 == line.len() {
                    let [x, y, z] = mesh.nodes[node as usize];
                    write!(file, " x/y/z= {x} {y} {z}")?;
                }
                writeln!(file)?;
            }
        }
        Ok(())
    };
    body().map_err(|e| FileError::new("cannot write", path, e))?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::{Cells, box_mesh};

    fn up(mesh: &Mesh) -> Vec<Vec<u32>> {
        let columns = [0.0, 1.0].into_iter().flat_map(|x| [0.0, 1.0].map(|y| [x, y]));
        let of = |[x, y]: [f64; 2]| {
            let nodes = (0..mesh.nodes.len() as u32).filter(|&i| mesh.nodes[i as usize][..2] == [x, y]);
            let mut nodes: Vec<u32> = nodes.collect();
            nodes.sort_by(|&a, &b| mesh.nodes[a as usize][2].total_cmp(&mesh.nodes[b as usize][2]));
            nodes
        };
        columns.map(of).collect()
    }

    #[test]
    fn lines_are_read_as_they_are_written() {
        let mesh = box_mesh([2, 2, 5], [1.0; 3], Cells::Hexes, 0.0);
        let (folder, lines) = (tempfile::tempdir().unwrap(), up(&mesh));
        assert_eq!((lines.len(), lines[0].len()), (4, 6));
        for name in ["a.lines_fmt", "a.lines_fmt.gz"] {
            let path = folder.path().join(name);
            write_lines(&path, &lines, &mesh).unwrap();
            assert_eq!(read_lines(&path, &mesh).unwrap(), lines);
        }
    }

    /// A file as the generators of TMR write it, and what may be wrong with it.
    #[test]
    fn faults_have_the_line_of_the_file() {
        let mesh = box_mesh([1, 1, 2], [1.0; 3], Cells::Hexes, 0.0);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.lines_fmt");
        let [a, b, c] = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.5], [0.0, 0.0, 1.0]]
            .map(|x| 1 + mesh.nodes.iter().position(|y| *y == x).unwrap());
        let far = 1 + mesh.nodes.iter().position(|y| *y == [1.0, 1.0, 1.0]).unwrap();
        let good = format!(
            "           1           3 Total lines and points\n           3           3 Min and max points in line\n           3  Points in line for line =            1\n         {a}  x/y/z=   0.0 0.0 0.0\n         {b}\n         {c}  x/y/z=   0.0 0.0 1.0\n"
        );
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            read_lines(&path, &mesh)
        };
        let expected = vec![[a, b, c].map(|node| node as u32 - 1).to_vec()];
        assert_eq!(read(&good).unwrap(), expected);
        assert_eq!(read(&good.replace('\n', "\r\n\n")).unwrap(), expected);
        for (from, to, message) in [
            (format!("         {b}\n"), "         99\n".to_owned(), "line 5: node 99: nodes are 1 to 12"),
            (format!("         {b}\n"), "         0\n".to_owned(), "line 5: node 0: nodes are 1 to 12"),
            (format!("         {b}\n"), format!("         {a}\n"), "lies in line 1 already"),
            (format!("         {b}\n"), format!("         {far}\n"), "have no edge between them"),
            (
                format!("         {b}\n"),
                "         x\n".to_owned(),
                "line 5: a node of a line must be a natural number",
            ),
            (
                "1           3 T".to_owned(),
                "1           4 T".to_owned(),
                "lines have 3 nodes, and 4 are announced",
            ),
            ("1           3 T".to_owned(), "1           33 T".to_owned(), "it is of another one"),
            (
                "1           3 T".to_owned(),
                "2           3 T".to_owned(),
                "the file ends before the number of nodes of a line",
            ),
            (" x/y/z=   0.0 0.0 1.0\n".to_owned(), "\n7\n".to_owned(), "line 7: something follows"),
        ] {
            let text = good.replace(&from, &to);
            assert_ne!(text, good);
            let fault = read(&text).unwrap_err().to_string();
            assert!(fault.contains(message), "{message}: {fault}");
        }
    }
}
