//! Logs that somebody has prepared or changed: nothing outside the folder is touched, and every change is found.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use thinktime_log::{Defect, Log, LogError, LogWriter, OpenMode, Severity, Value, vocabulary};

use crate::numbers::{assert_whole, numbers, open, row, schema, session, twin};

use crate::is_thorough;

fn message<T: std::fmt::Debug>(result: Result<T, LogError>) -> String {
    result.expect_err("this must be refused").to_string()
}

fn errors(dir: &Path) -> Vec<Defect> {
    let defects = Log::open(dir).unwrap().check().unwrap();
    defects.into_iter().filter(|defect| defect.severity == Severity::Error).collect()
}

/// A log of two tables with `parts` parts of ten rows, and its folder's holder.
fn log_of(parts: u64) -> (tempfile::TempDir, PathBuf) {
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("log");
    let mut writer = open(&dir);
    write(&mut writer, 0..10 * parts, true);
    writer.finish().unwrap();
    assert_eq!(errors(&dir), []);
    (holder, dir)
}

fn write(writer: &mut LogWriter, rows: std::ops::Range<u64>, seals: bool) {
    let tables = [writer.declare(schema()).unwrap(), writer.declare(twin()).unwrap()];
    for number in rows {
        writer.append(tables.iter().map(|table| (*table, vec![row(number)])).collect()).unwrap();
        if seals && number % 10 == 9 {
            writer.seal().unwrap();
        }
    }
}

/// A log in which a recorder says that it took `taken` samples, of which `given_up` were lost.
fn recorded(taken: u64, given_up: u64, ends: bool) -> (tempfile::TempDir, PathBuf) {
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("log");
    let mut writer = open(&dir);
    let schema = vocabulary::samples();
    let table = writer.declare(schema.clone()).unwrap();
    for number in 0..taken - given_up {
        let mut row = vec![Value::Null; schema.columns.len()];
        row[schema.position("start").unwrap()] = Value::Time(1_000_000 * number as i64);
        row[schema.position("length_s").unwrap()] = Value::F64(1.0);
        writer.append(vec![(table, vec![row])]).unwrap();
        if number % 3 == 2 {
            writer.seal().unwrap();
        }
    }
    for _ in 0..given_up {
        writer.give_up("a test lost it");
    }
    writer.set("recorder", serde_json::json!({ "samples_taken": taken })).unwrap();
    assert_eq!(writer.lost(), given_up);
    if ends {
        writer.finish().unwrap();
    }
    (holder, dir)
}

#[test]
fn a_sample_that_is_neither_in_the_log_nor_named_is_found() {
    for (given_up, ends) in [(0, true), (2, true), (0, false), (2, false)] {
        let (_holder, dir) = recorded(10, given_up, ends);
        assert_eq!(errors(&dir), [], "{given_up} {ends}");
    }
    for (from, to) in [("\"rows_lost\"", "\"other\""), ("\"samples_taken\": 10", "\"samples_taken\": 11")] {
        let (_holder, dir) = recorded(10, 2, true);
        let text = fs::read_to_string(manifest(&dir)).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(manifest(&dir), text.replace(from, to)).unwrap();
        let found = errors(&dir);
        assert!(found.iter().any(|defect| defect.item == "samples_taken"), "{from}: {found:?}");
    }
}

#[test]
fn a_lock_that_was_removed_is_taken_again_and_lets_no_other_writer_in() {
    let (_holder, dir) = log_of(1);
    let mut writer = open(&dir);
    write(&mut writer, 10..15, false);
    fs::remove_file(dir.join("lock")).unwrap();
    assert!(message(writer.verify()).contains("lock"));
    assert!(!writer.is_writable());
    writer.finish().unwrap();
    assert_eq!(assert_whole(&Log::open(&dir).unwrap(), 15), 15);
    let mut writer = open(&dir);
    write(&mut writer, 15..20, false);
    fs::remove_file(dir.join("lock")).unwrap();
    // The folder itself is locked too: whoever comes next makes a new file of that name in vain.
    let second = LogWriter::open(&dir, OpenMode::Resume, session("boot"));
    assert!(message(second).contains("is being written"));
    writer.finish().unwrap();
    assert_eq!(assert_whole(&Log::open(&dir).unwrap(), 20), 20);
    open(&dir).finish().unwrap();
    assert_eq!(errors(&dir), []);
}

