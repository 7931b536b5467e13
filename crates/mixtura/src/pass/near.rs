//! Takes a chunk through a pass when most components are far from most rows.
//!
//! Rows of a chunk are brought into an order in which neighbours are alike, so that a block of them
//! has few components near; the others are given up after a few coordinates. What is left out is
//! exactly what would have counted as zero, and results go back to where the rows were: the order,
//! the hints and the search change no bit of a label, a posterior or a likelihood.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

use super::Tally;
use super::layout::Share;
use super::worker::{LABELLED_BLOCKS, Shared, Worker};
use crate::family::{Family, Near};
use crate::kernels::{
    Apportion, Draw, ErrorBound, Evidence, LANES, LEAST_EXPONENT, Lanes, Largest, NARROW_LEAST_EXPONENT, Narrow,
    NarrowDraw, Softmax,
};

/// With fewer components than this a search costs more than it saves.
const LEAST_COMPONENTS: usize = 32;
/// A search pays if, of so many components, no more than one counts for a row.
const PER_COUNTING: usize = 16;
/// Blocks looked at to find out, one of so many and at most so many.
const ONE_BLOCK_OF: usize = 512;
const MOST_BLOCKS: usize = 32;
/// Columns that rows are ordered by, the first ones, because distances are summed from there.
const ORDERING_COLUMNS: usize = 3;
/// Parts that each of them is cut into.
const PARTS: usize = 4;
/// Most rows that are given a hint: two bytes each, 32 MB in all.
const MOST_HINTS: usize = 1 << 24;

/// Which component was last seen to be near each row, where known; only speed depends on it.
#[derive(Default)]
pub(crate) struct Hints(Vec<AtomicU16>);

impl Hints {
    /// No hints yet, for so many rows.
    pub(crate) fn new(n_rows: usize) -> Self {
        Self((0..n_rows.min(MOST_HINTS)).map(|_| AtomicU16::new(u16::MAX)).collect())
    }

    fn get(&self, row: usize) -> Option<u32> {
        self.0.get(row).map(|hint| u32::from(hint.load(Ordering::Relaxed))).filter(|&hint| hint < u32::from(u16::MAX))
    }

    fn set(&self, row: usize, component: u32) {
        if let Some(hint) = self.0.get(row) {
            hint.store(u16::try_from(component).unwrap_or(u16::MAX), Ordering::Relaxed);
        }
    }
}

/// What the chunks of a pass share to find near components.
pub(crate) struct Search<'a> {
    hints: &'a Hints,
    /// Where the ordering columns are cut.
    cuts: Vec<[f64; PARTS - 1]>,
    /// For each component its place in an order in which neighbours are alike.
    ranks: Vec<u32>,
    narrow_least: Vec<f32>,
}

impl<'a> Search<'a> {
    /// How to search, if most components are far from most rows: as a few blocks of rows tell.
    ///
    /// Depends on rows and model alone, because statistics are summed in another order then.
    pub(crate) fn new<F: Family>(
        shared: &Shared<'_, F>,
        components: &F,
        centre: &[f64],
        hints: &'a OnceLock<Hints>,
    ) -> Option<Self> {
        let n_components = shared.n_components;
        if n_components < LEAST_COMPONENTS || !pays(shared, components) {
            return None;
        }
        let hints = hints.get_or_init(|| Hints::new(shared.rows.n_rows()));
        let centres = components.centres();
        let cuts = (0..centre.len().min(ORDERING_COLUMNS)).map(|d| {
            let mut values: Vec<f64> = centres.chunks_exact(centre.len()).map(|mean| mean[d] - centre[d]).collect();
            values.sort_unstable_by(f64::total_cmp);
            std::array::from_fn(|cut| values[(cut + 1) * n_components / PARTS])
        });
        let cuts: Vec<_> = cuts.collect();
        let mut order: Vec<usize> = (0..n_components).collect();
        order.sort_by_key(|&k| cell(&cuts, |d| centres[k * centre.len() + d] - centre[d]));
        let mut ranks = vec![0; n_components];
        (0..).zip(order).for_each(|(rank, k)| ranks[k] = rank);
        Some(Self { hints, cuts, ranks, narrow_least: vec![NARROW_LEAST_EXPONENT; n_components] })
    }

