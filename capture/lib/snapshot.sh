# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Copies of the host's counters and of its settings, each with the time it was read at. Sourced. Only
# reads. The README leads to what each file is.

# The files of /proc that are the same in every network namespace; "/" becomes "_" in the bundle.
snapshot_files='stat interrupts softirqs net/softnet_stat schedstat loadavg'

# read_counters DIR stamp|devices|network|proc|service_counters...: the counters into DIR, with DIR/stamp to line them up with the
# trace: when the snapshot began (monotonic_ns, realtime_ns) and, for each file, the two readings of
# the clock between which its counters were read. proc, which takes a shell's read or two, is read nearest to
# the window; devices, which take programs for each, farthest away.
read_counters() {
	read_counters_folder=$1
	shift
	for read_counters_what in "$@"; do
		{ mkdir -p "$read_counters_folder" && "write_$read_counters_what" "$read_counters_folder" >>"$read_counters_folder/stamp"; } 2>/dev/null ||
			die "cannot write the counters to $read_counters_folder: is there room?"
	done
}

write_devices() {
	write_spaces "$1" devices
}

write_network() {
	write_spaces "$1" counters
}

write_stamp() {
	read_clock
	echo "monotonic_ns $monotonic_ns" || return 1
	write_stamp_realtime=$(date +%s%N)
	case $write_stamp_realtime in
	# Not every date knows nanoseconds.
	*[!0-9]* | ??????????) write_stamp_realtime=$(date +%s)000000000 ;;
	esac
	echo "realtime_ns $write_stamp_realtime"
}

write_proc() {
	for write_proc_file in $snapshot_files; do
		# schedstat is absent where scheduler statistics are compiled out.
		[ -r "/proc/$write_proc_file" ] || continue
		case $write_proc_file in
		*/*) write_proc_name=${write_proc_file%%/*}_${write_proc_file#*/} ;;
		*) write_proc_name=$write_proc_file ;;
		esac
		write_state "$1" "$write_proc_name" cat "/proc/$write_proc_file" || return 1
	done
	[ -z "$daemons" ] || write_state "$1" daemons write_daemons
}

# write_service_counters: of a service that runs already, and of what a victim has done.
write_service_counters() {
	if [ -z "$attached" ]; then
		write_work "$1"
		return
	fi
	case $1 in
	*/before)
		write_work "$1"
		write_state "$1" victim_cgroup write_cgroup && write_state "$1" victim write_service
		;;
	*)
		write_state "$1" victim write_service && write_state "$1" victim_cgroup write_cgroup || return 1
		write_work "$1"
		;;
	esac
}

# write_work DIR: what it has done so far, or what a program printed of it in the end. That it cannot be read ends no
# recording.
write_work() {
	[ -n "$work" ] || return 0
	if write_state "$1" work read_work; then
		case $1 in
		*/after) [ -s "${1%/*}/before/work" ] || note "--work printed no number before the run, so it is unknown by how much it grew" ;;
		esac
		return
	fi
	case $1 in
	*/after) write_state "$1" work read_work_output && return ;;
	# A program says what it has done in the end.
	*) [ -n "$attached" ] || { rm -f "$1/work" && return; } ;;
	esac
	rm -f "$1/work"
	note "--work printed neither a number nor a benchmark's output when it was read for ${1##*/}"
}

# write_state DIR NAME COMMAND...: its output as DIR/NAME, its line of the stamp as this one's.
write_state() {
	write_state_file=$1/$2
	write_state_name=$2
	shift 2
	read_clock
	write_state_begin=$monotonic_ns
	"$@" >"$write_state_file" || return 1
	read_clock
	echo "$write_state_name $write_state_begin $monotonic_ns"
}

# write_spaces DIR counters|devices|settings: of every network namespace that was asked for, the first one's
# without a suffix.
write_spaces() {
	write_spaces_first=yes
	for write_spaces_space in ${netns:-.}; do
		namespace_suffix "$write_spaces_space" "$write_spaces_first"
		write_spaces_first=''
		# Settings are in sysfs, which shows the namespace it was mounted in: ip netns mounts another.
		case $write_spaces_space,$2 in
		.,*) sh "$library/read-network.sh" "$library" "$2" "$1" "$suffix" ;;
		pid-*) write_space_of_process "$1" "$2" "$write_spaces_space" ;;
		*,settings) ip netns exec "$write_spaces_space" sh "$library/read-network.sh" "$library" "$2" "$1" "$suffix" ;;
		*) in_network_namespace "$write_spaces_space" sh "$library/read-network.sh" "$library" "$2" "$1" "$suffix" ;;
		esac || return 1
	done
}

# write_space_of_process DIR counters|devices|settings NAME: its counters can be read without entering it.
write_space_of_process() {
	write_space_of_process_proc=$(proc_of_namespace "$3")
	set -- "$1" "$2" "$3" sh "$library/read-network.sh" "$library" "$2" "$1" "$suffix"
	case $2,$write_space_of_process_proc in
	settings,?*)
		shift 3
		# /sys shows the namespace that it was mounted in.
		# shellcheck disable=SC2016 # for the inner shell to expand
		nsenter --net="$write_space_of_process_proc/ns/net" unshare -m sh -c 'mount -t sysfs sysfs /sys && exec "$@"' sysfs "$@" 2>/dev/null || :
		;;
	counters,?*)
		shift 3
		"$@" "$write_space_of_process_proc"
		;;
	*)
		in_network_namespace_of=$3
		shift 3
		in_network_namespace "$in_network_namespace_of" "$@" 2>/dev/null || :
		;;
	esac
}

