//! Control groups in an interval: services, containers and login sessions below the groups that they are in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thinktime_log::LogError;

use crate::line::{Line, Measure, Order};
use crate::reel::{Position, Reel};
use crate::rows::{GROUP_AMOUNTS, Part, Record, Sample};
use crate::words::{bytes, count, number, percent, percent_or_absent};

/// Age up to which a group that has no memory of its own to be read stays, with nothing used [µs].
const AGE_MAX_US: i64 = 60_000_000;
/// Age beyond which a reading of memory says nothing about an interval [µs].
const MEMORY_AGE_MAX_US: i64 = 600_000_000;

/// What is known of a group in an interval.
#[derive(Clone, Copy)]
struct Known<'a> {
    /// The last row, for its name and for the columns that it has.
    record: &'a Record<GROUP_AMOUNTS>,
    is_of_interval: bool,
    /// The row with the last reading of memory.
    memory: Option<&'a Record<GROUP_AMOUNTS>>,
}

/// The control groups in the interval at `position`, by path.
pub(crate) fn groups(reel: &mut Reel, position: Position) -> Result<Vec<Line>, LogError> {
    let Some(sample) = reel.sample(position)? else { return Ok(Vec::new()) };
    let (part, previous) = reel.parts(position.part, false)?;
    let known = known(part, previous, sample.start_us);
    Ok(known.into_values().map(|known| line(known, &sample)).collect())
}

fn known<'a>(part: &'a Part, previous: Option<&'a Part>, start_us: i64) -> BTreeMap<&'a Arc<str>, Known<'a>> {
    let in_beat: BTreeMap<&Arc<str>, &Record<GROUP_AMOUNTS>> =
        with_memory(part, previous, start_us).iter().map(|record| (&record.key, record)).collect();
    let before = previous.into_iter().flat_map(|part| part.groups.last(start_us));
    let mut known = BTreeMap::new();
    for (found_us, record) in before.chain(part.groups.last(start_us)) {
        let memory = in_beat.get(&record.key).copied();
        // One whose memory was read is still there until the next reading.
        if memory.is_some() || start_us.saturating_sub(found_us) <= AGE_MAX_US {
            known.insert(&record.key, Known { record, is_of_interval: found_us == start_us, memory });
        }
    }
    known
}

/// The rows of the last interval with a reading of memory, in this one or not long before it.
fn with_memory<'a>(part: &'a Part, previous: Option<&'a Part>, start_us: i64) -> &'a [Record<GROUP_AMOUNTS>] {
    let last = |part: &'a Part| part.groups.last_beat(start_us);
    let beat = last(part).or_else(|| previous.and_then(last));
    let fresh = beat.filter(|(beat_us, _)| start_us.saturating_sub(*beat_us) <= MEMORY_AGE_MAX_US);
    fresh.map_or(&[], |(_, rows)| rows)
}

/// Amounts in the interval, with the levels of memory as they were read last.
fn amounts(known: Known<'_>) -> [Option<f64>; GROUP_AMOUNTS] {
    /// The first of the levels; before it are amounts.
    const LEVELS: usize = 18;
    let row = known.record.amounts();
    let memory = known.memory.map(Record::amounts);
    std::array::from_fn(|at| match at {
        LEVELS.. => memory.and_then(|memory| memory[at]),
        // No row is no use.
        _ if !known.is_of_interval => row[at].map(|_| 0.0),
        _ => row[at],
    })
}

fn line(known: Known<'_>, sample: &Sample) -> Line {
    let amounts = amounts(known);
    let [cpu, _, _, throttled, _, _, cpu_some, memory_some, _, disk_some, _, read, write, ..] = amounts;
    let [.., memory, _, _, _, peak, limit] = amounts;
    let rate = |amount: Option<f64>| amount.map(|amount| amount / sample.length_s);
    let share = |seconds: Option<f64>| rate(seconds).map(|share| share.min(1.0));
    let key = &known.record.key;
    let last = || Arc::from(key.rsplit('/').next().unwrap_or(key));
    let used = amounts.into_iter().take(15).flatten().any(|amount| amount > 0.0);
    let mut line = Line::new(Arc::clone(key), known.record.name.clone().unwrap_or_else(last));
    line.is_active = used;
    line.set(Measure::Cpu, rate(cpu));
    line.set(Measure::Throttled, rate(throttled));
    line.set(Measure::CpuPressure, share(cpu_some));
    line.set(Measure::MemoryPressure, share(memory_some));
    line.set(Measure::DiskPressure, share(disk_some));
    line.set(Measure::Memory, memory);
    line.set(Measure::MemoryLimit, limit);
    line.set(Measure::MemoryPeak, peak);
    line.set_io(rate(read), rate(write));
    line
}

