# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The phases of a recording: with or without tracing, with or without the load. Sourced.

# run_phase DIR [traced] [loaded] [companions]: one run of the victim, or of --duration, into DIR.
run_phase() {
	destination=$1 phase=$((phase + 1)) companions='' part_state='' run_phase_part=''
	shift
	mkdir -p "$destination/files" || die "cannot write to $destination: is there room?"
	[ -z "$user" ] || give_files
	limit_size "$@"
	case " $* " in
	*' traced '*)
		run_phase_part=$trace_for
		[ -z "$event_profiles" ] || start_recorder || die "$refusals"
		[ -z "$sampling_profile" ] || start_sampling "$destination"
		;;
	esac
	read_clock
	window_started_ns=$monotonic_ns
	# A floor of nothing is no floor.
	if [ "$min_free" != 0 ]; then
		run_phase_switch=''
		case " $* ,$tool" in
		*' traced '*,trace-cmd) run_phase_switch=$tracefs/tracing_on ;;
		esac
		companion disk TERM "$workspace/disk.out" sh "$library/watch-disk.sh" "$library" "$destination" "$min_free" "$end_kib" "$run_phase_switch"
	fi
	case " $* " in
	*' companions '*) start_companions "$destination" ;;
	esac
	case " $* " in
	*' traced '*)
		say_preflight
		warn "recording $(described_events) on CPUs ${cpus:-$online}${tool:+ with $tool}${trace_for:+, $trace_for s of the run}"
		[ -n "$until$trace_for" ] || stage "for $duration s${victim:+ at most, until the victim ends}"
		;;
	esac
	case " $* " in
	*' loaded '*) start_load ;;
	esac
	if [ -n "$until" ]; then
		await_condition
	elif [ -n "$run_phase_part" ]; then
		plan_part
	else
		read_counters "$destination/before" stamp devices network proc service_counters
	fi
	if [ -n "$attached" ]; then
		run_attached
	elif [ -n "$victim" ]; then
		run_victim "$destination/victim.txt"
	else
		run_load_alone
	fi
	if [ -n "$until" ]; then
		end_until
	elif [ -n "$run_phase_part" ]; then
		close_part
	else
		read_counters "$destination/after" stamp service_counters proc network devices
	fi
	if [ -n "$load_pid" ]; then
		read_clock
		load_ended_ns=$monotonic_ns
		end_session "$load_pid" "the load"
		load_pid=''
	fi
	if [ -z "$run_phase_part$until" ]; then
		read_clock
		window_ended_ns=$monotonic_ns
	fi
	stop_limit
	[ -z "$attached" ] || end_attached
	case " $* " in
	*' traced '*)
		stage "ending the recording: what is left in the rings is written"
		[ -z "$sampling_profile" ] || stop_sampling "$destination"
		stop_companions
		[ -z "$event_profiles" ] || stop_recorder
		;;
	*) stop_companions ;;
	esac
	if [ "$destination" = "$partial" ]; then
		recorded=yes
		remember recorded yes
	fi
	await_guards
	end_companions
	completeness_state=''
	case "$event_profiles, $* " in
	,*) ;;
	*' traced '*)
		judge_completeness "$destination"
		[ "$completeness_state" = complete ] || not_complete=yes
		;;
	esac
	# What it was given for files of its own, and has not used.
	rmdir "$destination/files" 2>/dev/null || :
	[ -z "$cut_short" ] || [ "$destination" = "$partial" ] || die "the disk of $output ran low before the recording was at its last phase"
}

# give_files: the folder that victim and load find in NETCOST_FILES is of the user they run as, who passes through the others.
give_files() {
	chmod 711 "$partial" "$destination" && chown "$NETCOST_USER" "$destination/files"
	# shellcheck disable=SC2016 # for the inner shell to expand
	NETCOST_FILES=$destination/files sh "$library/as-called.sh" "$run" sh -c '[ -w "$NETCOST_FILES" ]' ||
		note "user $user cannot write to NETCOST_FILES: a folder around the bundle is closed to them"
}

