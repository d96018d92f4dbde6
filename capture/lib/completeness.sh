# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# After a recording: does the trace have what the kernel counted meanwhile? Sourced. The README leads to how the
# verdict is defined. Sets completeness_state (complete, incomplete or unknown), completeness_verdict, a few words, and
# completeness_reason, why it is unknown; "$workspace/completeness" has the rows of missing.awk.

completeness_limit=60

# MiB of trace that take about 20 s to count; the README leads to how that was measured.
perf_countable_mib=1000 trace_cmd_countable_mib=400 tracefs_countable_mib=600

# judge_completeness DIR: of the run that is in DIR.
judge_completeness() {
	completeness_state=unknown completeness_verdict='' completeness_reason='' completeness_exact=yes
	: >"$workspace/completeness"
	: >"$workspace/polled"
	if [ -n "$size_limit_reached" ]; then
		completeness_reason="the disk ran full: the recording ended before the counters were read"
		decide_completeness
		return
	fi
	count_grown "$1"
	if count_recorded "$1/$trace"; then
		# perf's two counts are of the same losses.
		[ "$tool" != perf ] || lost_events=$(awk '$1 == "lost" && $2 >= most { most = $2 } END { print most + 0 }' "$workspace/tallies")
		# Where the clock is another, all that was recorded is at least what was recorded meanwhile.
		[ "$clock" = mono ] && [ -n "$clock_exact" ] || completeness_exact=''
		awk -v exact="$completeness_exact" -v lost="$lost_events" -f "$library/missing.awk" "$workspace/grown" "$workspace/tallies" >"$workspace/completeness"
	fi
	judge_begins
	# Not every awk says that it could not write.
	dd if=/dev/zero of="$workspace/room" bs=65536 count=1 2>/dev/null ||
		completeness_reason=${completeness_reason:-"there is no room to count in $workspace; TMPDIR says where else"}
	rm -f "$workspace/room"
	[ -n "$lost_events" ] || completeness_reason=${completeness_reason:-"it is not known how many events were lost"}
	decide_completeness
	if grep -q '^status 0' "$workspace/tallies" 2>/dev/null; then
		{ echo counted && grep -E '^tally (packets|polls) ' "$workspace/tallies"; } >"$workspace/polled"
	fi
	rm -f "$workspace/tallies" "$workspace/grown" "$workspace/grown.events"
}

# count_grown DIR: what the kernel's counters grew by, into "$workspace/grown".
count_grown() {
	count_grown_whole=''
	[ "$(echo "$recorded_cpus" | wc -l)" != "$(cpu_list "$online" | wc -l)" ] || count_grown_whole=yes
	(
		cd "$1" || exit
		set --
		for count_grown_folder in before after; do
			for count_grown_file in stamp softirqs interrupts net_softnet_stat stat; do
				[ ! -s "$count_grown_folder/$count_grown_file" ] || set -- "$@" "$count_grown_folder/$count_grown_file"
			done
		done
		LC_ALL=C awk -v cpus="$(echo "$recorded_cpus" | paste -s -d ' ' -)" -v whole="$count_grown_whole" \
			-v events=" $events $(echo "$pairs" | tr ',' ' ') " -f "$library/grown.awk" "$@"
		[ -z "$until" ] || echo rolling
	) >"$workspace/grown"
}

# count_recorded TRACE: into "$workspace/tallies", within limits; fails with completeness_reason set. It is a session of its
# own, so that it can be ended.
count_recorded() {
	if [ -n "$no_count" ]; then
		completeness_reason="counting was turned off, netcost info counts the events"
		return 1
	fi
	count_recorded_kib=$(du -sk "$1" | cut -f 1)
	count_recorded_mib=$((count_recorded_kib / 1024))
	eval "count_recorded_most=\$$(echo "$tool" | tr - _)_countable_mib"
	if [ "$count_recorded_mib" -gt "$count_recorded_most" ]; then
		completeness_reason="a trace of $count_recorded_mib MiB takes too long to count here, netcost info counts it"
		return 1
	fi
	stage "counting the events of $count_recorded_mib MiB of trace, to compare them with the kernel's counters"
	set -- "$1" sh "$library/count-events.sh" "$library" "$tool" "$1" "$workspace/grown"
	shift
	for count_recorded_cpu in $recorded_cpus; do
		set -- "$@" "$count_recorded_cpu"
	done
	if command -v nice >/dev/null; then set -- nice "$@"; fi
	setsid sh "$library/guard.sh" "$workspace/alive" "" sh "$library/report-end.sh" "counting$phase" "$@" >"$workspace/tallies" 2>"$workspace/counting.txt" </dev/null &
	counting_pid=$!
	start_limit "$completeness_limit"
	while next_report; do
		case $report in
		"counting$phase ended 0") break ;;
		"counting$phase ended "*) completeness_reason="the events could not be counted$(last_words "$workspace/counting.txt")" && break ;;
		limit)
			completeness_reason="the events were not counted within $completeness_limit s, netcost info counts them"
			end_session "$counting_pid" "the counting of events"
			break
			;;
		*) other_report ;;
		esac
	done
	await_end "$counting_pid" 3
	counting_pid=''
	stop_limit
	[ -z "$completeness_reason" ] || return 1
	if ! grep -q '^status ' "$workspace/tallies" || grep -q '^status [^0]' "$workspace/tallies"; then
		completeness_reason="$tool cannot read its own trace here$(last_words "$workspace/counting.txt"), netcost info counts its events"
		return 1
	fi
}

