# netcost-steer on a host of files with a stub for ethtool, for no NIC with flow rules is here.

import os
import re
import shutil
from pathlib import Path

import pytest

from support.host import require_tool
from support.kit.record import ended
from support.kit.steer_host import MAC, STEER, Host

ALL = ["--device", "eth0", "--mac", MAC.upper(), "--queue", "2", "--cpu", "5", "--ntuple"]


def test_what_would_change_is_said_and_nothing_is_changed(host: Host) -> None:
    before = host.settings()
    said = host.steered("apply", *ALL, "--qdisc", "noqueue")
    sys, proc = host.root / "sys", host.root / "proc"
    commands = [
        *(f"echo 0 >{sys}/class/net/eth0/queues/rx-{n}/rps_cpus # is ff" for n in range(4)),
        "ethtool -K eth0 ntuple-filters on # is off",
        f"ethtool -N eth0 flow-type ether dst {MAC} action 2",
        f"echo 5 >{proc}/irq/152/smp_affinity_list # is 0-7",
        f"echo noqueue >{proc}/sys/net/core/default_qdisc # is fq_codel",
    ]
    assert [" ".join(line.split()) for line in said.splitlines()[1:]] == commands
    assert host.settings() == before


def test_a_device_named_twice_is_changed_once(host: Host) -> None:
    once = host.steer("apply", "--device", "eth0")
    twice = host.steer("apply", "--device", "eth0,eth0")
    assert (twice.returncode, twice.stdout) == (0, once.stdout)
    assert once.stdout.count("/rx-0/") == 1


def test_what_is_applied_is_put_back(host: Host) -> None:
    before = host.settings()
    host.steered("apply", *ALL, "--qdisc", "noqueue", "--yes")
    assert host.read("rules-eth0") == f"1023 {MAC} 2"
    assert host.read("ntuple") == "on"
    assert host.read("proc/irq/152/smp_affinity_list") == "5"
    assert host.read("proc/irq/151/smp_affinity_list") == "0-7"
    assert host.read("proc/sys/net/core/default_qdisc") == "noqueue"
    rps = [host.read(f"sys/class/net/eth0/queues/rx-{queue}/rps_cpus") for queue in range(4)]
    assert rps == ["0"] * 4

    said = host.steered("restore")
    assert said.splitlines()[-1].startswith("8 changes")
    assert host.settings() == before
    done = host.steer("restore")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)


def test_it_refuses_to_run_twice_and_names_who_was_first(host: Host) -> None:
    host.steer("apply", *ALL, "--yes")
    applied = host.settings()
    for words in (["--device", "eth0", "--qdisc", "noqueue"], ALL):
        done = host.steer("apply", *words, "--yes")
        assert (done.returncode, done.stdout) == (1, "")
        assert "of root" in done.stderr
        assert host.settings() == applied


def test_what_is_so_already_is_no_change(host: Host) -> None:
    for queue in range(4):
        host.write(f"sys/class/net/eth0/queues/rx-{queue}/rps_cpus", "00000000,00000000")
    done = host.steer("apply", "--device", "eth0", "--yes")
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 1)
    assert not (host.root / "run/netcost-steer").exists()


# Commas are between the words of a mask, and between the CPUs of a list.
@pytest.mark.parametrize(("was", "cpu"), [("0,5", "5"), ("1,2", "12"), ("0-1", "1"), ("05", "5")])
def test_a_list_of_cpus_is_another_where_its_cpus_are(host: Host, was: str, cpu: str) -> None:
    (host.root / "sys/devices/system/cpu/cpu12").mkdir()
    host.write("proc/irq/152/smp_affinity_list", was)
    words = ["--device", "eth0", "--keep-rps", "--queue", "2", "--cpu", cpu]
    done = host.steer("apply", *words, "--yes")
    assert done.returncode == 0, done.stderr
    same = was.lstrip("0") == cpu
    assert host.read("proc/irq/152/smp_affinity_list") == (was if same else cpu)
    assert (host.root / "run/netcost-steer").exists() != same
    host.steer("restore")
    assert host.read("proc/irq/152/smp_affinity_list") == was


