# shellcheck shell=sh
# The processes that come of one: all that have a mark in the environment they were started with, NETCOST_RUN=PID-START for
# what a netcost-record measures, NETCOST_EXPERIMENT=PID-START for all that an experiment of the lab runs. A session or a
# process group of their own does not hide them, nor that their parents are gone. START is when the process of that number
# began, in ticks since boot: the environment of what is older is not looked at, for it is not of its making, may hold
# secrets, and reading it can block. No cgroup is made for them: below a unit of systemd that is systemd's to do.
# Sourced after processes.sh.

# marked_tree MARK: "PID PARENT" of each, none of a zombie.
marked_tree() {
	all_stats | awk -v began="${1##*-}" '
		{ pid = $1; sub(/.*\) /, "") }
		$20 >= began + 0 && $1 !~ /[ZX]/ { print "/proc/" pid "/environ" }' |
		# tail writes the names of files only where there are several.
		xargs tail -n +1 /dev/null 2>/dev/null | tr '\0' '\n' | awk -v mark="$1" '
		/^==> \/proc\/[0-9]+\/environ <==$/ { split($2, part, "/"); pid = part[3] }
		$0 == mark && pid != "" { print pid }' | while read -r marked_pid; do
		# Any environment may hold a line that looks like a file's name, so each process is read once more by itself.
		{ tr '\0' '\n' <"/proc/$marked_pid/environ" | grep -qxF -e "$1"; } 2>/dev/null || continue
		sed "s/.*) [^ ]* \\([0-9]*\\) .*/$marked_pid \\1/" "/proc/$marked_pid/stat" 2>/dev/null
	done | sort -u
}

# marked MARK: their pids, a line each.
marked() {
	marked_tree "$1" | cut -d ' ' -f 1
}

# marked_roots MARK: those of them whose parents are not.
marked_roots() {
	marked_tree "$1" | awk '{ parent[$1] = $2 } END { for (pid in parent) if (!(parent[pid] in parent)) print pid }'
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
