//! Multiplies columns: with each other once for all components, or with weights of one or several.

use super::dispatch::block_by_block;
use super::{Arithmetic, Kernel, LANES, Lanes, Side};

/// `out[b][p] = x[b][i_p] · x[b][j_p]` for the given pairs of columns and every block b.
pub(crate) struct Products<'a> {
    /// Blocks of `stride` columns each.
    pub blocks: &'a [Lanes],
    /// Columns of a block.
    pub stride: usize,
    /// Pairs of columns.
    pub pairs: &'a [(u32, u32)],
    /// As many `Lanes` for each block as there are pairs.
    pub out: &'a mut [Lanes],
}

impl Kernel for Products<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        for (block, out) in self.blocks.chunks_exact(self.stride).zip(self.out.chunks_exact_mut(self.pairs.len())) {
            for (&(i, j), out) in self.pairs.iter().zip(out) {
                let (x, y) = (block[i as usize], block[j as usize]);
                // Whole at once: written lane by lane, a store could change what is read next.
                out.0 = std::array::from_fn(|lane| x[lane] * y[lane]);
            }
        }
    }
}

/// `out[b][c] = blocks[b][first + c] · weights[b]`: a few columns of every block, weighted.
pub(crate) struct Scale<'a> {
    /// Blocks of `stride` columns each.
    pub blocks: &'a [Lanes],
    /// Columns of a block.
    pub stride: usize,
    /// The columns that are weighted.
    pub columns: std::ops::Range<usize>,
    /// Row weights of the first block; those of the others follow every `weight_stride`.
    pub weights: &'a [Lanes],
    /// From the weights of one block to those of the next.
    pub weight_stride: usize,
    /// The result, as many `Lanes` for each block as there are columns.
    pub out: &'a mut [Lanes],
}

impl Kernel for Scale<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let blocks = self.blocks.chunks_exact(self.stride).zip(self.weights.iter().step_by(self.weight_stride));
        for ((block, weight), out) in blocks.zip(self.out.chunks_exact_mut(self.columns.len())) {
            let weight = weight.0;
            for (column, out) in block[self.columns.clone()].iter().zip(out) {
                block_by_block();
                out.0 = std::array::from_fn(|lane| column[lane] * weight[lane]);
            }
        }
    }
}

/// `out[b] += Σ_k weights[b][k]`: the weight that rows have for several components together.
pub(crate) struct TotalWeights<'a> {
    /// The components, in order.
    pub weights: Side<'a>,
    /// The weights of every block.
    pub out: &'a mut [Lanes],
}

impl Kernel for TotalWeights<'_> {
    type Output = ();

    #[inline(always)]
    fn run<A: Arithmetic>(self) {
        let Side { blocks, stride, first, n } = self.weights;
        for (out, weights) in self.out.iter_mut().zip(blocks.chunks_exact(stride)) {
            let mut total = out.0;
            for weights in &weights[first..first + n] {
                for lane in 0..LANES {
                    total[lane] += weights[lane];
                }
            }
            out.0 = total;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::InstructionSet;
    use super::*;

    proptest! {
        #[test]
        fn products_and_weights_match_their_scalar_twins(
            stride in 1usize..=65, n_blocks in 0usize..4, cut in 0.0..1.0f64,
            values in prop::collection::vec(-2.0..2.0f64, 3 * 65 * LANES),
        ) {
            let lanes: Vec<Lanes> = values.as_chunks().0.iter().map(|&lanes| Lanes(lanes)).collect();
            let blocks = &lanes[..n_blocks * stride];
            let pairs: Vec<(u32, u32)> = (0..stride as u32).map(|i| (i, (f64::from(i) * cut) as u32)).collect();
            let mut out = vec![Lanes::all(0.0); n_blocks * stride];
            InstructionSet::detect().run(Products { blocks, stride, pairs: &pairs, out: &mut out });
            let columns = (stride as f64 * cut) as usize..stride;
            let (weights, weight_stride) = (&lanes[1..], 2);
            let mut scaled = vec![Lanes::all(0.0); n_blocks * columns.len()];
            let scale =
                Scale { blocks, stride, columns: columns.clone(), weights, weight_stride, out: &mut scaled };
            InstructionSet::detect().run(scale);
            let weights = Side { blocks, stride, first: columns.start, n: columns.len() };
            let mut totals = vec![Lanes::all(0.5); n_blocks];
            InstructionSet::detect().run(TotalWeights { weights, out: &mut totals });
            for (block, lane) in (0..n_blocks).flat_map(|block| (0..LANES).map(move |lane| (block, lane))) {
                let x = |column: usize| blocks[block * stride + column][lane];
                for (p, &(i, j)) in pairs.iter().enumerate() {
                    prop_assert_eq!(out[block * stride + p][lane], x(i as usize) * x(j as usize));
                }
                let total = columns.clone().fold(0.5, |total, column| total + x(column));
                prop_assert_eq!(totals[block][lane], total);
                for (c, column) in columns.clone().enumerate() {
                    prop_assert_eq!(scaled[block * columns.len() + c][lane], x(column) * lanes[1 + 2 * block][lane]);
                }
            }
        }
    }
}
