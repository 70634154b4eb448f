//! The columns that every source of a kind shares, so that one analysis reads them all.
//!
//! A source may leave a column out (it is then absent) or null (not measured here), and may add
//! columns of its own. It may not use one of these names for anything else.

use crate::schema::{Column, Kind, Role, TableSchema, Type};

fn label(name: &str, description: &str) -> Column {
    Column::new(name, Type::Text, "", Kind::Label, description)
}

fn instant(name: &str, description: &str) -> Column {
    Column::new(name, Type::Time, "us", Kind::Time, description)
}

fn seconds(name: &str, description: &str) -> Column {
    Column::new(name, Type::F64, "s", Kind::Counter, description)
}

fn count(name: &str, unit: &str, description: &str) -> Column {
    Column::new(name, Type::U64, unit, Kind::Counter, description)
}

fn gauge(name: &str, unit: &str, description: &str) -> Column {
    Column::new(name, Type::U64, unit, Kind::Gauge, description)
}

fn reading(name: &str, unit: &str, description: &str) -> Column {
    Column::new(name, Type::F64, unit, Kind::Gauge, description)
}

fn start() -> Column {
    instant("start", "Start of the interval, wall clock")
}

fn name_of_user() -> Column {
    label("name", "Name of the user: of the account, the session or the group; a pseudonym if so asked")
}

fn kind_of_user() -> Column {
    label(
        "kind",
        "Kind of user: person (an account from 1000 on, or whoever has a terminal) or system (null for control groups)",
    )
}

/// CPU time by state, summed over the CPUs of the row.
fn cpu_states() -> Vec<Column> {
    vec![
        seconds("user_s", "CPU time in user state, without nice (tick-sampled)").role(Role::UserTime),
        seconds("nice_s", "CPU time in user state at a positive nice value (tick-sampled)")
            .role(Role::UserTime),
        seconds("system_s", "CPU time in the kernel for processes (tick-sampled)").role(Role::SystemTime),
        seconds("irq_s", "CPU time in hardware interrupts (zero where the kernel does not account it)")
            .role(Role::SystemTime),
        seconds("softirq_s", "CPU time in soft interrupts (tick-sampled)").role(Role::SystemTime),
        seconds("steal_s", "CPU time taken by the hypervisor for others"),
        seconds("idle_s", "CPU time idle without a pending disk request (tick-sampled)").role(Role::IdleTime),
        seconds(
            "iowait_s",
            "CPU time idle while a task of that CPU waits for a disk (a hint, not a measure)",
        )
        .role(Role::IdleTime),
    ]
}

/// CPU time by mode. Without a role: it is the same time as that of the states, measured again.
fn sampled_modes() -> Vec<Column> {
    vec![
        seconds("user_sampled_s", "CPU time of tasks in user mode, sampled out of step with the tick"),
        seconds("system_sampled_s", "CPU time of tasks in the kernel, sampled out of step with the tick"),
    ]
}

/// Softirq types in the kernel's order; the columns are `softirq_<type>`.
pub const SOFTIRQ_TYPES: [&str; 10] =
    ["hi", "timer", "net_tx", "net_rx", "block", "irq_poll", "tasklet", "sched", "hrtimer", "rcu"];

fn kernel_events() -> Vec<Column> {
    let mut columns = vec![
        count("context_switches", "switch", "Context switches").role(Role::Request),
        count("interrupts", "interrupt", "Hardware interrupts served").role(Role::Request),
        count("forks", "fork", "Processes and threads created").role(Role::Request),
    ];
    for name in SOFTIRQ_TYPES {
        columns.push(count(
            &format!("softirq_{name}"),
            "softirq",
            &format!("Soft interrupts of type {name}"),
        ));
    }
    columns
}

fn memory_flow() -> Vec<Column> {
    vec![
        count("page_faults_minor", "fault", "Page faults served without a disk").role(Role::Request),
        count("page_faults_major", "fault", "Page faults that waited for a disk").role(Role::Request),
        count("paged_in_bytes", "byte", "Read from block devices (pgpgin)"),
        count("paged_out_bytes", "byte", "Written to block devices (pgpgout)"),
        count("swap_in_pages", "page", "Pages swapped in"),
        count("swap_out_pages", "page", "Pages swapped out"),
        count("pages_reclaimed", "page", "Pages reclaimed from their owners"),
        count("pages_scanned", "page", "Pages looked at for reclaim"),
        count("pages_allocated", "page", "Pages allocated"),
        count("pages_freed", "page", "Pages freed"),
        count(
            "page_faults_huge",
            "fault",
            "Page faults served with a huge page, which has to be cleared first",
        ),
        count("pages_dirtied", "page", "Pages of files modified since they were read or written back"),
        count("pages_written_back", "page", "Pages of files written back to a disk"),
    ]
}

