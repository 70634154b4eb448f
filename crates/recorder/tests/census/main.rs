//! The bookkeeping of processes, against a model of the kernel's own: nothing is lost, nothing doubled.

mod histories;
mod model;

use thinktime_recorder::processes::census::{Census, Key, Surroundings};
use thinktime_recorder::processes::departures::Departures;
use thinktime_recorder::processes::{By, Scan};

use model::{Kernel, MS, Observer, TICK_NS, counted};

#[test]
fn a_command_that_came_and_went_between_samples_belongs_to_who_waited_for_it() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let shell = kernel.fork(1, 1000);
    observer.sample(&mut kernel, &[]);
    let command = kernel.fork(shell, 1000);
    kernel.run(command, 700 * MS);
    kernel.exit(command);
    observer.sample(&mut kernel, &[]);
    let found = counted(&observer, 1000);
    assert!((700 * MS..=701 * MS).contains(&found), "{found}");
}

/// Processes that end before or after their parents are left to process 1, which waits for them at once or seconds later.
/// The children of another user are waited for at once.
#[test]
fn orphans_are_their_users_whoever_ends_first_and_however_late_init_waits() {
    for (interval_ms, init_ms, first_in_100, received_ms) in [
        (1000, 1, 0, 1000),
        (1000, 1, 66, 1000),
        (1000, 1900, 10, 100),
        (1000, 4000, 0, 1000),
        (1000, 7000, 33, 300),
        (5000, 1, 33, 1000),
        (5000, 1900, 0, 1000),
        (5000, 1900, 33, 1000),
        (5000, 4000, 66, 500),
        (5000, 7000, 10, 1000),
    ] {
        let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
        observer.is_told = true;
        let [load, other] = [1000, 2000].map(|uid| {
            let shell = kernel.fork(1, 0);
            kernel.fork(shell, uid)
        });
        observer.sample(&mut kernel, &[]);
        let mut orphans = Vec::new();
        for now_ms in 1..=24_000u64 {
            if now_ms % 7 == 0 && now_ms < 9000 {
                let parent = kernel.fork(load, 1000);
                let orphan = kernel.fork(parent, 1000);
                kernel.run(parent, MS / 5);
                kernel.run(orphan, 2 * MS);
                let number = now_ms / 7;
                if number * 37 % 100 < first_in_100 {
                    kernel.die(orphan);
                } else {
                    orphans.push((now_ms + 3 + number % 10, orphan));
                }
                kernel.die(parent);
                kernel.bury(load);
                let child = kernel.fork(other, 2000);
                kernel.run(child, MS);
                kernel.die(child);
                kernel.bury(other);
            }
            orphans.retain(|(end_ms, orphan)| {
                if *end_ms <= now_ms {
                    kernel.die(*orphan);
                }
                *end_ms > now_ms
            });
            if now_ms % init_ms == 0 {
                kernel.bury(1);
            }
            if now_ms % received_ms == 0 {
                kernel.drain();
            }
            if now_ms % interval_ms == 0 {
                observer.sample(&mut kernel, &[]);
            }
        }
        for uid in [1000, 2000] {
            let found = counted(&observer, uid) as f64 / kernel.by_uid[&uid] as f64;
            // The totals of those who wait are cut to ticks.
            assert!(
                (0.99..=1.0).contains(&found),
                "every {interval_ms} ms, init after {init_ms}, {first_in_100} % first: {found} of user {uid}"
            );
        }
    }
}

/// Without messages, children that were seen say whose the others are, but not where process 1 waits for orphans.
#[test]
fn one_orphan_that_was_seen_does_not_make_its_user_the_owner_of_all_others() {
    for (is_orphan, expected) in [(true, (50, 900)), (false, (950, 0))] {
        let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
        let daemon = kernel.fork(1, 0);
        let waiter = if is_orphan { 1 } else { daemon };
        observer.sample(&mut kernel, &[]);
        let seen = kernel.fork(waiter, 1000);
        kernel.run(seen, 50 * MS);
        observer.sample(&mut kernel, &[]);
        kernel.exit(seen);
        let unseen = kernel.fork(waiter, if is_orphan { 2000 } else { 1000 });
        kernel.run(unseen, 900 * MS);
        kernel.exit(unseen);
        observer.sample(&mut kernel, &[]);
        observer.sample(&mut kernel, &[]);
        let found = (counted(&observer, 1000), counted(&observer, 0));
        for (found_ns, expected_ms) in [(found.0, expected.0), (found.1, expected.1)] {
            assert!(found_ns.abs_diff(expected_ms * MS) <= 20 * MS, "{is_orphan}: {found:?}");
        }
    }
}

