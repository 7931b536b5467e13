//! Runs Lloyd's rounds, skipping rows whose label cannot change.

use rayon::prelude::*;

use super::points::{CHUNK, Points, Real};
use super::scores::{Gaps, TwoNearest};
use super::sums::Clusters;
use crate::Error;
use crate::kernels::{Lanes, prefetch};

/// Changes ahead of the current one whose row is asked for.
const PREFETCHED: usize = 8;

/// When the rounds end.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum number of rounds, including the first, which gave the labels.
    pub n_rounds: usize,
    /// Tolerance on the sum of squared distances by which centres move in a round.
    pub tolerance: f64,
}

/// Why [`Rounds::go`] returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pause {
    /// The labels are final.
    Done,
    /// These rows are, within rounding, equally near to another centre. The labels still correspond to the current
    /// centres; call [`Rounds::settle`] next.
    Tied(Vec<usize>),
    /// A cluster is empty, or rounding may decide whether the centres have settled; the labels must not be used.
    Uncertain,
    /// Stopped by the caller; the rounds cannot be continued.
    Stopped,
}

/// Lloyd's rounds after the first, on rows in double precision.
///
/// They end when no label changes, when the centres have moved by no more than the tolerance, or at the limit on
/// rounds; the labels then belong to the last centres.
///
/// The gap of a row is how much farther its second nearest centre is than its own. When centres move, the gap shrinks
/// by at most the movement of its own centre plus the largest movement of the others, so a row with a larger gap keeps
/// its label and is skipped (Hamerly 2010, with one number per row instead of two). Memory: 8 bytes per row. Cost of a
/// round: one comparison per row, and D·K multiply-adds per row that is not skipped.
///
/// Centres are updated with every change of a label by compensated sums, so their error is about one rounding. The
/// error of scikit-learn's plain sums of n points of length at most r is at most n·u·r (Higham 2002, section 4.2), and
/// that of a score 4(n + 3)·u·r². If the two smallest scores are no farther apart than both errors allow, the row is
/// tied.
pub struct Rounds {
    clusters: Clusters,
    centres: Vec<f64>,
    norms: Vec<f64>,
    /// ‖x‖² of the longest point.
    longest: f64,
    /// Difference of scores up to which rounding may decide.
    margin: f64,
    /// For each row, its gap when it was last examined, plus the shrinkage of its label at that time.
    gaps: Vec<f64>,
    /// For each label, how much gaps have shrunk over all rounds.
    shrinkage: Vec<f64>,
    /// Rounds so far.
    round: usize,
    is_last: bool,
    /// The findings of the last sweep, until they are applied.
    changes: Vec<Change>,
}

/// A row's new label.
struct Change {
    row: usize,
    label: u32,
}

/// What a sweep found in one chunk.
#[derive(Default)]
struct Swept {
    changes: Vec<Change>,
    tied: Vec<usize>,
}

impl Rounds {
    /// Begins with the labels that `centres` gave; returns [`Error::Interrupted`] once `is_stopped` returns true.
    pub fn new(
        points: &Points<'_, f64>,
        centres: &[f64],
        labels: &[u32],
        is_stopped: impl Fn() -> bool,
    ) -> Result<Self, Error> {
        let n_columns = points.n_columns();
        let n_clusters = centres.len() / n_columns;
        points.check_rows("labels", labels.len())?;
        points.check_centres(centres.len(), n_clusters)?;
        let mut clusters = Clusters::new(n_clusters, n_columns);
        for (n, chunk) in labels.chunks(CHUNK).enumerate() {
            if is_stopped() {
                return Err(Error::Interrupted);
            }
            chunk.iter().enumerate().for_each(|(row, &label)| clusters.add(label, points, n * CHUNK + row));
        }
        Ok(Self {
            clusters,
            centres: centres.to_vec(),
            norms: vec![0.0; n_clusters],
            longest: longest(points),
            margin: 0.0,
            gaps: vec![f64::NEG_INFINITY; labels.len()],
            shrinkage: vec![0.0; n_clusters],
            round: 0,
            is_last: false,
            changes: Vec::new(),
        })
    }

    /// Continues until there is something to report.
    pub fn go(
        &mut self,
        points: &Points<'_, f64>,
        labels: &mut [u32],
        limits: Limits,
        is_stopped: impl Fn() -> bool + Sync,
    ) -> Result<Pause, Error> {
        points.check_rows("labels", labels.len())?;
        loop {
            let Some(has_settled) = self.move_centres(points, limits.tolerance) else { return Ok(Pause::Uncertain) };
            self.round += 1;
            self.is_last = has_settled || self.round >= limits.n_rounds;
            let tied = self.sweep(points, labels, &is_stopped);
            if is_stopped() {
                return Ok(Pause::Stopped);
            }
            if !tied.is_empty() {
                return Ok(Pause::Tied(tied));
            }
            if self.apply(points, labels) {
                return Ok(Pause::Done);
            }
        }
    }

    /// Ends a round in which rows were tied, with the labels chosen for them; returns whether it was the last round.
    pub fn settle(
        &mut self,
        points: &Points<'_, f64>,
        labels: &mut [u32],
        tied: &[usize],
        settled: &[u32],
    ) -> Result<bool, Error> {
        points.check_rows("labels", labels.len())?;
        let changed = tied.iter().zip(settled).filter(|&(&row, &label)| labels[row] != label);
        self.changes.extend(changed.map(|(&row, &label)| Change { row, label }));
        self.changes.sort_unstable_by_key(|change| change.row);
        Ok(self.apply(points, labels))
    }