/// `lines` as a hierarchy: each group below the nearest one above it that has a line, siblings in `order`. Left out are
/// the groups below those in `folded`, and groups that `keeps` does not want unless one below them is wanted.
pub(crate) fn arranged(
    lines: &[Line],
    order: Order,
    folded: &BTreeSet<Arc<str>>,
    keeps: impl Fn(&Line) -> bool,
) -> Vec<Line> {
    // Those above come right before those below them, also where a name has a character that comes before the separator.
    let mut lines: Vec<&Line> = lines.iter().collect();
    lines.sort_by(|one, other| walk(&one.key).cmp(walk(&other.key)));
    let above = above(&lines);
    let mut is_kept: Vec<bool> = lines.iter().map(|line| keeps(line)).collect();
    for place in (0..lines.len()).rev() {
        if let Some(above) = above[place].filter(|_| is_kept[place]) {
            is_kept[above] = true;
        }
    }
    let mut below: Vec<Vec<usize>> = vec![Vec::new(); lines.len()];
    let mut top = Vec::new();
    for place in (0..lines.len()).filter(|place| is_kept[*place]) {
        above[place].map_or(&mut top, |above| &mut below[above]).push(place);
    }
    let sort = |places: &mut Vec<usize>| {
        // The last one is taken first.
        places.sort_by(|one, other| order.compare(lines[*other], lines[*one]));
    };
    sort(&mut top);
    below.iter_mut().for_each(sort);
    let mut arranged = Vec::new();
    let mut next: Vec<(usize, usize)> = top.into_iter().map(|place| (place, 0)).collect();
    while let Some((place, depth)) = next.pop() {
        let is_folded = !below[place].is_empty() && folded.contains(&lines[place].key);
        if !is_folded {
            next.extend(below[place].iter().map(|place| (*place, depth + 1)));
        }
        let mut line = lines[place].clone();
        (line.depth, line.is_folded) = (depth, is_folded);
        arranged.push(line);
    }
    arranged
}

/// What a path is ordered by in a walk through the hierarchy.
fn walk(path: &str) -> impl Iterator<Item = u8> {
    path.bytes().map(|byte| if byte == b'/' { 0 } else { byte })
}

/// Places of the nearest groups above those of `lines`, which are in the order of a walk through the hierarchy.
fn above(lines: &[&Line]) -> Vec<Option<usize>> {
    let is_below =
        |path: &str, above: &str| path.strip_prefix(above).is_some_and(|rest| rest.starts_with('/'));
    let mut way: Vec<usize> = Vec::new();
    let mut found = Vec::with_capacity(lines.len());
    for (place, line) in lines.iter().enumerate() {
        while way.last().is_some_and(|last| !is_below(&line.key, &lines[*last].key)) {
            way.pop();
        }
        found.push(way.last().copied());
        way.push(place);
    }
    found
}

/// What the log says of a group in an interval, in statements by line.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Details {
    pub(crate) path: Arc<str>,
    pub(crate) kind: Option<Arc<str>>,
    pub(crate) lines: Vec<(&'static str, Vec<String>)>,
}

/// The details of group `key` in the interval at `position`.
pub(crate) fn details(reel: &mut Reel, position: Position, key: &str) -> Result<Option<Details>, LogError> {
    let Some(sample) = reel.sample(position)? else { return Ok(None) };
    let (part, previous) = reel.parts(position.part, false)?;
    let before = || previous.and_then(|part| part.groups.last_of(key, sample.start_us));
    let Some((found_us, record)) = part.groups.last_of(key, sample.start_us).or_else(before) else {
        return Ok(None);
    };
    let memory = with_memory(part, previous, sample.start_us).iter().find(|record| &*record.key == key);
    let known = Known { record, is_of_interval: found_us == sample.start_us, memory };
    let lines = statements(&amounts(known), sample.length_s);
    Ok(Some(Details { path: Arc::clone(&record.key), kind: record.kind.clone(), lines }))
}

