//! Readable names of control groups, from the conventions of their paths (systemd.unit(5), file-hierarchy(7), and the
//! cgroup drivers of Docker, Podman, CRI-O, containerd and Kubernetes).

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value as Json;

use crate::kernel::files::Root;

/// What is known of a group by its path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity<'a> {
    /// Slice of units, by its name.
    Slice(&'a str),
    /// Slice of everything that a user runs.
    UserSlice(u32),
    /// Service manager of a user.
    UserManager(u32),
    /// Service, by its name.
    Service(&'a str),
    /// Processes that something else than the service manager started.
    Scope(&'a str),
    /// Login session, by the name that logind gave it, and its user.
    Session(&'a str, Option<u32>),
    /// Container, by its identifier.
    Container(&'a str),
    /// Container or machine that has its name in the path.
    NamedContainer(&'a str),
    /// Pod, by its identifier.
    Pod(String),
    /// Any other.
    Group(&'a str),
}

/// Prefixes of the scopes and folders of containers; 64 hexadecimal digits follow.
const CONTAINERS: [&str; 6] = ["docker-", "libpod-", "cri-containerd-", "crio-", "nerdctl-", ""];

/// The identity of the group at `path`.
pub fn identify(path: &str) -> Identity<'_> {
    let last = path.rsplit('/').next().unwrap_or(path);
    let stem = last.strip_suffix(".scope").unwrap_or(last);
    let is_id = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(id) = CONTAINERS.iter().find_map(|prefix| stem.strip_prefix(prefix).filter(|id| is_id(id))) {
        return Identity::Container(id);
    }
    if let Some(pod) = pod(last) {
        return Identity::Pod(pod);
    }
    for prefix in ["lxc.payload.", "machine-"] {
        if let Some(name) = stem.strip_prefix(prefix).filter(|name| !name.is_empty()) {
            return Identity::NamedContainer(name);
        }
    }
    if let Some(name) = last.strip_prefix("systemd-nspawn@").and_then(|name| name.strip_suffix(".service")) {
        return Identity::NamedContainer(name);
    }
    let uid = |text: &str, suffix: &str| text.strip_suffix(suffix).and_then(|uid| uid.parse().ok());
    if let Some(uid) = last.strip_prefix("user-").and_then(|rest| uid(rest, ".slice")) {
        return Identity::UserSlice(uid);
    }
    if let Some(uid) = last.strip_prefix("user@").and_then(|rest| uid(rest, ".service")) {
        return Identity::UserManager(uid);
    }
    if let Some(session) = last.strip_prefix("session-").and_then(|rest| rest.strip_suffix(".scope")) {
        return Identity::Session(session, owner(path));
    }
    match last.rsplit_once('.').map(|(_, kind)| kind) {
        Some("slice") => Identity::Slice(last),
        Some("service" | "socket" | "mount" | "swap") => Identity::Service(last),
        Some("scope") => Identity::Scope(last),
        _ => Identity::Group(last),
    }
}

/// The user in whose slice a group is.
pub fn owner(path: &str) -> Option<u32> {
    let uid = |part: &str| part.strip_prefix("user-")?.strip_suffix(".slice")?.parse().ok();
    path.split('/').rev().find_map(uid)
}

/// Identifier of a pod: `pod<uid>`, or in systemd's form `kubepods-burstable-pod<uid_with_underscores>.slice`.
fn pod(last: &str) -> Option<String> {
    let stem = last.strip_suffix(".slice").unwrap_or(last);
    let stem = match stem.strip_prefix("kubepods-") {
        Some(rest) => rest.rsplit('-').next().unwrap_or(rest),
        None => stem,
    };
    let id = stem.strip_prefix("pod")?;
    let is_id = id.len() >= 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit() || b"-_".contains(&byte));
    is_id.then(|| id.replace('_', "-"))
}

impl Identity<'_> {
    /// The kind, as in column `kind`.
    pub fn kind(&self) -> &'static str {
        match self {
            Identity::Slice(_) | Identity::UserSlice(_) => "slice",
            Identity::UserManager(_) | Identity::Service(_) => "service",
            Identity::Scope(_) => "scope",
            Identity::Session(..) => "session",
            Identity::Container(_) | Identity::NamedContainer(_) => "container",
            Identity::Pod(_) => "pod",
            Identity::Group(_) => "group",
        }
    }
}

/// A unit's name as it was before systemd escaped it: `\x2d` is `-` (systemd.unit(5)).
pub fn unescaped(name: &str) -> String {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let code = rest.strip_prefix(b"\\x").and_then(|code| code.get(..2));
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) => (bytes.push(byte), rest = &rest[4..]).1,
            None => (bytes.push(*first), rest = tail).1,
        }
    }
    String::from_utf8(bytes).unwrap_or_else(|_| name.to_owned())
}

