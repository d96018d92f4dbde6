# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# What the kernel says of a service that runs already. Sourced. Only reads. Uses attached, attached_folders, work;
# processes.sh.

# born_of PID: when it began, in ticks since the host did: a number that is another's by now has another birth.
born_of() {
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

# service_gone: why it is not there any more; nothing while it is.
service_gone() {
	case $attached in
	process\ *)
		service_gone_pid=${attached#process } service_gone_pid=${service_gone_pid% *}
		service_gone_born=$(born_of "$service_gone_pid")
		case $service_gone_born in
		"${attached##* }") ! grep -q '^State:[[:space:]]*Z' "/proc/$service_gone_pid/status" 2>/dev/null || echo "process $service_gone_pid is a zombie" ;;
		'') echo "there is no process $service_gone_pid any more" ;;
		*) echo "process $service_gone_pid is another by now" ;;
		esac
		;;
	*) [ -n "$(service_pids)" ] || echo "its cgroup has no process any more" ;;
	esac
}

# service_pids: the processes that it consists of.
service_pids() {
	case $attached in
	process\ *)
		service_pids_of=${attached#process }
		with_children "${service_pids_of% *}"
		;;
	*) find "${attached#cgroup }" -name cgroup.procs -exec cat '{}' + 2>/dev/null | sort -nu | paste -s -d ' ' - ;;
	esac
}

# write_service: as write_tasks, and of each thread lines "PID task/TID/FILE text" of its stat and its schedstat, for that of a
# process is its first thread's.
write_service() {
	write_service_all=$(service_pids)
	write_tasks "$write_service_all"
	for write_service_pid in $write_service_all; do
		# Threads come and go, and not every awk goes on behind a file that is gone.
		grep -H '' "/proc/$write_service_pid/task/"[0-9]*/stat "/proc/$write_service_pid/task/"[0-9]*/schedstat 2>/dev/null |
			sed 's,^/proc/\([0-9]*\)/\([^:]*\):,\1 \2 ,'
	done
	return 0
}

# write_cgroup: what its cgroup counts, lines "FILE text".
write_cgroup() {
	printf '%s' "$attached_folders" | while IFS= read -r write_cgroup_folder; do
		for write_cgroup_file in cpu.stat cpu.max cpu.pressure irq.pressure cpuacct.usage cpuacct.stat; do
			[ -r "$write_cgroup_folder/$write_cgroup_file" ] || continue
			awk -v file="$write_cgroup_file" '{ print file, $0 }' "$write_cgroup_folder/$write_cgroup_file" 2>/dev/null
		done
	done
}

# read_work: the number that --work prints; fails without one. Twice, for a file that is written anew is empty for a moment.
read_work() { read_work_once || read_work_once; }

read_work_once() {
	read_work_said=$(run_work) && echo "$read_work_said" | grep -xE '[0-9]{1,18}(\.[0-9]{1,9})?' | tail -n 1 | grep .
}

# read_work_output: what --work prints where that is the output of a program that netcost reads, 1 MiB at most; fails where not.
read_work_output() {
	read_work_said=$(run_work) && printf '%s\n' "$read_work_said" |
		grep -qE '^sockperf: |requests per second|^"test","rps"|^Requests/sec: |"fio version"|THROUGHPUT| TEST (from|to) |"bits_per_second"' &&
		printf '%s\n' "$read_work_said" | head -c 1048576
}

run_work() { NETCOST_FILES=${destination-}/files asked sh "$library/as-called.sh" "" sh -c "$work" </dev/null 2>/dev/null; }
