//! Checks complete files: what is read, error messages, and what is written.

#![allow(clippy::unwrap_used)] // also outside of test functions

mod abuse;
mod arrow;
mod columns;
mod damaged;
mod exactness;
mod fixture;
mod formats;
mod missing;
mod npy;
mod originals;
mod parquet;
mod text;
mod write;
