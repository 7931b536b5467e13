//! Checks which paths refer to the same file, and which are rejected before any work.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use mixtura_io::{probe, same_target, target};

use crate::fixture::names;

#[test]
fn two_spellings_of_a_file_that_does_not_exist_are_one_target() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("real")).unwrap();
    symlink("real", at("link")).unwrap();
    symlink("real/new.json", at("dangling.json")).unwrap();
    symlink("dangling.json", at("twice.json")).unwrap();
    for same in ["./real/new.json", "real/../real/new.json", "link/new.json", "dangling.json", "twice.json"] {
        assert!(same_target(&at("real/new.json"), &at(same)), "{same}: {:?}", target(&at(same)));
    }
    for other in ["new.json", "real/new.jso", "real", "link/new.json/x"] {
        assert!(!same_target(&at("real/new.json"), &at(other)), "{other}");
    }
    assert!(same_target(&at("none/a/x"), &at("none/./a/../a/x")), "folders that are to be made count as well");
    assert!(same_target(Path::new("x.json"), Path::new("./x.json")));
    assert!(!same_target(Path::new("x.json"), Path::new("../x.json")));
}

#[test]
fn links_to_the_data_are_the_data() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("data.csv"), "x\n1\n").unwrap();
    fs::create_dir(at("report")).unwrap();
    symlink("../data.csv", at("report/summary.json")).unwrap();
    fs::hard_link(at("data.csv"), at("hard.csv")).unwrap();
    assert!(same_target(&at("report/summary.json"), &at("data.csv")));
    assert!(same_target(&at("hard.csv"), &at("data.csv")));
    assert_eq!(target(&at("report/summary.json")), fs::canonicalize(at("data.csv")).unwrap());
}

#[test]
fn a_link_in_a_circle_has_a_name_and_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("loop");
    symlink("loop", &path).unwrap();
    assert!(same_target(&path, &path));
    assert!(probe(&path).is_err());
}

#[test]
fn what_cannot_be_written_is_found_by_a_probe_that_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let refuse = |name: &str| probe(&at(name)).unwrap_err().to_string().replace(&format!("{}/", at("").display()), "");
    assert!(refuse("none/a.csv").ends_with("does not exist"));
    fs::create_dir(at("folder")).unwrap();
    assert!(refuse("folder").ends_with("is a folder, not a file"));
    fs::write(at("protected"), "old").unwrap();
    fs::set_permissions(at("protected"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(refuse("protected").ends_with("cannot write: permission denied"));
    assert!(refuse("protected/a.csv").ends_with("does not exist"), "a file is no folder");
    probe(&at("new")).unwrap();
    assert_eq!(names(folder.path()), ["folder", "protected"]);
}
