# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The recorder, whichever tool it is: which events, how large a ring, start, stop. Sourced.
# Uses workspace, destination, library, profile, cpus, recorder_cpus, compress, clock; sets tool, trace,
# trace_clock, events, pairs, ring_buffer, recorder_pid, lost_events, losses.
#
# A tool is lib/tool-NAME.sh, which defines, with _ for - in NAME:
#   NAME_compresses   can it?
#   set_up_NAME       sets trace, the file or folder it writes; fails with refusal set to why
#   NAME_command FILE the command, one argument a line, that records into FILE what event_options
#                     says, reports "$recorder_name started" once the last event is on
#                     (lib/hold-window.sh does) and ends with status 0 when a line arrives on "$workspace/stop"
#   NAME_records LIST does recording the events of LIST, separated by commas, work?
#   NAME_switch on|off   for lib/part.sh
#   check_NAME        before it is stopped: dies if somebody else has interfered with it
#   finish_NAME       looks at what was recorded; sets lost_events and losses where it can
#   undo_NAME         after a failure: sets the host as it was

# In which a tool has to begin, and to end.
launches=0 recorder_name='' recorder_told=''
start_seconds=${NETCOST_START_SECONDS:-120} end_seconds=${NETCOST_END_SECONDS:-600}

# What the last --check of this boot found to miss least: a line of boot and tool.
best_tool_file=${NETCOST_ROOT-}/run/netcost-record.tool

# keep_best_tool TOOL: one that cannot be kept is found by the next --check.
keep_best_tool() {
	{ echo "$(first_line /proc/sys/kernel/random/boot_id) $1" >"$best_tool_file.$self_pid" && mv -f "$best_tool_file.$self_pid" "$best_tool_file"; } 2>/dev/null ||
		rm -f "$best_tool_file.$self_pid"
}

best_tool() {
	sed -n "s/^$(first_line /proc/sys/kernel/random/boot_id) \([a-z-]*\)\$/\1/p" "$best_tool_file" 2>/dev/null
}

# tools_in_turn: those that can record what is asked for. The best comes first, then tracefs, which is known to miss least and
# costs least. perf has one clock, trace-cmd reads its rings all the time, tracefs compresses nothing.
tools_in_turn() {
	tools_in_turn_best=''
	[ -n "$check_only" ] || tools_in_turn_best=$(best_tool)
	for tools_in_turn_one in $tools_in_turn_best tracefs perf trace-cmd; do
		case $tools_in_turn_one,$clock,${until:+part}${trace_for:+part},$compress in
		perf,mono,*,* | trace-cmd,*,,* | tracefs,*,*,) echo "$tools_in_turn_one" ;;
		esac
	done | awk '!seen[$0]++'
}

# choose_candidates TOOLS: sets candidates to those that are here, in the order in which they are
# tried, and refusals to why the others are not.
choose_candidates() {
	candidates='' refusals=''
	for tool in $1; do
		if [ "$tool" = tracefs ] || command -v "$tool" >/dev/null; then
			candidates="$candidates $tool"
		elif [ -z "$candidates" ]; then
			refusals="$refusals${refusals:+; }$tool is not installed"
		fi
	done
	[ -n "$candidates" ] || die "$refusals, and needed"
	# The others are only tried when it refuses.
	tool=${candidates# }
	tool=${tool%% *}
	check_compression
}

check_compression() {
	[ -z "$compress" ] || "$(echo "$tool" | tr - _)_compresses" || die "$tool cannot compress here: leave out --compress"
}

# load_profiles NAMES: checks their files against the events this kernel has; sets events and
# profile_pairs. Required events must exist; a pair, or an event of an "any" line, that is not there is
# skipped with a note.
load_profiles() {
	events='' profile_pairs='' skipped=''
	for load_profiles_name in $1; do
		while read -r load_profiles_first load_profiles_second load_profiles_third; do
			case $load_profiles_first in
			'' | '#'*) ;;
			pair) load_optional "$load_profiles_second,$load_profiles_third" ;;
			any) load_optional "$load_profiles_second" ;;
			*)
				has_event "$load_profiles_first" || die "this kernel has no event $load_profiles_first, which profile $load_profiles_name needs"
				case " $events " in
				*" $load_profiles_first "*) ;;
				*) events="$events $load_profiles_first" ;;
				esac
				;;
			esac
		done <"$here/profiles/$load_profiles_name.events"
	done
	[ -z "$skipped" ] || note "not on this kernel, not recorded:$(pair_names "$skipped")"
}

# load_optional EVENTS: one event, or an entry and its exit with a comma between them.
load_optional() {
	case " $profile_pairs $skipped " in
	*" $1 "*) return ;;
	esac
	if has_event "${1%,*}" && has_event "${1#*,}"; then
		profile_pairs="$profile_pairs $1"
	else
		skipped="$skipped $1"
	fi
}

# pair_names PAIRS: " irq_vectors:local_timer" for irq_vectors:local_timer_entry,irq_vectors:local_timer_exit;
# what is no pair keeps its name.
pair_names() {
	for pair_names_pair in $1; do
		case $pair_names_pair in
		*,*) pair_names_pair=${pair_names_pair%%,*} && printf ' %s' "${pair_names_pair%_entry}" ;;
		*) printf ' %s' "$pair_names_pair" ;;
		esac
	done
}

# event_options: -e and an event, one a line, for each.
event_options() {
	for event_options_event in $events $(echo "$pairs" | tr ',' ' '); do
		printf '%s\n' -e "$event_options_event"
	done
}

