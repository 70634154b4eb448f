//! The system call `bpf(2)`: its commands with their arguments as structures of their own.
//!
//! The arguments of all commands share one union in the kernel's header; each command reads the first bytes of it,
//! and takes those that are not passed as zero.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use aya_obj::generated::bpf_insn;

use crate::perf::PerformanceEvent;

const MAP_CREATE: libc::c_int = 0;
const MAP_UPDATE: libc::c_int = 2;
const PROGRAM_LOAD: libc::c_int = 5;
const PROGRAM_RUN: libc::c_int = 10;
const RAW_TRACEPOINT_OPEN: libc::c_int = 17;
const DEBUGGING_INFORMATION_LOAD: libc::c_int = 18;
const MAP_FREEZE: libc::c_int = 22;
const LINK_CREATE: libc::c_int = 28;
const ITERATOR_CREATE: libc::c_int = 33;

/// Longest name that the kernel takes, with its zero.
const NAME_BYTES: usize = 16;
/// Room for the verifier's explanation of a refusal.
const EXPLANATION_BYTES: usize = 1 << 20;

/// Where a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A tracepoint, with typed arguments.
    TypedTracepoint,
    /// A tracepoint, with its arguments as numbers.
    RawTracepoint,
    /// A tracepoint, with the fields that tools read, by an event of perf.
    Tracepoint,
    /// An iterator.
    Iterator,
    /// Nothing that happens: it runs when it is called.
    Call,
}

impl Place {
    /// Number of the type of its programs: `BPF_PROG_TYPE_TRACING`, that of the tracepoint, or `BPF_PROG_TYPE_SYSCALL`.
    fn program_type(self) -> u32 {
        match self {
            Place::TypedTracepoint | Place::Iterator => 26,
            Place::RawTracepoint => 17,
            Place::Tracepoint => 5,
            Place::Call => 31,
        }
    }

    /// What programs of type tracing are attached to, by its number; 0 for the others.
    fn attach_type(self) -> u32 {
        match self {
            Place::TypedTracepoint => 23,
            Place::Iterator => 28,
            Place::RawTracepoint | Place::Tracepoint | Place::Call => 0,
        }
    }

    /// Flags of its programs: those that are called may sleep (`BPF_F_SLEEPABLE`), or the kernel refuses them.
    fn flags(self) -> u32 {
        if self == Place::Call { 1 << 4 } else { 0 }
    }
}

/// A map to create.
#[derive(Clone, Copy, Debug)]
pub struct MapArguments<'a> {
    /// Name for tools that list maps.
    pub name: &'a str,
    /// Type by its number.
    pub ty: u32,
    /// Size of a key [byte].
    pub key_size: u32,
    /// Size of a value [byte].
    pub value_size: u32,
    /// Most entries.
    pub entries: u32,
    /// Flags by their numbers.
    pub flags: u32,
    /// Debugging information with the types of key and value, which some maps need.
    pub types: Option<(BorrowedFd<'a>, u32, u32)>,
}

/// A program to load.
#[derive(Clone, Copy)]
pub struct ProgramArguments<'a> {
    /// Name for tools that list programs.
    pub name: &'a str,
    /// Its instructions, relocated.
    pub instructions: &'a [bpf_insn],
    /// Its terms of use: some functions of the kernel are for programs under the GPL.
    pub license: &'a CStr,
    /// Debugging information.
    pub types: BorrowedFd<'a>,
    /// Where it will be attached.
    pub place: Place,
    /// The type of that, by its number in the kernel's debugging information; 0 where there is none.
    pub target: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapCreate {
    ty: u32,
    key_size: u32,
    value_size: u32,
    entries: u32,
    flags: u32,
    inner: u32,
    numa_node: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    types: u32,
    key_type: u32,
    value_type: u32,
}

#[repr(C)]
#[derive(Default)]
struct MapElement {
    map: u32,
    pad: u32,
    key: u64,
    value: u64,
    flags: u64,
}

