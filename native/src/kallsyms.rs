//! The kernel's functions by address, from `/proc/kallsyms` and what perf recorded of BPF programs.

use std::cmp::Ordering;
use std::ops::Range;

/// Bytes of a page of memory: nothing tells where the last symbol of the kernel or a module ends, but no later than its
/// page does.
const PAGE: u64 = 4096;

#[derive(Debug)]
struct Symbol {
    start: u64,
    end: u64,
    /// Where name and module lie in the text; an empty module is the kernel itself.
    name: Range<usize>,
    module: Range<usize>,
    kind: u8,
}

/// Symbols of a running kernel.
#[derive(Debug, Default)]
pub struct Kallsyms {
    text: String,
    symbols: Vec<Symbol>,
}

impl Kallsyms {
    /// Reads the lines `ffffffff81000000 T name [module]`; what is none is left out. Which of several symbols of
    /// one address counts, and where the last of a module ends, is as in perf (`tools/perf/util/symbol.c`), so that
    /// figures are the same.
    pub fn parse(text: String) -> Kallsyms {
        let mut symbols: Vec<Symbol> = Vec::new();
        let base = text.as_ptr() as usize;
        let place = |part: &str| part.as_ptr() as usize - base..part.as_ptr() as usize - base + part.len();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
            let (Ok(start), [kind]) = (u64::from_str_radix(address, 16), kind.as_bytes()) else { continue };
            // Code and data; without root the kernel shows 0 for every address.
            if start > 0 && b"TWDB".contains(&kind.to_ascii_uppercase()) {
                let module = module.map_or(0..0, place);
                symbols.push(Symbol { start, end: start, name: place(name), module, kind: *kind });
            }
        }
        let mut found = Kallsyms { text, symbols };
        found.settle();
        found
    }

    /// Adds what came while recording was under way, where nothing else is known.
    pub fn add(&mut self, live: &[(u64, u64, String)]) {
        for (start, length, name) in live {
            if self.find(*start).is_none() {
                let at = self.text.len();
                self.text.push_str(name);
                let (name, module) = (at..self.text.len(), self.text.len()..self.text.len() + BPF.len());
                self.text.push_str(BPF);
                self.symbols.push(Symbol {
                    start: *start,
                    end: start.saturating_add(*length),
                    name,
                    module,
                    kind: b't',
                });
            }
        }
        self.symbols.sort_by_key(|symbol| symbol.start);
        self.symbols.dedup_by_key(|symbol| symbol.start);
    }

    /// What lies at an address: its symbol, the module it belongs to (empty: the kernel itself), and the distance from its start.
    pub fn find(&self, address: u64) -> Option<(&str, &str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?).filter(|symbol| address < symbol.end)?;
        Some((&self.text[symbol.name.clone()], &self.text[symbol.module.clone()], address - symbol.start))
    }

    fn settle(&mut self) {
        let Kallsyms { text, symbols } = self;
        // The file has each module's symbols in order, and perf keeps the order of equals.
        symbols.sort_by_key(|symbol| symbol.start);
        symbols.dedup_by(|second, first| {
            let same = first.start == second.start;
            if same && better(text, second, first) == Ordering::Greater {
                std::mem::swap(first, second);
            }
            same
        });
        let module = |symbol: &Symbol| text[symbol.module.clone()].as_bytes().to_vec();
        let next: Vec<Option<u64>> = symbols
            .iter()
            .zip(symbols.iter().skip(1).map(Some).chain(std::iter::once(None)))
            .map(|(one, next)| next.filter(|next| module(next) == module(one)).map(|next| next.start))
            .collect();
        for (symbol, next) in symbols.iter_mut().zip(next) {
            symbol.end = next.unwrap_or_else(|| {
                symbol.start.saturating_add(PAGE).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX)
            });
        }
    }
}

const BPF: &str = "bpf";

/// Whether the first of two symbols of one address is the one to show.
fn better(text: &str, one: &Symbol, other: &Symbol) -> Ordering {
    let name = |symbol: &Symbol| &text[symbol.name.clone()];
    let strong = |symbol: &Symbol| !symbol.kind.eq_ignore_ascii_case(&b'w');
    let global = |symbol: &Symbol| strong(symbol) && symbol.kind.is_ascii_uppercase();
    let underscores = |symbol: &Symbol| name(symbol).bytes().take_while(|&byte| byte == b'_').count();
    strong(one)
        .cmp(&strong(other))
        .then(global(one).cmp(&global(other)))
        .then(underscores(other).cmp(&underscores(one)))
        .then(name(one).len().cmp(&name(other).len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
ffffffff81000000 T _stext
ffffffff81000000 T srso_alias_untrain_ret
ffffffff81000040 t helper.isra.0
ffffffff81000100 A no_code
not a line
ffffffff81000200 W weak_one
ffffffff81000200 t local_one
ffffffffa0000010 t veth_poll [veth]
ffffffffa0000090 t veth_xmit\t[veth]
";

    #[test]
    fn an_address_is_in_the_symbol_before_it() {
        let known = Kallsyms::parse(TEXT.to_owned());
        let at = |address| known.find(address);
        assert_eq!(at(0xffffffff81000004), Some(("srso_alias_untrain_ret", "", 4)));
        assert_eq!(at(0xffffffff810001ff), Some(("helper.isra.0", "", 0x1bf)));
        assert_eq!(at(0xffffffff81000200), Some(("local_one", "", 0)));
        assert_eq!(at(0xffffffffa0000091), Some(("veth_xmit", "veth", 1)));
        assert_eq!(at(0xffffffff80000000), None);
        // Nothing tells where the last symbol ends: it is taken to reach to the end of its page.
        assert_eq!(at(0xffffffff81001fff), Some(("local_one", "", 0x1dff)));
        assert_eq!(at(0xffffffff81002000), None);
    }

    #[test]
    fn addresses_that_the_kernel_hides_are_none() {
        assert!(Kallsyms::parse("0000000000000000 T _stext\n".to_owned()).symbols.is_empty());
    }

    #[test]
    fn a_program_of_bpf_is_found_where_nothing_else_is() {
        let mut known = Kallsyms::parse(TEXT.to_owned());
        let program = |start, name: &str| (start, 16, name.to_owned());
        known.add(&[program(0xffffffffc0000000, "bpf_prog_1"), program(0xffffffff81000008, "hidden")]);
        assert_eq!(known.find(0xffffffffc000000f), Some(("bpf_prog_1", "bpf", 15)));
        assert_eq!(known.find(0xffffffffc0000010), None);
        assert_eq!(known.find(0xffffffff81000009), Some(("srso_alias_untrain_ret", "", 9)));
    }
}
