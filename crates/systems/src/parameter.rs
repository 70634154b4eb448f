//! Parameters of a system: what each may be, where its default comes from, and errors that say so.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use thinktime_engine::{Distribution, Span};
use thinktime_script::{BUILTIN, Script};
use thiserror::Error;

/// A parameter that cannot be, with what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{system}: {parameter}: {problem}; {remedy}")]
pub struct ParameterError {
    pub system: String,
    pub parameter: String,
    /// What was given and what is wrong with it.
    pub problem: String,
    /// What is allowed.
    pub remedy: String,
}

impl ParameterError {
    pub fn new(system: &str, parameter: &str, given: impl std::fmt::Display, remedy: &str) -> ParameterError {
        ParameterError {
            system: system.into(),
            parameter: parameter.into(),
            problem: format!("{given} was given"),
            remedy: remedy.into(),
        }
    }

    /// There is no `what` of the name `given`; the nearest of `names` is offered.
    pub fn unknown(system: &str, what: &str, given: &str, names: &[&str]) -> ParameterError {
        ParameterError {
            system: system.into(),
            parameter: format!("{given:?}"),
            problem: format!("there is no such {what}"),
            remedy: thinktime_script::offer(given, names),
        }
    }
}

/// What a parameter may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Allowed {
    /// A whole number from `low` to `high`.
    Integer { low: u64, high: u64 },
    /// A finite number from `low` to `high`; `above` leaves `low` itself out.
    Number { low: f64, high: f64, above: bool },
    /// One of these words.
    Choice(Vec<&'static str>),
    /// true or false.
    Flag,
    /// A distribution of lengths of time.
    Distribution,
    /// What users do, with demands on this system: the name of a built-in script, or a table.
    Script,
    /// A table or list that the system reads itself.
    Structure(&'static str),
}

impl Allowed {
    /// Any positive number.
    pub fn positive() -> Allowed {
        Allowed::Number { low: 0.0, high: f64::INFINITY, above: true }
    }

    /// Zero or more.
    pub fn not_negative() -> Allowed {
        Allowed::Number { low: 0.0, high: f64::INFINITY, above: false }
    }

    fn words(&self, unit: &str) -> String {
        let unit = if unit.is_empty() { String::new() } else { format!(" [{unit}]") };
        match self {
            Allowed::Integer { low, high } if *high == u64::MAX => {
                format!("give a whole number of at least {low}{unit}")
            }
            Allowed::Integer { low, high } => format!("give a whole number from {low} to {high}{unit}"),
            Allowed::Number { low, high, above } => {
                let from = if *above { "above" } else { "of at least" };
                let to = if high.is_finite() { format!(" and at most {high}") } else { String::new() };
                format!("give a number {from} {low}{to}{unit}")
            }
            Allowed::Choice(words) => format!("give one of: {}", words.join(", ")),
            Allowed::Flag => "give true or false".into(),
            Allowed::Distribution => {
                "give a distribution, such as exponential(mean=20) or {kind = \"exponential\", mean = 20}"
                    .into()
            }
            Allowed::Script => {
                format!("give a script: {}, or a TOML file (see `thinktime scripts`)", BUILTIN.join(", "))
            }
            Allowed::Structure(words) => (*words).into(),
        }
    }

    fn admits(&self, value: &Value) -> bool {
        match self {
            Allowed::Integer { low, high } => {
                value.as_u64().is_some_and(|number| (*low..=*high).contains(&number))
            }
            Allowed::Number { low, high, above } => value
                .as_f64()
                .is_some_and(|number| number <= *high && if *above { number > *low } else { number >= *low }),
            Allowed::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Allowed::Flag => value.is_boolean(),
            Allowed::Distribution | Allowed::Script | Allowed::Structure(_) => true,
        }
    }
}

/// One parameter of a system.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    pub name: &'static str,
    pub unit: &'static str,
    /// What it is when nothing is given; null where it must be given.
    pub default: Value,
    pub allowed: Allowed,
    pub description: &'static str,
    /// Page, table or figure of the paper; or "calibrated", and against what; or "chosen", and why.
    pub source: &'static str,
}

