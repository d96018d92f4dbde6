//! The tracepoints that text turns back into fields: every wording that kernels, perf and trace-cmd had for them.

use arrow_schema::DataType;
use netcost::events::{tables, Within};

use crate::shown::{all_words, table, words, Row, Shown};
use crate::text::kinds::only;

const COMMON: &str = "time_ns common_cpu common_pid common_comm common_flags common_preempt_count";
const NAPI: &str = "napi poll on napi struct 0xffff9d3d53863e88 for device ";

fn line(event: &str, text: &str) -> String {
    format!("{:>16}-8       [000] d..2. 1.000000: {event}: {text}\n", "sh")
}

/// Columns of the event's own, with their values.
fn own(row: &Row) -> String {
    let own = row.iter().skip(COMMON.split(' ').count());
    own.map(|(name, value)| format!("{name}={value}")).collect::<Vec<String>>().join(" ")
}

/// An event's texts, and the fields that it then has.
fn texts() -> Vec<(&'static str, String, &'static str)> {
    let table: [(&str, &str, &str); 45] = [
        ("softirq_entry", "vec=3 [action=NET_RX]", "vec=3"),
        ("softirq_raise", "vec=9 [action=RCU]", "vec=9"),
        ("softirq_exit", "vec=1", "vec=1"),
        ("softirq_entry", "softirq=3 action=NET_RX", "vec=3"),
        ("irq_handler_entry", "irq=152 name=mlx5_comp2@pci:0000:d8:00.0", "irq=152 name=mlx5_comp2@pci:0000:d8:00.0"),
        ("irq_handler_entry", "irq=0 name=arch timer, two", "irq=0 name=arch timer, two"),
        ("irq_handler_entry", "irq=7 name=eth0 handler=foo+0x0/0x8", "irq=7 name=eth0"),
        ("irq_handler_entry", "irq=7 name=", "irq=7 name="),
        ("irq_handler_exit", "irq=152 ret=handled", "irq=152 ret=1"),
        ("irq_handler_exit", "irq=152 ret=unhandled", "irq=152 ret=0"),
        ("irq_handler_exit", "irq=152 ret=2", "irq=152 ret=2"),
        ("local_timer_entry", "vector=236", "vector=236"),
        ("call_function_single_exit", "vector=251", "vector=251"),
        ("reschedule_entry", "vector=253", "vector=253"),
        ("napi_poll", "NAPI eth0 work 64 budget 64", "napi=18446635485452713608 dev_name=eth0 work=64 budget=64"),
        ("napi_poll", "NAPI (no_device) work 0 budget 64", "napi=18446635485452713608 dev_name=(no_device) work=0 budget=64"),
        ("napi_poll", "NAPI eth0", "napi=18446635485452713608 dev_name=eth0"),
        ("napi_poll", "napi poll on napi struct 00000000456b5702 for device wlan0 work 1 budget 8", "napi=1164662530 dev_name=wlan0 work=1 budget=8"),
        ("napi_poll", "napi poll on napi struct (____ptrval____) for device a work 1 budget 8", "napi=0 dev_name=a work=1 budget=8"),
        ("napi_poll", "napi=0xffff9d3d53863e88 dev_name=eth0 work=3 budget=64", "napi=18446635485452713608 dev_name=eth0 work=3 budget=64"),
        ("sched_switch", "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120", "prev_comm=a b prev_pid=7 prev_prio=120 prev_state=1 next_comm=swapper/0 next_pid=0 next_prio=120"),
        ("sched_switch", "prev_comm=prev_pid=9 x prev_pid=7 prev_prio=-2 prev_state=R+ ==> next_comm=n next_pid=3 next_pid=4 next_prio=98", "prev_comm=prev_pid=9 x prev_pid=7 prev_prio=-2 prev_state=256 next_comm=n next_pid=3 next_pid=4 next_prio=98"),
        ("sched_switch", "prev_comm= ==> prev_pid=7 prev_prio=0 prev_state=X ==> next_comm= next_pid=4 next_prio=0 expeller=1", "prev_comm= ==> prev_pid=7 prev_prio=0 prev_state=16 next_comm= next_pid=4 next_prio=0"),
        ("sched_switch", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=64 next_comm=b next_pid=8 next_prio=120", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=64 next_comm=b next_pid=8 next_prio=120"),
        ("sched_switch", "a:7 [120] S ==> swapper/1:0 [120]", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=1 next_comm=swapper/1 next_pid=0 next_prio=120"),
        ("sched_switch", "a: 1 [2]:7 [120] D|W ==> kworker/1:2:33 [100]", "prev_comm=a: 1 [2] prev_pid=7 prev_prio=120 prev_state=130 next_comm=kworker/1:2 next_pid=33 next_prio=100"),
        ("sched_switch", "task a:7 [120] (R) ==> b:8 [115]", "prev_comm=a prev_pid=7 prev_prio=120 prev_state=0 next_comm=b next_pid=8 next_prio=115"),
        ("sched_wakeup", "comm=a b pid=7 prio=120 target_cpu=002", "comm=a b pid=7 prio=120 target_cpu=2"),
        ("sched_waking", "comm=a pid=7 prio=120 target_cpu=011", "comm=a pid=7 prio=120 target_cpu=11"),
        ("sched_wakeup", "comm=a pid=7 prio=120 success=1 target_cpu=002", "comm=a pid=7 prio=120 success=1 target_cpu=2"),
        ("sched_wakeup_new", "comm=a pid=7 prio=120 success=0 target_cpu=002", "comm=a pid=7 prio=120 success=0 target_cpu=2"),
        ("sched_wakeup", "rcu_preempt:15 [120] CPU:001", "comm=rcu_preempt pid=15 prio=120 target_cpu=1"),
        ("sched_wakeup", "a:b:15 [120] success=1 CPU:001", "comm=a:b pid=15 prio=120 success=1 target_cpu=1"),
        ("sched_wakeup", "task a:15 [120] success=1 [003]", "comm=a pid=15 prio=120 success=1 target_cpu=3"),
        ("sched_migrate_task", "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1", "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1"),
        ("sched_migrate_task", "comm=a pid=7 prio=120 load=9 orig_cpu=0 dest_cpu=1 running=0", "comm=a pid=7 prio=120 orig_cpu=0 dest_cpu=1"),
        ("sched_process_fork", "comm=a pid=7 child_comm=b c child_pid=9", "parent_comm=a parent_pid=7 child_comm=b c child_pid=9"),
        ("sched_process_fork", "parent_comm=a parent_pid=7 child_comm=b child_pid=9", "parent_comm=a parent_pid=7 child_comm=b child_pid=9"),
        ("sched_process_exec", "filename=/usr/bin/a pid=3 b pid=7 old_pid=6", "filename=/usr/bin/a pid=3 b pid=7 old_pid=6"),
        ("sched_process_exit", "comm=a pid=7 prio=120", "comm=a pid=7 prio=120"),
        ("sched_process_exit", "comm=a pid=7 prio=120 group_dead=true", "comm=a pid=7 prio=120 group_dead=true"),
        ("sched_process_exit", "comm=a pid=7 prio=120 group_dead=false", "comm=a pid=7 prio=120 group_dead=false"),
        // A vendor's kernel may print an event in its own way: then that is what there is.
        ("sched_migrate_task", "from a to b", "text=from a to b"),
        // Letters behind a number make it no number, and each vector has one name.
        ("local_timer_entry", "vector=236.5", "text=vector=236.5"),
        ("sched_migrate_task", "comm=a pid=7x prio=120 orig_cpu=0 dest_cpu=1", "text=comm=a pid=7x prio=120 orig_cpu=0 dest_cpu=1"),
    ];
    table.map(|(event, text, fields)| (event, text.replace("NAPI ", NAPI), fields)).into()
}

#[test]
fn every_wording_of_an_event_has_its_fields() {
    for (event, text, fields) in texts() {
        let (name, row) = only(line(event, &text));
        assert_eq!(name.split(':').next_back(), Some(event));
        assert_eq!(own(&row), fields, "{event}: {text}");
        assert_eq!(row.keys().take(6).map(String::as_str).collect::<Vec<&str>>().join(" "), COMMON);
    }
    let kept = Shown::of(line("sched_migrate_task", "from a to b"));
    assert!(matches!(kept.notes()[..], [note] if note.contains(" kept ")));
}

#[test]
fn what_is_no_whole_number_is_no_field() {
    for (event, text) in [
        ("softirq_entry", "vec=3D1 [action=TIMER]"),
        ("softirq_entry", "vec=3 [action=TIMER]"),
        ("softirq_raise", "vec=1 [action=NET_RX]"),
        ("irq_handler_entry", "irq=0x name=eth0"),
        ("irq_handler_entry", "irq=7f name=eth0"),
    ] {
        assert_eq!(own(&only(line(event, text)).1), format!("text={text}"));
    }
}

#[test]
fn columns_have_the_types_of_the_kernels_fields() {
    let text: String = texts().iter().map(|(event, text, _)| line(event, text)).collect();
    let shown = Shown::of(text);
    let found = tables(&shown.recording, None, None, &Within::default(), &mut |_| true).expect("tables");
    let name = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
    for (event, column, kind) in [
        ("irq:softirq_exit", "vec", &DataType::UInt32),
        ("irq:irq_handler_exit", "irq", &DataType::Int32),
        ("napi:napi_poll", "napi", &DataType::UInt64),
        ("napi:napi_poll", "dev_name", &name),
        ("sched:sched_switch", "prev_state", &DataType::Int64),
        ("sched:sched_switch", "prev_comm", &name),
        ("sched:sched_switch", "common_flags", &DataType::UInt8),
        ("sched:sched_wakeup", "target_cpu", &DataType::Int32),
        ("irq_vectors:reschedule_entry", "vector", &DataType::Int32),
    ] {
        let (_, batch) = found.iter().find(|one| one.0 == event).expect("an event");
        assert_eq!(batch.schema().field_with_name(column).expect("a column").data_type(), kind, "{event} {column}");
    }
}

#[test]
fn a_text_that_is_not_the_kernels_leaves_its_line_out() {
    let good = line("softirq_entry", "vec=3 [action=NET_RX]");
    for text in
        ["", "vec", "vec=", "vec=x", "vector=3", "action=NET_RX", "vec=99999999999", "[action=NET_RX]", "\0", "vec=-"]
    {
        let shown = Shown::of(format!("{good}{}{good}", line("softirq_entry", text)));
        assert_eq!(all_words(&shown.events("irq:softirq_entry"), "vec"), ["3", "3"], "{text:?}");
        assert_eq!(shown.counts(), [("irq:softirq_entry", 2)]);
        let note = shown.note("left out");
        assert!(
            note.starts_with("1 of 3 ") && note.contains("irq:softirq_entry") && note.contains("line 2:"),
            "{note}"
        );
    }
}

#[test]
fn optional_fields_are_those_that_all_lines_have() {
    let (old, new) = ("comm=a pid=7 prio=1 success=1 target_cpu=002", "comm=a pid=7 prio=1 target_cpu=003");
    let shown = Shown::of(line("sched_wakeup", old) + &line("sched_wakeup", new));
    assert_eq!(all_words(&shown.events("sched:sched_wakeup"), "target_cpu success"), ["2 _", "3 _"]);
}

// perf names the system, and another system's event of the same name is another event. ftrace has words of its own for
// sys_enter_* and sys_exit_*.
#[test]
fn a_line_says_which_event_it_is() {
    for (line, name, text) in [
        ("sh 8 [000] 1.000000: mine:sched_switch: vec=3\n", "mine:sched_switch", "vec=3"),
        ("sh-7 [000] d..1. 1.000001: sys_read(fd: 3, buf: 7ffd0, count: 200)\n", "syscalls:sys_enter", ""),
        ("sh-7 [000] d..1. 1.000001: sys_sched_yield()\n", "syscalls:sys_enter", ""),
        ("sh-7 [000] d..1. 1.000001: sys_read -> 0x1\n", "syscalls:sys_exit", ""),
        ("sh-7 [000] d..1. 1.000001: sys_futex -> 0xfffffffffffffff5\n", "syscalls:sys_exit", ""),
    ] {
        let (found, row) = only(line);
        let whole = line.trim_end().split_once("1.000001: ").map_or("", |parts| parts.1);
        assert_eq!((found.as_str(), row["text"].as_str()), (name, if text.is_empty() { whole } else { text }));
    }
}

#[test]
fn letters_of_a_state_are_its_bits() {
    for (letters, bits) in [
        ("R", 0),
        ("S", 1),
        ("D", 2),
        ("T", 4),
        ("t", 8),
        ("X", 16),
        ("Z", 32),
        ("P", 64),
        ("I", 128),
        ("R+", 256),
        ("S+", 257),
        ("S|D", 3),
        ("D|K", 2),
        ("x", 16),
        ("D|N", 128),
    ] {
        let text =
            format!("prev_comm=a prev_pid=7 prev_prio=1 prev_state={letters} ==> next_comm=b next_pid=8 next_prio=1");
        assert_eq!(only(line("sched_switch", &text)).1["prev_state"], bits.to_string(), "{letters}");
    }
}

// Kernels moved the bit that says "preempted"; where the text has numbers, they stay, and the ledger is told which it is.
// Who is preempted waits from then on; who sleeps waits from when he is woken.
#[test]
fn numbers_of_older_kernels_mean_preempted_too() {
    for bit in [0x200, 0x400, 0x800, 0x1000] {
        let switch = |(time, prev, state, next)| {
            format!("t{prev}-{prev} [000] d..2. {time}.000000: sched_switch: prev_comm=t{prev} prev_pid={prev} prev_prio=1 prev_state={state} next_comm=t{next} next_pid={next} next_prio=1\n")
        };
        let shown = Shown::of([(1, 7, 1, 8), (2, 8, bit, 7), (3, 7, 1, 8)].map(switch).concat());
        let states = all_words(&shown.events("sched:sched_switch"), "prev_state");
        assert_eq!(states, ["1", &bit.to_string(), "1"]);
        let slices = table(&shown.ledger().expect("a ledger"), "slices");
        let of_8 = slices.iter().filter(|row| row["tid"] == "8").map(|row| words(row, "wait_ns"));
        assert_eq!(of_8.collect::<Vec<String>>(), ["null", "1000000000"]);
    }
}
