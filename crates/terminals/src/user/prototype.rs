//! The prototype process, which runs on a user's terminal (Brachman 1983, chapter 4).
//!
//! It calls the kernel without the buffers of the standard library: the counts of reads, writes and bytes are those of
//! the system calls.

use std::io::ErrorKind;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags, SeekFrom};
use rustix::process::getpid;
use rustix::time::ClockId;

use crate::driver::terminal::PROMPT;
use crate::load::random::{Part, Stream};
use crate::load::workload::{BLOCK_BYTES, Class, LINE_CHARACTERS};
use crate::nursery::message::{Program, Report, Service};
use crate::nursery::process::{end_if_hung_up, exit_now, patient, retry, take};
use crate::user::compute::{nanoseconds, spin};
use crate::user::memory::{Array, touch_fresh};
use crate::user::usage::Usage;
use crate::user::waits::Accounts;

/// The resident parts of a user's process.
struct Prototype<'a> {
    user: u32,
    program: &'a Program,
    array: Array,
    scratch: Scratch,
    accounts: Accounts,
}

/// A block of a device: a page, which every disk takes as one request, at an address that direct requests may have.
const DEVICE_BLOCK_BYTES: usize = 4096;

#[repr(align(4096))]
struct Buffer([u8; DEVICE_BLOCK_BYTES]);

/// The file that a process reads and writes.
struct Scratch {
    file: OwnedFd,
    /// Offset of its first block [byte].
    start: u64,
    block_bytes: usize,
    buffer: Box<Buffer>,
}

/// Serves the terminal until it is hung up. The error is a sentence for the driver's user.
pub(crate) fn run(
    user: u32,
    program: &Program,
    terminal: OwnedFd,
    report: BorrowedFd<'_>,
) -> Result<(), String> {
    end_if_hung_up(take(&terminal)).map_err(|error| format!("cannot take the terminal: {error}"))?;
    drop(terminal);
    for group in &program.groups {
        // 0 is this process.
        std::fs::write(group.join("cgroup.procs"), "0")
            .map_err(|error| format!("cannot enter control group {}: {error}", group.display()))?;
    }
    // A session is scheduled as a whole on most kernels (autogroups, sched(7)): the nice value of its process would
    // count within it alone.
    if let (false, Ok(nice)) = (program.groups.is_empty(), rustix::process::getpriority_process(None)) {
        let _ = std::fs::write("/proc/self/autogroup", nice.to_string());
    }
    let mut prototype = Prototype {
        user,
        program,
        array: Array::resident(program.workload.array_bytes).map_err(|error| {
            format!("cannot get an array of {} bytes: {error}", program.workload.array_bytes)
        })?,
        scratch: Scratch::open(&program.scratch, user, program.workload.scratch_blocks).map_err(|error| {
            format!("cannot make a scratch file in {}: {error}", program.scratch.display())
        })?,
        accounts: Accounts::open(),
    };
    let session = getpid().as_raw_nonzero().get();
    let unreachable = |_| "cannot report to the driver".to_owned();
    Report::Ready { user, session }.send(report).map_err(unreachable)?;
    write_terminal(PROMPT)?;
    // Longer than any input: a class of 32 characters, a blank, 20 digits and a newline.
    let mut line = [0u8; 256];
    let mut before = (Usage::now(), prototype.accounts.now());
    loop {
        let length = match patient(|| rustix::io::read(rustix::stdio::stdin(), &mut line)) {
            // The driver has closed the terminal.
            Ok(0) | Err(rustix::io::Errno::IO) => return Ok(()),
            Err(error) => return Err(format!("cannot read the terminal: {error}")),
            Ok(length) => length,
        };
        let began_ns = nanoseconds(ClockId::Monotonic);
        let (class, index) = parse(program, &line[..length])?;
        let children_are_kernel = class.exec_share == 0.0;
        let mut service = Service { user, index, began_ns, children_are_kernel, ..Service::default() };
        prototype.interact(class, index, &mut service)?;
        // Before the prompt: when the driver has it the response is over, and a wait for a CPU after it is no part.
        service.waits = prototype.accounts.now().since(&before.1);
        write_terminal(PROMPT)?;
        service.output_bytes += PROMPT.len() as u64;
        // After the prompt, whose write belongs to the interaction, though the driver may see it earlier.
        service.usage = Usage::now().since(&before.0);
        Report::Done(service).send(report).map_err(unreachable)?;
        // Sending the report belongs to no interaction.
        before = (Usage::now(), prototype.accounts.now());
    }
}

