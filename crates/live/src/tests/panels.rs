//! Control groups, disks and network interfaces on the screen, the order and the choice of lines, and the mouse.

use std::path::Path;

use ratatui::crossterm::event::{KeyCode, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use thinktime_log::{Value, vocabulary};

use super::{Tables, paused, press, row, shown, start_us, typed, words};
use crate::listing::Panel;
use crate::state::{Motion, State};

impl Tables {
    /// A log that has control groups and devices too.
    fn with_devices(dir: &Path) -> Tables {
        let mut log = Tables::create(dir);
        for schema in [vocabulary::groups(), vocabulary::disks(), vocabulary::interfaces()] {
            let id = log.writer.declare(schema.clone()).unwrap();
            log.ids.push((schema, id));
        }
        log
    }

    /// A row of a control group; `values` besides its path and name.
    fn group(&mut self, interval: i64, path: &str, values: Vec<(&str, Value)>) {
        let name = path.rsplit('/').next().unwrap().replace("-1a2b", "");
        let mut all = vec![("start", Value::Time(start_us(interval))), ("group", path.into())];
        all.extend([("name", Value::from(name.as_str())), ("kind", "service".into())]);
        all.extend(values);
        self.append(&[("groups", all)]);
    }

    fn device(&mut self, interval: i64, table: &str, name: &str, values: Vec<(&str, Value)>) {
        let key = if table == "disks" { "device" } else { "interface" };
        let mut all = vec![("start", Value::Time(start_us(interval))), (key, name.into())];
        all.extend(values);
        self.append(&[(table, all)]);
    }
}

/// A finished log of three intervals with control groups, disks and interfaces.
fn with_devices(dir: &Path) {
    let mut log = Tables::with_devices(dir);
    log.presence(0, ("proportional", 310_000_000));
    log.interval(0, 1.0);
    let levels = |memory: u64, limit: Option<u64>| {
        let limit = limit.map_or(Value::Null, Value::from);
        let peak = ("memory_peak_bytes", (2 * memory).into());
        vec![("memory_bytes", memory.into()), peak, ("memory_limit_bytes", limit)]
    };
    // The reading of memory, at which nothing was used, and what only has memory.
    log.group(0, "/system.slice", levels(700_000_000, None));
    log.group(0, "/system.slice/db.service", levels(500_000_000, Some(1_000_000_000)));
    log.group(0, "/system.slice/idle.service", levels(90_000_000, None));
    log.device(0, "disks", "sdb", vec![("reads", 4_u64.into()), ("read_wait_s", 0.1.into())]);
    log.interval(1, 1.0);
    // 0.9, 0.2 and 0.06 of 2 s: 45, 10 and 3 %.
    let used = vec![
        ("cpu_s", 0.9.into()),
        ("user_s", 0.7.into()),
        ("system_s", 0.2.into()),
        ("throttled_s", 0.2.into()),
        ("throttled_periods", 3_u64.into()),
        ("periods", 20_u64.into()),
        ("psi_cpu_some_s", 0.06.into()),
        ("psi_memory_some_s", 0.0.into()),
        ("psi_io_some_s", 0.0.into()),
        ("read_bytes", 3_000_000_u64.into()),
        ("write_bytes", 0_u64.into()),
        ("reads", 30_u64.into()),
    ];
    log.group(1, "/system.slice/db.service", used);
    log.group(1, "/system.slice", vec![("cpu_s", 1.0.into())]);
    // Without the controller of memory.
    log.group(1, "/docker/web-1a2b", vec![("cpu_s", 1.6.into())]);
    log.device(
        1,
        "disks",
        "sda",
        // In 2 s: 15 reads and 5 writes a second, each of 40 ms, and half of the time busy.
        vec![
            ("reads", 30_u64.into()),
            ("writes", 10_u64.into()),
            ("read_bytes", 3_000_000_u64.into()),
            ("write_bytes", 800_000_u64.into()),
            ("read_wait_s", 0.6.into()),
            ("write_wait_s", 1.0.into()),
            ("busy_s", 1.0.into()),
            ("queue_s", 1.6.into()),
        ],
    );
    log.device(1, "interfaces", "lo", vec![("bytes_in", 2_000_u64.into()), ("bytes_out", 2_000_u64.into())]);
    log.device(
        1,
        "interfaces",
        "eth0",
        vec![
            ("bytes_in", 24_000_000_u64.into()),
            ("bytes_out", 500_000_u64.into()),
            ("packets_in", 20_000_u64.into()),
            ("packets_out", 9_000_u64.into()),
            ("errors", 0_u64.into()),
            ("drops", 3_u64.into()),
        ],
    );
    log.interval(2, 1.0);
    log.writer.finish().unwrap();
}

/// A view of the second interval of a log with control groups and devices, at panel `panel`.
fn second(dir: &Path, panel: char) -> State {
    with_devices(dir);
    let mut state = paused(dir);
    press(&mut state, KeyCode::Right);
    press(&mut state, KeyCode::Char(panel));
    state
}

/// Names and figures of the lines of a screen that are below the one with `title`.
fn below(rows: &[String], title: &str) -> Vec<String> {
    let at =
        rows.iter().position(|row| row.starts_with(title)).unwrap_or_else(|| panic!("{title}: {rows:#?}"));
    let squeezed = |row: &String| row.split_whitespace().collect::<Vec<_>>().join(" ");
    rows[at + 1..].iter().map(squeezed).take_while(|row| !row.is_empty()).collect()
}

#[test]
fn control_groups_stand_in_their_hierarchy_with_the_figures_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = second(&folder.path().join("log"), '2');
    let rows = shown(&state, 80, 24);
    assert!(rows.iter().any(|row| row.contains("[2 groups]")), "{rows:#?}");
    let title = "GROUP (4)";
    let heading = "GROUP (4) CPU▼ THROTTLED CPU PSI MEMORY LIMIT READ/s WRITE/s";
    let shown_title = rows.iter().find(|row| row.starts_with(title)).unwrap();
    assert_eq!(shown_title.split_whitespace().collect::<Vec<_>>().join(" "), heading);
    // The memory is that of the reading before; what was not measured is not there.
    let lines = [
        "▸ web 80 % - - - - - -",
        "system.slice 50 % - - 700 MB - - -",
        "db.service 45 % 10 % 3.0 % 500 MB 1.0 GB 1.5 MB 0 B",
        "idle.service - - - 90 MB - - -",
    ];
    assert_eq!(below(&rows, title)[..4], lines);
    // A group stands below the one that it is in.
    assert!(rows.iter().any(|row| row.starts_with("    db.service ")), "{rows:#?}");
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Down);
    let rows = shown(&state, 120, 24);
    let has = |text: &str| assert!(rows.iter().any(|row| row == text), "{text}: {rows:#?}");
    has("/system.slice/db.service (service)");
    has("CPU         45 % · user 35 % · system 10 % · throttled 10 % · quota used up in 3 of 20 periods");
    has("memory      500 MB · limit 1.0 GB · peak 1.0 GB");
    has("pressure    CPU 3.0 % · memory 0 % · disks 0 %");
    has("per second  read 1.5 MB in 15 requests · written 0 B");
    // An interval later nobody did anything; the group without memory is still told.
    press(&mut state, KeyCode::Right);
    let rows = shown(&state, 80, 24);
    assert_eq!(words(&rows, "web")[1..], ["0", "%", "-", "-", "-", "-", "-", "-"]);
    assert_eq!(words(&rows, "db.service")[1..5], ["0", "%", "0", "%"]);
}

