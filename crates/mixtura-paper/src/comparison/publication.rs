//! Produces the output files of a comparison: report, summary, curves and figures.

use serde_json::{Value, json};

use super::page::SCALED;
use super::{Comparison, Files, PageSettings, Summary, page};

/// A comparison with everything needed to publish it.
#[derive(Debug, Clone)]
pub struct Publication<'a> {
    /// The results.
    pub comparison: &'a Comparison,
    /// Their summary.
    pub summary: &'a Summary,
    /// Name of the data.
    pub data: String,
    /// Whether columns were scaled to [0, 1].
    pub normalized: bool,
    /// The command line that repeats the comparison.
    pub command: String,
}

impl Publication<'_> {
    /// File name of the report.
    pub const INDEX: &'static str = "index.html";
    /// File names except those of the figures.
    pub const NAMES: &'static [&'static str] =
        &[Self::INDEX, "summary.json", "likelihood.csv", "runs.csv", "differences.csv", "bounds.csv"];

    /// The contents of `summary.json`.
    pub fn to_json(&self) -> Value {
        let comparison = self.comparison;
        json!({
            "format": "mixtura-comparison",
            "version": 1,
            "mixtura": env!("CARGO_PKG_VERSION"),
            "command": self.command,
            "rows": comparison.n_rows,
            "columns": comparison.n_columns,
            "normalized": self.normalized,
            "threads": comparison.n_threads,
            "plan": comparison.plan,
            "spread": comparison.spread,
            "summary": self.summary,
        })
    }

    /// Name and text of every file; figures are in `figures/`.
    pub fn documents(&self, files: &Files) -> Vec<(String, String)> {
        let Comparison { n_rows, n_columns, plan, .. } = self.comparison;
        let settings = PageSettings {
            title: "EM and stochastic EM".into(),
            data: format!("{}: {n_rows} rows × {n_columns} columns, {} components", self.data, plan.n_components),
            name: self.data.clone(),
            units: if self.normalized { SCALED.into() } else { "data units".into() },
            footer: format!("mixtura {}\ncommand: {}", env!("CARGO_PKG_VERSION"), self.command),
        };
        let page = page(self.comparison, self.summary, &settings);
        let figures =
            page.figures().into_iter().map(|figure| (format!("figures/{}.svg", figure.name), figure.to_svg()));
        let mut documents: Vec<(String, String)> = figures.collect();
        documents.extend(files.all().map(|(name, text)| (name.to_owned(), text.to_owned())));
        let summary = serde_json::to_string_pretty(&self.to_json()).expect("invariant: a summary is plain data");
        documents.push(("summary.json".into(), format!("{summary}\n")));
        documents.push((Self::INDEX.into(), page.to_html()));
        documents
    }
}
