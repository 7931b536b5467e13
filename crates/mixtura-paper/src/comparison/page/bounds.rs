//! Test type 3 of the paper: single updates compared with the theoretical bounds.

use mixtura_report::{Axis, Block, Choice, Figure, Mark, Section, Series, Table};

use super::{BOUND, PAPER, SEM, Scene, TYPICAL, by_start, percent, two_digits};
use crate::comparison::{BoundRound, Held, StartBounds};

/// Maximum number of components with separate figures.
const MOST_COMPONENTS: usize = 12;

/// What figures of the largest bound leave out.
pub(crate) const GAPS: &str = "The bound is not drawn in rounds in which that of any component is void. Typical: the \
                               root mean square of the distance over draws.";

pub(crate) fn bounds(scene: &Scene<'_>) -> Option<Section> {
    let found = scene.summary.bounds.as_ref()?;
    let text = format!(
        "In each round of the first run of SEM, EM's update from the same model is computed as well. The figures show the \
         distance between the two means of a component, the paper's bound (Theorems 1 and 2; it holds for all components \
         simultaneously with probability {}) and the typical distance. Differences are nearly normal if the assignments \
         of many rows are uncertain. If those of few rows are, most differences are close to 0, and more of them are \
         within one typical deviation. {GAPS}",
        found.confidence
    );
    let choice = by_start(scene.comparison, |number, start| {
        let Some(rounds) = start.bounds.first() else {
            return vec![Block::Text("No run of this start was compared with the bounds.".into())];
        };
        let n_components = rounds.first().map_or(0, |round| round.difference.len());
        let mut options = vec![(
            "largest over all components".to_string(),
            vec![Block::Figure(bound_figure(scene, number, rounds, None))],
        )];
        for k in 0..n_components.min(MOST_COMPONENTS) {
            options.push((k.to_string(), vec![Block::Figure(bound_figure(scene, number, rounds, Some(k)))]));
        }
        vec![Block::Choice(Choice { label: "component".into(), options, group: None })]
    });
    let mut blocks = vec![Block::Text(text), choice, Block::Table(shares(scene)?)];
    blocks.push(Block::Table(by_size(scene)?));
    Some(Section { heading: "Single updates and theoretical bounds".into(), blocks })
}

/// A share as a percentage; a dash if it is one of nothing.
fn share(n: u64, all: u64) -> String {
    if all == 0 { "–".into() } else { format!("{:.2} %", 100.0 * n as f64 / all as f64) }
}

/// How many bounds held, by theorem.
fn shares(scene: &Scene<'_>) -> Option<Table> {
    let found = scene.summary.bounds.as_ref()?;
    let row = |name: &str, held: Held| {
        let share = |n: u64| share(n, held.statements);
        vec![
            name.to_string(),
            held.statements.to_string(),
            share(held.held),
            share(held.within_one),
            share(held.within_two),
        ]
    };
    let theorems = &found.theorems;
    Some(Table {
        caption: format!(
            "Bounds in {} rounds of SEM; all bounds of a round held in {} of them (expected in at least {} %). Normal \
             differences are within one typical deviation in 68 %, within two in 95 % of cases.",
            found.rounds,
            found.rounds_held,
            100.0 * found.confidence
        ),
        heading: ["", "bounds", "held", "within one typical deviation", "within two"].map(Into::into).into(),
        rows: vec![
            row("Theorem 1, weights", theorems.weight),
            row("Theorem 2, means", theorems.mean),
            row("Theorem 3, covariances", theorems.covariance),
            row("all", found.all),
        ],
        ..Table::default()
    })
}

/// The largest bound of each start, as the paper reports it.
fn by_size(scene: &Scene<'_>) -> Option<Table> {
    let found = scene.summary.bounds.as_ref()?;
    let gamma = scene.summary.gamma_mean;
    let row = |(number, start): (usize, &StartBounds)| {
        let largest = start.largest.map_or("void".into(), |largest| percent(largest / gamma));
        vec![
            (number + 1).to_string(),
            largest,
            format!("{} of {}", start.void, start.bounds),
            percent(start.largest_usable / gamma),
        ]
    };
    Some(Table {
        caption:
            "Largest bound on the distance of two means over all rounds and components, of Γ_μ. A bound is void if it \
                  exceeds Γ_μ, which no distance can, or if the component is too light for the theorems."
                .into(),
        heading: ["start", "largest bound", "void bounds", "largest that is not void"].map(Into::into).into(),
        rows: found.starts.iter().enumerate().map(row).collect(),
        ..Table::default()
    })
}

pub(crate) fn bound_figure(scene: &Scene<'_>, start: usize, rounds: &[BoundRound], component: Option<usize>) -> Figure {
    let Scene { summary, units, levels, .. } = scene;
    let x: Vec<f64> = rounds.iter().map(|round| round.round as f64).collect();
    let values = |of: &dyn Fn(&BoundRound, usize) -> f64| -> Vec<f64> {
        let at = |round: &BoundRound| match component {
            Some(k) => of(round, k),
            None => largest((0..round.difference.len()).map(|k| of(round, k))),
        };
        rounds.iter().map(at).collect()
    };
    let line = |name: &str, colour: usize, label: &str, of: &dyn Fn(&BoundRound, usize) -> f64| {
        Series::new(name, colour, vec![Mark::line(label, x.clone(), values(of))])
    };
    let is_usable = |bound: &f64| *bound <= summary.gamma_mean;
    let bound = |round: &BoundRound, k: usize| round.mean_bound[k].filter(is_usable).unwrap_or(f64::NAN);
    let mut series = vec![
        line("theoretical bound", BOUND, "at most", &bound).dashed(),
        line("typical distance", TYPICAL, "about", &|round, k| round.mean_typical[k]).dotted(),
        line("actual distance", SEM, "is", &|round, k| round.difference[k].mean),
    ];
    if let (Some(level), None) = (levels.bound, component) {
        let text = format!("paper: bound at most {} Γ_μ", two_digits(level / summary.gamma_mean));
        series.push(Series::new("the paper's largest bound", PAPER, vec![Mark::level(&text, level)]).dash_dotted());
    }
    let which = component.map_or("largest".into(), |k| format!("component-{k}"));
    let of = component.map_or("largest over components".into(), |k| format!("component {k}"));
    Figure::new(
        format!("bounds-start-{}-{which}", start + 1),
        format!("‖μ EM − μ SEM‖ after one update from the same model, {of}: {}, start {}", scene.name, start + 1),
        Axis::linear("round").rounds(),
        Axis::log(&format!("distance of means, {units}")).also("% of Γ_μ", 100.0 / summary.gamma_mean),
        series,
    )
}

/// The largest of some values; NaN if there are none or one of them is NaN, so that a void bound is not replaced by the
/// largest of the others.
fn largest(values: impl Iterator<Item = f64>) -> f64 {
    let larger = |a: f64, b: f64| if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) };
    values.reduce(larger).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_bound_was_that_of_the_others_if_one_was_void() {
        assert_eq!(largest([0.5, 2.0, 1.0].into_iter()), 2.0);
        for void in [[f64::NAN, 2.0, 1.0], [1.0, f64::NAN, 2.0], [1.0, 2.0, f64::NAN]] {
            assert!(largest(void.into_iter()).is_nan());
        }
        assert!(largest(std::iter::empty()).is_nan());
    }

    #[test]
    fn no_statements_were_counted_as_none_that_held() {
        assert_eq!((share(0, 0), share(0, 4), share(3, 4)), ("–".into(), "0.00 %".into(), "75.00 %".into()));
    }
}
