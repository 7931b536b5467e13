//! Input and output for `mixtura`: reads and writes CSV, Parquet, Arrow and NPY tables and JSON models.
//! Output files are written atomically.
//!
//! ```
//! use mixtura_io::{Input, ReadOptions, TableColumns, TableWriter, read};
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("points.csv");
//! let columns = TableColumns { names: vec!["x".into(), "y".into()], label: None };
//! let mut writer = TableWriter::create(&path, &columns)?;
//! writer.write_rows(&[1.0, 2.5, 3.0, 1e-9])?;
//! writer.finish()?;
//!
//! let table = read(&Input::from(path), &ReadOptions::default())?;
//! assert_eq!(table.rows.row(1), [3.0, 1e-9]);
//! assert_eq!(table.rows.names(), ["x", "y"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod atomic;
mod bounds;
mod error;
mod folder;
pub mod memory;
mod model;
mod place;
mod target;
mod temporary;
mod words;

#[cfg(feature = "tables")]
mod input;
#[cfg(feature = "tables")]
mod opened;
#[cfg(feature = "tables")]
mod original;
#[cfg(feature = "tables")]
mod read;
#[cfg(feature = "tables")]
mod table;
#[cfg(feature = "tables")]
mod write;

pub use atomic::{AtomicFile, write_file};
pub use bounds::{BoundsReport, Certainty};
pub use error::Error;
pub use folder::OutputFolder;
pub use model::{FitRecord, ModelFile, Race, RaceLevel};
pub use place::{Column, Place};
pub use target::{probe, same_file, same_target, target};
pub use temporary::remove_temporaries;
pub use words::WEIGHT_HINT;

#[cfg(feature = "tables")]
pub use {
    input::Input,
    original::{CellForm, OriginalRows, Originals, Spooled},
    read::{pick_columns, read, similar},
    table::{LabelColumn, Missing, ReadOptions, Table},
    write::{Cells, ColumnKind, TableColumn, TableColumns, TableLayout, TableWriter, cell_form},
};
