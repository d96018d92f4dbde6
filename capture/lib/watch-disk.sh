#!/bin/sh
# watch-disk.sh LIBRARY DIR MIB KIB [TRACING_ON]: reports "disk low LEFT" on descriptor 3 before the disk of DIR has less than
# MIB left, and ends. Before: KIB are still to be written when the recorder is told to end, and so is what
# comes until it hears of it, by the fastest second so far.
# With TRACING_ON, trace-cmd records: it writes twice all that comes until then, so it is switched off there before the
# report, and what is left is said on standard output before that.
library=$1 folder=$2 least=$(($3 * 1024 + $4)) tracing_on=${5-}
# shellcheck source=host.sh
. "$library/host.sh"

left_kib() {
	free=$(df -Pk "$folder" | awk 'NR == 2 { printf "%d", $4 }')
	left=${free:-0}
	# What trace-cmd has recorded it writes once more when it ends.
	taken=$(du -sk "$folder" | cut -f 1)
	[ -z "$tracing_on" ] || left=$((left - taken))
}

left_kib
read_clock
before=$left began=$monotonic_ns fastest=0
while :; do
	if [ "$left" -lt $((least + fastest)) ]; then
		low="disk low $((${free:-0} / 1024))"
		if [ -n "$tracing_on" ]; then
			echo "$low"
			echo 0 >"$tracing_on"
		fi
		echo "$low" >&3
		exit 0
	fi
	# Often where there is little room.
	if [ "$left" -lt $((least + 65536)) ] || [ "$left" -lt $((least + fastest * 10)) ]; then sleep 0.1; else sleep 1; fi
	left_kib
	read_clock
	passed_ms=$(((monotonic_ns - began) / 1000000))
	# Recorders write in bursts: less than a second says nothing of the rate.
	[ "$passed_ms" -ge 900 ] || continue
	grown=$(((before - left) * 1000 / passed_ms))
	[ "$grown" -le "$fastest" ] || fastest=$grown
	before=$left began=$monotonic_ns
done
