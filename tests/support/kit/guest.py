# A program in QEMU's place that answers as a guest of the lab would.

import os
from pathlib import Path

# A guest that asks for packets like guest/ask, and leaves the bundles that its plan names, but for
# those of the path "bridge".
QEMU = r"""#!/bin/sh
case "$*" in
*--version*) echo "QEMU emulator version @version@.0.2"; exit ;;
*"-device help"*) echo 'name "virtio-net-pci", bus PCI'; exit ;;
esac
[ -z "$NETCOST_TEST_HANGS" ] || exec sleep 60
for word; do
	case $word in local,path=*) share=${word#local,path=} share=${share%%,*} ;; esac
	case $word in */initrd) grep -q "the root and a kernel" "$word" || exit 1 ;; esac
done
. "$share/plan"
echo "1 $guest_address $port $pps $size 1 $burst 30" >"$share/request.new"
mv "$share/request.new" "$share/request"
sleep 0.5
echo "1 stop" >"$share/request.new"
mv "$share/request.new" "$share/request"
while [ ! -e "$share/answer" ]; do sleep 0.1; done
for path in $paths; do
	for count in $flows; do
		[ "$path" != bridge ] || continue
		bundle=$share/bundles/$path-$count-flows
		mkdir -p "$bundle/before" "$bundle/after"
		cp "$share/sender" "$bundle/manifest.json"
		# CPU 0 has worked on 4,096 packets meanwhile; with 2 flows on none, where that is told.
		echo "00000000 0 0 0 0 0 0 0 0 0 0 0 0" >"$bundle/before/net_softnet_stat"
		packets=00001000
		[ -z "$NETCOST_TEST_ELSEWHERE" ] || [ "$count" != 2 ] || packets=00000000
		echo "$packets 0 0 0 0 0 0 0 0 0 0 0 0" >"$bundle/after/net_softnet_stat"
	done
done
echo "guest: a word of the guest's" >"$share/guest.log"
echo 0 >"$share/status"
"""


def guest(folder: Path, version: int = 10) -> dict[str, str]:
    """An environment with the program above for QEMU, and a folder of kernels for --work."""
    programs, work = folder / "programs", folder / "work"
    programs.mkdir()
    work.mkdir()
    (programs / "qemu-system-x86_64").write_text(QEMU.replace("@version@", str(version)))
    (programs / "debootstrap").write_text("#!/bin/sh\nexit 1\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    (work / "root.cpio").write_text("the root and ")
    (work / "6.1.cpio").write_text("a kernel")
    (work / "6.1.linux").write_text("")
    return {"PATH": f"{programs}:{os.environ['PATH']}"}
