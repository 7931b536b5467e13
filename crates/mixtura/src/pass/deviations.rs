//! Computes the variances of a stochastic update: how far SEM's draws scatter around EM's update.

use serde::{Deserialize, Serialize};

use crate::family::Family;
use crate::kernels::{Apportion, InstructionSet, LANES, LEAST_EXPONENT, Lanes, Softmax, SquaredDeviations};
use crate::sweep::{Chunk, Merge, Prepared, Sweep};
use crate::{Error, Mixture};

/// Blocks processed together, so that their columns stay in the L1 cache.
const GROUP: usize = 8;

/// The sweep in the form in which it is sent to an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(bound = "")]
pub struct DeviationsPass<F: Family> {
    /// The model whose posteriors are drawn from.
    pub model: Mixture<F>,
    /// The point that rows are centred on.
    pub centre: Vec<f64>,
    /// The point that the rows of each component are centred on, K·D numbers: the means of EM's update.
    pub means: Vec<f64>,
    /// The covariances of EM's update, K·D·D numbers; `None` if only means are of interest.
    pub covariances: Option<Vec<f64>>,
    /// Divisor of each column, so that fourth powers stay in range; powers of two.
    pub unit: Vec<f64>,
}

/// Sums of p(1 − p)·(y_i y_j − S_ij)² for each component, where y is a row minus the component's mean, in units,
/// extended by a column of ones for which S is 0. The last row of the triangle therefore contains Σ p(1 − p) y_i² and,
/// in its corner, Σ p(1 − p).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Deviations {
    n_columns: usize,
    /// The first row of the triangles that is stored: 0, or D if only means are of interest.
    first: usize,
    sums: Vec<f64>,
}

/// Number of entries of a packed lower triangle before row i.
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
}

impl Merge for Deviations {
    fn merge(&mut self, later: &Self) {
        self.sums.iter_mut().zip(&later.sums).for_each(|(a, b)| *a += b);
    }
}

impl<F: Family> Sweep for DeviationsPass<F> {
    const NAME: &'static str = "deviations";
    type Tally = Deviations;
    type Prepared = PreparedDeviations<F>;

    fn prepare(&self) -> Result<PreparedDeviations<F>, Error> {
        let components = self.model.components.clone();
        Ok(PreparedDeviations {
            prepared: components.prepare(&self.model.weights, &self.centre)?,
            components,
            centre: self.centre.clone(),
            shifts: self.means.iter().zip(self.centre.iter().cycle()).map(|(mean, centre)| mean - centre).collect(),
            scale: self.unit.iter().map(|unit| unit.recip()).collect(),
            subtracted: subtracted(self),
            with_covariances: self.covariances.is_some(),
            set: InstructionSet::detect(),
        })
    }
}

/// For each component, the values subtracted from products of columns, as the rows of its triangle.
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

/// A [`DeviationsPass`], prepared.
pub struct PreparedDeviations<F: Family> {
    components: F,
    prepared: F::Prepared,
    centre: Vec<f64>,
    /// Means minus the common centre.
    shifts: Vec<f64>,
    scale: Vec<f64>,
    subtracted: Vec<f64>,
    with_covariances: bool,
    set: InstructionSet,
}

/// Buffers for a group of blocks.
pub struct DeviationsWorkspace<F: Family> {
    scratch: F::Scratch,
    joint: Vec<Lanes>,
    cutoffs: Vec<f64>,
    blocks: Vec<Lanes>,
    /// p(1 − p) of every component for the rows of each block.
    doubts: Vec<Lanes>,
    /// Blocks minus the mean of a component, and that component's p(1 − p).
    shifted: Vec<Lanes>,
    of_component: Vec<Lanes>,
}

impl<F: Family> Prepared for PreparedDeviations<F> {
    type Tally = Deviations;
    type Workspace = DeviationsWorkspace<F>;

