//! What the screen shows of one interval: shares of time and rates, from the amounts in the log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use thinktime_log::LogError;

use crate::line::{Line, Measure};
use crate::reel::{Position, Reel};
use crate::rows::{Interaction, Part, Sample, Use};

/// Time up to the end of an interval over which response times are summed up [µs].
pub(crate) const RESPONSES_US: i64 = 60_000_000;
/// Age beyond which a reading of who is present says nothing about an interval [µs].
const PRESENCE_AGE_MAX_US: i64 = 600_000_000;
/// Kind of a user who may log in.
const PERSON: &str = "person";
/// Name of the user of rows that name none, as in reports.
const NOBODY: &str = "nobody";

/// Memory of a user by the last reading of who is there.
#[derive(Clone, Copy)]
struct Memory {
    bytes: f64,
    /// Pages that processes share are counted in each of them.
    is_resident: bool,
}

/// Shares of the machine's CPU time by state, 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct States {
    pub(crate) user: f64,
    pub(crate) system: f64,
    /// Taken by the hypervisor for others.
    pub(crate) steal: f64,
    /// Idle while a task waits for a disk.
    pub(crate) wait: f64,
    pub(crate) idle: f64,
}

/// Response times of the interactions that were completed in a time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Responses {
    pub(crate) n: usize,
    pub(crate) mean_s: f64,
    pub(crate) median_s: f64,
    pub(crate) p90_s: f64,
    /// Users playing, by the last of them.
    pub(crate) population: Option<f64>,
}

/// Memory in terms of the people who are there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Share {
    /// People with a process whose memory is known.
    pub(crate) people: usize,
    pub(crate) mean_bytes: f64,
}

/// Everything on the screen about one interval.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Figures {
    pub(crate) sample: Sample,
    /// CPUs of the machine; `None` where nobody says.
    pub(crate) cpus: Option<f64>,
    pub(crate) lines: Vec<Line>,
    pub(crate) responses: Option<Responses>,
    /// People with a process; `None` where the log does not say who is present.
    pub(crate) people: Option<usize>,
    pub(crate) share: Option<Share>,
    /// The part of the log tells the use of a GPU.
    pub(crate) has_gpu: bool,
}

impl Figures {
    /// The figures of the interval at `position`.
    pub(crate) fn of(
        reel: &mut Reel,
        position: Position,
        cpus: Option<f64>,
    ) -> Result<Option<Figures>, LogError> {
        let Some(sample) = reel.sample(position)? else { return Ok(None) };
        let since_us = sample.end_us().saturating_sub(RESPONSES_US);
        let is_at_start = reel.parts(position.part, false)?.0.range().is_some_and(|(low, _)| since_us < low);
        let (part, previous) = reel.parts(position.part, is_at_start)?;
        let present = present(part, previous, sample.start_us);
        let lines = lines(part, &present, &sample);
        // The people of the last reading and those with a row: a new one has not been read yet.
        let people = (!present.is_empty()).then(|| lines.iter().filter(|line| line.is_person).count());
        Ok(Some(Figures {
            cpus,
            responses: responses(part, previous, since_us, sample.end_us()),
            share: share(&lines),
            has_gpu: part.has_gpu || previous.is_some_and(|part| part.has_gpu),
            people,
            lines,
            sample,
        }))
    }

    /// Share of the CPU time that was used, by the exact account where the log has it, 0 to 1.
    pub(crate) fn busy(&self) -> Option<f64> {
        let exact =
            self.sample.exact_s.zip(self.cpus).map(|(used_s, cpus)| used_s / (cpus * self.sample.length_s));
        exact.or_else(|| self.states().map(|states| states.user + states.system)).map(|busy| busy.min(1.0))
    }

    /// Shares by state; `None` where the log lacks one that every source of states has.
    pub(crate) fn states(&self) -> Option<States> {
        let (user, system) = (self.sample.user_s?, self.sample.system_s?);
        let (steal, wait) = (self.sample.steal_s.unwrap_or(0.0), self.sample.wait_s.unwrap_or(0.0));
        let capacity = self.cpus.map(|cpus| cpus * self.sample.length_s);
        let used = user + system + steal + wait;
        // Simulated machines may leave it out: what is not used is idle.
        let idle = self.sample.idle_s.or(capacity.map(|all| (all - used).max(0.0)))?;
        let all = used + idle;
        (all > 0.0).then(|| States {
            user: user / all,
            system: system / all,
            steal: steal / all,
            wait: wait / all,
            idle: idle / all,
        })
    }

