//! Writes output folders atomically: to a temporary folder that is then swapped with the target where possible.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

use crate::target::folder_of;
use crate::temporary::{Temporary, is_temporary_name, sync, sync_folder};
use crate::{Error, target, write_file};

/// An output folder that is written to a temporary location and moved to its target on [`commit`](Self::commit).
///
/// A new folder appears with all its files at once. An existing folder that contains only files of an earlier run is
/// swapped with the new one. If it contains other files, is the current folder or is the root of a file system, the
/// finished files are moved into it one by one, in the order in which they were added, and then files of an earlier
/// run that were not written again are removed. Other files are never touched.
///
/// The files written by an earlier run are listed in `.mixtura-files` in the folder. Files that are not listed belong
/// to someone else.
///
/// If it is dropped without `commit`, it leaves nothing behind and changes nothing.
///
/// ```
/// use mixtura_io::OutputFolder;
///
/// let parent = tempfile::tempdir()?;
/// let path = parent.path().join("report");
/// let mut folder = OutputFolder::create(&path)?;
/// folder.add("figures/a.svg", b"<svg/>")?;
/// folder.add("index.html", b"<p>")?; // add files that refer to others last
/// assert!(!path.exists());
/// folder.commit()?;
/// assert_eq!(std::fs::read(path.join("figures/a.svg"))?, b"<svg/>");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct OutputFolder {
    /// The path as the user gave it, for messages.
    path: PathBuf,
    /// The folder itself, with links resolved.
    target: PathBuf,
    aside: Temporary,
    /// The files, as paths from the folder, in the order in which they were added.
    files: Vec<PathBuf>,
    /// The files of an earlier run.
    earlier: BTreeSet<PathBuf>,
}

/// Name of the file that lists the written files.
const LIST: &str = ".mixtura-files";

impl OutputFolder {
    /// Prepares a folder.
    ///
    /// Fails, before any work is done, if the path is not a folder or cannot become one. Missing parent folders are
    /// created on `commit`.
    pub fn create(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Write { file: path.to_owned(), source };
        let target = target(path);
        let metadata = fs::metadata(&target).ok();
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
            return Err(Error::NotFolder { file: path.to_owned() });
        }
        let beside = target.ancestors().skip(1).find(|folder| folder.exists()).unwrap_or(Path::new("."));
        if !beside.is_dir() {
            return Err(Error::NotFolder { file: beside.to_owned() });
        }
        let earlier = earlier(&target);
        // Inside the target: on the same file system, and writable even if the parent folder is not.
        let must_stay = metadata.is_some() && (must_stay(&target) || !holds_only(&target, &earlier).map_err(failed)?);
        let aside = match Temporary::folder(if must_stay { &target } else { beside }) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && metadata.is_some() => {
                Temporary::folder(&target)
            }
            aside => aside,
        };
        let aside = aside.map_err(failed)?;
        if let Some(metadata) = metadata {
            // The new folder must be writable even if the old one no longer is.
            refuse_read_only(&metadata).map_err(failed)?;
            fs::set_permissions(aside.path(), metadata.permissions()).map_err(failed)?;
        }
        Ok(Self { path: path.to_owned(), target, aside, files: Vec::new(), earlier })
    }

    /// The final path of a file, for comparison with inputs by [`same_target`](crate::same_target).
    ///
    /// ```
    /// use mixtura_io::{OutputFolder, same_target};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let data = folder.path().join("summary.json");
    /// std::fs::write(&data, "{}")?;
    /// let output = OutputFolder::create(folder.path())?;
    /// assert!(same_target(&output.would_write("summary.json"), &data));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn would_write(&self, relative: impl AsRef<Path>) -> PathBuf {
        self.target.join(relative)
    }

    /// Rejects files that already exist but were not written by an earlier run.
    pub fn refuse_foreign(&self, names: &[&str]) -> Result<(), Error> {
        let is_foreign = |name: &&&str| self.target.join(name).exists() && !self.earlier.contains(Path::new(name));
        match names.iter().find(is_foreign) {
            Some(name) => Err(Error::ForeignFile { file: self.path.join(name) }),
            None => Ok(()),
        }
    }

    /// Adds a complete file, creating its parent folders.
    pub fn add(&mut self, relative: impl AsRef<Path>, contents: &[u8]) -> Result<(), Error> {
        let relative = relative.as_ref();
        let is_plain = relative.components().all(|part| matches!(part, Component::Normal(_)));
        assert!(is_plain && relative != Path::new(""), "invariant: files lie in the folder");
        let path = self.aside.path().join(relative);
        if !self.aside.path().is_dir() {
            // The temporary folder was removed on request, with everything added before.
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(Error::Write { file: self.path.join(relative), source });
        }
        let written = fs::create_dir_all(folder_of(&path)).and_then(|()| {
            let mut file = fs::File::create(&path)?;
            file.write_all(contents)?;
            sync(&file)
        });
        written.map_err(|source| Error::Write { file: self.path.join(relative), source })?;
        self.files.retain(|other| other != relative);
        self.files.push(relative.to_owned());
        Ok(())
    }

    /// Moves the folder to its target.
    pub fn commit(mut self) -> Result<(), Error> {
        let list: Vec<String> = self.files.iter().map(|file| format!("{}\n", file.display())).collect();
        self.add(LIST, list.concat().as_bytes())?;
        let Self { path, target, aside, files, earlier } = self;
        let failed = |source| Error::Write { file: path.clone(), source };
        for folder in folders(&files) {
            sync_folder(&aside.path().join(folder));
        }
        let beside = folder_of(&target).to_owned();
        if fs::symlink_metadata(&target).is_err() {
            fs::create_dir_all(&beside).map_err(failed)?;
            aside.place(|aside| fs::rename(aside, &target)).map_err(failed)?;
        } else if aside.path().starts_with(&target) || !holds_only(&target, &earlier).map_err(failed)? {
            aside.place(|aside| merge(aside, &target, &files, &earlier)).map_err(failed)?;
            sync_folder(&target);
        } else {
            aside.place(|aside| replace(aside, &target, &files, &earlier)).map_err(failed)?;
        }
        sync_folder(&beside);
        Ok(())
    }
}

