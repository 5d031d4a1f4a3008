//! All fields at the nodes of walls, as CSV.

use super::profiles::names;
use crate::context::write_whole;
use crate::error::CliResult;
use crate::numbers::Cell;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::Field;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// Writes a line for each node of each wall, of a planar mesh those of its plane: marker, place, all fields. Whether there were any:
/// without walls there is no file.
///
/// # Errors
/// When the file cannot be written.
pub fn write(path: &Path, mesh: &Mesh, is_wall: impl Fn(&str) -> bool, fields: &[Field]) -> CliResult<bool> {
    let plane = mesh.planar.map_or(u32::MAX, |planar| planar.nodes_2d as u32);
    let mut text = String::from("marker,x,y,z");
    for field in fields {
        names(field, &mut text);
    }
    text.push('\n');
    let mut any = false;
    for marker in mesh.markers.iter().filter(|m| is_wall(&m.name)) {
        let nodes = marker.triangles.as_flattened().iter().chain(marker.quads.as_flattened());
        let nodes: BTreeSet<u32> = nodes.copied().filter(|&n| n < plane).collect();
        for node in nodes.into_iter().map(|n| n as usize) {
            let [x, y, z] = mesh.nodes[node].map(Cell);
            let _ = write!(text, "{},{x},{y},{z}", marker.name.replace(',', " "));
            for field in fields {
                let values = &field.values[node * field.components..][..field.components];
                let _ = values.iter().try_for_each(|v| write!(text, ",{}", Cell(*v)));
            }
            text.push('\n');
            any = true;
        }
    }
    if any {
        write_whole(path, text.as_bytes())?;
    }
    Ok(any)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    #[test]
    fn walls_have_a_line_a_node() {
        let mesh = box_mesh([2, 3, 1], [1.0; 3], Cells::Prisms, 0.0);
        let fields = [
            Field::scalar("cp", (0..mesh.nodes.len()).map(|i| i as f64).collect()),
            Field::vector("skin_friction", 3, mesh.nodes.iter().flatten().copied().collect()),
        ];
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("surface.csv");
        assert!(write(&path, &mesh, |name| name == "zmin", &fields).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "marker,x,y,z,cp,skin_friction_x,skin_friction_y,skin_friction_z");
        assert_eq!(lines.len(), 1 + 3 * 4);
        for line in &lines[1..] {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!((cells[0], cells[3]), ("zmin", "0"));
            assert_eq!(cells[1..4], cells[5..8]);
        }
        let none = dir.path().join("none.csv");
        assert!(!write(&none, &mesh, |_| false, &fields).unwrap());
        assert!(!none.exists());
    }
}
