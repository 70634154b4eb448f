//! What the parameters mean together: a checked configuration.

use std::sync::Arc;

use serde_json::Value;
use thinktime_engine::{Distribution, Span, Streams};

use super::disks::Disks;
use super::files::{Layout, space};
use super::parameters::{COMPUTE_LOOPS, ITERATIONS};
use super::process::{Process, Role};
use super::swapper::{Text, blocks};
use super::terminal::Line;
use super::workload::{Birth, Child, Program, Prototype, Step};
use crate::parameter::{ParameterError, Settings};

/// A checked configuration.
#[derive(Clone, Debug)]
pub(super) struct Config {
    /// Memory for users [click].
    pub memory: u64,
    pub buffers: u32,
    pub read_ahead: bool,
    /// Whether a block that is written to its end is written to the disk at once.
    pub writes_at_once: bool,
    pub address_blocks: bool,
    pub other_inodes: usize,
    pub layout: Layout,
    pub old_sleep: bool,
    /// Seconds that a process has been out before it drives out one that does not wait, and that one has been in.
    pub minimum_out: u8,
    pub minimum_in: u8,
    pub costs: Costs,
    pub line: Line,
    pub disks: Disks,
    /// A swapper that balances, and the processes at work that are enough for it, up to so many seconds.
    pub balanced: bool,
    pub enough: u64,
    pub patience: u8,
    /// With paging: length of a page [click]; 0 with swapping.
    pub page: u64,
    page_share: f64,
    page_modified: f64,
    /// Whether statistics begin when every worker has written to the terminal.
    pub settles: bool,
    speed: f64,
    workload: Workload,
    /// Length of each worker's image, its text left out [click].
    sizes: Vec<u64>,
    /// Pure text that the workers share [click].
    text: u64,
    /// Images of `init`, the shell, the parent of the workers, and `update`.
    system_sizes: [u64; 4],
    update_interval: Span,
}

/// Processor time that the kernel takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub call: Span,
    /// Of a block that is read or written by a process.
    pub block: Span,
    /// Of an interrupt of a disk.
    pub interrupt: Span,
    copied_click: Span,
    character: Span,
}

impl Costs {
    /// Of printing.
    pub fn print(&self, characters: u64) -> Span {
        Span(self.character.0 * characters)
    }

    /// Of copying an image in memory.
    pub fn copy(&self, clicks: u64) -> Span {
        Span(self.copied_click.0 * clicks)
    }
}

#[derive(Clone, Debug)]
enum Workload {
    Prototypes(Arc<Prototypes>),
    Children(Arc<Children>),
}

/// What a prototype process asks for.
#[derive(Clone, Debug)]
pub(super) struct Prototypes {
    pub interactions: u64,
    pub compute: Distribution,
    /// Reads and writes in an interaction.
    pub operations: Distribution,
    /// Bytes of each.
    pub bytes: Distribution,
    pub write_share: f64,
    pub seek_share: f64,
    /// Seeks go to multiples of this [byte].
    pub seek_unit: u64,
    pub file_blocks: u64,
    pub pause: Distribution,
    /// Strings printed in an interaction, and their length.
    pub strings: Distribution,
    pub characters: u64,
}

/// Pages of an image, how many of them an interaction touches, and the part of these that it modifies.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageUse {
    pub pages: u64,
    pub touched: u64,
    pub modified: f64,
}

/// What a child of the simple workload asks for.
#[derive(Clone, Debug)]
pub(super) struct Children {
    pub cycles: u64,
    pub compute: Span,
    pub reads: u64,
    pub file_blocks: u64,
    pub pause: Span,
}

