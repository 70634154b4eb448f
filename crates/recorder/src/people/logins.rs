//! Who is logged in, at which terminal, and from where: utmp, or the files of systemd-logind.
//!
//! wtmpdb, which keeps the history of logins where utmp is gone, is a database of its own; whoever is logged in there
//! has a session of logind.

use std::fs;

use crate::kernel::files::Root;
use crate::proc::utmp;

/// A login that lasts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// Name by which the source knows the session: of logind; empty in utmp.
    pub id: String,
    /// Name of the account.
    pub user: String,
    /// Its number, where the source has it.
    pub uid: Option<u32>,
    /// Terminal, such as `pts/0`; empty for a session without one.
    pub terminal: String,
    /// Machine from which the user came; empty for this one.
    pub host: String,
}

/// Logins now; `None` where nothing records them.
pub fn read(root: &Root) -> Option<Vec<Login>> {
    for name in ["/run/utmp", "/var/run/utmp"] {
        if let Ok(bytes) = fs::read(root.path(name)) {
            return Some(utmp::logins(&bytes));
        }
    }
    if !(root.exists("/run/systemd/system") && root.exists("/run/systemd/sessions")) {
        return None;
    }
    let entries = fs::read_dir(root.path("/run/systemd/sessions")).ok()?.flatten();
    let mut logins: Vec<Login> = entries
        .filter_map(|entry| {
            let id = entry.file_name().into_string().ok()?;
            let text = fs::read(entry.path()).ok()?;
            utmp::is_user_session(&text).then(|| utmp::session(id, &text))
        })
        .collect();
    logins.sort_by(|one, other| one.terminal.cmp(&other.terminal));
    Some(logins)
}

impl Login {
    /// Terminal and origin, as in column `terminals`.
    pub fn place(&self) -> Option<String> {
        match (self.terminal.as_str(), self.host.as_str()) {
            ("", "") => None,
            (terminal, "") => Some(terminal.to_owned()),
            ("", host) => Some(format!("from {host}")),
            (terminal, host) => Some(format!("{terminal} from {host}")),
        }
    }
}
