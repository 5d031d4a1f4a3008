//! One system, row by row.

/// Solves one system with free ends; `bands[i]` are e, a, b, c, d of row i.
///
/// With x_{i-2} = z_{i-2} - g_{i-2} x_{i-1} - h_{i-2} x_i and the same one row further, row i becomes
/// x_i = z_i - g_i x_{i+1} - h_i x_{i+2}, which the back-substitution uses from the last row up.
///
/// # Errors
/// The first row with a pivot that is zero or not finite.
pub fn solve(bands: &[[f64; 5]], rhs: &[f64]) -> Result<Vec<f64>, usize> {
    let n = bands.len();
    let (mut g, mut h, mut x) = (vec![0.0; n], vec![0.0; n], rhs.to_vec());
    for i in 0..n {
        let [e, mut a, mut b, mut c, d] = bands[i];
        if i > 1 {
            a -= e * g[i - 2];
            b -= e * h[i - 2];
            x[i] -= e * x[i - 2];
        }
        if i > 0 {
            b -= a * g[i - 1];
            c -= a * h[i - 1];
            x[i] -= a * x[i - 1];
        }
        if b == 0.0 || !b.is_finite() {
            return Err(i);
        }
        g[i] = c / b;
        h[i] = d / b;
        x[i] /= b;
    }
    for i in (0..n).rev() {
        if i + 1 < n {
            x[i] -= g[i] * x[i + 1];
        }
        if i + 2 < n {
            x[i] -= h[i] * x[i + 2];
        }
    }
    Ok(x)
}
