//! Hands each kernel to the benchmarks that count its instructions; no part of the library's interface.

use std::collections::BTreeSet;
use std::hint::black_box;

use crate::family::{CommonRows, Family, Near};
use crate::generate::Artificial;
use crate::kernels::{
    Apportion, Centre, DotProducts, Draw, ErrorBound, InstructionSet, LANES, Lanes, Largest, NARROW_LEAST_EXPONENT,
    Narrow, NarrowDraw, NarrowLanes, NarrowRows, Products, Scale, Side, Softmax, SquaredDeviations, Transpose,
};
use crate::pass::{Layout, Share, cutoff_exponent};
use crate::random::{Address, Purpose};
use crate::{Error, FullGaussian, Mixture};

/// Blocks of a chunk.
const N_BLOCKS: usize = 64;
/// Blocks whose products are summed together, as in a pass of EM.
const GROUP_BLOCKS: usize = 16;
/// Columns that are weighted at a time.
const STRIP: usize = 4;
/// Pairs of columns whose products are formed at a time, as in a pass of EM.
const N_PAIRS: usize = 6;

type Prepared = <FullGaussian as Family>::Prepared;
type Moments = <FullGaussian as Family>::Moments;
type Scratch = <FullGaussian as Family>::Scratch;

/// One chunk of an artificial mixture at every stage of a pass, so that each kernel can run alone.
///
/// A method runs its kernel over all rows once; those that overwrite their input are to be called
/// once only.
pub struct Chunk {
    set: InstructionSet,
    n_columns: usize,
    n_components: usize,
    prepared: Prepared,
    bound: ErrorBound,
    /// Exponents below which a share counts as zero.
    least: Vec<f64>,
    narrow_least: Vec<f32>,
    /// For each two blocks the components that their rows were drawn from.
    hints: Vec<Vec<u32>>,
    near: Vec<u32>,
    /// As they come, row after row.
    rows: Vec<f64>,
    offset: Vec<f64>,
    /// In blocks, with a column of ones.
    blocks: Vec<Lanes>,
    narrow_blocks: Vec<NarrowLanes>,
    radii: Vec<NarrowLanes>,
    /// Base-2 log-densities.
    joint: Vec<Lanes>,
    narrow_joint: Vec<NarrowLanes>,
    /// Unnormalized posteriors, their sums and the labels drawn from them.
    weights: Vec<Lanes>,
    sums: Vec<Lanes>,
    labels: Vec<u32>,
    uniforms: Vec<Lanes>,
    ones: Vec<Lanes>,
    pairs: Vec<(u32, u32)>,
    products: Vec<Lanes>,
    out: Vec<Lanes>,
    dots: Vec<f64>,
    scratch: Scratch,
    layout: Layout,
    moments: Moments,
}

impl Chunk {
    /// Rows that the kernels run over.
    pub const N_ROWS: usize = N_BLOCKS * LANES;

    /// A chunk of a mixture whose components run into each other, loaded, whitened and drawn.
    pub fn new(n_columns: usize, n_components: usize) -> Result<Self, Error> {
        let model = Artificial { n_columns, n_components, ..Artificial::default() }.mixture(1)?;
        let (rows, labels) = model.sample(0..Self::N_ROWS, 1)?;
        Self::of(&model, rows, &labels)
    }

    /// A chunk of a mixture whose components stand apart, in an order in which neighbours are alike.
    pub fn separated(n_columns: usize, n_components: usize) -> Result<Self, Error> {
        let model = Artificial { n_columns, n_components, separation: 6.0, ..Artificial::default() }.mixture(1)?;
        let (rows, labels) = model.sample(0..Self::N_ROWS, 1)?;
        let mut order: Vec<usize> = (0..Self::N_ROWS).collect();
        order.sort_by_key(|&row| labels[row]);
        let rows = order.iter().flat_map(|&row| &rows[row * n_columns..][..n_columns]).copied().collect();
        Self::of(&model, rows, &order.iter().map(|&row| labels[row]).collect::<Vec<_>>())
    }

