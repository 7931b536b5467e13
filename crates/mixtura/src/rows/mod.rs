//! The rows of a data set in memory: values, weights, labels and column names.

mod builder;
mod loader;
mod normalize;

use std::borrow::Cow;

pub use builder::RowsBuilder;
pub(crate) use loader::{Loader, PARTS};
pub use normalize::Normalization;

use crate::Error;
use crate::kernels::{LANES, Lanes};
use crate::sweep::Summary;

/// Significant bits kept of a centre, so that subtracting it from values of its magnitude is exact.
const CENTRE_BITS: u32 = 40;

/// A number type in which rows may be stored; all computation uses `f64`.
pub trait Scalar: Copy + Default + Send + Sync + 'static + private::Sealed {
    /// The value as `f64`, exactly.
    fn to_f64(self) -> f64;
    /// Wraps a storage of this type in the enum of both types.
    #[doc(hidden)]
    fn wrap(storage: private::Storage<'_, Self>) -> private::Values<'_>;
}

pub(crate) mod private {
    use super::Cow;

    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}

    /// The storage of values of one number type.
    #[derive(Debug, Clone)]
    pub enum Storage<'a, T: Clone> {
        /// Row by row, as given by the caller.
        RowMajor(Cow<'a, [T]>),
        /// Column after column, as the caller has them.
        ColumnMajor(Cow<'a, [T]>),
        /// Blocks of `LANES` rows, column by column within each block; the last block is padded with zeros.
        Blocked(Cow<'a, [T]>),
    }

    /// Values of either number type.
    #[derive(Debug, Clone)]
    pub enum Values<'a> {
        F64(Storage<'a, f64>),
        F32(Storage<'a, f32>),
    }
}

use private::{Storage, Values};

impl Scalar for f64 {
    fn to_f64(self) -> f64 {
        self
    }
    fn wrap(storage: Storage<'_, f64>) -> Values<'_> {
        Values::F64(storage)
    }
}

impl Scalar for f32 {
    fn to_f64(self) -> f64 {
        f64::from(self)
    }
    fn wrap(storage: Storage<'_, f32>) -> Values<'_> {
        Values::F32(storage)
    }
}

/// Rows of finite numbers, borrowed from the caller or owned, with optional row weights, labels
/// and column names.
///
/// Values may be `f64` or `f32`, row-major ([`Rows::from_slice`]) or column-major ([`Rows::from_column_major`]). None of
/// them are copied; single precision is widened as it is read. The layout does not change any result.
///
/// ```
/// use mixtura::Rows;
///
/// let values = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let rows = Rows::from_slice(&values, 2)?;
/// assert_eq!((rows.n_rows(), rows.n_columns()), (3, 2));
/// assert_eq!(rows.row(1), [3.0, 4.0]);
///
/// let refused = Rows::from_slice(&[1.0, f64::NAN], 1).unwrap_err();
/// assert_eq!(refused.to_string(), "row 2, column 1: value NaN is not finite");
/// # Ok::<(), mixtura::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    values: Values<'a>,
    n_rows: usize,
    n_columns: usize,
    weights: Option<Cow<'a, [f64]>>,
    labels: Option<Cow<'a, [u32]>>,
    names: Vec<String>,
    normalization: Option<Normalization>,
}

impl<'a> Rows<'a> {
    /// Rows from a row-major slice, without copying. Every value must be finite.
    pub fn from_slice<T: Scalar>(values: &'a [T], n_columns: usize) -> Result<Self, Error> {
        Self::row_major(Cow::Borrowed(values), n_columns)
    }

    /// Rows from a row-major vector. Every value must be finite.
    pub fn from_vec<T: Scalar>(values: Vec<T>, n_columns: usize) -> Result<Rows<'static>, Error> {
        Rows::row_major(Cow::Owned(values), n_columns)
    }

    /// Rows from a column-major slice, one column after another, without copying. Every value must be finite.
    ///
    /// ```
    /// use mixtura::Rows;
    ///
    /// let values = [1.0, 3.0, 5.0, 2.0, 4.0, 6.0]; // the columns 1, 3, 5 and 2, 4, 6
    /// let rows = Rows::from_column_major(&values, 2)?;
    /// assert_eq!(rows.n_rows(), 3);
    /// assert_eq!(rows.row(1), [3.0, 4.0]);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    pub fn from_column_major<T: Scalar>(values: &'a [T], n_columns: usize) -> Result<Self, Error> {
        Self::checked(Storage::ColumnMajor(Cow::Borrowed(values)), n_columns)
    }

    /// Rows from an array of `ndarray`, without copying: its rows are the rows. The array must be in standard
    /// (row-major) or Fortran (column-major) layout, and every value must be finite. Requires the feature `ndarray`.
    ///
    /// ```
    /// use mixtura::{Gmm, Rows};
    /// use ndarray::array;
    ///
    /// let table = array![[0.0, 1.0], [0.1, 1.2], [0.2, 0.9], [5.0, 3.0], [5.1, 3.3], [5.2, 2.9]];
    /// let rows = Rows::from_array(table.view())?;
    /// let fit = Gmm::new(2).fit(&rows)?;
    ///
    /// // The same rows column by column.
    /// let columns = table.t().as_standard_layout().into_owned().reversed_axes();
    /// assert_eq!(Gmm::new(2).fit(&Rows::from_array(columns.view())?)?, fit);
    /// # Ok::<(), mixtura::Error>(())
    /// ```
    #[cfg(feature = "ndarray")]
    #[allow(clippy::needless_pass_by_value)] // as views are passed everywhere
    pub fn from_array<T: Scalar>(array: ndarray::ArrayView2<'a, T>) -> Result<Self, Error> {
        let n_columns = array.ncols();
        if let Some(values) = array.to_slice() {
            return Self::from_slice(values, n_columns);
        }
        if let Some(values) = array.reversed_axes().to_slice() {
            return Self::from_column_major(values, n_columns);
        }
        let strides = array.strides();
        Err(Error::Strides { between_rows: strides[0], between_columns: strides[1] })
    }

    fn row_major<T: Scalar>(values: Cow<'a, [T]>, n_columns: usize) -> Result<Self, Error> {
        Self::checked(Storage::RowMajor(values), n_columns)
    }

    /// Rows of values without padding, if they are whole rows of finite numbers.
    fn checked<T: Scalar>(storage: Storage<'a, T>, n_columns: usize) -> Result<Self, Error> {
        if n_columns == 0 {
            return Err(Error::NoColumns);
        }
        let n_values = storage.values().len();
        if !n_values.is_multiple_of(n_columns) {
            return Err(Error::Ragged { n_values, n_columns });
        }
        let rows = Self::new(T::wrap(storage), n_values / n_columns, n_columns);
        rows.check_finite()?;
        Ok(rows)
    }

    fn new(values: Values<'a>, n_rows: usize, n_columns: usize) -> Self {
        Self { values, n_rows, n_columns, weights: None, labels: None, names: Vec::new(), normalization: None }
    }

    /// Gives each row a weight: 0, or between 1e-100 and 1e100; not all 0.
    pub fn with_weights(mut self, weights: impl Into<Cow<'a, [f64]>>) -> Result<Self, Error> {
        let weights = weights.into();
        if weights.len() != self.n_rows {
            return Err(Error::Length { what: "weights", n_found: weights.len(), n_expected: self.n_rows, of: "rows" });
        }
        for (row, &weight) in weights.iter().enumerate() {
            if !(weight == 0.0 || (1e-100..=1e100).contains(&weight)) {
                return Err(Error::Weight { row, weight });
            }
        }
        if weights.iter().all(|&weight| weight == 0.0) {
            return Err(Error::NoWeight);
        }
        self.weights = Some(weights);
        Ok(self)
    }

    /// Gives each row a label, to start a fit from.
    pub fn with_labels(mut self, labels: impl Into<Cow<'a, [u32]>>) -> Result<Self, Error> {
        let labels = labels.into();
        if labels.len() != self.n_rows {
            return Err(Error::Length { what: "labels", n_found: labels.len(), n_expected: self.n_rows, of: "rows" });
        }
        self.labels = Some(labels);
        Ok(self)
    }

    /// Names the columns.
    pub fn with_names(mut self, names: Vec<String>) -> Result<Self, Error> {
        if names.len() != self.n_columns {
            return Err(Error::Length {
                what: "names",
                n_found: names.len(),
                n_expected: self.n_columns,
                of: "columns",
            });
        }
        self.names = names;
        Ok(self)
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.n_columns
    }

    /// Column names; empty if the columns have none.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Row weights, if there are any.
    pub fn weights(&self) -> Option<&[f64]> {
        self.weights.as_deref()
    }

    /// Row labels, if there are any.
    pub fn labels(&self) -> Option<&[u32]> {
        self.labels.as_deref()
    }

    /// The weight of a row; 1 if rows have no weights.
    ///
    /// # Panics
    /// If rows have weights and there is no such row.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| weights[row])
    }

    /// The normalization applied when rows are read, if any.
    pub fn normalization(&self) -> Option<&Normalization> {
        self.normalization.as_ref()
    }

    /// Applies an affine map to each column when rows are read; the stored values do not change.
    pub fn with_normalization(mut self, normalization: Normalization) -> Result<Self, Error> {
        let (n_found, n_expected) = (normalization.n_columns(), self.n_columns);
        if n_found != n_expected {
            return Err(Error::Length { what: "normalized columns", n_found, n_expected, of: "columns" });
        }
        self.normalization = Some(normalization);
        Ok(self)
    }

    /// Maps each column to [0, 1] when rows are read; the stored values do not change. Cost: one sweep.
    pub fn normalized(self) -> Result<Self, Error> {
        let summary = Summary::of(&self)?;
        self.with_normalization(Normalization::to_unit_interval(&summary.minimum, &summary.maximum))
    }

    /// The same rows as stored, borrowed.
    pub fn without_normalization(&self) -> Rows<'_> {
        let values = match &self.values {
            Values::F64(storage) => Values::F64(storage.borrowed()),
            Values::F32(storage) => Values::F32(storage.borrowed()),
        };
        Rows {
            values,
            weights: self.weights.as_deref().map(Cow::Borrowed),
            labels: self.labels.as_deref().map(Cow::Borrowed),
            names: self.names.clone(),
            normalization: None,
            ..*self
        }
    }

    /// One row as `f64`, normalized if the rows are.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, row: usize) -> Vec<f64> {
        let mut out = vec![0.0; self.n_columns];
        self.row_into(row, &mut out);
        out
    }

    /// Writes one row into `out` as `f64`, normalized if the rows are.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_into(&self, row: usize, out: &mut [f64]) {
        assert!(row < self.n_rows, "row {row} of {}", self.n_rows);
        match &self.values {
            Values::F64(storage) => storage.row_into(row, self, out),
            Values::F32(storage) => storage.row_into(row, self, out),
        }
        if let Some(normalization) = &self.normalization {
            normalization.apply(out);
        }
    }

    /// A stored value, before any normalization.
    pub(crate) fn raw(&self, row: usize, column: usize) -> f64 {
        match &self.values {
            Values::F64(storage) => storage.get(row, column, self),
            Values::F32(storage) => storage.get(row, column, self),
        }
    }

    /// The stored values of a column, before any normalization.
    pub(crate) fn raw_column(&self, column: usize) -> Vec<f64> {
        match &self.values {
            Values::F64(storage) => storage.column(column, self),
            Values::F32(storage) => storage.column(column, self),
        }
    }

    /// Number of blocks of [`LANES`] rows.
    pub(crate) fn n_blocks(&self) -> usize {
        self.n_rows.div_ceil(LANES)
    }

    /// Loads blocks of these rows, minus `centre`.
    pub(crate) fn loader<'b>(&'b self, centre: &[f64]) -> Loader<'b> {
        Loader::new(self, centre)
    }

    /// Loads the weights of block `block`; 0 in lanes past the last row.
    pub(crate) fn load_weights(&self, block: usize, out: &mut Lanes) {
        let first = block * LANES;
        let n_valid = LANES.min(self.n_rows - first);
        *out = Lanes::all(0.0);
        match &self.weights {
            Some(weights) => out[..n_valid].copy_from_slice(&weights[first..first + n_valid]),
            None => out[..n_valid].fill(1.0),
        }
    }

    /// Copies rows with their weights, normalized if the rows are.
    ///
    /// # Panics
    /// If there is no row with one of these numbers.
    pub fn gather(&self, indices: &[usize]) -> Rows<'static> {
        let mut values = vec![0.0; indices.len() * self.n_columns];
        for (&row, out) in indices.iter().zip(values.chunks_exact_mut(self.n_columns)) {
            self.row_into(row, out);
        }
        let mut rows = Rows::new(Values::F64(Storage::RowMajor(Cow::Owned(values))), indices.len(), self.n_columns);
        rows.weights = self.weights.as_ref().map(|weights| indices.iter().map(|&row| weights[row]).collect());
        rows.names.clone_from(&self.names);
        rows
    }

    /// Sets the weights of picked rows, which may all be 0.
    pub(crate) fn with_picked_weights(self, weights: Vec<f64>) -> Self {
        Self { weights: Some(Cow::Owned(weights)), ..self }
    }

    /// The first non-finite value in row order, as an error.
    fn check_finite(&self) -> Result<(), Error> {
        let all_finite = match &self.values {
            Values::F64(storage) => storage.all_finite(),
            Values::F32(storage) => storage.all_finite(),
        };
        if all_finite {
            return Ok(());
        }
        for row in 0..self.n_rows {
            for column in 0..self.n_columns {
                let value = self.raw(row, column);
                if !value.is_finite() {
                    return Err(Error::NotFinite { row, column, value });
                }
            }
        }
        Ok(())
    }
}

