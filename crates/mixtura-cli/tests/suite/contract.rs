//! Checks the contracts that other tools rely on: model file, trace, outputs, exit codes.

use std::fs;

use crate::{folder, json, numbers, run, run_with_input, succeed};

const SMALL: &str = "generate -d 2 -k 2 -n 600 --separation 3 --seed 5 -o d.csv --model true.json";

#[test]
fn a_model_file_has_the_fields_of_the_contract_in_order() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    succeed(folder.path(), "fit d.csv -k 2 -o m.json --restarts 2 --race off");
    let text = fs::read_to_string(folder.path().join("m.json")).unwrap();
    let model = json(&text);
    let keys: Vec<&str> = model.as_object().unwrap().keys().map(String::as_str).collect();
    let expected =
        ["format", "version", "family", "covariance", "dimension", "columns", "weights", "means", "covariances", "fit"];
    assert_eq!(keys, expected);
    assert_eq!((model["format"].as_str(), model["version"].as_u64()), (Some("mixtura-model"), Some(1)));
    assert_eq!(model["columns"], json(r#"["x1", "x2"]"#));
    assert_eq!(numbers(&model["weights"]).len(), 2);
    assert_eq!(model["covariances"][1][0].as_array().unwrap().len(), 2);
    let fit: Vec<&str> = model["fit"].as_object().unwrap().keys().map(String::as_str).collect();
    let expected = [
        "algorithm",
        "seed",
        "rounds",
        "converged",
        "reason",
        "mean_log_likelihood",
        "rows",
        "free_parameters",
        "bic",
        "aic",
        "restarts",
        "events",
    ];
    assert_eq!(fit, expected);
    assert_eq!(numbers(&model["fit"]["restarts"]).len(), 2);
    // Reading and writing preserves every bit.
    assert_eq!(succeed(folder.path(), "show m.json --format json").stdout, text);
}

#[test]
fn a_model_file_has_the_levels_of_a_race() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 3 -n 9000 --separation 1 --seed 5 -o d.csv");
    let ran = succeed(folder.path(), "fit d.csv -k 3 --normalize -o m.json");
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    let fit = &model["fit"];
    assert_eq!(fit["restarts_asked"].as_u64(), Some(8));
    let likelihood = fit["mean_log_likelihood"].as_f64().unwrap();
    assert!(numbers(&fit["restarts"]).contains(&likelihood));
    let keys: Vec<&str> = fit["race"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["agreed", "moves", "gap", "gap_rows", "levels"]);
    let levels = fit["race"]["levels"].as_array().unwrap();
    assert_eq!(levels[0]["starts"].as_array().unwrap().len(), 8);
    for level in levels {
        assert!((1500..=9000).contains(&level["rows"].as_u64().unwrap()));
        let n_starts = level["starts"].as_array().unwrap().len();
        assert_eq!(level["rounds"].as_array().unwrap().len(), n_starts);
        // In the units of the data: about the likelihood of all rows.
        let likelihoods = numbers(&level["mean_log_likelihoods"]);
        assert_eq!(likelihoods.len(), n_starts);
        assert!((likelihoods[0] - likelihood).abs() < 0.2, "{likelihoods:?} {likelihood}");
    }
    let shown = succeed(folder.path(), "show m.json").stdout;
    let starts = shown.lines().find(|line| line.starts_with("8 starts raced: ")).unwrap();
    assert!(ran.stderr.contains(&format!("note: {starts}")), "{}", ran.stderr);
    assert!(starts.contains(" led to this maximum"));
}

#[test]
fn one_start_is_said_to_be_one_start() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    for (options, is_told) in [("-k 2 --restarts 1", true), ("--init-model true.json", true), ("-k 1", false)] {
        let ran = succeed(folder.path(), &format!("fit d.csv {options} -o m.json"));
        assert_eq!(ran.stderr.contains("note: one start: others may lead to other maxima"), is_told, "{}", ran.stderr);
        assert_eq!(succeed(folder.path(), "show m.json").stdout.contains("one start: "), is_told);
    }
}