    fn of(model: &Mixture<FullGaussian>, rows: Vec<f64>, labels: &[u32]) -> Result<Self, Error> {
        let set = InstructionSet::detect();
        let (n_columns, n_components) = (model.components.n_columns(), model.n_components());
        let offset = model.components.centre(&model.weights);
        let prepared = model.components.prepare(&model.weights, &offset)?;
        let bound =
            FullGaussian::narrow_bound(&prepared).expect("invariant: artificial mixtures suit single precision");
        let mut uniforms = vec![Lanes::all(0.0); N_BLOCKS];
        let address = Address { seed: 1, restart: 0, round: 0, purpose: Purpose::Label };
        address.uniform_blocks_into(set, 0, &mut uniforms);
        let pairs: Vec<_> = (0..=n_columns as u32).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let stride = n_columns + 1;
        let wide = |n: usize, value: f64| vec![Lanes::all(value); N_BLOCKS * n];
        let narrow = |n: usize| vec![NarrowLanes::all(0.0); N_BLOCKS / 2 * n];
        let mut chunk = Self {
            set,
            n_columns,
            n_components,
            bound: bound.with_roundings(set.n_roundings()),
            least: model.weights.iter().map(|&weight| cutoff_exponent(weight)).collect(),
            narrow_least: vec![NARROW_LEAST_EXPONENT; n_components],
            hints: labels
                .chunks(2 * LANES)
                .map(|labels| BTreeSet::from_iter(labels).into_iter().copied().collect())
                .collect(),
            near: vec![0; n_components],
            rows,
            offset,
            blocks: wide(stride, 1.0),
            narrow_blocks: narrow(n_columns),
            radii: narrow(1),
            joint: wide(n_components, 0.0),
            narrow_joint: narrow(n_components),
            weights: wide(n_components, 0.0),
            sums: wide(1, 0.0),
            labels: vec![0; Self::N_ROWS],
            uniforms,
            ones: wide(1, 1.0),
            products: wide(N_PAIRS, 0.0),
            out: wide(stride.max(n_components).max(STRIP), 0.0),
            dots: vec![0.0; n_components * pairs.len()],
            pairs,
            scratch: model.components.scratch(N_BLOCKS),
            layout: Layout::new(n_components, n_columns, N_BLOCKS),
            moments: model.components.no_moments(),
            prepared,
        };
        chunk.fill();
        Ok(chunk)
    }

    /// Takes the rows through every stage.
    fn fill(&mut self) {
        self.transpose();
        self.narrow();
        self.whiten();
        self.narrow_whiten();
        let joint = self.joint.clone();
        self.softmax();
        self.weights.copy_from_slice(&self.joint);
        self.joint = joint;
        self.draw();
        FullGaussian::reset_moments(&self.prepared, &mut self.moments);
    }

    /// Loads rows that are stored one after the other.
    pub fn transpose(&mut self) {
        let n = self.n_columns;
        for (rows, out) in self.rows.chunks_exact(n * LANES).zip(self.blocks.chunks_exact_mut(n + 1)) {
            self.set.run(Transpose { rows, offset: &self.offset, out: &mut out[..n] });
        }
    }

    /// Loads rows that are stored in blocks; here the numbers alone count, not where they come from.
    pub fn centre(&mut self) {
        let n = self.n_columns;
        let (stored, _) = self.rows.as_chunks::<LANES>();
        for (stored, out) in stored.chunks_exact(n).zip(self.out.chunks_exact_mut(n)) {
            self.set.run(Centre { stored, offset: &self.offset, out });
        }
    }

    /// Log-densities in double precision: `Whiten`.
    pub fn whiten(&mut self) {
        let (blocks, out) =
            (self.blocks.chunks_exact(self.n_columns + 1), self.joint.chunks_exact_mut(self.n_components));
        for (block, out) in blocks.zip(out) {
            FullGaussian::log2_joint_into(&self.prepared, self.set, block, &mut self.scratch, out);
        }
    }

