# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# The kernel's counters of what was dropped where, in namespaces. Sourced.

# device_counter NAMESPACE DEVICE received|sent packets|dropped
device_counter() {
	inside "$1" cat /proc/net/dev | awk -v device="$2:" -v way="$3" -v what="$4" '
		{ sub(/:/, ": ") }
		$1 == device { print $((way == "received" ? 2 : 10) + (what == "packets" ? 1 : 3)) }'
}

# backlog_drops: packets that found a CPU's backlog full, on all CPUs.
backlog_drops() {
	softnet 2 /proc/net/softnet_stat | awk '{ sum += $2 } END { print sum + 0 }'
}

# udp_drops NAMESPACE: datagrams that arrived and no socket took: full buffers, no port, bad.
udp_drops() {
	inside "$1" cat /proc/net/snmp | awk '
		$1 == "Udp:" && !columns { columns = split($0, name); next }
		$1 == "Udp:" { for (i = 2; i <= NF; i++) if (name[i] == "NoPorts" || name[i] == "InErrors") sum += $i }
		END { print sum + 0 }'
}
