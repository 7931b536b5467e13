//! Times of rounds beside the number of operations, and repairs.

use mixtura_report::{Block, Section, Table};

use super::Scene;
use crate::comparison::Operations;

pub(crate) fn speed(scene: &Scene<'_>) -> Section {
    let time = &scene.summary.time;
    let row = |name: &str, seconds: f64, operations: &Operations| {
        let Operations { paper, densities, posteriors, statistics } = operations;
        let counts = [*paper, *densities, *posteriors, *statistics, operations.total()];
        let mut cells = vec![name.to_string(), format!("{:.3}", 1e3 * seconds)];
        cells.extend(counts.map(|count| format!("{count:.2e}")));
        cells.push(format!("{:.1}", 1e-9 * operations.total() / seconds));
        cells
    };
    let (em, sem) = (&time.em_operations, &time.sem_operations);
    let ratio = |of: fn(&Operations) -> f64| format!("{:.2}", of(em) / of(sem));
    let threads = scene.comparison.n_threads;
    let how = match &scene.comparison.timing {
        Some(timing) => format!("{} rounds of each algorithm in turn", timing.rounds),
        None => "all rounds of the comparison".into(),
    };
    let table = Table {
        caption: format!(
            "Median wall time of a round on {threads} thread{}, over {how}; multiplications as counted in the paper; \
             multiply-adds as the kernels do them, and how many of them per second",
            if threads == 1 { "" } else { "s" }
        ),
        heading: [
            "",
            "ms",
            "the paper's count",
            "densities",
            "posteriors",
            "statistics",
            "all three",
            "10⁹ per second",
        ]
        .map(Into::into)
        .into(),
        rows: vec![
            row("EM", time.em_seconds, em),
            row("SEM", time.sem_seconds, sem),
            vec![
                "EM ÷ SEM".into(),
                format!("{:.2}", time.speedup),
                ratio(|count| count.paper),
                ratio(|count| count.densities),
                ratio(|count| count.posteriors),
                ratio(|count| count.statistics),
                ratio(Operations::total),
                String::new(),
            ],
        ],
        ..Table::default()
    };
    let text = "Where SEM does fewer operations per second than EM, the rest of its round is what the count leaves out: \
                drawing labels, gathering rows by label, and loading the data. Where it does more, it draws in single \
                precision.";
    let blocks = vec![Block::Table(table), Block::Text(text.into()), Block::Text(scene.summary.repairs.sentence())];
    Section { heading: "Speed and repairs".into(), blocks }
}
