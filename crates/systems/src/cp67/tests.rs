//! What the machine does: the laws under any load, arithmetic where it can be worked out by hand, the calendar of
//! the three periods, and DUSETIMR.

use proptest::prelude::*;
use serde_json::{Value, json};
use thinktime_engine::drum::Drum;
use thinktime_engine::{Calendar, Component, Laws, Model, Slot, Span, Streams, Time, run};
use thinktime_log::Value as Cell;

use super::config::Config;
use super::dusetimr;
use super::machine::Machine;
use super::schedule::{DAY, Stretch};
use super::storage::{Frame, Page, Storage};
use crate::kernel::testing::{configured, given, replicate, replication, response};
use crate::kernel::{
    Amount, Budget, Interaction, Monitor, NullMonitor, Outcome, Replication, Simulated, Simulation,
};
use crate::system;

const STREAMS: Streams = Streams { seed: 67, replication: 0 };
const INTERVAL_S: f64 = 300.0;

/// A hundred days, read every five minutes.
fn every_five_minutes() -> Replication {
    let end_s = Span(100 * DAY).seconds();
    Replication { interval: Span::from_seconds(INTERVAL_S), ..replication(STREAMS, 0.0, end_s) }
}

fn once(parameters: &Value) -> Outcome {
    replicate(&configured::<Config>(parameters), &every_five_minutes(), &mut NullMonitor).unwrap()
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    response(&configured::<Config>(&json!({})), outcome, name)
}

#[test]
fn what_cannot_be_is_refused_with_what_could() {
    for (wrong, named, remedy) in [
        (json!({"period": "IV-3"}), "period", "II-2, II-3, III-3"),
        (json!({"core_boxes": "two"}), "core_boxes", "or of_period"),
        (json!({"core_boxes": -1}), "core_boxes", "or of_period"),
        (json!({"cp_pages": 190}), "cp_pages", "give CP fewer pages"),
        (json!({"mix_day": [1, 0, 0]}), "mix_day", "edit, develop, compute, guest"),
        (json!({"mix_night": [0, 0, 0, 0]}), "mix_night", "4 shares"),
        (json!({"drum_organisation": "sstf"}), "drum_organisation", "fcfs, sector_queued"),
        (json!({"free_frett": "new"}), "free_frett", "did you mean \"free_fret\""),
        (json!({"edit_think": "exponential(mean=-1)"}), "edit_think", "mean"),
    ] {
        let message = Simulation::new(system("cp67").unwrap(), given(&wrong)).err().unwrap().to_string();
        assert!(message.contains(named) && message.contains(remedy), "{wrong}: {message}");
    }
}

fn at(day: u64, hours: f64) -> Time {
    Time(day * DAY) + Span::from_seconds(hours * 3600.0)
}

/// 1 September 1969 and 1 December 1969 were Mondays, 1 May 1970 was a Friday.
#[test]
fn the_periods_are_recorded_in_their_shifts() {
    let first = |period: &str, count: usize| -> Vec<Stretch> {
        configured::<Config>(&json!({"period": period})).schedule.stretches().take(count).collect()
    };
    let stretch = |from_day, from, to_day, to| Stretch { from: at(from_day, from), to: at(to_day, to) };
    // Of weekdays every fourth: Monday, Friday, then Thursday of the second week.
    let shifts = first("II-2", 3);
    assert_eq!(shifts, [0, 4, 10].map(|day| stretch(day, 8.5, day, 16.75)));
    let two_shifts = first("II-3", 5);
    assert_eq!(two_shifts[2], stretch(4, 8.5, 4, 22.5));
    assert_eq!(two_shifts[3], stretch(8, 8.5, 9, 6.0));
    // Round the clock, three days of five, weekends included.
    assert_eq!(first("III-3", 2), [stretch(0, 0.0, 3, 0.0), stretch(5, 0.0, 8, 0.0)]);
    let weekdays: Vec<u64> = ["II-2", "II-3", "III-3"]
        .map(|period| configured::<Config>(&json!({"period": period})).schedule.weekday(0))
        .to_vec();
    assert_eq!(weekdays, [0, 0, 4]);
}