    /// Log-densities in single precision: `Whiten`.
    pub fn narrow_whiten(&mut self) {
        let rows = narrow_rows(self.n_columns, &self.narrow_blocks, &self.blocks);
        for (rows, out) in rows.zip(self.narrow_joint.chunks_exact_mut(self.n_components)) {
            FullGaussian::narrow_joint_into(&self.prepared, self.set, rows, out);
        }
    }

    /// Log-densities in double precision of the components that count: `WhitenNear`.
    pub fn whiten_near(&mut self) {
        let (blocks, out) =
            (self.blocks.chunks_exact(self.n_columns + 1), self.joint.chunks_exact_mut(self.n_components));
        for (i, (block, out)) in blocks.zip(out).enumerate() {
            let near = Near { hints: &self.hints[i / 2], least: &self.least, out, components: &mut self.near };
            black_box(FullGaussian::log2_near_into(&self.prepared, self.set, block, &mut self.scratch, near));
        }
    }

    /// Log-densities in single precision of the components that count: `WhitenNear`.
    pub fn narrow_whiten_near(&mut self) {
        let rows = narrow_rows(self.n_columns, &self.narrow_blocks, &self.blocks).zip(&self.hints);
        for ((rows, hints), out) in rows.zip(self.narrow_joint.chunks_exact_mut(self.n_components)) {
            let near = Near { hints, least: &self.narrow_least, out, components: &mut self.near };
            black_box(FullGaussian::narrow_near_into(&self.prepared, self.set, rows, near));
        }
    }

    /// Posteriors, in place of log-densities.
    pub fn softmax(&mut self) {
        for (joint, sum) in self.joint.chunks_exact_mut(self.n_components).zip(&mut self.sums) {
            *sum = self.set.run(Softmax { joint, least: &self.least }).sum;
        }
    }

    /// Labels drawn in double precision.
    pub fn draw(&mut self) {
        let given = self.weights.chunks_exact(self.n_components).zip(&self.sums).zip(&self.uniforms);
        for (((weights, sum), uniform), labels) in given.zip(self.labels.chunks_exact_mut(LANES)) {
            labels.copy_from_slice(&self.set.run(Draw { weights, sum, uniform }));
        }
    }

    /// The most probable labels.
    pub fn largest(&mut self) {
        let weights = self.weights.chunks_exact(self.n_components);
        for (values, labels) in weights.zip(self.labels.chunks_exact_mut(LANES)) {
            labels.copy_from_slice(&self.set.run(Largest { values }));
        }
    }

    /// Rounds blocks to single precision.
    pub fn narrow(&mut self) {
        let (n, stride) = (self.n_columns, self.n_columns + 1);
        let inverse_scales = FullGaussian::narrow_inverse_scales(&self.prepared);
        let out = self.narrow_blocks.chunks_exact_mut(n).zip(&mut self.radii);
        for (two, (out, radius)) in self.blocks.chunks_exact(2 * stride).zip(out) {
            let (first, second) = (&two[..n], &two[stride..][..n]);
            *radius = self.set.run(Narrow { first, second, inverse_scales, out });
        }
    }

    /// Labels drawn in single precision, in place of log-densities.
    pub fn narrow_draw(&mut self) {
        let slopes = FullGaussian::narrow_slopes(&self.prepared);
        let given =
            self.narrow_joint.chunks_exact_mut(self.n_components).zip(&self.radii).zip(self.uniforms.chunks_exact(2));
        for (((joint, radius), two), labels) in given.zip(self.labels.chunks_exact_mut(2 * LANES)) {
            let (uniforms, n_components, bound) = ([&two[0], &two[1]], self.n_components, self.bound);
            let drawn =
                self.set.run(NarrowDraw { joint, slopes, radius, uniforms, n_components, has_first: true, bound });
            labels.copy_from_slice(&drawn.labels);
        }
    }

