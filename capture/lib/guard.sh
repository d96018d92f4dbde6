#!/bin/sh
# guard.sh ALIVE RUN COMMAND...: runs the command to its end, and ends it with all that it started when nobody holds the
# fifo ALIVE open for writing any more: who started it was killed and ends nothing.
# Runs as the leader of a session of its own. RUN marks what has left the session; "" where nothing is marked.
library=$(dirname -- "$0")
alive=$1 run=$2
shift 2
# shellcheck source=processes.sh
. "$library/processes.sh"
# shellcheck source=marked.sh
. "$library/marked.sh"

# Opening it to read alone would wait for a writer, and there may be none any more. What is the caller's
# alone is closed, as report-end.sh explains.
# One that is gone is not made anew.
[ -p "$alive" ] || exit 0
# shellcheck disable=SC2094 # a fifo, and nothing is written
exec 4>&- 8>&- 9>&- 6<>"$alive" 7<"$alive" 6>&-

ended=''
trap 'ended=yes' TERM
(
	trap '' TERM
	read -r _ <&7
	# More than once: what is only about to be started does not hear the first.
	# netcost-record itself has a host to put back.
	for _ in 1 2 3 4 5; do
		[ -z "$run" ] || marked "NETCOST_RUN=$run" | signal_all TERM
		kill -TERM 0
		sleep 1
	done
	[ -z "$run" ] || marked "NETCOST_RUN=$run" | signal_all KILL
	kill -KILL 0
) 3>&- 5>&- >/dev/null 2>&1 &
watch=$!
# Some shells write how a child died; what the command itself writes still goes where it should.
exec 6>&2 2>/dev/null
[ -n "$ended" ] || (exec "$@" 2>&6 6>&- 7<&-)
trap '' TERM
kill -KILL "$watch" 2>/dev/null
# What the command left running.
for try in 1 2 3 4 5 6 7 8 9 10; do
	left=$(session_members $$)
	[ -n "$left" ] || exit 0
	signal=TERM
	[ "$try" -lt 9 ] || signal=KILL
	for pid in $left; do
		kill "-$signal" "$pid" 2>/dev/null
	done
	sleep 0.1
done
