# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --until: a rolling recording. The rings keep the newest events until a condition holds, a signal comes or --duration is
# over; --after seconds later they are kept. The counters are read when the wait ends and when the recording does, so that
# they are of what is kept. Sourced.
# Sets until_by (condition, signal, duration, service, disk), until_at_ns, when that was, until_value and until_cpu of the condition.

# check_until: can it be meant? Sets until_kind (softirq, ksoftirqd, squeezed, command) and until_least.
check_until() {
	if [ -z "$until" ]; then
		[ -z "$after" ] || bad_usage "--after needs --until COND"
		return
	fi
	after=${after:-1}
	seconds_option --after "$after" zero
	[ -z "$victim$victim_cpu$baseline$calibrate$trace_for$work" ] ||
		bad_usage "--until waits for an event that it does not cause: leave out --victim, --victim-cpu, --baseline, --calibrate, --work and --trace-for"
	[ -z "$repeats" ] || bad_usage "--until records once: leave out --repeat"
	{ [ -n "$event_profiles" ] && [ -z "$sampling_profile" ]; } || bad_usage "--until is for profiles of tracepoints, not for $profile"
	[ "$tool" != trace-cmd ] || bad_usage "trace-cmd reads its rings all the time, so nothing rolls: --until takes --tool perf or --tool tracefs"
	read_condition
}

read_condition() {
	until_kind=command until_least=''
	read_condition_text=$(printf '%s' "$until" | tr -d ' \t')
	case $read_condition_text in
	softirq | ksoftirqd | squeezed | softirq[\<\>=]* | ksoftirqd[\<\>=]* | squeezed[\<\>=]*) ;;
	*)
		# As a command "soft-irq > 30%" would write a file.
		! echo "$until" | grep -Eq '^[[:space:]]*[A-Za-z0-9_/:-]+[[:space:]]*[<>=]+[[:space:]]*[0-9.]*[[:space:]]*%?[[:space:]]*$' || bad_condition
		return
		;;
	esac
	until_kind=${read_condition_text%%[!a-z]*}
	until_least=${read_condition_text#"$until_kind"}
	case $until_kind,$until_least in
	squeezed,\>*) until_least=${until_least#>} ;;
	squeezed,*) until_least='' ;;
	*,\>*%) until_least=${until_least#>} && until_least=${until_least%\%} ;;
	*) until_least='' ;;
	esac
	case $until_kind,$until_least in
	*,*[!0-9.]* | *, | *,.* | *. | *.*.*) read_condition_bad=yes ;;
	squeezed,*) read_condition_bad='' ;;
	*) read_condition_bad=$(echo "$until_least" | awk '$1 >= 100 { print "yes" }') ;;
	esac
	[ -z "$read_condition_bad" ] || bad_condition
}

bad_condition() {
	bad_usage "--until takes 'softirq>30%' or 'ksoftirqd>50%' (each below 100%), 'squeezed>0', or a command, in quotes; not '$until'"
}

# begin_until: is there what it looks at? A command is tried, for one that is not there would never succeed.
begin_until() {
	[ -n "$until" ] || return 0
	case $until_kind in
	ksoftirqd)
		begin_until_pid=$(pids_of 'ksoftirqd/0')
		[ -r "/proc/${begin_until_pid:-none}/schedstat" ] || die "--until ksoftirqd needs its schedstat in /proc, which is not visible from here"
		;;
	squeezed) [ -r /proc/net/softnet_stat ] || die "--until squeezed needs /proc/net/softnet_stat" ;;
	command)
		sh -n -c "$until" 2>/dev/null || bad_usage "--until has a command that the shell cannot read: $until"
		(asked sh "$library/as-called.sh" "$run" sh -c "$until") </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 7>&- 8>&- 9>&-
		case $? in
		126 | 127) bad_usage "--until takes 'softirq>30%', 'ksoftirqd>50%', 'squeezed>0' or a command that can be run, not $until" ;;
		esac
		;;
	esac
}

# hear_signal: keep it now.
hear_signal() {
	heard=yes
	echo 'until signal' >&3
}

# await_condition: returns when what was waited for has come, with the counters read and duration set to what is left.
await_condition() {
	until_by='' until_at_ns='' until_value='' until_cpu='' until_most='' until_most_cpu=''
	setsid sh "$library/guard.sh" "$workspace/alive" "$run" sh "$library/watch-until.sh" "$library" "$run" "$until_kind" "$until_least" "$until" "$attached" </dev/null >/dev/null 2>&1 5>&- &
	until_watch=$! guards="$guards $!"
	start_limit "$duration"
	trap hear_signal HUP INT TERM USR1
	warn "rolling until $until; kill -USR1 $self_pid, or Ctrl-C, keeps what is there"
	while next_report; do
		size_limit_is_low_disk
		case $report in
		'until held '*)
			read -r _ _ until_at_ns until_value until_cpu <<-REPORT
				$report
			REPORT
			until_by=condition
			break
			;;
		'until now '*) show_value "${report#until now }" ;;
		'until signal') until_by=signal && break ;;
		'until gone') until_by=service && break ;;
		limit) until_by=duration && break ;;
		'disk low '*)
			disk_low "$report"
			until_by=disk
			break
			;;
		*) other_report ;;
		esac
	done
	# A Ctrl-C would end what reads the counters.
	trap '' HUP INT TERM USR1
	[ -z "$until_most" ] || [ ! -t 2 ] || echo >&2
	read_clock
	window_started_ns=$monotonic_ns
	until_at_ns=${until_at_ns:-$monotonic_ns}
	read_counters "$destination/before" stamp network proc service_counters
	# Ending it takes a second or two, in which the rings go on rolling: it comes once the recorder is told to end.
	until_timer=$limit_pid limit_pid=''
	read_counters "$destination/before" devices
	duration_asked=$duration
	note "$(said_until)"
	warn "$(said_until)"
	# From here on there is no more to wait for than what is left of this.
	read_clock
	duration=$(echo "$after $((monotonic_ns - until_at_ns))" | awk '{ left = $1 - $2 / 1e9; if (left < 0) left = 0; printf "%.3f", left }')
	[ "$until_by" != disk ] || duration=0
	trap hear_signal HUP INT TERM USR1
}

