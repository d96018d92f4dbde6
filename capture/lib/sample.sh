#!/bin/sh
# sample.sh LIBRARY DIR SECONDS WATCH NETNS DAEMONS ENERGY [ATTACHED FOLDERS WORK]: until it is ended, copies the counters of the host into
# DIR every SECONDS, each copy headed by a line with its number and the two readings of CLOCK_MONOTONIC
# between which it was read:
#   @ NUMBER BEGIN_NS END_NS
# Intervals are never exactly as long as was asked, least of all on a CPU that has no time for this:
# divide by what the stamps say. WATCH is a file that names the victim's pid once there is one; ATTACHED and what follows,
# as attach.sh has them, are of a service.
# shellcheck disable=SC2034 # service.sh shares them
library=$1 folder=$2 seconds=$3 watch=$4 netns=$5 daemons=$6 energy=$7 attached=${8-} attached_folders=${9-} work=${10-}
# shellcheck source=host.sh
. "$library/host.sh"
# shellcheck source=processes.sh
. "$library/processes.sh"
# shellcheck source=service.sh
. "$library/service.sh"

# A copy is whole or not there.
ended='' last=''
trap 'ended=yes' TERM INT
mkdir -p "$folder" || exit 1
number=0

# sample NAME COMMAND...
sample() {
	[ -z "$ended" ] || [ -n "$last" ] || return 0
	sample_name=$1
	shift
	read_clock
	sample_began=$monotonic_ns
	{ sample_text=$("$@") && [ -n "$sample_text" ]; } || return 0
	read_clock
	# Who ends this ends what it was waiting for as well.
	[ -z "$ended" ] || [ -n "$last" ] || return 0
	printf '@ %s %s %s\n%s\n' "$number" "$sample_began" "$monotonic_ns" "$sample_text" 2>/dev/null >>"$folder/$sample_name" || {
		echo "cannot write to $folder: is there room?" >&2
		exit 1
	}
}

sample_all() {
	number=$((number + 1))
	first=yes
	for space in ${netns:-.}; do
		namespace_suffix "$space" "$first"
		proc=$(proc_of_namespace "$space")
		if [ -n "$proc" ]; then
			sample "net_dev$suffix" cat "$proc/net/dev"
		else
			sample "net_dev$suffix" in_network_namespace "$space" cat /proc/net/dev
		fi
		first=''
	done
	for file in net/softnet_stat interrupts softirqs stat; do
		sample "${file#net/}" cat "/proc/$file"
	done
	if [ -r "$watch" ] && read -r victim <"$watch"; then
		if [ -n "$attached" ]; then
			sample victim write_service
			sample victim_cgroup write_cgroup
			[ -z "$work" ] || sample work read_work
		else
			sample victim write_tasks "$(with_children "$victim")"
		fi
	fi
	if [ -n "$daemons" ]; then
		sample daemons write_tasks "$(pids_of "$daemons")"
	fi
	[ -z "$energy" ] || sample energy read_energy
}

# What the machine has used of energy so far, in microjoules, where it counts that.
# shellcheck disable=SC2317,SC2329 # sample calls it
read_energy() {
	for read_energy_zone in /sys/class/powercap/*/energy_uj; do
		read_energy_folder=${read_energy_zone%/*}
		[ -r "$read_energy_zone" ] || continue
		echo "${read_energy_folder##*/} $(cat "$read_energy_folder/name") $(cat "$read_energy_zone") $(cat "$read_energy_folder/max_energy_range_uj")"
	done 2>/dev/null
}

while [ -z "$ended" ]; do
	sample_all
	# Waited for in the background: a shell takes its signals when a command has ended, and at once
	# when it waits.
	sleep "$seconds" &
	pause=$!
	[ -n "$ended" ] || wait "$pause"
done
kill "$pause" 2>/dev/null
# The end of the last interval.
last=yes
sample_all
exit 0