/// Monday to Thursday of two weeks; new on Monday and Thursday of the first, Tuesday and Wednesday of the second.
#[test]
fn the_experiment_is_counterbalanced_as_published() {
    let config = configured::<Config>(&json!({"schedule": "experiment", "free_fret": "counterbalanced"}));
    let days: Vec<u64> = config.schedule.stretches().map(|stretch| stretch.from.0 / DAY).collect();
    assert_eq!(days, [0, 1, 2, 3, 7, 8, 9, 10]);
    let new: Vec<bool> = days.iter().map(|day| config.is_new(*day)).collect();
    assert_eq!(new, [true, false, false, true, false, true, true, false]);
    assert_eq!(config.schedule.epoch_us() / (DAY / 1000) as i64, 123);
}

#[test]
fn users_come_with_the_first_shift() {
    let config = configured::<Config>(&json!({"first_shift": 20, "evening": 5, "night": 2, "weekend": 3}));
    let wanted = |day, hour| config.population.wanted(&config.schedule, at(day, hour));
    // The first day is a Friday.
    assert_eq!((wanted(0, 3.0), wanted(0, 10.0), wanted(0, 20.5), wanted(1, 10.0)), (2.0, 20.0, 3.5, 3.0));
    assert!((wanted(0, 9.5) - 18.0).abs() < 1e-9);
    assert_eq!(config.population.most(), 20.0);
}

/// With no variety every request costs the same: path, calls of both routines and passes, less what a pass that
/// finds the same user saves.
#[test]
fn costs_add_up_to_what_the_parameters_say() {
    let plain = json!({
        "period": "II-2", "observations": 60, "complexity_spread": 0, "line_complexity_spread": 0, "privileged_spread": 0, "state_spread": 0, "path_variation": 0,
        "find_time": 0.0003, "redispatch_time": 0.0003, "activities": 0,
        "vsio_path": 0.007, "vsio_free_calls": 3.5, "vsio_passes": 1, "vmio_path": 0.002, "vmio_passes": 0,
        "page_io_path": 0.001, "page_io_path_version_two": 0.003, "page_io_passes": 1,
        "spool_io_path": 0.003, "spool_io_passes": 3, "privileged_share": 0.1, "base_path": 0.005,
    });
    let pair = (363.0 + 245.0) * 1e-6;
    let outcome = once(&plain);
    let near = |name: &str, expected: f64, relative: f64| {
        let found = figure(&outcome, name);
        assert!((found / expected - 1.0).abs() < relative, "{name}: {found}, {expected}");
    };
    // 3.5 calls are three or four with equal chances: over 100 000 requests, to a part in a thousand.
    near("vsio_cost_s", 0.007 + 3.5 * pair + 0.0006, 1e-3);
    near("vmio_cost_s", 0.002 + 0.0003, 1e-3);
    // Of a page that goes out and the one that comes into its frame, the dispatcher is passed once after the exception.
    let (page, path) = (figure(&outcome, "page_io_cost_s"), 0.001 + 0.003 + 2.0 * pair + 0.0003);
    assert!(path < page && page < path + 0.0003, "{page}, {path}");
    near("spool_io_cost_s", 0.003 + 2.0 * pair + 0.0012, 1e-2);
    let privileged = figure(&outcome, "problem_cost") - figure(&outcome, "problem_dispatch");
    assert!((privileged - 0.1).abs() < 1e-6, "{privileged}");
}

/// Nobody but the operator: DUSETIMR reads every 300 s and finds itself.
#[test]
fn a_machine_without_users_waits_and_reads() {
    let empty = json!({"first_shift": 0, "evening": 0, "night": 0, "weekend": 0, "observations": 50, "restarts_per_day": 0});
    let outcome = once(&empty);
    assert_eq!((figure(&outcome, "observations"), figure(&outcome, "active_users_mean")), (50.0, 1.0));
    assert!(figure(&outcome, "wait_share") > 0.98);
    // The first reading, a second after midnight, gives no observation; the last one ends the run.
    assert!((outcome.ended.seconds() - (1.0 + 50.0 * INTERVAL_S)).abs() < 1.0);
}

/// Reports of DUSETIMR.
#[derive(Default)]
struct Watch {
    samples: Vec<(Time, Span, Vec<Cell>)>,
    users: Vec<(Time, String, Span, Span)>,
    restarts: Vec<Time>,
    signed_on: i64,
}

impl Monitor for Watch {
    const LISTENS: bool = true;

    fn sample(&mut self, start: Time, length: Span, values: Vec<Cell>) {
        self.samples.push((start, length, values));
    }

