# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Profiles of counters: perf stat at intervals, beside the recorder. Sourced.

# choose_counters: sets counters_NAME to what perf knows of each profile of counters; notes what it does not.
choose_counters() {
	[ -n "$counter_profiles" ] || return 0
	# Its table says that it takes root.
	[ -z "$check_only" ] || [ "$(id -u)" = 0 ] || return 0
	command -v perf >/dev/null || die "profiles of counters need perf, which is not installed"
	choose_counters_kept=''
	for choose_counters_name in $counter_profiles; do
		: >"$workspace/counters-$choose_counters_name"
		choose_counters_unknown=''
		while read -r choose_counters_first choose_counters_second; do
			case $choose_counters_first in
			'' | '#'*) continue ;;
			esac
			choose_counters_event=${choose_counters_second:-$choose_counters_first}
			if PERF_CONFIG=/dev/null asked perf stat -a -e "$choose_counters_event" -- true >/dev/null 2>&1 </dev/null; then
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
	asked perf stat -h 2>&1 | grep -q -e --json-output || start_counters_form='-x;'
	set -- "$1" "$2" "$start_counters_form" -I "$(milliseconds)" --log-fd 1 -e "$start_counters_events"
	if grep -q '^system ' "$workspace/counters-$1"; then
		set -- "$@" -a
	elif [ -n "$cpus" ]; then
		set -- "$@" -A -C "$cpus"
	else
		set -- "$@" -A -a
	fi
	start_counters_name=$1 start_counters_file=$2
	shift 2
	companion "$start_counters_name" INT "$start_counters_file" perf stat "$@"
}

milliseconds() {
	echo "$interval" | awk '{ ms = int($1 * 1000 + 0.5); print ms == 0 ? 1000 : ms < 10 ? 10 : ms }'
}
