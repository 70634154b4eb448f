//! The terminal taken and given back, and the loop between.
//!
//! Whatever ends a view (a key, a signal, an error, a panic of any thread) gives the terminal back as it was: its modes,
//! its cursor, and the screen that was there before.

use std::cell::RefCell;
use std::io::{self, IsTerminal, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::style::Print;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{execute, queue};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::stdio::dup2_stdin;
use rustix::time::{ClockId, clock_gettime};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};

use crate::error::LiveError;
use crate::palette::Palette;
use crate::screen;
use crate::state::{Cost, Shared, State, ViewOptions};

/// Signals that end a view.
const SIGNALS: [i32; 4] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM];
/// Most keys that are taken before the screen is drawn again.
const KEYS_MAX: usize = 64;

/// Asks the terminal for presses, releases, drags and the wheel of the mouse, as decimal numbers. Crossterm's own request
/// is for every movement too, which would wake the view for nothing.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";

/// A view that has ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Viewed {
    /// CPU time of the view, without that of a recorder [s].
    pub cpu_s: f64,
    /// Screens drawn.
    pub refreshes: u64,
}

/// An error unless there is a terminal to draw on and to read keys from.
pub fn require_terminal() -> Result<(), LiveError> {
    let refused = |reason| Err(LiveError::NoTerminal { reason });
    if !io::stdout().is_terminal() {
        return refused("standard output is no terminal");
    }
    if !io::stdin().is_terminal() {
        return refused("standard input is no terminal");
    }
    match std::env::var("TERM").as_deref() {
        Ok("dumb") => refused("this terminal cannot place its cursor (TERM=dumb)"),
        Err(_) | Ok("") => refused("nothing says what this terminal can do (TERM is not set)"),
        Ok(_) => Ok(()),
    }
}

/// Shows the log in folder `dir` until a key, a signal or `shared` ends it.
pub fn view(dir: &Path, options: &ViewOptions, shared: &Shared) -> Result<Viewed, LiveError> {
    require_terminal()?;
    let signalled = Arc::new(AtomicBool::new(false));
    let registered = SIGNALS.map(|signal| signal_hook::flag::register(signal, Arc::clone(&signalled)));
    // Before the terminal is taken: what is wrong with the log is said where it can be read.
    let opened = State::open(dir, options);
    let viewed = opened.and_then(|mut state| guarded(|| run(&mut state, shared, &signalled)));
    for id in registered.into_iter().flatten() {
        signal_hook::low_level::unregister(id);
    }
    viewed
}

/// What `work` gives, or the message of its panic as an error: on the screen it would disappear with that.
fn guarded<T>(work: impl FnOnce() -> Result<T, LiveError>) -> Result<T, LiveError> {
    let panics = Panics::keep();
    // What the work used is not used again.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    let message = panics.release();
    outcome.unwrap_or_else(|_| Err(LiveError::Panic { message: message.unwrap_or_default() }))
}

/// The loop: what is new, the screen, the keys.
fn run(state: &mut State, shared: &Shared, signalled: &AtomicBool) -> Result<Viewed, LiveError> {
    let palette = Palette::of_environment();
    let closing =
        Closing::watch().map_err(|source| LiveError::Terminal { action: "watch the terminal", source })?;
    let mut screen = Screen::take()?;
    let (start, start_cpu_s) = (Instant::now(), thread_cpu_s());
    let mut refreshes = 0;
    let mut is_over = false;
    while !(is_over || signalled.load(Ordering::SeqCst) || shared.is_stopped() || closing.is_closed()) {
        state.tick(shared)?;
        if state.is_stale {
            state.is_stale = false;
            screen.listen(state.has_mouse)?;
            screen.draw(state, palette)?;
            refreshes += 1;
        }
        is_over = keys(state, &mut screen)?;
        let cpu_s = thread_cpu_s() - start_cpu_s;
        state.cost = Cost { cpu_s, refreshes, elapsed_s: start.elapsed().as_secs_f64() };
    }
    Ok(Viewed { cpu_s: thread_cpu_s() - start_cpu_s, refreshes })
}

