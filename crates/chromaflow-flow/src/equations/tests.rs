//! What every set of equations keeps, those of the solvers and one that nothing else here knows.

use super::artificial_compressibility::{GhostKind, Given};
use super::*;
use crate::bc::{Condition, ConditionKind};
use crate::config::Boundary;
use crate::gas::Gas;
use crate::grid::Metrics;
use crate::grid::generate::BoxGrid;
use crate::real::Dual;

/// Linear acoustics in a medium at rest: p_t + rho c^2 div u = 0, u_t + grad p / rho = 0.
#[derive(Clone, Copy)]
struct LinearAcoustics {
    density: f64,
    sound: f64,
}

/// What is beyond its boundaries.
#[derive(Clone, Copy)]
enum End {
    /// A state.
    Open([f64; 4]),
    /// A mirror.
    Rigid,
}

impl Equations for LinearAcoustics {
    const N: usize = 4;
    const CONSERVED: &'static str = "pressure, velocity";

    type State<T: Real> = [T; 4];
    type Block<T: Real> = [T; 16];
    type Condition = End;

    fn conserved<T: Real>(&self, w: &[T; 4]) -> [T; 4] {
        *w
    }

    fn primitive<T: Real>(&self, q: &[T; 4]) -> [T; 4] {
        *q
    }

    fn flux<T: Real>(&self, w: &[T; 4], n: &[T; 3]) -> [T; 4] {
        let volume = w[1] * n[0] + w[2] * n[1] + w[3] * n[2];
        let push = w[0] / T::c(self.density);
        [T::c(self.density * self.sound * self.sound) * volume, push * n[0], push * n[1], push * n[2]]
    }

    fn flux_jacobian<T: Real>(&self, _w: &[T; 4], n: &[T; 3]) -> [T; 16] {
        let mut a = [T::c(0.0); 16];
        for i in 0..3 {
            a[1 + i] = n[i] / T::c(self.density);
            a[4 * (1 + i)] = T::c(self.density * self.sound * self.sound) * n[i];
        }
        a
    }

    /// A has the eigenvalues 0, 0 and +-c|n|: |A| = A A / (c |n|).
    fn absolute_jacobian<T: Real>(&self, left: &[T; 4], _right: &[T; 4], n: &[T; 3]) -> [T; 16] {
        let a = self.flux_jacobian(left, n);
        let speed = self.spectral_radius(left, n);
        let mut square = [T::c(0.0); 16];
        for c in 0..4 {
            for r in 0..4 {
                for k in 0..4 {
                    square[4 * c + r] += a[4 * k + r] * a[4 * c + k] / speed;
                }
            }
        }
        square
    }

    fn spectral_radius<T: Real>(&self, _w: &[T; 4], n: &[T; 3]) -> T {
        T::c(self.sound) * (n[0] * n[0] + n[1] * n[1] + n[2] * n[2]).sqrt()
    }

    fn is_admissible(w: &[f64; 4]) -> bool {
        w.iter().all(|v| v.is_finite())
    }

    fn ghost<T: Real>(&self, end: &End, [w, _]: [&[T; 4]; 2], n: &[T; 3], _x: &[T; 3]) -> [T; 4] {
        match end {
            End::Open(state) => state.map(T::c),
            End::Rigid => {
                let area2 = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
                let twice = T::c(2.0) * (w[1] * n[0] + w[2] * n[1] + w[3] * n[2]) / area2;
                [w[0], w[1] - twice * n[0], w[2] - twice * n[1], w[3] - twice * n[2]]
            }
        }
    }
}

/// Numbers between -1 and 1, the same on every machine.
struct Source(u64);

impl Source {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
    }

    fn area(&mut self) -> [f64; 3] {
        std::array::from_fn(|_| self.next())
    }

    /// The state `w` with each number changed by up to a part of 0.4.
    fn near<E: Equations>(&mut self, w: &E::State<f64>) -> E::State<f64> {
        let mut state = *w;
        (0..E::N).for_each(|c| state[c] *= 1.0 + 0.4 * self.next());
        state
    }
}

