//! What the fuzz target of `fuzz/` calls, on text that anybody may have written.
//!
//! Compiled for `cargo fuzz`, which sets `--cfg fuzzing`, and for the tests of this crate, which replay the
//! committed inputs.

use serde_json::Value;

use crate::{SYSTEMS, Script, ScriptError};

/// A script as TOML, and the same bytes as JSON.
pub fn script(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    is_sound(Script::parse(text, "script.toml"));
    if let Ok(tree) = serde_json::from_str::<Value>(text) {
        is_sound(Script::from_json(&tree));
    }
}

/// A script that was accepted comes back from the record of it in a manifest; a refusal says what to do.
fn is_sound(outcome: Result<Script, ScriptError>) {
    let script = match outcome {
        Ok(script) => script,
        Err(error) => return assert!(!error.remedy.is_empty(), "{error}"),
    };
    for (system, _) in SYSTEMS {
        // It has no demands on this system, or all of them.
        let _ = script.check_demands(system);
    }
    for (terminal, step) in script
        .terminal
        .iter()
        .flat_map(|terminal| script.interactions.iter().map(move |step| (terminal, step)))
    {
        let line = terminal.filled(&step.types, 1);
        assert!(!line.contains(char::is_control), "{line:?} is one line");
        let is_inside = |path: &str| !path.starts_with('/') && path.split('/').all(|part| part != "..");
        assert!(terminal.files.iter().all(|file| is_inside(&file.path)));
    }
    let record = script.to_json();
    let again = Script::from_json(&record).expect("a script that was written is read");
    assert_eq!(again.to_json(), record);
}

#[cfg(test)]
#[path = "../../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    #[test]
    fn scripts() {
        super::replay::replay("script", super::script);
    }
}
