//! Determines the available memory, so that reading a table that is too large fails with an error instead of an
//! out-of-memory kill.

use std::fs;
use std::path::{Path, PathBuf};

/// Bytes of memory that this process can still allocate: the minimum of what is available on the system
/// and what its control group allows. `None` if neither is known, as on systems other than Linux.
///
/// Linux overcommits memory, so a successful allocation says little. Compare a request with this number
/// before making it.
///
/// ```
/// if let Some(n_bytes) = mixtura_io::memory::available() {
///     assert!(n_bytes > 0);
/// }
/// ```
pub fn available() -> Option<u64> {
    let system = fs::read_to_string("/proc/meminfo").ok().and_then(|text| available_of_system(&text));
    let group = fs::read_to_string("/proc/self/cgroup").ok().and_then(|text| available_of_groups(&text));
    system.into_iter().chain(group).min()
}

fn available_of_system(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The memory left by the strictest of the control groups, version 1 or 2.
///
/// Any ancestor of the process's group may have a limit. Inside a container the path names a group of
/// the host, and the root of the mount is the process's own group.
fn available_of_groups(membership: &str) -> Option<u64> {
    let groups = membership.lines().filter_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, group) = (parts.next()?, parts.next()?);
        if controllers.is_empty() {
            Some(("/sys/fs/cgroup", group, ["memory.max", "memory.current"]))
        } else {
            let is_memory = controllers.split(',').any(|controller| controller == "memory");
            let files = ["memory.limit_in_bytes", "memory.usage_in_bytes"];
            is_memory.then_some(("/sys/fs/cgroup/memory", group, files))
        }
    });
    groups.flat_map(|(root, group, files)| ancestors(root, group).filter_map(move |path| left(&path, files))).min()
}

fn ancestors(root: &str, group: &str) -> impl Iterator<Item = PathBuf> {
    let root = PathBuf::from(root);
    let own = root.join(group.trim_start_matches('/'));
    let mut paths: Vec<PathBuf> = own.ancestors().filter(|path| path.starts_with(&root)).map(Path::to_owned).collect();
    paths.dedup();
    paths.into_iter()
}

/// Limit minus usage; pages of the file cache count as free, because they are released on demand.
fn left(group: &Path, [limit, usage]: [&str; 2]) -> Option<u64> {
    let number = |file: &str| fs::read_to_string(group.join(file)).ok()?.trim().parse::<u64>().ok();
    // "max", which does not parse, means no limit; version 1 writes a huge number instead.
    let (limit, usage) = (number(limit)?, number(usage)?);
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let cached = ["inactive_file ", "total_inactive_file "]
        .iter()
        .find_map(|key| statistics.lines().find_map(|line| line.strip_prefix(key)?.trim().parse::<u64>().ok()));
    Some(limit.saturating_sub(usage.saturating_sub(cached.unwrap_or(0))))
}

/// Limits the growth of a table.
#[cfg(feature = "tables")]
#[derive(Debug)]
pub(crate) struct Budget {
    /// Maximum size of the table in bytes.
    limit: Option<u64>,
    /// Whether the limit is the available memory, which other processes may use up in the meantime.
    is_measured: bool,
    /// The size at which to check again.
    next_check: u64,
}

#[cfg(feature = "tables")]
impl Budget {
    /// Growth between two checks of the available memory: a check takes microseconds, this growth milliseconds.
    const STEP: u64 = 64 << 20;

    /// The given limit or, without one, the available memory minus a sixteenth, which is left for the fit
    /// and for other processes.
    pub(crate) fn new(limit: Option<u64>) -> Self {
        let measured = || available().map(|n_bytes| n_bytes / 16 * 15);
        Self { limit: limit.or_else(measured), is_measured: limit.is_none(), next_check: 0 }
    }

    /// Returns the limit if a total of `n_bytes` exceeds it. Cheap enough to call often.
    pub(crate) fn exceeded_by(&mut self, n_bytes: u64) -> Option<u64> {
        let limit = self.limit?;
        if n_bytes > limit {
            return Some(limit);
        }
        if self.is_measured && n_bytes >= self.next_check {
            let is_first = self.next_check == 0;
            self.next_check = n_bytes + Self::STEP;
            if !is_first && available().is_some_and(|n_bytes| n_bytes < Self::STEP) {
                return Some(n_bytes);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_own_words_are_understood() {
        let meminfo = "MemTotal:       16384000 kB\nMemFree:          100000 kB\nMemAvailable:    8192000 kB\n";
        assert_eq!(available_of_system(meminfo), Some(8_192_000 * 1024));
        assert_eq!(available_of_system("MemTotal: 1 kB\n"), None);
    }

    #[test]
    fn a_group_leaves_its_limit_less_its_usage() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| fs::write(folder.path().join(file), text).unwrap();
        let files = ["memory.max", "memory.current"];
        write("memory.max", "1000000\n");
        write("memory.current", "400000\n");
        assert_eq!(left(folder.path(), files), Some(600_000));
        write("memory.stat", "anon 100000\ninactive_file 300000\n");
        assert_eq!(left(folder.path(), files), Some(900_000));
        write("memory.max", "max\n");
        assert_eq!(left(folder.path(), files), None);
    }

    #[test]
    fn every_group_above_the_process_is_looked_at() {
        let paths: Vec<PathBuf> = ancestors("/sys/fs/cgroup", "/a/b").collect();
        assert_eq!(paths, ["/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"].map(PathBuf::from));
        assert_eq!(ancestors("/sys/fs/cgroup", "/").count(), 1);
    }

    #[cfg(feature = "tables")]
    #[test]
    fn a_budget_ends_at_its_limit() {
        let mut budget = Budget::new(Some(1000));
        assert_eq!(budget.exceeded_by(1000), None);
        assert_eq!(budget.exceeded_by(1001), Some(1000));
    }
}
