//! The terminal taken and given back, and the loop between.
//!
//! Whatever ends a view (a key, a signal, an error, a panic of any thread) gives the terminal back as it was: its modes,
//! its cursor, and the screen that was there before.

use std::io::{self, IsTerminal, Stdout};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::{Hide, Show};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    BeginSynchronizedUpdate, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen,
    disable_raw_mode, enable_raw_mode,
};
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
    // Before the terminal is taken: what is wrong with the log is said where it can be read.
    let mut state = State::open(dir, options)?;
    let signalled = Arc::new(AtomicBool::new(false));
    let registered = SIGNALS.map(|signal| signal_hook::flag::register(signal, Arc::clone(&signalled)));
    let panics = Panics::keep();
    // Nothing of the state is used after a panic.
    let outcome = catch_unwind(AssertUnwindSafe(|| run(&mut state, shared, &signalled)));
    let message = panics.release();
    for id in registered.into_iter().flatten() {
        signal_hook::low_level::unregister(id);
    }
    match outcome {
        Ok(done) => done,
        Err(_) => Err(LiveError::Panic { message: message.unwrap_or_default() }),
    }
}

/// The loop: what is new, the screen, the keys.
fn run(state: &mut State, shared: &Shared, signalled: &AtomicBool) -> Result<Viewed, LiveError> {
    let palette = Palette::of_environment();
    let mut screen = Screen::take()?;
    let (start, start_cpu_s) = (Instant::now(), thread_cpu_s());
    let mut refreshes = 0;
    let mut is_over = false;
    while !(is_over || signalled.load(Ordering::SeqCst) || shared.is_stopped()) {
        state.tick(shared)?;
        if state.is_stale {
            state.is_stale = false;
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
        match event {
            Event::Key(key) if is_suspend(&key) => {
                screen.suspend()?;
                state.is_stale = true;
            }
            Event::Key(key) if key.kind != KeyEventKind::Release => {
                if state.key(key)? {
                    return Ok(true);
                }
            }
            Event::Resize(..) => state.is_stale = true,
            _ => {}
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

/// The terminal while a view has it.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    fn take() -> Result<Screen, LiveError> {
        let failed = |source| LiveError::Terminal { action: "take the terminal", source };
        let terminal = Terminal::new(CrosstermBackend::new(io::stdout())).map_err(failed)?;
        // From here on a failure gives back what was taken.
        let screen = Screen { terminal };
        enter().map_err(failed)?;
        Ok(screen)
    }

    fn draw(&mut self, state: &State, palette: Palette) -> Result<(), LiveError> {
        let mut drawn = || {
            // Terminals that know it show the new screen at once; the others ignore it.
            execute!(io::stdout(), BeginSynchronizedUpdate)?;
            self.terminal.draw(|frame| screen::draw(frame, state, palette))?;
            execute!(io::stdout(), EndSynchronizedUpdate)
        };
        drawn().map_err(|source| LiveError::Terminal { action: "write to the terminal", source })
    }

    /// Gives the terminal back and stops the process until somebody continues it, as Ctrl-Z does.
    fn suspend(&mut self) -> Result<(), LiveError> {
        let failed = |source| LiveError::Terminal { action: "take the terminal again", source };
        leave();
        signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGTSTP).map_err(failed)?;
        enter().map_err(failed)?;
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
    let _ = execute!(io::stdout(), EndSynchronizedUpdate, LeaveAlternateScreen, Show);
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
