//! Stable pseudonyms: a keyed hash, so that nobody without the key can try names.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use siphasher::sip::SipHasher24;

/// Least length of a key file [byte].
pub const KEY_BYTES: usize = 16;
/// Longest key file that is read [byte].
const KEY_BYTES_MAX: usize = 1 << 20;
/// Digits of a pseudonym: 40 bits, so that among 1,000 users two have the same in one of two million cases.
const DIGITS: usize = 8;

/// Makes pseudonyms with a key.
#[derive(Clone, Debug)]
pub struct Pseudonyms([u64; 2]);

impl Pseudonyms {
    /// With a key that nobody knows and that is forgotten with the process.
    pub fn of_session() -> io::Result<Pseudonyms> {
        let mut key = [0; KEY_BYTES];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        Ok(Pseudonyms::of_key(&key))
    }

    /// With the key in a file, so that several logs have the same pseudonyms.
    pub fn of_file(path: &Path) -> io::Result<Pseudonyms> {
        let mut key = Vec::new();
        fs::File::open(path)?.take(KEY_BYTES_MAX as u64).read_to_end(&mut key)?;
        if key.len() < KEY_BYTES {
            let problem = format!("it has {} bytes, and a key must have at least {KEY_BYTES}", key.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        Ok(Pseudonyms::of_key(&key))
    }

    fn of_key(key: &[u8]) -> Pseudonyms {
        // Any text may be a key: both halves depend on all of it.
        Pseudonyms([siphash([0, 0], key), siphash([0, 1], key)])
    }

    /// Pseudonym of `name`: digits and letters without those that are mistaken for others.
    pub fn of(&self, name: &str) -> String {
        const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
        let mut hash = siphash(self.0, name.as_bytes());
        let mut pseudonym = String::with_capacity(DIGITS);
        for _ in 0..DIGITS {
            pseudonym.push(char::from(ALPHABET[(hash % 32) as usize]));
            hash /= 32;
        }
        pseudonym
    }
}

/// SipHash-2-4 of `text`.
fn siphash(key: [u64; 2], text: &[u8]) -> u64 {
    SipHasher24::new_with_keys(key[0], key[1]).hash(text)
}

#[cfg(test)]
mod tests {
    use super::{Pseudonyms, siphash};

    #[test]
    fn the_hash_is_that_of_the_paper() {
        // Appendix A of Aumasson and Bernstein, SipHash: a fast short-input PRF (INDOCRYPT 2012): key 00 01 ... 0f,
        // text 00 01 ... 0e.
        let text: Vec<u8> = (0..15).collect();
        assert_eq!(siphash([0x0706_0504_0302_0100, 0x0f0e_0d0c_0b0a_0908], &text), 0xa129_ca61_49be_45e5);
    }

    #[test]
    fn one_key_gives_one_name_and_another_key_another() {
        let (one, other) = (Pseudonyms::of_key(b"0123456789abcdef"), Pseudonyms::of_key(b"0123456789abcdeg"));
        assert_eq!(one.of("uid:1000"), one.of("uid:1000"));
        // Logs of all versions that were recorded with one key have the same pseudonyms.
        assert_eq!(one.of("uid:0"), "dtp4e69p");
        assert_ne!(one.of("uid:1000"), one.of("uid:1001"));
        assert_ne!(one.of("uid:1000"), other.of("uid:1000"));
        assert_eq!(one.of("uid:1000").len(), 8);
    }
}
