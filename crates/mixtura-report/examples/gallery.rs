//! Writes a page with every kind of figure, table and choice, and its files for print, to a folder:
//! `cargo run -p mixtura-report --example gallery -- FOLDER`.

use std::f64::consts::TAU;
use std::path::Path;

use mixtura_report::{
    Axis, Block, Choice, Figure, Finding, Mark, Page, Section, Series, Sheet, Table, Tone, Verdicts, prefix_names,
};

const ROUNDS: usize = 50;

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "gallery".into());
    let folder = Path::new(&folder);
    let page = page();
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("index.html"), page.to_html())?;
    for figure in page.figures() {
        std::fs::write(folder.join(format!("{}.svg", figure.name)), figure.to_svg())?;
        std::fs::write(folder.join(format!("{}-column.svg", figure.name)), figure.to_column_svg())?;
    }
    for sheet in page.sheets() {
        std::fs::write(folder.join(format!("{}.svg", sheet.name)), sheet.to_svg())?;
        std::fs::write(folder.join(format!("{}-column.svg", sheet.name)), sheet.to_column_svg())?;
    }
    Ok(())
}

fn page() -> Page {
    let by_set = |heading: &str, blocks: fn(f64) -> Vec<Block>| {
        let option = |name: &str, prefix: &str, scale: f64| {
            let mut blocks = blocks(scale);
            prefix_names(&mut blocks, prefix);
            (name.to_string(), blocks)
        };
        let options =
            vec![option("Artificial, balanced", "balanced-", 1.0), option("Forest cover types", "forest-", 7.0)];
        let choice = Choice { label: "data set".into(), group: Some("data-set".into()), options };
        Section { heading: heading.into(), blocks: vec![Block::Choice(choice)] }
    };
    let by_component = Choice {
        label: "component".into(),
        group: None,
        options: vec![
            ("1".into(), vec![Block::Figure(bounds("bounds-1", 1.0))]),
            ("2".into(), vec![Block::Figure(bounds("bounds-2", 3.0))]),
        ],
    };
    Page {
        title: "A gallery".into(),
        subtitle: "Every kind of figure, table and choice that a report can have".into(),
        verdict: "Everything is readable, in light and dark, on desktops and phones.".into(),
        findings: vec![
            finding("Artificial, balanced", "2.1×", "speedup", Tone::Good),
            finding("Forest cover types", "3 of 30", "starts ended worse", Tone::Caution),
            finding("", "99 %", "of the bounds held", Tone::Neutral),
        ],
        sections: vec![
            by_set("Sheets", |scale| {
                let column = |name: &str| Sheet { name: name.into(), columns: 1, ..projection_sheet(scale) };
                let row = Sheet { name: "row".into(), in_one_row: true, ..likelihood_sheet(scale) };
                let sheets = [likelihood_sheet(scale), projection_sheet(scale), column("left"), column("right"), row];
                sheets.into_iter().map(Block::Sheet).collect()
            }),
            by_set("Figures", |scale| {
                vec![
                    Block::Figure(likelihoods("likelihood", scale)),
                    Block::Figure(differences("differences", scale)),
                    Block::Figure(projection("projection", scale)),
                ]
            }),
            Section { heading: "Bounds".into(), blocks: vec![Block::Choice(by_component)] },
            Section { heading: "Tables".into(), blocks: vec![Block::Table(claims()), Block::Table(wide())] },
        ],
        footer: "Written by the gallery example.".into(),
    }
}

fn finding(name: &str, value: &str, label: &str, tone: Tone) -> Finding {
    Finding { name: name.into(), value: value.into(), label: label.into(), tone }
}

fn rounds() -> Vec<f64> {
    (1..=ROUNDS).map(|round| round as f64).collect()
}

/// Values that decrease with the rounds, with a little noise.
fn decreasing(scale: f64, floor: f64, phase: f64) -> Vec<f64> {
    rounds().iter().map(|t| scale * ((-t / 6.0).exp() + floor + 0.02 * (t * 1.7 + phase).sin().abs())).collect()
}

fn ribbon(values: &[f64], share: f64) -> Vec<Mark> {
    let times = |factor: f64| values.iter().map(|value| value * factor).collect::<Vec<f64>>();
    vec![
        Mark::band("extremes", rounds(), times(1.0 - share), times(1.0 + share)),
        Mark::line("median", rounds(), values.to_vec()),
    ]
}

fn likelihoods(name: &str, scale: f64) -> Figure {
    let values: Vec<f64> = decreasing(scale, 0.2, 0.0).iter().map(|value| 20.0 + value).collect();
    Figure::new(
        name,
        "Negative log-likelihood of EM and SEM after each round, selected artificial data set, start 3 of 30, 100 runs of SEM",
        Axis::linear("round").rounds(),
        Axis::linear("negative log-likelihood, nats per row"),
        vec![
            Series::new("SEM, median and extremes of 100 runs", 0, ribbon(&values, 0.003)),
            Series::new("EM", 1, vec![Mark::line("value", rounds(), values)]),
        ],
    )
}

