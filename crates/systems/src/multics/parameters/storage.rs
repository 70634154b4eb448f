//! Core, the table of active segments, drum and disks.

use serde_json::json;

use super::{CHOSEN, ROW_256K, milliseconds, of_version, share, whole};
use crate::parameter::{Allowed, Parameter};

pub(super) fn parameters() -> Vec<Parameter> {
    [references(), devices()].concat()
}

fn references() -> Vec<Parameter> {
    let or_version = |name, unit, description, source| {
        Parameter::new(name, unit, json!("of_version"), of_version(), description, source)
    };
    vec![
        Parameter::new(
            "lifetime_exponent",
            "",
            json!(2.0),
            Allowed::Number { low: 0.0, high: 10.0, above: false },
            "Power of the places held with which the useful time between misses grows, of pages and of segments",
            "chosen beforehand: Belady and Kuehner 1969, about 2",
        ),
        or_version(
            "headway",
            "ms",
            "Mean useful time between page faults of a process that holds 32 pages",
            "calibrated against Table 2 of 1971, column 1 CPU 256K; 3.1.1: against 16 page faults an interaction \
             with 4 users",
        ),
        or_version("gate_headway", "ms", "Mean useful time between gate faults", ROW_256K),
        or_version(
            "segment_headway",
            "ms",
            "Mean useful time between segment faults of a process that has 8 active segments",
            ROW_256K,
        ),
        or_version("active_segments", "segment", "Entries of the table of active segments", CHOSEN),
        Parameter::new(
            "kept",
            "",
            json!(0.8),
            share(),
            "Part of a process's pages and segments to which it goes on referring with another command",
            "calibrated against the page faults of an interaction in 1969, 4 and 17 users",
        ),
        Parameter::new(
            "modified",
            "",
            json!(0.18),
            share(),
            "Part of the pages taken from somebody that are written to the drum",
            ROW_256K,
        ),
    ]
}

fn devices() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "drum_organisation",
            "",
            json!("sector_queued"),
            Allowed::Choice(vec!["sector_queued", "first_come"]),
            "Which page is next on the drum: whichever comes round first, or in order of arrival",
            CHOSEN,
        ),
        Parameter::new("drum_rotation", "ms", json!(33.3), milliseconds(), "Revolution of the drum", CHOSEN),
        Parameter::new("drum_sectors", "page", json!(16), whole(1, 1000), "Pages in a revolution", CHOSEN),
        Parameter::new(
            "disk_share",
            "",
            json!(0.265),
            share(),
            "Part of the pages read that come from a disk",
            ROW_256K,
        ),
        Parameter::new("disk_arms", "arm", json!(4), whole(1, 1000), "Disk arms", CHOSEN),
        Parameter::new(
            "disk_access",
            "ms",
            json!(59.5),
            milliseconds(),
            "Mean access of a disk; each takes between half of it and half as much again",
            CHOSEN,
        ),
    ]
}
