//! The `format` file of a tracepoint as recorded in the capture: where each field lies.
//!
//! Offsets always come from here, never from a kernel version, because distributions backport.

/// One tracepoint's recorded layout.
#[derive(Debug, Clone)]
pub struct Format {
    /// Subsystem, as in `irq:softirq_entry`.
    pub system: String,
    /// Event name without the subsystem.
    pub name: String,
    /// `common_type` and `perf_event_attr.config` of this event.
    pub id: u64,
    /// Common fields first, in the order recorded.
    pub fields: Vec<Field>,
    /// The kernel's print format, which holds the symbolic names of enumerations.
    pub print_fmt: String,
}

/// One field of a tracepoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The kernel's name.
    pub name: String,
    /// Bytes from the start of the payload.
    pub offset: usize,
    /// Bytes in the fixed part (4 for a `__data_loc`).
    pub size: usize,
    /// What the bytes mean.
    pub kind: Kind,
}

/// What a field's bytes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Integer of 1, 2, 4 or 8 bytes; pointers are unsigned.
    Int {
        /// Two's complement if set.
        signed: bool,
    },
    /// One byte, zero or not.
    Bool,
    /// A value stored in place.
    Array(Element),
    /// The rest of the payload.
    Tail(Element),
    /// `__data_loc`: a u32 with length << 16 | offset from the start of the payload.
    DataLoc(Element),
    /// `__rel_loc`: the same, with an offset from the end of this u32.
    RelLoc(Element),
}

/// The elements of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Element {
    /// NUL-terminated text.
    Char,
    /// Integers of `size` bytes (1, 2, 4 or 8).
    Int {
        /// Bytes of one element.
        size: usize,
        /// Two's complement if set.
        signed: bool,
    },
    /// Structures, and anything without a simpler reading.
    Bytes,
}

/// More fields than any event has.
const MAX_FIELDS: usize = 256;

impl Format {
    /// Parses the text of a `format` file. `long`: size of the recorder's `long`. Lines that cannot be parsed are
    /// skipped. A file without a name, an ID or any field is an error.
    pub fn parse(system: &str, source: &str, long: usize) -> Result<Format, String> {
        let mut format = Format {
            system: system.to_owned(),
            name: String::new(),
            id: u64::MAX,
            fields: Vec::new(),
            print_fmt: String::new(),
        };
        for line in source.lines() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                format.name = name.trim().to_owned();
            } else if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().unwrap_or(u64::MAX);
            } else if let Some(text) = line.strip_prefix("print fmt:") {
                format.print_fmt = text.trim().to_owned();
            } else if line.starts_with("field:") || line.starts_with("field special:") {
                format.fields.extend(Field::parse(line, long));
            }
        }
        // Stacks and texts of ftrace's own tracers extend to the end of the payload, whatever this size says.
        if let Some(last) = format.fields.last_mut().filter(|last| last.size == 0 || system == "ftrace") {
            if let Kind::Array(element) = last.kind {
                (last.kind, last.size) = (Kind::Tail(element), 0);
            }
        }
        // Fields do not overlap. In a damaged format one byte of payload could fill many columns.
        let mut end = 0;
        format.fields.sort_by_key(|field| field.offset);
        format.fields.retain(|field| {
            let apart = field.offset >= end;
            end = end.max(field.offset + field.size);
            apart
        });
        format.fields.truncate(MAX_FIELDS);
        if format.name.is_empty() || format.id == u64::MAX || format.fields.is_empty() {
            return Err(format!("an event format of '{system}' has no name, ID or fields"));
        }
        Ok(format)
    }

    /// `system:name`, as perf spells events.
    pub fn full_name(&self) -> String {
        format!("{}:{}", self.system, self.name)
    }

    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Bytes of the fixed part, to the end of the last field.
    pub fn fixed_size(&self) -> usize {
        let ends = self.fields.iter().map(|field| field.offset + field.size);
        ends.max().unwrap_or(0)
    }

    /// Value and name pairs of `__print_symbolic(REC->field, { 0, "HI" }, ...)` in the print format. A value that is
    /// not a number (unresolved enumerators of 3.x kernels) is replaced by its position in the list, which is how
    /// enumerations count.
    pub fn symbols(&self, field: &str) -> Vec<(i64, String)> {
        let call = format!("__print_symbolic(REC->{field},");
        let Some(at) = self.print_fmt.find(&call) else {
            return Vec::new();
        };
        let mut rest = &self.print_fmt[at + call.len()..];
        let mut symbols = Vec::new();
        while let Some(pair) = rest.trim_start_matches([',', ' ']).strip_prefix('{') {
            let Some(end) = pair.find('}') else { break };
            if let Some((value, name)) = pair[..end].split_once(',') {
                let value = integer(value.trim()).unwrap_or(symbols.len() as i64);
                symbols.push((value, name.trim().trim_matches('"').to_owned()));
            }
            rest = &pair[end + 1..];
        }
        symbols
    }
}

