//! Tests the public interface against reference implementations, golden files and known mathematics.

#![allow(clippy::unwrap_used)] // also outside of test functions

mod accelerate;
mod auto;
mod averages;
mod certified;
mod conformance;
mod degenerate;
mod disassembly;
mod draws;
mod far_values;
mod layouts;
mod misuse;
mod monotone;
mod near;
mod online;
mod race;
mod readme;
mod reference;
mod reproducible;
mod saem;
mod scale_free;
mod seams;
mod starts;
mod stopping;
mod stored;
mod theory;
mod trajectory;
mod weighted;

use mixtura::driver::Quiet;
use mixtura::generate::Artificial;
use mixtura::{Algorithm, Error, Fit, FullGaussian, Mixture, Options, Rows, Source, Start, fit};

/// Rows of an artificial mixture, and the mixture.
pub(crate) fn artificial(
    n_rows: usize,
    n_columns: usize,
    n_components: usize,
    seed: u64,
) -> (Rows<'static>, Mixture<FullGaussian>) {
    let shape = Artificial { n_columns, n_components, separation: 1.0, ..Artificial::default() };
    let model = shape.mixture(seed).unwrap();
    let (values, _) = model.sample(0..n_rows, seed).unwrap();
    (Rows::from_vec(values, n_columns).unwrap(), model)
}

/// Fits rows in memory.
pub(crate) fn fit_rows(
    rows: &Rows<'_>,
    n_components: usize,
    start: &Start<FullGaussian>,
    options: &Options,
) -> Result<Fit<FullGaussian>, Error> {
    fit(&Source::of(rows)?, n_components, start, options, &Quiet)
}

/// The default options with one start; more of them do not race.
pub(crate) fn single() -> Options {
    Options::default().restarts(1).race(false)
}

/// The same with EM as the algorithm.
pub(crate) fn em() -> Options {
    single().algorithm(Algorithm::Em)
}

/// A fixed number of rounds of EM.
pub(crate) fn rounds(rounds: u64) -> Options {
    em().rounds(rounds).tolerance(0.0)
}

/// The initial model of a fit.
pub(crate) fn started(
    rows: &Rows<'_>,
    n_components: usize,
    start: &Start<FullGaussian>,
    seed: u64,
) -> Mixture<FullGaussian> {
    fit_rows(rows, n_components, start, &rounds(0).seed(seed)).unwrap().model
}

/// Asserts that two numbers agree up to a relative error, or up to an absolute one if both are below `scale`.
#[track_caller]
pub(crate) fn assert_close(a: f64, b: f64, tolerance: f64, scale: f64) {
    assert!((a - b).abs() <= tolerance * a.abs().max(b.abs()).max(scale), "{a:e} and {b:e}");
}

/// Asserts that all parameters of two mixtures agree; means are compared in standard deviations.
#[track_caller]
pub(crate) fn assert_models_close(a: &Mixture<FullGaussian>, b: &Mixture<FullGaussian>, tolerance: f64) {
    let n = a.components.mean(0).len();
    for k in 0..a.n_components() {
        assert_close(a.weights[k], b.weights[k], tolerance, 0.0);
        let (p, q) = (a.components.covariance(k), b.components.covariance(k));
        for i in 0..n {
            let deviation = q[i * n + i].sqrt();
            assert_close(a.components.mean(k)[i] / deviation, b.components.mean(k)[i] / deviation, tolerance, 1.0);
            for j in 0..n {
                let scale = (q[i * n + i] * q[j * n + j]).sqrt();
                assert_close(p[i * n + j] / scale, q[i * n + j] / scale, tolerance, 1.0);
            }
        }
    }
}
