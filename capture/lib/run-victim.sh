#!/bin/sh
# run-victim.sh LIBRARY CPU OUTPUT COMMAND: runs the victim pinned to CPU and reports on descriptor 3
# its pid, the CLOCK_MONOTONIC before and after, its exit status and, from times(2), what it was charged:
#   victim started PID START
#   victim ended STATUS END USER SYSTEM        (USER and SYSTEM as `times` prints them: 0m1.230s)
# The victim is the only child this shell waits for, so its children's times are the victim's.
library=$1
# shellcheck source=host.sh
. "$library/host.sh"

# A victim that is ended early is still accounted for: the signal goes to the whole session, and
# a caught one is the default again in what is started from here.
trap : TERM

read_clock
started=$monotonic_ns
taskset -c "$2" sh -c "$4" >"$3" 2>&1 </dev/null 3>&- 4>&- &
victim=$!
echo "victim started $victim $started" >&3
wait "$victim"
status=$?
while kill -0 "$victim" 2>/dev/null; do
	wait "$victim"
	status=$?
done
read_clock
# `times` in a pipe would be the times of another shell.
times >"$3.times"
{ read -r _ && read -r user system; } <"$3.times"
rm -f "$3.times"
echo "victim ended $status $monotonic_ns $user $system" >&3
