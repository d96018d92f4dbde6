//! Names that users give to programs of BPF, which the kernel lists among its functions.

use memchr::memmem;

const BPF: &[u8] = b"bpf_prog_";
const TAG: usize = 16;

/// Overwrites the name behind each program's tag, in as many bytes; how many there were.
pub fn hide_bpf(bytes: &mut [u8]) -> u64 {
    let (mut from, mut count) = (0, 0);
    while let Some(at) = memmem::find(&bytes[from..], BPF) {
        let tag = from + at + BPF.len();
        from = tag;
        let is_tag = bytes.get(tag..tag + TAG).is_some_and(|tag| tag.iter().all(u8::is_ascii_hexdigit));
        if !is_tag || bytes.get(tag + TAG) != Some(&b'_') {
            continue;
        }
        let name = bytes[tag + TAG + 1..].iter_mut();
        let name = name.take_while(|byte| !byte.is_ascii_whitespace() && **byte != 0);
        count += u64::from(name.map(|byte| *byte = b'_').count() > 0);
    }
    count
}

#[cfg(test)]
mod tests {
    use super::hide_bpf;

    #[test]
    fn names_behind_tags() {
        let hidden = |text: &str| {
            let mut bytes = text.as_bytes().to_vec();
            let count = hide_bpf(&mut bytes);
            (String::from_utf8(bytes).expect("text"), count)
        };
        let listed = "ffff t bpf_prog_0123456789abcdef_guard\t[bpf]\nffff t bpf_prog_run\n";
        let wanted = "ffff t bpf_prog_0123456789abcdef______\t[bpf]\nffff t bpf_prog_run\n";
        assert_eq!(hidden(listed), (wanted.to_owned(), 1));
        assert_eq!(hidden(wanted).0, wanted);
        assert_eq!(hidden("bpf_prog_0123456789abcdef"), ("bpf_prog_0123456789abcdef".to_owned(), 0));
        assert_eq!(hidden("bpf_prog_0123456789abcde"), ("bpf_prog_0123456789abcde".to_owned(), 0));
        assert_eq!(hidden("bpf_prog_").1, 0);
    }
}
