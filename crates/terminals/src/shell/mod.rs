//! Users who type the lines of a script to a shell, on this machine or on a host that `ssh` reaches.
//!
//! A shell has a prompt of the play's own: 128 random bits, which its environment holds in two halves that only the
//! prompt puts side by side. No output can have them by accident, that of `env` and `set` included.
//!
//! Each login has a new home. Here the nursery removes it when everything that ran in it has ended, even if the driver
//! was killed; on another host the shell's parent removes it when the shell ends. A script is data: what it names for a
//! home lies below it (`thinktime_script` refuses other paths), and its texts reach a shell in quotes or as what a user
//! types.

pub mod host;
pub mod play;

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use regex_lite::Regex;
use thinktime_quantities::Distribution;
use thinktime_script::{Script, Shell, Step, Terminal, Wait};

use self::host::Host;
use crate::accounts;
use crate::driver::listener::Ending;
use crate::driver::work::{Input, Work};
use crate::error::{Context, TerminalsError};
use crate::load::random::{Draw, Part, Stream};
use crate::nursery::Nursery;
use crate::nursery::message::Command;

/// Longest time from the start of a login to its first prompt, if nothing else is said [s].
pub const LOGIN_TIMEOUT_S: f64 = 60.0;
/// Where programs are looked for if the driver's environment does not say it.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin";

/// A script as users type it.
#[derive(Debug)]
pub struct Typed {
    script: Script,
    terminal: Terminal,
    seed: u64,
    /// Replaces the think times of the script.
    think: Option<Distribution>,
    /// Think time of users who type an empty command instead of the script [s].
    empty: Option<Distribution>,
    host: Host,
    login_timeout_s: f64,
    /// Folder of the homes on this machine.
    homes: PathBuf,
    /// Folder of the control groups of the logins on this machine, where such may be made.
    groups: Option<PathBuf>,
    halves: [String; 2],
    /// Compiled patterns, by the number of the interaction in the script.
    patterns: Vec<Option<Arc<Regex>>>,
}

/// A line that a user would type, for a look at a play before it is played.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Planned {
    /// Name of the command.
    pub command: String,
    /// Time from the end of the last reply to the last key [s].
    pub think_s: f64,
    /// The line.
    pub types: String,
    /// What ends the wait, in words.
    pub until: String,
}

impl Typed {
    /// `script` as users type it on `host`; their homes here are in a new folder in `scratch`.
    ///
    /// # Errors
    /// The script is not one for a terminal, or there is no randomness for the prompt.
    pub fn new(
        script: Script,
        seed: u64,
        think: Option<Distribution>,
        host: Host,
        scratch: &Path,
    ) -> Result<Typed, TerminalsError> {
        let Some(terminal) = script.terminal.clone() else {
            let remedy = "add [terminal] and say for each interaction what its user waits for; \
                          `thinktime scripts login-node` shows one";
            let problem = "is a script of simulated users alone";
            return Err(TerminalsError::input(script.name, problem, remedy));
        };
        let compiled = |step: &Step| match &step.wait {
            Wait::Pattern(pattern) => Regex::new(pattern).ok().map(Arc::new),
            _ => None,
        };
        let patterns = script.interactions.iter().map(compiled).collect();
        let halves = [random_half()?, random_half()?];
        let homes = scratch.join(format!("thinktime-homes-{}", &random_half()?));
        let groups = match host {
            Host::Here => accounts::usable_folder(&format!("thinktime-{}", &random_half()?)),
            Host::Ssh(_) => None,
        };
        let (empty, login_timeout_s) = (None, LOGIN_TIMEOUT_S);
        Ok(Typed {
            script,
            terminal,
            seed,
            think,
            empty,
            host,
            login_timeout_s,
            homes,
            groups,
            halves,
            patterns,
        })
    }

    /// The same with another longest time from the start of a login to its first prompt [s].
    pub fn with_login_timeout(self, login_timeout_s: f64) -> Typed {
        Typed { login_timeout_s, ..self }
    }

    /// Users who type an empty command at the prompt of the same shells: what the instrument itself takes.
    pub(crate) fn empty(self, think: Distribution) -> Typed {
        Typed { empty: Some(think), ..self }
    }

