//! Checks that output folders are written atomically.

use std::fs;
use std::path::{Path, PathBuf};

use mixtura_io::{Error, OutputFolder, same_target};
use tempfile::TempDir;

use crate::fixture;

/// The names in a folder, except for the list of written files.
fn names(folder: &Path) -> Vec<String> {
    fixture::names(folder).into_iter().filter(|name| !name.ends_with(".mixtura-files")).collect()
}

/// The parent folder of the folder that is written.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn report(&self) -> PathBuf {
        self.0.path().join("report")
    }

    fn write(&self, files: &[(&str, &str)]) -> Result<(), Error> {
        write(&self.report(), files)
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.report().join(name)).unwrap()
    }
}

fn write(path: &Path, files: &[(&str, &str)]) -> Result<(), Error> {
    let mut folder = OutputFolder::create(path)?;
    for (name, text) in files {
        folder.add(name, text.as_bytes())?;
    }
    folder.commit()
}

const FIRST: [(&str, &str); 4] =
    [("figures/a.svg", "a1"), ("figures/b.svg", "b1"), ("runs.csv", "r1"), ("index.html", "i1")];
const SECOND: [(&str, &str); 2] = [("figures/a.svg", "a2"), ("index.html", "i2")];

#[test]
fn a_folder_appears_whole_with_the_folders_above_it() {
    let place = Place::new();
    let path = place.report().join("of/today");
    let mut folder = OutputFolder::create(&path).unwrap();
    folder.add("index.html", b"i").unwrap();
    assert!(!place.report().exists());
    folder.commit().unwrap();
    assert_eq!(names(place.0.path()), ["report", "report/of", "report/of/today", "report/of/today/index.html"]);
}

#[test]
fn an_unfinished_folder_leaves_the_old_one_as_it_was() {
    let place = Place::new();
    place.write(&FIRST).unwrap();
    let before = names(place.0.path());
    let mut folder = OutputFolder::create(&place.report()).unwrap();
    folder.add("index.html", b"half").unwrap();
    drop(folder);
    assert_eq!(names(place.0.path()), before);
    assert_eq!(place.read("index.html"), "i1");
}

#[test]
fn files_of_an_earlier_run_do_not_stay_among_the_new_ones() {
    let place = Place::new();
    place.write(&FIRST).unwrap();
    place.write(&SECOND).unwrap();
    assert_eq!(names(&place.report()), ["figures", "figures/a.svg", "index.html"]);
    assert_eq!((place.read("figures/a.svg").as_str(), place.read("index.html").as_str()), ("a2", "i2"));
    assert_eq!(names(place.0.path()).len(), 4, "nothing is left beside it");
}

#[test]
fn files_of_the_user_are_never_touched() {
    let place = Place::new();
    place.write(&FIRST).unwrap();
    fs::write(place.report().join("figures/notes.txt"), "mine").unwrap();
    fs::create_dir(place.report().join("empty")).unwrap();
    place.write(&SECOND).unwrap();
    let expected = ["empty", "figures", "figures/a.svg", "figures/notes.txt", "index.html"];
    assert_eq!(names(&place.report()), expected);
    assert_eq!((place.read("figures/notes.txt").as_str(), place.read("index.html").as_str()), ("mine", "i2"));
    place.write(&[("index.html", "i3")]).unwrap();
    assert_eq!(names(&place.report()), ["empty", "figures", "figures/notes.txt", "index.html"]);
}

#[test]
fn files_that_come_while_the_work_is_done_are_kept() {
    let place = Place::new();
    place.write(&FIRST).unwrap();
    let mut folder = OutputFolder::create(&place.report()).unwrap();
    folder.add("index.html", b"i2").unwrap();
    fs::write(place.report().join("notes.txt"), "mine").unwrap();
    folder.commit().unwrap();
    assert_eq!(names(&place.report()), ["index.html", "notes.txt"]);
    assert_eq!(place.read("index.html"), "i2");
}

#[test]
fn a_file_where_the_folder_should_be_is_refused_before_any_work() {
    let place = Place::new();
    fs::write(place.report(), "a file").unwrap();
    for path in [place.report(), place.report().join("inner/most")] {
        let error = OutputFolder::create(&path).unwrap_err();
        assert!(error.to_string().ends_with("report: is not a folder"), "{error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(names(place.0.path()), ["report"]);
}

#[cfg(unix)]
#[test]
fn a_link_to_the_data_is_seen_and_a_linked_folder_is_written_through() {
    let place = Place::new();
    let data = place.0.path().join("data.csv");
    fs::write(&data, "x\n1\n").unwrap();
    fs::create_dir(place.report()).unwrap();
    std::os::unix::fs::symlink(&data, place.report().join("runs.csv")).unwrap();
    let folder = OutputFolder::create(&place.report()).unwrap();
    assert!(same_target(&folder.would_write("runs.csv"), &data));
    assert!(!same_target(&folder.would_write("index.html"), &data));
    drop(folder);
    let link = place.0.path().join("link");
    std::os::unix::fs::symlink("report", &link).unwrap();
    write(&link, &SECOND).unwrap();
    assert!(link.is_symlink());
    assert_eq!(place.read("index.html"), "i2");
    assert_eq!(fs::read(&data).unwrap(), b"x\n1\n", "the link went, what it led to stayed");
}

#[cfg(unix)]
#[test]
fn the_current_folder_is_filled_not_replaced() {
    use std::os::unix::fs::MetadataExt;
    if let Some(path) = crate::fixture::role() {
        std::env::set_current_dir(&path).unwrap();
        write(Path::new("."), &SECOND).unwrap();
        assert!(Path::new("index.html").exists(), "the process is still in the folder it wrote");
        return;
    }
    let place = Place::new();
    place.write(&FIRST).unwrap();
    let number = fs::metadata(place.report()).unwrap().ino();
    let test = "folder::the_current_folder_is_filled_not_replaced";
    let output = crate::fixture::again("exec \"$0\" \"$@\"", test, &place.report()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(names(&place.report()), ["figures", "figures/a.svg", "index.html"]);
    assert_eq!(fs::metadata(place.report()).unwrap().ino(), number);
}

#[cfg(unix)]
#[test]
fn a_folder_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::new();
    let mode = || fs::metadata(place.report()).unwrap().permissions().mode() & 0o777;
    fs::create_dir(place.0.path().join("usual")).unwrap();
    place.write(&FIRST).unwrap();
    assert_eq!(mode(), fs::metadata(place.0.path().join("usual")).unwrap().permissions().mode() & 0o777);
    fs::set_permissions(place.report(), fs::Permissions::from_mode(0o750)).unwrap();
    place.write(&SECOND).unwrap();
    assert_eq!(mode(), 0o750);
}

#[test]
fn files_that_no_earlier_run_wrote_are_not_ours_whatever_they_are_called() {
    let place = Place::new();
    fs::create_dir_all(place.report().join("figures")).unwrap();
    fs::write(place.report().join("figures/mine.svg"), "mine").unwrap();
    place.write(&FIRST).unwrap();
    place.write(&SECOND).unwrap();
    assert_eq!(names(&place.report()), ["figures", "figures/a.svg", "figures/mine.svg", "index.html"]);
    fs::write(place.report().join("summary.json"), "mine").unwrap();
    let folder = OutputFolder::create(&place.report()).unwrap();
    assert!(folder.refuse_foreign(&["index.html", "figures/a.svg", "runs.csv"]).is_ok());
    let error = folder.refuse_foreign(&["index.html", "summary.json"]).unwrap_err();
    assert!(
        error.to_string().ends_with("summary.json: already exists and was not written by an earlier run"),
        "{error}"
    );
}
