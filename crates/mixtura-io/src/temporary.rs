//! Manages temporary files and folders, and removes leftovers.
//!
//! A temporary is named `.mixtura-XXXXXX.tmp`, is created in the folder of its target, and is locked as long as its
//! process lives. A temporary that can be locked is therefore a leftover of a killed process and is removed. On file
//! systems without locks, leftovers cannot be recognized and are not removed.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tempfile::Builder;

const PREFIX: &str = ".mixtura-";
const SUFFIX: &str = ".tmp";

/// How many times to retry when another process mistakes a new, not yet locked temporary for a leftover.
const MOST_ATTEMPTS: usize = 16;

/// The temporaries that this process has created and not yet moved to their targets.
static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Live {
    paths: BTreeSet<PathBuf>,
    /// Folders already searched for leftovers; once each is enough.
    swept: BTreeSet<PathBuf>,
}

/// The registry; it stays valid even if a thread panicked while holding the lock.
fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file and folder that this process has not yet moved to its target.
///
/// Intended for a thread that is about to end the process, for example on a second Ctrl-C, while writers may still be
/// active. Writers that are currently moving a result to its target finish first; all others fail when they try.
/// Do not call it from a signal handler: it takes a lock.
///
/// ```standalone_crate
/// use std::io::Write;
/// use mixtura_io::{AtomicFile, remove_temporaries};
///
/// let folder = tempfile::tempdir()?;
/// let mut file = AtomicFile::create(&folder.path().join("model.json"))?;
/// file.write_all(b"{}")?;
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
/// remove_temporaries();
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// assert!(file.commit().is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn remove_temporaries() {
    let mut live = live();
    for path in std::mem::take(&mut live.paths) {
        remove(&path);
    }
}

/// A temporary file or folder; removed on drop unless it was moved to its target.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    /// Open, and locked if possible, until the temporary has been moved or removed.
    lock: Option<File>,
}

impl Temporary {
    /// Creates an empty file in a folder, after removing leftovers of killed processes there.
    pub(crate) fn file(folder: &Path) -> io::Result<(Self, File)> {
        sweep(folder);
        for _ in 0..MOST_ATTEMPTS {
            let (file, path) =
                builder(0o666).tempfile_in(folder).map_err(without_path)?.keep().map_err(|error| error.error)?;
            let temporary = Self::register(path, Some(file.try_clone()?));
            if temporary.is_ours(&file) {
                return Ok((temporary, file));
            }
        }
        Err(io::Error::other("other processes keep removing the temporary file"))
    }

    /// Creates an empty folder in a folder, after removing leftovers of killed processes there.
    pub(crate) fn folder(folder: &Path) -> io::Result<Self> {
        Self::folder_with_mode(folder, 0o777)
    }

    /// The same in the system's temporary folder, readable only by the user.
    #[cfg(feature = "tables")]
    pub(crate) fn private_folder() -> io::Result<Self> {
        Self::folder_with_mode(&std::env::temp_dir(), 0o700)
    }

    fn folder_with_mode(folder: &Path, mode: u32) -> io::Result<Self> {
        sweep(folder);
        for _ in 0..MOST_ATTEMPTS {
            let path = builder(mode).tempdir_in(folder).map_err(without_path)?.keep();
            // Some systems cannot open folders. Those stay unlocked and are never removed by others.
            let Ok(opened) = File::open(&path) else {
                return Ok(Self::register(path, None));
            };
            let temporary = Self::register(path, Some(opened.try_clone()?));
            if temporary.is_ours(&opened) {
                return Ok(temporary);
            }
        }
        Err(io::Error::other("other processes keep removing the temporary folder"))
    }

    fn register(path: PathBuf, lock: Option<File>) -> Self {
        live().paths.insert(path.clone());
        Self { path, lock }
    }

    /// Locks the temporary; `false` if another process was faster and mistook it for a leftover.
    fn is_ours(&self, opened: &File) -> bool {
        !matches!(opened.try_lock(), Err(TryLockError::WouldBlock)) && self.path.exists()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Moves the temporary to its target by calling `place` with its path.
    ///
    /// [`remove_temporaries`] waits until that is done, so `place` should only rename. Anything left of the temporary
    /// is removed afterwards. The lock is held until then, because other processes remove unlocked temporaries.
    pub(crate) fn place<T>(self, place: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
        let mut live = live();
        let placed = place(&self.path);
        live.paths.remove(&self.path);
        // Dropping takes the lock again.
        drop(live);
        placed
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.path);
        live().paths.remove(&self.path);
        drop(self.lock.take());
    }
}

fn builder(mode: u32) -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The permissions of any new file or folder, subject to the user's umask.
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// The error without the random name of the temporary, which says nothing to the user.
fn without_path(error: io::Error) -> io::Error {
    match error.to_string().split_once(" at path ") {
        Some((words, _)) => io::Error::new(error.kind(), words),
        None => error,
    }
}

/// Whether a name is that of a temporary.
pub(crate) fn is_temporary_name(name: &std::ffi::OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    middle.is_some_and(|middle| !middle.is_empty() && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Removes leftovers of killed processes from a folder, the first time this process writes there.
fn sweep(folder: &Path) {
    let key = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    if !live().swept.insert(key) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_link = entry.file_type().is_ok_and(|kind| kind.is_symlink());
        if is_temporary_name(&entry.file_name()) && !is_link {
            remove_leftover(&entry.path());
        }
    }
}

/// Removes a temporary that no process has locked; holds its lock while removing it.
fn remove_leftover(path: &Path) {
    let is_folder = path.is_dir();
    // Some network file systems lock only files opened for writing, and folders cannot be opened for writing.
    if let Ok(opened) = File::options().read(true).write(!is_folder).open(path)
        && opened.try_lock().is_ok()
    {
        remove(path);
    }
}

/// Removes a file or folder as far as possible, ignoring errors.
fn remove(path: &Path) {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    drop(removed);
}

/// Syncs a file to disk, if the file system supports it.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => Ok(()),
        synced => synced,
    }
}

/// Syncs a folder, so that a rename survives a power failure, where folders can be synced.
pub(crate) fn sync_folder(folder: &Path) {
    if let Ok(opened) = File::open(folder) {
        drop(opened.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_kind_of_name_is_a_temporary() {
        for (name, expected) in [
            (".mixtura-a1B2c3.tmp", true),
            (".mixtura-.tmp", false),
            (".mixtura-notes about.tmp", false),
            (".mixtura-a1B2c3.tmp.csv", false),
            ("mixtura-a1B2c3.tmp", false),
        ] {
            assert_eq!(is_temporary_name(name.as_ref()), expected, "{name}");
        }
    }

    #[test]
    fn write_errors_named_temporary_files() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let errors = [Temporary::file(&missing).unwrap_err(), Temporary::folder(&missing).unwrap_err()];
        for error in errors {
            assert_eq!(error.kind(), io::ErrorKind::NotFound);
            assert_eq!(error.to_string(), io::Error::from_raw_os_error(2).to_string());
        }
    }

    #[test]
    fn a_temporary_lost_before_it_was_locked_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let (temporary, file) = Temporary::file(folder.path()).unwrap();
        assert!(temporary.is_ours(&file));
        remove(temporary.path());
        assert!(!temporary.is_ours(&file), "a file without a name would be lost with all that is written to it");
    }
}
