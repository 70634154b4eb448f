//! The text or tree of a script, and the position of each value in it.
//!
//! Serde reports neither the line of a wrong value nor its place in words that a person uses; both come from
//! here.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::Segment;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::ScriptError;
use crate::demand;
use crate::error::offer;

/// A step from a table or list to one of its values. Borrowed: places are made for every value, and used for errors
/// alone.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// Key of a table.
    Key(&'a str),
    /// Position in a list, from 0.
    Index(usize),
}

/// A script before it is read.
pub struct Source<'a> {
    /// Name in errors.
    pub file: &'a str,
    content: Content<'a>,
}

enum Content<'a> {
    /// The text, and its values with their spans.
    Toml(&'a str, Spanned<DeTable<'a>>),
    Json(&'a Value),
}

impl<'a> Source<'a> {
    /// The source of a TOML text.
    ///
    /// # Errors
    /// The text is not TOML.
    pub fn toml(text: &'a str, file: &'a str) -> Result<Source<'a>, ScriptError> {
        match DeTable::parse(text) {
            Ok(table) => Ok(Source { file, content: Content::Toml(text, table) }),
            Err(error) => Err(ScriptError {
                file: file.into(),
                line: error.span().map(|span| line_of(text, span.start)),
                item: "the text".into(),
                problem: format!("is not TOML: {}", error.message()),
                remedy: "see https://toml.io for the notation".into(),
            }),
        }
    }

    /// The source of a JSON tree.
    pub fn json(tree: &'a Value, file: &'a str) -> Source<'a> {
        Source { file, content: Content::Json(tree) }
    }

    /// The source as a value of type `T`; `remedy` gives the remedy for a wrong value of a key.
    pub fn deserialize<T: DeserializeOwned>(
        &self,
        remedy: impl Fn(&str) -> &'static str,
    ) -> Result<T, ScriptError> {
        match &self.content {
            // The text is parsed twice, here and in `toml`: the deserialiser would consume the table whose spans
            // `line` needs.
            Content::Toml(text, root) => {
                if let Some((place, problem)) = foreign_in_table(root.get_ref()) {
                    return Err(self.error(&place, problem, remedy(last_key(&place).unwrap_or_default())));
                }
                let tree = toml::Deserializer::parse(text)
                    .map_err(|error| self.wrong(&[], error.message(), &remedy))?;
                serde_path_to_error::deserialize(tree).map_err(|error| {
                    let span = error.inner().span();
                    let line = span.map(|span| line_of(text, span.start));
                    let error = self.wrong(&places(error.path()), error.inner().message(), &remedy);
                    // The span is that of the value; the place may end at the table around it.
                    ScriptError { line: line.or(error.line), ..error }
                })
            }
            Content::Json(tree) => serde_path_to_error::deserialize(*tree)
                .map_err(|error| self.wrong(&places(error.path()), &error.inner().to_string(), &remedy)),
        }
    }

    /// Serde's error at `place`, in the words of a script.
    fn wrong(
        &self,
        place: &[Place<'_>],
        message: &str,
        remedy: &impl Fn(&str) -> &'static str,
    ) -> ScriptError {
        // Serde reports these errors as text only; the names in it are between backquotes.
        let mut words = message.split('`').skip(1).step_by(2);
        let key = last_key(place);
        if message.starts_with("unknown field") {
            let given = words.next().unwrap_or_default();
            // The path may end with the unknown key; the item is its owner.
            let place = if key == Some(given) { &place[..place.len() - 1] } else { place };
            return self.error(
                place,
                format!("{given:?} is an unknown key"),
                offer(given, &words.collect::<Vec<_>>()),
            );
        }
        if message.starts_with("missing field") {
            let missing = words.next().unwrap_or_default();
            return self.error(place, format!("{missing} is missing"), remedy(missing));
        }
        let unit = match place {
            [.., Place::Key(system), Place::Key(name)] => unit(system, name),
            _ => None,
        };
        // Errors of distributions have the unit of times; here the amount may be pages.
        let message = unit.map_or(message.to_owned(), |unit| message.replace(" [s]", &unit));
        match message.rsplit_once("; ") {
            Some((problem, remedy)) => self.error(place, problem, remedy),
            None => self.error(place, &*message, remedy(key.unwrap_or_default())),
        }
    }

    /// An error at `place`, with its line.
    pub fn error(
        &self,
        place: &[Place<'_>],
        problem: impl Into<String>,
        remedy: impl Into<String>,
    ) -> ScriptError {
        ScriptError {
            file: self.file.into(),
            line: self.line(place),
            item: self.item(place),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// Line of the key, or of the item of a list, at `place`; if that does not exist, of the value around it.
    pub fn line(&self, place: &[Place<'_>]) -> Option<usize> {
        let Content::Toml(text, root) = &self.content else { return None };
        let mut start = 0;
        let mut tables = Some(root.get_ref());
        let mut items = None;
        for place in place {
            let value = match place {
                Place::Key(key) => {
                    let Some((key, value)) = tables.and_then(|table| table.get_key_value(*key)) else {
                        break;
                    };
                    start = key.span().start;
                    value
                }
                Place::Index(index) => {
                    let Some(value) = items.and_then(|items: &toml::de::DeArray<'_>| items.get(*index))
                    else {
                        break;
                    };
                    start = value.span().start;
                    value
                }
            };
            (tables, items) = match value.get_ref() {
                DeValue::Table(table) => (Some(table), None),
                DeValue::Array(array) => (None, Some(array)),
                _ => (None, None),
            };
        }
        Some(line_of(text, start))
    }

    /// Name of the value at `place` for a person, such as `interaction 2 (edit): think`.
    pub fn item(&self, place: &[Place<'_>]) -> String {
        match place {
            [] => "the script".into(),
            [Place::Key("interaction"), Place::Index(index), rest @ ..] => {
                let command = self.command(*index).map(|name| format!(" ({name})")).unwrap_or_default();
                joined(format!("interaction {}{command}", index + 1), rest)
            }
            [Place::Key("commands"), Place::Key(name), rest @ ..] => {
                joined(format!("command {name:?}"), rest)
            }
            [Place::Key(key), rest @ ..] => joined((*key).into(), rest),
            [Place::Index(_), rest @ ..] => self.item(rest),
        }
    }

    /// Command of an interaction; `None` if it is missing or not a text.
    fn command(&self, index: usize) -> Option<&str> {
        match &self.content {
            Content::Toml(_, root) => root
                .get_ref()
                .get("interaction")?
                .get_ref()
                .get(index)?
                .get_ref()
                .get("command")?
                .get_ref()
                .as_str(),
            Content::Json(tree) => tree.get("interaction")?.get(index)?.get("command")?.as_str(),
        }
    }
}

/// Key as TOML requires it to be written.
pub fn key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.chars().all(bare) { name.into() } else { format!("{name:?}") }
}

/// The innermost key on the way to a value.
fn last_key<'a>(place: &[Place<'a>]) -> Option<&'a str> {
    place.iter().rev().find_map(|place| match place {
        Place::Key(key) => Some(*key),
        Place::Index(_) => None,
    })
}

/// The first value that TOML allows and a script does not, with its place: serde would name it in the library's
/// own notation.
fn foreign_in_table<'a>(table: &'a DeTable<'_>) -> Option<(Vec<Place<'a>>, String)> {
    table.iter().find_map(|(key, value)| foreign(value.get_ref(), Place::Key(key.get_ref())))
}

/// [`foreign_in_table`] for a value at `place`.
fn foreign<'a>(value: &'a DeValue<'_>, place: Place<'a>) -> Option<(Vec<Place<'a>>, String)> {
    let inside = match value {
        DeValue::Datetime(date) => return Some((vec![place], format!("{date} is a date"))),
        DeValue::Float(number) if !number.as_str().parse().is_ok_and(f64::is_finite) => {
            return Some((vec![place], format!("{number} is not a finite number")));
        }
        DeValue::Table(table) => foreign_in_table(table),
        DeValue::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| foreign(item.get_ref(), Place::Index(index)))
        }
        _ => None,
    };
    inside.map(|(places, problem)| ([vec![place], places].concat(), problem))
}

/// `item` with the rest of the way to a value.
fn joined(item: String, rest: &[Place<'_>]) -> String {
    rest.iter().fold(item, |item, place| match place {
        Place::Key(key) => format!("{item}: {key}"),
        Place::Index(index) => format!("{item}[{index}]"),
    })
}

/// The way to a value in the form of this module.
fn places(path: &serde_path_to_error::Path) -> Vec<Place<'_>> {
    path.iter()
        .filter_map(|segment| match segment {
            Segment::Seq { index } => Some(Place::Index(*index)),
            Segment::Map { key } => Some(Place::Key(key)),
            Segment::Enum { .. } | Segment::Unknown => None,
        })
        .collect()
}

/// Unit of a demand in brackets; `None` if there is no such demand.
fn unit(system: &str, name: &str) -> Option<String> {
    let demand = demand::of(system)?.iter().find(|demand| demand.name == name)?;
    Some(if demand.unit.is_empty() { String::new() } else { format!(" [{}]", demand.unit) })
}

/// Number of the line of byte `offset`, from 1.
fn line_of(text: &str, offset: usize) -> usize {
    // Counted only for an error: no table of lines is kept.
    1 + text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count()
}
