//! Takes one chunk of rows through a pass: densities, posterior, weights, statistics.

use rand_distr::{Binomial, Distribution};

use super::layout::{Layout, NO_LABEL, Share};
use super::near::{NearBuffers, Search};
use super::{Assignment, Tally};
use crate::family::{CommonRows, Family, OwnRows};
use crate::kernels::{
    Apportion, Draw, ErrorBound, InstructionSet, LANES, LEAST_EXPONENT, Lanes, Largest, Narrow, NarrowDraw,
    NarrowLanes, Softmax, flat, scalar_ln,
};
use crate::random::{Address, Purpose, uniform};
use crate::rows::{Loader, Rows};

/// Rows in a chunk, the unit of work and of merging; fixed, because sums follow it.
pub(crate) const CHUNK_ROWS: usize = 1024;
/// Blocks whose products are summed together when every row belongs to every component.
const SOFT_BLOCKS: usize = 16;
/// Blocks sorted by label together: a whole chunk, so that components have rows enough to fill blocks.
pub(super) const LABELLED_BLOCKS: usize = CHUNK_ROWS / LANES;
/// Counts up to this are split draw by draw; larger ones by binomial draws.
const SPLIT_BY_DRAWS: f64 = 64.0;

/// What all chunks of one pass share.
pub(crate) struct Shared<'a, F: Family> {
    pub rows: &'a Rows<'a>,
    pub loader: Loader<'a>,
    pub prepared: &'a F::Prepared,
    pub n_components: usize,
    pub assignment: Assignment,
    pub split_counts: bool,
    /// For each component the exponent below which its share of a row counts as zero.
    pub least: Vec<f64>,
    /// What bounds the error of single precision, if draws may use it.
    pub narrow: Option<ErrorBound>,
    /// How components near a row are found, if most are far from most rows.
    pub search: Option<Search<'a>>,
    pub set: InstructionSet,
}

/// The exponent below which a component's share of a row counts as zero: less than a rounding error
/// of the row, and of the component even if all rows are like this one.
pub(crate) fn least_exponent(weight: f64) -> f64 {
    let of_component = if weight > 0.0 { scalar_ln(weight) * std::f64::consts::LOG2_E } else { LEAST_EXPONENT };
    (of_component.min(0.0) - f64::from(f64::MANTISSA_DIGITS)).max(LEAST_EXPONENT)
}

/// Buffers of one worker, kept from round to round.
pub(crate) struct Worker<F: Family> {
    pub(super) n_components: usize,
    /// The first block of the next group, brought near while this one is worked on.
    pub(super) next: usize,
    /// The first block of the group that is worked on.
    pub(super) first: usize,
    pub(super) blocks: Vec<Lanes>,
    pub(super) row_weights: Vec<Lanes>,
    pub(super) joint: Vec<Lanes>,
    pub(super) weights: Vec<Lanes>,
    pub(super) uniforms: Vec<Lanes>,
    pub(super) labels: Vec<u32>,
    pub(super) narrow_block: Vec<NarrowLanes>,
    pub(super) narrow_joint: Vec<NarrowLanes>,
    pub(super) unsure: Vec<u32>,
    /// log₂ of the mixture density of each row.
    pub(super) densities: Vec<Lanes>,
    /// Two blocks of rows that were not neighbours.
    pub(super) gathered: Vec<Lanes>,
    pub(super) layout: Layout,
    pub(super) near: NearBuffers,
    pub(super) scratch: F::Scratch,
}

impl<F: Family> Worker<F> {
    /// Buffers for chunks of up to `n_blocks` blocks, at most a whole chunk's.
    pub(crate) fn new(components: &F, n_blocks: usize) -> Self {
        let n_components = components.n_components();
        // Of few rows with many columns, buffers for a whole chunk would dwarf the rows.
        let n_blocks = n_blocks.min(LABELLED_BLOCKS);
        Self {
            n_components,
            next: 0,
            first: 0,
            blocks: vec![Lanes::all(1.0); n_blocks * (components.n_columns() + 1)],
            row_weights: vec![Lanes::all(0.0); n_blocks],
            joint: vec![Lanes::all(0.0); n_components],
            weights: vec![Lanes::all(0.0); SOFT_BLOCKS.min(n_blocks) * n_components],
            uniforms: vec![Lanes::all(0.0); n_blocks],
            labels: vec![0; n_blocks * LANES],
            narrow_block: vec![NarrowLanes::all(0.0); components.n_columns()],
            narrow_joint: vec![NarrowLanes::all(0.0); n_components],
            unsure: Vec::with_capacity(n_blocks * LANES),
            densities: vec![Lanes::all(0.0); n_blocks],
            gathered: vec![Lanes::all(0.0); 2 * (components.n_columns() + 1)],
            layout: Layout::new(n_components, components.n_columns(), n_blocks),
            near: NearBuffers::new(n_components),
            scratch: components.scratch(n_blocks),
        }
    }

