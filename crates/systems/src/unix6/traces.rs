//! Small runs that were worked out by hand from the sources of Sixth Edition, to the nanosecond: exit, wait, fork, the
//! end of a run, kernel time outside processes, the clock, texts, and the places of files.

use serde_json::{Value, json};
use thinktime_engine::{Laws, Span, Streams, Time, run};

use super::config::Config;
use super::machine::Machine;
use super::states::{Role, Status, priority};
use super::workload::{Birth, Program, Step};
use crate::kernel::testing::{Everything, configured, given, replicate, replication, response};
use crate::kernel::{Budget, NullMonitor, Outcome, Simulated, Simulation};
use crate::system;

const STREAMS: Streams = Streams { seed: 6, replication: 0 };

/// Children on a machine whose only times are those given here: an access takes 40 ms and a block 1 ms, and printing
/// takes the parent 7.5 ms. `update` writes the superblock at the start, which takes 41 ms.
fn children(more: Value) -> Value {
    let mut plain = json!({
        "workload": "children", "processes": 1, "size": 100, "memory": 1000, "cycles": 1, "cycle_time": 0.05,
        "reads": 0, "cycle_pause": 1, "clock_phase": 0, "blocked_read_time": 0, "swap_work_time": 0, "copy_time": 0,
        "call_time": 0, "read_time": 0.002, "interrupt_time": 0, "update_interval": 100_000, "other_inodes": 0,
        "disk": "simple", "access_time": 0.04, "cylinder_time": 0, "transfer_time": 0.001, "drives": 1,
        "disk_policy": "fcfs", "swap_cylinder": 0, "swap_blocks": 1200, "file_cylinder": 60, "shared_file_blocks": 8,
        "init_size": 10, "shell_size": 10, "update_size": 0,
    });
    plain.as_object_mut().unwrap().extend(given(&more).clone());
    plain
}

/// A run and all that it reports.
fn traced(parameters: &Value) -> (Outcome, Everything) {
    let mut everything = Everything::default();
    let outcome =
        replicate(&configured::<Config>(parameters), &replication(STREAMS, 0.0, 1000.0), &mut everything);
    (outcome.unwrap(), everything)
}

fn figure(outcome: &Outcome, name: &str) -> f64 {
    response(&configured::<Config>(&json!({})), outcome, name)
}

/// Times of the events of a kind [us], with the users whose processes they are of.
fn at(everything: &Everything, kind: &str) -> Vec<(u64, Option<u32>)> {
    let of_kind = everything.events.iter().filter(|(_, what, _)| *what == kind);
    of_kind.map(|(time, _, user)| (time.0 / 1000, *user)).collect()
}

/// Runs a machine to its end, and checks every law.
fn finish(machine: &mut Machine<'_, NullMonitor>) -> Time {
    let mut calendar = Machine::<NullMonitor>::calendar(machine.config);
    run(machine, &mut calendar, Time::ZERO, Time::ZERO + Span::from_seconds(1000.0));
    machine.finish(&mut calendar, &mut Laws::default()).unwrap();
    calendar.now()
}

/// Two children, and memory for the parent and one of them.
///
/// At 0 the second child is written to the swap area by the `fork` of its parent, which waits for the superblock first:
/// 13 blocks, from 41 to 94 ms. The swapper finds no room for it, and those who wait for something slow leave in the
/// order of the table: `init` (2 blocks, to 136), the shell (178), the parent (231). The second child comes in at
/// 284 and computes to 334. Both sleep until the clock's first second, and exit: the user structure of the first is
/// written to 1041 ms and that of the second to 1082. `init` and the parent have been woken at 1041: `init`, which is
/// first in the table, comes in to find nothing (1124), and then the parent (1177), which finds both user structures
/// in their buffers, and prints.
#[test]
fn two_children_and_room_for_one() {
    let (outcome, everything) = traced(&children(json!({"processes": 2, "memory": 230})));
    let ends = |kind| at(&everything, kind).into_iter().map(|(time, _)| time).collect::<Vec<u64>>();
    assert_eq!(ends("swap_out_end"), [136_000, 178_000, 231_000]);
    assert_eq!(at(&everything, "swap_in_end"), [(284_000, Some(1)), (1_124_000, None), (1_177_000, None)]);
    // Four images were written, that of the second child by `fork`.
    assert_eq!((figure(&outcome, "swap_ins"), figure(&outcome, "swap_outs")), (3.0, 4.0));
    assert_eq!(figure(&outcome, "swaps"), 7.0);
    assert_eq!(outcome.ended, Time(1_184_500_000));
    assert_eq!(figure(&outcome, "elapsed_s"), 1.1845);
    // The superblock and two user structures; the parent reads the latter from their buffers.
    assert_eq!((figure(&outcome, "block_writes"), figure(&outcome, "block_reads")), (3.0, 0.0));
}

