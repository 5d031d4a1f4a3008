//! The subset of Rust in which pointwise physics is written, and its CUDA C++ emitter.
