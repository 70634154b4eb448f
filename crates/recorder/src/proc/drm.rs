//! `/proc/PID/fdinfo/N` of an open graphics device: Documentation/gpu/drm-usage-stats.rst of the kernel.

use std::collections::BTreeMap;

use super::{items, lines, number};

/// A client of a graphics device: what one opening of the device has used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// Slot of the device, or its driver where it has none: with `id`, the identity of a client.
    pub device: String,
    /// Number that descriptors of the same opening share.
    pub id: u64,
    /// Engines by name; empty where the driver tells nothing of them.
    pub engines: BTreeMap<String, Engine>,
    /// Memory of its buffers that is resident, all regions [byte]; `None` where the driver does not tell.
    pub memory: Option<u64>,
}

/// What a client has used of an engine, cumulative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Engine {
    /// Time in which it worked for the client [ns].
    pub busy_ns: Option<u64>,
    /// The same in cycles of its clock, and all cycles.
    pub cycles: Option<u64>,
    pub total_cycles: Option<u64>,
    /// Equal engines behind this name; 0 where one is meant.
    pub capacity: u64,
}

/// Keys of memory, the one that says best what is resident first.
const MEMORY: [&str; 3] = ["resident-", "memory-", "total-"];

/// The client of a descriptor; `None` for a descriptor of anything else, or without what identifies a client.
pub fn parse(text: &[u8]) -> Option<Client> {
    let mut client = Client::default();
    let (mut driver, mut id) = (None, None);
    // By region, for each of the keys.
    let mut memory: BTreeMap<String, [Option<u64>; MEMORY.len()]> = BTreeMap::new();
    for (_, line) in lines(text) {
        let Some(line) = line.strip_prefix(b"drm-") else { continue };
        let Some(colon) = line.iter().position(|byte| *byte == b':') else { continue };
        let key = String::from_utf8_lossy(&line[..colon]).into_owned();
        let mut words = items(&line[colon + 1..]);
        let Some(value) = words.next() else { continue };
        match key.as_str() {
            "driver" => driver = Some(String::from_utf8_lossy(value).into_owned()),
            "pdev" => client.device = String::from_utf8_lossy(value).into_owned(),
            "client-id" => id = number(value),
            _ => {
                let Some(amount) = number(value) else { continue };
                if !engine(&mut client.engines, &key, amount) {
                    let unit = words.next().unwrap_or_default();
                    region(&mut memory, &key, amount, unit);
                }
            }
        }
    }
    client.id = id?;
    if client.device.is_empty() {
        client.device = driver?;
    } else {
        driver?;
    }
    let best = |values: &[Option<u64>; MEMORY.len()]| values.iter().find_map(|value| *value);
    client.memory = memory.values().filter_map(best).reduce(u64::saturating_add);
    Some(client)
}

/// Takes a key of an engine; false for any other.
fn engine(engines: &mut BTreeMap<String, Engine>, key: &str, amount: u64) -> bool {
    type Place = fn(&mut Engine, u64);
    // The longer of two keys that begin alike comes first.
    let places: [(&str, Place); 4] = [
        ("engine-capacity-", |engine, amount| engine.capacity = amount),
        ("engine-", |engine, amount| engine.busy_ns = Some(amount)),
        ("total-cycles-", |engine, amount| engine.total_cycles = Some(amount)),
        ("cycles-", |engine, amount| engine.cycles = Some(amount)),
    ];
    for (prefix, set) in places {
        if let Some(name) = key.strip_prefix(prefix) {
            set(engines.entry(name.to_owned()).or_default(), amount);
            return true;
        }
    }
    false
}

fn region(memory: &mut BTreeMap<String, [Option<u64>; MEMORY.len()]>, key: &str, amount: u64, unit: &[u8]) {
    let factor = match unit {
        b"" => 1,
        b"KiB" => 1 << 10,
        b"MiB" => 1 << 20,
        // Of a unit that is not known, nothing is.
        _ => return,
    };
    for (place, prefix) in MEMORY.iter().enumerate() {
        if let Some(name) = key.strip_prefix(prefix) {
            memory.entry(name.to_owned()).or_default()[place] = Some(amount.saturating_mul(factor));
        }
    }
}

impl Engine {
    /// Time in which the engine worked between two readings [ns], `passed_ns` apart; `None` where it does not tell.
    ///
    /// A driver may report less than before: the larger value stands until it is reached again.
    pub fn grown_ns(&self, before: &Engine, passed_ns: u64) -> Option<u64> {
        if let Some(now) = self.busy_ns {
            return Some(now.saturating_sub(before.busy_ns.unwrap_or(0)));
        }
        let busy = self.cycles?.saturating_sub(before.cycles.unwrap_or(0));
        let all = self.total_cycles?.checked_sub(before.total_cycles?).filter(|all| *all > 0)?;
        // At most all of the time, on each of the engines of this name.
        let all_engines = u128::from(passed_ns) * u128::from(self.capacity.max(1));
        let ns = (u128::from(busy) * u128::from(passed_ns) / u128::from(all)).min(all_engines);
        u64::try_from(ns).ok()
    }

    /// The larger of two readings.
    pub fn at_least(self, before: &Engine) -> Engine {
        Engine { busy_ns: self.busy_ns.max(before.busy_ns), cycles: self.cycles.max(before.cycles), ..self }
    }
}