#[test]
fn a_users_last_work_is_not_charged_to_the_daemon_that_waited() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let daemon = kernel.fork(1, 0);
    let shell = kernel.fork(daemon, 1000);
    kernel.run(shell, 5_000 * MS);
    observer.sample(&mut kernel, &[]);
    kernel.run(shell, 300 * MS);
    kernel.exit(shell);
    observer.sample(&mut kernel, &[]);
    observer.sample(&mut kernel, &[]);
    let (user, root) = (counted(&observer, 1000), counted(&observer, 0));
    assert!((290 * MS..=310 * MS).contains(&user), "{user}");
    assert!(root < MS, "the 5 s from before the recording are nobody's: {root}");
}

#[test]
fn what_ends_during_the_first_scan_belongs_to_no_interval() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = true;
    let daemon = kernel.fork(1, 0);
    let shell = kernel.fork(daemon, 1000);
    let next = kernel.fork(daemon, 1000);
    kernel.run(shell, 5_000 * MS);
    // The daemon has been read when the shell ends, and the shell has not.
    observer.sample(&mut kernel, &[(shell, shell)]);
    kernel.run(next, 20 * MS);
    kernel.exit(next);
    for _ in 0..3 {
        observer.sample(&mut kernel, &[]);
    }
    let (user, root) = (counted(&observer, 1000), counted(&observer, 0));
    assert!(root < MS && (20 * MS..=21 * MS).contains(&user), "{root} and {user}");
}

#[test]
fn what_it_had_waited_for_before_belongs_to_no_interval_either() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = true;
    let daemon = kernel.fork(1, 0);
    let shell = kernel.fork(daemon, 1000);
    let next = kernel.fork(daemon, 1000);
    let command = kernel.fork(shell, 1000);
    kernel.run(command, 3_000 * MS);
    kernel.exit(command);
    kernel.run(shell, 5_000 * MS);
    // The daemon has been read when the shell ends, and nobody tells of the command, which ended long ago.
    observer.sample(&mut kernel, &[(shell, shell)]);
    for _ in 0..3 {
        observer.sample(&mut kernel, &[]);
        kernel.run(next, 20 * MS);
    }
    kernel.exit(next);
    observer.sample(&mut kernel, &[]);
    let (user, root) = (counted(&observer, 1000), counted(&observer, 0));
    assert!(root < MS && (60 * MS..=61 * MS).contains(&user), "{root} and {user}");
}

#[test]
fn what_nobody_waits_for_does_not_hide_what_others_used_after_their_messages() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = true;
    let lasting = kernel.fork(1, 7);
    kernel.run(lasting, 500_000 * MS);
    observer.sample(&mut kernel, &[]);
    let mut used = 0;
    for round in 0..40 {
        if round == 10 {
            // Its parent ignores SIGCHLD: the totals of nobody contain it.
            kernel.tell(lasting);
            kernel.processes.remove(&lasting);
        }
        // Half of what they use comes after the message of their end, and process 1 waits for them.
        for _ in 0..50 {
            let orphan = kernel.fork(1, 1000);
            kernel.run(orphan, MS);
            kernel.tell(orphan);
            kernel.run(orphan, MS);
            let ended = kernel.processes.remove(&orphan).unwrap();
            let first = kernel.processes.get_mut(&1).unwrap();
            first.waited_ns += ended.run_ns;
            first.waited_faults += ended.faults;
            used += ended.run_ns;
        }
        observer.sample(&mut kernel, &[]);
    }
    observer.sample(&mut kernel, &[]);
    let found = counted(&observer, 1000) as f64 / used as f64;
    // What is lost is half of that of some samples of forty: three in which the debt is kept, and those in which the
    // debts that came meanwhile grow old.
    assert!((0.9..=1.005).contains(&found), "{found}");
}

