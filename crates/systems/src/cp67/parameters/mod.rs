//! The parameters, each with its source: what was installed and who worked on it here, the dispatcher, storage and
//! devices in [`machine`], what CP's services cost in [`costs`], the users in [`users`].

mod costs;
mod machine;
mod users;

use serde_json::json;

use super::periods::PERIODS;
use crate::parameter::{Allowed, Parameter};

const CHOSEN: &str = "chosen";
const RATES: &str = "calibrated against Table 7, mean rates of the three periods";

fn seconds() -> Allowed {
    Allowed::Number { low: 0.0, high: 1e6, above: false }
}

fn share() -> Allowed {
    Allowed::Number { low: 0.0, high: 1.0, above: false }
}

fn or_of_period() -> Allowed {
    Allowed::Structure("give a number of at least 0, or of_period")
}

pub(super) fn parameters() -> Vec<Parameter> {
    [periods(), population(), machine::parameters(), costs::parameters(), users::parameters()].concat()
}

fn periods() -> Vec<Parameter> {
    let names = PERIODS.iter().map(|period| period.name).collect();
    vec![
        Parameter::new(
            "period",
            "",
            json!("III-3"),
            Allowed::Choice(names),
            "Whose configuration, shifts and users: version of CP and number of core boxes",
            "Table 3",
        ),
        Parameter::new(
            "schedule",
            "",
            json!("of_period"),
            Allowed::Choice(vec!["of_period", "experiment"]),
            "Days that are recorded: the period's, or Monday to Thursday of two weeks in the first shift",
            "the text on Table 3 says which shifts; which days is chosen. The experiment: section on free-fret",
        ),
        Parameter::new(
            "observations",
            "",
            json!("of_period"),
            or_of_period(),
            "Readings of DUSETIMR, less the first of each system run, after which the run ends; 0: never",
            "Table 3",
        ),
        Parameter::new(
            "version",
            "",
            json!("of_period"),
            Allowed::Choice(vec!["of_period", "II", "III"]),
            "Version of CP: II has the old free-fret, and a longer path for a page",
            "Tables 3 and 11",
        ),
        Parameter::new(
            "core_boxes",
            "",
            json!("of_period"),
            or_of_period(),
            "Boxes of 256 KB of main storage",
            "Table 3; the size of a box is a 2365's",
        ),
        Parameter::new(
            "free_fret",
            "",
            json!("of_version"),
            Allowed::Choice(vec!["of_version", "old", "new", "counterbalanced"]),
            "Algorithm of FREE and FRET; counterbalanced: new on Monday and Thursday of one week and on Tuesday and \
             Wednesday of the next, old on other days",
            "section on free-fret",
        ),
    ]
}

fn population() -> Vec<Parameter> {
    let level = |name, what| {
        let source = "calibrated against Table 10, observations by active users of each period";
        Parameter::new(name, "user", json!("of_period"), or_of_period(), what, source)
    };
    vec![
        level("first_shift", "Users who want to be signed on at the height of the first shift"),
        level("evening", "The same of those who are there whatever the shift, at five in the afternoon"),
        level("night", "The same of those, from midnight to eight"),
        level("weekend", "The same on Saturday and Sunday"),
        Parameter::new(
            "day_sigma",
            "",
            json!(0.18),
            Allowed::Number { low: 0.0, high: 3.0, above: false },
            "Standard deviation of the logarithm of a day's factor on these numbers",
            "calibrated against Table 10",
        ),
        Parameter::new(
            "users",
            "user",
            json!(31),
            Allowed::Integer { low: 2, high: 10_000 },
            "User identifications, the operator's included: no more can be signed on",
            "calibrated against Table 10: nobody saw more than 28 active",
        ),
        Parameter::new(
            "restarts_per_day",
            "1/day",
            json!(0.2),
            seconds(),
            "Restarts of the system in a day of running; counters and users begin anew five minutes later",
            CHOSEN,
        ),
    ]
}
