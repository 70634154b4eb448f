//! What the fuzz target of `fuzz/` calls, on files of a kernel that nobody has seen.
//!
//! Compiled for `cargo fuzz`, which sets `--cfg fuzzing`, and for the tests of this crate, which replay the
//! committed inputs.

use thinktime_tracer::Record;

use crate::people::wtmpdb;
use crate::proc::*;
use crate::processes::{exits, netlink};

/// Every parser on the same text: each gives numbers or an error that names the file.
pub fn proc(text: &[u8]) {
    const FILE: &str = "/proc/file";
    let errors = [
        stat::parse(text, FILE).err(),
        vmstat::parse(text, FILE).err(),
        diskstats::parse(text, FILE).err(),
        net_dev::parse(text, FILE).err(),
        meminfo::parse(text, FILE).err(),
        loadavg::parse(text, FILE).err(),
        pressure::parse(text, FILE).err(),
        process_stat::parse(text, FILE).err(),
        schedstat::parse_thread(text, FILE).err(),
        schedstat::parse_run_queues(text, FILE).err(),
        process_io::parse(text, FILE).err(),
        cpu_usage::parse_cpuacct(text, FILE).err(),
        cpu_usage::parse_cpu_stat(text, FILE).err(),
    ];
    for error in errors.into_iter().flatten() {
        assert!(error.to_string().starts_with(FILE) && !error.problem.is_empty(), "{error}");
    }
    // A byte that is no UTF-8 becomes a character of three.
    assert!(cgroup::parse(text).is_none_or(|path| path.len() <= 3 * text.len()));
    // Every amount that is told stands in a line of its own.
    let engines = drm::parse(text).map_or(0, |client| client.engines.len());
    assert!(engines <= text.split(|byte| *byte == b'\n').count());
    assert!(utmp::count_sessions(text) <= text.len() as u64 / 384);
    utmp::is_user_session(text);
}

/// Messages of netlink, each behind its length in two bytes (the lower first): answers and ends of tasks.
pub fn taskstats(mut input: &[u8]) {
    let mut messages = Vec::new();
    while let Some((length, rest)) = input.split_first_chunk::<2>() {
        let (message, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
        // An answer without a record, or a refusal, is an error and no number.
        let _ = netlink::parse_answer(message);
        messages.push(message);
        input = rest;
    }
    exits::hostile(messages.into_iter());
}

/// Records of a trace, as programs in the kernel write them or a file kept them.
pub fn records(input: &[u8]) {
    let mut events = Vec::new();
    for bytes in input.chunks(Record::BYTES) {
        let Some(record) = Record::of_bytes(bytes) else {
            assert!(bytes.len() < Record::BYTES);
            continue;
        };
        assert_eq!(record.to_bytes(), bytes);
        events.clear();
        record.events(&mut events);
        assert!(events.len() <= Record::EVENTS_MAX);
        for event in &events {
            assert!(event.time_ns <= record.time_ns());
            assert!(event.amount_in_unit().is_none_or(|amount| amount >= 0.0));
            let _ = (event.reason(), event.unit());
        }
    }
}

/// A database of logins, behind its length in four bytes (the lowest first), and its write-ahead log.
pub fn sqlite(input: &[u8]) {
    let Some((length, rest)) = input.split_first_chunk::<4>() else { return };
    let length = usize::try_from(u32::from_le_bytes(*length)).unwrap_or(usize::MAX);
    let (file, log) = rest.split_at(length.min(rest.len()));
    wtmpdb::hostile(file, log);
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use proptest::prelude::*;

    #[test]
    fn files_of_proc() {
        super::replay::replay("proc", super::proc);
    }

    #[test]
    fn messages_of_taskstats() {
        super::replay::replay("taskstats", super::taskstats);
    }

    #[test]
    fn records_of_a_trace() {
        super::replay::replay("records", super::records);
    }

    #[test]
    fn databases_of_logins() {
        super::replay::replay("sqlite", super::sqlite);
    }

    fn fixtures() -> Vec<Vec<u8>> {
        fn collect(folder: PathBuf, found: &mut Vec<Vec<u8>>) {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() { collect(path, found) } else { found.push(std::fs::read(path).unwrap()) }
            }
        }
        let mut found = Vec::new();
        collect(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/proc"), &mut found);
        assert!(found.len() > 20);
        found
    }

    proptest! {
        #[test]
        fn noise_never_panics(text in proptest::collection::vec(any::<u8>(), 0..400)) {
            super::proc(&text);
        }

        #[test]
        fn noise_in_the_kernels_alphabet_never_panics(text in "(cpu|intr|pg|some|total=|[0-9]{1,21}|[-:() \n/]){0,60}") {
            super::proc(text.as_bytes());
        }

        #[test]
        fn damaged_files_never_panic(file in 0..1000usize, at in 0..100_000usize, byte in any::<u8>(), cut in any::<bool>()) {
            let files = fixtures();
            let mut text = files[file % files.len()].clone();
            if !text.is_empty() {
                let at = at % text.len();
                if cut { text.truncate(at) } else { text[at] = byte }
            }
            super::proc(&text);
        }
    }
}
