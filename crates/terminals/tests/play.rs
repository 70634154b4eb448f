//! Real users on real terminals, played into a real log.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use thinktime_log::{LogWriter, OpenMode, Session, SharedWriter};
use thinktime_quantities::Distribution;
use thinktime_terminals::Program;
use thinktime_terminals::TerminalsError;
use thinktime_terminals::driver::interaction::Interaction;
use thinktime_terminals::driver::work::Synthetic;
use thinktime_terminals::driver::{Outcome, Play, Progress, Verdict, drive};
use thinktime_terminals::load::population::Schedule;
use thinktime_terminals::load::workload::{Class, Workload};
use thinktime_terminals::nursery::Nursery;
use thinktime_terminals::play::{PlayOptions, Prepared, measure_direct, play, prepare, rehearse};
use thinktime_terminals::user::compute::calibrate;

fn one_class(class: Class) -> Workload {
    Workload { classes: vec![class], ..Workload::named("empty").expect("built in") }
}

fn class_named(name: &str) -> Class {
    serde_json::from_value(serde_json::json!({"name": name, "weight": 1})).expect("a class")
}

fn constant(value: f64) -> Distribution {
    Distribution::deterministic(value)
}

struct Run {
    interactions: Vec<Interaction>,
    outcome: Outcome,
}

/// Plays until so many interactions are completed, however long that takes on this machine.
fn run(workload: Workload, users: &str, completed: u64, think: Distribution, open_loop: bool) -> Run {
    let nursery = Nursery::open().expect("a nursery");
    let program = Program {
        seed: 1,
        workload,
        steps_per_s: calibrate().steps_per_s,
        scratch: std::env::temp_dir(),
        groups: Vec::new(),
    };
    let schedule = Schedule::new(users.parse().expect("users"), 3600.0, None).expect("a schedule");
    let work = Synthetic { program: &program, think: &think };
    let play = Play { work: &work, schedule: &schedule, open_loop };
    let mut interactions = Vec::new();
    let outcome = drive(
        &nursery,
        &play,
        &mut |mut more| {
            interactions.append(&mut more);
            Ok(())
        },
        &mut |progress| if progress.completed < completed { Verdict::Continue } else { Verdict::Stop },
    )
    .expect("plays");
    Run { interactions, outcome }
}

/// How many processes have `parent` for a parent.
fn children_of(parent: u32) -> usize {
    std::fs::read_dir("/proc")
        .expect("proc")
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            after_name.split(' ').nth(1) == Some(&parent.to_string())
        })
        .count()
}

#[test]
fn every_input_is_a_row_and_times_are_in_order() {
    let run =
        run(Workload::named("mixed").expect("built in"), "4", 40, Distribution::exponential(0.05), false);
    let Run { interactions, outcome } = run;
    assert_eq!(interactions.len() as u64, outcome.completed + outcome.unfinished);
    assert!(outcome.completed >= 40 && outcome.lost == 0, "{outcome:?}");
    assert_eq!(outcome.sessions.len(), 4);
    for one in &interactions {
        let sent_ns = one.sent_ns.expect("closed play sends all that is due");
        assert!(one.arrival_ns <= sent_ns);
        let (Some(output_ns), Some(end_ns)) = (one.first_output_ns, one.completion_ns) else { continue };
        assert!(sent_ns <= output_ns && output_ns <= end_ns, "{one:?}");
        assert!(one.reaction_s() <= one.response_s(), "{one:?}");
    }
    // Each user's interactions are numbered without a gap.
    let mut by_user: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for one in &interactions {
        by_user.entry(one.user).or_default().push(one.index);
    }
    for (user, mut indices) in by_user {
        indices.sort_unstable();
        assert!(indices.iter().copied().eq(0..indices.len() as u64), "user {user}: {indices:?}");
    }
}

#[test]
fn a_user_does_the_same_whoever_else_plays() {
    let script = |users, completed| -> Vec<(String, u64)> {
        let Run { mut interactions, .. } = run(
            Workload::named("mixed").expect("built in"),
            users,
            completed,
            Distribution::exponential(0.05),
            false,
        );
        interactions.retain(|one| one.user == 1);
        interactions.sort_by_key(|one| one.index);
        interactions.iter().map(|one| (one.class.to_string(), one.think_s.to_bits())).collect()
    };
    let (alone, among_others) = (script("1", 10), script("5", 60));
    let both = alone.len().min(among_others.len());
    assert!(both >= 3);
    assert_eq!(alone[..both], among_others[..both]);
}

