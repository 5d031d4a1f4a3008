//! All fields along straight lines, as CSV; in units of the wall where a line begins at one.

use crate::case::Profile;
use crate::context::write_whole;
use crate::error::CliResult;
use crate::numbers::Cell;
use crate::plot::{Picture, Series};
use chromaflow_flow::config::{Freestream, GasConfig};
use chromaflow_flow::gas::viscosity;
use chromaflow_flow::mesh::Mesh;
use chromaflow_flow::output::{Crossing, Field, crossings};
use std::fmt::Write as _;
use std::path::Path;

/// What a wall measures a boundary layer by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WallUnits {
    /// Friction velocity, of the velocities' unit.
    pub velocity: f64,
    /// Viscous length nu / u_tau, mesh units.
    pub length: f64,
}

impl WallUnits {
    /// Of a wall with this friction over the dynamic pressure, and the pressure and temperature there. Where a law of the wall holds the density is not
    /// that of the node on the wall, which slides along.
    pub fn of(gas: &GasConfig, stream: &Freestream, friction: f64, pressure: f64, temperature: f64) -> Self {
        let transport = gas.transport(stream);
        let density = gas.gamma * pressure / temperature;
        let velocity = (friction * 0.5 * stream.mach.powi(2) / density).sqrt();
        let length = transport.scale * viscosity(transport, temperature) / density / velocity;
        Self { velocity, length }
    }
}

/// A line with the places where it crosses faces of cells.
pub struct Line<'a> {
    at: Vec<Crossing>,
    fields: &'a [Field],
    wall: Option<WallUnits>,
}

impl<'a> Line<'a> {
    /// The line through `fields` on `mesh`; `None` where it meets no cell. `units(friction, pressure, temperature)` are those of a wall
    /// with this friction over the dynamic pressure.
    pub fn new(
        profile: &Profile,
        mesh: &Mesh,
        fields: &'a [Field],
        units: impl Fn(f64, f64, f64) -> Option<WallUnits>,
    ) -> Option<Self> {
        let at = crossings(mesh, profile.from, profile.to);
        let first = at.first()?;
        let size = |name: &str| fields.iter().find(|f| f.name == name).map(|f| first.size(f));
        // Off walls there is no friction.
        let friction = size("skin_friction").filter(|f| *f > 0.0);
        let wall = friction.and_then(|f| units(f, size("pressure")?, size("temperature")?));
        Some(Self { at, fields, wall })
    }

    /// Writes distance and place, y+ and u+ where the line begins at a wall without slip, then all fields.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, path: &Path) -> CliResult<()> {
        let mut text = String::from("distance,x,y,z");
        if self.wall.is_some() {
            text.push_str(",y_plus,u_plus");
        }
        // In a line the wall's own y_plus is that of the line.
        let fields = || self.fields.iter().filter(|f| self.wall.is_none() || f.name != "y_plus");
        fields().for_each(|field| names(field, &mut text));
        for crossing in &self.at {
            let [x, y, z] = crossing.position.map(Cell);
            let _ = write!(text, "\n{},{x},{y},{z}", Cell(crossing.distance));
            if let Some(wall) = self.wall {
                let (height, speed) = self.in_wall_units(wall, crossing);
                let _ = write!(text, ",{},{}", Cell(height), Cell(speed));
            }
            for field in fields() {
                let _ = (0..field.components)
                    .try_for_each(|c| write!(text, ",{}", Cell(crossing.value(field, c))));
            }
        }
        text.push('\n');
        write_whole(path, text.as_bytes())
    }

    /// y+ and u+ of a place.
    fn in_wall_units(&self, wall: WallUnits, crossing: &Crossing) -> (f64, f64) {
        let speed = self.fields.iter().find(|f| f.name == "velocity").map_or(0.0, |f| crossing.size(f));
        (crossing.distance / wall.length, speed / wall.velocity)
    }

    /// u+ over y+ beside the law of the wall, or the speed over the distance.
    pub fn picture(&self, number: usize) -> Picture {
        let title = format!("Profile {number}");
        let solid =
            |name: &'static str, points: Vec<(f64, f64)>| Series { name: name.into(), points, line: true };
        let Some(wall) = self.wall else {
            let velocity = self.fields.iter().find(|f| f.name == "velocity");
            let speed = |c: &Crossing| (velocity.map_or(0.0, |f| c.size(f)), c.distance);
            let series = vec![solid("here", self.at.iter().map(speed).collect())];
            return Picture { title, x: "speed", y: "distance", log: [false, false], series };
        };
        let points: Vec<(f64, f64)> = self.at.iter().map(|c| self.in_wall_units(wall, c)).collect();
        let points: Vec<(f64, f64)> = points.into_iter().filter(|p| p.0 > 0.0).collect();
        let mut highest = points.iter().fold(0.0, |high: f64, p| high.max(p.1));
        // Where friction vanishes u+ has no bounds; of the law what the line reaches is drawn.
        let furthest = points.iter().fold(0.0, |far: f64, p| far.max(p.0));
        while spalding(highest) > 10.0 * furthest && highest > 0.0 {
            highest *= 0.9;
        }
        let law = (0..=200).map(|i| highest * f64::from(i) / 200.0).map(|u| (spalding(u), u));
        let lowest = points.first().map_or(0.0, |p| p.0);
        let law = law.filter(|p| p.0 >= lowest).collect();
        let series = vec![solid("here", points), solid("Spalding's law", law)];
        Picture { title, x: "y+", y: "u+", log: [true, false], series }
    }
}