/// The number with only its [`CENTRE_BITS`] leading significant bits kept.
pub(crate) fn shorten(x: f64) -> f64 {
    f64::from_bits(x.to_bits() & !((1 << (53 - CENTRE_BITS)) - 1))
}

impl<T: Scalar> Storage<'_, T> {
    fn borrowed(&self) -> Storage<'_, T> {
        match self {
            Storage::RowMajor(values) => Storage::RowMajor(Cow::Borrowed(values)),
            Storage::ColumnMajor(values) => Storage::ColumnMajor(Cow::Borrowed(values)),
            Storage::Blocked(values) => Storage::Blocked(Cow::Borrowed(values)),
        }
    }

    fn values(&self) -> &[T] {
        match self {
            Storage::RowMajor(values) | Storage::ColumnMajor(values) | Storage::Blocked(values) => values,
        }
    }

    fn get(&self, row: usize, column: usize, of: &Rows<'_>) -> f64 {
        let Rows { n_rows, n_columns, .. } = *of;
        let index = match self {
            Storage::RowMajor(_) => row * n_columns + column,
            Storage::ColumnMajor(_) => column * n_rows + row,
            Storage::Blocked(_) => (row / LANES * n_columns + column) * LANES + row % LANES,
        };
        self.values()[index].to_f64()
    }

    fn row_into(&self, row: usize, of: &Rows<'_>, out: &mut [f64]) {
        let n = of.n_columns;
        match self {
            Storage::RowMajor(values) => {
                out.iter_mut().zip(&values[row * n..][..n]).for_each(|(out, value)| *out = value.to_f64());
            }
            _ => out.iter_mut().take(n).enumerate().for_each(|(column, out)| *out = self.get(row, column, of)),
        }
    }

    fn column(&self, column: usize, of: &Rows<'_>) -> Vec<f64> {
        match self {
            Storage::RowMajor(values) => values.chunks_exact(of.n_columns).map(|row| row[column].to_f64()).collect(),
            _ => (0..of.n_rows).map(|row| self.get(row, column, of)).collect(),
        }
    }

    fn all_finite(&self) -> bool {
        use rayon::prelude::*;
        // 0 · x is 0 for finite x and NaN otherwise; a sum for each lane, so that the additions need not wait for each
        // other.
        let is_finite = |chunk: &[T]| {
            let (lanes, rest) = chunk.as_chunks::<LANES>();
            let mut sums = [0.0; LANES];
            for values in lanes {
                for lane in 0..LANES {
                    sums[lane] += 0.0 * values[lane].to_f64();
                }
            }
            sums == [0.0; LANES] && rest.iter().all(|value| value.to_f64().is_finite())
        };
        self.values().par_chunks(1 << 16).all(is_finite)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::InstructionSet;

    fn blocked(n_rows: usize, n_columns: usize) -> (Vec<f64>, Rows<'static>) {
        let values: Vec<f64> = (0..n_rows * n_columns).map(|i| (i as f64).sin()).collect();
        let mut builder = RowsBuilder::<f64>::new(n_columns).unwrap();
        for row in values.chunks_exact(n_columns) {
            builder.push_row(row).unwrap();
        }
        (values, builder.finish().unwrap())
    }

    #[test]
    fn all_layouts_load_the_same_centred_blocks() {
        for (n_rows, n_columns) in [(1, 1), (15, 3), (16, 3), (17, 2), (53, 5)] {
            let (values, blocked) = blocked(n_rows, n_columns);
            let plain = Rows::from_slice(&values, n_columns).unwrap();
            let transposed: Vec<f64> =
                (0..n_rows * n_columns).map(|i| values[i % n_rows * n_columns + i / n_rows]).collect();
            let columns = Rows::from_column_major(&transposed, n_columns).unwrap();
            let centre: Vec<f64> = (0..n_columns).map(|d| d as f64 * 0.5).collect();
            for block in 0..blocked.n_blocks() {
                let mut a = vec![Lanes::all(7.0); n_columns];
                let mut b = vec![Lanes::all(9.0); n_columns];
                blocked.loader(&centre).load(InstructionSet::detect(), block, &mut a);
                plain.loader(&centre).load(InstructionSet::baseline(), block, &mut b);
                assert_eq!(a, b);
                let mut c = vec![Lanes::all(8.0); n_columns];
                let loader = columns.loader(&centre);
                (0..PARTS).for_each(|part| loader.prefetch(block, part));
                (0..PARTS).for_each(|part| loader.prefetch(block + 1, part));
                loader.load(InstructionSet::detect(), block, &mut c);
                assert_eq!(a, c);
                for (d, lanes) in a.iter().enumerate() {
                    for (lane, &x) in lanes.iter().enumerate() {
                        let row = block * LANES + lane;
                        let expected = if row < n_rows { values[row * n_columns + d] - centre[d] } else { 0.0 };
                        assert_eq!(x, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn a_bad_value_is_reported_with_its_place() {
        let mut values = vec![0.0f32; 40];
        values[27] = f32::INFINITY;
        let error = Rows::from_slice(&values, 4).unwrap_err();
        assert_eq!(error, Error::NotFinite { row: 6, column: 3, value: f64::INFINITY });
        let error = Rows::from_column_major(&values, 4).unwrap_err();
        assert_eq!(error, Error::NotFinite { row: 7, column: 2, value: f64::INFINITY });
    }

    #[test]
    fn weights_are_checked() {
        let values = [1.0, 2.0, 3.0];
        let rows = || Rows::from_slice(&values, 1).unwrap();
        assert!(rows().with_weights(vec![1.0, 0.0, 2.5]).is_ok());
        assert_eq!(rows().with_weights(vec![0.0; 3]).unwrap_err(), Error::NoWeight);
        assert!(matches!(rows().with_weights(vec![1.0, -1.0, 1.0]), Err(Error::Weight { row: 1, .. })));
        assert!(matches!(rows().with_weights(vec![1.0, 1.0, f64::NAN]), Err(Error::Weight { row: 2, .. })));
        assert!(matches!(rows().with_weights(vec![1.0]), Err(Error::Length { .. })));
    }
}
