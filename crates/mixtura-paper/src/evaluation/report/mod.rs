//! The HTML report of the evaluation.

mod speedups;
mod verdict;

use mixtura_report::{Block, Choice, Figure, Finding, Page, Section, Table, Tone, Verdicts, prefix_names};

use super::sheets::sheets;
use super::{Claim, DataSet, Origin, Scale, Specimen, SpecimenPlan, Speedup, Verdict};
use crate::Quantiles;
use crate::comparison::page::{
    Levels, NUMBERS, SCALED, Scene, Sign, bounds, differences, in_words, likelihoods, speed,
};
use crate::comparison::{Comparison, Summary};

/// Everything that was evaluated.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evaluation {
    /// The scale.
    pub scale: Scale,
    /// The paper's data sets.
    pub sets: Vec<Evaluated>,
    /// Other artificial mixtures.
    pub specimens: Vec<Specimen>,
    /// Times of other shapes.
    pub speedups: Vec<Speedup>,
    /// What could not be run, and why.
    pub missing: Vec<String>,
}

/// A data set with the results of its experiments.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluated {
    /// The data set.
    pub set: DataSet,
    /// The results.
    pub comparison: Comparison,
    /// Their summary.
    pub summary: Summary,
    /// A projection of its rows and of a model.
    pub projection: Figure,
}

impl Evaluated {
    /// What figures say about it.
    pub(super) fn scene(&self) -> Scene<'_> {
        let Self { set, comparison, summary, .. } = self;
        let (mean, covariance) = (summary.gamma_mean, summary.gamma_covariance);
        Scene {
            comparison,
            summary,
            name: set.title,
            units: match set.origin {
                Origin::Artificial { .. } => "data units",
                Origin::File { .. } => SCALED,
            },
            levels: Levels {
                weight: set.claims.weight,
                mean: set.claims.mean.map(|value| value * mean),
                covariance: set.claims.covariance.map(|value| value * covariance),
                bound: set.claims.bound.map(|value| value * mean),
            },
        }
    }
}

/// The report of an evaluation; `footer` says how to repeat it.
pub fn page(evaluation: &Evaluation, claims: &[Claim], footer: String) -> Page {
    let Evaluation { scale, sets, specimens, speedups, missing } = evaluation;
    let mut sections = vec![Section {
        heading: format!("The paper's claims, {} run", scale.name()),
        blocks: std::iter::once(Block::Text(measures(*scale)))
            .chain([Block::Table(claims_table(claims))])
            .chain(missing.iter().map(|text| Block::Text(text.clone())))
            .collect(),
    }];
    let drawn = sheets(evaluation);
    if !drawn.is_empty() {
        let blocks = drawn.into_iter().map(Block::Sheet).collect();
        sections.push(Section { heading: "The paper's figures, in its layout".into(), blocks });
    }
    if !sets.is_empty() {
        sections.push(by_set("The data sets", sets, |set| vec![Block::Figure(set.projection.clone())]));
        sections.push(by_set("Likelihood", sets, |set| likelihoods(&set.scene(), Sign::Negative).blocks));
        sections.push(by_set("Intermediate solutions", sets, |set| differences(&set.scene()).blocks));
        sections.push(by_set("Single updates and theoretical bounds", sets, |set| {
            bounds(&set.scene()).map_or(Vec::new(), |section| section.blocks)
        }));
        sections.push(by_set("Speed and repairs", sets, |set| speed(&set.scene()).blocks));
    }
    if !speedups.is_empty() {
        sections.push(speedups::section(speedups));
    }
    if !specimens.is_empty() {
        let blocks = vec![Block::Table(specimens_table(specimens))];
        sections.push(Section { heading: "Other artificial mixtures".into(), blocks });
    }
    Page {
        title: "EM and stochastic EM: the paper's evaluation".into(),
        subtitle: "Blömer, Bujna and Kuntze 2014, Section 3, on this machine".into(),
        verdict: verdict::sentence(claims, *scale),
        findings: sets.iter().map(card).collect(),
        sections,
        footer,
    }
}

/// How claims are judged.
fn measures(scale: Scale) -> String {
    let runs = match scale {
        Scale::Quick => {
            "This is a quick run with 3 starts and 5 runs of SEM from each; its verdicts may change at full scale."
        }
        Scale::Full => "There are 30 starts and 100 runs of SEM from each, as in the paper.",
    };
    format!(
        "{runs} Likelihoods are those of the last models. Differences are between components of the same number: for each \
         start the largest over rounds and components of the median over runs. Bounds are the largest over rounds and \
         components of each start. A claim about all starts holds if it is true of all of them, and holds with a limit if \
         it is true of more than half. Γ_μ = √D·Δ and Γ_Σ = D·Δ² are the largest possible differences. Log-likelihoods \
         count as equal if they differ by at most p/(2N) nats per row for p parameters and N rows, and at most 0.001 if \
         that is more. This is a convention: p/2 is by how much a fitted model's log-likelihood exceeds the true one's on \
         average. {NUMBERS}"
    )
}

fn card(set: &Evaluated) -> Finding {
    let outcomes = &set.summary.outcomes;
    let runs = outcomes.runs;
    Finding {
        name: set.set.title.into(),
        value: in_words(&outcomes.starts),
        label: format!(
            "starts, by SEM's median run compared with EM; of {} runs {} ended equal, {} better and {} worse; SEM {:.2} \
             times as fast",
            runs.total(),
            runs.equal,
            runs.better,
            runs.worse,
            set.summary.time.speedup
        ),
        tone: if runs.worse == 0 { Tone::Good } else { Tone::Neutral },
    }
}

