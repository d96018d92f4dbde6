# shellcheck shell=sh
# The processes that come of one: all that have a mark in the environment they were started with, NETCOST_RUN=PID-START for
# what a netcost-record measures, NETCOST_EXPERIMENT=PID-START for all that an experiment of the lab runs. A session or a
# process group of their own does not hide them, nor that their parents are gone. Sourced.

# marked MARK: their pids, a line each.
marked() {
	# One look at all; what it says of a process is then asked of that process alone, for an environment
	# may hold any text. tail writes the names of files only where there are several.
	(
		set +f
		tail -n +1 /dev/null /proc/[0-9]*/environ 2>/dev/null
	) | tr '\0' '\n' | awk -v mark="$1" '
		/^==> \/proc\/[0-9]+\/environ <==$/ { split($2, part, "/"); pid = part[3] }
		$0 == mark && pid != "" { print pid }' | while read -r marked_pid; do
		! is_marked "$marked_pid" "$1" || echo "$marked_pid"
	done
}

# is_marked PID MARK: and is more than a zombie, whose environment is empty?
is_marked() {
	tr '\0' '\n' 2>/dev/null <"/proc/$1/environ" | grep -qxF -e "$2"
} 2>/dev/null

# marked_roots MARK: those of them whose parents are not.
marked_roots() {
	marked "$1" | while read -r marked_roots_pid; do
		marked_roots_parent=$(sed 's/.*) //' "/proc/$marked_roots_pid/stat" 2>/dev/null | cut -d ' ' -f 2)
		is_marked "${marked_roots_parent:-0}" "$1" || echo "$marked_roots_pid"
	done
}

# signal_all SIGNAL: the pids on standard input.
signal_all() {
	while read -r signal_all_pid; do
		kill "-$1" "$signal_all_pid" 2>/dev/null
	done
	return 0
}

# none_marked MARK TENTHS: waits for at most so many tenths of a second until there is none.
none_marked() {
	none_marked_left=$2
	# Twice: who is just being started has the mark a moment later.
	while [ -n "$(marked "$1")" ] || { sleep 0.1 && [ -n "$(marked "$1")" ]; }; do
		[ "$none_marked_left" -gt 0 ] || return 1
		none_marked_left=$((none_marked_left - 1))
		sleep 0.1
	done
}

# end_marked MARK: those that started the others first, and gently: netcost-record has a host to put back.
# Takes ten seconds at the most.
end_marked() {
	marked_roots "$1" | signal_all TERM
	none_marked "$1" 40 && return
	marked "$1" | signal_all TERM
	none_marked "$1" 8 && return
	marked "$1" | signal_all KILL
	none_marked "$1" 8
}
