//! What the screen shows of a log whose figures were made by hand: each expected figure is worked out beside it.

use std::path::Path;

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;
use thinktime_log::{LogWriter, OpenMode, Row, Session, TableId, TableSchema, Value, vocabulary};

use crate::clock::Local;
use crate::palette::Palette;
use crate::screen;
use crate::state::{Counted, Motion, Prediction, Shared, State, ViewOptions};

mod panels;

/// Length of an interval [s].
const LENGTH_S: f64 = 2.0;

/// 13:45:00 of the test's zone, where the first interval begins [µs].
fn origin_us() -> i64 {
    Local { year: 2026, month: 3, day: 5, hour: 13, minute: 45, second: 0 }.instant_us().unwrap()
}

fn start_us(interval: i64) -> i64 {
    origin_us() + interval * 2_000_000
}

/// A row with the values that are named, and null elsewhere.
fn row(schema: &TableSchema, values: &[(&str, Value)]) -> Row {
    let mut row = vec![Value::Null; schema.columns.len()];
    for (name, value) in values {
        row[schema.position(name).unwrap()] = value.clone();
    }
    row
}

struct Tables {
    writer: LogWriter,
    ids: Vec<(TableSchema, TableId)>,
}

impl Tables {
    fn create(dir: &Path) -> Tables {
        let machine = serde_json::json!({"cpus": 4, "hostname": "web1"});
        let session =
            Session { source: "linux".into(), machine, start_us: origin_us(), ..Session::default() };
        let mut writer = LogWriter::open(dir, OpenMode::Create, session).unwrap();
        let tables = [
            vocabulary::samples(),
            vocabulary::users(),
            vocabulary::commands(),
            vocabulary::presence(),
            vocabulary::interactions(),
        ];
        let ids = tables.map(|schema| (schema.clone(), writer.declare(schema).unwrap())).into();
        Tables { writer, ids }
    }

    fn append(&mut self, rows: &[(&str, Vec<(&str, Value)>)]) {
        let rows = rows.iter().map(|(table, values)| {
            let (schema, id) = self.ids.iter().find(|(schema, _)| schema.name == *table).unwrap();
            (*id, vec![row(schema, values)])
        });
        let rows = rows.collect();
        self.writer.append(rows).unwrap();
    }

    /// One sample with its users; `busy` is the CPU time of alice.
    fn interval(&mut self, interval: i64, alice_s: f64) {
        let start = ("start", Value::Time(start_us(interval)));
        let user = |key: &str, name: &str| {
            let kind = if key == "uid:33" { "system" } else { "person" };
            [("user", key.into()), ("name", name.into()), ("kind", kind.into())]
        };
        let mut sample = vec![start.clone(), ("length_s", LENGTH_S.into())];
        sample.extend([
            // 2.4, 1.2, 0.8 and 3.6 of 8 s: 30, 15, 10 and 45 %.
            ("user_s", 2.0.into()),
            ("nice_s", 0.4.into()),
            ("system_s", 1.0.into()),
            ("softirq_s", 0.2.into()),
            ("iowait_s", 0.8.into()),
            ("idle_s", 3.6.into()),
            // 3.2 of 8 s: 40 %.
            ("cpu_exact_s", 3.2.into()),
            // 0.86, 0.24 and 0.06 of 2 s: 43, 12 and 3 %.
            ("psi_cpu_some_s", 0.86.into()),
            ("psi_memory_some_s", 0.0.into()),
            ("psi_memory_full_s", 0.0.into()),
            ("psi_io_some_s", 0.24.into()),
            ("psi_io_full_s", 0.06.into()),
            ("memory_total_bytes", 16_000_000_000_u64.into()),
            ("memory_available_bytes", 3_100_000_000_u64.into()),
            ("active_users", 2_u64.into()),
            // 0.2 % of a CPU.
            ("recorder_cpu_s", 0.004.into()),
        ]);
        let mut alice = vec![start.clone()];
        alice.extend(user("uid:1000", "alice"));
        alice.extend([
            ("cpu_exact_s", alice_s.into()),
            // 0.7 of 2 s: 35 %.
            ("run_delay_s", 0.7.into()),
            // In 2 s: 1.2 MB a second.
            ("read_bytes", 2_400_000_u64.into()),
            ("write_bytes", 0_u64.into()),
            ("processes", 12_u64.into()),
        ]);
        let mut bob = vec![start.clone()];
        bob.extend(user("uid:1001", "b\u{1b}[31mob"));
        // 0.36 of 2 s: 18 %.
        bob.extend([("cpu_exact_s", 0.36.into()), ("memory_bytes", 400_000_000_u64.into())]);
        let command = |name: &str, cpu_s: f64| {
            let mut values = vec![start.clone(), ("user", "uid:1000".into())];
            values.extend([("command", name.into()), ("cpu_exact_s", cpu_s.into())]);
            ("commands", values)
        };
        self.append(&[
            ("samples", sample),
            ("users", bob),
            ("users", alice),
            command("make", 0.84),
            command("cc1", 2.0),
        ]);
    }

