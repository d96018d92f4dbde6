#!/bin/sh
# pack-clean-up.sh LIBRARY WORKSPACE PID BEGAN: what the end of netcost-pack does, for one that was killed and did not come
# to it (workspace.sh). WORKSPACE/remember-NAME say what it had begun.
# shellcheck disable=SC2034 # the library shares them
library=$1 workspace=$2 self_pid=$3 self_began=$4 typed=pack-clean-up.sh locks=''
LC_ALL=C
export LC_ALL
# shellcheck source=lock.sh
. "$library/lock.sh"
# shellcheck source=pack-begun.sh
. "$library/pack-begun.sh"

undo_begun
lock=$(remembered lock)
if [ -n "$lock" ]; then
	locks="$lock
"
	release_locks
fi
rm -rf "$workspace"
