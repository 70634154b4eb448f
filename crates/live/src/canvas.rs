//! A screen to draw on, row by row, with text that fits it.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use thinktime_log::escaped;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::palette::Palette;

/// Text of one style.
pub(crate) struct Run {
    text: String,
    style: Style,
}

impl Run {
    pub(crate) fn new(text: impl Into<String>, style: Style) -> Run {
        Run { text: text.into(), style }
    }

    pub(crate) fn plain(text: impl Into<String>) -> Run {
        Run::new(text, Style::default())
    }

    pub(crate) fn width(&self) -> usize {
        self.text.width()
    }
}

/// A screen to draw on.
pub(crate) struct Canvas<'a> {
    buffer: &'a mut Buffer,
    pub(crate) area: Rect,
    pub(crate) palette: Palette,
}

impl<'a> Canvas<'a> {
    pub(crate) fn new(buffer: &'a mut Buffer, area: Rect, palette: Palette) -> Canvas<'a> {
        Canvas { buffer, area, palette }
    }

    pub(crate) fn width(&self) -> usize {
        usize::from(self.area.width)
    }

    pub(crate) fn height(&self) -> u16 {
        self.area.height
    }

    /// Whole rows of the screen.
    pub(crate) fn rows(&self, y: u16, height: u16) -> Rect {
        Rect { y: self.area.y + y, height, ..self.area }
    }

    /// Cells of a row.
    pub(crate) fn cells(&self, x: usize, y: u16, width: usize) -> Rect {
        let [x, width] = [x, width].map(|cells| u16::try_from(cells).unwrap_or(u16::MAX));
        Rect { x: self.area.x.saturating_add(x), y: self.area.y + y, width, height: 1 }
    }

    /// Text from outside made safe, in characters that the terminal has.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.in_charset(&escaped(text))
    }

    fn in_charset(&self, text: &str) -> String {
        if self.palette.unicode() || text.is_ascii() {
            return text.into();
        }
        let ascii = |character: char| match character {
            'µ' => 'u',
            '×' => 'x',
            other if other.is_ascii() => other,
            _ => '?',
        };
        text.chars().map(ascii).collect()
    }

    /// `text` in exactly `width` columns: cut with a mark where it is longer, filled with blanks where it is shorter.
    pub(crate) fn fitted(&self, text: &str, width: usize) -> String {
        let own = text.width();
        if own <= width {
            return format!("{text}{}", " ".repeat(width - own));
        }
        let mut cut = String::new();
        let mut used = 0;
        for character in text.chars() {
            let wide = character.width().unwrap_or(0);
            if used + wide + 1 > width {
                break;
            }
            cut.push(character);
            used += wide;
        }
        if width > 0 {
            cut.push_str(self.palette.ellipsis());
            used += 1;
        }
        format!("{cut}{}", " ".repeat(width.saturating_sub(used)))
    }

    /// Writes a row from its left end.
    pub(crate) fn row(&mut self, y: u16, runs: &[Run]) {
        self.write(0, y, runs);
    }

    /// Writes a row from column `x` on.
    pub(crate) fn write(&mut self, x: usize, y: u16, runs: &[Run]) {
        if y >= self.area.height {
            return;
        }
        let mut x = x;
        for run in runs {
            let room = self.width().saturating_sub(x);
            let text = self.in_charset(&run.text);
            let left = u16::try_from(x).unwrap_or(u16::MAX);
            self.buffer.set_stringn(self.area.x + left, self.area.y + y, &text, room, run.style);
            x += text.width();
        }
    }

    /// Writes a row at both ends; the right one whole, the left one as far as there is room.
    pub(crate) fn ends(&mut self, y: u16, left: &str, style: Style, right: &[Run]) {
        let taken: usize = right.iter().map(Run::width).sum();
        let room = self.width().saturating_sub(taken + 2);
        let left = self.fitted(left, room);
        self.write(0, y, &[Run::new(left, style)]);
        self.write(self.width().saturating_sub(taken), y, right);
    }

    /// Writes as many statements as there is room for, none of them cut.
    pub(crate) fn statements(&mut self, y: u16, statements: &[Run]) {
        let separator = self.palette.separator();
        let mut x = 0;
        for statement in statements {
            let before = if x == 0 { 0 } else { separator.width() };
            if x + before + statement.width() > self.width() {
                continue;
            }
            if x > 0 {
                self.write(x, y, &[Run::new(separator, self.palette.dim())]);
            }
            x += before;
            self.write(x, y, std::slice::from_ref(statement));
            x += statement.width();
        }
    }
}
