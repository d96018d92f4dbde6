#!/bin/sh
# clean-up.sh LIBRARY WORKSPACE PID BEGAN: what the end of netcost-record does, for one that was killed and did not come to
# it (workspace.sh). WORKSPACE/remember-NAME say what it had begun.
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

# What it had started ends by itself when it sees the same; a recorder may take its time to write.
await_end "$(remembered recorder)" 30
end_marked "NETCOST_RUN=$self_pid-$self_began"
tracefs=$(remembered tracefs)
events=$(remembered events) pairs=''
if [ -n "$tracefs" ]; then
	restore_top_buffer
	name_instance
	remove_instance
fi
unmount_tracefs
locks=$top_buffer_lock
! is_mine "$top_buffer_lock" || release_locks
partial=$(remembered partial)
if [ -z "$partial" ] || [ -e "$workspace/remember-recorded" ]; then
	:
elif is_mine "$partial"; then
	rm -rf "$partial"
elif [ -z "$(find "$workspace/remember-partial" -newer "$partial" 2>/dev/null)" ] && is_own_folder "$partial"; then
	# Made, and not signed yet: what was there before is older.
	rm -f "$partial/owner.$self_pid-$self_began" "$partial/owner.$self_pid-$self_began.link"
	rmdir "$partial"
fi
rm -rf "$workspace"