# hold_window: the workload of tools that record as long as one runs.
hold_window() {
	printf '%s\n' sh "$library/hold-window.sh" "$workspace/stop" "$recorder_name"
}

# drop_refused_pairs: tries each pair by itself and drops the ones that cannot be recorded. Takes
# half a second a pair with most tools, so it is only called when recording everything together
# has failed.
drop_refused_pairs() {
	drop_refused_pairs_kept=''
	for drop_refused_pairs_pair in $pairs; do
		if "${tool_name}_records" "$drop_refused_pairs_pair"; then
			drop_refused_pairs_kept="$drop_refused_pairs_kept $drop_refused_pairs_pair"
		else
			refused="$refused $drop_refused_pairs_pair"
		fi
	done
	pairs=$drop_refused_pairs_kept
}

# choose_ring_buffer CPUS [KIB]: bytes of ring per CPU. 100,000 events/s are about 10 MB/s, so
# 8 MiB ride out most of a second in which the recorder does not get to run; hosts with many CPUs and
# little memory get less, so that all rings together stay below 1/16 of what is available. A rolling recording has no
# more than its rings: theirs are larger.
choose_ring_buffer() {
	if [ -n "$2" ]; then
		profile_buffer=$(($2 * 1024))
		return
	fi
	choose_ring_buffer_limit=$(awk -v cpus="$1" '/^MemAvailable:/ { printf "%d", $2 * 1024 / 16 / cpus }' /proc/meminfo)
	profile_buffer=8388608
	[ -z "$until" ] || profile_buffer=67108864
	while [ "$profile_buffer" -gt "${choose_ring_buffer_limit:-$profile_buffer}" ] && [ "$profile_buffer" -gt 131072 ]; do
		profile_buffer=$((profile_buffer / 2))
	done
}

# start_recorder: starts the first of the candidates that works; returns when it records. Fails when
# none does, and refusals says why.
start_recorder() {
	for tool in $candidates; do
		check_compression
		tool_name=$(echo "$tool" | tr - _)
		pairs=$profile_pairs ring_buffer=$profile_buffer
		refused='' refusal='' lost_events='' losses=''
		if "set_up_$tool_name" && start_tool; then
			[ -z "$refusals" ] || note "$tool recorded, for $refusals"
			[ -z "$refused" ] || note "refused by this host, not recorded:$(pair_names "$refused")"
			return
		fi
		"undo_$tool_name"
		rm -rf "${destination:?}/${trace:?}" "$destination/recorder.txt"
		refusals="$refusals${refusals:+; }$refusal"
	done
	return 1
}

# start_tool: with what the host lets it record.
start_tool() {
	launch_tool && return
	start_tool_refused=$refused
	start_tool_first=${events# }
	"${tool_name}_records" "${start_tool_first%% *}" || return 1
	drop_refused_pairs
	[ "$refused" != "$start_tool_refused" ] && launch_tool
}

# launch_tool: returns when it records, fails when it ends instead, with refusal set to its last words.
launch_tool() {
	# Another name for each: the end of one that was given up is reported after the next was begun.
	launches=$((launches + 1))
	recorder_name=recorder$launches recorder_told=''
	{
		# Off the victim's CPU, so that what the recorder costs is not taken from the victim.
		[ -z "$recorder_cpus" ] || printf '%s\n' taskset -c "$recorder_cpus"
		"${tool_name}_command" "$destination/$trace"
	} >"$workspace/argv"
	set --
	while IFS= read -r launch_tool_word; do
		set -- "$@" "$launch_tool_word"
	done <"$workspace/argv"
	# An empty configuration of perf, or the user's own could change what is recorded.
	PERF_CONFIG=/dev/null setsid sh "$library/report-end.sh" "$recorder_name" "$@" >"$destination/recorder.txt" 2>&1 </dev/null &
	recorder_pid=$!
	remember recorder "$recorder_pid"
	# On a host of many CPUs each event takes its time.
	start_limit "$start_seconds"
	while next_report; do
		case $report in
		"$recorder_name started")
			stop_limit
			return 0
			;;
		"$recorder_name ended "*) break ;;
		limit)
			end_session "$recorder_pid" "$tool"
			recorder_pid='' limit_pid='' refusal="$tool did not begin to record within $start_seconds s"
			return 1
			;;
		# Of what was ended before.
		*) other_report ;;
		esac
	done
	stop_limit
	await_end "$recorder_pid" 3
	recorder_pid=''
	refusal="$tool did not start (it takes root)$(last_words "$destination/recorder.txt")"
	return 1
}

# tell_recorder: once.
tell_recorder() {
	[ -n "$recorder_told" ] || echo stop >&4
	recorder_told=yes
}

# stop_recorder: ends the recording and waits until the trace is written.
stop_recorder() {
	# One that has written all there is room for has ended already.
	if [ -n "$recorder_pid" ]; then
		"check_$tool_name"
		tell_recorder
		# What is left in large rings takes its time to write.
		start_limit "$end_seconds"
		while next_report; do
			case $report in
			"$recorder_name ended "*) break ;;
			limit) die "$tool does not end: what it has written so far is not a trace yet" ;;
			esac
		done
		stop_limit
		await_end "$recorder_pid" 3
		recorder_pid=''
		[ "$report" = "$recorder_name ended 0" ] || grep -q 'size limit reached' "$destination/recorder.txt" || die "$tool failed$(last_words "$destination/recorder.txt")"
	fi
	"finish_$tool_name"
	[ "${lost_events:-0}" = 0 ] ||
		warn "$lost_events events were lost on CPUs $(echo "$losses" | cut -d ' ' -f 1 | paste -s -d , -): record with a larger --buffer, or with --profile light"
}