/// Writes all of `bytes` to the terminal.
fn write_terminal(mut bytes: &[u8]) -> Result<(), String> {
    while !bytes.is_empty() {
        match patient(|| rustix::io::write(rustix::stdio::stdout(), bytes)) {
            Ok(written) => bytes = &bytes[written..],
            // Hung up: the SIGHUP that ends this process is on its way.
            Err(rustix::io::Errno::IO) => exit_now(0),
            Err(error) => return Err(format!("cannot write to the terminal: {error}")),
        }
    }
    Ok(())
}

/// True if `path` is a block device.
pub(crate) fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_block_device())
}

impl Scratch {
    /// The scratch file of `user` with `blocks` blocks: a file of its own in a folder, or a part of a device, whose
    /// requests then pass no cache.
    fn open(place: &Path, user: u32, blocks: u64) -> std::io::Result<Scratch> {
        let buffer = Box::new(Buffer([b'.'; DEVICE_BLOCK_BYTES]));
        if !is_device(place) {
            let file = scratch_file(place, blocks)?;
            return Ok(Scratch { file, start: 0, block_bytes: BLOCK_BYTES, buffer });
        }
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC;
        let file = rustix::fs::open(place, flags, Mode::empty())?;
        let bytes = blocks * DEVICE_BLOCK_BYTES as u64;
        let start = u64::from(user - 1) * bytes;
        if rustix::fs::seek(&file, SeekFrom::End(0))? < start + bytes {
            return Err(std::io::Error::other("the device has no room for this user"));
        }
        Ok(Scratch { file, start, block_bytes: DEVICE_BLOCK_BYTES, buffer })
    }

    /// Moves the position to `block`.
    fn seek(&self, block: u64) -> rustix::io::Result<u64> {
        rustix::fs::seek(&self.file, SeekFrom::Start(self.start + block * self.block_bytes as u64))
    }

    /// Writes a block at the position.
    fn write(&self) -> rustix::io::Result<usize> {
        patient(|| rustix::io::write(&self.file, &self.buffer.0[..self.block_bytes]))
    }

    /// Reads the block at the position.
    fn read(&mut self) -> rustix::io::Result<usize> {
        patient(|| rustix::io::read(self.file.as_fd(), &mut self.buffer.0[..self.block_bytes]))
    }
}

/// A file of `blocks` blocks without a name: it disappears with its process, however that ends.
fn scratch_file(folder: &Path, blocks: u64) -> std::io::Result<OwnedFd> {
    let mode = Mode::RUSR | Mode::WUSR;
    let file = match rustix::fs::open(folder, OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, mode) {
        // File systems without unnamed files (overlayfs before Linux 6.1, NFS): named for an instant.
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::ISDIR | rustix::io::Errno::INVAL) => {
            let path = folder.join(format!(".thinktime-scratch-{}", getpid().as_raw_nonzero()));
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let file = rustix::fs::open(&path, flags, mode)?;
            rustix::fs::unlink(&path)?;
            file
        }
        other => other?,
    };
    // Written in full, not extended by ftruncate(2): reads of holes would need no block.
    let chunk = [b'.'; 64 * BLOCK_BYTES];
    let mut left = blocks * BLOCK_BYTES as u64;
    while left > 0 {
        let length = left.min(chunk.len() as u64) as usize;
        match retry(|| rustix::io::write(&file, &chunk[..length]))? {
            0 => return Err(ErrorKind::WriteZero.into()),
            written => left -= written as u64,
        }
    }
    Ok(file)
}