#[test]
fn prototype_received_what_was_drawn_for_it() {
    // Exact counts: blocks, output bytes and fresh pages of each interaction are those of the plan.
    let mut class = class_named("all");
    class.file_blocks = "geometric(mean=6.0)".parse().expect("a distribution");
    class.sync_share = 0.05;
    class.output_lines = "integers(low=0,high=8)".parse().expect("a distribution");
    class.fresh_pages = constant(100.0);
    let Run { interactions, outcome } = run(one_class(class.clone()), "2", 40, constant(0.02), false);
    assert!(outcome.completed >= 40);
    for one in interactions.iter().filter(|one| one.completion_ns.is_some()) {
        let plan = class.amounts(1, one.user, one.index);
        let Some(figures) = one.counts() else { continue };
        assert_eq!(figures.reads + figures.writes, plan.file_blocks, "{one:?}");
        assert_eq!(figures.output_bytes, 26 * plan.output_lines + 3, "{one:?}");
        assert_eq!(figures.forks, plan.forks, "{one:?}");
        // The first interaction touches code and stack for the first time besides.
        let extra = figures.page_faults_minor.checked_sub(100).expect("at least the fresh pages");
        assert!(one.index == 0 || extra <= 8, "{extra} faults more than fresh pages: {one:?}");
    }
}

#[test]
fn compute_loop_takes_the_cpu_time_it_was_asked_for() {
    // 100 iterations of 0.09 ms are 9 ms on the exact clock; the median over interactions forgives the
    // ones that a neighbour slowed, 30 percent allows for a drift of the machine since the calibration.
    let mut class = class_named("compute");
    class.compute_iterations = constant(100.0);
    let Run { interactions, .. } = run(one_class(class), "1", 41, constant(0.01), false);
    let mut took: Vec<f64> = interactions.iter().filter_map(Interaction::service_s).collect();
    took.sort_by(f64::total_cmp);
    assert!(took.len() >= 10);
    let median = took[took.len() / 2];
    assert!((median / 0.009 - 1.0).abs() < 0.3, "median {median} s of {}", took.len());
}

#[test]
fn children_are_part_of_the_service() {
    let mut class = class_named("fork");
    class.forks = constant(20.0);
    let mut idle = class_named("idle");
    idle.weight = 1.0;
    let median_service = |class: Class| {
        let run = run(one_class(class), "1", 21, constant(0.01), false);
        let mut service: Vec<f64> = run.interactions.iter().filter_map(Interaction::service_s).collect();
        service.sort_by(f64::total_cmp);
        service[service.len() / 2]
    };
    // 20 forks cost more than 20 us each anywhere; an idle interaction costs far less than 400 us.
    assert!(median_service(class) > 400e-6 + median_service(idle));
}

#[test]
fn open_play_keeps_intended_arrivals() {
    // One user, 50 ms of pause, an input every 20 ms: 3 of 5 inputs cannot be sent in time. All of them
    // are rows, none is omitted, and response times grow from the intended start.
    let mut class = class_named("slow");
    class.pause_s = constant(0.05);
    let Run { interactions, outcome } = run(one_class(class), "1", 20, constant(0.02), true);
    assert_eq!(interactions.len() as u64, outcome.completed + outcome.unfinished + outcome.dropped);
    // 20 completions take 1 s at the least, in which 50 inputs are due.
    assert!(outcome.dropped >= 25 && outcome.late >= 15, "{outcome:?}");
    let mut arrivals: Vec<u64> = interactions.iter().map(|one| one.arrival_ns).collect();
    arrivals.sort_unstable();
    for pair in arrivals.windows(2) {
        assert_eq!(pair[1] - pair[0], 20_000_000, "intended arrivals are 20 ms apart");
    }
    let last = interactions.iter().filter_map(Interaction::response_s).fold(0.0, f64::max);
    // The 20th input was due 0.38 s after the first, and was answered 1 s after it or later.
    assert!(last > 0.6, "the backlog counts: {last}");
}

