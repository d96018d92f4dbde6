//! The checksums in a packed bundle, and whether what was unpacked matches them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::error::{bad, Result};

pub(super) const SUMS: &str = "SHA256SUMS";
/// One of these makes a folder a bundle or an experiment.
const MANIFESTS: [&[u8]; 2] = [b"manifest.json", b"experiment.json"];

const MAX_SHOWN: usize = 200;

/// Digests of files by their names in the folder.
pub(super) type Sums = BTreeMap<Vec<u8>, String>;

/// sha256sum's lines: 64 digits, a space, a space or "*", the name.
pub(super) fn sums_of(text: &[u8]) -> Sums {
    let of_line = |line: &[u8]| {
        let at = line.iter().position(|&byte| byte == b' ')?;
        let name = line.get(at + 2..)?;
        let digest = String::from_utf8_lossy(&line[..at]).to_ascii_lowercase();
        Some((name.strip_prefix(b"./").unwrap_or(name).to_vec(), digest))
    };
    text.split(|&byte| byte == b'\n').filter_map(of_line).collect()
}

/// Whether what was unpacked is one folder that matches its checksums.
pub(super) fn whole(tops: &BTreeSet<Vec<u8>>, mut digests: Sums, sums: Option<Sums>) -> Result<()> {
    if tops.len() != 1 || !MANIFESTS.iter().any(|name| digests.contains_key(*name)) {
        return Err(bad!(
            Refused,
            "a tar archive, but not a bundle: it holds no folder with manifest.json or experiment.json; unpack it with tar"
        ));
    }
    let Some(sums) = sums else {
        return Err(bad!(
            Refused,
            "it holds no {SUMS}, so nothing proves that it is complete: unpack it with tar and open the folder"
        ));
    };
    digests.remove(SUMS.as_bytes());
    let wrong = |(name, digest): (&Vec<u8>, &String)| digests.get(name).is_some_and(|found| found != digest);
    let wrong: Vec<&Vec<u8>> = sums.iter().filter(|&sum| wrong(sum)).map(|(name, _)| name).collect();
    let missing: Vec<&Vec<u8>> = sums.keys().filter(|&name| !digests.contains_key(name)).collect();
    let extra: Vec<&Vec<u8>> = digests.keys().filter(|&name| !sums.contains_key(name)).collect();
    for (names, what) in [
        (wrong, "does not match its checksum: it was changed or damaged on the way"),
        (missing, "is missing"),
        (extra, "is not in its SHA256SUMS"),
    ] {
        if let [first, others @ ..] = names.as_slice() {
            let more = if others.is_empty() { String::new() } else { format!(" (and {} more)", others.len()) };
            return Err(bad!(Damaged(0), "{}{more} {what}", shown(first)));
        }
    }
    Ok(())
}

/// A name for a message.
pub(super) fn shown(name: &[u8]) -> String {
    let text: Cow<'_, str> = String::from_utf8_lossy(name);
    match text.char_indices().nth(MAX_SHOWN) {
        Some((at, _)) => format!("'{}...'", &text[..at]),
        None => format!("'{text}'"),
    }
}