    /// Whether the buffers are for as many components.
    pub(crate) fn fits(&self, n_components: usize) -> bool {
        self.n_components == n_components
    }

    /// Adds one chunk to the tally.
    pub(crate) fn run(&mut self, shared: &Shared<'_, F>, chunk: usize, tally: &mut Tally<F::Moments>) {
        const CHUNK_BLOCKS: usize = CHUNK_ROWS / LANES;
        let end = ((chunk + 1) * CHUNK_BLOCKS).min(shared.rows.n_blocks());
        let soft = matches!(shared.assignment, Assignment::Soft) || shared.split_counts;
        let group_blocks = if soft && shared.search.is_none() { SOFT_BLOCKS } else { LABELLED_BLOCKS };
        let mut first = chunk * CHUNK_BLOCKS;
        while first < end {
            let n_blocks = group_blocks.min(end - first);
            (self.first, self.next) = (first, first + n_blocks);
            self.load(shared, first, n_blocks);
            tally.weight += if shared.rows.weights().is_some() {
                flat(&self.row_weights[..n_blocks]).sum::<f64>()
            } else {
                (((first + n_blocks) * LANES).min(shared.rows.n_rows()) - first * LANES) as f64
            };
            match shared.assignment {
                Assignment::Soft => self.soft(shared, n_blocks, tally),
                Assignment::Sampled(address) if shared.split_counts => {
                    self.split(shared, first, n_blocks, address, tally);
                }
                Assignment::Sampled(address) => self.sampled(shared, first, n_blocks, address, tally),
                Assignment::Hard => self.hard(shared, n_blocks, tally),
                Assignment::Given => self.given(shared, first, n_blocks, tally),
                Assignment::Evaluate => self.evaluate(shared, n_blocks, tally),
            }
            first += n_blocks;
        }
    }

    fn load(&mut self, shared: &Shared<'_, F>, first: usize, n_blocks: usize) {
        let n_columns = shared.rows.n_columns();
        for (i, block) in self.blocks.chunks_exact_mut(n_columns + 1).take(n_blocks).enumerate() {
            shared.loader.load(shared.set, first + i, &mut block[..n_columns]);
            shared.rows.load_weights(first + i, &mut self.row_weights[i]);
        }
    }

