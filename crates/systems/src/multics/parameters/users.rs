//! Users, their script, and the system's own processes.

use serde_json::json;

use super::{CHOSEN, of_version, whole};
use crate::parameter::{Allowed, Parameter};

pub(super) fn parameters() -> Vec<Parameter> {
    [scripted(), others()].concat()
}

fn scripted() -> Vec<Parameter> {
    vec![
        Parameter::new("users", "user", json!(40), whole(1, 100_000), "Users logged in", "1971, Table 1"),
        Parameter::new(
            "script",
            "",
            json!("mftn3"),
            Allowed::Script,
            "What users type, over and over",
            "1969: MFTN3; its lines are chosen, see `thinktime scripts mftn3`",
        ),
        Parameter::new(
            "order",
            "",
            json!("of_version"),
            Allowed::Choice(vec!["of_version", "script", "random"]),
            "Whether its lines are typed one after another, or taken at random",
            "3.1.1: 1969; System 14: at random, as many users who play one script in step are not a steady load",
        ),
        Parameter::new(
            "think",
            "s",
            json!("of_script"),
            Allowed::Structure("give of_script, or a distribution that replaces the script's think times"),
            "Think time of users that play the script",
            "1969: 30 s with each interaction",
        ),
        Parameter::new(
            "demand",
            "",
            json!("of_version"),
            of_version(),
            "Factor on the script's processor time",
            "1969: 1; System 14: chosen, as the script of the runs of 1971 is not known",
        ),
        Parameter::new(
            "clock_resolution",
            "s",
            json!(0),
            Allowed::not_negative(),
            "Step of the clock from which users that play the script read their responses; 0: exact",
            "1969: Table 1 is in halves of a second",
        ),
        Parameter::new(
            "terminal_delay",
            "s",
            json!("of_version"),
            of_version(),
            "Time by which the user at the terminal sees a response later than the system gives it",
            "3.1.1: calibrated against Table 1 of 1969, 6 users: no response is shorter than 1.5 s",
        ),
        Parameter::new(
            "line_time",
            "s",
            json!(1),
            Allowed::not_negative(),
            "Time in which a line of a reply is typed, after which the terminal interrupts",
            CHOSEN,
        ),
    ]
}

fn others() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "normal_users",
            "user",
            json!(0),
            whole(0, 100_000),
            "Of the users, those who do not play the script but type any of its lines",
            "1969: the script was run with other normal users",
        ),
        Parameter::new(
            "normal_think",
            "s",
            json!({"kind": "exponential", "mean": 30}),
            Allowed::Distribution,
            "Their think time",
            CHOSEN,
        ),
        Parameter::new(
            "normal_demand",
            "",
            json!(1),
            Allowed::positive(),
            "Factor on the processor time of what they type",
            CHOSEN,
        ),
        Parameter::new(
            "housekeeping",
            "process",
            json!(0),
            whole(0, 1000),
            "Processes of the system itself: backup and the like",
            "1969: three with the four users",
        ),
        Parameter::new(
            "housekeeping_think",
            "s",
            json!({"kind": "exponential", "mean": 120}),
            Allowed::Distribution,
            "Pause of such a process",
            CHOSEN,
        ),
        Parameter::new(
            "housekeeping_cpu",
            "s",
            json!({"kind": "exponential", "mean": 0.3}),
            Allowed::Distribution,
            "Useful time that it takes between pauses",
            CHOSEN,
        ),
        Parameter::new(
            "housekeeping_pages",
            "page",
            json!(40),
            whole(1, 16_384),
            "Pages that it refers to",
            CHOSEN,
        ),
    ]
}
