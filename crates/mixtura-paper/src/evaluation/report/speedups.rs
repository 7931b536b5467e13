//! Shows how much faster rounds of SEM are, by the numbers of columns and components.

use mixtura_report::{Axis, Block, Figure, Mark, Section, Series, Table};

use crate::comparison::page::PAPER;
use crate::evaluation::{Speedup, SpeedupPlan};

pub(super) fn section(speedups: &[Speedup]) -> Section {
    let blocks = vec![Block::Figure(figure(speedups)), Block::Table(table(speedups))];
    Section { heading: "Speedup by shape".into(), blocks }
}

/// EM ÷ SEM against the number of columns, for several numbers of components.
fn figure(speedups: &[Speedup]) -> Figure {
    let mut components: Vec<usize> = speedups.iter().map(|speedup| speedup.plan.n_components).collect();
    components.sort_unstable();
    components.dedup();
    let numbered = || components.iter().enumerate();
    let of_k = |k: usize| speedups.iter().filter(move |speedup| speedup.plan.n_components == k);
    let x = |k: usize| of_k(k).map(|speedup| speedup.plan.n_columns as f64).collect::<Vec<f64>>();
    let each = |k: usize, of: fn(&Speedup) -> f64| of_k(k).map(of).collect::<Vec<f64>>();
    let measured = |(colour, &k): (usize, &usize)| {
        let (low, high) = (
            each(k, |speedup| speedup.timing.speedup.lower_quartile),
            each(k, |speedup| speedup.timing.speedup.upper_quartile),
        );
        let median = Mark::line("median", x(k), each(k, |speedup| speedup.timing.speedup.median));
        Series::new(&format!("K = {k}"), colour, vec![Mark::band("quartiles", x(k), low, high), median])
    };
    let counted = |(colour, &k): (usize, &usize)| {
        let line = Mark::line("operations", x(k), each(k, Speedup::operations));
        Series::new(&format!("K = {k}, operations of the kernels"), colour, vec![line]).dashed().thin()
    };
    // More than the least and the greatest would hide what was measured.
    let ends = [components.first(), components.last()];
    let mut drawn: Vec<Series> = numbered().map(measured).collect();
    drawn.extend(numbered().filter(|(_, k)| ends.contains(&Some(*k))).map(counted));
    // Speedups grow with the number of columns, so that there is room on the left.
    let count = Mark::level_from_left("operations as the paper counts them: 2", 2.0);
    drawn.push(Series::new("the paper's count", PAPER, vec![count]).dash_dotted());
    Figure::new(
        "speedup",
        "Time of a round of EM divided by that of SEM, full covariances",
        Axis::log("columns, D"),
        Axis::linear("EM ÷ SEM").from_zero(),
        drawn,
    )
}

fn table(speedups: &[Speedup]) -> Table {
    let row = |speedup: &Speedup| {
        let SpeedupPlan { n_columns, n_components, n_rows } = speedup.plan;
        vec![
            n_columns.to_string(),
            n_components.to_string(),
            n_rows.to_string(),
            format!("{:.2}", 1e3 * speedup.timing.em_seconds),
            format!("{:.2}", 1e3 * speedup.timing.sem_seconds),
            format!("{:.2}", speedup.timing.speedup.median),
            "2".into(),
            format!("{:.2}", speedup.operations()),
        ]
    };
    Table {
        caption:
            "Rounds of both algorithms timed in turn; EM ÷ SEM as measured, as the paper counts multiplications, and \
                  as the kernels' multiply-adds are counted"
                .into(),
        heading: ["D", "K", "N", "EM, ms", "SEM, ms", "EM ÷ SEM", "paper's count", "kernels' count"]
            .map(Into::into)
            .into(),
        rows: speedups.iter().map(row).collect(),
        ..Table::default()
    }
}
