//! A script, complete and checked: interactions with all their demands, repeats written out.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use thinktime_engine::Distribution;

use crate::source::key;
use crate::terminal::{Terminal, Wait};
use crate::{ScriptError, demand};

/// Interactions that a user repeats in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// Name in results and logs.
    pub name: String,
    /// Description for readers; may be empty.
    pub description: String,
    /// What it needs on a real terminal; `None` for a script of simulated users alone.
    pub terminal: Option<Terminal>,
    /// Interactions in their order.
    pub interactions: Vec<Step>,
    /// Name of the file or built-in script, for errors.
    pub(crate) file: String,
}

/// One interaction: think, type, and wait for the reply or not.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Name of the command, by which results are given.
    pub command: String,
    /// The line typed.
    pub types: String,
    /// What ends the wait for the reply; with `Wait::No` the next think time begins as soon as the line is typed.
    pub wait: Wait,
    /// Time after which the reply is no longer waited for on a real terminal [s].
    pub time_out_s: Option<f64>,
    /// True for a command whose interactions some averages leave out, as the studies of the 1970s did.
    pub heavy: bool,
    /// Think time before the line is typed [s].
    pub think: Distribution,
    /// Demands by system and name.
    pub(crate) demands: BTreeMap<String, BTreeMap<String, Distribution>>,
    /// Place in the script, for errors.
    pub(crate) item: String,
    /// Line in the file, for errors.
    pub(crate) line: Option<usize>,
}

impl Script {
    /// The script as a JSON tree in the form of its TOML, with all defaults written out.
    pub fn to_json(&self) -> Value {
        // Demands are written with each interaction, so that the commands need none.
        let commands: Map<String, Value> = self
            .interactions
            .iter()
            .map(|step| (step.command.clone(), json!({"heavy": step.heavy})))
            .collect();
        let mut table = json!({
            "name": self.name,
            "description": self.description,
            "commands": commands,
            "interaction": self.interactions.iter().map(Step::to_json).collect::<Vec<Value>>(),
        });
        if let Some(terminal) = &self.terminal {
            table["terminal"] = terminal.to_json();
        }
        table
    }

    /// For each interaction, its demands on `system` in the order of `names`.
    ///
    /// # Errors
    /// An interaction lacks one of them.
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

    /// Checks that every interaction has all demands on `system`.
    ///
    /// # Errors
    /// An interaction lacks one of them.
    pub fn check_demands(&self, system: &str) -> Result<(), ScriptError> {
        let names: Vec<&str> =
            demand::of(system).unwrap_or_default().iter().map(|demand| demand.name).collect();
        self.demands(system, &names).map(drop)
    }
}

impl Step {
    /// True if the user waits for the reply: such an interaction has a response time.
    pub fn waits(&self) -> bool {
        self.wait != Wait::No
    }

    /// The demand `name` on `system`, if there is one.
    fn demand(&self, system: &str, name: &str) -> Option<Distribution> {
        self.demands.get(system)?.get(name).cloned()
    }

    /// The interaction in the form of its TOML, with every demand.
    fn to_json(&self) -> Value {
        let mut table = Map::from_iter([
            ("command".into(), json!(self.command)),
            ("types".into(), json!(self.types)),
            ("think".into(), short(&self.think)),
        ]);
        self.wait.add_to(&mut table);
        if let Some(seconds) = self.time_out_s {
            table.insert("time_out".into(), json!(seconds));
        }
        for (system, demands) in &self.demands {
            let demands: Map<String, Value> =
                demands.iter().map(|(name, demand)| (name.clone(), short(demand))).collect();
            table.insert(system.clone(), demands.into());
        }
        table.into()
    }
}

/// Description of a distribution: a bare number if it is deterministic.
fn short(distribution: &Distribution) -> Value {
    let table = distribution.to_json();
    match (distribution.fixed(), table.get("value")) {
        // As people write it: a script that is read and written again looks the same.
        (Some(_), Some(value)) => value.clone(),
        _ => table,
    }
}
