#!/bin/sh
# sample-unevenly.sh LIBRARY DIR LIMIT SECONDS...: until it is ended, or for LIMIT seconds, copies the counters of the
# network devices of the namespace it runs in, and of the host's CPUs and interrupts, into DIR, with pauses that take
# turns. Each copy is headed as netcost-record's own samples are, by its number and the two readings of
# CLOCK_MONOTONIC between which it was read:
#   @ NUMBER BEGIN_NS END_NS

LC_ALL=C
export LC_ALL
library=$1 folder=$2 limit=$3
shift 3
# shellcheck source=../../lib/host.sh
. "$library/host.sh"

# A copy is whole or not there.
ended=''
trap 'ended=yes' TERM INT
number=0 sleeping=''
# shellcheck disable=SC2154 # read_clock sets it
read_clock && until=$((monotonic_ns + limit * 1000000000))
while [ -z "$ended" ] && [ "$monotonic_ns" -lt "$until" ]; do
	number=$((number + 1))
	for file in net/dev stat softirqs interrupts; do
		read_clock && began=$monotonic_ns
		text=$(cat "/proc/$file") || continue
		read_clock
		[ -z "$ended" ] || break
		printf '@ %s %s %s\n%s\n' "$number" "$began" "$monotonic_ns" "$text" >>"$folder/$(echo "$file" | tr / _)" || exit 1
	done
	sleep "$1" &
	sleeping=$!
	[ -n "$ended" ] || wait "$sleeping"
	set -- "$@" "$1"
	shift
done
[ -z "$sleeping" ] || kill "$sleeping" 2>/dev/null
exit 0
