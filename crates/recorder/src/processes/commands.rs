//! Names of commands, and what each of a user's commands used, in bounded memory.
//!
//! A command has the name of its program, or of the script that an interpreter runs. Arguments may be private: they
//! are looked at only for the name of the script, unless they are asked for.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::usage::Usage;
use crate::proc::process_stat::Name;

/// Row of the commands that have none.
pub const OTHER: &str = "(other)";
/// Commands of one user that are kept although none of their processes is alive. Of twice as many, the smaller half
/// is joined.
const ENDED_MAX: usize = 256;
/// Longest name with arguments [byte].
const ARGUMENTS_MAX: usize = 200;

/// What the processes of one name used, and how many they are.
#[derive(Clone, Debug, Default)]
pub struct Command {
    /// Usage in the last interval.
    pub usage: Usage,
    /// Processes alive.
    pub processes: u64,
    /// Memory of the processes alive [page]; shared pages count once for each process.
    pub resident_pages: u64,
    /// Processes that began in the last interval.
    pub started: u64,
    /// Processes that ended in it.
    pub ended: u64,
    /// Time from their start to their end [ns].
    pub lifetime_ns: u64,
}

impl Command {
    /// Adds the amounts and processes of another one.
    pub fn add(&mut self, other: &Command) {
        self.usage += other.usage;
        self.processes += other.processes;
        self.resident_pages += other.resident_pages;
        self.started += other.started;
        self.ended += other.ended;
        self.lifetime_ns = self.lifetime_ns.saturating_add(other.lifetime_ns);
    }

    /// True if there is nothing to say of the last interval.
    pub fn is_idle(&self) -> bool {
        self.usage.is_zero() && self.started == 0 && self.ended == 0
    }
}

/// The commands of one user.
#[derive(Clone, Debug, Default)]
pub struct Commands {
    by_name: BTreeMap<Arc<str>, Command>,
    /// Those of which no process is alive.
    without_process: usize,
    /// Sum of those that were joined in the last interval.
    joined: Command,
}

impl Commands {
    /// The command of this name, for usage.
    pub(super) fn used(&mut self, name: &Arc<str>) -> &mut Command {
        if !self.by_name.contains_key(name) {
            if self.without_process >= 2 * ENDED_MAX {
                self.join();
            }
            self.without_process += 1;
        }
        self.by_name.entry(Arc::clone(name)).or_default()
    }

    pub(super) fn enter(&mut self, name: &Arc<str>, pages: u64) {
        let command = self.used(name);
        command.processes += 1;
        command.resident_pages += pages;
        self.without_process -= usize::from(command.processes == 1);
    }

    pub(super) fn leave(&mut self, name: &Arc<str>, pages: u64) {
        let Some(command) = self.by_name.get_mut(name) else { return };
        self.without_process += usize::from(command.processes == 1);
        command.processes = command.processes.saturating_sub(1);
        command.resident_pages = command.resident_pages.saturating_sub(pages);
    }

    /// Begins the next interval.
    pub(super) fn begin(&mut self) {
        self.joined = Command::default();
        self.without_process = 0;
        self.by_name.retain(|_, command| {
            let (processes, resident_pages) = (command.processes, command.resident_pages);
            *command = Command { processes, resident_pages, ..Command::default() };
            processes > 0
        });
    }

    /// Joins the smaller half of the commands without a process, so that any number of names takes bounded memory
    /// and every sum stays exact.
    fn join(&mut self) {
        let size = |command: &Command| command.usage.exact_ns;
        let without = self.by_name.iter().filter(|(_, command)| command.processes == 0);
        let mut by_size: Vec<_> = without.map(|(name, command)| (size(command), Arc::clone(name))).collect();
        by_size.sort_unstable();
        by_size.truncate(by_size.len().saturating_sub(ENDED_MAX));
        for (_, name) in by_size {
            if let Some(command) = self.by_name.remove(&name) {
                self.joined.add(&command);
                self.without_process -= 1;
            }
        }
    }

    /// The commands that did something in the last interval, by name, and the sum of the others that did.
    pub fn active(&self) -> (impl Iterator<Item = (&Arc<str>, &Command)>, &Command) {
        (self.by_name.iter().filter(|(_, command)| !command.is_idle()), &self.joined)
    }
}

