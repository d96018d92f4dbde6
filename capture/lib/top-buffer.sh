# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The kernel's own trace buffer, which trace-cmd records into and everybody on the host shares: is it
# free, how is it set, and back to that. Sourced.
# trace-cmd leaves it with another size, and one that failed or was ended leaves its events on.

top_buffer_lock=/run/netcost-trace-buffer.lock
[ -d /run ] || top_buffer_lock=/tmp/netcost-trace-buffer.lock

# top_buffer_use: who uses the buffer; nothing when it is free. A trace that somebody left in it
# counts, for trace-cmd would clear it away.
top_buffer_use() {
	top_buffer_use_tracer=$(cat "$tracefs/current_tracer")
	if [ -n "$(cat "$tracefs/set_event")" ]; then
		echo "events are on in it already"
	elif [ "${top_buffer_use_tracer:-nop}" != nop ]; then
		echo "the tracer $top_buffer_use_tracer runs in it"
	elif cat "$tracefs"/per_cpu/cpu*/stats | grep -q '^entries: [1-9]'; then
		echo "it holds a trace, which echo >$tracefs/trace would clear"
	fi
}

# top_buffer_expanded: the KiB a CPU will have from the first event on, in a buffer that has had none since boot:
# "7 (expanded: 1408)". Nothing for one that has grown. The files of the single CPUs do not say it: they read 7.
top_buffer_expanded() {
	sed -n 's/.*(expanded: *\([0-9]*\)).*/\1/p' "$tracefs/buffer_size_kb"
}

save_top_buffer() {
	mkdir -p "$workspace/top" || return 1
	selected "$tracefs/trace_clock" >"$workspace/top/trace_clock"
	for save_top_buffer_file in tracing_on tracing_cpumask trace_options; do
		cat "$tracefs/$save_top_buffer_file" >"$workspace/top/$save_top_buffer_file"
	done
	# Once it was used the kernel does not make it small again, and a size that is written stays: with the 7 KiB
	# it had before the first event, everybody's later traces would lose nearly everything.
	save_top_buffer_kib=$(top_buffer_expanded)
	for save_top_buffer_file in "$tracefs"/per_cpu/cpu*/buffer_size_kb; do
		save_top_buffer_cpu=${save_top_buffer_file%/*}
		echo "${save_top_buffer_kib:-$(cat "$save_top_buffer_file")}" >"$workspace/top/${save_top_buffer_cpu##*/}"
	done
	: >"$workspace/top/saved"
}

# put_back NAME IS WAS: writes WAS to the file where it IS not.
put_back() {
	[ "$2" = "$3" ] || { echo "$3" >"$tracefs/$1"; } 2>/dev/null || warn "cannot set $tracefs/$1 back to $3"
}

# restore_top_buffer: as save_top_buffer found it. Only what differs is written: the size and the
# clock cost whoever else has begun to trace what is in the buffer.
restore_top_buffer() {
	[ -e "$workspace/top/saved" ] || return 0
	for restore_top_buffer_event in $events $(echo "$pairs" | tr ',' ' '); do
		restore_top_buffer_file=events/${restore_top_buffer_event%%:*}/${restore_top_buffer_event#*:}/enable
		put_back "$restore_top_buffer_file" "$(cat "$tracefs/$restore_top_buffer_file")" 0
	done
	put_back trace_clock "$(selected "$tracefs/trace_clock")" "$(cat "$workspace/top/trace_clock")"
	for restore_top_buffer_file in tracing_on tracing_cpumask; do
		put_back "$restore_top_buffer_file" "$(cat "$tracefs/$restore_top_buffer_file")" "$(cat "$workspace/top/$restore_top_buffer_file")"
	done
	# Of one that was not used after all nothing is written.
	if [ -z "$(top_buffer_expanded)" ]; then
		for restore_top_buffer_file in "$workspace"/top/cpu*; do
			restore_top_buffer_cpu=per_cpu/${restore_top_buffer_file##*/}
			put_back "$restore_top_buffer_cpu/buffer_size_kb" "$(cat "$tracefs/$restore_top_buffer_cpu/buffer_size_kb")" "$(cat "$restore_top_buffer_file")"
		done
	fi
	while read -r restore_top_buffer_option; do
		grep -qx "$restore_top_buffer_option" "$tracefs/trace_options" || put_back trace_options '' "$restore_top_buffer_option"
	done <"$workspace/top/trace_options"
	# What a trace-cmd that was ended did not come to clear; it was empty before.
	if [ -z "$(cat "$tracefs/set_event")" ] && cat "$tracefs"/per_cpu/cpu*/stats | grep -q '^entries: [1-9]'; then
		put_back trace full ''
	fi
	rm -f "$workspace/top/saved"
}