/// With four buffers, which other blocks have taken by the time that the parent waits, it reads the user structure
/// from the swap area: one access more.
#[test]
fn a_user_structure_without_a_buffer_is_read_again() {
    let config = configured::<Config>(&children(json!({"processes": 1, "buffers": 4})));
    let ends = |reads: usize| {
        let mut silent = NullMonitor;
        let mut machine = Machine::new(&config, &replication(STREAMS, 0.0, 1000.0), &mut silent);
        // The parent reads five blocks after the exit of its child and before it waits.
        let birth = Birth { role: Role::Worker(0), program: Program::script([]) };
        let read = |block: u64| {
            let (offset, bytes) = (512 * block, 512);
            Step::Transfer(super::workload::Access { file: 0, offset, bytes, write: false })
        };
        let fork = [Step::Fork(Box::new(birth)), Step::Pause(Span::from_seconds(1.0))];
        let reads = [0, 2, 4, 6, 1].into_iter().take(reads).map(read);
        machine.processes[4].program =
            Program::script(fork.into_iter().chain(reads).chain([Step::Wait, Step::Finish]));
        let now = finish(&mut machine);
        (now, machine.meters.totals.counts.block_reads)
    };
    assert_eq!(ends(0), (Time(1_000_000_000), 0));
    let reading = Span::from_seconds(5.0 * (0.041 + 0.002) + 0.041);
    assert_eq!(ends(5), (Time(1_000_000_000) + reading, 6));
}

/// Kernel time outside processes: a search of 1 ms, three for a read that waits.
///
/// `init`, the shell, `update` and the parent sleep after a search each (to 4 ms); the new child runs at once (5), falls
/// to the priority of user mode (6), and behind the swapper, which sleeps (7). At 44 ms the superblock is written, and
/// `update` takes the processor (45) until it returns to user mode (46). The child has computed at 59 ms, and asks for a
/// block; `update` sleeps after a search (60) and leaves another (61). The block comes at 100; the search takes to 101,
/// moving it to 103, and with its return to user mode comes another search: 104. The second read likewise to 149. It
/// exits: the user structure is written at 190, and it ends at 191. `init` is searched for (192) and finds nothing, then
/// the parent (193), which on its return from `wait` is searched for again (194), and prints for 7.5 ms.
#[test]
fn searches_for_the_next_process_take_their_time() {
    let reading = json!({
        "reads": 2, "read_order": [0, 4], "cycle_pause": 0, "blocked_read_time": 0.003, "swap_work_time": 0.005,
    });
    let (outcome, everything) = traced(&children(reading.clone()));
    let starts: Vec<u64> = at(&everything, "slice_start")
        .into_iter()
        .filter(|(_, user)| *user == Some(0))
        .map(|(us, _)| us)
        .collect();
    assert_eq!(starts, [5_000, 7_000, 46_000, 101_000, 104_000, 146_000, 149_000, 191_000]);
    assert_eq!(outcome.ended, Time(201_500_000));
    assert_eq!((figure(&outcome, "elapsed_s"), figure(&outcome, "outside_s")), (0.2015, 0.021));
    // Without them, the same at once.
    let (plain, _) = traced(&children(json!({"reads": 2, "read_order": [0, 4], "cycle_pause": 0})));
    assert_eq!((plain.ended, figure(&plain, "outside_s")), (Time(184_500_000), 0.0));
}

/// What is measured of a kernel is what the parameters say: a read that waits costs 2.75 ms outside processes, a swap 7,
/// by the difference of runs that differ in these alone, on an otherwise idle machine.
#[test]
fn a_blocked_read_and_a_swap_cost_what_was_measured() {
    let measured = json!({"blocked_read_time": "workload", "swap_work_time": "workload", "cycle_pause": 0});
    let run = |more: Value| {
        let mut parameters = children(measured.clone());
        parameters.as_object_mut().unwrap().extend(given(&more).clone());
        traced(&parameters).0
    };
    let reads = |reads: u64| {
        run(json!({"reads": reads, "read_order": [0, 2, 4, 6, 1, 3, 5, 7], "read_ahead": false}))
    };
    let (one, six) = (reads(1), reads(6));
    assert_eq!(figure(&six, "block_reads") - figure(&one, "block_reads"), 5.0);
    let cost = (figure(&six, "outside_s") - figure(&one, "outside_s")) / 5.0;
    assert!((cost - 0.00275).abs() < 1e-8, "{cost}");
    let searched = configured::<Config>(&children(measured)).costs;
    let swap = searched.swap + searched.search.times(2);
    assert!(swap.0.abs_diff(7_000_000) <= 2, "{swap:?}");
    // Prototypes have it in the processor time of their calls.
    let prototypes = configured::<Config>(&json!({}));
    assert_eq!((prototypes.costs.search, prototypes.costs.swap), (Span::ZERO, prototypes.costs.call));
}