impl Field {
    /// Whether the field only points to its bytes.
    pub fn is_pointer(&self) -> bool {
        matches!(self.kind, Kind::DataLoc(_) | Kind::RelLoc(_))
    }

    /// Where in the payload the word of a `DataLoc` or `RelLoc` points: first byte and size.
    #[inline(always)]
    pub fn pointed(&self, word: u32) -> (usize, usize) {
        let base = if matches!(self.kind, Kind::RelLoc(_)) { self.offset + 4 } else { 0 };
        (base + (word & 0xffff) as usize, (word >> 16) as usize)
    }

    fn parse(line: &str, long: usize) -> Option<Field> {
        let mut parts = line.split(';').map(str::trim);
        let declaration = parts.next()?.split_once(':')?.1.trim();
        let (mut offset, mut size, mut signed) = (None, None, false);
        for part in parts {
            match part.split_once(':') {
                Some(("offset", value)) => offset = value.trim().parse().ok(),
                Some(("size", value)) => size = value.trim().parse().ok(),
                Some(("signed", value)) => signed = value.trim() == "1",
                _ => {}
            }
        }
        let (offset, size): (usize, usize) = (offset?, size?);
        // A payload holds at most 64 KiB. Larger claims come from damaged files.
        if offset > usize::from(u16::MAX) || size > 1 << 16 {
            return None;
        }
        let (name, kind) = declared(declaration, size, signed, long)?;
        Some(Field { name, offset, size, kind })
    }
}

/// Name and kind of `char comm[16]`, `__data_loc char[] name`, `void * location`.
fn declared(declaration: &str, size: usize, signed: bool, long: usize) -> Option<(String, Kind)> {
    for (prefix, relative) in [("__data_loc ", false), ("__rel_loc ", true)] {
        if let Some(rest) = declaration.strip_prefix(prefix) {
            let (type_name, name) = rest.trim().rsplit_once(|c: char| c.is_whitespace())?;
            let type_name = type_name.trim().trim_end_matches("[]").trim();
            let element = dynamic_element(type_name, long);
            let kind = if relative { Kind::RelLoc(element) } else { Kind::DataLoc(element) };
            return (size == 4).then(|| (name.to_owned(), kind));
        }
    }
    if let Some((before, count)) = declaration.strip_suffix(']').and_then(|d| d.rsplit_once('[')) {
        let (type_name, name) = before.rsplit_once(|c: char| c.is_whitespace() || c == '*')?;
        let count = integer(count).and_then(|count| usize::try_from(count).ok());
        let element = fixed_element(type_name.trim(), size, count, signed, long);
        return Some((name.to_owned(), Kind::Array(element)));
    }
    let (type_name, name) = declaration.rsplit_once(|c: char| c.is_whitespace() || c == '*')?;
    let kind = match (type_name.trim(), size) {
        ("bool", 1) => Kind::Bool,
        (_, 1 | 2 | 4 | 8) => Kind::Int { signed },
        // Old kernels' format files omit the brackets of arrays.
        _ => Kind::Array(fixed_element(type_name.trim(), size, None, signed, long)),
    };
    Some((name.to_owned(), kind))
}

fn fixed_element(type_name: &str, size: usize, count: Option<usize>, signed: bool, long: usize) -> Element {
    if matches!(type_name, "char" | "const char") {
        // The size decides: vendor kernels declare a 16-byte name as char[32]. A field longer than declared is not text
        // (`char args[32]` of 48 bytes).
        return if count.is_some_and(|count| count < size) { Element::Bytes } else { Element::Char };
    }
    let each = count.filter(|&count| count > 0 && size % count == 0).map(|count| size / count);
    match each.or(integer_size(type_name, long)) {
        Some(each @ (1 | 2 | 4 | 8)) if size % each == 0 && !type_name.starts_with("struct") => {
            Element::Int { size: each, signed }
        }
        _ => Element::Bytes,
    }
}