    /// Where a row belongs among others: beside those that were last seen near the same component,
    /// or after all of them, beside those in the same cell.
    fn place(&self, row: usize, columns: &[Lanes], lane: usize) -> usize {
        let known = self.hints.get(row).and_then(|hint| self.ranks.get(hint as usize));
        known.map_or_else(|| self.ranks.len() + cell(&self.cuts, |d| columns[d][lane]), |&rank| rank as usize)
    }
}

/// A number that is the same for points in the same part of every ordering column.
fn cell(cuts: &[[f64; PARTS - 1]], coordinate: impl Fn(usize) -> f64) -> usize {
    cuts.iter().enumerate().fold(0, |cell, (d, cuts)| {
        cell * PARTS + cuts.iter().map(|&cut| usize::from(coordinate(d) > cut)).sum::<usize>()
    })
}

/// Whether few components count for a row, in a few blocks from all over the data.
fn pays<F: Family>(shared: &Shared<'_, F>, components: &F) -> bool {
    let n_blocks = shared.rows.n_blocks();
    let n_looked_at = (n_blocks / ONE_BLOCK_OF).clamp(1, MOST_BLOCKS);
    let n_columns = components.n_columns();
    let mut block = vec![Lanes::all(1.0); n_columns + 1];
    let mut joint = vec![Lanes::all(0.0); shared.n_components];
    let mut scratch = components.scratch(1);
    let (mut n_counting, mut n_rows) = (0, 0);
    for number in (0..n_looked_at).map(|i| i * n_blocks / n_looked_at) {
        shared.loader.load(shared.set, number, &mut block[..n_columns]);
        F::log2_joint_into(shared.prepared, shared.set, &block, &mut scratch, &mut joint);
        shared.set.run(Softmax { ln: &mut joint, least: &shared.least });
        let n_valid = LANES.min(shared.rows.n_rows() - number * LANES);
        n_counting += joint.iter().map(|joint| joint[..n_valid].iter().filter(|&&p| p > 0.0).count()).sum::<usize>();
        n_rows += n_valid;
    }
    n_counting * PER_COUNTING <= n_rows * shared.n_components
}

/// Buffers of one worker.
pub(crate) struct NearBuffers {
    order: Vec<u32>,
    places: Vec<u32>,
    ends: Vec<u32>,
    hints: Vec<u32>,
    components: Vec<u32>,
    least: Vec<f64>,
    slopes: Vec<f32>,
    shares: Vec<Share>,
    pub(super) sorted: Vec<Share>,
}

