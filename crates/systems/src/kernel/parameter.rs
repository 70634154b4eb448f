//! Parameters of a system, declared in its `parameters.toml`: values allowed, default, and the source of the default.
//!
//! Values are checked one by one against their declarations, then read together into the struct that the system
//! computes with. Names in the file and fields of the struct must agree; a test reads every file.

use std::collections::BTreeMap;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};
use thinktime_engine::{Distribution, Span};
use thinktime_script::{SIMULATED, Script};
use thiserror::Error;

/// An impossible value of a parameter, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{system}: {parameter}: {problem}; {remedy}")]
pub struct ParameterError {
    /// The system whose parameter it is.
    pub system: String,
    /// Its name.
    pub parameter: String,
    /// The value given, and the reason why it is wrong.
    pub problem: String,
    /// The allowed values.
    pub remedy: String,
}

impl ParameterError {
    /// An error about a value that was `given`.
    pub fn new(system: &str, parameter: &str, given: impl std::fmt::Display, remedy: &str) -> ParameterError {
        ParameterError {
            system: system.into(),
            parameter: parameter.into(),
            problem: format!("{} was given", shortened(given)),
            remedy: remedy.into(),
        }
    }

    /// There is no `what` named `given`; the error offers the nearest of `names`.
    pub fn unknown(system: &str, what: &str, given: &str, names: &[&str]) -> ParameterError {
        ParameterError {
            system: system.into(),
            parameter: format!("{given:?}"),
            problem: format!("there is no such {what}"),
            remedy: thinktime_script::offer(given, names),
        }
    }
}

/// Beginning of a value for a message: lists and numbers can be long.
pub(super) fn shortened(value: impl std::fmt::Display) -> String {
    const MOST: usize = 200;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Values that a parameter may take.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Allowed {
    /// A whole number.
    Integer { from: u64, to: u64 },
    /// A number; `exclusive` leaves `from` itself out, `or` is a word that stands for a number.
    // An upper bound for each, so that no sum of what follows from them can overflow.
    Number {
        from: f64,
        #[serde(default)]
        exclusive: bool,
        to: f64,
        or: Option<String>,
    },
    /// One of these words.
    Choice(Vec<String>),
    /// true or false.
    Flag,
    /// A distribution of lengths of time.
    Distribution,
    /// Interactions of users with demands on this system: the name of a built-in script, or a table.
    Script,
    /// A table or list that the system reads itself; the text is the remedy in errors.
    Structure(String),
}

impl Allowed {
    /// The allowed values as a remedy.
    fn words(&self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        match self {
            Allowed::Integer { from, to } => format!("give a whole number from {from} to {to}{unit}"),
            Allowed::Number { from, to, or: Some(word), .. } => {
                format!("give a number from {from} to {to}, or {word}")
            }
            Allowed::Number { from, exclusive, to, or: None } => {
                let least = if *exclusive { "above" } else { "of at least" };
                format!("give a number {least} {from} and at most {to}{unit}")
            }
            Allowed::Choice(words) => format!("give one of: {}", words.join(", ")),
            Allowed::Flag => "give true or false".into(),
            Allowed::Distribution => {
                "give a distribution, such as exponential(mean=20) or {kind = \"exponential\", mean = 20}"
                    .into()
            }
            Allowed::Script => {
                format!("give a script: {}, or a TOML file (see `thinktime scripts`)", SIMULATED.join(", "))
            }
            Allowed::Structure(words) => words.clone(),
        }
    }

    /// True if `value` is allowed.
    fn admits(&self, value: &Value) -> bool {
        match self {
            Allowed::Integer { from, to } => value.as_u64().is_some_and(|n| (*from..=*to).contains(&n)),
            Allowed::Number { from, exclusive, to, or } => match value.as_f64() {
                Some(number) => number <= *to && if *exclusive { number > *from } else { number >= *from },
                None => or.is_some() && value.as_str() == or.as_deref(),
            },
            Allowed::Choice(words) => value.as_str().is_some_and(|word| words.iter().any(|w| w == word)),
            // Words such as yes are refused: a misread flag would be a silent other run.
            Allowed::Flag => value.is_boolean(),
            // These are read by parsers of their own, whose errors say more.
            Allowed::Distribution | Allowed::Script | Allowed::Structure(_) => true,
        }
    }
}

/// Where a default comes from, with its reference.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// Printed: page, table or figure of the paper, or another document.
    Page(String),
    /// Calibrated against printed results, named here.
    Calibrated(String),
    /// Chosen by the author of the simulation, with the reason where there is one.
    Chosen(String),
}

