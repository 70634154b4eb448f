//! The parts of a log in order: the interval that is asked for, and what was written meanwhile.

use std::collections::BTreeSet;
use std::path::Path;

use thinktime_log::{Follower, LogError, Manifest};

use crate::rows::{Part, Sample, TABLES};

/// Complete parts that are kept in memory: the one on the screen, its neighbours, and one more.
const KEPT_MAX: usize = 4;

/// An interval: a part by its place in the order, and an interval of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) part: usize,
    pub(crate) row: usize,
}

/// A part that has samples.
#[derive(Clone, Copy, Debug)]
struct Extent {
    number: u64,
    samples: usize,
    /// Start of its first sample [µs]; read when it is needed first.
    first_us: Option<i64>,
    /// Start of its last sample [µs], in the same way.
    last_us: Option<i64>,
}

/// What happened to the log since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Change {
    /// Something is there that was not, or a part has ended: there may be more.
    pub(crate) grown: bool,
    /// The session has ended, and nobody writes the log any more.
    pub(crate) ended: bool,
}

/// A log as a row of intervals.
pub(crate) struct Reel {
    follower: Follower,
    extents: Vec<Extent>,
    /// Complete parts, the one that was used last at the end.
    kept: Vec<Part>,
    /// The part that is being written.
    open: Option<Part>,
    /// Tables that have rows in it: they may have been declared since the manifest was read.
    seen: BTreeSet<String>,
}

impl Reel {
    /// The log in folder `dir`, read to its end.
    pub(crate) fn open(dir: &Path) -> Result<Reel, LogError> {
        let follower = Follower::open(dir)?;
        let extents = follower.parts("samples")?.into_iter().map(|(number, rows)| Extent {
            number,
            samples: usize::try_from(rows).unwrap_or(usize::MAX),
            first_us: None,
            last_us: None,
        });
        let extents = extents.filter(|extent| extent.samples > 0).collect();
        let mut reel = Reel { follower, extents, kept: Vec::new(), open: None, seen: BTreeSet::new() };
        while reel.look()?.grown {}
        Ok(reel)
    }

    pub(crate) fn manifest(&self) -> &Manifest {
        self.follower.manifest()
    }

    /// Whether somebody may still be writing: the last session has not ended. It never does where its writer was killed.
    pub(crate) fn is_open(&self) -> bool {
        self.manifest().sessions.last().is_some_and(|session| session.end_us.is_none())
    }

