#!/bin/sh
# pack-clean-up.sh LIBRARY WORKSPACE PID: what the end of netcost-pack does, for one that was killed and did not come to it.
# Waits until nobody holds WORKSPACE/alive open for writing any more: netcost-pack, and what it started. WORKSPACE/remember-NAME
# say what it had begun. Runs as the leader of a session of its own.
# shellcheck disable=SC2034 # the library shares them
library=$1 workspace=$2 self_pid=$3 typed=pack-clean-up.sh locks=''
LC_ALL=C
export LC_ALL
# shellcheck source=lock.sh
. "$library/lock.sh"
# shellcheck source=pack-begun.sh
. "$library/pack-begun.sh"

trap '' INT TERM HUP QUIT PIPE
# One that is gone is not made anew.
[ -p "$workspace/alive" ] || exit 0
# shellcheck disable=SC2094 # a fifo, and nothing is written
exec 6<>"$workspace/alive" 7<"$workspace/alive" 6>&-
read -r _ <&7
# In order it takes the workspace away itself.
[ -d "$workspace" ] || exit 0
undo_begun
lock=$(remembered lock)
if [ -n "$lock" ]; then
	locks="$lock
"
	release_locks
fi
rm -rf "$workspace"
