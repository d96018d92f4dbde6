# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Starting and ending what is measured: the victim and the load. Sourced.
# Everything started is the leader of a session of its own: a Ctrl-C reaches this shell alone, which
# then ends each of them with all of its children, in order.

# next_report: waits for a line from one of the children; sets report.
next_report() {
	read -r report <&3 || die "lost touch with the recording"
}

# end_session PID NAME: ends the session that PID leads, gently and then not.
end_session() {
	[ -n "$1" ] || return 0
	kill -TERM "-$1" 2>/dev/null || kill -TERM "$1" 2>/dev/null || return 0
	await_end "$1" 1 && return
	# A shell that is just starting something can miss one.
	kill -TERM "-$1" 2>/dev/null
	await_end "$1" && return
	kill -KILL "-$1" 2>/dev/null
	await_end "$1" || warn "$2 (process group $1) does not end"
}

# await_end PGID [SECONDS]: waits up to so many, or ten. perf needs one or two to let go of its events, for the
# kernel waits for a grace period with each.
await_end() {
	await_end_left=$((${2:-10} * 20))
	while group_runs "$1"; do
		[ "$await_end_left" -gt 0 ] || return 1
		await_end_left=$((await_end_left - 1))
		sleep 0.05
	done
}

# group_runs PGID: has the process group a member that is more than a zombie? kill -0 would not
# tell, and a zombie whose parent went first stays until init gets round to it.
group_runs() {
	cat /proc/[0-9]*/stat 2>/dev/null | awk -v group="$1" '
		{ sub(/.*\) /, "") }
		$3 == group && $1 !~ /[ZX]/ { runs = 1 }
		END { exit !runs }'
}

# start_load: starts it and gives it a moment to get going. Its name is another in each phase, for its end is
# reported after its phase, too.
start_load() {
	NETCOST_FILES=$destination/files setsid sh "$library/report-end.sh" "load$phase" sh -c "$load" >"$destination/load.txt" 2>&1 </dev/null &
	load_pid=$!
	sleep 0.3
}

# start_limit SECONDS: a report "limit" after so many seconds, unless stop_limit comes first.
start_limit() {
	# shellcheck disable=SC2016 # for the inner shell to expand
	setsid sh -c 'trap "exit 0" TERM; sleep "$1" && echo limit >&3' limit "$1" </dev/null >/dev/null 2>&1 4>&- 5>&- 8>&- 9>&- &
	limit_pid=$!
}

stop_limit() {
	end_session "$limit_pid" "the timer"
	limit_pid=''
}

# run_victim OUTPUT: runs the victim to its end, or to the limit; sets victim_id, victim_started_ns,
# victim_ended_ns, victim_user, victim_system.
run_victim() {
	victim_limited=''
	NETCOST_FILES=$destination/files setsid sh "$library/run-victim.sh" "$library" "$victim_cpu" "$1" "$victim" </dev/null &
	victim_pid=$!
	start_limit "$duration"
	while next_report; do
		case $report in
		'victim started '*)
			# shellcheck disable=SC2086 # split into words on purpose
			set -- "$1" $report
			victim_id=$4 victim_started_ns=$5
			echo "$victim_id" >"$workspace/victim_pid"
			;;
		'victim ended '*)
			# shellcheck disable=SC2086 # split into words on purpose
			set -- "$1" $report
			[ $# -eq 7 ] || die "the victim's times are not to be had: $report"
			victim_status=$4 victim_ended_ns=$5 victim_user=$(seconds_of "$6") victim_system=$(seconds_of "$7")
			victim_pid=''
			break
			;;
		limit | 'disk low '*)
			# The disk runs low once, and the victim may be ending already.
			case $report,$victim_limited in
			*,) victim_limited=$report ;;
			limit,*) die "the victim does not end when it is told to (TERM)" ;;
			*) continue ;;
			esac
			stop_limit
			kill -TERM "-$victim_pid" 2>/dev/null
			start_limit 5
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

# run_load_alone: the window of a recording without a victim.
run_load_alone() {
	start_limit "$duration"
	while next_report; do
		case $report in
		limit) break ;;
		'disk low '*)
			disk_low "$report"
			break
			;;
		*) other_report ;;
		esac
	done
}

# other_report: a report nobody waits for: the load may end before the victim, the recorder may not.
other_report() {
	case $report in
	"load$phase ended 0")
		[ -z "$load_pid" ] || note "the load ended by itself before the end of the recorded window"
		load_pid=''
		;;
	"load$phase ended "*) [ -z "$load_pid" ] || die "the load failed with exit status ${report##* }$(last_words "$destination/load.txt")" ;;
	'recorder ended '*) die "$tool ended early$(last_words "$destination/recorder.txt")" ;;
	'companion '*' ended '*)
		# shellcheck disable=SC2086 # split into words on purpose
		set -- $report
		companion_ended "$2" "$4"
		;;
	esac
}

# disk_low REPORT: remembers that the recording was cut short, and by what.
disk_low() {
	cut_short=yes
	note "the recording was ended early: only ${1#disk low } MiB were left on its disk, and --min-free is $min_free"
	warn "only ${1#disk low } MiB are left on the disk of $output: ending the recording"
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
	else
		echo " and left no word; is there room for it on the disk of $output?"
	fi
}
