//! Users at real shells on real pseudo-terminals.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use thinktime_script::Script;
use thinktime_terminals::accounts::Clock;
use thinktime_terminals::driver::interaction::Interaction;
use thinktime_terminals::driver::{Outcome, Play, Verdict, drive};
use thinktime_terminals::load::population::Schedule;
use thinktime_terminals::nursery::Nursery;
use thinktime_terminals::shell::Typed;
use thinktime_terminals::shell::host::Host;

struct Run {
    interactions: Vec<Interaction>,
    outcome: Outcome,
    /// Homes that there were during the play.
    homes: Vec<String>,
}

/// A script of these interactions, each a table in TOML without its command.
fn script(terminal: &str, interactions: &[&str]) -> String {
    let lines: String =
        interactions.iter().map(|keys| format!("[[interaction]]\ncommand = \"line\"\n{keys}\n")).collect();
    format!("name = \"test\"\nthink = 0.01\n[commands]\nline = {{}}\n[terminal]\n{terminal}\n{lines}")
}

/// Plays until so many interactions are completed, however long that takes on this machine.
fn run(text: &str, users: &str, completed: u64, scratch: &Path, open_loop: bool) -> Run {
    let script = Script::parse(text, "test.toml").expect("a script");
    let typed = Typed::new(script, 1, None, Host::Here, scratch).expect("typed");
    let nursery = Nursery::open().expect("a nursery");
    let schedule = Schedule::new(users.parse().expect("users"), 60.0, None).expect("a schedule");
    let play = Play { work: &typed, schedule: &schedule, open_loop };
    let (mut interactions, mut homes) = (Vec::new(), Vec::new());
    let outcome = drive(
        &nursery,
        &play,
        &mut |mut more| {
            interactions.append(&mut more);
            Ok(())
        },
        &mut |progress| {
            if progress.completed > 0 {
                homes = paths(scratch);
            }
            if progress.completed < completed { Verdict::Continue } else { Verdict::Stop }
        },
    )
    .expect("plays");
    nursery.close();
    Run { interactions, outcome, homes }
}

/// Everything below a folder.
fn paths(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let below = entries.flatten().map(|entry| entry.path());
    below.flat_map(|path| [vec![path.display().to_string()], paths(&path)].concat()).collect()
}

fn scratch() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

#[test]
fn both_shells_answer_and_homes_are_removed() {
    for shell in ["sh", "bash"] {
        let scratch = scratch();
        let terminal = format!(
            "shell = \"{shell}\"\nvariables = {{ fruit = [\"apple\", \"pear\"] }}\n\
             [[terminal.file]]\npath = \"data/f.txt\"\ntext = \"it's {{{{fruit}}}} of {{{{user}}}}\\n\""
        );
        let text = script(
            &terminal,
            &[
                // Longer than a busy machine takes from the text that ended the last wait to the prompt behind it.
                "types = \"cat data/f.txt > seen; mkdir -p $HOME/more\"\nthink = 0.3",
                "types = \"grep -c {{fruit}} seen\"\nwait_for = \"1\\r\\n\"".replace("\\r\\n", "").as_str(),
                "types = \"env; set\"\nthink = 0.3",
                "types = \"test $PWD = $HOME && echo at ho''me\"\nwait_for = \"at home\"",
            ],
        );
        let run = run(&text, "3", 40, scratch.path(), false);
        assert_eq!((run.outcome.lost, run.outcome.timed_out, run.outcome.unexpected_prompts), (0, 0, 0));
        assert_eq!(run.outcome.sessions.len(), 3);
        assert!(run.homes.iter().any(|path| path.ends_with("data/f.txt")), "{:?}", run.homes);
        assert_eq!(paths(scratch.path()), Vec::<String>::new());
        assert_eq!(run.interactions.len() as u64, run.outcome.completed + run.outcome.unfinished);
        for one in run.interactions.iter().filter(|one| one.completion_ns.is_some()) {
            if one.index % 4 == 0 {
                // Nothing but the prompt: two halves of 16 digits.
                assert_eq!(one.output_bytes, 32, "{one:?}");
            }
            let (sent, output, end) = (one.sent_ns, one.first_output_ns, one.completion_ns);
            assert!(Some(one.arrival_ns) <= sent && sent <= output && output <= end, "{one:?}");
        }
    }
}

