//! Maps each column to [0, 1] for a fit, and converts likelihoods back to the data's own units.

use serde::{Deserialize, Serialize};

use crate::Error;

/// An affine map of each column: `(x − offset) · scale`.
///
/// ```
/// use mixtura::rows::Normalization;
///
/// let map = Normalization::to_unit_interval(&[10.0, 3.0], &[30.0, 3.0]);
/// let mut row = [15.0, 3.0];
/// map.apply(&mut row);
/// assert_eq!(row, [0.25, 0.0]); // a constant column is only shifted
/// assert_eq!(map.ln_volume(), -(20.0f64.ln()));
/// ```
///
/// Deserializing applies the checks of [`Normalization::new`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Normalization {
    offset: Vec<f64>,
    scale: Vec<f64>,
}

/// The map as deserialized.
#[derive(Deserialize)]
#[serde(rename = "Normalization")]
struct Unchecked {
    offset: Vec<f64>,
    scale: Vec<f64>,
}

impl TryFrom<Unchecked> for Normalization {
    type Error = Error;

    fn try_from(Unchecked { offset, scale }: Unchecked) -> Result<Self, Error> {
        Self::new(offset, scale)
    }
}

impl Normalization {
    /// The map with these offsets and scales, one of each per column: offsets must be finite, scales positive.
    pub fn new(offset: Vec<f64>, scale: Vec<f64>) -> Result<Self, Error> {
        if scale.len() != offset.len() {
            return Err(Error::Length {
                what: "scales",
                n_found: scale.len(),
                n_expected: offset.len(),
                of: "columns",
            });
        }
        if let Some((column, &value)) = offset.iter().enumerate().find(|(_, offset)| !offset.is_finite()) {
            return Err(Error::Column { column, what: "offset", value, expected: "finite" });
        }
        let is_bad = |scale: f64| !(scale.is_finite() && scale > 0.0);
        if let Some((column, &value)) = scale.iter().enumerate().find(|(_, scale)| is_bad(**scale)) {
            return Err(Error::Column { column, what: "scale", value, expected: "a positive number" });
        }
        Ok(Self { offset, scale })
    }

    /// The map that takes `[minimum, maximum]` to `[0, 1]` in each column.
    pub fn to_unit_interval(minimum: &[f64], maximum: &[f64]) -> Self {
        let scale = minimum.iter().zip(maximum).map(|(lo, hi)| if hi > lo { 1.0 / (hi - lo) } else { 1.0 });
        Self { offset: minimum.to_vec(), scale: scale.collect() }
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.offset.len()
    }

    /// Subtracted from each column.
    pub fn offset(&self) -> &[f64] {
        &self.offset
    }

    /// Multiplies each column afterwards.
    pub fn scale(&self) -> &[f64] {
        &self.scale
    }

    /// Maps a row in place.
    pub fn apply(&self, row: &mut [f64]) {
        for ((x, offset), scale) in row.iter_mut().zip(&self.offset).zip(&self.scale) {
            *x = (*x - offset) * scale;
        }
    }

    /// Logarithm of the map's volume factor: add it to a log-density of mapped rows to get the log-density in the
    /// data's own units.
    pub fn ln_volume(&self) -> f64 {
        self.scale.iter().map(|scale| scale.ln()).sum()
    }

    /// What to subtract from a stored value so that the scaled difference is the mapped value minus `centre`.
    pub(crate) fn raw_offset(&self, column: usize, centre: f64) -> f64 {
        self.offset[column] + centre / self.scale[column]
    }
}
