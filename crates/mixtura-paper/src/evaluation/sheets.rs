//! Arranges figures as the paper does: one sheet for each of its figures.

use mixtura_report::{Figure, Sheet};

use super::{Evaluated, Evaluation, Origin};
use crate::Quantiles;
use crate::comparison::page::{
    Drawn, GAPS, Sign, bound_figure, by_outcome, difference_figures, grey_words, likelihood_figure,
};
use mixtura::generate::Balance;

/// The paper's figures, as far as their data was run; those of artificial data for both kinds of weights.
pub(super) fn sheets(evaluation: &Evaluation) -> Vec<Sheet> {
    let find = |name: &str| evaluation.sets.iter().find(|set| set.set.name == name);
    let mut sheets = Vec::new();
    let kinds = [(Balance::Balanced, "balanced weights"), (Balance::Unbalanced, "unbalanced weights")];
    for (balance, words) in kinds {
        let set = artificial(evaluation, 1_000_000, balance);
        sheets.extend(set.map(|set| projections(
            &format!("paper-figure-1{}", suffix(balance)),
            &format!("Figure 1 of the paper: projection of the artificial data, {words}"),
            "Dots are rows, shaded ellipses the true components, dashed ones those of EM from the first start, all of one \
             standard deviation.",
            vec![("N = 1,000,000".into(), set.projection.clone())],
        )));
    }
    let real: Vec<(String, Figure)> = ["covertype", "aloi"]
        .into_iter()
        .filter_map(find)
        .map(|set| (set.set.title.into(), set.projection.clone()))
        .collect();
    sheets.push(projections(
        "paper-figure-2",
        "Figure 2 of the paper: projections of the real data",
        "Dots are rows, ellipses the components of EM from the first start, of one standard deviation.",
        real,
    ));
    for (balance, words) in kinds {
        sheets.push(likelihoods(evaluation, balance, words));
    }
    sheets.extend(find("aloi").map(|set| differences("paper-figure-4", "Figure 4", set)));
    sheets.extend(find("covertype").map(|set| differences("paper-figure-5", "Figure 5", set)));
    // Figures 6 and 7 are beside each other.
    for (balance, _) in kinds {
        for (number, n_rows) in [(6, 1_000_000), (7, 10_000)] {
            let set = artificial(evaluation, n_rows, balance);
            let name = format!("paper-figure-{number}{}", suffix(balance));
            sheets.extend(set.map(|set| differences(&name, &format!("Figure {number}"), set)));
        }
    }
    for (balance, words) in kinds {
        let sets = [
            find("covertype"),
            artificial(evaluation, 1_000_000, balance),
            find("aloi"),
            artificial(evaluation, 10_000, balance),
        ];
        let panel = |set: &Evaluated| {
            let rounds = set.comparison.starts.first()?.bounds.first()?;
            Some((set.set.title.to_string(), bound_figure(&set.scene(), 0, rounds, None)))
        };
        sheets.push(sheet(
            &format!("paper-figure-8{}", suffix(balance)),
            &format!("Figure 8 of the paper: distance of the means after one update, and its bound; {words}"),
            &format!("Largest over components, from the first start. {GAPS}"),
            2,
            sets.into_iter().flatten().filter_map(panel).collect(),
        ));
    }
    sheets.retain(|sheet| !sheet.panels.is_empty());
    sheets
}

fn suffix(balance: Balance) -> &'static str {
    if balance == Balance::Balanced { "" } else { "-unbalanced" }
}

fn sheet(name: &str, title: &str, caption: &str, columns: usize, panels: Vec<(String, Figure)>) -> Sheet {
    let in_one_row = false;
    Sheet { name: name.into(), title: title.into(), caption: caption.into(), columns, in_one_row, panels }
}

/// Projections beside each other; shades are explained if there are any.
fn projections(name: &str, title: &str, caption: &str, panels: Vec<(String, Figure)>) -> Sheet {
    let has_shades = panels.iter().any(|(_, figure)| figure.shading.is_some());
    let shades = if has_shades { " The heavier a component, the stronger its shade." } else { "" };
    sheet(name, title, &format!("{caption}{shades}"), 2, panels)
}

