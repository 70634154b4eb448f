//! A script, complete and checked.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use thinktime_engine::Distribution;

use crate::error::offer;
use crate::source::Source;
use crate::{BUILTIN, ScriptError, demand, read};

/// What a user does, over and over.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Name in results and logs.
    pub name: String,
    /// For people; may be empty.
    pub description: String,
    /// In the order in which they are done.
    pub interactions: Vec<Step>,
    /// Where it was read.
    pub(crate) file: String,
}

/// One interaction: think, type, and wait for the reply or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name of the command, by which results are given.
    pub command: String,
    /// The line typed.
    pub types: String,
    /// Text of the reply that is waited for; none: the user goes on as soon as the line is typed.
    pub wait_for: Option<String>,
    /// Whether the command is one of those that averages are also given without.
    pub heavy: bool,
    /// Before the line is typed.
    pub think: Distribution,
    /// By system and name.
    pub(crate) demands: BTreeMap<String, BTreeMap<String, Distribution>>,
    /// Which of the script's interactions it is, for errors.
    pub(crate) item: String,
    pub(crate) line: Option<usize>,
}

impl Script {
    /// Reads a script; `file` is its name in errors.
    ///
    /// # Errors
    /// It is no script; the error names file, line, item, and what would be right.
    pub fn parse(text: &str, file: &str) -> Result<Script, ScriptError> {
        read::script(&Source::toml(text, file)?)
    }

    /// Reads the name of a built-in script, or what [`Script::to_json`] wrote.
    ///
    /// # Errors
    /// There is no such script, or it is none.
    pub fn from_json(value: &Value) -> Result<Script, ScriptError> {
        let Some(name) = value.as_str() else {
            return read::script(&Source::json(value, "script"));
        };
        match Script::builtin(name) {
            Some(text) => Script::parse(text, name),
            None => Err(ScriptError {
                file: "script".into(),
                line: None,
                item: format!("{name:?}"),
                problem: "there is no such built-in script".into(),
                remedy: offer(name, BUILTIN),
            }),
        }
    }

    /// The script, with nothing left to defaults, in the form of its TOML.
    pub fn to_json(&self) -> Value {
        // Demands are written with each interaction, where nothing is left to commands.
        let commands: Map<String, Value> = self
            .interactions
            .iter()
            .map(|step| (step.command.clone(), json!({"heavy": step.heavy})))
            .collect();
        json!({
            "name": self.name,
            "description": self.description,
            "commands": commands,
            "interaction": self.interactions.iter().map(Step::to_json).collect::<Vec<Value>>(),
        })
    }

    /// For each interaction, its demands on `system` in the order of `names`.
    ///
    /// # Errors
    /// An interaction has not all of them.
    pub fn demands(&self, system: &str, names: &[&str]) -> Result<Vec<Vec<Distribution>>, ScriptError> {
        let of = |step: &Step, name: &&str| {
            step.demand(system, name).ok_or_else(|| ScriptError {
                file: self.file.clone(),
                line: step.line,
                item: step.item.clone(),
                problem: format!("has no demand {name} on {system}"),
                remedy: format!("give it in [commands.{}.{system}]", key(&step.command)),
            })
        };
        self.interactions
            .iter()
            .map(|step| names.iter().map(|name| of(step, name)).collect::<Result<Vec<_>, _>>())
            .collect()
    }

    /// All demands on `system` are there.
    ///
    /// # Errors
    /// An interaction has not all of them.
    pub fn check_demands(&self, system: &str) -> Result<(), ScriptError> {
        let names: Vec<&str> =
            demand::of(system).unwrap_or_default().iter().map(|known| known.name).collect();
        self.demands(system, &names).map(drop)
    }
}

impl Step {
    fn demand(&self, system: &str, name: &str) -> Option<Distribution> {
        self.demands.get(system)?.get(name).cloned()
    }

    fn to_json(&self) -> Value {
        let mut found = Map::from_iter([
            ("command".into(), json!(self.command)),
            ("types".into(), json!(self.types)),
            ("think".into(), short(&self.think)),
        ]);
        match &self.wait_for {
            Some(text) => found.insert("wait_for".into(), json!(text)),
            None => found.insert("wait".into(), json!(false)),
        };
        for (system, demands) in &self.demands {
            let demands: Map<String, Value> =
                demands.iter().map(|(name, demand)| (name.clone(), short(demand))).collect();
            found.insert(system.clone(), demands.into());
        }
        found.into()
    }
}

/// A distribution's description: a bare number where it is always the same.
fn short(distribution: &Distribution) -> Value {
    let table = distribution.to_json();
    match (distribution.fixed(), table.get("value")) {
        // As people write it: what is read and written again looks the same.
        (Some(_), Some(value)) => value.clone(),
        _ => table,
    }
}

/// A key as TOML wants it written.
pub(crate) fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { format!("{name:?}") }
}
