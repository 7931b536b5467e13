//! Multiplies columns: with each other once for all components, or with one component's weights.

use super::{Arithmetic, Kernel, Lanes};

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
                out.0 = std::array::from_fn(|lane| column[lane] * weight[lane]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{InstructionSet, LANES};
    use super::*;

    proptest! {
        #[test]
        fn products_match_the_scalar_twin(values in prop::collection::vec(-2.0..2.0f64, 6 * LANES)) {
            let blocks: Vec<Lanes> = values.as_chunks().0.iter().map(|&lanes| Lanes(lanes)).collect();
            let pairs = [(0, 0), (1, 0), (2, 1), (2, 2)];
            let mut out = vec![Lanes::all(0.0); 8];
            InstructionSet::detect().run(Products { blocks: &blocks, stride: 3, pairs: &pairs, out: &mut out });
            let mut scaled = vec![Lanes::all(0.0); 4];
            let (weights, out) = (&blocks[2..], &mut scaled);
            InstructionSet::detect().run(Scale { blocks: &blocks, stride: 3, columns: 1..3, weights, weight_stride: 2, out });
            for lane in 0..LANES {
                for block in 0..2 {
                    for (p, &(i, j)) in pairs.iter().enumerate() {
                        let expected = blocks[block * 3 + i as usize][lane] * blocks[block * 3 + j as usize][lane];
                        prop_assert_eq!(out[block * 4 + p][lane], expected);
                    }
                    for column in 0..2 {
                        let expected = blocks[block * 3 + 1 + column][lane] * blocks[2 + block * 2][lane];
                        prop_assert_eq!(scaled[block * 2 + column][lane], expected);
                    }
                }
            }
        }
    }
}
