//! Decides whether to search for the components near each row, and sorts rows so that similar rows are adjacent.
//!
//! If most components are far from most rows, a block of similar rows has few components near it; the others are ruled
//! out after a few coordinates. Only contributions that would count as zero are skipped, and results are written back
//! to the original positions. Sorting, hints and search therefore do not change a single bit of a label, posterior or
//! likelihood.

use std::ops::Range;

use super::PreparedPass;
use super::group::Group;
use crate::Error;
use crate::family::Family;
use crate::kernels::{LANES, Lanes, NARROW_LEAST_EXPONENT, Softmax};
use crate::sweep::{CHUNK_ROWS, Engine, Hints, Source};

/// With fewer components than this, a search costs more than it saves.
const FEWEST_COMPONENTS: usize = 32;
/// A search pays off if at most one in this many components counts for a row.
const PER_COUNTING: usize = 16;
/// Blocks sampled to decide: one in this many, with an upper limit.
const ONE_BLOCK_OF: usize = 512;
const MOST_BLOCKS: usize = 32;
/// Number of columns that rows are sorted by: the first ones, because distances are summed from there.
const ORDERING_COLUMNS: usize = 3;
/// Number of intervals per sorting column.
const PARTS: usize = 4;

/// Rows from all over the data that show whether a search pays off, row-major; empty if it never does.
pub(crate) fn probe<F: Family, E: Engine>(source: &Source<E>, n_components: usize) -> Result<Vec<f64>, Error> {
    if !F::SEARCHES || n_components < FEWEST_COMPONENTS {
        return Ok(Vec::new());
    }
    let n_rows = source.summary().n_rows;
    let n_blocks = n_rows.div_ceil(LANES);
    let n_sampled = (n_blocks / ONE_BLOCK_OF).clamp(1, MOST_BLOCKS);
    let first = |i: usize| i * n_blocks / n_sampled * LANES;
    let rows: Vec<u64> =
        (0..n_sampled).flat_map(|i| first(i)..(first(i) + LANES).min(n_rows)).map(|row| row as u64).collect();
    let rows = source.pick(&rows)?;
    Ok((0..rows.n_rows()).flat_map(|row| rows.row(row)).collect())
}

/// What the chunks of a pass share to find near components.
pub(super) struct Search {
    /// The interval bounds of the sorting columns.
    cuts: Vec<[f64; PARTS - 1]>,
    /// For each component, its rank in an order in which similar components are adjacent.
    ranks: Vec<u32>,
    pub(super) narrow_cutoffs: Vec<f32>,
}

impl Search {
    /// How to search, if most components are far from most rows of the probe.
    ///
    /// Depends only on the model and the probe, because the search changes the order of sums.
    pub(super) fn new<F: Family>(pass: &PreparedPass<F>, centre: &[f64], probe: &[f64]) -> Option<Self> {
        let n_components = pass.n_components();
        if n_components < FEWEST_COMPONENTS || !pays(pass, centre, probe) {
            return None;
        }
        let centres = pass.components.centres();
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
        Some(Self { cuts, ranks, narrow_cutoffs: vec![NARROW_LEAST_EXPONENT; n_components] })
    }

    /// The position of a row among others: next to rows last found near the same component or, without a hint, after
    /// all of these, next to rows in the same cell.
    fn place(&self, hint: Option<u32>, columns: &[Lanes], lane: usize) -> usize {
        let known = hint.and_then(|hint| self.ranks.get(hint as usize));
        known.map_or_else(|| self.ranks.len() + cell(&self.cuts, |d| columns[d][lane]), |&rank| rank as usize)
    }
}

/// A number that is equal for points in the same interval of every sorting column.
fn cell(cuts: &[[f64; PARTS - 1]], coordinate: impl Fn(usize) -> f64) -> usize {
    cuts.iter().enumerate().fold(0, |cell, (d, cuts)| {
        cell * PARTS + cuts.iter().map(|&cut| usize::from(coordinate(d) > cut)).sum::<usize>()
    })
}

/// Whether few components count for the rows of the probe.
fn pays<F: Family>(pass: &PreparedPass<F>, centre: &[f64], probe: &[f64]) -> bool {
    let n_columns = centre.len();
    let mut block = vec![Lanes::all(1.0); n_columns + 1];
    let mut joint = vec![Lanes::all(0.0); pass.n_components()];
    let mut scratch = pass.components.scratch(1);
    let mut n_counting = 0;
    for rows in probe.chunks(LANES * n_columns) {
        for (lane, row) in rows.chunks_exact(n_columns).enumerate() {
            (0..n_columns).for_each(|d| block[d][lane] = row[d] - centre[d]);
        }
        F::log2_joint_into(&pass.prepared, pass.set, &block, &mut scratch, &mut joint);
        pass.set.run(Softmax { joint: &mut joint, least: &pass.cutoffs });
        let n_valid = rows.len() / n_columns;
        n_counting += joint.iter().map(|joint| joint[..n_valid].iter().filter(|&&p| p > 0.0).count()).sum::<usize>();
    }
    n_counting * PER_COUNTING <= probe.len() / n_columns * pass.n_components()
}

/// Buffers for sorting rows.
#[derive(Default)]
pub(super) struct Order {
    rows: Vec<u32>,
    places: Vec<u32>,
    ends: Vec<u32>,
}

impl Order {
    pub(super) fn new(n_components: usize) -> Self {
        let n_places = n_components + PARTS.pow(ORDERING_COLUMNS as u32);
        Self { rows: vec![0; CHUNK_ROWS], places: vec![0; CHUNK_ROWS], ends: vec![0; n_places + 1] }
    }

    /// Sorts some rows of a group so that similar rows are adjacent (counting sort).
    pub(super) fn sort(
        &mut self,
        search: &Search,
        group: &Group,
        hints: Option<&Hints>,
        range: Range<usize>,
    ) -> &[u32] {
        let Self { rows, places, ends } = self;
        ends.fill(0);
        // Read once: a restart running in parallel may change the hints at any time.
        for (row, out) in range.clone().zip(places.iter_mut()) {
            let hint = hints.and_then(|hints| hints.get(group.first_row() + row));
            let place = search.place(hint, group.block(row / LANES), row % LANES);
            *out = place as u32;
            ends[place + 1] += 1;
        }
        sum_up(ends);
        let n_rows = range.len();
        for (row, &place) in range.zip(places.iter()) {
            let end = &mut ends[place as usize];
            rows[*end as usize] = row as u32;
            *end += 1;
        }
        &rows[..n_rows]
    }
}

/// Replaces counts by cumulative sums.
pub(super) fn sum_up(counts: &mut [u32]) {
    let mut total = 0;
    for count in counts {
        total += *count;
        *count = total;
    }
}
