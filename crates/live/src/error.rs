//! Errors with which a view cannot begin or go on.

use std::io;

use thinktime_log::LogError;

/// The view failed.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The log cannot be read.
    #[error(transparent)]
    Log(#[from] LogError),
    /// There is nothing to draw on.
    #[error("{reason}; run it in a terminal, or use `thinktime report` for a page or text")]
    NoTerminal { reason: &'static str },
    /// An option out of its range.
    #[error("--{option} {given}: {problem}")]
    Option { option: &'static str, given: String, problem: String },
    /// A system call on the terminal failed.
    #[error("cannot {action}: {source}")]
    Terminal { action: &'static str, source: io::Error },
    /// A defect of the program, after which the terminal was given back.
    #[error("the view failed: {message}; the log itself is not affected")]
    Panic { message: String },
}

impl LiveError {
    /// True if the input was wrong (exit status 2), false if the work failed (exit status 1).
    pub fn is_input(&self) -> bool {
        match self {
            LiveError::NoTerminal { .. } | LiveError::Option { .. } => true,
            LiveError::Log(error) => error.is_input(),
            LiveError::Terminal { .. } | LiveError::Panic { .. } => false,
        }
    }
}