#[test]
fn a_response_lasts_until_what_is_waited_for() {
    // Each waits 0.3 s in the shell. The last prints for that long: its silence is many times the 0.15 s between two of
    // its lines, since on a busy machine a line can come late.
    let scratch = scratch();
    let text = script(
        "",
        &[
            "types = \"sleep 0.3\"",
            "types = \"sleep 0.3; echo do''ne; sleep 0.1\"\nwait_for = \"done\"",
            "types = \"sleep 0.3; echo 4''2 rows; sleep 0.1\"\nwait_pattern = \"[0-9]+ rows\"",
            "types = \"for i in 1 2 3; do printf $i; sleep 0.15; done\"\nwait_silence = 1.5",
        ],
    );
    let run = run(&text, "1", 8, scratch.path(), false);
    let done: Vec<f64> = run.interactions.iter().filter_map(Interaction::response_s).collect();
    assert!(done.len() >= 8, "{:?}", run.outcome);
    for (index, response_s) in done.iter().enumerate() {
        assert!(*response_s >= 0.3, "interaction {index}: {response_s} s");
    }
}

#[test]
fn a_line_typed_without_waiting_has_no_response() {
    let scratch = scratch();
    let text = script(
        "",
        &["types = \"cat > note\"\nwait = false", "types = \"a line\"\nwait = false", "types = \"\\u0004\""],
    )
    .replace("types = \"\\u0004\"", "types = \"x; exit\"\nwait = false");
    // The third line is text for `cat` too: nothing is ever answered.
    let script = Script::parse(&text, "test.toml").expect("a script");
    let typed = Typed::new(script, 1, None, Host::Here, scratch.path()).expect("typed");
    let nursery = Nursery::open().expect("a nursery");
    let schedule = Schedule::new("1".parse().expect("users"), 0.5, None).expect("a schedule");
    let mut rows = Vec::new();
    let play = Play { work: &typed, schedule: &schedule, open_loop: false };
    let outcome = drive(
        &nursery,
        &play,
        &mut |mut more| {
            rows.append(&mut more);
            Ok(())
        },
        &mut |_| Verdict::Continue,
    )
    .expect("plays");
    assert_eq!((outcome.completed, outcome.unfinished), (0, 0));
    assert!(outcome.without_wait > 3, "{outcome:?}");
    assert_eq!(rows.len() as u64, outcome.without_wait);
    assert!(rows.iter().all(|row| !row.waited && row.sent_ns.is_some() && row.completion_ns.is_none()));
}

#[test]
fn a_reply_that_never_comes_ends_by_time_and_the_user_logs_in_again() {
    let scratch = scratch();
    let text = script(
        "time_out = 0.3",
        &["types = \"echo one\"", "types = \"sleep 1000\"", "types = \"echo never\""],
    );
    let run = run(&text, "1", 3, scratch.path(), false);
    assert!(run.outcome.timed_out >= 2 && run.outcome.lost == 0, "{:?}", run.outcome);
    // The third line is never reached: a new login begins a new pass.
    assert!(run.interactions.iter().all(|one| one.index % 3 != 2));
    assert_eq!(paths(scratch.path()), Vec::<String>::new());
}

#[test]
fn a_program_that_shows_the_environment_forges_no_prompt() {
    let scratch = scratch();
    let text = script("", &["types = \"env; set; echo $tt_a $tt_b; sleep 0.2; echo \\\"$PS1\\\"\""]);
    let run = run(&text, "1", 3, scratch.path(), false);
    assert_eq!(run.outcome.unexpected_prompts, 0);
    let done: Vec<f64> = run.interactions.iter().filter_map(Interaction::response_s).collect();
    assert!(done.iter().all(|response_s| *response_s >= 0.2), "{done:?}");
}