fn devices_total() -> Vec<Column> {
    vec![
        count("disk_reads", "operation", "Reads completed, all whole disks").role(Role::Request),
        count("disk_writes", "operation", "Writes completed, all whole disks").role(Role::Request),
        count("disk_read_bytes", "byte", "Bytes read, all whole disks"),
        count("disk_write_bytes", "byte", "Bytes written, all whole disks"),
        seconds("disk_busy_s", "Time with a request in progress, summed over the disks"),
        count("net_packets_in", "packet", "Packets received, all interfaces but loopback")
            .role(Role::Request),
        count("net_packets_out", "packet", "Packets sent, all interfaces but loopback").role(Role::Request),
        count("net_bytes_in", "byte", "Bytes received, all interfaces but loopback"),
        count("net_bytes_out", "byte", "Bytes sent, all interfaces but loopback"),
        count("loopback_packets", "packet", "Packets over the loopback interface").role(Role::Request),
        count("loopback_bytes", "byte", "Bytes over the loopback interface"),
    ]
}

fn pressure() -> Vec<Column> {
    vec![
        seconds("psi_cpu_some_s", "Time in which some task waited for a CPU (PSI)"),
        seconds("psi_memory_some_s", "Time in which some task was stalled on memory (PSI)"),
        seconds("psi_memory_full_s", "Time in which all tasks were stalled on memory (PSI)"),
        seconds("psi_io_some_s", "Time in which some task was stalled on disks (PSI)"),
        seconds("psi_io_full_s", "Time in which all tasks were stalled on disks (PSI)"),
    ]
}

fn gauges() -> Vec<Column> {
    vec![
        gauge("runnable", "task", "Tasks running or waiting for a CPU"),
        gauge("blocked", "task", "Tasks blocked on a disk"),
        gauge("processes", "process", "Processes alive"),
        gauge("threads", "thread", "Threads alive"),
        reading("load_1m", "task", "Load average over one minute"),
        reading("load_5m", "task", "Load average over five minutes"),
        reading("load_15m", "task", "Load average over fifteen minutes"),
        gauge("memory_total_bytes", "byte", "Main memory"),
        gauge("memory_free_bytes", "byte", "Main memory unused"),
        gauge("memory_available_bytes", "byte", "Main memory that new work could get without swapping"),
        gauge("memory_buffers_bytes", "byte", "Buffers of block devices"),
        gauge("memory_cached_bytes", "byte", "Page cache"),
        gauge("memory_anonymous_bytes", "byte", "Anonymous memory of processes"),
        gauge("memory_dirty_bytes", "byte", "Pages waiting to be written"),
        gauge("memory_slab_bytes", "byte", "Kernel objects"),
        gauge("memory_page_tables_bytes", "byte", "Page tables"),
        gauge("memory_committed_bytes", "byte", "Memory promised to processes"),
        gauge("swap_total_bytes", "byte", "Swap space"),
        gauge("swap_free_bytes", "byte", "Swap space unused"),
        gauge("sessions", "session", "Logged-in sessions"),
    ]
}

/// `samples`: one row per interval.
pub fn samples() -> TableSchema {
    let mut columns = vec![
        start(),
        Column::new("length_s", Type::F64, "s", Kind::Time, "Length of the interval on a monotonic clock"),
    ];
    columns.extend(cpu_states());
    columns.push(seconds("cpu_exact_s", "CPU time of all tasks, exact (not tick-sampled)"));
    columns.extend(sampled_modes());
    columns.extend(kernel_events());
    columns.extend(memory_flow());
    columns.extend(devices_total());
    columns.extend(pressure());
    columns.extend(gauges());
    columns.push(
        gauge(
            "active_users",
            "user",
            "Users who used some user-state CPU time in the interval (Bard 1971, Table 2)",
        )
        .role(Role::Load),
    );
    columns.push(seconds(
        "low_priority_s",
        "CPU time of processes at nice 10 or more, or of class idle, exact: they leave nine tenths of a CPU, or more, to \
         work at nice 0",
    ));
    columns.push(seconds("recorder_cpu_s", "CPU time that the recorder itself used"));
    columns.push(count("recorder_written_bytes", "byte", "Bytes that the recorder itself wrote to the log"));
    columns.push(reading(
        "recorder_reading_s",
        "s",
        "CPU time of all tasks from the reading of cpu_exact_s to that of the last process: users may have as \
         much more",
    ));
    columns.push(seconds("recorder_delay_s", "Time from the sample's deadline until it was taken"));
    TableSchema::new("samples", columns)
}

