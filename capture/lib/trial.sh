# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --check's trial: each tool in turn records for a moment, as it would for the recording, until one works and its trace
# is complete (lib/completeness.sh). It starts nothing else, and what the host does by itself is what is compared. Sourced.

trial_seconds=0.2
# Within so many seconds it has to begin, record, end and count; then so many to end what it started.
trial_limit=20 trial_grace=20

# try_tool TOOL: sets trial_state: complete, incomplete or unknown where it recorded, else no; trial_said, how it went;
# trial_missing, of how much something is missing.
try_tool() {
	set -- "$1" sh "$here/netcost-record" -o "$workspace/trial" --tool "$1" --duration "$trial_seconds" --profile "$(echo "$event_profiles" | sed 's/^ *//' | tr ' ' ',')" \
		--sidecars none --interval 0 --min-free 0
	[ -z "$cpus" ] || set -- "$@" --cpus "$cpus"
	[ -z "$buffer" ] || set -- "$@" --buffer "$buffer"
	[ "$clock" = mono ] || set -- "$@" --clock "$clock"
	[ -z "$compress" ] || set -- "$@" --compress
	try_tool_name=$1
	shift
	setsid sh "$library/guard.sh" "$workspace/alive" "" sh "$library/report-end.sh" "trial of $try_tool_name" "$@" >/dev/null 2>"$workspace/trial.txt" </dev/null &
	trial_pid=$!
	remember recorder "$trial_pid"
	trial_state=no trial_said='' trial_missing=0
	start_limit "$trial_limit"
	while next_report; do
		case $report in
		"trial of $try_tool_name ended "* | limit) break ;;
		esac
	done
	stop_limit
	if [ "$report" = limit ]; then
		end_trial
		trial_said="$try_tool_name does not end a recording of $trial_seconds s within $trial_limit s"
	elif [ -s "$workspace/trial/manifest.json" ]; then
		trial_state=$(sed -n 's/^ *"completeness": {.*"state": "\([a-z]*\)".*/\1/p' "$workspace/trial/manifest.json")
		trial_said="$try_tool_name $(sed -n 's/^ *"completeness": {"verdict": "\(.*\)", "state": .*/\1/p' "$workspace/trial/manifest.json")"
		[ "$trial_state" != complete ] || trial_said="$trial_said$(trial_may_miss)"
		trial_missing=$(awk '
			/"missing_least": [1-9]/ && !/"packets"/ { rows++ }
			/^ *"lost_events": [1-9]/ { rows++ }
			END { print rows + 0 }' "$workspace/trial/manifest.json")
	else
		# Its last words begin with its name, and end with what became of the bundle.
		trial_said=$(tail -n 1 "$workspace/trial.txt" | sed 's/^netcost-record: //; s/; no bundle is left$//')
		trial_said=${trial_said:-"$try_tool_name ended without a word"}
	fi
	# Its guard ends after it.
	[ -z "$trial_pid" ] || await_end "$trial_pid" 3
	trial_pid=''
	rm -rf "$workspace/trial" "$workspace/trial.partial"
}

# trial_may_miss: what a complete trial can have missed all the same, of the counter that leaves most open: its trace has the
# time around the readings too, in which as many events may have come as are missing between them.
trial_may_miss() {
	awk '
		function called() {
			if (field["what"] == "switches") return "switches"
			return (field["what"] == "irq" ? "interrupt " : "") field["name"] " on CPU " field["cpu"]
		}
		/"missing_most": [1-9]/ && !/"packets"/ {
			gsub(/[ "{]/, "")
			parts = split($0, part, /[:,}]/)
			for (i = 1; i < parts; i += 2) field[part[i]] = part[i + 1]
			if (field["missing_most"] > most) { most = field["missing_most"]; of = field["counted"]; what = called() }
		}
		END {
			if (!most) exit
			printf ", as far as a trial can tell: up to %.1f %% of %s may be missing", 100 * most / of, what
		}' "$workspace/trial/manifest.json"
}

# end_trial: it ends what it started, and is given the time.
end_trial() {
	[ -n "${trial_pid-}" ] || return 0
	kill -TERM "-$trial_pid" 2>/dev/null || { is_child "$trial_pid" && kill -TERM "$trial_pid" 2>/dev/null; }
	await_end "$trial_pid" "$trial_grace" || end_session "$trial_pid" "the trial"
	trial_pid=''
}

# preflight_trial: sets candidates to the one that misses least, and keeps it for the recordings to come. trace-cmd's events
# are those of tracefs, and the buffer it takes is everybody's: it is tried only where tracefs does not record.
preflight_trial() {
	preflight_trial_said='' preflight_trial_best='' preflight_trial_ring=''
	for preflight_trial_tool in $candidates; do
		[ "$preflight_trial_tool" != trace-cmd ] || [ -z "$preflight_trial_ring" ] || continue
		stage "trying $preflight_trial_tool for $trial_seconds s"
		try_tool "$preflight_trial_tool"
		preflight_trial_said="$preflight_trial_said${preflight_trial_said:+; }$trial_said"
		[ "$trial_state" != no ] || continue
		[ "$preflight_trial_tool" != tracefs ] || preflight_trial_ring=yes
		if [ "$trial_state" = complete ] || [ -z "$preflight_trial_best" ] || [ "$trial_missing" -lt "$preflight_trial_least" ]; then
			preflight_trial_best=$preflight_trial_tool preflight_trial_least=$trial_missing preflight_trial_state=$trial_state
		fi
		[ "$trial_state" != complete ] || break
	done
	# What is preferred comes first, where there was a choice.
	case $preflight_trial_said in
	*'; '*) preflight_trial_said="${preflight_trial_best:+$preflight_trial_best: }$preflight_trial_said" ;;
	esac
	preflight_trial_said="$preflight_trial_said (trial of $trial_seconds s)${refusals:+; $refusals}"
	if [ -z "$preflight_trial_best" ]; then
		verdict tool no "$preflight_trial_said"
		return
	fi
	candidates=" $preflight_trial_best"
	[ -n "$tool_named" ] || keep_best_tool "$preflight_trial_best"
	case $preflight_trial_state in
	complete) verdict tool ok "$preflight_trial_said" ;;
	*) verdict tool warn "$preflight_trial_said" ;;
	esac
}
