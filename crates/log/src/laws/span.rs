//! The time that a log covers: its interactions and events lie in it.

use std::path::PathBuf;

use crate::laws::manifest::Machine;
use crate::laws::{Report, Rows, WITHIN_THE_LOG, value};
use crate::manifest::Manifest;

/// Time by which an interaction may begin before the log or end after it: writers open and close it around the
/// users, and clocks are slewed [us].
const AROUND_US: i64 = 60_000_000;

/// A time and its place.
#[derive(Debug)]
struct Place {
    time_us: i64,
    file: PathBuf,
    row: usize,
    column: &'static str,
}

/// First and last times of a log.
#[derive(Debug, Default)]
pub(crate) struct Extremes {
    first: Option<Place>,
    last: Option<Place>,
    /// Start of the first interval, and end of the last.
    begin_us: Option<i64>,
    end_us: Option<i64>,
}

impl Extremes {
    /// Takes the intervals of a batch of `samples`.
    pub fn intervals(&mut self, rows: Rows<'_>) {
        let (starts, lengths) = (rows.times("start"), rows.floats("length_s"));
        for index in 0..rows.len() {
            let Some(start) = value(starts, index) else { continue };
            let length_s = value(lengths, index).filter(|length_s| length_s.is_finite()).unwrap_or(0.0);
            let end = start.saturating_add((length_s * 1e6) as i64);
            self.begin_us = Some(self.begin_us.map_or(start, |begin| begin.min(start)));
            self.end_us = Some(self.end_us.map_or(end, |last| last.max(end)));
        }
    }

    /// Takes the times of a batch.
    pub fn times(&mut self, rows: Rows<'_>, columns: &[&'static str]) {
        for column in columns {
            let Some(times) = rows.times(column) else { continue };
            for (index, time) in times.iter().enumerate() {
                let Some(time_us) = time else { continue };
                let place = || Place { time_us, file: rows.file.into(), row: rows.first + index, column };
                if self.first.as_ref().is_none_or(|first| time_us < first.time_us) {
                    self.first = Some(place());
                }
                if self.last.as_ref().is_none_or(|last| time_us > last.time_us) {
                    self.last = Some(place());
                }
            }
        }
    }

    /// Compares them, after the last row. Without intervals nobody knows what time the rows are of: somebody may write
    /// today what happened long ago.
    pub fn finish(&self, manifest: &Manifest, machine: &Machine, report: &mut Report) {
        let (Some(begin), Some(end)) = (self.begin_us, self.end_us) else { return };
        if machine.has_clock_step || !machine.is_complete || manifest.retired_through_part > 0 {
            return;
        }
        let starts = manifest.sessions.iter().map(|session| session.start_us);
        // A session that goes on, or was killed, has no end.
        let ends = manifest.sessions.iter().map(|session| session.end_us.unwrap_or(i64::MAX));
        let begin = starts.fold(begin, i64::min).saturating_sub(AROUND_US);
        let end = ends.fold(end, i64::max).saturating_add(AROUND_US);
        let mut tell = |place: &Place, message: &str| {
            report.row(&WITHIN_THE_LOG, &place.file, place.row, place.column, || message.into());
        };
        if let Some(first) = self.first.as_ref().filter(|first| first.time_us < begin) {
            tell(first, "the log begins more than 60 s later");
        }
        if let Some(last) = self.last.as_ref().filter(|last| last.time_us > end) {
            tell(last, "the log ends more than 60 s earlier");
        }
    }
}
