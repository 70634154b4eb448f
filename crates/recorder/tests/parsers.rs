//! The parse functions on files of real kernels, on hand-written ones of other kernels. Noise is in `fuzzing`.

use std::path::Path;

use thinktime_recorder::proc::*;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/proc").join(name);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn stat_of_this_kernel() {
    let stat = stat::parse(&fixture("linux-6.18/proc/stat"), "stat").unwrap();
    assert_eq!(stat.cpus.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), [0, 1]);
    let sum = |of: fn(&stat::CpuTicks) -> u64| stat.cpus.iter().map(|(_, ticks)| of(ticks)).sum::<u64>();
    // The line of all CPUs is their sum, rounded down once instead of once a CPU.
    assert!(stat.total.user.abs_diff(sum(|ticks| ticks.user)) <= 2);
    assert!(stat.total.idle.abs_diff(sum(|ticks| ticks.idle)) <= 2);
    assert!(stat.total.steal.is_some());
    assert_eq!(stat.softirqs.len(), 10);
    assert!(stat.forks.unwrap() > 1000 && stat.context_switches.unwrap() > stat.forks.unwrap());
}

#[test]
fn stat_of_an_old_kernel() {
    let stat = stat::parse(&fixture("linux-2.6.32/proc/stat"), "stat").unwrap();
    assert_eq!(stat.total.iowait, Some(44349));
    assert_eq!(stat.total.steal, Some(0));
    assert_eq!(stat.boot_time, Some(1_288_000_000));
    assert_eq!(stat.softirqs[2], 1647);
    // 2.4 had four states, and none of the counters below.
    let stat = stat::parse(b"cpu  1 2 3 4\ncpu0 1 2 3 4\nctxt 5\n", "stat").unwrap();
    assert_eq!((stat.total.idle, stat.total.iowait, stat.forks), (4, None, None));
}

#[test]
fn stat_of_a_large_machine_with_cpus_plugged_out() {
    let mut text = String::from("cpu  0 0 0 0 0 0 0 0 0 0\n");
    let online: Vec<u32> = (0..256).filter(|cpu| cpu % 7 != 3).collect();
    for cpu in &online {
        text += &format!("cpu{cpu} {cpu} 0 0 18446744073709551615 0 0 0 0 0 0\n");
    }
    let stat = stat::parse(text.as_bytes(), "stat").unwrap();
    assert_eq!(stat.cpus.iter().map(|(cpu, _)| *cpu).collect::<Vec<_>>(), online);
    assert_eq!(stat.cpus[10].1.user, u64::from(online[10]));
    assert_eq!(stat.cpus[10].1.idle, u64::MAX);
}

#[test]
fn vmstat_sums_zones_once() {
    let old = vmstat::parse(&fixture("linux-2.6.32/proc/vmstat"), "vmstat").unwrap();
    assert_eq!(old.allocated, Some(3210));
    assert_eq!(old.stolen, Some(321));
    assert_eq!(old.scanned, Some(50));
    assert_eq!(old.faults, Some(123_456));
    // Newer kernels split the same pages twice: by who took them, and by what they were.
    let text = b"pgsteal_kswapd 5\npgsteal_direct 7\npgsteal_khugepaged 1\npgsteal_anon 4\npgsteal_file 9\n\
                 pgscan_direct 8\npgscan_direct_throttle 99\npgscan_anon 8\n";
    let new = vmstat::parse(text, "vmstat").unwrap();
    assert_eq!((new.stolen, new.scanned, new.swap_in), (Some(13), Some(8), None));
    let here = vmstat::parse(&fixture("linux-6.18/proc/vmstat"), "vmstat").unwrap();
    assert!(here.faults > here.faults_major && here.allocated.is_some() && here.paged_in_kib.is_some());
}

#[test]
fn diskstats_of_two_kernels() {
    let here = diskstats::parse(&fixture("linux-6.18/proc/diskstats"), "diskstats").unwrap();
    let vda = here.iter().find(|disk| disk.name == "vda").unwrap();
    assert!(vda.reads > 0 && vda.read_sectors >= vda.reads && vda.busy_ms <= vda.queue_ms);
    let old = diskstats::parse(&fixture("linux-2.6.32/proc/diskstats"), "diskstats").unwrap();
    let names: Vec<_> = old.iter().map(|disk| disk.name.as_str()).collect();
    assert_eq!(names, ["sda", "sda1", "dm-0", "loop0", "sdb"], "four-field partitions are passed over");
    assert_eq!((old[0].reads, old[0].write_ms, old[0].in_progress, old[0].queue_ms), (1000, 4000, 1, 7000));
}

