//! `run --verify`: the results against the case file's stored ones.

use super::{Finished, Prepared, summary};
use crate::context::Context;
use crate::error::{CliError, CliResult};

/// Compares and prints; a difference is bad input: the case file and the program do not agree.
///
/// # Errors
/// Status 2 with every difference.
pub fn verify(prepared: &Prepared, finished: &Finished, ctx: &Context) -> CliResult<()> {
    let (expect, last) = (&prepared.case.expect, &finished.last);
    let mut faults = Vec::new();
    let mut near = |name: &str, expected: Option<f64>, found: f64| {
        let Some(expected) = expected else { return };
        let off = (found - expected).abs();
        if off.is_nan() || off > expect.tolerance {
            faults.push(format!("{name} is {found:.7}, expected {expected} +- {}", expect.tolerance));
        } else if ctx.talk() {
            println!("{name} is {found:.7}, expected {expected} +- {}: good", expect.tolerance);
        }
    };
    let settled = summary::oscillation(prepared, finished);
    let of_settled = |value: fn(&super::oscillation::Oscillation) -> f64| {
        settled.as_ref().map_or(f64::NAN, |(o, _)| value(o))
    };
    near("mean cl", expect.mean_cl, of_settled(|o| o.mean_cl));
    near("mean cd", expect.mean_cd, of_settled(|o| o.mean_cd));
    near("amplitude of cl", expect.cl_amplitude, of_settled(|o| o.cl_amplitude));
    near("strouhal", expect.strouhal, settled.as_ref().map_or(f64::NAN, |(_, strouhal)| *strouhal));
    near("cl", expect.cl, last.forces.total.cl);
    near("cd", expect.cd, last.forces.total.cd);
    if let Some(most) = expect.iterations_at_most
        && last.iteration > most
    {
        faults.push(format!("{} iterations, expected at most {most}", last.iteration));
    }
    if let Some(least) = expect.residual_orders_at_least
        && (last.orders.is_nan() || last.orders < least)
    {
        faults.push(format!("the residual fell by {:.2} orders, expected at least {least}", last.orders));
    }
    if faults.is_empty() { Ok(()) } else { Err(CliError::input(faults.join("\n"))) }
}
