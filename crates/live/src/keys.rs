//! What the keys do.

use std::time::Instant;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::clock::{self, TIMES};
use crate::columns;
use crate::error::LiveError;
use crate::line::{Order, Sort};
use crate::listing::Panel;
use crate::state::{Motion, Overlay, State};

/// Longest part of a name that can be looked for [byte].
const FILTER_BYTES_MAX: usize = 64;
/// Lines that a page of the explanations is moved by.
const HELP_PAGE: isize = 12;
/// Factors at which a log is replayed.
const SPEEDS: [f64; 11] = [1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0];

impl State {
    /// Does what a key asks for; true if the view is to end.
    pub(crate) fn key(&mut self, key: KeyEvent) -> Result<bool, LiveError> {
        self.is_stale = true;
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        if control && matches!(key.code, KeyCode::Char('c' | 'C')) {
            return Ok(true);
        }
        if control {
            return Ok(false);
        }
        match std::mem::replace(&mut self.overlay, Overlay::None) {
            Overlay::Filter => self.key_of_filter(key.code).map(|()| false),
            Overlay::Time(typed) => self.key_of_prompt(key.code, typed).map(|()| false),
            Overlay::Help(line) => {
                let by = match key.code {
                    KeyCode::Down | KeyCode::Char('j') => Some(1),
                    KeyCode::Up | KeyCode::Char('k') => Some(-1),
                    KeyCode::PageDown | KeyCode::Char(' ') => Some(HELP_PAGE),
                    KeyCode::PageUp => Some(-HELP_PAGE),
                    // Any other key closes it, and q all of it.
                    _ => None,
                };
                if let Some(by) = by {
                    self.overlay = Overlay::Help(self.help_from(line, by));
                }
                Ok(key.code == KeyCode::Char('q'))
            }
            Overlay::None => self.key_of_view(key.code),
        }
    }

    /// Line from which the explanations are shown, `by` lines from `line`.
    pub(crate) fn help_from(&self, line: usize, by: isize) -> usize {
        line.min(self.help_last.get()).saturating_add_signed(by).min(self.help_last.get())
    }

    pub(crate) fn key_of_view(&mut self, code: KeyCode) -> Result<bool, LiveError> {
        self.notice = None;
        match code {
            KeyCode::Char('q') => return Ok(true),
            KeyCode::Char('?' | 'h') | KeyCode::F(1) => self.overlay = Overlay::Help(0),
            KeyCode::Char('t') => self.overlay = Overlay::Time(String::new()),
            KeyCode::Char(' ') => self.toggle(),
            KeyCode::Left => self.step(-1)?,
            KeyCode::Right => self.step(1)?,
            KeyCode::Char('[') => self.jump(-60)?,
            KeyCode::Char(']') => self.jump(60)?,
            KeyCode::Char('{') => self.jump(-3600)?,
            KeyCode::Char('}') => self.jump(3600)?,
            KeyCode::Home | KeyCode::Char('g') => {
                self.motion = Motion::Paused;
                let first = self.reel.first();
                self.go(first)?;
            }
            KeyCode::End | KeyCode::Char('G') => {
                self.motion = if self.ended { Motion::Paused } else { Motion::Following };
                let last = self.reel.last();
                self.go(last)?;
            }
            KeyCode::Char('+' | '=') => self.change_speed(1),
            KeyCode::Char('-') => self.change_speed(-1),
            KeyCode::Down | KeyCode::Char('j') => self.select(1)?,
            KeyCode::Up | KeyCode::Char('k') => self.select(-1)?,
            KeyCode::PageDown => self.select(self.page())?,
            KeyCode::PageUp => self.select(-self.page())?,
            KeyCode::Esc => self.back()?,
            KeyCode::Enter => self.enter()?,
            KeyCode::Tab => self.turn_to(self.panel.next(1))?,
            KeyCode::BackTab => self.turn_to(self.panel.next(-1))?,
            KeyCode::Char(digit @ '1'..='4') => self.turn_to(Panel::ALL[digit as usize - '1' as usize])?,
            KeyCode::Char('/') => self.overlay = Overlay::Filter,
            KeyCode::Char('<' | ',') => self.shift_order(-1)?,
            KeyCode::Char('>' | '.') => self.shift_order(1)?,
            KeyCode::Char('r') => {
                let order = &mut self.listing_mut(self.panel).order;
                order.is_reversed = !order.is_reversed;
                self.arrange()?;
            }
            KeyCode::Char('M') => self.has_mouse = !self.has_mouse,
            KeyCode::Char('p') => {
                self.people_only = !self.people_only;
                self.arrange()?;
            }
            KeyCode::Char(letter) => self.sort_by(letter)?,
            _ => {}
        }
        Ok(false)
    }

    fn sort_by(&mut self, letter: char) -> Result<(), LiveError> {
        match columns::sort_of(self.panel, self.has_gpu, letter) {
            Some(sort) => self.order_by(self.panel, sort),
            None => return Ok(()),
        }
        self.arrange()
    }

    /// Orders a list by `sort`; the other way round if it was already.
    pub(crate) fn order_by(&mut self, panel: Panel, sort: Sort) {
        let listing = self.listing_mut(panel);
        let is_reversed = listing.order.sort == sort && !listing.order.is_reversed;
        listing.order = Order { sort, is_reversed };
        listing.top.set(0);
    }

    /// Orders by the column to the right of the one that gives the order, or to its left.
    fn shift_order(&mut self, by: isize) -> Result<(), LiveError> {
        let order = self.listing().order;
        let sort = columns::beside(self.panel, self.has_gpu, order.sort, by);
        if sort != order.sort {
            self.order_by(self.panel, sort);
        }
        self.arrange()
    }

