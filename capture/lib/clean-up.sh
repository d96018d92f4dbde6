#!/bin/sh
# clean-up.sh LIBRARY WORKSPACE PID BEGAN: what the end of netcost-record does, for one that was killed and did not come to
# it. Waits until nobody holds WORKSPACE/alive open for writing any more. WORKSPACE/remember-NAME say what it had begun.
# Runs as the leader of a session of its own.
# shellcheck disable=SC2034 # the libraries share them
library=$1 workspace=$2 self_pid=$3 self_began=$4 typed=clean-up.sh
# shellcheck source=processes.sh
. "$library/processes.sh"
# shellcheck source=marked.sh
. "$library/marked.sh"
# shellcheck source=lock.sh
. "$library/lock.sh"
# shellcheck source=tracefs.sh
. "$library/tracefs.sh"
# shellcheck source=tool-tracefs.sh
. "$library/tool-tracefs.sh"
# shellcheck source=top-buffer.sh
. "$library/top-buffer.sh"

# Nobody reads it.
warn() {
	:
}

remembered() {
	cat "$workspace/remember-$1" 2>/dev/null
}

trap '' INT TERM HUP QUIT PIPE
# One that is gone is not made anew.
[ -p "$workspace/alive" ] || exit 0
# shellcheck disable=SC2094 # a fifo, and nothing is written
exec 6<>"$workspace/alive" 7<"$workspace/alive" 6>&-
read -r _ <&7
[ -d "$workspace" ] || exit 0

# What it had started ends by itself when it sees the same; a recorder may take its time to write.
await_end "$(remembered recorder)" 30
end_marked "NETCOST_RUN=$self_pid-$self_began"
tracefs=$(remembered tracefs)
events=$(remembered events) pairs=''
if [ -n "$tracefs" ]; then
	restore_top_buffer
	name_instance
	remove_instance
	tracefs_mounted=$(remembered mounted)
	unmount_tracefs
fi
locks=$top_buffer_lock
! is_mine "$top_buffer_lock" || release_locks
partial=$(remembered partial)
if [ -n "$partial" ] && is_mine "$partial" && [ ! -e "$workspace/remember-recorded" ]; then
	rm -rf "$partial"
fi
rm -rf "$workspace"