    /// Who is there: alice, bob whose memory is `bob`, carol who does nothing, and a service.
    fn presence(&mut self, interval: i64, bob: (&str, u64)) {
        let present = |key: &str, name: &str, kind: &str, memory: (&str, u64)| {
            let values: Vec<(&str, Value)> = vec![
                ("start", Value::Time(start_us(interval))),
                ("user", key.into()),
                ("name", name.into()),
                ("kind", kind.into()),
            ];
            let column = format!("memory_{}_bytes", memory.0);
            (values, column, memory.1)
        };
        let proportional = |bytes| ("proportional", bytes);
        for (mut values, column, bytes) in [
            present("uid:1000", "alice", "person", proportional(1_200_000_000)),
            present("uid:1001", "b\u{1b}[31mob", "person", bob),
            present("uid:1002", "carol", "person", proportional(620_000_000)),
            present("uid:33", "www-data", "system", proportional(9_000_000)),
        ] {
            values.push((&column, bytes.into()));
            self.append(&[("presence", values)]);
        }
    }

    fn interaction(&mut self, completion_us: i64, response_s: f64) {
        self.append(&[(
            "interactions",
            vec![
                ("due", Value::Time(completion_us - (response_s * 1e6) as i64)),
                ("completion", Value::Time(completion_us)),
                ("population", 14_u64.into()),
            ],
        )]);
    }
}

/// A finished log of five intervals, the last two in another part.
fn finished(dir: &Path) {
    let mut log = Tables::create(dir);
    // 61 s before the end of the first interval: not in its last 60 s. The others have a mean of 1 s.
    log.interaction(start_us(1) - 61_000_000, 77.0);
    for (at, response_s) in [0.2, 2.8, 0.6, 0.4].into_iter().enumerate() {
        log.interaction(start_us(0) + 1_000_000 + at as i64, response_s);
    }
    log.presence(0, ("resident", 400_000_000));
    // 2.84 of 2 s: 142 %.
    log.interval(0, 2.84);
    log.interval(1, 2.84);
    log.presence(2, ("proportional", 310_000_000));
    log.interval(2, 0.2);
    log.writer.seal().unwrap();
    log.interval(3, 2.84);
    log.interval(4, 2.84);
    log.writer.finish().unwrap();
}

/// A view of `dir` that stands still.
fn paused(dir: &Path) -> State {
    let mut state = State::open(dir, &ViewOptions::default()).unwrap();
    state.motion = Motion::Paused;
    state
}

fn press(state: &mut State, code: KeyCode) -> bool {
    state.key(KeyEvent::new(code, KeyModifiers::NONE)).unwrap()
}

fn typed(state: &mut State, text: &str) {
    for letter in text.chars() {
        assert!(!press(state, KeyCode::Char(letter)));
    }
}

fn drawn(state: &State, columns: u16, rows: u16, palette: Palette) -> TestBackend {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).unwrap();
    terminal.draw(|frame| screen::draw(frame, state, palette)).unwrap();
    terminal.backend().clone()
}

/// Rows of the screen, without blanks at their ends.
fn shown(state: &State, columns: u16, rows: u16) -> Vec<String> {
    let backend = drawn(state, columns, rows, Palette::for_tests(true, true));
    let cells = backend.buffer().content().chunks(usize::from(columns));
    cells.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned()).collect()
}

/// The words of the row that begins with `begin`.
fn words(rows: &[String], begin: &str) -> Vec<String> {
    let found = rows.iter().find(|row| row.trim_start_matches(['▸', ' ']).starts_with(begin));
    let row = found.unwrap_or_else(|| panic!("no row begins with {begin}: {rows:#?}"));
    row.trim_start_matches(['▸', ' ']).split_whitespace().map(str::to_owned).collect()
}

