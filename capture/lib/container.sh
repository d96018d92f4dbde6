# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --attach container:NAME: which process is it, and whose network does it see? Sourced. Only reads, and asks the program
# that runs containers where one is here.

# container_pid NAME: its first process, by the first of docker, podman, crictl and ctr that knows it; without one, by a
# cgroup that is called after it. Fails where nobody knows.
container_pid() {
	for container_pid_program in docker podman; do
		command -v "$container_pid_program" >/dev/null || continue
		container_pid_found=$(asked "$container_pid_program" inspect -f '{{.State.Pid}}' "$1" 2>/dev/null </dev/null) || continue
		! is_pid "$container_pid_found" || { echo "$container_pid_found" && return; }
	done
	if command -v crictl >/dev/null; then
		for container_pid_id in "$1" $(asked crictl ps -q --name "^$1\$" 2>/dev/null </dev/null | head -n 1); do
			container_pid_found=$(asked crictl inspect -o go-template --template '{{.info.pid}}' "$container_pid_id" 2>/dev/null </dev/null) || continue
			! is_pid "$container_pid_found" || { echo "$container_pid_found" && return; }
		done
	fi
	if command -v ctr >/dev/null; then
		for container_pid_space in $(asked ctr namespaces ls -q 2>/dev/null </dev/null); do
			container_pid_found=$(asked ctr -n "$container_pid_space" tasks ls 2>/dev/null </dev/null | awk -v name="$1" '$1 == name { print $2; exit }')
			! is_pid "$container_pid_found" || { echo "$container_pid_found" && return; }
		done
	fi
	# Identities are cut to twelve digits on screens; a shorter word would be in many a path.
	case $1 in
	????????????*) ;;
	*) return 1 ;;
	esac
	proc_files cgroup | xargs grep -lF -e "$1" 2>/dev/null | cut -d / -f 3 | sort -n | head -n 1 | grep .
}

# is_pid WORD: of a process that runs? 0 is a container's that does not.
is_pid() {
	case $1 in
	'' | 0* | *[!0-9]*) return 1 ;;
	esac
	[ -d "/proc/$1" ]
}

# add_network_of PID: its network namespace, where that is another than this one's, to those that are looked up.
add_network_of() {
	add_network_of_own=$(readlink /proc/self/ns/net) add_network_of_its=$(readlink "/proc/$1/ns/net")
	[ -n "$add_network_of_its" ] && [ "$add_network_of_own" != "$add_network_of_its" ] || return 0
	for add_network_of_one in ${netns:-.}; do
		[ "$add_network_of_one" = . ] || [ "$(readlink "$(namespace_path "$add_network_of_one")")" != "$add_network_of_its" ] || return 0
	done
	netns="${netns:-.} pid-$1"
	in_network_namespace "pid-$1" true 2>/dev/null ||
		note "the service's network namespace cannot be entered (that takes CAP_SYS_ADMIN): only the counters in its /proc/PID/net are recorded"
}