/// Two users' orphans, of which a scan finds what process 1 has not waited for yet: each user has his own, however late
/// that is, and also where the message of an end came before a scan and the rest after it.
#[test]
fn what_is_waited_for_late_or_never_counts_at_once() {
    for (late, is_halfway) in
        [(0, false), (1, false), (5, false), (99, false), (1, true), (5, true), (99, true)]
    {
        let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
        observer.is_told = true;
        observer.sample(&mut kernel, &[]);
        let mut used = [0, 0];
        let mut ended: Vec<Vec<i32>> = Vec::new();
        for round in 0..40 {
            let mut orphans = Vec::new();
            for number in 0..50usize {
                let (user, rest_ms) = [(0, 1), (1, 4)][number % 2];
                let orphan = kernel.fork(1, 1000 + user as u32);
                kernel.run(orphan, MS);
                kernel.tell(orphan);
                used[user] += (1 + rest_ms) * MS;
                orphans.push((orphan, rest_ms));
            }
            if is_halfway {
                observer.sample(&mut kernel, &[]);
            }
            for (orphan, rest_ms) in &orphans {
                kernel.run(*orphan, rest_ms * MS);
                kernel.zombies.insert(*orphan);
            }
            ended.push(orphans.iter().map(|(orphan, _)| *orphan).collect());
            observer.sample(&mut kernel, &[]);
            if round >= late {
                for orphan in ended.remove(0) {
                    kernel.zombies.remove(&orphan);
                    exit_to(&mut kernel, orphan, 1);
                }
            }
        }
        observer.sample(&mut kernel, &[]);
        for (user, used) in used.iter().enumerate() {
            let found = counted(&observer, 1000 + user as u32) as f64 / *used as f64;
            // The totals of process 1 are cut to ticks of 10 ms, once.
            assert!(
                (0.997..=1.003).contains(&found),
                "{late} late, halfway {is_halfway}, user {user}: {found}"
            );
        }
    }
}

/// A process ends, and `reaper` waits for it.
fn exit_to(kernel: &mut Kernel, pid: i32, reaper: i32) {
    let ended = kernel.processes.remove(&pid).unwrap();
    let reaper = kernel.processes.get_mut(&reaper).unwrap();
    reaper.waited_ns += ended.run_ns + ended.waited_ns;
    reaper.waited_faults += ended.faults + ended.waited_faults;
}

/// As with sshd: a daemon, its monitor of a login, and the user's process, with a shell whose commands are over. The
/// monitor ends without waiting for the user's process, before or after a sample finds that dead, or process 1 waits only
/// after a sample that finds no monitor any more.
#[test]
fn a_process_that_its_parent_left_to_process_1_is_not_counted_again() {
    for sampled in ["at the end", "before the monitor ends", "before process 1 waits"] {
        let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
        observer.is_told = true;
        let daemon = kernel.fork(1, 0);
        let monitor = kernel.fork(daemon, 0);
        let served = kernel.fork(monitor, 1000);
        let shell = kernel.fork(served, 1000);
        observer.sample(&mut kernel, &[]);
        let command = kernel.fork(shell, 1000);
        kernel.run(command, 2_000 * MS);
        kernel.processes.get_mut(&command).unwrap().faults += 5_000;
        kernel.exit(command);
        observer.sample(&mut kernel, &[]);
        kernel.exit(shell);
        observer.sample(&mut kernel, &[]);
        kernel.tell(served);
        kernel.tell(monitor);
        if sampled == "before process 1 waits" {
            exit_to(&mut kernel, monitor, daemon);
            observer.sample(&mut kernel, &[]);
            exit_to(&mut kernel, served, 1);
        } else {
            exit_to(&mut kernel, served, 1);
            if sampled == "before the monitor ends" {
                observer.sample(&mut kernel, &[]);
            }
            exit_to(&mut kernel, monitor, daemon);
        }
        for _ in 0..4 {
            observer.sample(&mut kernel, &[]);
        }
        let (user, root) = (counted(&observer, 1000), counted(&observer, 0));
        assert!((2_000 * MS..=2_020 * MS).contains(&user), "{sampled}: {user}");
        assert!(root <= 20 * MS, "{sampled}: {root}");
        // Nothing is owed that would hide others: process 1 and the daemon wait for one of this user.
        for parent in [1, daemon] {
            let next = kernel.fork(parent, 2000);
            kernel.tell(next);
            kernel.run(next, 300 * MS);
            exit_to(&mut kernel, next, parent);
        }
        observer.sample(&mut kernel, &[]);
        observer.sample(&mut kernel, &[]);
        let other = counted(&observer, 2000);
        assert!((580 * MS..=620 * MS).contains(&other), "{sampled}: {other}");
    }
}

