//! Single events on their way from the kernel to the log.
//!
//! One thread reads the rings of the CPUs before they are full. What it has read waits in memory, then in files without a
//! name beside the log, until a second thread makes parts of the table `events` of it: while few events come, at once; while
//! many come, only at the end, since a row costs more than an event.

use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use arrow_array::builder::{Float64Builder, StringBuilder, TimestampMicrosecondBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use rustix::fs::{Mode, OFlags};
use thinktime_log::{LogError, SharedWriter, TableId, TableSchema, vocabulary};
use thinktime_tracer::{Event, Events, Record};

use crate::kernel::clock::{Clock, SystemClock};

/// Time between two looks at the rings: a tenth of that in which the busiest CPU would fill its own.
const LOOK: Duration = Duration::from_millis(10);
/// Rows of a part.
const PART_EVENTS: usize = 1 << 19;
/// The same while samples are taken, which have to wait for the log in the tenth of a second that its rows take.
const PART_MEANWHILE: usize = 1 << 17;
/// Records that wait together, for their events to be a part.
const PART_RECORDS: usize = PART_EVENTS / Record::EVENTS_MAX;
/// Time that is left to them between two parts.
const PAUSE: Duration = Duration::from_millis(5);
/// Age at which a smaller part is made, so that a reader sees what happened.
const PART_AGE: Duration = Duration::from_secs(60);
/// Parts that wait in memory; more wait in files.
const IN_MEMORY: usize = 3;
/// Parts that wait at most, 4 GB of files: what comes then is lost.
const WAITING_MAX: usize = 384;
/// Records a second above which no part is made before the end: it would take CPUs from what is measured.
const BUSY: f64 = 70_000.0;

/// Whose an event is, as the log has it.
#[derive(Clone, Debug, Default)]
pub struct Label {
    pub user: Option<Arc<str>>,
    pub name: Option<Arc<str>>,
    pub command: Option<Arc<str>>,
}

/// Records whose events wait to be written, in memory or in a file.
enum Waiting {
    Memory(Vec<Record>),
    File(File),
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    is_complete: bool,
}

/// What the threads share.
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
    labels: Mutex<Vec<Label>>,
    /// Monotonic times from and until which events are written [ns]: those of the first sample and of the last one so far.
    begin_ns: AtomicI64,
    end_ns: AtomicI64,
    /// Wall clock less monotonic clock [ns].
    offset_ns: AtomicI64,
    is_over: AtomicBool,
    is_busy: AtomicBool,
    /// Records read, and those whose events are written.
    read: AtomicU64,
    done: AtomicU64,
    /// Events written, and records lost in rings and for want of room.
    written: AtomicU64,
    lost: AtomicU64,
}

