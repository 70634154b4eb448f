//! The scripts that come with thinktime.

use crate::Script;

/// Their names.
pub const BUILTIN: &[&str] = &["mftn3", "6mad1"];

impl Script {
    /// The TOML text of the built-in script `name`.
    pub fn builtin(name: &str) -> Option<&'static str> {
        match name {
            "mftn3" => Some(include_str!("../scripts/mftn3.toml")),
            "6mad1" => Some(include_str!("../scripts/6mad1.toml")),
            _ => None,
        }
    }
}
