//! Keeps track of temporary files and folders, so that none outlives the work it was made for.
//!
//! A temporary is called `.mixtura-XXXXXX.tmp`, lies in the folder of what it becomes, and is locked as long as its
//! process lives. So whoever can lock one has found a leftover of a process that was killed, and removes it. Where
//! the file system has no locks nothing can be told, and nothing is removed.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tempfile::Builder;

const PREFIX: &str = ".mixtura-";
const SUFFIX: &str = ".tmp";

/// How often a new temporary may be lost to a process that took it for a leftover before it was locked.
const MOST_ATTEMPTS: usize = 16;

/// What this process has made and not yet put in its place.
static LIVE: LazyLock<Mutex<Live>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Live {
    paths: BTreeSet<PathBuf>,
    /// Folders in which leftovers were looked for; once in each is enough.
    swept: BTreeSet<PathBuf>,
}

/// The registry; a thread that panicked while it held the lock leaves it sound.
fn live() -> MutexGuard<'static, Live> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes every temporary file and folder that this process has not put in its place yet.
///
/// For a thread that is about to end the process, such as the one that heard of a second Ctrl-C: writers may be at
/// work meanwhile. Those in the middle of putting a result in its place finish that first, so that it is there whole;
/// all others fail when they try. (Not for a signal handler itself: it takes a lock.)
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

/// A temporary file or folder; removed when dropped, unless it was put in its place.
#[derive(Debug)]
pub(crate) struct Temporary {
    path: PathBuf,
    /// Open, and locked where that is possible, until the temporary is in its place or gone.
    lock: Option<File>,
}

impl Temporary {
    /// Makes an empty file in a folder, and first removes what killed processes left there.
    pub(crate) fn file(folder: &Path) -> io::Result<(Self, File)> {
        sweep(folder);
        for _ in 0..MOST_ATTEMPTS {
            let (file, path) = builder(0o666).tempfile_in(folder)?.keep().map_err(|error| error.error)?;
            let temporary = Self::register(path, Some(file.try_clone()?));
            if temporary.is_ours(&file) {
                return Ok((temporary, file));
            }
        }
        Err(io::Error::other("other processes keep removing the temporary file"))
    }

    /// Makes an empty folder in a folder, and first removes what killed processes left there.
    pub(crate) fn folder(folder: &Path) -> io::Result<Self> {
        Self::folder_with_mode(folder, 0o777)
    }

    /// The same among the temporary files of the system, for the user's eyes only.
    #[cfg(feature = "tables")]
    pub(crate) fn private_folder() -> io::Result<Self> {
        Self::folder_with_mode(&std::env::temp_dir(), 0o700)
    }

    fn folder_with_mode(folder: &Path, mode: u32) -> io::Result<Self> {
        sweep(folder);
        for _ in 0..MOST_ATTEMPTS {
            let path = builder(mode).tempdir_in(folder)?.keep();
            // Some systems do not open folders; theirs stay unlocked, and are never removed by others.
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

    /// Locks the temporary; false if another process was quicker, and took it for a leftover.
    fn is_ours(&self, opened: &File) -> bool {
        !matches!(opened.try_lock(), Err(TryLockError::WouldBlock)) && self.path.exists()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Puts the temporary in its place by whatever `place` does with its path.
    ///
    /// [`remove_temporaries`] waits until that is done, so `place` should do no more than rename. What is left of the
    /// temporary afterwards is removed. The lock is held until then: a temporary without one is anybody's to remove.
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
        // As for any new file or folder, less what the user's mask takes away.
        builder.permissions(fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = mode;
    builder
}

/// Whether a name is one that temporaries have.
pub(crate) fn is_temporary_name(name: &std::ffi::OsStr) -> bool {
    let middle = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX));
    middle.is_some_and(|middle| !middle.is_empty() && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// Removes the leftovers of killed processes from a folder, the first time this process writes there.
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

/// Removes a temporary that no process holds locked; it stays locked until it is gone.
fn remove_leftover(path: &Path) {
    let is_folder = path.is_dir();
    // Some network file systems lock only what is open for writing, and nobody writes to a folder.
    if let Ok(opened) = File::options().read(true).write(!is_folder).open(path)
        && opened.try_lock().is_ok()
    {
        remove(path);
    }
}

/// Removes a file or a folder as far as possible; whoever removes a temporary has nobody to tell of a failure.
fn remove(path: &Path) {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(_) => Ok(()),
    };
    drop(removed);
}

/// Waits until a file is on the disk, where the file system knows how to.
pub(crate) fn sync(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error) if matches!(error.kind(), io::ErrorKind::Unsupported | io::ErrorKind::InvalidInput) => Ok(()),
        synced => synced,
    }
}

/// Makes a rename in a folder last through a power failure, where folders can be synced.
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
    fn a_temporary_lost_before_it_was_locked_is_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let (temporary, file) = Temporary::file(folder.path()).unwrap();
        assert!(temporary.is_ours(&file));
        remove(temporary.path());
        assert!(!temporary.is_ours(&file), "a file without a name would be lost with all that is written to it");
    }
}
