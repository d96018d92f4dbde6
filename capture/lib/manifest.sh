# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# manifest.json: what was recorded, how, and on what. Sourced; docs/capture.md says what each field is.

# json_victim: the victim object, from what run_victim left.
json_victim() {
	printf '{"command": %s, "cpu": %s, "pid": %s,\n' "$(json_string "$victim")" "$victim_cpu" "$victim_id"
	printf '    "start_ns": %s, "end_ns": %s,\n' "$(on_the_clock "$victim_started_ns")" "$(on_the_clock "$victim_ended_ns")"
	printf '    "user_s": %s, "system_s": %s, "wall_s": %s,\n' \
		"$victim_user" "$victim_system" "$(seconds $((victim_ended_ns - victim_started_ns)))"
	printf '    "output": "victim.txt"}'
}

# on_the_clock NANOSECONDS: what read_clock read, or null where the trace has another clock.
on_the_clock() {
	if [ "$clock" = mono ]; then printf '%s' "$1"; else printf null; fi
}

# json_losses: what each CPU that lost events lost; null where only the trace knows.
json_losses() {
	[ -n "$lost_events" ] || { printf null; return; }
	printf '['
	echo "$losses" | awk 'NF { printf "%s{\"cpu\": %d, \"overrun\": %d, \"commit_overrun\": %d, \"dropped\": %d}", comma, $1, $2, $3, $4; comma = ", " }'
	printf ']'
}

# seconds NANOSECONDS: with six decimals.
seconds() {
	printf '%d.%06d' "$(($1 / 1000000000))" "$(($1 % 1000000000 / 1000))"
}

# write_baseline_manifest DIR: the victim by itself, nothing recorded.
write_baseline_manifest() {
	{
		printf '{"netcost_bundle": 1,\n  "victim": '
		json_victim
		printf ',\n  "load": null,\n  "notes": %s}\n' \
			"$(json_array "the victim without the load, on the same CPU just before, untraced")"
	} >"$1/manifest.json" || die "cannot write $1/manifest.json"
}

# write_manifest DIR
write_manifest() {
	set -- "$1"
	write_manifest_file=$1/manifest.json
	while IFS= read -r write_manifest_word; do
		set -- "$@" "$write_manifest_word"
	done <"$workspace/argv"
	shift
	{
		printf '{"netcost_bundle": 1,\n  "tool": "%s",\n  "trace": "%s",\n' "$tool" "$trace"
		printf '  "profile": %s,\n' "$(json_string "$profile")"
		# shellcheck disable=SC2046,SC2086 # split into words on purpose
		printf '  "events": %s,\n' "$(json_array $events $(echo "$pairs" | tr ',' ' '))"
		printf '  "command": %s,\n' "$(json_array "$@")"
		printf '  "record_command": %s,\n' "$(json_string "$typed")"
		printf '  "clock": "%s",\n' "$trace_clock"
		printf '  "cpus": %s,\n' "$(json_string "${cpus:-all}")"
		printf '  "duration_s": %s,\n' "$(seconds $((window_ended_ns - window_started_ns)))"
		printf '  "window": {"start_ns": %s, "end_ns": %s},\n' "$(on_the_clock "$window_started_ns")" "$(on_the_clock "$window_ended_ns")"
		printf '  "ring_buffer_bytes_per_cpu": %s,\n' "$ring_buffer"
		printf '  "lost_events": %s,\n  "losses": %s,\n' "${lost_events:-null}" "$(json_losses)"
		printf '  "host": %s,\n' "$(json_host)"
		if [ -n "$victim" ]; then printf '  "victim": %s,\n' "$(json_victim)"; else printf '  "victim": null,\n'; fi
		if [ -n "$load" ]; then
			printf '  "load": {"command": %s, "output": "load.txt"},\n' "$(json_string "$load")"
		else
			printf '  "load": null,\n'
		fi
		if [ -n "$baseline" ]; then printf '  "baseline": "baseline/",\n'; else printf '  "baseline": null,\n'; fi
		printf '  "notes": %s}\n' "$(json_lines "$workspace/notes")"
	} >"$write_manifest_file" || die "cannot write $write_manifest_file"
}
