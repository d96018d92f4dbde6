# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What the host says about itself: clocks, counters, configuration. Sourced. Only reads.

# read_clock: sets monotonic_ns, and clock_exact where that is what it should be. /proc/timer_list states CLOCK_MONOTONIC in ns, the clock perf is
# told to use, and costs no fork; where it is absent (not root, lockdown) /proc/uptime gives
# CLOCK_BOOTTIME in steps of 10 ms, the same clock on a host that has never slept.
read_clock() {
	monotonic_ns='' clock_exact=yes
	if [ -r /proc/timer_list ]; then
		while read -r read_clock_word _ read_clock_value _; do
			if [ "$read_clock_word" = now ]; then
				monotonic_ns=$read_clock_value
				break
			fi
		done </proc/timer_list
	fi
	if [ -z "$monotonic_ns" ]; then
		# Containers hide it behind an empty file.
		clock_exact=''
		read -r read_clock_value _ </proc/uptime
		# A leading 1 keeps 08 and 09 from being read as octal.
		read_clock_word=1${read_clock_value#*.}
		monotonic_ns=$((${read_clock_value%.*} * 1000000000 + (read_clock_word - 100) * 10000000))
	fi
}

# clock_note: says what read_clock stands on, when it is not the trace's clock.
clock_note() {
	read_clock
	[ -n "$clock_exact" ] || echo "victim and snapshot times are CLOCK_BOOTTIME in steps of 10 ms: /proc/timer_list cannot be read"
}

# in_network_namespace NAME COMMAND...: runs it in the namespace of that name, "." being this one.
in_network_namespace() {
	in_network_namespace_name=$1
	shift
	if [ "$in_network_namespace_name" = . ]; then "$@"; else nsenter --net="$(namespace_path "$in_network_namespace_name")" "$@"; fi
}

# namespace_path NAME: a name of ip netns, or pid-NUMBER, that of a process.
namespace_path() {
	case $1 in
	pid-*[!0-9]* | pid-) ;;
	pid-*)
		[ -e "/run/netns/$1" ] || { echo "/proc/${1#pid-}/ns/net" && return; }
		;;
	esac
	echo "/run/netns/$1"
}

# proc_of_namespace NAME: a folder whose net/ has its counters, readable without entering it; nothing where there is none.
proc_of_namespace() {
	case $(namespace_path "$1") in
	/proc/*) echo "/proc/${1#pid-}" ;;
	esac
}

# namespace_suffix NAME FIRST: sets suffix, by which the files of all namespaces but the first are told apart.
namespace_suffix() {
	case $1,$2 in
	*,yes) suffix='' ;;
	.,*) suffix=.host ;;
	*) suffix=.$1 ;;
	esac
}

# asked PROGRAM ARGUMENT...: runs what is only asked something, and ends it when it does not answer.
asked() {
	if timeout -s KILL 1 true 2>/dev/null; then
		timeout -s KILL "$asked_seconds" "$@"
	else
		"$@"
	fi
}
asked_seconds=${NETCOST_ASKED_SECONDS:-20}

# kernel_config_bits: keeps from a kernel configuration the bits that decide how CPU time is
# charged and how interrupts run, KEY=value a line; "is not set" becomes =n, for absence decides too.
kernel_config_bits() {
	sed -n 's/^# \(CONFIG_[A-Z0-9_]*\) is not set$/\1=n/; /^CONFIG_/p' |
		grep -E '^CONFIG_(HZ[0-9A-Z_]*|(TICK_CPU|VIRT_CPU|IRQ_TIME|PARAVIRT_TIME)_ACCOUNTING[A-Z_]*|PREEMPT[A-Z_]*|NO_HZ[A-Z_]*|IRQ_FORCED_THREADING|SCHEDSTATS|RPS|NET_RX_BUSY_POLL)='
}

# kernel_config: those bits of the running kernel; fails where its configuration is not to be read.
kernel_config() {
	if [ -r /proc/config.gz ] && command -v gzip >/dev/null; then
		gzip -dc /proc/config.gz | kernel_config_bits
		return
	fi
	for kernel_config_file in "/boot/config-$(uname -r)" "/lib/modules/$(uname -r)/config" "/lib/modules/$(uname -r)/build/.config"; do
		if [ -r "$kernel_config_file" ]; then
			kernel_config_bits <"$kernel_config_file"
			return
		fi
	done
	return 1
}

# virtualization: kvm, vmware, ... , none, or unknown.
virtualization() {
	if command -v systemd-detect-virt >/dev/null; then
		systemd-detect-virt --vm
	elif grep -q '^flags.* hypervisor' /proc/cpuinfo; then
		echo unknown
	else
		echo none
	fi
}

# first_line FILE: its first line, nothing where it cannot be read.
first_line() {
	if [ -r "$1" ]; then head -n 1 "$1" 2>/dev/null; fi
}

# cpu_list LIST: the CPUs of a kernel list such as 0-2,5 in ascending order, one a line.
# Fails where LIST is not one.
cpu_list() {
	case $1 in
	'' | *[!0-9,-]*) return 1 ;;
	esac
	# In no file: one that could not be written would be taken for a wrong list.
	cpu_list_all=$(echo "$1" | tr ',' '\n' | awk -F- '
		NF > 2 || $1 == "" || (NF == 2 && ($2 == "" || $2 + 0 < $1 + 0)) || $NF > 65535 { bad = 1; exit }
		{ for (cpu = $1 + 0; cpu <= $NF + 0; cpu++) print cpu }
		END { exit bad }') || return 1
	echo "$cpu_list_all" | sort -nu
}

# json_version PROGRAM: what it says of its version, null where it is not installed.
json_version() {
	if command -v "$1" >/dev/null; then json_string "$(asked "$1" --version 2>&1 | grep -m 1 version)"; else printf null; fi
}

# json_host: the host object of the manifest.
json_host() {
	printf '{"kernel": %s, "kernel_version": %s, "arch": %s, "virtualization": %s,\n' \
		"$(json_string "$(uname -r)")" "$(json_string "$(uname -v)")" \
		"$(json_string "$(uname -m)")" "$(json_string "$(virtualization)")"
	printf '    "cpus_online": %s, "cpu_model": %s, "clocksource": %s, "preempt": %s,\n' \
		"$(json_string "$(first_line /sys/devices/system/cpu/online)")" \
		"$(json_string "$(sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo)")" \
		"$(json_string "$(first_line /sys/devices/system/clocksource/clocksource0/current_clocksource)")" \
		"$(json_string "$(first_line /sys/kernel/debug/sched/preempt)")"
	printf '    "perf": %s, "trace_cmd": %s,\n' "$(json_version perf)" "$(json_version trace-cmd)"
	printf '    "sysctls": {'
	json_host_comma=''
	for json_host_name in netdev_budget netdev_budget_usecs dev_weight netdev_max_backlog skb_defer_max; do
		json_host_value=$(first_line "/proc/sys/net/core/$json_host_name")
		case $json_host_value in
		'' | *[!0-9]*) continue ;;
		esac
		printf '%s"net.core.%s": %s' "$json_host_comma" "$json_host_name" "$json_host_value"
		json_host_comma=', '
	done
	printf '}}'
}