    fn user(&mut self, start: Time, user: &std::sync::Arc<str>, user_time: Span, system_time: Span) {
        self.users.push((start, user.to_string(), user_time, system_time));
    }

    fn incident(&mut self, now: Time, _: &'static str, _: &'static str) {
        self.restarts.push(now);
    }

    fn event(&mut self, _: Time, kind: &'static str, _: Option<u32>, _: Option<Amount>) {
        self.signed_on += i64::from(kind == "log_on") - i64::from(kind == "log_off");
    }

    fn interaction(&mut self, _: &Interaction) {}
}

fn number(row: &[Cell], name: &str) -> f64 {
    let at = dusetimr::sample_columns().iter().position(|column| column.name == name).unwrap();
    match row[at] {
        Cell::F64(value) => value,
        Cell::U64(value) => value as f64,
        _ => panic!("{name} is no number"),
    }
}

fn watched(parameters: &Value) -> Watch {
    let config = configured::<Config>(parameters);
    let mut watch = Watch::default();
    let mut calendar = Machine::<NullMonitor>::calendar(&config);
    let mut machine = Machine::new(&config, &every_five_minutes(), &mut watch);
    run(&mut machine, &mut calendar, Time::ZERO, Time(100 * DAY));
    machine.finish(&mut calendar, &mut Laws::default()).unwrap();
    watch
}

/// Differences are taken within one run of the system: where it is started again, an interval is missing.
#[test]
fn readings_stay_within_a_system_run() {
    let watch = watched(&json!({"period": "III-3", "observations": 600, "restarts_per_day": 6}));
    assert_eq!(watch.samples.len(), 600);
    assert!(watch.restarts.len() > 5, "{}", watch.restarts.len());
    for restart in &watch.restarts {
        let across =
            watch.samples.iter().any(|(start, length, _)| start < restart && *restart < *start + *length);
        assert!(!across, "{restart:?}");
    }
    for (_, length, row) in &watch.samples {
        let states = number(row, "problem_s") + number(row, "cp_s") + number(row, "wait_s");
        assert!((states - length.seconds()).abs() < 1e-6);
        assert!((length.seconds() - INTERVAL_S).abs() < 30.0, "{length:?}");
        assert!(number(row, "dispatch_s") < number(row, "cp_s"));
        assert_eq!(number(row, "rio"), number(row, "page_ios") + number(row, "spool_ios"));
        assert!((number(row, "free_s") - number(row, "free_calls") * 47e-6).abs() < 1e-9);
    }
}

/// The users' accounts add up to the machine's, less those of users who left before they were read.
#[test]
fn every_user_who_is_signed_on_is_read() {
    let watch =
        watched(&json!({"period": "II-2", "observations": 80, "session": 1e9, "restarts_per_day": 0}));
    for (start, _, row) in &watch.samples {
        let there: Vec<_> = watch.users.iter().filter(|(of, ..)| of == start).collect();
        assert_eq!(there.len() as f64, number(row, "users_signed_on"));
        let active = there.iter().filter(|(_, _, problem, _)| *problem > Span::ZERO).count();
        assert_eq!(active as f64, number(row, "active_users"));
        let problem: f64 = there.iter().map(|(_, _, problem, _)| problem.seconds()).sum();
        assert!((problem - number(row, "problem_s")).abs() < 1e-6);
        let charged: f64 = there.iter().map(|(.., system)| system.seconds()).sum();
        assert!((charged - (number(row, "cp_s") - number(row, "dispatch_s"))).abs() < 1e-6);
    }
}

struct Requests {
    drum: Drum<Page>,
    done: u64,
}

/// As many requests wait at all times.
impl Model for Requests {
    fn start(&mut self, calendar: &mut Calendar) {
        for user in 0..20 {
            self.drum.ask(Page { user, out: false }, calendar);
        }
    }

    fn handle(&mut self, _: Slot, calendar: &mut Calendar) {
        if let Some(page) = self.drum.due(calendar) {
            self.done += 1;
            self.drum.ask(page, calendar);
        }
    }

    fn restart_statistics(&mut self, _: &Calendar) {}
}

