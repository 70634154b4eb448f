//! Control groups: what each used, by its own counters, which know of every process that ever was in it.
//!
//! Counters are read from the root down, and below a group only if it ran: what sleeps costs nothing. A group that is
//! new is found because its parent ran and has another number of groups below it. Amounts of a group contain those of
//! the groups below it; the account of a *user by control group* is what is left of a group without them.

pub mod counters;
pub mod names;
pub mod trees;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value as Json, json};

use self::counters::{AMOUNTS, CPU_TIMES, Counts, Files, Levels, Part, Reading, levels};
use self::trees::{Places, Trees};
use crate::kernel::files::Root;

/// Most groups that are read; what others use is in the groups above them.
pub const GROUPS_MAX: usize = 1000;
/// Samples for which a group is read on after it ran: tasks may wait without running.
const HOT_SAMPLES: u8 = 2;
/// CPU time of a group without processes that is carried to the next interval rather than given a row [ns]: groups
/// are read one after the other, so that a little of what a group's children use stands in it alone.
const CARRIED_NS: i64 = 1_000_000;

/// A control group that is read.
#[derive(Debug)]
struct Group {
    path: Arc<str>,
    /// Place of the group above; the root is its own.
    parent: usize,
    files: Files,
    /// As of the last reading; `None` before the first.
    before: Option<Counts>,
    /// Growth in the last interval; `None` where it is not known.
    grown: Option<Counts>,
    /// CPU times that no row has yet, or of which a row had too much [ns].
    carried: [i64; CPU_TIMES],
    links: Option<u64>,
    /// Hierarchies that have a folder of it, as far as is known.
    places: Places,
    hot: u8,
    ran: bool,
    is_gone: bool,
    /// Made while it was recorded: everything that it has counted is of the last interval.
    is_new: bool,
    /// Groups directly below that are not read.
    unread: u64,
}

/// The control groups of a machine.
#[derive(Debug)]
pub struct Groups {
    trees: Trees,
    /// A group stands after the one above it.
    table: Vec<Group>,
    reading: Reading,
    gone: u64,
    /// The same since it was asked last.
    gone_lately: u64,
    /// The first sample has no interval.
    has_begun: bool,
}

/// CPU times of a user by control group in the last interval [ns]: exact, user and system.
pub type Times = [u64; CPU_TIMES];

impl Groups {
    /// The groups below `root`, nothing read yet.
    pub fn open(root: &Root) -> Groups {
        let trees = Trees::open(root);
        let mut groups = Groups {
            trees,
            table: Vec::new(),
            reading: Reading::default(),
            gone: 0,
            gone_lately: 0,
            has_begun: false,
        };
        if !groups.trees.is_empty() {
            groups.add("/".into(), 0);
        }
        groups
    }

    fn add(&mut self, path: Arc<str>, parent: usize) {
        self.table.push(Group {
            path,
            parent,
            files: Files::default(),
            before: None,
            grown: None,
            carried: [0; CPU_TIMES],
            links: None,
            places: Places::default(),
            hot: 0,
            ran: false,
            is_gone: false,
            // One that was there and not read until now has counted for longer.
            is_new: self.has_begun && self.table.get(parent).is_none_or(|above| above.unread == 0),
            unread: 0,
        });
    }

    /// Reads the counters of every group that ran since the sample before; at a `beat`, of all.
    pub fn sample(&mut self, beat: bool) {
        self.remove_gone();
        let beat = beat || !self.has_begun;
        let mut place = 0;
        // The table grows on the way: groups that are found are read at once.
        while place < self.table.len() {
            let parent = self.table[place].parent;
            let above_ran = place == 0 || self.table[parent].ran;
            let group = &mut self.table[place];
            (group.grown, group.ran) = (None, false);
            if !group.is_gone && (above_ran || group.hot > 0 || beat) {
                let ran = self.read(place, above_ran, beat);
                if ran || beat {
                    self.list(place, beat);
                }
            }
            place += 1;
        }
        self.has_begun = true;
    }

