//! The parameters of the machine, each with its source; those of what it is asked for stand in [`asked`].

mod asked;

use serde_json::json;

pub(super) use self::asked::{COMPUTE_LOOPS, ITERATIONS};
use crate::parameter::{Allowed, Parameter};

const SIXTH: &str = "the sources of Sixth Edition UNIX";
const CALIBRATED: &str = "calibrated against Table VI, PS = 157 with MM = 650 and 1280, and Table V";
const CHOSEN: &str = "chosen";

fn seconds(high: f64) -> Allowed {
    Allowed::Number { low: 0.0, high, above: false }
}

fn whole(low: u64, high: u64) -> Allowed {
    Allowed::Integer { low, high }
}

fn share() -> Allowed {
    Allowed::Number { low: 0.0, high: 1.0, above: false }
}

pub(super) fn parameters() -> Vec<Parameter> {
    [
        machine(),
        terminal(),
        kernel(),
        writing(),
        swapping(),
        system_images(),
        paging(),
        drives(),
        simple_disk(),
        layout(),
        files_layout(),
        asked::parameters(),
    ]
    .concat()
}

fn machine() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "memory",
            "click",
            json!(1280),
            whole(1, 1 << 20),
            "Main memory for users, the kernel's left out; a click is 64 bytes",
            "Table II: MM is 650, 1000 or 1280",
        ),
        Parameter::new(
            "cpu_speed",
            "",
            json!(1.0),
            Allowed::positive(),
            "Speed of the processor as a multiple of that for which processor times are given",
            CHOSEN,
        ),
        Parameter::new(
            "call_time",
            "s",
            json!(0.001),
            seconds(10.0),
            "Processor time of a system call, blocks moved apart",
            "chosen: about a PDP-11/34's; the rows that calibrate hardly depend on it",
        ),
        Parameter::new(
            "block_time",
            "s",
            json!(0.003),
            seconds(10.0),
            "Prototypes: processor time of a block that is read or written",
            "chosen: about a PDP-11/34's; the rows that calibrate do not tell 1 ms from 5 ms",
        ),
        Parameter::new(
            "character_time",
            "s",
            json!(0.0003),
            seconds(1.0),
            "Processor time of a character that is printed",
            CHOSEN,
        ),
        Parameter::new(
            "interrupt_time",
            "s",
            json!(0.0015),
            seconds(1.0),
            "Processor time of a disk's interrupt, in which the controller pauses",
            "chosen; with it the controller is busy for 95 % of the time at most, as in the rows that calibrate",
        ),
        Parameter::new(
            "copy_time",
            "s",
            json!(0.0001),
            seconds(1.0),
            "Processor time in which a click is copied in memory, when a process forks or grows",
            "chosen: 32 words of three microseconds",
        ),
    ]
}

fn terminal() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "baud",
            "1/s",
            json!(9600),
            whole(50, 1_000_000),
            "Speed of the terminal line",
            "section 4.2",
        ),
        Parameter::new(
            "high_water",
            "character",
            json!(50),
            whole(1, 100_000),
            "A writer sleeps while more characters than this wait for the line",
            SIXTH,
        ),
        Parameter::new(
            "low_water",
            "character",
            json!(30),
            whole(0, 100_000),
            "Writers are woken when so many are left",
            SIXTH,
        ),
    ]
}

fn kernel() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "buffers",
            "",
            json!(20),
            whole(4, 100_000),
            "Block buffers of 512 bytes",
            "section 2.4: 20; 15 in the distribution",
        ),
        Parameter::new(
            "read_ahead",
            "",
            json!(true),
            Allowed::Flag,
            "Whether the next block of a file that is read in sequence is read too",
            SIXTH,
        ),
    ]
}