#[test]
fn a_dead_user_leaves_an_unfinished_row_and_the_play_goes_on() {
    let nursery = Nursery::open().expect("a nursery");
    let mut class = class_named("slow");
    // Longer than the play: whoever has typed is waiting.
    class.pause_s = constant(3600.0);
    let program = Program {
        seed: 1,
        workload: one_class(class),
        steps_per_s: 1e9,
        scratch: std::env::temp_dir(),
        groups: Vec::new(),
    };
    let schedule = Schedule::new("2".parse().expect("users"), 3.0, None).expect("a schedule");
    let think = constant(0.01);
    let work = Synthetic { program: &program, think: &think };
    let play = Play { work: &work, schedule: &schedule, open_loop: false };
    let mut interactions: Vec<Interaction> = Vec::new();
    let mut killed = false;
    let outcome = drive(
        &nursery,
        &play,
        &mut |mut more| {
            interactions.append(&mut more);
            Ok(())
        },
        &mut |progress| {
            if progress.started == 2 && !killed {
                killed = true;
                let victim = find_thread("tt-user-1").expect("is alive");
                rustix::process::kill_process(victim, rustix::process::Signal::KILL).expect("is ours");
            }
            Verdict::Continue
        },
    )
    .expect("goes on");
    assert_eq!(outcome.lost, 1);
    assert!(killed, "both users have typed within the play");
    let users: BTreeMap<u32, bool> =
        interactions.iter().map(|one| (one.user, one.completion_ns.is_some())).collect();
    assert_eq!(users, BTreeMap::from([(1, false), (2, false)]));
    assert_eq!((outcome.completed, outcome.unfinished), (0, 2));
    assert!(!outcome.stopped && outcome.elapsed_s >= 2.999, "{outcome:?}");
}

/// The child of our nursery (grandchild of this process) with this name.
fn find_thread(name: &str) -> Option<rustix::process::Pid> {
    let me = std::process::id();
    let stat = |pid: u32| std::fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let parent = |pid: u32| stat(pid)?.rsplit(") ").next()?.split(' ').nth(1)?.parse::<u32>().ok();
    std::fs::read_dir("/proc")
        .ok()?
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .find_map(|pid: u32| {
            let ours = stat(pid)?.contains(&format!("({name})")) && parent(parent(pid)?)? == me;
            ours.then(|| rustix::process::Pid::from_raw(pid as i32)).flatten()
        })
}

#[test]
fn a_scratch_folder_that_cannot_be_used_is_named() {
    let nursery = Nursery::open().expect("a nursery");
    let program = Program {
        seed: 1,
        workload: Workload::named("empty").expect("built in"),
        steps_per_s: 1e9,
        scratch: "/proc/nowhere".into(),
        groups: Vec::new(),
    };
    let schedule = Schedule::new("1".parse().expect("users"), 5.0, None).expect("a schedule");
    let think = constant(0.01);
    let work = Synthetic { program: &program, think: &think };
    let play = Play { work: &work, schedule: &schedule, open_loop: false };
    let error = drive(&nursery, &play, &mut |_| Ok(()), &mut |_| Verdict::Continue).expect_err("cannot play");
    assert!(matches!(&error, TerminalsError::User { user: 1, .. }), "{error}");
    assert!(error.to_string().contains("/proc/nowhere"), "{error}");
}

#[test]
fn nothing_is_left_when_the_nursery_closes() {
    // In a process of its own, so that other tests' children do not count.
    let me = rustix::process::getpid();
    // SAFETY: the child uses only this crate and ends by _exit; glibc's allocator survives the fork.
    match unsafe { libc::fork() } {
        0 => {
            let own = std::process::id();
            let nursery = Nursery::open().expect("a nursery");
            let program = Program {
                seed: 1,
                workload: Workload::named("prototype").expect("built in"),
                steps_per_s: 1e9,
                scratch: std::env::temp_dir(),
                groups: Vec::new(),
            };
            let schedule = Schedule::new("5".parse().expect("users"), 0.3, None).expect("a schedule");
            let think = constant(0.01);
            let work = Synthetic { program: &program, think: &think };
            let play = Play { work: &work, schedule: &schedule, open_loop: false };
            let played = drive(&nursery, &play, &mut |_| Ok(()), &mut |_| Verdict::Continue).is_ok();
            let during = children_of(own);
            nursery.close();
            let clean = played && during == 1 && children_of(own) == 0;
            // SAFETY: ends this copy of the test process without running its destructors.
            unsafe { libc::_exit(if clean { 0 } else { 1 }) }
        }
        child => {
            let child = rustix::process::Pid::from_raw(child).expect("forked");
            let (_, status) = rustix::process::waitpid(Some(child), rustix::process::WaitOptions::empty())
                .expect("our child")
                .expect("has ended");
            assert_eq!(status.exit_status(), Some(0), "of a child of {me:?}");
        }
    }
}