fn artificial(evaluation: &Evaluation, n_rows: usize, balance: Balance) -> Option<&Evaluated> {
    evaluation.sets.iter().find(|set| set.set.origin == Origin::Artificial { n_rows, balance })
}

/// The likelihoods: one start with many rows, and three with few rows, where SEM ends in the middle, highest and lowest
/// compared with EM.
fn likelihoods(evaluation: &Evaluation, balance: Balance, words: &str) -> Sheet {
    let panel = |set: &Evaluated, start: usize, what: &str| {
        let figure = likelihood_figure(&set.scene(), start, &set.comparison.starts[start], Sign::Negative);
        (format!("{what}, start {}", start + 1), figure)
    };
    let mut panels = Vec::new();
    let mut runs = None;
    if let Some(set) = artificial(evaluation, 1_000_000, balance) {
        panels.push(panel(set, 0, "N = 1,000,000"));
        runs = Some(set.scene().runs());
    }
    if let Some(set) = artificial(evaluation, 10_000, balance) {
        let order = by_outcome(&set.comparison.starts);
        let (middle, highest) = (order[order.len() / 2], order[order.len() - 1]);
        let picks = [(middle, "SEM in the middle"), (highest, "SEM's highest"), (order[0], "SEM's lowest")];
        runs = Some(set.scene().runs());
        panels.extend(picks.map(|(start, what)| panel(set, start, &format!("N = 10,000, {what}"))));
    }
    let caption = format!(
        "SEM's line is the median over {}, the dark band the quartiles, the light band minimum and maximum. With 10,000 \
         rows: the starts from which the log-likelihood of SEM's median run ends in the middle, highest and lowest \
         compared with that of EM.",
        runs.unwrap_or_default()
    );
    let title = format!("Figure 3 of the paper: negative log-likelihood of EM and SEM; {words}");
    let arranged = sheet(&format!("paper-figure-3{}", suffix(balance)), &title, &caption, 2, panels);
    Sheet { in_one_row: true, ..arranged }
}

/// The differences of weights, means and covariances from the start that is typical by the largest difference of means.
fn differences(name: &str, number: &str, set: &Evaluated) -> Sheet {
    let starts = &set.comparison.starts;
    let largest = |start: &crate::comparison::StartDigest| {
        start.unmatched.mean.iter().flatten().map(|five| five.median).fold(0.0, f64::max)
    };
    let median = Quantiles::of(starts.iter().map(largest)).median;
    let away = |start: usize| (largest(&starts[start]) - median).abs();
    let typical = (0..starts.len()).min_by(|&a, &b| away(a).total_cmp(&away(b))).unwrap_or(0);
    let scene = set.scene();
    let drawn = difference_figures(&scene, "unmatched", typical, &starts[typical].unmatched, scene.levels);
    let parts = ["weights", "means", "covariances"];
    let far = |(part, drawn): (&&str, &Drawn)| Some(format!("{part} {}", drawn.beyond.as_ref()?));
    let far: Vec<String> = parts.iter().zip(&drawn).filter_map(far).collect();
    let caption = format!(
        "Absolute values, for components of the same number, as in the paper; a line is the median over {} of SEM, a band \
         the quartiles. {} The start is the one whose largest difference of means is the median over all starts.",
        scene.runs(),
        grey_words(set.set.n_components)
    );
    let far = match far.join("; ") {
        far if far.is_empty() => far,
        far => format!(" The paper's values are far above what is drawn: {far}."),
    };
    let headings = ["weights, |w EM − w SEM|", "means, ‖μ EM − μ SEM‖", "covariances, ‖Σ EM − Σ SEM‖"];
    let figures = drawn.into_iter().map(|drawn| drawn.figure);
    sheet(
        name,
        &format!("{number} of the paper: EM and SEM after each round, {}, start {}", set.set.title, typical + 1),
        &format!("{caption}{far}"),
        1,
        headings.into_iter().map(String::from).zip(figures).collect(),
    )
}