#[test]
fn a_writer_whose_folder_was_removed_says_that_everything_is_lost() {
    let (_holder, dir) = log_of(1);
    let mut writer = open(&dir);
    write(&mut writer, 10..15, false);
    fs::remove_dir_all(&dir).unwrap();
    assert!(message(writer.verify()).contains("was removed with it"));
    assert!(writer.finish().is_err());
    assert_eq!(writer.lost(), 5);
}

#[test]
fn a_moved_folder_is_named_where_it_is() {
    let (holder, dir) = log_of(1);
    let mut writer = open(&dir);
    let moved = holder.path().join("moved");
    fs::rename(&dir, &moved).unwrap();
    assert!(message(writer.verify()).contains(moved.to_str().unwrap()));
    assert!(writer.is_writable());
}

#[test]
fn a_journal_that_was_removed_between_two_sessions_is_counted() {
    let (_holder, dir, journal) = open_journal();
    fs::remove_file(&journal).unwrap();
    open(&dir).finish().unwrap();
    let log = Log::open(&dir).unwrap();
    assert!(log.manifest().incidents.iter().any(|incident| incident.kind == "journal_lost"));
}

/// A log whose writer was killed: ten rows in a journal, a block each.
fn open_journal() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let holder = tempfile::tempdir().unwrap();
    let dir = holder.path().join("log");
    let mut writer = open(&dir);
    write(&mut writer, 0..10, false);
    drop(writer);
    let journal = dir.join("journal-000001.ttj");
    (holder, dir, journal)
}

fn manifest(dir: &Path) -> PathBuf {
    dir.join("manifest.json")
}

fn blocks(journal: &[u8]) -> Vec<usize> {
    let mut starts: Vec<usize> =
        (0..journal.len()).filter(|at| journal[*at..].starts_with(b"TTB2")).collect();
    starts.push(journal.len());
    starts
}

#[test]
fn no_link_is_followed_and_no_second_name_is_written_through() {
    for name in ["lock", "numbers", "manifest.json"] {
        let (holder, dir) = log_of(1);
        let victim = holder.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("file"), "precious").unwrap();
        let target = if name == "numbers" { victim.clone() } else { victim.join("file") };
        fs::rename(dir.join(name), holder.path().join("aside")).unwrap();
        symlink(&target, dir.join(name)).unwrap();
        let text = message(LogWriter::open(&dir, OpenMode::Resume, session("boot")));
        assert!(text.contains("symbolic link"), "{name}: {text}");
        assert_eq!(fs::read_to_string(victim.join("file")).unwrap(), "precious");
        assert_eq!(fs::read_dir(&victim).unwrap().count(), 1);
    }
    let (holder, dir) = log_of(1);
    let victim = holder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    fs::remove_file(dir.join("lock")).unwrap();
    fs::hard_link(&victim, dir.join("lock")).unwrap();
    assert!(message(LogWriter::open(&dir, OpenMode::Resume, session("boot"))).contains("second name"));
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
}

#[test]
fn a_temporary_file_that_somebody_put_there_is_replaced_and_not_written_through() {
    let (holder, dir) = log_of(1);
    let victim = holder.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    for name in ["manifest.json.tmp", "ledger-000003.jsonl.tmp"] {
        symlink(&victim, dir.join(name)).unwrap();
    }
    let mut writer = open(&dir);
    write(&mut writer, 10..20, true);
    writer.finish().unwrap();
    assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
    assert_eq!(assert_whole(&Log::open(&dir).unwrap(), 20), 20);
}

#[test]
fn the_folder_itself_may_be_read_through_a_link_and_not_written() {
    let (holder, dir) = log_of(1);
    let link = holder.path().join("link");
    symlink(&dir, &link).unwrap();
    assert_eq!(assert_whole(&Log::open(&link).unwrap(), 10), 10);
    assert!(message(LogWriter::open(&link, OpenMode::Resume, session("boot"))).contains("symbolic link"));
    let slash = holder.path().join("link/");
    assert!(message(LogWriter::open(&slash, OpenMode::Resume, session("boot"))).contains("symbolic link"));
}

