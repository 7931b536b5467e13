//! Names everything that can go wrong in the library, with the place and the value.

use thiserror::Error;

/// Why the library refused to do something.
///
/// Rows and columns are counted from 1 in messages and from 0 in fields; components from 0 in both.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Error {
    /// A value is NaN or infinite.
    #[error("row {}, column {}: value {value} is not finite", row + 1, column + 1)]
    NotFinite {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
    },
    /// A value is none that the family of distributions can have.
    #[error("row {}, column {}: value {value} is not {expected}", row + 1, column + 1)]
    Value {
        /// Row, from 0.
        row: usize,
        /// Column, from 0.
        column: usize,
        /// The value found.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// Labels were to be used, and the rows have none.
    #[error("the rows have no labels to start from")]
    NoLabels,
    /// A label names no component.
    #[error("row {}: label {label} names none of {n_components} components, which count from 0", row + 1)]
    Label {
        /// Row, from 0.
        row: usize,
        /// The label found.
        label: u32,
        /// How many components there are.
        n_components: usize,
    },
    /// An engine left out a chunk of rows.
    #[error("the engine left out chunk {chunk} of the rows")]
    MissingChunk {
        /// Number of the chunk, from 0.
        chunk: u64,
    },
    /// An engine returned the result of a chunk of rows twice.
    #[error("the engine returned chunk {chunk} of the rows twice")]
    RepeatedChunk {
        /// Number of the chunk, from 0.
        chunk: u64,
    },
    /// There are no rows.
    #[error("no rows")]
    NoRows,
    /// There are no columns.
    #[error("no columns")]
    NoColumns,
    /// A slice does not divide into rows of the given width.
    #[error("{n_values} values do not divide into rows of {n_columns} columns")]
    Ragged {
        /// Length of the slice.
        n_values: usize,
        /// Width asked for.
        n_columns: usize,
    },
    /// An array is neither row-major nor column-major, or it has gaps.
    #[error(
        "an array with strides {between_rows} and {between_columns} is neither in standard nor in Fortran layout; \
         copy it first, for instance with `as_standard_layout`"
    )]
    Strides {
        /// Distance from one row to the next, in values.
        between_rows: isize,
        /// Distance from one column to the next, in values.
        between_columns: isize,
    },
    /// A list that belongs to the rows has another length.
    #[error("{n_found} {what} for {n_expected} {of}")]
    Length {
        /// What is counted, in the plural.
        what: &'static str,
        /// How many were given.
        n_found: usize,
        /// How many are needed.
        n_expected: usize,
        /// What they belong to, in the plural.
        of: &'static str,
    },
    /// A row weight is negative, not a number, or so large or small that sums of weighted squares would not be.
    #[error("row {}: weight {weight:e} must be 0 or between 1e-100 and 1e100", row + 1)]
    Weight {
        /// Row, from 0.
        row: usize,
        /// The weight found.
        weight: f64,
    },
    /// All row weights are zero.
    #[error("all row weights are zero")]
    NoWeight,
    /// The values of a column span so much, or so little, that their squares cannot be held.
    #[error("column {}: the squares of values from {minimum:e} to {maximum:e} exceed the floating-point range", column + 1)]
    Overflow {
        /// Column, from 0.
        column: usize,
        /// Least value.
        minimum: f64,
        /// Greatest value.
        maximum: f64,
    },
    /// More components than distinct rows were asked for.
    #[error("{n_components} components require as many distinct rows, but there are only {n_distinct}")]
    TooFewDistinctRows {
        /// Components asked for.
        n_components: usize,
        /// Distinct rows of positive weight found.
        n_distinct: usize,
    },
    /// Model and data have different numbers of columns.
    #[error("the model has {n_model} columns, but the data have {n_data}")]
    Width {
        /// Columns of the model.
        n_model: usize,
        /// Columns of the data.
        n_data: usize,
    },
    /// A mixing weight is not a probability, or the weights do not sum to one.
    #[error("component weights must be at least 0 and sum to 1: {detail}")]
    MixingWeights {
        /// What was found.
        detail: String,
    },
    /// What describes a column, such as its scale, is out of range.
    #[error("column {}: {what} {value} is not {expected}", column + 1)]
    Column {
        /// Column, from 0.
        column: usize,
        /// What it describes.
        what: &'static str,
        /// The value found.
        value: f64,
        /// What it must be.
        expected: &'static str,
    },
    /// A parameter of a component is not finite.
    #[error("component {component}: {what} {value} is not finite")]
    Parameter {
        /// Component, from 0.
        component: usize,
        /// Which parameter.
        what: &'static str,
        /// The value found.
        value: f64,
    },
    /// A parameter of a component is not a positive number.
    #[error("component {component}: {what} {value} is not a positive number")]
    NotPositive {
        /// Component, from 0.
        component: usize,
        /// Which parameter.
        what: &'static str,
        /// The value found.
        value: f64,
    },
    /// A parameter of a component is negative or not finite.
    #[error("component {component}: {what} {value} must be finite and at least 0")]
    Negative {
        /// Component, from 0.
        component: usize,
        /// Which parameter.
        what: &'static str,
        /// The value found.
        value: f64,
    },
    /// A covariance matrix is not symmetric.
    #[error("component {component}: covariance not symmetric at ({}, {}): {upper:e} and {lower:e}", row + 1, column + 1)]
    NotSymmetric {
        /// Component, from 0.
        component: usize,
        /// Row of the matrix, from 0.
        row: usize,
        /// Column of the matrix, from 0.
        column: usize,
        /// Entry at (row, column).
        upper: f64,
        /// Entry at (column, row).
        lower: f64,
    },
    /// A covariance matrix is not positive definite.
    #[error("component {component}: covariance not positive definite at pivot {} (value {value:e})", pivot + 1)]
    NotPositiveDefinite {
        /// Component, from 0.
        component: usize,
        /// Pivot of the Cholesky factor, from 0.
        pivot: usize,
        /// The pivot's value.
        value: f64,
    },
    /// An option is out of its range.
    #[error("{option} must be {expected}, not {value}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// The value given.
        value: String,
    },
    /// The rows have weights where that has no meaning.
    #[error("{what} are only defined for unweighted rows")]
    Weighted {
        /// What was asked for, in the plural.
        what: &'static str,
    },
    /// The parameters would take too much memory.
    #[error("the parameters of {n_components} components in {n_columns} columns would take {gigabytes:.0} GB")]
    TooLarge {
        /// Components asked for.
        n_components: usize,
        /// Columns of the data.
        n_columns: usize,
        /// Memory of one copy of them.
        gigabytes: f64,
    },
    /// Memory for rows, or for a model and its statistics, could not be taken.
    #[error("cannot allocate {:.1} GB of memory", *n_bytes as f64 / 1e9)]
    Memory {
        /// Bytes asked for.
        n_bytes: u64,
    },
    /// A label that a start needs has no rows.
    #[error("label {label} has no rows of positive weight")]
    EmptyLabel {
        /// The label, from 0.
        label: usize,
    },
    /// The threads could not be started.
    #[error("cannot start {n_threads} threads: {reason}")]
    Threads {
        /// Threads asked for.
        n_threads: usize,
        /// What the system said.
        reason: String,
    },
    /// Work was stopped on request before it had a result.
    #[error("interrupted before there was a result")]
    Interrupted,
    /// An engine other than threads failed.
    #[error("the engine failed: {reason}")]
    Engine {
        /// What the engine said.
        reason: String,
    },
}