/// The name of a program, from that of the kernel.
///
/// Kernel threads have a name each for every CPU and kind of work: `kworker/0:1H` is `kworker`.
pub fn program(name: &Name, is_kernel_thread: bool) -> Arc<str> {
    let bytes = name.bytes();
    let bytes = match bytes.iter().position(|byte| matches!(byte, b'/' | b':')) {
        Some(end) if is_kernel_thread && end > 0 => &bytes[..end],
        _ => bytes,
    };
    Arc::from(String::from_utf8_lossy(bytes))
}

/// Options of an interpreter that have a value of their own in the next argument, and those after which no script
/// comes.
struct Interpreter {
    name: &'static str,
    with_value: &'static [&'static str],
    without_script: &'static [&'static str],
    /// The option whose value names a module that is run as a script.
    module: Option<&'static str>,
}

const fn shell(name: &'static str) -> Interpreter {
    let with_value = &["-o", "+o", "-O", "+O", "--rcfile", "--init-file"];
    Interpreter { name, with_value, without_script: &["-c", "-s"], module: None }
}

const INTERPRETERS: [Interpreter; 11] = [
    Interpreter {
        name: "python",
        with_value: &["-W", "-X", "-Q"],
        without_script: &["-c", "-"],
        module: Some("-m"),
    },
    Interpreter { name: "pypy", with_value: &["-W", "-X"], without_script: &["-c", "-"], module: Some("-m") },
    Interpreter { name: "perl", with_value: &["-I"], without_script: &["-e", "-E", "-"], module: None },
    Interpreter { name: "ruby", with_value: &["-I", "-r", "-C"], without_script: &["-e", "-"], module: None },
    Interpreter {
        name: "node",
        with_value: &["-r", "--require", "--import", "-C", "--conditions"],
        without_script: &["-e", "--eval", "-p", "--print", "-"],
        module: None,
    },
    Interpreter {
        name: "php",
        with_value: &["-c", "-d", "-z"],
        without_script: &["-r", "-B", "-R", "-S"],
        module: None,
    },
    shell("bash"),
    shell("dash"),
    shell("zsh"),
    shell("ksh"),
    shell("sh"),
];

/// True for the name of a program that runs scripts, with or without a version: `python3.11`.
pub fn is_interpreter(program: &str) -> bool {
    interpreter(program).is_some()
}

fn interpreter(program: &str) -> Option<&'static Interpreter> {
    let bare = program.trim_end_matches(|character: char| character.is_ascii_digit() || character == '.');
    INTERPRETERS.iter().find(|interpreter| interpreter.name == bare)
}

/// Name of the script that `program` runs with these arguments, whose first is its own name; `None` where it runs
/// none, or where that is not certain.
pub fn script(program: &str, cmdline: &[u8]) -> Option<Arc<str>> {
    let interpreter = interpreter(program)?;
    // A complete list ends with a zero byte. The last item of one that was cut may be cut too.
    let mut arguments = cmdline.split(|byte| *byte == 0).skip(1);
    while let Some(argument) = arguments.next() {
        let text = std::str::from_utf8(argument).ok()?;
        if interpreter.module == Some(text) {
            return named(arguments.next()?);
        }
        if interpreter.without_script.contains(&text) {
            return None;
        }
        if interpreter.with_value.contains(&text) {
            arguments.next();
        } else if text == "--" {
            return named(arguments.next()?);
        } else if text.starts_with("--") {
            // The next argument may be its value: then it is nobody's business.
            if !text.contains('=') {
                return None;
            }
        } else if !text.starts_with(['-', '+']) {
            return named(argument);
        } else if !is_harmless(interpreter, text) {
            return None;
        }
    }
    None
}

/// True for single letters together (`-eu`), none of which ends the options or has a value.
fn is_harmless(interpreter: &Interpreter, text: &str) -> bool {
    let letters = &text[1..];
    let is_special = |letter: char| {
        let option = |option: &&&str| option.len() == 2 && option.ends_with(letter);
        interpreter.without_script.iter().any(|other| option(&other))
            || interpreter.with_value.iter().any(|other| option(&other))
            || interpreter.module.is_some_and(|other| option(&&other))
    };
    // With a value behind it, as in -Wignore, an option stands alone.
    let first_has_value =
        interpreter.with_value.iter().any(|other| other.len() == 2 && text.starts_with(other));
    first_has_value || letters.chars().all(|letter| letter.is_ascii_alphabetic() && !is_special(letter))
}