/// A section that follows the page's choice of a data set.
fn by_set(heading: &str, sets: &[Evaluated], blocks: impl Fn(&Evaluated) -> Vec<Block>) -> Section {
    let option = |set: &Evaluated| {
        let mut blocks = blocks(set);
        prefix_names(&mut blocks, &format!("{}-", set.set.name));
        (set.set.title.to_string(), blocks)
    };
    let group = Some("data set".to_string());
    let choice = Choice { label: "data set".into(), options: sets.iter().map(option).collect(), group };
    Section { heading: heading.into(), blocks: vec![Block::Choice(choice)] }
}

fn claims_table(claims: &[Claim]) -> Table {
    let row = |claim: &Claim| {
        vec![
            claim.claim.clone(),
            claim.about.clone(),
            claim.paper.clone(),
            claim.here.clone(),
            claim.verdict.words().into(),
            claim.because.clone(),
        ]
    };
    let tone = |claim: &Claim| match claim.verdict {
        Verdict::Holds => Tone::Good,
        Verdict::Fails => Tone::Caution,
        Verdict::Limited | Verdict::Untested => Tone::Neutral,
    };
    let (left_out, told): (Vec<&Claim>, Vec<&Claim>) = claims.iter().partition(|claim| claim.was_not_run());
    let mut rows: Vec<Vec<String>> = told.iter().copied().map(row).collect();
    let mut tones: Vec<Tone> = told.iter().copied().map(tone).collect();
    match left_out[..] {
        [] => {}
        [one] => rows.push(row(one)),
        [..] => {
            let others = format!("{} other tests of claims", left_out.len());
            let because = "their data was not part of this run";
            let cells = [others.as_str(), "", "", "", Verdict::Untested.words(), because];
            rows.push(cells.map(String::from).to_vec());
        }
    }
    tones.resize(rows.len(), Tone::Neutral);
    Table {
        caption: "Every claim of the paper's evaluation, and the conclusion here".into(),
        heading: ["claim", "about", "paper", "here", "conclusion", "remark"].map(Into::into).into(),
        rows,
        verdicts: Some(Verdicts { column: 4, tones }),
    }
}

/// A table with one line per D, K, N, separation and kind of weights: medians over the parameter vectors.
fn specimens_table(specimens: &[Specimen]) -> Table {
    let mut groups: Vec<Vec<Specimen>> = Vec::new();
    let shape = |specimen: &Specimen| SpecimenPlan { seed: 0, ..specimen.plan };
    for &specimen in specimens {
        match groups.iter_mut().find(|group| shape(&group[0]) == shape(&specimen)) {
            Some(group) => group.push(specimen),
            None => groups.push(vec![specimen]),
        }
    }
    let row = |group: &Vec<Specimen>| {
        let plan = &group[0].plan;
        let median = |of: fn(&Specimen) -> f64| Quantiles::of(group.iter().map(of)).median;
        let sum = |of: fn(&Specimen) -> usize| group.iter().map(of).sum::<usize>();
        vec![
            format!("{} × {}, K = {}", plan.n_rows, plan.n_columns, plan.n_components),
            format!("{:?}", plan.balance).to_lowercase(),
            format!("{:.2}", median(|specimen| specimen.separation)),
            format!("{:.1} %", 100.0 * median(|specimen| specimen.bayes_error)),
            format!("{:.1}", median(|specimen| specimen.spread)),
            format!("{:+.5}", median(|specimen| specimen.gap)),
            format!(
                "{} / {} / {}",
                sum(|specimen| specimen.outcomes.runs.better),
                sum(|specimen| specimen.outcomes.runs.equal),
                sum(|specimen| specimen.outcomes.runs.worse)
            ),
            format!("{:.4} %", 100.0 * median(|specimen| specimen.mean_difference)),
            format!("{:.2}", median(|specimen| specimen.timing.speedup.median)),
        ]
    };
    Table {
        caption: format!(
            "EM and SEM from the paper's random starts, 50 rounds, {}. Components overlap if the c-separation (Dasgupta \
             1999) is below 1. The Bayes error is the share of rows that even the true model assigns to the wrong \
             component. Differences are between the last models; means are matched.",
            match groups.first().map_or(0, Vec::len) {
                1 => "one parameter vector each".into(),
                n => format!("medians over {n} parameter vectors"),
            }
        ),
        heading: [
            "mixture",
            "weights",
            "c",
            "Bayes error",
            "spread",
            "SEM − EM, nats per row",
            "runs better / equal / worse",
            "means, of Γ_μ",
            "EM ÷ SEM",
        ]
        .map(Into::into)
        .into(),
        rows: groups.iter().map(row).collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluation::claims;

    #[test]
    fn claims_without_data_filled_the_table() {
        let claims = claims(&Evaluation::default());
        let table = claims_table(&claims);
        assert_eq!(table.rows.len(), 1);
        assert_eq!(table.rows[0][0], format!("{} other tests of claims", claims.len()));
        assert_eq!(table.verdicts.unwrap().tones.len(), 1);
    }
}
