//! Computes a digest of the sources that determine the results, so that results of another build are recognized.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// The engine and the comparison, relative to this package.
const SOURCES: [&str; 2] = ["../mixtura/src", "src/comparison"];

fn main() {
    let mut files = Vec::new();
    for folder in SOURCES {
        println!("cargo::rerun-if-changed={folder}");
        collect(Path::new(folder), &mut files);
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

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
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
