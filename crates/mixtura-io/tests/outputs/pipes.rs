//! Checks output to pipes and devices, which must not be opened early or block.
#![cfg(unix)]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use mixtura_io::{AtomicFile, probe, write_file};
use tempfile::TempDir;

fn pipe() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe.csv");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    (folder, path)
}

#[test]
fn probing_a_pipe_neither_waits_for_its_reader_nor_ends_it() {
    let (_folder, path) = pipe();
    // Without a reader, opening would block forever.
    probe(&path).unwrap();
    let mut file = AtomicFile::create(&path).unwrap();
    file.write_all(b"held back").unwrap();
    drop(file);
    // A reader must not see the end of the stream before the result.
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read_to_string(&path).unwrap());
        probe(&path).unwrap();
        drop(AtomicFile::create(&path).unwrap());
        write_file(&path, b"label\n1\n").unwrap();
        assert_eq!(reader.join().unwrap(), "label\n1\n");
    });
    assert!(!fs::metadata(&path).unwrap().is_file(), "the pipe is still there");
}

#[test]
fn an_empty_result_ends_a_pipe_as_well() {
    let (_folder, path) = pipe();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| fs::read(&path).unwrap());
        AtomicFile::create(&path).unwrap().commit().unwrap();
        assert!(reader.join().unwrap().is_empty());
    });
}

#[test]
fn probing_a_socket_or_device_leaves_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    probe(&path).unwrap();
    probe(Path::new("/dev/null")).unwrap();
    assert!(write_file(&path, b"x").is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_in_shared_memory_is_replaced_not_appended_to() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else { return };
    let path = folder.path().join("model.json");
    write_file(&path, b"a long first text").unwrap();
    write_file(&path, b"second").unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"second");
}

#[cfg(target_os = "linux")]
#[test]
fn an_open_file_by_the_name_of_its_descriptor_keeps_what_it_holds() {
    use std::os::fd::AsRawFd;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut open = File::options().create(true).read(true).append(true).open(&path).unwrap();
    open.write_all(b"before ").unwrap();
    write_file(Path::new(&format!("/dev/fd/{}", open.as_raw_fd())), b"after").unwrap();
    let mut text = String::new();
    File::open(&path).unwrap().read_to_string(&mut text).unwrap();
    assert_eq!(text, "before after");
}