fn close(what: &str, a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    let size = b.iter().fold(1.0_f64, |size, b| size.max(b.abs()));
    for (i, (a, b)) in a.iter().zip(b).enumerate() {
        assert!((a - b).abs() <= tolerance * size, "{what}, {i}: {a} and {b}");
    }
}

/// A block times a vector.
fn times<E: Equations>(a: &E::Block<f64>, x: &E::State<f64>) -> E::State<f64> {
    let mut out = <E::State<f64>>::zero();
    for r in 0..E::N {
        out[r] = (0..E::N).map(|c| a[E::N * c + r] * x[c]).sum();
    }
    out
}

/// Derivatives of a function of q along q's number `c`.
fn by<E: Equations>(
    q: &E::State<f64>,
    c: usize,
    f: impl Fn(&E::State<Dual<f64, 1>>) -> E::State<Dual<f64, 1>>,
) -> Vec<f64> {
    let mut x = <E::State<Dual<f64, 1>>>::zero();
    (0..E::N).for_each(|k| x[k] = Dual { v: q[k], d: [f64::from(u8::from(k == c))] });
    f(&x).as_ref().iter().map(|v| v.d[0]).collect()
}

/// Jacobians against duals; fluxes are consistent and conservative, |A| is that of A; states and q are one another's.
fn fluxes<E: Equations>(e: E, w: &E::State<f64>) {
    let mut random = Source(7);
    for _ in 0..40 {
        let (left, right, n) = (random.near::<E>(w), random.near::<E>(w), random.area());
        let (ql, qr) = (e.conserved(&left), e.conserved(&right));
        close("a state again", e.primitive(&ql).as_ref(), left.as_ref(), 1e-14);
        let (dual_n, a) = (n.map(Dual::c), e.flux_jacobian(&left, &n));
        for c in 0..E::N {
            let exact = by::<E>(&ql, c, |q| e.flux(&e.primitive(q), &dual_n));
            close("A", &a.as_ref()[E::N * c..E::N * (c + 1)], &exact, 1e-12);
            // Where both states agree, the upwind flux's Jacobians are exact.
            let (by_left, by_right) = e.upwind_jacobians(&left, &left, &n);
            let mut here = <E::State<Dual<f64, 1>>>::zero();
            (0..E::N).for_each(|k| here[k] = Dual::c(ql[k]));
            let exact = by::<E>(&ql, c, |q| e.upwind_flux(&e.primitive(q), &e.primitive(&here), &dual_n));
            close("(A + |A|)/2", &by_left.as_ref()[E::N * c..E::N * (c + 1)], &exact, 1e-11);
            let exact = by::<E>(&ql, c, |q| e.upwind_flux(&e.primitive(&here), &e.primitive(q), &dual_n));
            close("(A - |A|)/2", &by_right.as_ref()[E::N * c..E::N * (c + 1)], &exact, 1e-11);
        }
        let flux = e.upwind_flux(&left, &right, &n);
        let mut back = e.upwind_flux(&right, &left, &n.map(|n| -n));
        (0..E::N).for_each(|c| back[c] = -back[c]);
        close("conservation", flux.as_ref(), back.as_ref(), 1e-13);
        close("consistency", e.upwind_flux(&left, &left, &n).as_ref(), e.flux(&left, &n).as_ref(), 1e-13);
        // |A| |A| x = A A x, at one state.
        let (size, mut x) = (e.absolute_jacobian(&left, &left, &n), <E::State<f64>>::zero());
        (0..E::N).for_each(|c| x[c] = qr[c] - ql[c]);
        let twice = |a: &E::Block<f64>| times::<E>(a, &times::<E>(a, &x));
        close("|A|", twice(&size).as_ref(), twice(&a).as_ref(), 1e-11);
        // No eigenvalue is larger than the spectral radius, and one is as large: powers of A grow as its powers do.
        let radius = e.spectral_radius(&left, &n);
        let (mut grown, mut growth) = (x, 0.0_f64);
        for step in 0..400 {
            let next = times::<E>(&a, &grown);
            let size = next.as_ref().iter().map(|v| v * v).sum::<f64>().sqrt();
            if step >= 200 {
                growth += size.ln() / 200.0;
            }
            (0..E::N).for_each(|c| grown[c] = next[c] / size);
        }
        assert!((growth.exp() / radius - 1.0).abs() < 0.02, "{} and {radius}", growth.exp());
    }
}