/// Waits for keys as long as nothing else is to be done, and takes those that are there; true if one ends the view.
fn keys(state: &mut State, screen: &mut Screen) -> Result<bool, LiveError> {
    let mut patience = state.patience();
    for _ in 0..KEYS_MAX {
        match event::poll(patience) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            // A signal: the loop looks which.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(false),
            Err(source) => return Err(LiveError::Terminal { action: "read from the terminal", source }),
        }
        let event = event::read()
            .map_err(|source| LiveError::Terminal { action: "read from the terminal", source })?;
        let is_over = match event {
            Event::Key(key) if is_suspend(&key) => {
                screen.suspend()?;
                state.is_stale = true;
                false
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => state.key(key)?,
            Event::Mouse(mouse) => {
                state.mouse(mouse)?;
                false
            }
            Event::Resize(..) => {
                state.is_stale = true;
                false
            }
            _ => false,
        };
        if is_over {
            return Ok(true);
        }
        patience = Duration::ZERO;
    }
    Ok(false)
}

fn is_suspend(key: &KeyEvent) -> bool {
    key.code == KeyCode::Char('z') && key.modifiers.contains(KeyModifiers::CONTROL)
}

/// CPU time of this thread [s].
fn thread_cpu_s() -> f64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as f64 + used.tv_nsec as f64 * 1e-9
}

/// Tells when the other end of the terminal is closed, of which no signal comes to a process that it does not control.
///
/// Crossterm would read the end of a closed terminal again and again: then an input on which nothing comes takes its place.
struct Closing {
    is_closed: Arc<AtomicBool>,
    /// Closed at the end: the thread waits for that too.
    stop: Option<OwnedFd>,
    /// The other end of that input, which would end if this were closed.
    _silence: OwnedFd,
    thread: Option<JoinHandle<()>>,
}

impl Closing {
    fn watch() -> io::Result<Closing> {
        let (stopped, stop) = pipe_with(PipeFlags::CLOEXEC)?;
        let (silent, silence) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let is_closed = Arc::new(AtomicBool::new(false));
        let closed = Arc::clone(&is_closed);
        let thread = thread::Builder::new().name("terminal".into()).spawn(move || {
            let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
            loop {
                // Nothing is asked for: what is gone is told all the same.
                let mut waits = [&input, &stopped].map(|end| PollFd::new(end, PollFlags::empty()));
                match poll(&mut waits, None) {
                    Err(rustix::io::Errno::INTR) => continue,
                    Ok(_) if !waits[1].revents().intersects(gone) && waits[0].revents().intersects(gone) => {
                        closed.store(true, Ordering::SeqCst);
                        // If that fails, nothing is worse than without it.
                        let _ = dup2_stdin(&silent);
                    }
                    _ => {}
                }
                return;
            }
        })?;
        Ok(Closing { is_closed, stop: Some(stop), _silence: silence, thread: Some(thread) })
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::SeqCst)
    }
}

impl Drop for Closing {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It ends at once, and has no panic to tell.
            let _ = thread.join();
        }
    }
}

/// What is written for one screen: kept together, so that nobody sees a part of it, such as the blank one before.
#[derive(Clone, Default)]
struct Sheet(Rc<RefCell<Vec<u8>>>);

impl Write for Sheet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The terminal while a view has it.
struct Screen {
    terminal: Terminal<CrosstermBackend<Sheet>>,
    sheet: Sheet,
    /// The terminal tells what the mouse does.
    has_mouse: bool,
}

impl Screen {
    fn take() -> Result<Screen, LiveError> {
        let failed = |source| LiveError::Terminal { action: "take the terminal", source };
        let sheet = Sheet::default();
        let terminal = Terminal::new(CrosstermBackend::new(sheet.clone())).map_err(failed)?;
        // From here on a failure gives back what was taken.
        let screen = Screen { terminal, sheet, has_mouse: false };
        enter().map_err(failed)?;
        Ok(screen)
    }

