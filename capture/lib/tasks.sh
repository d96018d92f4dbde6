# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Starting and ending what is measured: the victim and the load. Sourced.
# Everything started is the leader of a session of its own: a Ctrl-C reaches this shell alone, which
# then ends each of them with all of its children, in order.

# next_report: waits for a line from one of the children; sets report. A limit that had passed before it was stopped is
# reported later, when another may be waited for: only the one that runs is "limit".
next_report() {
	while :; do
		read -r report <&3 || {
			# A signal that is taken up ends the waiting, and brings no report.
			[ -n "$heard" ] || die "lost touch with the recording"
			heard=''
			continue
		}
		case $report,$limit_pid in
		"limit $limits",?*)
			report=limit
			return
			;;
		'limit '*) ;;
		*) return ;;
		esac
	done
}

# end_session PID NAME: ends the session that PID leads, gently and then not.
end_session() {
	[ -n "$1" ] || return 0
	# Just started it does not lead its group yet.
	kill -TERM "-$1" 2>/dev/null || { is_child "$1" && kill -TERM "$1" 2>/dev/null; } || return 0
	await_end "$1" 1 && return
	# A shell that is just starting something can miss one.
	kill -TERM "-$1" 2>/dev/null
	await_end "$1" && return
	kill -KILL "-$1" 2>/dev/null
	await_end "$1" || warn "$2 (process group $1) does not end"
}

# end_children EXCEPT: what a signal came upon when it was just being started, before its pid was known. A shell that is not
# yet what it is to be can miss a signal, and is asked again.
end_children() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		end_children_left=$(children "$1")
		[ -n "$end_children_left" ] || return 0
		for end_children_one in $end_children_left; do
			end_session "$end_children_one" "what was just being started"
		done
		sleep 0.1
	done
}

# start_load: sets load_started_ns, starts it and gives it a moment to get going. Its name is another in each phase, for its end is
# reported after its phase, too.
start_load() {
	read_clock
	load_started_ns=$monotonic_ns load_ended_ns=''
	NETCOST_FILES=$destination/files setsid sh "$library/guard.sh" "$workspace/alive" "$run" sh "$library/report-end.sh" "load$phase" \
		sh "$library/as-called.sh" "$run" sh -c "$load" >"$destination/load.txt" 2>&1 </dev/null &
	load_pid=$! guards="$guards $!"
	sleep 0.3
}

# await_guards: what victim and load have left in their sessions is being ended.
await_guards() {
	for await_guards_one in $guards; do
		await_end "$await_guards_one" 3
	done
	[ -z "$guards" ] || end_marked "NETCOST_RUN=$run"
	guards=''
}

# start_limit SECONDS: the report "limit" after so many seconds, unless stop_limit comes first.
start_limit() {
	limits=$((limits + 1))
	start_timer "$1" "limit $limits"
	limit_pid=$timer_pid
}

# start_timer SECONDS REPORT: sets timer_pid.
start_timer() {
	# shellcheck disable=SC2016 # for the inner shell to expand
	setsid sh "$library/guard.sh" "$workspace/alive" "" sh -c 'trap "exit 0" TERM; sleep "$1" && echo "$2" >&3' timer "$1" "$2" </dev/null >/dev/null 2>&1 5>&- &
	timer_pid=$!
}

stop_limit() {
	end_session "$limit_pid" "the timer"
	limit_pid=''
}

# run_victim OUTPUT: runs the victim to its end, or to the limit; sets victim_id, victim_started_ns,
# victim_ended_ns, victim_user, victim_system.
run_victim() {
	victim_limited='' victim_id='' victim_told=''
	NETCOST_FILES=$destination/files setsid sh "$library/guard.sh" "$workspace/alive" "$run" sh "$library/run-victim.sh" "$library" "$run" \
		"$victim_cpu" "$1" "$victim" </dev/null &
	victim_pid=$! guards="$guards $!"
	start_limit "$duration"
	while next_report; do
		size_limit_is_low_disk
		case $report in
		'victim started '*)
			read -r _ _ victim_id victim_started_ns <<-REPORT
				$report
			REPORT
			echo "$victim_id" >"$workspace/victim_pid"
			[ -z "$victim_limited" ] || { victim_told=0 && tell_victim; }
			;;
		'victim ended '*)
			read -r _ _ victim_status victim_ended_ns victim_user victim_system <<-REPORT
				$report
			REPORT
			[ -n "$victim_system" ] || die "the victim's times cannot be read: $report"
			victim_user=$(seconds_of "$victim_user") victim_system=$(seconds_of "$victim_system")
			victim_pid=''
			break
			;;
		limit | 'disk low '*)
			# The disk runs low once, and the victim may be ending already.
			case $report,$victim_limited,$victim_told in
			*,,) victim_limited=$report ;;
			limit,*,2) die "the victim does not end when it is told to (TERM)" ;;
			limit,*) ;;
			*) continue ;;
			esac
			tell_victim
			;;
		*) other_report ;;
		esac
	done
	case $victim_limited in
	limit) note "the victim was ended by the recorder after $duration s" ;;
	'disk low '*) disk_low "$victim_limited" ;;
	esac
	if [ -z "$victim_limited" ] && [ "$victim_status" != 0 ]; then
		die "the victim failed with exit status $victim_status$(last_words "$1")"
	fi
}

