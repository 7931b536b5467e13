//! Evaluates log-densities in single precision.

use super::super::narrow::Narrowed;
use crate::family::Near;
use crate::kernels::{InstructionSet, NarrowLanes, Whiten, WhitenGroups, WhitenNear, grouped};

impl Narrowed {
    pub(super) fn joint_into(&self, set: InstructionSet, block: &[NarrowLanes], out: &mut [NarrowLanes]) {
        let Self { factors, offsets, constants, .. } = self;
        if set.is_wide() {
            let n_columns = block.len();
            let parameters = self.groups.get_or_init(|| grouped(n_columns, factors, offsets));
            return set.run_wide(WhitenGroups {
                blocks: block,
                stride: n_columns,
                n_columns,
                parameters,
                constants,
                out,
            });
        }
        set.run(Whiten { block, factors, offsets, constants, out });
    }

    pub(super) fn near_into(
        &self,
        set: InstructionSet,
        block: &[NarrowLanes],
        near: Near<'_, NarrowLanes, f32>,
    ) -> usize {
        let n = block.len();
        let n_factor = n * (n + 1) / 2;
        let mut largest = NarrowLanes::all(f32::NEG_INFINITY);
        for hint in near.hints.iter().map(|&hint| hint as usize) {
            let mut hinted = [NarrowLanes::all(0.0)];
            set.run(Whiten {
                block,
                factors: &self.factors[hint * n_factor..][..n_factor],
                offsets: &self.offsets[hint * n..][..n],
                constants: &self.constants[hint..=hint],
                out: &mut hinted,
            });
            largest.0 = std::array::from_fn(|lane| largest.0[lane].max(hinted[0].0[lane]));
        }
        let Self { factors, offsets, constants, .. } = self;
        let Near { least, out, components: near, .. } = near;
        set.run(WhitenNear { block, factors, offsets, constants, least, largest: &largest, out, near })
    }
}