/// `users`: one row per interval and user in which that user did anything.
pub fn users() -> TableSchema {
    TableSchema::new(
        "users",
        vec![
            start(),
            label("user", "User: uid:N, session:N, or the path of a control group"),
            seconds("user_s", "CPU time in user state").role(Role::UserTime),
            seconds("system_s", "CPU time in the kernel").role(Role::SystemTime),
            seconds("cpu_exact_s", "CPU time of this user's tasks, exact (not tick-sampled)"),
            seconds("run_delay_s", "Time that this user's tasks waited for a CPU while runnable"),
            count("page_faults_minor", "fault", "Page faults served without a disk").role(Role::Request),
            count("page_faults_major", "fault", "Page faults that waited for a disk").role(Role::Request),
            count("read_bytes", "byte", "Bytes read from block devices"),
            count("write_bytes", "byte", "Bytes written to block devices"),
            gauge("processes", "process", "Processes alive at the end of the interval"),
            gauge(
                "memory_bytes",
                "byte",
                "Resident memory of the user's processes, shared pages counted in each",
            ),
            seconds(
                "io_delay_s",
                "Time that tasks waited for a disk (null where the kernel does not account it)",
            ),
            seconds(
                "swap_delay_s",
                "Time that tasks waited for a page from swap (null where the kernel does not account it)",
            ),
            seconds(
                "inherited_s",
                "CPU time of processes that nobody saw at work, counted for the user who waited for them",
            ),
            name_of_user(),
            kind_of_user(),
            seconds(
                "gpu_s",
                "Time of GPU engines for this user, summed over engines; NVIDIA's are sampled (null where none tells)",
            ),
            gauge(
                "gpu_memory_bytes",
                "byte",
                "Resident GPU buffers of this user, NVIDIA's of cards alone (null where none tells)",
            ),
        ],
    )
}

/// `commands`: one row per interval, user and command that did anything; the smaller ones of a user together.
pub fn commands() -> TableSchema {
    TableSchema::new(
        "commands",
        vec![
            start(),
            label("user", "User, as in table users"),
            label(
                "command",
                "Name of the program, or of the script that it interprets; (other) for the commands without a row",
            ),
            seconds("user_s", "CPU time in user state").role(Role::UserTime),
            seconds("system_s", "CPU time in the kernel").role(Role::SystemTime),
            seconds("cpu_exact_s", "CPU time of the command's processes, exact (not tick-sampled)"),
            seconds("run_delay_s", "Time that they waited for a CPU while runnable"),
            seconds(
                "io_delay_s",
                "Time that they waited for a disk (null where the kernel does not account it)",
            ),
            seconds(
                "swap_delay_s",
                "Time that they waited for a page from swap (null where the kernel does not account it)",
            ),
            count("page_faults_minor", "fault", "Page faults served without a disk").role(Role::Request),
            count("page_faults_major", "fault", "Page faults that waited for a disk").role(Role::Request),
            count("read_bytes", "byte", "Bytes read from block devices"),
            count("write_bytes", "byte", "Bytes written to block devices"),
            gauge("processes", "process", "Processes alive at the end of the interval"),
            count("started", "process", "Processes of this name that were new in the interval"),
            count("ended", "process", "Processes of this name that ended in the interval"),
            seconds("lifetime_s", "Time from start to end, summed over the processes that ended"),
            gauge("memory_bytes", "byte", "Resident memory of the processes, shared pages counted in each"),
            name_of_user(),
        ],
    )
}

/// `presence`: one row per user with a process, active or not, at the end of some intervals: at a slow beat.
pub fn presence() -> TableSchema {
    TableSchema::new(
        "presence",
        vec![
            start(),
            label("user", "User, as in table users"),
            name_of_user(),
            kind_of_user(),
            gauge("processes", "process", "Processes alive at the end of the interval"),
            gauge("threads", "thread", "Threads alive, as of the last reading of each process"),
            gauge(
                "sessions",
                "session",
                "Logged-in sessions of the user (null where nothing records logins)",
            ),
            label("terminals", "Terminals at which the user is logged in, and from where, separated by ;"),
            gauge(
                "memory_resident_bytes",
                "byte",
                "Resident memory of the user's processes, shared pages counted in each",
            ),
            gauge(
                "memory_proportional_bytes",
                "byte",
                "Resident memory, a shared page divided among those who share it: read from each process in turn, \
                 and since then in proportion to its resident memory (null where processes that may not be read \
                 have more than 5 % of it)",
            ),
            gauge(
                "memory_anonymous_bytes",
                "byte",
                "Memory that no file backs, divided where it is shared; where that is not permitted, counted in each",
            ),
            gauge("swap_bytes", "byte", "Memory that is swapped out, as of the last reading of each process"),
        ],
    )
}

