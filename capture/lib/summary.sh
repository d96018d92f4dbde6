# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What a recording says without any analysis, by sh and awk: summary.txt, 25 lines at most that can be pasted. Sourced.
# The README leads to what its figures are.

# summarize DIR [FIGURES]: lines of summary.awk about the bundle there.
summarize() {
	(
		cd "$1" || exit
		set -- -v victim_cpu="${victim_cpu-}" -v figures="${2-}" -f "$library/summary.awk"
		for summarize_file in before/stamp after/stamp before/softirqs after/softirqs before/interrupts after/interrupts \
			before/net_softnet_stat after/net_softnet_stat before/stat after/stat before/work after/work \
			baseline/before/stamp baseline/after/stamp baseline/before/work baseline/after/work baseline/victim.txt victim.txt; do
			[ ! -s "$summarize_file" ] || set -- "$@" "$summarize_file"
		done
		LC_ALL=C awk "$@" "$workspace/polled"
	)
}

# write_summary DIR: its summary.txt.
write_summary() {
	: >>"$workspace/polled"
	{
		printf 'netcost    %s, kernel %s %s, %s CPUs, %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$(uname -r)" "$(uname -m)" \
			"$(cpu_list "$online" | wc -l | tr -d ' ')" "$(virtualization)"
		write_summary_s=$(seconds $((window_ended_ns - window_started_ns)))
		write_summary_what="$(described_events) on CPUs ${cpus:-$online}${tool:+ with $tool}"
		printf 'recorded   %s%s\n' "$write_summary_what" "${until:+; the rings reach back ${until_reach:-nobody counted how far}}"
		if [ -n "$until" ]; then
			printf 'counters   of the last %s s\n' "$write_summary_s"
		else
			printf 'window     %s s; the trace begins before it and ends after it\n' "$write_summary_s"
		fi
		if [ -n "$victim$attached" ]; then
			printf 'victim     %s%s\n' "$(printf '%.60s' "${victim:-$attached_command}" | tr '\n\t' '  ')" "${victim_cpu:+, on CPU $victim_cpu*}"
		fi
		[ -z "$until" ] || printf 'until      %s\n' "$(said_until)"
		[ -z "$load" ] || printf 'load       %s\n' "$(printf '%.60s' "$load" | tr '\n\t' '  ')"
		summarize "$1"
		[ -z "$cut_short" ] || echo "cut short  the disk ran low"
		[ -z "$completeness_state" ] || echo "verdict    $(say_completeness)"
	} >"$1/summary.txt"
}
