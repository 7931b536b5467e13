//! Processes one chunk of rows: load, posterior, weights or labels, statistics.

use super::group::Group;
use super::layout::{Layout, NO_LABEL, Share};
use super::narrow::NarrowFinder;
use super::near::sum_up;
use super::posterior::{Finder, Found};
use super::split::Splitter;
use super::{Assignment, PreparedPass, Tally};
use crate::Error;
use crate::family::{CommonRows, Family, OwnRows};
use crate::kernels::{Apportion, Draw, LANES, Lanes, Largest, Shares, TALL, flat, scalar_ln};
use crate::random::Address;
use crate::rows::Loader;
use crate::sweep::{CHUNK_BLOCKS, Chunk, Hints};

/// Blocks whose products are summed together when every row belongs to every component.
const SOFT_BLOCKS: usize = 16;
/// Columns and log-densities of blocks that stay in the L1 cache until they have become shares.
const NEAR_AT_HAND: usize = 128;
/// Columns of blocks that stay in the L2 cache.
const AT_HAND: usize = 4096;

/// The buffers of one thread, reused from round to round.
pub struct Workspace<F: Family> {
    group: Group,
    finder: Finder<F>,
    narrow: NarrowFinder,
    drawn: Drawn,
    shares: NearShares,
    /// Weights of every component for every row, for assignments that share rows among all.
    weights: Vec<Lanes>,
    splitter: Splitter,
    layout: Layout,
    n_components: usize,
}

/// The result for each row of a group: its label, and log₂ of its density.
pub(super) struct Drawn {
    pub labels: Vec<u32>,
    pub densities: Vec<f64>,
    pub uniforms: Vec<Lanes>,
}

impl Drawn {
    /// Remembers the labels of rows, to find their components faster next time.
    pub(super) fn hint(&self, hints: Option<&Hints>, first_row: usize, rows: &[u32]) {
        let Some(hints) = hints else { return };
        rows.iter().for_each(|&row| hints.set(first_row + row as usize, self.labels[row as usize]));
    }

    /// Labels rows with components chosen among those they were evaluated for.
    fn label(&mut self, found: &Found<'_>, chosen: [u32; LANES], hints: Option<&Hints>, first_row: usize) {
        found.place.put(&found.components_at(chosen), &mut self.labels);
        if let super::group::Place::Rows(rows) = found.place {
            self.hint(hints, first_row, rows);
        }
    }
}

impl<F: Family> Workspace<F> {
    /// Buffers for chunks of up to `n_blocks` blocks.
    pub(super) fn new(components: &F, n_blocks: usize) -> Self {
        let (n_components, n_columns) = (components.n_components(), components.n_columns());
        Self {
            group: Group::new(n_columns, n_blocks),
            finder: Finder::new(components, n_blocks),
            narrow: NarrowFinder::new(n_components, n_columns, n_blocks),
            drawn: Drawn {
                labels: vec![0; n_blocks * LANES],
                densities: vec![0.0; n_blocks * LANES],
                uniforms: vec![Lanes::all(0.0); n_blocks],
            },
            shares: NearShares::default(),
            weights: vec![Lanes::all(0.0); SOFT_BLOCKS.min(n_blocks) * n_components],
            splitter: Splitter::new(n_components),
            layout: Layout::new(n_components, n_columns, n_blocks),
            n_components,
        }
    }

    /// Whether the buffers fit the number of components and columns.
    pub(super) fn fits(&self, components: &F) -> bool {
        (self.n_components, self.group.n_columns()) == (components.n_components(), components.n_columns())
    }