    /// Reads a group; true if it ran. Only the counters of CPU time tell: where this kernel has none for the group, as
    /// for one of a single hierarchy of version 1, it is taken to have run whenever the group above it did.
    fn read(&mut self, place: usize, above_ran: bool, beat: bool) -> bool {
        let Groups { trees, table, reading, has_begun, .. } = self;
        let group = &mut table[place];
        let mut now = Counts::default();
        let before = group.before.as_ref();
        if !group.files.read((&*trees, &group.path), reading, before, &mut now, Part::CpuTimes) {
            self.lose(place);
            return false;
        }
        let before_ns = group.before.as_ref().map_or(Some(0), |before| before[0]);
        group.ran = if now[0].is_some() { now[0] != before_ns } else { above_ran };
        if place == 0 {
            // Of the root, CPU times alone are asked for: the machine has counters of its own.
            let before = group.before.replace(now);
            group.grown = before.map(|before| growth(&before, &now)).filter(|_| *has_begun);
        } else if group.ran || group.hot > 0 || beat || group.before.is_none() {
            if !group.files.read((&*trees, &group.path), reading, None, &mut now, Part::Rest) {
                self.lose(place);
                return false;
            }
            let zero = (group.is_new && *has_begun).then_some([Some(0); AMOUNTS.len()]);
            let before = group.before.take().or(zero);
            group.grown = before.map(|before| growth(&before, &now)).filter(|_| *has_begun);
            group.before = Some(now);
            let used = group.grown.is_some_and(|grown| is_used(&grown));
            group.hot = if used { HOT_SAMPLES } else { group.hot.saturating_sub(1) };
            if group.hot == 0 && !group.ran {
                group.files.close(reading, false);
            }
        }
        group.ran
    }

    /// Finds groups below one that ran.
    fn list(&mut self, place: usize, beat: bool) {
        let group = &mut self.table[place];
        let path = Arc::clone(&group.path);
        let links = self.trees.links(&path, &mut group.places);
        // One made while another was removed leaves the number of links as it was: a beat lists all.
        if links.is_some() && links == group.links && !beat {
            return;
        }
        self.table[place].links = links;
        let known: Vec<Arc<str>> = self
            .table
            .iter()
            .filter(|group| group.parent == place && group.path.len() > 1 && !group.is_gone)
            .map(|group| Arc::clone(&group.path))
            .collect();
        let above = path.trim_end_matches('/');
        let there: Vec<Arc<str>> =
            self.trees.children(&path).into_iter().map(|name| Arc::from(format!("{above}/{name}"))).collect();
        let mut unread = 0;
        for child in there.iter().filter(|child| !known.contains(child)) {
            if self.table.len() >= GROUPS_MAX {
                unread += 1;
            } else {
                self.add(Arc::clone(child), place);
            }
        }
        self.table[place].unread = unread;
        // What has changed may be that one of them is in another hierarchy too.
        for child in self.table.iter_mut().filter(|child| child.parent == place) {
            child.places = Places::default();
        }
        for gone in known.iter().filter(|child| !there.contains(child)) {
            if let Some(group) = self.table.iter_mut().find(|group| group.path == *gone) {
                (group.is_gone, group.ran) = (true, false);
                self.gone += 1;
                self.gone_lately += 1;
            }
        }
    }

    /// Marks a group that was removed, with those below it.
    fn lose(&mut self, place: usize) {
        self.table[place].is_gone = true;
        self.table[place].ran = false;
        self.gone += 1;
        self.gone_lately += 1;
        // One that was made at the same time leaves the number of links as it was.
        let parent = self.table[place].parent;
        self.table[parent].links = None;
        if parent != place {
            self.list(parent, false);
        }
    }

    /// Removes groups that are gone from the table.
    fn remove_gone(&mut self) {
        if !self.table.iter().any(|group| group.is_gone) {
            return;
        }
        let mut places = vec![None; self.table.len()];
        let mut kept: Vec<Group> = Vec::with_capacity(self.table.len());
        for (place, mut group) in std::mem::take(&mut self.table).into_iter().enumerate() {
            let above = if place == 0 { Some(0) } else { places[group.parent] };
            match above.filter(|_| !group.is_gone) {
                Some(parent) => {
                    places[place] = Some(kept.len());
                    group.parent = parent;
                    kept.push(group);
                }
                None => group.files.close(&mut self.reading, true),
            }
        }
        self.table = kept;
    }

    /// Groups that vanished since the last call: their last interval is in the groups above them alone.
    pub fn take_gone(&mut self) -> u64 {
        std::mem::take(&mut self.gone_lately)
    }

    /// Groups whose amounts in the last interval are known, with them; the root is the machine and no group.
    pub fn known(&self) -> impl Iterator<Item = (&Arc<str>, &Counts)> {
        let groups = self.table.iter().skip(1).filter(|group| !group.is_gone);
        groups.filter_map(|group| Some((&group.path, group.grown.as_ref()?)))
    }

    /// Those of them that used something.
    pub fn used(&self) -> impl Iterator<Item = (&Arc<str>, &Counts)> {
        self.known().filter(|(_, grown)| is_used(grown))
    }