fn saturated_per_s(organisation: &str) -> (f64, f64) {
    let plan = configured::<Config>(&json!({"drum_organisation": organisation})).drum;
    let drum = Drum::new(plan, Slot(0), STREAMS.stream(Component("drum"), 0));
    let mut requests = Requests { drum, done: 0 };
    let mut calendar = Calendar::new(1, 1);
    let length_s = 10_000.0;
    run(&mut requests, &mut calendar, Time::ZERO, Time::ZERO + Span::from_seconds(length_s));
    requests.drum.check(calendar.now(), &mut Laws::default()).unwrap();
    (requests.done as f64 / length_s, plan.most_per_s())
}

/// H0: a search takes half a revolution on average. Over n pages, the mean has a standard deviation of
/// 17.2 ms / sqrt(12 n): 0.006 ms with 7.8e5 pages, 0.04 % of a service; five of them: false alarm 6e-7.
#[test]
fn a_saturated_drum_gives_75_to_80_pages_a_second() {
    let (found, most) = saturated_per_s("fcfs");
    assert!((found / most - 1.0).abs() < 0.0025, "{found}, {most}");
    assert!((75.0..80.0).contains(&most), "{most}");
    let (queued, most) = saturated_per_s("sector_queued");
    assert!(queued > 1.7 * found && queued < most, "{queued}, {most}");
}

#[test]
fn frames_are_taken_from_whoever_is_longest_out_and_stolen_last() {
    let mut storage = Storage::new(4, 4, STREAMS.stream(Component("steals"), 0));
    let take = |storage: &mut Storage, user| {
        let frame = storage.take(user, 9);
        storage.filled(user);
        frame
    };
    for user in [0, 1, 2] {
        storage.enters_queue(user);
    }
    for user in [0, 1, 1, 2] {
        assert_eq!(take(&mut storage, user), Frame::Free);
    }
    storage.leaves_queue(1);
    storage.leaves_queue(0);
    // Both frames of user 1, who left first, then that of user 0, then one of the only other user in a queue.
    storage.enters_queue(3);
    for expected in [Frame::Idle, Frame::Idle, Frame::Idle, Frame::Stolen] {
        assert_eq!(take(&mut storage, 3), expected);
    }
    assert_eq!([0, 1, 2, 3].map(|user| storage.held(user)), [0, 0, 0, 4]);
    // Nobody else holds any: its own.
    assert_eq!(take(&mut storage, 3), Frame::Stolen);
    // Enough frames: one of its own goes for the new page.
    assert_eq!(storage.take(3, 4), Frame::Stolen);
    storage.check(&mut Laws::default()).unwrap();
}

fn any_parameters() -> impl Strategy<Value = Value> {
    (
        (prop::sample::select(vec!["II-2", "II-3", "III-3"]), 0u64..40, 0.0..60.0, 2u64..150),
        (prop::sample::select(vec!["fcfs", "sector_queued"]), 1u64..5, 0.0..1.0, 1.0..200.0),
        (0.0..50.0, 1u64..20, 0.3..8.0, 0.001..0.5, 1.0..5.0),
    )
        .prop_map(|((period, users, restarts, cp), (drum, spindles, changed, pages), more)| {
            let (activities, lines, per_box, slice, boxes) = more;
            json!({
                "period": period, "observations": 25, "first_shift": users, "night": users, "weekend": users,
                "restarts_per_day": restarts, "cp_pages": cp / 3, "drum_organisation": drum,
                "spindles": spindles, "channels": 1, "changed_share": changed, "guest_working_set": pages,
                "develop_working_set": pages / 2.0, "activities": activities, "lines_per_block": lines,
                "interactive_users_per_box": per_box, "batch_users_per_box": per_box, "time_slice": slice,
                "interactive_cpu_limit": 2.0 * slice, "core_boxes": boxes, "session": 600, "task": 60,
                "users": users + 2, "edit_print_share": 0.2, "edit_print_lines": 30,
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Time, frames, calls, accounts, Little's law, utilisation law: checked by every run, whatever is asked for,
    /// with restarts in the middle of anything.
    #[test]
    fn the_laws_hold_for_any_machine(parameters in any_parameters()) {
        let Ok(simulation) = Simulation::new(system("cp67").unwrap(), given(&parameters)) else { return Ok(()) };
        let finished = simulation.run(3, 0..1, Some(1), Budget::DEFAULT, |_| true);
        prop_assert!(finished.is_ok(), "{:?}", finished.err());
    }
}
