# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --repeat: the same recording again and again, each by a netcost-record of its own, as an experiment. Sourced.
# With --alternate each repeat is two, one of each side: without the load and with it, or of one command and of the other.
# Every second repeat begins with the second: what drifts meets both alike.

# run_repeats ARGUMENT...: as netcost-record was given them.
run_repeats() {
	repeats_started=$(date -u +%Y-%m-%dT%H:%M:%SZ) repeats_status=0 repeats_done=0
	repeats_column=load
	[ "$alternate" != commands ] || repeats_column=side
	write_row "$partial" bundle repeat "$repeats_column" started status completeness || die "cannot write to $partial: is there room?"
	while [ "$repeats_done" -lt "$repeats" ] && [ "$repeats_status" = 0 ]; do
		repeats_done=$((repeats_done + 1))
		case $alternate,$((repeats_done % 2)) in
		load,1) run_repeat no "$@" && run_repeat yes "$@" ;;
		load,0) run_repeat yes "$@" && run_repeat no "$@" ;;
		commands,1) run_repeat a "$@" && run_repeat b "$@" ;;
		commands,0) run_repeat b "$@" && run_repeat a "$@" ;;
		*) run_repeat "${load:+yes}" "$@" ;;
		esac || repeats_status=$repeat_status
	done
}

# run_repeat yes|no|a|b|'' ARGUMENT...: one recording and its row; without its --load where that is no, of the first or the
# second command where it is a or b. Fails, with repeat_status set, where there is none, or its disk ran low.
run_repeat() {
	repeat_of=$1 repeat_name=run-$repeats_done repeat_said=''
	shift
	case $alternate,$repeat_of in
	load,no) repeat_name=base-$repeats_done repeat_said=', without the load' ;;
	load,*) repeat_name=load-$repeats_done repeat_said=', with the load' ;;
	commands,*) repeat_name=$repeat_of-$repeats_done repeat_said=", side $repeat_of" ;;
	esac
	repeat_arguments=$#
	while [ "$repeat_arguments" -gt 0 ]; do
		repeat_words=2
		case $1 in
		--baseline | --calibrate | --compress | --strict | --no-count) repeat_words=1 ;;
		--alternate)
			repeat_words=1
			[ "$alternate" != commands ] || repeat_words=3
			;;
		esac
		repeat_arguments=$((repeat_arguments - repeat_words))
		case $1,$repeat_of in
		-o,* | --output,* | --repeat,* | --alternate,* | --load,no) shift "$repeat_words" ;;
		*)
			while [ "$repeat_words" -gt 0 ]; do
				set -- "$@" "$1"
				shift
				repeat_words=$((repeat_words - 1))
			done
			;;
		esac
	done
	case $alternate,$repeat_of in
	commands,a) set -- "$@" --victim "$side_a" ;;
	commands,b) set -- "$@" --victim "$side_b" ;;
	esac
	warn "repeat $repeats_done of $repeats$repeat_said"
	repeat_began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	# A recorder is root's.
	NETCOST_USER='' setsid sh "$library/guard.sh" "$workspace/alive" "" sh "$library/report-end.sh" repeat sh "$library/as-called.sh" "" sh "$here/netcost-record" "$@" \
		-o "$partial/$repeat_name" --note "repeat $repeats_done of $repeats" >"$workspace/repeat.out" </dev/null &
	repeat_pid=$!
	next_report
	await_end "$repeat_pid" 3
	repeat_pid='' repeat_status=${report##* }
	# Cut short, or not complete, it is a recording all the same.
	case $repeat_status in
	0 | 3 | 4) ;;
	*) return 1 ;;
	esac
	write_row "$partial" "$repeat_name" "$repeats_done" "${repeat_of:-no}" "$repeat_began" "$repeat_status" \
		"$(sed -n 's/.*"completeness": {"verdict": "\([^"]*\)".*/\1/p' "$partial/$repeat_name/manifest.json")" ||
		die "cannot write to $partial: is there room?"
	recorded=yes
	remember recorded yes
	[ "$repeat_status" != 4 ] || repeats_incomplete=yes
	[ "$repeat_status" != 3 ]
}

# write_repeats: the experiment, of as many as there are.
write_repeats() {
	[ "$repeats_done" = "$repeats" ] && [ "$repeats_status" = 0 ] || echo "ended early, in repeat $repeats_done of $repeats" >"$workspace/series-notes"
	write_experiment "$partial" repeat "$typed" "$repeats_started" "$victim_cpu" '' "$workspace/series-notes" ||
		die "cannot write $partial/experiment.json: is there room?"
}