    fn workspace(&self, n_blocks: usize) -> DeviationsWorkspace<F> {
        let (n, n_components, n_blocks) = (self.scale.len(), self.components.n_components(), n_blocks.min(GROUP));
        DeviationsWorkspace {
            scratch: self.components.scratch(1),
            joint: vec![Lanes::all(0.0); n_components],
            cutoffs: vec![LEAST_EXPONENT; n_components],
            blocks: vec![Lanes::all(1.0); n_blocks * (n + 1)],
            doubts: vec![Lanes::all(0.0); n_blocks * n_components],
            shifted: vec![Lanes::all(1.0); n_blocks * (n + 1)],
            of_component: vec![Lanes::all(0.0); n_blocks],
        }
    }

    fn fits(&self, workspace: &DeviationsWorkspace<F>) -> bool {
        workspace.joint.len() == self.components.n_components()
    }

    fn tally(&self) -> Deviations {
        Deviations::new(self.scale.len(), self.components.n_components(), self.with_covariances)
    }

    fn add(
        &self,
        chunk: &Chunk<'_>,
        work: &mut DeviationsWorkspace<F>,
        deviations: &mut Deviations,
    ) -> Result<(), Error> {
        let (n, n_components) = (self.scale.len(), self.components.n_components());
        if n != chunk.rows().n_columns() {
            return Err(Error::Width { n_model: n, n_data: chunk.rows().n_columns() });
        }
        let loader = chunk.loader(&self.centre);
        let end = chunk.blocks().end;
        for first in chunk.blocks().step_by(GROUP) {
            let n_blocks = GROUP.min(end - first);
            for i in 0..n_blocks {
                loader.load(self.set, first + i, &mut work.blocks[i * (n + 1)..][..n]);
                let n_valid = LANES.min(chunk.rows().n_rows() - (first + i) * LANES);
                self.doubt(work, i, n_valid);
            }
            for k in 0..n_components {
                self.shift(k, &work.blocks[..n_blocks * (n + 1)], &mut work.shifted);
                for (i, doubt) in work.of_component.iter_mut().take(n_blocks).enumerate() {
                    *doubt = work.doubts[i * n_components + k];
                }
                let size = deviations.size();
                self.set.run(SquaredDeviations {
                    blocks: &work.shifted[..n_blocks * (n + 1)],
                    stride: n + 1,
                    weights: &work.of_component[..n_blocks],
                    first: deviations.first,
                    subtracted: &self.subtracted[k * size..][..size],
                    out: &mut deviations.sums[k * size..][..size],
                });
            }
        }
        Ok(())
    }
}

impl<F: Family> PreparedDeviations<F> {
    /// p(1 − p) of every component for the rows of block `i`; 0 past the last row.
    fn doubt(&self, work: &mut DeviationsWorkspace<F>, i: usize, n_valid: usize) {
        let (n, n_components) = (self.scale.len(), self.components.n_components());
        let DeviationsWorkspace { scratch, joint, cutoffs, blocks, doubts, .. } = work;
        F::log2_joint_into(&self.prepared, self.set, &blocks[i * (n + 1)..][..=n], scratch, joint);
        let evidence = self.set.run(Softmax { joint, least: cutoffs });
        let weight = Lanes(std::array::from_fn(|lane| f64::from(u8::from(lane < n_valid))));
        let out = &mut doubts[i * n_components..][..n_components];
        self.set.run(Apportion { posterior: joint, sum: &evidence.sum, weight: &weight, out });
        for lanes in out {
            lanes.0 = lanes.map(|p| (p * (1.0 - p)).max(0.0));
        }
    }

    /// Blocks minus a component's mean, in units.
    fn shift(&self, component: usize, blocks: &[Lanes], out: &mut [Lanes]) {
        let n = self.scale.len();
        let shift = &self.shifts[component * n..][..n];
        for (block, out) in blocks.chunks_exact(n + 1).zip(out.chunks_exact_mut(n + 1)) {
            for d in 0..n {
                out[d].0 = block[d].map(|x| (x - shift[d]) * self.scale[d]);
            }
        }
    }
}
