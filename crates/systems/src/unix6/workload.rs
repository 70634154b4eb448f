//! Programs of processes: the prototype of an interactive user, the simple child, and those that serve them.

use std::collections::VecDeque;
use std::sync::Arc;

use thinktime_engine::{Component, Distribution, Span, Stream, Streams};

use super::states::Role;
use super::units::BLOCK_BYTES;

/// Demands of a prototype process.
#[derive(Clone, Debug)]
pub(super) struct Prototypes {
    /// Interactions of each prototype.
    pub interactions: u64,
    /// Processor time of a compute loop on the processor that times are given for.
    pub compute: Distribution,
    /// Reads and writes in an interaction.
    pub operations: Distribution,
    /// Bytes of each [byte].
    pub bytes: Distribution,
    /// Share of the operations that are writes.
    pub write_share: f64,
    /// Share of the operations at a random place.
    pub seek_share: f64,
    /// Seeks go to multiples of this [byte].
    pub seek_unit: u64,
    /// Length of each prototype's file [block].
    pub file_blocks: u64,
    /// Pause before an interaction.
    pub pause: Distribution,
    /// Strings printed in an interaction.
    pub strings: Distribution,
    /// Length of a string [character].
    pub characters: u64,
}

/// Use of an image with paging.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageUse {
    /// Pages of the image.
    pub pages: u64,
    /// Pages that an interaction touches.
    pub touched: u64,
    /// Share of the touched pages that are modified.
    pub modified: f64,
}

/// Demands of a child of the simple workload.
#[derive(Clone, Debug)]
pub(super) struct Children {
    /// Cycles of each child.
    pub cycles: u64,
    /// Processor time in user mode per cycle.
    pub compute: Span,
    /// Block reads per cycle.
    pub reads: u64,
    /// Files, which are dealt to the children in turn.
    pub files: u64,
    /// Length of a file [block].
    pub file_blocks: u64,
    /// Order of the blocks that a child reads.
    pub order: ReadOrder,
    /// Pause after the reads of a cycle.
    pub pause: Span,
}

/// Order of the blocks of its file that a child reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadOrder {
    /// Each at random.
    Random,
    /// One after another from the first, which follows the last.
    Sequential,
    /// Those of a list, over and over; the lists are dealt to the children in turn.
    Listed(Vec<Vec<u64>>),
}

/// One page that a process touches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    /// Number of the page in the image.
    pub page: u64,
    /// Whether it is modified.
    pub modifies: bool,
}

/// A read or write of part of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    /// Index of the file.
    pub file: usize,
    /// First byte [byte].
    pub offset: u64,
    /// Length [byte].
    pub bytes: u64,
    /// True for a write.
    pub write: bool,
}

/// The next thing that a process does.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Processor time in user mode.
    Compute(Span),
    /// A read or write.
    Transfer(Access),
    /// With paging: pages of its image.
    Touch(Vec<Touch>),
    /// Characters to the terminal.
    Print(u64),
    /// `sleep`, in its old or new form: the end of an interaction.
    Pause(Span),
    /// Makes a process of its own image, with another program.
    Fork(Box<Birth>),
    /// Gives the image the length `to` [click], and perhaps a text: `exec`, `break`.
    Grow {
        to: u64,
        text: Option<usize>,
    },
    /// Until a child has exited.
    Wait,
    /// `sync`: all delayed writes begin.
    Sync,
    Exit,
    /// The parent of the workers has printed: the run ends.
    Finish,
}

/// A process to be made by a fork.
#[derive(Clone, Debug)]
pub(super) struct Birth {
    /// Its part in the workload.
    pub role: Role,
    /// Its program.
    pub program: Program,
}

/// Source of the steps of a process.
#[derive(Clone, Debug)]
pub(super) enum Program {
    /// These steps in order; then it exits.
    Script(VecDeque<Step>),
    /// `/etc/init`: waits for one process after another.
    Init,
    /// `/etc/update`.
    Update {
        interval: Span,
        synced: bool,
    },
    Prototype(Box<Prototype>),
    Child(Box<Child>),
}

impl Program {
    /// A program of these steps.
    pub fn script(steps: impl IntoIterator<Item = Step>) -> Program {
        Program::Script(steps.into_iter().collect())
    }

