//! `/run/utmp` and `/run/systemd/sessions`: who is logged in.

/// Bytes of a record of utmp, the same on all 64-bit Linux machines and on most others.
const RECORD_BYTES: usize = 384;
/// Type of a record of a logged-in user.
const USER_PROCESS: i16 = 7;

/// Counts the logged-in sessions in a utmp file. A record cut off at the end is none.
pub fn count_sessions(bytes: &[u8]) -> u64 {
    let is_user = |record: &&[u8]| i16::from_ne_bytes([record[0], record[1]]) == USER_PROCESS;
    bytes.chunks_exact(RECORD_BYTES).filter(is_user).count() as u64
}

/// Whether a file of `/run/systemd/sessions` is a user's session, not a greeter's or a background one.
pub fn is_user_session(text: &[u8]) -> bool {
    let has = |line: &[u8]| super::lines(text).any(|(_, found)| found == line);
    (has(b"CLASS=user") || has(b"CLASS=user-early")) && !has(b"STATE=closing")
}
