//! What a real terminal needs besides the lines: a shell, programs, files in the user's home, variables, and how fast
//! the user types.
//!
//! All of it is data. Nothing here is executed or expanded by the driver but `{{name}}`, which stands for text.

use std::collections::BTreeMap;
use std::path::{Component, Path};

use serde::{Deserialize, Deserializer, de};
use serde_json::{Map, Value, json};
use thinktime_quantities::Distribution;

use crate::ScriptError;
use crate::error::offer;
use crate::read::filled_line;
use crate::source::{Place, Source};

/// Variable that every script has: the number of the user, from 1.
const USER: &str = "user";
/// Time to wait for a reply where a script does not give one [s].
const TIME_OUT_S: f64 = 60.0;
/// Longest time to wait for a reply, or silence that ends it [s].
const LONGEST_WAIT_S: f64 = 86_400.0;
/// Longest time between two keys [s]: a user who types one key a minute.
const SLOWEST_KEY_S: f64 = 60.0;
/// Most bytes of all files together: they are set up by one command line.
const MOST_BYTES: usize = 32 * 1024;
/// Most programs, files, variables, and values of a variable.
const MOST_ENTRIES: usize = 1000;

/// Shell on the terminal, started without the files that configure it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shell {
    /// The POSIX shell of the system.
    #[default]
    Sh,
    /// GNU Bash.
    Bash,
}

impl Shell {
    /// Name of the program.
    pub fn name(self) -> &'static str {
        match self {
            Shell::Sh => "sh",
            Shell::Bash => "bash",
        }
    }
}

/// What ends the wait for the reply to a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Wait {
    /// Nothing: the user goes on as soon as the line is typed.
    No,
    /// The prompt of the shell.
    Prompt,
    /// This text in the reply.
    Text(String),
    /// A match of this regular expression in the reply.
    Pattern(String),
    /// No output for this time after output has begun [s]. The reply ends with its last output.
    Silence(f64),
}

/// A file that a user's home has at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HomeFile {
    /// Path below the home.
    pub path: String,
    /// Content, in which variables stand.
    pub text: String,
}

/// What a script needs on a real terminal.
#[derive(Clone, Debug, PartialEq)]
pub struct Terminal {
    /// Shell to which the lines are typed.
    pub shell: Shell,
    /// Programs that the host must have.
    pub needs: Vec<String>,
    /// Time between two keys [s]; 0: the line is typed at once.
    pub typing: Distribution,
    /// Time after which a reply is no longer waited for [s].
    pub time_out_s: f64,
    /// Values of each variable: user n has the n-th, and after the last the first again.
    pub variables: BTreeMap<String, Vec<String>>,
    /// Files of a home.
    pub files: Vec<HomeFile>,
}

/// `[terminal]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    #[serde(default)]
    shell: Shell,
    #[serde(default)]
    needs: Vec<String>,
    typing: Option<Distribution>,
    #[serde(default = "time_out", deserialize_with = "seconds")]
    time_out: f64,
    #[serde(default)]
    variables: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    file: Vec<WrittenFile>,
}

/// `[[terminal.file]]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFile {
    #[serde(deserialize_with = "filled_line")]
    path: String,
    text: String,
}

fn time_out() -> f64 {
    TIME_OUT_S
}

/// A time above 0 [s].
pub(crate) fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let seconds = f64::deserialize(from)?;
    if seconds > 0.0 && seconds <= LONGEST_WAIT_S {
        return Ok(seconds);
    }
    Err(de::Error::custom(format!(
        "{seconds} is out of range; give a number above 0, at most {LONGEST_WAIT_S} [s]"
    )))
}

/// [`seconds`] that may be left out.
pub(crate) fn optional_seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    seconds(from).map(Some)
}

/// A line of text that may be left out, and is a regular expression.
pub(crate) fn optional_pattern<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = filled_line(from)?;
    match regex_lite::Regex::new(&text) {
        Ok(pattern) if pattern.is_match("") => Err(de::Error::custom(
            "matches a reply that has not begun; give a pattern that needs a character",
        )),
        Ok(_) => Ok(Some(text)),
        Err(error) => {
            let problem = format!("is not a regular expression: {error}");
            Err(de::Error::custom(problem.replace(['\n', ';'], ",")))
        }
    }
}

impl Written {
    /// The checked form.
    pub(crate) fn check(self, source: &Source<'_>) -> Result<Terminal, ScriptError> {
        let wrong = |key: &str, problem: String, remedy: &str| {
            Err(source.error(&[Place::Key("terminal"), Place::Key(key)], problem, remedy))
        };
        let counts = [self.needs.len(), self.file.len(), self.variables.len()];
        if counts.iter().any(|count| *count > MOST_ENTRIES) {
            let remedy = format!("give at most {MOST_ENTRIES} programs, files and variables");
            return Err(source.error(&[Place::Key("terminal")], "has too many entries", remedy));
        }
        if let Some(name) = self.needs.iter().find(|name| !is_program(name)) {
            let remedy = "give the name of a program, such as \"git\", without a folder";
            return wrong("needs", format!("{name:?} is not the name of a program"), remedy);
        }
        let typing = self.typing.unwrap_or_else(|| Distribution::deterministic(0.0));
        if typing.mean() > SLOWEST_KEY_S {
            let problem = format!("its mean is {} s between two keys", typing.mean());
            return wrong("typing", problem, "give at most 60 [s]: 0.2 is a good typist");
        }
        for (name, values) in &self.variables {
            variable(name, values).map_err(|(problem, remedy)| {
                let place = [Place::Key("terminal"), Place::Key("variables"), Place::Key(name)];
                source.error(&place, problem, remedy)
            })?;
        }
        let files = files(source, self.file, &self.variables)?;
        Ok(Terminal {
            shell: self.shell,
            needs: self.needs,
            typing,
            time_out_s: self.time_out,
            variables: self.variables,
            files,
        })
    }
}

