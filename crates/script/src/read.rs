//! From the tree of a text to a script: strictly, for a misspelt key passed over is a wrong experiment.

use std::collections::BTreeMap;

use thinktime_engine::Distribution;

use crate::demand;
use crate::error::offer;
use crate::node::{Content, Node};
use crate::script::key;
use crate::table::{Field, TOP, Table};
use crate::{Script, ScriptError, Step};

/// Most interactions of a script.
const MOST_INTERACTIONS: usize = 10_000;

const KEYS: [&str; 5] = ["name", "description", "think", "commands", "interaction"];
const INTERACTION_KEYS: [&str; 6] = ["command", "types", "wait_for", "wait", "think", "repeat"];

type Demands = BTreeMap<String, BTreeMap<String, Distribution>>;

/// A command as described.
struct Command {
    heavy: bool,
    demands: Demands,
}

/// The script that a tree describes; `file` is its name in errors.
pub fn script(node: &Node, file: &str) -> Result<Script, ScriptError> {
    let top = Table::of(node, file, TOP)?;
    top.check_keys(&KEYS)?;
    let name = name(&top)?;
    let description = match top.field("description") {
        Some(field) => field.text()?.to_owned(),
        None => String::new(),
    };
    let think = top.field("think").map(|field| field.think()).transpose()?;
    let commands = commands(&top.needed("commands", "a table for each command, such as [commands.edm]")?)?;
    let interactions = interactions(&top, &commands, think.as_ref())?;
    let script = Script { name, description, interactions, file: file.into() };
    for system in demand::systems() {
        // Who states demands on a system states them for every interaction: what is forgotten shows now.
        if script.interactions.iter().any(|step| step.demands.contains_key(system)) {
            script.check_demands(system)?;
        }
    }
    Ok(script)
}

fn name(top: &Table<'_>) -> Result<String, ScriptError> {
    const EXAMPLE: &str = "a name, such as \"mftn3\"";
    let field = top.needed("name", EXAMPLE)?;
    match field.line_of_text()? {
        empty if empty.trim().is_empty() => Err(field.error("is empty", format!("give {EXAMPLE}"))),
        name => Ok(name),
    }
}

fn commands(field: &Field<'_>) -> Result<BTreeMap<String, Command>, ScriptError> {
    let all = Table::of(field.node, field.file, "commands")?;
    let mut found = BTreeMap::new();
    for entry in all.entries {
        let item = format!("command {:?}", entry.key);
        let table = Table::of(&entry.node, field.file, &item)?.at(entry.line);
        table.check_keys(&[&["heavy"], demand::systems().as_slice()].concat())?;
        let heavy = match table.field("heavy") {
            Some(heavy) => heavy.flag()?,
            None => false,
        };
        found.insert(entry.key.clone(), Command { heavy, demands: demands(&table)? });
    }
    Ok(found)
}

/// The demands by system of a command or an interaction, as far as they are given.
fn demands(table: &Table<'_>) -> Result<Demands, ScriptError> {
    let mut found = Demands::new();
    for (system, known) in demand::SYSTEMS {
        let Some(field) = table.field(system) else { continue };
        let item = format!("{}, {system}", table.item);
        let on_system = Table::of(field.node, field.file, &item)?.at(field.line);
        on_system.check_keys(&known.iter().map(|demand| demand.name).collect::<Vec<_>>())?;
        let mut given = BTreeMap::new();
        for demand in *known {
            if let Some(field) = on_system.field(demand.name) {
                given.insert(demand.name.to_owned(), field.demand(demand)?);
            }
        }
        found.insert((*system).to_owned(), given);
    }
    Ok(found)
}