#[test]
fn a_name_of_a_table_is_never_a_path() {
    for name in ["../victim", "/tmp/victim", "a/b", "..", "", "Numbers"] {
        let (holder, dir) = log_of(1);
        let victim = holder.path().join("victim");
        fs::create_dir(&victim).unwrap();
        fs::write(victim.join("part-000001.parquet"), "precious").unwrap();
        let text = fs::read_to_string(manifest(&dir)).unwrap();
        fs::write(manifest(&dir), text.replace("\"name\": \"numbers\"", &format!("\"name\": \"{name}\"")))
            .unwrap();
        for mode in [OpenMode::Resume, OpenMode::Replace] {
            let text = message(LogWriter::open(&dir, mode, session("boot")));
            assert!(text.contains("tables[0]"), "{text}");
        }
        assert!(message(Log::open(&dir)).contains("lower case"));
        assert_eq!(fs::read_to_string(victim.join("part-000001.parquet")).unwrap(), "precious");
    }
}

#[test]
fn replacing_a_log_removes_the_parts_that_it_lists_and_no_others() {
    let (_holder, dir) = log_of(2);
    let foreign = dir.join("numbers/part-000009.parquet");
    fs::write(&foreign, "somebody's").unwrap();
    LogWriter::open(&dir, OpenMode::Replace, session("boot")).unwrap().finish().unwrap();
    assert_eq!(fs::read_to_string(&foreign).unwrap(), "somebody's");
    assert!(!dir.join("numbers/part-000001.parquet").exists());
    assert!(!dir.join("twins").exists());
}

#[test]
fn a_log_is_for_its_owner_and_group() {
    let (_holder, dir) = log_of(1);
    let mut folders = vec![dir];
    while let Some(folder) = folders.pop() {
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o027, 0, "{}", folder.display());
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                assert_eq!(fs::metadata(&path).unwrap().mode() & 0o137, 0, "{}", path.display());
            }
        }
    }
}

#[test]
fn root_does_not_write_where_others_may() {
    if !rustix::process::geteuid().is_root() {
        assert!(std::env::var_os("THINKTIME_REQUIRE_ALL").is_none(), "run this test as root");
        eprintln!("root_does_not_write_where_others_may not run: it needs root");
        return;
    }
    let (_holder, dir) = log_of(1);
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o770)).unwrap();
    let text = message(LogWriter::open(&dir, OpenMode::Resume, session("boot")));
    assert!(text.contains("770") && text.contains("chmod go-w"), "{text}");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
    open(&dir).finish().unwrap();
    std::os::unix::fs::chown(&dir, Some(1000), None).unwrap();
    let text = message(LogWriter::open(&dir, OpenMode::Resume, session("boot")));
    assert!(text.contains("user 1000") && text.contains("chown root"), "{text}");
}