# show_value 'VALUE CPU': remembers the highest, and shows both, on one line, to who watches.
show_value() {
	[ "$(echo "$1 ${until_most:--1}" | awk '{ print ($1 > $3) }')" = 0 ] || until_most=${1% *} until_most_cpu=${1#* }
	[ ! -t 2 ] || printf '\rnetcost-record: now %s, highest %s   ' "$(of_condition "$1")" "$(of_condition "$until_most $until_most_cpu")" >&2
}

# of_condition 'VALUE CPU': in words.
of_condition() {
	case $until_kind in
	squeezed) echo "squeezed ${1% *} times in a second on CPU ${1#* }" ;;
	*) echo "$until_kind ${1% *} % of CPU ${1#* }" ;;
	esac
}

# end_until: the counters are read and the recorder is told to end, before what takes longer: the rings go on rolling. Signals
# are again what they were.
end_until() {
	trap '' HUP INT TERM USR1
	read_counters "$destination/after" stamp service_counters proc network
	read_clock
	window_ended_ns=$monotonic_ns
	tell_recorder
	end_session "$until_watch" "the watch on the condition"
	end_session "$until_timer" "the timer"
	until_watch='' until_timer=''
	read_counters "$destination/after" devices
	trap 'at_signal 129' HUP
	trap 'at_signal 130' INT
	trap 'at_signal 143' TERM
	trap 'heard=yes' USR1
}

# said_until: what ended it.
said_until() {
	case $until_by in
	condition)
		case $until_kind in
		command) echo "the condition held: the command ended with status 0" ;;
		*) echo "the condition held: $(of_condition "$until_value $until_cpu")" ;;
		esac
		return
		;;
	signal) said_until_how=": the recording was kept at a signal" ;;
	duration) said_until_how=" in $duration_asked s: what was there at the end is kept" ;;
	service) said_until_how=" before the service ended" ;;
	disk) said_until_how=" before the disk ran low" ;;
	esac
	[ -z "$until_most" ] || said_until_how="$said_until_how; the highest was $(of_condition "$until_most $until_most_cpu")"
	echo "the condition never held$said_until_how"
}

# judge_begins: of a rolling recording each CPU begins where its ring does. From the tallies' "first CPU SECONDS NS". Sets
# until_reach, how far the rings reach back before the end, empty where that is not known.
judge_begins() {
	until_reach=''
	# Of a trace too large to be counted there are no tallies.
	[ -n "$until" ] && [ -e "$workspace/tallies" ] || return 0
	awk '$1 == "first" { print $2, $3, $4 }' "$workspace/tallies" | sort -n >"$workspace/begins"
	# Other clocks' times are not those of the end.
	[ "$clock" = mono ] || return 0
	judge_begins_said=$(awk -v end="$window_ended_ns" '
		# In two parts: a time in ns has more digits than an awk has.
		{ back = substr(end, 1, length(end) - 9) - $2 + (substr(end, length(end) - 8) - $3) / 1e9 }
		back < 0 { back = 0 }
		{ said = said (said == "" ? "" : ", ") sprintf("CPU %s %.2f s", $1, back) }
		least == "" || back < least { least = back; least_cpu = $1 }
		most == "" || back > most { most = back; most_cpu = $1 }
		END {
			if (most == "") exit
			printf "%.2f s", least
			if (most_cpu != least_cpu) printf " (CPU %s) to %.2f s (CPU %s)", least_cpu, most, most_cpu
			print "; " said
		}' "$workspace/begins")
	[ -n "$judge_begins_said" ] || return 0
	until_reach=${judge_begins_said%%; *}
	note "the recording was rolling: CPUs begin at different times, before its end ${judge_begins_said#*; }"
}

# json_until: the manifest's field, null of a recording that was not rolling.
json_until() {
	if [ -z "$until" ]; then
		printf null
		return
	fi
	json_until_held=false json_until_condition=$until json_until_command=''
	[ "$until_by" != condition ] || json_until_held=true
	[ "$until_kind" != command ] || json_until_condition='' json_until_command=$until
	printf '{"condition": %s, "command": %s, "held": %s, "ended_by": "%s", "at_ns": %s, "value": %s, "cpu": %s, "after_s": %s, "overwritten_events": %s,\n    "begins": [' \
		"$(json_word "$json_until_condition")" "$(json_word "$json_until_command")" "$json_until_held" "$until_by" "$(on_the_clock "$until_at_ns")" "${until_value:-null}" "${until_cpu:-null}" \
		"$(echo "$after" | awk '{ print $1 + 0 }')" "$(overwritten_events)"
	if [ "$clock" = mono ] && [ -s "$workspace/begins" ]; then
		json_until_comma=''
		while read -r json_until_cpu json_until_s json_until_ns; do
			printf '%s{"cpu": %s, "start_ns": %s}' "$json_until_comma" "$json_until_cpu" "$((json_until_s * 1000000000 + json_until_ns))"
			json_until_comma=', '
		done <"$workspace/begins"
	fi
	printf ']}'
}

# overwritten_events: of a ring that perf reads nobody counts them.
overwritten_events() {
	case $tool in
	perf) printf null ;;
	*) echo "$losses" | awk '{ sum += $2 } END { printf "%.0f", sum }' ;;
	esac
}
