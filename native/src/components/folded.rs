//! Which function a symbol is of.

const ENDINGS: [&str; 10] =
    ["isra", "constprop", "part", "cold", "llvm", "lto_priv", "localalias", "clone", "cfi_jt", "cfi"];
/// In front of a function whose address is called for: room that the kernel has there to patch.
const PREFIX: &str = "__pfx_";

/// A symbol's function: what the compiler parted from it or made a variant of is it, too.
pub fn folded(symbol: &str) -> &str {
    let name = symbol.strip_prefix(PREFIX).unwrap_or(symbol);
    let (mut kept, mut left) = (name.len(), name);
    while let Some((before, ending)) = left.rsplit_once('.') {
        left = before;
        if ENDINGS.contains(&ending) {
            kept = before.len();
        } else if ending.is_empty() || !ending.bytes().all(|byte| byte.is_ascii_digit()) {
            break;
        }
    }
    match &name[..kept] {
        "" => symbol,
        function => function,
    }
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn what_the_compiler_made_of_a_function_is_that_function() {
        for (symbol, function) in [
            ("tcp_ack", "tcp_ack"),
            ("__pfx_tcp_ack", "tcp_ack"),
            ("helper.isra.0", "helper"),
            ("helper.constprop.0.isra.12.cold", "helper"),
            ("helper.llvm.123.456", "helper"),
            ("helper.cold.", "helper.cold."),
            ("helper.12", "helper.12"),
            ("a.isra.b.cold", "a.isra.b"),
            ("a.12.cold", "a.12"),
            (".cold", ".cold"),
            ("__pfx_", "__pfx_"),
        ] {
            assert_eq!(folded(symbol), function);
        }
    }
}