#[test]
fn interfaces_with_and_without_a_blank_after_the_colon() {
    let old = net_dev::parse(&fixture("linux-2.6.32/proc/net/dev"), "dev").unwrap();
    let names: Vec<_> = old.iter().map(|interface| interface.name.as_str()).collect();
    assert_eq!(names, ["lo", "eth0", "eth0:1"]);
    assert_eq!((old[1].bytes_in, old[1].drops_in), (123_456_789, 2));
    assert_eq!((old[1].bytes_out, old[1].errors_out), (987_654_321, 3));
    let here = net_dev::parse(&fixture("linux-6.18/proc/net/dev"), "dev").unwrap();
    assert!(here.iter().any(|interface| interface.name == "lo"));
}

#[test]
fn gauges() {
    let old = meminfo::parse(&fixture("linux-2.6.32/proc/meminfo"), "meminfo").unwrap();
    assert_eq!((old.total, old.available, old.dirty), (Some(2_057_388), None, Some(12)));
    let load = loadavg::parse(&fixture("linux-2.6.32/proc/loadavg"), "loadavg").unwrap();
    assert_eq!((load.one_minute, load.fifteen_minutes, load.threads), (0.20, 0.12, Some(80)));
    let pressure = pressure::parse(&fixture("linux-6.18/proc/pressure/io"), "io").unwrap();
    assert!(pressure.some_us >= pressure.full_us && pressure.full_us.is_some());
}

#[test]
fn processes_with_any_name() {
    let odd = process_stat::parse(&fixture("linux-6.18/proc/4242/stat"), "stat").unwrap();
    assert_eq!((odd.pid, odd.state, odd.threads, odd.is_kernel_thread), (4242, b'S', 1, false));
    assert!(odd.start_ticks > 0 && odd.resident_pages > 0 && odd.faults_minor > 0);
    let kernel = process_stat::parse(&fixture("linux-6.18/proc/2/stat"), "stat").unwrap();
    assert!(kernel.is_kernel_thread && kernel.parent == 0);
    let old = process_stat::parse(&fixture("linux-2.6.32/proc/1/stat"), "stat").unwrap();
    assert_eq!((old.user_ticks, old.children_system_ticks, old.start_ticks), (10, 7000, 5));
    assert_eq!((old.faults_minor, old.children_faults_minor, old.resident_pages), (1000, 50_000, 200));
    let text = b"7 () x) R 1 ) 0 0) S 3 7 9 34816 -1 64 1 2 3 4 5 6 7 8 20 0 2 0 99 1 -1";
    assert_eq!(process_stat::parse(text, "stat").unwrap().session, 9, "the last bracket ends the name");

    let gives_way = |nice: i32, class: u32| {
        let rest = "0 ".repeat(16);
        let text = format!("7 (x) S 3 7 9 0 -1 64 1 2 3 4 5 6 7 8 20 {nice} 1 0 99 1 5 {rest}{class} 33");
        let stat = process_stat::parse(text.as_bytes(), "stat").unwrap();
        assert_eq!(stat.io_wait_ticks, 33);
        stat.is_low_priority
    };
    let all = [(0, 0), (-20, 0), (9, 0), (10, 0), (19, 3), (0, 3), (0, 5)]
        .map(|(nice, class)| gives_way(nice, class));
    assert_eq!(all, [false, false, false, true, true, false, true]);
}

#[test]
fn groups_of_all_hierarchies() {
    let parse = |text: &str| cgroup::parse(text.as_bytes());
    assert_eq!(parse("0::/user.slice\n").as_deref(), Some("/user.slice"));
    let hybrid = fixture("linux-6.18/proc/4242/cgroup");
    assert_eq!(cgroup::parse(&hybrid).as_deref(), Some("/user.slice/user-1000.slice/session-3.scope"));
    assert_eq!(parse("4:memory:/a\n3:cpu,cpuacct:/b\n").as_deref(), Some("/b"));
    assert_eq!(parse("0::/a:b/c\n").as_deref(), Some("/a:b/c"), "a path may hold colons");
    assert_eq!(parse("1:cpu:/\n0::/\n").as_deref(), Some("/"));
    assert_eq!(parse(""), None);
}

