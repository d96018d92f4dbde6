#!/bin/sh
# hold-window.sh FIFO: the workload of the tool that records. Reports on descriptor 3 that it records,
# and keeps it recording until a line arrives on FIFO, or until nobody is left to write one.
echo 'recorder started' >&3
read -r _ <"$1"
