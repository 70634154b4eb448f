//! The checked configuration: values derived from the parameters together.

use std::sync::Arc;

use serde_json::Value;
use thinktime_engine::{Component, Distribution, Span, Streams};

use super::disks::Disks;
use super::files::{FilePlace, FilesPlan, Layout, space};
use super::machine::TURN_S;
use super::paging::FramesPlan;
use super::parameters::{
    FileLayout, FullBlockWrites, MemoryManagement, Parameters, SleepResolution, SwapperRule, WorkloadName,
};
use super::process::{INIT, Process, Text};
use super::states::{Mode, Role};
use super::terminal::Line;
use super::units::blocks;
use super::workload::{Birth, Child, Children, PageUse, Program, Prototype, Prototypes, ReadOrder, Step};
use crate::kernel::{ParameterError, Settings, refuse};

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Memory for users [click].
    pub memory: u64,
    /// Block buffers of 512 bytes.
    pub buffers: u32,
    /// Whether the next block of a file that is read in sequence is read in advance.
    pub read_ahead: bool,
    /// Whether a block that is written to its end is written to the disk at once.
    pub writes_at_once: bool,
    /// Whether files of more than eight blocks have blocks of addresses.
    pub address_blocks: bool,
    /// I-nodes in use in addition to those of the files.
    pub other_inodes: usize,
    /// Places of the files on their drive.
    pub layout: Layout,
    /// Whether an alarm wakes all sleepers, of whom those not yet due sleep again.
    pub shared_alarm: bool,
    /// Time out of memory after which a process displaces one that does not wait for something slow [s].
    pub minimum_out: u8,
    /// Time in memory before which such a process is not displaced [s].
    pub minimum_in: u8,
    /// Processor time that the kernel takes.
    pub costs: Costs,
    /// The terminal line.
    pub line: Line,
    /// The drives, and the places of swap area and files.
    pub disks: Disks,
    /// Whether the swapper balances instead of following Sixth Edition.
    pub balanced: bool,
    /// Balancing: active processes in memory that are enough.
    pub target_ready: u64,
    /// Balancing: time out of memory after which a process comes in regardless [s].
    pub balance_wait: u8,
    /// With paging: length of a page [click]; 0 with swapping.
    pub page: u64,
    /// With paging: share of its image that a process touches in an interaction.
    page_share: f64,
    /// With paging: share of the touched pages that are modified.
    page_modified: f64,
    /// Whether statistics begin when every worker has written to the terminal.
    pub warm_up_on_output: bool,
    /// Speed of the processor relative to the one that processor times are given for.
    pub speed: f64,
    /// Demands of the workers.
    pub workload: Workload,
    /// Length of each worker's image, its text left out [click].
    sizes: Vec<u64>,
    /// Pure texts of `init`, the shell and the workers [click].
    texts: [u64; 3],
    /// Images of `init`, the shell, the parent of the workers, and `update` [click].
    system_sizes: [u64; 4],
    /// Time between two runs of `/etc/update`.
    pub update_interval: Span,
    /// Characters that the parent of the workers prints at the end.
    report: u64,
    /// Time of the clock at the start, if it is not drawn.
    phase: Option<f64>,
}

/// Processor time that the kernel takes, on this processor.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    /// Of a system call, without moving blocks.
    pub call: Span,
    /// Of a block that is read or written by a process.
    pub block: Span,
    /// Of an interrupt of a disk.
    pub interrupt: Span,
    /// Of a search for the next process, outside all processes.
    pub search: Span,
    /// Of the swapper, for a swap.
    pub swap: Span,
    /// Of copying one click in memory.
    copied_click: Span,
    /// Of one printed character.
    character: Span,
}