#[test]
fn an_interval_is_shown_with_the_figures_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let rows = shown(&paused(&dir), 100, 24);
    let has = |text: &str| assert!(rows.iter().any(|row| row.contains(text)), "{text}: {rows:#?}");
    // The interval ends two seconds after 13:45.
    has("(web1)");
    has("2026-03-05 13:45:02  2.0 s  paused");
    has("2 active users · 40 % busy of 4 CPUs · 3.1 GB of 16 GB memory available · 3 people present");
    has("waited for most: a CPU, 43 % of the time");
    has("█ user 30 %  ▓ system 15 %  ▒ wait 10 %  ░ idle 45 %");
    has("pressure  CPU 43 % · memory 0 % (all 0 %) · disks 12 % (all 3.0 %)");
    has("responses mean 1.0 s · median 400 ms · 90 % within 2.8 s · 4 in 60 s · 14 users playing");
    assert_eq!(
        words(&rows, "alice"),
        "alice 142 % 35 % - 1.2 GB 1.2 MB 0 B 12".split(' ').collect::<Vec<_>>()
    );
    // What would turn the terminal red is shown as text; memory with shared pages in each process has its mark.
    assert_eq!(words(&rows, r"b\x1b[31mob")[1..], ["18", "%", "-", "-", "400", "MB+", "-", "-", "-"]);
    assert_eq!(
        words(&rows, "carol")[1..],
        ["0", "%", "0", "%", "0", "%", "620", "MB", "0", "B", "0", "B", "-"]
    );
    has("COMMANDS of alice");
    assert_eq!(words(&rows, "cc1")[1..3], ["100", "%"]);
    assert_eq!(words(&rows, "make")[1..3], ["42", "%"]);
}

#[test]
fn users_stand_in_the_order_that_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let mut state = paused(&dir);
    let names =
        |state: &State| state.listing().lines.iter().map(|line| line.name.to_string()).collect::<Vec<_>>();
    let bob = "b\u{1b}[31mob";
    assert_eq!(names(&state), ["alice", bob, "carol", "www-data"]);
    press(&mut state, KeyCode::Char('m'));
    assert_eq!(names(&state), ["alice", "carol", bob, "www-data"]);
    assert!(shown(&state, 80, 24).iter().any(|row| row.contains("MEMORY▼")));
    press(&mut state, KeyCode::Char('n'));
    assert_eq!(names(&state), ["alice", bob, "carol", "www-data"]);
    press(&mut state, KeyCode::Char('p'));
    assert_eq!(names(&state), ["alice", bob, "carol"]);
    // The third interval, in which alice used a tenth of a CPU and bob 18 %.
    press(&mut state, KeyCode::Char('c'));
    typed(&mut state, "t");
    typed(&mut state, "13:45:04");
    press(&mut state, KeyCode::Enter);
    assert_eq!(names(&state), [bob, "alice", "carol"]);
}

#[test]
fn a_user_stays_selected_over_intervals_and_orders() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let mut state = paused(&dir);
    assert_eq!(state.selected_name(), Some("alice"));
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    assert_eq!(state.selected_name(), Some("carol"));
    press(&mut state, KeyCode::Char('m'));
    press(&mut state, KeyCode::Right);
    assert_eq!(state.selected_name(), Some("carol"));
    assert!(words(&shown(&state, 80, 24), "COMMANDS")[2] == "carol");
    press(&mut state, KeyCode::Esc);
    assert_eq!(state.selected_name(), Some("alice"));
}

#[test]
fn keys_go_through_all_parts_and_stop_at_the_ends() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let mut state = paused(&dir);
    let mut seen = vec![state.ordinal()];
    for _ in 0..6 {
        press(&mut state, KeyCode::Right);
        seen.push(state.ordinal());
    }
    assert_eq!(seen, [1, 2, 3, 4, 5, 5, 5].map(|number| Some((number, 5))));
    press(&mut state, KeyCode::Char('['));
    assert_eq!(state.ordinal(), Some((1, 5)));
    press(&mut state, KeyCode::Left);
    assert_eq!(state.ordinal(), Some((1, 5)));
    press(&mut state, KeyCode::End);
    assert_eq!((state.ordinal(), state.motion), (Some((5, 5)), Motion::Paused));
    press(&mut state, KeyCode::Left);
    press(&mut state, KeyCode::Left);
    assert_eq!(state.figures.as_ref().unwrap().sample.start_us, start_us(2));
    for (text, number) in
        [("13:45:07", 4), ("2026-03-05 13:45:01", 1), ("+4s", 3), ("12:00", 1), ("23:00", 5)]
    {
        typed(&mut state, "t");
        typed(&mut state, text);
        press(&mut state, KeyCode::Enter);
        assert_eq!(state.ordinal(), Some((number, 5)), "{text}");
    }
    typed(&mut state, "tnoon");
    press(&mut state, KeyCode::Enter);
    assert_eq!(state.ordinal(), Some((5, 5)));
    assert!(shown(&state, 80, 24)[23].starts_with("noon: give a time such as 14:30"));
}

