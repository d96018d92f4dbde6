#!/bin/sh
# hold-window.sh FIFO [NAME]: the workload of the tool that records. Reports on descriptor 3 that it records,
# as NAME or the recorder, and keeps it recording until a line arrives on FIFO, or until nobody is left to write one.

# Opening it to read alone would wait for a writer, and there may be none any more.
# One that is gone is not made anew.
[ -p "$1" ] || exit 0
# shellcheck disable=SC2094 # a fifo, and nothing is written
exec 6<>"$1" 7<"$1" 6>&-
echo "${2:-recorder} started" >&3
read -r _ <&7