impl Costs {
    fn new(parameters: &Parameters, settings: &Settings) -> Result<Costs, ParameterError> {
        // Processor times are given for the processor of speed 1; the terminal and the disks do not get faster.
        let scaled = |seconds: f64| Span::from_seconds(seconds / parameters.cpu_speed);
        let children = parameters.workload == WorkloadName::Children;
        // A prototype's times are those of all that the kernel does for it; a child's are those that the kernel counts
        // as its own.
        let (blocked, swap) =
            if children { (CHILD_BLOCKED_READ_S, CHILD_SWAP_S) } else { (0.0, parameters.call_time) };
        let search_s = parameters.blocked_read_time.or(blocked) / SEARCHES_OF_A_READ;
        let swapper_s = parameters.swap_work_time.or(swap) - SEARCHES_OF_A_SWAP * search_s;
        if swapper_s < 0.0 {
            let least = SEARCHES_OF_A_SWAP * search_s;
            let remedy = format!("give at least the {least:.6} s of the two searches of blocked_read_time");
            return Err(refuse!(settings, parameters.swap_work_time, &remedy));
        }
        Ok(Costs {
            call: scaled(parameters.call_time),
            block: scaled(if children { parameters.read_time } else { parameters.block_time }),
            interrupt: scaled(parameters.interrupt_time),
            search: scaled(search_s),
            swap: scaled(swapper_s),
            copied_click: scaled(parameters.copy_time),
            character: scaled(parameters.character_time),
        })
    }

    /// Processor time of printing.
    pub fn print(&self, characters: u64) -> Span {
        self.character.times(characters)
    }

    /// Processor time of copying an image in memory.
    pub fn copy(&self, clicks: u64) -> Span {
        self.copied_click.times(clicks)
    }
}

/// Searches for the next process of a read that waits: when it begins to wait, when it is woken, and when its process
/// returns to user mode with a lower priority than it was chosen with.
const SEARCHES_OF_A_READ: f64 = 3.0;
/// Searches of a swap: when the swapper begins to wait for it, and when it is woken.
const SEARCHES_OF_A_SWAP: f64 = 2.0;
/// Processor time outside processes of a read that waits, and of a swap, as measured with Sixth Edition's kernel on an
/// emulated PDP-11: what `workload` means for children [s].
const CHILD_BLOCKED_READ_S: f64 = 0.00275;
const CHILD_SWAP_S: f64 = 0.007;

/// Demands of the workers.
#[derive(Clone, Debug)]
pub(super) enum Workload {
    Prototypes(Arc<Prototypes>),
    Children(Arc<Children>),
}

impl Config {
    pub fn new(parameters: &Parameters, settings: &Settings) -> Result<Config, ParameterError> {
        let children = parameters.workload == WorkloadName::Children;
        let workload = if children {
            Workload::Children(Arc::new(Children::new(parameters, settings)?))
        } else {
            Workload::Prototypes(Arc::new(Prototypes::new(parameters, settings)?))
        };
        let mut config = Config {
            memory: parameters.memory,
            buffers: parameters.buffers as u32,
            read_ahead: parameters.read_ahead,
            writes_at_once: parameters.full_block_writes == FullBlockWrites::AtOnce,
            address_blocks: parameters.address_blocks,
            other_inodes: parameters.other_inodes as usize,
            layout: layout(parameters, settings)?,
            shared_alarm: parameters.sleep_resolution == SleepResolution::Shared,
            minimum_out: parameters.minimum_time_out as u8,
            minimum_in: parameters.minimum_time_in as u8,
            costs: Costs::new(parameters, settings)?,
            line: Line {
                // A character takes ten bits on the line.
                character: Span::from_seconds(10.0 / parameters.baud as f64),
                high_water: parameters.high_water,
                low_water: parameters.low_water,
            },
            disks: Disks::new(parameters, swap_start(parameters, settings)?),
            balanced: parameters.swapper == SwapperRule::Balanced,
            target_ready: parameters.target_ready,
            balance_wait: parameters.balance_wait as u8,
            page: if parameters.memory_management == MemoryManagement::Paging {
                parameters.page_size
            } else {
                0
            },
            page_share: parameters.page_share,
            page_modified: parameters.page_modified,
            // Children print nothing: their statistics begin at time zero.
            warm_up_on_output: !children && parameters.warm_up_on_output,
            speed: parameters.cpu_speed,
            workload,
            sizes: sizes(parameters, settings)?,
            texts: [parameters.init_text, parameters.shell_text, parameters.text],
            system_sizes: [
                parameters.init_size,
                parameters.shell_size,
                parameters.parent_size,
                parameters.update_size,
            ],
            update_interval: parameters.update_interval,
            report: parameters.string_length,
            phase: parameters.clock_phase.given(),
        };
        if config.layout == Layout::Contiguous && children {
            // One file: the span of the prototypes' files means nothing.
            config.disks.file_span = space(config.files().1, config.address_blocks);
        }
        config.check(parameters, settings)?;
        Ok(config)
    }

