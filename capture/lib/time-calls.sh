#!/bin/sh
# time-calls.sh LIBRARY CALLS: nanoseconds that as many system calls take, the least of three times: whatever else
# runs only adds.
library=$1 calls=$2
# shellcheck source=host.sh
. "$library/host.sh"

for _ in 1 2 3; do
	read_clock
	began=$monotonic_ns
	# A read and a write for each block.
	dd if=/dev/zero of=/dev/null bs=1 count="$((calls / 2))" 2>/dev/null
	read_clock
	echo $((monotonic_ns - began))
done | sort -n | head -n 1