    fn draw(&mut self, state: &State, palette: Palette) -> Result<(), LiveError> {
        let mut drawn = || {
            // Terminals that know it show the new screen at once; the others ignore it.
            queue!(self.sheet, BeginSynchronizedUpdate)?;
            self.terminal.draw(|frame| screen::draw(frame, state, palette))?;
            queue!(self.sheet, EndSynchronizedUpdate)?;
            let bytes = self.sheet.0.take();
            let mut stdout = io::stdout().lock();
            stdout.write_all(&bytes)?;
            stdout.flush()
        };
        drawn().map_err(|source| LiveError::Terminal { action: "write to the terminal", source })
    }

    /// Asks the terminal to tell what the mouse does, or to keep it for the selection of text.
    fn listen(&mut self, to_mouse: bool) -> Result<(), LiveError> {
        if to_mouse != self.has_mouse {
            self.has_mouse = to_mouse;
            let request = if to_mouse { MOUSE_ON } else { MOUSE_OFF };
            execute!(io::stdout(), Print(request))
                .map_err(|source| LiveError::Terminal { action: "write to the terminal", source })?;
        }
        Ok(())
    }

    /// Gives the terminal back and stops the process until somebody continues it, as Ctrl-Z does.
    fn suspend(&mut self) -> Result<(), LiveError> {
        let failed = |source| LiveError::Terminal { action: "take the terminal again", source };
        leave();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP).map_err(failed)?;
        enter().map_err(failed)?;
        // Asked for again where it is wanted.
        self.has_mouse = false;
        self.terminal.clear().map_err(failed)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() -> io::Result<()> {
    enable_raw_mode()?;
    execute!(io::stdout(), EnterAlternateScreen, Hide)
}

fn leave() {
    // Whatever fails here, the terminal is gone.
    let _ = execute!(io::stdout(), EndSynchronizedUpdate, Print(MOUSE_OFF), LeaveAlternateScreen, Show);
    let _ = disable_raw_mode();
}

/// Messages of panics, kept while there is a screen that they would disappear with.
struct Panics {
    last: Arc<Mutex<Option<String>>>,
}

impl Panics {
    fn keep() -> Panics {
        let last = Arc::new(Mutex::new(None));
        let place = Arc::clone(&last);
        std::panic::set_hook(Box::new(move |panic| {
            *place.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic.to_string());
        }));
        Panics { last }
    }

    /// Panics are reported as usual again; the message of the last one.
    fn release(self) -> Option<String> {
        drop(std::panic::take_hook());
        self.last.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;
    use std::process::{Command, Stdio};

    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use rustix::termios::tcgetattr;

    use super::*;

    /// Says to the test below that it is the child.
    const CHILD: &str = "THINKTIME_TEST_PANICS";

    #[test]
    fn a_panic_gives_the_terminal_back_and_its_message_to_the_caller() {
        if std::env::var_os(CHILD).is_some() {
            let outcome = guarded(|| -> Result<(), LiveError> {
                let _screen = Screen::take()?;
                panic!("on purpose");
            });
            println!("said: {}", outcome.unwrap_err());
            return;
        }
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = File::options().read(true).write(true).open(path).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let end = || Stdio::from(slave.try_clone().unwrap());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "--test-threads=1"]);
        command.arg("terminal::tests::a_panic_gives_the_terminal_back_and_its_message_to_the_caller");
        command.env(CHILD, "1").env("TERM", "xterm").stdin(end()).stdout(end()).stderr(end());
        let mut child = command.spawn().unwrap();
        assert!(child.wait().unwrap().success());
        let after = tcgetattr(&slave).unwrap();
        assert_eq!(
            (before.input_modes, before.output_modes, before.local_modes),
            (after.input_modes, after.output_modes, after.local_modes)
        );
        drop((slave, command));
        // The other end is closed: what was written is read to its end, which is an error on a terminal.
        let mut written = Vec::new();
        let _ = File::from(master).read_to_end(&mut written);
        let text = String::from_utf8_lossy(&written);
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part:?} is not in {text:?}"));
        let (entered, left) = (place("\x1b[?1049h"), place("\x1b[?1049l"));
        assert!(entered < left && left < place("\x1b[?25h") && left < place("said: "));
        assert!(text[left..].contains("on purpose"));
        // Nothing of the panic was written while the screen was taken.
        assert!(!text[..left].contains("on purpose"));
    }
}
