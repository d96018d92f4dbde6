//! Functions of one program or library: its symbols, and what the compiler inlined where DWARF says so.
//!
//! The bytes may be anyone's: `object` and `gimli` read within bounds, and what grows is limited here.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::Read;

use addr2line::gimli::{Dwarf, EndianSlice, RunTimeEndian, SectionId};
use addr2line::Context;
use object::{CompressionFormat, Object, ObjectSection, ObjectSegment, ObjectSymbol, SymbolFlags};

use crate::programs::demangle::demangled;

/// Bytes of DWARF, unpacked, that are read of a file; a kernel with all its modules has some 500 MB.
const MOST_DWARF: u64 = 1 << 30;
/// Functions in one another at one address; compilers stop far earlier.
const MOST_INLINED: usize = 32;
/// Of a symbol without a size, the last: to the end of its page.
const PAGE: u64 = 4096;
const STT_NOTYPE: u8 = 0;
const STT_FUNC: u8 = 2;
const STT_GNU_IFUNC: u8 = 10;
/// PF_X in a segment's flags.
const EXECUTABLE: u32 = 1;

/// A place in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Bytes from its beginning.
    pub file_offset: u64,
    /// Whether it is where a call returns to: the call is before it.
    pub returns: bool,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// Its symbol, as a reader writes it.
    pub symbol: String,
    /// Bytes from its start.
    pub offset: u64,
    /// What is inlined there, the innermost first.
    pub inlined: Vec<String>,
}

/// The build id of an ELF file; None for another file, and for one without.
pub fn build_id(bytes: &[u8]) -> Option<String> {
    let id = object::File::parse(bytes).ok()?.build_id().ok()??;
    Some(id.iter().take(20).map(|byte| format!("{byte:02x}")).collect())
}

/// Whether these bytes are an ELF file.
pub fn is_elf(bytes: &[u8]) -> bool {
    object::File::parse(bytes).is_ok()
}

/// The functions at places of a file that was mapped. `debug` is the file that was parted from it, if there is one.
pub fn functions(mapped: &[u8], debug: Option<&[u8]>, places: &[Place]) -> Vec<Option<Function>> {
    let none = || vec![None; places.len()];
    let Ok(own) = object::File::parse(mapped) else { return none() };
    let parted = debug.and_then(|bytes| object::File::parse(bytes).ok());
    let files: Vec<&object::File<'_>> = parted.iter().chain([&own]).collect();
    let symbols = files.iter().map(|file| symbols(file, false)).find(|found| !found.is_empty());
    let symbols = symbols.unwrap_or_else(|| symbols_of_linking(&own));
    let sections =
        files.iter().find(|file| file.section_by_name(".debug_info").is_some()).map(|file| Sections::of(file));
    let context = sections.as_ref().and_then(Sections::context);
    let at = |place: &Place| {
        let address = address(&own, place.file_offset)?;
        let looked_up = address.wrapping_sub(u64::from(place.returns));
        let symbol = find(&symbols, looked_up)?;
        let inlined = context.as_ref().map_or(Vec::new(), |context| inlined(context, looked_up));
        Some(Function { symbol: demangled(symbol.name), offset: address.wrapping_sub(symbol.start), inlined })
    };
    places.iter().map(at).collect()
}

/// Where the linker put what is at an offset of the file.
fn address(file: &object::File<'_>, file_offset: u64) -> Option<u64> {
    let here = |segment: &object::Segment<'_, '_>| {
        let (start, size) = segment.file_range();
        (start..start.saturating_add(size))
            .contains(&file_offset)
            .then(|| segment.address().wrapping_add(file_offset - start))
    };
    let executable = |segment: &object::Segment<'_, '_>| matches!(segment.flags(), object::SegmentFlags::Elf { p_flags, .. } if p_flags.0 & EXECUTABLE != 0);
    let of_code = file.segments().filter(executable).find_map(|segment| here(&segment));
    of_code.or_else(|| file.segments().find_map(|segment| here(&segment)))
}

#[derive(Debug, Clone, Copy)]
struct Symbol<'a> {
    start: u64,
    end: u64,
    name: &'a [u8],
    is_sized: bool,
    is_weak: bool,
    is_global: bool,
}

fn symbols_of_linking<'a>(file: &object::File<'a>) -> Vec<Symbol<'a>> {
    symbols(file, true)
}