    /// EM: every row belongs to every component by its posterior.
    fn soft(&mut self, shared: &Shared<'_, F>, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        if let Some(search) = &shared.search {
            return self.soft_near(shared, search, n_blocks, tally);
        }
        for block in 0..n_blocks {
            let sum = self.posterior(shared, block, tally);
            let weights = &mut self.weights[block * shared.n_components..][..shared.n_components];
            let (posterior, weight) = (&self.joint, &self.row_weights[block]);
            shared.set.run(Apportion { posterior, sum: &sum, weight, out: weights });
        }
        self.add_weighted(shared, n_blocks, tally);
    }

    /// SEM: every row belongs to one component, drawn from its posterior.
    fn sampled(
        &mut self,
        shared: &Shared<'_, F>,
        first: usize,
        n_blocks: usize,
        address: Address,
        tally: &mut Tally<F::Moments>,
    ) {
        address.uniform_blocks_into((first * LANES) as u64, &mut self.uniforms[..n_blocks]);
        let n_paired = if shared.narrow.is_some() { n_blocks / 2 * 2 } else { 0 };
        self.unsure.clear();
        if let Some(bound) = shared.narrow {
            match &shared.search {
                None => (0..n_paired).step_by(2).for_each(|block| self.draw_two_blocks(shared, block, bound)),
                Some(search) => self.draw_narrow_near(shared, search, bound, n_paired),
            }
            self.add_paired_likelihood(n_paired, tally);
            self.draw_unsure(shared, tally);
        }
        if let (None, Some(search)) = (shared.narrow, &shared.search) {
            self.draw_near(shared, search, n_blocks, tally);
        } else {
            for block in n_paired..n_blocks {
                let sum = self.posterior(shared, block, tally);
                let drawn = shared.set.run(Draw { weights: &self.joint, sum: &sum, uniform: &self.uniforms[block] });
                self.labels[block * LANES..][..LANES].copy_from_slice(&drawn);
            }
        }
        self.add_labelled(shared, n_blocks, tally);
    }

    /// Draws two blocks in single precision and notes the rows whose draw is not certain.
    fn draw_two_blocks(&mut self, shared: &Shared<'_, F>, block: usize, bound: ErrorBound) {
        let n_columns = shared.rows.n_columns();
        shared.loader.prefetch(self.next + block);
        shared.loader.prefetch(self.next + block + 1);
        let (first, second) = self.blocks[block * (n_columns + 1)..].split_at(n_columns + 1);
        let (first, second) = (&first[..n_columns], &second[..n_columns]);
        let radius = shared.set.run(Narrow { first, second, out: &mut self.narrow_block });
        F::narrow_joint_into(shared.prepared, shared.set, &self.narrow_block, &mut self.narrow_joint);
        let drawn = shared.set.run(NarrowDraw {
            ln: &mut self.narrow_joint,
            slopes: F::narrow_slopes(shared.prepared),
            radius: &radius,
            uniforms: [&self.uniforms[block], &self.uniforms[block + 1]],
            n_components: shared.n_components,
            has_first: true,
            bound,
        });
        self.labels[block * LANES..][..2 * LANES].copy_from_slice(&drawn.labels);
        let (densities, _) = drawn.log2_density.as_chunks::<LANES>();
        self.densities[block..block + 2].iter_mut().zip(densities).for_each(|(to, &from)| to.0 = from);
        if drawn.unsure.iter().sum::<u32>() > 0 {
            let unsure = drawn.unsure.iter().enumerate().filter(|(_, unsure)| **unsure > 0);
            self.unsure.extend(unsure.map(|(lane, _)| (block * LANES + lane) as u32));
        }
    }

    /// Adds the log-likelihood of blocks whose densities are known, two at a time.
    pub(super) fn add_paired_likelihood(&self, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        for block in (0..n_blocks).step_by(2) {
            let ([w, x], [p, q]) = (&self.row_weights[block..][..2], &self.densities[block..][..2]) else {
                unreachable!("invariant: slices of two");
            };
            let weighted = Lanes(std::array::from_fn(|lane| w[lane] * p[lane] + x[lane] * q[lane]));
            tally.ln_likelihood += weighted.sum() * std::f64::consts::LN_2;
        }
    }

    /// Draws in double precision the rows that single precision was not sure of, a block at a time.
    fn draw_unsure(&mut self, shared: &Shared<'_, F>, tally: &mut Tally<F::Moments>) {
        // In their own order, whatever the order they were drawn in.
        self.unsure.sort_unstable();
        let unsure = std::mem::take(&mut self.unsure);
        for rows in unsure.chunks(LANES) {
            let weights = self.gathered_weights(rows);
            let evidence = if let Some(search) = &shared.search {
                let (uniform, n_near, evidence) = self.near_posterior(shared, search, rows);
                let weights = &self.joint[..n_near];
                let drawn = shared.set.run(Draw { weights, sum: &evidence.sum, uniform: &uniform });
                self.set_labels(search, rows, &drawn);
                evidence
            } else {
                let uniform = self.gather(shared, rows, 0);
                let lanes = &self.gathered[..=shared.rows.n_columns()];
                F::log2_joint_into(shared.prepared, shared.set, lanes, &mut self.scratch, &mut self.joint);
                let evidence = shared.set.run(Softmax { ln: &mut self.joint, least: &shared.least });
                let drawn = shared.set.run(Draw { weights: &self.joint, sum: &evidence.sum, uniform: &uniform });
                rows.iter().zip(drawn).for_each(|(&row, label)| self.labels[row as usize] = label);
                evidence
            };
            for lane in 0..rows.len() {
                tally.ln_likelihood += evidence.log2_density[lane] * weights[lane] * std::f64::consts::LN_2;
            }
        }
        self.unsure = unsure;
    }

    /// Copies rows of the group side by side into one of two blocks; returns their uniform numbers.
    pub(super) fn gather(&mut self, shared: &Shared<'_, F>, rows: &[u32], half: usize) -> Lanes {
        let stride = shared.rows.n_columns() + 1;
        let target = &mut self.gathered[half * stride..][..stride];
        let mut uniform = Lanes::all(0.0);
        // Fewer rows than lanes: the last one again, so that no component is near for its sake alone.
        let last = rows.last().expect("invariant: some rows");
        for (lane, &row) in rows.iter().chain(std::iter::repeat(last)).take(LANES).enumerate() {
            let (from, at) = (row as usize / LANES, row as usize % LANES);
            for (target, source) in target.iter_mut().zip(&self.blocks[from * stride..][..stride]) {
                target[lane] = source[at];
            }
            uniform[lane] = self.uniforms[from][at];
        }
        uniform
    }

    /// Weights of rows of the group, side by side.
    pub(super) fn gathered_weights(&self, rows: &[u32]) -> Lanes {
        let mut weights = Lanes::all(0.0);
        for (lane, &row) in rows.iter().enumerate() {
            weights[lane] = self.row_weights[row as usize / LANES][row as usize % LANES];
        }
        weights
    }

    /// SEM for rows that count several times: each count is split multinomially by the posterior.
    fn split(
        &mut self,
        shared: &Shared<'_, F>,
        first: usize,
        n_blocks: usize,
        address: Address,
        tally: &mut Tally<F::Moments>,
    ) {
        let address = Address { purpose: Purpose::Split, ..address };
        let mut posterior = vec![0.0; shared.n_components];
        let mut counts = vec![0.0; shared.n_components];
        for block in 0..n_blocks {
            let sum = self.posterior(shared, block, tally);
            let weights = &mut self.weights[block * shared.n_components..][..shared.n_components];
            weights.fill(Lanes::all(0.0));
            for lane in 0..LANES {
                let count = self.row_weights[block][lane];
                if count > 0.0 {
                    posterior.iter_mut().zip(&self.joint).for_each(|(p, joint)| *p = joint[lane]);
                    let row = ((first + block) * LANES + lane) as u64;
                    split_count(count, &posterior, sum[lane], &mut address.item(row), &mut counts);
                    weights.iter_mut().zip(&counts).for_each(|(weights, &count)| weights[lane] = count);
                }
            }
        }
        self.add_weighted(shared, n_blocks, tally);
    }

    /// CEM: every row belongs to its most probable component.
    fn hard(&mut self, shared: &Shared<'_, F>, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        if let Some(search) = &shared.search {
            self.label_near(shared, search, n_blocks, tally);
        } else {
            for block in 0..n_blocks {
                self.posterior(shared, block, tally);
                let best = shared.set.run(Largest { values: &self.joint });
                self.labels[block * LANES..][..LANES].copy_from_slice(&best);
            }
        }
        self.add_labelled(shared, n_blocks, tally);
    }

    /// A start: every row belongs to the component that its label names.
    fn given(&mut self, shared: &Shared<'_, F>, first: usize, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        let labels = shared.rows.labels().expect("invariant: given labels are there");
        let rows = first * LANES..((first + n_blocks) * LANES).min(labels.len());
        self.labels[..n_blocks * LANES].fill(0);
        self.labels[..rows.len()].copy_from_slice(&labels[rows]);
        self.add_labelled(shared, n_blocks, tally);
    }

    /// Likelihoods alone.
    fn evaluate(&mut self, shared: &Shared<'_, F>, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        for block in 0..n_blocks {
            let sum = self.posterior(shared, block, tally);
            // The best component's share of the sum is 1/sum, because it stands as 2⁰.
            let certainty: f64 =
                (0..LANES).map(|lane| self.row_weights[block][lane] * crate::kernels::scalar_ln(sum[lane])).sum();
            tally.ln_best_posterior -= certainty;
        }
    }

    /// Leaves unnormalised posteriors in `joint`, adds the block's log-likelihood, returns their sums.
    fn posterior(&mut self, shared: &Shared<'_, F>, block: usize, tally: &mut Tally<F::Moments>) -> Lanes {
        let stride = shared.rows.n_columns() + 1;
        let lanes = &self.blocks[block * stride..][..stride];
        shared.loader.prefetch(self.next + block);
        F::log2_joint_into(shared.prepared, shared.set, lanes, &mut self.scratch, &mut self.joint);
        let evidence = shared.set.run(Softmax { ln: &mut self.joint, least: &shared.least });
        self.densities[block] = evidence.log2_density;
        self.add_likelihood(block, tally);
        evidence.sum
    }

    /// Adds the log-likelihood of a block whose densities are known.
    pub(super) fn add_likelihood(&self, block: usize, tally: &mut Tally<F::Moments>) {
        let (weights, densities) = (&self.row_weights[block], &self.densities[block]);
        let weighted = Lanes(std::array::from_fn(|lane| densities[lane] * weights[lane]));
        tally.ln_likelihood += weighted.sum() * std::f64::consts::LN_2;
    }

    fn add_weighted(&mut self, shared: &Shared<'_, F>, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        let blocks = &self.blocks[..n_blocks * (shared.rows.n_columns() + 1)];
        let weights = &self.weights[..n_blocks * shared.n_components];
        let rows = CommonRows { blocks, weights };
        F::add_common(shared.prepared, shared.set, rows, &mut self.scratch, &mut tally.moments);
    }

    fn add_labelled(&mut self, shared: &Shared<'_, F>, n_blocks: usize, tally: &mut Tally<F::Moments>) {
        let labels = &mut self.labels[..n_blocks * LANES];
        let weights = &self.row_weights[..n_blocks];
        let unit_weights = shared.rows.weights().is_none();
        // Weights of 0 stand past the last row, and anywhere among rows that have weights.
        let whole = if unit_weights { (n_blocks - 1) * LANES } else { 0 };
        for (label, weight) in labels.iter_mut().zip(flat(weights)).skip(whole) {
            *label = if weight > 0.0 { *label } else { NO_LABEL };
        }
        let rows = (0u32..).zip(&*labels);
        let blocks = &self.blocks[..];
        let Tally { moments, squared_weights, .. } = tally;
        let scratch = &mut self.scratch;
        let add = |rows: OwnRows<'_>| F::add_own(shared.prepared, shared.set, rows, scratch, moments);
        if unit_weights {
            let shares = rows.map(|(row, &component)| Share { row, component, weight: 1.0 });
            self.layout.for_components(blocks, &shares, true, add);
            for (squared, &count) in squared_weights.iter_mut().zip(self.layout.counts()) {
                *squared += f64::from(count);
            }
        } else {
            let weight = |row: u32| weights[row as usize / LANES][row as usize % LANES];
            let shares = rows.map(|(row, &component)| Share { row, component, weight: weight(row) });
            self.layout.for_components(blocks, &shares, false, add);
            for share in shares {
                if let Some(squared) = squared_weights.get_mut(share.component as usize) {
                    *squared += share.weight * share.weight;
                }
            }
        }
    }

    /// Adds rows that belong to few components each, by the shares that were noted.
    pub(super) fn add_shares(&mut self, shared: &Shared<'_, F>, tally: &mut Tally<F::Moments>) {
        let shares = self.near.sorted.iter().copied();
        let scratch = &mut self.scratch;
        self.layout.for_components(&self.blocks, &shares, false, |rows| {
            F::add_own(shared.prepared, shared.set, rows, scratch, &mut tally.moments);
        });
    }
}

/// Splits a whole count over components in proportion to `posterior`, whose sum is `sum`.
fn split_count(count: f64, posterior: &[f64], sum: f64, generator: &mut impl rand::Rng, out: &mut [f64]) {
    out.fill(0.0);
    if count <= SPLIT_BY_DRAWS {
        for _ in 0..count as u64 {
            let threshold = uniform(generator) * sum;
            let mut reached = 0.0;
            let label = posterior.iter().position(|p| {
                reached += p;
                reached > threshold
            });
            out[label.expect("invariant: the sum exceeds every threshold")] += 1.0;
        }
        return;
    }
    // One binomial after the other, each of what the components before have left.
    let (mut left, mut mass) = (count as u64, sum);
    let last = posterior.iter().rposition(|&p| p > 0.0).expect("invariant: some component has mass");
    for (out, &p) in out.iter_mut().zip(posterior).take(last) {
        if left == 0 {
            return;
        }
        let share = if mass > 0.0 { (p / mass).clamp(0.0, 1.0) } else { 0.0 };
        let drawn = Binomial::new(left, share).map_or(0, |binomial| binomial.sample(generator));
        *out = drawn as f64;
        left -= drawn;
        mass -= p;
    }
    out[last] += left as f64;
}