    /// Programs that the host must have.
    pub fn needs(&self) -> Vec<&str> {
        let shell = self.terminal.shell.name();
        let own = [shell, "sh", "env", "mkdir"].into_iter();
        own.chain(self.terminal.needs.iter().map(String::as_str)).collect()
    }

    /// One pass of a user through the script, as it would be played.
    pub fn plan(&self, user: u32) -> Vec<Planned> {
        let steps = self.script.interactions.iter().enumerate();
        steps
            .map(|(index, step)| Planned {
                command: step.command.clone(),
                think_s: self.input(user, index as u64).think_s,
                types: self.terminal.filled(&step.types, user),
                until: match &step.wait {
                    Wait::No => "nothing".into(),
                    Wait::Prompt => "prompt".into(),
                    Wait::Text(text) => format!("text {:?}", self.terminal.filled(text, user)),
                    Wait::Pattern(pattern) => format!("pattern {pattern:?}"),
                    Wait::Silence(seconds) => format!("silence of {seconds} s"),
                },
            })
            .collect()
    }

    /// The command that starts a login of `user`.
    pub fn command(&self, user: u32, login: u32) -> Command {
        let shell = match self.terminal.shell {
            // The line discipline echoes, as with `sh`: a line editor would redraw what was typed.
            Shell::Bash => "bash --noprofile --norc --noediting -i",
            Shell::Sh => "sh -i",
        };
        let text =
            |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
        let prompt = format!("tt_a={} tt_b={} PS1='$tt_a$tt_b' PS2='> '", self.halves[0], self.halves[1]);
        let files = self.files(user);
        match &self.host {
            Host::Here => {
                let home = self.homes.join(format!("user-{user}.{login}"));
                let script = format!(
                    "umask 077\nmkdir -p \"$HOME\" && cd \"$HOME\" || exit 1\n{files}export {prompt}\nexec {shell}\n"
                );
                Command {
                    arguments: vec!["/bin/sh".into(), "-c".into(), script],
                    environment: environment(&home, self.terminal.shell),
                    homes: Some(self.homes.clone()),
                    group: self.group(user, login),
                }
            }
            Host::Ssh(host) => {
                let script = format!(
                    "umask 077\nhome=$(mktemp -d \"${{TMPDIR:-/tmp}}/thinktime.XXXXXXXXXX\") || exit 1\n\
                     trap 'cd / && rm -rf \"$home\"' EXIT\ntrap 'exit 129' HUP TERM\ncd \"$home\" || exit 1\n\
                     {files}env -i HOME=\"$home\" TMPDIR=\"$home\" PATH=\"$PATH\" USER=\"$USER\" LOGNAME=\"$USER\" \
                     LANG=C.UTF-8 TERM=dumb {prompt} {shell}\n"
                );
                Command {
                    arguments: host.arguments(user, &["-tt"], &script),
                    // The whole of it: ssh finds its configuration, its agent and itself there.
                    environment: std::env::vars_os().filter_map(text).collect(),
                    homes: None,
                    group: None,
                }
            }
        }
    }

    /// Lines for the shell that make the files of a home.
    fn files(&self, user: u32) -> String {
        let file = |file: &thinktime_script::HomeFile| {
            let text = host::quoted(&self.terminal.filled(&file.text, user));
            let path = host::quoted(&file.path);
            let folder = match file.path.rsplit_once('/') {
                Some((folder, _)) => format!("mkdir -p {} && ", host::quoted(folder)),
                None => String::new(),
            };
            format!("{folder}printf %s {text} > {path} || exit 1\n")
        };
        self.terminal.files.iter().map(file).collect()
    }

    fn step(&self, index: u64) -> (usize, &Step) {
        let place = (index % self.script.interactions.len() as u64) as usize;
        (place, &self.script.interactions[place])
    }

    /// Time between the keys of a line: for each, its place and the time from it to the last [ns].
    fn keys(&self, user: u32, index: u64, line: &str) -> Vec<(usize, u64)> {
        if self.terminal.typing.mean() <= 0.0 {
            return Vec::new();
        }
        let stream = &mut Stream::at(self.seed, user, Part::Typing, index);
        let mut keys: Vec<(usize, u64)> = line.char_indices().map(|(place, _)| (place, 0)).collect();
        let mut before_ns = 0u64;
        // From the last key back, so that each has the time to the end of the line.
        for key in keys.iter_mut().rev().skip(1) {
            before_ns = before_ns.saturating_add((self.terminal.typing.draw(stream) * 1e9) as u64);
            key.1 = before_ns;
        }
        keys
    }
}

