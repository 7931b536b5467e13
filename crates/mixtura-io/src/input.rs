//! Names where a table comes from and tells its format from the name.

use std::convert::Infallible;
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;

/// The extensions of tables that can be read, for messages.
const KNOWN: &str = ".csv, .tsv, .txt (each also with .gz), .parquet, .arrow, .feather, .arrows and .npy";

/// Where a table comes from.
///
/// ```
/// use mixtura_io::Input;
///
/// assert_eq!(Input::from("-"), Input::Stdin);
/// assert_eq!(Input::from("a.csv"), Input::Path("a.csv".into()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A file, its format told by its extension.
    Path(PathBuf),
    /// CSV on standard input.
    Stdin,
}

/// How a table is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Delimited text; the delimiter if the extension fixes it.
    Text { delimiter: Option<u8> },
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow, a file or a stream; which of them is told by how it begins.
    Arrow,
    /// A NumPy array.
    Npy,
}

impl Input {
    pub(crate) fn format(&self) -> Result<Format, Error> {
        let Self::Path(path) = self else {
            return Ok(Format::Text { delimiter: None });
        };
        let extension = extension(path);
        match extension.as_str() {
            ".csv" | ".csv.gz" | ".txt" | ".txt.gz" => Ok(Format::Text { delimiter: None }),
            ".tsv" | ".tsv.gz" => Ok(Format::Text { delimiter: Some(b'\t') }),
            ".parquet" => Ok(Format::Parquet),
            ".arrow" | ".feather" | ".arrows" => Ok(Format::Arrow),
            ".npy" => Ok(Format::Npy),
            // A pipe such as /dev/stdin or a shell's <(command) has no name to go by.
            "" if is_stream(path) => Ok(Format::Text { delimiter: None }),
            _ => Err(Error::Extension { file: self.to_string(), extension, known: KNOWN }),
        }
    }
}

/// Opens a file for reading; a folder is refused here, where the system would only fail at the first read.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let file = || path.display().to_string();
    let opened = File::open(path).map_err(|source| Error::Read { file: file(), source })?;
    let metadata = opened.metadata().map_err(|source| Error::Read { file: file(), source })?;
    if metadata.is_dir() {
        return Err(Error::Folder { file: file() });
    }
    Ok(opened)
}

/// The extension in lower case with its dot, together with the one before a `.gz` or `.zst`.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match plain.rfind('.') {
        Some(dot) => name[dot..].to_owned(),
        None => name[plain.len()..].to_owned(),
    }
}

fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path(path) => write!(f, "{}", path.display()),
            Self::Stdin => f.write_str("standard input"),
        }
    }
}

impl From<&str> for Input {
    fn from(text: &str) -> Self {
        if text == "-" { Self::Stdin } else { Self::Path(text.into()) }
    }
}

impl FromStr for Input {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::Path(path) }
    }
}

impl From<&Path> for Input {
    fn from(path: &Path) -> Self {
        Self::from(path.to_path_buf())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_tells_the_format() {
        let comma = Format::Text { delimiter: None };
        let tab = Format::Text { delimiter: Some(b'\t') };
        for (name, format) in [
            ("a.csv", comma),
            ("A.CSV.GZ", comma),
            ("a.b.txt", comma),
            ("a.tsv", tab),
            ("a.tsv.gz", tab),
            ("a.Parquet", Format::Parquet),
            ("a.arrow", Format::Arrow),
            ("a.feather", Format::Arrow),
            ("a.ARROWS", Format::Arrow),
            ("folder.csv/a.npy", Format::Npy),
            ("-", comma),
        ] {
            assert_eq!(Input::from(name).format().unwrap(), format, "{name}");
        }
    }

    #[test]
    fn an_unknown_extension_is_named() {
        for (name, extension) in
            [("a.orc", ".orc"), ("a", ""), ("a.npy.gz", ".npy.gz"), ("a.gz", ".gz"), ("x.csv/a.zip", ".zip")]
        {
            let error = Input::from(name).format().unwrap_err();
            assert_eq!(error.to_string(), format!("{name}: unknown extension {extension:?}"));
            assert_eq!(
                error.hint().as_deref(),
                Some(
                    "known extensions are .csv, .tsv, .txt (each also with .gz), .parquet, .arrow, .feather, .arrows and .npy"
                )
            );
        }
    }
}