#[test]
fn groups_below_a_group_are_hidden_and_found() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = second(&folder.path().join("log"), '2');
    let names =
        |state: &State| state.listing().lines.iter().map(|line| line.name.to_string()).collect::<Vec<_>>();
    press(&mut state, KeyCode::Down);
    press(&mut state, KeyCode::Enter);
    assert_eq!(names(&state), ["web", "system.slice"]);
    assert!(shown(&state, 80, 24).iter().any(|row| row.starts_with("▸ system.slice ▸ ")));
    press(&mut state, KeyCode::Enter);
    typed(&mut state, "/DB");
    assert_eq!(names(&state), ["system.slice", "db.service"]);
    assert!(shown(&state, 80, 24)[23].starts_with("find groups: db"));
    press(&mut state, KeyCode::Enter);
    assert!(shown(&state, 80, 24).iter().any(|row| row.starts_with("GROUP (2 with db)")));
    // Keys are keys again, and the other panels show everything.
    press(&mut state, KeyCode::Char('1'));
    assert_eq!(state.listing().lines.len(), 4);
    press(&mut state, KeyCode::Char('2'));
    press(&mut state, KeyCode::Esc);
    assert_eq!(names(&state).len(), 4);
}

#[test]
fn disks_and_interfaces_have_the_figures_of_the_log() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = second(&folder.path().join("log"), '3');
    let rows = shown(&state, 100, 24);
    // One that did nothing keeps its place; of no request there is no mean, and what it never told stays unknown.
    let lines = ["▸ sda 50 % 15 5.0 1.5 MB 400 kB 40 ms 20 ms 100 ms 0.8", "sdb - 0 - - - - - - -"];
    assert_eq!(below(&rows, "DISK (2)")[..2], lines, "{rows:#?}");
    let lines = ["eth0 12 MB 250 kB 10000 4500 0 1.5", "lo 1.0 kB 1.0 kB - - - -"];
    assert_eq!(below(&rows, "INTERFACE (2)")[..2], lines);
    press(&mut state, KeyCode::Char('4'));
    press(&mut state, KeyCode::Char('n'));
    let rows = shown(&state, 100, 24);
    assert!(rows.iter().any(|row| row.starts_with("INTERFACE (2)▼")), "{rows:#?}");
    let at = |begin: &str| rows.iter().position(|row| row.starts_with(begin)).unwrap();
    assert!(at("INTERFACE") < at("DISK"));
    press(&mut state, KeyCode::Tab);
    assert_eq!(state.panel, Panel::Users);
    // A tall screen has room for them below the users.
    let rows = shown(&state, 200, 50);
    assert_eq!(below(&rows, "DISK (2)")[0], "sda 50 % 15 5.0 1.5 MB 400 kB 40 ms 20 ms 100 ms 0.8");
}