/// Names of containers and pods, from files that their engines keep: no daemon is asked.
#[derive(Debug)]
pub struct Containers {
    root: Root,
    /// Names by identifier; `None` for one that no file names.
    names: BTreeMap<String, Option<String>>,
}

/// Names that are kept; a machine on which more containers come and go asks again.
const NAMES_MAX: usize = 4096;
/// Largest file that is read for a name [byte].
const FILE_MAX: u64 = 1 << 24;

impl Containers {
    /// No name read yet.
    pub fn new(root: &Root) -> Containers {
        Containers { root: root.clone(), names: BTreeMap::new() }
    }

    /// Name of the container `id`, else the twelve digits by which engines show it.
    pub fn container(&mut self, id: &str) -> String {
        let short = || id[..id.len().min(12)].to_owned();
        self.name(id, |root| docker(root, id).or_else(|| kubelet(root, id)).or_else(|| podman(root, id)))
            .unwrap_or_else(short)
    }

    /// Name of the pod `id`, with its namespace; else its identifier.
    pub fn pod(&mut self, id: &str) -> String {
        self.name(id, |root| pod_name(root, id)).unwrap_or_else(|| format!("pod {id}"))
    }

    fn name(&mut self, id: &str, read: impl FnOnce(&Root) -> Option<String>) -> Option<String> {
        if !self.names.contains_key(id) {
            if self.names.len() >= NAMES_MAX {
                self.names.clear();
            }
            let name = read(&self.root);
            self.names.insert(id.to_owned(), name);
        }
        self.names.get(id).cloned().flatten()
    }
}

fn json(root: &Root, path: &str) -> Option<Json> {
    let path = root.path(path);
    let is_small = fs::metadata(&path).is_ok_and(|file| file.is_file() && file.len() <= FILE_MAX);
    serde_json::from_slice(&fs::read(path).ok().filter(|_| is_small)?).ok()
}

fn docker(root: &Root, id: &str) -> Option<String> {
    let file = json(root, &format!("/var/lib/docker/containers/{id}/config.v2.json"))?;
    Some(file.get("Name")?.as_str()?.trim_start_matches('/').to_owned())
}

/// Of root's containers; those of users are in their homes.
fn podman(root: &Root, id: &str) -> Option<String> {
    let file = json(root, "/var/lib/containers/storage/overlay-containers/containers.json")?;
    let container =
        file.as_array()?.iter().find(|container| container.get("id").is_some_and(|own| own == id))?;
    Some(container.get("names")?.get(0)?.as_str()?.to_owned())
}

/// Kubelet's logs are `<pod>_<namespace>_<container>-<id>.log`.
fn kubelet(root: &Root, id: &str) -> Option<String> {
    let end = format!("-{id}.log");
    let name = find(root, "/var/log/containers", |name| name.ends_with(&end))?;
    let mut parts = name.strip_suffix(&end)?.splitn(3, '_');
    let (pod, namespace, container) = (parts.next()?, parts.next()?, parts.next()?);
    Some(format!("{namespace}/{pod}/{container}"))
}

/// Kubelet's folders of logs are `<namespace>_<pod>_<uid>`.
fn pod_name(root: &Root, id: &str) -> Option<String> {
    let end = format!("_{id}");
    let name = find(root, "/var/log/pods", |name| name.ends_with(&end))?;
    let (namespace, pod) = name.strip_suffix(&end)?.split_once('_')?;
    Some(format!("{namespace}/{pod}"))
}

fn find(root: &Root, folder: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let entries = fs::read_dir(root.path(folder)).ok()?.flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).find(|name| is_it(name))
}
