# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Before anything is recorded: may it be, what will it take, and is there room? Sourced.
# The verdict goes to preflight.txt in the bundle: lines of WHAT, STATE (ok, warn or no) and a sentence.

# What an event takes in the trace and of the CPU that it happens on: the README leads to how that was measured.
perf_event_bytes=100 perf_event_ns=700
trace_cmd_event_bytes=36 trace_cmd_event_ns=220
tracefs_event_bytes=36 tracefs_event_ns=220
seconds_watched=0.2

verdict() {
	printf '%-12s %-5s %s\n' "$1" "$2" "$3" >>"$workspace/preflight"
}

# preflight: writes the verdict; fails when it is no. Sets expected_rate, events a second; preflight_said,
# the gist.
preflight() {
	: >"$workspace/preflight"
	preflight_permissions
	preflight_events
	preflight_clock
	watch_rates
	preflight_tool
	preflight_buffer
	preflight_cost
	preflight_disk
	! grep -q '^[a-z]* *no ' "$workspace/preflight"
}

preflight_permissions() {
	preflight_permissions_paranoid=$(first_line /proc/sys/kernel/perf_event_paranoid)
	preflight_permissions_lockdown=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/security/lockdown 2>/dev/null)
	preflight_permissions_said="user $(id -u), perf_event_paranoid ${preflight_permissions_paranoid:-unknown}, lockdown ${preflight_permissions_lockdown:-none}"
	if [ "$(id -u)" != 0 ]; then
		verdict permissions no "$preflight_permissions_said: recording takes root"
	elif [ "$preflight_permissions_lockdown" = confidentiality ]; then
		verdict permissions no "$preflight_permissions_said: that lockdown mode refuses all tracing"
	else
		verdict permissions ok "$preflight_permissions_said"
	fi
}

preflight_events() {
	[ -n "$event_profiles" ] || return 0
	[ -n "$tracefs" ] || { verdict tracepoints no "user $(id -u) cannot read tracefs, if it is mounted" && return; }
	preflight_events_said="$(echo "$events $profile_pairs" | tr ',' ' ' | wc -w | tr -d ' ') of profile $profile"
	if [ -n "$skipped" ]; then
		verdict tracepoints ok "$preflight_events_said; not on this kernel:$(pair_names "$skipped")"
	else
		verdict tracepoints ok "$preflight_events_said"
	fi
}

# preflight_tool: which records; --check makes a trial of it, unless something else speaks against recording.
preflight_tool() {
	[ -n "$event_profiles" ] || return 0
	if [ -n "$check_only" ] && ! grep -q '^[a-z]* *no ' "$workspace/preflight"; then
		preflight_trial
	else
		verdict tool ok "tried in this order:$candidates${refusals:+; $refusals}"
	fi
}

preflight_clock() {
	preflight_clock_source=$(first_line /sys/devices/system/clocksource/clocksource0/current_clocksource)
	case $preflight_clock_source in
	hpet | acpi_pm | refined-jiffies | jiffies) verdict clock warn "$clock on $preflight_clock_source, which is slow to read: each event costs a microsecond or more" ;;
	*) verdict clock ok "$clock on ${preflight_clock_source:-a source that is not named}" ;;
	esac
}