#[test]
fn what_is_no_regular_file_is_refused_at_once() {
    let (_holder, dir) = log_of(1);
    let part = dir.join("numbers/part-000001.parquet");
    fs::remove_file(&part).unwrap();
    let path = std::ffi::CString::new(part.to_str().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let found = errors(&dir);
    assert!(found.iter().any(|defect| defect.message.contains("no regular file")), "{found:?}");
}

#[test]
fn every_change_of_a_part_is_found() {
    type Spoil = fn(&Path);
    let damage: [(&str, Spoil); 6] = [
        ("deleted", |dir| fs::remove_file(dir.join("twins/part-000001.parquet")).unwrap()),
        ("folder deleted", |dir| fs::remove_dir_all(dir.join("twins")).unwrap()),
        ("copied", |dir| {
            let from = dir.join("twins/part-000001.parquet");
            fs::copy(from, dir.join("twins/part-000007.parquet")).unwrap();
        }),
        ("swapped", |dir| {
            let parts = ["twins/part-000001.parquet", "twins/part-000002.parquet"].map(|name| dir.join(name));
            fs::rename(&parts[0], dir.join("aside")).unwrap();
            fs::rename(&parts[1], &parts[0]).unwrap();
            fs::rename(dir.join("aside"), &parts[1]).unwrap();
        }),
        ("shortened", |dir| {
            let part = dir.join("twins/part-000001.parquet");
            let bytes = fs::read(&part).unwrap();
            fs::write(&part, &bytes[..bytes.len() - 1]).unwrap();
        }),
        ("from elsewhere", |dir| {
            fs::copy(dir.join("numbers/part-000001.parquet"), dir.join("twins/part-000001.parquet")).unwrap();
        }),
    ];
    for (name, spoil) in damage {
        let (_holder, dir) = log_of(2);
        spoil(&dir);
        let found = errors(&dir);
        assert!(!found.is_empty(), "{name}: nothing was found");
        assert!(found.iter().all(|defect| defect.file.starts_with(dir.join("twins"))), "{name}: {found:?}");
        assert_eq!(Log::open(&dir).unwrap().integrity().unwrap(), found, "{name}");
    }
}

#[test]
fn a_copied_part_adds_no_rows() {
    let (_holder, dir) = log_of(2);
    for name in ["part-000009.parquet", "part-1.parquet"] {
        fs::copy(dir.join("numbers/part-000001.parquet"), dir.join("numbers").join(name)).unwrap();
    }
    assert_eq!(assert_whole(&Log::open(&dir).unwrap(), 20), 20);
}

/// Of every bit of a part, of the manifest, of the ledger and of the sessions that have ended: the log is refused or the change is found.
#[test]
fn every_flipped_bit_is_found() {
    let (_holder, dir) = log_of(1);
    // A second session, whose start puts the first into the file of those that have ended.
    open(&dir).finish().unwrap();
    let lines = ["ledger-000001.jsonl", "sessions-000001.jsonl"].map(|name| dir.join(name));
    for file in [vec![dir.join("numbers/part-000001.parquet"), manifest(&dir)], lines.to_vec()].concat() {
        let whole = fs::read(&file).unwrap();
        let mut bytes = whole.clone();
        for bit in 0..8 * bytes.len() {
            bytes[bit / 8] ^= 1 << (bit % 8);
            fs::write(&file, &bytes).unwrap();
            if let Ok(log) = Log::open(&dir) {
                assert!(!log.integrity().unwrap().is_empty(), "{}: bit {bit}", file.display());
            }
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
        fs::write(&file, &whole).unwrap();
    }
    assert_eq!(errors(&dir), []);
}

/// What a crash leaves after the lines in force is nobody's; a file that somebody shortened is told, and written anew.
#[test]
fn lines_after_those_in_force_are_not_read_and_lines_that_are_missing_are_told() {
    let (_holder, dir) = log_of(1);
    open(&dir).finish().unwrap();
    for name in ["ledger-000001.jsonl", "sessions-000001.jsonl"] {
        let whole = fs::read(dir.join(name)).unwrap();
        let mut longer = whole.clone();
        longer.extend(b"{\"table\": \"numb");
        fs::write(dir.join(name), &longer).unwrap();
        assert_eq!(errors(&dir), []);
        // The next lines stand in the place of those.
        let mut writer = open(&dir);
        write(&mut writer, 0..0, false);
        let table = writer.declare(schema()).unwrap();
        writer.append(vec![(table, vec![row(100)])]).unwrap();
        writer.finish().unwrap();
        assert_eq!(errors(&dir), [], "{name}");
        let now = fs::read(dir.join(name)).unwrap();
        assert!(now.starts_with(&whole) && now.len() > whole.len());
    }
    let sessions = Log::open(&dir).unwrap().manifest().sessions.len();
    assert_eq!(sessions, 4);
    for name in ["ledger-000001.jsonl", "sessions-000001.jsonl"] {
        let whole = fs::read(dir.join(name)).unwrap();
        fs::write(dir.join(name), &whole[..whole.len() - 1]).unwrap();
        let told = errors(&dir);
        assert!(told.iter().any(|defect| defect.message.contains(name)), "{name}: {told:?}");
        fs::write(dir.join(name), &whole).unwrap();
        assert_eq!(errors(&dir), []);
    }
    // Without its last line: what can be read goes on in a file with a new number, and an incident says so.
    let whole = fs::read(dir.join("sessions-000001.jsonl")).unwrap();
    let cut = whole[..whole.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap() + 1;
    fs::write(dir.join("sessions-000001.jsonl"), &whole[..cut]).unwrap();
    open(&dir).finish().unwrap();
    let log = Log::open(&dir).unwrap();
    assert_eq!(log.manifest().sessions.len(), sessions, "one was lost, and one came");
    assert_eq!(log.manifest().incidents[0].kind, "manifest_changed");
    assert!(dir.join("sessions-000002.jsonl").exists() && !dir.join("sessions-000001.jsonl").exists());
    assert_eq!(errors(&dir), []);
}

/// A fact is in the log at once, whether a journal is open or not, and survives the end of the process.
#[test]
fn facts_are_there_while_a_journal_is_open_and_after_a_kill() {
    let (_holder, dir) = log_of(1);
    let fact =
        |name: &str| Log::open(&dir).unwrap().manifest().sessions.last().unwrap().facts.get(name).cloned();
    let mut writer = open(&dir);
    writer.set("before", 1.into()).unwrap();
    assert_eq!(fact("before"), Some(1.into()));
    write(&mut writer, 10..12, false);
    let bytes = fs::read(manifest(&dir)).unwrap();
    writer.set("taken", 2.into()).unwrap();
    writer.set("taken", 3.into()).unwrap();
    assert_eq!(fact("taken"), Some(3.into()));
    assert_eq!(fs::read(manifest(&dir)).unwrap(), bytes, "the manifest is not written for a fact");
    // A writer that does nothing more: the next one finds the journal and seals it.
    drop(writer);
    open(&dir).finish().unwrap();
    let log = Log::open(&dir).unwrap();
    assert_eq!(log.manifest().sessions[1].facts["taken"], 3);
    assert_eq!(log.manifest().sessions[1].facts["before"], 1);
    assert_eq!(errors(&dir), []);
}

/// Without a ledger, as older logs are: the readers of Parquet meet every damage, and none of it is a panic.
#[test]
fn no_flipped_bit_of_a_part_makes_a_reader_panic() {
    let (_holder, dir) = log_of(1);
    let text = fs::read_to_string(manifest(&dir)).unwrap();
    let lines = text.lines().filter(|line| !line.contains("\"crc32\": \"") || line.starts_with("    "));
    let text: String = lines.map(|line| format!("{line}\n")).collect();
    let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json.as_object_mut().unwrap().remove("ledger");
    json["schema_version"] = 2.into();
    fs::write(manifest(&dir), json.to_string()).unwrap();
    assert_eq!(errors(&dir), []);
    let part = dir.join("numbers/part-000001.parquet");
    let whole = fs::read(&part).unwrap();
    let (mut told, mut flipped) = (0, 0);
    // Each place in a byte, in one byte of five.
    for bit in (0..8 * whole.len()).step_by(if is_thorough() { 1 } else { 5 }) {
        flipped += 1;
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&part, &bytes).unwrap();
        let log = Log::open(&dir).unwrap();
        told += usize::from(!log.check().unwrap().iter().all(|defect| defect.severity == Severity::Note));
        let _ = (log.read("numbers"), log.part_groups("numbers"));
    }
    // The reason for the ledger: most flips are found without it, and not all.
    assert!(told > 0 && told < flipped, "{told} of {flipped}");
}

#[test]
fn blocks_that_are_removed_doubled_or_moved_are_found() {
    type Change = fn(&[u8], &[usize]) -> Vec<u8>;
    // Blocks 0 and 1 declare the tables; then a row a block.
    let changes: [(&str, Change, &str); 4] = [
        ("removed", |bytes, at| [&bytes[..at[3]], &bytes[at[4]..]].concat(), "missing"),
        ("doubled", |bytes, at| [&bytes[..at[4]], &bytes[at[3]..]].concat(), "repeated"),
        (
            "moved",
            |bytes, at| {
                [&bytes[..at[3]], &bytes[at[4]..at[5]], &bytes[at[3]..at[4]], &bytes[at[5]..]].concat()
            },
            "missing",
        ),
        ("without its table", |bytes, at| [&bytes[..at[0]], &bytes[at[1]..]].concat(), "not declared"),
    ];
    for (name, change, word) in changes {
        let (_holder, dir, journal) = open_journal();
        let bytes = fs::read(&journal).unwrap();
        fs::write(&journal, change(&bytes, &blocks(&bytes))).unwrap();
        let found = errors(&dir);
        assert!(found.iter().any(|defect| defect.message.contains(word)), "{name}: {found:?}");
        let mut rows = numbers(&Log::open(&dir).unwrap(), "numbers");
        let count = rows.len();
        rows.dedup();
        assert_eq!(rows.len(), count, "{name}: a row is there twice");
    }
}

/// Every bit of a journal behind its head: found, or a write that was cut short, which is noted.
#[test]
fn every_flipped_bit_of_a_journal_is_told() {
    let (_holder, dir, journal) = open_journal();
    let whole = fs::read(&journal).unwrap();
    for bit in 64..8 * whole.len() {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&journal, &bytes).unwrap();
        let told = Log::open(&dir).unwrap().integrity().unwrap();
        assert!(!told.is_empty(), "bit {bit}");
    }
}

#[test]
fn a_journal_that_is_gone_is_found() {
    let (_holder, dir, journal) = open_journal();
    fs::remove_file(&journal).unwrap();
    let found = errors(&dir);
    assert_eq!(found.iter().map(|defect| &defect.file).collect::<Vec<_>>(), [&journal]);
}

#[test]
fn a_journal_that_was_begun_and_is_empty_is_found() {
    let (_holder, dir, journal) = open_journal();
    fs::write(&journal, b"").unwrap();
    let found = errors(&dir);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].file, journal);
    assert!(found[0].message.contains("empty"), "{}", found[0].message);
}

