//! Draws labels in single precision, and finds the rows whose draw might differ in double precision.

use super::PreparedPass;
use super::chunk::{At, Drawn};
use super::group::{Group, Place};
use super::near::Order;
use super::posterior::collect_hints;
use crate::family::{Family, Near};
use crate::kernels::{ErrorBound, LANES, Lanes, Narrow, NarrowDraw, NarrowLanes, NarrowRows};

/// Buffers for draws in single precision, two blocks at a time.
pub(super) struct NarrowFinder {
    block: Vec<NarrowLanes>,
    joint: Vec<NarrowLanes>,
    /// Two blocks of rows gathered from anywhere in the group.
    gathered: [Vec<Lanes>; 2],
    hints: Vec<u32>,
    components: Vec<u32>,
    slopes: Vec<f32>,
    order: Order,
    /// Rows whose draw is uncertain.
    pub(super) unsure: Vec<u32>,
}

impl NarrowFinder {
    pub(super) fn new(n_components: usize, n_columns: usize, n_blocks: usize) -> Self {
        let block = vec![Lanes::all(0.0); n_columns + 1];
        Self {
            block: vec![NarrowLanes::all(0.0); n_columns],
            joint: vec![NarrowLanes::all(0.0); n_components],
            gathered: [block.clone(), block],
            hints: Vec::with_capacity(2 * LANES),
            components: vec![0; n_components],
            slopes: vec![0.0; n_components],
            order: Order::new(n_components),
            unsure: Vec::with_capacity(n_blocks * LANES),
        }
    }

    /// Draws all rows of the first `n_blocks` blocks, an even number. Uncertain rows are collected in `unsure`.
    pub(super) fn draw<F: Family>(
        &mut self,
        &At { pass, chunk, loader }: &At<'_, F>,
        bound: ErrorBound,
        (group, n_blocks): (&mut Group, usize),
        drawn: &mut Drawn,
    ) {
        self.unsure.clear();
        let (n, set) = (group.n_columns(), pass.set);
        let inverse_scales = F::narrow_inverse_scales(&pass.prepared);
        let Some(search) = &pass.search else {
            for block in (0..n_blocks).step_by(2) {
                group.load(set, loader, block + 2);
                let (first, second) = (&group.block(block)[..n], &group.block(block + 1)[..n]);
                let radius = set.run(Narrow { first, second, inverse_scales, out: &mut self.block });
                let rows = NarrowRows { single: &self.block, double: [first, second] };
                (block..block + 2).for_each(|block| group.prefetch(loader, block, 1));
                F::narrow_joint_into(&pass.prepared, set, rows, &mut self.joint);
                (block..block + 2).for_each(|block| group.prefetch(loader, block, 2));
                let slopes = F::narrow_slopes(&pass.prepared);
                let places = [Place::Block(block), Place::Block(block + 1)];
                let found = NarrowFound { places, joint: &mut self.joint, components: None, slopes, radius };
                found.label(pass, bound, drawn, &mut self.unsure);
            }
            return;
        };
        group.load(set, loader, n_blocks);
        let rows = self.order.sort(search, group, chunk.hints(), 0..(n_blocks * LANES).min(group.n_rows()));
        for rows in rows.chunks(2 * LANES) {
            let (first, second) = rows.split_at(rows.len().min(LANES));
            let [first_block, second_block] = &mut self.gathered;
            group.gather(first, first_block);
            group.gather(if second.is_empty() { first } else { second }, second_block);
            let (first_block, second_block) = (&first_block[..n], &second_block[..n]);
            let out = &mut self.block;
            let radius = set.run(Narrow { first: first_block, second: second_block, inverse_scales, out });
            collect_hints(chunk.hints(), group, rows, pass.n_components(), &mut self.hints);
            let components = &mut self.components;
            let near = Near { hints: &self.hints, least: &search.narrow_cutoffs, out: &mut self.joint, components };
            let both = NarrowRows { single: &self.block, double: [first_block, second_block] };
            let n_near = F::narrow_near_into(&pass.prepared, set, both, near);
            let (components, slopes) = (&self.components[..n_near], &mut self.slopes[..n_near]);
            for (slope, &component) in slopes.iter_mut().zip(components) {
                *slope = F::narrow_slopes(&pass.prepared)[component as usize];
            }
            let places = [Place::Rows(first), Place::Rows(second)];
            let joint = &mut self.joint[..n_near];
            let found = NarrowFound { places, joint, components: Some(components), slopes, radius };
            found.label(pass, bound, drawn, &mut self.unsure);
            drawn.hint(chunk.hints(), group.first_row(), rows);
        }
    }
}

/// Single-precision results for up to 32 rows.
struct NarrowFound<'a> {
    places: [Place<'a>; 2],
    /// Log-densities of all components, or of `components`.
    joint: &'a mut [NarrowLanes],
    /// Components near the rows, if the others were skipped.
    components: Option<&'a [u32]>,
    /// Error slope of each component.
    slopes: &'a [f32],
    /// Distance of each row from the centre, in units of the columns' scales.
    radius: NarrowLanes,
}

impl NarrowFound<'_> {
    /// Draws a label for each row.
    fn label<F: Family>(self, pass: &PreparedPass<F>, bound: ErrorBound, drawn: &mut Drawn, unsure: &mut Vec<u32>) {
        let uniforms = self.places.map(|place| place.take(&drawn.uniforms));
        // A row whose values are all uncertain may have received no label at all.
        let last = self.joint.len() as u32 - 1;
        let found = pass.set.run(NarrowDraw {
            joint: self.joint,
            slopes: self.slopes,
            radius: &self.radius,
            uniforms: [&uniforms[0], &uniforms[1]],
            n_components: pass.n_components(),
            has_first: self.components.is_none_or(|components| components[0] == 0),
            bound,
        });
        let (labels, _) = found.labels.as_chunks::<LANES>();
        let (densities, _) = found.log2_density.as_chunks::<LANES>();
        for ((place, labels), densities) in self.places.into_iter().zip(labels).zip(densities) {
            let labels = match self.components {
                None => *labels,
                Some(components) => labels.map(|at| components[at.min(last) as usize]),
            };
            place.put(&labels, &mut drawn.labels);
            place.put(densities, &mut drawn.densities);
        }
        if found.unsure.iter().sum::<u32>() > 0 {
            let is_unsure = |lane: &usize| found.unsure[*lane] > 0;
            let row = |lane: usize| self.places[lane / LANES].row(lane % LANES);
            unsure.extend((0..2 * LANES).filter(is_unsure).filter_map(row));
        }
    }
}
