//! Who is logged in, at which terminal, and from where: utmp, or the files of systemd-logind; with them, wtmpdb.
//!
//! utmp comes first, because a terminal stands in it; logind where there is no utmp. Neither need be complete: on a
//! machine of today utmp may be there and nobody write it, and logind knows no terminal of a session of sshd. What
//! [`wtmpdb`](super::wtmpdb) knows of sessions that live is therefore [joined](join) to either.

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

/// `first`, completed by what `second` knows of the same sessions, and with those that only `second` has.
///
/// Two logins of a user are the same session at the same terminal, or where one of them has no terminal and they do not
/// come from different machines. Each is completed once; what `first` says is not replaced.
pub fn join(mut first: Vec<Login>, second: Vec<Login>) -> Vec<Login> {
    let own = first.len();
    let mut is_met = vec![false; own];
    let is_same_user = |one: &Login, other: &Login| match (one.uid, other.uid) {
        (Some(one), Some(other)) => one == other,
        _ => one.user == other.user,
    };
    let may_be = |one: &str, other: &str| one.is_empty() || other.is_empty() || one == other;
    // Terminals before anything else: of several sessions of a user they tell which is which.
    let (at_same, others): (Vec<Login>, Vec<Login>) = second.into_iter().partition(|login| {
        let is_at = |one: &Login| !one.terminal.is_empty() && one.terminal == login.terminal;
        first[..own].iter().any(|one| is_at(one) && is_same_user(one, login))
    });
    for login in at_same.into_iter().chain(others) {
        let place = (0..own).find(|place| {
            let one = &first[*place];
            let is_at_other =
                !one.terminal.is_empty() && !login.terminal.is_empty() && one.terminal != login.terminal;
            let is_at_same = !login.terminal.is_empty() && one.terminal == login.terminal;
            !is_met[*place]
                && is_same_user(one, &login)
                && (is_at_same || (!is_at_other && may_be(&one.host, &login.host)))
        });
        let Some(place) = place else {
            first.push(login);
            continue;
        };
        is_met[place] = true;
        let one = &mut first[place];
        for (text, known) in [(&mut one.terminal, login.terminal), (&mut one.host, login.host)] {
            if text.is_empty() {
                *text = known;
            }
        }
        one.uid = one.uid.or(login.uid);
    }
    first
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

#[cfg(test)]
mod tests {
    use super::*;

    fn login(user: &str, terminal: &str, host: &str) -> Login {
        Login {
            id: String::new(),
            user: user.into(),
            uid: None,
            terminal: terminal.into(),
            host: host.into(),
        }
    }

    #[test]
    fn a_session_that_two_records_have_is_one() {
        let first = vec![
            login("alice", "", "10.1.2.3"),
            login("alice", "pts/2", ""),
            login("alice", "", ""),
            login("bob", "pts/9", "10.5.5.5"),
        ];
        let second = vec![
            login("alice", "pts/1", "10.1.2.3"),
            login("alice", "pts/2", "10.7.7.7"),
            login("bob", "", "10.6.6.6"),
            login("bob", "pts/9", "name.example"),
            login("carol", "pts/2", ""),
        ];
        let joined = join(first, second);
        let places: Vec<String> = joined
            .iter()
            .map(|login| format!("{} {}", login.user, login.place().unwrap_or_default()))
            .collect();
        let expected = [
            "alice pts/1 from 10.1.2.3",
            "alice pts/2 from 10.7.7.7",
            "alice ",
            "bob pts/9 from 10.5.5.5",
            "bob from 10.6.6.6",
            "carol pts/2",
        ];
        assert_eq!(places, expected);
        assert!(join(Vec::new(), Vec::new()).is_empty());
    }
}
