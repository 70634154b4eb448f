//! Retention: the oldest parts go, so that a log of months stays within its limits.

use std::collections::BTreeMap;
use std::time::Duration;

use super::{LogWriter, unless_full};
use crate::error::LogError;
use crate::manifest::now_us;
use crate::part::{damaged_name, damaged_numbers, part_name};

impl LogWriter {
    /// Removes the oldest parts until the log holds at most `bytes_max` and nothing older than `age_max`.
    pub fn retain(&mut self, bytes_max: Option<u64>, age_max: Option<Duration>) -> Result<(), LogError> {
        self.check_open()?;
        let sizes = self.part_sizes()?;
        let mut total = sizes.values().fold(0_u64, |sum, bytes| sum.saturating_add(*bytes));
        let oldest_us =
            age_max.map(|age| now_us().saturating_sub(i64::try_from(age.as_micros()).unwrap_or(i64::MAX)));
        let mut retired = Vec::new();
        for (number, bytes) in sizes {
            let too_many = bytes_max.is_some_and(|max| total > max);
            let too_old = !too_many
                && match oldest_us {
                    Some(oldest) => self.changed_us(number)? < oldest,
                    None => false,
                };
            // Oldest first: where one may stay, all later ones may.
            if !too_many && !too_old {
                break;
            }
            total = total.saturating_sub(bytes);
            retired.push(number);
        }
        let Some(last) = retired.last() else { return Ok(()) };
        self.manifest.retired_through_part = self.manifest.retired_through_part.max(*last);
        let retired: Vec<(u64, Vec<(String, u64)>)> =
            retired.into_iter().map(|number| (number, self.ledger.retire(number))).collect();
        for (table, rows) in retired.iter().flat_map(|(_, tables)| tables) {
            let sum = self.manifest.retired_rows.entry(table.clone()).or_default();
            *sum = sum.saturating_add(*rows);
        }
        // Out of the ledger first, which holds what is above this number: a part that it lists and that is gone would be
        // a part that was lost.
        unless_full(self.write_manifest(true))?;
        for (number, tables) in retired {
            for (table, _) in tables {
                if let Some(sub) = self.folder.sub(&table)? {
                    sub.remove(&part_name(number))?;
                }
            }
            self.folder.remove(&damaged_name(number))?;
            self.incident("retired", "parts removed to keep the log within its limits")?;
        }
        Ok(())
    }

    /// Bytes of the sealed parts, the oldest first. All files of a number together: a part without its other
    /// tables would show half of a period.
    fn part_sizes(&self) -> Result<BTreeMap<u64, u64>, LogError> {
        let mut sizes = BTreeMap::new();
        // By the ledger: a log of weeks has thousands of files, and limits are looked at every minute.
        for (_, number, part) in self.ledger.iter() {
            let size: &mut u64 = sizes.entry(number).or_default();
            *size = size.saturating_add(part.stamp.bytes);
        }
        for number in damaged_numbers(&self.folder)? {
            let size = self.folder.size_and_change(&damaged_name(number));
            *sizes.entry(number).or_default() += size.map_or(0, |(bytes, _)| bytes);
        }
        Ok(sizes)
    }

    /// Last change of any file of the part [µs since 1970 UTC].
    fn changed_us(&self, number: u64) -> Result<i64, LogError> {
        let mut newest = self.folder.size_and_change(&damaged_name(number)).map_or(0, |(_, changed)| changed);
        for table in
            self.manifest.tables.iter().filter(|table| self.ledger.get(&table.name, number).is_some())
        {
            let sub = self.folder.sub(&table.name)?;
            let changed = sub.and_then(|sub| sub.size_and_change(&part_name(number)));
            newest = newest.max(changed.map_or(0, |(_, changed)| changed));
        }
        Ok(newest)
    }
}
