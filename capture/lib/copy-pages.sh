#!/bin/sh
# copy-pages.sh TRACEFS INSTANCE DIR FIFO NAME BYTES MOST ON CPU...: switches the trace instance on, unless ON is 0, and copies the
# pages of its CPUs' ring buffers (BYTES each) to DIR/per_cpu/cpuN/raw, until a line arrives on FIFO or
# nobody is left to write one. Then it switches tracing off, copies the rest, and the names and counts.
# With ON "rolling" nothing is copied before tracing is off: a full ring overwrites its oldest page.
# Reports on descriptor 3, as NAME, that it records. Where MOST is not 0 it copies no more than so many KiB, says so and
# ends; what it leaves it counts as dropped.
#
# A read of trace_pipe_raw waits for an event, gives what there is, and each event ends a wait: who
# simply reads is woken by every event, and being woken makes events. So nothing is ever read here
# that is not there: the kernel says how many events wait, no event takes less than 12 bytes of a page
# (4 of the ring buffer, 8 common to all events), and so many pages are full for certain.
tracefs=$1 instance=$2 folder=$3 fifo=$4 reported=$5 buffer=$6 most=$7 on=$8
shift 8
# One a line.
cpus=$(printf '%s\n' "$@")
smallest_event=12
here=$(dirname -- "$0")

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

# Whatever ends this shell switches tracing off; when the caller is gone as well, nobody else
# removes the instance.
holder=''
end() {
	begin_end "$1"
	[ -z "$holder" ] || kill "$holder" 2>/dev/null
	{ echo 0 >"$instance/tracing_on"; } 2>/dev/null
	rmdir "$instance" 2>/dev/null
	exit "$end_status"
}
# shellcheck source=ending.sh
. "$here/ending.sh"

# Of a page, header_page says where the data begins and how much there is.
page_data=$(sed -n 's/.*char data;.*size:\([0-9]*\);.*/\1/p' "$folder/header_page")
page_header=$(sed -n 's/.*char data;.*offset:\([0-9]*\);.*/\1/p' "$folder/header_page")
case $page_header,$page_data in
,* | *,) fail "$folder/header_page says nothing about a page's data" ;;
esac
page=$((page_header + page_data))

# copy_pages LEAST [LIMIT]: from every CPU that has LEAST pages that are full for certain, all of
# those; sets copied to how many CPUs had. With LEAST 0 at least a page where anything is left.
# LIMIT is how many seconds a copier may wait for events that never come, should the kernel have counted wrong.
copy_pages() {
	copied=0 copiers=''
	[ -z "$full" ] || return 0
	for cpu in $cpus; do
		read -r _ waiting <"$instance/per_cpu/cpu$cpu/stats" || fail "cannot read the counts of CPU $cpu"
		pages=$((waiting * smallest_event / page_data))
		[ "$1" -gt 0 ] || [ "$pages" -gt 0 ] || pages=$((waiting > 0))
		if [ "$pages" -eq 0 ] || [ "$pages" -lt "$1" ]; then continue; fi
		written=$((written + pages * page / 1024))
		if [ "$most" -gt 0 ] && [ "$written" -gt "$most" ]; then
			full=yes
			break
		fi
		copy_cpu "${2-}" &
		copiers="$copiers $cpu:$!" copied=$((copied + 1))
	done
	for copier in $copiers; do
		cpu=${copier%%:*}
		wait "${copier#*:}" && continue
		[ -n "${2-}" ] || fail "cannot copy the pages of CPU $cpu: $(tail -n 1 "$folder/per_cpu/cpu$cpu/copied")"
		give_up "$cpu"
	done
}

# copy_cpu [SECONDS]
copy_cpu() {
	set -- ${1:+timeout "$1"} dd bs="$page" count="$pages"
	LC_ALL=C exec "$@" <"$instance/per_cpu/cpu$cpu/trace_pipe_raw" >>"$folder/per_cpu/cpu$cpu/raw" 2>"$folder/per_cpu/cpu$cpu/copied"
}

# give_up CPU: leaves the rest of it, and says so to the caller.
give_up() {
	: >"$folder/per_cpu/cpu$1/unread"
	cpus=$(echo "$cpus" | grep -vx "$1")
}

# Several times what is looked for must fit into a buffer: an event can take ten times the smallest.
least=$((buffer / page / 32))
[ "$least" -gt 0 ] || least=1
pause=0.1
[ "$buffer" -ge 4194304 ] || pause=0.02
limit='' written=0 full=''
! command -v timeout >/dev/null || limit=60

# Of an earlier recording with the same fifo.
rm -f "$fifo-now"
rolling=''
[ "$on" != rolling ] || rolling=yes on=1
echo "$on" >"$instance/tracing_on" || fail "the kernel refuses to switch tracing on"
{
	sh "$here/hold-window.sh" "$fifo" "$reported"
	: >"$fifo-now"
} </dev/null &
holder=$!
# Looking would wake this up for nothing, for hours.
[ -z "$rolling" ] || wait "$holder"
until [ -n "$rolling" ] || [ -e "$fifo-now" ] || [ ! -e "$fifo" ] || [ -n "$full" ]; do
	copy_pages "$least"
	[ "$copied" -gt 0 ] || sleep "$pause"
done
echo 0 >"$instance/tracing_on" || fail "the kernel refuses to switch tracing off"

# The names first: other instances go on to add theirs, and the kernel keeps so many only.
for name in saved_cmdlines printk_formats; do
	cat "$tracefs/$name" >"$folder/$name" 2>/dev/null || rm -f "$folder/$name"
done
recorded=$cpus
while copy_pages 0 "$limit" && [ "$copied" -gt 0 ]; do
	:
done
[ -z "$full" ] || echo "size limit reached: $most KiB are all that the disk has room for"
for cpu in $recorded; do
	# All that is left is none, but for a limit.
	awk '/^entries:/ { left = $2 } /^dropped events:/ { $3 += left } { print }' "$instance/per_cpu/cpu$cpu/stats" >"$folder/per_cpu/cpu$cpu/stats" || fail "cannot write the counts of CPU $cpu"
	rm -f "$folder/per_cpu/cpu$cpu/copied"
	copied=$(wc -c <"$folder/per_cpu/cpu$cpu/raw")
	echo "CPU $cpu: $((copied / page)) pages of $page bytes"
done
