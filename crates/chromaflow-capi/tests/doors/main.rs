//! The library through its doors, as programs in C, C++, Fortran and of PETSc's come to it: one program of tests, linked once.
#![allow(unsafe_code)]

#[path = "../handles/mod.rs"]
mod handles;
mod interface;
mod jacobian;
mod misuse;
mod over_ranks;
mod petsc;
mod programs;
