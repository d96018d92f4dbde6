#!/bin/sh
# read-network.sh LIBRARY counters|devices|settings DIR SUFFIX [PROC]: what the network of the namespace it runs in counts, by
# the files of /proc or by programs for each device, or how it is set, into DIR; SUFFIX is appended to the names of files that another namespace
# has as well, PROC is a folder of /proc that shows it. Writes on its output, for each file, its name and the two readings of CLOCK_MONOTONIC
# between which it was read. Only reads.
library=$1 kind=$2 folder=$3 suffix=$4 proc=${5:-/proc}
# shellcheck source=host.sh
. "$library/host.sh"

# A host of a thousand containers has as many devices, and ethtool takes a few milliseconds for each.
most_interfaces=64

# state NAME COMMAND...: what the command writes, into the file NAME. A command that fails leaves none.
state() {
	state_name=$1
	shift
	read_clock
	state_began=$monotonic_ns
	if "$@" >"$folder/$state_name.new" 2>/dev/null && [ -s "$folder/$state_name.new" ]; then
		read_clock
		mv "$folder/$state_name.new" "$folder/$state_name" || exit 1
		echo "$state_name $state_began $monotonic_ns" || exit 1
	else
		rm -f "$folder/$state_name.new" || exit 1
	fi
}

# state_json NAME COMMAND...: ip and tc have options for JSON that busybox and old versions have not.
state_json() {
	state_json_name=$1 state_json_program=$2
	shift 2
	command -v "$state_json_program" >/dev/null || return 0
	if "$state_json_program" -j "$@" >/dev/null 2>&1; then
		state "$state_json_name$suffix.json" "$state_json_program" -j "$@"
	else
		state "$state_json_name$suffix.txt" "$state_json_program" "$@"
	fi
}

# interfaces: their names, those of hardware first.
interfaces() {
	sed -n 's/^ *\([^ :][^ ]*\):.*/\1/p' /proc/net/dev | grep -vx lo | while IFS= read -r interfaces_name; do
		if [ -e "/sys/class/net/$interfaces_name/device" ]; then echo "0 $interfaces_name"; else echo "1 $interfaces_name"; fi
	done | sort -s -k 1,1 | cut -d ' ' -f 2 | head -n "$most_interfaces"
}

# queues: how each queue hands out its packets, how each device polls, and whose port it is.
queues() {
	for queues_file in /sys/class/net/*/queues/*/rps_cpus /sys/class/net/*/queues/*/rps_flow_cnt \
		/sys/class/net/*/queues/*/xps_cpus /sys/class/net/*/queues/*/xps_rxqs /sys/class/net/*/threaded \
		/sys/class/net/*/gro_flush_timeout /sys/class/net/*/napi_defer_hard_irqs /sys/class/net/*/mtu \
		/sys/class/net/*/speed /sys/class/net/*/tx_queue_len /sys/class/net/*/device/numa_node; do
		# Some can only be read while the link is up.
		if [ -r "$queues_file" ] && read -r queues_value <"$queues_file"; then
			echo "$queues_file $queues_value"
		fi
	done 2>/dev/null
	# A link to the bond, team or bridge that it is a port of.
	for queues_file in /sys/class/net/*/master; do
		queues_value=$(readlink "$queues_file") && echo "$queues_file ${queues_value##*/}"
	done
	return 0
}

ethtool_of() {
	command -v ethtool >/dev/null || return 0
	interfaces | while IFS= read -r ethtool_of_name; do
		mkdir -p "$folder/ethtool$suffix/$ethtool_of_name" || exit 1
		for ethtool_of_option in $1; do
			state "ethtool$suffix/$ethtool_of_name/${ethtool_of_option#*:}" ethtool "-${ethtool_of_option%%:*}" "$ethtool_of_name"
		done
		# Where ethtool has nothing to say the folder goes as well.
		rmdir "$folder/ethtool$suffix/$ethtool_of_name" 2>/dev/null
	done
	rmdir "$folder/ethtool$suffix" 2>/dev/null
	return 0
}

case $kind in
counters)
	for file in dev snmp netstat; do
		state "net_$file$suffix" cat "$proc/net/$file"
	done
	;;
devices)
	# Told twice, ip prints every counter: rx_otherhost_dropped is in no file.
	state_json ip_link ip -d -s -s link
	state_json tc_qdisc tc -s -d qdisc
	ethtool_of S:statistics
	;;
settings)
	state "queues$suffix" queues
	state_json ip_link ip -d -s link
	state_json ip_addr ip -d -s addr
	ethtool_of 'i:driver k:features c:coalesce l:channels g:rings n:flow_rules'
	[ "$(sed -n '3,$p' /proc/net/dev | wc -l)" -le $((most_interfaces + 1)) ] ||
		echo "ethtool read the first $most_interfaces network devices only" >"$folder/cut"
	;;
esac
