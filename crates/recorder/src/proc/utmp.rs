//! `/run/utmp` and `/run/systemd/sessions`: who is logged in.

/// Bytes of a utmp record, the same on all 64-bit Linux machines and on most others (utmp(5)).
const RECORD_BYTES: usize = 384;
/// Record type of a logged-in user (utmp.h).
const USER_PROCESS: i16 = 7;

/// Number of logged-in sessions in a utmp file; a record cut off at the end does not count.
pub fn count_sessions(bytes: &[u8]) -> u64 {
    let is_user = |record: &&[u8]| i16::from_ne_bytes([record[0], record[1]]) == USER_PROCESS;
    bytes.chunks_exact(RECORD_BYTES).filter(is_user).count() as u64
}

/// True if a file of `/run/systemd/sessions` describes a user's session, not a greeter's or a background one.
pub fn is_user_session(text: &[u8]) -> bool {
    let has = |line: &[u8]| super::lines(text).any(|(_, other)| other == line);
    // `user-early` (systemd 256): sessions of root, which are not held back during boot. Sessions that
    // are closing keep their file until their last process ends.
    (has(b"CLASS=user") || has(b"CLASS=user-early")) && !has(b"STATE=closing")
}
