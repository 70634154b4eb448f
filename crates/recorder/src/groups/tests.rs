//! Control groups of version 2 from a tree of files, and the names of groups, users and sessions.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::groups::counters::AMOUNTS;
use crate::groups::names::identify;
use crate::groups::{GROUPS_MAX, Groups};
use crate::kernel::files::Root;
use crate::people::names::Names;
use crate::people::pseudonyms::Pseudonyms;

fn write(root: &Path, file: &str, text: &str) {
    let path = root.join(file);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// `cpu.stat` of Linux 6.1 with the controller.
fn cpu_stat(usage_us: u64, throttled_us: u64) -> String {
    format!(
        "usage_usec {usage_us}\nuser_usec {}\nsystem_usec {}\nnr_periods 40\nnr_throttled 7\n\
         throttled_usec {throttled_us}\nnr_bursts 0\nburst_usec 0\n",
        usage_us / 4 * 3,
        usage_us / 4
    )
}

fn pressure(some_us: u64, full_us: u64) -> String {
    format!(
        "some avg10=0.00 avg60=0.12 avg300=0.03 total={some_us}\n\
         full avg10=0.00 avg60=0.00 avg300=0.00 total={full_us}\n"
    )
}

const CGROUP: &str = "sys/fs/cgroup";

/// A group with the files of version 2, all controllers on.
fn group(root: &Path, path: &str, usage_us: u64) {
    let file = |name: &str| format!("{CGROUP}{path}/{name}");
    write(root, &file("cpu.stat"), &cpu_stat(usage_us, usage_us / 10));
    write(root, &file("cpu.pressure"), &pressure(usage_us / 5, 0));
    write(root, &file("memory.pressure"), &pressure(usage_us / 50, usage_us / 100));
    write(root, &file("io.pressure"), &pressure(usage_us / 20, usage_us / 40));
    let io = format!(
        "259:0 rbytes={} wbytes=4096 rios={} wios=1 dbytes=0 dios=0\n8:16 rbytes=1000 wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n",
        usage_us * 8,
        usage_us / 1000
    );
    write(root, &file("io.stat"), &io);
    write(root, &file("memory.events"), "low 0\nhigh 3\nmax 2\noom 1\noom_kill 1\noom_group_kill 0\n");
    write(root, &file("memory.current"), "104857600\n");
    write(root, &file("memory.swap.current"), "8192\n");
    write(root, &file("memory.peak"), "209715200\n");
    write(root, &file("memory.max"), "max\n");
    write(root, &file("memory.stat"), "anon 73400320\nfile 20971520\nkernel 10485760\nshmem 0\n");
}

fn amounts(groups: &Groups, path: &str) -> BTreeMap<&'static str, u64> {
    let (_, grown) = groups.used().find(|(found, _)| &***found == path).unwrap();
    let named = AMOUNTS.iter().zip(grown).filter_map(|((name, _), amount)| Some((*name, (*amount)?)));
    named.collect()
}

fn version_2() -> (tempfile::TempDir, Root) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "sys/fs/cgroup/cgroup.controllers", "cpuset cpu io memory pids\n");
    // Of the root, which is sampled by the tick.
    write(folder.path(), "sys/fs/cgroup/cpu.stat", &cpu_stat(90_000_000, 0));
    let root = Root::new(folder.path());
    (folder, root)
}

#[test]
fn amounts_are_differences_in_the_units_of_the_columns() {
    let (folder, root) = version_2();
    group(folder.path(), "/system.slice", 5_000_000);
    group(folder.path(), "/system.slice/web.service", 2_000_000);
    let mut groups = Groups::open(&root);
    groups.sample(false);
    assert_eq!(groups.used().count(), 0);
    group(folder.path(), "/system.slice", 6_000_000);
    group(folder.path(), "/system.slice/web.service", 2_400_000);
    groups.sample(false);
    let web = amounts(&groups, "/system.slice/web.service");
    assert_eq!(web["cpu_s"], 400_000_000);
    assert_eq!((web["user_s"], web["system_s"]), (300_000_000, 100_000_000));
    assert_eq!((web["throttled_s"], web["throttled_periods"]), (40_000_000, 0));
    assert_eq!(
        (web["psi_cpu_some_s"], web["psi_memory_full_s"], web["psi_io_full_s"]),
        (80_000, 4_000, 10_000)
    );
    assert_eq!((web["read_bytes"], web["reads"], web["write_bytes"]), (3_200_000, 400, 0));
    // The root is the machine, and no group.
    assert_eq!(groups.used().count(), 2);
    let memory = groups.memory();
    let expected = [104_857_600, 73_400_320, 20_971_520, 8192, 209_715_200].map(Some);
    assert_eq!(memory["/system.slice/web.service"][..5], expected);
    assert_eq!(memory["/system.slice/web.service"][5], None, "no limit is null");
}