    /// Whether the log is still where it was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.follower.is_in_place()
    }

    /// Whether the log has table `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.seen.contains(name) || self.manifest().tables.iter().any(|table| table.name == name)
    }

    /// Reads what was written since the last look.
    pub(crate) fn look(&mut self) -> Result<Change, LogError> {
        let news = self.follower.look(&TABLES.map(|(table, _)| table))?;
        let Some(number) = news.part else { return Ok(Change::default()) };
        if self.open.as_ref().is_none_or(|open| open.number != number) {
            self.shelve();
            self.open = Some(Part::new(number));
        }
        let Some(open) = &mut self.open else { return Ok(Change::default()) };
        let grown = news.moved;
        for (table, batch) in &news.rows {
            open.take(table, batch, None)?;
            if !self.seen.contains(table) {
                self.seen.insert(table.clone());
            }
        }
        let samples = open.samples.len();
        let last_us = open.samples.last().map(|sample| sample.start_us);
        match self.extents.last_mut().filter(|last| last.number == number) {
            Some(last) => (last.samples, last.last_us) = (samples, last_us),
            None if samples > 0 => {
                let first_us = open.samples.first().map(|sample| sample.start_us);
                self.extents.push(Extent { number, samples, first_us, last_us });
            }
            None => {}
        }
        if news.ended {
            self.shelve();
        }
        let is_over = self.manifest().sessions.last().is_some_and(|session| session.end_us.is_some());
        Ok(Change { grown, ended: news.ended && is_over })
    }

    /// Puts the open part to the complete ones.
    fn shelve(&mut self) {
        if let Some(part) = self.open.take() {
            self.keep(part);
        }
    }

    fn keep(&mut self, part: Part) {
        if self.kept.len() == KEPT_MAX {
            self.kept.remove(0);
        }
        self.kept.push(part);
    }

    pub(crate) fn first(&self) -> Option<Position> {
        (!self.extents.is_empty()).then_some(Position { part: 0, row: 0 })
    }

    pub(crate) fn last(&self) -> Option<Position> {
        let part = self.extents.len().checked_sub(1)?;
        Some(Position { part, row: self.extents[part].samples.saturating_sub(1) })
    }

    /// The position `steps` intervals later, or earlier where it is negative; the end where there are not as many.
    pub(crate) fn stepped(&self, from: Position, steps: i64) -> Position {
        let Position { mut part, mut row } = from;
        for _ in 0..steps.unsigned_abs() {
            if steps > 0 {
                if row + 1 < self.samples(part) {
                    row += 1;
                } else if part + 1 < self.extents.len() {
                    (part, row) = (part + 1, 0);
                }
            } else if row > 0 {
                row -= 1;
            } else if part > 0 {
                (part, row) = (part - 1, self.samples(part - 1).saturating_sub(1));
            }
        }
        Position { part, row }
    }

    fn samples(&self, part: usize) -> usize {
        self.extents.get(part).map_or(0, |extent| extent.samples)
    }

    /// Number of the interval at `position`, from 1, and of all intervals.
    pub(crate) fn ordinal(&self, position: Position) -> (usize, usize) {
        let sum =
            |extents: &[Extent]| extents.iter().fold(0, |sum: usize, one| sum.saturating_add(one.samples));
        let before = sum(&self.extents[..position.part.min(self.extents.len())]);
        (before.saturating_add(position.row).saturating_add(1), sum(&self.extents))
    }

    /// The interval in which `time_us` is, or the last one before it; the first one where there is none before.
    pub(crate) fn at(&mut self, time_us: i64) -> Result<Option<Position>, LogError> {
        if self.extents.is_empty() {
            return Ok(None);
        }
        let (mut low, mut high) = (0, self.extents.len());
        // Parts are in order of time, unless a clock was set back: then it is one of those that have the time.
        while high - low > 1 {
            let middle = usize::midpoint(low, high);
            if self.first_us(middle)? <= time_us {
                low = middle;
            } else {
                high = middle;
            }
        }
        let samples = &self.part(low)?.samples;
        let row = samples.partition_point(|sample| sample.start_us <= time_us).saturating_sub(1);
        Ok(Some(Position { part: low, row }))
    }

    /// Start of the first interval and of the last one [µs].
    pub(crate) fn span(&mut self) -> Result<Option<(i64, i64)>, LogError> {
        let Some(last) = self.extents.len().checked_sub(1) else { return Ok(None) };
        let first_us = self.first_us(0)?;
        if self.extents[last].last_us.is_none() {
            let range = self.follower.range("samples", self.extents[last].number, "start")?;
            let last_us = match range {
                Some((_, last_us)) => Some(last_us),
                None => self.part(last)?.samples.last().map(|sample| sample.start_us),
            };
            self.extents[last].last_us = last_us;
        }
        Ok(self.extents[last].last_us.map(|last_us| (first_us, last_us)))
    }

    fn first_us(&mut self, part: usize) -> Result<i64, LogError> {
        if let Some(first_us) = self.extents[part].first_us {
            return Ok(first_us);
        }
        let number = self.extents[part].number;
        let first_us = match self.follower.range("samples", number, "start")? {
            Some((first_us, _)) => first_us,
            // A writer that keeps no statistics.
            None => self.part(part)?.samples.first().map_or(0, |sample| sample.start_us),
        };
        self.extents[part].first_us = Some(first_us);
        Ok(first_us)
    }

    /// The sample at `position`.
    pub(crate) fn sample(&mut self, position: Position) -> Result<Option<Sample>, LogError> {
        Ok(self.part(position.part)?.samples.get(position.row).cloned())
    }

    /// The rows of part `part`, and those of the part before it where they are in memory or `with_previous` asks for
    /// them.
    pub(crate) fn parts(
        &mut self,
        part: usize,
        with_previous: bool,
    ) -> Result<(&Part, Option<&Part>), LogError> {
        let previous = part.checked_sub(1);
        if let Some(previous) = previous.filter(|_| with_previous) {
            self.part(previous)?;
        }
        self.part(part)?;
        let number = |part: usize| self.extents.get(part).map(|extent| extent.number);
        let held = |number: u64| {
            let all = self.kept.iter().chain(&self.open);
            all.into_iter().find(|part| part.number == number)
        };
        let this = number(part).and_then(held).ok_or_else(|| gone(part))?;
        Ok((this, previous.and_then(number).and_then(held)))
    }

    fn part(&mut self, part: usize) -> Result<&Part, LogError> {
        let Some(extent) = self.extents.get(part).copied() else { return Err(gone(part)) };
        if self.open.as_ref().is_some_and(|open| open.number == extent.number) {
            return self.open.as_ref().ok_or_else(|| gone(part));
        }
        match self.kept.iter().position(|kept| kept.number == extent.number) {
            Some(at) => {
                let used = self.kept.remove(at);
                self.kept.push(used);
            }
            None => {
                let loaded = self.load(extent.number)?;
                // What could not be shown is not counted either.
                self.extents[part].samples = loaded.samples.len();
                self.keep(loaded);
            }
        }
        self.kept.last().ok_or_else(|| gone(part))
    }

    /// The rows of the complete part `number`, and of the parts of other tables that have none of this number and are
    /// of the same time: importers write one table after the other.
    fn load(&self, number: u64) -> Result<Part, LogError> {
        let mut part = Part::new(number);
        for (table, columns) in TABLES {
            let there = self.follower.parts(table)?;
            let is_aligned = there.iter().any(|(other, _)| *other == number);
            let range = part.range();
            let mut wanted: Vec<u64> = Vec::new();
            if is_aligned {
                wanted.push(number);
            } else if let Some((low, high)) = range.filter(|_| table != "samples") {
                let time = if table == "interactions" { "completion" } else { "start" };
                for (other, _) in &there {
                    // A part of the number of other samples belongs to those.
                    let is_of_others = self.extents.iter().any(|extent| extent.number == *other);
                    let overlaps = |(first, last): (i64, i64)| first <= high && last >= low;
                    if !is_of_others && self.follower.range(table, *other, time)?.is_none_or(overlaps) {
                        wanted.push(*other);
                    }
                }
            }
            let within = range.filter(|_| !is_aligned);
            for other in wanted {
                self.follower.read(table, other, columns, |batch| part.take(table, &batch, within))?;
            }
        }
        Ok(part)
    }
}

/// Why a part is not there: retention removed it, or the list was wrong.
fn gone(part: usize) -> LogError {
    LogError::Schema { table: "samples".into(), reason: format!("part {} of the list is gone", part + 1) }
}
