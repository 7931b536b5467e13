//! Checks `compare`: its files, their consistency, and its errors.

use std::fs;
use std::path::Path;

use crate::refusals::refused;
use crate::{folder, json, succeed};

const DATA: &str = "generate -d 3 -k 3 -n 3000 --seed 5 -o d.csv";
const COMPARE: &str = "compare d.csv -k 3 --starts 2 --runs 3 --rounds 6";

fn csv(folder: &Path, name: &str) -> (String, Vec<Vec<f64>>) {
    let text = fs::read_to_string(folder.join(name)).unwrap();
    let mut lines = text.lines();
    let heading = lines.next().unwrap().to_string();
    let number = |cell: &str| cell.parse().unwrap_or(f64::NAN);
    (heading, lines.map(|line| line.split(',').map(number).collect()).collect())
}

#[test]
fn every_curve_is_written_and_the_summary_agrees_with_them() {
    let folder = folder();
    succeed(folder.path(), DATA);
    let ran = succeed(folder.path(), &format!("{COMPARE} -o out"));
    let out = folder.path().join("out");
    let printed = json(&ran.stdout);
    assert_eq!(printed, json(&fs::read_to_string(out.join("summary.json")).unwrap()));
    let summary = &printed["summary"];
    let outcomes = &summary["outcomes"];
    let n: u64 = ["better", "equal", "worse"].iter().map(|outcome| outcomes[outcome].as_u64().unwrap()).sum();
    assert_eq!(n, 2);

    let (heading, rows) = csv(&out, "likelihood.csv");
    assert_eq!(heading, "start,round,em,sem_minimum,sem_lower_quartile,sem_median,sem_upper_quartile,sem_maximum");
    assert_eq!(rows.len(), 2 * 7);
    assert!(rows.iter().all(|row| row[3..].is_sorted()));
    // EM's result is its last model.
    let last = rows.iter().find(|row| row[0] == 2.0 && row[1] == 6.0).unwrap();
    assert_eq!(summary["starts"][1]["em"].as_f64(), Some(last[2]));
    // SEM's is the median of its last models, and every run is counted.
    assert_eq!(summary["starts"][1]["sem"]["median"].as_f64(), Some(last[5]));
    let n: u64 = ["better", "equal", "worse"].iter().map(|outcome| outcomes["runs"][outcome].as_u64().unwrap()).sum();
    assert_eq!(n, 6);

    let (_, runs) = csv(&out, "runs.csv");
    assert_eq!(runs.len(), 2 * (1 + 3) * 7);
    let (heading, differences) = csv(&out, "differences.csv");
    assert_eq!(heading.split(',').count(), 11);
    assert_eq!(differences.len(), 2 * 3 * 7 * 3);
    let largest = |column: usize| differences.iter().map(|row| row[column]).fold(0.0, f64::max);
    assert_eq!(summary["largest_difference"]["unmatched"]["mean"].as_f64(), Some(largest(5)));
    assert_eq!(summary["largest_difference"]["matched"]["covariance"].as_f64(), Some(largest(10)));
    // Both algorithms start from the same model.
    assert!(differences.iter().filter(|row| row[2] == 0.0).all(|row| row[4..7] == [0.0; 3]));

    let (_, bounds) = csv(&out, "bounds.csv");
    assert_eq!(bounds.len(), 2 * 6 * 3);
    assert!(bounds.iter().all(|row| row[5].is_nan() || row[4] <= row[5]), "a mean is beyond its bound");
    let theory = &summary["bounds"];
    assert_eq!(theory["statements"].as_u64(), Some(2 * 6 * 3 * (1 + 3 + 6)));
    assert!(theory["held"].as_u64() <= theory["statements"].as_u64());

    let page = fs::read_to_string(out.join("index.html")).unwrap();
    // Options are kept in one piece.
    let text = page.replace("<code>", "").replace("</code>", "");
    assert!(text.contains(summary["sentence"].as_str().unwrap()));
    let figures = fs::read_dir(out.join("figures")).unwrap().count();
    assert_eq!(figures, page.matches("<figure ").count());
}

#[test]
fn all_but_the_times_is_the_same_on_any_number_of_threads() {
    let folder = folder();
    succeed(folder.path(), DATA);
    for threads in [1, 3] {
        succeed(folder.path(), &format!("{COMPARE} --normalize --threads {threads} -o out{threads}"));
    }
    for name in ["likelihood.csv", "differences.csv", "bounds.csv"] {
        let read = |threads: u32| fs::read(folder.path().join(format!("out{threads}")).join(name)).unwrap();
        assert!(read(1) == read(3), "{name}");
    }
}

/// A start does not depend on the number of starts.
#[test]
fn the_first_start_does_not_depend_on_how_many_there_are() {
    let folder = folder();
    succeed(folder.path(), DATA);
    for starts in [1, 2] {
        let line = format!("compare d.csv -k 3 --starts {starts} --runs 2 --bound-runs 0 --rounds 3 -o out{starts}");
        succeed(folder.path(), &line);
    }
    let first = |starts: u32| {
        let text = fs::read_to_string(folder.path().join(format!("out{starts}/differences.csv"))).unwrap();
        text.lines().filter(|line| line.starts_with("0,")).map(String::from).collect::<Vec<_>>()
    };
    assert_eq!(first(1), first(2));
    assert!(json(&fs::read_to_string(folder.path().join("out1/summary.json")).unwrap())["summary"]["bounds"].is_null());
}

#[test]
fn a_table_says_it_in_a_sentence() {
    let folder = folder();
    succeed(folder.path(), DATA);
    let ran = succeed(folder.path(), &format!("{COMPARE} --format table"));
    assert!(ran.stdout.contains("EM ÷ SEM") && ran.stdout.contains("SEM"), "{}", ran.stdout);
    assert!(ran.stdout.trim_end().ends_with('.'), "{}", ran.stdout);
    assert!(ran.stderr.contains("index.html"), "{}", ran.stderr);
    assert!(folder.path().join("mixtura-compare/index.html").exists());
}

#[test]
fn what_makes_no_sense_is_refused_before_any_work() {
    for (options, message) in [
        ("--bound-runs 6", "at most the number of runs"),
        ("--runs 0", "at least 1"),
        ("--weights x1", "unweighted rows"),
    ] {
        refused(&[], &format!("compare d.csv -k 3 --starts 2 --rounds 6 {options} -o never"), 2, &[message]);
    }
    refused(&[("bad.csv", "a,b\n1,2\n3,x\n")], "compare bad.csv -k 2 -o never", 1, &["row 2, line 3, column \"b\""]);
    refused(&[("d.csv", "a\n1\n2\n")], "compare d.csv -k 1 -o d.csv", 1, &["d.csv: is not a folder"]);
}
