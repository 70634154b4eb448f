//! The reader of SQLite files, against SQLite itself: that of Python, which makes the files and says what is in them.

use std::fs::{self, File};
use std::process::{Command, Stdio};

use proptest::prelude::*;
use serde_json::{Value as Json, json};

use super::*;

/// Makes databases at random in the folder that is named, and prints for each its name and the rows of its table.
const MAKE: &str = r#"
import json, os, random, sqlite3, sys
folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
draw = random.Random(seed)
def text():
    return ("abcdeµé/0 " * 301)[draw.randrange(10):][:draw.choice([0, 1, 7, 40, 300, 3000])]
def row():
    return (draw.choice([None, 0, 1, -1, 127, 128, -32769, 2**23, 2**47 - 1, -2**63, 2**63 - 1]), text(),
            draw.choice([None, 1.5, b"bytes"]))
for case in range(count):
    name = os.path.join(folder, f"{case}.db")
    # In a child that does not close the database: its write-ahead log stays.
    if os.fork() == 0:
        base = sqlite3.connect(name, isolation_level=None)
        base.execute("PRAGMA synchronous=OFF")
        base.execute(f"PRAGMA page_size={draw.choice([512, 1024, 4096, 65536])}")
        base.execute(f"PRAGMA auto_vacuum={draw.choice([0, 1, 2])}")
        log = draw.random() < 0.5
        if log:
            base.execute("PRAGMA journal_mode=WAL")
            base.execute(f"PRAGMA wal_autocheckpoint={draw.choice([0, 3, 1000])}")
        base.execute("CREATE TABLE other (a, b)")
        base.execute('CREATE TABLE "Wtmp"(ID INTEGER PRIMARY KEY, [Number] INTEGER CHECK (coalesce(Number, 1) <> 5),'
                     ' `Text` TEXT, Other)')
        number = 1
        for _ in range(draw.choice([0, 1, 3, 30])):
            base.execute("BEGIN")
            for _ in range(draw.choice([1, 2, 50])):
                number += draw.choice([1, 1, 1, 1000])
                base.execute("INSERT INTO wtmp VALUES (?, ?, ?, ?)", (number, *row()))
                base.execute("INSERT INTO other VALUES (?, ?)", (number, text()))
            if draw.random() < 0.3:
                base.execute("DELETE FROM wtmp WHERE id % 3 = 0")
            base.execute("UPDATE wtmp SET Number = 77 WHERE id % 5 = 0")
            base.execute(draw.choice(["COMMIT", "COMMIT", "ROLLBACK"]))
        if draw.random() < 0.3:
            base.execute("ALTER TABLE wtmp ADD COLUMN more INTEGER")
        rows = base.execute("SELECT id, number, text FROM wtmp ORDER BY id DESC").fetchall()
        print(json.dumps({"name": name, "rows": rows}), flush=True)
        os._exit(0)
    os.wait()
"#;