def test_filters_are_switched_on_by_name_alone(host: Host) -> None:
    done = host.steer("apply", *ALL[:-1], "--yes")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert "--ntuple" in done.stderr
    assert "resets some NICs" in done.stderr
    host.write("ntuple", "on")
    assert host.steer("apply", *ALL[:-1], "--yes").returncode == 0


@pytest.mark.parametrize(("added", "left"), [(True, "on"), (False, "off [requested on]")])
def test_filters_stay_as_somebody_else_has_left_them(host: Host, added: bool, left: str) -> None:
    host.steer("apply", *ALL, "--yes")
    rule = f"1000 {MAC[:-2]}ff 3"
    if added:
        host.write("rules-eth0", f"{host.read('rules-eth0')}\n{rule}")
    else:
        host.write("ntuple", left)
    said = host.steered("restore")
    assert "ntuple-filters of eth0" in said
    assert host.read("ntuple") == left
    assert host.read("rules-eth0") == (rule if added else "")
    assert host.read("proc/irq/152/smp_affinity_list") == "0-7"
    assert not (host.root / "run/netcost-steer").exists()


def test_a_device_that_refuses_takes_all_changes_back(tmp_path: Path) -> None:
    host = Host(tmp_path, ("eth0", "eth1"))
    host.write("refuse-eth1", "yes")
    before = host.settings()
    done = host.steer(
        "apply", "--device", "eth0,eth1", "--mac", MAC, "--queue", "2", "--ntuple", "--yes"
    )
    assert done.returncode == 1
    assert "eth1" in done.stderr
    assert "rmgr: " in done.stderr
    assert host.settings() == before


def test_a_shell_that_was_killed_is_cleaned_up_after(host: Host) -> None:
    # Killed right after the NIC took the rule, before it could be noted which.
    host.write("rules-eth0", "1023 02:00:00:00:00:01 3")
    before = host.settings()
    host.write("kill", "yes")
    done = host.steer("apply", *ALL, "--yes")
    assert done.returncode == -9
    assert f"1022 {MAC} 2" in host.read("rules-eth0")
    # In its folder for what is temporary its process is named.
    assert len(list((host.root / "tmp").iterdir())) == 1
    done = host.steer("restore")
    assert list((host.root / "tmp").iterdir()) == []
    assert (done.returncode, done.stderr) == (0, "")
    assert f"eth0 ({MAC})" in done.stdout
    assert host.settings() == before


def test_what_somebody_else_changed_meanwhile_is_said(host: Host) -> None:
    before = host.settings()
    host.steer("apply", *ALL, "--yes")
    host.write("proc/irq/152/smp_affinity_list", "3")
    host.write("rules-eth0", "")
    done = host.steer("status", "--seconds", "1")
    assert done.returncode == 1
    assert "152/smp_affinity_list: 3, " in done.stdout
    assert f"rule 1023 for {MAC}" in done.stdout
    done = host.steer("restore")
    assert done.returncode == 0
    assert "changed to 3" in done.stdout
    assert host.settings() == before


def test_status_follows_the_flow_to_its_cpu(host: Host) -> None:
    host.counters({0: 100, 2: 1000}, {(152, 5): 10}, {0: 100, 5: 1000})
    host.counters({0: 130, 2: 91000}, {(152, 5): 9010}, {0: 130, 5: 91000}, at="later/")
    host.steer("apply", *ALL, "--yes")
    said = host.steered("status", "--seconds", "1")
    # The rule, the queue, its packets, its interrupt, where that may run and runs, how often.
    told = [re.findall(r"\d[\w:.]*", line) for line in said.splitlines()]
    for figures in (
        *(["0:", "1023", MAC, "2"], ["2:", "90000", "90030"], ["9000", "5"]),
        *(["152", "5_comp2", "0000:d8:00.0", "5", "5"], ["0", "2", "152", "5"], ["5:", "90000"]),
    ):
        assert figures in told, figures


