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

/// The processor where the system describes it, else its architecture.
fn processor() -> String {
    named(&std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default())
}

/// Name, family and model of the first processor in Linux's list: machines in the cloud often share a name.
fn named(list: &str) -> String {
    let value = |key: &str| {
        let mut fields = list.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(name, _)| name.trim() == key).map(|(_, value)| value.trim())
    };
    let Some(name) = value("model name") else { return std::env::consts::ARCH.to_owned() };
    match (value("cpu family"), value("model")) {
        (Some(family), Some(model)) => format!("{name} (family {family}, model {model})"),
        _ => name.to_owned(),
    }
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
    fn processors_of_one_name_differ_in_family_and_model() {
        let list = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\n\nprocessor\t: 1\n";
        assert_eq!(named(list), "AMD EPYC (family 26, model 2)");
        assert_eq!(named("model name\t: some core\n"), "some core");
        assert_eq!(named(""), std::env::consts::ARCH);
    }

    #[test]
    fn a_build_names_its_engine_and_its_machine() {
        let build = Build::here();
        assert_eq!(build.engine.len(), 16);
        assert!(build.machine.contains(vectors()) && !build.machine.starts_with(','));
        assert_eq!(build, Build::here());
    }
}
