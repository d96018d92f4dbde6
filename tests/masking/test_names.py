# What replaces what: addresses keep their subnets' shape, names their room, and a map its word.

import ipaddress
import random
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis import CaptureError
from netcost_analysis.masking.addresses import Addresses, HardwareAddresses, is_kept
from netcost_analysis.masking.arguments import masked_arguments, masked_command
from netcost_analysis.masking.free_text import FreeText
from netcost_analysis.masking.names import Names, is_kept_task

SPECIAL = ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16", "100.64.0.0/10")
SPECIAL_6 = ("fe80::/64", "fd00::/8", "2000::/3")
V4 = st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address)
V6 = st.integers(0, 2**128 - 1).map(ipaddress.IPv6Address)
NEAR_4 = st.tuples(V4, st.integers(0, 31)).map(
    lambda one: (one[0], ipaddress.IPv4Address(int(one[0]) ^ 1 << one[1]))
)
NEAR_6 = st.tuples(V6, st.integers(0, 127)).map(
    lambda one: (one[0], ipaddress.IPv6Address(int(one[0]) ^ 1 << one[1]))
)


def addresses(seed: int = 1) -> Addresses:
    source = random.Random(seed)
    return Addresses(lambda: source.getrandbits(1))


def common(one: ipaddress._BaseAddress, other: ipaddress._BaseAddress) -> int:
    return one.max_prefixlen - (int(one) ^ int(other)).bit_length()


@given(st.one_of(NEAR_4, NEAR_6, st.tuples(V4, V4), st.tuples(V6, V6)), st.integers(0, 9))
def test_subnets_keep_their_shape(
    pair: tuple[ipaddress.IPv4Address, ipaddress.IPv4Address], seed: int
) -> None:
    masking = addresses(seed)
    if any(is_kept(one) or str(one).startswith(("ff", "::")) for one in pair):
        return
    masked = [masking.replacement(one) for one in pair]
    assert common(*masked) == common(*pair)
    # In the other order, and again, it is the same.
    assert [masking.replacement(one) for one in reversed(pair)] == masked[::-1]


@given(st.one_of(V4, V6))
def test_an_address_becomes_another_of_its_class(address: ipaddress.IPv4Address) -> None:
    masked = addresses().replacement(address)
    assert (masked == address) == is_kept(address) or (
        # IPv6 addresses of no class may have all their bits on the way to one.
        address.version == 6
    )
    for network in map(ipaddress.ip_network, SPECIAL if address.version == 4 else SPECIAL_6):
        assert (address in network) == (masked in network)


def test_addresses_that_every_host_has() -> None:
    for kept in [
        "0.0.0.1",
        "127.0.0.1",
        "255.255.255.0",
        "224.0.0.1",
        "::",
        "::1",
        "ff02::1",
        "ff02::fb",
    ]:
        assert str(addresses().replacement(ipaddress.ip_address(kept))) == kept


def test_gateway_and_broadcast_stay_readable() -> None:
    masking = addresses()
    masked = [str(masking.replacement(ipaddress.ip_address(f"192.168.7.{n}"))) for n in (0, 1, 255)]
    assert [one.rpartition(".")[2] for one in masked] == ["0", "1", "255"]
    assert not masked[0].startswith("192.168.7.")
    gateway = str(masking.replacement(ipaddress.ip_address("2001:db8:1:2::1")))
    assert gateway.endswith("::1")


def test_an_address_inside_another() -> None:
    masking = addresses()
    inside = masking.replacement(ipaddress.ip_address("10.1.2.3"))
    mapped = masking.replacement(ipaddress.ip_address("::ffff:10.1.2.3"))
    assert ipaddress.IPv6Address(mapped).ipv4_mapped == inside
    group = ipaddress.ip_address("ff02::1:ff12:3456")
    assert str(masking.replacement(group)).startswith("ff02::1:ff")
    assert masking.replacement(group) != group