#[test]
fn a_trace_has_a_row_for_every_model() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    succeed(folder.path(), "fit d.csv -k 2 --rounds 7 --tolerance 0 --trace t.csv -o m.json");
    let trace = fs::read_to_string(folder.path().join("t.csv")).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines[0], "round,mean_log_likelihood,seconds,repairs");
    assert_eq!(lines.len(), 1 + 8);
    for (round, line) in lines[1..].iter().enumerate() {
        let cells: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(cells[0], round as f64);
        assert_eq!(cells[2] > 0.0, round > 0);
    }
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    let last: f64 = lines[8].split(',').nth(1).unwrap().parse().unwrap();
    assert_eq!(model["fit"]["mean_log_likelihood"].as_f64(), Some(last));
    let score = json(&succeed(folder.path(), "score m.json d.csv").stdout);
    assert!((score["mean_log_likelihood"].as_f64().unwrap() - last).abs() < 1e-12);
}

#[test]
fn the_same_fit_gives_the_same_file_on_any_number_of_threads() {
    let folder = folder();
    succeed(folder.path(), "generate -d 3 -k 3 -n 9000 -o d.npy");
    for algorithm in ["em", "sem", "cem", "saem", "auto"] {
        let fit = |threads: u32| {
            let line =
                format!("fit d.npy -k 3 --algorithm {algorithm} --rounds 15 --restarts 2 --seed 9 --threads {threads}");
            succeed(folder.path(), &line).stdout
        };
        let one = fit(1);
        for threads in [2, 3, 7] {
            assert_eq!(one, fit(threads));
        }
    }
}

#[test]
fn a_trace_holds_the_guard_if_it_won_and_every_round_of_auto_else() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 5 -n 600 --seed 3 -o d.csv");
    let (mut n_won, mut n_lost) = (0, 0);
    for seed in 0..8 {
        let line = "fit d.csv -k 5 --init random --guard --accelerate --restarts 2 --race off --trace t.csv -o m.json";
        succeed(folder.path(), &format!("{line} --seed {seed}"));
        let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
        let trace = fs::read_to_string(folder.path().join("t.csv")).unwrap();
        assert_eq!(model["fit"]["algorithm"].as_str(), Some("auto"));
        assert_eq!(model["fit"]["rounds"].as_u64(), Some(trace.lines().count() as u64 - 2));
        let last: f64 = trace.lines().last().unwrap().split(',').nth(1).unwrap().parse().unwrap();
        assert_eq!(model["fit"]["mean_log_likelihood"].as_f64(), Some(last));
        let won = model["fit"]["events"].as_array().unwrap().iter().any(|event| event["kind"] == "guard-won");
        if won { n_won += 1 } else { n_lost += 1 }
    }
    assert!(n_won > 0 && n_lost > 0, "{n_won} {n_lost}: other seeds, please");
}

#[test]
fn scores_and_predictions_have_the_shape_of_the_contract() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let score = json(&succeed(folder.path(), "score true.json d.csv").stdout);
    let keys: Vec<&str> = score.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["rows", "mean_log_likelihood", "log_likelihood", "aic", "bic", "icl"]);
    assert_eq!(score["rows"].as_u64(), Some(600));
    let rows = succeed(folder.path(), "score true.json d.csv --per-row").stdout;
    let density = |line: &str| line.split(',').next().unwrap().parse::<f64>().unwrap();
    let sum: f64 = rows.lines().skip(1).map(density).sum();
    assert!((sum - score["log_likelihood"].as_f64().unwrap()).abs() < 1e-9);
    let labels = succeed(folder.path(), "predict true.json d.csv").stdout;
    let proba = succeed(folder.path(), "predict true.json d.csv --proba").stdout;
    assert_eq!((labels.lines().next(), labels.lines().count()), (Some("label"), 601));
    assert_eq!((proba.lines().next(), proba.lines().count()), (Some("p0,p1"), 601));
    for (label, line) in labels.lines().zip(proba.lines()).skip(1) {
        let p: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert!((p[0] + p[1] - 1.0).abs() < 1e-12);
        assert_eq!(label, if p[0] >= p[1] { "0" } else { "1" });
    }
}

