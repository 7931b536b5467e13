//! Sweeps all rows for the variances of a stochastic update: how far the draws of SEM scatter about EM.

use serde::{Deserialize, Serialize};

use super::worker::CHUNK_ROWS;
use super::{all_or_none, merge_in_order};
use crate::family::Family;
use crate::kernels::{Apportion, InstructionSet, LANES, LEAST_EXPONENT, Lanes, Softmax, SquaredDeviations};
use crate::rows::Loader;
use crate::{Error, Mixture, Rows};

/// Blocks taken together, so that their columns stay in the L1 cache.
const GROUP: usize = 8;

/// A sweep, as it would be sent to whoever holds the rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct DeviationsPass<F: Family> {
    /// The model whose posteriors are drawn from.
    pub model: Mixture<F>,
    /// What rows are taken about.
    pub centre: Vec<f64>,
    /// What each component's rows are taken about: K·D numbers, the means of EM's update.
    pub means: Vec<f64>,
    /// The covariances of EM's update, K·D·D numbers; none if only means are asked about.
    pub covariances: Option<Vec<f64>>,
    /// What columns are divided by, so that fourth powers stay in range; powers of two.
    pub unit: Vec<f64>,
}

/// Sums of p(1 − p)·(y_i y_j − S_ij)² for each component, where y is a row less the component's mean,
/// in units, with a last column of ones for which S is 0. So the last row of the triangle holds
/// Σ p(1 − p) y_i² and, in its corner, Σ p(1 − p).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deviations {
    n_columns: usize,
    /// The first row of the triangles that is there: 0, or D if only means were asked about.
    first: usize,
    sums: Vec<f64>,
}

/// Entries of a packed lower triangle before row i.
const fn before(i: usize) -> usize {
    i * (i + 1) / 2
}

impl Deviations {
    fn new(n_columns: usize, n_components: usize, with_covariances: bool) -> Self {
        let first = if with_covariances { 0 } else { n_columns };
        let size = before(n_columns + 1) - before(first);
        Self { n_columns, first, sums: vec![0.0; size * n_components] }
    }

    fn size(&self) -> usize {
        before(self.n_columns + 1) - before(self.first)
    }

    /// Entry (i, j ≤ i) of a component's triangle, i ≤ D.
    pub fn sum(&self, component: usize, i: usize, j: usize) -> f64 {
        self.sums[component * self.size() + before(i) - before(self.first) + j]
    }

    /// Adds the sums over other rows.
    pub fn merge(&mut self, other: &Self) {
        self.sums.iter_mut().zip(&other.sums).for_each(|(a, b)| *a += b);
    }
}

/// Runs the sweep over rows in memory; their weights do not count. `check` is asked before every chunk whether to go on.
pub(super) fn sweep<F: Family>(
    rows: &Rows<'_>,
    pass: &DeviationsPass<F>,
    set: InstructionSet,
    check: &(impl Fn() -> Result<(), Error> + Sync),
) -> Result<Deviations, Error> {
    let components = &pass.model.components;
    let n_columns = components.n_columns();
    if n_columns != rows.n_columns() {
        return Err(Error::Width { n_model: n_columns, n_data: rows.n_columns() });
    }
    let shared = Shared {
        rows,
        loader: rows.loader(&pass.centre),
        prepared: &components.prepare(&pass.model.weights, &pass.centre)?,
        components,
        shifts: pass.means.iter().zip(pass.centre.iter().cycle()).map(|(mean, centre)| mean - centre).collect(),
        scale: pass.unit.iter().map(|unit| unit.recip()).collect(),
        subtracted: subtracted(pass),
        with_covariances: pass.covariances.is_some(),
        set,
    };
    let n_chunks = rows.n_rows().div_ceil(CHUNK_ROWS);
    let chunk = |chunk: usize| {
        check()?;
        Ok(shared.chunk(chunk))
    };
    merge_in_order(n_chunks, &chunk, &all_or_none(|left: &mut Deviations, right: Deviations| left.merge(&right)))
}

