//! Values in force where a parameter says `of_version`, in the parameters' units.

use serde_json::{Map, Value, json};

use super::config::Config;
use super::events::Event;
use super::traffic::{Eligibility, Order};

impl Config {
    /// Parameters by name, with the version's own values filled in.
    pub(super) fn in_force(&self) -> Value {
        let milliseconds = |nanoseconds: f64| nanoseconds / 1e6;
        let path = |event: Event| {
            let mean = self.paths.mean(event).0;
            (format!("{}_path", event.name()), json!(milliseconds(mean as f64)))
        };
        let mut in_force: Map<String, Value> = Event::ALL.into_iter().map(path).collect();
        let others = [
            ("headway", milliseconds(self.page_lifetime.mean.0 as f64)),
            ("segment_headway", milliseconds(self.segment_lifetime.mean.0 as f64)),
            ("gate_headway", milliseconds(self.gate_headway_ns)),
            ("active_segments", f64::from(self.active_segments)),
            ("examine", milliseconds(self.examine.0 as f64)),
            ("quantum", self.quantum_of(0).seconds()),
            ("demand", self.demand),
            ("kept", self.kept),
            ("terminal_delay", self.terminal_delay.seconds()),
        ];
        in_force.extend(others.map(|(name, value)| (name.to_owned(), json!(value))));
        let words = [
            ("order", if self.shuffled { "random" } else { "script" }),
            ("priority", if self.order == Order::LastReady { "last_page" } else { "first_eligible" }),
        ];
        in_force.extend(words.map(|(name, word)| (name.to_owned(), json!(word))));
        // With working sets there is no number.
        if let Eligibility::Number(number) = self.eligibility {
            in_force.insert("max_eligible".to_owned(), json!(number));
        }
        Value::Object(in_force)
    }
}