#[test]
fn exact_times() {
    assert_eq!(cpu_usage::parse_cpuacct(b"415676225302\n", "usage").unwrap(), 415_676_225_302);
    let text = b"usage_usec 12\nuser_usec 8\nsystem_usec 4\n";
    assert_eq!(cpu_usage::parse_cpu_stat(text, "cpu.stat").unwrap(), 12_000);
    let thread = schedstat::parse_thread(b"1234423 2455024 2\n", "schedstat").unwrap();
    assert_eq!((thread.run_ns, thread.wait_ns, thread.slices), (1_234_423, 2_455_024, 2));
    let text =
        b"version 15\ntimestamp 4295\ncpu0 0 0 0 0 0 0 100 5 1\ndomain0 3 0\ncpu1 0 0 0 0 0 0 23 5 1\n";
    assert_eq!(schedstat::parse_run_queues(text, "schedstat").unwrap(), Some(123));
}

#[test]
fn sessions_in_both_books() {
    let mut record = vec![0u8; 384];
    record[0] = 7;
    let mut book = record.clone();
    record[0] = 8;
    book.extend(&record);
    record[0] = 7;
    book.extend(&record);
    assert_eq!(utmp::count_sessions(&book), 2);
    assert_eq!(utmp::count_sessions(&book[..1000]), 1, "a record cut off is none");
    assert!(utmp::is_user_session(b"UID=1000\nCLASS=user\nSTATE=active\n"));
    assert!(!utmp::is_user_session(b"UID=120\nCLASS=greeter\nSTATE=active\n"));
    assert!(!utmp::is_user_session(b"UID=1000\nCLASS=user\nSTATE=closing\n"));
}

#[test]
fn clients_of_graphics_devices() {
    let i915 = drm::parse(&fixture("drm/i915")).unwrap();
    assert_eq!((i915.device.as_str(), i915.id, i915.memory), ("0000:00:02.0", 7, Some(2 << 20)));
    assert_eq!(i915.engines.keys().collect::<Vec<_>>(), ["copy", "render", "video"]);
    assert_eq!(i915.engines["render"].busy_ns, Some(9_288_864_723));
    assert_eq!((i915.engines["video"].busy_ns, i915.engines["video"].capacity), (Some(500), 2));
    let amdgpu = drm::parse(&fixture("drm/amdgpu")).unwrap();
    assert_eq!((amdgpu.id, amdgpu.memory, amdgpu.engines.len()), (10, Some(4 << 10), 2));
    let xe = drm::parse(&fixture("drm/xe")).unwrap();
    assert_eq!((xe.memory, xe.engines["rcs"].busy_ns), (Some(4096), None));
    // A tenth of the cycles of a second.
    let later = drm::Engine {
        cycles: Some(28_257_900 + 50),
        total_cycles: Some(7_655_183_225 + 500),
        ..xe.engines["rcs"]
    };
    assert_eq!(later.grown_ns(&xe.engines["rcs"], 1_000_000_000), Some(100_000_000));
    assert_eq!(xe.engines["rcs"].grown_ns(&later, 1_000_000_000), None, "the cycles of the clock went back");
    for other in
        ["", "pos:\t0\n", "drm-client-id:\t1\n", "drm-driver:\ti915\n", "drm-driver:\n drm-client-id:\tx\n"]
    {
        assert_eq!(drm::parse(other.as_bytes()), None, "{other}");
    }
    let without_device = drm::parse(b"drm-driver: v3d\ndrm-client-id: 2\ndrm-memory-a: 5 GB\n").unwrap();
    assert_eq!((without_device.device.as_str(), without_device.memory), ("v3d", None));
}

#[test]
fn errors_name_file_line_and_field() {
    let error = stat::parse(b"cpu  1 2 3 4\nctxt 99999999999999999999\n", "/proc/stat").unwrap_err();
    let text = error.to_string();
    for part in ["/proc/stat", "line 2", "ctxt", "99999999999999999999"] {
        assert!(text.contains(part), "{text} lacks {part}");
    }
    let error = process_stat::parse(b"1 (init) S 0 1 1", "/proc/1/stat").unwrap_err();
    assert!(error.to_string().contains("/proc/1/stat") && error.to_string().contains("is missing"));
    assert!(stat::parse(b"ctxt 1\n", "/proc/stat").is_err(), "a file without the line of all CPUs");
    assert!(cpu_usage::parse_cpuacct(b"-3\n", "usage").is_err());
}
