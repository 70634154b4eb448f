//! Errors with which recording cannot begin or continue.

use std::io;

use thinktime_live::LiveError;
use thinktime_log::LogError;
use thinktime_tracer::TraceError;

use crate::sample::system::ReadError;

/// Recording failed.
#[derive(Debug, thiserror::Error)]
pub enum RecorderError {
    /// The log cannot be opened or written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// `/proc/stat` cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// What is recorded cannot be shown.
    #[error(transparent)]
    Live(#[from] LiveError),
    /// The list of processes cannot be read.
    #[error("cannot read the processes below {path}: {source}; use --by none to record without them")]
    Processes { path: String, source: io::Error },
    /// An option out of its range.
    #[error("--{option} {given}: {problem}")]
    Option { option: &'static str, given: String, problem: String },
    /// The machine cannot be traced.
    #[error(
        "--trace: {0}; without --trace, run_delay_s and io_delay_s of users and commands say how long they waited for \
         CPUs and disks"
    )]
    Trace(#[from] TraceError),
    /// The recording began and did not end as it should.
    #[error("{source}; {account}")]
    Interrupted { source: Box<RecorderError>, account: String },
    /// A system call failed.
    #[error("cannot {action}: {source}")]
    System { action: &'static str, source: io::Error },
}

impl RecorderError {
    /// True if the input was wrong (exit status 2), false if the work failed (exit status 1).
    pub fn is_input(&self) -> bool {
        match self {
            RecorderError::Option { .. } | RecorderError::Trace(_) => true,
            RecorderError::Log(error) => error.is_input(),
            RecorderError::Live(error) => error.is_input(),
            // Whatever was given, it was good enough to begin with.
            RecorderError::Interrupted { .. } => false,
            RecorderError::Read(_) | RecorderError::Processes { .. } | RecorderError::System { .. } => false,
        }
    }
}
