# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# perf as the recorder. Sourced; lib/recorder.sh says what a tool has to define.

perf_compresses() {
	asked perf version --build-options 2>/dev/null | grep -q 'zstd: \[ on'
}

set_up_perf() {
	trace=trace.perf.data trace_clock=CLOCK_MONOTONIC
	if [ -n "$trace_for" ] && ! perf_has --control; then
		refusal="this perf cannot begin within a run (perf 5.10 and later can)"
		return 1
	fi
	if [ -n "$until" ] && ! perf_has --overwrite; then
		refusal="this perf cannot overwrite its rings"
		return 1
	fi
	# perf takes powers of two only.
	perf_buffer=131072
	while [ "$perf_buffer" -lt "$ring_buffer" ]; do
		perf_buffer=$((perf_buffer * 2))
	done
	ring_buffer=$perf_buffer
}

# perf_has OPTION: does this perf's record know the option?
perf_has() {
	asked perf record -h 2>&1 | grep -q -e "$1"
}

# perf_without_bpf: no events here are of BPF programs, and what perf has to read those takes a second to end.
perf_without_bpf() {
	if perf_has --no-bpf-event; then echo --no-bpf-event; fi
}

perf_command() {
	printf '%s\n' perf record
	if [ -n "$cpus" ]; then printf '%s\n' -C "$cpus"; else printf '%s\n' -a; fi
	printf '%s\n' -k CLOCK_MONOTONIC -c 1 -m "$((ring_buffer / 1024))K"
	# No build ids: collecting them rereads the whole trace and fills a cache in the home directory.
	printf '%s\n' -B -N
	# Names of the tasks that already run are needed, the maps of their memory are not.
	if perf_has --synth; then printf '%s\n' --synth task; fi
	# As the samples: once somebody asks for build ids, Linux (6.18 at least) marks the mappings of who recorded without
	# them before as having some, and fills in none: perf dies when it reads that.
	[ -z "$sampling_profile" ] || sampling_build_ids
	perf_without_bpf
	[ -z "$compress" ] || printf '%s\n' -z1
	[ -z "$until" ] || printf '%s\n' --overwrite
	# What ends it by itself should the watch on the disk be too late. A rolling recording writes its rings, no more.
	if [ -z "$until" ] && [ -n "$size_limit_kib" ] && perf_has --max-size; then printf '%s\n' --max-size "${size_limit_kib}K"; fi
	# It says on the pipe of reports that it has switched them.
	[ -z "$trace_for" ] || printf '%s\n' -D -1 --control "fifo:$workspace/control,$workspace/reports"
	printf '%s\n' -o "$1"
	event_options
	printf '%s\n' --
	hold_window
}

# perf_records EVENT,...: does recording them alone work?
perf_records() {
	set -- -e "$1" -B -N -o /dev/null
	! perf_has --no-bpf-event || set -- "$@" --no-bpf-event
	asked perf record -a -c 1 "$@" -- true >/dev/null 2>&1 </dev/null
}

# perf_switch on|off: what is reported until it has is reported again.
perf_switch() {
	[ -n "$recorder_pid" ] || return 0
	case $1 in
	on) echo enable >&7 ;;
	off) echo disable >&7 ;;
	esac
	perf_switch_held=''
	while next_report; do
		case $report in
		ack) break ;;
		limit) die "perf does not switch its events $1" ;;
		*) perf_switch_held=$perf_switch_held$report$newline ;;
		esac
		case $report in
		"$recorder_name ended "*) break ;;
		esac
	done
	printf '%s' "$perf_switch_held" >&3
}

check_perf() {
	:
}

# How many events were lost is among the records of the trace.
finish_perf() {
	[ -s "$destination/$trace" ] || die "perf wrote no trace"
}

undo_perf() {
	:
}
