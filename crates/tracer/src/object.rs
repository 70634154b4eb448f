//! The compiled programs: loaded into the kernel with the offsets of its own structures, and attached.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use aya_obj::btf::{Btf, BtfFeatures, BtfKind};
use aya_obj::generated::bpf_insn;
use aya_obj::maps::Map;
use aya_obj::{EbpfSectionKind, Object};

use crate::TraceError;
use crate::bpf::{self, MapArguments, Place, ProgramArguments};
use crate::formats::{self, Tracefs};

/// Compiled programs, which `bpf/compile` makes. ELF is read in place, and its numbers are aligned.
#[repr(C, align(16))]
pub(crate) struct Compiled<T: ?Sized>(T);

/// The tracer.
pub(crate) static TRACER: &Compiled<[u8]> = &Compiled(*include_bytes!("../bpf/tracer.bpf.o"));
/// The same for tracepoints whose arguments are numbers.
pub(crate) static RAW: &Compiled<[u8]> = &Compiled(*include_bytes!("../bpf/raw.bpf.o"));
/// The one for tracepoints with fields, which needs nothing of the kernel's structures.
pub(crate) static CLASSIC: &Compiled<[u8]> = &Compiled(*include_bytes!("../bpf/classic.bpf.o"));
/// The iterator over threads.
pub(crate) static THREADS: &Compiled<[u8]> = &Compiled(*include_bytes!("../bpf/threads.bpf.o"));

/// A program, where it belongs, and the kernel's name of that place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Program {
    pub name: &'static str,
    pub place: Place,
    pub target: &'static str,
}

/// Functions of the kernel that programs call by these places in the list (`FUNCTION` in `bpf/kernel.h`).
const FUNCTIONS: [&str; 5] = [
    "bpf_rcu_read_lock",
    "bpf_rcu_read_unlock",
    "bpf_iter_task_new",
    "bpf_iter_task_next",
    "bpf_iter_task_destroy",
];
/// Number of the first of them in compiled programs: the kernel's own helpers have smaller ones.
const FUNCTION_FIRST: i32 = 0x10000;

/// A value of a global constant of the programs.
pub(crate) type Constant<'a> = (&'a str, &'a [u8]);

const TYPE_ARRAY: u32 = 2;
const FLAG_READ_ONLY_FOR_PROGRAMS: u32 = 1 << 7;

/// What is known of the kernel: the offsets of its structures, or of the fields of its tracepoints.
pub(crate) struct Kernel {
    types: Btf,
    /// Numbers of the tracepoints whose fields are known.
    tracepoints: BTreeMap<&'static str, u64>,
}

impl Kernel {
    pub fn read() -> Result<Kernel, TraceError> {
        const PATH: &str = "/sys/kernel/btf/vmlinux";
        // Told apart here: the library's error does not say whether the file is missing.
        if let Err(source) = std::fs::metadata(PATH) {
            return Err(TraceError::NoTypes { source });
        }
        let types = Btf::from_sys_fs().map_err(|error| TraceError::Damaged { detail: error.to_string() })?;
        Ok(Kernel { types, tracepoints: BTreeMap::new() })
    }

    /// The same from what tracefs tells of some tracepoints, without the kernel's debugging information.
    pub fn of_tracepoints(names: impl Iterator<Item = &'static str>) -> Result<Kernel, TraceError> {
        let tracepoints = Tracefs::open()?.tracepoints(names)?;
        let types = formats::types(&tracepoints);
        // The order of bytes is this machine's.
        let types = Btf::parse(&types, Default::default())
            .map_err(|error| TraceError::Damaged { detail: error.to_string() })?;
        let tracepoints = tracepoints.into_iter().map(|(name, described)| (name, described.id)).collect();
        Ok(Kernel { types, tracepoints })
    }

    /// Number of the type of a place, 0 for one that has none; `None` if the kernel does not have it.
    fn target(&self, program: Program) -> Option<u32> {
        let (name, kind) = match program.place {
            Place::TypedTracepoint => (format!("btf_trace_{}", program.target), BtfKind::Typedef),
            Place::Iterator => (program.target.to_owned(), BtfKind::Func),
            Place::RawTracepoint | Place::Tracepoint | Place::Call => return Some(0),
        };
        self.types.id_by_type_name_kind(&name, kind).ok()
    }

    /// The instructions with the calls of the kernel's functions by their numbers in this kernel.
    fn with_functions(&self, instructions: &[bpf_insn]) -> Result<Vec<bpf_insn>, TraceError> {
        const CALL: u8 = 0x85;
        const BY_TYPE: u8 = 2;
        let mut instructions = instructions.to_vec();
        for instruction in &mut instructions {
            let index = usize::try_from(instruction.imm.wrapping_sub(FUNCTION_FIRST)).ok();
            let name = index.and_then(|index| FUNCTIONS.get(index));
            let Some(name) = name.filter(|_| instruction.code == CALL && instruction.src_reg() == 0) else {
                continue;
            };
            let number = self.types.id_by_type_name_kind(name, BtfKind::Func);
            instruction.imm = number
                .map_err(|_| TraceError::Unknown { detail: format!("the kernel has no {name}") })?
                as i32;
            instruction.set_src_reg(BY_TYPE);
        }
        Ok(instructions)
    }
}

/// The programs with their maps in the kernel, not attached yet.
pub(crate) struct Loaded {
    object: Object,
    types: OwnedFd,
    /// Maps by name.
    pub maps: BTreeMap<String, OwnedFd>,
}

