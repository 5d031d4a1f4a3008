//! Whole flows: accuracy, free stream, time steps, airfoils, Newton-Krylov steps.

mod accuracy;
mod airfoil;
mod duct;
mod free_stream;
mod newton;
mod periodic;
mod plate;
mod scalar;
mod sectors;
mod unsteady;