/// A state that all boundaries let pass leaves no residual on a curvilinear grid: what leaves each cell through its faces, those of the
/// boundary between the cell and its ghost.
fn uniform<E: Equations>(e: E, w: &E::State<f64>, condition: impl Fn([f64; 3]) -> E::Condition) {
    let grid = BoxGrid { cells: [6, 5, 4], size: [1.0, 0.8, 0.6], wave: 0.05 }.grid();
    let metrics = Metrics::of_grid(&grid).pop().unwrap();
    let cells = metrics.cells;
    for at in cells.rows().flat_map(|row| row..row + cells.count[0]) {
        let mut sum = <E::State<f64>>::zero();
        for d in 0..3 {
            for (face, sign) in [(at, -1.0), (at + cells.stride[d], 1.0)] {
                let n = metrics.face(d, face).map(|n| sign * n);
                let index = cells.cell(at)[d];
                let outermost = if sign > 0.0 { cells.count[d] as isize - 1 } else { 0 };
                let x = std::array::from_fn(|c| metrics.center[c][at]);
                let other = if index == outermost { e.ghost(&condition(n), [w, w], &n, &x) } else { *w };
                let flux = e.upwind_flux(w, &other, &n);
                (0..E::N).for_each(|c| sum[c] += flux[c]);
            }
        }
        close("uniform", sum.as_ref(), <E::State<f64>>::zero().as_ref(), 1e-15);
    }
}

/// An update that would turn what must be positive around is cut to one that leaves a state, and one of nothing is not.
fn updates<E: Equations>(e: E, w: &E::State<f64>) {
    let q = e.conserved(w);
    for part in [0.0, 0.3, 1.5, -40.0] {
        let mut x = q;
        (0..E::N).for_each(|c| x[c] *= part);
        let share = e.update_share(w, &x, 0.2);
        assert!(share > 0.0 && share <= 1.0 && (part != 0.0 || share == 1.0), "{share}");
        let mut after = q;
        (0..E::N).for_each(|c| after[c] -= share * x[c]);
        assert!(E::is_admissible(&e.primitive(&after)), "{part}: {:?}", e.primitive(&after).as_ref());
    }
    let mut none = *w;
    none[0] = f64::NAN;
    assert!(E::is_admissible(w) && !E::is_admissible(&none));
}

#[test]
fn linear_acoustics() {
    let (e, w) = (LinearAcoustics { density: 1.3, sound: 2.0 }, [0.7, 0.4, -0.3, 0.2]);
    fluxes(e, &w);
    updates(e, &w);
    uniform(e, &w, |_| End::Open(w));
    // Rigid walls keep what runs along them.
    let along = [0.7, 0.0, 0.0, 0.0];
    uniform(e, &along, |_| End::Rigid);
}

#[test]
fn artificial_compressibility() {
    let (e, w) = (ArtificialCompressibility { beta: 1.7 }, [0.2, 1.0, 0.4, -0.3]);
    fluxes(e, &w);
    updates(e, &w);
    for kind in [GhostKind::Velocity, GhostKind::Pressure, GhostKind::Far] {
        uniform(e, &w, |_| Given { kind, state: w });
    }
}

#[test]
fn perfect_gas() {
    let mut e = PerfectGas::from(Gas { gamma: 1.4 });
    // |A| itself: no eigenvalue is kept from vanishing.
    e.fix.acoustic = 0.0;
    let w = [1.2, 0.5, -0.4, 0.3, 0.8];
    fluxes(e, &w);
    updates(e, &w);
    let open = [Boundary::Farfield, Boundary::Extrapolation];
    for condition in open.map(|boundary| boundary.condition(e.gas, w)) {
        uniform(e, &w, |_| condition);
    }
    let still = [1.2, 0.0, 0.0, 0.0, 0.8];
    let symmetry: Condition<f64> = Boundary::Symmetry.condition(e.gas, still);
    assert_eq!(symmetry.kind, ConditionKind::Symmetry);
    uniform(e, &still, |_| symmetry);
}
