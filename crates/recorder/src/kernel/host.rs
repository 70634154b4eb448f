//! Description of the machine, for the manifest, and the units of the kernel's counters.

use serde_json::{Value as Json, json};

use crate::kernel::files::Root;

/// Clock ticks per second of the kernel's user interface (`CLK_TCK`; 100 nearly everywhere).
pub fn clock_ticks() -> u64 {
    rustix::param::clock_ticks_per_second().max(1)
}

/// Size of a page [byte].
pub fn page_bytes() -> u64 {
    rustix::param::page_size() as u64
}

/// Size of the kernel's `unsigned long` [bit]: the width at which some of its counters wrap.
pub fn long_bits() -> u32 {
    // By the kernel's architecture, not this program's: 32-bit programs run on 64-bit kernels.
    let machine = rustix::system::uname();
    let machine = machine.machine().to_string_lossy().into_owned();
    let is_64 = ["64", "s390x", "alpha", "ia64"].iter().any(|mark| machine.contains(mark));
    if is_64 { 64 } else { 32 }
}

/// Identity of this boot of the machine.
pub fn boot_id(root: &Root) -> Option<String> {
    root.text("/proc/sys/kernel/random/boot_id").filter(|id| !id.is_empty())
}

/// Hardware and kernel, for the manifest.
pub fn describe(root: &Root) -> Json {
    let name = rustix::system::uname();
    let text = |value: &std::ffi::CStr| value.to_string_lossy().into_owned();
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    // x86 has a `model name` for each CPU, ARM boards may have one `Model` at the end.
    let model = cpuinfo.lines().find(|line| line.starts_with("model name") || line.starts_with("Model"));
    let model = model.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim().to_owned());
    let stat = root.text("/proc/stat").unwrap_or_default();
    let cpus = crate::proc::stat::parse(stat.as_bytes(), "/proc/stat").map(|stat| stat.cpus.len()).ok();
    let memory = root.text("/proc/meminfo").unwrap_or_default();
    let memory = crate::proc::meminfo::parse(memory.as_bytes(), "/proc/meminfo").ok();
    json!({
        "hostname": text(name.nodename()),
        "system": text(name.sysname()),
        "kernel": text(name.release()),
        "kernel_version": text(name.version()),
        "architecture": text(name.machine()),
        "cpu_model": model,
        "cpus": cpus,
        "memory_bytes": memory.and_then(|memory| memory.total).map(|kib| kib * 1024),
        "swap_bytes": memory.and_then(|memory| memory.swap_total).map(|kib| kib * 1024),
        "clock_ticks_per_second": clock_ticks(),
        "page_bytes": page_bytes(),
    })
}

/// The inode of the initial PID namespace (PROC_PID_INIT_INO of the kernel).
const INITIAL_NAMESPACE: &str = "pid:[4026531836]";

/// True where processes have the numbers that the kernel itself calls them by.
pub fn is_first_pid_namespace(root: &Root) -> bool {
    let namespace = std::fs::read_link(root.path("/proc/self/ns/pid"));
    namespace.is_ok_and(|name| name.as_os_str() == INITIAL_NAMESPACE)
}
