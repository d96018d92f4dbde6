#!/bin/sh
# companion.sh ALIVE NAME COMMAND...: runs the command as report-end.sh does, and ends it when nobody holds the
# fifo ALIVE open for writing any more: who started it was killed and ends nothing.
# Runs as the leader of a session of its own.
here=$(dirname -- "$0")
alive=$1
shift

# Opening it to read alone would wait for a writer, and there may be none any more. What is the caller's
# alone is closed, as report-end.sh explains.
# shellcheck disable=SC2094 # a fifo, and nothing is written
exec 4>&- 5>&- 8>&- 9>&- 6<>"$alive" 7<"$alive" 6>&-

ended=''
trap 'ended=yes' TERM
(
	trap '' TERM
	read -r _ <&7
	# More than once: what is only about to be started does not hear the first.
	while kill -TERM 0; do
		sleep 1
	done
) 3>&- >/dev/null 2>&1 &
watch=$!
[ -n "$ended" ] || sh "$here/report-end.sh" "$@" 7<&-
kill -KILL "$watch" 2>/dev/null
