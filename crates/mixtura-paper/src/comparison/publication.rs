//! Makes of a comparison what is shown and kept: page, summary, curves and figures.

use serde_json::{Value, json};

use super::{Comparison, Files, PageSettings, Summary, page};

/// A comparison and what must be said with it.
#[derive(Debug, Clone)]
pub struct Publication<'a> {
    /// What was found.
    pub comparison: &'a Comparison,
    /// What it comes to.
    pub summary: &'a Summary,
    /// What the data are called.
    pub data: String,
    /// Whether columns were mapped to [0, 1].
    pub normalized: bool,
    /// The words that repeat the comparison.
    pub command: String,
}

impl Publication<'_> {
    /// The name of the page.
    pub const INDEX: &'static str = "index.html";
    /// The names of all files but the figures.
    pub const NAMES: &'static [&'static str] =
        &[Self::INDEX, "summary.json", "likelihood.csv", "runs.csv", "differences.csv", "bounds.csv"];

    /// The summary as a file has it.
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

    /// Every file's name and text; those of figures begin with `figures/`.
    pub fn documents(&self, files: &Files) -> Vec<(String, String)> {
        let Comparison { n_rows, n_columns, plan, .. } = self.comparison;
        let settings = PageSettings {
            title: "EM and stochastic EM".into(),
            data: format!("{}: {n_rows} rows × {n_columns} columns, {} components", self.data, plan.n_components),
            units: if self.normalized { "columns mapped to [0, 1]".into() } else { "the data's units".into() },
            footer: format!("mixtura {}\n{}", env!("CARGO_PKG_VERSION"), self.command),
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
