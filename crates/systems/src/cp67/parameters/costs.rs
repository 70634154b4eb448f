//! What CP's services cost.

use serde_json::json;

use super::{CHOSEN, or_of_period, seconds, share};
use crate::parameter::{Allowed, Parameter};

pub(super) fn parameters() -> Vec<Parameter> {
    [paths(), by_time(), free_fret(), dispatch(), unmeasured()].concat()
}

/// Name prefix, own path, FREE calls and dispatcher passes of a kind of request.
macro_rules! service {
    ($name:literal, $what:literal, $path:expr, $calls:expr, $passes:expr) => {
        vec![
            Parameter::new(
                concat!($name, "_path"),
                "s",
                json!($path),
                seconds(),
                concat!("Mean CP time of ", $what, ", without FREE, FRET and dispatch, in version III"),
                "calibrated against Table 5 (III-3), less free-fret (section on it) and dispatch (Table 6)",
            ),
            Parameter::new(
                concat!($name, "_free_calls"),
                "call",
                json!($calls),
                Allowed::not_negative(),
                concat!("Mean number of FREE calls for ", $what, "; as many FRET calls"),
                "section on free-fret",
            ),
            Parameter::new(
                concat!($name, "_passes"),
                "pass",
                json!($passes),
                Allowed::not_negative(),
                concat!(
                    "Passes through the dispatcher that the interrupts of ",
                    $what,
                    " cause, beside the one after it"
                ),
                "calibrated against Table 6",
            ),
        ]
    };
}

fn paths() -> Vec<Parameter> {
    let mut all = [
        service!("vsio", "a VSIO", 0.006978, 3.5, 1.0),
        service!("vmio", "a VMIO", 0.0023, 0.0, 0.8),
        service!("page_io", "a page I/O", 0.001116, 2.0, 1.6),
        service!("spool_io", "a spool I/O", 0.003316, 2.0, 2.9),
    ]
    .concat();
    all.push(Parameter::new(
        "page_io_path_version_two",
        "s",
        json!(0.0031),
        seconds(),
        "How much longer the path of a page I/O is in version II",
        "Table 11 and the section on free-fret: 50 % of the cost went by other coding than free-fret",
    ));
    all.push(Parameter::new(
        "state_spread",
        "",
        json!(0.45),
        share(),
        "How much longer or shorter CP's paths are at times, with the state of its tables and chains: evenly, so far at \
         most; not those for lines and spooling",
        "calibrated against Table 5 (III-3): R squared",
    ));
    all.push(Parameter::new(
        "state_time",
        "s",
        json!(300.0),
        Allowed::positive(),
        "Mean time until that length is another, exponential",
        CHOSEN,
    ));
    all.push(Parameter::new(
        "path_variation",
        "",
        json!(0.5),
        Allowed::Number { low: 0.0, high: 1.0, above: false },
        "Part of a path's length that varies from request to request, exponentially",
        CHOSEN,
    ));
    all
}

fn by_time() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "privileged_share",
            "",
            json!("of_period"),
            or_of_period(),
            "CP time for a second of problem state time: privileged instructions and the like, dispatch apart",
            "calibrated against Table 5 (III-3); for the other periods against the CP time of Table 7, in sight of Table 5",
        ),
        Parameter::new(
            "base_path",
            "s",
            json!("of_period"),
            or_of_period(),
            "CP time in a second of real time, dispatch and unmeasured activities apart",
            "calibrated against Table 5 (III-3); for the other periods against the CP time of Table 7, in sight of Table 5",
        ),
    ]
}

fn free_fret() -> Vec<Parameter> {
    let time = |name, value: f64, what| {
        Parameter::new(name, "s", json!(value), seconds(), what, "section on free-fret")
    };
    vec![
        time("free_time_old", 363e-6, "CPU time of a call of the old FREE"),
        time("fret_time_old", 245e-6, "CPU time of a call of the old FRET"),
        time("free_time_new", 47e-6, "CPU time of a call of the new FREE"),
        time("fret_time_new", 45e-6, "CPU time of a call of the new FRET"),
    ]
}

fn dispatch() -> Vec<Parameter> {
    let source = "calibrated against Table 6";
    vec![
        Parameter::new(
            "find_time",
            "s",
            json!(0.0003),
            seconds(),
            "CP time of a pass through the dispatcher after which another user runs, or none",
            source,
        ),
        Parameter::new(
            "redispatch_time",
            "s",
            json!(0.00005),
            seconds(),
            "CP time of a pass after which the same user goes on",
            source,
        ),
        Parameter::new(
            "base_passes",
            "pass",
            json!(2.33),
            Allowed::not_negative(),
            "Passes through the dispatcher in a second of real time, whatever is asked for",
            source,
        ),
    ]
}

fn unmeasured() -> Vec<Parameter> {
    let source = "calibrated against Table 5 (III-3): R squared and rejected outliers";
    vec![
        Parameter::new(
            "log_on_time",
            "s",
            json!(0.2),
            seconds(),
            "Mean CP time of a log-on, which nobody counts",
            CHOSEN,
        ),
        Parameter::new(
            "log_off_time",
            "s",
            json!(0.05),
            seconds(),
            "Mean CP time of a log-off, which nobody counts",
            CHOSEN,
        ),
        Parameter::new(
            "activities",
            "1/day",
            json!(64.0),
            seconds(),
            "Directory maintenance, accounting and the like in a day of running",
            source,
        ),
        Parameter::new(
            "activity_time",
            "s",
            json!(12.0),
            seconds(),
            "Mean CP time of one of them, exponential",
            source,
        ),
        Parameter::new(
            "piece_time",
            "s",
            json!(0.05),
            Allowed::positive(),
            "CP time of a piece of such work",
            CHOSEN,
        ),
        Parameter::new(
            "piece_pause",
            "s",
            json!(0.3),
            Allowed::positive(),
            "Mean pause after a piece, exponential",
            CHOSEN,
        ),
    ]
}
