//! Resolves output paths, and checks whether they can be written.

use std::fs::{self, Metadata, Permissions};
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::Error;
use crate::temporary::Temporary;

/// Maximum number of links followed, the same as on Linux.
const MOST_LINKS: usize = 40;

/// The destination of the output to a path.
#[derive(Debug)]
pub(crate) enum Destination {
    /// A pipe, a device, a socket, or the name of an open file descriptor: written directly.
    Direct,
    /// A regular file, which may already exist.
    File {
        /// The file, with links resolved.
        file: PathBuf,
        /// Its folder, which exists.
        folder: PathBuf,
        /// The permissions of the existing file, which its replacement gets too.
        permissions: Option<Permissions>,
    },
}

impl Destination {
    /// Resolves the output to a path without opening anything; fails if it cannot be written.
    pub(crate) fn of(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { file: path.to_owned(), source };
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(Metadata::is_dir) {
            return Err(Error::Folder { file: path.display().to_string() });
        }
        let file = follow_links(path).map_err(failed)?;
        if let Some(metadata) = &existing
            && (!metadata.is_file() || file.is_descriptor)
        {
            return Ok(Self::Direct);
        }
        let folder = folder_of(&file.path).to_owned();
        if !folder.is_dir() {
            return Err(Error::NoFolder { file: path.to_owned(), folder });
        }
        // A rename would replace even a read-only file.
        let permissions = existing.map(|metadata| metadata.permissions());
        if permissions.as_ref().is_some_and(Permissions::readonly) {
            return Err(failed(io::Error::from(io::ErrorKind::PermissionDenied)));
        }
        Ok(Self::File { file: file.path, folder, permissions })
    }
}

/// Checks whether a file could be written, before there is anything to write, and leaves nothing behind.
///
/// The folder must exist and be writable; the target must not be a folder or read-only. Pipes, devices and sockets are
/// not opened: a pipe's reader would see the end of the stream, and without a reader the call would block.
///
/// ```
/// use mixtura_io::probe;
///
/// let folder = tempfile::tempdir()?;
/// assert!(probe(&folder.path().join("model.json")).is_ok());
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 0);
/// let error = probe(&folder.path().join("none/model.json")).unwrap_err();
/// assert_eq!(error.hint().as_deref(), Some("create the folder first"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn probe(path: &Path) -> Result<(), Error> {
    let failed = |source| Error::Write { file: path.to_owned(), source };
    match Destination::of(path)? {
        Destination::Direct => refuse_unwritable(path).map_err(failed),
        Destination::File { folder, .. } => Temporary::file(&folder).map(drop).map_err(failed),
    }
}

#[cfg(unix)]
fn refuse_unwritable(path: &Path) -> io::Result<()> {
    Ok(rustix::fs::access(path, rustix::fs::Access::WRITE_OK)?)
}

#[cfg(not(unix))]
fn refuse_unwritable(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// The canonical path of the file that would be written: links resolved, folders canonicalized.
///
/// Neither the file nor its folders need to exist. Two hard links to the same file have different canonical paths; see
/// [`same_target`].
///
/// ```
/// use mixtura_io::target;
///
/// let folder = tempfile::tempdir()?;
/// let plain = folder.path().join("x.json");
/// assert_eq!(target(&folder.path().join("./x.json")), target(&plain));
/// assert_eq!(target(&folder.path().join("new/../x.json")), target(&plain));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn target(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match fs::canonicalize(&absolute) {
        Ok(existing) => existing,
        Err(_) => missing_target(&absolute, MOST_LINKS),
    }
}

/// The canonical path of a file that does not exist: the existing part is canonicalized, the rest is kept.
fn missing_target(path: &Path, n_links: usize) -> PathBuf {
    if let (Ok(link), 1..) = (fs::read_link(path), n_links) {
        return missing_target(&folder_of(path).join(link), n_links - 1);
    }
    if let Ok(existing) = fs::canonicalize(path) {
        return existing;
    }
    let Some(folder) = path.parent() else {
        return path.to_owned();
    };
    let mut folder = missing_target(folder, n_links);
    match path.components().next_back() {
        Some(Component::ParentDir) => drop(folder.pop()),
        Some(Component::Normal(name)) => folder.push(name),
        _ => {}
    }
    folder
}

/// Whether writing to one path would overwrite or replace the file at the other.
///
/// True for two paths to the same existing file, also through symbolic or hard links, and for two spellings of a file
/// that does not exist yet. Devices such as `/dev/null` count too, although they accept any number of outputs.
///
/// ```
/// use mixtura_io::same_target;
///
/// let folder = tempfile::tempdir()?;
/// let (data, link) = (folder.path().join("data.csv"), folder.path().join("link.csv"));
/// assert!(same_target(&data, &folder.path().join("./data.csv")));
/// std::fs::write(&data, "x\n1\n")?;
/// assert!(!same_target(&data, &link));
/// std::fs::hard_link(&data, &link)?;
/// assert!(same_target(&data, &link));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn same_target(a: &Path, b: &Path) -> bool {
    same_file(a, b) || target(a) == target(b)
}

/// Whether two paths refer to the same existing file, directly or through links.
///
/// ```
/// use mixtura_io::same_file;
///
/// let file = tempfile::NamedTempFile::new()?;
/// assert!(same_file(file.path(), file.path()));
/// assert!(!same_file("none".as_ref(), "none".as_ref()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |path| fs::metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()));
        identity(a).is_some_and(|a| identity(b) == Some(a))
    }
    #[cfg(not(unix))]
    {
        matches!((fs::canonicalize(a), fs::canonicalize(b)), (Ok(a), Ok(b)) if a == b)
    }
}

/// The folder of a file; the current folder for a plain name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// The end of a chain of links.
struct End {
    path: PathBuf,
    /// Whether the chain includes the name of an open file descriptor, which has its own position.
    is_descriptor: bool,
}

/// The file at the end of a chain of links, which may not exist yet.
fn follow_links(path: &Path) -> io::Result<End> {
    let mut end = End { path: path.to_owned(), is_descriptor: is_descriptor(path) };
    for _ in 0..MOST_LINKS {
        match fs::read_link(&end.path) {
            Ok(link) => {
                end.path = end.path.parent().unwrap_or(Path::new("")).join(link);
                end.is_descriptor |= is_descriptor(&end.path);
            }
            Err(_) => return Ok(end),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Whether a path names an open file descriptor, such as `/dev/stdout`; other paths in `/dev` may be regular files.
fn is_descriptor(path: &Path) -> bool {
    let mut names = path.components().filter_map(|component| match component {
        Component::Normal(name) => name.to_str(),
        _ => None,
    });
    match names.next() {
        Some("dev") => matches!(names.next(), Some("stdin" | "stdout" | "stderr" | "fd")),
        Some("proc") => names.any(|name| name == "fd"),
        _ => false,
    }
}
