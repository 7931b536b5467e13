//! Checks the options that select the columns and rows of a table.

use std::fmt::Write;
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use crate::{Ran, command, folder, json, run, run_with_input, succeed};

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).unwrap();
}

/// Forty rows of `b,a,extra` with very different columns, and a model of `a` and `b`.
fn with_model(folder: &Path) {
    let mut text = String::from("b,a,extra\n");
    for row in 0..40 {
        let (x, y) = (f64::from(row * 7 % 11), f64::from(row * 5 % 13));
        writeln!(text, "{},{},{}", 1000.0 + 50.0 * x, y / 10.0, x * y).unwrap();
    }
    write(folder, "d.csv", &text);
    succeed(folder, "fit d.csv -k 1 --columns a,b -o m.json");
}

fn mean_log_likelihood(ran: &Ran) -> f64 {
    json(&ran.stdout)["mean_log_likelihood"].as_f64().unwrap()
}

#[test]
fn columns_in_another_order_than_the_models_were_taken_by_position() {
    let folder = folder();
    with_model(folder.path());
    let expected = mean_log_likelihood(&succeed(folder.path(), "score m.json d.csv"));
    for columns in ["a,b", "b,a", "2,1", "[ab]", "b..a"] {
        let score = succeed(folder.path(), &format!("score m.json d.csv --columns {columns}"));
        assert_eq!(mean_log_likelihood(&score), expected, "{columns}");
    }
    let again = succeed(folder.path(), "fit d.csv -k 1 --init-model m.json --columns b,a -o n.json");
    assert_eq!(again.code, 0);
    let model = json(&fs::read_to_string(folder.path().join("n.json")).unwrap());
    assert_eq!(model["columns"], serde_json::json!(["a", "b"]));
}

#[test]
fn other_columns_than_the_models_are_refused_with_both_lists() {
    let folder = folder();
    with_model(folder.path());
    for line in ["score m.json d.csv --columns a,extra", "predict m.json d.csv --columns extra,a"] {
        let ran = run(folder.path(), line);
        assert_eq!(ran.code, 1, "{line}");
        assert!(ran.stderr.contains("but a, b are expected"), "{}", ran.stderr);
        assert!(ran.stderr.contains("extra"), "{}", ran.stderr);
    }
    // If either side has no names, columns are matched by position, and their number must agree.
    let headless: String =
        fs::read_to_string(folder.path().join("d.csv")).unwrap().split_inclusive('\n').skip(1).collect();
    write(folder.path(), "h.csv", &headless);
    let expected = mean_log_likelihood(&succeed(folder.path(), "score m.json d.csv"));
    let score = succeed(folder.path(), "score m.json h.csv --no-header --columns 2,1");
    assert_eq!(mean_log_likelihood(&score), expected);
    let ran = run(folder.path(), "score m.json h.csv --no-header");
    assert!(ran.stderr.contains("the model has 2 columns, but the data have 3"), "{}", ran.stderr);
}

#[test]
fn columns_and_rows_are_left_out_as_the_options_say() {
    let folder = folder();
    let mut text = String::from("name;x;y\n");
    for row in 0..30 {
        let y = if row == 3 { "NA".into() } else { format!("{},25", row * 5 % 13) };
        writeln!(text, "n{row};{},5;{y}", row * 7 % 11).unwrap();
    }
    write(folder.path(), "d.csv", &text);
    let fit = succeed(folder.path(), "fit d.csv -k 1 --missing skip -o m.json");
    assert!(fit.stderr.contains("left out 1 non-numeric column: name"), "{}", fit.stderr);
    assert!(fit.stderr.contains("skipped 1 of 30 rows because of missing values"), "{}", fit.stderr);
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    assert_eq!(model["columns"], serde_json::json!(["x", "y"]));
    let labels = succeed(folder.path(), "predict m.json d.csv --missing skip").stdout;
    assert_eq!(labels.lines().count(), 31);

    let refused = |line: &str, words: &str| {
        let ran = run(folder.path(), line);
        assert_eq!(ran.code, 1, "{line}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains("hint: "), "{line}\n{}", ran.stderr);
    };
    refused("fit d.csv -k 1", "row 4, line 5, column \"y\": value \"NA\" is not a number");
    refused("fit d.csv -k 1 --strict --missing skip", "column \"name\": value \"n0\" is not a number");
    refused("fit d.csv -k 1 --exclude nmae", "no column \"nmae\"");
    refused("fit d.csv -k 1 --decimal . --missing skip", "is not a number");
    succeed(folder.path(), "fit d.csv -k 1 --exclude y -o n.json");
    succeed(folder.path(), "fit d.csv -k 1 --exclude name,3 --decimal , -o n.json");
    let ran = run(folder.path(), "fit d.csv -k 1 --decimal ;");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

#[test]
fn every_format_is_read_from_standard_input() {
    let folder = folder();
    with_model(folder.path());
    let expected = succeed(folder.path(), "score m.json d.csv").stdout;
    let ran =
        run_with_input(folder.path(), "score m.json -", &fs::read_to_string(folder.path().join("d.csv")).unwrap());
    assert_eq!(ran.stdout, expected, "{}", ran.stderr);
    succeed(folder.path(), "generate -d 2 -k 2 -n 500 --seed 1 -o g.csv --model g.json");
    let expected = succeed(folder.path(), "score g.json g.csv").stdout;
    for format in ["parquet", "arrow", "arrows", "npy", "csv.gz"] {
        succeed(folder.path(), &format!("generate -d 2 -k 2 -n 500 --seed 1 -o g.{format} --model g.json"));
        let input = File::open(folder.path().join(format!("g.{format}"))).unwrap();
        let output = command(folder.path(), "score g.json -").stdin(Stdio::from(input)).output().unwrap();
        let ran = Ran::from(output);
        assert_eq!(ran.stdout, expected, "{format}: {}", ran.stderr);
    }
}
