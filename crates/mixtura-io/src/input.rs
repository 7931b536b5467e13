//! The source of a table, and the format implied by its file name.

use std::convert::Infallible;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use crate::Error;

/// The supported extensions, for messages.
pub(crate) const KNOWN: &str =
    ".csv, .tsv, .txt, .dat (each also with .gz or .zst), .parquet, .arrow, .feather, .arrows and .npy";

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
    /// A file; the format is determined by the extension, or by the first bytes if the extension is unknown.
    Path(PathBuf),
    /// Standard input; the format is determined by the first bytes.
    Stdin,
}

/// The format of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// Delimited text, with the delimiter if the extension implies one.
    Text { delimiter: Option<u8> },
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow, a file or a stream, which differ in their first bytes.
    Arrow,
    /// A NumPy array.
    Npy,
}

impl Input {
    /// The format implied by the extension, if it is known.
    pub(crate) fn format(&self) -> Option<Format> {
        let Self::Path(path) = self else {
            return None;
        };
        match extension(path).as_str() {
            ".csv" | ".csv.gz" | ".csv.zst" | ".txt" | ".txt.gz" | ".txt.zst" | ".dat" | ".dat.gz" | ".dat.zst" => {
                Some(Format::Text { delimiter: None })
            }
            ".tsv" | ".tsv.gz" | ".tsv.zst" => Some(Format::Text { delimiter: Some(b'\t') }),
            ".parquet" => Some(Format::Parquet),
            ".arrow" | ".feather" | ".arrows" => Some(Format::Arrow),
            ".npy" => Some(Format::Npy),
            _ => None,
        }
    }
}

impl Format {
    /// The name of the format in messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Text { .. } => "text",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Npy => "NPY",
        }
    }
}

/// Opens a file for reading. Fails on a folder, for which the system would only fail at the first read.
pub(crate) fn open(path: &Path) -> Result<File, Error> {
    let file = || path.display().to_string();
    let opened = File::open(path).map_err(|source| Error::Read { file: file(), source })?;
    let metadata = opened.metadata().map_err(|source| Error::Read { file: file(), source })?;
    if metadata.is_dir() {
        return Err(Error::Folder { file: file() });
    }
    Ok(opened)
}

/// Whether the extension says that a file is compressed.
pub(crate) fn is_packed(path: &Path) -> bool {
    matches!(extension(path).rsplit('.').next(), Some("gz" | "zst"))
}

/// The extension in lower case with its dot, including the one before `.gz` or `.zst`.
pub(crate) fn extension(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let plain = name.strip_suffix(".gz").or(name.strip_suffix(".zst")).unwrap_or(&name);
    match plain.rfind('.') {
        Some(dot) => name[dot..].to_owned(),
        None => name[plain.len()..].to_owned(),
    }
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
        let comma = Some(Format::Text { delimiter: None });
        let tab = Some(Format::Text { delimiter: Some(b'\t') });
        for (name, format) in [
            ("a.csv", comma),
            ("A.CSV.GZ", comma),
            ("a.csv.zst", comma),
            ("a.b.txt", comma),
            ("a.dat", comma),
            ("a.tsv", tab),
            ("a.tsv.gz", tab),
            ("a.Parquet", Some(Format::Parquet)),
            ("a.arrow", Some(Format::Arrow)),
            ("a.feather", Some(Format::Arrow)),
            ("a.ARROWS", Some(Format::Arrow)),
            ("folder.csv/a.npy", Some(Format::Npy)),
            ("-", None),
            ("a.orc", None),
            ("a", None),
            ("a.npy.gz", None),
            ("a.gz", None),
            ("x.csv/a.zip", None),
        ] {
            assert_eq!(Input::from(name).format(), format, "{name}");
        }
    }
}
