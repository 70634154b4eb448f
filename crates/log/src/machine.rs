//! The machine of a session in the manifest, held to its schema.
//!
//! Analyses look for what they need of a machine by name, and sources of several authors write it. The schema
//! (`machine.schema.json`) is the contract between them; `Log::check` and the reference documentation read that
//! one file. It is a JSON Schema; what is implemented here is the part of the standard that it uses, because a
//! validator of the whole standard would be larger than this crate.

use serde_json::{Map, Value as Json};

use crate::manifest::Session;
use crate::schema::TableSchema;

/// The schema as a JSON Schema document.
pub const MACHINE_SCHEMA: &str = include_str!("machine.schema.json");

/// The schema of what thinktime's own sources say of a session, in the same language.
const FACTS_SCHEMA: &str = include_str!("facts.schema.json");

/// A key of a machine that is not as the schema says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// Path of the key, as in `machine.meters[0].count`.
    pub key: String,
    /// Defect of its value.
    pub message: String,
    /// Value that would be right.
    pub remedy: String,
}

/// Where `machine` differs from the schema; `tables` are those of its log.
pub(crate) fn violations(machine: &Json, tables: &[TableSchema]) -> Vec<Violation> {
    let schema: Json = serde_json::from_str(MACHINE_SCHEMA).expect("the schema is JSON, which a test holds");
    let mut checker = Checker { tables, violations: Vec::new() };
    checker.value("machine", machine, &schema);
    checker.violations
}

/// Where the facts of `session` differ from their schema.
pub(crate) fn wrong_facts(session: &Session) -> Vec<Violation> {
    let schema: Json = serde_json::from_str(FACTS_SCHEMA).expect("the schema is JSON, which a test holds");
    let mut checker = Checker { tables: &[], violations: Vec::new() };
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        match session.facts.get(name) {
            // Who writes the key knows what belongs to it.
            Some(Json::Null) => checker.refuse(name, inner, "null is not an object".into(), "an object"),
            Some(value) => checker.value(name, value, inner),
            None => {}
        }
    }
    checker.violations
}

struct Checker<'a> {
    tables: &'a [TableSchema],
    violations: Vec<Violation>,
}

impl Checker<'_> {
    fn refuse(&mut self, key: &str, schema: &Json, message: String, needed: &str) {
        let description = schema["description"].as_str().unwrap_or("a key of the machine");
        let remedy = format!("give {needed} ({description}), or leave the key out");
        self.violations.push(Violation { key: key.into(), message, remedy });
    }

    fn value(&mut self, key: &str, value: &Json, schema: &Json) {
        // A source that does not know a value may say so instead of leaving the key out.
        if value.is_null() {
            return;
        }
        let expected = schema["type"].as_str().unwrap_or_default();
        if !is_of_type(value, expected) {
            let needed = with_article(expected);
            return self.refuse(key, schema, format!("{} is not {needed}", shown(value)), &needed);
        }
        match value {
            Json::Number(number) => self.number(key, number.as_f64().unwrap_or_default(), schema),
            Json::String(name) => self.column(key, name, schema),
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    let (key, inner) = (format!("{key}[{index}]"), &schema["items"]);
                    match inner["type"].as_str() {
                        // A key may be null; an item that is not known is no item.
                        Some(expected) if item.is_null() => {
                            let needed = with_article(expected);
                            self.refuse(&key, inner, format!("null is not {needed}"), &needed);
                        }
                        _ => self.value(&key, item, inner),
                    }
                }
            }
            Json::Object(object) => self.object(key, object, schema),
            Json::Bool(_) | Json::Null => {}
        }
    }

    fn number(&mut self, key: &str, number: f64, schema: &Json) {
        if let Some(least) = schema["minimum"].as_f64() {
            if number < least {
                let needed = format!("a number from {least} up");
                return self.refuse(key, schema, format!("{number} is below {least}"), &needed);
            }
        }
        if let Some(bound) = schema["exclusiveMinimum"].as_f64() {
            if number <= bound {
                let needed = format!("a number above {bound}");
                self.refuse(key, schema, format!("{number} is not above {bound}"), &needed);
            }
        }
    }

    /// The name of a column must be one; a table that no source has declared yet has none to compare with.
    fn column(&mut self, key: &str, name: &str, schema: &Json) {
        let table = schema["columnOf"].as_str().unwrap_or_default();
        let Some(table) = self.tables.iter().find(|declared| declared.name == table) else { return };
        if table.position(name).is_none() {
            let message = format!("{name:?} is not a column of {}", table.name);
            self.refuse(key, schema, message, &format!("the name of a column of {}", table.name));
        }
    }

    fn object(&mut self, key: &str, object: &Map<String, Json>, schema: &Json) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str) {
            if object.get(name).is_none_or(Json::is_null) {
                let inner = &schema["properties"][name];
                let needed = with_article(inner["type"].as_str().unwrap_or_default());
                let description = inner["description"].as_str().unwrap_or("a key that is needed");
                self.violations.push(Violation {
                    key: format!("{key}.{name}"),
                    message: "is missing".into(),
                    remedy: format!("give {needed} ({description}), or leave {key} out"),
                });
            }
        }
        for (name, value) in object {
            let path = format!("{key}.{name}");
            match (schema["properties"].get(name), &schema["additionalProperties"]) {
                (Some(inner), _) => self.value(&path, value, inner),
                (None, Json::Bool(false)) => {
                    let known = schema["properties"].as_object().into_iter().flatten();
                    let known: Vec<&str> = known.map(|(name, _)| name.as_str()).collect();
                    self.violations.push(Violation {
                        key: path,
                        message: format!("{key} has no such key"),
                        remedy: format!("use one of {}, or leave the key out", known.join(", ")),
                    });
                }
                (None, inner) => self.value(&path, value, inner),
            }
        }
    }
}

