//! A script's text as a tree that knows its lines: the same for TOML and for JSON.

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::ScriptError;

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Node {
    pub line: Option<usize>,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub enum Content {
    /// In the order of the file.
    Table(Vec<Entry>),
    List(Vec<Node>),
    /// Text, a finite number, true, false or null.
    Scalar(Value),
    /// What no part of a script can be: nan, a date.
    Other {
        text: String,
        what: &'static str,
    },
}

#[derive(Clone, Debug)]
pub struct Entry {
    pub key: String,
    pub line: Option<usize>,
    pub node: Node,
}

impl Node {
    /// The tree of a TOML text; `file` is its name in errors.
    pub fn from_toml(text: &str, file: &str) -> Result<Node, ScriptError> {
        let lines = Lines::of(text);
        match DeTable::parse(text) {
            Ok(table) => Ok(Node { line: Some(1), content: lines.table(table.get_ref()) }),
            Err(error) => Err(ScriptError {
                file: file.into(),
                line: error.span().map(|span| lines.number(span.start)),
                item: "the text".into(),
                problem: format!("is no TOML: {}", error.message()),
                remedy: "see https://toml.io for the notation".into(),
            }),
        }
    }

    pub fn from_json(value: &Value) -> Node {
        let content = match value {
            Value::Object(table) => Content::Table(
                table
                    .iter()
                    .map(|(key, value)| Entry { key: key.clone(), line: None, node: Node::from_json(value) })
                    .collect(),
            ),
            Value::Array(items) => Content::List(items.iter().map(Node::from_json).collect()),
            scalar => Content::Scalar(scalar.clone()),
        };
        Node { line: None, content }
    }

    /// The tree as JSON, or the node that has no place in it.
    pub fn to_json(&self) -> Result<Value, &Node> {
        match &self.content {
            Content::Table(entries) => {
                entries.iter().map(|entry| Ok((entry.key.clone(), entry.node.to_json()?))).collect()
            }
            Content::List(items) => items.iter().map(Node::to_json).collect(),
            Content::Scalar(value) => Ok(value.clone()),
            Content::Other { .. } => Err(self),
        }
    }

    /// What it is, as a person would say.
    pub fn what(&self) -> String {
        match &self.content {
            Content::Table(_) => "a table".into(),
            Content::List(_) => "a list".into(),
            Content::Scalar(Value::String(text)) if text.chars().count() > 60 => "a long text".into(),
            Content::Scalar(value) => value.to_string(),
            Content::Other { text, .. } => text.clone(),
        }
    }
}

/// Where each line of a text begins [bytes].
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Lines {
        Lines(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at).collect())
    }

    /// Number of the line of byte `at`, from 1.
    fn number(&self, at: usize) -> usize {
        1 + self.0.partition_point(|end| *end < at)
    }

    fn table(&self, table: &DeTable<'_>) -> Content {
        let mut entries: Vec<(usize, Entry)> = table
            .iter()
            .map(|(key, value)| {
                let at = key.span().start;
                let line = Some(self.number(at));
                (at, Entry { key: key.get_ref().to_string(), line, node: self.node(value) })
            })
            .collect();
        entries.sort_by_key(|(at, _)| *at);
        Content::Table(entries.into_iter().map(|(_, entry)| entry).collect())
    }

    fn node(&self, value: &Spanned<DeValue<'_>>) -> Node {
        let content = match value.get_ref() {
            DeValue::Table(table) => self.table(table),
            DeValue::Array(items) => Content::List(items.iter().map(|item| self.node(item)).collect()),
            DeValue::String(text) => Content::Scalar(text.as_ref().into()),
            DeValue::Boolean(flag) => Content::Scalar((*flag).into()),
            DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                Ok(number) => Content::Scalar(number.into()),
                Err(_) => Content::Other { text: number.to_string(), what: "a number too great" },
            },
            DeValue::Float(number) => {
                let finite = number.as_str().parse::<f64>().ok().and_then(serde_json::Number::from_f64);
                match finite {
                    Some(number) => Content::Scalar(Value::Number(number)),
                    None => Content::Other { text: number.to_string(), what: "no finite number" },
                }
            }
            DeValue::Datetime(date) => Content::Other { text: date.to_string(), what: "a date" },
        };
        Node { line: Some(self.number(value.span().start)), content }
    }
}
