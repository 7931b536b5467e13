//! Runs whole sequences of commands on every format.

use std::fs;

use crate::{Ran, command, folder, json, numbers, succeed};

#[test]
fn generate_fit_show_score_predict_on_every_format() {
    let folder = folder();
    let mut seen = Vec::new();
    for format in ["csv", "csv.gz", "parquet", "arrow", "feather", "arrows", "npy"] {
        succeed(
            folder.path(),
            &format!("generate -d 3 -k 3 -n 3000 --separation 4 --seed 2 -o d.{format} --model true.json"),
        );
        succeed(folder.path(), &format!("fit d.{format} -k 3 -o m.json"));
        let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
        assert_eq!(model["fit"]["converged"].as_bool(), Some(true));
        let shown = succeed(folder.path(), "show m.json --covariances").stdout;
        assert!(shown.contains("covariance of component 2"));
        let score = succeed(folder.path(), &format!("score m.json d.{format}")).stdout;
        let labels = succeed(folder.path(), &format!("predict m.json d.{format}")).stdout;
        succeed(folder.path(), &format!("predict m.json d.{format} --proba -o p.{format}"));
        seen.push((model["means"].clone(), score, labels));
    }
    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]));
}

/// Fitting rows drawn from a fitted model finds the model again: 20,000 rows, well separated, means
/// within 5 standard errors of 4.4/√6666 ≈ 0.054.
#[test]
fn a_sample_of_a_model_leads_back_to_it() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 3 -n 10 --separation 5 --seed 8 -o d.csv --model true.json");
    succeed(folder.path(), "sample true.json -n 20000 --seed 4 -o s.parquet");
    succeed(folder.path(), "fit s.parquet -k 3 -o m.json");
    let read = |name: &str| json(&fs::read_to_string(folder.path().join(name)).unwrap());
    let (truth, found) = (read("true.json"), read("m.json"));
    for k in 0..3 {
        let mean = numbers(&truth["means"][k]);
        let nearest = (0..3)
            .map(|j| numbers(&found["means"][j]).iter().zip(&mean).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max))
            .fold(f64::INFINITY, f64::min);
        assert!(nearest < 0.27, "{nearest}");
    }
}

#[test]
fn generated_rows_of_several_sizes_come_from_one_mixture() {
    let folder = folder();
    let generate = |n: u32, model: &str| {
        let line = format!("generate -d 4 -k 3 -n {n} --balance unbalanced --seed 6 --model {model}");
        succeed(folder.path(), &line).stdout
    };
    let (small, large) = (generate(100, "a.json"), generate(1000, "b.json"));
    assert!(large.starts_with(&small));
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("a.json"), read("b.json"));
    let weights = numbers(&json(&read("a.json"))["weights"]);
    assert!((weights[0] / weights[2] - 10.0).abs() < 1e-9);
    assert_eq!(succeed(folder.path(), "generate -d 2 -k 2 -n 3 --labels").stdout.lines().next(), Some("x1,x2,label"));
}

#[test]
fn all_algorithms_run_and_say_so() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 3 -n 4000 --seed 1 -o d.csv");
    for algorithm in ["em", "sem", "cem", "saem", "auto"] {
        for result in ["average", "best", "last"] {
            let line = format!("fit d.csv -k 3 --algorithm {algorithm} --result {result} --restarts 2 --sort");
            let model = json(&succeed(folder.path(), &line).stdout);
            assert_eq!(model["fit"]["algorithm"].as_str(), Some(algorithm));
            let weights = numbers(&model["weights"]);
            assert!(weights.windows(2).all(|pair| pair[0] >= pair[1]));
        }
    }
}

#[test]
fn all_starts_run_and_the_default_is_auto() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 3 -n 4000 --seed 1 -o d.csv");
    for init in ["kmeans++", "random", "short-em"] {
        let model = json(&succeed(folder.path(), &format!("fit d.csv -k 3 --init {init} --guard")).stdout);
        assert_eq!(model["fit"]["algorithm"].as_str(), Some("auto"));
        assert_eq!(model["fit"]["converged"].as_bool(), Some(true));
    }
}

#[test]
fn without_arguments_there_is_a_demonstration_that_leaves_nothing_in_the_folder() {
    let (folder, temporary) = (folder(), crate::folder());
    let ran: Ran = command(folder.path(), "").env("TMPDIR", temporary.path()).output().unwrap().into();
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    for part in
        ["100000 rows × 10 columns", "median − EM", "EM ÷ SEM", "largest difference", "(data: seed 1; runs: seed 0)"]
    {
        assert!(ran.stdout.contains(part), "{}", ran.stdout);
    }
    let page = ran.stdout.lines().find_map(|line| line.strip_prefix("Full report: ")).unwrap();
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    for part in ["(data: seed 1; runs: seed 0)", "seed of the runs", "command: mixtura"] {
        assert!(page.contains(part), "{part}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}
