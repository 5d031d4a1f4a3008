//! `run --verify`: the results against the case file's stored ones.

use super::history::Row;
use super::oscillation::Oscillation;
use crate::case::ExpectSection;
use crate::context::Context;
use crate::error::{CliError, CliResult};

/// Compares the last iteration, the orders by which the residual fell and what an unsteady run settled to (with its Strouhal
/// number), and prints; a difference is bad input: the case file and the program do not agree.
///
/// # Errors
/// Status 2 with every difference.
pub fn verify(
    expect: &ExpectSection,
    last: &Row,
    orders: f64,
    settled: Option<(Oscillation, f64)>,
    ctx: &Context,
) -> CliResult<()> {
    let mut faults = Vec::new();
    let mut near = |name: &str, expected: Option<f64>, found: f64| {
        let Some(expected) = expected else { return };
        let off = (found - expected).abs();
        if off.is_nan() || off > expect.tolerance {
            faults.push(format!("{name} is {found:.7}, expected {expected} +- {}", expect.tolerance));
        } else if ctx.verbose() {
            println!("{name} is {found:.7}, expected {expected} +- {}: good", expect.tolerance);
        }
    };
    let of_settled = |value: fn(&Oscillation) -> f64| settled.as_ref().map_or(f64::NAN, |(o, _)| value(o));
    near("mean cl", expect.mean_cl, of_settled(|o| o.mean_cl));
    near("mean cd", expect.mean_cd, of_settled(|o| o.mean_cd));
    near("amplitude of cl", expect.cl_amplitude, of_settled(|o| o.cl_amplitude));
    near("strouhal", expect.strouhal, settled.as_ref().map_or(f64::NAN, |(_, strouhal)| *strouhal));
    near("cl", expect.cl, last.forces[0]);
    near("cd", expect.cd, last.forces[1]);
    if let Some(most) = expect.iterations_at_most
        && last.iteration > most
    {
        faults.push(format!("{} iterations, expected at most {most}", last.iteration));
    }
    if let Some(least) = expect.residual_orders_at_least
        && (orders.is_nan() || orders < least)
    {
        faults.push(format!("the residual fell by {orders:.2} orders, expected at least {least}"));
    }
    if faults.is_empty() { Ok(()) } else { Err(CliError::input(faults.join("\n"))) }
}
