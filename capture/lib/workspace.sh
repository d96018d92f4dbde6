#!/bin/sh
# workspace.sh DIR/NAME LIBRARY CLEANER PID BEGAN: makes a folder DIR/NAME.XXXXXX with a fifo "alive" in it, and says its
# own process and the folder, a line each; or why it cannot. Behind that it waits until nobody holds "alive" open for
# writing any more, and runs LIBRARY/CLEANER LIBRARY FOLDER PID BEGAN: what the end of PID does, which began at BEGAN, for
# one that was killed and did not come to it. Whoever is killed has not made the folder itself: nothing of it can stay.
# Runs as the leader of a session of its own, where there is setsid.
template=$1 library=$2 cleaner=$3 self_pid=$4 self_began=$5
# shellcheck source=lock.sh
. "$library/lock.sh"

trap '' INT TERM HUP QUIT PIPE
umask 077
folder=$(mktemp -d "$template.XXXXXX" 2>&1) || { echo "${folder##*: }" && exit 1; }
reason=$(mkfifo "$folder/alive" 2>&1) || { rmdir "$folder" && echo "${reason##*: }" && exit 1; }
(
	exec </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 8>&- 9>&-
	# shellcheck disable=SC2094 # a fifo, and nothing is written
	exec 6<>"$folder/alive" 7<"$folder/alive"
	# Until PID holds it as well, or is gone. What sleeps outlives this for a moment, and is not to hold a disk.
	while [ ! -e "$folder/held" ] && [ "$(began_at "$self_pid")" = "$self_began" ]; do sleep 0.05 6>&- 7<&-; done
	exec 6>&-
	read -r _ <&7
	# In order it takes the folder away itself.
	[ ! -d "$folder" ] || exec sh "$library/$cleaner" "$library" "$folder" "$self_pid" "$self_began"
) &
printf '%s\n%s\n' "$!" "$folder"