@pytest.mark.parametrize(
    ("queues", "interrupts", "said"),
    [
        ({2: 10, 3: 90000}, {(152, 5): 10}, "3: 90000"),
        ({2: 90000}, {(152, 1): 900}, "not on CPU"),
        ({2: 90000}, {(152, 1): 900, (152, 5): 9}, "more than one"),
    ],
)
def test_status_says_where_the_flow_goes_instead(
    host: Host, queues: dict[int, int], interrupts: dict[tuple[int, int], int], said: str
) -> None:
    host.counters(queues, interrupts, {}, at="later/")
    host.steer("apply", *ALL, "--yes")
    done = host.steer("status", "--seconds", "1")
    assert done.returncode == 1
    assert said in done.stdout


def test_status_without_packets_cannot_tell(host: Host) -> None:
    host.steer("apply", *ALL, "--yes")
    done = host.steer("status", "--seconds", "1")
    assert done.returncode == 3
    assert "no packet" in done.stdout
    assert len(done.stderr.splitlines()) == 1


def labels_of(host: Host, *labels: str) -> None:
    host.labels = dict(zip(range(150, 150 + len(labels)), labels, strict=True))
    host.counters({}, {}, {})


@pytest.mark.parametrize(
    "labels",
    [
        ("eth0", "eth0-TxRx-0", "eth0-TxRx-2", "eth0-TxRx-12"),
        ("virtio2-config", "virtio2-output.2", "virtio2-input.2", "virtio2-input.0"),
        ("eth0-tx-2", "eth0-rx-0", "eth0-rx-2", "eth0"),
        ("mlx5_async2@pci:0000:d8:00.0", "x", "mlx5_comp2@pci:0000:d8:00.0", "y"),
        ("i40e-eth0-TxRx-20", "z", "i40e-eth0-TxRx-2", "i40e-0000:3b:00.0:misc"),
        # Of a device without numbers in sysfs.
        ("eth01-TxRx-2", "ahci", "eth0-TxRx-2", "eth0-TxRx-0"),
    ],
)
def test_the_queues_interrupt_is_known_by_its_label(host: Host, labels: tuple[str, ...]) -> None:
    if "ahci" in labels:
        shutil.rmtree(host.root / "sys/class/net/eth0/device")
    labels_of(host, *labels)
    done = host.steer("apply", "--device", "eth0", "--keep-rps", "--queue", "2", "--cpu", "5")
    [line] = done.stdout.splitlines()[1:]
    assert line.split()[:3] == ["echo", "5", f">{host.root}/proc/irq/152/smp_affinity_list"]


def test_a_label_that_does_not_tell_is_asked_for(host: Host) -> None:
    labels_of(host, "nic-a", "nic-b", "nic-c", "nic-d")
    done = host.steer("apply", *ALL)
    assert done.returncode == 1
    assert "--irq" in done.stderr
    done = host.steer("apply", *ALL, "--irq", "153")
    assert "irq/153/smp_affinity_list" in done.stdout


# More of it: tests/golden/kit.console.
@pytest.mark.parametrize(
    ("file", "text", "words", "said"),
    [
        ("", "", ["--device", "eth0", "--mac", MAC, "--queue", "9"], "queue 9"),
        ("", "", ["--device", "eth0", "--cpu", "64"], "CPU 64"),
        ("sys/class/net/bond0/bonding/slaves", "eth0 eth1", ["--device", "bond0"], "eth0,eth1"),
        ("ntuple", "off [fixed]", ALL, "off [fixed]"),
        # Of another queue: it is not replaced.
        ("rules-eth0", f"7 {MAC} 1", ALL, f"rule 7 for {MAC}"),
    ],
)
def test_what_the_host_cannot_do_is_refused_in_a_line(
    host: Host, file: str, text: str, words: list[str], said: str
) -> None:
    if file:
        host.write(file, text)
    done = host.steer("apply", *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert said in done.stderr


@pytest.mark.parametrize("shell", ["dash", "busybox"])
def test_other_shells_do_the_same(host: Host, shell: str) -> None:
    require_tool(shell)
    before = host.settings()
    words = [shell, "ash"] if shell == "busybox" else [shell]
    path = f"{host.bin}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "NETCOST_ROOT": str(host.root), "PATH": path}
    done = ended([*words, STEER, "apply", *ALL, "--yes"], env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert host.read("rules-eth0") == f"1023 {MAC} 2"
    ended([*words, STEER, "restore"], env=environment)
    assert host.settings() == before