/// y+ of u+ by the law of the wall of Spalding (Journal of Applied Mechanics 28, 1961) with kappa = 0.41, B = 5.0.
fn spalding(u: f64) -> f64 {
    let (ku, from) = (0.41 * u, (-0.41_f64 * 5.0).exp());
    u + from * (ku.exp() - 1.0 - ku - ku * ku / 2.0 - ku.powi(3) / 6.0)
}

/// Adds the columns of a field to a header.
pub fn names(field: &Field, text: &mut String) {
    let of = |c: usize| match field.components {
        1 => field.name.clone(),
        3 => format!("{}_{}", field.name, ["x", "y", "z"][c]),
        _ => format!("{}_{c}", field.name),
    };
    (0..field.components).for_each(|c| {
        text.push(',');
        text.push_str(&of(c));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use chromaflow_flow::mesh::generate::{Cells, box_mesh};

    /// A sublayer u+ = y+ on a wall at z = 0.
    #[test]
    fn a_profile_has_the_units_of_its_wall() {
        let mesh = box_mesh([2, 2, 8], [1.0, 1.0, 1.0], Cells::Tets, 0.0);
        let nodes = || mesh.nodes.iter();
        let fields = [
            Field::scalar("pressure", nodes().map(|_| 2.0).collect()),
            Field::vector("velocity", 3, nodes().flat_map(|x| [3.0 * x[2], 0.0, 0.0]).collect()),
            Field::scalar("temperature", nodes().map(|_| 1.0).collect()),
            Field::vector(
                "skin_friction",
                3,
                nodes().flat_map(|x| [if x[2] == 0.0 { 0.5 } else { 0.0 }, 0.0, 0.0]).collect(),
            ),
        ];
        let units = |friction: f64, pressure: f64, temperature: f64| {
            assert!((friction - 0.5).abs() < 1e-14 && pressure == 2.0 && temperature == 1.0);
            Some(WallUnits { velocity: 0.75, length: 0.25 })
        };
        let profile = Profile { from: [0.4, 0.3, 0.0], to: [0.4, 0.3, 1.0] };
        let line = Line::new(&profile, &mesh, &fields, units).unwrap();
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("profile_0.csv");
        line.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        assert_eq!(header[..8], ["distance", "x", "y", "z", "y_plus", "u_plus", "pressure", "velocity_x"]);
        let mut rows = 0;
        for line in lines {
            let row: Vec<f64> = line.split(',').map(|v| v.parse().unwrap()).collect();
            assert_eq!(row.len(), header.len());
            assert!((row[4] - 4.0 * row[0]).abs() < 1e-12 && (row[5] - row[4]).abs() < 1e-12, "{line}");
            rows += 1;
        }
        assert!(rows >= 9, "{rows}");
        assert_eq!(line.picture(0).x, "y+");
        let beside = Profile { from: [4.0; 3], to: [5.0; 3] };
        assert!(Line::new(&beside, &mesh, &fields, units).is_none());
    }

    /// At a place of hardly any friction u+ is in the thousands, where the law's y+ is beyond all numbers.
    #[test]
    fn the_law_is_drawn_as_far_as_the_line_goes() {
        let mesh = box_mesh([2, 2, 8], [1.0, 1.0, 1.0], Cells::Tets, 0.0);
        let speed = mesh.nodes.iter().flat_map(|x| [3.0 * x[2], 0.0, 0.0]).collect();
        let fields = [Field::vector("velocity", 3, speed)];
        for velocity in [1e-5, 1e-3, 0.3] {
            let line = Line {
                wall: Some(WallUnits { velocity, length: 1.0 / velocity }),
                ..Line::new(
                    &Profile { from: [0.4, 0.3, 0.0], to: [0.4, 0.3, 1.0] },
                    &mesh,
                    &fields,
                    |_, _, _| None,
                )
                .unwrap()
            };
            let picture = line.picture(0);
            let furthest = picture.series[0].points.iter().fold(0.0, |far: f64, p| far.max(p.0));
            let law = &picture.series[1].points;
            assert!(law.iter().all(|p| p.0 <= 10.0 * furthest && p.1.is_finite()), "{law:?}");
        }
    }

    /// At y+ = 1 u+ is 1 within a thousandth, at 100 the logarithm's 16.2.
    #[test]
    fn the_law_of_the_wall_has_its_ends() {
        assert!((spalding(1.0) - 1.0).abs() < 1e-3);
        let u = 1.0 / 0.41 * 1000_f64.ln() + 5.0;
        assert!((spalding(u) / 1000.0 - 1.0).abs() < 0.02);
    }
}