fn is_of_type(value: &Json, expected: &str) -> bool {
    match expected {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        // A key that the schema leaves to the source.
        _ => true,
    }
}

fn with_article(expected: &str) -> String {
    match expected {
        "array" | "integer" | "object" => format!("an {expected}"),
        _ => format!("a {expected}"),
    }
}

/// `value` in an error message, short.
fn shown(value: &Json) -> String {
    let text = value.to_string();
    match text.char_indices().nth(40) {
        None => text,
        Some((end, _)) => format!("{}...", &text[..end]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::vocabulary;

    fn keys(machine: &Json) -> Vec<String> {
        violations(machine, &[vocabulary::samples()]).into_iter().map(|violation| violation.key).collect()
    }

    /// Keywords of the standard that the schema uses and this module does not know would never fail.
    #[test]
    fn the_schema_uses_only_keywords_that_are_implemented() {
        const KNOWN: [&str; 11] = [
            "$schema",
            "title",
            "description",
            "type",
            "properties",
            "required",
            "items",
            "minimum",
            "exclusiveMinimum",
            "additionalProperties",
            "columnOf",
        ];
        fn walk(schema: &Json) {
            for (keyword, value) in schema.as_object().into_iter().flatten() {
                assert!(KNOWN.contains(&keyword.as_str()), "{keyword}");
                match keyword.as_str() {
                    "properties" => {
                        value.as_object().into_iter().flatten().for_each(|(_, inner)| walk(inner))
                    }
                    "items" | "additionalProperties" => walk(value),
                    _ => {}
                }
            }
        }
        walk(&serde_json::from_str(MACHINE_SCHEMA).unwrap());
        walk(&serde_json::from_str(FACTS_SCHEMA).unwrap());
    }

    #[test]
    fn a_machine_as_it_should_be_has_no_violation() {
        let machine = json!({
            "cpus": 2, "hostname": "vm", "cpu_model": null, "key_of_the_source": [1, "two"],
            "units": {"core": "Kword"}, "parameters": {"core": 256},
            "meters": [{"event": "fork", "count": "forks", "time": "system_s"}],
            "ceilings": [{"column": "disk_reads", "per_s": 78.6}],
        });
        assert_eq!(keys(&machine), [] as [&str; 0]);
    }

    #[test]
    fn each_violation_names_its_key() {
        for (machine, key) in [
            (json!({"cpus": "two"}), "machine.cpus"),
            (json!({"cpus": -1}), "machine.cpus"),
            (json!({"memory_bytes": 0.5}), "machine.memory_bytes"),
            (json!({"types_ahead": 1}), "machine.types_ahead"),
            (json!({"meters": {}}), "machine.meters"),
            (json!({"meters": [{"event": "fork", "time": "system_s"}]}), "machine.meters[0].count"),
            (
                json!({"meters": [{"event": "fork", "count": "frobs", "time": "system_s"}]}),
                "machine.meters[0].count",
            ),
            (json!({"ceilings": [{"column": "forks", "per_s": 0}]}), "machine.ceilings[0].per_s"),
            (json!({"ceilings": [{"column": "forks", "per_s": 1, "unit": "s"}]}), "machine.ceilings[0].unit"),
            (json!({"units": {"core": 1}}), "machine.units.core"),
            (json!({"meters": [null]}), "machine.meters[0]"),
            (json!([]), "machine"),
        ] {
            assert_eq!(keys(&machine), [key], "{machine}");
        }
    }

    #[test]
    fn each_fact_of_another_type_is_named_by_its_key() {
        for (facts, key) in [
            (json!({"recorder": null}), "recorder"),
            (json!({"recorder": {"users": []}}), "recorder.users"),
            (json!({"recorder": {"users": {"attributed_s": "x"}}}), "recorder.users.attributed_s"),
            (json!({"recorder": {"late": {"n": {"a": 1}}}}), "recorder.late.n"),
            (json!({"recorder": {"processes": {"scan_cpu_s": 4}}}), "recorder.processes.scan_cpu_s"),
            (json!({"terminals": {"outcome": {"sessions": []}}}), "terminals.outcome.sessions"),
            (json!({"replication": {"responses": [null]}}), "replication.responses[0]"),
        ] {
            let Json::Object(facts) = facts else { unreachable!("an object was given") };
            let session = Session { facts, ..Session::default() };
            let found: Vec<String> = wrong_facts(&session).into_iter().map(|wrong| wrong.key).collect();
            assert_eq!(found, [key]);
        }
        assert!(wrong_facts(&Session::default()).is_empty());
    }

    #[test]
    fn a_violation_says_what_the_value_was_and_what_would_be_right() {
        let found = violations(&json!({"cpus": "two"}), &[]);
        assert_eq!(found[0].message, "\"two\" is not a number");
        assert!(found[0].remedy.starts_with("give a number (Number of CPUs"), "{}", found[0].remedy);
    }
}
