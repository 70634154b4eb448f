//! The parameters, each with its source: what was installed here, the processors and their paths in [`processors`],
//! core and devices in [`storage`], users in [`users`].

mod processors;
mod storage;
mod users;

use serde_json::json;

use super::versions::VERSIONS;
use crate::parameter::{Allowed, Parameter};

const CHOSEN: &str = "chosen";
const ROW_256K: &str = "calibrated against Tables 1 and 2 of 1971, column 1 CPU 256K";

fn of_version() -> Allowed {
    Allowed::Structure("give a number of at least 0, or of_version")
}

fn share() -> Allowed {
    Allowed::Number { low: 0.0, high: 1.0, above: false }
}

fn milliseconds() -> Allowed {
    Allowed::Number { low: 0.0, high: 1e6, above: true }
}

fn whole(low: u64, high: u64) -> Allowed {
    Allowed::Integer { low, high }
}

pub(super) fn parameters() -> Vec<Parameter> {
    [installed(), processors::parameters(), storage::parameters(), users::parameters()].concat()
}

fn installed() -> Vec<Parameter> {
    let names = VERSIONS.iter().map(|version| version.name).collect();
    vec![
        Parameter::new(
            "version",
            "",
            json!("14"),
            Allowed::Choice(names),
            "Version of the system: of July 1969, or System 14 of 1971; it sets what is of_version below",
            "the two memoranda",
        ),
        Parameter::new("cpus", "processor", json!(1), whole(1, 2), "GE-645 processors", "1971, Table 1"),
        Parameter::new(
            "core",
            "Kword",
            json!(256),
            whole(1, 16_384),
            "Core memory; a page has 1024 words",
            "1971, Table 1",
        ),
        Parameter::new(
            "wired",
            "Kword",
            json!(64),
            whole(0, 16_384),
            "Core that the resident supervisor takes",
            "chosen beforehand: a quarter of the smallest configuration",
        ),
    ]
}