#[repr(C)]
#[derive(Default)]
struct ProgramLoad {
    ty: u32,
    count: u32,
    instructions: u64,
    license: u64,
    log_level: u32,
    log_size: u32,
    log: u64,
    kernel_version: u32,
    flags: u32,
    name: [u8; NAME_BYTES],
    interface: u32,
    place: u32,
    types: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_size: u32,
    lines: u64,
    line_count: u32,
    target: u32,
    target_in: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct ProgramRun {
    program: u32,
    returned: u32,
    sizes: [u32; 2],
    data: [u64; 2],
    repeat: u32,
    duration: u32,
    context_sizes: [u32; 2],
    contexts: [u64; 2],
    flags: u32,
    cpu: u32,
    batch: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct TypesLoad {
    types: u64,
    log: u64,
    size: u32,
    log_size: u32,
    log_level: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct TracepointOpen {
    name: u64,
    program: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct LinkCreate {
    program: u32,
    target: u32,
    place: u32,
    flags: u32,
    information: u64,
    information_size: u32,
    pad: u32,
}

#[repr(C)]
#[derive(Default)]
struct IteratorCreate {
    link: u32,
    flags: u32,
}

/// Calls the kernel; the result is not negative.
fn call<T>(command: libc::c_int, arguments: &mut T) -> io::Result<i64> {
    // SAFETY: `arguments` is a structure of plain numbers that lives through the call, and its size is passed. The
    // addresses in it are those of buffers that the callers below borrow meanwhile.
    let result = unsafe {
        libc::syscall(libc::SYS_bpf, command, std::ptr::from_mut(arguments), std::mem::size_of::<T>())
    };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn descriptor<T>(command: libc::c_int, arguments: &mut T) -> io::Result<OwnedFd> {
    let number = call(command, arguments)?;
    // SAFETY: the callers pass commands whose result is a new descriptor, which nobody else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd() as u32
}

/// A name as the kernel takes it: cut, and of letters, digits and underscores.
fn short(name: &str) -> [u8; NAME_BYTES] {
    let mut short = [0; NAME_BYTES];
    for (to, from) in short[..NAME_BYTES - 1].iter_mut().zip(name.bytes()) {
        *to = if from.is_ascii_alphanumeric() { from } else { b'_' };
    }
    short
}

/// Creates a map.
pub fn create_map(map: &MapArguments<'_>) -> io::Result<OwnedFd> {
    let (types, key_type, value_type) =
        map.types.map_or((0, 0, 0), |(types, key, value)| (number(types), key, value));
    let mut arguments = MapCreate {
        ty: map.ty,
        key_size: map.key_size,
        value_size: map.value_size,
        entries: map.entries,
        flags: map.flags,
        name: short(map.name),
        types,
        key_type,
        value_type,
        ..MapCreate::default()
    };
    descriptor(MAP_CREATE, &mut arguments)
}

/// Puts an element of an array.
pub fn put(map: BorrowedFd<'_>, key: u32, value: &[u8]) -> io::Result<()> {
    let mut arguments = MapElement {
        map: number(map),
        key: std::ptr::from_ref(&key) as u64,
        value: value.as_ptr() as u64,
        ..MapElement::default()
    };
    call(MAP_UPDATE, &mut arguments).map(drop)
}

/// Fills the only element of a map that holds the global variables of a program, and makes it constant.
pub fn fill(map: BorrowedFd<'_>, data: &[u8], is_constant: bool) -> io::Result<()> {
    put(map, 0, data)?;
    if is_constant {
        call(MAP_FREEZE, &mut number(map))?;
    }
    Ok(())
}

/// Loads debugging information.
pub fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let mut arguments =
        TypesLoad { types: types.as_ptr() as u64, size: types.len() as u32, ..TypesLoad::default() };
    descriptor(DEBUGGING_INFORMATION_LOAD, &mut arguments)
}

/// Loads a program; where the verifier refuses it, with its explanation.
pub fn load_program(program: &ProgramArguments<'_>) -> Result<OwnedFd, (io::Error, String)> {
    let arguments = || ProgramLoad {
        ty: program.place.program_type(),
        count: program.instructions.len() as u32,
        instructions: program.instructions.as_ptr() as u64,
        license: program.license.as_ptr() as u64,
        flags: program.place.flags(),
        name: short(program.name),
        place: program.place.attach_type(),
        types: number(program.types),
        target: program.target,
        ..ProgramLoad::default()
    };
    let error = match descriptor(PROGRAM_LOAD, &mut arguments()) {
        Ok(program) => return Ok(program),
        Err(error) => error,
    };
    let mut log = vec![0u8; EXPLANATION_BYTES];
    let mut explained =
        ProgramLoad { log_level: 1, log_size: log.len() as u32, log: log.as_mut_ptr() as u64, ..arguments() };
    if let Ok(program) = descriptor(PROGRAM_LOAD, &mut explained) {
        return Ok(program);
    }
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    Err((error, String::from_utf8_lossy(&log[..end]).into_owned()))
}

/// Attaches a program to the place it was loaded for, until the result is dropped; one that was loaded for no place in
/// particular, to the tracepoint of this name.
pub fn attach(program: BorrowedFd<'_>, name: Option<&CStr>) -> io::Result<OwnedFd> {
    let name = name.map_or(0, |name| name.as_ptr() as u64);
    let mut arguments = TracepointOpen { name, program: number(program), pad: 0 };
    descriptor(RAW_TRACEPOINT_OPEN, &mut arguments)
}

/// Attaches a program to the tracepoint with this number in tracefs, on all CPUs, until the result is dropped.
///
/// `cpu` is any CPU that is there: the program belongs to the tracepoint, and not to the event by which it gets there.
pub fn attach_by_event(program: BorrowedFd<'_>, tracepoint: u64, cpu: i32) -> io::Result<OwnedFd> {
    const TYPE_TRACEPOINT: u32 = 2;
    const SET_PROGRAM: libc::Ioctl = 0x4004_2408;
    const ENABLE: libc::Ioctl = 0x2400;
    let event = PerformanceEvent { kind: TYPE_TRACEPOINT, config: tracepoint, sample_period: 1, flags: 0 };
    let event = event.open(cpu)?;
    for (request, argument) in [(SET_PROGRAM, program.as_raw_fd()), (ENABLE, 0)] {
        // SAFETY: both requests take a number; the descriptors are open.
        if unsafe { libc::ioctl(event.as_raw_fd(), request, argument) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(event)
}

/// Attaches an iterator.
pub fn attach_iterator(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let mut arguments = LinkCreate {
        program: number(program),
        place: Place::Iterator.attach_type(),
        ..LinkCreate::default()
    };
    descriptor(LINK_CREATE, &mut arguments)
}

/// Calls a program that was loaded for that.
pub fn run(program: BorrowedFd<'_>) -> io::Result<()> {
    call(PROGRAM_RUN, &mut ProgramRun { program: number(program), ..ProgramRun::default() }).map(drop)
}

/// Begins a pass of an iterator: a file whose reading runs the program.
pub fn iterate(link: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    descriptor(ITERATOR_CREATE, &mut IteratorCreate { link: number(link), flags: 0 })
}