impl std::fmt::Debug for OutputFolder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OutputFolder").field("path", &self.path).field("files", &self.files).finish_non_exhaustive()
    }
}

/// Whether a folder cannot be swapped: it is the current folder or a mount point.
fn must_stay(folder: &Path) -> bool {
    let is_current = std::env::current_dir().and_then(fs::canonicalize).is_ok_and(|here| here.starts_with(folder));
    is_current || is_mount_point(folder)
}

#[cfg(unix)]
fn is_mount_point(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |folder| fs::metadata(folder).map(|metadata| metadata.dev()).ok();
    folder.parent().is_none_or(|parent| device(parent) != device(folder))
}

#[cfg(not(unix))]
fn is_mount_point(folder: &Path) -> bool {
    folder.parent().is_none()
}

fn refuse_read_only(metadata: &fs::Metadata) -> io::Result<()> {
    if metadata.permissions().readonly() { Err(io::ErrorKind::PermissionDenied.into()) } else { Ok(()) }
}

/// The files of an earlier run according to the folder's list, including the list itself.
fn earlier(folder: &Path) -> BTreeSet<PathBuf> {
    let Ok(list) = fs::read_to_string(folder.join(LIST)) else { return BTreeSet::new() };
    list.lines().chain([LIST]).map(PathBuf::from).collect()
}

/// Whether all files in a folder are from an earlier run; empty folders do not count as such.
fn holds_only(folder: &Path, earlier: &BTreeSet<PathBuf>) -> io::Result<bool> {
    let found = list(folder)?;
    Ok(found.iter().all(|path| earlier.contains(path)))
}

/// Every file and every empty folder below a folder, as relative paths. Links count as files; temporaries are ignored.
fn list(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![PathBuf::new()];
    while let Some(inner) = waiting.pop() {
        let mut is_empty = true;
        for entry in fs::read_dir(folder.join(&inner))? {
            let entry = entry?;
            is_empty = false;
            let path = inner.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                if !is_temporary_name(&entry.file_name()) {
                    waiting.push(path);
                }
            } else if !is_temporary_name(&entry.file_name()) {
                found.push(path);
            }
        }
        if is_empty && inner != Path::new("") {
            found.push(inner);
        }
    }
    Ok(found)
}

