//! Chooses the point that each component's rows are centred on: a common centre, or the component's own mean.

use std::ops::Range;

use crate::kernels::Lanes;

/// A component farther from the common centre than this, in squared standard deviations of a
/// column, has its rows centred about its own mean: otherwise its variances would lose more than
/// six of their sixteen digits.
const FAR: f64 = 1e6;

/// For each component, the point that its rows are centred on.
#[derive(Debug)]
pub(super) struct Placement {
    n_columns: usize,
    /// In the data's units.
    centres: Vec<f64>,
    /// For each component far away its centre less the common one.
    shifts: Vec<Option<Vec<f64>>>,
}

impl Placement {
    /// Places components of these means (K·D numbers) and variances (of component and column).
    pub(super) fn new(means: &[f64], centre: &[f64], variance: impl Fn(usize, usize) -> f64) -> Self {
        let n_columns = centre.len();
        let mut placement = Self { n_columns, centres: Vec::with_capacity(means.len()), shifts: Vec::new() };
        for (k, mean) in means.chunks_exact(n_columns).enumerate() {
            let shift = difference(mean, centre);
            let far = is_far(&shift, |d| variance(k, d));
            placement.centres.extend(if far { mean } else { centre });
            placement.shifts.push(far.then_some(shift));
        }
        placement
    }

    /// The points that the rows of all components are centred on: K·D numbers.
    pub(super) fn centres(&self) -> &[f64] {
        &self.centres
    }

    /// A mean minus the point that the component's rows are centred on.
    pub(super) fn rest(&self, component: usize, mean: &[f64]) -> Vec<f64> {
        difference(mean, &self.centres[component * self.n_columns..][..self.n_columns])
    }

    /// What to subtract from centred rows for this component, if it is far away.
    pub(super) fn shift(&self, component: usize) -> Option<&[f64]> {
        self.shifts[component].as_deref()
    }

    /// Whether the rows of all components are centred on the same point.
    pub(super) fn is_common(&self) -> bool {
        self.shifts.iter().all(Option::is_none)
    }

    /// Components one after the other: runs of near ones, and each far one by itself.
    pub(super) fn runs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let mut first = 0;
        std::iter::from_fn(move || {
            let start = first;
            let is_far = self.shifts.get(start)?.is_some();
            let n_near = self.shifts[start..].iter().take_while(|shift| shift.is_none()).count();
            first = start + if is_far { 1 } else { n_near };
            Some(start..first)
        })
    }

    /// A block as a component takes it: about the common centre, or about its own in `shifted`.
    pub(super) fn taken_about<'a>(
        &self,
        component: usize,
        block: &'a [Lanes],
        shifted: &'a mut [Lanes],
    ) -> &'a [Lanes] {
        let block = &block[..self.n_columns];
        let Some(shift) = self.shift(component) else { return block };
        let out = &mut shifted[..self.n_columns];
        for ((out, block), shift) in out.iter_mut().zip(block).zip(shift) {
            *out = Lanes(block.map(|x| x - shift));
        }
        out
    }

    /// The same for several blocks with their column of ones.
    pub(super) fn rows_about<'a>(
        &self,
        component: usize,
        blocks: &'a [Lanes],
        shifted: &'a mut [Lanes],
    ) -> &'a [Lanes] {
        let Some(shift) = self.shift(component) else { return blocks };
        let out = &mut shifted[..blocks.len()];
        out.copy_from_slice(blocks);
        shift_rows(out, shift);
        out
    }
}

fn difference(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// Whether a component this far from the point its rows are centred on loses digits needlessly.
pub(super) fn is_far(shift: &[f64], variance: impl Fn(usize) -> f64) -> bool {
    shift.iter().enumerate().any(|(d, shift)| shift * shift > FAR * variance(d))
}

/// Subtracts `shift` from the columns of all rows; where the column of ones is zero there is no row.
pub(super) fn shift_rows(rows: &mut [Lanes], shift: &[f64]) {
    for block in rows.chunks_exact_mut(shift.len() + 1) {
        let ones = block[shift.len()];
        for (column, shift) in block.iter_mut().zip(shift) {
            column.0 = std::array::from_fn(|lane| column[lane] - shift * ones[lane]);
        }
    }
}
