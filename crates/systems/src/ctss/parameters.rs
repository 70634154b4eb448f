//! The parameters, each with its source.

use serde_json::json;

use crate::parameter::{Allowed, Parameter};

const ALGORITHM: &str = "Corbató, Merwin-Daggett and Daley 1962, section on scheduling";

fn seconds() -> Allowed {
    Allowed::Number { low: 0.0, high: 1e6, above: false }
}

pub(super) fn parameters() -> Vec<Parameter> {
    [users(), terminals(), scheduling(), memory(), devices()].concat()
}

fn users() -> Vec<Parameter> {
    let normal = "calibrated against the mean response at 15 users (Table 1, CTSS), with that at 17 users (run CPM01) in \
                  sight";
    vec![
        Parameter::new(
            "users",
            "user",
            json!(17),
            Allowed::Integer { low: 1, high: 10_000 },
            "Users at their terminals",
            "run CPM01: 17 users",
        ),
        Parameter::new(
            "normal_users",
            "user",
            json!(16),
            Allowed::Integer { low: 0, high: 10_000 },
            "Of these, those who type interactions of the script drawn at random; the others play the script, over and over",
            "the script was run with other normal users",
        ),
        Parameter::new(
            "script",
            "",
            json!("6mad1"),
            Allowed::Script,
            "What is typed, what is waited for, think times, and demands",
            "run CPM01",
        ),
        Parameter::new(
            "normal_think",
            "s",
            json!("exponential(mean=30)"),
            Allowed::Distribution,
            "Think time of normal users",
            "chosen: the mean of the script's",
        ),
        Parameter::new(
            "normal_demand",
            "",
            json!(1.55),
            Allowed::positive(),
            "Processor time that normal users ask for, as a multiple of the script's",
            normal,
        ),
    ]
}

fn terminals() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "line_time",
            "s",
            json!(2.5),
            seconds(),
            "Time in which a terminal types a line of the reply; a user who waited thinks afterwards",
            "chosen: some 37 characters at 14.8 a second (a 1050 or 2741)",
        ),
        Parameter::new(
            "line_overhead",
            "s",
            json!(0.005),
            seconds(),
            "Supervisor's time for a line, typed or printed",
            "chosen",
        ),
        Parameter::new(
            "clock_resolution",
            "s",
            json!(0.5),
            seconds(),
            "Steps of the clock by which a scripted user tells response times; 0: exact",
            "chosen: Table 1 gives half seconds",
        ),
    ]
}

fn scheduling() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "levels",
            "",
            json!(9),
            Allowed::Integer { low: 1, high: 32 },
            "Levels of the scheduler's queues",
            "levels 0 to 8 of the CTSS at Project MAC",
        ),
        Parameter::new(
            "quantum",
            "s",
            json!(0.2),
            Allowed::positive(),
            "Longest run at level 0; twice as long at each further level",
            "The Compatible Time-Sharing System: A Programmer's Guide (1963), page 11: about 200 ms",
        ),
        Parameter::new(
            "preempt",
            "",
            json!("newcomers_turn"),
            Allowed::Choice(vec!["newcomers_turn", "at_once", "never"]),
            "When a program that comes to a lower level takes over: when the running one has had as much time as the \
             newcomer's turn is long, at once, or after its turn",
            "chosen: the later rule; 1962 has at_once",
        ),
        Parameter::new(
            "background",
            "",
            json!(true),
            Allowed::Flag,
            "Whether there is a background program, which gets what the users leave",
            ALGORITHM,
        ),
        Parameter::new(
            "background_words",
            "word",
            json!(16_384),
            Allowed::Integer { low: 1, high: 1_000_000 },
            "Size of the background program",
            "chosen: half of core",
        ),
    ]
}

fn memory() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "core",
            "word",
            json!(32_768),
            Allowed::Integer { low: 1, high: 1_000_000 },
            "Core for users' programs, beside the supervisor's; a larger program gets all of it",
            "Programmer's Guide (1963), page 2: two banks of 32 768 words",
        ),
        Parameter::new(
            "partial_swap",
            "",
            json!(true),
            Allowed::Flag,
            "Whether only as many words are written as the next program needs; false: all of them",
            "chosen: the \"onion skin\" of later versions",
        ),
        Parameter::new(
            "swap_device",
            "",
            json!("drum"),
            Allowed::Choice(vec!["drum", "disk"]),
            "Where programs that are not in core are kept; commands come from the disk in any case",
            "Programmer's Guide (1963), page 2: disk or drum",
        ),
    ]
}

fn devices() -> Vec<Parameter> {
    let drum = "IBM 7320A, as simh's i7094 has it for CTSS: sectors of 2048 words, about 10 us a word";
    vec![
        Parameter::new(
            "drum_revolution",
            "s",
            json!(0.0205),
            seconds(),
            "The drum's access time is uniform up to this",
            drum,
        ),
        Parameter::new(
            "drum_word_time",
            "s",
            json!(7.2e-6),
            Allowed::positive(),
            "The drum's transfer of a word",
            "calibrated against run CPM01: total swap time; simh's i7094 has about 10 us",
        ),
        Parameter::new(
            "disk_seek",
            "s",
            json!(0.115),
            seconds(),
            "Movement of the disk's arm to a command, or to a program that is swapped to the disk",
            "IBM 1302: 50 to 180 ms",
        ),
        Parameter::new(
            "disk_revolution",
            "s",
            json!(0.034),
            seconds(),
            "The disk's latency is uniform up to this. Transfers of a running program's files have no other access \
             time: they lie under the arm",
            "IBM 1302: 34 ms. That the arm stays is chosen with the responses of Table 1 in sight: with a movement for \
             each transfer they are far too long",
        ),
        Parameter::new(
            "disk_word_time",
            "s",
            json!(32.6e-6),
            Allowed::positive(),
            "The disk's transfer of a word",
            "IBM 1302: 184 000 characters of 6 bits a second",
        ),
        Parameter::new(
            "disk_record_words",
            "word",
            json!(432),
            Allowed::Integer { low: 1, high: 1_000_000 },
            "Words of a transfer between a program's files and core",
            "chosen: a record of the file system of 1965, 432 words",
        ),
    ]
}