    /// Share of the time for a time in the interval, 0 to 1.
    pub(crate) fn of_time(&self, seconds: Option<f64>) -> Option<f64> {
        seconds.map(|seconds| (seconds / self.sample.length_s).min(1.0))
    }

    /// What tasks waited for most, and in which share of the time; `None` where pressure was not recorded.
    pub(crate) fn waited_most(&self) -> Option<(&'static str, f64)> {
        let sample = &self.sample;
        let waits = [
            ("a CPU", sample.psi_cpu_some_s),
            ("memory", sample.psi_memory_some_s),
            ("disks", sample.psi_disk_some_s),
        ];
        let shares = waits.into_iter().filter_map(|(what, seconds)| Some((what, self.of_time(seconds)?)));
        shares.max_by(|one, other| one.1.total_cmp(&other.1))
    }
}

/// The commands of `user` in the interval at `position`.
pub(crate) fn commands(reel: &mut Reel, position: Position, user: &str) -> Result<Vec<Line>, LogError> {
    let Some(sample) = reel.sample(position)? else { return Ok(Vec::new()) };
    let (part, _) = reel.parts(position.part, false)?;
    let all = part.commands.get(&sample.start_us).into_iter().flatten();
    let command = |used: &Use| {
        let name = used.command.clone().unwrap_or_else(|| Arc::from("-"));
        Line { name, ..line(used, sample.length_s) }
    };
    Ok(all.filter(|used| &*used.user == user).map(command).collect())
}

/// What is known of a user from the last reading of who is there.
struct Known<'a> {
    name: Option<&'a Arc<str>>,
    is_person: bool,
    memory: Option<Memory>,
    processes: Option<f64>,
}

/// The users of the last reading of who is there, in this interval or not long before it.
fn present<'a>(
    part: &'a Part,
    previous: Option<&'a Part>,
    start_us: i64,
) -> BTreeMap<&'a Arc<str>, Known<'a>> {
    let last = |part: &'a Part| part.presence.range(..=start_us).next_back();
    let reading = last(part).or_else(|| previous.and_then(last));
    let fresh = reading.filter(|(read_us, _)| start_us.saturating_sub(**read_us) <= PRESENCE_AGE_MAX_US);
    let users = fresh.into_iter().flat_map(|(_, users)| users);
    let known = users.map(|user| {
        let proportional = user.proportional_bytes.map(|bytes| Memory { bytes, is_resident: false });
        let resident = || user.resident_bytes.map(|bytes| Memory { bytes, is_resident: true });
        let known = Known {
            name: user.name.as_ref(),
            is_person: is_person(&user.user, user.kind.as_deref()),
            memory: proportional.or_else(resident),
            processes: user.processes,
        };
        (&user.user, known)
    });
    known.collect()
}

/// The users with a row in the interval, then those who are present without one.
fn lines(part: &Part, present: &BTreeMap<&Arc<str>, Known<'_>>, sample: &Sample) -> Vec<Line> {
    let active = part.users.get(&sample.start_us).map_or(&[][..], Vec::as_slice);
    let mut lines: Vec<Line> = active.iter().map(|used| line(used, sample.length_s)).collect();
    for line in &mut lines {
        if let Some(memory) = present.get(&line.key).and_then(|known| known.memory) {
            line.is_resident = memory.is_resident;
            line.set(Measure::Memory, Some(memory.bytes));
        }
    }
    let keys: BTreeSet<&str> = active.iter().map(|used| &*used.user).collect();
    for (user, known) in present.iter().filter(|(user, _)| !keys.contains(user.as_ref())) {
        let mut line = Line::new(Arc::clone(user), Arc::clone(known.name.unwrap_or(user)));
        (line.is_person, line.is_active) = (known.is_person, false);
        line.is_resident = known.memory.is_some_and(|memory| memory.is_resident);
        for measure in [Measure::Cpu, Measure::CpuWait, Measure::DiskWait] {
            line.set(measure, Some(0.0));
        }
        line.set_io(Some(0.0), Some(0.0));
        line.set(Measure::Memory, known.memory.map(|memory| memory.bytes));
        line.set(Measure::Processes, known.processes);
        lines.push(line);
    }
    let mut times: BTreeMap<Arc<str>, usize> = BTreeMap::new();
    for line in &lines {
        *times.entry(Arc::clone(&line.name)).or_default() += 1;
    }
    // As in reports: users of one name are told apart by their keys.
    for line in lines.iter_mut().filter(|line| line.name != line.key && times[&line.name] > 1) {
        line.name = Arc::from(format!("{} ({})", line.name, line.key));
    }
    lines
}

