# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# manifest.json: what was recorded, how, and on what. Sourced. The README leads to what each field is.

# json_victim DIR: the victim object, from what run_victim or run_attached left.
json_victim() {
	if [ -n "$attached" ]; then
		json_attached "$1"
		return
	fi
	printf '{"command": %s, "cpu": %s, "pid": %s,\n' "$(json_string "$victim")" "$victim_cpu" "$victim_id"
	printf '    "start_ns": %s, "end_ns": %s,\n' "$(on_the_clock "$victim_started_ns")" "$(on_the_clock "$victim_ended_ns")"
	printf '    "user_s": %s, "system_s": %s, "wall_s": %s,\n' \
		"$victim_user" "$victim_system" "$(seconds $((victim_ended_ns - victim_started_ns)))"
	printf '    "output": "victim.txt", "work": %s}' "$(json_word "$work")"
}

# on_the_clock NANOSECONDS: what read_clock read, or null where the trace has another clock.
on_the_clock() {
	if [ "$clock" = mono ]; then printf '%s' "$1"; else printf null; fi
}

# json_losses: what each CPU that lost events lost; null where only the trace knows, as with perf.
json_losses() {
	case $tool,$lost_events in
	perf,* | *,) printf null && return ;;
	esac
	printf '['
	echo "$losses" | awk 'NF { printf "%s{\"cpu\": %d, \"overrun\": %d, \"commit_overrun\": %d, \"dropped\": %d}", comma, $1, $2, $3, $4; comma = ", " }'
	printf ']'
}

# seconds NANOSECONDS: with six decimals.
seconds() {
	printf '%d.%06d' "$(($1 / 1000000000))" "$(($1 % 1000000000 / 1000))"
}

# json_load: the load object, whose command says what its output is.
json_load() {
	if [ -z "$load" ] || [ ! -e "$1/load.txt" ]; then
		printf null
		return
	fi
	printf '{"command": %s, "start_ns": %s, "end_ns": %s, "output": "load.txt", "files": %s}' \
		"$(json_string "$load")" "$(on_the_clock "$load_started_ns")" "$(on_the_clock "$load_ended_ns")" "$(json_files "$1")"
}

# json_files DIR: where victim and load left files of their own, or null.
json_files() {
	if [ -d "$1/files" ]; then printf '"files/"'; else printf null; fi
}

# write_baseline_manifest DIR NOTE: a run of which nothing was recorded.
write_baseline_manifest() {
	{
		printf '{"netcost_bundle": 1,\n  "victim": '
		json_victim "$1"
		printf ',\n  "load": %s,\n  "companions": %s,\n  "notes": %s}\n' \
			"$(json_load "$1")" "$(json_companions "$1")" "$(json_array "$2")"
	} >"$1/manifest.json" || die "cannot write $1/manifest.json"
}