impl Config {
    pub fn read(settings: &Settings) -> Result<Config, ParameterError> {
        let speed = settings.number("cpu_speed");
        let scaled = |name: &str| Span::from_seconds(settings.number(name) / speed);
        let children = settings.word("workload") == "children";
        let workload = if children {
            Workload::Children(Arc::new(Children::read(settings)))
        } else {
            Workload::Prototypes(Arc::new(Prototypes::read(settings)?))
        };
        let text = settings.integer("text");
        let mut config = Config {
            memory: settings.integer("memory"),
            buffers: settings.integer("buffers") as u32,
            read_ahead: settings.flag("read_ahead"),
            writes_at_once: settings.word("full_block_writes") == "at_once",
            address_blocks: settings.flag("address_blocks"),
            other_inodes: settings.integer("other_inodes") as usize,
            layout: match settings.word("file_layout") {
                // The one file of the children lies in one piece, and takes what it takes.
                _ if children => Layout::Contiguous,
                "contiguous" => Layout::Contiguous,
                "scattered" => Layout::Scattered,
                _ => Layout::Spaced { places: settings.integer("file_places") },
            },
            old_sleep: settings.word("sleep") == "old",
            minimum_out: settings.integer("minimum_time_out") as u8,
            minimum_in: settings.integer("minimum_time_in") as u8,
            costs: Costs {
                call: scaled("call_time"),
                block: scaled(if children { "read_time" } else { "block_time" }),
                interrupt: scaled("interrupt_time"),
                copied_click: scaled("copy_time"),
                character: scaled("character_time"),
            },
            line: Line {
                // A character takes ten bits on the line.
                character: Span::from_seconds(10.0 / settings.number("baud")),
                high_water: settings.integer("high_water"),
                low_water: settings.integer("low_water"),
            },
            disks: Disks::read(settings)?,
            balanced: settings.word("swapper") == "balanced",
            enough: settings.integer("enough"),
            patience: settings.integer("patience") as u8,
            page: if settings.word("memory_management") == "paging" {
                settings.integer("page_size")
            } else {
                0
            },
            page_share: settings.number("page_share"),
            page_modified: settings.number("page_modified"),
            settles: !children && settings.flag("settle"),
            speed,
            workload,
            sizes: sizes(settings, text)?,
            text,
            system_sizes: ["init_size", "shell_size", "parent_size", "update_size"]
                .map(|name| settings.integer(name)),
            update_interval: settings.span("update_interval"),
        };
        if children {
            config.disks.file_span = space(config.files().1, config.address_blocks);
        }
        config.check(settings)?;
        Ok(config)
    }

    fn check(&self, settings: &Settings) -> Result<(), ParameterError> {
        if settings.integer("low_water") > settings.integer("high_water") {
            return Err(settings.refuse("low_water", "give a low water mark that is not above the high one"));
        }
        let largest = self.sizes.iter().copied().max().unwrap_or(0) + self.text;
        let first: u64 = self.system_sizes.iter().sum();
        if largest > self.memory {
            let remedy = format!(
                "give at least the {largest} clicks of the largest process, its text included: no process can \
                 run that does not fit into memory"
            );
            return Err(settings.refuse("memory", &remedy));
        }
        if self.page > 0 && self.text > 0 {
            return Err(settings.refuse("text", "give 0 with paging, where images share nothing"));
        }
        if self.page > 0 && self.frames() <= u64::from(self.workers()) {
            let remedy =
                format!("give pages of which memory holds more than the {} processes", self.workers());
            return Err(settings.refuse("page_size", &remedy));
        }
        if first > self.memory {
            let remedy =
                format!("give at least the {first} clicks of init, the shell, the parent and update");
            return Err(settings.refuse("memory", &remedy));
        }
        let workers = self.sizes.iter().map(|size| blocks((*size).max(self.parent_size())));
        let system = self.system_sizes.iter().map(|size| blocks(*size));
        let needed: u64 = workers.chain(system).sum::<u64>() + blocks(self.text);
        if needed > self.disks.swap_blocks {
            let remedy = format!("give at least the {needed} blocks that all images take together");
            return Err(settings.refuse("swap_blocks", &remedy));
        }
        let (count, blocks) = self.files();
        let places = if let Layout::Spaced { places } = self.layout { places.max(count) } else { count };
        self.disks.check(settings, places * space(blocks, self.address_blocks))
    }

    /// Processor time of a program on this processor.
    pub fn scaled(&self, time: Span) -> Span {
        if self.speed == 1.0 { time } else { Span::from_nanoseconds(time.0 as f64 / self.speed) }
    }

    /// Frames of memory, with paging.
    pub fn frames(&self) -> u64 {
        self.memory.checked_div(self.page).unwrap_or(0)
    }