fn line(used: &Use, length_s: f64) -> Line {
    let rate = |amount: Option<f64>| amount.map(|amount| amount / length_s);
    let key = if used.user.is_empty() { Arc::from(NOBODY) } else { Arc::clone(&used.user) };
    let mut line = Line::new(Arc::clone(&used.user), used.name.clone().unwrap_or(key));
    line.is_person = is_person(&used.user, used.kind.as_deref());
    line.is_resident = true;
    line.set(Measure::Cpu, rate(used.cpu_s));
    line.set(Measure::CpuWait, rate(used.run_delay_s));
    line.set(Measure::DiskWait, rate(used.io_delay_s));
    line.set(Measure::Memory, used.memory_bytes);
    line.set_io(rate(used.read_bytes), rate(used.write_bytes));
    line.set(Measure::Processes, used.processes);
    line.set(Measure::Gpu, rate(used.gpu_s));
    line.set(Measure::GpuMemory, used.gpu_memory_bytes);
    line
}

/// Whether the user may log in: by the kind that was recorded; without one, by the key, as reports do.
fn is_person(user: &str, kind: Option<&str>) -> bool {
    if let Some(kind) = kind {
        return kind == PERSON;
    }
    if user.starts_with('/') {
        return user.contains("/user");
    }
    match user.split_once(':') {
        None => !(user.is_empty() || user == NOBODY),
        Some(("uid", number)) => number.parse::<u32>().is_ok_and(|number| number >= 1000 && number != 65_534),
        Some((kind, number)) => (kind, number) != ("session", "0"),
    }
}

/// Mean memory of the people, if all of them have it measured in the same way.
fn share(lines: &[Line]) -> Option<Share> {
    let people: Vec<&Line> = lines.iter().filter(|line| line.is_person).collect();
    let memory = people.iter().map(|line| line.of(Measure::Memory).filter(|_| !line.is_resident));
    let bytes: Option<Vec<f64>> = memory.collect();
    let bytes = bytes.filter(|bytes| !bytes.is_empty())?;
    let mean_bytes = bytes.iter().sum::<f64>() / bytes.len() as f64;
    (mean_bytes > 0.0).then_some(Share { people: bytes.len(), mean_bytes })
}

/// Response times of the interactions that were completed after `since_us` and until `end_us`.
fn responses(part: &Part, previous: Option<&Part>, since_us: i64, end_us: i64) -> Option<Responses> {
    let within = |part: &'_ Part| -> Vec<Interaction> {
        let all = &part.interactions;
        let begin = all.partition_point(|one| one.completion_us <= since_us);
        let end = all.partition_point(|one| one.completion_us <= end_us);
        all.get(begin..end).unwrap_or_default().to_vec()
    };
    let mut found = previous.map(within).unwrap_or_default();
    found.append(&mut within(part));
    let population = found.last()?.population;
    let mut times: Vec<f64> = found.iter().map(|one| one.response_s).collect();
    times.sort_by(f64::total_cmp);
    // The smallest time that so many of them do not exceed.
    let quantile =
        |share: f64| times[((share * times.len() as f64).ceil() as usize).clamp(1, times.len()) - 1];
    Some(Responses {
        n: times.len(),
        mean_s: times.iter().sum::<f64>() / times.len() as f64,
        median_s: quantile(0.5),
        p90_s: quantile(0.9),
        population,
    })
}
