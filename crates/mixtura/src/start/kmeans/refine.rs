//! Runs Lloyd's rounds and passes over rows whose label is certain to stay.

use rayon::prelude::*;

use super::points::{CHUNK, Points, Real};
use super::scores::{SquaredNorms, TwoNearest};
use super::sums::Clusters;
use crate::Error;
use crate::kernels::{LANES, Lanes};

/// When the rounds end.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Rounds at most, the first, which gave the labels, included.
    pub n_rounds: usize,
    /// The sum of squared distances by which centres move that counts as none.
    pub tolerance: f64,
}

/// How [`Points::refine`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refined {
    /// The labels are those that scikit-learn has.
    Done,
    /// A cluster was empty, or a comparison too close for rounding; the labels are of no use.
    Uncertain,
    /// Stopped by the caller.
    Stopped,
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
    is_uncertain: bool,
}

impl Points<'_, f64> {
    /// Goes on with Lloyd's rounds from the labels that `centres` gave, until no label changes, or the centres move
    /// by less than the tolerance, or there were enough rounds; labels are then of the last centres.
    ///
    /// A row's gap is how much farther its second nearest centre is than its own. While centres move, the gap
    /// shrinks by no more than the own centre's way and the longest of the others', so a row whose gap was larger
    /// than these together keeps its label and is not looked at (Hamerly 2010, with one number a row instead of
    /// two). Memory: 8 bytes a row. Cost of a round: a comparison a row, and D·K multiply-adds a row that is looked
    /// at.
    ///
    /// Centres follow changes of labels by compensated sums, and so err by about one rounding. scikit-learn's plain
    /// sums of n points no longer than r err by no more than n·u·r (Higham 2002, section 4.2): a score by
    /// 4(n + 3)·u·r². Where the two least scores are no farther apart than both may err, or the tolerance is as
    /// close, the outcome is `Uncertain`.
    pub fn refine(
        &self,
        centres: &[f64],
        labels: &mut [u32],
        limits: Limits,
        is_stopped: impl Fn() -> bool,
    ) -> Result<Refined, Error> {
        self.check_rows("labels", labels.len())?;
        self.check_centres(centres.len(), centres.len() / self.n_columns())?;
        let mut refinement = Refinement::new(self, centres, labels);
        for round in 1.. {
            if is_stopped() {
                return Ok(Refined::Stopped);
            }
            let Some(settles) = refinement.move_centres(limits.tolerance) else { return Ok(Refined::Uncertain) };
            let Some(changes) = refinement.sweep(labels) else { return Ok(Refined::Uncertain) };
            for Change { row, label } in changes.iter().flatten() {
                refinement.clusters.remove(labels[*row], self, *row);
                refinement.clusters.add(*label, self, *row);
                labels[*row] = *label;
            }
            if settles || round >= limits.n_rounds || changes.iter().all(Vec::is_empty) {
                break;
            }
        }
        Ok(Refined::Done)
    }
}

/// Where the rounds are.
struct Refinement<'a> {
    points: &'a Points<'a, f64>,
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
}

impl<'a> Refinement<'a> {
    fn new(points: &'a Points<'a, f64>, centres: &[f64], labels: &[u32]) -> Self {
        let n_columns = points.n_columns();
        let n_clusters = centres.len() / n_columns;
        let mut clusters = Clusters::new(n_clusters, n_columns);
        labels.iter().enumerate().for_each(|(row, &label)| clusters.add(label, points, row));
        Self {
            points,
            clusters,
            centres: centres.to_vec(),
            norms: vec![0.0; n_clusters],
            longest: points.longest(),
            margin: 0.0,
            gaps: vec![f64::NEG_INFINITY; labels.len()],
            shrinkage: vec![0.0; n_clusters],
        }
    }