#[test]
fn columns_are_matched_by_name_and_else_by_position() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let plain = succeed(folder.path(), "score true.json d.csv").stdout;
    let data = fs::read_to_string(folder.path().join("d.csv")).unwrap();
    let rows: Vec<(&str, &str)> = data.lines().skip(1).map(|line| line.split_once(',').unwrap()).collect();
    let swapped: Vec<String> = rows.iter().map(|(a, b)| format!("some text,{b},{a}\n")).collect();
    let swapped = format!("note,x2,x1\n{}", swapped.concat());
    let headless: Vec<String> = rows.iter().map(|(a, b)| format!("{a},{b}\n")).collect();
    fs::write(folder.path().join("swapped.csv"), swapped).unwrap();
    assert_eq!(succeed(folder.path(), "score true.json swapped.csv").stdout, plain);
    assert_eq!(run_with_input(folder.path(), "score true.json - --no-header", &headless.concat()).stdout, plain);
}

#[test]
fn a_fit_continues_from_its_own_model() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 3 -n 2000 --seed 3 -o d.csv");
    succeed(folder.path(), "fit d.csv -k 3 --algorithm em --tolerance 0 --rounds 20 -o whole.json --init random");
    succeed(folder.path(), "fit d.csv -k 3 --algorithm em --tolerance 0 --rounds 8 -o half.json --init random");
    succeed(
        folder.path(),
        "fit d.csv -k 3 --algorithm em --tolerance 0 --rounds 12 -o rest.json --init-model half.json",
    );
    let parameters = |name: &str| {
        let model = json(&fs::read_to_string(folder.path().join(name)).unwrap());
        (model["weights"].clone(), model["means"].clone(), model["covariances"].clone())
    };
    assert_eq!(parameters("whole.json"), parameters("rest.json"));
}

#[test]
fn normalized_fits_speak_the_datas_units() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    succeed(
        folder.path(),
        "fit d.csv -k 2 --algorithm em --normalize --rounds 30 --tolerance 0 -o n.json --trace t.csv",
    );
    succeed(folder.path(), "fit d.csv -k 2 --algorithm em --rounds 30 --tolerance 0 -o p.json");
    let read = |name: &str| json(&fs::read_to_string(folder.path().join(name)).unwrap());
    let (a, b) = (read("n.json"), read("p.json"));
    let likelihood = |model: &serde_json::Value| model["fit"]["mean_log_likelihood"].as_f64().unwrap();
    assert!((likelihood(&a) - likelihood(&b)).abs() < 1e-9);
    for k in 0..2 {
        for (x, y) in numbers(&a["means"][k]).iter().zip(numbers(&b["means"][k])) {
            assert!((x - y).abs() < 1e-6, "{x} {y}");
        }
    }
    let score = json(&succeed(folder.path(), "score n.json d.csv").stdout);
    assert!((score["mean_log_likelihood"].as_f64().unwrap() - likelihood(&a)).abs() < 1e-9);
}

