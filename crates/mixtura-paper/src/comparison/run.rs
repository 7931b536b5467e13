//! Runs both algorithms from one start.

use std::borrow::Cow;
use std::time::Instant;

use mixtura::driver::{EventKind, Problem, Quiet, Run, State, Termination};
use mixtura::sweep::Threads;
use mixtura::theory::Proximity;
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Options, Source, Start};
use serde::{Deserialize, Serialize};

use super::progress::{Meter, Work};
use super::{Difference, Plan, RoundDifferences};

/// Differences below this share of the largest possible difference count as rounding errors.
const ROUNDING: f64 = 1e-10;

/// The trace of one run of an algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// Log-likelihood of the model after each round, beginning with the start, in nats per row.
    pub ln_likelihoods: Vec<f64>,
    /// Wall time of each round.
    pub seconds: Vec<f64>,
    /// Number of components repaired in each round.
    pub repairs: Vec<usize>,
    /// Number of components whose variances were raised to the floor in each round.
    pub clippings: Vec<usize>,
    /// The result that `fit` would return after these rounds.
    pub answer: Answer,
}

/// The result of a run, in nats per row: for EM its last model, for SEM the average over its flat tail, or the best
/// model it visited if there is no average or that is worse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its log-likelihood.
    pub ln_likelihood: f64,
    /// Whether it is an average.
    pub is_average: bool,
}

/// One round of SEM compared with EM's update from the same model and with the bounds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BoundRound {
    /// Number of the round, from 1.
    pub round: u64,
    /// For each component, the difference between the two updates.
    pub difference: Vec<Difference>,
    /// For each component, the paper's bound on the distance of the means, if there is one.
    pub mean_bound: Vec<Option<f64>>,
    /// For each component, the typical distance of the means.
    pub mean_typical: Vec<f64>,
    /// For each component, the bound on the difference of the weights, if there is one.
    pub weight_bound: Vec<Option<f64>>,
    /// For each component, the typical difference of the weights.
    pub weight_typical: Vec<f64>,
    /// How many bounds held.
    pub statements: Statements,
    /// Whether a component was repaired, in which case the theorems do not apply. If variances were raised to the
    /// floor, they apply only to weights and means, and bounds on covariances are not counted.
    pub is_repaired: bool,
}

/// Bounds that held, by theorem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Statements {
    /// Theorem 1, on weights.
    pub weight: Held,
    /// Theorem 2, on coordinates of means.
    pub mean: Held,
    /// Theorem 3, on entries of covariances.
    pub covariance: Held,
}

/// How many of some differences were as small as expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Held {
    /// Number of bounds.
    pub statements: u64,
    /// Number of bounds that held.
    pub held: u64,
    /// Number of differences within one typical deviation.
    pub within_one: u64,
    /// Number of differences within two typical deviations.
    pub within_two: u64,
}

impl Held {
    /// Counts a difference. Rounding errors, below a tiny share of `unit`, count as no difference: if all assignments
    /// are certain, the typical deviation is 0.
    fn count(&mut self, difference: f64, bound: f64, typical: f64, unit: f64) {
        let is_within = |limit: f64| u64::from(difference <= limit.max(ROUNDING * unit));
        self.statements += 1;
        self.held += is_within(bound);
        self.within_one += is_within(typical);
        self.within_two += is_within(2.0 * typical);
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            statements: self.statements + other.statements,
            held: self.held + other.held,
            within_one: self.within_one + other.within_one,
            within_two: self.within_two + other.within_two,
        }
    }
}

impl Statements {
    /// Of all theorems together.
    pub fn all(&self) -> Held {
        self.weight.and(self.mean).and(self.covariance)
    }

    /// The sum of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            weight: self.weight.and(other.weight),
            mean: self.mean.and(other.mean),
            covariance: self.covariance.and(other.covariance),
        }
    }
}

/// The results of one start.
#[derive(Debug, Clone, PartialEq)]
pub struct StartResult {
    /// EM's run.
    pub em: Trace,
    /// Its last model.
    pub em_model: Mixture<FullGaussian>,
    /// SEM's runs.
    pub sem: Vec<Trace>,
    /// For each run of SEM and each round from 0, the differences between its components and EM's.
    pub differences: Vec<Vec<RoundDifferences>>,
    /// For the first runs of SEM, each round compared with the bounds.
    pub bounds: Vec<Vec<BoundRound>>,
    /// Log-likelihood of the result of `auto` within the same number of rounds, if the plan includes it.
    pub auto: Option<f64>,
}