    /// Applies changes of labels; returns whether it was the last round.
    fn apply(&mut self, points: &Points<'_, f64>, labels: &mut [u32]) -> bool {
        let is_last = self.is_last || self.changes.is_empty();
        for (n, &Change { row, label }) in self.changes.iter().enumerate() {
            if let Some(soon) = self.changes.get(n + PREFETCHED) {
                prefetch(&points.values[soon.row * points.n_columns()..][..points.n_columns()]);
            }
            self.clusters.remove(labels[row], points, row);
            self.clusters.add(label, points, row);
            labels[row] = label;
        }
        self.changes.clear();
        is_last
    }

    /// Moves centres to the means of their clusters. Returns whether they moved by no more than the tolerance, or
    /// `None` if that is uncertain or a cluster is empty.
    fn move_centres(&mut self, points: &Points<'_, f64>, tolerance: f64) -> Option<bool> {
        let n_columns = points.n_columns();
        let count = self.clusters.greatest_count()? as f64;
        let previous = self.centres.clone();
        self.clusters.centres_into(&mut self.centres);
        let pairs = self.centres.chunks_exact(n_columns).zip(previous.chunks_exact(n_columns));
        let ways: Vec<f64> = pairs.map(|(new, old)| distance(new, old)).collect();
        for (norm, centre) in self.norms.iter_mut().zip(self.centres.chunks_exact(n_columns)) {
            *norm = centre.iter().map(|c| c * c).sum();
        }
        for (k, shrinkage) in self.shrinkage.iter_mut().enumerate() {
            let others = ways[..k].iter().chain(&ways[k + 1..]);
            *shrinkage += ways[k] + others.copied().fold(0.0, f64::max);
        }
        // The error of a score is 4(n + 3)·u·r² from the centres and (D + 2)·u·2r² from the product; two scores in each
        // of two computations.
        self.margin = 16.0 * (count + n_columns as f64 + 6.0) * f64::ROUNDOFF * self.longest;
        // The error of one of scikit-learn's centres is w = (n + 3)·u·r, that of a movement 2w, that of its square
        // 4w(movement + w).
        let error = (count + 3.0) * f64::ROUNDOFF * self.longest.sqrt();
        let slack: f64 = ways.iter().map(|way| 4.0 * error * (way + error)).sum();
        let moved: f64 = ways.iter().map(|way| way * way).sum();
        ((moved - tolerance).abs() > 2.0 * slack).then_some(moved <= tolerance)
    }

    /// Finds changes of labels and tied rows; incomplete if stopped.
    fn sweep(
        &mut self,
        points: &Points<'_, f64>,
        labels: &[u32],
        is_stopped: &(impl Fn() -> bool + Sync),
    ) -> Vec<usize> {
        // Squared distances satisfy l² − u² = (l − u)(l + u) ≥ (l − u)², so a gap of more than √margin is certain. The
        // error of a distance near 0 is the root of its square's error, which is below the margin: add it once for each
        // distance.
        let least = 4.0 * self.margin.sqrt();
        let thresholds: Vec<f64> = self.shrinkage.iter().map(|shrinkage| shrinkage + least).collect();
        let mut gaps = std::mem::take(&mut self.gaps);
        let this = &*self;
        let swept: Vec<Swept> = gaps
            .par_chunks_mut(CHUNK)
            .zip(labels.par_chunks(CHUNK))
            .enumerate()
            .map_init(
                || (points.blocks(), vec![0; CHUNK]),
                |(blocks, picks), (n, (gaps, labels))| {
                    if is_stopped() {
                        return Swept::default();
                    }
                    let mut n_picks = 0;
                    for (row, (gap, &label)) in gaps.iter().zip(labels).enumerate() {
                        picks[n_picks] = row;
                        n_picks += usize::from(*gap <= thresholds[label as usize]);
                    }
                    this.look_at(points, n, &picks[..n_picks], (gaps, labels), blocks)
                },
            )
            .collect();
        self.gaps = gaps;
        let mut tied = Vec::new();
        for swept in swept {
            self.changes.extend(swept.changes);
            tied.extend(swept.tied);
        }
        tied
    }

    /// Compares some rows of a chunk with all centres.
    fn look_at(
        &self,
        points: &Points<'_, f64>,
        n: usize,
        picks: &[usize],
        (gaps, labels): (&mut [f64], &[u32]),
        blocks: &mut [Lanes],
    ) -> Swept {
        let mut found = Swept::default();
        points.for_blocks(
            n,
            picks.len(),
            |at| picks[at],
            blocks,
            |lanes, block| {
                let search = TwoNearest { block, centres: &self.centres, norms: &self.norms };
                let (nearest, found_gaps) = points.set.run(Gaps(search));
                for (lane, &row) in picks[lanes].iter().enumerate() {
                    let (first, second) = (nearest.first[lane], nearest.second[lane]);
                    let is_certain = second - first > self.margin;
                    if !is_certain {
                        gaps[row] = f64::NEG_INFINITY;
                        found.tied.push(n * CHUNK + row);
                        continue;
                    }
                    let label = nearest.label[lane] as u32;
                    gaps[row] = found_gaps[lane] + self.shrinkage[label as usize];
                    if label != labels[row] {
                        found.changes.push(Change { row: n * CHUNK + row, label });
                    }
                }
            },
        );
        found
    }
}

/// ‖x‖² of the longest point.
fn longest(points: &Points<'_, f64>) -> f64 {
    let square = |row: &[f64]| -> f64 { row.iter().zip(&points.offset).map(|(x, offset)| (x - offset).powi(2)).sum() };
    points.values.par_chunks_exact(points.n_columns()).with_min_len(CHUNK).map(square).reduce(|| 0.0, f64::max)
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
