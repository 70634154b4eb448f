//! What the machine is asked for: the prototypes and their files, or the children.

use serde_json::json;

use super::{CALIBRATED, CHOSEN, seconds, share, whole};
use crate::parameter::{Allowed, Parameter};

/// Iterations of the compute loop, and with which probability each is drawn, by the mean burst PC [ms]
/// (Table III, whose columns are cumulative).
pub(in crate::unix6) const ITERATIONS: [u64; 4] = [5, 20, 200, 5000];
pub(in crate::unix6) const COMPUTE_LOOPS: [(u64, [f64; 4]); 5] = [
    (12, [0.03, 0.33, 0.64, 0.0]),
    (30, [0.01, 0.18, 0.78, 0.03]),
    (60, [0.01, 0.04, 0.85, 0.10]),
    (186, [0.01, 0.04, 0.52, 0.43]),
    (354, [0.01, 0.04, 0.10, 0.85]),
];

pub(super) fn parameters() -> Vec<Parameter> {
    [workload(), prototype(), files(), child()].concat()
}

fn workload() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "workload",
            "",
            json!("prototypes"),
            Allowed::Choice(vec!["prototypes", "children"]),
            "prototypes: synthetic interactive users, each with its file; children: a parent forks children that \
             compute, read one file at random and pause",
            "section 4.2",
        ),
        Parameter::new(
            "processes",
            "process",
            json!(12),
            whole(1, 1000),
            "Prototypes or children, PN; init, shell, update and parent apart",
            "Table II: 4 to 12",
        ),
        Parameter::new(
            "size",
            "click",
            json!(157),
            Allowed::Structure("give clicks, or a list of them that is dealt to the processes in turn"),
            "Size of a process, PS: text, data, stack and system data",
            "Table II: 157 or 314; 425 and 470 in Table VII",
        ),
        Parameter::new(
            "text",
            "click",
            json!(0),
            whole(0, 1 << 20),
            "Part of each process that is pure text, shared by all and never written to the swap area",
            "section 4.2: the prototypes share nothing",
        ),
    ]
}

fn prototype() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "interactions",
            "interaction",
            json!(200),
            whole(1, 1_000_000),
            "Interactions of each prototype",
            "section 4.2",
        ),
        Parameter::new(
            "settle",
            "",
            json!(true),
            Allowed::Flag,
            "Prototypes: whether statistics begin when each of them has written to the terminal, or at the start",
            "section 4.3",
        ),
        Parameter::new(
            "pc",
            "ms",
            json!(12),
            whole(0, 1_000_000),
            "Mean processor time of a compute loop, PC, drawn as in that row of Table III",
            "Table III: 12, 30, 60, 186 or 354; an iteration takes what gives this mean, 0.083 to 0.097 ms",
        ),
        Parameter::new(
            "compute",
            "s",
            json!("table"),
            Allowed::Structure("give a distribution of processor times, or table for Table III"),
            "Processor time of a compute loop: table, or a distribution instead of it",
            "Table III",
        ),
        Parameter::new(
            "pause",
            "s",
            json!({"kind": "discrete", "values": [0, 1, 2, 3], "weights": [0.28, 0.4364, 0.1964, 0.0872]}),
            Allowed::Distribution,
            "Pause of an interaction, in seconds that the clock shows",
            "section 4.2: at most 3 s; its shares calibrated against Table VI, PS = 157 with MM = 650 and 1280",
        ),
        Parameter::new(
            "strings",
            "",
            json!({"kind": "discrete", "values": [1, 2, 3, 4], "weights": [0.25, 0.25, 0.25, 0.25]}),
            Allowed::Distribution,
            "Strings printed in an interaction",
            "section 4.2: several",
        ),
        Parameter::new(
            "string_length",
            "character",
            json!(25),
            whole(1, 100_000),
            "Length of a string",
            "section 4.2",
        ),
    ]
}

fn files() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "operations",
            "",
            json!({"kind": "uniform", "low": 0.0, "high": 8.6}),
            Allowed::Distribution,
            "Reads and writes in an interaction, rounded to a whole number",
            "section 4.2: about six blocks, sometimes none; calibrated against Table VI, PS = 157 with MM = 650 and 1280",
        ),
        Parameter::new(
            "operation_bytes",
            "byte",
            json!(512),
            Allowed::Distribution,
            "Bytes of a read or write",
            CHOSEN,
        ),
        Parameter::new("write_share", "", json!(0.6), share(), "Part of them that are writes", CALIBRATED),
        Parameter::new(
            "seek_share",
            "",
            json!(1.0),
            share(),
            "Part of them that go to a random place of the file instead of where the last one ended",
            CHOSEN,
        ),
        Parameter::new(
            "seek_unit",
            "byte",
            json!(512),
            whole(1, 1 << 20),
            "Random places are multiples of this",
            CHOSEN,
        ),
        Parameter::new(
            "file_blocks",
            "block",
            json!(250),
            whole(1, 65_536),
            "Length of the file of each prototype",
            CHOSEN,
        ),
    ]
}

fn child() -> Vec<Parameter> {
    vec![
        Parameter::new("cycles", "", json!(20), whole(1, 1_000_000), "Children: cycles of each", CHOSEN),
        Parameter::new(
            "cycle_time",
            "s",
            json!(0.1),
            seconds(1e6),
            "Children: processor time in user mode of a cycle",
            CHOSEN,
        ),
        Parameter::new(
            "reads",
            "",
            json!(5),
            whole(0, 1_000_000),
            "Children: random reads of a block in a cycle",
            CHOSEN,
        ),
        Parameter::new(
            "read_time",
            "s",
            json!(0.003),
            seconds(10.0),
            "Children: processor time in system mode of a read",
            CHOSEN,
        ),
        Parameter::new(
            "shared_file_blocks",
            "block",
            json!(200),
            whole(1, 65_536),
            "Children: length of the one file that they read",
            CHOSEN,
        ),
        Parameter::new(
            "cycle_pause",
            "s",
            json!(1),
            seconds(1e6),
            "Children: pause after the reads of a cycle, in seconds that the clock shows",
            CHOSEN,
        ),
    ]
}