impl Source {
    /// The name of the kind of source.
    pub fn kind(&self) -> &'static str {
        match self {
            Source::Page(_) => "page",
            Source::Calibrated(_) => "calibrated",
            Source::Chosen(_) => "chosen",
        }
    }

    /// The document, the calibration target or the reason.
    pub fn reference(&self) -> &str {
        match self {
            Source::Page(reference) | Source::Calibrated(reference) | Source::Chosen(reference) => reference,
        }
    }
}

/// Declaration of one parameter.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// Its field in the struct of the system; a dot leads into a field of a field.
    #[serde(rename = "name")]
    field: String,
    /// Empty for a pure number.
    #[serde(default)]
    pub unit: String,
    /// Null for a parameter that must be given.
    #[serde(default)]
    pub default: Value,
    /// Values that may be given.
    pub allowed: Allowed,
    /// One line for help and documentation.
    pub description: String,
    /// Where the default comes from.
    pub source: Source,
    /// Whether the choice was compared with the results that others are calibrated against.
    #[serde(default)]
    pub compared_with_calibration: bool,
}

impl Parameter {
    /// The name by which it is given and shown.
    pub fn name(&self) -> String {
        // A dot would be a table in TOML, and is awkward on a command line.
        self.field.replace('.', "_")
    }

    /// The allowed values in words.
    pub fn allowed(&self) -> String {
        self.allowed.words("")
    }
}

/// A file of parameters.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ParameterFile {
    /// Default length of a run [s].
    length: Option<f64>,
    /// Default length of the intervals of `samples` [s].
    interval: Option<f64>,
    #[serde(rename = "parameter")]
    parameters: Vec<Parameter>,
}

impl ParameterFile {
    /// The parameters declared in `text`, followed by those of every system.
    ///
    /// # Panics
    /// A file that was compiled in is not one of parameters, which the tests of this module notice.
    pub fn parameters(text: &str) -> Vec<Parameter> {
        let read = |text: &str| -> ParameterFile {
            toml::from_str(text).unwrap_or_else(|error| panic!("a file of parameters is wrong: {error}"))
        };
        // Lengths have no default that would suit all systems: each file gives its own.
        let (file, mut common) = (read(text), read(COMMON));
        for (name, default) in [("length", file.length), ("interval", file.interval)] {
            if let Some(parameter) = common.parameters.iter_mut().find(|p| p.field == name) {
                parameter.default = json!(default);
            }
        }
        file.parameters.into_iter().chain(common.parameters).collect()
    }
}

/// Declarations of the parameters that every system has.
const COMMON: &str = include_str!("common.toml");

/// Parameters that every system has.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Common {
    /// Simulated time of a replication, the warm-up included.
    pub length: Span,
    /// Seconds without statistics, or mser5.
    pub warm_up: Value,
    /// Length of the intervals of the log's samples.
    pub interval: Span,
}

/// A number; none for the word that stands for the one of the system's version or period.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrOwn(Option<f64>);

impl OrOwn {
    /// The number, or `default`: that of the version or period.
    pub fn or(self, default: f64) -> f64 {
        self.0.unwrap_or(default)
    }

    /// The number, if one was given.
    pub fn given(self) -> Option<f64> {
        self.0
    }
}

impl<'de> Deserialize<'de> for OrOwn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OrOwn, D::Error> {
        Value::deserialize(deserializer).map(|value| OrOwn(value.as_f64()))
    }
}

