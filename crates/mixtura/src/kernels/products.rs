//! Forms products of columns once, for all components to share.

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
