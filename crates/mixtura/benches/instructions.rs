//! Counts the instructions of every kernel and of whole rounds; run by `bench/instructions`.
//!
//! A count does not depend on the load of the machine, so even an increase of a few per cent is significant.

// The macros of gungraun generate public items without documentation.
#![allow(missing_docs, unreachable_pub)]

use std::hint::black_box;

use gungraun::{Callgrind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main};
use mixtura::driver::{Lagged, Problem, Quiet, Run};
use mixtura::family::Family;
use mixtura::generate::Artificial;
use mixtura::internals::Chunk;
use mixtura::rows::RowsBuilder;
use mixtura::sweep::Threads;
use mixtura::{Algorithm, Error, FullGaussian, Mixture, Options, Rows, Source, Start};

/// Rows of the benchmarks of whole rounds: four chunks.
const N_ROWS: usize = 4096;

/// Boxed, so that passing it on costs almost nothing.
fn chunk(n_columns: usize, n_components: usize) -> Box<Chunk> {
    Box::new(Chunk::new(n_columns, n_components).expect("invariant: artificial mixtures are sound"))
}

/// One benchmark for each kernel that takes components.
macro_rules! of_components {
    ($($kernel:ident)*) => {$(
        #[library_benchmark(setup = chunk)]
        #[bench::d10_k10(10, 10)]
        #[bench::d27_k3(27, 3)]
        #[bench::d50_k20(50, 20)]
        #[bench::d10_k100(10, 100)]
        fn $kernel(mut chunk: Box<Chunk>) -> Box<Chunk> {
            chunk.$kernel();
            black_box(chunk)
        }
    )*};
}

/// One benchmark for each kernel that takes only columns.
macro_rules! of_columns {
    ($($kernel:ident)*) => {$(
        #[library_benchmark(setup = chunk)]
        #[bench::d10(10, 1)]
        #[bench::d27(27, 1)]
        #[bench::d50(50, 1)]
        fn $kernel(mut chunk: Box<Chunk>) -> Box<Chunk> {
            chunk.$kernel();
            black_box(chunk)
        }
    )*};
}

of_components!(whiten narrow_whiten softmax apportion draw largest narrow_draw dot_products add_weighted add_labelled);
of_columns!(transpose centre narrow scale products squared_deviations);

fn separated_chunk(n_columns: usize, n_components: usize) -> Box<Chunk> {
    Box::new(Chunk::separated(n_columns, n_components).expect("invariant: artificial mixtures are sound"))
}

/// One benchmark for each kernel that skips distant components.
macro_rules! of_near_components {
    ($($kernel:ident)*) => {$(
        #[library_benchmark(setup = separated_chunk)]
        #[bench::d10_k100_c6(10, 100)]
        fn $kernel(mut chunk: Box<Chunk>) -> Box<Chunk> {
            chunk.$kernel();
            black_box(chunk)
        }
    )*};
}

of_near_components!(whiten_near narrow_whiten_near);

/// A run before its only round.
struct Round {
    problem: Problem<'static, FullGaussian, Threads<'static>>,
    run: Run<FullGaussian>,
}

/// Ends a run after one round, without evaluating its model.
const ONE_ROUND: Lagged =
    Lagged { tolerance: 0.0, previous: f64::NAN, first_excess: 0.0, refuses_singular: false, refuses_empty: false };

/// A round on the calling thread, from the model that the rows were drawn from; an earlier round has allocated the
/// buffers.
fn round(algorithm: Algorithm, n_columns: usize, n_components: usize, separation: f64) -> Box<Round> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
    pool.build_global().expect("invariant: the first pool of this process");
    let prepare = || -> Result<Round, Error> {
        let model = Artificial { n_columns, n_components, separation, ..Artificial::default() }.mixture(1)?;
        let rows: &'static Rows<'static> = Box::leak(Box::new(rows(&model)?));
        let source: &'static Source<_> = Box::leak(Box::new(Source::of(rows)?));
        let options = Options::default().algorithm(algorithm).restarts(1).rounds(1).tolerance(0.0);
        let problem = Problem::new(source, n_components, Start::Model(model.clone()), options)?.with_rule(ONE_ROUND);
        problem.run_from(model.clone(), 0)?.go(&problem, &Quiet)?;
        Ok(Round { run: problem.run_from(model, 0)?, problem })
    };
    Box::new(prepare().expect("invariant: artificial mixtures are sound"))
}

fn rows(model: &Mixture<FullGaussian>) -> Result<Rows<'static>, Error> {
    let n_columns = model.components.n_columns();
    let mut builder = RowsBuilder::<f64>::new(n_columns)?;
    let (values, _) = model.sample(0..N_ROWS, 1)?;
    values.chunks_exact(n_columns).try_for_each(|row| builder.push_row(row))?;
    builder.finish()
}

/// One benchmark for each algorithm.
macro_rules! rounds {
    ($($name:ident $algorithm:ident)*) => {$(
        #[library_benchmark(setup = round)]
        #[bench::d10_k10(Algorithm::$algorithm, 10, 10, 0.6)]
        #[bench::d27_k3(Algorithm::$algorithm, 27, 3, 0.6)]
        #[bench::d50_k20(Algorithm::$algorithm, 50, 20, 0.6)]
        #[bench::d10_k100_c6(Algorithm::$algorithm, 10, 100, 6.0)]
        fn $name(mut round: Box<Round>) -> Box<Round> {
            round.run.step(&round.problem, &Quiet).expect("invariant: artificial mixtures are sound");
            black_box(round)
        }
    )*};
}

rounds!(em_round Em sem_round Sem cem_round Cem);

library_benchmark_group!(
    name = kernels,
    benchmarks = [
        whiten,
        whiten_near,
        narrow_whiten,
        narrow_whiten_near,
        softmax,
        apportion,
        draw,
        largest,
        narrow_draw,
        dot_products,
        add_weighted,
        add_labelled,
        transpose,
        centre,
        narrow,
        scale,
        products,
        squared_deviations
    ]
);
library_benchmark_group!(name = algorithms, benchmarks = [em_round, sem_round, cem_round]);

main!(
    config = LibraryBenchmarkConfig::default().tool(Callgrind::with_args(["--cache-sim=no"])),
    library_benchmark_groups = [kernels, algorithms]
);