fn statements(amounts: &[Option<f64>; GROUP_AMOUNTS], length_s: f64) -> Vec<(&'static str, Vec<String>)> {
    let [cpu, user, system, throttled, throttled_periods, periods, ..] = *amounts;
    let [_, _, _, _, _, _, cpu_some, memory_some, memory_full, disk_some, disk_full, ..] = *amounts;
    let [.., high, max, killed, memory, anonymous, file, swap, peak, limit] = *amounts;
    let [_, _, _, _, _, _, _, _, _, _, _, read, write, reads, writes, ..] = *amounts;
    let rate = |amount: Option<f64>| amount.map(|amount| amount / length_s);
    let share = |seconds: Option<f64>| percent_or_absent(rate(seconds).map(|share| share.min(1.0)));
    let mut of_cpu = vec![percent_or_absent(rate(cpu))];
    of_cpu.extend(user.map(|seconds| format!("user {}", percent(seconds / length_s))));
    of_cpu.extend(system.map(|seconds| format!("system {}", percent(seconds / length_s))));
    of_cpu.extend(throttled.map(|seconds| format!("throttled {}", percent(seconds / length_s))));
    if let Some((throttled, periods)) = throttled_periods.zip(periods).filter(|(_, periods)| *periods > 0.0) {
        of_cpu.push(format!("quota used up in {throttled:.0} of {}", count(periods as usize, "period")));
    }
    let mut of_memory = vec![memory.map_or("-".into(), bytes)];
    of_memory.push(limit.map_or("no limit".into(), |limit| format!("limit {}", bytes(limit))));
    for (name, level) in
        [("peak", peak), ("anonymous", anonymous), ("page cache", file), ("swapped out", swap)]
    {
        of_memory.extend(level.map(|level| format!("{name} {}", bytes(level))));
    }
    for (name, times) in [("slowed", high), ("at its limit", max)] {
        let times = times.filter(|times| *times > 0.0);
        of_memory.extend(times.map(|times| format!("{name} {}", count(times as usize, "time"))));
    }
    let killed = killed.filter(|killed| *killed > 0.0);
    of_memory.extend(killed.map(|killed| format!("{} killed", count(killed as usize, "process"))));
    let is_known = |figures: &[Option<f64>]| figures.iter().any(Option::is_some);
    let mut lines = vec![("CPU", of_cpu)];
    if is_known(&[memory]) {
        lines.push(("memory", of_memory));
    }
    if is_known(&[cpu_some, memory_some, disk_some]) {
        let all =
            |seconds: Option<f64>| seconds.map_or(String::new(), |_| format!(" (all {})", share(seconds)));
        let of_pressure = vec![
            format!("CPU {}", share(cpu_some)),
            format!("memory {}{}", share(memory_some), all(memory_full)),
            format!("disks {}{}", share(disk_some), all(disk_full)),
        ];
        lines.push(("pressure", of_pressure));
    }
    if is_known(&[read, write]) {
        let flow = |name: &str, amount: Option<f64>, times: Option<f64>| {
            let times = rate(times).map_or(String::new(), |times| format!(" in {} requests", number(times)));
            format!("{name} {}{times}", rate(amount).map_or("-".into(), bytes))
        };
        lines.push(("per second", vec![flow("read", read, reads), flow("written", write, writes)]));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::line::Sort;

    fn line(path: &str, cpu: f64) -> Line {
        let mut line = Line::new(path.into(), path.rsplit('/').next().unwrap().into());
        line.set(Measure::Cpu, Some(cpu));
        line
    }

    fn shown(lines: &[Line]) -> Vec<(usize, &str)> {
        lines.iter().map(|line| (line.depth, &*line.name)).collect()
    }

    fn all() -> Vec<Line> {
        vec![
            line("/a.slice/x.service", 1.0),
            line("/a.slice/y.service", 2.0),
            line("/a.slice", 3.0),
            line("/a.slice-other", 5.0),
            // The group between has no line.
            line("/b.slice/between/z.service", 4.0),
            line("/b.slice", 4.0),
        ]
    }

    #[test]
    fn groups_stand_below_those_that_they_are_in() {
        let arranged = |order| arranged(&all(), order, &BTreeSet::new(), |_| true);
        let by_cpu = Order::by(Measure::Cpu);
        assert_eq!(
            shown(&arranged(by_cpu)),
            [
                (0, "a.slice-other"),
                (0, "b.slice"),
                (1, "z.service"),
                (0, "a.slice"),
                (1, "y.service"),
                (1, "x.service")
            ]
        );
        let by_name = Order { sort: Sort::Name, is_reversed: true };
        assert_eq!(
            shown(&arranged(by_name)),
            [
                (0, "b.slice"),
                (1, "z.service"),
                (0, "a.slice-other"),
                (0, "a.slice"),
                (1, "y.service"),
                (1, "x.service")
            ]
        );
    }

    #[test]
    fn what_is_looked_for_is_shown_with_the_groups_above_it() {
        let order = Order::by(Measure::Cpu);
        let found = arranged(&all(), order, &BTreeSet::new(), |line| line.name.contains('x'));
        assert_eq!(shown(&found), [(0, "a.slice"), (1, "x.service")]);
        let folded = BTreeSet::from([Arc::from("/a.slice"), Arc::from("/a.slice-other")]);
        let found = arranged(&all(), order, &folded, |_| true);
        assert_eq!(shown(&found), [(0, "a.slice-other"), (0, "b.slice"), (1, "z.service"), (0, "a.slice")]);
        assert_eq!(found.iter().filter(|line| line.is_folded).count(), 1);
    }
}
