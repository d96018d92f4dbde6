# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Profiles of counters: perf stat at intervals, beside the recorder. Sourced.

# choose_counters: sets counters_NAME to what perf knows of each profile of counters; notes what it does not.
choose_counters() {
	[ -n "$counter_profiles" ] || return 0
	command -v perf >/dev/null || die "perf is not installed, and profiles of counters take it"
	choose_counters_kept=''
	for choose_counters_name in $counter_profiles; do
		: >"$workspace/counters-$choose_counters_name"
		choose_counters_unknown=''
		while read -r choose_counters_first choose_counters_second; do
			case $choose_counters_first in
			'' | '#'*) continue ;;
			esac
			choose_counters_event=${choose_counters_second:-$choose_counters_first}
			if PERF_CONFIG=/dev/null perf stat -a -e "$choose_counters_event" -- true >/dev/null 2>&1 </dev/null; then
				echo "$choose_counters_first $choose_counters_event" >>"$workspace/counters-$choose_counters_name"
			else
				choose_counters_unknown="$choose_counters_unknown $choose_counters_event"
			fi
		done <"$here/profiles/$choose_counters_name.counters"
		[ -z "$choose_counters_unknown" ] || note "profile $choose_counters_name, not on this host:$choose_counters_unknown"
		if [ -s "$workspace/counters-$choose_counters_name" ]; then
			choose_counters_kept="$choose_counters_kept $choose_counters_name"
		elif [ "$profile" = "$choose_counters_name" ]; then
			die "this host counts nothing of profile $profile:$choose_counters_unknown"
		fi
	done
	counter_profiles=$choose_counters_kept
}

# start_counters NAME FILE: perf writes JSON where it can, its older form of fields where not.
start_counters() {
	start_counters_events=$(sed 's/.* //' "$workspace/counters-$1" | paste -s -d , -)
	start_counters_form=-j
	perf stat -h 2>&1 | grep -q -e --json-output || start_counters_form='-x;'
	start_counters_each=-A
	if grep -q '^system ' "$workspace/counters-$1"; then start_counters_each=''; fi
	start_counters_cpus=-a
	[ -z "$cpus" ] || [ -z "$start_counters_each" ] || start_counters_cpus="-C $cpus"
	# shellcheck disable=SC2086 # options that may be absent
	companion "$1" INT "$2" perf stat $start_counters_cpus $start_counters_each "$start_counters_form" -I "$(milliseconds)" --log-fd 1 -e "$start_counters_events"
}

milliseconds() {
	echo "$interval" | awk '{ ms = int($1 * 1000 + 0.5); print ms == 0 ? 1000 : ms < 10 ? 10 : ms }'
}
