//! Every field of a tracepoint is what its recorded format says, whichever machine recorded it.

use netcost::Order;

use super::samples::ORDERS;
use crate::described::{pipe_of, tracing, Attr, Bytes, CPU, RAW, SAMPLE, TIME};
use crate::shown::{all_words, Shown};

/// Types of one size, the signed ones first; of 0 bytes those of a `long`.
const INTEGERS: [(usize, &[&str], &[&str]); 5] = [
    (1, &["s8", "int8_t"], &["u8", "unsigned char", "uint8_t"]),
    (2, &["short", "s16", "int16_t"], &["unsigned short", "u16", "__be16", "__le16"]),
    (4, &["int", "s32", "pid_t"], &["unsigned int", "u32", "__be32", "gfp_t", "enum skb_drop_reason"]),
    (8, &["s64", "long long"], &["u64", "__be64", "unsigned long long"]),
    (0, &["long", "ssize_t"], &["unsigned long", "size_t", "void *", "struct net_device *"]),
];
/// Bytes behind the fields that every event has: none; PREEMPT_RT's; Linux 3.4's.
const MORE: [usize; 3] = [0, 1, 4];

/// A field without its name, its alignment, whether it is signed, its bytes, those that it points to, what is shown.
type Told = (String, usize, bool, Vec<u8>, Option<Vec<u8>>, String);

fn number(order: Order, number: i128, size: usize) -> Vec<u8> {
    let mut bytes = number.to_le_bytes()[..size].to_vec();
    if order == Order::Big {
        bytes.reverse();
    }
    bytes
}

/// Numbers of every type, arrays of them, and arrays that are pointed to: of so many elements.
fn numbers(order: Order, word: usize, count: usize) -> Vec<Told> {
    let mut told = Vec::new();
    for (size, signed, unsigned) in INTEGERS {
        let size = if size == 0 { word } else { size };
        let types = signed.iter().map(|kind| (kind, true)).chain(unsigned.iter().map(|kind| (kind, false)));
        for (kind, is_signed) in types {
            let half = 1_i128 << (8 * size - 1);
            let [low, high] = if is_signed { [-half, half - 1] } else { [0, 2 * half - 1] };
            let values = [low, high, 1, 0x0102_0304_0506_0708 % (high + 1)];
            let of = |some: &[i128]| some.iter().flat_map(|&value| number(order, value, size)).collect::<Vec<u8>>();
            let one = values[count % 4];
            told.push((format!("{kind} %"), size, is_signed, of(&[one]), None, one.to_string()));
            if kind.contains('*') {
                continue;
            }
            told.push((format!("{kind} %[4]"), size, is_signed, of(&values), None, format!("{values:?}")));
            // Of these a dynamic array does not say how large its elements are.
            if !matches!(*kind, "gfp_t" | "enum skb_drop_reason") {
                let (some, loc) = (&values[..count], if count % 2 == 0 { "data" } else { "rel" });
                let declared = format!("__{loc}_loc {kind}[] %");
                told.push((declared, 4, false, vec![0; 4], Some(of(some)), format!("{some:?}")));
            }
        }
    }
    told
}

// A char[N] may be full to the last byte, without a NUL. Of a type that user space defined, or of a char array longer
// than declared, the bytes are there.
fn texts() -> Vec<Told> {
    let bytes: Vec<u8> = (0..20).collect();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut told = vec![
        ("char %".to_owned(), 1, true, vec![0x80], None, "-128".to_owned()),
        ("bool %".to_owned(), 1, false, vec![0], None, "false".to_owned()),
        ("bool %".to_owned(), 1, false, vec![1], None, "true".to_owned()),
        ("struct point %".to_owned(), 1, false, bytes.clone(), None, hex.clone()),
        ("char %[10]".to_owned(), 1, false, bytes, None, hex),
    ];
    for text in ["", "eth0", "Grüße ſ€", "0123456789abcdef"] {
        let mut bytes = text.as_bytes().to_vec();
        let pointed = || Some([text.as_bytes(), &[0]].concat());
        bytes.resize(16, 0);
        told.push(("char %[16]".to_owned(), 1, false, bytes, None, text.to_owned()));
        told.push(("__data_loc char[] %".to_owned(), 4, false, vec![0; 4], pointed(), text.to_owned()));
        told.push(("__rel_loc char[] %".to_owned(), 4, false, vec![0; 4], pointed(), text.to_owned()));
    }
    told
}

/// One such event, whose fields may stand right behind the other, as those of probes and user_events do.
fn assert_read(order: Order, word: u8, (more, is_packed): (usize, bool), told: &[Told]) {
    let behind = format!("unsigned char common_more[{more}]");
    let common = [
        ("unsigned short common_type", 2),
        ("unsigned char common_flags", 1),
        ("unsigned char common_preempt_count", 1),
    ];
    let mut format = "name: made\nID: 7\nformat:\n".to_owned();
    let (mut at, line) = (0, |format: &mut String, declared: &str, at: usize, size: usize, is_signed: bool| {
        *format += &format!("\tfield:{declared};\toffset:{at};\tsize:{size};\tsigned:{};\n", u8::from(is_signed));
    });
    for (declared, size) in common.into_iter().chain([("int common_pid", 4), (&behind, more)]).filter(|one| one.1 > 0) {
        line(&mut format, declared, at, size, size == 4);
        at += size;
    }
    format.push('\n');
    let mut payload = Bytes::of(order).u16(7).raw(&[0, 1]).u32(501).bytes;
    payload.resize(at, 0);
    let mut words = Vec::new();
    for (place, (declared, alignment, is_signed, bytes, pointed, _)) in told.iter().enumerate() {
        payload.resize(payload.len().next_multiple_of(if is_packed { 1 } else { *alignment }), 0);
        let declared = declared.replace('%', &format!("field_{place}"));
        line(&mut format, &declared, payload.len(), bytes.len(), *is_signed);
        words.extend(pointed.as_ref().map(|to| (payload.len(), declared.starts_with("__rel"), to)));
        payload.extend(bytes);
    }
    for (at, is_relative, to) in words {
        let start = payload.len() - if is_relative { at + 4 } else { 0 };
        payload[at..at + 4].copy_from_slice(&order.u32_bytes((to.len() << 16 | start) as u32));
        payload.extend(to);
    }
    let format = format!("{format}\nprint fmt: \"\"\n");
    payload.resize((payload.len() + 4).next_multiple_of(8) - 4, 0);
    let body = Bytes::of(order).u64(1000).u32(3).u32(0).u32(payload.len() as u32).raw(&payload);
    let records = tracing(Bytes::of(order), word, "made", &[&format]).record(SAMPLE, 1, body);
    let rows = Shown::of(pipe_of(order, &[Attr::tracepoint(7, TIME | CPU | RAW)], &records)).events("made:made");
    assert_eq!(all_words(&rows, "time_ns common_cpu common_pid"), ["1000 3 501"]);
    for (place, (declared, .., wanted)) in told.iter().enumerate() {
        assert_eq!(&rows[0][&format!("field_{place}")], wanted, "{declared} of {order:?} {word} {more} {is_packed}");
    }
}

#[test]
fn fields_are_what_their_format_says() {
    for (order, word) in ORDERS.into_iter().flat_map(|order| [(order, 8), (order, 4)]) {
        for dress in MORE.into_iter().flat_map(|more| [(more, false), (more, true)]) {
            (0..4).for_each(|count| assert_read(order, word, dress, &numbers(order, word.into(), count)));
            assert_read(order, word, dress, &texts());
        }
    }
}
