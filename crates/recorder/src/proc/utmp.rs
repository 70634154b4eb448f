//! `/run/utmp` and `/run/systemd/sessions`: who is logged in.

use crate::people::logins::Login;

/// Bytes of a utmp record, the same on all 64-bit Linux machines and on most others (utmp(5)).
const RECORD_BYTES: usize = 384;
/// Record type of a logged-in user (utmp.h).
const USER_PROCESS: i16 = 7;

/// Number of logged-in sessions in a utmp file; a record cut off at the end does not count.
pub fn count_sessions(bytes: &[u8]) -> u64 {
    let is_user = |record: &&[u8]| i16::from_ne_bytes([record[0], record[1]]) == USER_PROCESS;
    bytes.chunks_exact(RECORD_BYTES).filter(is_user).count() as u64
}

/// Logged-in sessions in a utmp file. Fields: utmp(5).
pub fn logins(bytes: &[u8]) -> Vec<Login> {
    let is_user = |record: &&[u8]| i16::from_ne_bytes([record[0], record[1]]) == USER_PROCESS;
    let field = |record: &[u8], from: usize, bytes: usize| {
        let field = &record[from..from + bytes];
        let end = field.iter().position(|byte| *byte == 0).unwrap_or(bytes);
        String::from_utf8_lossy(&field[..end]).into_owned()
    };
    let login = |record: &[u8]| Login {
        id: String::new(),
        user: field(record, 44, 32),
        uid: None,
        terminal: field(record, 8, 32),
        host: field(record, 76, 256),
    };
    bytes.chunks_exact(RECORD_BYTES).filter(is_user).map(login).collect()
}

/// The session `id` as its file in `/run/systemd/sessions` describes it.
pub fn session(id: String, text: &[u8]) -> Login {
    let value = |key: &[u8]| {
        let lines = super::lines(text).map(|(_, line)| line);
        let mut values = lines.filter_map(|line| line.strip_prefix(key)?.strip_prefix(b"="));
        values.next().map(|value| String::from_utf8_lossy(value).into_owned()).unwrap_or_default()
    };
    Login {
        id,
        user: value(b"USER"),
        uid: value(b"UID").parse().ok(),
        terminal: value(b"TTY"),
        host: value(b"REMOTE_HOST"),
    }
}

/// True if a file of `/run/systemd/sessions` describes a user's session, not a greeter's or a background one.
pub fn is_user_session(text: &[u8]) -> bool {
    let has = |line: &[u8]| super::lines(text).any(|(_, other)| other == line);
    // `user-early` (systemd 256): sessions of root, which are not held back during boot. Sessions that
    // are closing keep their file until their last process ends.
    (has(b"CLASS=user") || has(b"CLASS=user-early")) && !has(b"STATE=closing")
}
