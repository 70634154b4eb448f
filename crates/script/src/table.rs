//! Tables of a script and the values in them, with errors that name them.

use serde_json::Value;
use thinktime_engine::{Distribution, DistributionError};

use crate::ScriptError;
use crate::demand::Demand;
use crate::error::offer;
use crate::node::{Content, Entry, Node};

/// What the outermost table is called.
pub const TOP: &str = "the script";
/// Longest name, or line typed or waited for [characters].
const LONGEST_LINE: usize = 1000;
/// Most times that an interaction is repeated.
const MOST_TIMES: u64 = 1000;

/// A table of the script, with its name in errors.
pub struct Table<'a> {
    pub file: &'a str,
    pub item: &'a str,
    pub line: Option<usize>,
    pub entries: &'a [Entry],
}

impl<'a> Table<'a> {
    pub fn of(node: &'a Node, file: &'a str, item: &'a str) -> Result<Table<'a>, ScriptError> {
        let table = |entries| Table { file, item, line: node.line, entries };
        match &node.content {
            Content::Table(entries) => Ok(table(entries)),
            _ => Err(table(&[]).error(format!("{} was given", node.what()), "give a table")),
        }
    }

    /// The same, at the line of its key.
    pub fn at(self, line: Option<usize>) -> Table<'a> {
        Table { line: line.or(self.line), ..self }
    }

    pub fn error(&self, problem: impl Into<String>, remedy: impl Into<String>) -> ScriptError {
        ScriptError {
            file: self.file.into(),
            line: self.line,
            item: self.item.into(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    pub fn check_keys(&self, known: &[&str]) -> Result<(), ScriptError> {
        match self.entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(entry) => Err(ScriptError {
                line: entry.line,
                ..self.error(format!("{:?} is no key of it", entry.key), offer(&entry.key, known))
            }),
        }
    }

    pub fn field(&self, name: &'static str) -> Option<Field<'a>> {
        let entry = self.entries.iter().find(|entry| entry.key == name)?;
        let item = if self.item == TOP { name.to_owned() } else { format!("{}: {name}", self.item) };
        Some(Field { file: self.file, item, line: entry.line, node: &entry.node })
    }

    pub fn needed(&self, name: &'static str, what: &str) -> Result<Field<'a>, ScriptError> {
        self.field(name).ok_or_else(|| self.error(format!("{name} is missing"), format!("give {what}")))
    }
}

/// A value of a table.
pub struct Field<'a> {
    pub file: &'a str,
    pub item: String,
    pub line: Option<usize>,
    pub node: &'a Node,
}

impl Field<'_> {
    pub fn error(&self, problem: impl Into<String>, remedy: impl Into<String>) -> ScriptError {
        ScriptError {
            file: self.file.into(),
            line: self.line.or(self.node.line),
            item: self.item.clone(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    fn wrong(&self, remedy: &str) -> ScriptError {
        self.error(format!("{} was given", self.node.what()), remedy)
    }

    fn scalar(&self) -> Option<&Value> {
        match &self.node.content {
            Content::Scalar(value) => Some(value),
            _ => None,
        }
    }

    pub fn text(&self) -> Result<&str, ScriptError> {
        self.scalar().and_then(Value::as_str).ok_or_else(|| self.wrong("give text in quotation marks"))
    }

    /// Text that fits on a line of a terminal; it may be empty.
    pub fn line_of_text(&self) -> Result<String, ScriptError> {
        let text = self.text()?;
        if text.chars().any(char::is_control) {
            return Err(self.error("is not one line of text", "leave out line ends and control characters"));
        }
        if text.chars().count() > LONGEST_LINE {
            let problem = format!("has more than {LONGEST_LINE} characters");
            return Err(self.error(problem, "give a line as a person types it"));
        }
        Ok(text.into())
    }

    pub fn flag(&self) -> Result<bool, ScriptError> {
        self.scalar().and_then(Value::as_bool).ok_or_else(|| self.wrong("give true or false"))
    }

    /// How often something is repeated.
    pub fn times(&self) -> Result<usize, ScriptError> {
        self.scalar()
            .and_then(Value::as_u64)
            .filter(|times| (1..=MOST_TIMES).contains(times))
            .map(|times| times as usize)
            .ok_or_else(|| self.wrong(&format!("give a whole number from 1 to {MOST_TIMES}")))
    }

    pub fn think(&self) -> Result<Distribution, ScriptError> {
        self.distribution("s")
    }

    pub fn demand(&self, demand: &Demand) -> Result<Distribution, ScriptError> {
        let found = self.distribution(demand.unit)?;
        // Rounding of weights must not make a whole out of range.
        let within = found.cumulative(demand.high) > 1.0 - 1e-9;
        if found.mean() >= demand.low && within {
            return Ok(found);
        }
        let problem = match found.fixed() {
            Some(_) => format!("{} was given", self.node.what()),
            None if within => format!("its mean is {}", found.mean()),
            None => format!("it can be above {}", demand.high),
        };
        let unit = if demand.unit.is_empty() { String::new() } else { format!(" [{}]", demand.unit) };
        Err(self
            .error(problem, format!("give {} to {}{unit}: {}", demand.low, demand.high, demand.description)))
    }

    fn distribution(&self, unit: &str) -> Result<Distribution, ScriptError> {
        const REMEDY: &str = "give a number that is not negative, a short form such as exponential(mean=20), or \
                              a table such as {kind = \"exponential\", mean = 20}";
        let value = self.node.to_json().map_err(|node| {
            let Content::Other { text, what } = &node.content else { return self.wrong(REMEDY) };
            ScriptError { line: node.line, ..self.error(format!("{text} is {what}"), REMEDY) }
        })?;
        if value.as_f64().is_some_and(|number| number < 0.0) {
            return Err(self.error(format!("{value} is negative"), REMEDY));
        }
        Distribution::parse(&value).map_err(|DistributionError { given, problem, allowed }| {
            // The engine's distributions are of times; here they may be of pages.
            let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
            self.error(format!("{given}: {problem}"), allowed.replace(" [s]", &unit))
        })
    }
}