/// An input line is the name of a class and the number of the interaction.
fn parse<'a>(program: &'a Program, line: &[u8]) -> Result<(&'a Class, u64), String> {
    let text = String::from_utf8_lossy(line);
    let mut words = text.split_whitespace();
    let class =
        words.next().and_then(|name| program.workload.classes.iter().find(|class| class.name == name));
    let index = words.next().and_then(|number| number.parse().ok());
    class.zip(index).ok_or_else(|| format!("cannot understand the input {text:?}"))
}

impl Prototype<'_> {
    /// Performs one interaction: array, compute loop, file, fresh memory, children, pause, output, in this order.
    fn interact(&mut self, class: &Class, index: u64, service: &mut Service) -> Result<(), String> {
        let amounts = class.amounts(self.program.seed, self.user, index);
        self.array.touch(index);
        let iteration_steps = self.program.workload.iteration_s * self.program.steps_per_s;
        for _ in 0..amounts.compute_iterations {
            spin(iteration_steps as u64);
        }
        self.use_file(class, index, amounts.file_blocks, service)
            .map_err(|error| format!("cannot use the scratch file: {error}"))?;
        touch_fresh(amounts.fresh_pages).map_err(|error| format!("cannot get fresh memory: {error}"))?;
        let mut stream = Stream::at(self.program.seed, self.user, Part::Forks, index);
        // The first number of this stream gave the amount.
        stream.next_u64();
        for _ in 0..amounts.forks {
            let execute = stream.uniform() < class.exec_share;
            self.accounts.fork_and_wait(execute).map_err(|error| format!("cannot fork: {error}"))?;
            service.forks += 1;
        }
        if amounts.pause_s > 0.0 {
            std::thread::sleep(std::time::Duration::from_secs_f64(amounts.pause_s));
        }
        for number in 0..amounts.output_lines {
            let line = output_line(self.user, index, number);
            write_terminal(&line)?;
            service.output_bytes += line.len() as u64;
        }
        Ok(())
    }

    /// Reads and writes `blocks` blocks of the scratch file.
    fn use_file(
        &mut self,
        class: &Class,
        index: u64,
        blocks: u64,
        service: &mut Service,
    ) -> std::io::Result<()> {
        let mut stream = Stream::at(self.program.seed, self.user, Part::File, index);
        // The first number of this stream gave the amount.
        stream.next_u64();
        let size = self.program.workload.scratch_blocks;
        let mut position = stream.below(size);
        self.scratch.seek(position)?;
        for _ in 0..blocks {
            if stream.uniform() < class.seek_share {
                position = stream.below(size);
                self.scratch.seek(position)?;
            } else if position == size {
                // A read there would return nothing, and a write would make the file grow.
                position = 0;
                self.scratch.seek(position)?;
            }
            if stream.uniform() < class.write_share {
                self.scratch.write()?;
                service.writes += 1;
                if stream.uniform() < class.sync_share {
                    retry(|| rustix::fs::fdatasync(&self.scratch.file))?;
                }
            } else {
                self.scratch.read()?;
                service.reads += 1;
            }
            position += 1;
        }
        Ok(())
    }
}

/// A string of 25 characters, the first of which stands for the user, and a newline. It has only letters and
/// digits, so that it can never contain the prompt's marker.
fn output_line(user: u32, index: u64, number: u64) -> [u8; LINE_CHARACTERS + 1] {
    const SYMBOLS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut line = [b'\n'; LINE_CHARACTERS + 1];
    for (index_in_line, symbol) in line[1..LINE_CHARACTERS].iter_mut().enumerate() {
        *symbol = SYMBOLS
            [(index as usize).wrapping_add(number as usize).wrapping_add(index_in_line) % SYMBOLS.len()];
    }
    line[0] = SYMBOLS[user as usize % SYMBOLS.len()];
    line
}