/// Runs a script of Python with these arguments; the lines that it prints.
fn python(script: &str, arguments: &[&str]) -> Vec<Json> {
    let line = Command::new("python3").args(["-c", script]).args(arguments).stdout(Stdio::piped()).output();
    let output = line.expect("python3 runs");
    assert!(output.status.success());
    let lines = String::from_utf8(output.stdout).unwrap();
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn open(name: &str) -> Database<File> {
    Database::open(File::open(name).unwrap(), File::open(format!("{name}-wal")).ok()).unwrap()
}

/// Number and text of a row, with the row's own number, as the script prints them.
fn shown(table: &Table, row: i64, values: &[Value<'_>]) -> Json {
    let at = |name: &str| {
        let place = table.columns.iter().position(|column| column == name).expect("the table has the column");
        match value_at(values, place) {
            Value::Null => Json::Null,
            Value::Integer(number) => json!(number),
            Value::Text(text) => json!(String::from_utf8(text.to_vec()).unwrap()),
            Value::Other => panic!("neither number nor text"),
        }
    };
    json!([row, at("number"), at("text")])
}

#[test]
fn every_row_that_sqlite_has_is_read_and_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let cases = python(MAKE, &[folder.path().to_str().unwrap(), "23", "30"]);
    assert_eq!(cases.len(), 30);
    let (mut rows, mut in_logs) = (0, 0);
    for case in &cases {
        let database = open(case["name"].as_str().unwrap());
        let table = database.table("WTMP").unwrap().expect("it has the table");
        assert_eq!(database.table("nothing"), Ok(None));
        let mut found = Vec::new();
        let walked = database.newest_first(&table, |row, values| {
            found.push(shown(&table, row, values));
            Walk::On
        });
        assert_eq!(walked, Ok(()));
        assert_eq!(json!(found), case["rows"], "{}", case["name"]);
        for row in found.iter().step_by(7) {
            let number = row[0].as_i64().unwrap();
            let mut again = Json::Null;
            assert_eq!(
                database.row(&table, number, |values| again = shown(&table, number, values)),
                Ok(true)
            );
            assert_eq!(again, *row);
        }
        assert_eq!(database.row(&table, 0, |_| panic!("there is none")), Ok(false));
        assert!(database.is_same());
        rows += found.len();
        in_logs += database.in_log.len();
    }
    // Else the files would not be those that were meant.
    assert!(rows > 1500 && in_logs > 50, "{rows} rows, {in_logs} pages in logs");
}

#[test]
fn what_is_not_committed_is_not_there_and_what_is_committed_meanwhile_is_noticed() {
    const WRITE: &str = r#"
import json, os, sqlite3, sys
for log in (False, True):
    name = sys.argv[1] + f"/{log}.db"
    base = sqlite3.connect(name, isolation_level=None)
    if log:
        base.execute("PRAGMA journal_mode=WAL")
        base.execute("PRAGMA wal_autocheckpoint=0")
    base.execute("CREATE TABLE wtmp(id INTEGER PRIMARY KEY, number INTEGER, text TEXT)")
    base.execute("INSERT INTO wtmp VALUES (1, 1, 'one')")
    # With so small a cache, pages are written before they are committed.
    base.execute("PRAGMA cache_size=2")
    base.execute("BEGIN")
    for row in range(2, 500):
        base.execute("INSERT INTO wtmp VALUES (?, 0, ?)", (row, "x" * 200))
    print(json.dumps({"name": name, "log": log}), flush=True)
    sys.stdin.readline()
    base.execute("COMMIT")
    print(json.dumps({}), flush=True)
    sys.stdin.readline()
    os.fork() or os._exit(0)
"#;
    let folder = tempfile::tempdir().unwrap();
    let mut writer = Command::new("python3")
        .args(["-c", WRITE, folder.path().to_str().unwrap()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = std::io::BufRead::lines(std::io::BufReader::new(writer.stdout.take().unwrap()));
    let mut go_on = writer.stdin.take().unwrap();
    for has_log in [false, true] {
        let told: Json = serde_json::from_str(&said.next().unwrap().unwrap()).unwrap();
        let name = told["name"].as_str().unwrap().to_owned();
        assert_eq!(told["log"], has_log);
        let rows = |database: &Database<File>| {
            let table = database.table("wtmp").unwrap().unwrap();
            let mut rows = 0;
            database
                .newest_first(&table, |_, _| {
                    rows += 1;
                    Walk::On
                })
                .map(|()| rows)
        };
        let database = open(&name);
        if has_log {
            assert_eq!(rows(&database), Ok(1));
        } else {
            // What is in the file is anything; that a transaction is under way is in the journal beside it.
            let journal = fs::read(format!("{name}-journal")).unwrap();
            assert_eq!(journal[..8], crate::people::wtmpdb::JOURNAL_MAGIC);
        }
        assert!(database.is_same());
        std::io::Write::write_all(&mut go_on, b"\n").unwrap();
        said.next().unwrap().unwrap();
        let after = open(&name);
        assert_eq!(rows(&after), Ok(499));
        // A log only grew: what was read of it is still a state that was.
        assert_eq!(database.is_same(), has_log);
        std::io::Write::write_all(&mut go_on, b"\n").unwrap();
        if !has_log {
            continue;
        }
        drop(go_on);
        writer.wait().unwrap();
        break;
    }
}

#[test]
fn each_unreadable_file_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().join("it.db");
    let make = |statements: &str| {
        let _ = fs::remove_file(&name);
        let script = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).executescript(sys.argv[2]).close()";
        python(script, &[name.to_str().unwrap(), statements]);
        fs::read(&name).unwrap()
    };
    let read = |bytes: &[u8]| {
        let database = Database::open(bytes, None)?;
        let table = database.table("t")?;
        table.map_or(Ok(()), |table| database.newest_first(&table, |_, _| Walk::On))
    };
    let whole = make("CREATE TABLE t (a); INSERT INTO t VALUES (1)");
    assert_eq!(read(&whole), Ok(()));
    assert_eq!(read(b""), Err(Problem::NotSqlite));
    assert_eq!(
        read(b"not a database, though it is longer than the head of one. ".repeat(4).as_slice()),
        Err(Problem::NotSqlite)
    );
    assert_eq!(
        read(&whole[..whole.len() - 1]),
        Err(Problem::Damaged("it names a page that it does not have"))
    );
    assert_eq!(
        read(&make("PRAGMA encoding='UTF-16'; CREATE TABLE t (a)")),
        Err(Problem::Unsupported("text in UTF-16"))
    );
    let keyed = make("CREATE TABLE t (a PRIMARY KEY) WITHOUT ROWID");
    assert_eq!(read(&keyed), Err(Problem::Unsupported("a table without row numbers")));
    // A tree whose page is its own child never ends.
    let mut ring = whole.clone();
    let page = usize::from(u16_at(&ring, 16));
    ring[page] = 5;
    ring[page + 8..page + 12].copy_from_slice(&2u32.to_be_bytes());
    assert_eq!(read(&ring), Err(Problem::Damaged("its tree of pages is too deep")));
}

proptest! {
    /// Real files, damaged: an error or rows, and neither a panic nor more memory than the file is long.
    #[test]
    fn damaged_files_never_panic(case in any::<usize>(), at in any::<usize>(), bytes in proptest::collection::vec(any::<u8>(), 1..8), cut in any::<bool>()) {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/sqlite");
        let mut inputs: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        let mut input = fs::read(&inputs[case % inputs.len()]).unwrap();
        let at = at % input.len();
        if cut {
            input.truncate(at);
        } else {
            let until = input.len().min(at + bytes.len());
            input[at..until].copy_from_slice(&bytes[..until - at]);
        }
        crate::fuzzing::sqlite(&input);
    }
}
