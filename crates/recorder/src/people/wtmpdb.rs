//! Who is logged in by wtmpdb, the database that replaces wtmp: who came when, from where, and has not left.
//!
//! It tells what the other records do not: where a session came from when sshd told neither utmp nor logind, and all
//! logins where none of the two is there. It does not tell what is over: the entry of a session that was killed stays
//! open until the next boot. So an open entry counts only while a process shows that the session [lives](living).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::logins::Login;
use super::sqlite::{Database, Problem, Table, Value, Walk, value_at};
use crate::kernel::clock::Moment;
use crate::kernel::files::Root;
use crate::kernel::host;
use crate::processes::census::Census;

/// Where the database is: of wtmpdb itself, and of Ubuntu, which has a link from there.
const PATHS: [&str; 2] = ["/var/lib/wtmpdb/wtmp.db", "/var/log/wtmp.db"];
/// What begins a journal that is needed: a transaction is under way, or a crash ended it.
pub(crate) const JOURNAL_MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
/// Columns that are read, in their order in [`entry`].
const COLUMNS: [&str; 7] = ["type", "user", "login", "logout", "tty", "remotehost", "service"];
/// Types of entries (wtmpdb.h).
const BOOT: i64 = 1;
const USER: i64 = 3;
/// Services that open a session for somebody who is there already, or for nobody. Their entries are no logins.
const NO_LOGINS: [&str; 11] = [
    "su",
    "su-l",
    "sudo",
    "sudo-i",
    "runuser",
    "runuser-l",
    "cron",
    "crond",
    "atd",
    "polkit-1",
    "systemd-user",
];
/// Open entries that are kept; more are no logins of one machine.
const OPEN_MAX: usize = 16_384;
/// Longest text of an entry; a name of a machine has at most 255 [byte].
const TEXT_MAX: usize = 256;
/// What the clock may have been set by between the boot and now [us].
const BOOT_SLACK_US: i64 = 120_000_000;
/// Time for which an entry without a process is kept: its session may be about to begin [us].
const YOUNG_US: i64 = 60_000_000;
/// When the first process of a user begins after the entry: modules for sessions take their time [us].
const FIRST_PROCESS_US: std::ops::Range<i64> = -1_000_000..10_000_000;

/// Time of change [s, ns], size and number of a file.
type Version = (i64, i64, u64, u64);

/// An entry that has no end.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Open {
    user: String,
    login_us: i64,
    /// What the service gave as terminal; `ssh` for an sshd that had none yet.
    terminal: String,
    host: String,
}

/// The database between samples.
#[derive(Debug)]
pub struct Wtmpdb {
    path: Option<PathBuf>,
    /// Of the database and of its write-ahead log, as they were read.
    version: Option<(Version, Option<Version>)>,
    /// Highest number that was read.
    highest: i64,
    /// Open entries by their number.
    open: BTreeMap<i64, Open>,
    /// Wall clock at the boot [us].
    boot_us: i64,
    problem: Option<String>,
}

impl Wtmpdb {
    /// The database of `root`, not read yet.
    pub fn new(root: &Root) -> Wtmpdb {
        let path = PATHS.into_iter().find(|path| root.exists(path)).map(|path| root.path(path));
        Wtmpdb { path, version: None, highest: i64::MIN, open: BTreeMap::new(), boot_us: 0, problem: None }
    }

    /// Reads what is new, if the database has changed.
    pub fn refresh(&mut self, now: Moment) {
        let Some(path) = self.path.clone() else { return };
        let log = beside(&path, "-wal");
        let version = match version(&path) {
            Ok(version) => (version, self::version(&log).ok()),
            Err(error) => return self.fail(format!("cannot be read: {error}")),
        };
        if Some(version) == self.version {
            return;
        }
        // Another file, after a rotation or a repair: the numbers may be others.
        if self.version.is_none_or(|(before, _)| before.3 != version.0.3) {
            (self.highest, self.open) = (i64::MIN, BTreeMap::new());
        }
        self.boot_us = now.wall_ns.saturating_sub(now.boot_ns) / 1000;
        match self.read(&path, &log) {
            // Until the next beat: whoever writes is done by then.
            Ok(false) => self.version = None,
            Ok(true) => (self.version, self.problem) = (Some(version), None),
            Err(problem) => {
                self.version = Some(version);
                self.fail(problem);
            }
        }
    }

