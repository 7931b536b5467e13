//! The HTML report of the evaluation.

use mixtura_report::{Block, Choice, Figure, Page, Section, Table, Tone, prefix_names};

use super::{DataSet, Finding, Specimen, SpecimenPlan};
use crate::Quantiles;
use crate::comparison::page::{Sign, bounds, differences, likelihoods, speed};
use crate::comparison::{Comparison, Summary};

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

/// The report of an evaluation; `missing` lists what could not be run, `footer` says how to repeat it.
pub fn page(
    evaluated: &[Evaluated],
    specimens: &[Specimen],
    findings: &[Finding],
    missing: &[String],
    footer: String,
) -> Page {
    let n_agree = findings.iter().filter(|finding| finding.agrees).count();
    let mut sections = vec![Section {
        heading: "Findings compared with the paper".into(),
        blocks: std::iter::once(Block::Table(findings_table(findings)))
            .chain(missing.iter().map(|text| Block::Text(text.clone())))
            .collect(),
    }];
    if !evaluated.is_empty() {
        let units = |set: &Evaluated| units_of(set).to_string();
        sections.push(by_set("The data sets", evaluated, |set| vec![Block::Figure(set.projection.clone())]));
        sections.push(by_set("Likelihood", evaluated, |set| {
            likelihoods(&set.comparison, &set.summary, Sign::Negative).blocks
        }));
        sections.push(by_set("Intermediate solutions", evaluated, |set| {
            differences(&set.comparison, &set.summary, &units(set)).blocks
        }));
        sections.push(by_set("Single updates and theoretical bounds", evaluated, |set| {
            bounds(&set.comparison, &set.summary, &units(set)).map_or(Vec::new(), |section| section.blocks)
        }));
        sections.push(by_set("Speed and repairs", evaluated, |set| speed(&set.comparison, &set.summary).blocks));
    }
    if !specimens.is_empty() {
        let blocks = vec![Block::Table(specimens_table(specimens))];
        sections.push(Section { heading: "Other artificial mixtures".into(), blocks });
    }
    Page {
        title: "EM and stochastic EM: the paper's evaluation".into(),
        subtitle: "Blömer, Bujna and Kuntze 2014, Section 3, on this machine".into(),
        verdict: format!("{n_agree} of {} findings of the paper agree with the results here.", findings.len()),
        findings: evaluated.iter().map(card).collect(),
        sections,
        footer,
    }
}

fn units_of(set: &Evaluated) -> &'static str {
    match set.set.origin {
        super::Origin::Artificial { .. } => "data units",
        super::Origin::File { .. } => "units of the scaled columns",
    }
}

fn card(set: &Evaluated) -> mixtura_report::Finding {
    let outcomes = &set.summary.outcomes;
    mixtura_report::Finding {
        value: format!("{:.2}×", set.summary.time.speedup),
        label: format!(
            "{}: speedup of SEM; better / equal / worse from {} / {} / {} starts",
            set.set.title, outcomes.better, outcomes.equal, outcomes.worse
        ),
        tone: if outcomes.worse == 0 { Tone::Good } else { Tone::Neutral },
    }
}

/// A section with a choice of data sets.
fn by_set(heading: &str, evaluated: &[Evaluated], blocks: impl Fn(&Evaluated) -> Vec<Block>) -> Section {
    let option = |set: &Evaluated| {
        let mut blocks = blocks(set);
        prefix_names(&mut blocks, &format!("{}-", set.set.name));
        (set.set.title.to_string(), blocks)
    };
    let choice = Choice { label: "data set".into(), group: None, options: evaluated.iter().map(option).collect() };
    Section { heading: heading.into(), blocks: vec![Block::Choice(choice)] }
}

fn findings_table(findings: &[Finding]) -> Table {
    let row = |finding: &Finding| {
        let agrees = if finding.agrees { "yes" } else { "no" };
        vec![finding.what.clone(), finding.paper.clone(), finding.ours.clone(), agrees.into(), finding.sentence.clone()]
    };
    Table {
        caption: "Γ_μ = √D·Δ and Γ_Σ = D·Δ² are the largest possible differences".into(),
        heading: ["finding", "paper", "here", "agrees", "because"].map(Into::into).into(),
        rows: findings.iter().map(row).collect(),
        ..Table::default()
    }
}

/// A table with one line per D, K, N and kind of weights: medians over the parameter vectors.
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
        vec![
            format!("{} × {}, K = {}", plan.n_rows, plan.n_columns, plan.n_components),
            format!("{:?}", plan.balance).to_lowercase(),
            group.len().to_string(),
            format!("{:.2}", median(|specimen| specimen.separation)),
            format!("{:.1} %", 100.0 * median(|specimen| specimen.bayes_error)),
            format!("{:.1}", median(|specimen| specimen.spread)),
            format!("{:+.5}", median(|specimen| specimen.gap)),
            format!("{:.5}", median(|specimen| specimen.mean_difference)),
            format!("{:.2}", median(|specimen| specimen.em_milliseconds)),
            format!("{:.2}", median(|specimen| specimen.sem_milliseconds)),
            format!("{:.2}", median(Specimen::speedup)),
            format!("{:.1e}", plan.em_multiplications()),
            format!("{:.1e}", plan.sem_multiplications()),
        ]
    };
    Table {
        caption: "EM and SEM from one k-means++ start each, 50 rounds; medians over the parameter vectors. Components \
                  overlap if the c-separation is below 1. The Bayes error is the share of rows that even the true model \
                  assigns to the wrong component. The last columns are multiplications per round as counted in the paper."
            .into(),
        heading: [
            "mixture", "weights", "vectors", "c", "Bayes error", "spread", "SEM − EM, nats per row", "means, of Γ_μ",
            "EM, ms", "SEM, ms", "speedup", "EM, 2KND²", "SEM, KND²",
        ]
        .map(Into::into)
        .into(),
        rows: groups.iter().map(row).collect(),
        ..Table::default()
    }
}