    /// Refuses configurations that cannot run: images that do not fit, areas that overlap.
    fn check(&self, parameters: &Parameters, settings: &Settings) -> Result<(), ParameterError> {
        if parameters.low_water > parameters.high_water {
            return Err(refuse!(
                settings,
                parameters.low_water,
                "give a low water mark that is not above the high one"
            ));
        }
        // An image and its text must be in memory together, or its process could never run.
        let text = self.texts[WORKERS_TEXT];
        let largest = self.sizes.iter().copied().max().unwrap_or(0) + text;
        let first = self.system_sizes.iter().chain(&self.texts[..WORKERS_TEXT]).sum::<u64>();
        if largest > self.memory {
            let remedy = format!(
                "give at least the {largest} clicks of the largest process, its text included: no process can \
                 run that does not fit into memory"
            );
            return Err(refuse!(settings, parameters.memory, &remedy));
        }
        if self.page > 0 {
            let remedy = "give 0 with paging, where images share nothing";
            if parameters.text > 0 {
                return Err(refuse!(settings, parameters.text, remedy));
            }
            if parameters.init_text > 0 {
                return Err(refuse!(settings, parameters.init_text, remedy));
            }
            if parameters.shell_text > 0 {
                return Err(refuse!(settings, parameters.shell_text, remedy));
            }
        }
        if self.page > 0 && self.frames() <= u64::from(self.workers()) {
            let remedy =
                format!("give pages of which memory holds more than the {} processes", self.workers());
            return Err(refuse!(settings, parameters.page_size, &remedy));
        }
        if first > self.memory {
            let remedy = format!(
                "give at least the {first} clicks of init, the shell, the parent and update, texts included"
            );
            return Err(refuse!(settings, parameters.memory, &remedy));
        }
        // Before it grows a worker is a copy of its parent: the larger of the two may be in the swap area.
        let workers = self.sizes.iter().map(|size| blocks((*size).max(self.parent_size())));
        let system = self.system_sizes.iter().map(|size| blocks(*size));
        let texts = self.texts.iter().map(|size| blocks(*size));
        let needed: u64 = workers.chain(system).chain(texts).sum();
        if needed > self.disks.swap_blocks {
            let remedy = format!("give at least the {needed} blocks that all images take together");
            return Err(refuse!(settings, parameters.swap_blocks, &remedy));
        }
        let (count, blocks) = self.files();
        if let Layout::Given(places) = &self.layout {
            return self.disks.check_places(parameters, settings, places, space(blocks, self.address_blocks));
        }
        let places = if let Layout::Spaced { places } = self.layout { places.max(count) } else { count };
        self.disks.check(parameters, settings, places * space(blocks, self.address_blocks))
    }

    /// Processor time of a program on this processor.
    pub fn scaled(&self, time: Span) -> Span {
        // Unscaled times keep their nanoseconds: no rounding through floating point.
        if self.speed == 1.0 { time } else { Span::from_nanoseconds(time.0 as f64 / self.speed) }
    }

    /// The files, and how their blocks are buffered.
    pub fn files_plan(&self) -> FilesPlan {
        let (files, blocks) = self.files();
        FilesPlan {
            files,
            blocks,
            address_blocks: self.address_blocks,
            layout: self.layout.clone(),
            other_inodes: self.other_inodes,
            drive: self.disks.file_drive,
            start: self.disks.file_start,
            span: self.disks.file_span,
            swap_drive: self.disks.swap_drive,
            swap_start: self.disks.swap_start,
            buffers: self.buffers,
            read_ahead: self.read_ahead,
        }
    }

