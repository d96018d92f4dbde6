# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Sampling with call graphs: a recording of perf's own, beside the recorder's or instead of it. Sourced.
# The trace is a folder as `perf record --kcore` makes it, but of the kernel's symbols alone, so that another
# machine can tell its functions: functions.perf.data/data and functions.perf.data/kcore_dir/kallsyms.

sampled=functions.perf.data

# choose_sampling: sets sampling_event to the first of the profile's that this host can sample.
choose_sampling() {
	[ -n "$sampling_profile" ] || return 0
	# Its table says that it takes root.
	[ -z "$check_only" ] || [ "$(id -u)" = 0 ] || return 0
	command -v perf >/dev/null || die "perf is not installed, and profile $sampling_profile takes it"
	choose_sampling_file=$here/profiles/$sampling_profile.sampling
	sampling_frequency=$(sed -n 's/^frequency //p' "$choose_sampling_file")
	sampling_graph=$(sed -n 's/^call-graph //p' "$choose_sampling_file")
	choose_sampling_tried=''
	sed -n 's/^event //p' "$choose_sampling_file" >"$workspace/sampling-events"
	while read -r sampling_event; do
		if sampled_by "$sampling_event"; then
			[ -z "$choose_sampling_tried" ] || note "functions are sampled by $sampling_event, for this host cannot sample$choose_sampling_tried: time with interrupts off is found where they are switched on again"
			return
		fi
		choose_sampling_tried="$choose_sampling_tried $sampling_event"
	done <"$workspace/sampling-events"
	die "perf cannot sample$choose_sampling_tried here (it takes root)"
}

# sampling_build_ids: what makes perf record the build ids of programs with their mappings, from which functions are
# named later; empty where perf or the kernel cannot. -B stays: perf's own list takes rereading all of the trace.
sampling_build_ids() {
	perf_has --buildid-mmap || return 0
	! PERF_CONFIG=/dev/null asked perf record -q -e dummy --buildid-mmap -B -N -o /dev/null -- true >/dev/null 2>&1 </dev/null ||
		echo --buildid-mmap
}

# sampled_by EVENT: can it be? perf takes the timer for an event that is not there, and does not say so.
sampled_by() {
	set -- "$1" -q -a -e "$1" -F "$sampling_frequency" -B -N -o "$workspace/probe.data"
	! perf_has --no-bpf-event || set -- "$@" --no-bpf-event
	sampled_by_event=$1
	shift
	PERF_CONFIG=/dev/null asked perf record "$@" -- true >/dev/null 2>&1 </dev/null &&
		asked perf evlist -i "$workspace/probe.data" 2>/dev/null | grep -q -e "^$sampled_by_event"
}

# start_sampling DIR: returns when it samples.
start_sampling() {
	mkdir -p "$1/$sampled" || die "cannot write to $1: is there room?"
	start_sampling_folder=$1
	if [ -n "$cpus" ]; then set -- -C "$cpus"; else set -- -a; fi
	start_sampling_build_ids=$(sampling_build_ids)
	[ -z "$start_sampling_build_ids" ] || set -- "$@" "$start_sampling_build_ids"
	companion functions KILL "$workspace/functions.out" perf record "$@" -k CLOCK_MONOTONIC -e "$sampling_event" \
		-F "$sampling_frequency" --call-graph "$sampling_graph" -m 1024K -B -N -o "$start_sampling_folder/$sampled/data" -- \
		sh "$library/hold-window.sh" "$workspace/stop-sampling" functions
	start_limit "$start_seconds"
	while next_report; do
		case $report in
		'functions started') break ;;
		limit) die "perf did not begin to sample within $start_seconds s" ;;
		"companion functions$phase ended "*) die "perf does not sample$(last_words "$workspace/companion-functions")" ;;
		*) other_report ;;
		esac
	done
	stop_limit
}

# stop_sampling DIR: waits until it is written. Its end is asked for as the recorder's is: a signal would end
# the command that perf waits for, and perf with it.
stop_sampling() {
	stop_sampling_pid=$(echo "$companions" | sed 's/.* functions:\([0-9]*\):.*/\1/')
	companions=$(echo "$companions" | sed "s/ functions:$stop_sampling_pid:KILL//")
	sampling_pid=$stop_sampling_pid
	echo stop >&9
	while next_report; do
		case $report in
		"companion functions$phase ended 0") break ;;
		"companion functions$phase ended "*) die "perf could not write its samples$(last_words "$workspace/companion-functions")" ;;
		*) other_report ;;
		esac
	done
	await_end "$sampling_pid" 3
	sampling_pid=''
	[ -s "$1/$sampled/data" ] || die "perf wrote no samples"
	{ mkdir -p "$1/$sampled/kcore_dir" && grep -i ' [tw] ' /proc/kallsyms >"$1/$sampled/kcore_dir/kallsyms"; } ||
		die "cannot write $1/$sampled/kcore_dir/kallsyms: is there room?"
}