# watch_rates: sets expected_rate from what the kernel counts by itself while nothing is traced.
watch_rates() {
	expected_rate=0 expected_rate_note=''
	[ -n "$event_profiles" ] || return 0
	stage "watching the kernel's counters for $seconds_watched s"
	rates_now >"$workspace/rates"
	sleep "$seconds_watched"
	rates_now >>"$workspace/rates"
	# Entry and exit of each interrupt; raise, entry and exit of each softirq; a switch and, where they are recorded, a
	# wake-up in two events and now and then a migration to every second switch; some stages for every packet.
	expected_rate=$(awk -v events=" $events $(echo "$profile_pairs" | tr ',' ' ') " '
		{ now[NR, 0] = $1 }
		{ for (i = 2; i <= NF; i++) now[NR, i] = $i }
		function grown(i) { return now[2, i] - now[1, i] }
		END {
			seconds = (now[2, 0] - now[1, 0]) / 1e9
			total = 2 * grown(2) + 3 * grown(4) + grown(5) + grown(6)
			if (events ~ /irq_vectors:/) total += 2 * grown(3)
			if (events ~ /sched_waking/) total += 1.3 * grown(6)
			if (events ~ / net:/) total += 6 * grown(7)
			print int(total / (seconds > 0 ? seconds : 1) + 0.5)
		}' "$workspace/rates")
	[ -z "$load" ] || expected_rate_note=', before the load is started'
	verdict events ok "about $expected_rate/s on all CPUs at present$expected_rate_note"
}

# rates_now: monotonic time; interrupts of devices, of vectors; softirqs, NET_RX among them; switches; packets.
rates_now() {
	read_clock
	awk -v now="$monotonic_ns" '
		$1 == "intr" { devices = 0; for (i = 3; i <= NF; i++) devices += $i; vectors = $2 - devices }
		$1 == "softirq" { softirqs = $2; rx = $6 }
		$1 == "ctxt" { switches = $2 }
		FILENAME ~ /dev$/ && sub(/.*:/, "") { packets += $2 + $10 }
		END { printf "%s %.0f %.0f %.0f %.0f %.0f %.0f\n", now, devices, vectors, softirqs, rx, switches, packets }
	' /proc/stat /proc/net/dev
}

# of_tool WHAT: event_bytes or event_ns of the tool that is tried first.
of_tool() {
	eval "echo \"\$$(echo "${candidates:-perf}" | awk '{ gsub(/-/, "_"); print $1 }')_$1\""
}

preflight_buffer() {
	[ -n "$event_profiles" ] || return 0
	preflight_event_bytes=$(of_tool event_bytes)
	preflight_buffer_ms=$((expected_rate == 0 ? 3600000 : profile_buffer * 1000 / preflight_event_bytes / expected_rate))
	preflight_buffer_said="$((profile_buffer / 1024)) KiB a CPU hold $(milliseconds_said "$preflight_buffer_ms") of that, were it all on one CPU"
	if [ "$preflight_buffer_ms" -lt 200 ]; then
		verdict buffer warn "$preflight_buffer_said: events may be lost, take a larger --buffer or --profile light"
	else
		verdict buffer ok "$preflight_buffer_said"
	fi
}

milliseconds_said() {
	if [ "$1" -ge 3600000 ]; then
		echo "an hour or more"
	elif [ "$1" -lt 1000 ]; then
		echo "$1 ms"
	else
		echo "$(($1 / 1000)).$((($1 % 1000) / 100)) s"
	fi
}

preflight_cost() {
	[ -n "$event_profiles" ] || return 0
	preflight_cost_ns=$(of_tool event_ns)
	# In thousandths of a CPU's time.
	preflight_cost_share=$((expected_rate * preflight_cost_ns / 1000000))
	preflight_cost_said="$preflight_cost_ns ns an event (as measured elsewhere) are $(awk -v ns="$((expected_rate * preflight_cost_ns))" 'BEGIN { print (ns > 0 && ns < 500000 ? "under 0.1" : sprintf("%.1f", ns / 1e7)) }') % of one CPU"
	if [ "$preflight_cost_share" -ge 50 ]; then
		verdict cost warn "$preflight_cost_said: --calibrate shows what it does to the victim, --profile light does less"
	else
		verdict cost ok "$preflight_cost_said"
	fi
}

# preflight_disk: the trace at the expected rate, and what is to stay free. trace-cmd needs it twice.
preflight_disk() {
	preflight_disk_place=${target:-.}
	while [ ! -d "$preflight_disk_place" ]; do
		preflight_disk_place=$(dirname -- "$preflight_disk_place")
	done
	preflight_disk_left=$(df -Pk "$preflight_disk_place" | awk 'NR == 2 { print int($4 / 1024) }')
	preflight_disk_needed=0
	if [ -n "$event_profiles" ]; then
		preflight_disk_needed=$(awk -v rate="$expected_rate" -v bytes="$(of_tool event_bytes)" -v seconds="${trace_for:-$duration}" 'BEGIN { printf "%d", rate * bytes * seconds / 1048576 + 1 }')
		if [ -n "$until" ]; then
			# No more than the rings.
			preflight_disk_cpus=$(echo "$recorded_cpus" | wc -l)
			preflight_disk_needed=$((profile_buffer * preflight_disk_cpus / 1048576 + 1))
		fi
		case $candidates in
		' trace-cmd'*) preflight_disk_needed=$((preflight_disk_needed * 2)) ;;
		esac
	fi
	preflight_disk_said="$preflight_disk_left MiB free, about $preflight_disk_needed MiB needed for ${trace_for:-$duration} s at that rate, $min_free MiB to stay free"
	if [ "$preflight_disk_left" -ge $((preflight_disk_needed + min_free)) ]; then
		verdict disk ok "$preflight_disk_said"
	# A victim's --duration is the most it may take; 0 asks not to look.
	elif [ "$min_free" = 0 ] || { [ -n "$victim" ] && [ "$preflight_disk_left" -ge "$min_free" ]; }; then
		verdict disk warn "$preflight_disk_said: it may not all fit"
	else
		verdict disk no "$preflight_disk_said: there is no room, make some or lower --min-free"
	fi
	preflight_said="$preflight_disk_left MiB of disk are free"
	[ -z "$event_profiles" ] || preflight_said="about $expected_rate events/s$expected_rate_note; $preflight_said"
}

# say_how_to_record ARGUMENT...: prints the command that records with the options that were checked.
say_how_to_record() {
	say_how_to_record_words=''
	[ -n "$output" ] || say_how_to_record_words=" -o $(uname -n | tr -cd 'A-Za-z0-9._-').netcost"
	for say_how_to_record_word in "$@"; do
		[ "$say_how_to_record_word" = --check ] || say_how_to_record_words="$say_how_to_record_words $(quoted "$say_how_to_record_word")"
	done
	echo "to record: $(quoted "$here/netcost-record")$say_how_to_record_words"
}

# say_what_it_takes: for a user who is not root, the commands. Without root the kit records nothing; perf alone can, where
# it may read the events' numbers (tracefs) and open events of all CPUs (the rest).
say_what_it_takes() {
	[ "$(id -u)" != 0 ] || return 0
	echo "it takes root:      sudo $(quoted "$here/netcost-record") ..."
	echo "or, perf by itself: sudo mount -o remount,gid=$(id -g),mode=750 /sys/kernel/tracing && sudo sysctl kernel.perf_event_paranoid=-1"
	echo "or, instead of both, the capabilities CAP_PERFMON and CAP_DAC_READ_SEARCH (Linux 5.8)"
}
