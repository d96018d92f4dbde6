//! Several ring buffers in one file: the top one, instances (trace-cmd record -B), and the text of a latency tracer.

use netcost::{ErrorKind, Order, Unit};

use super::written::{found, Buffer, Dat, Machine, MACHINES, MISSED, PAGE, S, STORED, X86_64};
use crate::described::pipe_of;
use crate::perf_data::samples::{at, hardware};
use crate::shown::{all_words, refused, Shown};

fn instances(machine: Machine) -> Vec<Buffer> {
    let event = machine.event(77, 0, 2);
    let lost = [event.clone(), machine.long(9)].concat();
    let lost = machine.page(S + 3, event.len() as u64 | MISSED | STORED, &lost);
    let top = vec![(0, machine.ring(2, &[(S, 1), (S + 20, 1), (S + 40, 3)])), (1, machine.ring(9, &[(S + 5, 3)]))];
    let other = vec![(0, [machine.ring(9, &[(S, 1)]), lost].concat()), (1, machine.ring(9, &[(S + 7, 3)]))];
    let third = vec![(1, machine.ring(9, &[(S + 2000, 5), (S + 2500, 5)]))];
    vec![Buffer::of("", top), Buffer::of("other", other), Buffer::of("third", third)]
}

// The top one, where no other is asked for. Version 6 lists every CPU of the machine for each; here count those that
// recorded.
#[test]
fn each_buffer_is_what_was_recorded_in_it() {
    for (version, packing, options_each) in [(6, "none", 9), (7, "none", 9), (7, "zstd", 9), (7, "zlib", 1)] {
        for machine in MACHINES {
            let options = vec![(5, b"Linux described 6.18.0 x86_64\0".to_vec()), (9, b"3.1.6 described\0".to_vec())];
            let dat = Dat { options_each, options, buffers: instances(machine), ..Dat::of(machine, version, vec![]) };
            let bytes = dat.packed(packing).bytes();
            let of = |name: Option<&str>| Shown::opened(&bytes, name).expect("a buffer");
            let wanted = [
                ("", vec![(0, 0, 1), (5, 1, 3), (20, 0, 1), (40, 0, 3)], 0),
                ("other", vec![(0, 0, 1), (3, 0, 2), (7, 1, 3)], 9),
                ("third", vec![(2000, 1, 5), (2500, 1, 5)], 0),
            ];
            for (name, events, lost) in wanted {
                let shown = of(Some(name));
                assert_eq!((found(&shown), shown.scan.lost, shown.scan.lost_unknown), (events, lost, 0), "{name}");
                let recording = &shown.recording;
                assert_eq!((recording.buffer.as_str(), recording.compressed), (name, packing != "none"));
                assert!(recording.buffers.iter().all(|one| one.bytes > 0 && one.clock == "mono"));
                let listed: Vec<(&str, usize)> =
                    recording.buffers.iter().map(|one| (one.name.as_str(), one.cpus)).collect();
                assert_eq!(listed, [("", 2), ("other", 2), ("third", 1)]);
                let said = (recording.version, recording.order, recording.host.long_bytes, recording.unit);
                assert_eq!(said, (version.into(), machine.order, Some(machine.word as u8), Unit::Nanoseconds));
                let host = &recording.host;
                let said = [&host.uname, &host.arch, &host.tool_version].map(Option::as_deref);
                assert_eq!(said, [Some("Linux described 6.18.0 x86_64"), Some("x86_64"), Some("3.1.6 described")]);
            }
            assert_eq!(found(&of(None)), found(&of(Some(""))));
            let (kind, message) = refused(Shown::opened(&bytes, Some("Other")));
            assert!(kind == ErrorKind::Missing && message.contains("'Other'"), "{message}");
            assert!(message.contains("'other'") && message.contains("'third'"), "{message}");
        }
    }
    let perf = pipe_of(Order::Little, &[hardware(0, 0, &[10])], &at(Order::Little, &[1]));
    let (kind, message) = refused(Shown::opened(perf, Some("other")));
    assert!(kind == ErrorKind::Missing && message.contains("'other'"), "{message}");
}

