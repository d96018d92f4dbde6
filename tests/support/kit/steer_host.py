# A host for netcost-steer to change that is nothing but files: sysfs, procfs and an ethtool that
# keeps its flow rules in a file. It has a NIC whose queue 2 interrupts CPU 5 as irq 152.

import os
import subprocess
from pathlib import Path

from support.host import ROOT, require_tool, write_files
from support.kit.record import ended

STEER = ROOT / "capture" / "netcost-steer"
MAC = "12:34:de:ad:ca:fe"
CPUS = 8

ETHTOOL = r"""
rules=$NETCOST_ROOT/rules-$2
case $1 in
-k)
	printf 'Features for %s:\nrx-checksumming: on\nntuple-filters: ' "$2"
	cat "$NETCOST_ROOT/ntuple"
	;;
-K) [ "$3" = ntuple-filters ] && echo "$4" >"$NETCOST_ROOT/ntuple" ;;
-n)
	echo "4 RX rings available"
	echo "Total $(wc -l <"$rules") rules"
	while read -r id address to; do
		printf '\nFilter: %s\n\tFlow Type: Raw Ethernet\n' "$id"
		printf '\tSrc MAC addr: 00:00:00:00:00:00 mask: FF:FF:FF:FF:FF:FF\n'
		printf '\tDest MAC addr: %s mask: 00:00:00:00:00:00\n' "$(echo "$address" | tr a-z A-Z)"
		printf '\tEthertype: 0x0 mask: 0xFFFF\n\tAction: Direct to queue %s\n\n' "$to"
	done <"$rules"
	;;
-N)
	if [ "$3" = delete ]; then
		grep -q "^$4 " "$rules" || { echo "rmgr: Cannot delete RX class rule" >&2; exit 1; }
		grep -v "^$4 " "$rules" >"$rules.new"
		mv "$rules.new" "$rules"
	else
		if [ -e "$NETCOST_ROOT/refuse-$2" ]; then
			echo "rmgr: Cannot insert RX class rule: No space left" >&2
			exit 1
		fi
		[ "$3 $4 $5 $7" = "flow-type ether dst action" ] || exit 2
		echo "$((1023 - $(wc -l <"$rules"))) $6 $8" >>"$rules"
		echo "Added rule with ID 1023"
		[ ! -e "$NETCOST_ROOT/kill" ] || kill -KILL "$PPID"
	fi
	;;
-S)
	calls=$(($(cat "$NETCOST_ROOT/calls") + 1))
	echo "$calls" >"$NETCOST_ROOT/calls"
	if [ "$calls" -ge 2 ] && [ -d "$NETCOST_ROOT/later" ]; then
		cp -r "$NETCOST_ROOT/later/." "$NETCOST_ROOT/"
	fi
	cat "$NETCOST_ROOT/statistics"
	;;
esac
"""

SLEEP = f'[ "$1" = 1 ] || exec {require_tool("sleep")} "$@"'


class Host:
    def __init__(self, folder: Path, devices: tuple[str, ...] = ("eth0",)) -> None:
        self.root = folder / "root"
        self.bin = folder / "bin"
        self.bin.mkdir()
        # The counters rise with each look, and not with time.
        for name, script in (("ethtool", ETHTOOL), ("sleep", SLEEP)):
            (self.bin / name).write_text(f"#!/bin/sh\n{script}")
            (self.bin / name).chmod(0o755)
        self.write("ntuple", "off")
        self.write("calls", "0")
        self.write("sys/devices/system/cpu/online", f"0-{CPUS - 1}")
        self.write("proc/sys/net/core/default_qdisc", "fq_codel")
        (self.root / "proc/self/ns").mkdir(parents=True)
        (self.root / "proc/self/ns/net").symlink_to("net:[4026531840]")
        (self.root / "run").mkdir()
        for cpu in range(CPUS):
            (self.root / f"sys/devices/system/cpu/cpu{cpu}").mkdir()
        self.labels: dict[int, str] = {}
        for number, device in enumerate(devices):
            self.write(f"rules-{device}", "")
            for queue in range(4):
                irq = 150 + 10 * number + queue
                self.labels[irq] = f"mlx5_comp{queue}@pci:0000:d8:00.{number}"
                self.write(f"sys/class/net/{device}/queues/rx-{queue}/rps_cpus", "ff")
                self.write(f"sys/class/net/{device}/device/msi_irqs/{irq}", "msix")
                self.write(f"proc/irq/{irq}/smp_affinity_list", "0-7")
                self.write(f"proc/irq/{irq}/effective_affinity_list", "5" if queue == 2 else "0")
        self.counters({}, {}, {})

    def write(self, name: str, text: str) -> None:
        write_files(self.root, {name: f"{text}\n" if text else ""})

    def read(self, name: str) -> str:
        return (self.root / name).read_text().strip()

    def counters(
        self,
        queues: dict[int, int],
        interrupts: dict[tuple[int, int], int],
        softnet: dict[int, int],
        at: str = "",
    ) -> None:
        """Of the devices' queues, of (irq, CPU) and of CPUs; "later/" is the second look."""
        lines = ["NIC statistics:", "     rx_packets: 12345", "     rx_64_octets_packets: 1"]
        lines += [f"     rx{queue}_packets: {queues.get(queue, 0)}" for queue in range(4)]
        lines += [f"     rx{queue}_xdp_drop: 7" for queue in range(4)]
        self.write(f"{at}statistics", "\n".join(lines))
        rows = ["     " + " ".join(f"CPU{cpu}" for cpu in range(CPUS))]
        rows += [
            f"{irq}: {' '.join(str(interrupts.get((irq, cpu), 0)) for cpu in range(CPUS))} "
            f"IR-PCI-MSI 1048576-edge {label}"
            for irq, label in self.labels.items()
        ]
        rows += ["NMI: " + " ".join("0" * CPUS) + " Non-maskable interrupts"]
        self.write(f"{at}proc/interrupts", "\n".join(rows))
        stat = [
            " ".join([f"{softnet.get(cpu, 0):08x}", *["00000000"] * 11, f"{cpu:08x}"])
            for cpu in range(CPUS)
        ]
        self.write(f"{at}proc/net/softnet_stat", "\n".join(stat))

    def settings(self) -> dict[str, str]:
        """All that netcost-steer may change."""
        paths = [*self.root.glob("sys/class/net/*/queues/*/rps_cpus")]
        paths += [*self.root.glob("proc/irq/*/smp_affinity_list"), *self.root.glob("rules-*")]
        paths += [self.root / "ntuple", self.root / "proc/sys/net/core/default_qdisc"]
        paths += [path for path in (self.root / "run").rglob("*") if path.is_file()]
        return {str(path.relative_to(self.root)): path.read_text().strip() for path in paths}

    def environment(self) -> dict[str, str]:
        temporary = self.root / "tmp"
        temporary.mkdir(exist_ok=True)
        return {
            **os.environ,
            "NETCOST_ROOT": str(self.root),
            "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}",
            "TMPDIR": str(temporary),
        }

    # Which goes well: what it says.
    def steered(self, *words: str) -> str:
        done = self.steer(*words)
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    def steer(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = self.environment()
        temporary = Path(environment["TMPDIR"])
        left = set(temporary.iterdir())
        done = ended(["sh", STEER, *words], env=environment)
        if done.returncode >= 0:
            # What is older may be of one that was killed, which this one removes.
            assert set(temporary.iterdir()) <= left
        return done