impl Parameter {
    pub fn new(
        name: &'static str,
        unit: &'static str,
        default: Value,
        allowed: Allowed,
        description: &'static str,
        source: &'static str,
    ) -> Parameter {
        Parameter { name, unit, default, allowed, description, source }
    }

    /// What a person who asks for the system's parameters is told.
    pub fn describe(&self) -> Value {
        json!({
            "name": self.name,
            "unit": self.unit,
            "default": self.default,
            "allowed": self.allowed.words(""),
            "description": self.description,
            "source": self.source,
        })
    }
}

/// The parameters of one run: all of them, each checked by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    system: &'static str,
    values: BTreeMap<&'static str, Value>,
    distributions: BTreeMap<&'static str, Distribution>,
    scripts: BTreeMap<&'static str, Script>,
}

impl Settings {
    /// Reads what was `given` for a system with `parameters`, and fills in the defaults.
    pub fn resolve(
        system: &'static str,
        parameters: &[Parameter],
        given: &Map<String, Value>,
    ) -> Result<Settings, ParameterError> {
        let names: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
        if let Some(unknown) = given.keys().find(|name| !names.contains(&name.as_str())) {
            return Err(ParameterError::unknown(system, "parameter", unknown, &names));
        }
        let mut settings = Settings {
            system,
            values: BTreeMap::new(),
            distributions: BTreeMap::new(),
            scripts: BTreeMap::new(),
        };
        for parameter in parameters {
            let value = given.get(parameter.name).unwrap_or(&parameter.default);
            settings.put(parameter, value)?;
        }
        Ok(settings)
    }

    fn put(&mut self, parameter: &Parameter, value: &Value) -> Result<(), ParameterError> {
        let wrong = |problem: String, remedy: String| ParameterError {
            system: self.system.into(),
            parameter: parameter.name.into(),
            problem,
            remedy,
        };
        let remedy = parameter.allowed.words(parameter.unit);
        if value.is_null() && parameter.default.is_null() {
            return Err(wrong("must be given".into(), remedy));
        }
        let mut resolved = value.clone();
        if parameter.allowed == Allowed::Distribution {
            let distribution = Distribution::parse(value)
                .map_err(|error| wrong(format!("{}: {}", error.given, error.problem), error.allowed))?;
            resolved = distribution.to_json();
            self.distributions.insert(parameter.name, distribution);
        } else if parameter.allowed == Allowed::Script {
            let script = Script::from_json(value)
                .and_then(|script| script.check_demands(self.system).map(|()| script))
                .map_err(|error| {
                    wrong(format!("{}: {}: {}", error.place(), error.item, error.problem), error.remedy)
                })?;
            // The name of a built-in script says it all; another is written down whole.
            if !value.is_string() {
                resolved = script.to_json();
            }
            self.scripts.insert(parameter.name, script);
        } else if !parameter.allowed.admits(value) {
            return Err(wrong(format!("{value} was given"), remedy));
        }
        self.values.insert(parameter.name, resolved);
        Ok(())
    }

    /// An error about parameter `name` in its relation to others.
    pub fn refuse(&self, name: &str, remedy: &str) -> ParameterError {
        ParameterError::new(self.system, name, self.value(name), remedy)
    }

