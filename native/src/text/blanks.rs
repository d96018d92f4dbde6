//! Blanks other than spaces: a spreadsheet puts a TAB between all fields, a mail client a non-breaking
//! space. perf has TABs too, before call chains, and a task's name may hold anything: so they are taken
//! for spaces only where the line says more then.

use super::frame::Frame;
use super::head::Head;
use super::known::Role;
use super::line::Line;
use super::row::Row;
use super::tracepoints::{full_name, known};

/// The blanks of a block of lines.
#[derive(Debug)]
pub struct Blanks {
    /// Some line may have others than spaces: hardly any block has, and to look in each line takes longer.
    others: bool,
    /// For a line without them.
    pub room: Vec<u8>,
}

impl Blanks {
    /// Looks at all lines at once.
    pub fn of(block: &[u8]) -> Blanks {
        Blanks { others: has_others(block), room: Vec::new() }
    }

    /// Whether a line of the block has others than spaces.
    #[inline(always)]
    pub fn has_others(&self, line: &[u8]) -> bool {
        self.others && has_others(line)
    }
}

/// Whether anything but a space may separate fields, behind what indents the first of them.
fn has_others(bytes: &[u8]) -> bool {
    let rest = bytes.trim_ascii_start();
    memchr::memchr(b'\t', rest).is_some() || !rest.is_ascii()
}

/// A line with spaces for all blanks, in `room`, if it says more then; `strip` takes what stands before
/// each line away. The TABs that indent a line stay.
#[cold]
pub fn spaced<'a>(line: &[u8], strip: impl Fn(&[u8]) -> &[u8], room: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    room.clear();
    let (indent, rest) = line.split_at(line.iter().take_while(|&&byte| byte == b'\t').count());
    room.extend_from_slice(indent);
    put(rest, room);
    let better = room != line && worth(strip(room)) > worth(strip(line));
    better.then(|| strip(room))
}

/// How much is read in a line.
fn worth(line: &[u8]) -> u32 {
    match Line::of(line) {
        Line::Event(head) => {
            let said = [head.tid.is_some(), head.cpu.is_some(), head.context.has_flags()];
            let read = read(&head).map_or(0, |row| 1 + row.found.count_ones());
            2 + said.map(u32::from).iter().sum::<u32>() + read
        }
        Line::Lost(..) | Line::Begun(_) | Line::Record(_) | Line::Comment => 2,
        Line::Frame if Frame::parse(line).is_some() => 1,
        Line::Frame | Line::Blank | Line::Other => 0,
    }
}

/// What is read of an event's text, as far as it is not kept as it stands.
fn read<'a>(head: &Head<'a>) -> Option<Row<'a>> {
    let spelled = std::str::from_utf8(head.name).ok()?;
    let name = if spelled.contains(':') { spelled.to_owned() } else { full_name(spelled) };
    let (system, bare) = name.split_once(':')?;
    known(Some(system), bare).filter(|known| known.role != Role::Text).and_then(|known| (known.read)(head.text))
}

/// A line with spaces for all blanks, in `room`.
pub fn all_spaces<'a>(line: &[u8], room: &'a mut Vec<u8>) -> &'a [u8] {
    room.clear();
    put(line, room);
    room
}

fn put(bytes: &[u8], room: &mut Vec<u8>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => {
            let mut letter = [0; 4];
            for char in text.chars().map(|char| if char.is_whitespace() { ' ' } else { char }) {
                room.extend_from_slice(char.encode_utf8(&mut letter).as_bytes());
            }
        }
        // In Latin-1 a non-breaking space is one byte.
        Err(_) => room.extend(bytes.iter().map(|&byte| if matches!(byte, b'\t' | 0xa0) { b' ' } else { byte })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[u8]) -> Option<Vec<u8>> {
        let mut room = Vec::new();
        has_others(line).then(|| spaced(line, |line| line, &mut room).map(<[u8]>::to_vec)).flatten()
    }

    #[test]
    fn blanks_of_every_kind_between_all_fields() {
        let line = "sh-8 [000] d..1. 1.000001: softirq_entry: vec=3 [action=NET_RX]";
        for blank in ["\t", "\u{a0}", "\u{202f}", "\u{3000}", "\t\u{a0}"] {
            let told = line.replace(' ', blank);
            let spaces = " ".repeat(blank.chars().count());
            assert_eq!(read(told.as_bytes()), Some(line.replace(' ', &spaces).into_bytes()), "{blank:?}");
        }
        let latin: Vec<u8> = line.bytes().map(|byte| if byte == b' ' { 0xa0 } else { byte }).collect();
        assert_eq!(read(&latin), Some(line.as_bytes().to_vec()));
        assert_eq!(read(format!("\t{}", line.replace(' ', "\t")).as_bytes()), Some(format!("\t{line}").into_bytes()));
        assert_eq!(read(b"CPU:1\t[LOST\t7\tEVENTS]"), Some(b"CPU:1 [LOST 7 EVENTS]".to_vec()));
        assert_eq!(read(b"\tffffffff821f8b58\ta+0x6\t(/x)"), Some(b"\tffffffff821f8b58 a+0x6 (/x)".to_vec()));
    }

    #[test]
    fn a_block_has_what_any_of_its_lines_has() {
        for line in ["a b", "\t a b", "", "a\tb", "a\u{a0}b"] {
            for block in [format!("{line}\nc d\n"), format!("c d\n{line}\n"), format!("\n\t c\n{line}\n c")] {
                let blanks = Blanks::of(block.as_bytes());
                assert_eq!(blanks.has_others(line.as_bytes()), has_others(line.as_bytes()), "{block:?}");
            }
        }
    }

    #[test]
    fn what_can_be_read_stays() {
        for line in [
            "sh-8 [000] d..1. 1.000001: softirq_entry: vec=3 [action=NET_RX]",
            "a\tb-8 [000] d..1. 1.000001: softirq_entry: vec=3 [action=NET_RX]",
            "sh-8 [000] d..1. 1.000001: tracing_mark_write: a\tb\u{a0}c",
            "sh-8 [000] d..1. 1.000001: sched_process_exec: filename=/a\tb pid=8 old_pid=8",
            "\tffffffff821f8b58 a+0x6 (/a\tb)",
            "\t\tmain",
            "a\tb",
        ] {
            assert_eq!(read(line.as_bytes()), None, "{line:?}");
        }
    }

    #[test]
    fn a_text_of_which_a_part_is_pasted() {
        let line = "sh-8 [000] d..1. 1.000001: napi_poll: napi poll on napi struct 00000000c0ffee00 for device eth0";
        let told = format!("{line}\twork 3\tbudget 64");
        assert_eq!(read(told.as_bytes()), Some(told.replace('\t', " ").into_bytes()));
    }
}
