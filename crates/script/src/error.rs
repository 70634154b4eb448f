//! Errors of scripts: the place, the problem and the remedy.

use thiserror::Error;

/// An error in a script.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {item}: {problem}; {remedy}", self.place())]
pub struct ScriptError {
    /// Name of the file, or of the built-in script.
    pub file: String,
    /// Line in the file, from 1; `None` for a script that was not read from a file.
    pub line: Option<usize>,
    /// Part of the script.
    pub item: String,
    /// Value given, and its defect.
    pub problem: String,
    /// Value or action that would be right.
    pub remedy: String,
}

impl ScriptError {
    /// File and line.
    pub fn place(&self) -> String {
        match self.line {
            Some(line) => format!("{}, line {line}", self.file),
            None => self.file.clone(),
        }
    }
}

/// Remedy for a name that is not among `names`: the most similar one, and the list. Of equally similar ones the first
/// in the alphabet, so that a message does not depend on the order of a list.
pub fn offer(given: &str, names: &[&str]) -> String {
    let nearest = names
        .iter()
        .map(|name| (strsim::levenshtein(given, name), *name))
        .min()
        // More edits than about a third of the name make it another word, not a misspelling.
        .filter(|(edits, name)| *edits <= 1 + name.len() / 3);
    let hint = nearest.map(|(_, name)| format!("did you mean {name:?}? ")).unwrap_or_default();
    format!("{hint}there are: {}", names.join(", "))
}