/// `groups`: one row per interval and control group that used something, with its memory at a slow beat.
pub fn groups() -> TableSchema {
    let mut columns = vec![
        start(),
        label("group", "Path of the control group; its amounts include those of the groups below it"),
        label("name", "Readable name: of the unit, the container, the pod, or the user of the session"),
        label("kind", "Kind of group: slice, service, scope, session, container, pod or group"),
        seconds("cpu_s", "CPU time by the group's own counter, exact and complete"),
        seconds("user_s", "CPU time in user state, by the group's own counter").role(Role::UserTime),
        seconds("system_s", "CPU time in the kernel, by the group's own counter").role(Role::SystemTime),
        seconds(
            "throttled_s",
            "Time in which the group's quota kept its tasks from a CPU, summed over the CPUs",
        ),
        count("throttled_periods", "period", "Periods in which the group used up its quota"),
        count("periods", "period", "Periods of the quota in which the group had work"),
    ];
    columns.extend(pressure());
    columns.extend([
        count("read_bytes", "byte", "Bytes read from block devices"),
        count(
            "write_bytes",
            "byte",
            "Bytes written to block devices; those written later, from the page cache, \
             count for the root group where the hierarchy is of version 1",
        ),
        count("reads", "operation", "Reads from block devices").role(Role::Request),
        count("writes", "operation", "Writes to block devices").role(Role::Request),
        count(
            "memory_events_high",
            "event",
            "Times that the group was slowed since its memory exceeded memory.high",
        ),
        count("memory_events_max", "event", "Times that the group's memory was about to exceed its limit"),
        count("memory_oom_kills", "process", "Processes killed because the group's memory was used up"),
        gauge("memory_bytes", "byte", "Memory charged to the group, page cache and kernel objects included"),
        gauge("memory_anonymous_bytes", "byte", "The part of it that no file backs"),
        gauge("memory_file_bytes", "byte", "The part of it that is page cache, shared memory included"),
        gauge("memory_swap_bytes", "byte", "Memory of the group that is swapped out"),
        gauge("memory_peak_bytes", "byte", "Most memory charged to the group since it was made"),
        gauge("memory_limit_bytes", "byte", "Limit of the group's memory (null without one)"),
    ]);
    TableSchema::new("groups", columns)
}

/// `cpus`: one row per interval and CPU.
pub fn cpus() -> TableSchema {
    let mut columns = vec![start(), gauge("cpu", "", "Number of the CPU")];
    columns[1].kind = Kind::Label;
    columns.extend(cpu_states());
    TableSchema::new("cpus", columns)
}

/// `disks`: one row per interval and disk that did anything.
pub fn disks() -> TableSchema {
    TableSchema::new(
        "disks",
        vec![
            start(),
            label("device", "Name of the disk"),
            count("reads", "operation", "Reads completed").role(Role::Request),
            count("writes", "operation", "Writes completed").role(Role::Request),
            count("read_bytes", "byte", "Bytes read"),
            count("write_bytes", "byte", "Bytes written"),
            seconds("read_wait_s", "Time from issue to completion, summed over the reads"),
            seconds("write_wait_s", "Time from issue to completion, summed over the writes"),
            seconds("busy_s", "Time with a request in progress"),
            seconds("queue_s", "Requests in progress, integrated over time"),
            gauge("in_progress", "operation", "Requests in progress at the end of the interval"),
        ],
    )
}

/// `interfaces`: one row per interval and network interface that did anything.
pub fn interfaces() -> TableSchema {
    TableSchema::new(
        "interfaces",
        vec![
            start(),
            label("interface", "Name of the network interface"),
            count("packets_in", "packet", "Packets received").role(Role::Request),
            count("packets_out", "packet", "Packets sent").role(Role::Request),
            count("bytes_in", "byte", "Bytes received"),
            count("bytes_out", "byte", "Bytes sent"),
            count("errors", "packet", "Packets with errors, both ways"),
            count("drops", "packet", "Packets dropped, both ways"),
        ],
    )
}

