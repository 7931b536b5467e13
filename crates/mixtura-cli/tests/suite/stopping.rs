//! Checks that one signal ends the command promptly at any point, and that results are saved.

#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{Ran, command, folder, json, succeed};

/// Starts the command, sends it a signal after a while, and waits for its end.
fn stopped(folder: &Path, line: &str, signal: &str, after: Duration) -> Ran {
    let child = command(folder, line).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    stop(child.unwrap(), signal, after)
}

fn stop(mut child: Child, signal: &str, after: Duration) -> Ran {
    // Waiting would close its standard input, which must stay open until the process has ended.
    let _open = child.stdin.take();
    std::thread::sleep(after);
    assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    child.wait_with_output().unwrap().into()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn an_interrupted_fit_with_restarts_was_reported_as_success() {
    let folder = folder();
    // With few rows, restarts run in parallel; with many, one after another.
    for (rows, options) in [(500, "--tolerance 1e-9"), (40_000, "--tolerance 1e-12")] {
        succeed(folder.path(), &format!("generate -d 4 -k 6 -n {rows} -o d.npy"));
        let line =
            format!("fit d.npy -k 6 --algorithm em --init random --restarts 100000 --race off {options} -o m.json");
        let ran = stopped(folder.path(), &line, "-INT", 2 * SECOND);
        assert_eq!(ran.code, 130, "{}", ran.stderr);
        assert!(ran.stderr.contains("interrupted: ") && ran.stderr.contains(" of 100000 restarts"), "{}", ran.stderr);
        let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
        assert_eq!(model["fit"]["reason"].as_str(), Some("interrupted"));
        assert_eq!(model["fit"]["restarts_asked"].as_u64(), Some(100_000));
        assert_eq!(model["fit"]["converged"].as_bool(), Some(false));
    }
}

#[test]
fn an_interrupted_race_returns_the_best_start_so_far() {
    let folder = folder();
    succeed(folder.path(), "generate -d 4 -k 6 -n 40000 -o d.npy");
    let ran = stopped(folder.path(), "fit d.npy -k 6 --restarts 5000 -o m.json", "-INT", 2 * SECOND);
    assert_eq!(ran.code, 130, "{}", ran.stderr);
    assert!(ran.stderr.contains("interrupted: while 5000 starts raced on "), "{}", ran.stderr);
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    assert_eq!(model["fit"]["reason"].as_str(), Some("interrupted"));
    // The likelihood is that of all rows.
    let score = json(&succeed(folder.path(), "score m.json d.npy").stdout);
    let of_fit = model["fit"]["mean_log_likelihood"].as_f64().unwrap();
    assert!((score["mean_log_likelihood"].as_f64().unwrap() - of_fit).abs() < 1e-9);
}

#[test]
fn a_signal_was_ignored_while_waiting_for_standard_input() {
    let folder = folder();
    for signal in ["-INT", "-TERM"] {
        let ran = stopped(folder.path(), "fit - -k 2 -o m.json", signal, SECOND);
        assert_eq!((ran.code, ran.stdout.as_str()), (130, ""), "{}", ran.stderr);
    }
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe.csv")).status().unwrap().success());
    assert_eq!(stopped(folder.path(), "fit pipe.csv -k 2", "-INT", SECOND).code, 130);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_signal_was_ignored_during_long_steps() {
    let folder = folder();
    succeed(folder.path(), "generate -d 12 -k 4 -n 200000 -o d.npy");
    for line in [
        // Seeds of k-means++.
        "fit d.npy -k 20000 --covariance diagonal -o m.json",
        // A single round.
        "fit d.npy -k 8000 --init random --covariance full --rounds 1 -o m.json",
        // Drawing.
        "generate -d 50 -k 3 -n 100000000 -o g.csv",
        "generate -d 20 -k 1000000 -n 10 -o g.csv",
    ] {
        let ran = stopped(folder.path(), line, "-TERM", 2 * SECOND);
        assert_eq!(ran.code, 130, "{line}: {}", ran.stderr);
    }
    // Nothing is left behind except the data.
    let names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["d.npy"]);
}

#[test]
fn a_fit_under_nohup_outlives_its_terminal() {
    let folder = folder();
    succeed(folder.path(), "generate -d 4 -k 3 -n 60000 -o d.npy");
    let line = "fit d.npy -k 3 --init random --algorithm em --tolerance 0 --rounds 300 -q -o m.json";
    let script = format!("trap '' HUP INT; exec {} {line}", env!("CARGO_BIN_EXE_mixtura"));
    let child = Command::new("sh").args(["-c", &script]).current_dir(folder.path()).spawn().unwrap();
    let ran = stop(child, "-HUP", Duration::from_millis(300));
    assert_eq!(ran.code, 0);
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    assert_eq!(model["fit"]["rounds"].as_u64(), Some(300));
}

#[test]
fn temporaries_of_a_killed_run_are_cleaned_at_the_next() {
    let folder = folder();
    let ran = stopped(folder.path(), "generate -d 20 -k 3 -n 100000000 -o g.csv", "-KILL", SECOND);
    assert_eq!(ran.code, -1);
    let hidden = || {
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        names.filter(|name| name.to_string_lossy().starts_with('.')).count()
    };
    assert_eq!(hidden(), 1);
    succeed(folder.path(), "generate -d 2 -k 3 -n 10 -o g.csv");
    assert_eq!(hidden(), 0);
}

#[test]
fn an_interrupted_comparison_ended_without_a_word() {
    let folder = folder();
    succeed(folder.path(), "generate -d 10 -k 8 -n 200000 -o d.npy");
    let ran = stopped(folder.path(), "compare d.npy -k 8 --rounds 100000 -o out", "-INT", 2 * SECOND);
    assert_eq!((ran.code, ran.stdout.as_str()), (130, ""));
    assert!(ran.stderr.contains("warning: interrupted: nothing was written"), "{}", ran.stderr);
    assert!(!folder.path().join("out").exists());
}