/// The same daemon; commands and their shell end in one interval, so that the user's process may or may not have been
/// the one to wait for them. What comes after their messages is counted there, and their user has no share in what comes
/// after the messages of others when process 1 waits for his process.
#[test]
fn what_was_missing_of_commands_is_counted_once_when_their_parents_end() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    observer.is_told = true;
    let tell = |kernel: &mut Kernel, pid, missing_ns| {
        kernel.tell(pid);
        kernel.departures.single.last_mut().unwrap().missing_ns = missing_ns;
        kernel.run(pid, missing_ns);
    };
    let daemon = kernel.fork(1, 0);
    let monitor = kernel.fork(daemon, 0);
    let served = kernel.fork(monitor, 1000);
    let shell = kernel.fork(served, 1000);
    let other = kernel.fork(1, 2000);
    observer.sample(&mut kernel, &[]);
    for _ in 0..100 {
        let command = kernel.fork(shell, 1000);
        kernel.run(command, MS);
        kernel.processes.get_mut(&command).unwrap().faults += 50;
        tell(&mut kernel, command, MS);
        exit_to(&mut kernel, command, shell);
    }
    tell(&mut kernel, shell, MS / 20);
    exit_to(&mut kernel, shell, served);
    observer.sample(&mut kernel, &[]);
    tell(&mut kernel, served, MS / 20);
    tell(&mut kernel, monitor, MS / 20);
    exit_to(&mut kernel, served, 1);
    exit_to(&mut kernel, monitor, daemon);
    tell(&mut kernel, other, 100 * MS);
    exit_to(&mut kernel, other, 1);
    for _ in 0..4 {
        observer.sample(&mut kernel, &[]);
    }
    for (uid, used) in &kernel.by_uid {
        let found = counted(&observer, *uid);
        assert!(found.abs_diff(*used) <= 2 * TICK_NS, "{uid}: {found} of {used}");
    }
}

/// Without messages, and with a last reading that still names the first of three parents above it which all have ended:
/// who waited for it is not known, and what it was seen to use is not counted for any of those that may have.
#[test]
fn a_sleeper_whose_parents_have_all_ended_counts_once() {
    for subreaper in [true, false] {
        let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
        let above = kernel.fork(1, 7);
        if subreaper {
            kernel.subreapers.insert(above);
        }
        observer.sample(&mut kernel, &[]);
        let parents = [kernel.fork(above, 7), 0, 0];
        let parents = [parents[0], kernel.fork(parents[0], 7), 0];
        let parents = [parents[0], parents[1], kernel.fork(parents[1], 7)];
        let sleeper = kernel.fork(parents[2], 7);
        kernel.run(sleeper, 900 * MS);
        observer.sample(&mut kernel, &[]);
        // From now on it sleeps, and is not read.
        observer.unread.insert(sleeper);
        for parent in parents.into_iter().rev() {
            kernel.exit(parent);
            observer.sample(&mut kernel, &[]);
        }
        kernel.exit(sleeper);
        for _ in 0..3 {
            observer.sample(&mut kernel, &[]);
        }
        let (counted, used) = (observer.total_ns(), kernel.used_ns);
        assert!(counted <= used + 4 * TICK_NS, "{counted} ns of {used} ns, subreaper {subreaper}");
        assert!(counted + 100 * MS >= used, "{counted} ns of {used} ns, subreaper {subreaper}");
    }
}

