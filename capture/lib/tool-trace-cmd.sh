# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# trace-cmd as the recorder. Sourced; lib/recorder.sh says what a tool has to define.

trace_cmd_compresses() {
	trace_cmd_has --compression
}

set_up_trace_cmd() {
	trace=trace.dat trace_clock=$clock
	if [ -n "$trace_for" ]; then
		refusal="trace-cmd cannot begin within a run"
		return 1
	fi
	set_up_trace_cmd_use=$(top_buffer_use)
	# Two that begin at the same moment would both find it free. It is held until the end.
	take_lock "$top_buffer_lock" || set_up_trace_cmd_use="netcost-record holds it ($lock_owner)"
	if [ -n "$set_up_trace_cmd_use" ]; then
		refusal="trace-cmd takes the kernel's own trace buffer, and $set_up_trace_cmd_use"
		return 1
	fi
	save_top_buffer || die "cannot write to $workspace"
	choose_masks
}

# trace_cmd_has OPTION: does this trace-cmd's record know the option?
trace_cmd_has() {
	asked trace-cmd record -h 2>&1 | grep -q -e "$1"
}

# choose_masks: sets masks to what lib/masked.sh hides: the function tracer's controls that this host refuses, and the
# kernel's symbols where the disk has no room for them; nothing where there is nothing to hide. Nothing is changed by
# trying: the files are opened and not written, and what cannot be refused but by writing is written what it reads.
choose_masks() {
	masks=$workspace/masks
	mkdir -p "$masks" || die "cannot write to $workspace"
	: >"$masks/list"
	for choose_masks_name in set_ftrace_filter set_ftrace_notrace set_ftrace_pid set_ftrace_notrace_pid; do
		choose_masks_file=$tracefs/$choose_masks_name
		[ -e "$choose_masks_file" ] || continue
		(: >>"$choose_masks_file") 2>/dev/null || mask '' "$choose_masks_file"
	done
	choose_masks_file=/proc/sys/kernel/ftrace_enabled
	if choose_masks_value=$(cat "$choose_masks_file" 2>/dev/null); then
		(echo "$choose_masks_value" >"$choose_masks_file") 2>/dev/null ||
			mask "$choose_masks_value" "$choose_masks_file"
	fi
	refused_controls=$(wc -l <"$masks/list")
	[ -z "$hide_symbols" ] || mask '' /proc/kallsyms
	if [ ! -s "$masks/list" ]; then
		masks=''
	elif ! unshare -m true 2>/dev/null; then
		refusal="this host refuses the function tracer's controls, which trace-cmd sets, and a mount namespace to hide them in"
		return 1
	fi
}

# mask VALUE CONTROL: a file with VALUE for the control.
mask() {
	mask_file=$masks/${2##*/}
	{ [ -z "$1" ] || echo "$1"; } >"$mask_file"
	echo "$2 $mask_file" >>"$masks/list"
}

trace_cmd_command() {
	[ -z "$masks" ] || printf '%s\n' unshare -m sh "$library/masked.sh" "$masks/list"
	printf '%s\n' trace-cmd record -C "$clock" -b "$((ring_buffer / 1024))"
	[ -z "$cpus" ] || printf '%s\n' -M "$(cpu_mask "$recorded_cpus" | tr -d ,)"
	# It would hide its own threads, and with them what they take from others.
	if trace_cmd_has --no-filter; then printf '%s\n' --no-filter; fi
	if [ -z "$compress" ] && trace_cmd_has --compression; then printf '%s\n' --compression none; fi
	event_options
	printf '%s\n' -o "$1"
	hold_window
}

# trace_cmd_records EVENT,...: does recording them alone work?
trace_cmd_records() {
	trace_cmd_records_events=$(echo "$1" | tr ',' ' ')
	set -- trace-cmd record -o "$workspace/probe.dat"
	for trace_cmd_records_event in $trace_cmd_records_events; do
		set -- "$@" -e "$trace_cmd_records_event"
	done
	set -- "$@" true
	[ -z "$masks" ] || set -- unshare -m sh "$library/masked.sh" "$masks/list" "$@"
	asked "$@" >/dev/null 2>&1 </dev/null
}

# Another trace-cmd clears the buffer when it begins and switches everything off when it ends, and
# nothing in the trace would tell.
check_trace_cmd() {
	check_trace_cmd_on=1
	if [ -s "$workspace/disk.out" ]; then
		# By lib/watch-disk.sh, whose report may not have been waited for.
		check_trace_cmd_on=0 size_limit_reached=yes
		[ -n "$cut_short" ] || disk_low "$(cat "$workspace/disk.out")"
	fi
	echo "$events $pairs" | tr ',' ' ' | tr ' ' '\n' | grep . | sort >"$workspace/events"
	if ! sort "$tracefs/set_event" | cmp -s - "$workspace/events" ||
		[ "$(cat "$tracefs/tracing_on") $(selected "$tracefs/trace_clock")" != "$check_trace_cmd_on $clock" ]; then
		die "another program used the kernel's top trace buffer while trace-cmd recorded into it: --tool tracefs uses a buffer of its own"
	fi
}

finish_trace_cmd() {
	[ -s "$destination/$trace" ] || die "trace-cmd wrote no trace"
	restore_top_buffer
	# It says what each CPU's buffer lost in the trace, and not on the screen.
	trace-cmd dump --options -i "$destination/$trace" >"$workspace/stats" 2>/dev/null
	count_losses <"$workspace/stats"
	[ -z "$masks" ] || [ "$refused_controls" = 0 ] || note "this host refuses the function tracer's controls: trace-cmd recorded with $((refused_controls)) of them hidden from it"
	[ -z "$masks" ] || [ -z "$hide_symbols" ] || note "the kernel's symbols are not in the trace: its disk has little room"
}

undo_trace_cmd() {
	restore_top_buffer
}