#[test]
fn a_journal_costs_what_its_bytes_cost() {
    let (_holder, dir, journal) = open_journal();
    // Headers that each claim the rest of the file: hashing each to its end would be quadratic.
    let mut bytes = b"TTJOURN1".to_vec();
    let length = 8_u32 << 20;
    while bytes.len() < length as usize {
        bytes.extend_from_slice(b"TTB2\x02");
        let rest = length.saturating_sub(bytes.len() as u32 + 12);
        bytes.extend_from_slice(&rest.to_le_bytes());
        bytes.extend_from_slice(&[0; 8]);
    }
    fs::write(&journal, &bytes).unwrap();
    assert!(!errors(&dir).is_empty());
    // A file without any bytes and of any length.
    fs::File::create(&journal).unwrap().set_len(1 << 40).unwrap();
    assert!(message(Log::open(&dir)).contains("no journal"));
}

#[test]
fn a_writer_notices_that_its_folder_was_moved_or_replaced() {
    let (holder, dir) = log_of(1);
    let mut writer = open(&dir);
    write(&mut writer, 10..15, false);
    assert!(writer.verify().unwrap().is_none());
    fs::rename(&dir, holder.path().join("moved")).unwrap();
    assert!(message(writer.verify()).contains("folder"));
    // Somebody else's log is there now: it must not be touched.
    let mut second = open(&dir);
    write(&mut second, 0..3, false);
    second.finish().unwrap();
    let before = fs::read(manifest(&dir)).unwrap();
    writer.finish().unwrap();
    assert_eq!(fs::read(manifest(&dir)).unwrap(), before);
    assert_eq!(assert_whole(&Log::open(&dir).unwrap(), 3), 3);
    assert_eq!(assert_whole(&Log::open(&holder.path().join("moved")).unwrap(), 15), 15);
}