    /// Shares of rows for every component.
    pub fn apportion(&mut self) {
        let (posterior, out) =
            (self.weights.chunks_exact(self.n_components), self.out.chunks_exact_mut(self.n_components));
        for ((posterior, sum), out) in posterior.zip(&self.sums).zip(out) {
            self.set.run(Apportion { posterior, sum, weight: &self.ones[0], out });
        }
    }

    /// Columns weighted for one component, a strip at a time.
    pub fn scale(&mut self) {
        let stride = self.n_columns + 1;
        for first in (0..stride).step_by(STRIP) {
            let columns = first..stride.min(first + STRIP);
            let out = &mut self.out[..N_BLOCKS * columns.len()];
            let (blocks, weights) = (&self.blocks, &self.sums);
            self.set.run(Scale { blocks, stride, columns, weights, weight_stride: 1, out });
        }
    }

    /// Squared deviations of products of columns, for one component.
    pub fn squared_deviations(&mut self) {
        let (stride, weights) = (self.n_columns + 1, &self.ones);
        let n = self.pairs.len();
        let (subtracted, out) = (vec![0.5; n], &mut self.dots[..n]);
        for (blocks, weights) in self.blocks.chunks(GROUP_BLOCKS * stride).zip(weights.chunks(GROUP_BLOCKS)) {
            self.set.run(SquaredDeviations { blocks, stride, weights, first: 0, subtracted: &subtracted, out });
        }
    }

    /// Products of all pairs of columns.
    pub fn products(&mut self) {
        let stride = self.n_columns + 1;
        for pairs in self.pairs.chunks(N_PAIRS) {
            for blocks in self.blocks.chunks_exact(GROUP_BLOCKS * stride) {
                let out = &mut self.products[..GROUP_BLOCKS * pairs.len()];
                self.set.run(Products { blocks, stride, pairs, out });
                black_box(out);
            }
        }
    }

    /// Sums of products times the weights of all components, for all pairs of columns.
    pub fn dot_products(&mut self) {
        let n_pairs = self.pairs.len();
        for blocks in self.weights.chunks_exact(GROUP_BLOCKS * self.n_components) {
            let left = Side { blocks, stride: self.n_components, first: 0, n: self.n_components };
            for first in (0..n_pairs).step_by(N_PAIRS) {
                let n = N_PAIRS.min(n_pairs - first);
                let right = Side { blocks: &self.products, stride: n, first: 0, n };
                let dots = DotProducts { left, right, n_blocks: GROUP_BLOCKS };
                dots.add_to(self.set, &mut self.dots[first..], n_pairs);
            }
        }
    }

    /// Statistics of rows that belong to every component.
    pub fn add_weighted(&mut self) {
        let blocks = self.blocks.chunks_exact(GROUP_BLOCKS * (self.n_columns + 1));
        let weights = self.weights.chunks_exact(GROUP_BLOCKS * self.n_components);
        for (blocks, weights) in blocks.zip(weights) {
            let rows = CommonRows { blocks, weights };
            FullGaussian::add_common(&self.prepared, self.set, rows, &mut self.scratch, &mut self.moments);
        }
    }

    /// Statistics of rows that belong to one component each: sorting, gathering, products.
    pub fn add_labelled(&mut self) {
        let Self { prepared, set, scratch, moments, .. } = self;
        let shares = (0u32..).zip(&self.labels).map(|(row, &component)| Share { row, component, weight: 1.0 });
        self.layout.for_components(*set, &self.blocks, &shares, true, |rows| {
            FullGaussian::add_own(prepared, *set, rows, scratch, moments);
        });
    }
}

/// Every two blocks in both precisions.
fn narrow_rows<'a>(
    n_columns: usize,
    single: &'a [NarrowLanes],
    double: &'a [Lanes],
) -> impl Iterator<Item = NarrowRows<'a>> {
    let double = double.chunks_exact(2 * (n_columns + 1));
    single.chunks_exact(n_columns).zip(double).map(move |(single, double)| {
        let (first, second) = double.split_at(n_columns + 1);
        NarrowRows { single, double: [&first[..n_columns], &second[..n_columns]] }
    })
}