    fn fail(&mut self, problem: String) {
        self.problem = Some(problem);
        (self.highest, self.open) = (i64::MIN, BTreeMap::new());
    }

    /// Reads entries above the highest known, and looks whether those known to be open still are.
    ///
    /// False if somebody committed meanwhile or is about to: then nothing was taken over.
    fn read(&mut self, path: &Path, log: &Path) -> Result<bool, String> {
        let journal = beside(path, "-journal");
        if is_hot(&journal) {
            self.problem = Some(format!(
                "a transaction is not complete (if {} stays, `wtmpdb last` completes it)",
                journal.display()
            ));
            return Ok(false);
        }
        let file = File::open(path).map_err(|error| format!("cannot be opened: {error}"))?;
        let database = Database::open(file, File::open(log).ok()).map_err(|problem| problem.to_string())?;
        let (highest, open) = self.changes(&database).map_err(|problem| problem.to_string())?;
        if is_hot(&journal) || !database.is_same() {
            return Ok(false);
        }
        (self.highest, self.open) = (highest, open);
        Ok(true)
    }

    /// The highest number and the open entries now.
    fn changes<B: super::sqlite::Bytes>(
        &self,
        database: &Database<B>,
    ) -> Result<(i64, BTreeMap<i64, Open>), Problem> {
        let Some(table) = database.table("wtmp")? else {
            return Err(Problem::Unsupported("no table wtmp"));
        };
        let places = places(&table)?;
        let earliest_us = self.boot_us.saturating_sub(BOOT_SLACK_US);
        let mut open = BTreeMap::new();
        for (number, known) in &self.open {
            let is_open = |values: &[Value<'_>]| match entry(values, places) {
                Entry::Open(entry) if entry == *known => drop(open.insert(*number, entry)),
                _ => {}
            };
            database.row(&table, *number, is_open)?;
        }
        let mut highest = self.highest;
        let walked = database.newest_first(&table, |number, values| {
            if number <= self.highest {
                return Walk::Stop;
            }
            highest = highest.max(number);
            match entry(values, places) {
                // What came before this boot is over.
                Entry::Boot(at_us) if at_us >= earliest_us => return Walk::Stop,
                Entry::Open(entry) if entry.login_us >= earliest_us && open.len() < OPEN_MAX => {
                    open.insert(number, entry);
                }
                _ => {}
            }
            Walk::On
        });
        // The newest of a long file are known.
        if walked != Err(Problem::Spent) {
            walked?;
        }
        Ok((highest, open))
    }

    /// Names of those who have an open entry, dead or alive.
    pub fn users(&self) -> impl Iterator<Item = &str> {
        self.open.values().map(|open| open.user.as_str())
    }

    /// Logins that [live](living), in their order. What is dead stays so and is not looked at again.
    pub fn logins(
        &mut self,
        census: &Census,
        uid_of: impl Fn(&str) -> Option<u32>,
        terminal_of: impl Fn(i32) -> Option<String>,
        now: Moment,
    ) -> Vec<Login> {
        let open = self.open.iter().filter_map(|(number, open)| Some((*number, open, uid_of(&open.user)?)));
        let open: Vec<(i64, &Open, u32)> = open.collect();
        let logins = living(&open, census, terminal_of, self.boot_us);
        let young_us = now.wall_ns / 1000 - YOUNG_US;
        self.open.retain(|number, open| open.login_us >= young_us || logins.contains_key(number));
        logins.into_values().collect()
    }

    /// True once it was read without a problem.
    pub fn is_read(&self) -> bool {
        self.version.is_some() && self.problem.is_none()
    }

    /// Facts for the manifest; null where there is no such database.
    pub fn to_json(&self) -> Json {
        match &self.path {
            None => Json::Null,
            Some(path) => json!({ "path": path, "open": self.open.len(), "problem": self.problem }),
        }
    }

    /// Path, number of open entries and what keeps it from being read, for the doctor.
    pub fn state(&self) -> Option<(&Path, usize, Option<&str>)> {
        Some((self.path.as_deref()?, self.open.len(), self.problem.as_deref()))
    }
}

