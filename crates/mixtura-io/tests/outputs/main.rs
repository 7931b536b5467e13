//! Checks output files and folders: whole or not at all, never over an input, and nothing left behind.

mod fixture;
mod folder;
mod pipes;
mod targets;
mod temporaries;
