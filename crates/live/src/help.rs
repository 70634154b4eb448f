//! The explanations behind the key `?`.

use crate::screen::{Canvas, Run};
use crate::state::State;
use crate::words;

/// The explanations, from line `first` on.
pub(crate) fn draw(canvas: &mut Canvas<'_>, state: &State, first: usize) {
    let lines = lines(canvas, state);
    let rows = usize::from(canvas.height()).saturating_sub(1);
    let first = first.min(lines.len().saturating_sub(rows));
    for (at, line) in lines.iter().skip(first).take(rows).enumerate() {
        let is_heading = line.chars().next().is_some_and(char::is_uppercase);
        let style = if is_heading { canvas.palette.heading() } else { ratatui::style::Style::default() };
        canvas.row(u16::try_from(at).unwrap_or(0), &[Run::new(line.clone(), style)]);
    }
    let more = if first + rows < lines.len() { "down: more; " } else { "" };
    let last = canvas.height().saturating_sub(1);
    canvas.row(last, &[Run::new(format!("{more}any other key: back; q: quit"), canvas.palette.dim())]);
}

fn lines(canvas: &Canvas<'_>, state: &State) -> Vec<String> {
    let [left, right, up, down] = canvas.palette.arrows();
    let mut lines: Vec<String> = vec![
        "Keys".into(),
        format!("  {left} {right}      an interval back, forward       space   pause, go on"),
        "  [ ]      a minute back, forward          { }     an hour back, forward".into(),
        "  Home g   the first interval              End G   the last one, and follow".into(),
        "  t        go to a time                    + -     replay faster, slower".into(),
        format!("  {up} {down}      another user (Esc: the first)   p       people only, or all users"),
        "  c w d m i n   order by CPU, wait for a CPU, wait for a disk, memory, I/O, name".into(),
        "  q Ctrl-C   quit                          Ctrl-Z  suspend".into(),
        "What the figures mean".into(),
        "  CPU        100 % is one CPU busy all the time; busy: share of all CPUs".into(),
        "  CPU WAIT   100 % is one task that was ready to run and had no CPU, all the time".into(),
        "  DISK WAIT  the same for tasks that waited for a disk".into(),
        "  MEMORY     shared pages divided among those who share them; with +: counted".into(),
        "             in each process, so that sums are too large".into(),
        "  pressure   share of the time in which some task, or all, waited (PSI)".into(),
        "  wait       a CPU was idle while a task waited for a disk (a hint of the kernel)".into(),
        "  responses  from due to completed, of interactions completed in the last 60 s".into(),
        "  like the people here: memory that new work could get, divided by the mean of".into(),
        "             the people who have a process; says nothing of CPUs and disks".into(),
        "  -          the log does not have it".into(),
    ];
    lines.extend(cost(state));
    if let Some(Err(reason)) = &state.prediction {
        lines.push("How many users fit is not known".into());
        let width = canvas.width().saturating_sub(2).max(20);
        lines.extend(wrapped(&canvas.clean(reason), width).into_iter().map(|line| format!("  {line}")));
    }
    lines
}

/// What it costs to look.
fn cost(state: &State) -> Vec<String> {
    let mut lines = vec!["Cost".to_owned()];
    let cost = state.cost;
    if cost.refreshes > 0 {
        lines.push(format!(
            "  this view: {} of CPU time in {}, {} a refresh",
            words::duration(cost.cpu_s),
            words::duration(cost.elapsed_s),
            words::duration(cost.cpu_s / cost.refreshes as f64),
        ));
    }
    let sample = state.figures.as_ref().map(|figures| &figures.sample);
    if let Some((sample, used_s)) = sample.and_then(|sample| Some((sample, sample.recorder_cpu_s?))) {
        lines.push(format!(
            "  the recorder: {} of CPU time for this sample, {} of one CPU",
            words::duration(used_s),
            words::percent(used_s / sample.length_s),
        ));
    }
    lines
}

/// `text` in lines of at most `width` characters, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.into()),
        }
    }
    lines
}