/// A new child runs at once, whatever computes: `newproc` leaves the priority of the table entry as it was.
#[test]
fn a_new_child_runs_at_once() {
    let computing = json!({"processes": 3, "cycle_time": 0.5, "cycle_pause": 0});
    let (_, everything) = traced(&children(computing));
    let first =
        |user| at(&everything, "slice_start").into_iter().find(|(_, of)| *of == Some(user)).unwrap().0;
    assert_eq!([0, 1, 2].map(first), [0, 0, 0]);
}

/// The entry of a process that was waited for is used again, with the priority of its last sleep, in `exit`.
#[test]
fn a_free_entry_is_used_again_with_its_priority() {
    let config = configured::<Config>(&children(json!({})));
    let mut silent = NullMonitor;
    let mut machine = Machine::new(&config, &replication(STREAMS, 0.0, 1000.0), &mut silent);
    let birth = |program| Step::Fork(Box::new(Birth { role: Role::System, program }));
    let pause = || Step::Pause(Span::from_seconds(1.0));
    let first = [birth(Program::script([])), Step::Wait];
    let second = [birth(Program::script([pause(), pause()])), Step::Finish];
    machine.processes[4].program = Program::script(first.into_iter().chain(second));
    finish(&mut machine);
    let child = &machine.processes[5];
    assert_eq!((machine.processes.len(), child.parent, child.status), (6, 4, Status::Ready));
    assert_eq!(child.priority, priority::BLOCK);
}

/// Children of a process that exits become those of `init`, which removes them from the table.
#[test]
fn init_inherits_the_children_of_who_exits() {
    let config = configured::<Config>(&children(json!({})));
    let mut silent = NullMonitor;
    let mut machine = Machine::new(&config, &replication(STREAMS, 0.0, 1000.0), &mut silent);
    let birth = |program| Step::Fork(Box::new(Birth { role: Role::System, program }));
    let pause = |seconds| Step::Pause(Span::from_seconds(seconds));
    let grandchild = birth(Program::script([pause(2.0)]));
    let child = birth(Program::script([grandchild]));
    machine.processes[4].program = Program::script([child, Step::Wait, pause(3.0), Step::Finish]);
    finish(&mut machine);
    let gone = machine.processes.iter().filter(|process| process.status == Status::Gone).count();
    assert_eq!((machine.processes.len(), gone), (7, 2));
    assert_eq!(machine.swap_area.free(), machine.swap_area.size());
}

/// Children that sleep all begin their bursts at the seconds of the clock, whatever its phase.
#[test]
fn bursts_lock_to_the_clock() {
    for phase in [0.0, 0.3, 3.75] {
        let sleeping = json!({"processes": 4, "cycles": 6, "cycle_time": 0.11, "clock_phase": phase});
        let (outcome, everything) = traced(&children(sleeping));
        let later: Vec<u64> =
            everything.interactions.iter().map(|one| one.arrival.0).filter(|at| *at > 0).collect();
        assert_eq!(later.len(), 20, "five later bursts of each");
        let shift = (phase * 1e9) as u64;
        assert!(later.iter().all(|at| (at + shift) % 1_000_000_000 == 0), "{later:?}");
        // 0.44 s of work a second: each cycle takes one second, the first what is left of it.
        let first = 1.0 - phase % 1.0;
        let expected = first + if first < 0.44 { 1.0 } else { 0.0 } + 5.0;
        let elapsed = figure(&outcome, "elapsed_s");
        assert!((expected..expected + 0.25).contains(&elapsed), "{phase}: {elapsed} {expected}");
    }
}

/// The phase of the clock is drawn evenly from four seconds: the elapsed time of a child that sleeps ten times is
/// between nine and ten seconds and the end, 9.5 on average within 3.5 standard errors (false alarm: 1 in 2000). With
/// a phase that is given, all replications are copies.
#[test]
fn the_phase_of_the_clock_is_random() {
    let elapsed = |phase: Value| {
        let sleeping = children(json!({"cycles": 10, "cycle_time": 0.0, "clock_phase": phase}));
        let simulation = Simulation::new(system("unix6").unwrap(), given(&sleeping)).unwrap();
        let finished = simulation.run(1, 0..200, Some(1), Budget::DEFAULT, |_| true)?;
        Ok(finished
            .outcomes
            .iter()
            .map(|outcome| figure(outcome, "elapsed_s") - 0.041 - 0.0075)
            .collect::<Vec<f64>>())
    };
    let drawn: Result<_, crate::kernel::SimulationError> = elapsed(json!("random"));
    let drawn = drawn.unwrap();
    assert!(drawn.iter().all(|s| (9.0..=10.0).contains(s)), "{drawn:?}");
    let mean = drawn.iter().sum::<f64>() / 200.0;
    let reach = 3.5 * (1.0 / 12.0_f64).sqrt() / 200.0_f64.sqrt();
    assert!((mean - 9.5).abs() < reach && (10.0 - 9.5) > reach, "{mean}");
    assert!(elapsed(json!(0)).is_err(), "copies of one run have no spread");
}