    /// The frames, with paging, and how pages are transferred.
    pub fn frames_plan(&self) -> FramesPlan {
        FramesPlan {
            frames: self.frames(),
            page_blocks: blocks(self.page),
            drive: self.disks.swap_drive,
            start: self.disks.swap_start,
            // The buffers come first, then the swapper.
            first_customer: self.buffers + 1,
        }
    }

    /// Frames of memory, with paging.
    pub fn frames(&self) -> u64 {
        self.memory.checked_div(self.page).unwrap_or(0)
    }

    /// Use of an image of `size` clicks, with paging.
    fn page_use(&self, size: u64) -> PageUse {
        let pages = if self.page == 0 { 0 } else { size.div_ceil(self.page) };
        let touched = (pages as f64 * self.page_share).round() as u64;
        PageUse { pages, touched, modified: self.page_modified }
    }

    /// Length of all images of the workers [click].
    pub fn images(&self) -> u64 {
        self.sizes.iter().sum()
    }

    /// Number of prototypes or children.
    pub fn workers(&self) -> u32 {
        self.sizes.len() as u32
    }

    /// The parent of the children is one of their images.
    fn parent_size(&self) -> u64 {
        match &self.workload {
            Workload::Prototypes(_) => self.system_sizes[2],
            Workload::Children(_) => self.sizes[0],
        }
    }

    /// Number of files, and length of each [block].
    pub fn files(&self) -> (u64, u64) {
        match &self.workload {
            Workload::Prototypes(plan) => (self.sizes.len() as u64, plan.file_blocks),
            Workload::Children(plan) => (plan.files, plan.file_blocks),
        }
    }

    /// The text table: [`INIT_TEXT`], [`SHELL_TEXT`] and [`WORKERS_TEXT`], of which nobody uses one without length.
    pub fn texts(&self) -> Vec<Text> {
        let text = |size| Text { size, swap: None, memory: None, users: 0, loaded: 0 };
        self.texts.map(text).into()
    }

    /// The number of a text, if it has any length.
    fn text(&self, number: usize) -> Option<usize> {
        (self.texts[number] > 0).then_some(number)
    }

    /// Time of the clock at the start.
    pub fn clock_phase(&self, streams: &Streams) -> Span {
        // A stream of its own: another phase changes no other draw of the run.
        let drawn = || TURN_S as f64 * streams.stream(Component("clock"), 0).uniform();
        Span::from_seconds(self.phase.unwrap_or_else(drawn))
    }

    /// The process table when the system is up: swapper, `init`, shell, `update`, and the parent of the workers.
    pub fn first_processes(&self, streams: &Streams) -> Vec<Process> {
        const SHELL: usize = 2;
        let [init, shell, _, update_size] = self.system_sizes;
        let update = Program::Update { interval: self.update_interval, synced: false };
        let mut swapper = Process::new(Role::System, 0, 0, Program::script([]));
        swapper.mode = Mode::System;
        let mut update = Process::new(Role::System, INIT, update_size, update);
        // Without an image of its own `update` cannot be swapped: it counts as part of the kernel.
        (swapper.locked, update.locked) = (true, update_size == 0);
        let parent = Process::new(Role::System, SHELL, self.parent_size(), self.parent(streams));
        let mut init = Process::new(Role::System, 0, init, Program::Init);
        let mut shell = Process::new(Role::System, INIT, shell, Program::script([Step::Wait]));
        (init.text, shell.text) = (self.text(INIT_TEXT), self.text(SHELL_TEXT));
        vec![swapper, init, shell, update, parent]
    }

    /// The program of the parent: it forks every worker, waits for all of them, and prints how long that took.
    fn parent(&self, streams: &Streams) -> Program {
        // All workers are forked before the parent waits for any, so that they run at the same time.
        let births = self.sizes.iter().enumerate().map(|(number, size)| {
            let number = number as u32;
            let text = self.text(WORKERS_TEXT);
            // A fork copies the parent, so that only another length or a text needs an `exec`.
            let grows = *size != self.parent_size() || text.is_some();
            let first = grows.then_some(Step::Grow { to: *size, text });
            let pages = self.page_use(*size);
            let program = match &self.workload {
                Workload::Prototypes(plan) => {
                    let plan = Arc::clone(plan);
                    Program::Prototype(Box::new(Prototype::new(plan, number, first, pages, streams)))
                }
                Workload::Children(plan) => {
                    let plan = Arc::clone(plan);
                    Program::Child(Box::new(Child::new(plan, number, first, pages, streams)))
                }
            };
            Step::Fork(Box::new(Birth { role: Role::Worker(number), program }))
        });
        let waits = self.sizes.iter().map(|_| Step::Wait);
        Program::script(births.chain(waits).chain([Step::Print(self.report), Step::Finish]))
    }
}