impl NearBuffers {
    pub(crate) fn new(n_components: usize) -> Self {
        let n_rows = LABELLED_BLOCKS * LANES;
        Self {
            order: vec![0; n_rows],
            places: vec![0; n_rows],
            ends: vec![0; n_rows.max(n_components + PARTS.pow(ORDERING_COLUMNS as u32)) + 1],
            hints: Vec::with_capacity(2 * LANES),
            components: vec![0; n_components],
            least: vec![LEAST_EXPONENT; n_components],
            slopes: vec![0.0; n_components],
            shares: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// Sorts the shares by row, each row's in their own order (counting sort).
    fn sort_shares(&mut self) {
        let Self { ends, shares, sorted, .. } = self;
        sorted.clear();
        sorted.extend_from_slice(shares);
        ends.fill(0);
        shares.iter().for_each(|share| ends[share.row as usize + 1] += 1);
        sum_up(ends);
        for share in shares.iter() {
            let place = &mut ends[share.row as usize];
            sorted[*place as usize] = *share;
            *place += 1;
        }
    }
}

fn sum_up(counts: &mut [u32]) {
    let mut total = 0;
    for count in counts {
        total += *count;
        *count = total;
    }
}

impl<F: Family> Worker<F> {
    /// Orders the first rows of the group so that neighbours are alike (counting sort).
    fn order_rows(&mut self, shared: &Shared<'_, F>, search: &Search<'_>, n_rows: usize) {
        let stride = shared.rows.n_columns() + 1;
        let NearBuffers { order, places, ends, .. } = &mut self.near;
        let first = self.first * LANES;
        ends.fill(0);
        // Asked once: a restart beside this one may change the hints at any time.
        for (row, out) in places[..n_rows].iter_mut().enumerate() {
            let place = search.place(first + row, &self.blocks[row / LANES * stride..][..stride], row % LANES);
            *out = place as u32;
            ends[place + 1] += 1;
        }
        sum_up(ends);
        for (row, &place) in (0..).zip(&places[..n_rows]) {
            let end = &mut ends[place as usize];
            order[*end as usize] = row;
            *end += 1;
        }
    }

    /// How many rows of the first blocks of the group exist.
    fn n_rows(&self, shared: &Shared<'_, F>, n_blocks: usize) -> usize {
        (n_blocks * LANES).min(shared.rows.n_rows() - self.first * LANES)
    }

    /// Collects the components that some rows of the group were last seen near.
    fn collect_hints(&mut self, search: &Search<'_>, rows: &[u32], n_components: usize) {
        self.near.hints.clear();
        for &row in rows {
            let hint = search.hints.get(self.first * LANES + row as usize);
            if let Some(hint) = hint.filter(|&hint| (hint as usize) < n_components && !self.near.hints.contains(&hint))
            {
                self.near.hints.push(hint);
            }
        }
    }

    /// Finds the components near some rows and leaves their posteriors in `joint`; returns the rows'
    /// uniform numbers, how many components are near, and what [`Softmax`] says of them.
    pub(super) fn near_posterior(
        &mut self,
        shared: &Shared<'_, F>,
        search: &Search<'_>,
        rows: &[u32],
    ) -> (Lanes, usize, Evidence) {
        self.collect_hints(search, rows, shared.n_components);
        let uniforms = self.gather(shared, rows, 0);
        let NearBuffers { hints, components, least, .. } = &mut self.near;
        let near = Near { hints, least: &shared.least, out: &mut self.joint, components };
        let lanes = &self.gathered[..=shared.rows.n_columns()];
        let n_near = F::log2_near_into(shared.prepared, shared.set, lanes, &mut self.scratch, near);
        for (least, &component) in least.iter_mut().zip(&components[..n_near]) {
            *least = shared.least[component as usize];
        }
        let evidence = shared.set.run(Softmax { ln: &mut self.joint[..n_near], least: &least[..n_near] });
        (uniforms, n_near, evidence)
    }

    /// Finds the components near every block of alike rows and hands over what [`Softmax`] says of
    /// them: `each(self, rows, uniforms, n_near, evidence)`, with posteriors in `joint`.
    fn for_near(
        &mut self,
        shared: &Shared<'_, F>,
        search: &Search<'_>,
        n_blocks: usize,
        tally: &mut Tally<F::Moments>,
        mut each: impl FnMut(&mut Self, &[u32], &Lanes, usize, &Evidence),
    ) {
        let n_rows = self.n_rows(shared, n_blocks);
        self.order_rows(shared, search, n_rows);
        let order = std::mem::take(&mut self.near.order);
        for (block, rows) in order[..n_rows].chunks(LANES).enumerate() {
            shared.loader.prefetch(self.next + block);
            let (uniforms, n_near, evidence) = self.near_posterior(shared, search, rows);
            for (lane, &row) in rows.iter().enumerate() {
                self.densities[row as usize / LANES][row as usize % LANES] = evidence.log2_density[lane];
            }
            each(self, rows, &uniforms, n_near, &evidence);
        }
        self.near.order = order;
        (0..n_blocks).for_each(|block| self.add_likelihood(block, tally));
    }

    /// Notes labels that count among the near components, and hints for the next round.
    pub(super) fn set_labels(&mut self, search: &Search<'_>, rows: &[u32], labels: &[u32]) {
        for (&row, &label) in rows.iter().zip(labels) {
            let component = self.near.components[label as usize];
            self.labels[row as usize] = component;
            search.hints.set(self.first * LANES + row as usize, component);
        }
    }

    /// EM, where few components count for a row.
    pub(super) fn soft_near(
        &mut self,
        shared: &Shared<'_, F>,
        search: &Search<'_>,
        n_blocks: usize,
        tally: &mut Tally<F::Moments>,
    ) {
        self.near.shares.clear();
        self.for_near(shared, search, n_blocks, tally, |worker, rows, _, n_near, evidence| {
            let weight = worker.gathered_weights(rows);
            let best = shared.set.run(Largest { values: &worker.joint[..n_near] });
            worker.set_labels(search, rows, &best);
            let (posterior, out) = (&worker.joint[..n_near], &mut worker.weights[..n_near]);
            shared.set.run(Apportion { posterior, sum: &evidence.sum, weight: &weight, out });
            let NearBuffers { components, shares, .. } = &mut worker.near;
            for (&component, weights) in components.iter().zip(&worker.weights[..n_near]) {
                for (&row, &weight) in rows.iter().zip(weights.iter()).filter(|(_, weight)| **weight > 0.0) {
                    shares.push(Share { row, component, weight });
                }
            }
        });
        self.near.sort_shares();
        self.add_shares(shared, tally);
    }

    /// CEM's labels, where few components count for a row.
    pub(super) fn label_near(
        &mut self,
        shared: &Shared<'_, F>,
        search: &Search<'_>,
        n_blocks: usize,
        tally: &mut Tally<F::Moments>,
    ) {
        self.for_near(shared, search, n_blocks, tally, |worker, rows, _, n_near, _| {
            let best = shared.set.run(Largest { values: &worker.joint[..n_near] });
            worker.set_labels(search, rows, &best);
        });
    }

    /// SEM's labels in double precision, where few components count for a row.
    pub(super) fn draw_near(
        &mut self,
        shared: &Shared<'_, F>,
        search: &Search<'_>,
        n_blocks: usize,
        tally: &mut Tally<F::Moments>,
    ) {
        self.for_near(shared, search, n_blocks, tally, |worker, rows, uniform, n_near, evidence| {
            let drawn = shared.set.run(Draw { weights: &worker.joint[..n_near], sum: &evidence.sum, uniform });
            worker.set_labels(search, rows, &drawn);
        });
    }

    /// SEM's labels and densities in single precision, where few components count for a row.
    pub(super) fn draw_narrow_near(
        &mut self,
        shared: &Shared<'_, F>,
        search: &Search<'_>,
        bound: ErrorBound,
        n_blocks: usize,
    ) {
        let n_rows = self.n_rows(shared, n_blocks);
        self.order_rows(shared, search, n_rows);
        let order = std::mem::take(&mut self.near.order);
        let all_slopes = F::narrow_slopes(shared.prepared);
        let (n_columns, stride) = (shared.rows.n_columns(), shared.rows.n_columns() + 1);
        for (block, rows) in order[..n_rows].chunks(2 * LANES).enumerate() {
            shared.loader.prefetch(self.next + 2 * block);
            shared.loader.prefetch(self.next + 2 * block + 1);
            self.collect_hints(search, rows, shared.n_components);
            let (first, second) = rows.split_at(rows.len().min(LANES));
            let second = if second.is_empty() { first } else { second };
            let uniforms = [self.gather(shared, first, 0), self.gather(shared, second, 1)];
            let (first, second) = (&self.gathered[..n_columns], &self.gathered[stride..][..n_columns]);
            let radius = shared.set.run(Narrow { first, second, out: &mut self.narrow_block });
            let NearBuffers { hints, components, slopes, .. } = &mut self.near;
            let near = Near { hints, least: &search.narrow_least, out: &mut self.narrow_joint, components };
            let n_near = F::narrow_near_into(shared.prepared, shared.set, &self.narrow_block, near);
            for (slope, &component) in slopes.iter_mut().zip(&components[..n_near]) {
                *slope = all_slopes[component as usize];
            }
            let drawn = shared.set.run(NarrowDraw {
                ln: &mut self.narrow_joint[..n_near],
                slopes: &slopes[..n_near],
                radius: &radius,
                uniforms: [&uniforms[0], &uniforms[1]],
                n_components: shared.n_components,
                has_first: components[0] == 0,
                bound,
            });
            // A row of which nothing is certain may have been given no label at all.
            let labels = drawn.labels.map(|label| label.min(n_near as u32 - 1));
            self.set_labels(search, rows, &labels);
            for (lane, &row) in rows.iter().enumerate() {
                self.densities[row as usize / LANES][row as usize % LANES] = drawn.log2_density[lane];
                if drawn.unsure[lane] > 0 {
                    self.unsure.push(row);
                }
            }
        }
        self.near.order = order;
    }
}