def test_hardware_addresses() -> None:
    masking = HardwareAddresses()
    assert masking.replacement(bytes.fromhex("525400123456")).hex(":") == "02:00:00:00:00:01"
    assert masking.replacement(bytes.fromhex("3333ff123456")).hex(":") == "33:33:ff:00:00:02"
    assert len(masking.replacement(bytes(range(20)))) == 20
    for kept in ("ffffffffffff", "000000000000", "0180c2000000", "333300000001", "01005e0000fb"):
        assert masking.replacement(bytes.fromhex(kept)).hex() == kept


@given(st.lists(st.text(min_size=1, max_size=15), min_size=1, max_size=60))
def test_one_name_for_one_name_and_never_longer(tasks: list[str]) -> None:
    names = Names()
    masked = {task: names.name("task", task) for task in tasks}
    for task, other in masked.items():
        assert len(other.encode()) <= len(task.encode("utf-8", "surrogateescape"))
        assert (task == other) == is_kept_task(task)
    new = [other for task, other in masked.items() if task != other]
    assert len(set(new)) == len(new)


def test_kernel_threads_stay_readable() -> None:
    kept = "swapper/3 ksoftirqd/0 kworker/u4:2-events rcu_preempt rcuop/1 cpuhp/0 migration/1"
    kept += " irq/30-virtio0-input.0 napi/eth0-5 vhost-4321 kthreadd <...>"
    # What is called like one is none.
    for name in (*kept.split(), "swapperd", "my-kworker/0", "irqbalance", "napi", "rcu-client"):
        assert (Names().name("task", name) == name) == (name in kept.split()), name


@given(
    st.lists(st.tuples(st.sampled_from(("task", "path")), st.text(min_size=1, max_size=15))),
    st.lists(V4, max_size=5),
)
def test_a_map_says_the_same_again(
    named: list[tuple[str, str]], hosts: list[ipaddress.IPv4Address]
) -> None:
    names = Names()
    before = {one: names.name(*one) for one in named}
    numbers = {str(one): names.address(str(one)) for one in hosts}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "map"
        names.save(path)
        again = Names()
        again.load(path)
    assert again.map == names.map
    assert {str(one): again.address(str(one)) for one in hosts} == numbers
    known = {one: new for one, new in before.items() if one in names.map}
    assert {one: again.name(*one) for one in known} == known
    # What comes later does not take what is taken.
    assert again.name("task", "a-task-not-seen") not in before.values()


# Some are what others become.
def test_ids_that_look_like_replacements(tmp_path: Path) -> None:
    ids = [f"00000000-0000-0000-0000-0000000000{end}" for end in ("0a", "01", "02")]
    first, again = Names(), Names()
    once = [first.identity(one) for one in ids]
    first.save(tmp_path / "map")
    again.load(tmp_path / "map")
    assert [again.identity(one) for one in ids] == once
    assert len({*once}) == len(ids)


def test_a_map_of_another_hand(tmp_path: Path) -> None:
    path = tmp_path / "map.tsv"
    path.write_text(
        "# by hand\nhost\tdb1.example.org\thost1\nhost\tdb1\thost1\ntask\ta\\x09b\ttask1\n"
        "ipv4\t10.1.2.3\t10.9.9.9\nmac\t52:54:00:12:34:56\t02:00:00:00:00:07\nuser\talice\tuser1\n"
    )
    names = Names()
    names.load(path)
    assert names.host("db1.example.org") == names.host("db1") == "host1"
    assert names.name("task", "a\tb") == "task1"
    assert names.name("task", "openssl") == "task2"
    assert names.address("10.1.2.3") == "10.9.9.9"
    # Its neighbour is the replacement's.
    assert names.address("10.1.2.4").startswith("10.9.9.")
    assert names.hardware(bytes.fromhex("525400123457")).hex(":") == "02:00:00:00:00:08"
    out = tmp_path / "out.tsv"
    names.save(out)
    assert "user\talice\tuser1\n" in out.read_text()
    assert "task\ta\\x09b\ttask1\n" in out.read_text()


