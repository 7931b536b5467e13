//! Checks output files and folders: written atomically, never over an input, nothing left behind.

#![allow(clippy::unwrap_used)] // also outside of test functions

mod fixture;
mod folder;
mod pipes;
mod targets;
mod temporaries;
