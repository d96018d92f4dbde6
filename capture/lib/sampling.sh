# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Sampling with call graphs: a recording of perf's own, beside the recorder's or instead of it. Sourced.
# The trace is a folder as `perf record --kcore` makes it, but of the kernel's symbols alone, so that another
# machine can tell its functions: functions.perf.data/data and functions.perf.data/kcore_dir/kallsyms.

sampled=functions.perf.data

# choose_sampling: sets sampling_event to the first of the profile's that this host can sample, sampling_others to those
# that it can sample beside it, at the same time.
choose_sampling() {
	[ -n "$sampling_profile" ] || return 0
	# Its table says that it takes root.
	[ -z "$check_only" ] || [ "$(id -u)" = 0 ] || return 0
	command -v perf >/dev/null || die "profile $sampling_profile needs perf, which is not installed"
	choose_sampling_file=$here/profiles/$sampling_profile.sampling
	sampling_frequency=$(sampling_said frequency)
	sampling_graph=$(sampling_said call-graph)
	sampling_symbols=$(sampling_said symbols)
	sampling_addresses=$(sampling_said addresses)
	choose_sampling_tried='' sampling_others='' choose_sampling_found=''
	sampling_said event >"$workspace/sampling-events"
	while read -r sampling_event; do
		if sampled_by "$sampling_event"; then
			choose_sampling_found=yes
			break
		fi
		choose_sampling_tried="$choose_sampling_tried $sampling_event"
	done <"$workspace/sampling-events"
	if [ -z "$choose_sampling_found" ]; then
		[ -n "$sampling_addresses" ] || die "perf cannot sample$choose_sampling_tried here (it takes root)"
		choose_sampling_tried="loads of memory cannot be sampled with their addresses on this host (tried:$choose_sampling_tried): that takes a processor that samples them, which virtual machines rarely show"
		[ "$profile" != "$sampling_profile" ] || die "$choose_sampling_tried"
		note "$choose_sampling_tried"
		sampling_profile=''
		return
	fi
	choose_others
	# Counters that take no samples together are sampled by none.
	if [ "$sampling_event" = cpu-clock ] && [ -n "$choose_sampling_tried" ]; then
		note "functions are sampled by cpu-clock, because this host cannot sample$choose_sampling_tried$choose_others_missing: time with interrupts off is found where they are switched on again"
	elif [ -n "$choose_others_missing" ]; then
		note "profile $sampling_profile, not on this host:$choose_others_missing"
	fi
}

# sampling_build_ids: what makes perf record the build ids of programs with their mappings, from which functions are
# named later; empty where perf or the kernel cannot. -B stays: perf's own list takes rereading all of the trace.
sampling_build_ids() {
	perf_has --buildid-mmap || return 0
	! PERF_CONFIG=/dev/null asked perf record -q -e dummy --buildid-mmap -B -N -o /dev/null -- true >/dev/null 2>&1 </dev/null ||
		echo --buildid-mmap
}

# sampling_said WORD: what the profile says behind it, a line each.
sampling_said() {
	sed -n "s/^$1 //p" "$choose_sampling_file"
}

# choose_others: as a group, for which a processor has to have counters enough, so that ratios of them are of the same
# time.
choose_others() {
	choose_others_missing=''
	sampling_said with >"$workspace/sampling-events"
	while read -r choose_others_event; do
		if sampled_by "{$sampling_event,${sampling_others}$choose_others_event}" "$choose_others_event"; then
			sampling_others="$sampling_others$choose_others_event,"
		else
			choose_others_missing="$choose_others_missing $choose_others_event"
		fi
	done <"$workspace/sampling-events"
}

# sampling_list: the events as perf takes them.
sampling_list() {
	if [ -n "$sampling_others" ]; then echo "{$sampling_event,${sampling_others%,}}"; else echo "$sampling_event"; fi
}

# sampled_by EVENTS [OTHER]: can they be, together? perf takes the timer for an event that is not there, or leaves it out,
# and does not say so. Of a group for which there are not counters enough the kernel takes no sample at all.
sampled_by() {
	sampled_by_events=$1 sampled_by_name=${2:-$1}
	set -- -q -a -e "$1" -F "$sampling_frequency" -B -N -o "$workspace/probe.data"
	[ -z "$sampling_addresses" ] || set -- "$@" -d -W --phys-data
	! perf_has --no-bpf-event || set -- "$@" --no-bpf-event
	# shellcheck disable=SC2016 # it counts itself
	PERF_CONFIG=/dev/null asked perf record "$@" -- sh -c 'i=0; while [ "$i" -lt 20000 ]; do i=$((i + 1)); done' >/dev/null 2>&1 </dev/null ||
		return 1
	asked perf evlist -i "$workspace/probe.data" >"$workspace/sampling-found" 2>/dev/null
	case $sampled_by_name in
	*/*) ! grep -q -e '^cpu-clock' "$workspace/sampling-found" ;;
	*) grep -q -e "^$sampled_by_name" "$workspace/sampling-found" ;;
	esac || return 1
	case $sampled_by_events in
	"{$sampling_event,"*) asked perf script -F event -i "$workspace/probe.data" 2>/dev/null | grep -q -e "^ *$sampling_event" ;;
	esac
}

# start_sampling DIR: returns when it samples.
start_sampling() {
	mkdir -p "$1/$sampled" || die "cannot write to $1: is there room?"
	start_sampling_folder=$1
	if [ -n "$cpus" ]; then set -- -C "$cpus"; else set -- -a; fi
	start_sampling_build_ids=$(sampling_build_ids)
	[ -z "$start_sampling_build_ids" ] || set -- "$@" "$start_sampling_build_ids"
	[ -z "$sampling_addresses" ] || set -- "$@" -d -W --phys-data
	companion functions KILL "$workspace/functions.out" perf record "$@" -k CLOCK_MONOTONIC -e "$(sampling_list)" \
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
	{ mkdir -p "$1/$sampled/kcore_dir" && grep -i " [${sampling_symbols:-tw}] " /proc/kallsyms >"$1/$sampled/kcore_dir/kallsyms"; } ||
		die "cannot write $1/$sampled/kcore_dir/kallsyms: is there room?"
	[ -n "$sampling_addresses" ] || return 0
	# What lies at which address, beside symbols; a kernel may show none of it.
	for stop_sampling_file in iomem vmallocinfo; do
		cat "/proc/$stop_sampling_file" >"$1/$sampled/kcore_dir/$stop_sampling_file" 2>/dev/null ||
			note "/proc/$stop_sampling_file cannot be read"
	done
}