/// Places of the files for the workload.
fn layout(parameters: &Parameters, settings: &Settings) -> Result<Layout, ParameterError> {
    if parameters.workload == WorkloadName::Children {
        let places = file_places(parameters, settings)?;
        // A single file lies in one piece, and takes what it takes.
        return Ok(if places.is_empty() { Layout::Contiguous } else { Layout::Given(places) });
    }
    Ok(match parameters.file_layout {
        FileLayout::Contiguous => Layout::Contiguous,
        FileLayout::Scattered => Layout::Scattered,
        FileLayout::Spaced => Layout::Spaced { places: parameters.file_places },
    })
}

/// Places of the children's files; none for the one file that has no place of its own.
fn file_places(parameters: &Parameters, settings: &Settings) -> Result<Vec<FilePlace>, ParameterError> {
    let place = |given: &Value| match given {
        Value::Array(list) => list.iter().map(Value::as_u64).collect::<Option<_>>().map(FilePlace::Blocks),
        first => first.as_u64().map(FilePlace::From),
    };
    let places = match &parameters.shared_file_places {
        Value::String(word) if word == "cylinder" => Some(Vec::new()),
        Value::Array(list) if !list.is_empty() => list.iter().map(place).collect(),
        _ => None,
    };
    places.ok_or_else(|| {
        let remedy = "give cylinder, or a list with the first block or the list of all blocks of each file";
        refuse!(settings, parameters.shared_file_places, remedy)
    })
}

/// First block of the swap area, if it is not that of a cylinder.
fn swap_start(parameters: &Parameters, settings: &Settings) -> Result<Option<u64>, ParameterError> {
    match &parameters.swap_start {
        Value::String(word) if word == "cylinder" => Ok(None),
        given => match given.as_u64().filter(|block| *block <= FARTHEST) {
            Some(block) => Ok(Some(block)),
            None => Err(refuse!(
                settings,
                parameters.swap_start,
                &format!("give the number of a block from 0 to {FARTHEST}, or cylinder")
            )),
        },
    }
}

/// Order of the blocks that children read.
fn read_order(parameters: &Parameters, settings: &Settings) -> Result<ReadOrder, ParameterError> {
    let blocks = parameters.shared_file_blocks;
    let list = |given: &Value| -> Option<Vec<u64>> {
        let numbers = given.as_array()?.iter().map(|n| n.as_u64().filter(|block| *block < blocks));
        numbers.collect::<Option<Vec<u64>>>().filter(|list| !list.is_empty())
    };
    let order = match &parameters.read_order {
        Value::String(word) if word == "random" => Some(ReadOrder::Random),
        Value::String(word) if word == "sequential" => Some(ReadOrder::Sequential),
        given => match given.as_array() {
            Some(lists) if lists.first().is_some_and(Value::is_array) => {
                lists.iter().map(list).collect::<Option<_>>().map(ReadOrder::Listed)
            }
            _ => list(given).map(|list| ReadOrder::Listed(vec![list])),
        },
    };
    order.ok_or_else(|| {
        let remedy = format!(
            "give random, sequential, or lists of block numbers from 0 to {}",
            blocks.saturating_sub(1)
        );
        refuse!(settings, parameters.read_order, &remedy)
    })
}