/// The events of a recording.
pub struct Stream {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<io::Result<()>>>,
    writer: Option<JoinHandle<Result<(), LogError>>>,
    /// What was lost, as the log was last told.
    told: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A thread that panicked left whole values behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Stream {
    /// Begins to read `events` into the table `table` of the log in `folder`.
    pub fn begin(
        events: Events,
        writer: SharedWriter,
        table: TableId,
        folder: &Path,
        is_anonymous: bool,
    ) -> Stream {
        let shared = Arc::new(Shared {
            queue: Mutex::default(),
            changed: Condvar::new(),
            labels: Mutex::default(),
            begin_ns: AtomicI64::new(i64::MAX),
            end_ns: AtomicI64::new(i64::MIN),
            offset_ns: AtomicI64::new(0),
            is_over: AtomicBool::new(false),
            is_busy: AtomicBool::new(false),
            read: AtomicU64::new(0),
            done: AtomicU64::new(0),
            written: AtomicU64::new(0),
            lost: AtomicU64::new(0),
        });
        let (of_reader, of_writer) = (Arc::clone(&shared), Arc::clone(&shared));
        let folder = folder.to_owned();
        let reader = std::thread::spawn(move || Reader::new(events, of_reader, folder).run());
        let writer = std::thread::spawn(move || write(&of_writer, &writer, table, is_anonymous));
        Stream { shared, reader: Some(reader), writer: Some(writer), told: 0 }
    }

    /// Events before `now_ns` are not written, unless an earlier time was said.
    pub fn begin_at(&self, now_ns: i64) {
        self.shared.begin_ns.fetch_min(now_ns, Ordering::AcqRel);
    }

    /// A sample: events until `now_ns` may be written, with these labels of accounts by their numbers. The wall clock is
    /// `offset_ns` ahead of the monotonic one.
    pub fn sample(&self, now_ns: i64, offset_ns: i64, labels: impl Iterator<Item = (u16, Label)>) {
        let mut known = locked(&self.shared.labels);
        for (number, label) in labels {
            let number = usize::from(number);
            if known.len() <= number {
                known.resize_with(number + 1, Label::default);
            }
            known[number] = label;
        }
        drop(known);
        self.shared.offset_ns.store(offset_ns, Ordering::Release);
        self.shared.end_ns.store(now_ns, Ordering::Release);
        self.shared.changed.notify_all();
    }

    /// True if account `number` has a label.
    pub fn knows(&self, number: u16) -> bool {
        locked(&self.shared.labels).get(usize::from(number)).is_some_and(|label| label.command.is_some())
    }

    /// Records that were lost since the last call: switches, each of up to three events, and others.
    pub fn take_lost(&mut self) -> u64 {
        let lost = self.lost();
        lost - std::mem::replace(&mut self.told, lost)
    }

    /// Records that were lost so far.
    pub fn lost(&self) -> u64 {
        self.shared.lost.load(Ordering::Acquire)
    }

    /// Events in the log so far.
    pub fn written(&self) -> u64 {
        self.shared.written.load(Ordering::Acquire)
    }

    /// Reads what is left in the rings and writes all that waits; tells now and then how much is done.
    pub fn finish(&mut self, mut tell: impl FnMut(String)) -> Result<(), LogError> {
        const TELL: Duration = Duration::from_secs(2);
        self.shared.is_over.store(true, Ordering::Release);
        // Its errors are those of files, whose events it has counted as lost.
        let _ = self.reader.take().map(JoinHandle::join);
        locked(&self.shared.queue).is_complete = true;
        self.shared.changed.notify_all();
        let Some(writer) = self.writer.take() else { return Ok(()) };
        let (mut told, mut done) = (Instant::now(), 0);
        while !writer.is_finished() {
            std::thread::sleep(LOOK);
            if told.elapsed() >= TELL && self.written() > done {
                (told, done) = (Instant::now(), self.written());
                let all = self.shared.read.load(Ordering::Acquire).max(1);
                let share = 100.0 * self.shared.done.load(Ordering::Acquire) as f64 / all as f64;
                tell(format!("writing the events of {all} switches to the log: {share:.0} % done"));
            }
        }
        writer.join().unwrap_or(Ok(()))
    }
}

impl Drop for Stream {
    /// Of a recording that failed: what waits is not written.
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Release);
        let _ = self.reader.take().map(JoinHandle::join);
        let mut queue = locked(&self.shared.queue);
        queue.is_complete = true;
        queue.waiting.clear();
        drop(queue);
        self.shared.changed.notify_all();
        let _ = self.writer.take().map(JoinHandle::join);
    }
}

/// Reads the rings.
struct Reader {
    events: Events,
    shared: Arc<Shared>,
    folder: PathBuf,
    current: Vec<Record>,
    since: Instant,
    /// Records that found no room in files.
    dropped: u64,
}

impl Reader {
    fn new(events: Events, shared: Arc<Shared>, folder: PathBuf) -> Reader {
        Reader { events, shared, folder, current: Vec::new(), since: Instant::now(), dropped: 0 }
    }