    /// Adds a chunk to a tally.
    pub(super) fn run(
        &mut self,
        pass: &PreparedPass<F>,
        chunk: &Chunk<'_>,
        tally: &mut Tally<F::Moments>,
    ) -> Result<(), Error> {
        let loader = chunk.loader(&pass.data_centre);
        let is_common = (pass.assignment == Assignment::Soft && pass.search.is_none()) || pass.split_counts;
        let group_blocks = if is_common { SOFT_BLOCKS } else { CHUNK_BLOCKS };
        for first in chunk.blocks().step_by(group_blocks) {
            let n_blocks = group_blocks.min(chunk.blocks().end - first);
            self.group.take(chunk.rows(), first, n_blocks);
            tally.n_rows += self.group.n_rows() as u64;
            tally.weight += match chunk.rows().weights() {
                Some(_) => flat(self.group.weights()).sum::<f64>(),
                None => self.group.n_rows() as f64,
            };
            let at = &At { pass, chunk, loader: &loader };
            match pass.assignment {
                Assignment::Soft if is_common => self.share(at, tally),
                Assignment::Soft => self.share_near(at, tally),
                Assignment::Sampled(address) if pass.split_counts => self.split(at, address, tally),
                Assignment::Sampled(address) => self.draw(at, address, tally),
                Assignment::Hard => self.choose(at, tally),
                Assignment::Given => self.follow_labels(at, tally)?,
                Assignment::Evaluate => self.evaluate(at, tally),
            }
        }
        Ok(())
    }
}

/// Blocks whose log-densities are turned into shares at a time: as many as stay in the L1 cache or, if their columns do
/// not, in the L2 cache.
pub(super) fn blocks_at_a_time(n_components: usize, n_columns: usize) -> usize {
    let n = if n_columns > TALL { AT_HAND / n_columns } else { NEAR_AT_HAND / (n_components + n_columns) };
    n.clamp(1, SOFT_BLOCKS)
}

/// The pass and the current chunk.
pub(super) struct At<'a, F: Family> {
    pub(super) pass: &'a PreparedPass<F>,
    pub(super) chunk: &'a Chunk<'a>,
    pub(super) loader: &'a Loader<'a>,
}

/// The assignments, each written once.
impl<F: Family> Workspace<F> {
    /// EM: shares every row among all components by its posterior.
    fn share(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) {
        let Self { group, finder, drawn, weights, n_components, .. } = self;
        let (pass, n_blocks) = (at.pass, group.n_blocks());
        let step = blocks_at_a_time(*n_components, group.n_columns());
        for first in (0..n_blocks).step_by(step) {
            let blocks = first..n_blocks.min(first + step);
            let shares = &mut weights[blocks.start * *n_components..blocks.end * *n_components];
            finder.joint_into(pass, at.loader, group, blocks.clone(), shares);
            let (densities, _) = drawn.densities.as_chunks_mut::<LANES>();
            let (weights, log2_density) = (&group.weights()[blocks.clone()], &mut densities[blocks]);
            pass.set.run(Shares { joint: shares, least: &pass.cutoffs, weights, log2_density });
        }
        self.add_common(at, tally);
    }

    /// EM with near components only: the others have no share.
    fn share_near(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) {
        let Self { group, drawn, weights, shares, .. } = self;
        let first_row = group.first_row();
        shares.given.clear();
        self.finder.for_each(at, group, 0..group.n_blocks(), |found| {
            found.place.put(&found.evidence.log2_density, &mut drawn.densities);
            let best = at.pass.set.run(Largest { values: found.posterior });
            drawn.label(found, best, at.chunk.hints(), first_row);
            let (sum, weight, out) = (&found.evidence.sum, &found.weights, &mut weights[..found.posterior.len()]);
            at.pass.set.run(Apportion { posterior: found.posterior, sum, weight, out });
            shares.give(found, out);
        });
        shares.sort();
        self.add_likelihood(tally);
        let (scratch, sorted) = (&mut self.finder.scratch, self.shares.sorted.iter().copied());
        self.layout.for_components(at.pass.set, self.group.blocks(), &sorted, false, |rows| {
            F::add_own(&at.pass.prepared, at.pass.set, rows, scratch, &mut tally.moments);
        });
    }