    /// Moves centres to the means of their clusters; tells whether they moved by no more than the tolerance, or
    /// nothing if that is uncertain or a cluster is empty.
    fn move_centres(&mut self, tolerance: f64) -> Option<bool> {
        let n_columns = self.points.n_columns();
        let previous = self.centres.clone();
        let count = self.clusters.greatest_count()?;
        self.clusters.centres_into(&mut self.centres);
        let pairs = self.centres.chunks_exact(n_columns).zip(previous.chunks_exact(n_columns));
        let ways: Vec<f64> = pairs.map(|(new, old)| distance(new, old)).collect();
        for (norm, centre) in self.norms.iter_mut().zip(self.centres.chunks_exact(n_columns)) {
            *norm = centre.iter().map(|c| c * c).sum();
        }
        let longest_way = |except: usize| {
            ways.iter().enumerate().filter(|(k, _)| *k != except).map(|(_, way)| *way).fold(0.0, f64::max)
        };
        for (k, shrinkage) in self.shrinkage.iter_mut().enumerate() {
            *shrinkage += ways[k] + longest_way(k);
        }
        // Scores err by 4(n + 3)·u·r² for the centres and (D + 2)·u·2r² for the product; two of them in each of two
        // computations.
        let roundoff = f64::ROUNDOFF * self.longest;
        self.margin = 16.0 * (count as f64 + n_columns as f64 + 6.0) * roundoff;
        // A centre of scikit-learn's errs by w = (n + 3)·u·r, a way by 2w, its square by 2w(2·way + 2w).
        let error = (count as f64 + 3.0) * f64::ROUNDOFF * self.longest.sqrt();
        let slack: f64 = ways.iter().map(|way| 4.0 * error * (way + error)).sum();
        let moved: f64 = ways.iter().map(|way| way * way).sum();
        ((moved - tolerance).abs() > 2.0 * slack).then_some(moved <= tolerance)
    }

    /// Changes of labels, chunk by chunk; nothing if a row's is uncertain.
    fn sweep(&mut self, labels: &[u32]) -> Option<Vec<Vec<Change>>> {
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
                || (vec![Lanes::all(0.0); this.points.n_columns()], vec![0; CHUNK]),
                |(block, picks), (n, (gaps, labels))| {
                    let mut n_picks = 0;
                    for (row, (gap, &label)) in gaps.iter().zip(labels).enumerate() {
                        picks[n_picks] = row;
                        n_picks += usize::from(*gap <= thresholds[label as usize]);
                    }
                    this.look_at(n, &picks[..n_picks], (gaps, labels), block)
                },
            )
            .collect();
        self.gaps = gaps;
        let is_uncertain = swept.iter().any(|swept| swept.is_uncertain);
        (!is_uncertain).then(|| swept.into_iter().map(|swept| swept.changes).collect())
    }

    /// Compares some rows of a chunk with all centres.
    fn look_at(&self, n: usize, picks: &[usize], (gaps, labels): (&mut [f64], &[u32]), block: &mut [Lanes]) -> Swept {
        let (points, mut found) = (self.points, Swept::default());
        for picks in picks.chunks(LANES) {
            points.gather(n, |lane| picks[lane.min(picks.len() - 1)], block);
            let squares = points.set.run(SquaredNorms { block });
            let nearest = points.set.run(TwoNearest { block, centres: &self.centres, norms: &self.norms });
            for (lane, &row) in picks.iter().enumerate() {
                let (first, second) = (nearest.first[lane], nearest.second[lane]);
                let is_certain = second - first > self.margin;
                found.is_uncertain |= !is_certain;
                let label = nearest.label[lane] as u32;
                let length = |score: f64| (score + squares[lane]).max(0.0).sqrt();
                gaps[row] = length(second) - length(first) + self.shrinkage[label as usize];
                if label != labels[row] {
                    found.changes.push(Change { row: n * CHUNK + row, label });
                }
            }
        }
        found
    }
}

impl Points<'_, f64> {
    /// ‖x‖² of the longest point.
    fn longest(&self) -> f64 {
        let square =
            |row: &[f64]| -> f64 { row.iter().zip(&self.offset).map(|(x, offset)| (x - offset).powi(2)).sum() };
        self.values.par_chunks_exact(self.n_columns()).with_min_len(CHUNK).map(square).reduce(|| 0.0, f64::max)
    }
}

fn distance(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}
