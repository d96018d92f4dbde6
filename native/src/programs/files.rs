//! Which of this machine's files is the one that was recorded, and its bytes.
//!
//! A capture comes from anyone, and names whatever it likes: only regular files are opened, of a size that programs
//! have, none of the kernel's own file systems, and only as many as a machine may run.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{open, Mode, OFlags};

use crate::programs::elf::{build_id, is_elf};

/// Bytes of a file. The largest programs with all that debuggers know of them have some GB.
const LARGEST: u64 = 2 << 30;
/// Files that are looked for in a recording.
pub const MOST_FILES: usize = 4096;
/// Where distributions keep what debuggers know.
const DEBUG: &str = "/usr/lib/debug";
/// Where regular files are no programs: reading them asks the kernel. Devices are no regular files.
const NOT_IN: [&str; 2] = ["/proc", "/sys"];

/// Where to look.
#[derive(Debug, Clone, Default)]
pub struct Search {
    /// Folders that were given, which go before what was recorded: with `.build-id`, files by their whole path, or by
    /// their name alone.
    pub folders: Vec<PathBuf>,
}

/// What was found of a program: the file that was mapped, and the one with what debuggers know.
#[derive(Debug)]
pub struct Program {
    /// Its bytes.
    pub mapped: Vec<u8>,
    /// None where it is the same file, or none.
    pub debug: Option<Vec<u8>>,
}

impl Search {
    /// The program at this path with this build id, if that was recorded. Another one is never taken.
    pub fn program(&self, path: &str, id: Option<&str>) -> Option<Program> {
        // "[vdso]", "//anon" and the like are no files.
        if !path.starts_with('/') || path.starts_with("//") {
            return None;
        }
        let fits = |bytes: &Vec<u8>| is_elf(bytes) && id.is_none_or(|id| build_id(bytes).as_deref() == Some(id));
        let mapped = self.mapped(path, id).find_map(|path| read(&path).filter(fits));
        let known = id.map(str::to_owned).or_else(|| build_id(mapped.as_ref()?));
        let debug = known.and_then(|id| {
            let fits = |bytes: &Vec<u8>| build_id(bytes).as_deref() == Some(&id);
            self.debug(&id).find_map(|path| read(&path).filter(fits))
        });
        match (mapped, debug) {
            (Some(mapped), debug) => Some(Program { mapped, debug }),
            // What was parted from it has its addresses too.
            (None, Some(debug)) => Some(Program { mapped: debug, debug: None }),
            (None, None) => None,
        }
    }

    fn mapped<'a>(&'a self, path: &'a str, id: Option<&'a str>) -> impl Iterator<Item = PathBuf> + 'a {
        let inside = Path::new(path.trim_start_matches('/'));
        // "/bin/../../x" would lead out of a folder.
        let is_plain = inside.components().all(|part| matches!(part, Component::Normal(_)));
        let given = self.folders.iter().flat_map(move |folder| {
            let by_id = id.and_then(|id| Some(folder.join(".build-id").join(by_id(id, "")?)));
            let by_path = is_plain.then(|| folder.join(inside));
            let by_name = inside.file_name().filter(|_| is_plain).map(|name| folder.join(name));
            [by_id, by_path, by_name].into_iter().flatten()
        });
        given.chain([PathBuf::from(path)])
    }

    fn debug<'a>(&'a self, id: &'a str) -> impl Iterator<Item = PathBuf> + 'a {
        let folders = self.folders.iter().map(PathBuf::as_path).chain([Path::new(DEBUG)]);
        folders.filter_map(|folder| Some(folder.join(".build-id").join(by_id(id, ".debug")?)))
    }
}

/// `ab/cdef`: a build id is of hexadecimal digits, so it leads nowhere else.
fn by_id(id: &str, ending: &str) -> Option<PathBuf> {
    let (first, rest) = id.split_at_checked(2)?;
    let is_id = !rest.is_empty() && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| Path::new(first).join(format!("{rest}{ending}")))
}

/// The bytes of a regular file, if it is one. It is looked at before it is opened, for opening a device may do
/// something; and again when it is open, for it may be another by then.
fn read(path: &Path) -> Option<Vec<u8>> {
    let path = fs::canonicalize(path).ok()?;
    if NOT_IN.iter().any(|folder| path.starts_with(folder)) || !is_program(&fs::metadata(&path).ok()?) {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::CLOEXEC;
    let file = File::from(open(&path, flags, Mode::empty()).ok()?);
    let found = file.metadata().ok()?;
    if !is_program(&found) {
        return None;
    }
    let mut start = [0; 4];
    (&file).read_exact(&mut start).ok().filter(|()| &start == b"\x7fELF")?;
    let mut bytes = start.to_vec();
    file.take(found.len().saturating_sub(4)).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

fn is_program(found: &fs::Metadata) -> bool {
    found.is_file() && (1..=LARGEST).contains(&found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_regular_file_is_not_opened() {
        for path in ["/dev/null", "/dev/zero", "/proc/kcore", "/sys/kernel/notes", "/etc/passwd", "/"] {
            assert!(Search::default().program(path, None).is_none(), "{path}");
        }
        assert!(Search::default().program("[vdso]", None).is_none());
        assert!(Search::default().program("//anon", None).is_none());
    }

    #[test]
    fn a_build_id_is_no_path() {
        assert_eq!(by_id("abcdef", ".debug"), Some(PathBuf::from("ab/cdef.debug")));
        for id in ["", "a", "ab", "../x", "ab/../../etc/passwd", "ä"] {
            assert_eq!(by_id(id, ""), None, "{id}");
        }
    }

    #[test]
    fn another_file_of_that_name_is_not_taken() {
        let own = std::env::current_exe().ok();
        let path = own.as_ref().and_then(|path| path.to_str()).unwrap_or_default();
        assert!(Search::default().program(path, None).is_some());
        assert!(Search::default().program(path, Some("00112233")).is_none());
    }
}
