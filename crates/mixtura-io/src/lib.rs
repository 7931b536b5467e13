//! Brings tables in and out: CSV, Parquet, Arrow and NPY files as rows for `mixtura`, and output files
//! that appear whole or not at all.
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

mod error;
mod input;
mod model;
mod place;
mod read;
mod table;
mod write;

pub use error::Error;
pub use input::Input;
pub use model::{FitRecord, ModelFile};
pub use place::{Column, Place};
pub use read::read;
pub use table::{LabelColumn, ReadOptions, Table};
pub use write::{AtomicFile, TableColumns, TableWriter, same_file, write_file};
