//! The paths of the supervisor, locks, interference, and the traffic controller.

use serde_json::json;

use super::{CHOSEN, of_version, share, whole};
use crate::parameter::{Allowed, Parameter};

const TABLE_3: &str = "1971, Table 3, 1 CPU 256K; 3.1.1: calibrated against the 4-user figures of 1969";

pub(super) fn parameters() -> Vec<Parameter> {
    [paths(), together(), traffic()].concat()
}

fn path(name: &'static str, description: &'static str, source: &'static str) -> Parameter {
    Parameter::new(name, "ms", json!("of_version"), of_version(), description, source)
}

fn paths() -> Vec<Parameter> {
    vec![
        path("page_fault_path", "Mean path of a page fault: before and after the wait for the page", TABLE_3),
        path("getwork_path", "Mean path of the choice of a process", TABLE_3),
        path("drum_interrupt_path", "Mean path of an interrupt of the drum", TABLE_3),
        path("interrupt_path", "Mean path of any other interrupt", TABLE_3),
        path("segment_fault_path", "Mean path of a segment fault", TABLE_3),
        path(
            "gate_fault_path",
            "Mean path of a gate fault",
            "1971, Table 3: an estimate there; 3.1.1: calibrated against the 4-user figures of 1969",
        ),
        Parameter::new(
            "path_growth",
            "",
            json!(true),
            Allowed::Flag,
            "Whether the paths are longer with more core than 256 Kwords, by what Table 3 shows",
            "1971, Table 3; the memorandum gives no reason",
        ),
        Parameter::new(
            "path_cv",
            "",
            json!(1.3),
            Allowed::Number { low: 0.0, high: 10.0, above: false },
            "Coefficient of variation of a path's length, which is log-normal",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
        path(
            "examine",
            "Part of a page fault's path for each place that is looked at for one that can be taken",
            "3.1.1: calibrated: 7.5 ms for a page fault with 4 users, 8.0 ms for one that is added",
        ),
    ]
}

fn together() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "interference",
            "",
            json!(0.1),
            Allowed::Number { low: 0.0, high: 100.0, above: false },
            "By how much two active processors are slowed down that always work in one box of core; with b boxes \
             they meet in a b-th part of the time",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
        Parameter::new(
            "locks",
            "",
            json!("by_data_base"),
            Allowed::Choice(vec!["none", "global", "by_data_base"]),
            "What two processors cannot do at once: nothing is locked; one lock for the supervisor's tables; one for \
             page control (page and segment faults, drum interrupts) and one for the traffic controller (getwork)",
            "chosen: the memorandum speaks of tables and queues that cannot be modified by both at once",
        ),
        Parameter::new(
            "spin_interference",
            "",
            json!(0.9),
            Allowed::Number { low: 0.0, high: 100.0, above: false },
            "By how much a processor that spins for a lock slows down the one that holds it, besides",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
        Parameter::new(
            "segment_lock_share",
            "",
            json!(0.0),
            share(),
            "Part of a segment fault's path under the lock of page control",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
        Parameter::new(
            "traffic_lock_share",
            "",
            json!(0.0),
            share(),
            "Part of the path of getwork under the lock of the traffic controller",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
        Parameter::new(
            "hold_through_getwork",
            "",
            json!(true),
            Allowed::Flag,
            "Whether the lock of page control is held from a page fault until another process is chosen",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
        Parameter::new(
            "interrupts",
            "",
            json!("one_processor"),
            Allowed::Choice(vec!["one_processor", "any"]),
            "Which processor takes interrupts while none is idle: always the first, or any that is in user programs",
            "calibrated against Table 3 of 1971, 2 CPU 384K",
        ),
    ]
}

fn traffic() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "eligibility",
            "",
            json!("number"),
            Allowed::Choice(vec!["number", "working_sets"]),
            "Who may be eligible: so many processes, or as many as have working sets that fit into core together",
            CHOSEN,
        ),
        Parameter::new(
            "max_eligible",
            "process",
            json!("of_version"),
            of_version(),
            "Eligible processes at most; a fraction is the chance of one more",
            "1971, Table 1: mean eligible processes, 4.50 with 1 CPU and 256K; 3.1.1: calibrated",
        ),
        Parameter::new("levels", "level", json!(4), whole(1, 32), "Queues of the traffic controller", CHOSEN),
        Parameter::new(
            "quantum",
            "s",
            json!("of_version"),
            of_version(),
            "Processor time that a process has while it is eligible, in the first queue; twice that in each further \
             one",
            CHOSEN,
        ),
        Parameter::new(
            "priority",
            "",
            json!("of_version"),
            Allowed::Choice(vec!["of_version", "last_page", "first_eligible"]),
            "Who comes first of the eligible processes of a level: whose page came last, or who was eligible first",
            "calibrated against Table 2 of 1971, column 1 CPU 256K: getworks to page faults",
        ),
        Parameter::new(
            "preempt",
            "",
            json!(true),
            Allowed::Flag,
            "Whether a process that can run again takes the processor from one that comes after it",
            CHOSEN,
        ),
    ]
}
