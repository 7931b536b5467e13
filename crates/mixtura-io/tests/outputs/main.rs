//! Checks output files and folders: written atomically, never over an input, nothing left behind.

mod fixture;
mod folder;
mod pipes;
mod targets;
mod temporaries;