pub(super) struct Runner<'a> {
    pub source: &'a Source<Threads<'a>>,
    pub plan: &'a Plan,
    pub meter: &'a Meter<'a>,
    pub start: u64,
}

/// The family that both algorithms fit.
type Model = Mixture<FullGaussian>;

/// A run in progress with its trace.
pub(super) struct Course<'a> {
    problem: Problem<'a, FullGaussian, Threads<'a>>,
    run: Run<FullGaussian>,
    pub(super) seconds: Vec<f64>,
    repairs: Vec<usize>,
    clippings: Vec<usize>,
}

impl Course<'_> {
    /// Runs and times one round; returns whether it was the last. Work without a kind is not part of the progress.
    pub(super) fn step(&mut self, runner: &Runner<'_>, work: Option<Work>) -> Result<bool, Error> {
        let began = Instant::now();
        let has_ended = self.run.step(&self.problem, &Quiet)?;
        if has_ended && self.run.termination() == Some(Termination::Interrupted) {
            return Err(Error::Interrupted);
        }
        let seconds = began.elapsed().as_secs_f64();
        if !has_ended {
            self.seconds.push(seconds);
            self.repairs.push(self.happened(EventKind::is_repair));
            self.clippings.push(self.happened(|kind| kind == EventKind::Clipped));
        }
        if let Some(work) = work {
            runner.meter.did(work, seconds);
        }
        Ok(has_ended)
    }

    /// Number of events of a kind in the last round.
    fn happened(&self, is_meant: impl Fn(EventKind) -> bool) -> usize {
        let State { round, events, .. } = self.run.state();
        events.iter().filter(|event| event.last == *round && is_meant(event.kind)).count()
    }

    fn model(&self) -> Cow<'_, Model> {
        self.run.model()
    }

    fn into_trace(self) -> Trace {
        let best = self.run.state().best.as_ref().map(|best| &best.model);
        let answer = self.run.answer().map_or(Answer { ln_likelihood: f64::NAN, is_average: false }, |answer| Answer {
            ln_likelihood: answer.mean_ln_likelihood,
            is_average: self.run.n_averaged() > 0 && best != Some(&answer.model),
        });
        let ln_likelihoods = self.run.state().likelihoods.clone();
        Trace { ln_likelihoods, seconds: self.seconds, repairs: self.repairs, clippings: self.clippings, answer }
    }
}

impl<'a> Runner<'a> {
    /// Runs both algorithms from one model; `None` if stopped.
    pub(super) fn run(&self, initial: &Model) -> Result<Option<StartResult>, Error> {
        let Some((em, models)) = self.em(initial)? else { return Ok(None) };
        let em_model = models.last().unwrap_or(initial).clone();
        let mut result =
            StartResult { em, em_model, sem: Vec::new(), differences: Vec::new(), bounds: Vec::new(), auto: None };
        for number in 0..self.plan.runs {
            if !self.sem(initial, &models, number, &mut result)? {
                return Ok(None);
            }
        }
        if self.plan.auto {
            result.auto = Some(self.auto(initial)?);
        }
        Ok(Some(result))
    }

    /// Runs `auto` from the start until it converges, for at most the planned number of rounds.
    fn auto(&self, initial: &Model) -> Result<f64, Error> {
        let options = self.plan.options(Algorithm::Auto).tolerance(Options::default().tolerance);
        let problem = Problem::new(self.source, initial.n_components(), Start::Model(initial.clone()), options)?;
        let mut run = problem.run_from(initial.clone(), self.start * self.plan.runs)?;
        run.go(&problem, &Quiet)?;
        if run.termination() == Some(Termination::Interrupted) {
            return Err(Error::Interrupted);
        }
        Ok(run.answer().map_or(f64::NAN, |answer| answer.mean_ln_likelihood))
    }

    /// Number of runs of this start that are compared with the bounds.
    fn n_bounded(&self) -> u64 {
        if self.start < self.plan.bound_starts { self.plan.bound_runs } else { 0 }
    }

