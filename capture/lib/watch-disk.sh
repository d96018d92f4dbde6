#!/bin/sh
# watch-disk.sh DIR MIB TOOL: reports "disk low LEFT" on descriptor 3 as soon as the disk of DIR has less than
# so many MiB left, and ends.
folder=$1 least=$2 tool=$3

while :; do
	left=$(df -Pk "$folder" | awk 'NR == 2 { print int($4 / 1024) }')
	# What trace-cmd has recorded it writes once more when it ends.
	[ "$tool" != trace-cmd ] || left=$((left - $(du -sk "$folder" | cut -f 1) / 1024))
	if [ "${left:-0}" -lt "$least" ]; then
		echo "disk low $left" >&3
		exit 0
	fi
	sleep 1
done
