//! Checks that nothing is lost or corrupted: outputs that are inputs, full disks, columns in a different order.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::{command, folder, json, run, succeed};

const SMALL: &str = "generate -d 2 -k 2 -n 600 --separation 3 --seed 5 -o d.csv --model true.json";

/// The names in a folder, including hidden ones.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn compare_overwrote_its_own_input() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 2 -n 300 -o runs.csv");
    let before = fs::read(folder.path().join("runs.csv")).unwrap();
    let ran = run(folder.path(), "compare runs.csv -k 2 --starts 1 --runs 1 --rounds 2 -o .");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert!(ran.stderr.contains("output and input are the same file"), "{}", ran.stderr);
    assert_eq!(fs::read(folder.path().join("runs.csv")).unwrap(), before);
    assert_eq!(names(folder.path()), ["runs.csv"]);
}

#[cfg(unix)]
#[test]
fn compare_overwrote_its_input_through_a_link() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 2 -n 300 -o d.csv");
    let before = fs::read(folder.path().join("d.csv")).unwrap();
    fs::create_dir(folder.path().join("out")).unwrap();
    std::os::unix::fs::symlink("../d.csv", folder.path().join("out/summary.json")).unwrap();
    let ran = run(folder.path(), "compare d.csv -k 2 --starts 1 --runs 1 --rounds 2 -o out");
    assert_eq!(ran.code, 2, "{}", ran.stderr);
    assert_eq!(fs::read(folder.path().join("d.csv")).unwrap(), before);
}

#[test]
fn compare_keeps_the_files_of_others_in_its_folder() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 2 -n 300 -o d.csv");
    fs::create_dir(folder.path().join("out")).unwrap();
    fs::write(folder.path().join("out/notes.txt"), "mine").unwrap();
    for _ in 0..2 {
        succeed(folder.path(), "compare d.csv -k 2 --starts 1 --runs 1 --rounds 2 -o out");
        assert_eq!(fs::read_to_string(folder.path().join("out/notes.txt")).unwrap(), "mine");
        json(&fs::read_to_string(folder.path().join("out/summary.json")).unwrap());
    }
    assert_eq!(names(folder.path()), ["d.csv", "out"]);
}

#[test]
fn compare_deleted_the_figures_of_others() {
    let folder = folder();
    succeed(folder.path(), "generate -d 2 -k 2 -n 300 -o d.csv");
    fs::create_dir_all(folder.path().join("out/figures")).unwrap();
    fs::write(folder.path().join("out/figures/mine.svg"), "<svg/>").unwrap();
    for starts in [2, 1] {
        succeed(folder.path(), &format!("compare d.csv -k 2 --starts {starts} --runs 1 --rounds 2 -o out"));
        assert_eq!(fs::read_to_string(folder.path().join("out/figures/mine.svg")).unwrap(), "<svg/>");
    }
    // Files that an earlier run wrote and this one did not are removed.
    assert!(!names(&folder.path().join("out/figures")).iter().any(|name| name.contains("start-2")));
    fs::create_dir(folder.path().join("site")).unwrap();
    fs::write(folder.path().join("site/index.html"), "my page").unwrap();
    let ran = run(folder.path(), "compare d.csv -k 2 --starts 1 --runs 1 --rounds 2 -o site");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("site/index.html: already exists"), "{}", ran.stderr);
    assert_eq!(names(&folder.path().join("site")), ["index.html"]);
}

#[cfg(unix)]
#[test]
fn an_input_that_came_by_redirection_was_overwritten() {
    let folder = folder();
    fs::write(folder.path().join("s.csv"), "x\n1\n2\n4\n").unwrap();
    let line = format!("{} fit - -k 1 -o s.csv < s.csv", env!("CARGO_BIN_EXE_mixtura"));
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(fs::read_to_string(folder.path().join("s.csv")).unwrap(), "x\n1\n2\n4\n");
}

#[cfg(target_os = "linux")]
#[test]
fn generate_replaced_the_rows_although_the_model_could_not_be_written() {
    let folder = folder();
    fs::write(folder.path().join("g.csv"), "old").unwrap();
    fs::create_dir(folder.path().join("locked")).unwrap();
    fs::write(folder.path().join("locked/m.json"), "old").unwrap();
    let line = format!(
        "ulimit -f 1; exec {} generate -d 20 -k 9 -n 2 -o g.csv --model locked/m.json",
        env!("CARGO_BIN_EXE_mixtura")
    );
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(fs::read_to_string(folder.path().join("g.csv")).unwrap(), "old");
}

#[test]
fn two_outputs_went_to_one_file_by_two_names() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    fs::create_dir(folder.path().join("sub")).unwrap();
    for line in [
        "fit d.csv -k 2 -o x.json --trace ./x.json",
        "fit d.csv -k 2 -o x.json --trace sub/../x.json",
        "generate -d 1 -k 1 -n 5 -o x.csv --model ./x.csv",
    ] {
        let ran = run(folder.path(), line);
        assert_eq!(ran.code, 2, "{line}: {}", ran.stderr);
        assert!(ran.stderr.contains("two outputs go to the same file"), "{}", ran.stderr);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("y.json", folder.path().join("dangling.json")).unwrap();
        let ran = run(folder.path(), "fit d.csv -k 2 -o y.json --trace dangling.json");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
        let ran = run(folder.path(), "fit d.csv -k 2 -o sub/../d.csv");
        assert_eq!(ran.code, 2, "{}", ran.stderr);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_trace_that_could_not_be_written_lost_the_model() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let ran = run(folder.path(), "fit d.csv -k 2 -o m.json --trace /dev/full");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("/dev/full: cannot write"), "{}", ran.stderr);
    json(&fs::read_to_string(folder.path().join("m.json")).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_filled_at_the_end_lost_the_model() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let fit = |temporary: &Path| {
        command(folder.path(), "fit d.csv -k 2 -o /dev/full").env("TMPDIR", temporary).output().unwrap()
    };
    let output = fit(folder.path());
    let talk = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(talk.contains("error: /dev/full: cannot write"), "{talk}");
    let spare = talk.lines().find_map(|line| line.strip_prefix("hint: the model was saved to ")).expect("a hint");
    json(&fs::read_to_string(spare.trim_end_matches(" instead")).unwrap());
    // If there is no space there either, the model goes to standard output.
    let output = fit(&folder.path().join("nowhere"));
    assert_eq!(output.status.code(), Some(1));
    json(&String::from_utf8(output.stdout).unwrap());
}

