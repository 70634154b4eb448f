//! Disks and network interfaces in an interval.

use std::collections::BTreeMap;
use std::sync::Arc;

use thinktime_log::LogError;

use crate::line::{Line, Measure};
use crate::reel::{Position, Reel};
use crate::rows::{DISK_AMOUNTS, INTERFACE_AMOUNTS, Record, Records};

/// Disks and network interfaces in the interval at `position`.
pub(crate) fn devices(reel: &mut Reel, position: Position) -> Result<(Vec<Line>, Vec<Line>), LogError> {
    let Some(sample) = reel.sample(position)? else { return Ok(Default::default()) };
    let (part, previous) = reel.parts(position.part, false)?;
    let (start_us, length_s) = (sample.start_us, sample.length_s);
    let disks = known(&part.disks, previous.map(|part| &part.disks), start_us);
    let interfaces = known(&part.interfaces, previous.map(|part| &part.interfaces), start_us);
    Ok((
        disks.into_iter().map(|(record, is_active)| disk(record, is_active, length_s)).collect(),
        interfaces.into_iter().map(|(record, is_active)| interface(record, is_active, length_s)).collect(),
    ))
}

/// The last record of each device, and whether it is of the interval at `start_us`: one that did nothing in the interval
/// has none, and would disappear from its place.
fn known<'a, const N: usize>(
    records: &'a Records<N>,
    previous: Option<&'a Records<N>>,
    start_us: i64,
) -> Vec<(&'a Record<N>, bool)> {
    let before = previous.into_iter().flat_map(|records| records.last(start_us));
    let all = before.chain(records.last(start_us));
    let last: BTreeMap<&Arc<str>, _> =
        all.map(|(found_us, record)| (&record.key, (record, found_us == start_us))).collect();
    last.into_values().collect()
}

/// Amounts of an interval in which the device did nothing: no row is no use, and what was never recorded stays unknown.
fn amounts<const N: usize>(record: &Record<N>, is_active: bool) -> [Option<f64>; N] {
    record.amounts().map(|amount| if is_active { amount } else { amount.map(|_| 0.0) })
}

fn line<const N: usize>(record: &Record<N>, is_active: bool) -> Line {
    let name = record.name.as_ref().unwrap_or(&record.key);
    let is_active = is_active && record.amounts().into_iter().flatten().any(|amount| amount > 0.0);
    Line { is_active, ..Line::new(Arc::clone(&record.key), Arc::clone(name)) }
}

fn disk(record: &Record<DISK_AMOUNTS>, is_active: bool, length_s: f64) -> Line {
    let [reads, writes, read_bytes, write_bytes, read_wait_s, write_wait_s, busy_s, queue_s] =
        amounts(record, is_active);
    let rate = |amount: Option<f64>| amount.map(|amount| amount / length_s);
    // Of no request, there is no mean.
    let mean = |seconds: Option<f64>, requests: Option<f64>| {
        seconds
            .zip(requests)
            .filter(|(_, requests)| *requests > 0.0)
            .map(|(seconds, requests)| seconds / requests)
    };
    let sum = |one: Option<f64>, other: Option<f64>| one.zip(other).map(|(one, other)| one + other);
    let mut line = line(record, is_active);
    // Longer than the interval where the kernel counts the end of a request that began before it.
    line.set(Measure::Busy, rate(busy_s).map(|share| share.min(1.0)));
    line.set(Measure::Reads, rate(reads));
    line.set(Measure::Writes, rate(writes));
    line.set_io(rate(read_bytes), rate(write_bytes));
    line.set(Measure::Wait, mean(sum(read_wait_s, write_wait_s), sum(reads, writes)));
    line.set(Measure::ReadWait, mean(read_wait_s, reads));
    line.set(Measure::WriteWait, mean(write_wait_s, writes));
    line.set(Measure::Queue, rate(queue_s));
    line
}

fn interface(record: &Record<INTERFACE_AMOUNTS>, is_active: bool, length_s: f64) -> Line {
    let [packets_in, packets_out, bytes_in, bytes_out, errors, drops] = amounts(record, is_active);
    let rate = |amount: Option<f64>| amount.map(|amount| amount / length_s);
    let both = bytes_in.zip(bytes_out).map(|(bytes_in, bytes_out)| bytes_in + bytes_out);
    let mut line = line(record, is_active);
    line.set(Measure::In, rate(bytes_in));
    line.set(Measure::Out, rate(bytes_out));
    line.set(Measure::Io, rate(both));
    line.set(Measure::PacketsIn, rate(packets_in));
    line.set(Measure::PacketsOut, rate(packets_out));
    line.set(Measure::Errors, rate(errors));
    line.set(Measure::Drops, rate(drops));
    line
}
