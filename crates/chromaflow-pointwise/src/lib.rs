//! The subset of Rust in which pointwise physics is written, and its CUDA C++ emitter.
//!
//! [`emit`] takes source files of plain generic Rust functions and gives CUDA C++ device functions of the same names,
//! templates over the same scalar, with `#line` back to the Rust text. What it takes:
//!
//! | Rust | CUDA C++ |
//! |---|---|
//! | `fn f<T: Real, const N: usize>(a: T, x: &[T; 5], y: &mut [T; 5]) -> (T, [T; N])` | `template <class T, int N> __device__ Tuple2<T, Array<T, N>> f(T a, const Array<T, 5>& x, Array<T, 5>& y)` |
//! | structs with named fields; enums without data; constants of numbers and arrays | the same |
//! | `let`, `let mut`, shadowing, `let [a, b, _] = x`, `let (a, b) = x` | `auto`, each name once |
//! | `for i in 0..5` with constant bounds | an unrolled loop; one that is not where the index is `_i` |
//! | `if`, `else`, `match` on enums, as statements and as values; `return` | the same; values as `?:` or called lambdas |
//! | `T::c(1.4)`, `T::select(m, x, y)`, `a.lt(b)`, `a.sqrt()`, ... | `T(1.4)`, `select(m, x, y)`, `(a < b)`, `real_sqrt(a)` |
//! | operators, indexing, fields, calls, struct, array and tuple literals | the same, structs by makers |
//!
//! `use`, `mod`, `impl` and `static` items stay on the host and are passed over, as is everything under `#[cfg(test)]`.
//! Anything else is an [`EmitError`] with the file and line of the Rust text. Lambdas, references kept in structs, slices,
//! methods of one's own, `while` and `loop` are not in the subset.
//!
//! Beside the device functions it gives a test kernel for each public function, and the matching Rust function, so that
//! the two can be compared number by number: see [`Output`].
//!
//! ```
//! let source = "pub fn kinetic<T: Real>(rho: T, u: &[T; 3]) -> T {
//!     let mut sum = T::c(0.0);
//!     for k in 0..3 { sum += u[k] * u[k]; }
//!     T::c(0.5) * rho * sum
//! }";
//! let file = chromaflow_pointwise::Source { path: "gas.rs", module: "crate::gas", text: source };
//! let out = chromaflow_pointwise::emit(&[file]).unwrap();
//! assert!(out.cuda.contains("__device__ __forceinline__ T kinetic(T rho, const Array<T, 3>& u)"));
//!
//! let closure = "pub fn f<T: Real>(x: T) -> T {\n    let g = |y: T| y;\n    g(x)\n}";
//! let file = chromaflow_pointwise::Source { path: "bad.rs", module: "crate::bad", text: closure };
//! assert!(chromaflow_pointwise::emit(&[file]).unwrap_err().to_string().starts_with("bad.rs:2:"));
//! ```
#![deny(unsafe_code)]

mod body;
mod entries;
mod items;
mod types;

#[cfg(test)]
mod tests;

use std::fmt;

/// One source file.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its path as errors and `#line` give it.
    pub path: &'a str,
    /// The module through which Rust reaches its public functions, for example `crate::flux`.
    pub module: &'a str,
    /// Its text.
    pub text: &'a str,
}

/// What [`emit`] makes.
#[derive(Clone, Debug)]
pub struct Output {
    /// Device functions: structs, prototypes, definitions. Includes nothing.
    pub cuda: String,
    /// One kernel per public function: `extern "C" void test_NAME(int n, int choice, const double* in, double* out)`,
    /// input k of case i at `in[k * n + i]`, likewise the outputs. To be compiled after `cuda`.
    pub test_kernels: String,
    /// The Rust side of the test kernels: `ENTRIES` (name, inputs, outputs, which inputs may be negative, choices) and
    /// `call(entry, choice, inputs, outputs)` over any scalar. `choice` picks the variant of enum arguments.
    pub rust_entries: String,
}

/// Something outside the subset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmitError {
    /// Path of the Rust file.
    pub path: String,
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
    /// What was found, and what to write instead.
    pub message: String,
}

impl fmt::Display for EmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.path, self.line, self.column, self.message)
    }
}

impl std::error::Error for EmitError {}

/// CUDA C++ of `sources`, in their order.
///
/// # Errors
/// [`EmitError`] at the first construct outside the subset, or where a file is not Rust.
pub fn emit(sources: &[Source<'_>]) -> Result<Output, EmitError> {
    let program = items::Program::parse(sources)?;
    Ok(Output {
        cuda: program.cuda()?,
        test_kernels: entries::test_kernels(&program)?,
        rust_entries: entries::rust_entries(&program)?,
    })
}

/// A fault at a place of a file.
fn fault(path: &str, span: proc_macro2::Span, message: impl Into<String>) -> EmitError {
    let start = span.start();
    EmitError { path: path.to_owned(), line: start.line, column: start.column + 1, message: message.into() }
}
