//! The processes of a terminal: the shell and all below it, from `/proc`.

use std::fs;
use std::sync::OnceLock;

use super::Waits;

/// Processes of a terminal that are read; a user who has more is one whose totals are incomplete.
const PROCESSES_MAX: usize = 4096;

/// Sums over the processes of a terminal, with those of the children that they have waited for.
#[derive(Debug, Default)]
pub(super) struct Tree {
    /// CPU time in user state, in steps of a clock tick [ns].
    pub user_ns: u64,
    /// CPU time in the kernel, likewise [ns].
    pub system_ns: u64,
    pub page_faults_minor: u64,
    pub page_faults_major: u64,
    /// Bytes read from and written to block devices; `None` where a process may not be looked into.
    pub block_bytes: Option<[u64; 2]>,
    /// Waits of the living tasks alone.
    pub waits: Waits,
}

/// Sums over `shell` and all processes below it; `None` if it has ended.
pub(super) fn read(shell: i32) -> Option<Tree> {
    let mut sums = Tree {
        block_bytes: Some([0; 2]),
        waits: Waits { run_delay_ns: Some(0), io_delay_ns: delays_are_accounted().then_some(0) },
        ..Tree::default()
    };
    let mut processes = vec![shell];
    let mut next = 0;
    while let Some(&process) = processes.get(next) {
        next += 1;
        let Some(stat) = stat(process) else {
            // Another one ended meanwhile: its parent, or a message of its end, has its totals.
            if process == shell {
                return None;
            }
            continue;
        };
        sums.user_ns += (stat.number(14) + stat.number(16)) * tick_ns();
        sums.system_ns += (stat.number(15) + stat.number(17)) * tick_ns();
        sums.page_faults_minor += stat.number(10) + stat.number(11);
        sums.page_faults_major += stat.number(12) + stat.number(13);
        sums.block_bytes =
            sums.block_bytes.zip(block_bytes(process)).map(|(sum, one)| [sum[0] + one[0], sum[1] + one[1]]);
        let io_delay_ns = (stat.number(42) * tick_ns()) as i64;
        sums.waits.io_delay_ns = sums.waits.io_delay_ns.map(|sum_ns| sum_ns + io_delay_ns);
        // One that has ended and is not waited for yet has had its message.
        if stat.state() == Some("Z") {
            continue;
        }
        for task in fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten() {
            let delay = fs::read_to_string(task.path().join("schedstat"))
                .ok()
                .and_then(|text| text.split_ascii_whitespace().nth(1)?.parse::<i64>().ok());
            sums.waits.run_delay_ns = sums.waits.run_delay_ns.zip(delay).map(|(sum_ns, ns)| sum_ns + ns);
            let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
            let found = children.split_ascii_whitespace().filter_map(|pid| pid.parse::<i32>().ok());
            processes.extend(found.take(PROCESSES_MAX.saturating_sub(processes.len())));
        }
    }
    Some(sums)
}

/// True if the process sleeps: what it has used so far is in its accounts.
pub(crate) fn is_asleep(process: i32) -> bool {
    stat(process).is_none_or(|stat| stat.state() == Some("S"))
}

/// True if the kernel accounts delays of block I/O (sysctl kernel.task_delayacct).
pub(super) fn delays_are_accounted() -> bool {
    // Fixed for a play: delays are accounted for tasks that began while the switch was on.
    static IS_ON: OnceLock<bool> = OnceLock::new();
    *IS_ON
        .get_or_init(|| fs::read("/proc/sys/kernel/task_delayacct").is_ok_and(|text| text.starts_with(b"1")))
}

/// `/proc/PID/stat` after the name of the command.
struct Stat(String);

impl Stat {
    /// Field `number` of proc_pid_stat(5), from 3 on; 0 where it is no number.
    fn number(&self, number: usize) -> u64 {
        self.0.split_ascii_whitespace().nth(number - 3).and_then(|text| text.parse().ok()).unwrap_or(0)
    }

    fn state(&self) -> Option<&str> {
        self.0.split_ascii_whitespace().next()
    }
}

fn stat(process: i32) -> Option<Stat> {
    let text = fs::read(format!("/proc/{process}/stat")).ok()?;
    // The command's name may hold anything, blanks and brackets included: the last bracket ends it.
    let name_end = text.iter().rposition(|byte| *byte == b')')?;
    Some(Stat(String::from_utf8_lossy(&text[name_end + 1..]).into_owned()))
}

/// Bytes that a process and its waited-for children read from and wrote to block devices.
fn block_bytes(process: i32) -> Option<[u64; 2]> {
    let text = fs::read_to_string(format!("/proc/{process}/io")).ok()?;
    let value = |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
    Some([value("read_bytes:")?, value("write_bytes:")?])
}

fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second()
}
