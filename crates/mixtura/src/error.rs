//! The errors of the library, with the place and the value.

use thiserror::Error;

/// An error of the library.
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
    /// A value is not valid for the family of distributions.
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
    /// A start from labels was requested, but the rows have none.
    #[error("the rows have no labels to start from")]
    NoLabels,
    /// A label is not the number of a component.
    #[error("row {}: label {label} is out of range for {n_components} components (labels start at 0)", row + 1)]
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
    /// An engine returned the result for a chunk of rows twice.
    #[error("the engine returned chunk {chunk} of the rows twice")]
    RepeatedChunk {
        /// Number of the chunk, from 0.
        chunk: u64,
    },
    /// There is no row of this number.
    #[error("there is no row {}", row + 1)]
    NoSuchRow {
        /// Row, from 0.
        row: u64,
    },
    /// A range of rows is reversed, or ends after the last row.
    #[error("there are no rows {} to {end} among {n_rows} rows", start.saturating_add(1))]
    NoSuchRows {
        /// First row, from 0.
        start: usize,
        /// One past the last row, from 0.
        end: usize,
        /// How many rows there are.
        n_rows: usize,
    },
    /// A request for a sweep could not be understood, or its answer could not be written.
    #[error("sweep {name}: {reason}")]
    Request {
        /// Name of the sweep.
        name: String,
        /// What went wrong.
        reason: String,
    },
    /// There are no rows.
    #[error("no rows")]
    NoRows,
    /// There are no columns.
    #[error("no columns")]
    NoColumns,
    /// A slice does not divide into rows of the given width.
    #[error("{} do not divide into rows of {}", counted(*n_values, "values"), counted(*n_columns, "columns"))]
    Ragged {
        /// Length of the slice.
        n_values: usize,
        /// Number of columns given.
        n_columns: usize,
    },
    /// The parameters of components are not a whole number of components.
    #[error("{} do not divide into components of {}", counted(*n_values, what), counted(*n_columns, "columns"))]
    RaggedComponents {
        /// Which parameters, in the plural.
        what: &'static str,
        /// How many of them were given.
        n_values: usize,
        /// Number of columns given.
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
    /// A list has the wrong length.
    #[error("{} for {}", counted(*n_found, what), counted(*n_expected, of))]
    Length {
        /// What is counted, in the plural.
        what: &'static str,
        /// Number of items given.
        n_found: usize,
        /// Number of items needed.
        n_expected: usize,
        /// What they belong to, in the plural.
        of: &'static str,
    },
    /// A row weight is negative, NaN, or so large or small that sums of weighted squares would leave the floating-point
    /// range.
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
    /// The range of a column is so large, or so small, that its squares leave the floating-point range.
    #[error("column {}: the squares of values from {minimum:e} to {maximum:e} exceed the floating-point range", column + 1)]
    Overflow {
        /// Column, from 0.
        column: usize,
        /// Smallest value.
        minimum: f64,
        /// Largest value.
        maximum: f64,
    },
    /// There are fewer distinct rows than components.
    #[error("{n_components} components require as many distinct rows, but there are only {n_distinct}")]
    TooFewDistinctRows {
        /// Number of components requested.
        n_components: usize,
        /// Number of distinct rows of positive weight.
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
    /// A mixing weight is not a probability, or the weights do not sum to 1.
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
    /// An option is out of range.
    #[error("{option} must be {expected}, not {value}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// What is allowed.
        expected: &'static str,
        /// The value given.
        value: String,
    },
    /// An option is used with an algorithm that does not have it.
    #[error("{option} requires the algorithm {required}, not {algorithm}")]
    Companion {
        /// Name of the option.
        option: &'static str,
        /// The algorithms that have it.
        required: &'static str,
        /// The algorithm given.
        algorithm: String,
    },
    /// A setting differs from that of what the fit starts from or continues.
    #[error("{what} must be {expected}, as in the {of}, not {given}")]
    Differs {
        /// What differs.
        what: &'static str,
        /// Its value where the fit starts or continues.
        expected: String,
        /// What the fit starts from or continues.
        of: &'static str,
        /// The value given.
        given: String,
    },
    /// A model was given to start from, and then components of another kind were chosen.
    #[error("covariances other than those of the initial model were chosen after it was given")]
    StartOfOtherFamily,
    /// The rows have weights, for which the result is not defined.
    #[error("{what} are only defined for unweighted rows")]
    Weighted {
        /// What was requested, in the plural.
        what: &'static str,
    },
    /// The parameters would require too much memory.
    #[error("the parameters of {n_components} components in {n_columns} columns would take {gigabytes:.0} GB")]
    TooLarge {
        /// Number of components requested.
        n_components: usize,
        /// Columns of the data.
        n_columns: usize,
        /// Memory required for one copy.
        gigabytes: f64,
    },
    /// Memory for rows, or for a model and its statistics, could not be allocated.
    #[error("cannot allocate {:.1} GB of memory", *n_bytes as f64 / 1e9)]
    Memory {
        /// Number of bytes requested.
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
        /// Number of threads requested.
        n_threads: usize,
        /// The system's message.
        reason: String,
    },
    /// Work was stopped on request before there was a result.
    #[error("interrupted before there was a result")]
    Interrupted,
    /// An engine other than threads failed.
    #[error("the engine failed: {reason}")]
    Engine {
        /// The engine's message.
        reason: String,
    },
}

/// A number of things, given their plural, such as "columns" or "entries of the matrices".
fn counted(n: usize, plural: &str) -> String {
    let (things, of) = plural.split_at(plural.find(" of ").unwrap_or(plural.len()));
    if n != 1 {
        return format!("{n} {plural}");
    }
    match things.strip_suffix("ies") {
        Some(thing) => format!("1 {thing}y{of}"),
        None => format!("1 {}{of}", things.strip_suffix('s').unwrap_or(things)),
    }
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn one_thing_is_not_in_the_plural() {
        assert_eq!(counted(2, "columns of components"), "2 columns of components");
        assert_eq!(counted(1, "columns of components"), "1 column of components");
        assert_eq!(counted(1, "covariance entries"), "1 covariance entry");
        assert_eq!(counted(0, "weights"), "0 weights");
    }
}