#[test]
fn typing_takes_its_time_and_counts_as_thinking() {
    let scratch = scratch();
    let text = script("typing = 0.02", &["types = \"echo 0123456789\""]);
    let run = run(&text, "1", 3, scratch.path(), false);
    for one in &run.interactions {
        // 15 characters and the return key: 15 times between keys, and 0.01 s of thinking.
        assert!((one.think_s - 0.31).abs() < 1e-9, "{one:?}");
    }
    let ends: Vec<(u64, u64)> =
        run.interactions.iter().filter_map(|one| Some((one.arrival_ns, one.completion_ns?))).collect();
    for pair in ends.windows(2) {
        assert_eq!(pair[1].0 - pair[0].1, 310_000_000);
    }
    assert_eq!(run.outcome.unexpected_prompts, 0);
}

#[test]
fn what_runs_in_the_background_ends_with_the_play() {
    let scratch = scratch();
    let note = scratch.path().join("pids");
    // The shell waits until the program in the background has noted its number and closed the substitution's pipe.
    let line = format!(
        "types = \": $(setsid sh -c 'echo $$ >> {}; exec sleep 1000 > /dev/null' &)\"",
        note.display()
    );
    let text = script("", &[&line]);
    run(&text, "2", 4, scratch.path(), false);
    let noted = fs::read_to_string(&note).expect("noted");
    assert!(noted.lines().count() >= 4);
    for pid in noted.lines() {
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        assert!(status.is_err(), "{pid} is left: {status:?}");
    }
}

