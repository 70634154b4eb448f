//! Memory that the programs in the kernel share with this process: the same as `bpf/layout.h`, which a test compares.

/// Numbers of system calls that have a reason of their own lie below this.
pub(crate) const CALLS: usize = 512;
/// Accounts, of which number 0 is that of everybody who finds no room.
pub(crate) const ACCOUNTS: usize = 2048;
/// Buckets of a histogram.
pub(crate) const BUCKETS: usize = 63;
/// Durations below 2 to this power in nanoseconds are in the first bucket.
pub(crate) const BUCKET_SHIFT: u32 = 7;

/// Why a task left its CPU, in the kernel's order.
pub(crate) const REASONS: [&str; 13] = [
    "preempted",
    "exit",
    "io",
    "page_io",
    "futex",
    "timer",
    "child",
    "input",
    "output",
    "poll",
    "sleep",
    "uninterruptible",
    "stopped",
];
/// What a task did before it was queued for a CPU.
pub(crate) const QUEUED: [&str; 3] = ["woken", "started", "preempted"];
/// Kinds of requests to disks.
pub(crate) const REQUESTS: [&str; 5] = ["read", "write", "flush", "discard", "other"];

/// Kinds of durations: quantity and reason.
pub(crate) const KINDS: usize = 2 * REASONS.len() + QUEUED.len() + REQUESTS.len();

/// Quantity and reason of a kind of duration.
pub(crate) fn kind(mut number: usize) -> (&'static str, &'static str) {
    for (quantity, reasons) in [
        ("slice", &REASONS[..]),
        ("wait", &REASONS[..]),
        ("run_queue_wait", &QUEUED[..]),
        ("block_io", &REQUESTS[..]),
    ] {
        match reasons.get(number) {
            Some(reason) => return (quantity, reason),
            None => number -= reasons.len(),
        }
    }
    unreachable!("there are {KINDS} kinds of durations")
}

/// Added to the owner of a thread of the kernel.
pub(crate) const OWNER_IS_KERNEL: u64 = 1 << 63;

/// States of an account; above them is a number that each new owner of the place increases.
pub(crate) const ACCOUNT_FREE: u32 = 0;
pub(crate) const ACCOUNT_READY: u32 = 2;
pub(crate) const ACCOUNT_RETIRED: u32 = 3;
pub(crate) const ACCOUNT_STATES: u32 = 4;
/// Places in the table of tasks.
pub(crate) const TASKS: u32 = 1 << 16;
/// What is known of a task [byte], and where that is which is known of those that were there before.
pub(crate) const TASK_BYTES: usize = 64;
pub(crate) const TASK_TAG: usize = 0;
pub(crate) const TASK_KERNEL: usize = 34;
pub(crate) const TASK_PROCESS: usize = 36;
pub(crate) const TASK_NAME: usize = 40;
pub(crate) const TASK_OWNER: usize = 56;
/// Sizes of structures, and offsets of their fields [byte].
pub(crate) const ACCOUNT_BYTES: usize = 168;
pub(crate) const OWNER: usize = 0;
pub(crate) const NAME: usize = 8;
pub(crate) const STATE: usize = 24;
pub(crate) const SLOTS: usize = 28;
pub(crate) const HISTOGRAM_BYTES: usize = 1344;
/// Buckets in a cache line, with the number of durations that are counted in them before the first one.
pub(crate) const LINE_BUCKETS: usize = 3;
pub(crate) const LINE_BYTES: usize = 64;
/// A number of a histogram in the list of free ones [byte].
pub(crate) const SLOT_BYTES: usize = 8;
pub(crate) const SHARED_BYTES: usize = 48;
pub(crate) const SLOTS_TAKEN: usize = 0;
pub(crate) const SLOTS_GIVEN: usize = 8;
pub(crate) const ACCOUNTS_LOST: usize = 16;
pub(crate) const DURATIONS_LOST: usize = 24;
pub(crate) const UNSEEN: usize = 32;
pub(crate) const BEGUN: usize = 40;

/// Records of one CPU that are not read yet, at most.
pub(crate) const RING: usize = 1 << 16;
pub(crate) const RECORD_BYTES: usize = 64;
pub(crate) const RING_BYTES: usize = 128;
pub(crate) const RING_LOST: usize = 8;
pub(crate) const RING_TAIL: usize = 64;
/// What is told of a thread [byte].
pub(crate) const THREAD_BYTES: usize = 40;
/// Most threads that a walk tells of, and one.
pub(crate) const THREADS: usize = 1 << 13;
/// Kinds of records, in the kernel's order; those that are not of a switch have the names of their events.
pub(crate) const RECORDS: [&str; 6] = ["switch", "fork", "exec", "exit", "block_issue", "block_completion"];
/// Number of the reason of a wake-up of a task that has not run yet.
pub(crate) const STARTED: usize = REASONS.len();

