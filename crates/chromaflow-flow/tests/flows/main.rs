//! Whole flows: accuracy, free stream, time steps, airfoils.

mod accuracy;
mod airfoil;
mod free_stream;
mod plate;
mod scalar;
mod unsteady;
