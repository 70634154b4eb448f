//! Built-in scripts, compiled in: a simulation needs no file to be found at run time.

use crate::Script;

/// Names of the built-in scripts.
pub const BUILTIN: &[&str] = &["mftn3", "6mad1", "mftn3-linux", "login-node", "shell-admin", "data-science"];
/// Those of them with demands on simulated systems.
pub const SIMULATED: &[&str] = &["mftn3", "6mad1"];

impl Script {
    /// The TOML text of the built-in script `name`; `None` if there is no such script.
    pub fn builtin(name: &str) -> Option<&'static str> {
        match name {
            "mftn3" => Some(include_str!("../scripts/mftn3.toml")),
            "6mad1" => Some(include_str!("../scripts/6mad1.toml")),
            "mftn3-linux" => Some(include_str!("../scripts/mftn3-linux.toml")),
            "login-node" => Some(include_str!("../scripts/login-node.toml")),
            "shell-admin" => Some(include_str!("../scripts/shell-admin.toml")),
            "data-science" => Some(include_str!("../scripts/data-science.toml")),
            _ => None,
        }
    }
}
