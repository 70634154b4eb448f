//! What is wrong with a script, where, and what would be right.

use thiserror::Error;

/// A script that cannot be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}: {item}: {problem}; {remedy}", self.place())]
pub struct ScriptError {
    pub file: String,
    /// Of the file; none for a script that comes from elsewhere.
    pub line: Option<usize>,
    /// Which part of the script.
    pub item: String,
    /// What was given and what is wrong with it.
    pub problem: String,
    /// What would be right.
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

/// "did you mean ...? there are: ..." for a name that is none of `names`.
pub fn offer(given: &str, names: &[&str]) -> String {
    let nearest = names
        .iter()
        .map(|name| (strsim::levenshtein(given, name), *name))
        .min()
        .filter(|(edits, name)| *edits <= 1 + name.len() / 3);
    let hint = nearest.map(|(_, name)| format!("did you mean {name:?}? ")).unwrap_or_default();
    format!("{hint}there are: {}", names.join(", "))
}