impl Loaded {
    /// Creates the maps, those of `sizes` with another number of entries than compiled, and prepares the programs.
    pub fn new(
        compiled: &Compiled<[u8]>,
        kernel: &Kernel,
        sizes: &[(&str, u32)],
        constants: &[Constant<'_>],
    ) -> Result<Loaded, TraceError> {
        let damaged = |error: &dyn std::fmt::Display| TraceError::Damaged { detail: error.to_string() };
        let mut object = Object::parse(&compiled.0).map_err(|error| damaged(&error))?;
        let globals = constants.iter().map(|(name, value)| (*name, (*value, true))).collect();
        object.patch_map_data(globals).map_err(|error| damaged(&error))?;
        // Everything that the oldest kernel has which can run these programs, and no more.
        let features = BtfFeatures::new(true, true, true, true, false, false, false);
        let types = object.fixup_and_sanitize_btf(&features).map_err(|error| damaged(&error))?;
        let types = types.map(Btf::to_bytes).unwrap_or_default();
        let types = bpf::load_types(&types).map_err(TraceError::of_call("load the types of the programs"))?;
        let mut maps = BTreeMap::new();
        for (name, map) in &object.maps {
            let entries =
                sizes.iter().find(|(of, _)| of == name).map_or(map.max_entries(), |(_, size)| *size);
            let made = create(name, map, entries, &types)
                .map_err(TraceError::of_call("create the tables of the programs"))?;
            maps.insert(name.clone(), made);
        }
        let text = object
            .functions
            .keys()
            .map(|(section, _)| *section)
            .filter(|section| object.programs.values().all(|program| program.section_index != *section))
            .collect();
        object
            .relocate_btf(&kernel.types)
            .map_err(|error| TraceError::Unknown { detail: error.to_string() })?;
        let all = object.maps.clone();
        let places = all.iter().map(|(name, map)| (name.as_str(), maps[name].as_raw_fd(), map));
        object.relocate_maps(places, &text).map_err(|error| damaged(&error))?;
        object.relocate_calls(&text).map_err(|error| damaged(&error))?;
        Ok(Loaded { object, types, maps })
    }

    /// Loads a program; an error if the kernel does not have the place or refuses the program.
    pub fn load(&self, kernel: &Kernel, program: Program) -> Result<OwnedFd, TraceError> {
        let target = kernel
            .target(program)
            .ok_or_else(|| TraceError::Unknown { detail: format!("the kernel has no {}", program.target) })?;
        let function = self
            .object
            .programs
            .get(program.name)
            .and_then(|found| self.object.functions.get(&found.function_key()))
            .ok_or_else(|| TraceError::Damaged { detail: format!("no program {}", program.name) })?;
        let arguments = ProgramArguments {
            name: program.name,
            instructions: &kernel.with_functions(&function.instructions)?,
            license: &self.object.license,
            types: self.types.as_fd(),
            place: program.place,
            target,
        };
        bpf::load_program(&arguments).map_err(|(source, explanation)| {
            if explanation.is_empty() {
                return TraceError::of_call("load a program")(source);
            }
            TraceError::Refused { program: program.name, reason: last_lines(&explanation) }
        })
    }

    /// Loads and attaches a program, until the result is dropped; of one that is called, the result is the program.
    pub fn attach(&self, kernel: &Kernel, program: Program) -> Result<OwnedFd, TraceError> {
        let loaded = self.load(kernel, program)?;
        let attached = match program.place {
            Place::Call => return Ok(loaded),
            Place::TypedTracepoint => bpf::attach(loaded.as_fd(), None),
            Place::Iterator => bpf::attach_iterator(loaded.as_fd()),
            Place::RawTracepoint => {
                let name = CString::new(program.target).unwrap_or_default();
                bpf::attach(loaded.as_fd(), Some(&name))
            }
            Place::Tracepoint => match kernel.tracepoints.get(program.target) {
                Some(tracepoint) => bpf::attach_by_event(loaded.as_fd(), *tracepoint, first_cpu()),
                None => Err(io::Error::from(io::ErrorKind::NotFound)),
            },
        };
        attached.map_err(TraceError::of_call("attach a program"))
    }
}

/// Number of a CPU that is there.
fn first_cpu() -> i32 {
    let online = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap_or_default();
    let first = online.trim().split([',', '-']).next().and_then(|number| number.parse().ok());
    first.unwrap_or(0)
}

fn create(name: &str, map: &Map, entries: u32, types: &OwnedFd) -> io::Result<OwnedFd> {
    let is_data =
        map.section_kind() != EbpfSectionKind::Maps && map.section_kind() != EbpfSectionKind::BtfMaps;
    let is_constant = map.section_kind() == EbpfSectionKind::Rodata;
    let key_and_value = match map {
        Map::Btf(map) => Some((types.as_fd(), map.def.btf_key_type_id, map.def.btf_value_type_id)),
        Map::Legacy(_) => None,
    };
    let made = bpf::create_map(&MapArguments {
        name,
        ty: if is_data { TYPE_ARRAY } else { map.map_type() },
        key_size: map.key_size(),
        value_size: map.value_size(),
        entries,
        flags: if is_constant { FLAG_READ_ONLY_FOR_PROGRAMS } else { map.map_flags() },
        types: key_and_value,
    })?;
    if is_data {
        bpf::fill(made.as_fd(), map.data(), is_constant)?;
    }
    Ok(made)
}

/// The verifier says at the end what it refuses.
fn last_lines(explanation: &str) -> String {
    const LINES: usize = 4;
    let lines: Vec<_> = explanation.lines().filter(|line| !line.starts_with("processed")).collect();
    lines[lines.len().saturating_sub(LINES)..].join("; ")
}
