#!/bin/sh
# run-victim.sh LIBRARY RUN CPU OUTPUT COMMAND: runs the victim pinned to CPU and reports on descriptor 3
# its pid, the CLOCK_MONOTONIC before and after, its exit status and, from times(2), what it was charged:
#   victim started PID START
#   victim ended STATUS END USER SYSTEM        (USER and SYSTEM as `times` prints them: 0m1.230s)
# and leaves victim_stat beside OUTPUT: /proc/PID/stat of the victim as it began, and of this shell once it
# has ended, whose fields of waited-for children are the victim's.
# The victim is the only child this shell waits for, so its children's times are the victim's.
library=$1 run=$2 cpu=$3 output=$4 command=$5
# shellcheck source=host.sh
. "$library/host.sh"

# The caller's alone, as report-end.sh explains.
exec 4>&- 7>&- 8>&- 9>&-

# A victim that is ended early is still accounted for: the signal goes to the whole session, and
# a caught one is the default again in what is started from here.
ended=''
trap 'ended=yes' TERM

# One program is run in the shell's place, so that the pid reported is its own; for what takes a
# shell, a list or a builtin, it is the shell's.
newline='
'
case $command in
*[\;\&\|\(\)\{\}\`]* | *"$newline"*) ;;
*)
	case $(command -v "${command%% *}") in
	/*) command="exec $command" ;;
	esac
	;;
esac

read_clock
started=$monotonic_ns
[ -z "$ended" ] || exit 143
taskset -c "$cpu" sh "$library/as-called.sh" "$run" sh -c "$command" >"$output" 2>&1 </dev/null 3>&- 5>&- &
victim=$!
echo "victim started $victim $started" >&3
if read -r stat <"/proc/$victim/stat"; then
	echo "started $started $stat"
fi 2>/dev/null >"${output%/*}/victim_stat"
# Some shells tell the terminal how a child died.
wait "$victim" 2>/dev/null
status=$?
# A caught TERM ends the wait, not the victim.
while [ "$status" -gt 128 ] && kill -0 "$victim" 2>/dev/null; do
	wait "$victim" 2>/dev/null
	status=$?
done
read_clock
read -r stat <"/proc/$$/stat"
echo "ended $monotonic_ns $stat" >>"${output%/*}/victim_stat"
# `times` at the end of a pipe or in $(...) would be those of another shell, and a file takes a disk
# that is not full: descriptor 5 is a fifo that nobody else uses.
times >&5
{ read -r _ && read -r user system; } <&5
echo "victim ended $status $monotonic_ns $user $system" >&3
