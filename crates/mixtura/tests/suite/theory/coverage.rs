//! Draws many updates of SEM from fixed models, and counts how often the theorems' statements hold.

use mixtura::driver::SemResult;
use mixtura::theory::Proximity;
use mixtura::{Algorithm, FullGaussian, Mixture, Rows, Source, Start};

use crate::{artificial, fit_rows, rounds};

/// How often the differences of one kind stayed within a given limit, for each statement.
struct Count {
    within: Vec<u32>,
}

impl Count {
    fn new(n_statements: usize) -> Self {
        Self { within: vec![0; n_statements] }
    }

    fn add(&mut self, differences: &[f64], limits: impl Iterator<Item = f64>) {
        for ((within, difference), limit) in self.within.iter_mut().zip(differences).zip(limits) {
            *within += u32::from(difference.abs() <= limit);
        }
    }

    /// Smallest, mean and largest share over the statements.
    fn shares(&self, n_draws: u32) -> [f64; 3] {
        let share = |n: u32| f64::from(n) / f64::from(n_draws);
        let (least, most) = (self.within.iter().min().unwrap(), self.within.iter().max().unwrap());
        let mean = f64::from(self.within.iter().sum::<u32>()) / self.within.len() as f64 / f64::from(n_draws);
        [share(*least), mean, share(*most)]
    }
}

/// Weights, coordinates of means, entries of covariances.
fn parameters(model: &Mixture<FullGaussian>) -> [Vec<f64>; 3] {
    let k = model.n_components();
    let all = |of: fn(&FullGaussian, usize) -> &[f64]| (0..k).flat_map(|k| of(&model.components, k).to_vec()).collect();
    [model.weights.clone(), all(FullGaussian::mean), all(FullGaussian::covariance)]
}

struct Coverage {
    /// For weights, means and covariances: within the bound, and within one and two typical deviations.
    counts: [[Count; 3]; 3],
    n_draws: u32,
}

/// Repeatedly draws SEM's update of a model.
fn coverage(rows: &Rows<'_>, model: &Mixture<FullGaussian>, delta: f64, n_draws: u32) -> Coverage {
    let proximity = Proximity::measure(&Source::of(rows).unwrap(), model).unwrap();
    let bounds = proximity.bounds(delta).unwrap();
    assert!(bounds.valid.iter().all(|valid| *valid));
    let typical = proximity.typical();
    let bounds = [bounds.weight, bounds.mean, bounds.covariance.unwrap()];
    let typical = [typical.weight, typical.mean, typical.covariance.unwrap()];
    let em = parameters(&proximity.update);
    let mut counts = [0, 1, 2].map(|kind| [0; 3].map(|_: u32| Count::new(em[kind].len())));
    for seed in 0..u64::from(n_draws) {
        let options = rounds(1).algorithm(Algorithm::Sem).result(SemResult::Last).regularization(0.0).seed(seed);
        let sem = fit_rows(rows, model.n_components(), &Start::Model(model.clone()), &options).unwrap();
        assert!(sem.events.is_empty());
        for (kind, sem) in parameters(&sem.model).iter().enumerate() {
            let differences: Vec<f64> = sem.iter().zip(&em[kind]).map(|(a, b)| a - b).collect();
            let [within_bound, within_one, within_two] = &mut counts[kind];
            within_bound.add(&differences, bounds[kind].iter().copied());
            within_one.add(&differences, typical[kind].iter().copied());
            within_two.add(&differences, typical[kind].iter().map(|typical| 2.0 * typical));
        }
    }
    Coverage { counts, n_draws }
}

/// Each statement holds at least as often as guaranteed: over n draws, the share of draws for which it holds is at
/// least 1 − δ minus 3.9 standard deviations of a share (α = 0.00005 for each of fewer than 20 statements, so less than
/// 0.001 in total). As a control that the count can fail: 68.3 % and 95.4 % of the draws lie within one and two typical
/// deviations, averaged over statements and to within 2 %, because the update is only approximately normal (counts are
/// integers with a standard deviation of about 20).
#[test]
fn bounds_hold_as_often_as_guaranteed_and_typical_deviations_are_those_of_a_normal_distribution() {
    const DRAWS: u32 = 2000;
    println!("| model | parameters | promised | held, worst statement | within 1 typical deviation | within 2 |");
    for (name, n_columns, n_components, seed) in
        [("D = 1, K = 2", 1, 2, 1), ("D = 2, K = 2", 2, 2, 4), ("D = 2, K = 3, other means", 2, 3, 9)]
    {
        let (rows, model) = artificial(4000, n_columns, n_components, seed);
        let delta = 0.2;
        let Coverage { counts, n_draws } = coverage(&rows, &model, delta, DRAWS);
        for (kind, [bound, one, two]) in ["weights", "means", "covariances"].iter().zip(&counts) {
            let ([held, ..], one, two) = (bound.shares(n_draws), one.shares(n_draws), two.shares(n_draws));
            println!(
                "| {name} | {kind} | {:.1} % | {:.1} % | {:.1} % ({:.1}–{:.1}) | {:.1} % ({:.1}–{:.1}) |",
                100.0 * (1.0 - delta),
                100.0 * held,
                100.0 * one[1],
                100.0 * one[0],
                100.0 * one[2],
                100.0 * two[1],
                100.0 * two[0],
                100.0 * two[2],
            );
            let deviation = (delta * (1.0 - delta) / f64::from(n_draws)).sqrt();
            assert!(held >= 1.0 - delta - 3.9 * deviation, "{name}, {kind}: {held}");
            assert!((one[1] - 0.683).abs() < 0.02 + 3.3 * (0.683f64 * 0.317 / f64::from(n_draws)).sqrt(), "{one:?}");
            assert!((two[1] - 0.954).abs() < 0.02 + 3.3 * (0.954f64 * 0.046 / f64::from(n_draws)).sqrt(), "{two:?}");
        }
    }
}
