//! The short form of a description: `hyperexponential(weights=[0.9,0.1],means=[0.1,5])`.
//!
//! ```text
//! value       = description | list | number | duration
//! description = name [ "(" [ name "=" value { "," name "=" value } ] ")" ]
//! list        = "[" [ value { "," value } ] "]"
//! ```
//!
//! A reader by recursive descent: the grammar is small, and its errors name the character and what is expected there.

use serde_json::{Map, Number, Value};

use crate::parse_duration;
use crate::units::shortened;

/// Largest depth of nested descriptions: no mixture needs more, and reading must not exhaust the stack.
const DEEPEST: usize = 16;

/// The table, list or number that the short form `text` stands for. Kinds and parameters are not checked.
///
/// # Errors
/// The notation is wrong; the message names the character and the symbol expected there.
pub fn expand(text: &str) -> Result<Value, String> {
    let mut reader = Reader { text, position: 0, depth: 0 };
    let value = reader.value()?;
    reader.skip_space();
    if reader.position < text.len() { Err(reader.expected("the end")) } else { Ok(value) }
}

/// Position in a text that is being read.
struct Reader<'a> {
    text: &'a str,
    /// Next byte to be read.
    position: usize,
    /// Values around the present one.
    depth: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.position..]
    }

    fn skip_space(&mut self) {
        self.position = self.text.len() - self.rest().trim_start().len();
    }

    /// The error message where `what` was expected and something else is present.
    fn expected(&self, what: &str) -> String {
        let present = self.rest().chars().next().map_or("the text ends".to_owned(), |c| format!("{c:?}"));
        // Counted in characters, as an editor does, and not in bytes.
        let character = self.text[..self.position].chars().count() + 1;
        format!("{present} at character {character} where {what} is expected")
    }

    /// Takes `symbol` if it comes next.
    fn take(&mut self, symbol: char) -> bool {
        self.skip_space();
        let is_next = self.rest().starts_with(symbol);
        self.position += if is_next { symbol.len_utf8() } else { 0 };
        is_next
    }

    /// Takes the longest run of characters that are `part` of a word.
    fn word(&mut self, part: impl Fn(char) -> bool) -> &str {
        self.skip_space();
        let from = self.position;
        let length = self.rest().find(|c| !part(c)).unwrap_or(self.rest().len());
        self.position += length;
        &self.text[from..self.position]
    }

    /// A description, list or number.
    fn value(&mut self) -> Result<Value, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(format!("is nested deeper than {DEEPEST} levels"));
        }
        self.skip_space();
        let value = match self.rest().chars().next() {
            Some('[') => self.list(),
            // A name without parameters is a description too: missing ones are found when it is checked.
            Some(c) if c.is_ascii_alphabetic() => self.description(),
            _ => self.number(),
        };
        self.depth -= 1;
        value
    }

    /// A number, or a duration as its number of seconds.
    fn number(&mut self) -> Result<Value, String> {
        let start = self.position;
        // Taken whole, sign, exponent and unit included: `parse` decides, so that 1e-3 is no 1 followed by a unit.
        let word = self.word(|c| c.is_ascii_alphanumeric() || "+-._".contains(c));
        let seconds = || word.parse().ok().or_else(|| parse_duration(word).ok());
        // A whole number stays one, because counts are read as integers.
        let integer = word.parse::<i64>().map(Number::from);
        if let Some(number) = integer.ok().or_else(|| seconds().and_then(Number::from_f64)) {
            return Ok(Value::Number(number));
        }
        self.position = start;
        // The message points to the beginning of the word that is not a number.
        Err(self.expected("a number, a duration, a list or a name"))
    }

    /// `[value, ...]`.
    fn list(&mut self) -> Result<Value, String> {
        self.take('[');
        let mut items = Vec::new();
        while !self.take(']') {
            if !items.is_empty() && !self.take(',') {
                return Err(self.expected("',' or ']'"));
            }
            items.push(self.value()?);
        }
        Ok(Value::Array(items))
    }

    /// `kind(name=value, ...)`.
    fn description(&mut self) -> Result<Value, String> {
        let kind = self.name();
        let mut table = Map::new();
        table.insert("kind".into(), Value::String(kind.clone()));
        if !self.take('(') {
            return Ok(Value::Object(table));
        }
        while !self.take(')') {
            // The table has its kind from the start: more than one entry means that a parameter came before.
            if table.len() > 1 && !self.take(',') {
                return Err(self.expected("',' or ')'"));
            }
            let name = self.name();
            if name.is_empty() || !self.take('=') {
                return Err(format!(
                    "{}; parameters are named, as in {}(name=value)",
                    self.expected(if name.is_empty() { "a name" } else { "'='" }),
                    shortened(kind),
                ));
            }
            let value = self.value()?;
            // `kind` is in the table already, so that it cannot be given as a parameter either.
            if table.insert(name.clone(), value).is_some() {
                return Err(format!("{} is given twice", shortened(name)));
            }
        }
        Ok(Value::Object(table))
    }

    /// A name; empty where none comes next.
    fn name(&mut self) -> String {
        self.word(|c| c.is_ascii_alphanumeric() || c == '_').to_owned()
    }
}