/// As in a container, or below the manager of a user's services: a process ends before its parent, which ends without
/// waiting, and is left to one above that takes orphans in. Or the parent ends first.
#[test]
fn a_process_that_is_left_to_a_subreaper_counts_once() {
    for (is_told, is_left) in [(true, true), (true, false), (false, true), (false, false)] {
        for between in 0..3 {
            let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
            observer.is_told = is_told;
            let manager = kernel.fork(1, 2000);
            kernel.subreapers.insert(manager);
            let shell = kernel.fork(manager, 0);
            let parent = kernel.fork(shell, 1000);
            let child = kernel.fork(parent, 1000);
            observer.sample(&mut kernel, &[]);
            kernel.run(child, 2_000 * MS);
            kernel.processes.get_mut(&child).unwrap().faults += 5_000;
            if between > 0 {
                observer.sample(&mut kernel, &[]);
            }
            if is_left {
                kernel.leave(child);
            } else {
                kernel.exit(parent);
                if between > 1 {
                    observer.sample(&mut kernel, &[]);
                }
                assert_eq!(kernel.processes[&child].parent, manager);
                kernel.exit(child);
            }
            for _ in 0..4 {
                observer.sample(&mut kernel, &[]);
            }
            let (user, others) = (counted(&observer, 1000), counted(&observer, 2000) + counted(&observer, 0));
            let case = format!("told {is_told}, left {is_left}, {between} samples between");
            // Not seen and not told, it counts for the one that waited.
            let found = if is_told || between > 0 { user } else { user + others };
            assert!((2_000 * MS..=2_020 * MS).contains(&found), "{case}: {user} and {others}");
            assert!(user + others <= 2_040 * MS, "{case}: {user} and {others}");
        }
    }
}

#[test]
fn a_number_used_again_is_another_process() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let first = kernel.fork(1, 1000);
    kernel.run(first, 900 * MS);
    observer.sample(&mut kernel, &[]);
    kernel.exit(first);
    kernel.next = first;
    let second = kernel.fork(1, 2000);
    assert_eq!(first, second);
    kernel.run(second, 40 * MS);
    observer.sample(&mut kernel, &[]);
    assert_eq!(counted(&observer, 2000), 40 * MS);
    assert!(counted(&observer, 1000) <= 2 * TICK_NS);
}

#[test]
fn threads_count_by_the_ticks_of_the_whole_process() {
    let mut census = Census::new(By::Uid, TICK_NS);
    let mut scan = Scan::default();
    let kernel = Kernel::new();
    let around = |census: &mut Census, scan: &Scan| {
        let surroundings = Surroundings {
            since_ticks: Some(0),
            length_ns: u64::MAX,
            capacity_ns: u64::MAX,
            own_pid: None,
            departures: &Departures::default(),
            is_gone: &mut |_| false,
        };
        census.step(scan, surroundings);
        census.accounts()[&Key::Uid(0)].usage.exact_ns
    };
    // Four threads: the first one's own time says nothing.
    for (ticks, run_ns, threads, expected) in [
        (0, 0, 4, 0),
        (200, 5 * MS, 4, 2000 * MS),
        // One is left. That some ran in between shows in the ticks.
        (250, 6 * MS, 1, 500 * MS),
        // Alone, in nanoseconds.
        (250, 9 * MS, 1, 3 * MS),
        // A second thread came and went between two samples: the ticks know of it.
        (350, 10 * MS, 1, 1000 * MS),
        // Another thread became the first by exec: its time starts lower.
        (351, 2 * MS, 1, 10 * MS),
    ] {
        let mut facts = kernel.facts(1).unwrap();
        (facts.stat.user_ticks, facts.run_ns, facts.stat.threads) = (ticks, Some(run_ns), threads);
        scan.clear();
        scan.changed(1, facts);
        assert_eq!(around(&mut census, &scan), expected, "{ticks} ticks");
    }
}

