# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# tracefs alone as the recorder: a trace instance of one's own, whose pages lib/copy-pages.sh copies
# into the bundle. Sourced; lib/recorder.sh says what a tool has to define.

tracefs_compresses() {
	false
}

set_up_tracefs() {
	trace=trace.tracefs trace_clock=$clock
	remove_instance
	# Said first: a signal is taken between any two commands.
	name_instance
	remove_dead_instances
	if ! set_up_tracefs_reason=$(LC_ALL=C mkdir "$instance" 2>&1); then
		refusal="tracefs makes no instance: ${set_up_tracefs_reason##*: }"
		instance=''
		return 1
	fi
	set_instance tracing_on 0 &&
		set_instance trace_clock "$clock" &&
		set_instance buffer_size_kb "$((ring_buffer / 1024))" || return 1
	[ -z "$until" ] || set_instance options/overwrite 1 || return 1
	[ -z "$cpus" ] || set_instance tracing_cpumask "$(cpu_mask "$recorded_cpus")" || return 1
	# The names of tasks, which the kernel keeps for all instances together.
	[ ! -e "$instance/options/record-cmd" ] || set_instance options/record-cmd 1 || return 1
	for set_up_tracefs_event in $events; do
		switch_event "$set_up_tracefs_event" 1 || return 1
	done
	drop_refused_pairs
	refusal=''
	for set_up_tracefs_event in $(echo "$pairs" | tr ',' ' '); do
		switch_event "$set_up_tracefs_event" 1 || return 1
	done
	make_tracefs_folder "$destination/$trace" || die "cannot write to $destination: is there room?"
}

# name_instance: sets instance, by this process: its number, when it began, and the namespace that the number is of.
name_instance() {
	instance=$tracefs/instances/netcost-$self_pid-$self_began-$(namespace_of_pids)
}

namespace_of_pids() {
	readlink /proc/self/ns/pid | tr -cd '0-9'
}

# remove_dead_instances: those of processes that were killed with all that would have cleaned up after them. They go on
# recording, and cost what that costs.
remove_dead_instances() {
	remove_dead_instances_space=$(namespace_of_pids)
	for remove_dead_instances_one in "$tracefs"/instances/netcost-*-*-"${remove_dead_instances_space:-none}"; do
		[ -d "$remove_dead_instances_one" ] || continue
		remove_dead_instances_name=${remove_dead_instances_one##*/netcost-}
		remove_dead_instances_began=${remove_dead_instances_name#*-}
		[ "$(began_at "${remove_dead_instances_name%%-*}")" != "${remove_dead_instances_began%%-*}" ] || continue
		{ echo 0 >"$remove_dead_instances_one/tracing_on"; } 2>/dev/null
		rmdir "$remove_dead_instances_one" 2>/dev/null && note "removed $remove_dead_instances_one, which a killed netcost-record had left"
	done
}

# set_instance FILE VALUE
set_instance() {
	{ echo "$2" >"$instance/$1"; } 2>/dev/null && return
	refusal="the kernel refuses $2 for $instance/$1"
	return 1
}

# switch_event EVENT 0|1
switch_event() {
	set_instance "events/${1%%:*}/${1#*:}/enable" "$2"
}

# make_tracefs_folder DIR: what does not change while it is recorded.
make_tracefs_folder() {
	mkdir -p "$1/events" || return 1
	for make_tracefs_folder_file in header_page header_event; do
		# The instance's own, where it has one: its pages can be of another size.
		cat "$instance/events/$make_tracefs_folder_file" 2>/dev/null >"$1/$make_tracefs_folder_file" ||
			cat "$tracefs/events/$make_tracefs_folder_file" >"$1/$make_tracefs_folder_file" || return 1
	done
	for make_tracefs_folder_event in $events $(echo "$pairs" | tr ',' ' '); do
		copy_format "${make_tracefs_folder_event%%:*}/${make_tracefs_folder_event#*:}" "$1" || return 1
	done
	for make_tracefs_folder_file in "$tracefs"/events/ftrace/*/format; do
		make_tracefs_folder_event=${make_tracefs_folder_file%/format}
		copy_format "ftrace/${make_tracefs_folder_event##*/}" "$1" || return 1
	done
	for make_tracefs_folder_cpu in $recorded_cpus; do
		mkdir -p "$1/per_cpu/cpu$make_tracefs_folder_cpu" || return 1
		: >"$1/per_cpu/cpu$make_tracefs_folder_cpu/raw" || return 1
	done
	cat "$instance/trace_clock" >"$1/trace_clock" && uname -s -n -r -m >"$1/uname"
}

# copy_format SYSTEM/EVENT DIR
copy_format() {
	mkdir -p "$2/events/$1" && cat "$tracefs/events/$1/format" >"$2/events/$1/format"
}

tracefs_command() {
	tracefs_command_on=1
	[ -z "$until" ] || tracefs_command_on=rolling
	[ -z "$trace_for" ] || tracefs_command_on=0
	# The CPUs are a line each already.
	printf '%s\n' sh "$library/copy-pages.sh" "$tracefs" "$instance" "$1" "$workspace/stop" "$recorder_name" "$ring_buffer" "${size_limit_kib:-0}" "$tracefs_command_on" "$recorded_cpus"
}

# tracefs_records EVENT,...: can they be switched on? They are left off.
tracefs_records() {
	tracefs_records_status=0
	for tracefs_records_event in $(echo "$1" | tr ',' ' '); do
		switch_event "$tracefs_records_event" 1 || tracefs_records_status=1
		switch_event "$tracefs_records_event" 0
	done
	return "$tracefs_records_status"
}

tracefs_switch() {
	case $1 in
	on) set_instance tracing_on 1 || die "$refusal" ;;
	off) set_instance tracing_on 0 || die "$refusal" ;;
	esac
}

check_tracefs() {
	:
}

finish_tracefs() {
	finish_tracefs_pages=''
	for finish_tracefs_cpu in $recorded_cpus; do
		[ ! -s "$destination/$trace/per_cpu/cpu$finish_tracefs_cpu/raw" ] || finish_tracefs_pages=yes
		[ ! -e "$destination/$trace/per_cpu/cpu$finish_tracefs_cpu/unread" ] ||
			note "the last events of CPU $finish_tracefs_cpu could not be read"
		rm -f "$destination/$trace/per_cpu/cpu$finish_tracefs_cpu/unread"
		echo "CPU: $finish_tracefs_cpu"
		cat "$destination/$trace/per_cpu/cpu$finish_tracefs_cpu/stats"
	done >"$workspace/stats"
	count_losses <"$workspace/stats"
	[ -n "$finish_tracefs_pages" ] || die "the kernel gave no event"
	remove_instance
}

undo_tracefs() {
	remove_instance
}

# remove_instance: with it its events are off and its memory is free. Whoever still reads from it
# keeps it for a moment.
remove_instance() {
	[ -n "$instance" ] && [ -d "$instance" ] || return 0
	for remove_instance_try in 1 2 3 4 5 6 7 8 9 10; do
		if rmdir "$instance" 2>/dev/null; then
			instance=''
			return
		fi
		sleep 0.2
	done
	warn "left behind: $instance"
}
