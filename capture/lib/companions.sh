# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What runs beside the recorder, off the victim's CPU: the sampler, sidecars (mpstat, pidstat, turbostat,
# perf stat), sampling with call graphs, and a watch on the disk. Sourced.
# Each is a session of its own; companions holds "NAME:PID:SIGNAL" for those that run.

# companion NAME SIGNAL FILE COMMAND...: starts it, its output in FILE; SIGNAL makes it finish.
companion() {
	companion_name=$1 companion_signal=$2 companion_file=$3
	shift 3
	[ -z "$recorder_cpus" ] || set -- taskset -c "$recorder_cpus" "$@"
	S_TIME_FORMAT=ISO PERF_CONFIG=/dev/null setsid sh "$library/guard.sh" "$workspace/alive" "" sh "$library/report-end.sh" "companion $companion_name$phase" "$@" >"$companion_file" 2>"$workspace/companion-$companion_name" </dev/null &
	companions="$companions $companion_name:$!:$companion_signal"
}

# companion_ended NAME STATUS: is told when one ended that was not told to.
companion_ended() {
	case " $companions" in
	*" ${1%"$phase"}:"*) ;;
	*) return 0 ;;
	esac
	case ${1%"$phase"} in
	disk) ;;
	sampler | functions) die "${1%"$phase"} failed$(last_words "$workspace/companion-${1%"$phase"}")" ;;
	*) note "${1%"$phase"} ended early with exit status $2$(last_words "$workspace/companion-${1%"$phase"}")" ;;
	esac
}

# stop_companions: tells each to finish what it writes; end_companions waits for them.
stop_companions() {
	read_clock
	companions_ended_ns=$monotonic_ns
	stopped_companions=$companions companions=''
	for stop_companions_one in $stopped_companions; do
		stop_companions_pid=${stop_companions_one#*:}
		kill "-${stop_companions_one##*:}" "-${stop_companions_pid%:*}" 2>/dev/null
	done
}

# end_companions: who does not finish within seconds is ended.
end_companions() {
	for end_companions_one in $stopped_companions; do
		end_companions_pid=${end_companions_one#*:} end_companions_pid=${end_companions_pid%:*}
		await_end "$end_companions_pid" || end_session "$end_companions_pid" "${end_companions_one%%:*}"
	done
	stopped_companions=''
}

# abandon_companions: on the way out, when nothing of them is kept.
abandon_companions() {
	for abandon_companions_one in $companions $stopped_companions; do
		abandon_companions_pid=${abandon_companions_one#*:}
		end_session "${abandon_companions_pid%:*}" "${abandon_companions_one%%:*}"
	done
	companions='' stopped_companions=''
}

# choose_sidecars: sets sidecars to those that run. What was asked for by name has to be there.
choose_sidecars() {
	case $sidecars in
	none) sidecars='' && return ;;
	auto) choose_sidecars_asked='' choose_sidecars_names='mpstat pidstat turbostat' ;;
	*) choose_sidecars_asked=yes choose_sidecars_names=$sidecars ;;
	esac
	sidecars=''
	for choose_sidecars_name in $choose_sidecars_names; do
		if ! command -v "$choose_sidecars_name" >/dev/null; then
			[ -z "$choose_sidecars_asked" ] || die "$choose_sidecars_name is not installed, but --sidecars asks for it"
		# It reads the processor's registers, which few virtual machines have.
		elif [ "$choose_sidecars_name" = turbostat ] && ! asked turbostat --quiet --num_iterations 1 --interval 0.1 >/dev/null 2>&1; then
			[ -z "$choose_sidecars_asked" ] || die "turbostat does not run on this processor, but --sidecars asks for it"
		else
			sidecars="$sidecars $choose_sidecars_name"
		fi
	done
}

# whole_interval: the programs' intervals are whole seconds.
whole_interval() {
	echo "$interval" | awk '{ print $1 < 1 ? 1 : int($1 + 0.5) }'
}

# start_companions DIR
start_companions() {
	read_clock
	companions_started_ns=$monotonic_ns
	rm -f "$workspace/victim_pid"
	if [ "$interval" != 0 ]; then
		start_companions_energy=''
		case $counter_profiles in
		*energy*) start_companions_energy=yes ;;
		esac
		companion sampler TERM "$workspace/sampler.out" sh "$library/sample.sh" "$library" "$1/samples" "$interval" \
			"$workspace/victim_pid" "$netns" "$daemons" "$start_companions_energy" "$attached" "$attached_folders" "$work"
	fi
	start_companions_seconds=$(whole_interval)
	for start_companions_name in $sidecars; do
		case $start_companions_name in
		mpstat) companion mpstat INT "$1/mpstat.json" mpstat -P ALL -o JSON "$start_companions_seconds" ;;
		pidstat) companion pidstat INT "$1/pidstat.txt" pidstat -h -u -r -w -p ALL "$start_companions_seconds" ;;
		turbostat) companion turbostat INT "$1/turbostat.txt" turbostat --quiet --Summary --interval "$start_companions_seconds" ;;
		esac
	done
	for start_companions_name in $counter_profiles; do
		start_counters "$start_companions_name" "$1/$start_companions_name.jsonl"
	done
}

# json_companions DIR: what of it is in the bundle, and when it ran.
json_companions() {
	printf '['
	json_companions_comma=''
	for json_companions_file in samples mpstat.json pidstat.txt turbostat.txt counters.jsonl energy.jsonl; do
		[ -s "$1/$json_companions_file" ] || continue
		printf '%s{"name": "%s", "output": "%s", "start_ns": %s, "end_ns": %s}' "$json_companions_comma" "${json_companions_file%%.*}" \
			"$json_companions_file" "$(on_the_clock "$companions_started_ns")" "$(on_the_clock "$companions_ended_ns")"
		json_companions_comma=', '
	done
	printf ']'
}
