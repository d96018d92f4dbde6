#!/bin/sh
# hold-window.sh FIFO: perf's workload. Reports on descriptor 3 that perf records, and keeps it
# recording until a line arrives on FIFO, or until nobody is left to write one.
echo 'recorder started' >&3
read -r _ <"$1"
