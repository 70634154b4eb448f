//! Digest of the sources that this module is compiled from, its `SOURCES`: machines that compute for each other must have
//! the same, whatever compiled them.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// FNV-1a with 128 bits (Fowler, Noll and Vo): the same on every machine and with every compiler. It is no protection
/// against intent.
fn digest(bytes: impl IntoIterator<Item = u8>) -> u128 {
    const OFFSET_BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes.into_iter().fold(OFFSET_BASIS, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

/// Files below `folder`.
fn files(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            files(&entry.path(), found)?;
        } else {
            found.push(entry.path());
        }
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let own = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let crates = own.parent().expect("it lies among the other crates").to_owned();
    let mut found = vec![crates.join("../Cargo.lock")];
    for entry in fs::read_dir(&crates)? {
        let sources = entry?.path().join("src");
        if sources.is_dir() {
            println!("cargo::rerun-if-changed={}", sources.display());
            files(&sources, &mut found)?;
        }
    }
    println!("cargo::rerun-if-changed={}", found[0].display());
    // In no order, so that it does not matter where a file lies.
    let sum = found.iter().try_fold(0u128, |sum, path| -> io::Result<u128> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Ok(sum.wrapping_add(digest(name.into_bytes().into_iter().chain([0]).chain(fs::read(path)?))))
    })?;
    println!("cargo::rustc-env=THINKTIME_SOURCES={sum:032x}");
    Ok(())
}
