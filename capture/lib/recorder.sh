# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# perf as the recorder: which events, how large a ring, start, stop. Sourced.
# Uses workspace, partial, library, profile, cpus, recorder_cpus, compress; sets events,
# ring_buffer, recorder_pid.

# load_profile FILE: checks FILE against the events this kernel has; sets events and pairs.
# Required events must exist; a pair that is not there is skipped with a note.
load_profile() {
	tracefs=''
	for load_profile_root in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		if [ -d "$load_profile_root/events" ]; then
			tracefs=$load_profile_root
			break
		fi
	done
	[ -n "$tracefs" ] || die "tracefs is not mounted or not readable: as root, mount -t tracefs tracefs /sys/kernel/tracing"
	events=''
	pairs=''
	skipped=''
	while read -r load_profile_first load_profile_entry load_profile_exit; do
		case $load_profile_first in
		'' | '#'*) ;;
		pair)
			if has_event "$load_profile_entry" && has_event "$load_profile_exit"; then
				pairs="$pairs $load_profile_entry,$load_profile_exit"
			else
				skipped="$skipped $load_profile_entry"
			fi
			;;
		*)
			has_event "$load_profile_first" || die "this kernel has no event $load_profile_first, which profile $profile needs"
			events="$events $load_profile_first"
			;;
		esac
	done <"$1"
	[ -z "$skipped" ] || note "not on this kernel, not recorded:$(pair_names "$skipped")"
}

has_event() {
	[ -d "$tracefs/events/${1%%:*}/${1#*:}" ]
}

# pair_names ENTRIES: " irq_vectors:local_timer" for irq_vectors:local_timer_entry, and so on.
pair_names() {
	for pair_names_entry in $1; do
		printf ' %s' "${pair_names_entry%_entry*}"
	done
}

# drop_refused_pairs: tries each pair by itself and drops the ones that cannot be recorded. Takes
# half a second a pair, so it is only called when recording everything together has failed.
drop_refused_pairs() {
	drop_refused_pairs_kept=''
	skipped=''
	for drop_refused_pairs_pair in $pairs; do
		if perf record -a -c 1 -e "$drop_refused_pairs_pair" -B -N -o /dev/null -- true >/dev/null 2>&1 </dev/null; then
			drop_refused_pairs_kept="$drop_refused_pairs_kept $drop_refused_pairs_pair"
		else
			skipped="$skipped $drop_refused_pairs_pair"
		fi
	done
	pairs=$drop_refused_pairs_kept
	[ -z "$skipped" ] || note "refused by this host, not recorded:$(pair_names "$skipped")"
}

# choose_ring_buffer: bytes of ring per CPU, a power of two. 100,000 events/s are about 10 MB/s, so
# 8 MiB ride out most of a second in which perf does not get to run; hosts with many CPUs and
# little memory get less, so that all rings together stay below 1/16 of what is available.
choose_ring_buffer() {
	choose_ring_buffer_limit=$(awk -v cpus="$1" '/^MemAvailable:/ { printf "%d", $2 * 1024 / 16 / cpus }' /proc/meminfo)
	ring_buffer=8388608
	while [ "$ring_buffer" -gt "${choose_ring_buffer_limit:-8388608}" ] && [ "$ring_buffer" -gt 131072 ]; do
		ring_buffer=$((ring_buffer / 2))
	done
}

# perf_has OPTION: does this perf's record know the option?
perf_has() {
	perf record -h 2>&1 | grep -q -e "$1"
}

# recorder_command FILE: writes the recorder's command to "$workspace/argv", one argument a line,
# for the manifest and for start_recorder alike.
recorder_command() {
	{
		# Off the victim's CPU, so that what the recorder costs is not taken from the victim.
		[ -z "$recorder_cpus" ] || printf '%s\n' taskset -c "$recorder_cpus"
		printf '%s\n' perf record
		if [ -n "$cpus" ]; then printf '%s\n' -C "$cpus"; else printf '%s\n' -a; fi
		printf '%s\n' -k CLOCK_MONOTONIC -c 1 -m "$((ring_buffer / 1024))K"
		# No build ids: collecting them rereads the whole trace and fills a cache in the home directory.
		printf '%s\n' -B -N
		# Names of the tasks that already run are needed, the maps of their memory are not.
		if perf_has --synth; then printf '%s\n' --synth task; fi
		[ -z "$compress" ] || printf '%s\n' "-z$compress"
		printf '%s\n' -o "$1"
		for recorder_command_event in $events $(echo "$pairs" | tr ',' ' '); do
			printf '%s\n' -e "$recorder_command_event"
		done
	} >"$workspace/argv"
}

# start_recorder: returns when perf records, fails when it ends instead. perf starts its workload
# only after the last event is enabled, and the workload says so; it then holds the recording open
# until stop_recorder.
start_recorder() {
	recorder_command "$partial/trace.perf.data"
	set --
	while IFS= read -r start_recorder_word; do
		set -- "$@" "$start_recorder_word"
	done <"$workspace/argv"
	# An empty configuration, or the user's own could change what is recorded.
	PERF_CONFIG=/dev/null setsid sh "$library/report-end.sh" recorder "$@" -- \
		sh "$library/hold-window.sh" "$workspace/stop" >"$partial/recorder.txt" 2>&1 </dev/null &
	recorder_pid=$!
	next_report
	[ "$report" = 'recorder started' ]
}

# stop_recorder: ends the recording and waits until the file is written.
stop_recorder() {
	echo stop >&4
	while next_report; do
		case $report in
		'recorder ended '*) break ;;
		esac
	done
	recorder_pid=''
	[ "$report" = 'recorder ended 0' ] || die "perf failed$(last_words "$partial/recorder.txt")"
	[ -s "$partial/trace.perf.data" ] || die "perf wrote no trace"
}
