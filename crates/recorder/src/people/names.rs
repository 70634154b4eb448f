//! Names of users and groups as they stand in the log, or pseudonyms in their place.

use std::collections::BTreeMap;
use std::sync::Arc;

use thinktime_log::{Row, Value};

use super::accounts::Accounts;
use super::logins::{self, Login};
use super::pseudonyms::Pseudonyms;
use super::wtmpdb::Wtmpdb;
use crate::groups::names::{Containers, Identity, identify, unescaped};
use crate::kernel::clock::Moment;
use crate::kernel::files::Root;
use crate::processes::census::{Census, Key};

/// First number of the accounts of people (login.defs(5)); below are those of the system.
const PEOPLE_FIRST: u32 = 1000;
/// The account that stands for one that does not exist here.
const NOBODY: u32 = 65_534;
/// Length from which the name of an account is replaced inside a word too: `alicejob` tells who runs it, while `ed`
/// in `sed` does not [byte].
const NAME_MIN: usize = 4;
/// Length at which the kernel cuts the name of a program off [byte].
const PROGRAM_MAX: usize = 15;
/// Texts whose form without people is kept; more are forgotten.
const TEXTS_MAX: usize = 4096;

/// Kinds of users: somebody who may log in, and everything else.
pub const PERSON: &str = "person";
pub const SYSTEM: &str = "system";

/// Name of the processes that never had a session, such as kernel threads.
const WITHOUT_SESSION: &str = "processes without a session";

fn is_person(uid: u32) -> bool {
    uid >= PEOPLE_FIRST && uid != NOBODY
}

fn kind(is_person: bool) -> &'static str {
    if is_person { PERSON } else { SYSTEM }
}

/// A user or group as it stands in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// Key: `uid:N`, `session:N` or a path.
    pub key: String,
    /// Readable name; `None` where nothing has one.
    pub name: Option<String>,
    /// Kind of user: [`PERSON`] or [`SYSTEM`]; `None` for a control group, and where it is not known.
    pub kind: Option<&'static str>,
}

/// Names of users, groups and terminals.
#[derive(Debug)]
pub struct Names {
    root: Root,
    accounts: Accounts,
    containers: Containers,
    /// Logins as of the last refresh, of utmp or logind; `None` where nothing records them.
    logins: Option<Vec<Login>>,
    /// The same with those that wtmpdb knows.
    present: Option<Vec<Login>>,
    /// Logins of wtmpdb.
    pub wtmpdb: Wtmpdb,
    now: Moment,
    pseudonyms: Option<Pseudonyms>,
    /// Names of the accounts of people in small letters, the longest first, with their pseudonyms.
    people: Vec<(String, String)>,
    /// Texts without people, by text; true for those in which every number may be an account.
    texts: BTreeMap<(bool, Arc<str>), Arc<str>>,
}

/// Logins of a user: their number, and the terminals.
pub type Places = (Option<u64>, Option<String>);

impl Names {
    /// The names of `root`.
    pub fn open(root: &Root, pseudonyms: Option<Pseudonyms>) -> Names {
        let (accounts, containers) = (Accounts::open(root), Containers::new(root));
        let mut names = Names {
            root: root.clone(),
            accounts,
            containers,
            logins: logins::read(root),
            present: None,
            wtmpdb: Wtmpdb::new(root),
            now: Moment::default(),
            pseudonyms,
            people: Vec::new(),
            texts: BTreeMap::new(),
        };
        names.list_people();
        names
    }