#[test]
fn any_column_gives_the_order_both_ways() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = second(&folder.path().join("log"), '1');
    let names =
        |state: &State| state.listing().lines.iter().map(|line| line.name.to_string()).collect::<Vec<_>>();
    let title =
        |state: &State| shown(state, 120, 24).into_iter().find(|row| row.starts_with("USER")).unwrap();
    let bob = "b\u{1b}[31mob";
    assert_eq!(names(&state), ["alice", bob, "carol", "www-data"]);
    press(&mut state, KeyCode::Char('r'));
    assert!(title(&state).contains("CPU▲"));
    assert_eq!(names(&state), ["carol", "www-data", bob, "alice"]);
    // A column that was chosen begins with the largest; those without a figure stay at the end.
    for column in ["CPU WAIT", "DISK WAIT", "MEMORY", "READ/s", "WRITE/s", "PROCESSES"] {
        press(&mut state, KeyCode::Char('>'));
        let title = title(&state);
        assert!(title.contains(&format!(" {column}▼")) && title.matches('▼').count() == 1, "{title}");
    }
    assert_eq!(names(&state)[0], "alice");
    press(&mut state, KeyCode::Char('r'));
    assert_eq!(names(&state)[0], "alice");
    press(&mut state, KeyCode::Char('i'));
    assert_eq!(title(&state).matches('▼').count(), 2);
    typed(&mut state, "/o");
    assert_eq!(names(&state), ["carol", bob]);
}

