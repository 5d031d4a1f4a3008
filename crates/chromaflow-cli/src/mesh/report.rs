//! What `mesh info` and `mesh check` say.

use chromaflow_flow::mesh::{Defect, Info, Kind, Loaded, Range, Report};
use serde_json::{Value, json};

/// Facts about a mesh, as text.
pub fn print_info(loaded: &Loaded, info: &Info) {
    println!("format     {}", loaded.format);
    match loaded.mesh.planar {
        Some(planar) => {
            println!("nodes      {} in the plane (one layer: {} in all)", planar.nodes_2d, info.nodes);
        }
        None => println!("nodes      {}", info.nodes),
    }
    println!("edges      {}", info.edges);
    let n = info.neighbors;
    println!("neighbors  {} ... {}, {:.2} on average", n.min, n.max, n.mean);
    let [a, b] = info.bounds;
    println!("bounds     {:.6} {:.6} {:.6} ... {:.6} {:.6} {:.6}", a[0], a[1], a[2], b[0], b[1], b[2]);
    println!("volume     {:.12e}", info.volume);
    if let Some(warp) = info.warp {
        println!("warp       {warp:.3} degrees at most between the halves of a quadrilateral");
    }
    println!(
        "\n{:<12} {:>9}  {:>22}  {:>16}  {:>20}",
        "elements", "count", "volume", "scaled Jacobian", "aspect ratio"
    );
    for k in &info.kinds {
        let (v, j, a) = (k.volume, k.scaled_jacobian, k.aspect_ratio);
        println!(
            "{:<12} {:>9}  {:>9.3e} ... {:>9.3e}  {:>6.3}, mean {:>5.3}  {:>9.3e}, mean {:>6.1}",
            k.kind.to_string(),
            k.count,
            v.min,
            v.max,
            j.min,
            j.mean,
            a.max,
            a.mean
        );
    }
    println!("\n{:<24} {:>9} {:>9} {:>14} {:>6}", "marker", "triangles", "quads", "area", "code");
    for m in &info.markers {
        let code = m.code.map_or_else(String::new, |c| c.to_string());
        let partner = m.partner.as_ref().map_or_else(String::new, |p| format!("  periodic with {p}"));
        println!("{:<24} {:>9} {:>9} {:>14.6e} {code:>6}{partner}", m.name, m.triangles, m.quads, m.area);
    }
    let (elements, faces) = (loaded.flipped.elements.iter().sum::<usize>(), loaded.flipped.faces);
    let counts = [(elements, "elements"), (faces, "boundary faces")];
    let turned: Vec<String> =
        counts.iter().filter(|c| c.0 > 0).map(|(n, what)| format!("{n} {what}")).collect();
    if !turned.is_empty() {
        println!("\n{} stood the other way round and were turned over", turned.join(" and "));
    }
    for n in &loaded.notes {
        println!("note: {n}");
    }
}

/// The same for scripts.
pub fn json_info(loaded: &Loaded, info: &Info) -> Value {
    let range = |r: Range| json!({ "min": r.min, "mean": r.mean, "max": r.max });
    let flipped: Vec<_> =
        Kind::ALL.iter().zip(loaded.flipped.elements).map(|(k, n)| (k.to_string(), n)).collect();
    json!({
        "format": loaded.format.to_string(),
        "nodes": info.nodes,
        "edges": info.edges,
        "neighbors": range(info.neighbors),
        "bounds": info.bounds,
        "volume": info.volume,
        "warp_degrees": info.warp,
        "elements": info.kinds.iter().map(|k| json!({
            "kind": k.kind.to_string(), "count": k.count, "volume": range(k.volume),
            "scaled_jacobian": range(k.scaled_jacobian), "aspect_ratio": range(k.aspect_ratio),
        })).collect::<Vec<_>>(),
        "markers": info.markers.iter().map(|m| json!({
            "name": m.name, "code": m.code, "periodic_with": m.partner, "triangles": m.triangles, "quads": m.quads, "area": m.area,
        })).collect::<Vec<_>>(),
        "flipped": { "elements": flipped.into_iter().collect::<std::collections::BTreeMap<_, _>>(),
                     "faces": loaded.flipped.faces },
        "two_dimensional": loaded.mesh.planar.is_some(),
        "notes": loaded.notes,
    })
}

/// Findings by kind.
pub fn json_report(report: &Report) -> Value {
    let of = |&d: &Defect| {
        let first: Vec<_> =
            report.findings.iter().filter(|f| f.defect == d).map(ToString::to_string).collect();
        json!({ "defect": d.name(), "count": report.count(d), "first": first })
    };
    Defect::ALL.iter().filter(|&&d| report.count(d) > 0).map(of).collect()
}
