# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --repeat: the same recording again and again, each by a netcost-record of its own, as an experiment. Sourced.
# With --alternate each repeat is two, one without the load and one with it, and every second repeat begins with the load:
# what drifts meets both alike.

# run_repeats ARGUMENT...: as netcost-record was given them.
run_repeats() {
	repeats_started=$(date -u +%Y-%m-%dT%H:%M:%SZ) repeats_status=0 repeats_done=0
	write_row "$partial" bundle repeat load started status completeness || die "cannot write to $partial: is there room?"
	while [ "$repeats_done" -lt "$repeats" ] && [ "$repeats_status" = 0 ]; do
		repeats_done=$((repeats_done + 1))
		case $alternate,$((repeats_done % 2)) in
		yes,1) run_repeat no "$@" && run_repeat yes "$@" ;;
		yes,0) run_repeat yes "$@" && run_repeat no "$@" ;;
		*) run_repeat "${load:+yes}" "$@" ;;
		esac || repeats_status=$repeat_status
	done
}

# run_repeat yes|no|'' ARGUMENT...: one recording and its row; without its --load where that is no. Fails, with
# repeat_status set, where there is none, or its disk ran low.
run_repeat() {
	repeat_load=$1
	shift
	case $alternate,$repeat_load in
	yes,no) repeat_name=base-$repeats_done ;;
	yes,*) repeat_name=load-$repeats_done ;;
	*) repeat_name=run-$repeats_done ;;
	esac
	repeat_arguments=$#
	while [ "$repeat_arguments" -gt 0 ]; do
		case $1,$repeat_load in
		--alternate,*) ;;
		-o,* | --output,* | --repeat,* | --load,no)
			shift
			repeat_arguments=$((repeat_arguments - 1))
			;;
		*)
			set -- "$@" "$1"
			case $1 in
			--baseline | --calibrate | --compress | --strict) ;;
			*)
				set -- "$@" "$2"
				shift
				repeat_arguments=$((repeat_arguments - 1))
				;;
			esac
			;;
		esac
		shift
		repeat_arguments=$((repeat_arguments - 1))
	done
	warn "repeat $repeats_done of $repeats${alternate:+, $([ "$repeat_load" = no ] && echo without || echo with) the load}"
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
	write_row "$partial" "$repeat_name" "$repeats_done" "${repeat_load:-no}" "$repeat_began" "$repeat_status" \
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