#[test]
fn who_is_active() {
    let mut census = Census::new(By::Uid, TICK_NS);
    let (mut scan, kernel) = (Scan::default(), Kernel::new());
    let with = |uid, run_ns, is_kernel_thread| {
        let mut facts = kernel.facts(1).unwrap();
        (facts.uid, facts.run_ns, facts.stat.is_kernel_thread) = (uid, Some(run_ns), is_kernel_thread);
        facts
    };
    let mut step = |scan: &Scan, since| {
        let own = Some(9);
        census.step(
            scan,
            Surroundings {
                since_ticks: since,
                length_ns: 1,
                capacity_ns: 1,
                own_pid: own,
                departures: &Departures::default(),
                is_gone: &mut |_| false,
            },
        );
        census.active_users()
    };
    // 7 sleeps, 8 is a kernel thread, 9 is the recorder, 10 works for less than a tick.
    for (round, expected) in [(0, 0), (1, 1)] {
        scan.clear();
        scan.changed(7, with(7, 50, false));
        scan.changed(8, with(8, 50 + round, true));
        scan.changed(9, with(9, 50 + round, false));
        scan.changed(10, with(10, 50 + round, false));
        assert_eq!(step(&scan, (round > 0).then_some(1)), expected);
    }
}

#[test]
fn by_session_only_terminals_are_users() {
    let mut census = Census::new(By::Session, TICK_NS);
    let (mut scan, kernel) = (Scan::default(), Kernel::new());
    let mut active = 0;
    for round in 1..3 {
        scan.clear();
        for (pid, terminal) in [(20, 0), (30, 34816), (40, 34817)] {
            let mut facts = kernel.facts(1).unwrap();
            (facts.stat.session, facts.stat.terminal, facts.run_ns) = (pid, terminal, Some(round * 100));
            scan.changed(pid, facts);
        }
        let around = Surroundings {
            since_ticks: Some(1),
            length_ns: 1,
            capacity_ns: 1,
            own_pid: None,
            departures: &Departures::default(),
            is_gone: &mut |_| false,
        };
        census.step(&scan, around);
        active = census.active_users();
    }
    assert_eq!(active, 2, "the daemon's session 20 has no terminal");
    assert_eq!(census.terminal_sessions(), 2);
}

#[test]
fn memory_and_processes_follow_births_and_deaths() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let processes: Vec<i32> = (0..50).map(|_| kernel.fork(1, 1000)).collect();
    observer.sample(&mut kernel, &[]);
    let account = &observer.census.accounts()[&Key::Uid(1000)];
    assert_eq!((account.processes, account.resident_pages), (50, 150));
    for pid in &processes[..49] {
        kernel.exit(*pid);
    }
    observer.sample(&mut kernel, &[]);
    let account = &observer.census.accounts()[&Key::Uid(1000)];
    assert_eq!((account.processes, account.resident_pages), (1, 3));
    kernel.exit(processes[49]);
    observer.sample(&mut kernel, &[]);
    observer.sample(&mut kernel, &[]);
    assert!(
        !observer.census.accounts().contains_key(&Key::Uid(1000)),
        "a user without processes is forgotten"
    );
}

/// What a process leaves to its parent is in the totals of the one that waits last as late as an interval for each
/// parent that ends: here, later than a debt is kept for one that waits for nobody.
#[test]
fn a_debt_is_passed_on_from_parent_to_parent() {
    let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
    let mut chain = vec![1];
    for _ in 0..6 {
        chain.push(kernel.fork(chain[chain.len() - 1], 0));
    }
    observer.sample(&mut kernel, &[]);
    let last = chain[chain.len() - 1];
    kernel.run(last, 5000 * MS);
    observer.sample(&mut kernel, &[]);
    // Each ends when its parent has been read and before it is read itself.
    for pid in chain.iter().skip(1).rev() {
        observer.sample(&mut kernel, &[(*pid, *pid)]);
    }
    for _ in 0..3 {
        observer.sample(&mut kernel, &[]);
    }
    let allowed = TICK_NS * (kernel.ended + 3 * kernel.next as u64);
    assert!(kernel.ended == 6 && observer.total_ns() >= 5000 * MS);
    assert!(observer.total_ns() <= kernel.used_ns + allowed, "{} of {}", observer.total_ns(), kernel.used_ns);
    assert!(observer.bytes <= (kernel.used_ns + allowed) / 1000, "{} bytes", observer.bytes);
}