// Nothing was recorded in the top buffer, which has no CPU then. The only one that has something is meant where none is
// named.
#[test]
fn only_an_instance() {
    for (version, rings) in [(6, vec![(0, vec![]), (1, vec![])]), (7, vec![])] {
        let dat = Dat::of(X86_64, version, rings);
        let buffers = vec![dat.buffers[0].clone(), instances(X86_64).swap_remove(1)];
        let bytes = Dat { buffers, ..dat }.bytes();
        for name in [None, Some("other")] {
            let shown = Shown::opened(&bytes, name).expect("a buffer");
            assert_eq!((found(&shown).len(), shown.recording.buffer.as_str()), (3, "other"));
            let listed: Vec<bool> = shown.recording.buffers.iter().map(|one| one.bytes > 0).collect();
            assert_eq!(listed, [false, true]);
        }
        let top = Shown::opened(&bytes, Some("")).expect("the top one");
        assert_eq!(top.scan.counts, [0]);
    }
    // A file that ends where its data does, and one of no data at all.
    for rings in [vec![], vec![(0, vec![]), (1, vec![])]] {
        assert_eq!(Dat::of(X86_64, 7, rings).shown().scan.counts, [0]);
    }
}

// As newer kernels let each buffer have its own.
#[test]
fn an_instance_with_larger_sub_buffers() {
    let events: Vec<(u64, u32)> = (0..200).map(|number| (S + number, 1)).collect();
    let mut large = X86_64.ring(255, &events);
    large.resize(16 * PAGE, 0);
    let other = Buffer { page: 16 * PAGE, ..Buffer::of("other", vec![(0, [large.clone(), large].concat())]) };
    let dat = Dat::of(X86_64, 7, vec![(0, X86_64.ring(9, &[(S, 1)]))]);
    let bytes = Dat { buffers: vec![dat.buffers[0].clone(), other], ..dat }.bytes();
    for (name, count) in [("other", 400), ("", 1)] {
        assert_eq!(Shown::opened(&bytes, Some(name)).expect("a buffer").scan.counts, [count]);
    }
}

// Text in place of pages, in a trace.dat all the same.
#[test]
fn the_text_of_a_latency_tracer() {
    const START: &str = "# tracer: irqsoff\n#\n";
    let line = |context: &str, us: u32, event: &str| {
        format!("         openssl-500     [001] {context}  1000.{us:06}: softirq_{event}: vec=3 [action=NET_RX]\n")
    };
    let lines = [line("d.h1.", 1, "raise"), line("..s1.", 3, "entry"), line("..s1.", 9, "exit").repeat(1000)];
    for (version, packing, chunk) in
        [(6, "none", PAGE), (7, "none", PAGE), (7, "zstd", 10 * PAGE), (7, "zstd", PAGE), (7, "zlib", PAGE)]
    {
        let dat = |text: &str| {
            let text = Buffer { clock: "local", text: Some(format!("{START}{text}")), ..Buffer::of("", vec![]) };
            Dat { chunk, buffers: vec![text], ..Dat::of(X86_64, version, vec![]) }.packed(packing).bytes()
        };
        let shown = Shown::of(dat(&lines.concat()));
        let counts: Vec<u64> = shown.scan.counts.iter().copied().filter(|&count| count > 0).collect();
        assert_eq!(counts, [1, 1, 1000], "{version} {packing}");
        let raised = shown.events("irq:softirq_raise");
        let columns = "time_ns common_cpu common_pid vec common_flags";
        assert_eq!(all_words(&raised, columns), ["1000000001000 1 500 3 9"]);
        assert_eq!((shown.recording.version, shown.recording.resolution_ns), (version.into(), 1000));
        refused(Shown::opened(dat(""), None));
    }
}