fn interactions(
    top: &Table<'_>,
    commands: &BTreeMap<String, Command>,
    think: Option<&Distribution>,
) -> Result<Vec<Step>, ScriptError> {
    const REMEDY: &str =
        "give one [[interaction]] or more, each with command, types, and wait_for or wait = false";
    let field = top.needed("interaction", "an [[interaction]] or more")?;
    let Content::List(list) = &field.node.content else {
        return Err(field.error(format!("{} was given", field.node.what()), REMEDY));
    };
    let mut steps = Vec::new();
    for (index, node) in list.iter().enumerate() {
        let (step, times) = interaction(node, field.file, index + 1, commands, think)?;
        if steps.len() + times > MOST_INTERACTIONS {
            let problem = "there are too many interactions";
            return Err(field.error(problem, format!("give at most {MOST_INTERACTIONS}, repeats counted")));
        }
        steps.extend(std::iter::repeat_n(step, times));
    }
    if steps.is_empty() {
        return Err(field.error("there are none", REMEDY));
    }
    Ok(steps)
}

/// An interaction, and how often it is done.
fn interaction(
    node: &Node,
    file: &str,
    number: usize,
    commands: &BTreeMap<String, Command>,
    think: Option<&Distribution>,
) -> Result<(Step, usize), ScriptError> {
    let item = format!("interaction {number}");
    let table = Table::of(node, file, &item)?;
    table.check_keys(&[INTERACTION_KEYS.as_slice(), demand::systems().as_slice()].concat())?;
    let name = table.needed("command", "the name of one of the commands")?;
    let command = name.line_of_text()?;
    let Some(known) = commands.get(&command) else {
        let names: Vec<&str> = commands.keys().map(String::as_str).collect();
        let remedy = format!("{}; or add [commands.{}]", offer(&command, &names), key(&command));
        return Err(name.error(format!("there is no command {command:?}"), remedy));
    };
    let item = format!("interaction {number} ({command})");
    let table = Table { item: &item, ..table };
    let types = table.needed("types", "the line that the user types")?.line_of_text()?;
    let think = match (table.field("think"), think) {
        (Some(own), _) => own.think()?,
        (None, Some(general)) => general.clone(),
        (None, None) => {
            let remedy = "give it here, or at the top of the script for all interactions";
            return Err(table.error("has no think time", remedy));
        }
    };
    let step = Step {
        wait_for: wait_for(&table)?,
        types,
        heavy: known.heavy,
        think,
        demands: merged(&known.demands, demands(&table)?),
        command,
        line: table.line,
        item: item.clone(),
    };
    let times = table.field("repeat").map_or(Ok(1), |field| field.times())?;
    Ok((step, times))
}

/// The text that is waited for, or none where it is said that nothing is.
fn wait_for(table: &Table<'_>) -> Result<Option<String>, ScriptError> {
    const REMEDY: &str =
        "give wait_for = \"text of the reply\", or wait = false for a user who goes on at once";
    let waits = match table.field("wait") {
        Some(wait) => Some((wait.flag()?, wait)),
        None => None,
    };
    match (table.field("wait_for"), waits) {
        (Some(text), Some((false, _))) => {
            Err(text.error("is given together with wait = false", "leave one of them out"))
        }
        (Some(text), _) => match text.line_of_text()? {
            empty if empty.trim().is_empty() => {
                Err(text.error("is empty: the user waits for nothing", REMEDY))
            }
            waited => Ok(Some(waited)),
        },
        (None, Some((false, _))) => Ok(None),
        (None, Some((true, wait))) => Err(wait.error("does not say what is waited for", REMEDY)),
        (None, None) => Err(table.error("waits for nothing", REMEDY)),
    }
}

/// A command's demands with those of an interaction in their places, and what neither says.
fn merged(command: &Demands, own: Demands) -> Demands {
    let mut found = command.clone();
    for (system, demands) in own {
        found.entry(system).or_default().extend(demands);
    }
    for (system, demands) in &mut found {
        for known in demand::of(system).unwrap_or_default() {
            if let Some(value) = known.default {
                demands.entry(known.name.into()).or_insert_with(|| Distribution::deterministic(value));
            }
        }
    }
    found
}