write_daemons() {
	write_tasks "$(pids_of "$daemons")"
}

# read_settings DIR: how the host is set, with a stamp of its own. Takes programs for every network
# device, so it is done when nothing is recorded.
read_settings() {
	{ mkdir -p "$1" && write_settings "$1" >"$1/stamp"; } 2>/dev/null || die "cannot write the settings to $1: is there room?"
	if [ -e "$1/cut" ]; then
		[ "${1%/before/settings}" = "$1" ] || note "$(cat "$1/cut")"
		rm -f "$1/cut"
	fi
}

write_settings() {
	write_stamp || return 1
	for write_settings_file in cpuinfo cmdline meminfo uptime; do
		write_state "$1" "$write_settings_file" cat "/proc/$write_settings_file" || return 1
	done
	for write_settings_name in hostname topology cpufreq irq_affinity vulnerabilities virtualization; do
		write_state "$1" "$write_settings_name" "settings_$write_settings_name" || return 1
	done
	case " $events$profile_pairs " in
	*' kmem:kfree '*) write_state "$1" symbols settings_symbols || return 1 ;;
	esac
	write_state "$1" tasks settings_tasks || return 1
	write_state "$1" sysctl_net_core settings_sysctls && write_spaces "$1" settings
}

settings_hostname() {
	uname -n
	# With its domain, where the host knows it without asking anybody.
	cat /etc/hostname 2>/dev/null || :
}

# settings_symbols: the functions that free a packet's data, and what follows each, which is where it ends.
settings_symbols() {
	awk '
		$2 !~ /^[tT]$/ { next }
		inside { print }
		{ inside = $3 ~ /^(skb_release_data|skb_free_head|skb_kfree_head)(\.|$)/ && $3 !~ /\.cold/ }
		inside { print }' /proc/kallsyms
}

# settings_tasks: of every process its name and parent, its cgroup where that is not the root, and its threads where there are
# several: lines "PID (NAME) STATE PARENT ", "PID cgroup PATH", "PID threads TID...".
settings_tasks() {
	all_stats | sed 's/^\([0-9]* (.*) [A-Za-z] [0-9]* \).*/\1/'
	# Of the first version's the one that CPU time is counted by.
	proc_files cgroup | xargs grep -H '' 2>/dev/null | awk '
		{ at = index($0, ":"); pid = substr($0, 7, at - 14); line = substr($0, at + 1); sub(/^[0-9]+:/, "", line) }
		{ colon = index(line, ":"); of = substr(line, 1, colon - 1); path = substr(line, colon + 1) }
		path == "/" || path == "" { next }
		of == "" { best[pid] = path; next }
		("," of ",") ~ /,(cpuacct|cpu),/ && !(pid in best) { best[pid] = path }
		END { for (pid in best) print pid, "cgroup", best[pid] }'
	# ls names the folder where there are several.
	proc_files task | xargs ls /dev/null 2>/dev/null | awk '
		/^\// { split($0, part, "/"); pid = part[3]; next }
		NF { threads[pid] = threads[pid] " " $1; n[pid]++ }
		END { for (pid in threads) if (n[pid] > 1) print pid, "threads" threads[pid] }'
}

settings_virtualization() {
	virtualization
}

settings_sysctls() {
	for settings_sysctls_file in /proc/sys/net/core/*; do
		if [ -r "$settings_sysctls_file" ] && settings_sysctls_value=$(tr '\t\n' '  ' <"$settings_sysctls_file"); then
			echo "net.core.${settings_sysctls_file##*/} = ${settings_sysctls_value% }"
		fi
	done 2>/dev/null
}

settings_topology() {
	values_of /sys/devices/system/cpu/online /sys/devices/system/cpu/isolated /sys/devices/system/cpu/nohz_full \
		/sys/devices/system/cpu/smt/active /sys/devices/system/cpu/cpu[0-9]*/topology/[cdp]*_id \
		/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list /sys/devices/system/node/node[0-9]*/cpulist
}

settings_cpufreq() {
	values_of /sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_[dgm]* /sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference \
		/sys/devices/system/cpu/intel_pstate/[nst]* /sys/devices/system/cpu/cpufreq/boost \
		/sys/devices/system/cpu/cpuidle/current_* /sys/devices/system/cpu/cpu0/cpuidle/state*/name \
		/sys/devices/system/clocksource/clocksource0/*_clocksource
}

settings_irq_affinity() {
	values_of /proc/irq/default_smp_affinity /proc/irq/[0-9]*/smp_affinity_list /proc/irq/[0-9]*/effective_affinity_list \
		/sys/kernel/irq/[0-9]*/actions
}

settings_vulnerabilities() {
	values_of /sys/devices/system/cpu/vulnerabilities/*
}

# values_of FILE...: "FILE first line" for each that can be read.
values_of() {
	for values_of_file in "$@"; do
		if [ -r "$values_of_file" ] && read -r values_of_value <"$values_of_file"; then
			echo "$values_of_file $values_of_value"
		fi
	done 2>/dev/null
	return 0
}