    /// Lists the people whose names may stand in the log nowhere.
    fn list_people(&mut self) {
        let Some(of) = &self.pseudonyms else { return };
        let mut people = BTreeMap::new();
        for (uid, name) in self.accounts.all().filter(|(uid, _)| is_person(*uid)) {
            people.insert(name.to_ascii_lowercase(), of.of(&format!("uid:{uid}")));
        }
        // Of a directory, which no table has.
        let logins = self.logins.iter().flatten().map(|login| (login.user.as_str(), login.uid));
        for (user, uid) in logins.chain(self.wtmpdb.users().map(|user| (user, None))) {
            let uid = uid.or_else(|| self.accounts.uid(user));
            if !user.is_empty() && uid.is_none_or(is_person) {
                let key = uid.map_or_else(|| format!("name:{user}"), |uid| format!("uid:{uid}"));
                people.entry(user.to_ascii_lowercase()).or_insert_with(|| of.of(&key));
            }
        }
        let mut people: Vec<_> = people.into_iter().collect();
        people.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        if people != self.people {
            self.people = people;
            self.texts.clear();
        }
    }

    /// Reads accounts and logins again.
    pub fn refresh(&mut self, now: Moment) {
        self.now = now;
        self.accounts.refresh();
        self.logins = logins::read(&self.root);
        self.wtmpdb.refresh(now);
        self.list_people();
    }

    /// Finds out who of those in the records of logins is there.
    pub fn meet(&mut self, census: &Census) {
        let accounts = &self.accounts;
        let living = self.wtmpdb.logins(census, |user| accounts.uid(user), terminal_name, self.now);
        let is_known = self.logins.is_some() || self.wtmpdb.is_read();
        let logins = self.logins.clone().unwrap_or_default();
        self.present = is_known.then(|| logins::join(logins, living));
    }

    /// Accounts that were met and have no name.
    pub fn unknown(&self) -> usize {
        self.accounts.unknown()
    }

    /// A user, for the log.
    pub fn user(&mut self, key: &Key, census: &Census) -> Shown {
        match key {
            Key::Uid(uid) => Shown {
                key: self.key("uid", *uid),
                name: self.account(*uid),
                kind: Some(kind(is_person(*uid))),
            },
            Key::Session(0) => Shown {
                key: self.key("session", 0),
                name: Some(WITHOUT_SESSION.to_owned()),
                kind: Some(SYSTEM),
            },
            Key::Session(session) => {
                let first = census.first_of_session(*session);
                // Whoever sits at a terminal is somebody, root too; daemons have none.
                let kind = first.map(|facts| kind(is_person(facts.uid) || facts.stat.terminal != 0));
                let name = first.and_then(|facts| {
                    let account = self.account(facts.uid).unwrap_or_else(|| self.key("uid", facts.uid));
                    Some(match self.terminal(&terminal_name(facts.stat.terminal)?) {
                        terminal if terminal.is_empty() => account,
                        terminal => format!("{account} {terminal}"),
                    })
                });
                Shown { key: self.key("session", *session), name, kind }
            }
            Key::Cgroup(path) => {
                let (path, name, _) = self.group(path);
                Shown { key: path, name: Some(name), kind: None }
            }
        }
    }

    /// A key of no known kind.
    pub fn unknown_key(&self, key: &str) -> Shown {
        let key =
            self.pseudonyms.as_ref().map_or_else(|| key.to_owned(), |of| format!("user:{}", of.of(key)));
        Shown { key, name: None, kind: None }
    }

    fn key(&self, kind: &str, number: impl std::fmt::Display) -> String {
        let key = format!("{kind}:{number}");
        self.pseudonyms.as_ref().map_or_else(|| key.clone(), |of| format!("{kind}:{}", of.of(&key)))
    }

    /// Name of an account, or its pseudonym.
    fn account(&mut self, uid: u32) -> Option<String> {
        match &self.pseudonyms {
            Some(of) => Some(format!("user-{}", of.of(&format!("uid:{uid}")))),
            None => self.accounts.name(uid).map(str::to_owned),
        }
    }

    fn terminal(&self, name: &str) -> String {
        match &self.pseudonyms {
            Some(of) if !name.is_empty() => format!("terminal-{}", of.of(&format!("terminal:{name}"))),
            _ => name.to_owned(),
        }
    }

