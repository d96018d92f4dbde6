//! Names of C++ and Rust as a reader writes them, without parameters, as perf report has them.

use std::fmt::{self, Write};

use cpp_demangle::{DemangleOptions, Symbol};

/// Bytes of a name. What is short as a symbol can be written out without end.
const LONGEST: usize = 4096;

/// A text that takes no more than it should.
struct Bounded(String);

impl Write for Bounded {
    fn write_str(&mut self, part: &str) -> fmt::Result {
        if self.0.len() + part.len() > LONGEST {
            return Err(fmt::Error);
        }
        self.0.push_str(part);
        Ok(())
    }
}

/// The name of a symbol; itself, cut at some length, where it is no mangled one.
pub fn demangled(symbol: &[u8]) -> String {
    let plain = String::from_utf8_lossy(&symbol[..symbol.len().min(LONGEST)]).into_owned();
    if let Ok(found) = rustc_demangle::try_demangle(&plain) {
        let mut written = Bounded(String::new());
        return write!(written, "{found:#}").map_or(plain, |()| written.0);
    }
    if !plain.starts_with("_Z") {
        return plain;
    }
    // Clones of the compiler's (.isra.0) stand behind the name; cpp_demangle writes them in its own way.
    let (name, ending) = plain.split_at(plain.find('.').unwrap_or(plain.len()));
    let options = DemangleOptions::new().no_params().no_return_type();
    let mut written = Bounded(String::new());
    let known = Symbol::new(name).ok().filter(|known| known.structured_demangle(&mut written, &options).is_ok());
    match known {
        Some(_) => written.0 + ending,
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_as_perf_report_has_them() {
        let of = |symbol: &str| demangled(symbol.as_bytes());
        assert_eq!(of("_ZN3foo3barEi"), "foo::bar");
        assert_eq!(of("_ZN3foo3barEi.isra.0"), "foo::bar.isra.0");
        assert_eq!(of("_ZN4core3ptr13drop_in_place17h0123456789abcdefE"), "core::ptr::drop_in_place");
        assert_eq!(of("memcpy"), "memcpy");
        assert_eq!(of("_Zno name"), "_Zno name");
    }

    #[test]
    fn a_name_without_end_stays_a_symbol() {
        // Each parameter of the template is twice the one before.
        let doubled = (0..30).map(|at| format!("IS{}_S{}_E", at, at)).collect::<String>();
        let symbol = format!("_Z1f1aI1b1bE{doubled}");
        assert!(demangled(symbol.as_bytes()).len() <= LONGEST);
        assert_eq!(demangled(&[b'x'; 2 * LONGEST]).len(), LONGEST);
        assert!(demangled(format!("_Z{}v", "P".repeat(100_000)).as_bytes()).len() <= LONGEST);
    }
}
