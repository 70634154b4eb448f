//! Swaps as the swapper carries them out, piece by piece between its sleeps (`sched`, `xswap` in `slp.c`, `swap` in
//! `bio.c`), and the text table (`text.c`).

use thinktime_engine::controller::Ask;
use thinktime_engine::{Calendar, Time};

use super::machine::Machine;
use super::meters::Direction;
use super::process::SWAPPER;
use super::states::{Channel, Flow, Role, Status, priority};
use super::swapper::{self, Image, State, SwapBuffer};
use super::units::{CLICK_BYTES, blocks};
use crate::kernel::Monitor;

impl<M: Monitor> Machine<'_, M> {
    /// The swapper goes on.
    pub fn swap_processes(&mut self, calendar: &mut Calendar) -> Flow {
        loop {
            let flow = match self.swapper.state {
                State::Looking => self.look(calendar.now()),
                State::LoadingText { text, place, then } => self.load_text(text, place, then, calendar),
                State::Loading(image) => self.load(image, calendar),
                State::Driving(image) => self.drive_out(image, calendar),
            };
            if let Some(flow) = flow {
                return flow;
            }
        }
    }

    /// One turn of `sched`: bring in who has been out longest, or drive somebody out for it, or sleep.
    fn look(&mut self, now: Time) -> Option<Flow> {
        let longest_out = swapper::candidate(&self.processes);
        let Some((candidate, place)) = longest_out.and_then(|p| Some((p, self.processes[p].swap?))) else {
            self.swapper.nobody_out = true;
            return Some(Flow::Sleep(Channel::NobodyOut, priority::SWAP));
        };
        // Before anybody is driven out: room may have come from an exit since the last look.
        if self.make_room(candidate, now) {
            // Its memory is taken already: nobody may displace it on its way in.
            self.processes[candidate].locked = true;
            let then = Image { process: candidate, place };
            let absent = self.processes[candidate].text.filter(|text| self.texts[*text].loaded == 0);
            self.swapper.state = match absent.and_then(|text| Some((text, self.texts[text].swap?))) {
                Some((text, place)) => State::LoadingText { text, place, then },
                None => State::Loading(then),
            };
            self.event(now, "swap_in_start", candidate, None);
            return Some(Flow::Compute(self.config.costs.swap));
        }
        let victim = swapper::victim(self.config, &self.processes, candidate);
        let place = victim.and_then(|v| self.swap_area.take(now, blocks(self.processes[v].size)));
        if let (Some(victim), Some(place)) = (victim, place) {
            let driven = &mut self.processes[victim];
            // Not loaded from now on, so that it is given no processor while its image is written.
            (driven.loaded, driven.locked) = (false, true);
            // Whether there is room then is found by looking again: another process may have taken it
            // meanwhile.
            self.swapper.state = State::Driving(Image { process: victim, place });
            self.event(now, "swap_out_start", victim, None);
            return Some(Flow::Compute(self.config.costs.swap));
        }
        self.swapper.no_victim = true;
        Some(Flow::Sleep(Channel::NoVictim, priority::SWAP))
    }

    /// Memory for the image of `p`, and before it for its text if that is not there: one piece for both.
    fn make_room(&mut self, p: usize, now: Time) -> bool {
        let absent = self.processes[p].text.filter(|text| self.texts[*text].loaded == 0);
        let text_size = absent.map_or(0, |text| self.texts[text].size);
        let Some(place) = self.memory.take(now, text_size + self.processes[p].size) else { return false };
        // Divided afterwards, since each leaves by itself.
        let image = absent.and_then(|text| {
            self.texts[text].memory = Some(place);
            self.memory.split(place, text_size)
        });
        self.processes[p].memory = Some(image.unwrap_or(place));
        true
    }

    fn load_text(&mut self, text: usize, place: u64, then: Image, calendar: &mut Calendar) -> Option<Flow> {
        let flow = self.swap(SWAPPER, place, self.texts[text].size, calendar);
        if flow.is_none() {
            self.meters.totals.counts.text_loads += 1;
            self.swapper.state = State::Loading(then);
        }
        flow
    }

    fn load(&mut self, Image { process: p, place }: Image, calendar: &mut Calendar) -> Option<Flow> {
        let size = self.processes[p].size;
        let flow = self.swap(SWAPPER, place, size, calendar);
        if flow.is_none() {
            let now = calendar.now();
            self.swap_area.release(now, place);
            // Sixth Edition keeps no copy in the swap area: an image that leaves again is written again,
            // changed or not.
            let loaded = &mut self.processes[p];
            (loaded.swap, loaded.loaded, loaded.locked, loaded.resident) = (None, true, false, 0);
            let out = now.since(loaded.ready_out_since);
            if let Some(text) = loaded.text {
                self.texts[text].loaded += 1;
            }
            self.meters.waits.record(out);
            self.meters.swapped(size, Direction::In);
            self.count_loaded(p, true, now);
            self.event(now, "swap_in_end", p, None);
            self.swapper.state = State::Looking;
        }
        flow
    }

    fn drive_out(&mut self, Image { process: p, place }: Image, calendar: &mut Calendar) -> Option<Flow> {
        let size = self.processes[p].size;
        let flow = self.swap(SWAPPER, place, size, calendar);
        if flow.is_none() {
            self.swapped_out(p, place, calendar.now());
            self.event(calendar.now(), "swap_out_end", p, None);
            self.swapper.state = State::Looking;
        }
        flow
    }

    /// The image of `p` is in the swap area, at `place`, and not in memory any more.
    pub fn swapped_out(&mut self, p: usize, place: u64, now: Time) {
        // Freed only now that the image is written: the disk reads from it during the transfer.
        if let Some(memory) = self.processes[p].memory.take() {
            self.memory.release(now, memory);
        }
        let out = &mut self.processes[p];
        (out.swap, out.loaded, out.locked, out.resident) = (Some(place), false, false, 0);
        self.leave_text(p, false, now);
        if self.processes[p].status == Status::Ready {
            // It may have become ready during the transfer; its wait for memory counts from here.
            self.processes[p].ready_out_since = now;
        }
        self.meters.swapped(self.processes[p].size, Direction::Out);
        self.count_loaded(p, false, now);
        self.wake_swapper(now);
    }

    /// Somebody is out, perhaps ready: the swapper looks again, if it sleeps because nobody was.
    pub fn wake_swapper(&mut self, now: Time) {
        if std::mem::take(&mut self.swapper.nobody_out) {
            self.wake(Channel::NobodyOut, now);
        }
    }

    /// `p` shares `text` from now on, which is loaded if `p` is.
    pub fn join_text(&mut self, p: usize, text: Option<usize>, loaded: bool) {
        if let Some(text) = text {
            self.processes[p].text = Some(text);
            let shared = &mut self.texts[text];
            shared.users += 1;
            shared.loaded += u32::from(loaded);
        }
    }

    /// The place of `text` in the swap area, which is found when it is first used.
    pub fn place_text(&mut self, text: usize, now: Time) -> Option<u64> {
        let shared = &mut self.texts[text];
        if shared.swap.is_none() {
            shared.swap = self.swap_area.take(now, blocks(shared.size));
        }
        shared.swap
    }

    /// `p` leaves memory, or for good: a text that nobody in memory shares is dropped (`xccdec`, `xfree`).
    pub fn leave_text(&mut self, p: usize, for_good: bool, now: Time) {
        let Some(text) = self.processes[p].text else { return };
        let shared = &mut self.texts[text];
        shared.users -= u32::from(for_good);
        shared.loaded = shared.loaded.saturating_sub(1);
        if shared.loaded == 0 {
            if let Some(place) = shared.memory.take() {
                self.memory.release(now, place);
            }
        }
    }

    /// `swap`: one transfer between memory and the swap area, through the one buffer there is. Called again when
    /// woken, until it has nothing to wait for.
    pub fn swap(&mut self, by: usize, place: u64, clicks: u64, calendar: &mut Calendar) -> Option<Flow> {
        match self.swapper.buffer {
            Some(SwapBuffer { by: owner, done: true, .. }) if owner == by => {
                self.swapper.buffer = None;
                self.wake(Channel::SwapBuffer, calendar.now());
                return None;
            }
            // The buffer is another's, or its transfer is still under way: both wait on the same channel.
            Some(_) => {}
            None => {
                self.swapper.buffer = Some(SwapBuffer { by, clicks, done: false });
                let disks = &self.config.disks;
                let ask = Ask {
                    // The controller knows the swapper by the number after those of the buffers.
                    customer: self.config.buffers,
                    drive: disks.swap_drive,
                    block: disks.swap_start + place,
                    blocks: blocks(clicks),
                };
                self.disks.arrive(ask, calendar);
            }
        }
        Some(Flow::Sleep(Channel::SwapBuffer, priority::SWAP))
    }

    /// Bytes of the transfer in progress.
    pub fn swap_bytes(&self) -> u64 {
        self.swapper.buffer.map_or(0, |buffer| buffer.clicks * CLICK_BYTES)
    }

    /// Whether a worker is in memory changes.
    fn count_loaded(&mut self, p: usize, loaded: bool, now: Time) {
        if self.processes[p].role != Role::System {
            let level = &mut self.meters.loaded;
            if loaded { level.add(now, 1) } else { level.subtract(now, 1) }
        }
    }

    /// The transfer of the swap buffer is done.
    pub fn swap_ends(&mut self, now: Time) {
        if let Some(buffer) = &mut self.swapper.buffer {
            buffer.done = true;
        }
        self.wake(Channel::SwapBuffer, now);
    }
}