    /// Path, readable name and kind of a group, for the log.
    pub fn group(&mut self, path: &str) -> (String, String, &'static str) {
        let shown = self.path(path);
        let identity = identify(path);
        let last = || unescaped(shown.rsplit('/').next().unwrap_or(&shown));
        let account =
            |names: &mut Names, uid: u32| names.account(uid).unwrap_or_else(|| format!("uid {uid}"));
        let name = match &identity {
            Identity::UserSlice(uid) => account(self, *uid),
            Identity::UserManager(uid) => format!("{} user manager", account(self, *uid)),
            Identity::Session(id, uid) => self.session(id, *uid),
            Identity::Container(id) => {
                let name = self.containers.container(id);
                self.without_people(&name, true).to_string()
            }
            Identity::Pod(id) => {
                let name = self.containers.pod(id);
                self.without_people(&name, true).to_string()
            }
            Identity::NamedContainer(name) => self.without_people(&unescaped(name), true).to_string(),
            Identity::Group(_) if path == "/" => "(root group)".into(),
            Identity::Slice(_) | Identity::Service(_) | Identity::Scope(_) | Identity::Group(_) => last(),
        };
        (shown, name, identity.kind())
    }

    fn session(&mut self, id: &str, uid: Option<u32>) -> String {
        let login = self.logins.iter().flatten().find(|login| login.id == id).cloned();
        let uid = uid.or_else(|| login.as_ref().and_then(|login| login.uid));
        let account = uid.and_then(|uid| self.account(uid).or_else(|| Some(format!("uid {uid}"))));
        let place = login.map(|login| self.terminal(&login.terminal)).filter(|place| !place.is_empty());
        let id = self.pseudonyms.as_ref().map_or_else(|| id.to_owned(), |of| of.of(&format!("login:{id}")));
        let place = place.unwrap_or_else(|| format!("session {id}"));
        account.map_or_else(|| place.clone(), |account| format!("{account} {place}"))
    }

    /// A path in which users and sessions have pseudonyms, if so asked.
    fn path(&mut self, path: &str) -> String {
        let Some(of) = self.pseudonyms.clone() else { return path.to_owned() };
        let part = |part: &str| match identify(part) {
            Identity::UserSlice(uid) => format!("user-{}.slice", of.of(&format!("uid:{uid}"))),
            Identity::UserManager(uid) => format!("user@{}.service", of.of(&format!("uid:{uid}"))),
            Identity::Session(id, _) => format!("session-{}.scope", of.of(&format!("login:{id}"))),
            _ => self.without_people(part, true).to_string(),
        };
        path.split('/').map(part).collect::<Vec<_>>().join("/")
    }

    /// Puts pseudonyms for the accounts of people in the texts of `rows`, if so asked, except in column `key`.
    pub fn hide(&mut self, rows: &mut [Row], key: Option<usize>) {
        if self.pseudonyms.is_none() {
            return;
        }
        for (column, value) in rows.iter_mut().flat_map(|row| row.iter_mut().enumerate()) {
            match value {
                Value::Text(text) if Some(column) != key => *text = self.without_people(text, false),
                _ => {}
            }
        }
    }

    /// `text` with pseudonyms for the accounts of people, if so asked: for their names, and for numbers that are an
    /// account's, or with `any_number` may be one's that no table has.
    pub fn without_people(&mut self, text: &str, any_number: bool) -> Arc<str> {
        let Some(of) = &self.pseudonyms else { return text.into() };
        let place = (any_number, Arc::from(text));
        if let Some(found) = self.texts.get(&place) {
            return Arc::clone(found);
        }
        let number = |word: &str| {
            let uid = word.parse().ok().filter(|uid| is_person(*uid))?;
            (any_number || self.accounts.has(uid)).then(|| of.of(&format!("uid:{uid}")))
        };
        let shown: Arc<str> = with_pseudonyms(text, &self.people, number).into();
        if self.texts.len() >= TEXTS_MAX {
            self.texts.clear();
        }
        self.texts.insert(place, Arc::clone(&shown));
        shown
    }