/// Reason of an event of this kind; `None` where there is no choice.
pub(crate) fn reason_of_event(kind: &str, reason: usize) -> Option<&'static str> {
    match kind {
        "wake_up" if reason == STARTED => Some("started"),
        "switch_out" | "wake_up" => REASONS.get(reason).copied(),
        "dispatch" => QUEUED.get(reason).copied(),
        "block_issue" | "block_completion" => REQUESTS.get(reason).copied(),
        _ => None,
    }
}

/// Bounds of a bucket [ns]: at least the first, below the second, which the last bucket does not have.
pub(crate) fn bounds(bucket: usize) -> (u64, Option<u64>) {
    let lower = |bucket: usize| match bucket {
        0 => 0,
        _ => {
            let (doublings, half) = ((bucket - 1) / 2, (bucket - 1) % 2);
            let power = 1u64 << (BUCKET_SHIFT as usize + doublings);
            power + half as u64 * power / 2
        }
    };
    (lower(bucket), (bucket + 1 < BUCKETS).then(|| lower(bucket + 1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = include_str!("../bpf/layout.h");

    fn defined(name: &str) -> usize {
        let mut lines = HEADER.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = lines.find(|words| words.len() == 3 && words[0] == "#define" && words[1] == name);
        found.unwrap_or_else(|| panic!("layout.h defines no {name}"))[2].parse().unwrap()
    }

    #[test]
    fn both_languages_say_the_same() {
        for (name, value) in [
            ("CALLS", CALLS),
            ("ACCOUNTS", ACCOUNTS),
            ("BUCKETS", BUCKETS),
            ("BUCKET_SHIFT", BUCKET_SHIFT as usize),
            ("REASONS", REASONS.len()),
            ("KINDS", KINDS),
            ("ACCOUNT_FREE", ACCOUNT_FREE as usize),
            ("ACCOUNT_READY", ACCOUNT_READY as usize),
            ("ACCOUNT_RETIRED", ACCOUNT_RETIRED as usize),
            ("ACCOUNT_STATES", ACCOUNT_STATES as usize),
            ("REASON_STARTED", STARTED),
            ("THREAD_BYTES", THREAD_BYTES),
            ("RECORD_BYTES", RECORD_BYTES),
            ("RING_BYTES", RING_BYTES),
            ("RING_TAIL_AT", RING_TAIL),
            ("TASK_BYTES", TASK_BYTES),
            ("TASK_KERNEL_AT", TASK_KERNEL),
            ("TASK_PROCESS_AT", TASK_PROCESS),
            ("TASK_NAME_AT", TASK_NAME),
            ("TASK_OWNER_AT", TASK_OWNER),
            ("KIND_SLICE", 0),
            ("KIND_WAIT", REASONS.len()),
        ] {
            assert_eq!(defined(name), value, "{name}");
        }
        let numbered = |prefix: &str, words: &[&str]| {
            for (number, word) in words.iter().enumerate() {
                assert_eq!(defined(&format!("{prefix}_{}", word.to_uppercase())), number, "{word}");
            }
        };
        numbered("REASON", &REASONS);
        numbered("QUEUE", &QUEUED);
        numbered("REQUEST", &REQUESTS);
        assert!(HEADER.contains("#define RING (1 << 16)"), "{RING}");
        assert!(HEADER.contains("#define TASKS (1 << 16)"), "{TASKS}");
        assert!(HEADER.contains("#define THREADS (1 << 13)"), "{THREADS}");
        let mut task = HEADER.split("struct task {").nth(1).unwrap().lines().map(str::trim);
        assert_eq!(task.find(|line| line.ends_with(';')), Some("u64 tag;"), "{TASK_TAG}");
        let records = RECORDS.map(|record| record.trim_start_matches("block_"));
        numbered("RECORD", &records);
        for (first, quantity) in [
            ("KIND_SLICE", "slice"),
            ("KIND_WAIT", "wait"),
            ("KIND_QUEUE", "run_queue_wait"),
            ("KIND_REQUEST", "block_io"),
        ] {
            assert_eq!(kind(defined(first)).0, quantity);
        }
        // The sizes and offsets are asserted in the header itself, with these numbers.
        for (name, value) in [
            ("ACCOUNT_BYTES", ACCOUNT_BYTES),
            ("ACCOUNT_STATE_AT", STATE),
            ("ACCOUNT_SLOTS_AT", SLOTS),
            ("HISTOGRAM_BYTES", HISTOGRAM_BYTES),
            ("LINE_BUCKETS", LINE_BUCKETS),
            ("LINE_BYTES", LINE_BYTES),
            ("SHARED_BYTES", SHARED_BYTES),
        ] {
            assert_eq!(defined(name), value, "{name}");
        }
    }

    #[test]
    fn buckets_touch_and_halve_a_doubling() {
        assert_eq!(bounds(0), (0, Some(128)));
        assert_eq!(bounds(1), (128, Some(192)));
        assert_eq!(bounds(2), (192, Some(256)));
        assert_eq!(bounds(BUCKETS - 1).1, None);
        for bucket in 1..BUCKETS {
            assert_eq!(bounds(bucket - 1).1, Some(bounds(bucket).0), "{bucket}");
        }
    }
}
