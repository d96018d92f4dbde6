# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# net.core.skb_defer_max: does the kernel do as it says? Sourced.
#
# A reader that is done with a packet leaves it to the CPU that allocated it, up to so many for each CPU, or frees it itself.
# On kernels from 844c9db7f7f5 (6.18) to 241dec6f9ab7 (2026-11) a CPU whose packets were read while the limit was 0
# counts them as left to it, has none to free, and so counts them for ever: nothing is deferred any more, whatever
# the limit is. A limit that the count does not reach lets it begin anew once packets flow.

# shellcheck source=../../lib/tracefs.sh
. "$lab/../lib/tracefs.sh"
# shellcheck source=../../lib/tool-tracefs.sh
. "$lab/../lib/tool-tracefs.sh"
instance='' check_only=''
defer_sysctl=/proc/sys/net/core/skb_defer_max
no_limit=2147483647 trickle_packets=400
# Who frees a packet's data, within the kernel.
freeing_functions='skb_release_data|skb_free_head|skb_kfree_head'

# freeing_filter [FILE]: the event filter that their calls pass, by the kernel's symbols; nothing where it hides their addresses.
freeing_filter() {
	# sort itself would take a minute to read it.
	# shellcheck disable=SC2002
	cat "${1:-/proc/kallsyms}" | sort -k 1,1 | awk -v ours="^($freeing_functions)([.]|\$)" '
		$2 !~ /^[tT]$/ { next }
		since != "" && $1 != since { printf "%s(call_site >= 0x%s && call_site < 0x%s)", either, since, $1; either = " || "; since = "" }
		$3 ~ ours && $3 !~ /[.]cold/ && $1 !~ /^0*$/ { since = $1 }'
}

# note TEXT: of lib/tracefs.sh, for a manifest that there is not.
note() {
	:
}

# remove_killed_instances: those that killed experiments and recorders have left in tracefs.
remove_killed_instances() {
	tracefs=/sys/kernel/tracing
	set +f
	remove_dead_instances
	set -f
}

# watch_frees WORD...: runs them while it is recorded who frees packets' data. Sets freed_by_reader, by tasks on
# reading_cpu, and freed_by_allocator, in softirqs on allocating_cpu. Fails with watch_frees_reason.
watch_frees() {
	watch_frees_filter=$(freeing_filter)
	[ -n "$watch_frees_filter" ] || { watch_frees_reason="the kernel hides its functions' addresses (kernel.kptr_restrict)" && return 1; }
	# It ends the shell where there is none.
	watch_frees_reason=$( (find_tracefs) 2>&1) || return
	find_tracefs
	name_instance
	watch_frees_reason="the events kmem:kfree and kmem:kmem_cache_free cannot be recorded here"
	mkdir "$instance" 2>/dev/null || { instance='' && return 1; }
	for watch_frees_event in kfree kmem_cache_free; do
		if ! set_instance "events/kmem/$watch_frees_event/filter" "$watch_frees_filter" || ! set_instance "events/kmem/$watch_frees_event/enable" 1; then
			end_watch_frees
			return 1
		fi
	done
	watch_frees_reason="the packets that were to show it were not sent"
	job "$@" >/dev/null 2>&1
	watch_frees_status=$?
	set_instance tracing_on 0
	read -r freed_by_reader freed_by_allocator <<-FREES
		$(awk -v reader="$reading_cpu" -v allocator="$allocating_cpu" '
			!match($0, / \[[0-9]+\] [^ ]+ +[0-9]+[.][0-9]+: /) { next }
			{ split(substr($0, RSTART, RLENGTH), part, " "); cpu = substr(part[1], 2) + 0; within = substr(part[2], 3, 1) }
			cpu == reader && within == "." { read++ }
			cpu == allocator && within ~ /[sH]/ { left++ }
			END { print read + 0, left + 0 }' "$instance/trace")
	FREES
	end_watch_frees
	return "$watch_frees_status"
}

# end_watch_frees: also at the end of an experiment, which a signal may have ended while it watched.
end_watch_frees() {
	remove_instance
	unmount_tracefs
}

# trickle_deferral ALLOCATING_CPU READING_CPU: as watch_frees, of some hundred datagrams from one to the other, so slow that none is
# dropped, in a network namespace that ends with them.
trickle_deferral() {
	allocating_cpu=$1 reading_cpu=$2
	# shellcheck disable=SC2016 # for the inner shell to expand
	watch_frees unshare --net sh -c '
		ip link set lo up || exit
		taskset -c "$2" iperf3 --server --one-off --bind 127.0.0.1 >/dev/null 2>&1 &
		for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
			! grep -qs " 0A " /proc/net/tcp || break
			sleep 0.05
		done
		taskset -c "$1" iperf3 --client 127.0.0.1 --udp --bitrate 40M --length 1400 --blockcount "$3"
		status=$?
		kill "$!" 2>/dev/null
		exit "$status"' sh "$1" "$2" "$trickle_packets"
}

# is_deferred: of what was watched, is most left to the CPU that allocated it? Fails with 2 where there was not enough to say.
is_deferred() {
	[ $((freed_by_reader + freed_by_allocator)) -ge $((trickle_packets / 2)) ] || return 2
	[ "$freed_by_allocator" -gt $((freed_by_reader * 4)) ]
}

# unstick_deferral ALLOCATING_CPU READING_CPU: with the limit that is set. Fails where packets are not deferred even then.
unstick_deferral() {
	unstick_deferral_limit=$(cat "$defer_sysctl")
	set_sysctl "$defer_sysctl" "$no_limit"
	trickle_deferral "$1" "$2"
	set_sysctl "$defer_sysctl" "$unstick_deferral_limit"
	trickle_deferral "$1" "$2" && is_deferred
}

# reading_cpus CPU: of each NUMA node one other online CPU.
reading_cpus() {
	set +f
	for reading_cpus_list in /sys/devices/system/node/node[0-9]*/cpulist; do
		[ -r "$reading_cpus_list" ] || reading_cpus_list=/sys/devices/system/cpu/online
		cpu_list "$(first_line "$reading_cpus_list")" | grep -xF -e "$(online_cpus)" | grep -vxF -e "$1" | head -n 1
	done
	set -f
}

# restore_deferral: each CPU's packets are deferred as the limit says; by behaviour, for the value says nothing.
restore_deferral() {
	restore_deferral_limit=$(cat "$defer_sysctl")
	# Where nothing is ever deferred nothing can be shown.
	[ "$restore_deferral_limit" -gt 1 ] || return 0
	command -v iperf3 >/dev/null || { warn "whether packets' frees are deferred again cannot be shown without iperf3" && return; }
	for restore_deferral_cpu in $(online_cpus); do
		for restore_deferral_reader in $(reading_cpus "$restore_deferral_cpu"); do
			trickle_deferral "$restore_deferral_cpu" "$restore_deferral_reader" || {
				warn "whether frees are deferred to CPU $restore_deferral_cpu again is not known: $watch_frees_reason"
				continue
			}
			! is_deferred || continue
			if unstick_deferral "$restore_deferral_cpu" "$restore_deferral_reader"; then
				warn "frees are deferred to CPU $restore_deferral_cpu again: the kernel's count of them was stuck"
			else
				warn "frees are not deferred to CPU $restore_deferral_cpu, though $defer_sysctl is $restore_deferral_limit"
			fi
		done
	done
}