    /// SEM: assigns every row to one component, drawn from its posterior.
    fn draw(&mut self, at: &At<'_, F>, address: Address, tally: &mut Tally<F::Moments>) {
        let Self { group, finder, narrow, drawn, .. } = self;
        let (pass, hints, n_blocks) = (at.pass, at.chunk.hints(), group.n_blocks());
        let first_row = group.first_row();
        address.uniform_blocks_into(pass.set, at.chunk.row_number(first_row), &mut drawn.uniforms[..n_blocks]);
        let draw = |drawn: &mut Drawn, found: &Found<'_>| {
            found.place.put(&found.evidence.log2_density, &mut drawn.densities);
            let uniform = &found.place.take(&drawn.uniforms);
            let chosen = pass.set.run(Draw { weights: found.posterior, sum: &found.evidence.sum, uniform });
            drawn.label(found, chosen, hints, first_row);
        };
        let mut n_drawn = 0;
        if let Some(bound) = pass.narrow {
            n_drawn = n_blocks / 2 * 2;
            narrow.draw(at, bound, (group, n_drawn), drawn);
            // In row order, whatever order they were drawn in.
            narrow.unsure.sort_unstable();
            // Not those past the last row.
            tally.n_unsure += narrow.unsure.partition_point(|&row| (row as usize) < group.n_rows()) as u64;
            for rows in narrow.unsure.chunks(LANES) {
                finder.of_rows(pass, hints, group, rows, |found| draw(drawn, found));
            }
        }
        finder.for_each(at, group, n_drawn..n_blocks, |found| draw(drawn, found));
        self.add_labelled(at, tally);
    }

    /// SEM for rows with counts: a row of count n is split by n draws.
    fn split(&mut self, at: &At<'_, F>, address: Address, tally: &mut Tally<F::Moments>) {
        let Self { group, drawn, weights, splitter, n_components, .. } = self;
        let mut splits = weights.chunks_exact_mut(*n_components);
        let mut row = at.chunk.row_number(group.first_row());
        self.finder.for_each(at, group, 0..group.n_blocks(), |found| {
            found.place.put(&found.evidence.log2_density, &mut drawn.densities);
            let out = splits.next().expect("invariant: splits for every block");
            splitter.split(&found.weights, found.posterior, &found.evidence.sum, (address, row), out);
            row += LANES as u64;
        });
        // Every draw is a row of weight 1.
        for counts in weights[..group.n_blocks() * *n_components].chunks_exact(*n_components) {
            for (squared, counts) in tally.squared_weights.iter_mut().zip(counts) {
                *squared += counts.sum();
            }
        }
        self.add_common(at, tally);
    }

    /// CEM: assigns every row to its most probable component.
    fn choose(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) {
        let Self { group, drawn, .. } = self;
        let first_row = group.first_row();
        self.finder.for_each(at, group, 0..group.n_blocks(), |found| {
            found.place.put(&found.evidence.log2_density, &mut drawn.densities);
            let best = at.pass.set.run(Largest { values: found.posterior });
            drawn.label(found, best, at.chunk.hints(), first_row);
        });
        self.add_labelled(at, tally);
    }

    /// Given labels, for a start: assigns every row to the component of its label. No density is evaluated.
    fn follow_labels(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) -> Result<(), Error> {
        let labels = at.chunk.rows().labels().ok_or(Error::NoLabels)?;
        let rows = self.group.first_row()..self.group.first_row() + self.group.n_rows();
        let labels = &labels[rows.clone()];
        let is_foreign = |&(row, &label): &(usize, &u32)| {
            label as usize >= self.n_components && at.chunk.rows().weight(rows.start + row) > 0.0
        };
        if let Some((row, &label)) = labels.iter().enumerate().find(is_foreign) {
            let row = at.chunk.row_number(rows.start + row) as usize;
            return Err(Error::Label { row, label, n_components: self.n_components });
        }
        self.group.load(at.pass.set, at.loader, self.group.n_blocks());
        self.drawn.labels[..self.group.n_blocks() * LANES].fill(0);
        self.drawn.labels[..labels.len()].copy_from_slice(labels);
        self.drawn.densities.fill(0.0);
        self.add_labelled(at, tally);
        Ok(())
    }

    /// Likelihoods only.
    fn evaluate(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) {
        let Self { group, drawn, .. } = self;
        self.finder.for_each(at, group, 0..group.n_blocks(), |found| {
            found.place.put(&found.evidence.log2_density, &mut drawn.densities);
            // The posterior of the best component is 1/sum, because it is stored as 2⁰.
            let (weights, sum) = (&found.weights, &found.evidence.sum);
            tally.ln_best_posterior -= (0..LANES).map(|lane| weights[lane] * scalar_ln(sum[lane])).sum::<f64>();
        });
        self.add_likelihood(tally);
    }
}