#[test]
fn an_account_is_what_is_left_without_the_groups_below() {
    let (folder, root) = version_2();
    for path in ["/a", "/a/b", "/c"] {
        group(folder.path(), path, 1_000_000);
    }
    let mut groups = Groups::open(&root);
    groups.sample(false);
    group(folder.path(), "/a", 1_500_000);
    group(folder.path(), "/a/b", 1_300_000);
    groups.sample(false);
    // By its processes /a/b had less: what came and went between two samples is not in them.
    let seen = BTreeMap::from([
        ("/a/b".to_owned(), [100_000_000, 0, 0]),
        ("/c".to_owned(), [0, 0, 0]),
        ("/".to_owned(), [7, 7, 0]),
        // Of a hierarchy that is not read.
        ("/a/elsewhere".to_owned(), [50_000_000, 50_000_000, 0]),
    ]);
    let accounts = groups.accounts(&seen).unwrap();
    let exact: BTreeMap<&str, u64> = accounts.iter().map(|(path, times)| (path.as_str(), times[0])).collect();
    let expected = [("/", 7), ("/a", 150_000_000), ("/a/b", 300_000_000), ("/a/elsewhere", 50_000_000)];
    assert_eq!(exact, BTreeMap::from(expected));
}

#[test]
fn groups_that_appear_count_from_zero_and_those_that_vanish_are_told() {
    let (folder, root) = version_2();
    group(folder.path(), "/a", 1_000_000);
    let mut groups = Groups::open(&root);
    groups.sample(false);
    group(folder.path(), "/a", 1_900_000);
    group(folder.path(), "/a/new", 800_000);
    groups.sample(false);
    assert_eq!(amounts(&groups, "/a/new")["cpu_s"], 800_000_000);
    assert_eq!(groups.take_gone(), 0);
    fs::remove_dir_all(folder.path().join(CGROUP).join("a/new")).unwrap();
    group(folder.path(), "/a", 2_000_000);
    groups.sample(true);
    assert_eq!(groups.take_gone(), 1);
    assert_eq!(groups.take_gone(), 0);
    // What it used to its end is of the group above it.
    let accounts = groups.accounts(&BTreeMap::new()).unwrap();
    assert_eq!(accounts["/a"][0], 100_000_000);
    // The next one of that name counts from zero again.
    group(folder.path(), "/a/new", 50_000);
    group(folder.path(), "/a", 2_050_000);
    groups.sample(false);
    assert_eq!(amounts(&groups, "/a/new")["cpu_s"], 50_000_000);
}

#[test]
fn groups_beyond_the_limit_are_counted_and_stay_in_the_group_above() {
    let (folder, root) = version_2();
    let file = |number: usize| format!("{CGROUP}/many/g{number:04}/cpu.stat");
    write(folder.path(), "sys/fs/cgroup/many/cpu.stat", &cpu_stat(1_000_000, 0));
    for number in 0..GROUPS_MAX + 3 {
        write(folder.path(), &file(number), &cpu_stat(1000, 0));
    }
    let mut groups = Groups::open(&root);
    groups.sample(false);
    write(folder.path(), "sys/fs/cgroup/many/cpu.stat", &cpu_stat(1_400_000, 0));
    write(folder.path(), &file(GROUPS_MAX + 2), &cpu_stat(401_000, 0));
    groups.sample(true);
    let facts = groups.to_json();
    // The root and the group above count as well.
    assert_eq!((facts["read"].as_u64(), facts["not_read"].as_u64()), (Some(999), Some(5)));
    assert_eq!(groups.accounts(&BTreeMap::new()).unwrap()["/many"][0], 400_000_000);
}

