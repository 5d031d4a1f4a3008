//! `chromaflow-papers grid`: the parts of a step on a structured grid as a table, beside Figures 4 and 5 of Stone et al. (2011).

use chromaflow_cli::bench::grid::{Args, Measured, measure};
use chromaflow_cli::bench::timing::Record;
use chromaflow_cli::context::Context;
use chromaflow_cli::error::{CliResult, Done};

/// Prints what `chromaflow bench grid` prints, and a table: bytes and bandwidth beside that of a copy; on a GPU also time step and
/// fluxes with transfers.
///
/// # Errors
/// Bad usage, a GPU that fails, an unwritable result.
pub fn run(args: &Args, ctx: &Context) -> CliResult {
    let Measured { records, cells, copy } = measure(args, ctx)?;
    table(&records, cells, copy);
    Ok(Done::Success)
}

fn table(records: &[Record], cells: usize, copy: f64) {
    if copy > 0.0 {
        println!("\ncopy of 1 GiB: {copy:.0} GB/s");
    }
    println!("\n| part | ms | bytes a cell | GB/s | of the copy |\n|---|---|---|---|---|");
    for record in records {
        let (ms, rate) = (1e3 * record.timing.median, 1e-9 * record.bytes / record.timing.median);
        let share = if copy > 0.0 { format!("{:.0} %", 100.0 * rate / copy) } else { String::new() };
        let bytes = record.bytes / cells as f64;
        println!("| {} | {ms:.4} | {bytes:.0} | {rate:.0} | {share} |", record.op);
    }
    let find = |op: &str| records.iter().find(|r| r.op == op).map(|r| r.timing.median);
    for (figure, kernel, paper) in [
        ("Figure 4", "grid_time_step", "63 % for transfers"),
        ("Figure 5", "grid_flux", "32 % (smallest grid) to 26 % (largest) for transfers"),
    ] {
        let [whole, moved] = ["with_transfers", "transfers_only"].map(|s| find(&format!("{kernel}_{s}")));
        if let (Some(resident), Some(whole), Some(moved)) = (find(kernel), whole, moved) {
            let share = 100.0 * moved / whole;
            let (resident, whole) = (1e3 * resident, 1e3 * whole);
            println!(
                "{figure}: resident {resident:.3} ms, with transfers {whole:.3} ms ({share:.0} % for them; paper: {paper})"
            );
        }
    }
}
