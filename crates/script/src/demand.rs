//! Demands that an interaction can have on each system: the one list for checks, errors, defaults and documentation.

/// One kind of demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demand {
    /// Key in the table of the system.
    pub name: &'static str,
    /// Unit; empty for a pure number.
    pub unit: &'static str,
    /// One line, for errors and documentation.
    pub description: &'static str,
    /// Value if none is given; `None` if one is required.
    pub default: Option<f64>,
    /// Least mean; single values may be below.
    pub low: f64,
    /// Greatest value.
    pub high: f64,
}

impl Demand {
    /// A demand without a default.
    const fn needed(
        name: &'static str,
        unit: &'static str,
        low: f64,
        high: f64,
        description: &'static str,
    ) -> Demand {
        Demand { name, unit, description, default: None, low, high }
    }
}

/// Longest run of one interaction [s]: a day.
const DAY: f64 = 86_400.0;

// Upper limits are against mistakes of unit, far beyond any program of the time.
const MULTICS: &[Demand] = &[
    Demand::needed("cpu", "s", 0.0, DAY, "run time: processor time in user programs, without faults"),
    Demand::needed("pages", "pages", 1.0, 1e6, "distinct pages of 1024 words that the command refers to"),
    Demand::needed("segments", "segments", 1.0, 1e5, "distinct segments that the command refers to"),
    Demand::needed("lines", "lines", 0.0, 1e5, "lines of the reply"),
    Demand {
        name: "first_output",
        unit: "",
        description: "part of the work that is done when the reply begins; 1: the reply begins at the end",
        default: Some(1.0),
        low: 0.0,
        high: 1.0,
    },
];

const CTSS: &[Demand] = &[
    Demand::needed("cpu", "s", 0.0, DAY, "run time: processor time of the program, without swapping"),
    // The 7094's core bank: 2^15 words.
    Demand::needed("words", "words", 1.0, 32_768.0, "size of the program that is swapped"),
    Demand::needed("disk", "transfers", 0.0, 1e5, "transfers between the program's files and core"),
    Demand::needed("lines", "lines", 0.0, 1e5, "lines of the reply"),
];

/// Systems that a script can have demands on, and the demands on each.
pub const SYSTEMS: &[(&str, &[Demand])] = &[("multics", MULTICS), ("ctss", CTSS)];

/// The demands on `system`; `None` if scripts cannot have demands on it.
pub fn of(system: &str) -> Option<&'static [Demand]> {
    SYSTEMS.iter().find(|(name, _)| *name == system).map(|(_, demands)| *demands)
}