#[test]
fn gpus_have_columns_only_where_a_log_tells_of_them() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let mut log = Tables::create(&dir);
    log.interval(0, 1.0);
    let dave = [("start", Value::Time(start_us(0))), ("user", "uid:1003".into()), ("name", "dave".into())];
    // 1.5 of 2 s: 75 %.
    let used = [("gpu_s", 1.5.into()), ("gpu_memory_bytes", 2_000_000_000_u64.into())];
    log.append(&[("users", [dave.to_vec(), used.to_vec()].concat())]);
    log.interval(1, 1.0);
    log.writer.finish().unwrap();
    let mut state = paused(&dir);
    let rows = shown(&state, 120, 24);
    let title = |rows: &[String], start: &str| {
        let row = rows.iter().find(|row| row.starts_with(start)).unwrap();
        row.split("  ").map(str::trim).filter(|title| !title.is_empty()).skip(1).collect::<Vec<_>>().join("|")
    };
    let of_commands = "CPU|CPU WAIT|DISK WAIT|MEMORY|READ/s|WRITE/s|PROCESSES";
    let of_users = of_commands.replacen("CPU|", "CPU▼|", 1) + "|GPU|GPU MEMORY";
    assert_eq!(title(&rows, "USER ("), of_users);
    assert_eq!(title(&rows, "COMMANDS of"), of_commands);
    assert!(words(&rows, "dave").join(" ").ends_with("75 % 2.0 GB"), "{rows:#?}");
    assert!(words(&rows, "alice").join(" ").ends_with("12 - -"), "{rows:#?}");
    // The columns of commands stand below those of users.
    let end = |start: &str| {
        let row = rows.iter().find(|row| row.starts_with(start)).unwrap();
        row.find("PROCESSES").map(|at| row[..at].chars().count())
    };
    assert_eq!(end("USER ("), end("COMMANDS of"));
    press(&mut state, KeyCode::Char('u'));
    assert_eq!(state.listing().lines[0].name.as_ref(), "dave");
    // They stay in intervals without.
    press(&mut state, KeyCode::Right);
    assert!(shown(&state, 120, 24).iter().any(|row| row.contains("GPU▼  GPU MEMORY")));
    let mut without = second(&folder.path().join("without"), '1');
    press(&mut without, KeyCode::Char('u'));
    let rows = shown(&without, 120, 24);
    assert_eq!(title(&rows, "USER ("), of_commands.replacen("CPU|", "CPU▼|", 1));
}

#[test]
fn the_commands_of_a_user_have_the_panel_to_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = second(&folder.path().join("log"), '1');
    press(&mut state, KeyCode::Enter);
    let rows = shown(&state, 80, 24);
    assert!(!rows.iter().any(|row| row.starts_with("USER")), "{rows:#?}");
    assert_eq!(below(&rows, "COMMANDS of alice")[0].split(' ').next(), Some("cc1"));
    // Sixteen rows have room for eight lines of them: all that there are.
    press(&mut state, KeyCode::Down);
    assert_eq!(state.selected_name(), Some("alice"));
    press(&mut state, KeyCode::Esc);
    assert!(shown(&state, 80, 24).iter().any(|row| row.starts_with("USER")));
}

/// What the mouse does at the first place of `text` on the screen, `right` columns further.
fn pointed(state: &mut State, kind: MouseEventKind, text: &str, right: usize) {
    let rows = shown(state, 100, 24);
    let (y, row) = rows.iter().enumerate().find(|(_, row)| row.contains(text)).unwrap();
    let x = row[..row.find(text).unwrap()].chars().count() + right;
    let [column, row] = [x, y].map(|cell| u16::try_from(cell).unwrap());
    state.mouse(MouseEvent { kind, column, row, modifiers: KeyModifiers::NONE }).unwrap();
}

#[test]
fn the_mouse_chooses_lines_panels_columns_and_times() {
    let folder = tempfile::tempdir().unwrap();
    let mut state = second(&folder.path().join("log"), '1');
    let click = MouseEventKind::Down(MouseButton::Left);
    pointed(&mut state, click, "carol", 30);
    assert_eq!(state.selected_name(), Some("carol"));
    pointed(&mut state, click, "MEMORY", 2);
    assert_eq!(state.listing().lines[0].name.as_ref(), "alice");
    assert!(shown(&state, 100, 24).iter().any(|row| row.contains("MEMORY▼")));
    pointed(&mut state, click, "MEMORY", 2);
    assert!(shown(&state, 100, 24).iter().any(|row| row.contains("MEMORY▲")));
    // The ends of the timeline, its middle on the way, and what is beyond it while the button is held.
    pointed(&mut state, click, "13:45:00 ", 9);
    assert_eq!((state.ordinal(), state.motion), (Some((1, 3)), Motion::Paused));
    pointed(&mut state, MouseEventKind::Drag(MouseButton::Left), "13:45:04", 2);
    assert_eq!(state.ordinal(), Some((3, 3)));
    pointed(&mut state, MouseEventKind::Up(MouseButton::Left), "carol", 0);
    pointed(&mut state, MouseEventKind::Drag(MouseButton::Left), "13:45:00 ", 9);
    assert_eq!(state.ordinal(), Some((3, 3)));
    pointed(&mut state, click, "2 groups", 3);
    assert_eq!(state.panel, Panel::Groups);
    pointed(&mut state, MouseEventKind::ScrollDown, "GROUP (", 2);
    assert_eq!(state.panel, Panel::Groups);
    // A line of another list brings its panel.
    pointed(&mut state, click, "3 disks", 0);
    pointed(&mut state, click, "eth0", 0);
    assert_eq!(state.panel, Panel::Network);
    // While something is typed, the mouse has no say.
    typed(&mut state, "/");
    pointed(&mut state, click, "1 users", 0);
    assert_eq!(state.panel, Panel::Network);
}