#[test]
fn a_finished_log_is_replayed_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let options = ViewOptions { speed: 1000.0, ..ViewOptions::default() };
    let mut state = State::open(&dir, &options).unwrap();
    assert_eq!((state.ordinal(), state.motion), (Some((1, 5)), Motion::Replaying));
    let shared = Shared::default();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while state.motion == Motion::Replaying {
        assert!(std::time::Instant::now() < deadline);
        std::thread::sleep(state.patience());
        state.tick(&shared).unwrap();
    }
    assert_eq!((state.ordinal(), state.motion), (Some((5, 5)), Motion::Paused));
}

#[test]
fn a_log_that_is_being_written_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let mut log = Tables::create(&dir);
    let mut state = State::open(&dir, &ViewOptions::default()).unwrap();
    let shared = Shared::default();
    assert!(shown(&state, 80, 24).iter().any(|row| row == "waiting for the first interval"));
    for interval in 0..3 {
        log.interval(interval, 1.0);
        state.tick(&shared).unwrap();
        let number = usize::try_from(interval).unwrap() + 1;
        assert_eq!((state.ordinal(), state.motion), (Some((number, number)), Motion::Following));
    }
    press(&mut state, KeyCode::Char(' '));
    log.writer.seal().unwrap();
    log.interval(3, 1.0);
    for _ in 0..4 {
        state.tick(&shared).unwrap();
    }
    assert_eq!((state.ordinal(), state.motion), (Some((3, 4)), Motion::Paused));
    press(&mut state, KeyCode::End);
    assert_eq!((state.ordinal(), state.motion), (Some((4, 4)), Motion::Following));
    // Hours ago, by the clock of today: somebody stopped the recorder.
    assert!(shown(&state, 80, 24)[23].starts_with("no sample for "));
    log.writer.finish().unwrap();
    for _ in 0..4 {
        state.tick(&shared).unwrap();
    }
    assert!(!state.is_growing() && shown(&state, 80, 24)[0].ends_with("  ended"));
    shared.notice("no room to write");
    state.tick(&shared).unwrap();
    assert!(shown(&state, 80, 24)[23].starts_with("no room to write"));
}

#[test]
fn memory_is_told_in_people_only_where_all_are_measured_alike() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let mut state = paused(&dir);
    // One of the three has memory with shared pages in each process.
    assert!(!shown(&state, 100, 24)[2].contains("memory for"));
    press(&mut state, KeyCode::Right);
    press(&mut state, KeyCode::Right);
    // 3.1 GB by the mean of 1.2, 0.31 and 0.62 GB: 4.4.
    assert!(shown(&state, 100, 24)[2].ends_with("memory for 4 more like the 3 people here"));
}

#[test]
fn a_prediction_is_shown_with_the_room_that_is_left() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let mut state = paused(&dir);
    let shared = Shared::default();
    let prediction = Prediction {
        fits: Some(20),
        low: Some(18),
        high: Some(25),
        knee: Some((22, 27)),
        limit: "memory".into(),
        goal: "memory suffices".into(),
        counted: Counted::Population,
    };
    shared.predict(Ok(prediction.clone()));
    state.tick(&shared).unwrap();
    // 14 are playing.
    let line = "20 users fit (18 to 25) · knee at 22 to 27 · limited by memory · room for 6 more";
    assert_eq!(shown(&state, 100, 24)[2], line);
    assert_eq!(shown(&state, 80, 24)[2], line);
    assert!(shown(&state, 60, 24)[2].starts_with("20 users fit (18 to 25) · knee at 22 to 27"));
    shared.predict(Ok(Prediction { fits: Some(13), ..prediction.clone() }));
    state.tick(&shared).unwrap();
    assert!(shown(&state, 120, 24)[2].contains("1 too many"));
    shared.predict(Ok(Prediction { high: None, ..prediction.clone() }));
    state.tick(&shared).unwrap();
    assert!(shown(&state, 120, 24)[2].starts_with("20 users fit (18 or more) · "));
    // By people: three have a process.
    let by_people = Prediction { counted: Counted::People, knee: None, ..prediction };
    shared.predict(Ok(by_people));
    state.tick(&shared).unwrap();
    let row = shown(&state, 120, 24)[2].clone();
    assert!(row.contains("room for 17 more") && !row.contains("knee"), "{row}");
    shared.predict(Err("too few interactions".into()));
    state.tick(&shared).unwrap();
    assert!(!shown(&state, 120, 24)[2].contains("fit"));
    press(&mut state, KeyCode::Char('?'));
    assert!(shown(&state, 120, 80).iter().any(|row| row == "  too few interactions"));
}