/// The `signed` flag of a `__data_loc` describes its u32 or the element, depending on the kernel. The element's type
/// name is reliable.
fn dynamic_element(type_name: &str, long: usize) -> Element {
    if matches!(type_name, "char" | "const char") {
        return Element::Char;
    }
    match integer_size(type_name, long) {
        Some(size) => {
            let plain = type_name.trim_start_matches('_');
            let by_name = matches!(plain, "int" | "short" | "long" | "long long" | "pid_t" | "ssize_t")
                || matches!(plain, "s8" | "s16" | "s32" | "s64" | "int8_t" | "int16_t" | "int32_t" | "int64_t");
            Element::Int { size, signed: by_name || type_name.starts_with("signed ") }
        }
        None => Element::Bytes,
    }
}

fn integer_size(type_name: &str, long: usize) -> Option<usize> {
    let name = type_name.trim_start_matches("const ").trim();
    let name = name.strip_prefix("unsigned ").or(name.strip_prefix("signed ")).unwrap_or(name);
    Some(match name.trim_start_matches('_') {
        "u8" | "s8" | "char" | "uint8_t" | "int8_t" | "bool" => 1,
        "u16" | "s16" | "short" | "uint16_t" | "int16_t" | "be16" | "le16" => 2,
        "u32" | "s32" | "int" | "unsigned" | "pid_t" | "uint32_t" | "int32_t" | "be32" | "le32" => 4,
        "u64" | "s64" | "long long" | "uint64_t" | "int64_t" | "be64" | "le64" => 8,
        "long" | "size_t" | "ssize_t" => long,
        _ => return None,
    })
}

fn integer(text: &str) -> Option<i64> {
    let text = text.trim();
    match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(declaration: &str, size: usize, signed: bool) -> Kind {
        declared(declaration, size, signed, 8).expect("parses").1
    }

    #[test]
    fn declarations_of_every_shape() {
        assert_eq!(kind("unsigned short common_type", 2, false), Kind::Int { signed: false });
        assert_eq!(kind("struct napi_struct * napi", 8, false), Kind::Int { signed: false });
        assert_eq!(kind("const char *name", 8, false), Kind::Int { signed: false });
        assert_eq!(kind("bool success", 1, false), Kind::Bool);
        assert_eq!(kind("char prev_comm[16]", 16, false), Kind::Array(Element::Char));
        assert_eq!(kind("char comm[TASK_COMM_LEN]", 16, true), Kind::Array(Element::Char));
        assert_eq!(kind("char prev_comm[32]", 16, true), Kind::Array(Element::Char));
        assert_eq!(kind("char args[32]", 48, false), Kind::Array(Element::Bytes));
        let ints = Element::Int { size: 8, signed: false };
        assert_eq!(kind("unsigned long args[6]", 48, false), Kind::Array(ints));
        assert_eq!(kind("__data_loc char[] dev_name", 4, false), Kind::DataLoc(Element::Char));
        assert_eq!(kind("__rel_loc u64[] arr", 4, false), Kind::RelLoc(ints));
        assert_eq!(kind("struct timespec64 t", 16, false), Kind::Array(Element::Bytes));
    }

    #[test]
    fn symbols_with_numbers_and_with_enumerators() {
        let mut format = Format {
            system: "irq".into(),
            name: "softirq_entry".into(),
            id: 1,
            fields: Vec::new(),
            print_fmt: r#""vec=%u [action=%s]", REC->vec, __print_symbolic(REC->vec, { 0, "HI" }, { 3, "NET_RX" })"#
                .into(),
        };
        assert_eq!(format.symbols("vec"), vec![(0, "HI".into()), (3, "NET_RX".into())]);
        format.print_fmt = "__print_symbolic(REC->vec, { HI_SOFTIRQ, \"HI\" }, { TIMER_SOFTIRQ, \"TIMER\" })".into();
        assert_eq!(format.symbols("vec"), vec![(0, "HI".into()), (1, "TIMER".into())]);
    }
}
