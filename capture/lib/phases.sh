# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The phases of a recording: with or without tracing, with or without the load. Sourced.

# run_phase DIR [traced] [loaded] [companions]: one run of the victim, or of --duration, into DIR.
run_phase() {
	destination=$1 phase=$((phase + 1)) companions=''
	shift
	mkdir -p "$destination/files" || die "cannot write to $destination: is there room?"
	case " $* " in
	*' traced '*)
		[ -z "$event_profiles" ] || start_recorder || die "$refusals"
		[ -z "$sampling_profile" ] || start_sampling "$destination"
		;;
	esac
	read_clock
	window_started_ns=$monotonic_ns
	# A floor of nothing is no floor.
	[ "$min_free" = 0 ] || companion disk TERM "$workspace/disk.out" sh "$library/watch-disk.sh" "$destination" "$min_free" "$tool"
	case " $* " in
	*' companions '*) start_companions "$destination" ;;
	esac
	case " $* " in
	*' traced '*)
		say_preflight
		warn "recording $(described_events) on CPUs ${cpus:-$online}${tool:+ with $tool}"
		;;
	esac
	case " $* " in
	*' loaded '*) start_load ;;
	esac
	read_counters "$destination/before" before
	if [ -n "$victim" ]; then
		run_victim "$destination/victim.txt"
	else
		run_load_alone
	fi
	read_counters "$destination/after" after
	end_session "$load_pid" "the load"
	load_pid=''
	read_clock
	window_ended_ns=$monotonic_ns
	stop_limit
	case " $* " in
	*' traced '*)
		[ -z "$sampling_profile" ] || stop_sampling "$destination"
		stop_companions
		[ -z "$event_profiles" ] || stop_recorder
		;;
	*) stop_companions ;;
	esac
	end_companions
	# What it was given for files of its own, and has not used.
	rmdir "$destination/files" 2>/dev/null || :
	[ -z "$cut_short" ] || [ "$destination" = "$partial" ] || die "the disk of $output ran low before the recording was at its last phase"
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
	if [ -n "$baseline" ]; then
		warn "running the victim by itself for comparison"
		run_phase "$partial/baseline" $run_phases_beside
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
	# shellcheck disable=SC2086 # a word or none
	run_phase "$partial" traced ${load:+loaded} companions
}
