#!/bin/sh
# guard.sh ALIVE MARK: ends all processes of an experiment, by their mark, once nobody holds the fifo ALIVE open for
# writing any more: the experiment has ended, or was killed and ends nothing itself. Costs nothing until then.
# Runs as the leader of a session of its own, and has no mark.

set -fu
LC_ALL=C
export LC_ALL
trap '' HUP INT QUIT PIPE TERM
library=$(dirname -- "$0")/../../lib
# shellcheck source=../../lib/processes.sh
. "$library/processes.sh"
# shellcheck source=../../lib/marked.sh
. "$library/marked.sh"

# Opening it to read alone would wait for a writer, and there may be none any more.
# One that is gone is not made anew.
[ -p "$1" ] || exit 0
# shellcheck disable=SC2094 # a fifo, and nothing is written
exec 6<>"$1" 7<"$1" 6>&-
read -r _ <&7
end_marked "NETCOST_EXPERIMENT=$2" 7<&-