fn named(path: &[u8]) -> Option<Arc<str>> {
    let base = path.rsplit(|byte| *byte == b'/').next().filter(|base| !base.is_empty())?;
    Some(Arc::from(String::from_utf8_lossy(&base[..base.len().min(ARGUMENTS_MAX)])))
}

/// The whole command line, cut where it is long; `None` for a process that has none.
pub fn line(cmdline: &[u8]) -> Option<Arc<str>> {
    let words: Vec<_> = cmdline.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let joined = words.join(&b' ');
    let cut = &joined[..joined.len().min(ARGUMENTS_MAX)];
    (!cut.is_empty()).then(|| Arc::from(String::from_utf8_lossy(cut)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn script_of(words: &str) -> Option<String> {
        let cmdline = words.replace(' ', "\0") + "\0";
        let program = words.split(' ').next().unwrap();
        script(program, cmdline.as_bytes()).map(|name| name.to_string())
    }

    #[test]
    fn scripts_have_their_own_names_and_arguments_stay_private() {
        for (line, expected) in [
            ("python3.11 -u /opt/app/serve.py --token secret", Some("serve.py")),
            ("python3 -W ignore -Xdev job.py secret", Some("job.py")),
            ("python3 -m http.server 80", Some("http.server")),
            ("python3 -c import(secret)", None),
            ("python3 -Ic secret", None),
            ("python3 - secret", None),
            ("python3", None),
            ("bash -eu -o pipefail ./build.sh secret", Some("build.sh")),
            ("bash -lc secret", None),
            ("bash --rcfile secret x.sh", Some("x.sh")),
            ("bash --unknown secret", None),
            ("sh -- run secret", Some("run")),
            ("perl -w -I lib tool.pl", Some("tool.pl")),
            ("perl -ne secret file", None),
            ("node --max-old-space-size=4096 server.js", Some("server.js")),
            ("node --require secret server.js", Some("server.js")),
            ("ruby -Ilib task.rb", Some("task.rb")),
            ("less secret", None),
        ] {
            assert_eq!(script_of(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn kernel_threads_are_one_command_for_all_cpus() {
        assert_eq!(&*program(&Name::new(b"kworker/0:1H"), true), "kworker");
        assert_eq!(&*program(&Name::new(b"a/b:c"), false), "a/b:c");
        assert_eq!(&*program(&Name::new(b"more than fifteen"), false), "more than fifte");
    }

    #[test]
    fn any_number_of_names_takes_bounded_memory_and_sums_stay_exact() {
        let mut commands = Commands::default();
        commands.enter(&Arc::from("lasting"), 7);
        for index in 0..100_000u64 {
            let usage = Usage { exact_ns: index, faults_minor: 1, ..Usage::default() };
            commands.used(&Arc::from(format!("name {index}"))).usage += usage;
        }
        let (active, joined) = commands.active();
        let mut sum = joined.clone();
        let mut count = 0;
        let mut largest = 0;
        for (_, command) in active {
            sum.add(command);
            count += 1;
            largest = largest.max(command.usage.exact_ns);
        }
        assert!(count <= 2 * ENDED_MAX, "{count}");
        assert_eq!((sum.usage.exact_ns, sum.usage.faults_minor), (99_999 * 50_000, 100_000));
        assert_eq!(largest, 99_999);
        commands.begin();
        assert_eq!(commands.by_name.keys().map(|name| &**name).collect::<Vec<_>>(), ["lasting"]);
        commands.leave(&Arc::from("lasting"), 7);
        commands.begin();
        assert!(commands.by_name.is_empty());
    }

    proptest! {
        #[test]
        fn noise_never_panics(cmdline in proptest::collection::vec(any::<u8>(), 0..60)) {
            for interpreter in INTERPRETERS {
                script(interpreter.name, &cmdline);
            }
            line(&cmdline);
        }
    }
}
