//! Colours and characters: what the terminal can show, and what everybody can tell apart.
//!
//! Colours are those of Okabe and Ito (2008), which people with any kind of colour vision can tell apart; whatever a
//! colour says, a word, a character or a place says too, so that nothing is lost without them (NO_COLOR).

use ratatui::style::{Color, Modifier, Style};

/// How much the terminal can show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Palette {
    colours: Colours,
    /// Characters beyond ASCII.
    unicode: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Colours {
    None,
    /// The eight of the first terminals.
    Few,
    /// The 256 of xterm.
    Many,
}

/// A state of the CPUs, in the order of the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    User,
    System,
    Steal,
    Wait,
    Idle,
}

impl Palette {
    /// What the environment of this process says.
    pub(crate) fn of_environment() -> Palette {
        let value = |name: &str| std::env::var(name).unwrap_or_default();
        // The first of these that is set decides, as in setlocale(3).
        let locale = ["LC_ALL", "LC_CTYPE", "LANG"].map(value).into_iter().find(|text| !text.is_empty());
        Palette::of(&value("NO_COLOR"), &value("TERM"), &value("COLORTERM"), &locale.unwrap_or_default())
    }

    fn of(no_color: &str, term: &str, colorterm: &str, locale: &str) -> Palette {
        let colours = if !no_color.is_empty() {
            Colours::None
        } else if term.contains("256color") || !colorterm.is_empty() {
            Colours::Many
        } else if term.starts_with("vt") {
            Colours::None
        } else {
            Colours::Few
        };
        let locale = locale.to_ascii_lowercase();
        Palette { colours, unicode: locale.contains("utf-8") || locale.contains("utf8") }
    }

    /// Everything in plain characters and without colour, or with all of them; for tests of the drawing.
    #[cfg(test)]
    pub(crate) fn for_tests(colours: bool, unicode: bool) -> Palette {
        Palette { colours: if colours { Colours::Many } else { Colours::None }, unicode }
    }

    fn colour(self, many: u8, few: Color) -> Style {
        match self.colours {
            Colours::None => Style::default(),
            Colours::Few => Style::default().fg(few),
            Colours::Many => Style::default().fg(Color::Indexed(many)),
        }
    }

    /// Colour of a state of the CPUs: blue, orange, purple, sky, and none for idle.
    pub(crate) fn state(self, state: State) -> Style {
        match state {
            State::User => self.colour(32, Color::Blue),
            State::System => self.colour(214, Color::Yellow),
            State::Steal => self.colour(175, Color::Magenta),
            State::Wait => self.colour(80, Color::Cyan),
            State::Idle => self.dim(),
        }
    }

    /// Character of a state of the CPUs: each has its own, so that the bar can be read without colour.
    pub(crate) fn fill(self, state: State) -> &'static str {
        match (state, self.unicode) {
            (State::User, true) => "█",
            (State::System, true) => "▓",
            (State::Steal, true) => "▚",
            (State::Wait, true) => "▒",
            (State::Idle, true) => "░",
            (State::User, false) => "#",
            (State::System, false) => "=",
            (State::Steal, false) => "%",
            (State::Wait, false) => "~",
            (State::Idle, false) => ".",
        }
    }

    /// Style of a share that is so large that it matters.
    pub(crate) fn notable(self) -> Style {
        self.colour(214, Color::Yellow).add_modifier(Modifier::BOLD)
    }

    pub(crate) fn heading(self) -> Style {
        Style::default().add_modifier(Modifier::BOLD)
    }

    pub(crate) fn dim(self) -> Style {
        Style::default().add_modifier(Modifier::DIM)
    }

    pub(crate) fn selected(self) -> Style {
        Style::default().add_modifier(Modifier::REVERSED)
    }

    pub(crate) fn unicode(self) -> bool {
        self.unicode
    }

    /// Between two statements on a line.
    pub(crate) fn separator(self) -> &'static str {
        if self.unicode { " · " } else { "; " }
    }

    /// Behind a name that is longer than its column.
    pub(crate) fn ellipsis(self) -> &'static str {
        if self.unicode { "…" } else { "~" }
    }

    /// Behind the title of the column by which lines are sorted.
    pub(crate) fn sorted(self) -> &'static str {
        if self.unicode { "▼" } else { "v" }
    }

    /// The same where the smallest is the first.
    pub(crate) fn sorted_up(self) -> &'static str {
        if self.unicode { "▲" } else { "^" }
    }

    /// Behind the name of a line without those below it.
    pub(crate) fn folded(self) -> &'static str {
        if self.unicode { " ▸" } else { " +" }
    }

    /// A time before the one on the screen, that one, and one after it.
    pub(crate) fn timeline(self) -> [&'static str; 3] {
        if self.unicode { ["━", "●", "─"] } else { ["=", "O", "-"] }
    }

    /// Before the selected line, so that it can be found without reverse video.
    pub(crate) fn pointer(self) -> &'static str {
        if self.unicode { "▸" } else { ">" }
    }

    /// Keys of the arrows.
    pub(crate) fn arrows(self) -> [&'static str; 4] {
        if self.unicode { ["←", "→", "↑", "↓"] } else { ["left", "right", "up", "down"] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_follow_the_terminal_and_the_wish_of_its_user() {
        let colours = |no_color, term, colorterm| Palette::of(no_color, term, colorterm, "C").colours;
        assert_eq!(colours("", "xterm-256color", ""), Colours::Many);
        assert_eq!(colours("", "xterm", "truecolor"), Colours::Many);
        assert_eq!(colours("", "linux", ""), Colours::Few);
        assert_eq!(colours("1", "xterm-256color", "truecolor"), Colours::None);
        assert_eq!(colours("", "vt220", ""), Colours::None);
    }

    #[test]
    fn without_colour_every_state_has_a_character_of_its_own() {
        for unicode in [true, false] {
            let palette = Palette::for_tests(false, unicode);
            let states = [State::User, State::System, State::Steal, State::Wait, State::Idle];
            let fills: std::collections::BTreeSet<_> = states.map(|state| palette.fill(state)).into();
            assert_eq!(fills.len(), states.len());
            assert!(states.iter().all(|state| palette.state(*state).fg.is_none()));
        }
    }

    #[test]
    fn a_locale_without_utf8_gets_ascii() {
        let unicode = |locale| Palette::of("", "xterm", "", locale).unicode;
        assert!(unicode("en_GB.UTF-8") && unicode("C.utf8"));
        assert!(!unicode("C") && !unicode("") && !unicode("de_DE.ISO-8859-1"));
        assert!(Palette::for_tests(true, false).fill(State::User).is_ascii());
    }
}
