from netcost_analysis import Snapshot

INTERRUPTS = """\
            CPU0       CPU2
  26:        120         7   PCI-MSIX-0000:00:03.0   1-edge      virtio2-input.0
 LOC:      90000     80000   Local timer interrupts
 ERR:          0
"""
SOFTIRQS = """\
                    CPU0       CPU2
          HI:          1          0
      NET_RX:        500        600
"""
STAT = """\
cpu  300 0 100 5000 0 0 40 0 0 0
cpu0 100 0 50 2500 0 0 30 0 0 0
cpu2 200 0 50 2500 0 0 10 0 0 0
intr 12345
"""
NET_DEV = """\
Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo: 10 1 0 0 0 0 0 0 10 1 0 0 0 0 0 0
  eth0:12345 678 0 3 0 0 0 0 99 9 0 0 0 0 0 0
"""  # noqa: E501
# Linux 6.12: 15 columns, the CPU in the thirteenth; CPU 1 is offline.
SOFTNET = """\
000001f4 00000001 00000002 0 0 0 0 0 0 00000010 00000000 00000000 00000000 0 0
00000258 00000000 00000000 0 0 0 0 0 0 00000020 00000000 00000000 00000002 0 0
"""
STAMP = """\
monotonic_ns 1000
realtime_ns 1795158611521339740
stat 1010 1020
"""


def snapshot(**texts: str) -> Snapshot:
    return Snapshot(texts)


def test_interrupts_by_line_and_cpu_number() -> None:
    found = snapshot(interrupts=INTERRUPTS)
    assert found.interrupts.loc["26"].to_dict() == {0: 120, 2: 7}
    assert found.interrupts.loc["LOC", 2] == 80000
    assert "ERR" not in found.interrupts.index
    assert found.irq_labels["26"] == "PCI-MSIX-0000:00:03.0 1-edge virtio2-input.0"


def test_softirqs_difference() -> None:
    before, after = snapshot(softirqs=SOFTIRQS), snapshot(softirqs=SOFTIRQS.replace("500", "750"))
    assert (after.softirqs - before.softirqs).loc["NET_RX"].to_dict() == {0: 250, 2: 0}


def test_stat_has_no_row_for_the_whole_machine() -> None:
    stat = snapshot(stat=STAT).stat
    assert list(stat.index) == [0, 2]
    assert stat.loc[0, "softirq"] == 30


def test_stat_of_an_old_kernel_has_fewer_kinds() -> None:
    old = "\n".join(" ".join(line.split()[:8]) for line in STAT.splitlines())
    assert list(snapshot(stat=old).stat.columns)[-1] == "softirq"


def test_net_dev_with_and_without_a_blank_after_the_colon() -> None:
    net_dev = snapshot(net_dev=NET_DEV).net_dev
    assert list(net_dev.index) == ["lo", "eth0"]
    assert net_dev.loc["eth0", ["rx_bytes", "rx_drop", "tx_packets"]].tolist() == [12345, 3, 9]


def test_softnet_stat_is_hexadecimal_and_names_its_cpu() -> None:
    softnet = snapshot(net_softnet_stat=SOFTNET).softnet_stat
    assert list(softnet.index) == [0, 2]
    assert softnet.loc[0, ["processed", "time_squeeze", "received_rps"]].tolist() == [500, 2, 16]


def test_a_line_of_softnet_stat_that_is_cut_is_left_out() -> None:
    # Whichever, and wherever: its last words may be those of the CPU.
    lines = SOFTNET.splitlines()
    assert len(lines) > 1
    for width in range(1, len(lines[-1].split())):
        text = "\n".join([*lines[:-1], " ".join(lines[-1].split()[:width])])
        assert list(snapshot(net_softnet_stat=text).softnet_stat.index) == [0]


def test_softnet_stat_before_cpus_were_named() -> None:
    short = "\n".join(" ".join(line.split()[:11]) for line in SOFTNET.splitlines())
    named = snapshot(net_softnet_stat=SOFTNET).softnet_stat
    # By either file that has the CPUs that are online.
    for beside in ({"stat": "cpu0 1 2\ncpu2 3 4\n"}, {"interrupts": "CPU0 CPU2\n 1: 0 0 x\n"}):
        told = snapshot(net_softnet_stat=short, **beside).softnet_stat
        assert told["processed"].to_dict() == named["processed"].to_dict()
    # Where none has, or as many: of whichever CPUs.
    for beside in ({}, {"stat": "cpu0 1 2\n"}):
        told = snapshot(net_softnet_stat=short, **beside).softnet_stat
        assert told.index.isna().tolist() == [True]
        assert told["processed"].tolist() == [named["processed"].sum()]


def test_stamp_and_reads() -> None:
    found = snapshot(stamp=STAMP)
    assert found.stamp == {"monotonic_ns": 1000, "realtime_ns": 1795158611521339740}
    assert found.reads == {"stat": (1010, 1020)}


def test_what_was_not_recorded_is_empty() -> None:
    nothing = snapshot()
    for frame in (nothing.stat, nothing.interrupts, nothing.softirqs, nothing.net_dev):
        assert frame.empty
    assert nothing.softnet_stat.empty
    assert nothing.stamp == {}