/// The entries of sessions that live, as logins.
///
/// At a terminal: one of its processes is the user's; of several entries the newest, because numbers of terminals are
/// used again. Without one, as sshd opens sessions before it makes their terminals: a process of the user that began
/// with the entry is still there, and the terminal is that of a child of it.
fn living(
    open: &[(i64, &Open, u32)],
    census: &Census,
    terminal_of: impl Fn(i32) -> Option<String>,
    boot_us: i64,
) -> BTreeMap<i64, Login> {
    let tick_us = i64::try_from(1_000_000 / host::clock_ticks()).unwrap_or(1);
    let uids: BTreeSet<u32> = open.iter().map(|(_, _, uid)| *uid).collect();
    let mut at_terminals = BTreeSet::new();
    let mut starts: Vec<(i64, u32, i32)> = Vec::new();
    // Of the children of each process.
    let mut below: BTreeMap<i32, String> = BTreeMap::new();
    for (pid, _, facts) in census.living().filter(|(_, _, facts)| uids.contains(&facts.uid)) {
        let start_us = i64::try_from(facts.stat.start_ticks).unwrap_or(i64::MAX).saturating_mul(tick_us);
        starts.push((start_us.saturating_add(boot_us), facts.uid, pid));
        let Some(terminal) = terminal_of(facts.stat.terminal).filter(|name| !name.is_empty()) else {
            continue;
        };
        below.entry(facts.stat.parent).or_insert_with(|| terminal.clone());
        at_terminals.insert((terminal, facts.uid));
    }
    starts.sort_unstable();
    let mut taken = BTreeSet::new();
    let mut logins = BTreeMap::new();
    for (number, entry, uid) in open.iter().rev() {
        let terminal = if is_terminal(&entry.terminal) {
            if !at_terminals.remove(&(entry.terminal.clone(), *uid)) {
                continue;
            }
            entry.terminal.clone()
        } else {
            let is_first = |(start_us, owner, pid): &&(i64, u32, i32)| {
                owner == uid
                    && FIRST_PROCESS_US.contains(&start_us.saturating_sub(entry.login_us))
                    && !taken.contains(pid)
            };
            let Some((_, _, first)) = starts.iter().find(is_first) else { continue };
            taken.insert(*first);
            below.get(first).cloned().unwrap_or_default()
        };
        let (user, host) = (entry.user.clone(), entry.host.clone());
        logins.insert(*number, Login { id: String::new(), user, uid: Some(*uid), terminal, host });
    }
    logins
}

/// True for the name of a device, which is a session's own; services without one give their name, or a display.
fn is_terminal(name: &str) -> bool {
    name.starts_with("pts/") || name.starts_with("tty")
}

/// What a row says.
enum Entry {
    Boot(i64),
    Open(Open),
    Other,
}

fn entry(values: &[Value<'_>], places: [usize; COLUMNS.len()]) -> Entry {
    let [kind, user, login, logout, terminal, host, service] = places.map(|place| value_at(values, place));
    let text = |value| match value {
        Value::Text(text) => {
            let text: &[u8] = text;
            String::from_utf8_lossy(&text[..text.len().min(TEXT_MAX)]).into_owned()
        }
        _ => String::new(),
    };
    let Value::Integer(login_us) = login else { return Entry::Other };
    match (kind, logout) {
        (Value::Integer(BOOT), _) => Entry::Boot(login_us),
        (Value::Integer(USER), Value::Null) if !NO_LOGINS.contains(&text(service).as_str()) => {
            Entry::Open(Open { user: text(user), login_us, terminal: text(terminal), host: text(host) })
        }
        _ => Entry::Other,
    }
}

fn places(table: &Table) -> Result<[usize; COLUMNS.len()], Problem> {
    let mut places = [0; COLUMNS.len()];
    for (place, name) in places.iter_mut().zip(COLUMNS) {
        let found = table.columns.iter().position(|column| column == name);
        *place = found.ok_or(Problem::Unsupported("a table wtmp of other columns"))?;
    }
    Ok(places)
}

/// The file of SQLite beside a database that has this ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    // It stands where the file is that a link leads to.
    let mut name = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned()).into_os_string();
    name.push(ending);
    name.into()
}

fn version(path: &Path) -> std::io::Result<Version> {
    let file = fs::metadata(path)?;
    // Whoever opens a pipe waits for its other end.
    if !file.is_file() {
        return Err(std::io::Error::other("not a file"));
    }
    Ok((file.mtime(), file.mtime_nsec(), file.size(), file.ino()))
}