    /// Shows another panel.
    pub(crate) fn turn_to(&mut self, panel: Panel) -> Result<(), LiveError> {
        self.panel = panel;
        self.is_expanded = false;
        self.collect()
    }

    /// Opens what the selected line has below it, or closes it.
    fn enter(&mut self) -> Result<(), LiveError> {
        match self.panel {
            Panel::Users => {
                self.is_expanded = !self.is_expanded;
                self.commands_top.set(0);
            }
            Panel::Groups => {
                if let Some(key) = self.listing().selected_key() {
                    if !self.folded.remove(&key) {
                        self.folded.insert(key);
                    }
                }
            }
            Panel::Disks | Panel::Network => {}
        }
        self.arrange()
    }

    /// Takes back, one after the other: the commands on the whole panel, the filter, the selection.
    fn back(&mut self) -> Result<(), LiveError> {
        let is_expanded = std::mem::take(&mut self.is_expanded);
        let listing = self.listing_mut(self.panel);
        if !is_expanded && !listing.filter.is_empty() {
            listing.filter.clear();
        } else if !is_expanded {
            listing.select_first();
        }
        self.arrange()
    }

    fn key_of_filter(&mut self, code: KeyCode) -> Result<(), LiveError> {
        let filter = &mut self.listing_mut(self.panel).filter;
        let mut is_over = false;
        match code {
            KeyCode::Enter | KeyCode::Down | KeyCode::Up => is_over = true,
            KeyCode::Esc => {
                filter.clear();
                is_over = true;
            }
            KeyCode::Backspace => drop(filter.pop()),
            KeyCode::Char(letter) if filter.len() < FILTER_BYTES_MAX && !letter.is_control() => {
                filter.extend(letter.to_lowercase());
            }
            _ => {}
        }
        if !is_over {
            self.overlay = Overlay::Filter;
        }
        self.arrange()
    }

    fn key_of_prompt(&mut self, code: KeyCode, mut typed: String) -> Result<(), LiveError> {
        match code {
            KeyCode::Esc => return Ok(()),
            KeyCode::Enter => return self.go_to(&typed),
            KeyCode::Backspace => drop(typed.pop()),
            KeyCode::Char(letter) if typed.len() < 30 && (letter.is_ascii_graphic() || letter == ' ') => {
                typed.push(letter);
            }
            _ => {}
        }
        self.overlay = Overlay::Time(typed);
        Ok(())
    }

    /// Goes to the time that was typed.
    fn go_to(&mut self, typed: &str) -> Result<(), LiveError> {
        let now_us = self.figures.as_ref().map_or(0, |figures| figures.sample.start_us);
        let Some(time_us) = clock::parsed(typed, now_us) else {
            self.notice = Some(format!("{typed}: {TIMES}"));
            return Ok(());
        };
        self.go_to_time(time_us)
    }

    /// Goes to the interval in which `time_us` is, and stays there.
    pub(crate) fn go_to_time(&mut self, time_us: i64) -> Result<(), LiveError> {
        self.motion = Motion::Paused;
        let position = self.reel.at(time_us)?;
        self.go(position)
    }

    /// Stops, or goes on.
    fn toggle(&mut self) {
        self.motion = match self.motion {
            Motion::Following | Motion::Replaying => Motion::Paused,
            Motion::Paused if self.is_at_end() && !self.ended => Motion::Following,
            Motion::Paused => Motion::Replaying,
        };
        self.due = Instant::now();
    }

    pub(crate) fn step(&mut self, steps: i64) -> Result<(), LiveError> {
        self.motion = Motion::Paused;
        let next = self.position.map(|position| self.reel.stepped(position, steps));
        self.go(next)
    }

    fn jump(&mut self, seconds: i64) -> Result<(), LiveError> {
        let Some(figures) = &self.figures else { return Ok(()) };
        self.motion = Motion::Paused;
        let time_us = figures.sample.start_us.saturating_add(seconds * 1_000_000);
        let position = self.reel.at(time_us)?;
        // An interval that is longer than the jump must not hold it up.
        if position == self.position { self.step(seconds.signum()) } else { self.go(position) }
    }

    fn change_speed(&mut self, by: i32) {
        let faster = SPEEDS.iter().find(|speed| **speed > self.speed);
        let slower = SPEEDS.iter().rev().find(|speed| **speed < self.speed);
        if let Some(speed) = if by > 0 { faster } else { slower } {
            self.speed = *speed;
        }
    }

    /// Selects another line; where the commands have all the room, scrolls them.
    fn select(&mut self, by: isize) -> Result<(), LiveError> {
        if self.panel == Panel::Users && self.is_expanded {
            self.scroll_commands(by);
            return Ok(());
        }
        self.listing_mut(self.panel).step(by);
        self.commands_top.set(0);
        self.arrange()
    }

    pub(crate) fn scroll_commands(&mut self, by: isize) {
        let last = self.commands.len().saturating_sub(self.commands_rows.get());
        self.commands_top.set(self.commands_top.get().saturating_add_signed(by).min(last));
        self.is_stale = true;
    }

    /// Lines on a screen of the list.
    fn page(&self) -> isize {
        let is_of_commands = self.panel == Panel::Users && self.is_expanded;
        let rows = if is_of_commands { self.commands_rows.get() } else { self.listing().rows.get() };
        isize::try_from(rows.max(1)).unwrap_or(1)
    }
}
