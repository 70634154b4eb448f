//! Sources that this machine does not have, and those that failed while recording.

use std::collections::BTreeMap;
use std::io;

/// Reason for which a source has no numbers, by its file or purpose.
pub type Missing = BTreeMap<String, String>;

/// A source that failed while recording.
#[derive(Debug)]
pub struct SourceFailure {
    /// File of the source.
    pub name: String,
    /// Error of the system call or of the parser.
    pub reason: String,
}

/// Reason for which a file cannot be used, with the remedy if there is one.
pub fn why_missing(name: &str, error: &io::Error) -> String {
    let pressure = name.starts_with("/proc/pressure");
    match error.kind() {
        io::ErrorKind::NotFound if pressure => {
            "this kernel has no pressure stall information (CONFIG_PSI)".into()
        }
        io::ErrorKind::NotFound => "this kernel does not have it".into(),
        io::ErrorKind::PermissionDenied => "not permitted: run as root".into(),
        _ if pressure && error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            "pressure stall information is switched off: boot with psi=1".into()
        }
        _ => error.to_string(),
    }
}
