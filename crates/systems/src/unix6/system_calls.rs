//! System calls as the kernel carries them out, piece by piece between the sleeps of their process.

use thinktime_engine::cache::Contents;
use thinktime_engine::{Calendar, Span, Time};

use super::calls::{Call, Copying, Exiting, Fault, Stage, Syncing, Transfer, Waiting};
use super::disks::Io;
use super::files::{self, Files, Got};
use super::machine::Machine;
use super::meters::Direction;
use super::process::{INIT, Process};
use super::states::{Channel, Flow, Mode, Role, Status, priority};
use super::units::{BLOCK_BYTES, blocks};
use super::workload::Birth;
use crate::kernel::Monitor;

/// Sixth Edition panics; here the process tries again at the next second of the clock.
const WITHOUT_SWAP_SPACE: Flow = Flow::Sleep(Channel::NextSecond, priority::PAUSE);

impl<M: Monitor> Machine<'_, M> {
    /// The current process `p` goes on in its system call.
    pub fn call(&mut self, p: usize, calendar: &mut Calendar) -> Flow {
        // Taken out and put back, also when it is done: `run` clears it, and the machine can be borrowed
        // meanwhile.
        let Some(mut call) = self.processes[p].call.take() else { return Flow::Done };
        let flow = match &mut call {
            Call::Transfer(transfer) => self.transfer(transfer, calendar),
            Call::Print { left, charged } => self.print(p, left, charged, calendar),
            Call::Pause { seconds, begun } => self.pause(p, *seconds, begun, calendar.now()),
            Call::Fork { birth, stage } => self.fork(p, birth, stage, calendar),
            Call::Grow { to, text, stage } => self.grow(p, *to, *text, stage, calendar),
            Call::Born => Flow::Done,
            Call::Exit(stage) => self.exit(p, stage, calendar),
            Call::Wait(stage) => self.wait_for_child(p, stage, calendar),
            Call::Sync { inode, stage } => self.sync(inode, stage, calendar),
            Call::Touch { left, fault } => {
                // The frame of the page that was written is this process's; others may have been waiting for
                // any.
                if *fault == Fault::Writing {
                    self.wake(Channel::FreeFrame, calendar.now());
                }
                let io = &mut Io { disks: &mut self.disks, counts: &mut self.meters.totals.counts, calendar };
                self.frames.touch_all(p, left, fault, &self.processes, io)
            }
        };
        self.processes[p].call = Some(call);
        flow
    }

    /// `readi` and `writei`: moves the bytes of a transfer, block by block.
    fn transfer(&mut self, transfer: &mut Transfer, calendar: &mut Calendar) -> Flow {
        while transfer.bytes > 0 {
            let (file, block) = (transfer.file, transfer.block());
            match transfer.stage {
                // For every block anew: the block of addresses may have lost its buffer since.
                Stage::Map => match self.files.map_block(file, block) {
                    None => transfer.stage = Stage::Data,
                    Some(map) => match self.get_block(map, true, calendar) {
                        Got::Held(buffer) => transfer.stage = Stage::Mapping(buffer),
                        Got::Reading(buffer) => {
                            transfer.stage = Stage::Mapping(buffer);
                            return Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK);
                        }
                        Got::Wait(flow) => return flow,
                    },
                },
                Stage::Mapping(buffer) => {
                    self.release(buffer, Contents::Unchanged, calendar.now());
                    // Released before the data block is asked for: two processes that each held one and
                    // waited for the other's would wait for ever.
                    transfer.stage = Stage::Data;
                }
                Stage::Data => {
                    // A partial block is read before it is written to.
                    let fill = !transfer.write || transfer.here() < BLOCK_BYTES;
                    let got = self.get_block(self.files.data_block(file, block), fill, calendar);
                    if let Got::Wait(flow) = got {
                        return flow;
                    }
                    if !transfer.write {
                        // Before the process sleeps: the second read stands in the disk's queue behind the
                        // first.
                        self.read_ahead(file, block, calendar);
                    }
                    match got {
                        Got::Reading(buffer) => {
                            transfer.stage = Stage::Reading(buffer);
                            return Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK);
                        }
                        Got::Held(buffer) => transfer.stage = Stage::Moving(buffer),
                        Got::Wait(flow) => return flow,
                    }
                    return Flow::Compute(self.config.costs.block);
                }
                Stage::Reading(buffer) => {
                    transfer.stage = Stage::Moving(buffer);
                    return Flow::Compute(self.config.costs.block);
                }
                Stage::Moving(buffer) => {
                    let moved = transfer.here();
                    transfer.offset += moved;
                    transfer.bytes -= moved;
                    transfer.stage = Stage::Map;
                    self.files.used(file, block);
                    let ends = transfer.offset % BLOCK_BYTES == 0;
                    if transfer.write && ends && self.config.writes_at_once {
                        // Nobody comes back to a block that was written to its end (`bawrite` in `writei`).
                        let place = self.files.data_block(file, block);
                        self.write_block(buffer, place, true, calendar);
                    } else {
                        let contents = if transfer.write { Contents::Delayed } else { Contents::Unchanged };
                        self.release(buffer, contents, calendar.now());
                    }
                }
            }
        }
        Flow::Done
    }

    /// Characters go to the terminal's output queue; above the high water mark the writer sleeps (`ttwrite`).
    fn print(&mut self, p: usize, left: &mut u64, charged: &mut bool, calendar: &mut Calendar) -> Flow {
        let now = calendar.now();
        // Processor time for all characters once, at the beginning: a writer that sleeps pays nothing more.
        if !std::mem::replace(charged, true) {
            return Flow::Compute(self.config.costs.print(*left));
        }
        if let Some(interaction) = &mut self.processes[p].interaction {
            interaction.first_output.get_or_insert(now);
        }
        // The terminal takes as many as fit below its mark; the rest is tried again when it has run down.
        let put = self.terminal.put(*left, now);
        *left -= put;
        self.meters.totals.counts.characters_out += put;
        self.has_written(p, now);
        if *left > 0 {
            self.terminal.wake_writers(calendar);
            return Flow::Sleep(Channel::Terminal, priority::OUTPUT);
        }
        Flow::Done
    }

    /// Sleeps until the clock has shown so many more seconds. The old form wakes all sleepers when the first is
    /// due, who then sleep again (`sslep`).
    fn pause(&mut self, p: usize, seconds: u64, begun: &mut bool, now: Time) -> Flow {
        let pausing = &mut self.processes[p];
        if !std::mem::replace(begun, true) {
            pausing.paused = now;
            pausing.alarm = (seconds > 0).then_some(self.seconds + seconds);
            if seconds == 0 {
                self.pause_ends(p, now);
            }
        }
        let Some(until) = self.processes[p].alarm else { return Flow::Done };
        if !self.config.shared_alarm {
            return Flow::Sleep(Channel::Alarm(p), priority::PAUSE);
        }
        // Only an earlier time is set, unless the old one is past.
        if self.time_out <= self.seconds || self.time_out > until {
            self.time_out = until;
        }
        Flow::Sleep(Channel::TimeOut, priority::PAUSE)
    }

    /// `wait`: until a child has exited, if there is any; the first such child of the table is removed from it, and its
    /// user structure read from the swap area.
    fn wait_for_child(&mut self, p: usize, stage: &mut Waiting, calendar: &mut Calendar) -> Flow {
        if let Waiting::Reading(child, buffer) = *stage {
            self.release(buffer, Contents::Unchanged, calendar.now());
            self.remove(child, calendar.now());
            return Flow::Done;
        }
        let is_child = |q: &Process| q.parent == p && q.status != Status::Gone;
        let ended = self.processes.iter().position(|q| is_child(q) && q.status == Status::Zombie);
        let Some(child) = ended else {
            let children = self.processes.iter().any(is_child);
            return if children { Flow::Sleep(Channel::Child(p), priority::WAIT) } else { Flow::Done };
        };
        if let Some(place) = self.processes[child].remains {
            // Through the block buffers: mostly the block that `exit` wrote is still there.
            match self.get_block(files::swap_block(place), true, calendar) {
                Got::Held(buffer) => self.release(buffer, Contents::Unchanged, calendar.now()),
                Got::Reading(buffer) => {
                    *stage = Waiting::Reading(child, buffer);
                    return Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK);
                }
                Got::Wait(flow) => return flow,
            }
        }
        self.remove(child, calendar.now());
        Flow::Done
    }

    /// The entry of `child`, which has exited, is free.
    fn remove(&mut self, child: usize, now: Time) {
        let gone = &mut self.processes[child];
        gone.status = Status::Gone;
        if let Some(place) = gone.remains.take() {
            self.swap_area.release(now, place);
        }
    }

    /// `newproc`: a copy in memory, else one in the swap area.
    fn fork(&mut self, p: usize, birth: &mut Birth, stage: &mut Copying, calendar: &mut Calendar) -> Flow {
        let (now, size) = (calendar.now(), self.processes[p].size);
        match *stage {
            // With paging an image lies in the swap area in whole; its pages come into memory as they are touched.
            Copying::Allocate if self.config.page > 0 => {
                let Some(place) = self.swap_area.take(now, blocks(size)) else {
                    return WITHOUT_SWAP_SPACE;
                };
                self.give_birth(p, birth, None, Some(place), now);
                Flow::Done
            }
            Copying::Allocate => {
                if let Some(place) = self.memory.take(now, size) {
                    self.give_birth(p, birth, Some(place), None, now);
                    *stage = Copying::Done;
                    return Flow::Compute(self.config.costs.copy(size));
                }
                match self.swap_area.take(now, blocks(size)) {
                    Some(place) => *stage = Copying::Out(place),
                    None => return WITHOUT_SWAP_SPACE,
                }
                self.processes[p].locked = true;
                // The swapper must not move the image while the call writes it.
                self.fork(p, birth, stage, calendar)
            }
            Copying::Out(place) => {
                if let Some(flow) = self.swap(p, place, size, calendar) {
                    return flow;
                }
                self.processes[p].locked = false;
                self.meters.swapped(size, Direction::Out);
                // The child begins its life out of memory: the swapper brings it in.
                self.give_birth(p, birth, None, Some(place), calendar.now());
                Flow::Done
            }
            Copying::Done => Flow::Done,
        }
    }

    /// Enters the child of `parent` into the process table, its image in memory or in the swap area.
    fn give_birth(
        &mut self,
        parent: usize,
        birth: &Birth,
        memory: Option<u64>,
        swap: Option<u64>,
        now: Time,
    ) {
        // The first free entry, whose priority and recent processor time stay as they were. Both are better than those
        // of any process in user mode: of a new entry, and of one whose process waited for the disk in its `exit`.
        let free = self.processes.iter().position(|q| q.status == Status::Gone);
        let left =
            free.map_or((priority::UNUSED, 0), |q| (self.processes[q].priority, self.processes[q].recent));
        let mut child = Process::new(birth.role, parent, self.processes[parent].size, birth.program.clone());
        (child.priority, child.recent) = left;
        (child.memory, child.swap) = (memory, swap);
        child.loaded = memory.is_some() || self.config.page > 0;
        if !child.loaded {
            // The copy was written in the name of the child, which slept for that.
            child.priority = priority::SWAP;
        }
        // Before it goes on in user mode it returns from `fork`.
        (child.mode, child.call) = (Mode::System, Some(Call::Born));
        child.text = self.processes[parent].text;
        child.ready_out_since = now;
        if let Some(text) = child.text {
            self.texts[text].users += 1;
            self.texts[text].loaded += u32::from(child.loaded);
        }
        if child.loaded && child.role != Role::System {
            self.meters.loaded.add(now, 1);
        }
        let out = !child.loaded;
        let p = free.unwrap_or(self.processes.len());
        if p < self.processes.len() {
            self.processes[p] = child;
        } else {
            self.processes.push(child);
        }
        // The first interaction begins with the process; nobody has thought before it.
        self.interaction_begins(p, Span::ZERO, now);
        if out {
            self.wake_swapper(now);
        }
    }

    /// `expand`, and the text of `exec`: another piece of memory, else out and in again with the new size.
    fn grow(
        &mut self,
        p: usize,
        to: u64,
        text: Option<usize>,
        stage: &mut Copying,
        calendar: &mut Calendar,
    ) -> Flow {
        let now = calendar.now();
        let size = self.processes[p].size;
        match *stage {
            // `text` is none here: with paging images share nothing, and `Config::check` refuses a text.
            Copying::Allocate if self.config.page > 0 => {
                let Some(place) = self.swap_area.take(now, blocks(to)) else {
                    return WITHOUT_SWAP_SPACE;
                };
                if let Some(old) = self.processes[p].swap.replace(place) {
                    self.swap_area.release(now, old);
                }
                self.frames.leave(p);
                // A new image has none of the old pages.
                self.processes[p].size = to;
                Flow::Done
            }
            Copying::Allocate => {
                if text.is_some_and(|text| self.place_text(text, now).is_none()) {
                    return WITHOUT_SWAP_SPACE;
                }
                // A text that nobody has loaded comes in with the process.
                let stays = text.is_none_or(|text| self.texts[text].loaded > 0);
                let place = if stays { self.memory.take(now, to) } else { None };
                if let Some(place) = place {
                    self.moved_to(p, place, to, text, now);
                    *stage = Copying::Done;
                    return Flow::Compute(self.config.costs.copy(size.min(to)));
                }
                match self.swap_area.take(now, blocks(size.max(to))) {
                    Some(place) => *stage = Copying::Out(place),
                    None => return WITHOUT_SWAP_SPACE,
                }
                self.processes[p].locked = true;
                self.grow(p, to, text, stage, calendar)
            }
            Copying::Out(place) => {
                if let Some(flow) = self.swap(p, place, size, calendar) {
                    return flow;
                }
                *stage = Copying::Done;
                self.swapped_out(p, place, calendar.now());
                // With the old size, by which memory and meters know it; only then the new one counts.
                self.processes[p].size = to;
                self.join_text(p, text, false);
                // Not asleep but ready and out: the swapper brings it back with its new size.
                Flow::Away
            }
            Copying::Done => Flow::Done,
        }
    }

    /// The image of `p` is at `place` in memory now, with a new length.
    fn moved_to(&mut self, p: usize, place: u64, size: u64, text: Option<usize>, now: Time) {
        if let Some(old) = self.processes[p].memory.replace(place) {
            self.memory.release(now, old);
        }
        self.processes[p].size = size;
        self.join_text(p, text, true);
    }

    /// `update`: i-nodes in use and the superblock, each written while the call waits; then every delayed write.
    fn sync(&mut self, inode: &mut usize, stage: &mut Syncing, calendar: &mut Calendar) -> Flow {
        while let Some(block) = self.files.to_write(inode) {
            match *stage {
                Syncing::Read => match self.get_block(block, Files::has_inodes(block), calendar) {
                    Got::Held(buffer) => *stage = Syncing::Held(buffer),
                    Got::Reading(buffer) => {
                        *stage = Syncing::Held(buffer);
                        return Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK);
                    }
                    Got::Wait(flow) => return flow,
                },
                Syncing::Held(buffer) => {
                    self.write_block(buffer, block, false, calendar);
                    *stage = Syncing::Written(buffer);
                    return Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK);
                }
                Syncing::Written(buffer) => {
                    self.release(buffer, Contents::Clean, calendar.now());
                    self.files.written(*inode);
                    *inode += 1;
                    *stage = Syncing::Read;
                }
            }
        }
        // Nobody waits for these: `update` goes back to sleep while the disk still works on them.
        for (buffer, block) in self.files.cache.flush() {
            self.write_block(buffer, block, true, calendar);
        }
        Flow::Done
    }

    /// `exit`: writes the user structure to a block of the swap area, for the parent, and waits for that.
    fn exit(&mut self, p: usize, stage: &mut Exiting, calendar: &mut Calendar) -> Flow {
        if self.config.page > 0 {
            // The image lies in the swap area, and its user structure with it.
            return self.end(p, None, calendar.now());
        }
        loop {
            match *stage {
                Exiting::Allocate => {
                    self.leave_text(p, true, calendar.now());
                    self.processes[p].text = None;
                    match self.swap_area.take(calendar.now(), 1) {
                        Some(place) => *stage = Exiting::Placed(place),
                        None => return WITHOUT_SWAP_SPACE,
                    }
                }
                Exiting::Placed(place) => {
                    let block = files::swap_block(place);
                    match self.get_block(block, false, calendar) {
                        Got::Held(buffer) | Got::Reading(buffer) => {
                            *stage = Exiting::Writing(place, buffer);
                            self.write_block(buffer, block, false, calendar);
                            return Flow::Sleep(Channel::Buffer(buffer.0), priority::BLOCK);
                        }
                        Got::Wait(flow) => return flow,
                    }
                }
                Exiting::Writing(place, buffer) => {
                    self.release(buffer, Contents::Clean, calendar.now());
                    return self.end(p, Some(place), calendar.now());
                }
            }
        }
    }

    /// The end of `exit`: memory is free again, parent and `init` are woken, and `init` inherits the children.
    fn end(&mut self, p: usize, remains: Option<u64>, now: Time) -> Flow {
        // One that exits in the middle of an interaction asks for no pause any more.
        self.interaction_ends(p, now);
        if let Some(place) = self.processes[p].memory.take() {
            self.memory.release(now, place);
        }
        if let Some(place) = self.processes[p].swap.take() {
            self.swap_area.release(now, place);
        }
        self.frames.leave(p);
        let ended = &mut self.processes[p];
        (ended.status, ended.remains, ended.loaded) = (Status::Zombie, remains, false);
        let (role, parent) = (ended.role, ended.parent);
        if role != Role::System {
            self.meters.loaded.subtract(now, 1);
        }
        // `init` too, whoever the parent is: if it is out of memory, the swapper brings it in to find nothing.
        self.wake(Channel::Child(INIT), now);
        self.wake(Channel::Child(parent), now);
        for q in &mut self.processes {
            if q.parent == p {
                q.parent = INIT;
            }
        }
        if let Role::Worker(_) = role {
            self.has_written(p, now);
        }
        Flow::Away
    }
}