    pub fn next(&mut self) -> Step {
        match self {
            Program::Script(steps) => steps.pop_front().unwrap_or(Step::Exit),
            Program::Init => Step::Wait,
            Program::Update { interval, synced } => {
                // The first step is a sync, as `update` begins with one and sleeps after it.
                *synced = !*synced;
                if *synced { Step::Sync } else { Step::Pause(*interval) }
            }
            Program::Prototype(prototype) => prototype.next(),
            Program::Child(child) => child.next(),
        }
    }
}

/// A whole number from a distribution of numbers.
fn whole(of: &Distribution, stream: &mut Stream) -> u64 {
    of.sample(stream).seconds().round() as u64
}

/// The prototype process: a synthetic interactive user (section 4.2).
#[derive(Clone, Debug)]
pub(super) struct Prototype {
    plan: Arc<Prototypes>,
    file: usize,
    /// Interactions that are still to come.
    left: u64,
    /// What it does before its first interaction.
    first: Option<Step>,
    interaction: Interaction,
    pages: Pages,
    /// Where the next read or write begins [byte].
    position: u64,
    compute: Stream,
    files: Stream,
    pause: Stream,
    output: Stream,
}

impl Prototype {
    /// One that does its `first` step before all others.
    pub fn new(
        plan: Arc<Prototypes>,
        number: u32,
        first: Option<Step>,
        pages: PageUse,
        streams: &Streams,
    ) -> Prototype {
        let stream = |name| streams.stream(Component(name), u64::from(number));
        Prototype {
            left: plan.interactions,
            plan,
            // Each has a file of its own.
            file: number as usize,
            pages: Pages::new(pages, number, streams),
            first,
            interaction: Interaction::default(),
            position: 0,
            compute: stream("compute"),
            files: stream("files"),
            pause: stream("pause"),
            output: stream("output"),
        }
    }

    fn next(&mut self) -> Step {
        if let Some(first) = self.first.take() {
            return first;
        }
        let plan = Arc::clone(&self.plan);
        loop {
            match self.interaction.next() {
                Some(Part::Touch(touches)) => return Step::Touch(touches),
                Some(Part::Compute) => return Step::Compute(plan.compute.sample(&mut self.compute)),
                Some(Part::Transfer) => return Step::Transfer(self.plan_transfer(&plan)),
                Some(Part::Pause) => return Step::Pause(plan.pause.sample(&mut self.pause)),
                Some(Part::Print) => return Step::Print(plan.characters),
                None if self.left == 0 => return Step::Exit,
                None => {
                    self.left -= 1;
                    let operations = whole(&plan.operations, &mut self.files);
                    let strings = whole(&plan.strings, &mut self.output);
                    self.interaction = Interaction::new(operations, strings, &mut self.pages);
                }
            }
        }
    }

    /// Draws one read or write.
    fn plan_transfer(&mut self, plan: &Prototypes) -> Access {
        let size = plan.file_blocks * BLOCK_BYTES;
        let bytes = whole(&plan.bytes, &mut self.files).clamp(1, size);
        // The file does not grow: an operation that would reach over its end goes to a random place instead.
        if self.files.uniform() < plan.seek_share || self.position + bytes > size {
            // Only places at which the whole operation lies within the file.
            let places = (size - bytes) / plan.seek_unit + 1;
            self.position = self.files.below(places) * plan.seek_unit;
        }
        let offset = self.position;
        self.position += bytes;
        let write = self.files.uniform() < plan.write_share;
        Access { file: self.file, offset, bytes, write }
    }
}

/// A child of the simple workload: cycles of processor time, reads and a pause.
#[derive(Clone, Debug)]
pub(super) struct Child {
    plan: Arc<Children>,
    /// Its place among the children.
    number: u64,
    /// Blocks that it has read.
    read: u64,
    /// Cycles that are still to come.
    left: u64,
    /// What it does before its first cycle.
    first: Option<Step>,
    cycle: Interaction,
    pages: Pages,
    stream: Stream,
}

impl Child {
    /// One that does its `first` step before all others.
    pub fn new(
        plan: Arc<Children>,
        number: u32,
        first: Option<Step>,
        pages: PageUse,
        streams: &Streams,
    ) -> Child {
        let stream = streams.stream(Component("reads"), u64::from(number));
        let pages = Pages::new(pages, number, streams);
        let cycle = Interaction::default();
        Child { number: u64::from(number), read: 0, left: plan.cycles, plan, first, cycle, pages, stream }
    }