def test_a_map_that_is_none(tmp_path: Path) -> None:
    for text in ("task\topenssl\n", "ipv4\tx\ty\n", "mac\taa\tzz\n", "\t\t\t\t\n"):
        (tmp_path / "map").write_text(text)
        with pytest.raises(CaptureError, match="not a map"):
            Names().load(tmp_path / "map")


# What is hidden in a text of a host that is called db1.example.org; nothing where it stays.
@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("inet 192.168.7.17/24 brd 192.168.7.255", ["192.168.7.17", "192.168.7.255"]),
        ("link/ether 52:54:00:12:34:56 brd ff:ff:ff:ff:ff:ff", ["52:54:00:12:34:56"]),
        ("inet6 fe80::5054:ff:fe12:3456/64", ["5054:ff:fe12:3456"]),
        ("2001:db8::7: connected; [2001:db8::7]:5201", ["2001:db8::7"]),
        ("Connecting to host db1.example.org, port 5201", ["db1", "example"]),
        ("DB1: ready", ["DB1"]),
        ("root=UUID=12345678-1234-1234-1234-123456789abc", ["12345678-1234", "9abc"]),
        ("machine-id 0123456789abcdef0123456789abcdef", ["0123456789abcdef"]),
        ("linux-6.1.0.4 is no address", []),
        ("iperf 3.12, cJSON 1.7.15; time 10:11:12; 00:00.0; 1.2.3.4.5", []),
        ("netmask 255.255.255.0, loopback 127.0.0.1 and ::1, any 0.0.0.0", []),
        ("db12 and mydb1 are other hosts; std::string; CPU: 10 [000]: x", []),
        ("cpu  1 2 3 4; 0000:00:1f.6; aa:bb; std::a", []),
    ],
)
def test_words_in_a_text(text: str, hidden: list[str]) -> None:
    names = Names()
    names.host("db1.example.org")
    masked = FreeText(names).masked(text)
    assert (masked == text) == (not hidden)
    assert [one for one in hidden if one in masked] == []


def test_command_lines() -> None:
    names = Names()
    task = names.name("task", "openssl")
    assert masked_command(names, "/usr/bin/openssl speed -evp") == f"{task} ..."
    assert masked_command(names, "openssl") == task
    line = "perf record -a -k mono -c 1 -m 8192K -e irq:*,sched:* --filter comm==openssl -o /home/x"
    masked = masked_arguments(names, [*line.split(), "-p", "12,13", "--", "secret", "--word=1"])
    wanted = line.replace("openssl", task).replace("/home/x", "x").split()
    assert masked == [*wanted, "-p", "12,13", "--", "x", "x"]
    assert masked_arguments(names, ["perf", "record", "-ag", "-F", "99", "sleep", "-p", "7"]) == [
        *("perf", "record", "-ag", "-F", "99", "x", "x", "x"),
    ]
    words = ("--output=/home/alice", "-o/home/alice", "-ualice", "--uid=alice", "--cgroup=alice")
    for word in words:
        assert "alice" not in " ".join(masked_arguments(names, ["perf", "record", word]))
    assert "alice" not in " ".join(masked_arguments(names, ["alices-tool", "--for", "alice"]))


def test_a_host_told_by_its_address_is_an_address() -> None:
    names = Names()
    for address in ("127.0.0.1", "::1", "10.1.2.3", "fd00::2"):
        assert names.host(address) == names.address(address)
    assert names.hosts == {}


def test_a_host_whose_first_label_is_a_number() -> None:
    names = Names()
    assert names.host("3.example.org") == "host1"
    assert names.host("3") == "3"
    assert names.host("3com.example.org") == names.host("3com") == "h2"
    assert set(names.hosts) == {"3.example.org", "3com.example.org", "3com"}
