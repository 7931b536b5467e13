//! Sums weighted outer products of rows.

use super::matrix::packed;
use crate::family::Weights;
use crate::kernels::{DotProducts, InstructionSet, Lanes, OuterProduct, Scale, Side};

/// Rows of a triangle updated at a time; the height of a tile of dot products.
const STEP: usize = 4;

/// Buffers for a triangle of sums.
#[derive(Debug)]
pub(super) struct Triangle {
    /// A few columns of every block, weighted.
    strip: Vec<Lanes>,
    /// A few rows of a square matrix.
    square: Vec<f64>,
}

impl Triangle {
    /// Buffers for blocks of `stride` columns.
    pub(super) fn new(stride: usize, n_blocks: usize) -> Self {
        Self { strip: vec![Lanes::all(0.0); STEP * n_blocks], square: vec![0.0; STEP * stride] }
    }

    /// Adds Σ w·x·xᵀ to a packed lower triangle, a few of its rows at a time.
    pub(super) fn add(&mut self, set: InstructionSet, rows: &[Lanes], weights: Option<Weights<'_>>, sums: &mut [f64]) {
        let Self { strip, square } = self;
        let stride = square.len() / STEP;
        let n_blocks = rows.len() / stride;
        if set.is_wide() {
            let weights = weights.map(|Weights { blocks, stride }| Side { blocks, stride, first: 0, n: 1 });
            return OuterProduct { blocks: rows, stride, weights, strip, out: sums }.add(set);
        }
        for first in (0..stride).step_by(STEP) {
            let n = STEP.min(stride - first);
            let left = match weights {
                None => Side { blocks: rows, stride, first, n },
                Some(weights) => {
                    let (columns, out) = (first..first + n, &mut strip[..n * n_blocks]);
                    let Weights { blocks: weights, stride: weight_stride } = weights;
                    set.run(Scale { blocks: rows, stride, columns, weights, weight_stride, out });
                    Side { blocks: strip, stride: n, first: 0, n }
                }
            };
            let right = Side { blocks: rows, stride, first: 0, n: first + n };
            let square = &mut square[..n * stride];
            square.fill(0.0);
            DotProducts { left, right, n_blocks }.add_to(set, square, stride);
            for (i, row) in (first..first + n).zip(square.chunks_exact(stride)) {
                for (sum, addend) in sums[packed(i, 0)..].iter_mut().zip(&row[..=i]) {
                    *sum += addend;
                }
            }
        }
    }
}