# tell_victim: tells it to end, twice at most: what is only forked can miss the first. What has not started yet is told
# then, for nothing would report its end.
tell_victim() {
	stop_limit
	victim_told=$((victim_told + 1))
	[ -z "$victim_id" ] || kill -TERM "-$victim_pid" 2>/dev/null
	start_limit 5
}

# run_load_alone: the window of a recording without a victim. Sets asked_started_ns and asked_ended_ns: the readings of
# counters before and after are not of what was asked for.
run_load_alone() {
	read_clock
	asked_started_ns=$monotonic_ns
	start_limit "$duration"
	while next_report; do
		size_limit_is_low_disk
		case $report in
		limit | 'until signal') break ;;
		'disk low '*)
			disk_low "$report"
			break
			;;
		*)
			other_report
			# Nothing is left to wait for.
			[ "$part_state,$load_pid" != over, ] || [ -z "$load" ] || break
			;;
		esac
	done
	read_clock
	asked_ended_ns=$monotonic_ns
}

# other_report: a report nobody waits for: the load may end before the victim, the recorder may not.
other_report() {
	case $report in
	"load$phase ended 0")
		read_clock
		load_ended_ns=$monotonic_ns
		[ -z "$load_pid" ] || [ "$part_state" = over ] || note "the load ended by itself before the end of the recorded window"
		load_pid=''
		;;
	"load$phase ended "*) [ -z "$load_pid" ] || die "the load failed with exit status ${report##* }$(last_words "$destination/load.txt")" ;;
	"$recorder_name ended "*) die "$tool ended early$(last_words "$destination/recorder.txt")" ;;
	'trace on') begin_part ;;
	'trace off') end_part ;;
	'companion '*' ended '*)
		other_report_name=${report#companion }
		companion_ended "${other_report_name%% *}" "${report##* }"
		;;
	esac
}

# size_limit_is_low_disk: a recorder that has written all that its disk has room for ends by itself.
size_limit_is_low_disk() {
	case $report in
	"$recorder_name ended "*)
		grep -q 'size limit reached' "$destination/recorder.txt" || return 0
		await_end "$recorder_pid" 3
		recorder_pid='' size_limit_reached=yes report="disk low $min_free"
		;;
	esac
}

# disk_low REPORT: remembers that the recording was cut short, and by what.
disk_low() {
	cut_short=yes
	note "the recording was ended early: only ${1#disk low } MiB were left on its disk, and --min-free is $min_free$(written_again)"
	warn "only ${1#disk low } MiB are left on the disk of $output: ending the recording"
}

# written_again: what is to be said of a tool that needs more of the disk.
written_again() {
	[ "$tool" != trace-cmd ] || echo "; trace-cmd writes all of its trace once more when it ends"
}

# seconds_of TIME: 61.230000 for 1m1.23s, as `times` prints it.
seconds_of() {
	echo "$1" | awk '{ split($1, part, /[ms]/); printf "%.6f", part[1] * 60 + part[2] }'
}

# last_words FILE: ", saying: ..." with the last line that has something in it, and the line before it
# where it is indented: so trace-cmd says what failed, and before that why.
last_words() {
	last_words_line=$(awk '
		/^[ \t]*$/ { next }
		{ sub(/[ \t]+$/, ""); said = $0; sub(/^[ \t]+/, "") }
		said ~ /^[ \t]/ && last != "" { last = last ": " $0; next }
		{ last = $0 }
		END { print last }' "$@")
	if [ -n "$last_words_line" ]; then
		echo ", saying: $last_words_line"
	elif [ "$(df -Pk "$workspace" "${partial:-$workspace}" | awk 'NR > 1 && $4 < 256' | wc -l)" -gt 0 ]; then
		echo " and printed nothing: is there room for it on the disk of $output?"
	else
		echo " and printed nothing"
	fi
}