/// Functions and labels in code, one for each start, as perf chooses (`choose_best_symbol`, `tools/perf/util/symbol.c`).
fn symbols<'a>(file: &object::File<'a>, of_linking: bool) -> Vec<Symbol<'a>> {
    let table = if of_linking { file.dynamic_symbols() } else { file.symbols() };
    let code: Vec<_> = file
        .sections()
        .filter(|section| section.kind() == object::SectionKind::Text)
        .map(|section| section.index())
        .collect();
    let one = |symbol: object::Symbol<'a, '_>| {
        let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return None };
        let section = symbol.section_index()?;
        let is_code = match st_info.0 & 15 {
            STT_FUNC | STT_GNU_IFUNC => true,
            STT_NOTYPE => code.contains(&section),
            _ => false,
        };
        let name = symbol.name_bytes().ok().filter(|name| is_code && !name.is_empty() && name[0] != b'$')?;
        let (start, size) = (symbol.address(), symbol.size());
        Some(Symbol {
            start,
            end: start.saturating_add(size),
            name,
            is_sized: size > 0,
            is_weak: symbol.is_weak(),
            is_global: symbol.is_global(),
        })
    };
    let mut found: Vec<Symbol<'a>> = table.filter_map(one).collect();
    found.sort_by(|one, other| one.start.cmp(&other.start).then(better(other, one)));
    found.dedup_by_key(|symbol| symbol.start);
    let ends: Vec<u64> = found.iter().skip(1).map(|next| next.start).collect();
    for (place, symbol) in found.iter_mut().enumerate().filter(|(_, symbol)| !symbol.is_sized) {
        let page = symbol.start.saturating_add(PAGE).checked_next_multiple_of(PAGE);
        symbol.end = ends.get(place).copied().or(page).unwrap_or(u64::MAX);
    }
    found
}

/// Whether the first of two symbols of one address is the one to show.
fn better(one: &Symbol<'_>, other: &Symbol<'_>) -> Ordering {
    let underscores = |symbol: &Symbol<'_>| symbol.name.iter().take_while(|&&byte| byte == b'_').count();
    one.is_sized
        .cmp(&other.is_sized)
        .then(other.is_weak.cmp(&one.is_weak))
        .then(one.is_global.cmp(&other.is_global))
        .then(underscores(other).cmp(&underscores(one)))
        .then(one.name.len().cmp(&other.name.len()))
}

fn find<'s, 'a>(symbols: &'s [Symbol<'a>], address: u64) -> Option<&'s Symbol<'a>> {
    let after = symbols.partition_point(|symbol| symbol.start <= address);
    // A label inside a function may end before it does.
    symbols[after.saturating_sub(4)..after].iter().rev().find(|symbol| address < symbol.end)
}

type Slice<'a> = EndianSlice<'a, RunTimeEndian>;

/// The sections of DWARF, unpacked.
struct Sections<'a> {
    order: RunTimeEndian,
    found: Vec<(SectionId, Cow<'a, [u8]>)>,
}

impl<'a> Sections<'a> {
    fn of(file: &object::File<'a>) -> Sections<'a> {
        let order = if file.is_little_endian() { RunTimeEndian::Little } else { RunTimeEndian::Big };
        let mut left = MOST_DWARF;
        let ids = [
            SectionId::DebugAbbrev,
            SectionId::DebugAddr,
            SectionId::DebugAranges,
            SectionId::DebugInfo,
            SectionId::DebugLine,
            SectionId::DebugLineStr,
            SectionId::DebugRanges,
            SectionId::DebugRngLists,
            SectionId::DebugStr,
            SectionId::DebugStrOffsets,
            SectionId::DebugTypes,
        ];
        let found = ids.into_iter().filter_map(|id| Some((id, unpacked(file, id.name(), &mut left)?))).collect();
        Sections { order, found }
    }

    fn context(&self) -> Option<Context<Slice<'_>>> {
        let section = |id: SectionId| {
            let bytes = self.found.iter().find(|(of, _)| *of == id).map_or(&[][..], |(_, bytes)| bytes);
            Ok::<_, addr2line::gimli::Error>(EndianSlice::new(bytes, self.order))
        };
        Context::from_dwarf(Dwarf::load(section).ok()?).ok()
    }
}

fn unpacked<'a>(file: &object::File<'a>, name: &str, left: &mut u64) -> Option<Cow<'a, [u8]>> {
    let packed = file.section_by_name(name)?.compressed_data().ok()?;
    let size = packed.uncompressed_size;
    *left = left.checked_sub(size)?;
    // What it says is checked against what comes out: memory is taken for that alone.
    let mut bytes = Vec::new();
    let read = match packed.format {
        CompressionFormat::None => return Some(Cow::Borrowed(packed.data)),
        CompressionFormat::Zlib => flate2::read::ZlibDecoder::new(packed.data).take(size).read_to_end(&mut bytes),
        CompressionFormat::Zstandard => zstd::Decoder::new(packed.data).ok()?.take(size).read_to_end(&mut bytes),
        _ => return None,
    };
    read.ok().filter(|&read| read as u64 == size).map(|_| Cow::Owned(bytes))
}

/// The functions that are inlined at an address, without the one that they are in.
fn inlined(context: &Context<Slice<'_>>, address: u64) -> Vec<String> {
    let mut names = Vec::new();
    let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return names };
    while let Ok(Some(frame)) = frames.next() {
        if names.len() > MOST_INLINED {
            break;
        }
        let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
        names.push(name.map_or(String::new(), |name| demangled(name.as_bytes())));
    }
    names.pop();
    names.retain(|name| !name.is_empty());
    names
}
