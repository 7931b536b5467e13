//! Treats rows as points relative to their mean, computes their distances to centres, and labels them.

use std::ops::{AddAssign, Mul, Range};

use rayon::prelude::*;

use super::gather::gather;
use super::scores::{Distances, SquaredNorms, TwoNearest};
use crate::Error;
use crate::kernels::{InstructionSet, LANES, Lanes, prefetch};
use crate::rows::Scalar;

/// Rows that a thread processes at a time.
pub(super) const CHUNK: usize = 2048;
/// Blocks gathered before the first one is used: reading a vector too soon after its elements were written one by one
/// stalls.
const GROUP: usize = 8;

/// The precision of rows, and of sums over them.
pub trait Real: Scalar + AddAssign + Mul<Output = Self> {
    /// Half the distance between 1 and the next number.
    const ROUNDOFF: f64;
    /// The nearest number of this precision.
    fn round(value: f64) -> Self;
}

impl Real for f64 {
    const ROUNDOFF: f64 = f64::EPSILON / 2.0;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of a kernel")]
    fn round(value: f64) -> Self {
        value
    }
}

impl Real for f32 {
    const ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;

    #[inline(always)]
    #[allow(clippy::inline_always, reason = "part of a kernel")]
    fn round(value: f64) -> Self {
        value as f32
    }
}

/// Rows minus an offset, with weights. The difference is rounded to the precision of the data, as if it were stored.
#[derive(Debug, Clone)]
pub struct Points<'a, T> {
    pub(super) values: &'a [T],
    pub(super) offset: Vec<f64>,
    pub(super) weights: Option<&'a [T]>,
    pub(super) set: InstructionSet,
}

/// The result of [`Points::assign`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assigned {
    /// Number of labels changed.
    pub n_changed: usize,
    /// Rows that are, within rounding, equally near to another centre; in ascending order. Their labels were left
    /// unchanged.
    pub tied: Vec<usize>,
}

impl<'a, T: Real> Points<'a, T> {
    /// `values` row by row, the offset to subtract from each column, and a weight for each row (by default 1).
    pub fn new(values: &'a [T], offset: &[T], weights: Option<&'a [T]>) -> Result<Self, Error> {
        if offset.is_empty() {
            return Err(Error::NoColumns);
        }
        if values.is_empty() {
            return Err(Error::NoRows);
        }
        if !values.len().is_multiple_of(offset.len()) {
            return Err(Error::Ragged { n_values: values.len(), n_columns: offset.len() });
        }
        let offset = offset.iter().map(|value| value.to_f64()).collect();
        let points = Self { values, offset, weights, set: InstructionSet::detect() };
        weights.map_or(Ok(()), |weights| points.check_rows("weights", weights.len()))?;
        Ok(points)
    }

    /// Some of the points.
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> Self {
        let values = &self.values[range.start * self.n_columns()..range.end * self.n_columns()];
        Self {
            values,
            offset: self.offset.clone(),
            weights: self.weights.map(|weights| &weights[range]),
            set: self.set,
        }
    }

    /// N.
    pub fn n_rows(&self) -> usize {
        self.values.len() / self.n_columns()
    }

    /// D.
    pub fn n_columns(&self) -> usize {
        self.offset.len()
    }

    /// Rejects a list that does not have one item per row.
    pub(super) fn check_rows(&self, what: &'static str, n_found: usize) -> Result<(), Error> {
        let n_expected = self.n_rows();
        if n_found == n_expected { Ok(()) } else { Err(Error::Length { what, n_found, n_expected, of: "rows" }) }
    }

    /// Rejects centres that do not have D coordinates each.
    pub(super) fn check_centres(&self, n_values: usize, n_centres: usize) -> Result<(), Error> {
        let n_columns = self.n_columns();
        if n_values == n_centres * n_columns { Ok(()) } else { Err(Error::Ragged { n_values, n_columns }) }
    }

    /// Squared distances to each of several centres, or `closest` where that is smaller: N numbers for each centre.
    ///
    /// Computed as max(0, ‖c‖² − 2x·c + ‖x‖²) in double precision, rounded to the precision of the data. Cost: D
    /// multiply-adds per row and centre.
    pub fn distances_into(&self, centres: &[f64], closest: Option<&[T]>, out: &mut [T]) -> Result<(), Error> {
        let (n_rows, n_columns) = (self.n_rows(), self.n_columns());
        closest.map_or(Ok(()), |closest| self.check_rows("closest distances", closest.len()))?;
        self.check_centres(centres.len(), out.len() / n_rows)?;
        let norms: Vec<f64> = centres.chunks_exact(n_columns).map(|c| c.iter().map(|c| c * c).sum()).collect();
        let mut parts: Vec<Vec<&mut [T]>> = (0..n_rows.div_ceil(CHUNK)).map(|_| Vec::new()).collect();
        for row in out.chunks_exact_mut(n_rows) {
            parts.iter_mut().zip(row.chunks_mut(CHUNK)).for_each(|(part, chunk)| part.push(chunk));
        }
        parts.into_par_iter().enumerate().for_each_init(
            || self.blocks(),
            |blocks, (n, mut part)| {
                let closest = closest.map(|closest| &closest[n * CHUNK..]);
                let n_here = self.chunk(n).len() / n_columns;
                self.for_blocks(
                    n,
                    n_here,
                    |row| row,
                    blocks,
                    |lanes, block| {
                        let squares = self.set.run(SquaredNorms { block });
                        let so_far = std::array::from_fn(|lane| {
                            closest
                                .and_then(|closest| closest.get(lanes.start + lane))
                                .map_or(f64::INFINITY, |d| d.to_f64())
                        });
                        let closest = Lanes(so_far);
                        for ((out, centre), &norm) in part.iter_mut().zip(centres.chunks_exact(n_columns)).zip(&norms) {
                            let rounded = [T::default(); LANES];
                            let least = self.set.run(Distances { block, centre, norm, squares, closest, rounded });
                            out[lanes.clone()].copy_from_slice(&least[..lanes.len()]);
                        }
                    },
                );
            },
        );
        Ok(())
    }