# limit_size WORD...: sets end_kib, what is still to be written when the recording ends, and size_limit_kib, what the trace
# may take of the disk so that --min-free stays free; empty without a floor. What is in the rings when it ends is still to
# be written, so on a small disk they are small.
limit_size() {
	size_limit_kib='' end_kib=0 hide_symbols=''
	[ "$min_free" != 0 ] || return 0
	limit_size_free=$(df -Pk "$destination" | awk 'NR == 2 { printf "%d", $4 }')
	limit_size_room=$((limit_size_free - min_free * 1024))
	limit_size_copies=1 limit_size_header=0
	case $candidates in
	*' trace-cmd'*)
		# It writes all of it once more when it ends, after the events' formats and the kernel's symbols.
		limit_size_copies=2 limit_size_header=512
		if [ "$limit_size_room" -lt 1048576 ]; then
			limit_size_symbols=$(wc -c </proc/kallsyms)
			limit_size_symbols=$((limit_size_symbols / 1024))
			if [ $((limit_size_symbols * 4)) -gt "$limit_size_room" ] && unshare -m true 2>/dev/null; then
				hide_symbols=yes
			else
				limit_size_header=$((limit_size_header + limit_size_symbols))
			fi
		fi
		;;
	esac
	limit_size_room=$(((limit_size_room - limit_size_header) / limit_size_copies))
	limit_size_cpus=$(echo "$recorded_cpus" | wc -l)
	while [ -z "$buffer" ] && [ "$profile_buffer" -gt 131072 ] && [ $((profile_buffer * limit_size_cpus / 256)) -gt "$limit_size_room" ]; do
		profile_buffer=$((profile_buffer / 2))
	done
	case " $* " in
	*' traced '*)
		limit_size_rings=$((profile_buffer * limit_size_cpus / 1024))
		end_kib=$((limit_size_rings * limit_size_copies + limit_size_header))
		limit_size_room=$((limit_size_room - limit_size_rings))
		;;
	esac
	size_limit_kib=$limit_size_room
	[ "$size_limit_kib" -ge 128 ] || size_limit_kib=128
}

# say_preflight: once, what is expected and what speaks against it.
say_preflight() {
	[ -n "$preflight_said" ] || return 0
	warn "$preflight_said"
	sed -n 's/^\([a-z]*\) *warn *\(.*\)/netcost-record: \1: \2/p' "$workspace/preflight" >&2
	preflight_said=''
}

# described_events: what is recorded, in a few words.
described_events() {
	described_events_count=$(echo "$events $pairs" | tr ',' ' ' | wc -w)
	if [ "$described_events_count" -gt 0 ]; then
		echo "$((described_events_count)) events${sampling_profile:+ and samples}"
	elif [ -n "$sampling_profile" ]; then
		echo "samples of functions"
	else
		echo "what runs beside${counter_profiles:+, and counters}"
	fi
}

# run_phases: all that was asked for; the last one is the bundle itself.
run_phases() {
	run_phases_beside=''
	[ -z "$calibrate" ] || run_phases_beside=companions
	if [ -n "$baseline" ] && [ -n "$attached" ]; then
		watch_service "$partial/baseline" "the service before the recording, untraced${load:+, without the load}"
		[ -z "$attached_gone" ] || die "the service ended before it was recorded"
	elif [ -n "$baseline" ]; then
		warn "running the victim by itself for comparison"
		run_phase "$partial/baseline" "$run_phases_beside"
		write_baseline_manifest "$partial/baseline" "the victim without the load, on the same CPU just before, untraced"
	fi
	if [ -n "$calibrate" ]; then
		warn "running the victim by itself, traced"
		run_phase "$partial/calibration/idle-traced" traced companions
		run_phases_load=$load load=''
		write_manifest "$partial/calibration/idle-traced"
		load=$run_phases_load
		# The same recorder for what it is compared with.
		candidates=$tool refusals=''
		if [ -n "$load" ]; then
			warn "running the victim with the load, untraced"
			run_phase "$partial/calibration/load" loaded companions
			write_baseline_manifest "$partial/calibration/load" "the victim with the load, untraced"
		fi
	fi
	run_phase "$partial" traced "${load:+loaded}" companions
	if [ -n "$attached" ] && [ -n "$baseline" ]; then watch_afterwards; fi
}