# write_manifest DIR
write_manifest() {
	set -- "$1"
	write_manifest_folder=$1 write_manifest_file=$1/manifest.json
	# Without tracepoints the samples are the trace, or there is none.
	write_manifest_tool=$tool write_manifest_trace=$trace write_manifest_clock=$trace_clock
	if [ -z "$event_profiles" ]; then
		: >"$workspace/argv"
		if [ -n "$sampling_profile" ]; then
			write_manifest_tool=perf write_manifest_trace=$sampled write_manifest_clock=CLOCK_MONOTONIC
		fi
	fi
	while IFS= read -r write_manifest_word; do
		set -- "$@" "$write_manifest_word"
	done <"$workspace/argv"
	shift
	{
		printf '{"netcost_bundle": 1,\n  "tool": %s,\n  "trace": %s,\n' "$(json_word "$write_manifest_tool")" "$(json_word "$write_manifest_trace")"
		printf '  "profile": %s,\n' "$(json_string "$profile")"
		printf '  "events": %s,\n' "$(json_words "$events $(echo "$pairs" | tr ',' ' ')")"
		printf '  "command": %s,\n' "$(json_array "$@")"
		printf '  "record_command": %s,\n' "$(json_string "$typed")"
		printf '  "clock": %s,\n' "$(json_word "$write_manifest_clock")"
		printf '  "cpus": %s,\n' "$(json_string "${cpus:-all}")"
		printf '  "duration_s": %s,\n' "$(seconds $((window_ended_ns - window_started_ns)))"
		printf '  "window": {"start_ns": %s, "end_ns": %s},\n' "$(on_the_clock "$window_started_ns")" "$(on_the_clock "$window_ended_ns")"
		[ -n "$victim$attached$until$trace_for" ] || printf '  "asked": {"start_ns": %s, "end_ns": %s},\n' "$(on_the_clock "$asked_started_ns")" "$(on_the_clock "$asked_ended_ns")"
		printf '  "ring_buffer_bytes_per_cpu": %s,\n' "$ring_buffer"
		printf '  "lost_events": %s,\n  "losses": %s,\n' "${lost_events:-null}" "$(json_losses)"
		printf '  "until": %s,\n' "$(json_until)"
		printf '  "completeness": %s,\n' "$(json_completeness)"
		printf '  "host": %s,\n' "$(json_host)"
		if [ -n "$victim$attached" ]; then printf '  "victim": %s,\n' "$(json_victim "$write_manifest_folder")"; else printf '  "victim": null,\n'; fi
		printf '  "load": %s,\n' "$(json_load "$write_manifest_folder")"
		if [ "$write_manifest_folder" = "$partial" ] && [ -n "$baseline" ]; then
			printf '  "baseline": "baseline/",\n'
		else
			printf '  "baseline": null,\n'
		fi
		[ ! -e "$write_manifest_folder/afterwards/manifest.json" ] || printf '  "afterwards": "afterwards/",\n'
		printf '  "calibration": %s,\n' "$(json_calibration "$write_manifest_folder")"
		printf '  "samples_of_functions": %s,\n' "$(json_sampling "$write_manifest_folder")"
		printf '  "companions": %s,\n' "$(json_companions "$write_manifest_folder")"
		printf '  "daemons": %s,\n  "network_namespaces": %s,\n' "$(json_words "$daemons")" "$(json_words "${netns:-.}")"
		printf '  "expected_events_per_s": %s,\n  "cut_short": %s,\n' "$expected_rate" "$(json_bool "$cut_short")"
		printf '  "notes": %s}\n' "$(json_lines "$workspace/notes")"
	} >"$write_manifest_file.new" || die "cannot write $write_manifest_file: is there room?"
	mv "$write_manifest_file.new" "$write_manifest_file" || die "cannot write $write_manifest_file"
}

json_bool() {
	if [ -n "$1" ]; then printf true; else printf false; fi
}

# json_word WORD: null where there is none.
json_word() {
	if [ -n "$1" ]; then json_string "$1"; else printf null; fi
}

# json_calibration DIR: the folders of the four runs; this one is the bundle itself.
json_calibration() {
	if [ -z "$calibrate" ] || [ "$1" != "$partial" ]; then
		printf null
	elif [ -n "$load" ]; then
		printf '{"idle": "baseline/", "idle_traced": "calibration/idle-traced/", "load": "calibration/load/", "load_traced": "./"}'
	else
		printf '{"idle": "baseline/", "idle_traced": "calibration/idle-traced/", "load": null, "load_traced": null}'
	fi
}

# json_sampling DIR: what the functions were sampled by.
json_sampling() {
	if [ -d "$1/$sampled" ]; then
		printf '{"output": "%s", "event": "%s", "other_events": %s, "frequency_hz": %s, "call_graph": "%s"}' "$sampled" "$sampling_event" "$(json_words "$(echo "$sampling_others" | tr ',' ' ')")" "$sampling_frequency" "$sampling_graph"
	else
		printf null
	fi
}