    fn next(&mut self) -> Step {
        if let Some(first) = self.first.take() {
            return first;
        }
        loop {
            match self.cycle.next() {
                Some(Part::Touch(touches)) => return Step::Touch(touches),
                Some(Part::Compute) => return Step::Compute(self.plan.compute),
                Some(Part::Transfer) => {
                    return Step::Transfer(Access {
                        file: (self.number % self.plan.files) as usize,
                        offset: self.next_block() * BLOCK_BYTES,
                        bytes: BLOCK_BYTES,
                        write: false,
                    });
                }
                Some(Part::Pause | Part::Print) => return Step::Pause(self.plan.pause),
                None if self.left == 0 => return Step::Exit,
                None => {
                    self.left -= 1;
                    self.cycle = Interaction::new(self.plan.reads, 0, &mut self.pages);
                }
            }
        }
    }

    /// Number of the block of its file that it reads next.
    fn next_block(&mut self) -> u64 {
        let read = self.read;
        self.read += 1;
        match &self.plan.order {
            ReadOrder::Random => self.stream.below(self.plan.file_blocks),
            ReadOrder::Sequential => read % self.plan.file_blocks,
            ReadOrder::Listed(lists) => {
                let list = &lists[(self.number % lists.len() as u64) as usize];
                list[(read % list.len() as u64) as usize]
            }
        }
    }
}

/// A part of an interaction, whose demand the worker draws.
#[derive(Clone, Debug)]
enum Part {
    Touch(Vec<Touch>),
    Compute,
    Transfer,
    Pause,
    Print,
}

/// What is left of an interaction: its computing, its reads and writes, the pause, then its output.
// Counted, and not planned as a list: an interaction of any length takes no memory.
#[derive(Clone, Debug, Default)]
struct Interaction {
    /// Pages that are touched before the computing and before each read or write, in even parts.
    touches: VecDeque<Touch>,
    /// Length of such a part.
    part: usize,
    /// Whether the part before the next step has been touched.
    touched: bool,
    computes: bool,
    operations: u64,
    pauses: bool,
    strings: u64,
}

impl Interaction {
    fn new(operations: u64, strings: u64, pages: &mut Pages) -> Interaction {
        let touches = pages.touched();
        // Spread over the steps: faults come between computing and transfers, not all at the start.
        let part = (touches.len() as u64).div_ceil(operations.saturating_add(1)) as usize;
        Interaction { touches, part, touched: false, computes: true, operations, pauses: true, strings }
    }

    fn next(&mut self) -> Option<Part> {
        if !self.touched && !self.touches.is_empty() && (self.computes || self.operations > 0) {
            self.touched = true;
            let part = self.part.min(self.touches.len());
            return Some(Part::Touch(self.touches.drain(..part).collect()));
        }
        self.touched = false;
        if std::mem::take(&mut self.computes) {
            return Some(Part::Compute);
        }
        if self.operations > 0 {
            self.operations -= 1;
            return Some(Part::Transfer);
        }
        if std::mem::take(&mut self.pauses) {
            return Some(Part::Pause);
        }
        self.strings = self.strings.checked_sub(1)?;
        Some(Part::Print)
    }
}

impl Program {
    /// True if another interaction follows the one that ends.
    pub fn continues(&self) -> bool {
        match self {
            Program::Prototype(prototype) => prototype.left > 0,
            Program::Child(child) => child.left > 0,
            _ => false,
        }
    }
}

/// Random choice of the pages that a process touches.
#[derive(Clone, Debug)]
struct Pages {
    plan: PageUse,
    stream: Stream,
}

impl Pages {
    fn new(plan: PageUse, number: u32, streams: &Streams) -> Pages {
        Pages { plan, stream: streams.stream(Component("pages"), u64::from(number)) }
    }

    /// Pages that an interaction touches: a random part of the image.
    fn touched(&mut self) -> VecDeque<Touch> {
        let PageUse { pages, touched, modified } = self.plan;
        if touched == 0 {
            return VecDeque::new();
        }
        let mut all: Vec<u64> = (0..pages).collect();
        (0..touched)
            .map(|_| {
                let page = all.swap_remove(self.stream.below(all.len() as u64) as usize);
                Touch { page, modifies: self.stream.uniform() < modified }
            })
            .collect()
    }
}