#[test]
fn direct_costs_are_plausible_and_tell_their_method() {
    let nursery = Nursery::open().expect("a nursery");
    let costs = measure_direct(&nursery, 10_048, &mut |_| Verdict::Continue).expect("measures");
    let names: Vec<&str> = costs.iter().map(|cost| cost.request.as_str()).collect();
    assert_eq!(names, ["forks", "page_faults_minor", "context_switches"]);
    for cost in &costs {
        assert!(cost.low <= cost.seconds && cost.seconds <= cost.high, "{cost:?}");
        assert!(cost.seconds > 0.0 && cost.gross_seconds >= cost.seconds && cost.n >= 6, "{cost:?}");
        assert!(cost.method.contains("exact CPU time"), "{cost:?}");
    }
    // Physics of any machine of this century: a fork takes 10 us to 20 ms, a fault and a switch 0.05 to 100 us.
    assert!((10e-6..20e-3).contains(&costs[0].gross_seconds), "{costs:?}");
    assert!((0.05e-6..100e-6).contains(&costs[1].seconds), "{costs:?}");
    assert!((0.05e-6..100e-6).contains(&costs[2].seconds), "{costs:?}");
}

fn options(baseline_s: f64) -> PlayOptions {
    PlayOptions {
        workload: Workload::named("prototype").expect("built in"),
        users: "1..3".parse().expect("users"),
        step_s: 0.6,
        ramp_s: None,
        think: Distribution::exponential(0.05),
        open_loop: false,
        seed: 7,
        scratch: std::env::temp_dir(),
        groups: Vec::new(),
        baseline_s,
    }
}

#[test]
fn users_who_think_for_longer_than_the_baseline_lasts_have_none() {
    let nursery = Nursery::open().expect("a nursery");
    let options = PlayOptions { think: Distribution::exponential(1e6), ..options(0.2) };
    let prepared = prepare(&nursery, &options, &mut |_| Verdict::Continue).expect("prepares");
    assert!(prepared.baseline.is_none());
    let json = serde_json::to_string(&prepared).expect("JSON");
    let again: Prepared = serde_json::from_str(&json).expect("the same");
    assert!(again.baseline.is_none());
}

#[test]
fn a_play_fills_the_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run");
    let session = Session { source: "test".into(), start_us: 0, ..Session::default() };
    let writer: SharedWriter =
        Arc::new(Mutex::new(LogWriter::open(&path, OpenMode::Create, session).expect("opens")));
    let nursery = Nursery::open().expect("a nursery");
    let options = options(1.0);
    let mut levels = Vec::new();
    let prepared = prepare(&nursery, &options, &mut |_| Verdict::Continue).expect("prepares");
    let baseline = prepared.baseline.clone().expect("was asked for");
    // Nothing is faster than an interaction that asks for nothing.
    assert!(
        baseline.n > 5
            && baseline.response_s.median > 0.0
            && baseline.service_s.expect("reported").median < baseline.response_s.median
    );
    let played = play(&nursery, &options, &prepared, &writer, &mut |progress: &Progress| {
        levels.push(progress.users);
        Verdict::Continue
    })
    .expect("plays");
    writer.lock().expect("sound").finish().expect("finishes");
    assert!(levels.contains(&1) && levels.contains(&3));
    let rows: usize = thinktime_log::Log::open(&path)
        .expect("a log")
        .read("interactions")
        .expect("reads")
        .iter()
        .map(|batch| batch.num_rows())
        .sum();
    assert_eq!(rows as u64, played.outcome.completed + played.outcome.unfinished);
    let by_step: usize = played.steps.iter().map(|step| step.n + step.unfinished).sum();
    assert_eq!(by_step, rows);
    let log = thinktime_log::Log::open(&path).expect("a log");
    let facts = &log.manifest().sessions[0].facts["terminals"];
    assert_eq!(facts["seed"], 7);
    assert_eq!(facts["outcome"]["completed"], played.outcome.completed);
    assert!(facts["outcome"]["sessions"]["user:1"].as_str().is_some_and(|id| id.starts_with("session:")));
    assert!(log.check().expect("checks").is_empty(), "{:?}", log.check());
}

