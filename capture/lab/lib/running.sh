# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What an experiment runs: to its end (job, record), or beside what follows (start_beside). All of it has the
# experiment's mark, and ends with it: by the experiment, or by its guard where that was killed. Sourced.
# Descriptor 8 is the experiment's alone: its guard (guard.sh) waits until nobody has it.

# make_workspace: a folder that goes with the experiment; programs compiled into it are on the PATH.
make_workspace() {
	begin_state
	undo_killed
	workspace=$(absolute "${TMPDIR:-/tmp}")/netcost-lab.$mark
	made workspace "$workspace"
	make_workspace_said=$(mkdir -m 700 -- "$workspace" 2>&1) || die "cannot make $workspace: ${make_workspace_said##*: }; TMPDIR says where else"
	{ echo "$mark" >"$workspace/mark"; } 2>/dev/null || die "cannot write to $workspace: is there room? TMPDIR says where else"
	mkfifo "$workspace/alive" || die "cannot make a pipe in $workspace"
	exec 8<>"$workspace/alive"
	setsid sh "$lab/lib/guard.sh" "$workspace/alive" "$mark" 8>&- </dev/null >/dev/null 2>&1 &
	guard=$!
	watch_host
	PATH=$workspace:$PATH
	# What netcost-record leaves there should it be killed goes with the workspace.
	TMPDIR=$workspace
	export TMPDIR
}

# end_started: all that is left of what was started, such as children of children.
end_started() {
	[ -n "$guard" ] || return 0
	exec 8>&-
	# It may have been killed.
	wait "$guard" 2>/dev/null || end_marked "NETCOST_EXPERIMENT=$mark" || warn "processes of this experiment do not end"
	guard=''
}

# compile PROGRAM: from C, next to the experiments.
compile() {
	cc -O2 -o "$workspace/$1" "$lab/$1.c" || die "cannot compile $lab/$1.c"
}

# job COMMAND...: runs it in a session of its own to its end, or to the experiment's.
job() {
	NETCOST_EXPERIMENT=$mark setsid "$@" 8>&- &
	running=-$!
	wait "${running#-}"
	job_status=$?
	running=''
	return "$job_status"
}

# start_beside COMMAND...: runs beside what follows, until stop_beside. Sets beside_pid.
start_beside() {
	NETCOST_EXPERIMENT=$mark setsid "$@" 8>&- &
	beside_pid=$!
	{
		echo "$beside_pid"
		cat "$workspace/beside" 2>/dev/null
	} >"$workspace/beside.new"
	mv -- "$workspace/beside.new" "$workspace/beside" || die "no room in $workspace"
}

# await_child PID TENTHS: waits for at most so many tenths of a second until it has ended.
await_child() {
	await_child_left=$2
	while :; do
		case $(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null) in
		'' | Z* | X*) return 0 ;;
		esac
		[ "$await_child_left" -gt 0 ] || return 1
		await_child_left=$((await_child_left - 1))
		sleep 0.1
	done
}

# stop_beside: what start_beside started, last first.
stop_beside() {
	[ -r "$workspace/beside" ] || return 0
	while read -r stop_beside_pid; do
		kill -TERM "-$stop_beside_pid" 2>/dev/null || kill -TERM "$stop_beside_pid" 2>/dev/null
	done <"$workspace/beside"
	while read -r stop_beside_pid; do
		await_child "$stop_beside_pid" 50 || kill -KILL "-$stop_beside_pid" 2>/dev/null
		wait "$stop_beside_pid" 2>/dev/null
	done <"$workspace/beside"
	rm -f -- "$workspace/beside"
}

# record WORD...: netcost-record with the tool and the remarks that belong to every bundle of the lab.
record() {
	# A series says it of all.
	[ -n "$output_begun" ] || set -- "$@" --note "$busy_said"
	NETCOST_EXPERIMENT=$mark "$lab/../netcost-record" ${tool:+--tool "$tool"} "$@" --note "made by: $typed" 8>&- &
	# Signalled alone: it ends what it started.
	running=$!
	wait "$running"
	record_status=$?
	running=''
	return "$record_status"
}

# before_the_middle SECONDS TRACE: when to begin a trace in the middle of a run of so many seconds.
before_the_middle() {
	echo "$1 $2" | awk '{ printf "%.3f\n", ($1 > $2 ? ($1 - $2) / 2 : 0) }'
}

# end_running: ends the job that is waited for, gently: netcost-record has a host to put back.
end_running() {
	[ -n "$running" ] || return 0
	# It may not lead its group yet.
	kill -TERM "$running" 2>/dev/null || kill -TERM "${running#-}" 2>/dev/null
	# A recorder has more to do than any other.
	case $running in
	-*) await_child "${running#-}" 50 ;;
	*) await_child "$running" 600 ;;
	esac || kill -KILL "$running" 2>/dev/null
	wait "${running#-}"
	running=''
}
