//! From a TOML text or a JSON tree to a script: deserialised strictly, then completed and checked.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, de};
use thinktime_engine::Distribution;
use thinktime_quantities as quantities;

use crate::demand::{self, Demand};
use crate::error::offer;
use crate::script::key;
use crate::source::{Place, Source};
use crate::{Script, ScriptError, Step};

/// Longest name, or line typed or waited for [characters].
// Limits against mistakes, not against users: a script beyond them is a generated one gone wrong.
const LONGEST_LINE: usize = 1000;
/// Most times that an interaction is repeated.
const MOST_TIMES: u64 = 1000;
/// Most interactions of a script, repeats counted.
const MOST_INTERACTIONS: usize = 10_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    #[serde(deserialize_with = "filled_line")]
    name: String,
    #[serde(default)]
    description: String,
    think: Option<quantities::Distribution>,
    commands: BTreeMap<String, Command>,
    interaction: Vec<Interaction>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    #[serde(default)]
    heavy: bool,
    multics: Option<Given>,
    ctss: Option<Given>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Interaction {
    #[serde(deserialize_with = "line")]
    command: String,
    #[serde(deserialize_with = "line")]
    types: String,
    #[serde(default, deserialize_with = "optional_line")]
    wait_for: Option<String>,
    wait: Option<bool>,
    think: Option<quantities::Distribution>,
    #[serde(default = "once", deserialize_with = "times")]
    repeat: usize,
    multics: Option<Given>,
    ctss: Option<Given>,
}

/// Demands on one system, as far as they are given.
type Given = BTreeMap<String, quantities::Distribution>;
/// Demands by system and name.
type Demands = BTreeMap<String, BTreeMap<String, Distribution>>;

/// Text that fits on a line of a terminal; it may be empty.
fn line<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.chars().any(char::is_control) {
        let problem = "is not one line of text; leave out line ends and control characters";
        return Err(de::Error::custom(problem));
    }
    if text.chars().count() > LONGEST_LINE {
        let problem = format!("has more than {LONGEST_LINE} characters; give a line as a person types it");
        return Err(de::Error::custom(problem));
    }
    Ok(text)
}

fn filled_line<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = line(from)?;
    if text.trim().is_empty() { Err(de::Error::custom("is empty")) } else { Ok(text) }
}

fn optional_line<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    filled_line(from).map(Some)
}

fn times<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    let times = u64::deserialize(from)?;
    if (1..=MOST_TIMES).contains(&times) {
        return Ok(times as usize);
    }
    Err(de::Error::custom(format!("{times} is out of range; give a whole number from 1 to {MOST_TIMES}")))
}

fn once() -> usize {
    1
}

/// The script in `source`.
pub fn script(source: &Source<'_>) -> Result<Script, ScriptError> {
    let document: Document = source.deserialize(remedy)?;
    let mut commands = BTreeMap::new();
    for (name, command) in document.commands {
        let demands = demands(
            source,
            &[Place::Key("commands"), Place::Key(&name)],
            [("multics", command.multics), ("ctss", command.ctss)],
        )?;
        commands.insert(name, (command.heavy, demands));
    }
    let think = document.think.map(Distribution::from);
    let mut interactions = Vec::new();
    for (index, interaction) in document.interaction.into_iter().enumerate() {
        let times = interaction.repeat;
        // Before they are made: a small file can ask for millions.
        if interactions.len() + times > MOST_INTERACTIONS {
            let remedy = format!("give at most {MOST_INTERACTIONS}, repeats counted");
            return Err(source.error(&[Place::Key("interaction")], "there are too many", remedy));
        }
        let step = step(source, index, interaction, &commands, think.as_ref())?;
        interactions.extend(std::iter::repeat_n(step, times));
    }
    if interactions.is_empty() {
        return Err(source.error(&[Place::Key("interaction")], "there are none", remedy("interaction")));
    }
    let script = Script {
        name: document.name,
        description: document.description,
        interactions,
        file: source.file.into(),
    };
    for (system, _) in demand::SYSTEMS {
        // A script with demands on a system for some interactions needs them for all: show now what is forgotten.
        if script.interactions.iter().any(|step| step.demands.contains_key(*system)) {
            script.check_demands(system)?;
        }
    }
    Ok(script)
}

/// What would be right for the value of `key`.
fn remedy(key: &str) -> &'static str {
    match key {
        "name" => "give a name, such as \"mftn3\"",
        "description" => "give text in quotation marks",
        "commands" => "give a table for each command, such as [commands.edm]",
        "interaction" => {
            "give one [[interaction]] or more, each with command, types, and wait_for or wait = false"
        }
        "command" => "give the name of one of the commands",
        "types" => "give the line that the user types, in quotation marks",
        "wait_for" => "give wait_for = \"text of the reply\", or wait = false for a user who goes on at once",
        "wait" | "heavy" => "give true or false",
        "repeat" => "give a whole number from 1 to 1000",
        "multics" | "ctss" => "give a table of demands, such as { cpu = 0.06 }",
        _ => {
            "give a number that is not negative, a short form such as exponential(mean=20), or a table such as \
             {kind = \"exponential\", mean = 20}"
        }
    }
}