/// For each component what is subtracted from products of columns, as the rows of its triangle.
fn subtracted<F: Family>(pass: &DeviationsPass<F>) -> Vec<f64> {
    let n = pass.unit.len();
    let ones = vec![0.0; n + 1];
    let Some(covariances) = &pass.covariances else { return ones.repeat(pass.model.n_components()) };
    let mut subtracted = Vec::with_capacity(before(n + 1) * pass.model.n_components());
    for covariance in covariances.chunks_exact(n * n) {
        for i in 0..n {
            subtracted.extend((0..=i).map(|j| covariance[i * n + j] / pass.unit[i] / pass.unit[j]));
        }
        subtracted.extend(&ones);
    }
    subtracted
}

/// What all chunks share.
struct Shared<'a, F: Family> {
    rows: &'a Rows<'a>,
    loader: Loader<'a>,
    prepared: &'a F::Prepared,
    components: &'a F,
    /// Means less the common centre.
    shifts: Vec<f64>,
    scale: Vec<f64>,
    subtracted: Vec<f64>,
    with_covariances: bool,
    set: InstructionSet,
}

impl<F: Family> Shared<'_, F> {
    fn chunk(&self, chunk: usize) -> Deviations {
        const CHUNK_BLOCKS: usize = CHUNK_ROWS / LANES;
        let (n, n_components) = (self.scale.len(), self.components.n_components());
        let mut deviations = Deviations::new(n, n_components, self.with_covariances);
        let n_buffered = GROUP.min(self.rows.n_blocks());
        let mut blocks = vec![Lanes::all(1.0); n_buffered * (n + 1)];
        let mut weights = vec![Lanes::all(0.0); n_buffered * n_components];
        let mut about = blocks.clone();
        let mut of_component = vec![Lanes::all(0.0); n_buffered];
        let mut posterior = Posterior {
            scratch: self.components.scratch(1),
            joint: vec![Lanes::all(0.0); n_components],
            least: vec![LEAST_EXPONENT; n_components],
        };
        let end = ((chunk + 1) * CHUNK_BLOCKS).min(self.rows.n_blocks());
        for first in (chunk * CHUNK_BLOCKS..end).step_by(GROUP) {
            let n_blocks = GROUP.min(end - first);
            for (i, block) in blocks.chunks_exact_mut(n + 1).take(n_blocks).enumerate() {
                self.loader.load(self.set, first + i, &mut block[..n]);
                self.doubts_into(first + i, block, &mut posterior, &mut weights[i * n_components..][..n_components]);
            }
            for k in 0..n_components {
                self.shift_into(k, &blocks[..n_blocks * (n + 1)], &mut about);
                for (i, weight) in of_component.iter_mut().take(n_blocks).enumerate() {
                    *weight = weights[i * n_components + k];
                }
                let size = deviations.size();
                self.set.run(SquaredDeviations {
                    blocks: &about[..n_blocks * (n + 1)],
                    stride: n + 1,
                    weights: &of_component[..n_blocks],
                    first: deviations.first,
                    subtracted: &self.subtracted[k * size..][..size],
                    out: &mut deviations.sums[k * size..][..size],
                });
            }
        }
        deviations
    }

    /// p(1 − p) of every component for the rows of a block; 0 past the last row.
    fn doubts_into(&self, number: usize, block: &[Lanes], posterior: &mut Posterior<F>, out: &mut [Lanes]) {
        let Posterior { scratch, joint, least } = posterior;
        F::log2_joint_into(self.prepared, self.set, block, scratch, joint);
        let evidence = self.set.run(Softmax { ln: joint, least });
        let n_valid = LANES.min(self.rows.n_rows() - number * LANES);
        let weight = Lanes(std::array::from_fn(|lane| f64::from(u8::from(lane < n_valid))));
        self.set.run(Apportion { posterior: joint, sum: &evidence.sum, weight: &weight, out });
        for lanes in out {
            lanes.0 = lanes.map(|p| (p * (1.0 - p)).max(0.0));
        }
    }

    /// Blocks about a component's mean, in units.
    fn shift_into(&self, component: usize, blocks: &[Lanes], out: &mut [Lanes]) {
        let n = self.scale.len();
        let shift = &self.shifts[component * n..][..n];
        for (block, out) in blocks.chunks_exact(n + 1).zip(out.chunks_exact_mut(n + 1)) {
            for d in 0..n {
                out[d].0 = block[d].map(|x| (x - shift[d]) * self.scale[d]);
            }
        }
    }
}

/// Buffers for the posteriors of one block.
struct Posterior<F: Family> {
    scratch: F::Scratch,
    joint: Vec<Lanes>,
    least: Vec<f64>,
}