    /// Groups that have memory, with it.
    pub fn memory(&mut self) -> BTreeMap<Arc<str>, Levels> {
        let Groups { trees, table, reading, .. } = self;
        let groups = table.iter().skip(1).filter(|group| !group.is_gone);
        let read = groups.map(|group| (Arc::clone(&group.path), levels(trees, &group.path, reading)));
        read.filter(|(_, levels)| levels[0].is_some_and(|bytes| bytes > 0)).collect()
    }

    /// CPU times of users by control group; `None` for one whose group has no counter. `by_processes` are the times
    /// as the processes tell them, of every user with a process or usage.
    ///
    /// The sum is what the groups' counters say: what a group has without those below it, and for the root, where it
    /// has a counter, the rest of the machine. `None` without any counter.
    pub fn accounts(&mut self, by_processes: &BTreeMap<String, Times>) -> Option<BTreeMap<String, Times>> {
        let counts = |group: &Group| group.before.is_some_and(|before| before[0].is_some());
        if !self.table.iter().any(counts) {
            return None;
        }
        let mut rest: Vec<Option<[i64; CPU_TIMES]>> =
            self.table.iter().map(|group| group.grown.as_ref().and_then(times)).collect();
        for place in 1..self.table.len() {
            let group = &self.table[place];
            let Some(own) = group.grown.as_ref().and_then(times) else { continue };
            let above = &self.table[group.parent];
            // A group of one hierarchy below one of the other contains other processes.
            let is_same = group.parent == 0 || above.files.is_unified() == group.files.is_unified();
            if let Some(rest) = rest[group.parent].as_mut().filter(|_| is_same) {
                subtract(rest, own);
            }
        }
        let places: BTreeMap<&str, usize> =
            self.table.iter().enumerate().map(|(place, group)| (&*group.path, place)).collect();
        let has_counter = |place: usize| self.table[place].before.is_some_and(|before| before[0].is_some());
        let mut accounts = BTreeMap::new();
        for (path, usage) in by_processes {
            if places.get(path.as_str()).is_some_and(|place| has_counter(*place)) {
                continue;
            }
            // Not read: its usage is in that of the nearest group above it.
            accounts.insert(path.clone(), *usage);
            let mut above = path.as_str();
            while let Some(end) = above.rfind('/') {
                above = if end == 0 && above.len() > 1 { "/" } else { &above[..end] };
                let place = places.get(above).copied().filter(|place| has_counter(*place));
                if let Some(place) = place {
                    if let Some(rest) = &mut rest[place] {
                        subtract(rest, usage.map(|ns| i64::try_from(ns).unwrap_or(i64::MAX)));
                    }
                    break;
                }
                if above == "/" {
                    break;
                }
            }
        }
        drop(places);
        for (group, rest) in self.table.iter_mut().zip(rest) {
            let has_process = by_processes.contains_key(&*group.path);
            let Some(mut rest) = rest else { continue };
            for (carried, rest) in group.carried.iter().zip(&mut rest) {
                *rest = rest.saturating_add(*carried);
            }
            if rest[0] <= 0 || (!has_process && rest[0] < CARRIED_NS) {
                group.carried = rest;
                continue;
            }
            group.carried = rest.map(|rest| rest.min(0));
            accounts.insert(group.path.to_string(), rest.map(|rest| u64::try_from(rest).unwrap_or(0)));
        }
        Some(accounts)
    }

    /// Facts for the manifest.
    pub fn to_json(&self) -> Json {
        json!({
            "hierarchies": self.trees.name(),
            "read": self.table.len().saturating_sub(1),
            "not_read": self.table.iter().map(|group| group.unread).sum::<u64>(),
            "vanished": self.gone,
        })
    }
}

/// True if anything has grown.
pub fn is_used(grown: &Counts) -> bool {
    grown.iter().flatten().any(|amount| *amount > 0)
}

/// Growth of each counter; `None` for one that is not there, or went back because it was reset.
fn growth(before: &Counts, now: &Counts) -> Counts {
    let mut grown = Counts::default();
    for ((grown, before), now) in grown.iter_mut().zip(before).zip(now) {
        *grown = before.zip(*now).and_then(|(before, now)| now.checked_sub(before));
    }
    grown
}

/// CPU times of a group; without a split, all of it counts for user state as the kernel does where no tick fell.
fn times(grown: &Counts) -> Option<[i64; CPU_TIMES]> {
    let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
    let exact = signed(grown[0]?);
    Some([exact, grown[1].map_or(exact, signed), grown[2].map_or(0, signed)])
}

fn subtract(rest: &mut [i64; CPU_TIMES], part: [i64; CPU_TIMES]) {
    for (rest, part) in rest.iter_mut().zip(part) {
        *rest = rest.saturating_sub(part);
    }
}

#[cfg(test)]
mod tests;