impl Work for Typed {
    fn start(
        &self,
        nursery: &Nursery,
        user: u32,
        login: u32,
        terminal: BorrowedFd<'_>,
    ) -> Result<i32, TerminalsError> {
        nursery.execute(user, terminal, &self.command(user, login))
    }

    fn marker(&self) -> Arc<[u8]> {
        self.halves.concat().into_bytes().into()
    }

    fn input(&self, user: u32, index: u64) -> Input {
        if let Some(think) = &self.empty {
            return Input {
                class: Arc::from("empty"),
                line: b":\n".to_vec(),
                think_s: think.draw(&mut Stream::at(self.seed, user, Part::Think, index)),
                keys: Vec::new(),
                ending: Ending::Prompt,
                time_out_ns: None,
            };
        }
        let (place, step) = self.step(index);
        let line = format!("{}\n", self.terminal.filled(&step.types, user));
        let keys = self.keys(user, index, &line);
        let stream = &mut Stream::at(self.seed, user, Part::Think, index);
        let think: &Distribution = self.think.as_ref().unwrap_or(&step.think);
        let think_s = think.draw(stream);
        let ending = match (&step.wait, &self.patterns[place]) {
            (Wait::No, _) => Ending::Nothing,
            (Wait::Text(text), _) => Ending::Text(self.terminal.filled(text, user).into_bytes().into()),
            (Wait::Pattern(_), Some(pattern)) => Ending::Pattern(pattern.clone()),
            (Wait::Silence(seconds), _) => Ending::Silence((seconds * 1e9) as u64),
            (Wait::Prompt | Wait::Pattern(_), _) => Ending::Prompt,
        };
        Input {
            class: Arc::from(step.command.as_str()),
            think_s: think_s + keys.first().map_or(0.0, |(_, before_ns)| *before_ns as f64 * 1e-9),
            line: line.into_bytes(),
            keys,
            ending,
            time_out_ns: step.time_out_s.map(|seconds| (seconds * 1e9) as u64),
        }
    }

    fn reports(&self) -> bool {
        false
    }

    fn next_pass(&self, index: u64) -> u64 {
        index.next_multiple_of(self.script.interactions.len() as u64)
    }

    fn logins_at_once(&self) -> usize {
        match self.host {
            Host::Here => 64,
            // OpenSSH's server refuses logins at random from ten on that have not been authenticated (MaxStartups).
            Host::Ssh(_) => 4,
        }
    }

    fn login_timeout_s(&self) -> f64 {
        self.login_timeout_s
    }

    fn is_measured(&self) -> bool {
        self.host == Host::Here
    }

    fn group(&self, user: u32, login: u32) -> Option<PathBuf> {
        Some(self.groups.as_ref()?.join(format!("user-{user}.{login}")))
    }

    fn host(&self) -> String {
        self.host.to_string()
    }
}

/// 64 random bits in hexadecimal digits. From the kernel and not from the seed: who knows the seed could write them.
fn random_half() -> Result<String, TerminalsError> {
    let mut bits = [0u8; 8];
    let source = File::open("/dev/urandom").and_then(|mut source| source.read_exact(&mut bits));
    source.doing("get a random prompt", "make /dev/urandom readable")?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bits)))
}

/// Environment of a shell on this machine: nothing of the driver's own but where programs are and who it runs as.
fn environment(home: &Path, shell: Shell) -> Vec<(String, String)> {
    let kept =
        |name: &str, default: &str| (name.to_owned(), std::env::var(name).unwrap_or_else(|_| default.into()));
    let home = home.to_string_lossy().into_owned();
    vec![
        kept("PATH", PATH),
        kept("LANG", "C.UTF-8"),
        kept("USER", "user"),
        kept("LOGNAME", "user"),
        ("TMPDIR".into(), home.clone()),
        ("HOME".into(), home),
        ("TERM".into(), "dumb".into()),
        ("SHELL".into(), format!("/bin/{}", shell.name())),
    ]
}
