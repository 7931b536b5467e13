//! Evaluates rows under a model one by one: labels, posteriors, log-densities, in row order.

use std::ops::Range;

use rayon::prelude::*;

use super::worker::CHUNK_ROWS;
use crate::family::{Family, check_values};
use crate::kernels::{InstructionSet, LANES, LEAST_EXPONENT, Lanes, Largest, Softmax};
use crate::rows::Rows;
use crate::{Error, Mixture};

/// What is wanted of each row.
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
    /// Numbers for each row.
    fn width(self, n_components: usize) -> usize {
        match self {
            Self::Label | Self::LnDensity => 1,
            Self::Posterior => n_components,
            Self::Classification => 3,
        }
    }
}

/// Evaluates a range of rows; for each row the result has as many numbers as [`Wanted`] says.
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
    check_values::<F>(rows, range.clone())?;
    let centre = model.centre();
    let prepared = components.prepare(&model.weights, &centre)?;
    let set = InstructionSet::detect();
    let loader = rows.loader(&centre);
    let width = wanted.width(components.n_components());
    let least = vec![LEAST_EXPONENT; components.n_components()];
    let mut out = vec![0.0; range.len() * width];
    out.par_chunks_mut(CHUNK_ROWS * width).enumerate().for_each_init(
        || {
            (
                components.scratch(1),
                vec![Lanes::all(1.0); rows.n_columns() + 1],
                vec![Lanes::all(0.0); components.n_components()],
            )
        },
        |(scratch, block, joint), (chunk, out)| {
            let first = range.start + chunk * CHUNK_ROWS;
            let end = first + out.len() / width;
            for number in first / LANES..end.div_ceil(LANES) {
                loader.load(set, number, &mut block[..rows.n_columns()]);
                F::log2_joint_into(&prepared, set, block, scratch, joint);
                let best = set.run(Largest { values: joint });
                let evidence = set.run(Softmax { ln: joint, least: &least });
                for lane in 0..LANES {
                    let row = number * LANES + lane;
                    if (first..end).contains(&row) {
                        let out = &mut out[(row - first) * width..][..width];
                        let ln_density = evidence.log2_density[lane] * std::f64::consts::LN_2;
                        match wanted {
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
        },
    );
    Ok(out)
}

fn write_posterior(joint: &[Lanes], lane: usize, sum: f64, out: &mut [f64]) {
    for (out, joint) in out.iter_mut().zip(joint) {
        *out = joint[lane] / sum;
    }
}