/// CPU time of a process of its own that runs `script`, and of its children, by the kernel's account of it alone: other
/// tests wait for children too [s].
#[expect(clippy::zombie_processes, reason = "wait4 waits for it, and tells what it used")]
fn cpu_of(script: &str) -> f64 {
    let child = Command::new("sh").args(["-c", script]).spawn().expect("sh");
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    // SAFETY: `status` and `usage` are writable, and `usage` is valid in any case as it is all zero.
    let (waited, usage) = unsafe {
        let waited = libc::wait4(child.id() as i32, &mut status, 0, usage.as_mut_ptr());
        (waited, usage.assume_init())
    };
    assert_eq!((waited, status), (child.id() as i32, 0), "{script}");
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 * 1e-6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[test]
fn the_cpu_time_of_an_interaction_is_that_of_its_programs() {
    // In a child of the shell, which ends, and in the shell itself, each then waits.
    let lines = [
        "sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.1'",
        "i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done; sleep 0.1",
        "sleep 0.3",
    ];
    let scratch = scratch();
    let types: Vec<String> = lines.iter().map(|line| format!("types = \"{line}\"")).collect();
    let types: Vec<&str> = types.iter().map(String::as_str).collect();
    // The same loops without a terminal, while the others are typed: other tests and other machines on the same host
    // make all of them slower at the same time.
    let is_over = AtomicBool::new(false);
    let (run, loops) = std::thread::scope(|scope| {
        let loops = scope.spawn(|| {
            let mut loops = [Vec::new(), Vec::new()];
            while !is_over.load(Ordering::Relaxed) || loops[1].len() < 4 {
                loops.iter_mut().zip(lines).for_each(|(loops, line)| loops.push(cpu_of(line)));
            }
            loops
        });
        let run = run(&script("shell = \"sh\"", &types), "1", 12, scratch.path(), false);
        is_over.store(true, Ordering::Relaxed);
        (run, loops.join().expect("loops"))
    });
    let measured = |place: u64| -> Vec<f64> {
        let of_line = run.interactions.iter().filter(|one| one.index % 3 == place);
        of_line.filter(|one| one.completion_ns.is_some()).filter_map(Interaction::service_s).collect()
    };
    let median = |mut values: Vec<f64>| {
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let accounts = run.outcome.accounts.expect("measured");
    let step_s = if accounts.cpu_time == Clock::Group { 0.0 } else { 0.02 };
    for (place, (line, loops_s)) in lines.iter().zip(loops).enumerate() {
        let (low_s, high_s) =
            (loops_s.iter().fold(f64::MAX, |a, b| a.min(*b)), loops_s.iter().fold(0.0f64, |a, b| a.max(*b)));
        let found_s = median(measured(place as u64));
        assert!(
            found_s > 0.7 * low_s - step_s && found_s < 1.4 * high_s + step_s,
            "{line}: {found_s} s, {loops_s:?}"
        );
    }
    let asleep = measured(2);
    assert!(asleep.len() >= 3 && median(asleep.clone()) < 0.02 + step_s, "{asleep:?}");
}

#[test]
fn an_open_loop_keeps_its_due_times() {
    let scratch = scratch();
    let text = script("", &["types = \"sleep 0.1\""]).replace("think = 0.01", "think = 0.04");
    let run = run(&text, "1", 5, scratch.path(), true);
    let mut due: Vec<u64> = run.interactions.iter().map(|one| one.arrival_ns).collect();
    due.sort_unstable();
    assert!(due.windows(2).all(|pair| pair[1] - pair[0] == 40_000_000), "{due:?}");
    assert!(run.outcome.dropped >= 3, "{:?}", run.outcome);
}

#[test]
fn a_shell_that_cannot_start_is_an_error_with_its_words() {
    let scratch = scratch();
    let file = "shell = \"sh\"\n[[terminal.file]]\npath = \"a\"\ntext = \"\"\n[[terminal.file]]\npath = \"a/b\"\ntext = \"\"";
    let script = Script::parse(&script(file, &["types = \"ls\""]), "test.toml").expect("a script");
    let typed = Typed::new(script, 1, None, Host::Here, scratch.path()).expect("typed");
    let nursery = Nursery::open().expect("a nursery");
    let schedule = Schedule::new("1".parse().expect("users"), 60.0, None).expect("a schedule");
    let play = Play { work: &typed, schedule: &schedule, open_loop: false };
    let begun = Instant::now();
    let error = drive(&nursery, &play, &mut |_| Ok(()), &mut |_| Verdict::Continue)
        .expect_err("no shell")
        .to_string();
    assert!(
        error.contains("user 1: the login on this machine ended before the first prompt")
            && error.contains("mkdir"),
        "{error}"
    );
    assert!(begun.elapsed() < Duration::from_secs(50));
}

#[test]
fn the_plan_is_what_is_typed() {
    let scratch = scratch();
    let text = script(
        "variables = { word = [\"a\", \"b\"] }",
        &["types = \"echo {{word}}\"", "types = \"sleep 0.01\"\nwait_for = \"x\""],
    )
    .replace("think = 0.01", "think = \"exponential(mean=0.02)\"");
    let options = json!({
        "script": Script::parse(&text, "test.toml").expect("a script").to_json(), "users": "2", "step_s": 1.0, "seed": 1,
        "scratch": scratch.path(), "baseline_s": 0.0,
    });
    let options = serde_json::from_value(options).expect("options");
    let plan = thinktime_terminals::shell::play::plan(&options, 2).expect("a plan");
    assert_eq!(plan.iter().map(|line| line.types.as_str()).collect::<Vec<_>>(), ["echo b", "sleep 0.01"]);
    assert_eq!(plan.iter().map(|line| line.until.as_str()).collect::<Vec<_>>(), ["prompt", "text \"x\""]);
    let text = text.replace("wait_for = \"x\"", "");
    let run = run(&text, "2", 8, scratch.path(), false);
    let first = run.interactions.iter().find(|one| one.user == 2 && one.index == 0).expect("played");
    assert_eq!(first.think_s, plan[0].think_s);
}
