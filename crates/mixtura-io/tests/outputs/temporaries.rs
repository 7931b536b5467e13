//! Checks that temporaries are removed: immediately, on request, or by the next run.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use mixtura_io::{AtomicFile, OutputFolder, probe, remove_temporaries, write_file};

use crate::fixture::{again, names, role};

/// The child process writes forever; the parent kills it.
#[cfg(unix)]
#[test]
fn a_killed_process_leaves_nothing_after_the_next_run() {
    if let Some(path) = role() {
        let mut file = AtomicFile::create(&path).unwrap();
        file.write_all(&vec![b'x'; 100_000]).unwrap();
        let mut folder = OutputFolder::create(&path.with_extension("report")).unwrap();
        folder.add("a.svg", b"x").unwrap();
        println!("\nready");
        std::thread::park();
        unreachable!("invariant: nobody unparks it: {folder:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let test = "temporaries::a_killed_process_leaves_nothing_after_the_next_run";
    let mut child = again("exec \"$0\" \"$@\"", test, &path).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "ready"));
    let of_the_child = names(folder.path());
    assert_eq!(of_the_child.len(), 3, "a file, and a folder with a file: {of_the_child:?}");

    // The first time that this process checks the folder.
    probe(&path).unwrap();
    assert_eq!(names(folder.path()), of_the_child, "what a living process writes is left alone");

    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(names(folder.path()), of_the_child, "nobody could clean up");
    let next_run = again("exec \"$0\" \"$@\"", "temporaries::the_next_run", &path).stdout(Stdio::null()).status();
    assert!(next_run.unwrap().success());
    assert_eq!(names(folder.path()), ["model.json"]);
}

/// The run after one that was killed.
#[test]
fn the_next_run() {
    if let Some(path) = role() {
        write_file(&path, b"{}").unwrap();
    }
}

#[test]
fn files_that_only_look_like_temporaries_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let look_alikes = [".mixtura-my notes.tmp", ".mixtura-.tmp", "x.tmp"];
    for name in look_alikes {
        fs::write(folder.path().join(name), "mine").unwrap();
    }
    fs::write(folder.path().join(".mixtura-a1B2c3.tmp"), "of a killed process").unwrap();
    probe(&folder.path().join("model.json")).unwrap();
    assert_eq!(names(folder.path()), [".mixtura-.tmp", ".mixtura-my notes.tmp", "x.tmp"]);
}

/// A file-size limit ends a process with a signal unless that is ignored; the shell does that here.
#[cfg(unix)]
#[test]
fn a_file_size_limit_is_an_error_and_leaves_no_temporary() {
    if let Some(path) = role() {
        let error = write_file(&path, &vec![b'x'; 100_000]).unwrap_err();
        assert!(error.to_string().contains("cannot write: File too large"), "{error}");
        println!("\nrefused");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    fs::write(&path, "old").unwrap();
    let test = "temporaries::a_file_size_limit_is_an_error_and_leaves_no_temporary";
    let script = "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\"";
    let output = again(script, test, &path).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("refused"), "{output:?}");
    assert_eq!(names(folder.path()), ["model.json"]);
    assert_eq!(fs::read(&path).unwrap(), b"old");
}

/// Runs in a separate process, because it also removes the temporaries of other tests.
#[test]
fn temporaries_are_removed_on_request_while_writers_are_active() {
    let Some(path) = role() else {
        let folder = tempfile::tempdir().unwrap();
        let test = "temporaries::temporaries_are_removed_on_request_while_writers_are_active";
        let output = again("exec \"$0\" \"$@\"", test, &folder.path().join("a")).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        return;
    };
    let folder = path.parent().unwrap();
    let mut report = OutputFolder::create(&path.with_extension("report")).unwrap();
    report.add("index.html", b"<p>").unwrap();
    let committed = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|writer| {
                scope.spawn(move || {
                    let contents = vec![b'x'; 100_000];
                    let write = |n: usize| write_file(&folder.join(format!("{writer}-{n}")), &contents);
                    (0..50).filter(|&n| write(n).is_ok()).map(|n| format!("{writer}-{n}")).collect::<Vec<_>>()
                })
            })
            .collect();
        for _ in 0..200 {
            remove_temporaries();
            std::thread::yield_now();
        }
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
    });
    assert!(report.commit().is_err(), "its files were removed");
    let mut expected = committed;
    expected.sort();
    assert_eq!(names(folder), expected, "what was committed is there, and nothing else");
    assert!(expected.iter().all(|name| fs::metadata(folder.join(name)).unwrap().len() == 100_000));
}
