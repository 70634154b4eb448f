//! The host on which users log in: this machine, or one that the system's `ssh` reaches.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::str::FromStr;

use crate::error::{Context, TerminalsError};

/// Where the users log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// This machine, on pseudo-terminals.
    Here,
    /// Another host, by the system's `ssh`.
    Ssh(SshHost),
}

/// A host as `ssh` knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshHost {
    /// Account, in which `{{user}}` stands for the number of the user; `None` for that of ssh's configuration.
    user: Option<String>,
    name: String,
    port: Option<u16>,
}

impl FromStr for Host {
    type Err = TerminalsError;

    /// `ssh://[user@]host[:port]`; an address of version 6 in brackets.
    fn from_str(text: &str) -> Result<Host, TerminalsError> {
        let refuse = |problem: &str| {
            let remedy = "give ssh://host, ssh://user@host or ssh://user@host:port; {{user}} in the user's name \
                          stands for the number of the user";
            TerminalsError::input(format!("--on {text}"), problem, remedy)
        };
        let rest = text.strip_prefix("ssh://").ok_or_else(|| refuse("does not begin with ssh://"))?;
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (user, place) = match rest.rsplit_once('@') {
            Some((user, place)) => (Some(user), place),
            None => (None, rest),
        };
        // The bracket of an address ends it; a colon in it begins no port.
        let (name, port) = match place.rsplit_once(':').filter(|(_, port)| !port.contains(']')) {
            Some((name, port)) => {
                (name, Some(port.parse().map_err(|_| refuse("has a port that is no number"))?))
            }
            None => (place, None),
        };
        let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        // What begins with a hyphen would be an option of ssh.
        let is_plain = |text: &str, more: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
            !text.is_empty() && !text.starts_with('-') && text.chars().all(allowed)
        };
        if !is_plain(name, "-._:%") {
            return Err(refuse("has no name of a host"));
        }
        if user.is_some_and(|user| !is_plain(&user.replace("{{user}}", "1"), "-._+")) {
            return Err(refuse("has a user that is no name (a password is not accepted: use a key)"));
        }
        Ok(Host::Ssh(SshHost { user: user.map(str::to_owned), name: name.into(), port }))
    }
}

impl SshHost {
    /// `ssh` with these options, and a script for the POSIX shell of the host.
    pub(crate) fn arguments(&self, user: u32, options: &[&str], script: &str) -> Vec<String> {
        // Each user has a connection, no question is asked, and nothing is forwarded.
        let fixed = "-a -x -e none -o BatchMode=yes -o ClearAllForwardings=yes -o PermitLocalCommand=no \
                     -o ControlMaster=no -o ControlPath=none -o ForwardAgent=no -o ForwardX11=no -o LogLevel=ERROR \
                     -o ConnectTimeout=20";
        let mut arguments = vec!["ssh".to_owned()];
        arguments.extend(fixed.split_whitespace().map(str::to_owned));
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        if let Some(port) = self.port {
            arguments.extend(["-p".into(), port.to_string()]);
        }
        if let Some(name) = &self.user {
            arguments.extend(["-l".into(), name.replace("{{user}}", &user.to_string())]);
        }
        arguments.extend(["--".into(), self.name.clone(), format!("exec sh -c {}", quoted(script))]);
        arguments
    }
}

impl Host {
    /// Those of `programs` that the host does not have.
    ///
    /// # Errors
    /// The host cannot be reached.
    pub fn missing(&self, programs: &[&str]) -> Result<Vec<String>, TerminalsError> {
        match self {
            Host::Here => {
                let path = std::env::var("PATH").unwrap_or_else(|_| super::PATH.into());
                let is_there =
                    |name: &str| path.split(':').any(|folder| is_program(&Path::new(folder).join(name)));
                Ok(programs.iter().filter(|name| !is_there(name)).map(|name| (*name).to_owned()).collect())
            }
            Host::Ssh(host) => {
                let names = programs.iter().copied().chain(["mktemp", "rm"]).collect::<Vec<_>>().join(" ");
                let script = format!(
                    "for name in {names}; do command -v \"$name\" >/dev/null || echo \"missing $name\"; done; echo all"
                );
                host.missing(&script)
            }
        }
    }
}

impl SshHost {
    fn missing(&self, script: &str) -> Result<Vec<String>, TerminalsError> {
        let arguments = self.arguments(1, &["-T"], script);
        let done = Command::new(&arguments[0])
            .args(&arguments[1..])
            .stdin(Stdio::null())
            .output()
            .doing("start ssh", "install OpenSSH's client")?;
        let text = String::from_utf8_lossy(&done.stdout);
        // What a login prints before is no answer.
        if !text.lines().any(|line| line == "all") {
            let said = String::from_utf8_lossy(&done.stderr);
            let said = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing");
            let shown: String = said.chars().filter(|c| !c.is_control()).take(300).collect();
            let remedy =
                "make `ssh` log in there without a question: a key, and the host's key in known_hosts";
            return Err(TerminalsError::input(format!("--on ssh://{}", self.name), shown, remedy));
        }
        Ok(text.lines().filter_map(|line| line.strip_prefix("missing ")).map(str::to_owned).collect())
    }
}

/// True for a file that may be executed.
fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
}

/// `text` as one word of a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> String {
        match text.parse() {
            Ok(Host::Ssh(host)) => host.arguments(7, &[], ":")[20..].join(" "),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn hosts_as_written() {
        assert!(line("ssh://box").ends_with("-- box exec sh -c ':'"), "{}", line("ssh://box"));
        assert!(line("ssh://load{{user}}@box.example:2222").contains("-p 2222 -l load7 -- box.example exec"));
        assert!(line("ssh://[::1]:22").contains("-p 22 -- ::1 exec"));
        for text in [
            "box",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://a:b@box",
            "ssh://-l@box",
            "ssh://box:x",
            "ssh://a b",
        ] {
            let message = text.parse::<Host>().expect_err("must be refused").to_string();
            assert!(message.contains(text) && message.contains("ssh://user@host"), "{message}");
        }
    }

    #[test]
    fn a_word_stays_a_word() {
        let text = "it's $HOME `id` \\ \"x\"\n";
        let output =
            Command::new("sh").arg("-c").arg(format!("printf %s {}", quoted(text))).output().expect("sh");
        assert_eq!(output.stdout, text.as_bytes());
    }
}
