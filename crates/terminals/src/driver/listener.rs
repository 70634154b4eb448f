//! The output of a terminal: echo, reply, prompt, and what ends the wait for a reply.
//!
//! What a terminal shows comes from programs that anybody may have written: it is bytes, looked at once, of which the
//! last [`TAIL_BYTES`] are kept.

use std::collections::VecDeque;
use std::sync::Arc;

use regex_lite::Regex;

/// Bytes of a reply that are kept, so that what is waited for is found where it arrives in pieces.
const TAIL_BYTES: usize = 8192;
/// Characters of what a terminal showed that an error has.
const SHOWN_CHARS: usize = 300;
/// Most bytes of echo that are waited for: a terminal takes no more before its program reads.
const ECHO_BYTES: usize = 64 * 1024;

/// What ends the wait for a reply.
#[derive(Clone, Debug)]
pub enum Ending {
    /// Nothing is waited for.
    Nothing,
    /// The prompt.
    Prompt,
    /// A text.
    Text(Arc<[u8]>),
    /// A match of a regular expression.
    Pattern(Arc<Regex>),
    /// No output for so long after output has begun [ns]; the driver has the clock.
    Silence(u64),
}

/// Content of a chunk read from a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Heard {
    /// Bytes of it that are not echo.
    pub output_bytes: u64,
    /// True if it completes the prompt.
    pub prompt: bool,
    /// True if it ends the wait.
    pub ended: bool,
}

/// Separates the echo of an input from the output that follows it, and finds the end of the reply.
///
/// The line discipline, or a program that edits lines, echoes an input before the program acts on it: as long as what
/// arrives is what was typed, it is echo.
#[derive(Debug)]
pub(crate) struct Listener {
    marker: Arc<[u8]>,
    ending: Ending,
    /// Bytes of echo not read yet.
    echo: VecDeque<u8>,
    /// Last bytes of the reply.
    tail: Vec<u8>,
}

impl Listener {
    /// A listener for the first prompt, which has `marker` in it.
    pub fn new(marker: Arc<[u8]>) -> Listener {
        Listener { marker, ending: Ending::Prompt, echo: VecDeque::new(), tail: Vec::new() }
    }

    /// Announces an input, newline included, and what ends the wait for its reply.
    pub fn expect(&mut self, line: &[u8], ending: Ending) {
        if self.echo.len() + line.len() > ECHO_BYTES {
            self.echo.clear();
        }
        for byte in line {
            // ONLCR, the default of a terminal, turns the newline of the echo into two characters.
            if *byte == b'\n' {
                self.echo.push_back(b'\r');
            }
            self.echo.push_back(*byte);
        }
        self.ending = ending;
        self.tail.clear();
    }

    /// Content of the next chunk.
    pub fn hear(&mut self, chunk: &[u8]) -> Heard {
        let output = self.without_echo(chunk);
        if output.is_empty() {
            return Heard::default();
        }
        let output_bytes = output.len() as u64;
        let known = self.tail.len();
        self.tail.extend_from_slice(output);
        let prompt = self.has(&self.marker, known);
        let ended = match &self.ending {
            Ending::Nothing | Ending::Silence(_) => false,
            Ending::Prompt => prompt,
            Ending::Text(text) => self.has(text, known),
            Ending::Pattern(pattern) => pattern.is_match(&String::from_utf8_lossy(&self.tail)),
        };
        if prompt || ended {
            self.tail.clear();
        } else if self.tail.len() > TAIL_BYTES {
            self.tail.drain(..self.tail.len() - TAIL_BYTES);
        }
        Heard { output_bytes, prompt, ended }
    }