    pub(super) fn course(&self, algorithm: Algorithm, initial: &Model, number: u64) -> Result<Course<'a>, Error> {
        // Random draws are addressed by this number, so every run has different ones.
        let restart = self.start * self.plan.runs + number;
        let (start, options) = (Start::Model(initial.clone()), self.plan.options(algorithm));
        let problem = Problem::new(self.source, initial.n_components(), start, options)?;
        let run = problem.run_from(initial.clone(), restart)?;
        Ok(Course { problem, run, seconds: Vec::new(), repairs: Vec::new(), clippings: Vec::new() })
    }

    /// Runs EM and returns the model after each round.
    fn em(&self, initial: &Model) -> Result<Option<(Trace, Vec<Model>)>, Error> {
        let mut course = self.course(Algorithm::Em, initial, 0)?;
        let mut models = vec![initial.clone()];
        while !course.step(self, Some(Work::Em))? {
            models.push(course.model().into_owned());
            if self.meter.is_stopped() {
                return Ok(None);
            }
        }
        Ok(Some((course.into_trace(), models)))
    }

    /// Runs SEM once and compares it with EM's models; returns whether it finished.
    fn sem(&self, initial: &Model, em: &[Model], number: u64, result: &mut StartResult) -> Result<bool, Error> {
        let mut course = self.course(Algorithm::Sem, initial, number)?;
        let scale = &self.source.summary().scale;
        let mut differences = vec![RoundDifferences::new(&em[0], initial, scale)];
        let mut bounds = Vec::new();
        for round in 1.. {
            let is_bounded = number < self.n_bounded() && round <= self.plan.rounds;
            let proximity = if is_bounded { Some(self.proximity(&course.model())?) } else { None };
            if course.step(self, Some(Work::Sem))? {
                break;
            }
            differences.push(RoundDifferences::new(&em[round as usize], &course.model(), scale));
            if let Some(proximity) = proximity {
                bounds.push(self.bound_round(&proximity, &course, round)?);
            }
            if self.meter.is_stopped() {
                return Ok(false);
            }
        }
        if number < self.n_bounded() {
            result.bounds.push(bounds);
        }
        result.differences.push(differences);
        result.sem.push(course.into_trace());
        Ok(true)
    }

    fn proximity(&self, model: &Model) -> Result<Proximity<FullGaussian>, Error> {
        let began = Instant::now();
        let proximity = Proximity::measure(self.source, model)?;
        self.meter.did(Work::Bounds, began.elapsed().as_secs_f64());
        Ok(proximity)
    }

    /// Compares a round with the bounds.
    fn bound_round(
        &self,
        proximity: &Proximity<FullGaussian>,
        course: &Course<'_>,
        round: u64,
    ) -> Result<BoundRound, Error> {
        let (em, sem) = (&proximity.update, &*course.model());
        let n = proximity.n_columns();
        let bounds = proximity.bounds(proximity.delta_for_all(self.plan.confidence)?)?;
        let typical = proximity.typical();
        let length = |values: &[f64]| values.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut statements = Statements::default();
        let is_clipped = course.clippings.last().is_some_and(|&n| n > 0);
        let raw = proximity.covariances.as_ref().filter(|_| !is_clipped);
        let covariances = (raw, bounds.covariance.as_ref(), typical.covariance.as_ref());
        for k in (0..proximity.n_components()).filter(|&k| bounds.valid[k]) {
            let difference = (em.weights[k] - sem.weights[k]).abs();
            statements.weight.count(difference, bounds.weight[k], typical.weight[k], 1.0);
            for d in 0..n {
                let difference = (em.components.mean(k)[d] - sem.components.mean(k)[d]).abs();
                let (bound, typical) = (bounds.mean[k * n + d], typical.mean[k * n + d]);
                statements.mean.count(difference, bound, typical, proximity.spread[d]);
            }
            if let (Some(covariances), Some(bound), Some(typical)) = covariances {
                for (i, j) in (0..n).flat_map(|i| (0..=i).map(move |j| (i, j))) {
                    let at = (k * n + i) * n + j;
                    let difference = (covariances[at] - sem.components.covariance(k)[i * n + j]).abs();
                    let unit = proximity.spread[i] * proximity.spread[j];
                    statements.covariance.count(difference, bound[at], typical[at], unit);
                }
            }
        }
        Ok(BoundRound {
            round,
            difference: (0..proximity.n_components()).map(|k| Difference::between(em, k, sem, k)).collect(),
            mean_bound: some(&proximity.euclidean_mean_bounds(self.plan.confidence, &vec![1.0; n])?),
            mean_typical: typical.mean.chunks_exact(n).map(length).collect(),
            weight_bound: some(&bounds.weight),
            weight_typical: typical.weight,
            statements,
            is_repaired: course.repairs.last().is_some_and(|&n| n > 0),
        })
    }
}

/// The finite numbers, `None` for the others.
fn some(values: &[f64]) -> Vec<Option<f64>> {
    values.iter().map(|value| value.is_finite().then_some(*value)).collect()
}
