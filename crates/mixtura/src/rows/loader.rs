//! Loads blocks of rows for a pass: widened, normalized, centred.

use super::private::{Storage, Values};
use super::{Rows, Scalar};
use crate::kernels::{Centre, InstructionSet, LANES, Lanes, Transpose, prefetch};

/// Parts of a block that are prefetched separately, with work in between: memory accepts only so many requests at a
/// time, and whoever makes more has to wait.
pub(crate) const PARTS: usize = 3;

/// Loads blocks of rows, minus a centre.
pub(crate) struct Loader<'a> {
    rows: &'a Rows<'a>,
    /// Subtracted from stored values.
    offset: Vec<f64>,
    /// Multiplies the differences, if rows are normalized.
    scale: Option<&'a [f64]>,
}

impl<'a> Loader<'a> {
    /// Loads rows minus `centre`, which is in normalized units if the rows are normalized.
    pub(super) fn new(rows: &'a Rows<'a>, centre: &[f64]) -> Self {
        let Some(normalization) = &rows.normalization else {
            return Self { rows, offset: centre.to_vec(), scale: None };
        };
        let offset = centre.iter().enumerate().map(|(d, &centre)| normalization.raw_offset(d, centre)).collect();
        Self { rows, offset, scale: Some(normalization.scale()) }
    }

    /// Loads a block, a column at a time; lanes past the last row are zero.
    pub(crate) fn load(&self, set: InstructionSet, block: usize, out: &mut [Lanes]) {
        match &self.rows.values {
            Values::F64(storage) => self.load_stored(set, storage, block, out),
            Values::F32(storage) => self.load_stored(set, storage, block, out),
        }
    }

    /// Prefetches one of the [`PARTS`] of a block that will be loaded soon, if it exists.
    #[inline]
    pub(crate) fn prefetch(&self, block: usize, part: usize) {
        if part >= self.n_parts() {
            return;
        }
        match &self.rows.values {
            Values::F64(storage) => self.prefetch_stored(storage, block, part),
            Values::F32(storage) => self.prefetch_stored(storage, block, part),
        }
    }

    /// A small block is requested at once: its parts would cost more than they save.
    fn n_parts(&self) -> usize {
        if self.offset.len() < 2 * PARTS { 1 } else { PARTS }
    }

    fn prefetch_stored<T: Scalar>(&self, storage: &Storage<'_, T>, block: usize, part: usize) {
        let (n_columns, first) = (self.offset.len(), block * LANES);
        if first + LANES > self.rows.n_rows {
            return;
        }
        let n_parts = self.n_parts();
        let columns = part * n_columns / n_parts..(part + 1) * n_columns / n_parts;
        match storage {
            Storage::RowMajor(values) | Storage::Blocked(values) => {
                prefetch(&values[first * n_columns..][columns.start * LANES..columns.end * LANES]);
            }
            Storage::ColumnMajor(values) => {
                for column in columns {
                    prefetch(&values[column * self.rows.n_rows + first..][..LANES]);
                }
            }
        }
    }

    fn load_stored<T: Scalar>(&self, set: InstructionSet, storage: &Storage<'_, T>, block: usize, out: &mut [Lanes]) {
        let n_columns = self.offset.len();
        let n_valid = LANES.min(self.rows.n_rows - block * LANES);
        match storage {
            Storage::Blocked(values) => {
                let (stored, _) = values[block * n_columns * LANES..][..n_columns * LANES].as_chunks::<LANES>();
                set.run(Centre { stored, offset: &self.offset, out });
            }
            Storage::RowMajor(values) => {
                let rows = &values[block * LANES * n_columns..][..n_valid * n_columns];
                set.run(Transpose { rows, offset: &self.offset, out });
            }
            Storage::ColumnMajor(values) => {
                let first = block * LANES;
                let columns = values.chunks_exact(self.rows.n_rows).zip(&self.offset);
                for (lanes, (column, &offset)) in out.iter_mut().zip(columns) {
                    for (lane, value) in lanes.iter_mut().zip(&column[first..first + n_valid]) {
                        *lane = value.to_f64() - offset;
                    }
                }
            }
        }
        for (lanes, scale) in out.iter_mut().zip(self.scale.into_iter().flatten()) {
            lanes.iter_mut().for_each(|lane| *lane *= scale);
        }
        if n_valid < LANES {
            out.iter_mut().for_each(|lanes| lanes[n_valid..].fill(0.0));
        }
    }
}
