#!/bin/sh
# count-events.sh LIBRARY TOOL TRACE GROWN CPU...: counts the events of a trace whose kinds the kernel counts
# too, by the times in GROWN (grown.awk), and writes the tallies of tally.awk, lines "lost N" where the trace counts
# losses, and "status N" of each program that read it: all was read where they are 0. What these say goes to the error
# output. Only reads.
library=$1 tool=$2 trace=$3 grown=$4
shift 4
export LC_ALL=C PERF_CONFIG=/dev/null

fail() {
	printf '%s\n' "$*" >&2
	exit 1
}

tally_text() {
	awk -f "$library/tally.awk" -f "$library/tally-text.awk" "$grown" -
}

# field FORMAT NAME: the word of the event that holds it.
field() {
	sed -n "s/.*field:[^;]* $2;[[:space:]]*offset:\([0-9]*\);.*/\1/p" "$1" | awk '{ print $1 / 4 }'
}

# numbered SYSTEM EVENT KIND NAME FIELD: its line for tally-pages.awk, where it was recorded.
numbered() {
	numbered_format=$trace/events/$1/$2/format
	[ -r "$numbered_format" ] || return 0
	numbered_field=-
	[ "$5" = - ] || numbered_field=$(field "$numbered_format" "$5")
	[ -n "$numbered_field" ] || return 0
	echo "event $(sed -n 's/^ID: //p' "$numbered_format") $3 $4 $numbered_field"
}

pages_events() {
	echo "page $((page_header / 4))"
	numbered irq softirq_entry softirq - vec
	numbered irq irq_handler_entry irq - irq
	numbered napi napi_poll packets - work
	numbered sched sched_switch switches - -
	numbered irq_vectors local_timer_entry vector LOC -
	numbered irq_vectors reschedule_entry vector RES -
	numbered irq_vectors call_function_entry vector CAL -
	numbered irq_vectors call_function_single_entry vector CAL -
}

case $tool in
perf)
	{
		perf script -i "$trace" --ns --show-lost-events -F trace:cpu,time,event,trace
		echo "status $?"
	} | tally_text
	# Newer kernels count once more at the end, for each event, what LOST records say, and what no record had room
	# for. Older programs and kernels do not: no line.
	perf report --stats -i "$trace" 2>/dev/null | awk '
		/ stats:$/ { single = $1 != "Aggregated" }
		single && /LOST_SAMPLES events:/ { lost += $3 }
		END { printf "lost %.0f\n", lost }'
	;;
trace-cmd)
	{
		trace-cmd report -t -N -i "$trace"
		echo "status $?"
	} | tally_text
	;;
tracefs)
	page_data=$(sed -n 's/.*char data;.*size:\([0-9]*\);.*/\1/p' "$trace/header_page")
	page_header=$(sed -n 's/.*char data;.*offset:\([0-9]*\);.*/\1/p' "$trace/header_page")
	big=''
	[ "$(printf '\001\000' | od -An -tu2 | tr -d ' ')" = 1 ] || big=yes
	pages_events >"$grown.events" || fail "cannot write $grown.events"
	for cpu in "$@"; do
		{
			od -An -v -tu4 -w$((page_header + page_data)) "$trace/per_cpu/cpu$cpu/raw"
			echo "status $?"
		} | awk -v cpu="$cpu" -v big="$big" -f "$library/tally.awk" -f "$library/tally-pages.awk" "$grown" "$grown.events" -
	done
	;;
esac
