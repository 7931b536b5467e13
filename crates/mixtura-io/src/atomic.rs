//! Makes output files appear whole or not at all: a temporary file beside the target, then a rename.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use tempfile::{NamedTempFile, TempPath};

use crate::Error;

/// How many links to links are followed, as many as Linux does.
const MOST_LINKS: usize = 40;

/// A file that is written beside its target and takes its place on [`commit`](Self::commit).
///
/// Dropped without `commit`, it leaves nothing behind. A target that is no regular file, such as
/// `/dev/null` or a pipe, is written to directly.
///
/// ```
/// use std::io::Write;
/// use mixtura_io::AtomicFile;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("model.json");
/// let mut file = AtomicFile::create(&path)?;
/// file.write_all(b"{}")?;
/// assert!(!path.exists());
/// file.commit()?;
/// assert_eq!(std::fs::read(&path)?, b"{}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct AtomicFile {
    writer: BufWriter<File>,
    /// The path as the user gave it, for messages.
    path: PathBuf,
    /// The temporary file and what it becomes; none for a target written to directly.
    temporary: Option<(TempPath, PathBuf)>,
}

impl AtomicFile {
    /// Starts a file; refuses a missing folder or an unwritable target here, before any work is done.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { file: path.to_owned(), source };
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(fs::Metadata::is_dir) {
            return Err(Error::Folder { file: path.display().to_string() });
        }
        // Standard output may be a regular file by another name, and has its own position.
        let is_special = existing.as_ref().is_some_and(|metadata| !metadata.is_file()) || path.starts_with("/dev");
        if existing.is_some() && is_special {
            let file = OpenOptions::new().append(true).open(path).map_err(failed)?;
            return Ok(Self { writer: BufWriter::new(file), path: path.to_owned(), temporary: None });
        }
        let target = follow_links(path).map_err(failed)?;
        let folder = match target.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        if !folder.is_dir() {
            return Err(Error::NoFolder { file: path.to_owned(), folder: folder.to_owned() });
        }
        // A rename would replace a file that is protected against writing.
        if existing.as_ref().is_some_and(|metadata| metadata.permissions().readonly()) {
            return Err(failed(io::Error::from(io::ErrorKind::PermissionDenied)));
        }
        let temporary = temporary_in(folder).map_err(failed)?;
        if let Some(metadata) = existing {
            temporary.as_file().set_permissions(metadata.permissions()).map_err(failed)?;
        }
        let (file, temporary) = temporary.into_parts();
        Ok(Self { writer: BufWriter::new(file), path: path.to_owned(), temporary: Some((temporary, target)) })
    }

    /// Writes what is still held back and puts the file in its place.
    pub fn commit(self) -> Result<(), Error> {
        let Self { writer, path, temporary } = self;
        let failed = |source| Error::Write { file: path.clone(), source };
        // Closed before the rename, which some systems refuse for open files.
        drop(writer.into_inner().map_err(|error| failed(error.into_error()))?);
        match temporary {
            Some((temporary, target)) => temporary.persist(target).map_err(|error| failed(error.error)),
            None => Ok(()),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        match self.temporary {
            Some(_) => self.writer.seek(position),
            None => Err(io::Error::new(io::ErrorKind::NotSeekable, "this format needs a regular file")),
        }
    }
}

/// Writes a whole file at once.
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(contents).map_err(|source| Error::Write { file: path.to_owned(), source })?;
    file.commit()
}

/// Whether two paths name one existing file, through links or not.
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

/// The file that a chain of links ends at, whether or not it exists yet.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut target = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&target) {
            Ok(link) => target = target.parent().unwrap_or(Path::new("")).join(link),
            Err(_) => return Ok(target),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

fn temporary_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".mixtura-").suffix(".tmp");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file, less what the user's mask takes away.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(folder)
}