#[test]
fn labels_and_weights_come_from_columns() {
    let folder = folder();
    fs::write(folder.path().join("d.csv"), "x,group,w\n1,b,1\n2,b,2\n3,b,1\n11,a,1\n12,a,0\n13,a,3\n14,a,1\n").unwrap();
    let ran = succeed(folder.path(), "fit d.csv -k 2 --labels group --weights w --rounds 0 --tolerance 0");
    let model = json(&ran.stdout);
    assert_eq!(model["columns"], json(r#"["x"]"#));
    // Group a is label 0: rows 11, 13 ×3, 14; group b: 1, 2 ×2, 3.
    let means: Vec<f64> = (0..2).map(|k| model["means"][k][0].as_f64().unwrap()).collect();
    assert!((means[0] - 64.0 / 5.0).abs() < 1e-12 && (means[1] - 2.0).abs() < 1e-12, "{means:?}");
    assert!((numbers(&model["weights"])[0] - 5.0 / 9.0).abs() < 1e-15);
}

#[test]
fn stdout_carries_data_and_quiet_is_quiet() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let ran = succeed(folder.path(), "fit d.csv -k 2 --quiet --rounds 2");
    assert_eq!(ran.stderr, "");
    json(&ran.stdout);
    let ran = succeed(folder.path(), "fit d.csv -k 2 --restarts 1 --rounds 2 -o m.json");
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.contains("warning: not converged after 2 rounds"));
    let table = succeed(folder.path(), "fit d.csv -k 2 --format table").stdout;
    assert!(table.starts_with("Gaussian mixture, full covariances, 2 columns\n2 components, auto converged after"));
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let folder = folder();
    succeed(folder.path(), "generate -d 5 -k 2 -n 50000 -o d.npy --model m.json");
    let line = format!("{} sample m.json -n 500000 | head -n 1", env!("CARGO_BIN_EXE_mixtura"));
    let script = format!("set -o pipefail; {line}");
    let output = std::process::Command::new("bash").args(["-c", &script]).current_dir(folder.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
    assert_eq!(output.stdout, b"x1,x2,x3,x4,x5\n");
}

#[cfg(unix)]
#[test]
fn an_interrupted_fit_still_writes_its_best_model() {
    let folder = folder();
    succeed(folder.path(), "generate -d 8 -k 8 -n 60000 -o d.npy");
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_mixtura"))
        .args("fit d.npy -k 8 --init random --tolerance 0 --rounds 1000000 -o m.json --trace t.csv".split(' '))
        .current_dir(folder.path())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    assert_eq!(model["fit"]["reason"].as_str(), Some("interrupted"));
    assert!(model["fit"]["rounds"].as_u64().unwrap() > 0);
}

#[test]
fn help_version_completions_and_manual_are_there() {
    let folder = folder();
    assert!(succeed(folder.path(), "--version").stdout.starts_with("mixtura 0."));
    let help = succeed(folder.path(), "--help").stdout;
    for subcommand in ["fit", "predict", "score", "sample", "show", "generate"] {
        assert!(help.contains(subcommand));
    }
    assert!(succeed(folder.path(), "completions bash").stdout.contains("_mixtura"));
    assert!(succeed(folder.path(), "man").stdout.contains(".TH mixtura 1"));
    succeed(folder.path(), "man -o .");
    assert!(fs::read_to_string(folder.path().join("mixtura-fit.1")).unwrap().contains("regularization"));
    assert_eq!(run(folder.path(), "fit").code, 2);
    assert_eq!(run(folder.path(), "no-such-thing").code, 2);
}

#[test]
fn a_ridge_is_in_the_datas_units_even_if_normalized() {
    let folder = folder();
    fs::write(folder.path().join("d.csv"), "a\n100\n200\n300\n").unwrap();
    let variance = |options: &str| {
        let model = json(&succeed(folder.path(), &format!("fit d.csv -k 1 --ridge 50 {options}")).stdout);
        model["covariances"][0][0][0].as_f64().unwrap()
    };
    let expected = 20_000.0 / 3.0 + 50.0;
    assert!((variance("") - expected).abs() < 1e-8);
    assert!((variance("--normalize") - expected).abs() < 1e-8);
}

#[test]
fn a_normalized_fit_states_the_likelihood_of_the_model_it_writes() {
    let folder = folder();
    // Three columns on a plane, far from zero: converting back to the units of the data rounds.
    let rows: Vec<String> = (0..300)
        .map(|i| {
            let (a, b) = (f64::from(i * 37 % 101) / 10.0, f64::from(i * 53 % 97) / 7.0);
            format!("{},{},{}\n", a + 1e10, b + 1e10, a - b + 1e10)
        })
        .collect();
    fs::write(folder.path().join("d.csv"), format!("a,b,c\n{}", rows.concat())).unwrap();
    succeed(folder.path(), "fit d.csv -k 2 --normalize --rounds 30 -o m.json");
    let model = json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
    let score = json(&succeed(folder.path(), "score m.json d.csv").stdout);
    assert_eq!(model["fit"]["mean_log_likelihood"], score["mean_log_likelihood"]);
}

#[test]
fn a_dash_and_devices_are_outputs() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    json(&succeed(folder.path(), "fit d.csv -k 2 -q -o -").stdout);
    succeed(folder.path(), "fit d.csv -k 2 -o /dev/null --trace /dev/null");
    assert!(!folder.path().join("-").exists());
}

#[test]
fn columns_without_names_are_called_by_their_number() {
    let folder = folder();
    fs::write(folder.path().join("d.csv"), ",\n1,2\n4,7\n9,5\n").unwrap();
    succeed(folder.path(), "fit d.csv -k 1 -o m.json");
    succeed(folder.path(), "predict m.json d.csv");
}

#[cfg(unix)]
#[test]
fn an_interrupted_generation_leaves_nothing_behind() {
    let folder = folder();
    let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_mixtura"))
        .args("generate -d 20 -k 3 -n 100000000 -o g.csv".split(' '))
        .current_dir(folder.path())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}