fn differences(name: &str, scale: f64) -> Figure {
    let series = |k: usize| {
        let values = decreasing(0.1 * scale * (k + 1) as f64, 0.05, k as f64);
        Series::new(&format!("component {}", k + 1), k, ribbon(&values, 0.2))
    };
    let mut all: Vec<Series> = (0..5).map(series).collect();
    let levels = vec![Mark::level("the paper's value", 0.31 * scale), Mark::level_from_left("1 % of Γ_μ", 0.3 * scale)];
    all.push(Series::new("paper", 6, levels).dash_dotted());
    all.push(Series::new("a tenth of the first", 6, ribbon(&decreasing(0.01 * scale, 0.05, 0.0), 0.0)).thin());
    Figure::new(
        name,
        "|μ EM − μ SEM| by component, start 3, median and extremes of 100 runs",
        Axis::linear("round").rounds(),
        Axis::linear("Euclidean distance, data units").from_zero().also("per cent of Γ", 3.3 / scale),
        all,
    )
}

fn bounds(name: &str, scale: f64) -> Figure {
    let line = |name: &str, colour: usize, factor: f64| {
        Series::new(name, colour, vec![Mark::line("value", rounds(), decreasing(factor * scale, 0.001, 0.0))])
    };
    Figure::new(
        name,
        "Distance of the means after one update",
        Axis::linear("round").rounds(),
        Axis::log("Euclidean distance, data units").also("per cent of Γ", 12.0),
        vec![line("bound", 5, 10.0).dashed(), line("typical", 6, 1.0).dotted(), line("actual", 1, 0.8)],
    )
}

fn projection(name: &str, scale: f64) -> Figure {
    let weights = [0.05, 0.1, 0.2, 0.3, 0.35];
    let centre = |k: usize| (scale * 4.0 * (1.3 * k as f64).sin(), scale * 3.0 * (2.1 * k as f64).cos());
    let dot = |i: usize| {
        let (x, y) = centre(i % 5);
        let (angle, radius) = (i as f64 * 2.4, scale * 1.6 * ((i * 7919 % 1000) as f64 / 1000.0).sqrt());
        (x + radius * angle.cos(), y + radius * angle.sin())
    };
    let ellipse = |k: usize| {
        let (x, y) = centre(k);
        let corner = |i: usize| (TAU * i as f64 / 72.0).sin_cos();
        Mark::Area {
            x: (0..72).map(|i| x + scale * corner(i).1).collect(),
            y: (0..72).map(|i| y + scale * corner(i).0).collect(),
            opacity: weights[k],
        }
    };
    let number = |k: usize| Mark::Text { x: centre(k).0, y: centre(k).1, text: (k + 1).to_string() };
    let (x, y) = (0..2000).map(dot).unzip();
    Figure::new(
        name,
        "Rows and components, projected to a random plane",
        Axis::linear("first projected coordinate"),
        Axis::linear("second projected coordinate"),
        vec![
            Series::new("rows", 6, vec![Mark::Points { x, y }]),
            Series::new("one standard deviation", 0, (0..5).map(ellipse).collect()),
            Series::new("number of the component", 0, (0..5).map(number).collect()),
        ],
    )
    .equal_axes()
    .shades("weight", 0.05, 0.35)
}

fn likelihood_sheet(scale: f64) -> Sheet {
    let panel = |k: usize| (format!("start {}", k + 1), likelihoods("panel", scale * (k + 1) as f64));
    Sheet {
        name: "likelihoods".into(),
        title: "Negative log-likelihood from four starts".into(),
        caption:
            "EM and SEM from the same four starts. The line of EM is thinner, so that both are visible where they \
                  coincide."
                .into(),
        columns: 2,
        in_one_row: false,
        panels: (0..4).map(panel).collect(),
    }
}

fn projection_sheet(scale: f64) -> Sheet {
    Sheet {
        name: "overview".into(),
        title: "Data, differences and bounds".into(),
        caption: "Panels with different legends.".into(),
        columns: 3,
        in_one_row: false,
        panels: vec![
            ("data".into(), projection("panel", scale)),
            ("differences of the means".into(), differences("panel", scale)),
            ("bounds of single updates".into(), bounds("panel", scale)),
        ],
    }
}

fn claims() -> Table {
    let row = |cells: [&str; 5]| cells.map(String::from).to_vec();
    Table {
        caption: "Claims of the paper".into(),
        heading: ["claim", "paper", "here", "holds", "because"].map(Into::into).into(),
        rows: vec![
            row([
                "SEM is at least twice as fast",
                "2 to 3",
                "2.1",
                "yes",
                "A round of SEM needs half the multiplications.",
            ]),
            row([
                "Only in the first couple of rounds the difference is larger",
                "first 2",
                "first 8",
                "with a limit",
                "On the way to the optimum, SEM lags or leads EM by up to a round, and then meets it; this takes longer on \
                 large data sets.",
            ]),
            row(["The bounds are below 1 % of Γ", "0.8 %", "4 %", "no", "The bound grows with the dimension."]),
        ],
        verdicts: Some(Verdicts { column: 3, tones: vec![Tone::Good, Tone::Neutral, Tone::Caution] }),
    }
}

fn wide() -> Table {
    let heading = [
        "mixture",
        "weights",
        "vectors",
        "c",
        "Bayes error",
        "spread",
        "SEM − EM, nats per row",
        "means, of Γ_μ",
        "EM, ms",
        "SEM, ms",
        "speedup",
        "EM, 2KND²",
        "SEM, KND²",
    ];
    let cells = [
        "1000000 × 10, K = 100",
        "unbalanced",
        "30",
        "0.25",
        "12.5 %",
        "10.0",
        "-0.00012",
        "0.01234",
        "1234.56",
        "617.28",
        "2.00",
        "2.0e10",
        "1.0e10",
    ];
    Table {
        caption: "A table of many columns".into(),
        heading: heading.map(Into::into).into(),
        rows: vec![cells.map(String::from).to_vec(); 3],
        ..Table::default()
    }
}