#[test]
fn no_figure_is_cut_at_any_size() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let mut state = paused(&dir);
    let statements = |row: &str| row.split(" · ").map(str::to_owned).collect::<Vec<_>>();
    let wide = shown(&state, 200, 24);
    for columns in 60..=130 {
        for rows in [16, 24, 40] {
            let screen = shown(&state, columns, rows);
            // What has no room is left out whole.
            for at in [1, 2, 5] {
                let all = statements(&wide[at]);
                assert!(
                    statements(&screen[at]).iter().all(|one| all.contains(one)),
                    "{columns}: {}",
                    screen[at]
                );
            }
            assert!(
                screen[3].ends_with("idle 45 %") && screen[4].ends_with(['%', ')']),
                "{columns}: {screen:?}"
            );
            assert!(screen[0].ends_with("2.0 s  paused"));
            assert_eq!(words(&screen, "alice")[1..3], ["142", "%"], "{columns}");
            assert!(screen[usize::from(rows) - 1].starts_with("q quit  ? help  space go on"));
        }
    }
    press(&mut state, KeyCode::Char('?'));
    let whole = |columns| {
        shown(&state, columns, 100).join(" ").split_whitespace().map(str::to_owned).collect::<Vec<_>>()
    };
    for columns in 60..=130 {
        assert_eq!(whole(columns), whole(200), "{columns}");
    }
}

#[test]
fn a_screen_that_is_too_small_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let state = paused(&dir);
    assert_eq!(shown(&state, 40, 10)[..2], ["40 x 10 characters are too few:", "60 x 16 are needed."]);
    // Nothing to write on is no reason to fail.
    for (columns, rows) in [(0, 0), (1, 1), (60, 15), (59, 16)] {
        drawn(&state, columns, rows, Palette::for_tests(true, true));
    }
}

#[test]
fn without_colour_and_unicode_everything_is_still_there() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let state = paused(&dir);
    let colours = |palette| {
        let backend = drawn(&state, 100, 24, palette);
        backend
            .buffer()
            .content()
            .iter()
            .filter(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
            .count()
    };
    assert!(colours(Palette::for_tests(true, true)) > 0);
    assert_eq!(colours(Palette::for_tests(false, true)), 0);
    let backend = drawn(&state, 100, 24, Palette::for_tests(false, false));
    let text: String = backend.buffer().content().iter().map(|cell| cell.symbol()).collect();
    assert!(text.is_ascii());
    assert!(text.contains("# user 30 %  = system 15 %  ~ wait 10 %  . idle 45 %"));
}

#[test]
fn figures_that_are_not_there_are_no_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let mut writer = LogWriter::open(&dir, OpenMode::Create, Session::default()).unwrap();
    let schema = vocabulary::samples();
    let id = writer.declare(schema.clone()).unwrap();
    let values = [("start", Value::Time(origin_us())), ("length_s", LENGTH_S.into())];
    writer.append(vec![(id, vec![row(&schema, &values)])]).unwrap();
    writer.finish().unwrap();
    let rows = shown(&paused(&dir), 80, 24);
    assert_eq!(rows[3], "CPU states not recorded");
    assert_eq!(rows[4], "pressure  not recorded: the log has no figures of it (PSI)");
    assert!(rows.iter().any(|row| row == "this log has no users"));
    assert!(!rows[1..22].iter().any(|row| row.contains("0 %") || row.contains("0 B")), "{rows:#?}");
}

#[test]
fn options_out_of_range_name_the_option() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    finished(&dir);
    let error = |options| State::open(&dir, &options).map(drop).unwrap_err();
    for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = error(ViewOptions { speed, ..ViewOptions::default() });
        assert!(error.is_input() && error.to_string().starts_with("--speed "), "{error}");
    }
    let error = error(ViewOptions { at: Some("noon".into()), ..ViewOptions::default() });
    assert!(error.is_input() && error.to_string().starts_with("--at noon: give a time such as"));
    let options = ViewOptions { at: Some("-4s".into()), ..ViewOptions::default() };
    // Four seconds before the end of the last interval, the fourth begins.
    assert_eq!(State::open(&dir, &options).unwrap().ordinal(), Some((4, 5)));
    assert!(State::open(folder.path(), &ViewOptions::default()).is_err_and(|error| error.is_input()));
}
