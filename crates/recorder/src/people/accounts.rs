//! Names of accounts, without the name service switch.
//!
//! The static recorder cannot load the libraries of that switch, and a directory server that does not answer must not
//! hold up a sample in any of the recorders. So both read the same files: the table of accounts, and, for accounts
//! that are elsewhere, what the service manager writes of users who are logged in or were made for a service.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::kernel::files::Root;

const PASSWD: &str = "/etc/passwd";
/// Accounts that are not in the table and were asked for; more are forgotten.
const OTHERS_MAX: usize = 65_536;

/// Names of accounts by their number.
#[derive(Debug)]
pub struct Accounts {
    root: Root,
    names: BTreeMap<u32, String>,
    /// Accounts that the table does not have: their name from elsewhere, or none.
    others: BTreeMap<u32, Option<String>>,
    /// Time of change [s, ns] and size of the table as it was read.
    version: Option<(i64, i64, u64)>,
}

impl Accounts {
    /// The accounts of `root`.
    pub fn open(root: &Root) -> Accounts {
        let mut accounts =
            Accounts { root: root.clone(), names: BTreeMap::new(), others: BTreeMap::new(), version: None };
        accounts.refresh();
        accounts
    }

    /// Reads the table again if it has changed, and asks again for accounts that had no name.
    pub fn refresh(&mut self) {
        self.others.clear();
        let path = self.root.path(PASSWD);
        let Ok(file) = fs::metadata(&path) else { return };
        let version = Some((file.mtime(), file.mtime_nsec(), file.size()));
        if version == self.version {
            return;
        }
        if let Ok(text) = fs::read(path) {
            self.version = version;
            self.names = parse(&text);
        }
    }

    /// Name of the account; `None` where no file has it.
    pub fn name(&mut self, uid: u32) -> Option<&str> {
        if self.names.contains_key(&uid) {
            return self.names.get(&uid).map(String::as_str);
        }
        if self.others.len() >= OTHERS_MAX {
            self.others.clear();
        }
        let root = &self.root;
        self.others.entry(uid).or_insert_with(|| elsewhere(root, uid)).as_deref()
    }

    /// Number of the account of that name in the table.
    pub fn uid(&self, name: &str) -> Option<u32> {
        self.names.iter().find(|(_, own)| *own == name).map(|(uid, _)| *uid)
    }

    /// True for an account that was met, or that the table has.
    pub fn has(&self, uid: u32) -> bool {
        self.names.contains_key(&uid) || self.others.contains_key(&uid)
    }

    /// Accounts of the table.
    pub fn all(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(uid, name)| (*uid, name.as_str()))
    }

    /// Accounts that were asked for and have no name.
    pub fn unknown(&self) -> usize {
        self.others.values().filter(|name| name.is_none()).count()
    }
}

/// Names by number; of two with one number the first, as getpwuid(3) does.
fn parse(text: &[u8]) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    for line in text.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b':');
        let (Some(name), Some(uid)) = (fields.next(), fields.nth(1)) else { continue };
        let uid = std::str::from_utf8(uid).ok().and_then(|uid| uid.parse().ok());
        // Lines of NIS begin with a sign and are no account.
        if let Some(uid) =
            uid.filter(|_| !name.is_empty() && !name.starts_with(b"+") && !name.starts_with(b"-"))
        {
            names.entry(uid).or_insert_with(|| String::from_utf8_lossy(name).into_owned());
        }
    }
    names
}

/// Name of an account of a directory whose user is logged in, or of one that was made for a service.
fn elsewhere(root: &Root, uid: u32) -> Option<String> {
    let user = root.text(&format!("/run/systemd/users/{uid}"));
    let name = user.as_ref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("NAME=")));
    let name = name.map(str::to_owned).or_else(|| {
        let link = fs::read_link(root.path(&format!("/run/systemd/dynamic-uid/direct:{uid}"))).ok()?;
        link.to_str().map(str::to_owned)
    });
    name.filter(|name| !name.is_empty())
}