    /// Logins of a user and their terminals, for the log.
    pub fn places(&mut self, key: &Key, census: &Census) -> Places {
        let Some(logins) = &self.present else {
            let terminal = match key {
                Key::Session(session) => census.first_of_session(*session),
                _ => None,
            };
            let terminal = terminal.and_then(|facts| terminal_name(facts.stat.terminal));
            return (None, terminal.map(|name| self.terminal(&name)).filter(|name| !name.is_empty()));
        };
        let accounts = &self.accounts;
        let is_own = |login: &&Login| match key {
            Key::Uid(uid) => login.uid.or_else(|| accounts.uid(&login.user)) == Some(*uid),
            Key::Session(session) => census
                .first_of_session(*session)
                .and_then(|facts| terminal_name(facts.stat.terminal))
                .is_some_and(|terminal| !terminal.is_empty() && terminal == login.terminal),
            Key::Cgroup(path) => match identify(path) {
                Identity::Session(id, _) => login.id == id,
                _ => false,
            },
        };
        let own: Vec<&Login> = logins.iter().filter(is_own).collect();
        let place = |login: &&Login| match &self.pseudonyms {
            // Where somebody came from tells who it is.
            Some(_) => Some(self.terminal(&login.terminal)).filter(|name| !name.is_empty()),
            None => login.place(),
        };
        let places: Vec<String> = own.iter().filter_map(place).collect();
        let count = match key {
            Key::Uid(_) => Some(own.len() as u64),
            Key::Session(_) | Key::Cgroup(_) => None,
        };
        (count, (!places.is_empty()).then(|| places.join("; ")))
    }
}

/// `text` with pseudonyms for names in it, however they are written, and for words that `number` knows.
fn with_pseudonyms(
    text: &str,
    people: &[(String, String)],
    number: impl Fn(&str) -> Option<String>,
) -> String {
    let small = text.to_ascii_lowercase();
    let is_part = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
    let (mut shown, mut place) = (String::with_capacity(text.len()), 0);
    while let Some(letter) = text[place..].chars().next() {
        let is_start = !is_part(text[..place].chars().next_back());
        let is_word = |length: usize| is_start && !is_part(text[place + length..].chars().next());
        let person = people.iter().find(|(name, _)| {
            small[place..].starts_with(name.as_str()) && (name.len() >= NAME_MIN || is_word(name.len()))
        });
        let digits = text[place..].bytes().take_while(u8::is_ascii_digit).count();
        // The kernel may have cut a name off within that of a person.
        let rest = &small[place..];
        let is_cut = text.len() == PROGRAM_MAX && rest.len() >= NAME_MIN;
        let cut = people.iter().find(|(name, _)| is_cut && name.starts_with(rest));
        let person = person.map(|(name, pseudonym)| (name.len(), pseudonym.clone()));
        let cut = || cut.map(|(_, pseudonym)| (rest.len(), pseudonym.clone()));
        let found = person.or_else(cut).or_else(|| {
            let is_number = digits > 0 && is_word(digits);
            is_number.then(|| number(&text[place..place + digits])).flatten().map(|found| (digits, found))
        });
        if let Some((length, pseudonym)) = found {
            shown.push_str(&pseudonym);
            place += length;
        } else {
            shown.push(letter);
            place += letter.len_utf8();
        }
    }
    shown
}

/// Name of a terminal by its device number (Documentation/admin-guide/devices.txt of the kernel); empty for none, and
/// `None` for a number that no device has.
fn terminal_name(device: i32) -> Option<String> {
    let device = u32::try_from(device).ok()?;
    let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
    Some(match (major, minor) {
        (0, 0) => String::new(),
        (136..=143, _) => format!("pts/{}", (major - 136) * 256 + minor),
        (4, 0..64) => format!("tty{minor}"),
        (4, _) => format!("ttyS{}", minor - 64),
        _ => format!("tty {major}:{minor}"),
    })
}
