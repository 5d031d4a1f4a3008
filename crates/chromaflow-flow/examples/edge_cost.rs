//! Nanoseconds per edge of the pointwise fluxes, on one core: `cargo run --release --example edge_cost -p chromaflow-flow`.

use chromaflow_device::Isa;
use chromaflow_flow::flux::{
    RoeFix, flux_hllc, flux_roe, flux_roe_jacobians, flux_van_leer, flux_van_leer_jacobians,
};
use chromaflow_flow::gas::Gas;
use chromaflow_flow::real::{LANES, LaneKernel, Lanes, Packet, dispatch};
use std::time::Instant;

#[derive(Clone, Copy, PartialEq)]
enum What {
    Roe,
    Hllc,
    VanLeer,
    RoeJacobians,
    VanLeerJacobians,
}

struct Edges<'a> {
    what: What,
    input: &'a [[Packet; 13]],
    out: &'a mut [[Packet; 55]],
}

impl LaneKernel for Edges<'_> {
    type Output = ();
    #[inline(always)]
    fn run<V: Lanes>(self) {
        let gas = Gas::AIR.lift::<V>();
        let fix = RoeFix::DEFAULT.lift::<V>();
        for (x, out) in self.input.iter().zip(self.out) {
            let mut v = [V::c(0.0); 13];
            for i in 0..13 {
                v[i] = V::load(&x[i]);
            }
            let [a, b, c, d, e, f, g, h, i, j, n0, n1, n2] = v;
            let (wl, wr, n) = ([a, b, c, d, e], [f, g, h, i, j], [n0, n1, n2]);
            let flux = match self.what {
                What::Hllc => flux_hllc(gas, &wl, &wr, &n),
                What::VanLeer | What::VanLeerJacobians => flux_van_leer(gas, &wl, &wr, &n),
                What::Roe | What::RoeJacobians => flux_roe(gas, &wl, &wr, &n, fix),
            };
            for k in 0..5 {
                flux[k].store(&mut out[k]);
            }
            let blocks = match self.what {
                What::RoeJacobians => flux_roe_jacobians(gas, &wl, &wr, &n, fix),
                What::VanLeerJacobians => flux_van_leer_jacobians(gas, &wl, &wr, &n),
                _ => continue,
            };
            for k in 0..25 {
                blocks.0[k].store(&mut out[5 + k]);
                blocks.1[k].store(&mut out[30 + k]);
            }
        }
    }
}

fn main() {
    let packets = 64;
    let number = |i: usize| 0.5 + 0.5 * ((i * 2654435761) % 1000) as f64 / 1000.0;
    let input: Vec<[Packet; 13]> = (0..packets)
        .map(|p| std::array::from_fn(|k| Packet(std::array::from_fn(|l| number(p * 104 + k * 8 + l)))))
        .collect();
    let mut out = vec![[Packet::ZERO; 55]; packets];
    println!("ns per edge{:>18}{:>10}{:>10}", "portable", "avx2", "avx512");
    for (name, what) in [
        ("roe", What::Roe),
        ("hllc", What::Hllc),
        ("van leer", What::VanLeer),
        ("roe + jacobians", What::RoeJacobians),
        ("van leer + jac.", What::VanLeerJacobians),
    ] {
        print!("{name:<18}");
        for isa in Isa::available() {
            let mut best = f64::INFINITY;
            for _ in 0..300 {
                let start = Instant::now();
                dispatch(isa, Edges { what, input: &input, out: &mut out });
                best = best.min(start.elapsed().as_secs_f64());
            }
            print!("{:>10.1}", best * 1e9 / (packets * LANES) as f64);
        }
        println!();
    }
}
