# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The kernel's tracing files: where they are, CPU masks, what a ring buffer lost. Sourced.

# own_tracefs: where a recorder has mounted it, which says so in the table of mounts.
own_tracefs() {
	awk '$1 == "netcost" && $3 == "tracefs" { print $2; exit }' /proc/mounts
}

# find_tracefs: sets tracefs. Where it is not mounted it is mounted, and each recorder that uses what a recorder has mounted
# holds a file of it open as descriptor 6. So the kernel unmounts it for the last of them alone, in whatever order they end.
find_tracefs() {
	for tracefs in /sys/kernel/tracing /sys/kernel/debug/tracing; do
		! hold_tracefs || return 0
	done
	tracefs=/sys/kernel/tracing
	if [ "$(id -u)" = 0 ] && [ -d "$tracefs" ]; then
		# Another may just mount it, or unmount it.
		for _ in 1 2 3 4 5; do
			mount -t tracefs netcost "$tracefs" 2>/dev/null
			hold_tracefs || continue
			note "tracefs was not mounted: it was mounted for the recording, and unmounted after it"
			return
		done
	fi
	# That is a line of its table, too.
	if [ -n "$check_only" ]; then tracefs='' && return; fi
	[ "$(id -u)" = 0 ] || die "recording takes root: user $(id -u) cannot read tracefs (--check says what it takes)"
	die "tracefs is not mounted or not readable: mount -t tracefs tracefs /sys/kernel/tracing"
}

hold_tracefs() {
	[ -d "$tracefs/events" ] || return 1
	[ "$(own_tracefs)" != "$tracefs" ] || { command exec 6<"$tracefs/trace_clock"; } 2>/dev/null
}

# unmount_tracefs: unless another recorder uses it, which then does.
unmount_tracefs() {
	exec 6<&-
	unmount_tracefs_from=$(own_tracefs)
	[ -z "$unmount_tracefs_from" ] || umount "$unmount_tracefs_from" 2>/dev/null || :
}

has_event() {
	[ -z "$tracefs" ] || [ -d "$tracefs/events/${1%%:*}/${1#*:}" ]
}

# selected FILE: the word in brackets, as trace_clock shows what is chosen.
selected() {
	sed -n 's/.*\[\([^]]*\)\].*/\1/p' "$1"
}

# trace_clocks: the clocks of this kernel on one line.
trace_clocks() {
	[ -z "$tracefs" ] || tr -d '[]' <"$tracefs/trace_clock"
}

# cpu_mask CPUS: their mask as the kernel writes it, 32 bits a word. Not every awk has powers.
cpu_mask() {
	echo "$1" | tr '\n' ' ' | awk '{
		for (i = 1; i <= NF; i++) {
			digit = int($i / 4)
			mask[digit] += substr("1248", $i % 4 + 1, 1)
			if (digit > top) top = digit
		}
		for (digit = top + 0; digit >= 0; digit--) printf("%x%s", mask[digit], (digit > 0 && digit % 8 == 0) ? "," : "")
	}'
}

# count_losses: reads per-CPU stats, each CPU's after a line "CPU: N", and sets lost_events and
# losses, a line "CPU overrun commit_overrun dropped" for each that lost any. Without stats
# lost_events is empty: not known. What a rolling recording overwrites is not lost.
count_losses() {
	# A full ring overwrites its oldest events (overrun) or refuses new ones (dropped); an event that
	# interrupts another one of a full ring is a commit overrun.
	awk -v rolling="${until:+yes}" '
		/^CPU:/ { cpu = $2; seen[++count] = cpu }
		/^overrun:/ { overrun[cpu] = $2 }
		/^commit overrun:/ { commit[cpu] = $3 }
		/^dropped events:/ { dropped[cpu] = $3 }
		END {
			for (i = 1; i <= count; i++) {
				cpu = seen[i]
				lost = overrun[cpu] + commit[cpu] + dropped[cpu]
				total += lost - (rolling == "" ? 0 : overrun[cpu])
				if (lost > 0) printf "%d %d %d %d\n", cpu, overrun[cpu], commit[cpu], dropped[cpu]
			}
			if (count > 0) printf "total %d\n", total
		}' >"$workspace/losses"
	lost_events=$(sed -n 's/^total //p' "$workspace/losses")
	losses=$(grep -v '^total' "$workspace/losses")
}
