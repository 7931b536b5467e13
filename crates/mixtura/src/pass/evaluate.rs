//! Evaluates each row under a model: labels, posteriors, log-densities, in row order.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use crate::family::{Family, check_values};
use crate::kernels::{InstructionSet, LANES, LEAST_EXPONENT, Lanes, Largest, Softmax};
use crate::rows::Rows;
use crate::sweep::{CHUNK_ROWS, Chunk, Crew, Merge, Piece, Prepared};
use crate::{Error, Mixture};

/// What to compute for each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
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

/// Evaluates a range of rows. The result has as many values per row as [`Wanted`] specifies.
pub(crate) fn evaluate_rows<F: Family>(
    model: &Mixture<F>,
    rows: &Rows<'_>,
    range: Range<usize>,
    wanted: Wanted,
) -> Result<Vec<f64>, Error> {
    let components = &model.components;
    if components.n_columns() != rows.n_columns() {
        return Err(Error::Width { n_model: components.n_columns(), n_data: rows.n_columns() });
    }
    model.check_weights()?;
    if range.start > range.end || range.end > rows.n_rows() {
        return Err(Error::NoSuchRows { start: range.start, end: range.end, n_rows: rows.n_rows() });
    }
    check_values::<F>(rows, range.clone())?;
    let width = wanted.width(components.n_components());
    let mut out = vec![0.0; range.len() * width];
    if range.is_empty() {
        return Ok(out);
    }
    // Chunks are those of all rows; only a part of the first and of the last may be requested.
    let first_end = ((range.start / CHUNK_ROWS + 1) * CHUNK_ROWS).min(range.end);
    let (first, rest) = out.split_at_mut((first_end - range.start) * width);
    let chunks = (range.start / CHUNK_ROWS) as u64..range.end.div_ceil(CHUNK_ROWS) as u64;
    let centre = model.centre();
    let evaluation = Evaluation {
        prepared: components.prepare(&model.weights, &centre)?,
        components,
        centre,
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

/// A sweep that writes values for each row and has nothing to merge.
struct Evaluation<'a, F: Family> {
    components: &'a F,
    prepared: F::Prepared,
    centre: Vec<f64>,
    wanted: Wanted,
    range: Range<usize>,
    first_chunk: u64,
    /// Where the values of each chunk go.
    out: Vec<Mutex<&'a mut [f64]>>,
    set: InstructionSet,
}

/// Buffers for one block.
struct Block<F: Family> {
    scratch: F::Scratch,
    columns: Vec<Lanes>,
    joint: Vec<Lanes>,
    cutoffs: Vec<f64>,
}

impl Merge for () {
    fn merge(&mut self, (): &()) {}
}

impl<F: Family> Prepared for Evaluation<'_, F> {
    type Tally = ();
    type Workspace = Block<F>;

    fn workspace(&self, _n_blocks: usize) -> Block<F> {
        let (n_columns, n_components) = (self.components.n_columns(), self.components.n_components());
        Block {
            scratch: self.components.scratch(1),
            columns: vec![Lanes::all(1.0); n_columns + 1],
            joint: vec![Lanes::all(0.0); n_components],
            cutoffs: vec![LEAST_EXPONENT; n_components],
        }
    }

    fn tally(&self) {}

    fn add(&self, chunk: &Chunk<'_>, work: &mut Block<F>, (): &mut ()) -> Result<(), Error> {
        let loader = chunk.loader(&self.centre);
        let rows = chunk.range().start.max(self.range.start)..chunk.range().end.min(self.range.end);
        let width = self.wanted.width(self.components.n_components());
        let mut out =
            self.out[(chunk.number() - self.first_chunk) as usize].lock().unwrap_or_else(PoisonError::into_inner);
        let Block { scratch, columns, joint, cutoffs } = work;
        for block in rows.start / LANES..rows.end.div_ceil(LANES) {
            loader.load(self.set, block, &mut columns[..self.components.n_columns()]);
            F::log2_joint_into(&self.prepared, self.set, columns, scratch, joint);
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
        Ok(())
    }
}

fn write_posterior(joint: &[Lanes], lane: usize, sum: f64, out: &mut [f64]) {
    for (out, joint) in out.iter_mut().zip(joint) {
        *out = joint[lane] / sum;
    }
}
