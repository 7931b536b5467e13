//! Evaluates each row under a model: labels, posteriors, log-densities, in row order.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::chunk::blocks_at_a_time;
use crate::family::{Family, check_values};
use crate::kernels::{InstructionSet, LANES, LEAST_EXPONENT, Lanes, Largest, Softmax};
use crate::rows::Rows;
use crate::sweep::{CHUNK_ROWS, Chunk, Crew, Merge, Piece, Prepared};
use crate::{Classified, Error, Mixture};

/// What to compute for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// The most probable component, as a number.
    Label,
    /// The posterior of every component.
    Posterior,
    /// The log-density in nats.
    LnDensity,
    /// The most probable component, its posterior, and the log-density.
    Classification,
}

impl Wanted {
    /// Number of values per row.
    fn width(self, n_components: usize) -> usize {
        match self {
            Self::Label | Self::LnDensity => 1,
            Self::Posterior => n_components,
            Self::Classification => 3,
        }
    }
}

/// A model prepared to evaluate rows, piece by piece.
///
/// Preparing takes a matrix factorization for each component, which the methods of a mixture repeat at every call.
///
/// ```
/// use mixtura::{FullGaussian, Mixture, Rows};
///
/// let model = Mixture::new(vec![0.5, 0.5], FullGaussian::new(1, vec![-2.0, 2.0], vec![1.0, 1.0])?)?;
/// let evaluator = model.evaluator()?;
/// for batch in [[-1.0, 3.0], [0.5, -4.0]] {
///     let rows = Rows::from_slice(&batch, 1)?;
///     assert_eq!(evaluator.labels(&rows)?, model.labels(&rows)?);
/// }
/// # Ok::<(), mixtura::Error>(())
/// ```
pub struct Evaluator<'a>(Box<dyn Evaluate + Send + Sync + 'a>);

impl<'a> Evaluator<'a> {
    pub(crate) fn new<F: Family>(model: &'a Mixture<F>) -> Result<Self, Error> {
        model.check_weights()?;
        let centre = model.centre();
        let prepared = model.components.prepare(&model.weights, &centre)?;
        Ok(Self(Box::new(Ready { components: &model.components, prepared, centre })))
    }

    /// The most probable component of each row, from 0.
    pub fn labels(&self, rows: &Rows<'_>) -> Result<Vec<u32>, Error> {
        self.labels_in(rows, 0..rows.n_rows())
    }

    /// The posterior of every component for each row: K numbers per row.
    pub fn posteriors(&self, rows: &Rows<'_>) -> Result<Vec<f64>, Error> {
        self.posteriors_in(rows, 0..rows.n_rows())
    }

    /// The log-density of each row, in nats.
    pub fn ln_densities(&self, rows: &Rows<'_>) -> Result<Vec<f64>, Error> {
        self.ln_densities_in(rows, 0..rows.n_rows())
    }

    /// For each row, the most probable component, its posterior, and the row's log-density.
    pub fn classify(&self, rows: &Rows<'_>) -> Result<Vec<Classified>, Error> {
        self.classify_in(rows, 0..rows.n_rows())
    }

    /// The most probable component of each row in a range, from 0. The range must be one of rows that exist.
    pub fn labels_in(&self, rows: &Rows<'_>, range: Range<usize>) -> Result<Vec<u32>, Error> {
        let labels = self.0.evaluate(rows, range, Wanted::Label)?;
        Ok(labels.into_iter().map(|label| label as u32).collect())
    }

    /// The posterior of every component for each row in a range, K numbers per row.
    pub fn posteriors_in(&self, rows: &Rows<'_>, range: Range<usize>) -> Result<Vec<f64>, Error> {
        self.0.evaluate(rows, range, Wanted::Posterior)
    }

    /// The log-density in nats of each row in a range.
    pub fn ln_densities_in(&self, rows: &Rows<'_>, range: Range<usize>) -> Result<Vec<f64>, Error> {
        self.0.evaluate(rows, range, Wanted::LnDensity)
    }

    /// For each row in a range, the most probable component, its posterior, and the row's log-density.
    pub fn classify_in(&self, rows: &Rows<'_>, range: Range<usize>) -> Result<Vec<Classified>, Error> {
        let numbers = self.0.evaluate(rows, range, Wanted::Classification)?;
        let (each, _) = numbers.as_chunks::<3>();
        let classified =
            |&[label, probability, ln_density]: &[f64; 3]| Classified { label: label as u32, probability, ln_density };
        Ok(each.iter().map(classified).collect())
    }
}

impl std::fmt::Debug for Evaluator<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Evaluator")
    }
}

/// Evaluates rows under a model of some family.
trait Evaluate {
    /// Evaluates a range of rows. The result has as many values per row as [`Wanted`] specifies.
    fn evaluate(&self, rows: &Rows<'_>, range: Range<usize>, wanted: Wanted) -> Result<Vec<f64>, Error>;
}

/// A model that is ready to be evaluated.
struct Ready<'a, F: Family> {
    components: &'a F,
    prepared: F::Prepared,
    centre: Vec<f64>,
}