    /// Labels each row with its nearest centre; of equally near centres, the first. Scores are ‖c‖² − 2x·c with the
    /// given ‖c‖².
    ///
    /// In any order of operations, fused or not, the error of a score is less than e = (D + 2)·u·(‖x‖² + ‖c‖²) (Higham
    /// 2002, section 3.1), where u is the unit roundoff of the data's precision. If the two smallest scores are more
    /// than 4e apart, two for our errors and two for theirs, all orders agree on the label; other rows are tied.
    pub fn assign(&self, centres: &[f64], norms: &[f64], labels: &mut [u32]) -> Result<Assigned, Error> {
        let n_columns = self.n_columns();
        self.check_rows("labels", labels.len())?;
        self.check_centres(centres.len(), norms.len())?;
        let factor = 4.0 * (n_columns as f64 + 3.0) * T::ROUNDOFF;
        let greatest = norms.iter().copied().fold(0.0, f64::max);
        let label_chunk = |blocks: &mut Vec<Lanes>, (n, labels): (usize, &mut [u32])| {
            let mut found = Assigned { n_changed: 0, tied: Vec::new() };
            self.for_blocks(
                n,
                labels.len(),
                |row| row,
                blocks,
                |lanes, block| {
                    let squares = self.set.run(SquaredNorms { block });
                    let nearest = self.set.run(TwoNearest { block, centres, norms });
                    for (lane, label) in labels[lanes.clone()].iter_mut().enumerate() {
                        let gap = nearest.second[lane] - nearest.first[lane];
                        let is_certain = gap > factor * (squares[lane] + greatest);
                        if !is_certain {
                            found.tied.push(n * CHUNK + lanes.start + lane);
                        } else if *label != nearest.label[lane] as u32 {
                            *label = nearest.label[lane] as u32;
                            found.n_changed += 1;
                        }
                    }
                },
            );
            found
        };
        let found: Vec<Assigned> =
            labels.par_chunks_mut(CHUNK).enumerate().map_init(|| self.blocks(), label_chunk).collect();
        Ok(Assigned {
            n_changed: found.iter().map(|found| found.n_changed).sum(),
            tied: found.into_iter().flat_map(|found| found.tied).collect(),
        })
    }

    /// The rows of a chunk.
    pub(super) fn chunk(&self, n: usize) -> &'a [T] {
        let width = self.n_columns();
        &self.values[n * CHUNK * width..((n + 1) * CHUNK * width).min(self.values.len())]
    }

    /// Buffer for a group of blocks.
    pub(super) fn blocks(&self) -> Vec<Lanes> {
        vec![Lanes::all(0.0); GROUP * self.n_columns()]
    }

    /// Passes on rows of a chunk, 16 at a time: their range among the picks, and the block. Lanes past the last row
    /// repeat it.
    pub(super) fn for_blocks(
        &self,
        n: usize,
        n_picks: usize,
        pick: impl Fn(usize) -> usize,
        blocks: &mut [Lanes],
        mut each: impl FnMut(Range<usize>, &[Lanes]),
    ) {
        let rows = self.chunk(n);
        let bring = |picks: Range<usize>| {
            picks.for_each(|at| prefetch(&rows[pick(at) * self.n_columns()..][..self.n_columns()]));
        };
        // Of rows one after the other, machines expect the next one.
        let is_sparse = n_picks > 0 && pick(n_picks - 1) >= n_picks;
        if is_sparse {
            bring(0..n_picks.min(GROUP * LANES));
        }
        for group in (0..n_picks).step_by(GROUP * LANES) {
            if is_sparse {
                bring(n_picks.min(group + GROUP * LANES)..n_picks.min(group + 2 * GROUP * LANES));
            }
            let begins = (group..n_picks).step_by(LANES);
            for (begin, block) in begins.clone().zip(blocks.chunks_exact_mut(self.n_columns())) {
                let picks = std::array::from_fn(|lane| pick((begin + lane).min(n_picks - 1)));
                gather(self.set, rows, &self.offset, picks, block);
            }
            for (begin, block) in begins.zip(blocks.chunks_exact(self.n_columns())) {
                each(begin..(begin + LANES).min(n_picks), block);
            }
        }
    }

    /// A coordinate of a point.
    #[inline]
    pub(super) fn coordinate(&self, value: T, column: usize) -> T {
        T::round(value.to_f64() - self.offset[column])
    }
}