/// The parent folders of the files, inner ones first; the outermost is the empty path.
fn folders(files: &[PathBuf]) -> Vec<PathBuf> {
    let all: BTreeSet<PathBuf> = files.iter().flat_map(|file| file.ancestors().skip(1).map(Path::to_owned)).collect();
    all.into_iter().rev().collect()
}

/// Swaps an old folder with the new one next to it; the old one ends up at the path of the new one.
fn replace(aside: &Path, target: &Path, files: &[PathBuf], earlier: &BTreeSet<PathBuf>) -> io::Result<()> {
    // It may still be a mount point: that cannot be detected if it is on the same file system.
    let Ok(old) = exchange(aside, target) else {
        return merge(aside, target, files, earlier);
    };
    // Files added to the old folder since it was checked are not ours to remove.
    for path in list(&old)?.iter().filter(|path| !earlier.contains(*path)) {
        let new = target.join(path);
        fs::create_dir_all(folder_of(&new)).and_then(|()| fs::rename(old.join(path), new))?;
    }
    if old != aside {
        drop(fs::remove_dir_all(&old));
    }
    Ok(())
}

/// Swaps two folders; returns where the second one is now.
fn exchange(aside: &Path, target: &Path) -> io::Result<PathBuf> {
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        if renameat_with(CWD, aside, CWD, target, RenameFlags::EXCHANGE).is_ok() {
            return Ok(aside.to_owned());
        }
    }
    exchange_in_steps(aside, target)
}

/// The same for systems without an atomic swap: for a moment there is no folder at all.
fn exchange_in_steps(aside: &Path, target: &Path) -> io::Result<PathBuf> {
    // Named like a temporary, so that a later run removes it if this process is killed here.
    let name = aside.file_name().unwrap_or_default().to_string_lossy().replace(".tmp", "old.tmp");
    let old = folder_of(target).join(name);
    fs::rename(target, &old)?;
    if let Err(error) = fs::rename(aside, target) {
        fs::rename(&old, target)?;
        return Err(error);
    }
    Ok(old)
}

/// Moves finished files into an existing folder, and removes files of an earlier run that were not written again.
fn merge(aside: &Path, target: &Path, files: &[PathBuf], earlier: &BTreeSet<PathBuf>) -> io::Result<()> {
    for file in files {
        let (from, to) = (aside.join(file), target.join(file));
        fs::create_dir_all(folder_of(&to))?;
        match fs::rename(&from, &to) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => copy(&from, &to)?,
            moved => moved?,
        }
    }
    let written: BTreeSet<&PathBuf> = files.iter().collect();
    let stale: Vec<PathBuf> =
        list(target)?.into_iter().filter(|path| earlier.contains(path) && !written.contains(path)).collect();
    for path in &stale {
        let path = target.join(path);
        if path.is_symlink() || !path.is_dir() { fs::remove_file(path)? } else { fs::remove_dir(path)? }
    }
    // Only empty folders can be removed, and those are ours.
    for folder in folders(&stale).iter().filter(|folder| **folder != Path::new("")) {
        drop(fs::remove_dir(target.join(folder)));
    }
    Ok(())
}

/// Moves a file to another file system.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    write_file(to, &fs::read(from)?).map_err(|error| match error {
        Error::Write { source, .. } => source,
        other => io::Error::other(other),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_exchanged_where_the_system_has_no_swap() {
        let parent = tempfile::tempdir().unwrap();
        let (aside, target) = (parent.path().join(".mixtura-abc.tmp"), parent.path().join("report"));
        for (folder, text) in [(&aside, "new"), (&target, "old")] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("index.html"), text).unwrap();
        }
        let old = exchange_in_steps(&aside, &target).unwrap();
        assert_eq!(fs::read_to_string(target.join("index.html")).unwrap(), "new");
        assert_eq!(fs::read_to_string(old.join("index.html")).unwrap(), "old");
        assert!(is_temporary_name(old.file_name().unwrap()) && !aside.exists());
        // If the new folder cannot be moved, the old one stays.
        assert!(exchange_in_steps(&parent.path().join(".mixtura-none.tmp"), &target).is_err());
        assert_eq!(fs::read_to_string(target.join("index.html")).unwrap(), "new");
    }
}