impl<F: Family> Evaluate for Ready<'_, F> {
    fn evaluate(&self, rows: &Rows<'_>, range: Range<usize>, wanted: Wanted) -> Result<Vec<f64>, Error> {
        let (n_components, n_columns) = (self.components.n_components(), self.components.n_columns());
        if n_columns != rows.n_columns() {
            return Err(Error::Width { n_model: n_columns, n_data: rows.n_columns() });
        }
        if range.start > range.end || range.end > rows.n_rows() {
            return Err(Error::NoSuchRows { start: range.start, end: range.end, n_rows: rows.n_rows() });
        }
        check_values::<F>(rows, range.clone())?;
        let width = wanted.width(n_components);
        let mut out = vec![0.0; range.len() * width];
        if range.is_empty() {
            return Ok(out);
        }
        // Chunks are those of all rows; only a part of the first and of the last may be requested.
        let first_end = ((range.start / CHUNK_ROWS + 1) * CHUNK_ROWS).min(range.end);
        let (first, rest) = out.split_at_mut((first_end - range.start) * width);
        let chunks = (range.start / CHUNK_ROWS) as u64..range.end.div_ceil(CHUNK_ROWS) as u64;
        let evaluation = Evaluation {
            ready: self,
            wanted,
            range,
            first_chunk: chunks.start,
            out: std::iter::once(first).chain(rest.chunks_mut(CHUNK_ROWS * width)).map(Mutex::new).collect(),
            set: InstructionSet::detect(),
        };
        Crew::default().run_chunks(&evaluation, Piece::of(rows), chunks)?;
        drop(evaluation);
        Ok(out)
    }
}

/// A sweep that writes values for each row and has nothing to merge.
struct Evaluation<'a, F: Family> {
    ready: &'a Ready<'a, F>,
    wanted: Wanted,
    range: Range<usize>,
    first_chunk: u64,
    /// Where the values of each chunk go.
    out: Vec<Mutex<&'a mut [f64]>>,
    set: InstructionSet,
}

/// Buffers for a few blocks.
struct Blocks<F: Family> {
    scratch: F::Scratch,
    /// The columns of each block, and a column of ones.
    columns: Vec<Lanes>,
    /// K `Lanes` for each block.
    joint: Vec<Lanes>,
    cutoffs: Vec<f64>,
}

impl Merge for () {
    fn merge(&mut self, (): &()) {}
}

impl<F: Family> Prepared for Evaluation<'_, F> {
    type Tally = ();
    type Workspace = Blocks<F>;

    fn workspace(&self, _n_blocks: usize) -> Blocks<F> {
        let components = self.ready.components;
        let (n_columns, n_components) = (components.n_columns(), components.n_components());
        let n_blocks = blocks_at_a_time(n_components, n_columns);
        Blocks {
            scratch: components.scratch(n_blocks),
            columns: vec![Lanes::all(1.0); n_blocks * (n_columns + 1)],
            joint: vec![Lanes::all(0.0); n_blocks * n_components],
            cutoffs: vec![LEAST_EXPONENT; n_components],
        }
    }

    fn tally(&self) {}

    fn add(&self, chunk: &Chunk<'_>, work: &mut Blocks<F>, (): &mut ()) -> Result<(), Error> {
        let Ready { components, prepared, centre } = self.ready;
        let (stride, n_components) = (components.n_columns() + 1, components.n_components());
        let loader = chunk.loader(centre);
        let rows = chunk.range().start.max(self.range.start)..chunk.range().end.min(self.range.end);
        let blocks = rows.start / LANES..rows.end.div_ceil(LANES);
        let mut out =
            self.out[(chunk.number() - self.first_chunk) as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let Blocks { scratch, columns, joint, cutoffs } = work;
        let step = joint.len() / n_components;
        for first in blocks.clone().step_by(step) {
            let n_blocks = step.min(blocks.end - first);
            let columns = &mut columns[..n_blocks * stride];
            for (block, columns) in (first..).zip(columns.chunks_exact_mut(stride)) {
                loader.load(self.set, block, &mut columns[..stride - 1]);
            }
            let joint = &mut joint[..n_blocks * n_components];
            F::log2_joints_into(prepared, self.set, (columns, n_blocks), scratch, joint);
            for (block, joint) in (first..).zip(joint.chunks_exact_mut(n_components)) {
                self.write(block, joint, cutoffs, &rows, &mut out);
            }
        }
        Ok(())
    }
}

impl<F: Family> Evaluation<'_, F> {
    /// Writes the values of those rows of a block that are in `rows`, whose values start at the beginning of `out`.
    fn write(&self, block: usize, joint: &mut [Lanes], cutoffs: &[f64], rows: &Range<usize>, out: &mut [f64]) {
        let width = self.wanted.width(joint.len());
        let best = self.set.run(Largest { values: joint });
        let evidence = self.set.run(Softmax { joint, least: cutoffs });
        for row in (block * LANES).max(rows.start)..((block + 1) * LANES).min(rows.end) {
            let (lane, out) = (row % LANES, &mut out[(row - rows.start) * width..][..width]);
            let ln_density = evidence.log2_density[lane] * std::f64::consts::LN_2;
            match self.wanted {
                Wanted::Label => out[0] = f64::from(best[lane]),
                Wanted::Posterior => write_posterior(joint, lane, evidence.sum[lane], out),
                Wanted::LnDensity => out[0] = ln_density,
                Wanted::Classification => {
                    let posterior = joint[best[lane] as usize][lane] / evidence.sum[lane];
                    out.copy_from_slice(&[f64::from(best[lane]), posterior, ln_density]);
                }
            }
        }
    }
}

fn write_posterior(joint: &[Lanes], lane: usize, sum: f64, out: &mut [f64]) {
    for (out, joint) in out.iter_mut().zip(joint) {
        *out = joint[lane] / sum;
    }
}