fn step(
    source: &Source<'_>,
    index: usize,
    interaction: Interaction,
    commands: &BTreeMap<String, (bool, Demands)>,
    think: Option<&Distribution>,
) -> Result<Step, ScriptError> {
    let place = [Place::Key("interaction"), Place::Index(index)];
    let within = |key| [place[0], place[1], Place::Key(key)];
    let Some((heavy, common)) = commands.get(&interaction.command) else {
        let names: Vec<&str> = commands.keys().map(String::as_str).collect();
        let name = &interaction.command;
        let remedy = format!("{}; or add [commands.{}]", offer(name, &names), key(name));
        return Err(source.error(&within("command"), format!("there is no command {name:?}"), remedy));
    };
    let own = demands(source, &place, [("multics", interaction.multics), ("ctss", interaction.ctss)])?;
    let Some(think) = interaction.think.map(Distribution::from).or_else(|| think.cloned()) else {
        let remedy = "give it here, or at the top of the script for all interactions";
        return Err(source.error(&place, "has no think time", remedy));
    };
    let wrong =
        |key: &'static str, problem: &str, remedy: &str| Err(source.error(&within(key), problem, remedy));
    match (&interaction.wait_for, interaction.wait) {
        // Said in one way or the other: a forgotten wait_for must not become a user who never waits.
        (Some(_), Some(false)) => {
            return wrong("wait_for", "is given together with wait = false", "leave one of them out");
        }
        (None, Some(true)) => return wrong("wait", "does not say for which text", remedy("wait_for")),
        (None, None) => return Err(source.error(&place, "waits for nothing", remedy("wait_for"))),
        _ => {}
    }
    Ok(Step {
        heavy: *heavy,
        demands: merged(common, own),
        line: source.line(&place),
        item: source.item(&place),
        command: interaction.command,
        types: interaction.types,
        wait_for: interaction.wait_for,
        think,
    })
}

/// The demands that a command or an interaction at `place` gives, checked.
fn demands(
    source: &Source<'_>,
    place: &[Place<'_>],
    given: [(&'static str, Option<Given>); 2],
) -> Result<Demands, ScriptError> {
    let mut demands = Demands::new();
    for (system, given) in given {
        let Some(given) = given else { continue };
        // There is no such system here only if the two lists of systems differ: then every name is refused.
        let known = demand::of(system).unwrap_or_default();
        let mut on_system = BTreeMap::new();
        for (name, distribution) in given {
            let place = [place, &[Place::Key(system), Place::Key(&name)]].concat();
            let Some(demand) = known.iter().find(|demand| demand.name == name) else {
                let names: Vec<&str> = known.iter().map(|demand| demand.name).collect();
                let problem = format!("{name:?} is no demand on {system}");
                // The item is what holds the table: the misspelt name is in the problem already.
                let error = source.error(&place, problem, offer(&name, &names));
                return Err(ScriptError { item: source.item(&place[..place.len() - 2]), ..error });
            };
            in_range(&distribution, demand)
                .map_err(|(problem, remedy)| source.error(&place, problem, remedy))?;
            on_system.insert(name, distribution.into());
        }
        demands.insert(system.into(), on_system);
    }
    Ok(demands)
}

/// Whether a demand is within its range; if not, the problem and the remedy.
fn in_range(distribution: &quantities::Distribution, demand: &Demand) -> Result<(), (String, String)> {
    // Rounding of weights must not make a whole out of range.
    // Least mean and greatest value: a distribution may go down to 0 where its mean may not.
    let within = distribution.cumulative(demand.high) > 1.0 - 1e-9;
    if distribution.mean() >= demand.low && within {
        return Ok(());
    }
    let problem = match distribution.law() {
        quantities::Law::Deterministic { value } => format!("{value} was given"),
        _ if within => format!("its mean is {}", distribution.mean()),
        _ => format!("it can be above {}", demand.high),
    };
    let unit = if demand.unit.is_empty() { String::new() } else { format!(" [{}]", demand.unit) };
    Err((problem, format!("give {} to {}{unit}: {}", demand.low, demand.high, demand.description)))
}

/// The demands of a command, replaced by those of an interaction, with defaults for the rest.
fn merged(common: &Demands, own: Demands) -> Demands {
    let mut demands = common.clone();
    for (system, given) in own {
        // Name by name: an interaction that gives its cpu keeps the other demands of its command.
        demands.entry(system).or_default().extend(given);
    }
    for (system, given) in &mut demands {
        for known in demand::of(system).unwrap_or_default() {
            // Defaults last, and for systems that are mentioned only: no demands at all means not meant for
            // that system.
            if let Some(value) = known.default {
                given.entry(known.name.into()).or_insert_with(|| Distribution::deterministic(value));
            }
        }
    }
    demands
}