/// True for a journal with which the database has to be put back, or that a transaction is writing.
fn is_hot(journal: &Path) -> bool {
    let mut start = [0; JOURNAL_MAGIC.len()];
    let file = File::open(journal);
    file.and_then(|mut file| file.read_exact(&mut start)).is_ok() && start == JOURNAL_MAGIC
}

/// Reads a database and its write-ahead log that anybody may have written: entries or a problem.
#[cfg(any(test, fuzzing))]
pub(crate) fn hostile(file: &[u8], log: &[u8]) {
    let Ok(database) = Database::open(file, Some(log)) else { return };
    let mut wtmpdb = Wtmpdb::new(&Root::new("/nowhere"));
    for _ in 0..2 {
        if let Ok((highest, open)) = wtmpdb.changes(&database) {
            // Every entry stands in a row, and a row in the bytes that were read.
            assert!(open.len() <= OPEN_MAX && open.keys().all(|number| *number <= highest));
            assert!(open.values().all(|open| open.user.len() <= 3 * TEXT_MAX));
            (wtmpdb.highest, wtmpdb.open) = (i64::MIN, open);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::processes::census::Surroundings;
    use super::*;
    use crate::kernel::clock::{Clock, SystemClock};
    use crate::proc::process_stat::ProcessStat;
    use crate::processes::departures::Departures;
    use crate::processes::{By, Facts, Scan};

    /// Seconds since the boot at which somebody came.
    const CAME_S: i64 = 1000;

    /// A machine with a database that SQLite writes.
    struct Machine {
        tree: tempfile::TempDir,
        wtmpdb: Wtmpdb,
        now: Moment,
    }

    impl Machine {
        fn new() -> Machine {
            let tree = tempfile::tempdir().unwrap();
            fs::create_dir_all(tree.path().join("var/lib/wtmpdb")).unwrap();
            let mut now = SystemClock.now();
            now.boot_ns = 5_000 * 1_000_000_000;
            let mut machine = Machine { wtmpdb: Wtmpdb::new(&Root::new(tree.path())), tree, now };
            assert_eq!(machine.wtmpdb.to_json(), Json::Null);
            machine.write("CREATE TABLE IF NOT EXISTS wtmp(ID INTEGER PRIMARY KEY, Type INTEGER, User TEXT NOT NULL, Login INTEGER, Logout INTEGER, TTY TEXT, RemoteHost TEXT, Service TEXT) STRICT;");
            machine.wtmpdb = Wtmpdb::new(&Root::new(machine.tree.path()));
            machine
        }

        fn path(&self) -> PathBuf {
            self.tree.path().join("var/lib/wtmpdb/wtmp.db")
        }

        fn write(&self, statements: &str) {
            let script =
                "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2]).close()";
            let path = self.path();
            let line = ["-c", script, path.to_str().unwrap(), statements];
            assert!(std::process::Command::new("python3").args(line).status().unwrap().success());
        }

        fn boot_us(&self) -> i64 {
            (self.now.wall_ns - self.now.boot_ns) / 1000
        }

        fn came(&self, after_boot_s: i64, user: &str, terminal: &str, host: &str, service: &str) {
            self.write(&self.entry(after_boot_s, user, terminal, host, service));
        }

        /// The statement that enters somebody.
        fn entry(&self, after_boot_s: i64, user: &str, terminal: &str, host: &str, service: &str) -> String {
            let at_us = self.boot_us() + after_boot_s * 1_000_000;
            format!(
                "INSERT INTO wtmp (Type, User, Login, TTY, RemoteHost, Service) VALUES (3, '{user}', {at_us}, '{terminal}', '{host}', '{service}')"
            )
        }

        /// Logins with these processes: number, parent, user, terminal and start [s after the boot].
        fn logins(&mut self, processes: &[(i32, i32, u32, &str, i64)]) -> Vec<String> {
            self.wtmpdb.refresh(self.now);
            let mut scan = Scan::default();
            for (pid, parent, uid, terminal, start_s) in processes {
                let terminal = terminal
                    .strip_prefix("pts/")
                    .map_or(0, |number| 136 << 8 | number.parse::<i32>().unwrap());
                let start_ticks = *start_s as u64 * host::clock_ticks();
                let stat = ProcessStat {
                    pid: *pid,
                    parent: *parent,
                    terminal,
                    start_ticks,
                    ..ProcessStat::default()
                };
                let (run_ns, command) = (Some(0), "work".into());
                scan.changed(
                    *pid,
                    Facts {
                        stat,
                        run_ns,
                        wait_ns: None,
                        wait_cut_ns: 0,
                        has_all_waits: true,
                        had_one_thread: true,
                        swap_wait_ns: None,
                        io: None,
                        command,
                        uid: *uid,
                        cgroup: None,
                    },
                );
            }
            let mut census = Census::new(By::Uid, 10_000_000);
            let departures = Departures::default();
            let is_gone = &mut |_| false;
            census.step(
                &scan,
                Surroundings {
                    since_ticks: None,
                    length_ns: 1,
                    capacity_ns: 1,
                    own_pid: None,
                    departures: &departures,
                    is_gone,
                },
            );
            let uid_of = |user: &str| match user {
                "alice" => Some(1000),
                "bob" => Some(1001),
                _ => None,
            };
            let terminal_of = |device: i32| {
                Some(if device == 0 { String::new() } else { format!("pts/{}", device & 0xff) })
            };
            let logins = self.wtmpdb.logins(&census, uid_of, terminal_of, self.now);
            logins
                .iter()
                .map(|login| format!("{} {}", login.user, login.place().unwrap_or_default()))
                .collect()
        }
    }

    #[test]
    fn a_login_lasts_from_its_entry_to_its_end_and_while_its_terminal_is_used() {
        let mut machine = Machine::new();
        let shell = (100, 1, 1000, "pts/3", CAME_S);
        assert!(machine.logins(&[shell]).is_empty());
        machine.came(CAME_S, "alice", "pts/3", "10.1.2.3", "sshd");
        machine.came(CAME_S, "bob", "pts/4", "", "login");
        let both = [shell, (200, 1, 1001, "pts/4", CAME_S)];
        assert_eq!(machine.logins(&both), ["alice pts/3 from 10.1.2.3", "bob pts/4"]);
        // Unchanged, and read again from what is known.
        assert_eq!(machine.logins(&both), ["alice pts/3 from 10.1.2.3", "bob pts/4"]);
        let left_us = machine.boot_us() + 2_000_000_000;
        machine.write(&format!("UPDATE wtmp SET Logout = {left_us} WHERE User = 'bob'"));
        assert_eq!(machine.logins(&both), ["alice pts/3 from 10.1.2.3"]);
        // Killed: the entry stays open, and the terminal is somebody else's.
        assert!(machine.logins(&[(300, 1, 1001, "pts/3", 3000)]).is_empty());
        assert_eq!(machine.wtmpdb.to_json()["open"], 0);
        // Dead once is dead for ever.
        assert!(machine.logins(&both).is_empty());
    }

    /// Of wtmpdb 0.73.0 of Debian 13: a boot, a session of an sshd that gives no terminal, one that is over, and one at
    /// the console.
    #[test]
    fn the_database_that_wtmpdb_itself_wrote() {
        let mut machine = Machine::new();
        let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/wtmpdb/0.73.0.db");
        // By a link, as systemd-tmpfiles makes on Debian.
        fs::create_dir_all(machine.tree.path().join("var/log")).unwrap();
        fs::copy(written, machine.tree.path().join("var/log/wtmp.db")).unwrap();
        fs::remove_file(machine.path()).unwrap();
        std::os::unix::fs::symlink("../../log/wtmp.db", machine.path()).unwrap();
        let came_us = 1_795_467_005_334_360;
        machine.now =
            Moment { wall_ns: (came_us + 1_000_000) * 1000, boot_ns: 60_000_000_000, monotonic_ns: 0 };
        assert_eq!(
            machine.logins(&[(100, 1, 1000, "", 59), (101, 100, 1000, "pts/0", 59)]),
            ["alice pts/0 from 10.1.2.3"]
        );
        assert_eq!(machine.wtmpdb.users().collect::<Vec<_>>(), ["alice", "carol"]);
        // An hour earlier, the machine was off.
        machine.wtmpdb = Wtmpdb::new(&Root::new(machine.tree.path()));
        machine.now.boot_ns = -3_600_000_000_000;
        assert!(machine.logins(&[(100, 1, 1000, "", 59)]).is_empty());
        assert_eq!(machine.wtmpdb.users().count(), 0);
        // A journal stands beside the file that the link leads to.
        fs::write(machine.tree.path().join("var/log/wtmp.db-journal"), JOURNAL_MAGIC).unwrap();
        machine.wtmpdb = Wtmpdb::new(&Root::new(machine.tree.path()));
        machine.logins(&[]);
        assert!(machine.wtmpdb.problem.is_some());
    }

    #[test]
    fn a_session_of_sshd_without_a_terminal_lives_while_the_process_that_began_it_does() {
        let mut machine = Machine::new();
        machine.came(CAME_S, "alice", "ssh", "10.1.2.3", "sshd");
        machine.came(CAME_S + 100, "alice", "ssh", "10.9.9.9", "sshd");
        let older = (50, 1, 1000, "", 5);
        let (served, shell) = ((100, 90, 1000, "", CAME_S), (101, 100, 1000, "pts/7", CAME_S));
        let copying = (200, 190, 1000, "", CAME_S + 100);
        assert_eq!(
            machine.logins(&[older, served, shell, copying]),
            ["alice pts/7 from 10.1.2.3", "alice from 10.9.9.9"]
        );
        assert_eq!(machine.logins(&[older, copying]), ["alice from 10.9.9.9"]);
        assert!(machine.logins(&[older]).is_empty());
    }

    #[test]
    fn what_is_no_login_of_this_boot_is_none() {
        let mut machine = Machine::new();
        // A crash left it open, two boots ago; an import wrote an old boot after the newest.
        machine.came(-90_000, "alice", "pts/3", "", "sshd");
        for boot_us in [machine.boot_us(), machine.boot_us() - 900_000_000_000] {
            machine.write(&format!(
                "INSERT INTO wtmp (Type, User, Login, TTY) VALUES (1, 'reboot', {boot_us}, '~')"
            ));
        }
        let entries = NO_LOGINS.map(|service| machine.entry(CAME_S, "bob", "pts/3", "", service));
        machine.write(&entries.join(";"));
        machine.came(CAME_S, "stranger", "pts/3", "", "login");
        assert!(machine.logins(&[(100, 1, 1000, "pts/3", 10), (101, 1, 1001, "pts/3", CAME_S)]).is_empty());
        machine.came(CAME_S, "alice", "pts/3", "", "login");
        assert_eq!(machine.logins(&[(100, 1, 1000, "pts/3", 10)]), ["alice pts/3"]);
    }

    #[test]
    fn what_cannot_be_read_is_said_and_read_when_it_can_be() {
        let mut machine = Machine::new();
        machine.came(CAME_S, "alice", "pts/3", "", "login");
        let shell = [(100, 1, 1000, "pts/3", CAME_S)];
        let problem =
            |machine: &Machine| machine.wtmpdb.to_json()["problem"].as_str().unwrap_or("none").to_owned();
        let journal = beside(&machine.path(), "-journal");
        fs::write(&journal, JOURNAL_MAGIC).unwrap();
        assert!(machine.logins(&shell).is_empty());
        assert!(problem(&machine).contains("a transaction is not complete"), "{}", problem(&machine));
        fs::remove_file(&journal).unwrap();
        assert_eq!(machine.logins(&shell), ["alice pts/3"]);
        assert_eq!(problem(&machine), "none");
        // A transaction that is under way takes nothing away that was known.
        machine.write("UPDATE wtmp SET Service = 'sshd'");
        fs::write(&journal, JOURNAL_MAGIC).unwrap();
        assert_eq!(machine.logins(&shell), ["alice pts/3"]);
        fs::remove_file(&journal).unwrap();
        machine.write("ALTER TABLE wtmp RENAME COLUMN TTY TO Line");
        assert!(machine.logins(&shell).is_empty());
        assert_eq!(problem(&machine), "it is an SQLite database with a table wtmp of other columns");
        fs::write(machine.path(), "no database").unwrap();
        assert!(machine.logins(&shell).is_empty());
        assert_eq!(problem(&machine), "it is not an SQLite database");
        fs::remove_file(machine.path()).unwrap();
        assert!(machine.logins(&shell).is_empty());
        assert!(problem(&machine).starts_with("cannot be read"), "{}", problem(&machine));
    }
}
