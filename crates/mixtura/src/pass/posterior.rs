//! Finds the posteriors of rows, 16 at a time: of all components, or of those near the rows.

use std::ops::Range;

use super::PreparedPass;
use super::chunk::At;
use super::group::{Group, Place};
use super::near::Order;
use crate::family::{Family, Near};
use crate::kernels::{Evidence, LANES, Lanes, Softmax, TALL};
use crate::rows::{Loader, PARTS};
use crate::sweep::Hints;

/// With fewer columns than this, or more than [`TALL`], several blocks are evaluated in one call: calls would cost more
/// than loading each block just before it is used saves.
const FEW: usize = 6;

/// Results for up to 16 rows.
pub(super) struct Found<'a> {
    /// Which rows.
    pub place: Place<'a>,
    /// Unnormalised posteriors, one `Lanes` for each component or for each of `components`.
    pub posterior: &'a [Lanes],
    /// Components near the rows, if the others were skipped.
    pub components: Option<&'a [u32]>,
    /// Sums of the posteriors, and log₂ of the mixture density.
    pub evidence: Evidence,
    /// Weights of the rows.
    pub weights: Lanes,
}

impl Found<'_> {
    /// The components that the given entries of `posterior` belong to.
    pub(super) fn components_at(&self, chosen: [u32; LANES]) -> [u32; LANES] {
        self.components.map_or(chosen, |components| chosen.map(|at| components[at as usize]))
    }
}

/// Buffers for finding posteriors.
pub(super) struct Finder<F: Family> {
    pub(super) scratch: F::Scratch,
    joint: Vec<Lanes>,
    /// A block of rows gathered from anywhere in the group.
    gathered: Vec<Lanes>,
    near: NearBuffers,
    order: Order,
}

/// Buffers for the components near some rows.
struct NearBuffers {
    hints: Vec<u32>,
    components: Vec<u32>,
    cutoffs: Vec<f64>,
}

impl<F: Family> Finder<F> {
    pub(super) fn new(components: &F, n_blocks: usize) -> Self {
        let n_components = components.n_components();
        Self {
            scratch: components.scratch(n_blocks),
            joint: vec![Lanes::all(0.0); n_components],
            gathered: vec![Lanes::all(0.0); components.n_columns() + 1],
            near: NearBuffers {
                hints: Vec::with_capacity(2 * LANES),
                components: vec![0; n_components],
                cutoffs: vec![0.0; n_components],
            },
            order: Order::new(n_components),
        }
    }

    /// Passes on the posteriors of all rows in some blocks of a group: block by block, or sorted by similarity if near
    /// components are searched for.
    pub(super) fn for_each(
        &mut self,
        &At { pass, chunk, loader }: &At<'_, F>,
        group: &mut Group,
        blocks: Range<usize>,
        mut each: impl FnMut(&Found<'_>),
    ) {
        let Some(search) = &pass.search else {
            for block in blocks {
                joint_of_block(pass, loader, (group, block), &mut self.scratch, &mut self.joint);
                each(&found(pass, &mut self.joint, &pass.cutoffs, None, (group, Place::Block(block))));
            }
            return;
        };
        group.load(pass.set, loader, blocks.end);
        let mut order = std::mem::take(&mut self.order);
        let rows = blocks.start * LANES..(blocks.end * LANES).min(group.n_rows());
        for rows in order.sort(search, group, chunk.hints(), rows).chunks(LANES) {
            self.near(pass, chunk.hints(), group, rows, &mut each);
        }
        self.order = order;
    }

    /// Log-densities of all components for some blocks of a group that keeps them, block after block.
    pub(super) fn joint_into(
        &mut self,
        pass: &PreparedPass<F>,
        loader: &Loader<'_>,
        group: &mut Group,
        blocks: Range<usize>,
        out: &mut [Lanes],
    ) {
        if group.n_columns() >= FEW && group.n_columns() <= TALL {
            for (block, out) in blocks.zip(out.chunks_exact_mut(pass.n_components())) {
                joint_of_block(pass, loader, (group, block), &mut self.scratch, out);
            }
            return;
        }
        for block in blocks.clone() {
            group.load(pass.set, loader, block + 1);
            (1..PARTS).for_each(|part| group.prefetch(loader, block, part));
        }
        let loaded = (group.blocks_in(blocks.clone()), blocks.len());
        F::log2_joints_into(&pass.prepared, pass.set, loaded, &mut self.scratch, out);
    }

    /// Passes on the posteriors of up to 16 rows from anywhere in the group.
    pub(super) fn of_rows(
        &mut self,
        pass: &PreparedPass<F>,
        hints: Option<&Hints>,
        group: &Group,
        rows: &[u32],
        each: impl FnOnce(&Found<'_>),
    ) {
        if pass.search.is_some() {
            return self.near(pass, hints, group, rows, each);
        }
        group.gather(rows, &mut self.gathered);
        F::log2_joint_into(&pass.prepared, pass.set, &self.gathered, &mut self.scratch, &mut self.joint);
        each(&found(pass, &mut self.joint, &pass.cutoffs, None, (group, Place::Rows(rows))));
    }

    fn near(
        &mut self,
        pass: &PreparedPass<F>,
        hints: Option<&Hints>,
        group: &Group,
        rows: &[u32],
        each: impl FnOnce(&Found<'_>),
    ) {
        let NearBuffers { hints: hinted, components, cutoffs } = &mut self.near;
        collect_hints(hints, group, rows, pass.n_components(), hinted);
        group.gather(rows, &mut self.gathered);
        let near = Near { hints: hinted, least: &pass.cutoffs, out: &mut self.joint, components };
        let n_near = F::log2_near_into(&pass.prepared, pass.set, &self.gathered, &mut self.scratch, near);
        let components = &components[..n_near];
        for (cutoff, &component) in cutoffs.iter_mut().zip(components) {
            *cutoff = pass.cutoffs[component as usize];
        }
        let joint = &mut self.joint[..n_near];
        each(&found(pass, joint, &cutoffs[..n_near], Some(components), (group, Place::Rows(rows))));
    }
}

/// Loads a block and computes its log-densities of all components.
fn joint_of_block<F: Family>(
    pass: &PreparedPass<F>,
    loader: &Loader<'_>,
    (group, block): (&mut Group, usize),
    scratch: &mut F::Scratch,
    out: &mut [Lanes],
) {
    group.load(pass.set, loader, block + 1);
    group.prefetch(loader, block, 1);
    F::log2_joint_into(&pass.prepared, pass.set, group.block(block), scratch, out);
    group.prefetch(loader, block, 2);
}

/// Turns joint densities into posteriors.
fn found<'a, F: Family>(
    pass: &PreparedPass<F>,
    joint: &'a mut [Lanes],
    cutoffs: &[f64],
    components: Option<&'a [u32]>,
    (group, place): (&Group, Place<'a>),
) -> Found<'a> {
    let evidence = pass.set.run(Softmax { joint, least: cutoffs });
    Found { place, posterior: joint, components, evidence, weights: place.take(group.weights()) }
}

/// Collects the components that rows were last found near.
pub(super) fn collect_hints(
    hints: Option<&Hints>,
    group: &Group,
    rows: &[u32],
    n_components: usize,
    out: &mut Vec<u32>,
) {
    out.clear();
    let Some(hints) = hints else { return };
    for hint in rows.iter().filter_map(|&row| hints.get(group.first_row() + row as usize)) {
        if (hint as usize) < n_components && !out.contains(&hint) {
            out.push(hint);
        }
    }
}
