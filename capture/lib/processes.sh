# shellcheck shell=sh
# What /proc says of single processes. Sourced. Only reads.

# proc_files NAME: the /proc/PID/NAME of every process, a line each: as words of a command a large host's do not fit.
proc_files() {
	find /proc/. ! -name . -prune -name '[0-9]*' 2>/dev/null | sed "s,^/proc/\\./\\(.*\\),/proc/\\1/$1,"
}

# all_stats: the /proc/PID/stat of every process, a line each; of one that is gone there is none.
all_stats() {
	proc_files stat | xargs cat 2>/dev/null
}

# pids_of NAMES: the processes and kernel threads of these names, as the kernel cuts them (15 characters).
pids_of() {
	for pids_of_name in $1; do
		proc_files comm | xargs grep -lxF -e "$(printf '%.15s' "$pids_of_name")" 2>/dev/null
	done | cut -d / -f 3 | sort -nu
}

# write_tasks PIDS: CPU time and memory of each, a line "PID FILE text" for /proc/PID/stat, schedstat and
# what matters of status. A process that is gone has none.
write_tasks() {
	for write_tasks_pid in $1; do
		# It may go while it is read.
		awk -v pid="$write_tasks_pid" '
			{ file = FILENAME; sub(/.*\//, "", file) }
			file != "status" || /^(VmHWM|VmRSS|Threads|Cpus_allowed_list|(non)?voluntary_ctxt_switches):/ { print pid, file, $0 }
		' "/proc/$write_tasks_pid/stat" "/proc/$write_tasks_pid/schedstat" "/proc/$write_tasks_pid/status" 2>/dev/null
	done
	return 0
}

# with_children PID: it and all that come from it, where the kernel lists children (PROC_CHILDREN).
with_children() {
	with_children_found=$1 with_children_level=$1
	while [ -n "$with_children_level" ]; do
		with_children_next=''
		for with_children_pid in $with_children_level; do
			with_children_next="$with_children_next $(cat "/proc/$with_children_pid/task/"*/children 2>/dev/null)"
		done
		# Nothing but blanks is nothing.
		case $with_children_next in
		*[0-9]*) with_children_level=$with_children_next ;;
		*) with_children_level='' ;;
		esac
		with_children_found="$with_children_found $with_children_level"
	done
	echo "$with_children_found"
}

# session_members SID: the processes of a session but for its leader, and for zombies.
session_members() {
	all_stats | awk -v session="$1" '
		{ pid = $1; sub(/.*\) /, "") }
		$4 == session && pid != session && $1 !~ /[ZX]/ { print pid }'
}

# children EXCEPT: of this shell, but for one, for zombies and for the one that asks: their pids, a line each.
children() {
	all_stats | awk -v parent="$$" -v except="$1" '
		BEGIN { getline own <"/proc/self/stat"; sub(/.*\) /, "", own); split(own, field, " "); asks = field[2] }
		{ pid = $1; sub(/.*\) /, "") }
		$2 == parent && pid != asks && pid != except && $1 !~ /[ZX]/ { print pid }'
}

# is_child PID: of this shell? Its number may be another's by now.
is_child() {
	[ "$(sed 's/.*) . //; s/ .*//' "/proc/$1/stat" 2>/dev/null)" = "$$" ]
}

# group_runs PGID: has the process group a member that is more than a zombie? kill -0 alone would not
# tell, and a zombie whose parent went first stays until init gets round to it.
group_runs() {
	kill -0 "-$1" 2>/dev/null || return 1
	all_stats | awk -v group="$1" '
		{ sub(/.*\) /, "") }
		$3 == group && $1 !~ /[ZX]/ { runs = 1 }
		END { exit !runs }'
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
