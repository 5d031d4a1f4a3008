//! The steps of `mesh transform`.

use crate::error::{CliError, CliResult};
use chromaflow_flow::mesh::Affine;

/// Mirror, scale, rotate, move: in this order.
#[derive(clap::Args)]
pub struct Steps {
    /// Mirror in the plane through the origin at right angles to this axis (x, y or z)
    #[arg(long, value_name = "AXIS")]
    mirror: Option<char>,
    /// One factor, or three with commas
    #[arg(long, value_delimiter = ',', num_args = 1, allow_negative_numbers = true)]
    scale: Vec<f64>,
    /// Right-handed rotation about an axis through the origin, such as x:90; may be given more than once
    #[arg(long, value_name = "AXIS:DEGREES")]
    rotate: Vec<String>,
    /// Three lengths with commas, after all else
    #[arg(long, value_delimiter = ',', num_args = 1, allow_negative_numbers = true)]
    translate: Vec<f64>,
}

impl Steps {
    /// All steps as one map.
    ///
    /// # Errors
    /// When there are none, or one makes no sense.
    pub fn map(&self) -> CliResult<Affine> {
        let mut map = Affine::IDENTITY;
        if let Some(axis) = self.mirror {
            let mut factors = [1.0; 3];
            factors[number(axis)?] = -1.0;
            map = map.then(&Affine::scale(factors));
        }
        match self.scale[..] {
            [] => {}
            [s] => map = map.then(&Affine::scale([s; 3])),
            [x, y, z] => map = map.then(&Affine::scale([x, y, z])),
            _ => return Err(CliError::input("--scale takes one number, or three with commas")),
        }
        for turn in &self.rotate {
            let parsed = turn.split_once(':').and_then(|(axis, angle)| {
                let mut letters = axis.chars();
                let letter = letters.next().filter(|_| letters.next().is_none())?;
                Some((letter, angle.parse::<f64>().ok().filter(|a| a.is_finite())?))
            });
            let Some((axis, degrees)) = parsed else {
                return Err(CliError::input(format!(
                    "--rotate {turn}: expected an axis and degrees, such as z:15"
                )));
            };
            map = map.then(&Affine::rotate(number(axis)?, degrees));
        }
        match self.translate[..] {
            [] => {}
            [x, y, z] => map = map.then(&Affine::translate([x, y, z])),
            _ => return Err(CliError::input("--translate takes three numbers with commas")),
        }
        if map == Affine::IDENTITY {
            return Err(CliError::input("nothing to do: give --mirror, --scale, --rotate or --translate"));
        }
        map.check().map_err(|e| CliError::input(e.to_string()))?;
        Ok(map)
    }
}

fn number(axis: char) -> CliResult<usize> {
    let found = "xyz".find(axis.to_ascii_lowercase());
    found.ok_or_else(|| CliError::input(format!("{axis:?} is no axis: expected x, y or z")))
}