#[test]
fn the_wheel_scrolls_and_takes_the_selection_along() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let mut log = Tables::create(&dir);
    log.interval(0, 1.0);
    let schema = vocabulary::users();
    let rows = (0..100).map(|user| {
        let key = format!("uid:{}", 2000 + user);
        let cpu_s = 2.0 - f64::from(user) / 100.0;
        row(
            &schema,
            &[
                ("start", Value::Time(start_us(0))),
                ("user", key.as_str().into()),
                ("cpu_exact_s", cpu_s.into()),
            ],
        )
    });
    let id = log.ids.iter().find(|(schema, _)| schema.name == "users").unwrap().1;
    log.writer.append(vec![(id, rows.collect())]).unwrap();
    log.writer.finish().unwrap();
    let mut state = paused(&dir);
    let seen = |state: &State| {
        let rows = shown(state, 100, 24);
        let title = rows.iter().find(|row| row.starts_with("USER (")).unwrap();
        title[6..title.find(')').unwrap()].to_owned()
    };
    // 23 - 7 rows, five parts of eight of which are 10, one for the titles.
    assert_eq!(seen(&state), "1-9 of 102");
    pointed(&mut state, MouseEventKind::ScrollDown, "uid:2002", 0);
    assert_eq!(seen(&state), "4-12 of 102");
    assert_eq!(state.selected_name(), Some("uid:2003"));
    pointed(&mut state, MouseEventKind::ScrollUp, "uid:2004", 0);
    assert_eq!(seen(&state), "1-9 of 102");
    assert_eq!(state.selected_name(), Some("uid:2003"));
    press(&mut state, KeyCode::PageDown);
    assert_eq!(state.selected_name(), Some("uid:2012"));
    for _ in 0..100 {
        pointed(&mut state, MouseEventKind::ScrollDown, "uid:20", 0);
    }
    assert_eq!(seen(&state), "94-102 of 102");
}

#[test]
fn names_from_outside_are_text_in_every_panel() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("log");
    let mut log = Tables::with_devices(&dir);
    log.interval(0, 1.0);
    let hostile = "x\u{1b}[2J";
    log.group(0, &format!("/{hostile}"), vec![("cpu_s", 1.0.into())]);
    log.device(0, "disks", hostile, vec![("reads", 4_u64.into())]);
    log.device(0, "interfaces", hostile, vec![("bytes_in", 4_u64.into())]);
    log.writer.finish().unwrap();
    let mut state = paused(&dir);
    for panel in ['2', '3', '4'] {
        press(&mut state, KeyCode::Char(panel));
        let rows = shown(&state, 80, 24);
        assert!(rows.iter().any(|row| row.starts_with(r"▸ x\x1b[2J ")), "{rows:#?}");
        assert!(!rows.iter().any(|row| row.contains('\u{1b}')));
    }
    // What is looked for is shown as it was typed, too.
    typed(&mut state, "/x[");
    press(&mut state, KeyCode::Enter);
    assert!(shown(&state, 80, 24).iter().any(|row| row.starts_with("INTERFACE 0 /x[ ")));
    assert!(shown(&state, 100, 24).iter().any(|row| row.starts_with("INTERFACE (0 with x[) ")));
}