/// `interactions`: one row per interaction: an input and all the work that it requests.
pub fn interactions() -> TableSchema {
    let mut arrival_load = gauge("population", "user", "Users playing when the input arrived");
    arrival_load.role = Some(Role::Load);
    TableSchema::new(
        "interactions",
        vec![
            label("user", "User who typed the input"),
            label("class", "Kind of input"),
            arrival_load,
            seconds("think_s", "Think time before the input"),
            instant(
                "due",
                "Time when the input was due: the think time was over, or the schedule demanded it",
            ),
            instant("sent", "Time when the input was sent; later than due if the user was held up"),
            instant(
                "first_service",
                "Start of the first slice of service (null where the source cannot see it)",
            ),
            instant("first_output", "Time of the first output"),
            instant("completion", "Completion of the interaction (null if it never completed)"),
            seconds("service_s", "CPU time received"),
            seconds("user_s", "CPU time received in user state").role(Role::UserTime),
            seconds("system_s", "CPU time received in the kernel").role(Role::SystemTime),
            count("page_faults_minor", "fault", "Page faults served without a disk").role(Role::Request),
            count("page_faults_major", "fault", "Page faults that waited for a disk").role(Role::Request),
            count("reads", "operation", "File reads made").role(Role::Request),
            count("writes", "operation", "File writes made").role(Role::Request),
            count("output_bytes", "byte", "Bytes written to the terminal"),
            Column::new(
                "waited",
                Type::Bool,
                "",
                Kind::Label,
                "Whether the user waited for the reply before the next input",
            ),
            count("forks", "fork", "Processes created").role(Role::Request),
            // With these two, response = service + wait for a CPU + wait for I/O + rest: a source fills them only if the
            // work of an interaction is done one step after another.
            seconds(
                "run_delay_s",
                "Part of the response in which the work was ready to run and waited for a CPU (null where the kernel does not measure it)",
            ),
            seconds(
                "io_delay_s",
                "Part of the response in which the work waited for block I/O (null where kernel.task_delayacct is 0)",
            ),
        ],
    )
}

/// `events`: one row per event of the trace.
pub fn events() -> TableSchema {
    TableSchema::new(
        "events",
        vec![
            instant("time", "Time of the event"),
            label("kind", "Kind of event"),
            label("user", "User whom it concerns"),
            Column::new("cpu", Type::U64, "", Kind::Label, "CPU on which it happened"),
            Column::new("amount", Type::F64, "", Kind::Counter, "Amount, in the unit of the next column"),
            label("unit", "Unit of the amount: symbol or noun; null where there is no amount"),
            // Of a machine with processes; a source without them leaves these columns out.
            Column::new("task", Type::U64, "", Kind::Label, "Thread whom it concerns, by its number"),
            Column::new("process", Type::U64, "", Kind::Label, "Process of this thread, by its number"),
            label("command", "Name of the program of this process, as the kernel has it"),
            label("reason", "How that ended which the amount measures, or what the thread waits for"),
            name_of_user(),
        ],
    )
}

/// `latencies`: one row per interval, user, command, quantity, reason and bucket of the histogram that is not empty.
pub fn latencies() -> TableSchema {
    TableSchema::new(
        "latencies",
        vec![
            start(),
            label("user", "User, as in table users"),
            label(
                "command",
                "Name of the program, as the kernel has it; (other) for what found no room in the tables",
            ),
            label("quantity", "What took the time: run_queue_wait, slice, wait or block_io"),
            label("reason", "How it ended, or what the thread waited for (null where there is no choice)"),
            reading("at_least_s", "s", "Lower bound of the bucket"),
            reading("below_s", "s", "Upper bound of the bucket, outside it (null for the last bucket)"),
            count("count", "event", "Durations in the bucket that ended in the interval"),
            seconds("total_s", "Sum of these durations"),
            name_of_user(),
        ],
    )
}

/// What names of disks begin with that lie on others or in memory: their requests are counted below them, so that
/// the machine's totals leave them out.
pub const STACKED_DISKS: [&str; 8] = ["dm-", "md", "loop", "ram", "zram", "drbd", "bcache", "nbd"];

/// Every table of the vocabulary.
pub fn tables() -> Vec<TableSchema> {
    vec![
        samples(),
        users(),
        cpus(),
        disks(),
        interfaces(),
        interactions(),
        events(),
        commands(),
        presence(),
        groups(),
        latencies(),
    ]
}