#[test]
fn the_observer_ends_the_play_at_once() {
    let nursery = Nursery::open().expect("a nursery");
    let program = Program {
        seed: 1,
        workload: Workload::named("empty").expect("built in"),
        steps_per_s: 1e9,
        scratch: std::env::temp_dir(),
        groups: Vec::new(),
    };
    let schedule = Schedule::new("2".parse().expect("users"), 3600.0, None).expect("a schedule");
    let think = constant(3600.0);
    let work = Synthetic { program: &program, think: &think };
    let play = Play { work: &work, schedule: &schedule, open_loop: false };
    let outcome = drive(&nursery, &play, &mut |_| Ok(()), &mut |progress| match progress.elapsed_s < 0.3 {
        true => Verdict::Continue,
        false => Verdict::Stop,
    })
    .expect("ends");
    assert!(outcome.stopped && outcome.elapsed_s < 60.0, "{outcome:?}");
}

#[test]
fn a_rehearsal_learns_the_demand() {
    // Demand of a pure compute class: 100 +- spread iterations of 0.09 ms. The control variate takes the
    // draw's spread out, so that even a few interactions come close to the expected 9 ms. 30 percent is the
    // allowed drift of the machine since calibration, as above.
    let mut class = class_named("compute");
    class.compute_iterations = "integers(low=0,high=200)".parse().expect("a distribution");
    let options = PlayOptions {
        workload: one_class(class),
        users: "1".parse().expect("users"),
        step_s: 2.0,
        think: constant(0.01),
        ..options(0.0)
    };
    let nursery = Nursery::open().expect("a nursery");
    let prepared = prepare(&nursery, &options, &mut |_| Verdict::Continue).expect("prepares");
    let demand = rehearse(&nursery, &options, &prepared, &mut |_| Verdict::Continue).expect("rehearses");
    assert!(
        demand.n >= 5 && demand.low_s <= demand.service_s && demand.service_s <= demand.high_s,
        "{demand:?}"
    );
    assert!((demand.service_s / 0.009 - 1.0).abs() < 0.3, "{demand:?}");
    assert!(demand.response_s > 0.0);
}

#[test]
fn a_killed_nursery_takes_its_users_along() {
    use std::os::fd::AsFd;
    let nursery = Nursery::open().expect("a nursery");
    let program = Program {
        seed: 1,
        workload: Workload::named("empty").expect("built in"),
        steps_per_s: 1e9,
        scratch: std::env::temp_dir(),
        groups: Vec::new(),
    };
    let master = rustix::pty::openpt(rustix::pty::OpenptFlags::RDWR).expect("a terminal");
    rustix::pty::unlockpt(&master).expect("unlocks");
    let slave = rustix::pty::ioctl_tiocgptpeer(&master, rustix::pty::OpenptFlags::RDWR).expect("a terminal");
    let user = nursery.start(1, slave.as_fd(), &program).expect("starts");
    let user = rustix::process::Pid::from_raw(user).expect("a pid");
    rustix::process::test_kill_process(user).expect("is alive");
    let pid = rustix::process::Pid::from_raw(nursery.pid()).expect("a pid");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("is ours");
    let until = std::time::Instant::now() + std::time::Duration::from_secs(60);
    // A zombie is dead: in a container, nobody may come to bury it.
    let state = |pid: rustix::process::Pid| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        stat.rsplit(") ").next()?.chars().next()
    };
    while state(user).is_some_and(|state| state != 'Z') {
        assert!(std::time::Instant::now() < until, "the user outlives the nursery");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let refused = nursery.start(2, slave.as_fd(), &program).expect_err("is gone").to_string();
    assert!(refused.contains("nursery"), "{refused}");
}

#[test]
fn a_child_may_execute_a_program() {
    // /bin/true maps a library or two: more page faults than a child that ends at once.
    let faults = |exec_share| {
        let mut class = class_named("fork");
        class.forks = constant(5.0);
        class.exec_share = exec_share;
        let run = run(one_class(class), "1", 21, constant(0.01), false);
        let mut faults: Vec<u64> =
            run.interactions.iter().filter_map(|one| Some(one.counts()?.page_faults_minor)).collect();
        faults.sort_unstable();
        faults[faults.len() / 2]
    };
    assert!(faults(1.0) > faults(0.0) + 5 * 10);
}