    pub fn system(&self) -> &'static str {
        self.system
    }

    /// The value of parameter `name` as given.
    ///
    /// # Panics
    /// The system does not declare `name`.
    pub fn value(&self, name: &str) -> &Value {
        self.values.get(name).unwrap_or_else(|| panic!("{} declares no parameter {name}", self.system))
    }

    /// # Panics
    /// The system does not declare `name` as a whole number.
    pub fn integer(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or_else(|| panic!("{name} is declared as no whole number"))
    }

    /// # Panics
    /// The system does not declare `name` as a number.
    pub fn number(&self, name: &str) -> f64 {
        self.value(name).as_f64().unwrap_or_else(|| panic!("{name} is declared as no number"))
    }

    /// The length of time of parameter `name`, in seconds where it was given.
    pub fn span(&self, name: &str) -> Span {
        Span::from_seconds(self.number(name))
    }

    /// # Panics
    /// The system does not declare `name` as a choice.
    pub fn word(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_else(|| panic!("{name} is declared as no choice"))
    }

    /// # Panics
    /// The system does not declare `name` as a flag.
    pub fn flag(&self, name: &str) -> bool {
        self.value(name).as_bool().unwrap_or_else(|| panic!("{name} is declared as no flag"))
    }

    /// # Panics
    /// The system does not declare `name` as a distribution.
    pub fn distribution(&self, name: &str) -> &Distribution {
        self.distributions.get(name).unwrap_or_else(|| panic!("{name} is declared as no distribution"))
    }

    /// # Panics
    /// The system does not declare `name` as a script.
    pub fn script(&self, name: &str) -> &Script {
        self.scripts.get(name).unwrap_or_else(|| panic!("{name} is declared as no script"))
    }

    /// What each interaction of a script asks of this system, in the order of `names`.
    ///
    /// # Panics
    /// The system does not declare `name` as a script, or scripts know no such demands on it.
    pub fn demands(&self, name: &str, names: &[&str]) -> Vec<Vec<Distribution>> {
        let found = self.script(name).demands(self.system, names);
        found.unwrap_or_else(|error| panic!("demands were checked when the script was given: {error}"))
    }

    /// All of them, for the manifest.
    pub fn to_json(&self) -> Value {
        json!(self.values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parameters() -> Vec<Parameter> {
        let parameter = |name, default, allowed| Parameter {
            name,
            unit: "",
            default,
            allowed,
            description: "",
            source: "chosen",
        };
        vec![
            parameter("users", json!(35), Allowed::Integer { low: 1, high: 1000 }),
            parameter("time_slice", json!(0.1), Allowed::positive()),
            parameter("scheduler", json!("fb2"), Allowed::Choice(vec!["modified", "fb2"])),
            parameter("think", json!(20), Allowed::Distribution),
        ]
    }

    #[test]
    fn a_script_is_given_by_name_or_whole_and_has_demands_on_the_system() {
        let parameter = Parameter::new("script", "", json!("6mad1"), Allowed::Script, "", "chosen");
        let resolve = |given: Value| {
            Settings::resolve("ctss", std::slice::from_ref(&parameter), given.as_object().unwrap())
        };
        let built_in = resolve(json!({})).unwrap();
        assert_eq!(built_in.to_json(), json!({"script": "6mad1"}));
        let mut table = built_in.script("script").to_json();
        let whole = resolve(json!({"script": table})).unwrap();
        assert_eq!(whole.to_json(), json!({"script": table}));
        assert_eq!(whole.script("script").to_json(), table);
        let demands = whole.demands("script", &["words", "cpu"]);
        assert_eq!((demands.len(), demands[0][0].mean(), demands[0][1].mean()), (66, 10_000.0, 0.5));
        table["interaction"][0]["ctss"]["words"] = json!(40_000);
        assert_eq!(
            resolve(json!({"script": table})).unwrap_err().to_string(),
            "ctss: script: script: interaction 1 (edl), ctss: words: 40000 was given; give 1 to 32768 [words]: \
             size of the program that is swapped"
        );
        let foreign = resolve(json!({"script": "mftn3"})).unwrap_err().to_string();
        assert!(foreign.contains("interaction 1 (edm): has no demand cpu on ctss; give it in"), "{foreign}");
    }

    fn error(given: Value) -> String {
        Settings::resolve("apl360", &parameters(), given.as_object().unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        assert_eq!(
            error(json!({"scedular": "fb2"})),
            "apl360: \"scedular\": there is no such parameter; did you mean \"scheduler\"? there are: users, \
             time_slice, scheduler, think"
        );
        assert_eq!(
            error(json!({"users": 0})),
            "apl360: users: 0 was given; give a whole number from 1 to 1000"
        );
        assert_eq!(
            error(json!({"time_slice": -1})),
            "apl360: time_slice: -1 was given; give a number above 0"
        );
        assert_eq!(
            error(json!({"scheduler": "fb"})),
            "apl360: scheduler: \"fb\" was given; give one of: modified, fb2"
        );
        assert!(error(json!({"think": {"kind": "exponential", "mean": -20}})).contains("think"));
    }

    #[test]
    fn defaults_fill_what_was_not_given() {
        let given = json!({"users": 7});
        let settings = Settings::resolve("apl360", &parameters(), given.as_object().unwrap()).unwrap();
        assert_eq!((settings.integer("users"), settings.number("time_slice")), (7, 0.1));
    }
}
