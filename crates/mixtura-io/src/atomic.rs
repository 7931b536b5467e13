//! Writes files atomically: to a temporary file next to the target, followed by a rename.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::target::{Destination, folder_of};
use crate::temporary::{Temporary, sync, sync_folder};

/// Size of the write buffer in bytes.
const BUFFER_BYTES: usize = 1 << 14;

/// A file that is written next to its target and replaces it on [`commit`](Self::commit).
///
/// If it is dropped without `commit`, it leaves nothing behind. Leftovers of a killed process are removed when another
/// process writes to the same folder. A target that is not a regular file, such as `/dev/null` or a pipe, is written to
/// directly. It is opened on the first write, so that nothing waits for a pipe's reader before there is data.
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
    output: Output,
    /// Unwritten bytes. Not a `BufWriter`, which would still write on drop and wait for a pipe's reader.
    buffer: Vec<u8>,
    /// The path as the user gave it, for messages.
    path: PathBuf,
    /// The temporary file and its target; `None` if the target is written to directly.
    temporary: Option<(Temporary, PathBuf)>,
}

/// The destination of the bytes.
#[derive(Debug)]
enum Output {
    Open(File),
    /// A special file that nothing has been written to yet.
    Unopened(PathBuf),
}

impl AtomicFile {
    /// Creates the file; fails here, before any work is done, if the folder is missing or the target is not writable.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { file: path.to_owned(), source };
        let (output, temporary) = match Destination::of(path)? {
            Destination::Direct => (Output::Unopened(path.to_owned()), None),
            Destination::File { file: target, folder, permissions } => {
                let (temporary, file) = Temporary::file(&folder).map_err(failed)?;
                if let Some(permissions) = permissions {
                    file.set_permissions(permissions).map_err(failed)?;
                }
                (Output::Open(file), Some((temporary, target)))
            }
        };
        Ok(Self { output, buffer: Vec::with_capacity(BUFFER_BYTES), path: path.to_owned(), temporary })
    }

    /// Whether the file is seekable, unlike a pipe.
    #[cfg(feature = "tables")]
    pub(crate) fn is_seekable(&self) -> bool {
        self.temporary.is_some()
    }

    /// Flushes the buffer, syncs the file to disk and renames it to its target.
    pub fn commit(mut self) -> Result<(), Error> {
        let handed_over = self.hand_over();
        let Self { mut output, path, temporary, .. } = self;
        let failed = |source| Error::Write { file: path.clone(), source };
        handed_over.map_err(failed)?;
        // Open a pipe even for an empty result, because its reader waits for the end.
        let file = output.open().map_err(failed)?;
        let Some((temporary, target)) = temporary else {
            return Ok(());
        };
        // A file renamed before its contents are on disk may be empty after a power failure.
        sync(file).map_err(failed)?;
        temporary.place(|path| fs::rename(path, &target)).map_err(failed)?;
        sync_folder(folder_of(&target));
        Ok(())
    }

    /// Writes the buffered bytes.
    fn hand_over(&mut self) -> io::Result<()> {
        let written = if self.buffer.is_empty() { Ok(()) } else { self.output.open()?.write_all(&self.buffer) };
        self.buffer.clear();
        written
    }
}

impl Output {
    fn open(&mut self) -> io::Result<&mut File> {
        if let Self::Unopened(path) = self {
            *self = Self::Open(OpenOptions::new().append(true).open(path)?);
        }
        match self {
            Self::Open(file) => Ok(file),
            Self::Unopened(_) => Err(io::Error::from(io::ErrorKind::NotFound)),
        }
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() + bytes.len() > BUFFER_BYTES {
            self.hand_over()?;
        }
        if bytes.len() > BUFFER_BYTES {
            return self.output.open()?.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    /// Writes the buffered bytes.
    fn flush(&mut self) -> io::Result<()> {
        self.hand_over()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, position: SeekFrom) -> io::Result<u64> {
        if self.temporary.is_none() {
            return Err(io::Error::new(io::ErrorKind::NotSeekable, "seeking requires a regular file"));
        }
        self.hand_over()?;
        self.output.open()?.seek(position)
    }
}

/// Writes a complete file atomically.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// mixtura_io::write_file(&path, b"all of it")?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn write_file(path: &Path, contents: &[u8]) -> Result<(), Error> {
    let mut file = AtomicFile::create(path)?;
    file.write_all(contents).map_err(|source| Error::Write { file: path.to_owned(), source })?;
    file.commit()
}
