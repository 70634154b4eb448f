//! Errors of a play, each with its remedy.

use std::io;

use thinktime_log::LogError;

/// A play cannot begin or continue.
#[derive(Debug, thiserror::Error)]
pub enum TerminalsError {
    /// An argument is wrong.
    #[error("{item}: {problem}; {remedy}")]
    Input { item: String, problem: String, remedy: String },
    /// A user's process could not do its work.
    #[error("user {user}: {problem}")]
    User { user: u32, problem: String },
    /// The kernel refused something that the play needs.
    #[error("cannot {doing}: {source}; {remedy}")]
    System { doing: &'static str, source: io::Error, remedy: &'static str },
    /// The process that starts the users has ended, or does not answer as it should.
    #[error("the nursery (the process that starts the users) {problem}; start the play again")]
    Nursery { problem: String },
    /// The log cannot be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// The observer ended the work before the play began.
    #[error("stopped before the first interaction")]
    Stopped,
}

impl TerminalsError {
    /// The error of an argument: its name, what is wrong with it, and what would be right.
    pub(crate) fn input(
        item: impl Into<String>,
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        TerminalsError::Input { item: item.into(), problem: problem.into(), remedy: remedy.into() }
    }

    /// The error of a nursery; `problem` completes "the nursery ...".
    pub(crate) fn nursery(problem: impl Into<String>) -> Self {
        TerminalsError::Nursery { problem: problem.into() }
    }
}

/// Turns a failed system call into an error that names the action and the remedy.
pub(crate) trait Context<T> {
    /// The result, with `doing` completing "cannot ..." in the message of an error.
    fn doing(self, doing: &'static str, remedy: &'static str) -> Result<T, TerminalsError>;
}

impl<T, E: Into<io::Error>> Context<T> for Result<T, E> {
    fn doing(self, doing: &'static str, remedy: &'static str) -> Result<T, TerminalsError> {
        self.map_err(|source| TerminalsError::System { doing, source: source.into(), remedy })
    }
}