fn writing() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "full_block_writes",
            "",
            json!("delayed"),
            Allowed::Choice(vec!["at_once", "delayed"]),
            "When a block that was written to its end goes to the disk: at once, and nobody waits; or when its buffer \
             is needed or update comes, as all others",
            "section 2.4: all writes are delayed; the sources of Sixth Edition write full blocks at once (bawrite in writei)",
        ),
        Parameter::new(
            "update_interval",
            "s",
            json!(30),
            Allowed::positive(),
            "Time between two writings of all delayed writes by /etc/update",
            "section 2.4",
        ),
        Parameter::new(
            "other_inodes",
            "",
            json!(10),
            whole(0, 200),
            "I-nodes in use beside those of the files, which update writes too: of programs, directories, terminals",
            CHOSEN,
        ),
        Parameter::new(
            "sleep",
            "",
            json!("new"),
            Allowed::Choice(vec!["new", "old"]),
            "new: an alarm wakes its own process; old: whenever one sleeper is due all are woken, and sleep again",
            "section 2.2: the experiment uses the new one",
        ),
    ]
}

fn swapping() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "minimum_time_out",
            "s",
            json!(3),
            whole(0, 127),
            "Seconds out of memory before a process may drive out one that does not wait for something slow",
            "section 2.3: MINTIMEOUT is 3 here and in the distribution",
        ),
        Parameter::new(
            "minimum_time_in",
            "s",
            json!(3),
            whole(0, 127),
            "Seconds in memory before such a one may be driven out",
            "section 2.3: MINTIMEIN is 3 here, 2 in the distribution",
        ),
        Parameter::new(
            "swapper",
            "",
            json!("unix6"),
            Allowed::Choice(vec!["unix6", "balanced"]),
            "unix6: as Sixth Edition swaps; balanced: drives nobody out while `enough` of those in memory are at work \
             and nobody has been out for `patience`",
            CHOSEN,
        ),
        Parameter::new(
            "enough",
            "process",
            json!(2),
            whole(1, 1000),
            "Balanced swapper: processes in memory that want the processor or wait for a disk",
            CHOSEN,
        ),
        Parameter::new(
            "patience",
            "s",
            json!(6),
            whole(0, 127),
            "Balanced swapper: seconds out of memory after which a process has to come in all the same",
            CHOSEN,
        ),
    ]
}

fn system_images() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "init_size",
            "click",
            json!(24),
            whole(1, 1024),
            "Image of init, which waits all the time",
            CHOSEN,
        ),
        Parameter::new(
            "update_size",
            "click",
            json!(40),
            whole(0, 1024),
            "Image of update without its pure text; 0: it is never swapped",
            "chosen by the rows that calibrate: with 0 nothing is swapped where eight processes just fit, as 438 were",
        ),
        Parameter::new(
            "shell_size",
            "click",
            json!(100),
            whole(1, 1024),
            "Image of the shell, which waits",
            CHOSEN,
        ),
        Parameter::new(
            "parent_size",
            "click",
            json!(60),
            whole(1, 1024),
            "Image of the program that starts the prototypes and waits for them",
            CHOSEN,
        ),
    ]
}

fn paging() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "memory_management",
            "",
            json!("swapping"),
            Allowed::Choice(vec!["swapping", "paging"]),
            "swapping: whole images, as Sixth Edition; paging: pages on demand, the least recently used gives way",
            "chosen: for comparison",
        ),
        Parameter::new(
            "page_size",
            "click",
            json!(8),
            whole(1, 1024),
            "Paging: length of a page",
            "chosen: that of a block",
        ),
        Parameter::new(
            "page_share",
            "",
            json!(0.3),
            share(),
            "Paging: part of its image that a process touches in an interaction",
            "chosen: the thesis does not say",
        ),
        Parameter::new(
            "page_modified",
            "",
            json!(0.3),
            share(),
            "Paging: part of the touched pages that are modified",
            "chosen: the thesis does not say",
        ),
    ]
}

