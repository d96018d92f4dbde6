//! The kernel's functions by address, from `/proc/kallsyms` and from perf's records of BPF programs.

use std::cmp::Ordering;

/// Size of a memory page. The end of the last symbol of the kernel or a module is unknown, but it is no later than the
/// end of its page.
const PAGE: u64 = 4096;

/// Length of a short line.
const LINE: usize = 40;

#[derive(Debug)]
struct Symbol<'t> {
    start: u64,
    end: u64,
    name: &'t str,
    /// Empty for the kernel itself.
    module: &'t str,
    kind: u8,
}

/// Symbols of a running kernel.
#[derive(Debug, Default)]
pub struct Kallsyms<'t> {
    symbols: Vec<Symbol<'t>>,
}

impl<'t> Kallsyms<'t> {
    /// Parses lines `ffffffff81000000 T name [module]` and skips others. The choice between symbols of one address, and
    /// the end of a module's last symbol, follow perf (`tools/perf/util/symbol.c`), so that figures agree.
    pub fn parse(text: &'t str) -> Kallsyms<'t> {
        let mut symbols: Vec<Symbol<'_>> = Vec::with_capacity(text.len() / LINE);
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next()) else { continue };
            let module = words.next().and_then(|word| word.strip_prefix('[')?.strip_suffix(']'));
            let (Ok(start), [kind]) = (u64::from_str_radix(address, 16), kind.as_bytes()) else { continue };
            // Code and data. Without root the kernel shows 0 for every address.
            if start > 0 && b"TWDB".contains(&kind.to_ascii_uppercase()) {
                symbols.push(Symbol { start, end: start, name, module: module.unwrap_or_default(), kind: *kind });
            }
        }
        settle(&mut symbols);
        Kallsyms { symbols }
    }

    /// Adds code that appeared during recording, where no other symbol is known.
    pub fn add(&mut self, live: &'t [(u64, u64, String)]) {
        for (start, length, name) in live {
            if self.find(*start).is_none() {
                let end = start.saturating_add(*length);
                self.symbols.push(Symbol { start: *start, end, name, module: BPF, kind: b't' });
            }
        }
        self.symbols.sort_by_key(|symbol| symbol.start);
        self.symbols.dedup_by_key(|symbol| symbol.start);
    }

    /// The symbol at an address, its module (empty for the kernel itself), and the offset from its start.
    pub fn find(&self, address: u64) -> Option<(&'t str, &'t str, u64)> {
        let after = self.symbols.partition_point(|symbol| symbol.start <= address);
        let symbol = self.symbols.get(after.checked_sub(1)?).filter(|symbol| address < symbol.end)?;
        Some((symbol.name, symbol.module, address - symbol.start))
    }
}

fn settle(symbols: &mut Vec<Symbol<'_>>) {
    // The file lists each module's symbols in order, and perf keeps the order of equals.
    symbols.sort_by_key(|symbol| symbol.start);
    symbols.dedup_by(|second, first| {
        let same = first.start == second.start;
        if same && better(second, first) == Ordering::Greater {
            std::mem::swap(first, second);
        }
        same
    });
    let mut next: Option<(u64, &str)> = None;
    for symbol in symbols.iter_mut().rev() {
        let here = next.filter(|next| next.1 == symbol.module).map(|next| next.0);
        symbol.end = here
            .unwrap_or_else(|| symbol.start.saturating_add(PAGE).checked_next_multiple_of(PAGE).unwrap_or(u64::MAX));
        next = Some((symbol.start, symbol.module));
    }
}

const BPF: &str = "bpf";

/// Orders two symbols of one address: the greater is the one to show.
fn better(one: &Symbol<'_>, other: &Symbol<'_>) -> Ordering {
    let strong = |symbol: &Symbol<'_>| !symbol.kind.eq_ignore_ascii_case(&b'w');
    let global = |symbol: &Symbol<'_>| strong(symbol) && symbol.kind.is_ascii_uppercase();
    let underscores = |symbol: &Symbol<'_>| symbol.name.bytes().take_while(|&byte| byte == b'_').count();
    strong(one)
        .cmp(&strong(other))
        .then(global(one).cmp(&global(other)))
        .then(underscores(other).cmp(&underscores(one)))
        .then(one.name.len().cmp(&other.name.len()))
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
        let known = Kallsyms::parse(TEXT);
        let at = |address| known.find(address);
        assert_eq!(at(0xffffffff81000004), Some(("srso_alias_untrain_ret", "", 4)));
        assert_eq!(at(0xffffffff810001ff), Some(("helper.isra.0", "", 0x1bf)));
        assert_eq!(at(0xffffffff81000200), Some(("local_one", "", 0)));
        assert_eq!(at(0xffffffffa0000091), Some(("veth_xmit", "veth", 1)));
        assert_eq!(at(0xffffffff80000000), None);
        // The last symbol has no known end, so it extends to the end of its page.
        assert_eq!(at(0xffffffff81001fff), Some(("local_one", "", 0x1dff)));
        assert_eq!(at(0xffffffff81002000), None);
    }

    #[test]
    fn addresses_that_the_kernel_hides_are_none() {
        assert!(Kallsyms::parse("0000000000000000 T _stext\n").symbols.is_empty());
    }

    #[test]
    fn a_program_of_bpf_is_found_where_nothing_else_is() {
        let mut known = Kallsyms::parse(TEXT);
        let program = |start, name: &str| (start, 16, name.to_owned());
        let live = [program(0xffffffffc0000000, "bpf_prog_1"), program(0xffffffff81000008, "hidden")];
        known.add(&live);
        assert_eq!(known.find(0xffffffffc000000f), Some(("bpf_prog_1", "bpf", 15)));
        assert_eq!(known.find(0xffffffffc0000010), None);
        assert_eq!(known.find(0xffffffff81000009), Some(("srso_alias_untrain_ret", "", 9)));
    }
}
