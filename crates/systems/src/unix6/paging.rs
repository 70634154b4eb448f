//! Paging instead of swapping, which Sixth Edition does not do: what the same machine would be if its memory were
//! given out in pages on demand.
//!
//! An image lies in the swap area in whole; a page that is touched and not in memory is read from there, into a
//! free frame or that of the page, whoever's it is, that was touched least recently. If that one was modified it is
//! written first. Nobody is swapped.

use std::collections::BTreeMap;

use thinktime_engine::controller::Ask;
use thinktime_engine::{Calendar, LawViolation, Laws, Time};

use super::calls::Flow;
use super::machine::Machine;
use super::process::{Channel, priority};
use super::swapper::blocks;
use crate::kernel::Monitor;

/// A page of a process.
type Page = (usize, u64);

/// A page that a process touches, and whether it is modified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    pub page: u64,
    pub modifies: bool,
}

/// How far a process is with the page that it touches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Fault {
    #[default]
    None,
    /// A modified page is written, to make room.
    Writing,
    Reading,
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The order of its last use; none while a transfer is in progress.
    used: Option<u64>,
    modified: bool,
}

/// The frames of memory.
#[derive(Debug)]
pub(super) struct Frames {
    frames: u64,
    /// Pages in memory, or on their way.
    pages: BTreeMap<Page, Frame>,
    /// Those that may give way, the least recently used first.
    order: BTreeMap<u64, Page>,
    uses: u64,
}

impl Frames {
    pub fn new(frames: u64) -> Frames {
        Frames { frames, pages: BTreeMap::new(), order: BTreeMap::new(), uses: 0 }
    }

    /// Touches `page` if it is there.
    fn touch(&mut self, page: Page, modifies: bool) -> bool {
        let Some(frame) = self.pages.get_mut(&page) else { return false };
        if let Some(used) = frame.used {
            self.order.remove(&used);
        }
        self.uses += 1;
        *frame = Frame { used: Some(self.uses), modified: frame.modified || modifies };
        self.order.insert(self.uses, page);
        true
    }

    /// Makes room: true if there is a free frame, or the page that gave way and whether it has to be written.
    fn make_room(&mut self) -> Room {
        if (self.pages.len() as u64) < self.frames {
            return Room::Free;
        }
        let Some((_, page)) = self.order.pop_first() else { return Room::None };
        match self.pages.remove(&page) {
            Some(frame) if frame.modified => Room::Modified(page),
            _ => Room::Free,
        }
    }

    /// `page` takes a frame, which a transfer then fills.
    fn expect(&mut self, page: Page) {
        self.pages.insert(page, Frame { used: None, modified: false });
    }

    /// The pages of process `p` are gone.
    pub fn leave(&mut self, p: usize) {
        let gone: Vec<Page> = self.pages.range((p, 0)..(p + 1, 0)).map(|(page, _)| *page).collect();
        for page in gone {
            if let Some(used) = self.pages.remove(&page).and_then(|frame| frame.used) {
                self.order.remove(&used);
            }
        }
    }

    pub fn check(&self, laws: &mut Laws) -> Result<(), LawViolation> {
        let law = "conservation of memory";
        laws.equal(law, "frames", self.pages.len() as u64 <= self.frames, true)?;
        let known = self.order.iter().filter(|(used, page)| self.pages[*page].used == Some(**used)).count();
        laws.equal(law, "pages by their use", known, self.order.len())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Free,
    Modified(Page),
    None,
}

impl<M: Monitor> Machine<'_, M> {
    /// The current process touches pages, one after another; those that are not there are read.
    pub fn touch(
        &mut self,
        p: usize,
        left: &mut Vec<Touch>,
        fault: &mut Fault,
        calendar: &mut Calendar,
    ) -> Flow {
        while let Some(Touch { page, modifies }) = left.last().copied() {
            match *fault {
                Fault::Reading => *fault = Fault::None,
                Fault::Writing => {
                    self.wake(Channel::FreeFrame, calendar.now());
                    return self.read_page(p, page, fault, calendar);
                }
                Fault::None if !self.frames.pages.contains_key(&(p, page)) => {
                    self.meters.totals.counts.page_faults += 1;
                    match self.frames.make_room() {
                        Room::Free => return self.read_page(p, page, fault, calendar),
                        Room::Modified(old) => {
                            *fault = Fault::Writing;
                            // The frame is taken, so that nobody else finds it free meanwhile.
                            self.frames.expect((p, page));
                            self.meters.totals.counts.page_outs += 1;
                            return self.transfer_page(p, old, calendar);
                        }
                        Room::None => {
                            self.meters.totals.counts.page_faults -= 1;
                            return Flow::Sleep(Channel::FreeFrame, priority::BLOCK);
                        }
                    }
                }
                Fault::None => {}
            }
            self.frames.touch((p, page), modifies);
            left.pop();
        }
        Flow::Done
    }

    fn read_page(&mut self, p: usize, page: u64, fault: &mut Fault, calendar: &mut Calendar) -> Flow {
        *fault = Fault::Reading;
        self.frames.expect((p, page));
        self.transfer_page(p, (p, page), calendar)
    }

    /// Reads or writes one page, for process `p`, which waits.
    fn transfer_page(&mut self, p: usize, (owner, page): Page, calendar: &mut Calendar) -> Flow {
        let disks = &self.config.disks;
        let length = blocks(self.config.page);
        let home = self.processes[owner].swap.unwrap_or(0);
        let ask = Ask {
            customer: self.config.buffers + 1 + p as u32,
            drive: disks.swap_drive,
            block: disks.swap_start + home + page * length,
            blocks: length,
        };
        self.disks.arrive(ask, calendar);
        Flow::Sleep(Channel::Page(p), priority::SWAP)
    }

    /// A page that process `p` waited for has been read or written.
    pub fn page_ends(&mut self, p: usize, now: Time) {
        self.wake(Channel::Page(p), now);
        self.wake(Channel::FreeFrame, now);
    }
}
