//! The parameters of `parameters.toml`, as fields.

use serde::Deserialize;
use serde_json::Value;
use thinktime_engine::controller::Sweep;
use thinktime_engine::disk::QueueDiscipline;
use thinktime_engine::{Distribution, Span};

use crate::kernel::{OrOwn, choices};

choices! {
    FullBlockWrites { AtOnce, Delayed }
    SleepResolution { Individual, Shared }
    SwapperRule { Unix6, Balanced }
    MemoryManagement { Swapping, Paging }
    DiskModel { Rl01, Simple }
    CylinderCrossing { Revolution, Seek }
    FileLayout { Spaced, Contiguous, Scattered }
    WorkloadName { Prototypes, Children }
}

/// Values given or default; ranges and sources are in `parameters.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Parameters {
    /// Main memory for users, without the kernel; a click is 64 bytes [click].
    pub memory: u64,
    /// Speed of the processor relative to the one whose processor times are given.
    pub cpu_speed: f64,
    /// Processor time of a system call, without moving blocks [s].
    pub call_time: f64,
    /// Prototypes: processor time per block read or written [s].
    pub block_time: f64,
    /// Processor time per printed character [s].
    pub character_time: f64,
    /// Processor time of a disk interrupt, during which the controller pauses [s].
    pub interrupt_time: f64,
    /// Processor time of the kernel outside processes for a read that waits for the disk: three searches for the next
    /// process, when it begins to wait, when it is woken and when it returns to user mode, interrupts of an idle
    /// processor included; every other search takes a third of it, too [s].
    pub blocked_read_time: OrOwn,
    /// Processor time of the kernel outside processes for a swap: two of these searches, and the work of the swapper
    /// [s].
    pub swap_work_time: OrOwn,
    /// Time of the clock at the start, of which the second decides when processes are woken, and whether it is a
    /// fourth one when they take turns; random: any [s].
    pub clock_phase: OrOwn,
    /// Processor time to copy a click in memory, when a process forks or grows [s].
    pub copy_time: f64,
    /// Speed of the terminal line [1/s].
    pub baud: u64,
    /// Number of characters waiting for the line above which a writer sleeps [character].
    pub high_water: u64,
    /// Number of waiting characters at which writers are woken [character].
    pub low_water: u64,
    /// Block buffers of 512 bytes.
    pub buffers: u64,
    /// Whether the next block of a sequentially read file is read in advance.
    pub read_ahead: bool,
    /// Time at which a completely written block goes to the disk: at once, with no process waiting, or when its buffer
    /// is needed or update runs, as for all other blocks.
    pub full_block_writes: FullBlockWrites,
    /// Time between two runs of /etc/update, which writes all delayed writes [s].
    pub update_interval: Span,
    /// I-nodes in use in addition to the files': of programs, directories and terminals; update writes these too.
    pub other_inodes: u64,
    /// Processes woken by an alarm: individual, only its own process; shared, all sleepers, of whom those not yet due
    /// sleep again.
    pub sleep_resolution: SleepResolution,
    /// Time out of memory after which a process may displace one that does not wait for something slow [s].
    pub minimum_time_out: u64,
    /// Time in memory after which such a process may be displaced [s].
    pub minimum_time_in: u64,
    /// Swapping rule: unix6, that of Sixth Edition; balanced, displaces no process while `target_ready` of those in
    /// memory are active and no process has been out for `balance_wait`.
    pub swapper: SwapperRule,
    /// Balanced swapper: processes in memory, ready or waiting for a disk, that are enough [process].
    pub target_ready: u64,
    /// Balanced swapper: time out of memory after which a process is swapped in regardless [s].
    pub balance_wait: u64,
    /// Image size of init without its pure text; it waits permanently [click].
    pub init_size: u64,
    /// Image size of update without its pure text; 0: it is never swapped [click].
    pub update_size: u64,
    /// Pure text of init, which is in memory while init is; 0: it has none [click].
    pub init_text: u64,
    /// Image size of the shell without its pure text; it waits [click].
    pub shell_size: u64,
    /// Pure text of the shell, which is in memory while the shell is; 0: it has none [click].
    pub shell_text: u64,
    /// Image size of the program that starts the prototypes and waits for them [click].
    pub parent_size: u64,
    /// Memory management: swapping, whole images as in Sixth Edition; paging, pages on demand with least-recently-used
    /// replacement.
    pub memory_management: MemoryManagement,
    /// Paging: page length [click].
    pub page_size: u64,
    /// Paging: share of its image that a process touches in an interaction.
    pub page_share: f64,
    /// Paging: share of the touched pages that are modified.
    pub page_modified: f64,
    /// Disk drive: rl01, the drive of Table I; simple, constant times per access, cylinder and block.
    pub disk: DiskModel,
    /// RL01: cost of a transfer across a cylinder boundary: the seek to the next cylinder, or the seek and the wait for
    /// its first block, together one revolution.
    pub cylinder_crossing: CylinderCrossing,
    /// Order in which the controller serves requests.
    pub disk_policy: QueueDiscipline,
    /// Axis of look and sstf: combined, all cylinders of one drive and then of the other; alternate, the drives in
    /// turn; cylinder, independent of the drive.
    pub sweep: Sweep,
    /// Drives on the controller.
    pub drives: u64,
    /// Whether one drive may seek while the other transfers.
    pub overlapped_seeks: bool,
    /// Simple disk: constant time per access [s].
    pub access_time: Span,
    /// Simple disk: additional time per cylinder crossed [s].
    pub cylinder_time: Span,
    /// Simple disk: additional time per block of 512 bytes [s].
    pub transfer_time: Span,
    /// Simple disk: number of cylinders.
    pub cylinders: u64,
    /// Simple disk: blocks of 512 bytes per cylinder [block].
    pub blocks_per_cylinder: u64,
    /// Drive of the swap area; ignored with one drive.
    pub swap_drive: u64,
    /// First cylinder of the swap area.
    pub swap_cylinder: u64,
    /// First block of the swap area on its drive; cylinder: that of `swap_cylinder` [block].
    pub swap_start: Value,
    /// Length of the swap area [block].
    pub swap_blocks: u64,
    /// Drive of the files; ignored with one drive.
    pub file_drive: u64,
    /// First cylinder of the files.
    pub file_cylinder: u64,
    /// Prototypes: number of blocks, from that cylinder on, for the files [block].
    pub file_span: u64,
    /// Prototypes: spaced, files at equal distances over the span in random order; contiguous, one after another;
    /// scattered, each block of a file anywhere in the span.
    pub file_layout: FileLayout,
    /// Spaced layout: number of places for files in the span; fewer processes use only some of them.
    pub file_places: u64,
    /// Whether a file of more than eight blocks has address blocks, which are read like other blocks.
    pub address_blocks: bool,
    /// Workload: prototypes, synthetic interactive users with one file each; children, a parent forks children that
    /// compute, read a file and pause.
    pub workload: WorkloadName,
    /// Number of prototypes or children, PN, without init, shell, update and parent [process].
    pub processes: u64,
    /// Size of a process, PS: text, data, stack and system data [click].
    pub size: Value,
    /// Size of the pure text shared by all processes, which is never written to the swap area [click].
    pub text: u64,
    /// Interactions of each prototype [interaction].
    pub interactions: u64,
    /// Prototypes: whether the warm-up ends when every prototype has written to the terminal; false: statistics start
    /// at time zero.
    pub warm_up_on_output: bool,
    /// Mean processor time of a compute loop, PC, distributed as in that row of Table III [ms].
    pub pc: u64,
    /// Processor time of a compute loop: table for Table III, or a distribution [s].
    pub compute: Value,
    /// Pause before an interaction, in ticks of the one-second clock [s].
    pub pause: Distribution,
    /// Strings printed in an interaction.
    pub strings: Distribution,
    /// Length of a string, and of the line that the parent prints at the end [character].
    pub string_length: u64,
    /// Reads and writes in an interaction, rounded to a whole number.
    pub operations: Distribution,
    /// Bytes per read or write [byte].
    pub operation_bytes: Distribution,
    /// Share of these operations that are writes.
    pub write_share: f64,
    /// Share of these operations at a random place of the file instead of the end of the previous one.
    pub seek_share: f64,
    /// Unit of random places in the file [byte].
    pub seek_unit: u64,
    /// Length of each prototype's file [block].
    pub file_blocks: u64,
    /// Children: cycles per child.
    pub cycles: u64,
    /// Children: processor time in user mode per cycle [s].
    pub cycle_time: Span,
    /// Children: block reads per cycle.
    pub reads: u64,
    /// Children: order of the blocks that a child reads: random; sequential, from the first block of the file on, over
    /// and over; or a list of block numbers that is read over and over; of several lists, each child has one.
    pub read_order: Value,
    /// Children: processor time in system mode per read [s].
    pub read_time: f64,
    /// Children: length of the shared file, or of each file [block].
    pub shared_file_blocks: u64,
    /// Children: places of the files on their drive, which are dealt to the children in turn: for each its first
    /// block, or the list of all its blocks, each block of addresses before those that it addresses; cylinder: one
    /// file, from `file_cylinder` on.
    pub shared_file_places: Value,
    /// Children: pause after the reads of a cycle, in ticks of the one-second clock [s].
    pub cycle_pause: Span,
}
