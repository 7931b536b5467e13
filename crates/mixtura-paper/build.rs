//! Computes a digest of the sources that determine the results, so that results of another build are recognized.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The engine and what is kept of a comparison, relative to this package. How results are shown does not count.
const SOURCES: [&str; 6] = [
    "../mixtura/src",
    "src/comparison/difference.rs",
    "src/comparison/digest.rs",
    "src/comparison/mod.rs",
    "src/comparison/run.rs",
    "src/quantiles.rs",
];

fn main() {
    let mut files = Vec::new();
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        collect(Path::new(source), &mut files);
    }
    files.sort();
    // Outside the workspace the engine's sources are elsewhere: there, its version stands for them.
    let mut digest = Fnv::new();
    digest.add(env::var("CARGO_PKG_VERSION").unwrap_or_default().as_bytes());
    for file in files {
        digest.add(file.to_string_lossy().as_bytes());
        digest.add(&fs::read(&file).unwrap_or_default());
    }
    println!("cargo::rustc-env=MIXTURA_ENGINE={:016x}", digest.0);
}

/// Adds a file, or all files of a folder.
fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if !path.is_dir() {
        files.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        collect(&entry.path(), files);
    }
}

/// The 64-bit hash FNV-1a: enough to tell builds apart by accident, not by intent.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for byte in bytes.len().to_le_bytes().iter().chain(bytes) {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
