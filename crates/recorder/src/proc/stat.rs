//! `/proc/stat`: CPU time by state, interrupts, context switches, forks.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines, number, signed};

/// CPU time by state since boot, in clock ticks of `CLK_TCK`.
///
/// Guest time is inside `user` and `nice` already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    pub user: u64,
    pub nice: u64,
    pub system: u64,
    pub idle: u64,
    pub iowait: Option<u64>,
    pub irq: Option<u64>,
    pub softirq: Option<u64>,
    pub steal: Option<u64>,
}

/// What `/proc/stat` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    pub total: CpuTicks,
    /// CPUs online, by number. A CPU that is off has no entry.
    pub cpus: Vec<(u32, CpuTicks)>,
    pub interrupts: Option<u64>,
    pub context_switches: Option<u64>,
    /// Seconds since 1970 at which the machine came up; moves when the wall clock is set.
    pub boot_time: Option<u64>,
    pub forks: Option<u64>,
    pub runnable: Option<u64>,
    pub blocked: Option<u64>,
    /// By type, in the kernel's order; each is a 32-bit sum in the kernel.
    pub softirqs: Vec<u64>,
}

/// Reads `/proc/stat`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Stat, ParseError> {
    let mut stat = Stat::default();
    let mut has_total = false;
    for (at, line) in lines(text) {
        let mut words = items(line);
        let key = words.next().unwrap_or_default();
        let mut fields = Fields::new(words, &path, at);
        match key {
            b"cpu" => {
                stat.total = ticks(&mut fields)?;
                has_total = true;
            }
            b"intr" => stat.interrupts = Some(fields.need("intr")?),
            b"ctxt" => stat.context_switches = Some(fields.need("ctxt")?),
            b"btime" => stat.boot_time = Some(boot_time(&mut fields)?),
            b"processes" => stat.forks = Some(fields.need("processes")?),
            b"procs_running" => stat.runnable = Some(fields.need("procs_running")?),
            b"procs_blocked" => stat.blocked = Some(fields.need("procs_blocked")?),
            b"softirq" => {
                fields.need("softirq")?;
                while let Some(count) = fields.optional("softirq by type")? {
                    stat.softirqs.push(count);
                }
            }
            _ => {
                if let Some(cpu) = key.strip_prefix(b"cpu").and_then(number) {
                    // A number of more than 32 bits is no CPU; such a line is passed over.
                    if let Ok(cpu) = u32::try_from(cpu) {
                        stat.cpus.push((cpu, ticks(&mut fields)?));
                    }
                }
            }
        }
    }
    if has_total { Ok(stat) } else { Err(ParseError::missing(&path, 1, "the line that starts with \"cpu\"")) }
}

/// Before 1970 where the clock of a board without a battery stands wrong: then zero.
fn boot_time<'a, I: Iterator<Item = &'a [u8]>, P: Display>(
    fields: &mut Fields<I, P>,
) -> Result<u64, ParseError> {
    let item = fields.items.next().unwrap_or_default();
    let value = signed(item).ok_or_else(|| fields.wrong("btime", item))?;
    Ok(u64::try_from(value).unwrap_or(0))
}

fn ticks<'a, I: Iterator<Item = &'a [u8]>, P: Display>(
    fields: &mut Fields<I, P>,
) -> Result<CpuTicks, ParseError> {
    Ok(CpuTicks {
        user: fields.need("user")?,
        nice: fields.need("nice")?,
        system: fields.need("system")?,
        idle: fields.need("idle")?,
        iowait: fields.optional("iowait")?,
        irq: fields.optional("irq")?,
        softirq: fields.optional("softirq")?,
        steal: fields.optional("steal")?,
    })
}