/// Reads a field that holds a script.
pub(crate) fn script<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Script, D::Error> {
    Script::from_json(&Value::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Declares words of choices: an enum for each, whose variants are the words in snake case.
macro_rules! choices {
    ($($(#[$note:meta])* $name:ident { $($(#[$of:meta])* $word:ident),+ })+) => {$(
        $(#[$note])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum $name { $($(#[$of])* $word),+ }
    )+};
}
pub(crate) use choices;

/// Refuses the value of a parameter in its relation to others, by its field in the struct of parameters, which the
/// compiler checks: `refuse!(settings, parameters.compute.share, "give ...")`.
macro_rules! refuse {
    ($settings:expr, $parameters:ident . $field:ident $(. $inner:ident)?, $remedy:expr) => {{
        // Never read: it makes the compiler look whether there is such a field.
        let _ = &$parameters.$field$(.$inner)?;
        $settings.refuse(concat!(stringify!($field) $(, "_", stringify!($inner))?), $remedy)
    }};
}
pub(crate) use refuse;

/// The parameters of one run: all of them, each checked by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    system: &'static str,
    /// By name, spelt out: as the manifest shows them, and as they can be given again.
    values: BTreeMap<String, Value>,
    /// As given or default, by field of the struct.
    fields: Map<String, Value>,
}

impl Settings {
    /// Reads the values `given` for a system with `parameters`, and fills in the defaults.
    pub fn resolve(
        system: &'static str,
        parameters: &[Parameter],
        given: &Map<String, Value>,
    ) -> Result<Settings, ParameterError> {
        let names: Vec<String> = parameters.iter().map(Parameter::name).collect();
        // Names first: a misspelt one must not leave its parameter at the default without a word.
        if let Some(unknown) = given.keys().find(|name| !names.contains(name)) {
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            return Err(ParameterError::unknown(system, "parameter", unknown, &names));
        }
        let mut settings = Settings { system, values: BTreeMap::new(), fields: Map::new() };
        for (parameter, name) in parameters.iter().zip(names) {
            let value = given.get(&name).unwrap_or(&parameter.default);
            let resolved = settings.check(&name, parameter, value)?;
            settings.values.insert(name, resolved);
            // The struct is read from the value as given: spelling out could round a weight of a distribution.
            settings.set_field(&parameter.field, value.clone());
        }
        Ok(settings)
    }

    /// `value` spelt out, if it is allowed.
    fn check(&self, name: &str, parameter: &Parameter, value: &Value) -> Result<Value, ParameterError> {
        let wrong = |problem: String, remedy: String| ParameterError {
            system: self.system.into(),
            parameter: name.into(),
            problem,
            remedy,
        };
        let remedy = parameter.allowed.words(&parameter.unit);
        if value.is_null() && parameter.default.is_null() {
            return Err(wrong("must be given".into(), remedy));
        }
        match parameter.allowed {
            Allowed::Distribution => Distribution::parse(value)
                .map(|distribution| distribution.to_json())
                .map_err(|error| wrong(format!("{}: {}", error.given, error.problem), error.allowed)),
            Allowed::Script => {
                let script = Script::from_json(value)
                    .and_then(|script| script.check_demands(self.system).map(|()| script))
                    .map_err(|error| {
                        wrong(format!("{}: {}: {}", error.place(), error.item, error.problem), error.remedy)
                    })?;
                // The name of a built-in script is enough; another is written down in full.
                Ok(if value.is_string() { value.clone() } else { script.to_json() })
            }
            _ if parameter.allowed.admits(value) => Ok(value.clone()),
            _ => Err(wrong(format!("{} was given", shortened(value)), remedy)),
        }
    }

    /// Sets a field, or a field of a field.
    fn set_field(&mut self, field: &str, value: Value) {
        match field.split_once('.') {
            None => self.fields.insert(field.to_owned(), value),
            Some((group, inner)) => {
                let group = self.fields.entry(group).or_insert_with(|| json!({}));
                group.as_object_mut().and_then(|group| group.insert(inner.to_owned(), value))
            }
        };
    }

    /// The system's own parameters as the struct that it computes with.
    ///
    /// # Errors
    /// The struct and the file of parameters disagree, whatever was given: a defect that the tests notice.
    pub(crate) fn own<P: DeserializeOwned>(&self) -> Result<P, ParameterError> {
        let fields = self.fields.iter().filter(|(field, _)| !COMMON_FIELDS.contains(&field.as_str()));
        self.read(fields.map(|(field, value)| (field.clone(), value.clone())).collect())
    }

    /// The parameters that every system has.
    ///
    /// # Errors
    /// As for [`Settings::own`].
    pub(crate) fn common(&self) -> Result<Common, ParameterError> {
        self.read(self.fields.clone())
    }

    /// Reads fields into a struct.
    fn read<P: DeserializeOwned>(&self, fields: Map<String, Value>) -> Result<P, ParameterError> {
        serde_json::from_value(Value::Object(fields)).map_err(|error| ParameterError {
            system: self.system.into(),
            parameter: "parameters".into(),
            problem: format!("the declared parameters are not those of the configuration: {error}"),
            remedy: "report this defect".into(),
        })
    }

    /// Demands of each interaction of `script` on this system, in the order of `names`.
    pub(crate) fn demands(
        &self,
        script: &Script,
        names: &[&str],
    ) -> Result<Vec<Vec<Distribution>>, ParameterError> {
        script.demands(self.system, names).map_err(|error| ParameterError {
            system: self.system.into(),
            parameter: "script".into(),
            problem: format!("{}: {}: {}", error.place(), error.item, error.problem),
            remedy: error.remedy,
        })
    }

    /// An error about parameter `name` in its relation to others.
    pub fn refuse(&self, name: &str, remedy: &str) -> ParameterError {
        let given = self.values.get(name).unwrap_or(&Value::Null);
        ParameterError::new(self.system, name, given, remedy)
    }

    /// The system whose parameters they are.
    pub(crate) fn system(&self) -> &'static str {
        self.system
    }

    /// The value of the parameter `name`, if there is one of this name.
    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.values.get(name)
    }

    /// All of them, for the manifest.
    pub fn to_json(&self) -> Value {
        json!(self.values)
    }
}

/// Fields of [`Common`].
const COMMON_FIELDS: [&str; 3] = ["length", "warm_up", "interval"];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SYSTEMS;

    const FILE: &str = r#"
        length = 600
        interval = 60

        [[parameter]]
        name = "users"
        default = 35
        allowed = { integer = { from = 1, to = 1000 } }
        description = "Users"
        source.page = "page 1"

        [[parameter]]
        name = "processor.time_slice"
        default = 0.1
        allowed = { number = { from = 0, exclusive = true, to = 10 } }
        description = "Longest run"
        source.calibrated = "Table 1"

        [[parameter]]
        name = "scheduler"
        default = "fb2"
        allowed = { choice = ["modified", "fb2"] }
        description = "Scheduler"
        source.chosen = ""

        [[parameter]]
        name = "think"
        default = 20
        allowed = "distribution"
        description = "Think time"
        source.chosen = ""
    "#;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Parameters {
        users: u64,
        processor: Processor,
        scheduler: Scheduler,
        think: Distribution,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Processor {
        time_slice: Span,
    }

    choices! { Scheduler { Modified, Fb2 } }

    fn resolve(given: &Value) -> Result<Settings, ParameterError> {
        Settings::resolve("apl360", &ParameterFile::parameters(FILE), given.as_object().unwrap())
    }

    fn error(given: &Value) -> String {
        resolve(given).unwrap_err().to_string()
    }

    #[test]
    fn a_wrong_value_is_named_with_the_remedy() {
        assert_eq!(
            error(&json!({"scedular": "fb2"})),
            "apl360: \"scedular\": there is no such parameter; did you mean \"scheduler\"? there are: users, \
             processor_time_slice, scheduler, think, length, warm_up, interval"
        );
        assert_eq!(
            error(&json!({"users": 0})),
            "apl360: users: 0 was given; give a whole number from 1 to 1000"
        );
        assert_eq!(
            error(&json!({"processor_time_slice": -1})),
            "apl360: processor_time_slice: -1 was given; give a number above 0 and at most 10"
        );
        assert_eq!(
            error(&json!({"scheduler": "fb"})),
            "apl360: scheduler: \"fb\" was given; give one of: modified, fb2"
        );
        assert!(error(&json!({"think": {"kind": "exponential", "mean": -20}})).contains("think"));
    }

    #[test]
    fn defaults_complete_the_given_values() {
        let settings = resolve(&json!({"users": 7})).unwrap();
        let own: Parameters = settings.own().unwrap();
        assert_eq!((own.users, own.processor.time_slice), (7, Span::from_seconds(0.1)));
        assert_eq!((own.scheduler, own.think.mean()), (Scheduler::Fb2, 20.0));
        assert_eq!(settings.common().unwrap().length, Span::from_seconds(600.0));
        assert_eq!(settings.to_json()["processor_time_slice"], json!(0.1));
    }

    #[test]
    fn a_field_that_is_missing_or_misspelt_is_noticed() {
        let misspelt = FILE.replace("processor.time_slice", "processor.time_slise");
        let missing = FILE.replace("name = \"users\"", "name = \"user\"");
        for (file, field) in [(misspelt, "time_slise"), (missing, "user")] {
            let parameters = ParameterFile::parameters(&file);
            let settings = Settings::resolve("apl360", &parameters, &Map::new()).unwrap();
            let error = settings.own::<Parameters>().unwrap_err().to_string();
            assert!(error.contains(&format!("unknown field `{field}`")), "{error}");
        }
    }

    /// A value of each kind of parameter that is not the default.
    fn others(parameter: &Parameter) -> Vec<Value> {
        match &parameter.allowed {
            Allowed::Integer { from, to } => vec![json!(from), json!(to)],
            Allowed::Number { from, to, or, .. } => {
                let number = [json!(to.min(from + 1.0))];
                number.into_iter().chain(or.iter().map(|word| json!(word))).collect()
            }
            Allowed::Choice(words) => words.iter().map(|word| json!(word)).collect(),
            Allowed::Flag => vec![json!(true), json!(false)],
            Allowed::Distribution => vec![json!("uniform(low=1,high=2)")],
            Allowed::Script | Allowed::Structure(_) => vec![],
        }
    }

    /// Every file agrees with the struct of its system, and every allowed word is a variant of its enum.
    #[test]
    fn every_declared_value_is_read() {
        let unread = |error: &ParameterError| error.parameter == "parameters";
        let mut read = 0;
        for system in &SYSTEMS {
            for parameter in system.parameters() {
                for value in others(parameter) {
                    let mut given = Map::from_iter([(parameter.name(), value)]);
                    if system.name == "network" {
                        let station = json!([{"name": "cpu", "discipline": "fcfs", "service": 1}]);
                        given.entry("stations").or_insert(station);
                    }
                    let settings = Settings::resolve(system.name, system.parameters(), &given).unwrap();
                    let prepared = system.prepare(&settings);
                    assert!(!prepared.as_ref().is_err_and(unread), "{}: {:?}", system.name, prepared.err());
                    read += 1;
                }
            }
        }
        assert!(read > SYSTEMS.len());
    }

    #[test]
    fn a_script_is_given_by_name_or_whole_and_has_demands_on_the_system() {
        let ctss = crate::system("ctss").unwrap();
        let resolve = |given: Value| Settings::resolve("ctss", ctss.parameters(), given.as_object().unwrap());
        let built_in = resolve(json!({})).unwrap();
        assert_eq!(built_in.to_json()["script"], "6mad1");
        let script = Script::from_json(&json!("6mad1")).unwrap();
        let mut table = script.to_json();
        let given_whole = resolve(json!({"script": table})).unwrap();
        assert_eq!(given_whole.to_json()["script"], table);
        let demands = given_whole.demands(&script, &["words", "cpu"]).unwrap();
        assert_eq!((demands.len(), demands[0][0].mean(), demands[0][1].mean()), (66, 10_000.0, 0.5));
        table["interaction"][0]["ctss"]["words"] = json!(40_000);
        assert_eq!(
            resolve(json!({"script": table})).unwrap_err().to_string(),
            "ctss: script: script: interaction 1 (edl): ctss: words: 40000 was given; give 1 to 32768 [words]: \
             size of the program that is swapped"
        );
        let foreign = resolve(json!({"script": "mftn3"})).unwrap_err().to_string();
        assert!(foreign.contains("interaction 1 (edm): has no demand cpu on ctss; give it in"), "{foreign}");
    }
}
