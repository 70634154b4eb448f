//! What the mouse does: a click or a notch of the wheel is for the part of the screen under it.

use ratatui::crossterm::event::{KeyCode, MouseButton, MouseEvent, MouseEventKind};
use ratatui::layout::Position;

use crate::error::LiveError;
use crate::state::{Overlay, State};
use crate::targets::Target;

/// Lines that a notch of the wheel moves.
const NOTCH: isize = 3;

impl State {
    /// Does what the mouse asks for.
    pub(crate) fn mouse(&mut self, event: MouseEvent) -> Result<(), LiveError> {
        let position = Position { x: event.column, y: event.row };
        let wheel = match event.kind {
            MouseEventKind::ScrollDown => Some(NOTCH),
            MouseEventKind::ScrollUp => Some(-NOTCH),
            _ => None,
        };
        if let (Some(by), Overlay::Help(line)) = (wheel, &self.overlay) {
            self.overlay = Overlay::Help(self.help_from(*line, by));
            self.is_stale = true;
        }
        if self.overlay != Overlay::None {
            // What is typed, or read, is ended by a key.
            return Ok(());
        }
        if let Some(by) = wheel {
            return self.wheel(position, by);
        }
        match event.kind {
            MouseEventKind::Down(MouseButton::Left) => self.click(position),
            MouseEventKind::Drag(MouseButton::Left) if self.is_dragging => self.go_along(position),
            MouseEventKind::Up(_) => {
                self.is_dragging = false;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn wheel(&mut self, position: Position, by: isize) -> Result<(), LiveError> {
        match self.targets.at(position) {
            Some((_, Target::Commands)) => self.scroll_commands(by),
            Some((_, Target::Timeline)) => return self.step(by.signum() as i64),
            Some((_, Target::Line(panel, _) | Target::List(panel) | Target::Title(panel, _))) => {
                self.listing_mut(panel).scroll(by);
                return self.arrange();
            }
            _ => {}
        }
        Ok(())
    }

    fn click(&mut self, position: Position) -> Result<(), LiveError> {
        self.is_stale = true;
        self.notice = None;
        match self.targets.at(position) {
            Some((_, Target::Panel(panel))) => self.turn_to(panel),
            Some((_, Target::Line(panel, at))) => {
                if panel != self.panel {
                    self.turn_to(panel)?;
                } else if self.listing().selected_index() == Some(at) {
                    // Again on the same one.
                    return self.key_of_view(KeyCode::Enter).map(drop);
                }
                self.listing_mut(panel).select(at);
                self.arrange()
            }
            Some((_, Target::Title(panel, sort))) => {
                self.order_by(panel, sort);
                self.arrange()
            }
            Some((_, Target::Timeline)) => {
                self.is_dragging = true;
                self.go_along(position)
            }
            _ => Ok(()),
        }
    }

    /// Goes to the time at `position` of the timeline, or at its nearer end.
    fn go_along(&mut self, position: Position) -> Result<(), LiveError> {
        let Some(place) = self.targets.of(Target::Timeline) else { return Ok(()) };
        let Some((first_us, last_us)) = self.span else { return Ok(()) };
        let cells = place.width.saturating_sub(1);
        let cell = position.x.saturating_sub(place.x).min(cells);
        let share = if cells == 0 { 0.0 } else { f64::from(cell) / f64::from(cells) };
        let time_us = first_us.saturating_add((share * last_us.saturating_sub(first_us) as f64) as i64);
        self.go_to_time(time_us)
    }
}
