//! The host on which users log in: this machine, or one that the system's `ssh` reaches.

use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

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

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Here => f.write_str("this machine"),
            Host::Ssh(host) => write!(f, "{host}"),
        }
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.user.as_ref().map(|user| format!("{user}@")).unwrap_or_default();
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        // Only an address of version 6 has colons.
        match self.name.contains(':') {
            true => write!(f, "ssh://{user}[{}]{port}", self.name),
            false => write!(f, "ssh://{user}{}{port}", self.name),
        }
    }
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
    /// The host cannot be reached, or does not answer in `timeout_s`.
    pub fn missing(&self, programs: &[&str], timeout_s: f64) -> Result<Vec<String>, TerminalsError> {
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
                host.missing(&script, timeout_s)
            }
        }
    }
}

impl SshHost {
    fn missing(&self, script: &str, timeout_s: f64) -> Result<Vec<String>, TerminalsError> {
        let arguments = self.arguments(1, &["-T"], script);
        let mut ssh = Command::new(&arguments[0])
            .args(&arguments[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .doing("start ssh", "install OpenSSH's client")?;
        let heard = hear(&mut ssh, Duration::from_secs_f64(timeout_s));
        // Nothing is waited for any more: one that still runs is one that hangs.
        let _ = ssh.kill();
        let _ = ssh.wait();
        let (output, errors) = heard?;
        // What a login prints before is no answer.
        let text = output.text();
        if text.lines().any(|line| line == "all") {
            return Ok(text
                .lines()
                .filter_map(|line| line.strip_prefix("missing "))
                .map(str::to_owned)
                .collect());
        }
        let said = errors.text() + &text;
        let last = said.trim();
        let skipped = last.chars().count().saturating_sub(300);
        let last: String = last.chars().skip(skipped).collect();
        let said = if last.is_empty() { "it said nothing".to_owned() } else { format!("it said {last:?}") };
        let (problem, remedy) = match output.ended && errors.ended {
            true => (
                format!("the login failed; {said}"),
                "make `ssh` log in there without a question: a key, and the host's key in known_hosts",
            ),
            false => (
                format!("the login of user 1 had not run a command after {timeout_s} s; {said}"),
                "find out what the login waits for, or give it longer with --login-timeout",
            ),
        };
        Err(TerminalsError::input(format!("--on {self}"), problem, remedy))
    }
}

/// Bytes of each stream of `ssh` that are kept: a host may say anything, without end.
const HEARD_BYTES: usize = 64 * 1024;

/// What came on a stream.
#[derive(Default)]
struct Stream {
    bytes: Vec<u8>,
    /// True once nothing more can come.
    ended: bool,
}

impl Stream {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Output and errors of `child`, until both have ended or the time is over.
fn hear(child: &mut Child, patience: Duration) -> Result<(Stream, Stream), TerminalsError> {
    let remedy = "start the play again";
    let (Some(output), Some(errors)) = (child.stdout.take(), child.stderr.take()) else {
        return Ok(Default::default());
    };
    let until = Instant::now() + patience;
    let mut streams = [Stream::default(), Stream::default()];
    let mut chunk = [0u8; 4096];
    while !(streams[0].ended && streams[1].ended) {
        let left = until.saturating_duration_since(Instant::now());
        let files = [rustix::fd::AsFd::as_fd(&output), rustix::fd::AsFd::as_fd(&errors)];
        let open: Vec<usize> = (0..2).filter(|&index| !streams[index].ended).collect();
        let mut waiting: Vec<PollFd<'_>> =
            open.iter().map(|&index| PollFd::from_borrowed_fd(files[index], PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        match poll(&mut waiting, Some(&timeout)) {
            Ok(0) => break,
            Err(rustix::io::Errno::INTR) => continue,
            result => result.doing("wait for ssh", remedy)?,
        };
        let ready: Vec<usize> = open
            .iter()
            .zip(&waiting)
            .filter(|(_, file)| !file.revents().is_empty())
            .map(|(&it, _)| it)
            .collect();
        for index in ready {
            let length = rustix::io::read(files[index], &mut chunk).doing("read what ssh says", remedy)?;
            let stream = &mut streams[index];
            stream.ended = length == 0;
            stream.bytes.extend_from_slice(&chunk[..length]);
            let beyond = stream.bytes.len().saturating_sub(HEARD_BYTES);
            stream.bytes.drain(..beyond);
        }
    }
    let [output, errors] = streams;
    Ok((output, errors))
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
