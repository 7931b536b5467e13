//! Lists the contents of a folder, and runs a test of this program again in a separate process.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Environment variable that tells a process that it is the one to be killed or limited, and where to write.
const ROLE: &str = "MIXTURA_TEST_FILE";

/// The names in a folder and its subfolders, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() {
            names.extend(self::names(&entry.path()).into_iter().map(|inner| format!("{name}/{inner}")));
        }
        names.push(name);
    }
    names.sort();
    names
}

/// The file that this process is to write, if it was started by [`again`].
pub(crate) fn role() -> Option<std::path::PathBuf> {
    std::env::var_os(ROLE).map(Into::into)
}

/// A shell command that runs one test of this program again, with [`role`] set; `$0` and `$@` are the test.
pub(crate) fn again(script: &str, test: &str, file: &Path) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture", "--test-threads=1"]).env(ROLE, file);
    command
}
