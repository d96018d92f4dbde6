//! A file as blocks of whole lines: memory stays bounded whatever its size and its lines' length.

use std::fs::File;
use std::io;
use std::sync::Arc;

use memchr::{memchr, memrchr};

use crate::input::Window;

/// No event's line is longer, and a window cannot hold back more: what is longer may be passed over.
pub const LONGEST: usize = 1 << 16;

/// The lines of a file, front to back.
#[derive(Debug)]
pub struct Blocks {
    window: Window,
    from: u64,
    end: u64,
    used: usize,
    /// Lines that were passed over.
    pub overlong: u64,
}

impl Blocks {
    /// The bytes `from..end` of `file`.
    pub fn of(file: &Arc<File>, from: u64, end: u64) -> Blocks {
        Blocks { window: Window::new(file, from, end), from, end, used: 0, overlong: 0 }
    }

    /// The next lines, each with its newline; the file's last may lack it.
    pub fn next(&mut self) -> io::Result<Option<&[u8]>> {
        Ok(self.next_counted()?.map(|(block, _)| block))
    }

    /// The same, with how many lines were passed over just before.
    pub fn next_counted(&mut self) -> io::Result<Option<(&[u8], u64)>> {
        let before = self.overlong;
        self.window.advance(self.used as u64)?;
        let mut want = 1;
        self.used = loop {
            let block = self.window.peek(want)?;
            let size = block.len();
            if let Some(last) = memrchr(b'\n', block) {
                break last + 1;
            }
            if size < want {
                break size;
            }
            want = size + 1;
            if want > LONGEST {
                self.overlong += 1;
                self.pass_over()?;
                want = 1;
            }
        };
        if self.used == 0 {
            return Ok(None);
        }
        let overlong = self.overlong - before;
        Ok(Some((&self.window.peek(self.used)?[..self.used], overlong)))
    }

    /// Moves behind the next newline.
    fn pass_over(&mut self) -> io::Result<()> {
        loop {
            let block = self.window.peek(1)?;
            let (end, size) = (memchr(b'\n', block), block.len());
            self.window.advance(end.map_or(size, |end| end + 1) as u64)?;
            if end.is_some() || size == 0 {
                return Ok(());
            }
        }
    }

    /// Fraction that has been handed out.
    pub fn done(&self) -> f64 {
        let total = self.end.saturating_sub(self.from).max(1);
        (self.window.offset() + self.used as u64).saturating_sub(self.from) as f64 / total as f64
    }
}

/// The lines of a block, without what ends them.
pub fn each(block: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = block;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let end = memchr(b'\n', rest).unwrap_or(rest.len());
        let line = &rest[..end];
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Sizes of the lines that are no longer than allowed, and how many others there were.
    fn lines(text: &[u8]) -> (Vec<usize>, u64) {
        let path = std::env::temp_dir().join(format!("netcost-lines-{}-{}", std::process::id(), text.len()));
        File::create(&path).and_then(|mut file| file.write_all(text)).expect("writes");
        let file = Arc::new(File::open(&path).expect("opens"));
        std::fs::remove_file(&path).expect("removes");
        let mut blocks = Blocks::of(&file, 0, text.len() as u64);
        let mut sizes = Vec::new();
        while let Some(block) = blocks.next().expect("reads") {
            sizes.extend(each(block).map(<[u8]>::len));
        }
        let all = sizes.len();
        sizes.retain(|&size| size <= LONGEST);
        (sizes.clone(), blocks.overlong + (all - sizes.len()) as u64)
    }

    #[test]
    fn every_line_once_and_none_too_long() {
        assert_eq!(lines(b""), (vec![], 0));
        assert_eq!(lines(b"\n"), (vec![0], 0));
        assert_eq!(lines(b"ab\r\nabc"), (vec![2, 3], 0));
        let long = |size: usize| [b"a\n".as_slice(), &vec![b'x'; size], b"\nbc\n"].concat();
        assert_eq!(lines(&long(60_000)), (vec![1, 60_000, 2], 0));
        for size in [LONGEST + 1, 900_000, 1_048_574, 1_048_575, 1_200_000, 3_000_000] {
            assert_eq!(lines(&long(size)), (vec![1, 2], 1), "{size}");
        }
        let many: Vec<u8> = (0..300_000).flat_map(|line| vec![b'y'; line % 23].into_iter().chain([b'\n'])).collect();
        assert_eq!(lines(&many).0, (0..300_000).map(|line| line % 23).collect::<Vec<usize>>());
    }
}