#[cfg(target_os = "linux")]
#[test]
fn a_limit_on_file_sizes_killed_the_command_and_left_a_temporary() {
    let folder = folder();
    let line = format!("ulimit -f 64; exec {} generate -d 5 -k 2 -n 100000 -o g.csv", env!("CARGO_BIN_EXE_mixtura"));
    let output = Command::new("bash").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("g.csv: cannot write"));
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn columns_in_another_order_were_taken_by_position() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    let plain = succeed(folder.path(), "score true.json d.csv").stdout;
    assert_eq!(succeed(folder.path(), "score true.json d.csv --columns x2,x1").stdout, plain);
    let labels = succeed(folder.path(), "predict true.json d.csv").stdout;
    assert_eq!(succeed(folder.path(), "predict true.json d.csv --columns x2,x1").stdout, labels);
    let bounds = succeed(folder.path(), "bounds d.csv --model true.json").stdout;
    assert_eq!(succeed(folder.path(), "bounds d.csv --model true.json --columns x2,x1").stdout, bounds);
    let fit = "fit d.csv --init-model true.json --rounds 3";
    let fitted = succeed(folder.path(), fit).stdout;
    assert_eq!(succeed(folder.path(), &format!("{fit} --columns x2,x1")).stdout, fitted);
    // The same number of different columns does not match the model.
    let data = fs::read_to_string(folder.path().join("d.csv")).unwrap();
    let wide: Vec<String> = data.lines().map(|line| format!("{line},{}\n", line.split(',').next().unwrap())).collect();
    fs::write(folder.path().join("wide.csv"), wide.concat().replacen("x1,x2,x1", "x1,x2,x3", 1)).unwrap();
    let ran = run(folder.path(), "score true.json wide.csv --columns x1,x3");
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert!(ran.stderr.contains("x2") && ran.stderr.contains("x3"), "{}", ran.stderr);
}

#[cfg(unix)]
#[test]
fn an_interrupted_rerun_of_paper_replaced_finished_results() {
    let folder = folder();
    succeed(folder.path(), "paper --only artificial-1e4 --output out");
    let read = |name: &str| fs::read(folder.path().join("out").join(name)).unwrap();
    let before = (read("findings.json"), read("index.html"));
    let mut child = command(folder.path(), "paper --only artificial-1e6 --output out")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!((read("findings.json"), read("index.html")), before);
}

#[cfg(unix)]
#[test]
fn an_output_to_a_named_pipe_hung() {
    let folder = folder();
    succeed(folder.path(), SMALL);
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    for (line, expected) in [
        ("fit d.csv -k 2 -q -o pipe", "{"),
        ("predict true.json d.csv -o pipe.csv", "label\n"),
        ("score true.json d.csv -o pipe", "{"),
        ("show true.json --format json", "{"),
        ("generate -d 2 -k 1 -n 5 -o pipe.csv --model pipe.json", "x1,x2\n"),
        ("bounds d.csv --model true.json -o pipe", "{"),
        ("sample true.json -n 5 -o pipe.csv", "x1,x2\n"),
    ] {
        let line = line.replace("pipe.json", "/dev/null");
        let _ = fs::remove_file(folder.path().join("pipe.csv"));
        std::os::unix::fs::symlink("pipe", folder.path().join("pipe.csv")).unwrap();
        let reader = Command::new("cat").arg(folder.path().join("pipe")).stdout(Stdio::piped()).spawn().unwrap();
        if line.starts_with("show") {
            // It has no output file; the reader must not be left waiting.
            fs::write(folder.path().join("pipe"), succeed(folder.path(), &line).stdout).unwrap();
        } else {
            succeed(folder.path(), &line);
        }
        let read = reader.wait_with_output().unwrap().stdout;
        assert!(String::from_utf8(read).unwrap().starts_with(expected), "{line}");
    }
}

#[test]
fn control_characters_of_names_reached_the_terminal_raw() {
    let folder = folder();
    fs::write(folder.path().join("d.csv"), "a\u{1b}]0;x\u{7},b\n1,2\n2,7\n4,5\n9,1\n").unwrap();
    let table = succeed(folder.path(), "fit d.csv -k 1 --format table -o m.json");
    let shown = succeed(folder.path(), "show m.json --covariances");
    fs::write(folder.path().join("e\u{1b}[2J.csv"), "a\u{1b}c,b\n1,x\n2,3\n").unwrap();
    let output = command(folder.path(), "fit -k 1").arg("e\u{1b}[2J.csv").output().unwrap();
    let refused = String::from_utf8(output.stderr).unwrap();
    assert!(refused.starts_with("error: e\\u{1b}[2J.csv"), "{refused}");
    for text in [table.stdout, table.stderr, shown.stdout, refused] {
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}