/// Likelihood and statistics of a group.
impl<F: Family> Workspace<F> {
    fn add_likelihood(&self, tally: &mut Tally<F::Moments>) {
        let (densities, _) = self.drawn.densities.as_chunks::<LANES>();
        for (weights, densities) in self.group.weights().iter().zip(densities) {
            let weighted = Lanes(std::array::from_fn(|lane| densities[lane] * weights[lane]));
            tally.ln_likelihood += weighted.sum() * std::f64::consts::LN_2;
        }
    }

    /// Adds rows that belong to all components, with `weights`.
    fn add_common(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) {
        self.add_likelihood(tally);
        let weights = &self.weights[..self.group.n_blocks() * self.n_components];
        let rows = CommonRows { blocks: self.group.blocks(), weights };
        F::add_common(&at.pass.prepared, at.pass.set, rows, &mut self.finder.scratch, &mut tally.moments);
    }

    /// Adds rows that belong to the component of their label.
    fn add_labelled(&mut self, at: &At<'_, F>, tally: &mut Tally<F::Moments>) {
        self.add_likelihood(tally);
        let n_blocks = self.group.n_blocks();
        let labels = &mut self.drawn.labels[..n_blocks * LANES];
        let weights = self.group.weights();
        let unit_weights = at.chunk.rows().weights().is_none();
        // Weights are 0 past the last row, and may be 0 for weighted rows.
        let n_whole = if unit_weights { n_blocks - 1 } else { 0 };
        for (label, weight) in labels[n_whole * LANES..].iter_mut().zip(flat(&weights[n_whole..])) {
            *label = if weight > 0.0 { *label } else { NO_LABEL };
        }
        let rows = (0u32..).zip(&*labels);
        let Tally { moments, squared_weights, .. } = tally;
        let scratch = &mut self.finder.scratch;
        let add = |rows: OwnRows<'_>| F::add_own(&at.pass.prepared, at.pass.set, rows, scratch, moments);
        if unit_weights {
            let shares = rows.map(|(row, &component)| Share { row, component, weight: 1.0 });
            self.layout.for_components(at.pass.set, self.group.blocks(), &shares, true, add);
            for (squared, &count) in squared_weights.iter_mut().zip(self.layout.counts()) {
                *squared += f64::from(count);
            }
        } else {
            let weight = |row: u32| weights[row as usize / LANES][row as usize % LANES];
            let shares = rows.map(|(row, &component)| Share { row, component, weight: weight(row) });
            self.layout.for_components(at.pass.set, self.group.blocks(), &shares, false, add);
            for share in shares {
                if let Some(squared) = squared_weights.get_mut(share.component as usize) {
                    *squared += share.weight * share.weight;
                }
            }
        }
    }
}

/// Weights of rows that belong to a few components each.
#[derive(Default)]
struct NearShares {
    given: Vec<Share>,
    sorted: Vec<Share>,
    ends: Vec<u32>,
}

impl NearShares {
    /// Records the non-zero weights of some rows.
    fn give(&mut self, found: &Found<'_>, weights: &[Lanes]) {
        let components = found.components.expect("invariant: only near components have separate shares");
        for (&component, weights) in components.iter().zip(weights) {
            for (lane, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                self.given.extend(found.place.row(lane).map(|row| Share { row, component, weight }));
            }
        }
    }

    /// Sorts the weights by row, keeping their order within each row (counting sort).
    fn sort(&mut self) {
        let Self { given, sorted, ends } = self;
        sorted.clone_from(given);
        ends.clear();
        ends.resize(CHUNK_BLOCKS * LANES + 1, 0);
        given.iter().for_each(|share| ends[share.row as usize + 1] += 1);
        sum_up(ends);
        for share in given.iter() {
            let place = &mut ends[share.row as usize];
            sorted[*place as usize] = *share;
            *place += 1;
        }
    }
}
