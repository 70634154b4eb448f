//! The users: sessions, tasks, classes.

use serde_json::json;

use super::{CHOSEN, RATES, seconds, share};
use crate::parameter::{Allowed, Parameter};

pub(super) fn parameters() -> Vec<Parameter> {
    [sessions(), variety(), classes(), lines()].concat()
}

fn sessions() -> Vec<Parameter> {
    let mix = |name, shares: [f64; 4], what| {
        let allowed = Allowed::Structure("give a list of shares for edit, develop, compute and guest");
        Parameter::new(name, "", json!(shares), allowed, what, RATES)
    };
    vec![
        Parameter::new("session", "s", json!(3600.0), Allowed::positive(), "Mean time signed on", CHOSEN),
        Parameter::new("task", "s", json!(360.0), Allowed::positive(), "Mean length of a task", CHOSEN),
        Parameter::new(
            "break_share",
            "",
            json!(0.12),
            share(),
            "Part of the tasks before which there is a break",
            CHOSEN,
        ),
        Parameter::new("break", "s", json!(600.0), Allowed::positive(), "Mean length of a break", CHOSEN),
        mix(
            "mix_day",
            [0.60, 0.366, 0.009, 0.028],
            "Shares of edit, develop, compute and guest among sessions that begin on a weekday from 8 to 17",
        ),
        mix(
            "mix_evening",
            [0.33, 0.32, 0.14, 0.28],
            "The same among sessions that begin on a weekday after that",
        ),
        mix(
            "mix_night",
            [0.45, 0.40, 0.02, 0.13],
            "The same among sessions that begin before 8 or at weekends",
        ),
        Parameter::new(
            "day_guest_sigma",
            "",
            json!(0.75),
            Allowed::Number { low: 0.0, high: 3.0, above: false },
            "Standard deviation of the logarithm of a day's factor on the share of guests",
            RATES,
        ),
    ]
}

fn variety() -> Vec<Parameter> {
    let sigma = |name, value: f64, what, source| {
        let allowed = Allowed::Number { low: 0.0, high: 5.0, above: false };
        Parameter::new(name, "", json!(value), allowed, what, source)
    };
    vec![
        Parameter::new(
            "complexity_spread",
            "",
            json!(0.5),
            share(),
            "How complex the requests of a task are, for each kind: evenly spread around 1, so far at most",
            "calibrated against Table 5 (III-3): R squared",
        ),
        Parameter::new(
            "line_complexity_spread",
            "",
            json!(0.25),
            share(),
            "The same of its lines and its spooling",
            CHOSEN,
        ),
        Parameter::new(
            "privileged_spread",
            "",
            json!(0.7),
            share(),
            "The same of how much privileged work its problem state time brings: little in an editor, much in a guest",
            "calibrated against Table 5 (III-3): R squared",
        ),
        sigma(
            "problem_sigma",
            0.5,
            "Standard deviation of the logarithm of how much problem state time a task's interactions take",
            CHOSEN,
        ),
        sigma("working_set_sigma", 0.4, "The same of the pages that a task refers to", CHOSEN),
        sigma("reference_sigma", 0.15, "The same of its references to pages that are not there", CHOSEN),
        sigma("lines_sigma", 0.5, "The same of its printed lines in a spool block", CHOSEN),
    ]
}

/// The ten parameters of a class.
macro_rules! class {
    ($name:literal, $think:expr, $problem:expr, $gap:expr, $sigma:expr, $output:expr, $share:expr, $lines:expr, $set:expr,
     $rate:expr, $new:expr) => {
        vec![
            Parameter::new(
                concat!($name, "_think"),
                "s",
                json!($think),
                Allowed::Distribution,
                concat!($name, ": time from the end of an answer to the next line"),
                CHOSEN,
            ),
            Parameter::new(
                concat!($name, "_problem"),
                "s",
                json!($problem),
                Allowed::Distribution,
                concat!($name, ": problem state time of an interaction"),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_vsio_gap"),
                "s",
                json!($gap),
                Allowed::positive(),
                concat!($name, ": mean problem state time between two VSIO"),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_vsio_sigma"),
                "",
                json!($sigma),
                Allowed::Number { low: 0.0, high: 5.0, above: false },
                concat!(
                    $name,
                    ": standard deviation of the logarithm of a task's VSIO in a second of problem state"
                ),
                CHOSEN,
            ),
            Parameter::new(
                concat!($name, "_output_lines"),
                "line",
                json!($output),
                Allowed::Number { low: 1.0, high: 1e6, above: false },
                concat!($name, ": mean number of lines in an answer"),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_print_share"),
                "",
                json!($share),
                share(),
                concat!($name, ": part of the interactions that print"),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_print_lines"),
                "line",
                json!($lines),
                Allowed::not_negative(),
                concat!($name, ": mean number of lines that such an interaction prints"),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_working_set"),
                "page",
                json!($set),
                Allowed::positive(),
                concat!($name, ": mean number of pages that a task refers to"),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_reference_rate"),
                "1/s",
                json!($rate),
                Allowed::not_negative(),
                concat!(
                    $name,
                    ": page exceptions in a second of problem state while none of its pages is there"
                ),
                RATES,
            ),
            Parameter::new(
                concat!($name, "_new_pages"),
                "1/s",
                json!($new),
                Allowed::not_negative(),
                concat!($name, ": new pages in a second of problem state, each for an old one of its own"),
                RATES,
            ),
        ]
    };
}

fn classes() -> Vec<Parameter> {
    [
        class!(
            "edit",
            "exponential(mean=9)",
            "lognormal(mean=0.08, sd=0.16)",
            0.011,
            0.9,
            3.0,
            0.0,
            0.0,
            17.0,
            350.0,
            4.0
        ),
        class!(
            "develop",
            "exponential(mean=15)",
            "lognormal(mean=0.6, sd=1.2)",
            0.0137,
            0.9,
            3.0,
            0.1,
            300.0,
            25.0,
            350.0,
            4.0
        ),
        class!(
            "compute",
            "exponential(mean=20)",
            "lognormal(mean=60, sd=120)",
            0.15,
            0.9,
            3.0,
            0.3,
            2000.0,
            30.0,
            250.0,
            4.0
        ),
        class!(
            "guest",
            "exponential(mean=8)",
            "lognormal(mean=12, sd=24)",
            0.009,
            0.3,
            2.0,
            0.09,
            2200.0,
            70.0,
            400.0,
            4.0
        ),
    ]
    .concat()
}

fn lines() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "line_problem_time",
            "s",
            json!(0.002),
            seconds(),
            "Problem state time of a line that is typed or printed",
            CHOSEN,
        ),
        Parameter::new(
            "line_time",
            "s",
            json!(2.5),
            seconds(),
            "Time in which a terminal types a line; the user thinks afterwards",
            "chosen: some 37 characters at 14.8 a second (a 2741)",
        ),
    ]
}
