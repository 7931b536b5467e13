//! Runs Lloyd's rounds and passes over rows whose label is certain to stay.

use rayon::prelude::*;

use super::points::{CHUNK, Points, Real};
use super::scores::{SquaredNorms, TwoNearest};
use super::sums::Clusters;
use crate::Error;
use crate::kernels::Lanes;

/// When the rounds end.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Rounds at most, the first, which gave the labels, included.
    pub n_rounds: usize,
    /// The sum of squared distances by which centres move that counts as none.
    pub tolerance: f64,
}

/// Why [`Rounds::go`] came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pause {
    /// The labels are final.
    Done,
    /// These rows are as near to another centre as to the nearest, as far as rounding can tell. The labels are still
    /// those that the centres are the means of: [`Rounds::settle`] is to be called next.
    Tied(Vec<usize>),
    /// A cluster is empty, or rounding may decide whether the centres have settled; the labels are of no use.
    Uncertain,
    /// Stopped by the caller; the rounds cannot be continued.
    Stopped,
}

/// Lloyd's rounds after the first, on rows in double precision.
///
/// They end when no label changes, when the centres have moved by no more than the tolerance, or when there were
/// enough; labels are then of the last centres.
///
/// A row's gap is how much farther its second nearest centre is than its own. While centres move, the gap shrinks by
/// no more than the own centre's way and the longest of the others', so a row whose gap was larger than these
/// together keeps its label and is not looked at (Hamerly 2010, with one number a row instead of two). Memory: 8
/// bytes a row. Cost of a round: a comparison a row, and D·K multiply-adds a row that is looked at.
///
/// Centres follow changes of labels by compensated sums, and so err by about one rounding. scikit-learn's plain sums
/// of n points no longer than r err by no more than n·u·r (Higham 2002, section 4.2): a score by 4(n + 3)·u·r².
/// Where the two least scores are no farther apart than both may err, the row is tied.
pub struct Rounds {
    clusters: Clusters,
    centres: Vec<f64>,
    norms: Vec<f64>,
    /// ‖x‖² of the longest point.
    longest: f64,
    /// Difference of scores up to which rounding may decide.
    margin: f64,
    /// For each row its gap when it was last looked at, plus the shrinkage of its label then.
    gaps: Vec<f64>,
    /// For each label by how much gaps have shrunk in all rounds.
    shrinkage: Vec<f64>,
    /// Rounds so far.
    round: usize,
    is_last: bool,
    /// What the last sweep found, until it is applied.
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
    /// Begins with the labels that `centres` gave; [`Error::Interrupted`] once `is_stopped` says so.
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

    /// Goes on until there is something to say.
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

    /// Ends a round in which rows were tied, with the labels that these are to have; true if it was the last.
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

    /// Changes labels; true if that was the last round.
    fn apply(&mut self, points: &Points<'_, f64>, labels: &mut [u32]) -> bool {
        let is_last = self.is_last || self.changes.is_empty();
        for Change { row, label } in self.changes.drain(..) {
            self.clusters.remove(labels[row], points, row);
            self.clusters.add(label, points, row);
            labels[row] = label;
        }
        is_last
    }

    /// Moves centres to the means of their clusters; tells whether they moved by no more than the tolerance, or
    /// nothing if that is uncertain or a cluster is empty.
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
        // Scores err by 4(n + 3)·u·r² for the centres and (D + 2)·u·2r² for the product; two of them in each of two
        // computations.
        self.margin = 16.0 * (count + n_columns as f64 + 6.0) * f64::ROUNDOFF * self.longest;
        // A centre of scikit-learn's errs by w = (n + 3)·u·r, a way by 2w, its square by 4w(way + w).
        let error = (count + 3.0) * f64::ROUNDOFF * self.longest.sqrt();
        let slack: f64 = ways.iter().map(|way| 4.0 * error * (way + error)).sum();
        let moved: f64 = ways.iter().map(|way| way * way).sum();
        ((moved - tolerance).abs() > 2.0 * slack).then_some(moved <= tolerance)
    }

    /// Finds changes of labels, and tied rows; some of them only if stopped.
    fn sweep(
        &mut self,
        points: &Points<'_, f64>,
        labels: &[u32],
        is_stopped: &(impl Fn() -> bool + Sync),
    ) -> Vec<usize> {
        // Squared distances l² − u² = (l − u)(l + u) ≥ (l − u)², so a gap of more than √margin is a certain one.
        // Distances near 0 err by the root of their square's error, which is below the margin: once more for each.
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
                let squares = points.set.run(SquaredNorms { block });
                let nearest = points.set.run(TwoNearest { block, centres: &self.centres, norms: &self.norms });
                for (lane, &row) in picks[lanes].iter().enumerate() {
                    let (first, second) = (nearest.first[lane], nearest.second[lane]);
                    let is_certain = second - first > self.margin;
                    if !is_certain {
                        gaps[row] = f64::NEG_INFINITY;
                        found.tied.push(n * CHUNK + row);
                        continue;
                    }
                    let label = nearest.label[lane] as u32;
                    let length = |score: f64| (score + squares[lane]).max(0.0).sqrt();
                    gaps[row] = length(second) - length(first) + self.shrinkage[label as usize];
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
