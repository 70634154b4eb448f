//! `/proc/stat`: CPU time by state, interrupts, context switches, forks.

use std::fmt::Display;

use super::{Fields, ParseError, items, lines, number, signed};

/// CPU time by state since boot, in clock ticks of `CLK_TCK`.
///
/// Guest time is inside `user` and `nice` already. Most kernels look at every tick who is running and count
/// the whole tick for that state, so that a difference carries a sampling error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// In user state at the default priority [tick].
    pub user: u64,
    /// In user state at a lowered priority [tick].
    pub nice: u64,
    /// In the kernel, for a process [tick].
    pub system: u64,
    /// With nothing to run [tick].
    pub idle: u64,
    /// Idle while a task of this CPU waited for a disk (since 2.5.41); may run backwards [tick].
    pub iowait: Option<u64>,
    /// In hardware interrupts (since 2.6.0); zero without CONFIG_IRQ_TIME_ACCOUNTING [tick].
    pub irq: Option<u64>,
    /// In deferred interrupt work (since 2.6.0) [tick].
    pub softirq: Option<u64>,
    /// Taken by the hypervisor for other virtual machines (since 2.6.11) [tick].
    pub steal: Option<u64>,
}

/// Contents of `/proc/stat`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Sum over all CPUs, CPUs taken offline since boot included.
    pub total: CpuTicks,
    /// CPUs online, by number. A CPU that is off has no entry.
    pub cpus: Vec<(u32, CpuTicks)>,
    /// Interrupts served since boot.
    pub interrupts: Option<u64>,
    /// Context switches since boot.
    pub context_switches: Option<u64>,
    /// Time of boot [s since 1970]; moves when the wall clock is set.
    pub boot_time: Option<u64>,
    /// Processes and threads created since boot.
    pub forks: Option<u64>,
    /// Tasks that run or wait for a CPU, now.
    pub runnable: Option<u64>,
    /// Tasks that wait for a disk, now.
    pub blocked: Option<u64>,
    /// Soft interrupts since boot by type, in the kernel's order; 32-bit sums in the kernel.
    pub softirqs: Vec<u64>,
}

/// CPU times and event counts from the text of `/proc/stat`.
pub fn parse(text: &[u8], path: impl Display) -> Result<Stat, ParseError> {
    let mut stat = Stat::default();
    let mut has_total = false;
    for (row, line) in lines(text) {
        let mut words = items(line);
        let key = words.next().unwrap_or_default();
        let mut fields = Fields::new(words, &path, row);
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
                // The total comes first; it is the sum of what follows.
                fields.need("softirq")?;
                while let Some(count) = fields.optional("softirq by type")? {
                    stat.softirqs.push(count);
                }
            }
            _ => {
                if let Some(cpu) = key.strip_prefix(b"cpu").and_then(number) {
                    // No CPU has a number of more than 32 bits: a line of some later kernel, to be ignored.
                    if let Ok(cpu) = u32::try_from(cpu) {
                        stat.cpus.push((cpu, ticks(&mut fields)?));
                    }
                }
            }
        }
    }
    if has_total { Ok(stat) } else { Err(ParseError::missing(&path, 1, "the line that starts with \"cpu\"")) }
}

/// Time of boot. Negative on a board without a battery-backed clock, which starts before 1970: then zero.
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
