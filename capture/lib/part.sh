# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --trace-for: a part of the run is recorded. The recorder is ready before the run begins, with its events off, so that
# what it takes to start and to end it does not take from the run. Sourced.
# NAME_switch on|off of a tool switches them, and returns once they are.

# plan_part: of the run that begins now. The timers' reports come to other_report.
plan_part() {
	part_state=planned
	read_counters "$destination/before" stamp devices
	start_timer "$trace_after" 'trace on'
	part_timer=$timer_pid
}

# begin_part: what is compared with the trace is read while it records, as in a recording of a whole run; what takes
# programs before the run and after it, from which they would take their time.
begin_part() {
	[ "$part_state" = planned ] || return 0
	read_counters "$destination/before" network
	"${tool_name}_switch" on
	part_state=on
	read_clock
	window_started_ns=$monotonic_ns
	read_counters "$destination/before" proc
	start_timer "$trace_for" 'trace off'
	part_timer=$timer_pid
}

end_part() {
	[ "$part_state" = on ] || return 0
	read_counters "$destination/after" stamp proc
	read_clock
	window_ended_ns=$monotonic_ns
	part_state=over
	"${tool_name}_switch" off
	read_counters "$destination/after" network
}

# close_part: the run is over.
close_part() {
	end_session "$part_timer" "the timer"
	part_timer=''
	case $part_state in
	planned) die "the run was over before its trace began (--trace-after $trace_after)" ;;
	*)
		[ -z "$victim" ] || [ "$window_started_ns" -lt "$victim_ended_ns" ] ||
			die "the victim's run was over before its trace began (--trace-after $trace_after)"
		;;
	esac
	case $part_state in
	on) note "the run was over before $trace_for s of it were traced" ;;
	esac
	end_part
	read_counters "$destination/after" devices
}
