#!/bin/sh
# sample-unevenly.sh LIBRARY DIR SECONDS...: until it is ended, copies the counters of the network devices of the
# namespace it runs in, and of the host's CPUs and interrupts, into DIR, with pauses that take turns. Each copy
# is headed as netcost-record's own samples are, by its number and the two readings of CLOCK_MONOTONIC between
# which it was read:
#   @ NUMBER BEGIN_NS END_NS
library=$1 folder=$2
shift 2
# shellcheck source=../../lib/host.sh
. "$library/host.sh"

# A copy is whole or not there.
ended=''
trap 'ended=yes' TERM INT
number=0
while [ -z "$ended" ]; do
	number=$((number + 1))
	for file in net/dev stat softirqs interrupts; do
		# shellcheck disable=SC2154 # read_clock sets it
		read_clock && began=$monotonic_ns
		text=$(cat "/proc/$file") || continue
		read_clock
		[ -z "$ended" ] || break
		printf '@ %s %s %s\n%s\n' "$number" "$began" "$monotonic_ns" "$text" >>"$folder/$(echo "$file" | tr / _)" || exit 1
	done
	sleep "$1" &
	[ -n "$ended" ] || wait $!
	set -- "$@" "$1"
	shift
done
kill $! 2>/dev/null
exit 0