    fn page_use(&self, size: u64) -> PageUse {
        let pages = if self.page == 0 { 0 } else { size.div_ceil(self.page) };
        let touched = (pages as f64 * self.page_share).round() as u64;
        PageUse { pages, touched, modified: self.page_modified }
    }

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
            Workload::Children(plan) => (1, plan.file_blocks),
        }
    }

    /// The shared text, if there is one: it lies at the beginning of the swap area.
    pub fn texts(&self) -> Vec<Text> {
        let text = Text { size: self.text, swap: None, memory: None, users: 0, loaded: 0 };
        if self.text > 0 { vec![text] } else { Vec::new() }
    }

    /// The process table when the system is up: swapper, `init`, shell, `update`, and the parent of the workers.
    pub fn first_processes(&self, streams: &Streams) -> Vec<Process> {
        const INIT: usize = 1;
        const SHELL: usize = 2;
        let [init, shell, _, update_size] = self.system_sizes;
        let waiter = || Program::script([Step::Wait]);
        let update = Program::Update { interval: self.update_interval, synced: false };
        let mut swapper = Process::new(Role::System, 0, 0, Program::script([]));
        swapper.mode = super::process::Mode::System;
        let mut update = Process::new(Role::System, INIT, update_size, update);
        (swapper.locked, update.locked) = (true, update_size == 0);
        let parent = Process::new(Role::System, SHELL, self.parent_size(), self.parent(streams));
        let init = Process::new(Role::System, 0, init, waiter());
        let shell = Process::new(Role::System, INIT, shell, waiter());
        vec![swapper, init, shell, update, parent]
    }

    fn parent(&self, streams: &Streams) -> Program {
        let births = self.sizes.iter().enumerate().map(|(number, size)| {
            let number = number as u32;
            let text = (self.text > 0).then_some(0);
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
        Program::script(births.chain(waits))
    }
}

/// Length of each worker's image without its text: one for all, or a list that is dealt to them in turn.
fn sizes(settings: &Settings, text: u64) -> Result<Vec<u64>, ParameterError> {
    let value = settings.value("size");
    let dealt: Option<Vec<u64>> = match value {
        Value::Array(list) => list.iter().map(Value::as_u64).collect(),
        one => one.as_u64().map(|size| vec![size]),
    };
    let allowed =
        |sizes: &Vec<u64>| !sizes.is_empty() && sizes.iter().all(|size| (1..=LARGEST).contains(size));
    let Some(dealt) = dealt.filter(allowed) else {
        let remedy =
            format!("give clicks from 1 to {LARGEST}, or a list of them that is dealt to the processes");
        return Err(settings.refuse("size", &remedy));
    };
    if let Some(small) = dealt.iter().find(|size| **size <= text) {
        let remedy = format!("give a text that is shorter than the smallest process, {small} clicks");
        return Err(settings.refuse("text", &remedy));
    }
    let processes = settings.integer("processes") as usize;
    Ok(dealt.iter().cycle().take(processes).map(|size| size - text).collect())
}

/// The longest image that the simulation takes; the PDP-11 itself addresses 1024 clicks, twice that with separate
/// instructions and data [click].
const LARGEST: u64 = 1 << 20;

impl Children {
    fn read(settings: &Settings) -> Children {
        Children {
            cycles: settings.integer("cycles"),
            compute: settings.span("cycle_time"),
            reads: settings.integer("reads"),
            file_blocks: settings.integer("shared_file_blocks"),
            pause: settings.span("cycle_pause"),
        }
    }
}

impl Prototypes {
    fn read(settings: &Settings) -> Result<Prototypes, ParameterError> {
        let compute = match settings.value("compute") {
            Value::String(word) if word == "table" => {
                let pc = settings.integer("pc");
                let Some((_, shares)) = COMPUTE_LOOPS.iter().find(|(known, _)| *known == pc) else {
                    let known = COMPUTE_LOOPS.map(|(pc, _)| pc.to_string()).join(", ");
                    return Err(settings.refuse("pc", &format!("give one of {known} ms, or compute")));
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
            settings.refuse("compute", &format!("{}: {}; {}", error.given, error.problem, error.allowed))
        })?;
        Ok(Prototypes {
            interactions: settings.integer("interactions"),
            compute,
            operations: settings.distribution("operations").clone(),
            bytes: settings.distribution("operation_bytes").clone(),
            write_share: settings.number("write_share"),
            seek_share: settings.number("seek_share"),
            seek_unit: settings.integer("seek_unit"),
            file_blocks: settings.integer("file_blocks"),
            pause: settings.distribution("pause").clone(),
            strings: settings.distribution("strings").clone(),
            characters: settings.integer("string_length"),
        })
    }
}