    fn run(mut self) -> io::Result<()> {
        const RATE_EVERY: Duration = Duration::from_secs(1);
        let (mut rate_since, mut rate_read) = (Instant::now(), 0);
        let mut read = 0;
        loop {
            let is_last = self.shared.is_over.load(Ordering::Acquire);
            // What happens while the rings are read one after the other is not complete: it waits for the next time.
            let until_ns = SystemClock.now().monotonic_ns;
            let before = self.current.len();
            self.events.read(&mut self.current);
            read += (self.current.len() - before) as u64;
            self.shared.read.store(read, Ordering::Release);
            self.shared.lost.store(self.events.lost() + self.dropped, Ordering::Release);
            if rate_since.elapsed() >= RATE_EVERY {
                let rate = (read - rate_read) as f64 / rate_since.elapsed().as_secs_f64();
                self.shared.is_busy.store(rate > BUSY, Ordering::Release);
                (rate_since, rate_read) = (Instant::now(), read);
            }
            let is_due = self.current.len() >= PART_RECORDS || self.since.elapsed() >= PART_AGE;
            if is_last || is_due && !self.current.is_empty() {
                self.push(if is_last { i64::MAX } else { until_ns })?;
            }
            if is_last {
                return Ok(());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Puts the records until `until_ns` into the queue.
    fn push(&mut self, until_ns: i64) -> io::Result<()> {
        self.since = Instant::now();
        let mut part =
            std::mem::replace(&mut self.current, Vec::with_capacity(PART_RECORDS + PART_RECORDS / 8));
        part.retain(|record| {
            let is_due = record.time_ns() as i64 <= until_ns;
            if !is_due {
                self.current.push(*record);
            }
            is_due
        });
        let waiting = locked(&self.shared.queue).waiting.len();
        let waiting = if waiting < IN_MEMORY {
            Waiting::Memory(part)
        } else {
            let count = part.len() as u64;
            let file = if waiting < WAITING_MAX {
                file_of(&self.folder, &part)
            } else {
                Err(io::ErrorKind::StorageFull.into())
            };
            match file {
                Ok(file) => Waiting::File(file),
                Err(_) => {
                    self.dropped += count;
                    return Ok(());
                }
            }
        };
        locked(&self.shared.queue).waiting.push_back(waiting);
        self.shared.changed.notify_all();
        Ok(())
    }
}

/// A file without a name that holds `records`: nothing is left of it after a crash.
fn file_of(folder: &Path, records: &[Record]) -> io::Result<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    const AT_ONCE: usize = 1 << 12;
    let mut bytes = Vec::with_capacity(AT_ONCE * Record::BYTES);
    for records in records.chunks(AT_ONCE) {
        bytes.clear();
        records.iter().for_each(|record| bytes.extend_from_slice(&record.to_bytes()));
        file.write_all(&bytes)?;
    }
    file.rewind()?;
    Ok(file)
}

impl Waiting {
    fn records(self) -> io::Result<Vec<Record>> {
        match self {
            Waiting::Memory(records) => Ok(records),
            Waiting::File(mut file) => {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                Ok(bytes.chunks_exact(Record::BYTES).filter_map(Record::of_bytes).collect())
            }
        }
    }
}

/// Makes parts of what waits, until the reader has ended.
fn write(shared: &Shared, writer: &SharedWriter, table: TableId, is_anonymous: bool) -> Result<(), LogError> {
    let schema = vocabulary::events();
    let mut numbers = is_anonymous.then(Numbers::default);
    while let Some(waiting) = next(shared) {
        let mut records = waiting.records().unwrap_or_default();
        let begin_ns = shared.begin_ns.load(Ordering::Acquire);
        records.sort_by_key(Record::time_ns);
        let last_ns = records.last().map_or(i64::MIN, |record| record.time_ns() as i64);
        // Whose the latest are is known after the next sample.
        let mut queue = locked(&shared.queue);
        while shared.end_ns.load(Ordering::Acquire) < last_ns && !queue.is_complete {
            queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
        drop(queue);
        let end_ns = shared.end_ns.load(Ordering::Acquire);
        let of_records = records.len() as u64;
        records.retain(|record| (begin_ns..=end_ns).contains(&(record.time_ns() as i64)));
        let mut events = Vec::with_capacity(records.len() * Record::EVENTS_MAX);
        records.iter().for_each(|record| record.events(&mut events));
        drop(records);
        // A wake-up is told of when the task has its CPU: it may be earlier than the events of the part before.
        events.sort_by_key(|event| event.time_ns);
        let offset_ns = shared.offset_ns.load(Ordering::Acquire);
        let labels = locked(&shared.labels).clone();
        let is_complete = locked(&shared.queue).is_complete;
        for events in events.chunks(if is_complete { PART_EVENTS } else { PART_MEANWHILE }) {
            let batch = batch(&schema, events, &labels, offset_ns, numbers.as_mut());
            // A writer whose other user panicked still holds only complete blocks.
            writer.lock().unwrap_or_else(PoisonError::into_inner).write_part(table, [Ok(batch)])?;
            shared.written.fetch_add(events.len() as u64, Ordering::AcqRel);
            if !is_complete {
                std::thread::sleep(PAUSE);
            }
        }
        shared.done.fetch_add(of_records, Ordering::AcqRel);
    }
    Ok(())
}

/// The next events to write: at once while few come, else when all have come. `None` at the end.
fn next(shared: &Shared) -> Option<Waiting> {
    let mut queue = locked(&shared.queue);
    loop {
        let may = queue.is_complete || !shared.is_busy.load(Ordering::Acquire);
        if let Some(waiting) = may.then(|| queue.waiting.pop_front()).flatten() {
            return Some(waiting);
        }
        if queue.is_complete {
            return None;
        }
        queue = shared.changed.wait(queue).unwrap_or_else(PoisonError::into_inner);
    }
}

/// Numbers in place of those of threads and processes, which may be those of sessions.
#[derive(Default)]
struct Numbers(BTreeMap<u32, u64>);

impl Numbers {
    fn of(&mut self, number: u32) -> u64 {
        let next = self.0.len() as u64 + 1;
        *self.0.entry(number).or_insert(next)
    }
}

/// Rows of events.
fn batch(
    schema: &TableSchema,
    events: &[Event],
    labels: &[Label],
    offset_ns: i64,
    mut numbers: Option<&mut Numbers>,
) -> RecordBatch {
    let mut number = |given: u32| match &mut numbers {
        Some(numbers) => numbers.of(given),
        None => u64::from(given),
    };
    let none = Label::default();
    let label = |event: &Event| labels.get(usize::from(event.account)).unwrap_or(&none);
    let texts = |of: &dyn Fn(&Event) -> Option<Arc<str>>| -> ArrayRef {
        let mut texts = StringBuilder::with_capacity(events.len(), 8 * events.len());
        events.iter().for_each(|event| texts.append_option(of(event)));
        Arc::new(texts.finish())
    };
    let words = |of: &dyn Fn(&Event) -> Option<&'static str>| -> ArrayRef {
        let mut words = StringBuilder::with_capacity(events.len(), 8 * events.len());
        events.iter().for_each(|event| words.append_option(of(event)));
        Arc::new(words.finish())
    };
    let counts = |of: &mut dyn FnMut(&Event) -> Option<u64>| -> ArrayRef {
        let mut counts = UInt64Builder::with_capacity(events.len());
        events.iter().for_each(|event| counts.append_option(of(event)));
        Arc::new(counts.finish())
    };
    let columns = schema.columns.iter().map(|column| -> ArrayRef {
        match column.name.as_str() {
            "time" => {
                let mut times = TimestampMicrosecondBuilder::with_capacity(events.len()).with_timezone("UTC");
                for event in events {
                    times.append_value((event.time_ns as i64 + offset_ns).div_euclid(1000));
                }
                Arc::new(times.finish())
            }
            "amount" => {
                let mut amounts = Float64Builder::with_capacity(events.len());
                events.iter().for_each(|event| amounts.append_option(event.amount_in_unit()));
                Arc::new(amounts.finish())
            }
            "kind" => words(&|event| Some(event.kind)),
            "unit" => words(&|event| event.amount.map(|_| event.unit())),
            "reason" => words(&Event::reason),
            "user" => texts(&|event| label(event).user.clone()),
            "command" => texts(&|event| label(event).command.clone()),
            "cpu" => counts(&mut |event| event.cpu.map(u64::from)),
            "task" => counts(&mut |event| Some(number(event.task))),
            "process" => counts(&mut |event| (event.process != 0).then(|| number(event.process))),
            _ => texts(&|event| label(event).name.clone()),
        }
    });
    let columns: Vec<ArrayRef> = columns.collect();
    let fields = schema.columns.iter().map(|column| column.name.clone()).zip(columns);
    RecordBatch::try_from_iter(fields).expect("all columns have a value for each event")
}
