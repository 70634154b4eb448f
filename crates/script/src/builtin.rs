//! Built-in scripts, compiled in: a simulation needs no file to be found at run time.

use crate::Script;

/// Names of the built-in scripts.
pub const BUILTIN: &[&str] = &["mftn3", "6mad1"];

impl Script {
    /// The TOML text of the built-in script `name`; `None` if there is no such script.
    pub fn builtin(name: &str) -> Option<&'static str> {
        match name {
            "mftn3" => Some(include_str!("../scripts/mftn3.toml")),
            "6mad1" => Some(include_str!("../scripts/6mad1.toml")),
            _ => None,
        }
    }
}
