//! The committed inputs of a fuzz target, fed to the same function by `cargo test` on stable Rust.
//!
//! Included by the test modules of the crates: a defect that fuzzing found cannot come back unnoticed where nobody
//! fuzzes. The inputs are read in a child process with limits, because what exhausts memory or never ends takes its
//! process with it.

use std::path::Path;
use std::process::Command;
use std::{env, fs, thread};

/// Address space of the child [KiB]: every input is smaller than 100 kB.
const MEMORY_KIB: u32 = 1 << 20;
/// Processor time of the child [s], which no load on the machine uses up.
const CPU_S: u32 = 60;
const CHILD: &str = "THINKTIME_REPLAY";

/// Calls `run` with every committed input of `target`.
///
/// # Panics
/// An input makes `run` panic, or use more memory or time than it may; the message names the input.
pub(super) fn replay(target: &str, run: fn(&[u8])) {
    if env::var_os(CHILD).is_some() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
        let mut inputs: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
            .map(|entry| entry.expect("the folder is readable").path())
            .collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "{} has no input", folder.display());
        for input in inputs {
            // Before it is read: the last line names what ended the process.
            println!("replay {}", input.display());
            run(&fs::read(&input).expect("the input is readable"));
        }
        return;
    }
    // The harness gives the thread of a test its name.
    let thread = thread::current();
    let test = thread.name().expect("tests are run by the harness");
    let output = Command::new("sh")
        .args(["-c", &format!("ulimit -v {MEMORY_KIB} && ulimit -t {CPU_S} && exec \"$0\" \"$@\"")])
        .arg(env::current_exe().expect("this program"))
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, "1")
        .output()
        .expect("sh runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let ended = output.status.success() && text.contains("1 passed");
    let last: Vec<&str> = text.lines().rev().filter(|line| line.contains("replay ")).take(1).collect();
    assert!(ended, "{target}: {}, {last:?}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
}