/// Texts of `init` and the shell fill memory while these are there, have one copy in the swap area, and are read when
/// their process comes in.
///
/// As `two_children_and_room_for_one`, with 40 clicks of text in memory for `init` (5 blocks) and its image; `init`
/// is out when the children exit, and comes in with its text: 45 ms more.
#[test]
fn the_text_of_init_leaves_and_comes_with_it() {
    let (outcome, everything) = traced(&children(json!({"processes": 2, "memory": 270, "init_text": 40})));
    assert_eq!(at(&everything, "swap_in_end"), [(284_000, Some(1)), (1_169_000, None), (1_222_000, None)]);
    assert_eq!((figure(&outcome, "text_loads"), outcome.ended), (1.0, Time(1_229_500_000)));
    let config = configured::<Config>(&children(json!({"init_text": 40, "shell_text": 30})));
    let mut silent = NullMonitor;
    let machine = Machine::new(&config, &replication(STREAMS, 0.0, 1000.0), &mut silent);
    // The images of init, shell and parent, and two texts, of which copies of 5 and 4 blocks are in the swap area.
    assert_eq!(machine.memory.size() - machine.memory.free(), 10 + 10 + 100 + 40 + 30);
    assert_eq!(machine.swap_area.size() - machine.swap_area.free(), 5 + 4);
}

/// Files at given places, read in a given order: the arm moves by the cylinders between them, 1 ms each.
#[test]
fn the_arm_moves_between_the_places_of_the_files() {
    let reading = json!({
        "processes": 2, "cycle_time": 0, "cycles": 1, "reads": 2, "read_order": [[0, 1], [1, 0]], "read_time": 0,
        "cycle_pause": 0, "cylinder_time": 0.001, "transfer_time": 0, "shared_file_blocks": 2, "read_ahead": false,
        "shared_file_places": [2400, [2640, 4871]], "swap_start": 4000, "swap_blocks": 800,
    });
    let (outcome, _) = traced(&children(reading.clone()));
    // Blocks of 24 a cylinder: the superblock in cylinder 0; the first file in cylinder 100, the second in 110 and 202;
    // the swap area from 166 on, where both user structures go.
    let requests = [0, 100, 202, 100, 110, 166, 166];
    let moved: i64 = requests.windows(2).map(|two: &[i64]| (two[1] - two[0]).abs()).sum();
    let expected = Span::from_seconds(0.04 * requests.len() as f64 + 0.001 * moved as f64 + 0.0075);
    assert_eq!(outcome.ended, Time::ZERO + expected);
    let refused = |more: Value| {
        let mut wrong = reading.clone();
        wrong.as_object_mut().unwrap().extend(given(&more).clone());
        Simulation::new(system("unix6").unwrap(), given(&children(wrong))).err().unwrap().to_string()
    };
    for (wrong, remedy) in [
        (json!({"shared_file_places": [2400, 2401]}), "one file, and once"),
        (json!({"shared_file_places": [[2400], 100]}), "give 2 blocks for each file"),
        (json!({"shared_file_places": [3999]}), "outside the swap area, which has those from 4000 to 4799"),
        (json!({"shared_file_places": [10_000_000]}), "below 4872"),
        (json!({"shared_file_places": "here"}), "give cylinder, or a list"),
        (json!({"read_order": [0, 2]}), "block numbers from 0 to 1"),
        (json!({"read_order": "backwards"}), "random, sequential"),
        (json!({"swap_start": 2.5}), "number of a block"),
        (json!({"swap_start": 1430, "shared_file_places": "cylinder"}), "give a block from 1442 on"),
        (json!({"swap_start": 4800}), "ends within the drive's 4872 blocks"),
        (json!({"blocked_read_time": 0.03}), "give at least the 0.020000 s"),
        (json!({"init_text": 1000}), "texts included"),
    ] {
        let message = refused(wrong.clone());
        assert!(message.contains(remedy), "{wrong}: {message}");
    }
}

/// Each block in turn: the second is read ahead when the first two follow each other, and the file begins again after
/// its last.
#[test]
fn a_file_is_read_in_sequence() {
    let reading =
        json!({"cycles": 4, "reads": 4, "read_order": "sequential", "cycle_pause": 0, "cycle_time": 0});
    let (outcome, _) = traced(&children(reading));
    let transfers = figure(&outcome, "block_reads") + figure(&outcome, "read_aheads");
    assert_eq!(transfers, 8.0, "eight blocks of the file, each read once");
    assert!(figure(&outcome, "read_aheads") >= 6.0);
}