/// True for a name that a shell looks for in its path, and that means nothing else to it.
fn is_program(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
    !name.is_empty() && name.len() <= 100 && !name.starts_with('-') && name.chars().all(allowed)
}

/// Problem and remedy of a variable.
fn variable(name: &str, values: &[String]) -> Result<(), (String, &'static str)> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name == USER || name.is_empty() || name.len() > 100 || !name.chars().all(allowed) {
        let remedy =
            "give a name of letters, digits and _, other than \"user\", which is the number of the user";
        return Err((format!("{name:?} cannot be a variable"), remedy));
    }
    if values.is_empty() || values.len() > MOST_ENTRIES {
        return Err((
            format!("has {} values", values.len()),
            "give 1 to 1000, such as [\"alpha\", \"beta\"]",
        ));
    }
    match values.iter().find(|value| value.chars().any(char::is_control) || value.len() > 1000) {
        Some(value) => Err((
            format!("{value:?} is not a line as a person types it"),
            "leave out line ends and control characters, and give at most 1000 bytes",
        )),
        None => Ok(()),
    }
}

/// The files, each with a path inside the home.
fn files(
    source: &Source<'_>,
    written: Vec<WrittenFile>,
    variables: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<HomeFile>, ScriptError> {
    let mut bytes = 0;
    let mut files = Vec::new();
    for (index, WrittenFile { path, text }) in written.into_iter().enumerate() {
        let place = |key| [Place::Key("terminal"), Place::Key("file"), Place::Index(index), Place::Key(key)];
        if !is_inside(&path) {
            let remedy =
                "give a path below the user's home, such as \"src/main.c\": letters, digits, and . _ - /";
            return Err(source.error(
                &place("path"),
                format!("{path:?} is not a path below the home"),
                remedy,
            ));
        }
        bytes += text.len();
        if bytes > MOST_BYTES {
            let remedy = format!(
                "give at most {MOST_BYTES} bytes for all files together; type a line that makes more"
            );
            return Err(source.error(&place("text"), "is too long", remedy));
        }
        if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
            let remedy = "give lines of text; type a line that makes other content";
            return Err(source.error(&place("text"), "has control characters", remedy));
        }
        known(source, &place("text"), &text, variables)?;
        files.push(HomeFile { path, text });
    }
    Ok(files)
}

/// True for a path that stays below the folder that it starts from, and that means nothing else to a shell.
fn is_inside(path: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let normal = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    path.len() <= 1000
        && path.chars().all(allowed)
        && normal
        && !path.ends_with('/')
        && !path.starts_with('-')
}

/// Checks that every `{{name}}` in `text` is a variable.
pub(crate) fn known(
    source: &Source<'_>,
    place: &[Place<'_>],
    text: &str,
    variables: &BTreeMap<String, Vec<String>>,
) -> Result<(), ScriptError> {
    let unknown = |name: &&str| *name != USER && !variables.contains_key(*name);
    match Pieces(text).filter_map(|piece| piece.err()).find(unknown) {
        None => Ok(()),
        Some(name) => {
            let names: Vec<&str> = [USER].into_iter().chain(variables.keys().map(String::as_str)).collect();
            let remedy = format!("{}; or add it to [terminal.variables]", offer(name, &names));
            Err(source.error(place, format!("there is no variable {name:?}"), remedy))
        }
    }
}

/// Parts of a text: text as it is, or the name between `{{` and `}}` as an error.
struct Pieces<'a>(&'a str);

impl<'a> Iterator for Pieces<'a> {
    type Item = Result<&'a str, &'a str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        // Without an end, `{{` is text: shells and awk have a use for it.
        let name =
            |text: &'a str| text.strip_prefix("{{")?.split_once("}}").filter(|(name, _)| is_name(name));
        if let Some((name, rest)) = name(self.0) {
            self.0 = rest;
            return Some(Err(name));
        }
        let starts = self.0.match_indices("{{").map(|(at, _)| at).filter(|at| *at > 0);
        let end = starts.into_iter().find(|at| name(&self.0[*at..]).is_some()).unwrap_or(self.0.len());
        let (text, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(Ok(text))
    }
}

/// True for what can be the name of a variable.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl Terminal {
    /// `text` as user number `user`, from 1, has it: values in place of variables.
    pub fn filled(&self, text: &str, user: u32) -> String {
        let value = |name: &str| match self.variables.get(name) {
            Some(values) => values[(user.max(1) as usize - 1) % values.len()].clone(),
            None => user.to_string(),
        };
        Pieces(text).map(|piece| piece.map_or_else(value, str::to_owned)).collect()
    }

    /// The table in the form of its TOML, with all defaults written out.
    pub(crate) fn to_json(&self) -> Value {
        let files: Vec<Value> =
            self.files.iter().map(|file| json!({"path": file.path, "text": file.text})).collect();
        json!({
            "shell": self.shell.name(),
            "needs": self.needs,
            "typing": self.typing,
            "time_out": self.time_out_s,
            "variables": self.variables,
            "file": files,
        })
    }
}

impl Wait {
    /// Adds the wait to an interaction in the form of its TOML.
    pub(crate) fn add_to(&self, table: &mut Map<String, Value>) {
        let (key, value) = match self {
            Wait::No => ("wait", json!(false)),
            Wait::Prompt => ("wait", json!(true)),
            Wait::Text(text) => ("wait_for", json!(text)),
            Wait::Pattern(text) => ("wait_pattern", json!(text)),
            Wait::Silence(seconds) => ("wait_silence", json!(seconds)),
        };
        table.insert(key.into(), value);
    }
}