fn drives() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "disk",
            "",
            json!("rl01"),
            Allowed::Choice(vec!["rl01", "simple"]),
            "rl01: the drive of Table I; simple: a constant time, one for each cylinder and one for each block",
            "Table I",
        ),
        Parameter::new(
            "cylinder_crossing",
            "",
            json!("seek"),
            Allowed::Choice(vec!["revolution", "seek"]),
            "RL01: what a transfer over the end of a cylinder costs: the seek to the next one, or that and the wait \
             until its first block comes round, together a revolution",
            "section 3.2: 15 ms each where swap times are calculated",
        ),
        Parameter::new(
            "disk_policy",
            "",
            json!("look"),
            Allowed::Choice(vec!["look", "fcfs", "sstf"]),
            "Which request the controller takes next",
            "section 2.4: LOOK in the modified driver, FCFS before",
        ),
        Parameter::new(
            "sweep",
            "",
            json!("cylinder"),
            Allowed::Choice(vec!["combined", "alternate", "cylinder"]),
            "The axis along which look and sstf go: combined, all cylinders of one drive and then of the other; \
             alternate, each drive in its turn; cylinder, whichever the drive",
            "chosen by the rows that calibrate: with combined a swap waits too long, with alternate not long enough",
        ),
        Parameter::new("drives", "", json!(2), whole(1, 2), "Drives on the controller", "section 2.1"),
        Parameter::new(
            "overlapped_seeks",
            "",
            json!(false),
            Allowed::Flag,
            "Whether one drive seeks while the other transfers",
            "section 2.1: not used",
        ),
    ]
}

fn simple_disk() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "access_time",
            "s",
            json!(0.03),
            seconds(10.0),
            "Simple disk: constant time of an access",
            CHOSEN,
        ),
        Parameter::new(
            "cylinder_time",
            "s",
            json!(0.0005),
            seconds(1.0),
            "Simple disk: more for each cylinder that the arm crosses",
            CHOSEN,
        ),
        Parameter::new(
            "transfer_time",
            "s",
            json!(0.0012),
            seconds(1.0),
            "Simple disk: more for each block of 512 bytes",
            "chosen: that of an RL01",
        ),
        Parameter::new(
            "cylinders",
            "",
            json!(203),
            whole(1, 100_000),
            "Simple disk: cylinders",
            "chosen: an RK05's",
        ),
        Parameter::new(
            "blocks_per_cylinder",
            "block",
            json!(24),
            whole(1, 100_000),
            "Simple disk: blocks of 512 bytes in a cylinder",
            "chosen: an RK05's",
        ),
    ]
}

fn layout() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "swap_drive",
            "",
            json!(1),
            whole(0, 1),
            "Drive of the swap area; with one drive, that one",
            "section 4.3: swap area and files on separate drives",
        ),
        Parameter::new(
            "swap_cylinder",
            "",
            json!(100),
            whole(0, 100_000),
            "First cylinder of the swap area",
            CHOSEN,
        ),
        Parameter::new(
            "swap_blocks",
            "block",
            json!(2000),
            whole(1, 10_000_000),
            "Length of the swap area",
            "chosen: room for all images",
        ),
        Parameter::new(
            "file_drive",
            "",
            json!(0),
            whole(0, 1),
            "Drive of the files; with one drive, that one",
            "section 4.3",
        ),
        Parameter::new(
            "file_cylinder",
            "",
            json!(10),
            whole(0, 100_000),
            "Cylinder at which the files begin",
            CHOSEN,
        ),
    ]
}

fn files_layout() -> Vec<Parameter> {
    vec![
        Parameter::new(
            "file_span",
            "block",
            json!(7608),
            whole(1, 1_000_000),
            "Prototypes: blocks, from that cylinder on, that are the files'",
            CALIBRATED,
        ),
        Parameter::new(
            "file_layout",
            "",
            json!("spaced"),
            Allowed::Choice(vec!["spaced", "contiguous", "scattered"]),
            "Prototypes: spaced, files at even distances over the span, in random order; contiguous, one after another; scattered, \
             each block of a file anywhere in the span",
            "chosen by the rows that calibrate: contiguous files are nearer to each other where there are fewer",
        ),
        Parameter::new(
            "file_places",
            "",
            json!(12),
            whole(1, 1000),
            "Spaced: places for files in the span, of which fewer processes use some only",
            "chosen: the files of twelve processes are there in all runs",
        ),
        Parameter::new(
            "address_blocks",
            "",
            json!(true),
            Allowed::Flag,
            "Whether a file of more than eight blocks has blocks of addresses, which are read as others are",
            SIXTH,
        ),
    ]
}