#[test]
fn no_wait_for_a_disk_is_longer_than_the_interval() {
    let mut census = Census::new(By::Uid, TICK_NS);
    let (mut scan, kernel) = (Scan::default(), Kernel::new());
    let mut waited_ns = Vec::new();
    // The second time, the kernel adds the time since boot; the last time, it counts a wait twice.
    for (round, ticks) in [0, 30, 116_277, 116_307, 116_432].into_iter().enumerate() {
        scan.clear();
        let mut facts = kernel.facts(1).unwrap();
        facts.stat.io_wait_ticks = ticks;
        scan.changed(7, facts);
        let around = Surroundings {
            since_ticks: (round > 0).then_some(100 * round as u64),
            length_ns: 1000 * MS,
            capacity_ns: 4000 * MS,
            own_pid: None,
            departures: &Departures::default(),
            is_gone: &mut |_| false,
        };
        census.step(&scan, around);
        waited_ns.push(census.accounts()[&Key::Uid(0)].usage.io_wait_ns);
    }
    assert_eq!(waited_ns, [0, 300 * MS, 0, 300 * MS, 1000 * MS]);
    assert_eq!(census.implausible, 2);
}

/// A thread that slept was told to have waited for 252 s, and the source knows that it can have waited for 2.
#[test]
fn of_several_threads_no_wait_is_counted_that_cannot_have_been() {
    for (is_known, counted_s) in [(true, [2, 1]), (false, [252, 1])] {
        let mut census = Census::new(By::Uid, TICK_NS);
        let (mut scan, kernel) = (Scan::default(), Kernel::new());
        let mut waited_ns = Vec::new();
        for (round, wait_s, cut_s) in [(0, 7, 0), (1, 259, 250), (2, 260, 250)] {
            scan.clear();
            let mut facts = kernel.facts(1).unwrap();
            (facts.stat.threads, facts.had_one_thread) = (3, false);
            (facts.wait_ns, facts.wait_cut_ns) = (Some(1000 * MS * wait_s), 0);
            if is_known {
                facts.wait_cut_ns = 1000 * MS * cut_s;
            }
            scan.changed(7, facts);
            let around = Surroundings {
                since_ticks: (round > 0).then_some(500 * round),
                length_ns: 5000 * MS,
                capacity_ns: 20_000 * MS,
                own_pid: None,
                departures: &Departures::default(),
                is_gone: &mut |_| false,
            };
            census.step(&scan, around);
            waited_ns.push(census.accounts()[&Key::Uid(0)].usage.wait_ns);
        }
        assert_eq!(waited_ns[1..], counted_s.map(|s| s * 1000 * MS));
        assert_eq!(census.cpu_waits_cut_ns, if is_known { 250_000 * MS } else { 0 });
    }
}

/// A child had ended before the recorder began to listen, and its parent waits in the middle of the first scan: after it
/// was read, and before the child's turn.
#[test]
fn what_a_child_used_before_the_recording_is_not_of_the_first_interval() {
    for (is_told, expected_ms) in [(true, 0), (false, 5000)] {
        let (mut kernel, mut observer) = (Kernel::new(), Observer::new());
        observer.is_told = is_told;
        let parent = kernel.fork(1, 1);
        let child = kernel.fork(parent, 2);
        kernel.run(child, 5000 * MS);
        kernel.is_mute = true;
        observer.sample(&mut kernel, &[(child, child)]);
        kernel.is_mute = false;
        for _ in 0..3 {
            // What others use, and what is missing of their messages, is counted.
            let other = kernel.fork(parent, 3);
            kernel.run(other, 700 * MS);
            kernel.exit(other);
            observer.sample(&mut kernel, &[]);
        }
        let counted_ms = observer.total_ns() / MS;
        let used_ms = expected_ms + 3 * 700;
        assert!((used_ms..used_ms + 60).contains(&counted_ms), "{is_told}: {counted_ms} of {used_ms} ms");
    }
}
