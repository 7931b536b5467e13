//! Says which build and which class of machine produced results.

use serde::{Deserialize, Serialize};

/// What results depend on besides their plan: kept results of another build or class of machine are not mixed in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Build {
    /// Version of mixtura.
    pub mixtura: String,
    /// Digest of the sources of the engine and the comparison.
    pub engine: String,
    /// Processor and vector instructions.
    pub machine: String,
}

impl Build {
    /// This build on this machine.
    pub fn here() -> Self {
        Self {
            mixtura: env!("CARGO_PKG_VERSION").into(),
            engine: env!("MIXTURA_ENGINE").into(),
            machine: format!("{}, {}", processor(), vectors()),
        }
    }
}

/// Name of the processor where the system tells it, else its architecture.
fn processor() -> String {
    let told = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name =
        told.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':')).map(|(_, name)| name.trim());
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}

/// The widest vector instructions that the engine uses here.
fn vectors() -> &'static str {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::is_x86_feature_detected as has;
        if has!("avx512f") && has!("fma") {
            return "AVX-512";
        }
        if has!("avx2") && has!("fma") {
            return "AVX2";
        }
    }
    if cfg!(target_arch = "aarch64") { "NEON" } else { "no fused multiply-add" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_names_its_engine_and_its_machine() {
        let build = Build::here();
        assert_eq!(build.engine.len(), 16);
        assert!(build.machine.contains(vectors()) && !build.machine.starts_with(','));
        assert_eq!(build, Build::here());
    }
}
