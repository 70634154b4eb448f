//! Dispatcher, main storage, drum, disks, printer, and DUSETIMR.

use serde_json::json;

use super::{CHOSEN, seconds, share};
use crate::parameter::{Allowed, Parameter};

pub(super) fn parameters() -> Vec<Parameter> {
    [dispatcher(), storage(), drum(), disks(), spooling(), dusetimr()].concat()
}

fn dispatcher() -> Vec<Parameter> {
    let seconds_above = || Allowed::Number { low: 0.0, high: 1e6, above: true };
    let limits = "appendix: the number depends on main storage; which is chosen";
    vec![
        Parameter::new(
            "interactive_users_per_box",
            "user",
            json!(2.0),
            Allowed::positive(),
            "Users in the interactive queue at most, for each core box",
            limits,
        ),
        Parameter::new(
            "batch_users_per_box",
            "user",
            json!(2.67),
            Allowed::positive(),
            "Users in the queue of long runs at most, for each core box",
            limits,
        ),
        Parameter::new(
            "interactive_cpu_limit",
            "s",
            json!(0.4),
            seconds_above(),
            "CPU time in the interactive queue after which a user is dropped from it",
            "appendix: there is such a time; which is chosen",
        ),
        Parameter::new(
            "batch_cpu_limit",
            "s",
            json!(2.0),
            seconds_above(),
            "CPU time in the queue of long runs after which a user is dropped from it",
            "appendix: there is such a time; which is chosen",
        ),
        Parameter::new(
            "time_slice",
            "s",
            json!(0.15),
            seconds_above(),
            "Problem state time after which the next user of the queue runs",
            "appendix: there is a slice; calibrated against Table 6",
        ),
    ]
}

fn storage() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "cp_pages",
            "page",
            json!(24),
            Allowed::Integer { low: 0, high: 1_000_000 },
            "Pages of main storage that CP keeps for itself",
            CHOSEN,
        ),
        Parameter::new(
            "changed_share",
            "",
            json!(0.35),
            share(),
            "Part of the pages that lose their frame which were changed and have to be written out",
            CHOSEN,
        ),
    ]
}

fn drum() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "drum_organisation",
            "",
            json!("fcfs"),
            Allowed::Choice(vec!["fcfs", "sector_queued"]),
            "Which page is next: in order of arrival, or whichever comes round first",
            "chosen: order of arrival gives the 75 to 80 pages/s that the text on Figure 7 states",
        ),
        Parameter::new(
            "drum_revolution",
            "s",
            json!(0.0172),
            Allowed::positive(),
            "Time of a revolution of the paging drum",
            "a 2301's",
        ),
        Parameter::new(
            "drum_pages",
            "page",
            json!(4.5),
            Allowed::positive(),
            "Pages in a revolution",
            "a 2301's: 4.5 to a track",
        ),
        Parameter::new(
            "drum_start",
            "s",
            json!(0.0003),
            seconds(),
            "Time between the end of a transfer and the begin of the next search",
            "chosen: an interrupt and a SIO",
        ),
    ]
}

fn disks() -> Vec<Parameter> {
    let part = "a 2314's";
    vec![
        Parameter::new(
            "spindles",
            "",
            json!(8),
            Allowed::Integer { low: 1, high: 64 },
            "Disk spindles with the users' virtual disks",
            part,
        ),
        Parameter::new(
            "channels",
            "",
            json!(2),
            Allowed::Integer { low: 1, high: 64 },
            "Selector channels, each held from the end of a seek to the end of the transfer",
            CHOSEN,
        ),
        Parameter::new(
            "seek_share",
            "",
            json!(0.6),
            share(),
            "Part of the requests before which the arm moves",
            CHOSEN,
        ),
        Parameter::new(
            "longest_seek",
            "s",
            json!(0.05),
            seconds(),
            "A seek takes up to this time, each as likely",
            "chosen: virtual disks take a part of a 2314",
        ),
        Parameter::new("disk_revolution", "s", json!(0.025), seconds(), "Time of a revolution", part),
        Parameter::new(
            "disk_transfer",
            "s",
            json!(0.01),
            seconds(),
            "Transfer time of a request",
            "chosen: some 3 KB at 312 KB/s",
        ),
    ]
}

fn spooling() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "lines_per_block",
            "line",
            json!(12.5),
            Allowed::positive(),
            "Mean number of printed lines in a spool block, which is written once and read once",
            "calibrated against Table 4: the spool coefficient without VMIO",
        ),
        Parameter::new(
            "printer_block_time",
            "s",
            json!(0.5),
            Allowed::positive(),
            "Time in which the printer prints a block",
            "a 1403's: 18 lines a second",
        ),
        Parameter::new(
            "print_delay",
            "s",
            json!(1200.0),
            seconds(),
            "Mean time for which a printed file is held back until the printer takes it, exponential",
            CHOSEN,
        ),
    ]
}

fn dusetimr() -> Vec<Parameter> {
    let own = "chosen: the paper does not say what DUSETIMR costs";
    vec![
        Parameter::new(
            "reading_time",
            "s",
            json!(0.15),
            Allowed::positive(),
            "Problem state time of a reading",
            own,
        ),
        Parameter::new(
            "reading_user_time",
            "s",
            json!(0.002),
            seconds(),
            "Problem state time of a reading for each signed-on user",
            own,
        ),
        Parameter::new(
            "reading_vsio",
            "request",
            json!(4.0),
            Allowed::positive(),
            "Mean VSIO of a reading, to the operator's disk",
            own,
        ),
        Parameter::new("reading_pages", "page", json!(8.0), Allowed::positive(), "Pages of DUSETIMR", own),
    ]
}