/// Length of each worker's image without its text: one for all, or a list that is dealt to them in turn.
fn sizes(parameters: &Parameters, settings: &Settings) -> Result<Vec<u64>, ParameterError> {
    let (value, text) = (&parameters.size, parameters.text);
    let dealt: Option<Vec<u64>> = match value {
        Value::Array(list) => list.iter().map(Value::as_u64).collect(),
        one => one.as_u64().map(|size| vec![size]),
    };
    let allowed =
        |sizes: &Vec<u64>| !sizes.is_empty() && sizes.iter().all(|size| (1..=LARGEST).contains(size));
    let Some(dealt) = dealt.filter(allowed) else {
        let remedy =
            format!("give clicks from 1 to {LARGEST}, or a list of them that is dealt to the processes");
        return Err(refuse!(settings, parameters.size, &remedy));
    };
    if let Some(small) = dealt.iter().find(|size| **size <= text) {
        let remedy = format!("give a text that is shorter than the smallest process, {small} clicks");
        return Err(refuse!(settings, parameters.text, &remedy));
    }
    let processes = parameters.processes as usize;
    Ok(dealt.iter().cycle().take(processes).map(|size| size - text).collect())
}

/// Places in the text table.
const INIT_TEXT: usize = 0;
const SHELL_TEXT: usize = 1;
const WORKERS_TEXT: usize = 2;

/// The highest number of a block that may be given: no drive has more.
const FARTHEST: u64 = 10_000_000_000;

/// The longest image that the simulation takes; the PDP-11 itself addresses 1024 clicks, twice that with separate
/// instructions and data [click].
const LARGEST: u64 = 1 << 20;

/// Iterations of the compute loop, and the probability of each, by the mean burst PC [ms] (Table III, whose columns
/// are cumulative).
const ITERATIONS: [u64; 4] = [5, 20, 200, 5000];
const COMPUTE_LOOPS: [(u64, [f64; 4]); 5] = [
    (12, [0.03, 0.33, 0.64, 0.0]),
    (30, [0.01, 0.18, 0.78, 0.03]),
    (60, [0.01, 0.04, 0.85, 0.10]),
    (186, [0.01, 0.04, 0.52, 0.43]),
    (354, [0.01, 0.04, 0.10, 0.85]),
];

impl Children {
    fn new(parameters: &Parameters, settings: &Settings) -> Result<Children, ParameterError> {
        Ok(Children {
            cycles: parameters.cycles,
            compute: parameters.cycle_time,
            reads: parameters.reads,
            files: file_places(parameters, settings)?.len().max(1) as u64,
            file_blocks: parameters.shared_file_blocks,
            order: read_order(parameters, settings)?,
            pause: parameters.cycle_pause,
        })
    }
}

impl Prototypes {
    fn new(parameters: &Parameters, settings: &Settings) -> Result<Prototypes, ParameterError> {
        let compute = match &parameters.compute {
            Value::String(word) if word == "table" => {
                let pc = parameters.pc;
                let Some((_, shares)) = COMPUTE_LOOPS.iter().find(|(row, _)| *row == pc) else {
                    let rows = COMPUTE_LOOPS.map(|(pc, _)| pc.to_string()).join(", ");
                    return Err(refuse!(
                        settings,
                        parameters.pc,
                        &format!("give one of {rows} ms, or compute")
                    ));
                };
                // Table III's means are a little off PC, by what its per cents are rounded.
                let mean: f64 = ITERATIONS.iter().zip(shares).map(|(n, share)| *n as f64 * share).sum();
                let iteration_s = pc as f64 * 1e-3 / mean;
                let values: Vec<f64> = ITERATIONS.iter().map(|n| *n as f64 * iteration_s).collect();
                let drawn = serde_json::json!({"kind": "discrete", "values": values, "weights": shares});
                Distribution::parse(&drawn)
            }
            given => Distribution::parse(given),
        };
        let compute = compute.map_err(|error| {
            refuse!(
                settings,
                parameters.compute,
                &format!("{}: {}; {}", error.given, error.problem, error.allowed)
            )
        })?;
        Ok(Prototypes {
            interactions: parameters.interactions,
            compute,
            operations: parameters.operations.clone(),
            bytes: parameters.operation_bytes.clone(),
            write_share: parameters.write_share,
            seek_share: parameters.seek_share,
            seek_unit: parameters.seek_unit,
            file_blocks: parameters.file_blocks,
            pause: parameters.pause.clone(),
            strings: parameters.strings.clone(),
            characters: parameters.string_length,
        })
    }
}