# decide_completeness: the verdict. What was lost explains as much that is missing.
decide_completeness() {
	decide_completeness_missing=''
	if grep -q '^beyond$' "$workspace/completeness"; then
		decide_completeness_missing=$(awk '
			$1 != "missing" { next }
			{ sub(/^missing /, ""); if (++count <= 3) said = said (count > 1 ? ", " : "misses ") $0 }
			END { print said (count > 3 ? " and " count - 3 " more" : "") }' "$workspace/completeness")
	fi
	decide_completeness_lost=''
	case $lost_events in
	'' | 0) ;;
	1) decide_completeness_lost="lost 1 event" ;;
	*) decide_completeness_lost="lost $(thousands "$lost_events") events" ;;
	esac
	if [ -n "$decide_completeness_lost$decide_completeness_missing" ]; then
		completeness_state=incomplete completeness_reason=''
		completeness_verdict=$decide_completeness_lost${decide_completeness_lost:+${decide_completeness_missing:+; }}$decide_completeness_missing
		return
	fi
	if [ -z "$completeness_reason" ]; then
		if [ -z "$completeness_exact" ]; then
			completeness_reason="the trace and the counters use different clocks: a loss shows only if the counters exceed the whole trace"
		elif [ -n "$until" ] && ! grep -q '^row ' "$workspace/completeness"; then
			completeness_reason="the rings may reach back less than the $after s over which the counters were read"
		elif ! grep -q '^row ' "$workspace/completeness"; then
			completeness_reason="the kernel counted nothing of what was recorded meanwhile"
		fi
	fi
	if [ -n "$completeness_reason" ]; then
		completeness_verdict="unknown: $completeness_reason"
	else
		completeness_state=complete completeness_verdict=complete
	fi
}

# thousands NUMBER: 86,172
thousands() {
	echo "$1" | sed ':again
		s/\([0-9]\)\([0-9]\{3\}\)\($\|,\)/\1,\2\3/
		t again'
}

# say_completeness: the verdict, and what to do about it.
say_completeness() {
	say_completeness_do=''
	case $completeness_verdict in
	lost*) say_completeness_do=": record with a larger --buffer, or with --profile light" ;;
	esac
	case $completeness_verdict,$tool in
	*misses*,perf) say_completeness_do="${say_completeness_do:-": record with"}${say_completeness_do:+, and with} --tool tracefs, which --check tries" ;;
	esac
	# What no other tool is known to see.
	case $completeness_verdict,$tool in
	*misses*,trace*) say_completeness_do="$say_completeness_do (README, What a recorder can miss)" ;;
	esac
	echo "$completeness_verdict$say_completeness_do"
}

# json_completeness: the manifest's field.
json_completeness() {
	[ -n "${completeness_state-}" ] || { printf null; return; }
	printf '{"verdict": %s, "state": "%s", "reason": %s, "lost_events": %s,\n    "rows": [' "$(json_string "$completeness_verdict")" \
		"$completeness_state" "$(json_word "$completeness_reason")" "${lost_events:-null}"
	awk '$1 == "row" {
		printf "%s\n      {\"what\": \"%s\", \"name\": \"%s\", \"cpu\": %s, \"counted\": %s, \"recorded\": %s, \"recorded_inside\": %s, \"missing_least\": %s, \"missing_most\": %s}",
			comma, $2, $3, $4 == "-" ? "null" : $4, $5, $6, $7, $8, $9
		comma = ","
	}' "$workspace/completeness"
	printf ']}'
}
