//! Splits the counts of rows among components by multinomial draws.

use rand_distr::{Binomial, Distribution};

use crate::kernels::{LANES, Lanes};
use crate::random::{Address, Generator, Purpose, uniform};

/// Counts up to this are split draw by draw, larger ones by binomial draws.
const SPLIT_BY_DRAWS: f64 = 64.0;

/// Buffers for one row.
pub(super) struct Splitter {
    posterior: Vec<f64>,
    counts: Vec<f64>,
}

impl Splitter {
    pub(super) fn new(n_components: usize) -> Self {
        Self { posterior: vec![0.0; n_components], counts: vec![0.0; n_components] }
    }

    /// Splits the counts of a block in proportion to its posteriors, whose sums are given. `row` is the number of the
    /// block's first row in the whole data set; each row draws from its own generator.
    pub(super) fn split(
        &mut self,
        counts: &Lanes,
        posterior: &[Lanes],
        sum: &Lanes,
        (address, row): (Address, u64),
        out: &mut [Lanes],
    ) {
        let address = Address { purpose: Purpose::Split, ..address };
        out.fill(Lanes::all(0.0));
        for lane in (0..LANES).filter(|&lane| counts[lane] > 0.0) {
            self.posterior.iter_mut().zip(posterior).for_each(|(to, from)| *to = from[lane]);
            let mut generator = address.item(row + lane as u64);
            split_count(counts[lane], &self.posterior, sum[lane], &mut generator, &mut self.counts);
            out.iter_mut().zip(&self.counts).for_each(|(to, &from)| to[lane] = from);
        }
    }
}

/// Splits a whole-number count among components in proportion to `posterior`, whose sum is `sum`.
fn split_count(count: f64, posterior: &[f64], sum: f64, generator: &mut Generator, out: &mut [f64]) {
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
    // One binomial draw per component, from what the previous components have left.
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
