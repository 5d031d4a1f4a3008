//! What the distance from walls costs: seconds for all nodes of a mesh, and nanoseconds a node and thread.
//!
//! ```text
//! cargo run --release --example wall_distance -- MESH WALL[,WALL] [THREADS]
//! ```

use chromaflow_device::Team;
use chromaflow_flow::mesh::{ReadOptions, read};
use chromaflow_flow::wall_distance::WallSurface;
use std::path::Path;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (mesh, walls) = (args.next().ok_or("which mesh?")?, args.next().ok_or("which markers?")?);
    let threads: usize = args.next().map_or(Ok(1), |n| n.parse())?;
    let mesh = read(Path::new(&mesh), &ReadOptions::default())?;
    let start = Instant::now();
    let surface = WallSurface::new(&mesh, |marker| walls.split(',').any(|name| name == marker.name))?;
    let built = start.elapsed().as_secs_f64();
    let start = Instant::now();
    let nearest = surface.nearest_of(&mesh.nodes, &Team::new(threads));
    let searched = start.elapsed().as_secs_f64();
    let farthest = nearest.iter().map(|n| n.distance).fold(0.0, f64::max);
    println!(
        "{} nodes, farthest {farthest:.6}: tree {built:.3} s, search {searched:.3} s on {threads} threads, {:.0} ns a node and thread",
        nearest.len(),
        1e9 * searched * threads as f64 / nearest.len() as f64
    );
    Ok(())
}