#[test]
fn a_writer_notices_that_its_journal_was_cut_or_removed() {
    type Change = fn(&Path);
    let cut: Change = |journal| fs::OpenOptions::new().write(true).open(journal).unwrap().set_len(0).unwrap();
    let removed: Change = |journal| fs::remove_file(journal).unwrap();
    for (change, lost) in [(cut, 10), (removed, 0)] {
        let holder = tempfile::tempdir().unwrap();
        let dir = holder.path().join("log");
        let mut writer = open(&dir);
        write(&mut writer, 0..10, false);
        change(&dir.join("journal-000001.ttj"));
        let incident = writer.verify().unwrap().expect("the journal was changed");
        assert!(incident.detail.contains("another program"), "{incident:?}");
        assert!(writer.verify().unwrap().is_none(), "it is told once");
        write(&mut writer, 10..20, false);
        writer.finish().unwrap();
        let log = Log::open(&dir).unwrap();
        let incidents = &log.manifest().incidents;
        let named: u64 = incidents.iter().filter(|it| it.kind == "rows_lost").map(|it| it.count).sum();
        // The sum of the rows that are read and of those that are named is what was written.
        assert_eq!((numbers(&log, "numbers").len() as u64 + named, named), (20, lost));
    }
}

#[test]
fn an_edited_manifest_is_told_and_the_next_writer_counts_it() {
    let (_holder, dir) = log_of(1);
    let text = fs::read_to_string(manifest(&dir)).unwrap();
    fs::write(manifest(&dir), text.replace("\"source\": \"test\"", "\"source\": \"best\"")).unwrap();
    assert_eq!(errors(&dir).len(), 1);
    open(&dir).finish().unwrap();
    let log = Log::open(&dir).unwrap();
    assert_eq!(log.check().unwrap(), []);
    assert!(log.manifest().incidents.iter().any(|incident| incident.kind == "manifest_changed"));
}

#[test]
fn bytes_after_the_manifest_are_no_manifest() {
    let (_holder, dir) = log_of(1);
    let mut file = fs::OpenOptions::new().append(true).open(manifest(&dir)).unwrap();
    file.write_all(b"{}").unwrap();
    assert!(message(Log::open(&dir)).contains("JSON"));
}