#[test]
fn names_follow_the_conventions_of_paths() {
    let folder = tempfile::tempdir().unwrap();
    let (docker, pod, kube) = ("1f".repeat(32), "5b0c1b2e-31c6-4d6e-9a0f-0123456789ab", "ab".repeat(32));
    write(folder.path(), "etc/passwd", "root:x:0:0::/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n");
    write(
        folder.path(),
        &format!("var/lib/docker/containers/{docker}/config.v2.json"),
        r#"{"ID":"x","Name":"/web","State":{}}"#,
    );
    write(folder.path(), &format!("var/log/containers/cart-7_shop_server-{kube}.log"), "");
    fs::create_dir_all(folder.path().join(format!("var/log/pods/shop_cart-7_{pod}"))).unwrap();
    fs::create_dir_all(folder.path().join("run/systemd/system")).unwrap();
    write(
        folder.path(),
        "run/systemd/sessions/4",
        "UID=1000\nUSER=alice\nCLASS=user\nSTATE=active\nTTY=pts/3\nREMOTE_HOST=10.0.0.7\n",
    );
    let mut names = Names::open(&Root::new(folder.path()), None);
    let pod_ = pod.replace('-', "_");
    let cases = [
        ("/system.slice".to_owned(), "system.slice", "slice"),
        ("/system.slice/postgresql@15-main.service".into(), "postgresql@15-main.service", "service"),
        ("/system.slice/dev\\x2dsda.mount".into(), "dev-sda.mount", "service"),
        ("/user.slice/user-1000.slice".into(), "alice", "slice"),
        ("/user.slice/user-1000.slice/user@1000.service".into(), "alice user manager", "service"),
        ("/user.slice/user-1000.slice/session-4.scope".into(), "alice pts/3", "session"),
        ("/user.slice/user-1001.slice/session-9.scope".into(), "uid 1001 session 9", "session"),
        (format!("/system.slice/docker-{docker}.scope"), "web", "container"),
        (format!("/docker/{docker}"), "web", "container"),
        (format!("/machine.slice/libpod-{}.scope", "c0".repeat(32)), "c0c0c0c0c0c0", "container"),
        (
            format!(
                "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{pod_}.slice/cri-containerd-{kube}.scope"
            ),
            "shop/cart-7/server",
            "container",
        ),
        (format!("/kubepods.slice/kubepods-burstable-pod{pod_}.slice"), "shop/cart-7", "pod"),
        (format!("/kubepods/besteffort/pod{pod}/{kube}"), "shop/cart-7/server", "container"),
        ("/lxc.payload.build".into(), "build", "container"),
        ("/machine.slice/machine-qemu\\x2d1\\x2dvm.scope".into(), "qemu-1-vm", "container"),
        ("/mine/deep".into(), "deep", "group"),
        ("/".into(), "(root group)", "group"),
    ];
    for (path, name, kind) in &cases {
        assert_eq!(names.group(path), (path.clone(), (*name).to_owned(), *kind), "{path}");
        assert_eq!(identify(path).kind(), *kind);
    }
}

#[test]
fn pseudonyms_leave_no_name_number_or_terminal_of_a_person() {
    let folder = tempfile::tempdir().unwrap();
    write(
        folder.path(),
        "etc/passwd",
        "root:x:0:0::/:/bin/sh\nalice:x:1003:1::/:/bin/sh\nbob:x:1004:1::/:/bin/sh\n\
         charlotte:x:1005:1::/:/bin/sh\nredis:x:110:1::/:/bin/sh\n",
    );
    fs::create_dir_all(folder.path().join("run/systemd/system")).unwrap();
    write(
        folder.path(),
        "run/systemd/sessions/c7",
        "UID=1003\nUSER=alice\nCLASS=user\nTTY=pts/3\nREMOTE_HOST=home\n",
    );
    write(folder.path(), "key", "0123456789abcdef");
    let key = Pseudonyms::of_file(&folder.path().join("key")).unwrap();
    let root = Root::new(folder.path());
    let mut names = Names::open(&root, Some(key.clone()));
    let (path, name, _) = names.group("/user.slice/user-1003.slice/session-c7.scope");
    let alice = key.of("uid:1003");
    let terminal = key.of("terminal:pts/3");
    assert_eq!(path, format!("/user.slice/user-{alice}.slice/session-{}.scope", key.of("login:c7")));
    assert_eq!(name, format!("user-{alice} terminal-{terminal}"));
    let (path, _, _) = names.group("/lab/1003/alice-jobs/Alices/bobsled");
    assert_eq!(path, format!("/lab/{alice}/{alice}-jobs/{alice}s/bobsled"), "a short name is a word");
    let bob = key.of("uid:1004");
    for (text, hidden) in [
        ("alicejob.py", format!("{alice}job.py")),
        ("run_bob", format!("run_{bob}")),
        ("1004.sh", format!("{bob}.sh")),
        ("job-2024.sh", "job-2024.sh".into()),
        ("éalice", format!("é{alice}")),
        ("sed", "sed".into()),
        ("compute4charlot", format!("compute4{}", key.of("uid:1005"))),
    ] {
        assert_eq!(&*names.without_people(text, false), hidden);
    }
    // Services and commands keep their names.
    assert_eq!(names.group("/system.slice/redis-server.service").1, "redis-server.service");
    // The same key elsewhere gives the same names, and another session's key others.
    assert_eq!(Names::open(&root, Some(key)).group("/user.slice/user-1003.slice").1, format!("user-{alice}"));
    let other = Pseudonyms::of_session().unwrap();
    assert_ne!(other.of("uid:1003"), alice);
    write(folder.path(), "short", "secret");
    let error = Pseudonyms::of_file(&folder.path().join("short")).unwrap_err().to_string();
    assert_eq!(error, "it has 6 bytes, and a key must have at least 16");
}
