//! Reads a table of any supported format into rows.

mod arrays;
mod arrow;
mod assembly;
mod cell;
mod columns;
mod labels;
pub(crate) mod missing;
pub(crate) mod npy;
mod parquet;
mod selector;
pub(crate) mod text;

use std::panic::{AssertUnwindSafe, catch_unwind};

use self::assembly::Assembly;
use self::cell::Cell;
pub use self::columns::pick_columns;
use self::columns::{Header, Selection};
pub use self::selector::similar;
use crate::input::{Format, Input};
use crate::opened::{Opened, SharedFile};
use crate::{Error, ReadOptions, Table};

/// Reads a table into rows in memory, in one pass and without a second copy of the data.
///
/// The format is determined by the extension or, for standard input and unknown extensions, by the first
/// bytes. Every cell that is not a finite number is an error that names its location; see [`ReadOptions`]
/// for what is left out instead.
pub fn read(input: &Input, options: &ReadOptions) -> Result<Table, Error> {
    let opened = Opened::open(input)?;
    let format = opened.format(input)?;
    if let Format::Text { delimiter } = format {
        return text::read(input, opened, options, delimiter);
    }
    let file = opened.into_file()?;
    if file.n_bytes == 0 {
        return Err(Error::Empty { file: file.name() });
    }
    match format {
        Format::Parquet => guarded(&file, format, || parquet::read(&file, options)),
        Format::Arrow => guarded(&file, format, || arrow::read(&file, options)),
        Format::Npy | Format::Text { .. } => npy::read(&file, options),
    }
}

/// Reads with a decoder that validates its input but may still panic on a corrupt file.
fn guarded(file: &SharedFile, format: Format, read: impl FnOnce() -> Result<Table, Error>) -> Result<Table, Error> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
        let reason = "the decoder found an impossible value".to_owned();
        Err(Error::Corrupt { file: file.name(), format: format.name(), reason })
    })
}