    /// The chunk after the echo. What differs from the line typed is output, and no echo follows it.
    fn without_echo<'a>(&mut self, chunk: &'a [u8]) -> &'a [u8] {
        let mut echoed = 0;
        while let (Some(expected), Some(byte)) = (self.echo.front(), chunk.get(echoed)) {
            if expected != byte {
                self.echo.clear();
                break;
            }
            self.echo.pop_front();
            echoed += 1;
        }
        &chunk[echoed..]
    }

    /// True if `wanted` is in the tail and ends beyond its first `known` bytes.
    fn has(&self, wanted: &[u8], known: usize) -> bool {
        // An empty text is refused where it is given; windows of no bytes would panic.
        let from = known.saturating_sub(wanted.len().max(1) - 1);
        !wanted.is_empty() && self.tail[from..].windows(wanted.len()).any(|window| window == wanted)
    }

    /// The last of what the terminal showed, escaped, for an error.
    pub fn shown(&self) -> String {
        let text = String::from_utf8_lossy(&self.tail);
        let text = text.trim();
        if text.is_empty() {
            return "the terminal shows nothing".into();
        }
        let skipped = text.chars().count().saturating_sub(SHOWN_CHARS);
        let last: String = text.chars().skip(skipped).collect();
        format!("the terminal shows {last:?}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::terminal::{MARKER, open};

    fn listener(ending: Ending) -> Listener {
        let mut listener = Listener::new([MARKER].as_slice().into());
        listener.expect(b"edit 7\n", ending);
        listener
    }

    #[test]
    fn echo_is_no_output_however_it_is_cut() {
        let stream = b"edit 7\r\nhello\r\n> \x1e";
        for cut in 0..stream.len() {
            let mut listener = listener(Ending::Prompt);
            let (first, second) = stream.split_at(cut);
            let heard = [listener.hear(first), listener.hear(second)];
            assert_eq!(heard[0].output_bytes, cut.saturating_sub(8) as u64, "cut at {cut}");
            assert!(!heard[0].prompt && heard[1].prompt && heard[1].ended, "cut at {cut}");
            assert_eq!(heard[0].output_bytes + heard[1].output_bytes, stream.len() as u64 - 8);
        }
    }

    #[test]
    fn the_end_of_a_reply_is_found_however_it_is_cut() {
        let pattern = Arc::new(Regex::new("[0-9]+ rows").expect("a pattern"));
        // The line typed has the text in it too: its echo is no reply.
        let line = b"say 12 rows\n";
        let stream = b"say 12 rows\r\nthere are 340 rows\r\n";
        for ending in [Ending::Text(b"0 rows".as_slice().into()), Ending::Pattern(pattern)] {
            for cut in 0..stream.len() {
                let mut listener = Listener::new(b"prompt".as_slice().into());
                listener.expect(line, ending.clone());
                let (first, second) = stream.split_at(cut);
                let heard = [listener.hear(first), listener.hear(second)];
                assert_eq!(heard[0].ended, cut >= stream.len() - 2, "{ending:?} cut at {cut}");
                assert!(heard[0].ended || heard[1].ended, "{ending:?} cut at {cut}");
                assert!(!heard[0].prompt && !heard[1].prompt);
            }
        }
    }

    #[test]
    fn output_without_end_keeps_memory_bounded() {
        let mut listener = listener(Ending::Text(b"never".as_slice().into()));
        for _ in 0..1000 {
            assert!(!listener.hear(&[0xff; 4096]).ended);
        }
        assert!(listener.tail.len() <= TAIL_BYTES);
        for _ in 0..100 {
            listener.expect(&[b'x'; 4000], Ending::Nothing);
        }
        assert!(listener.echo.len() <= ECHO_BYTES);
    }

    #[test]
    fn an_error_shows_the_last_of_the_output_escaped() {
        let mut listener = Listener::new(b"prompt".as_slice().into());
        assert_eq!(listener.shown(), "the terminal shows nothing");
        listener.hear(&[b'x'; 4000]);
        listener.hear(b"\r\n\x1b[31mWait\xff\r\n");
        let shown = listener.shown();
        assert!(shown.ends_with("x\\r\\n\\u{1b}[31mWait\u{fffd}\""), "{shown}");
        assert!(shown.chars().count() < 400 && !shown.chars().any(char::is_control), "{shown}");
    }

    /// Echo of `typed` from a terminal that no process reads.
    fn echo_of(typed: &[u8]) -> Vec<u8> {
        let (master, _slave) = open().expect("a terminal");
        rustix::io::write(&master, typed).expect("is open");
        let mut echo = Vec::new();
        let mut chunk = [0u8; 64];
        // The line discipline works in the background: wait until the newline is back.
        while !echo.ends_with(b"\n") {
            let mut waiting = [rustix::event::PollFd::new(&master, rustix::event::PollFlags::IN)];
            assert_ne!(rustix::event::poll(&mut waiting, Some(&patience())), Ok(0), "no echo: {echo:?}");
            let length = rustix::io::read(&master, &mut chunk).expect("is open");
            echo.extend_from_slice(&chunk[..length]);
        }
        echo
    }

    fn patience() -> rustix::event::Timespec {
        rustix::event::Timespec { tv_sec: 60, tv_nsec: 0 }
    }

    #[test]
    fn a_real_terminal_never_echoes_the_marker() {
        assert_eq!(echo_of(b"edit 7\n"), b"edit 7\r\n");
        // The canary: even if it were typed, it would come back in two visible characters.
        let typed = [b"ls ", &[MARKER][..], b"\n"].concat();
        assert_eq!(echo_of(&typed), b"ls ^^\r\n");
        assert!(crate::driver::terminal::PROMPT.contains(&MARKER));
    }
}
