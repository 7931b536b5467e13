//! Checks whole files: what is read, what is refused and with which words, and what is written.

mod arrow;
mod damaged;
mod fixture;
mod npy;
mod originals;
mod parquet;
mod text;
mod write;
