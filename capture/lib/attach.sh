# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# --attach: what runs already is the victim, a process with all that comes from it, or a cgroup. Sourced. Only reads.
# Sets attached to "process PID BORN" or "cgroup FOLDER", which service.sh reads by, and of it attached_comm, its name,
# attached_command, attached_cgroup, its cgroup's path, and attached_folders, where the kernel counts for that.

# begin_attach: finds it, before anything runs.
begin_attach() {
	[ -n "$attach" ] || return 0
	case $attach in
	container:*) attach_container ;;
	*[!0-9]*) attach_cgroup ;;
	*) attach_process ;;
	esac
	[ -z "$work" ] || read_work >/dev/null || read_work_output >/dev/null ||
		die "--work takes a command that prints a number, such as 4711, or a benchmark's output, and ends with status 0"
	recorder_cpus=''
	[ -z "$victim_cpu" ] || recorder_cpus=$(cpu_list "$online" | grep -vx "$victim_cpu" | paste -s -d , -)
}

# attach_container: its cgroup, where it has one of its own, else its first process with all that comes from it.
attach_container() {
	attached_container=${attach#container:}
	attach=$(container_pid "$attached_container") ||
		die "no container $attached_container was found here (--attach): name one of its processes, or its cgroup"
	attach_process
	attach_container_folder=$(printf '%s' "$attached_folders" | head -n 1)
	[ -z "$attach_container_folder" ] || attached="cgroup $attach_container_folder"
}

attach_process() {
	attach_process_born=$(born_of "$attach")
	[ -n "$attach_process_born" ] || die "no process has the number $attach (--attach)"
	attached="process $attach $attach_process_born"
	attached_comm=$(first_line "/proc/$attach/comm")
	attached_command=$(tr '\0' ' ' <"/proc/$attach/cmdline" 2>/dev/null)
	attached_command=${attached_command% }
	attached_command=${attached_command:-$attached_comm}
	attached_cgroup='' attached_folders=''
	# Of the root cgroup the host itself is told, and of another namespace's nothing can be found.
	while IFS=: read -r _ attach_process_controllers attach_process_path; do
		case $attach_process_path in
		/ | */..*) continue ;;
		esac
		case ",$attach_process_controllers," in
		,, | *,cpuacct,* | *,cpu,*) ;;
		*) continue ;;
		esac
		attach_process_folder=$(cgroup_mount "$attach_process_controllers")$attach_process_path
		[ -r "$attach_process_folder/cgroup.procs" ] || continue
		attached_cgroup=${attached_cgroup:-$attach_process_path}
		attached_folders="$attached_folders$attach_process_folder$newline"
	done <"/proc/$attach/cgroup"
	victim_cpu=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*\([0-9]*\)$/\1/p' "/proc/$attach/status")
	echo "$recorded_cpus" | grep -qx -e "$victim_cpu" || victim_cpu=''
	add_network_of "$attach"
}

# attach_cgroup: a folder of a cgroup file system, or a path within one.
attach_cgroup() {
	attached_folders=''
	case $attach in
	*/../* | ../* | */.. | ..) die "--attach takes the cgroup's own path, not $attach" ;;
	esac
	for attach_cgroup_root in '' $(cgroup_mounts); do
		attach_cgroup_path=$attach
		[ -z "$attach_cgroup_root" ] || attach_cgroup_path=$attach_cgroup_root/${attach#/}
		[ -r "$attach_cgroup_path/cgroup.procs" ] || continue
		for attach_cgroup_mount in $(cgroup_mounts); do
			case $attach_cgroup_path in
			"$attach_cgroup_mount"/?*)
				attached_cgroup=/${attach_cgroup_path#"$attach_cgroup_mount"/}
				attached_folders="$attached_folders$attach_cgroup_path$newline"
				;;
			esac
		done
	done
	[ -n "$attached_folders" ] || die "$attach is neither a process number nor a cgroup with processes of its own (--attach)"
	attached="cgroup $(echo "$attached_folders" | head -n 1)"
	attached_comm=${attached_cgroup##*/} attached_command=$attached_cgroup
	attach_cgroup_first=$(service_pids)
	attach_cgroup_first=${attach_cgroup_first%% *}
	[ -n "$attach_cgroup_first" ] || die "cgroup $attached_cgroup has no process (--attach)"
	add_network_of "$attach_cgroup_first"
}

# cgroup_mounts: the folders that cgroups are in, those of the second version first.
cgroup_mounts() {
	awk '$3 == "cgroup2" { print $2 } $3 == "cgroup" && $4 ~ /(^|,)(cpuacct|cpu)(,|$)/ { old[++n] = $2 } END { for (i = 1; i <= n; i++) print old[i] }' /proc/mounts
}

# cgroup_mount CONTROLLERS: where that hierarchy is; none are the second version's.
cgroup_mount() {
	awk -v of="$1" '
		of == "" ? $3 == "cgroup2" : $3 == "cgroup" && index("," $4 ",", "," of ",") { print $2; exit }' /proc/mounts
}

# run_attached: waits for --duration while the service does what it does anyway.
run_attached() {
	read_clock
	victim_started_ns=$monotonic_ns attached_gone=''
	if [ -n "$(service_gone)" ]; then
		[ -n "$until" ] || die "the service has ended: $(service_gone)"
		note "the service ended while it was recorded"
		attached_gone=yes victim_ended_ns=$monotonic_ns
		return
	fi
	echo attached >"$workspace/victim_pid"
	setsid sh "$library/guard.sh" "$workspace/alive" "" sh "$library/watch-service.sh" "$library" "$attached" </dev/null >/dev/null 2>&1 5>&- &
	service_watch=$!
	start_limit "$duration"
	while next_report; do
		size_limit_is_low_disk
		case $report in
		limit | 'until signal') break ;;
		'service gone')
			attached_gone=yes
			note "the service ended while it was recorded"
			warn "the service has ended"
			break
			;;
		'disk low '*)
			disk_low "$report"
			break
			;;
		*) other_report ;;
		esac
	done
	read_clock
	victim_ended_ns=$monotonic_ns
}

# end_attached: ending what waited takes time, so it comes once the counters are read.
end_attached() {
	stop_limit
	end_session "$service_watch" "the watch on the service"
	service_watch=''
}

# watch_service DIR NOTE: as long a look at the service without recording it.
watch_service() {
	warn "watching the service for $duration s, untraced"
	destination=$1
	mkdir -p "$1" || die "cannot write to $1: is there room?"
	read_counters "$1/before" stamp network proc service_counters
	run_attached
	read_counters "$1/after" stamp service_counters proc network
	end_attached
	write_baseline_manifest "$1" "$2"
}

# watch_afterwards: the same behind the recording, of which all is known by now.
watch_afterwards() {
	attached_recorded=$(json_attached "$partial")
	[ -z "$attached_gone$cut_short" ] || return 0
	watch_service "$partial/afterwards" "the service behind the recording, untraced"
	[ -z "$attached_gone" ] || warn "the service ended after the recording"
	destination=$partial
}

# json_attached DIR: what of the victim object is of a service.
json_attached() {
	if [ "$1" = "$partial" ] && [ -n "$attached_recorded" ]; then
		printf '%s' "$attached_recorded"
		return
	fi
	read -r json_attached_user json_attached_system json_attached_wall <<-SECONDS
		$(service_seconds "$1")
	SECONDS
	printf '{"command": %s, "cpu": %s, "pid": %s,\n' "$(json_string "$attached_command")" "${victim_cpu:-null}" "$(attached_pid)"
	printf '    "start_ns": %s, "end_ns": %s,\n' "$(on_the_clock "$victim_started_ns")" "$(on_the_clock "$victim_ended_ns")"
	printf '    "user_s": %s, "system_s": %s, "wall_s": %s,\n' "$json_attached_user" "$json_attached_system" "$json_attached_wall"
	printf '    "output": null,\n    "attached": {"to": "%s", "comm": %s, "start_ticks": %s, "cgroup": %s, "container": %s, "ended": %s, "work": %s}}' \
		"${attached%% *}" "$(json_string "$attached_comm")" "$(attached_born)" "$(json_word "$attached_cgroup")" \
		"$(json_word "$attached_container")" "$(json_bool "$attached_gone")" "$(json_word "$work")"
}

attached_pid() {
	case $attached in
	process\ *) echo "$attach" ;;
	*) echo null ;;
	esac
}

attached_born() {
	case $attached in
	process\ *) echo "${attached##* }" ;;
	*) echo null ;;
	esac
}

# service_seconds DIR: what its processes were charged with between the two copies, user and system. Who ended meanwhile
# is in the times of its parent, with all that it had before. Then the time between the two. null where it had ended.
service_seconds() {
	if [ ! -s "$1/before/victim" ] || [ ! -s "$1/after/victim" ]; then
		echo "null null $(seconds $((victim_ended_ns - victim_started_ns)))"
		return
	fi
	awk '
		FILENAME ~ /stamp$/ {
			if ($1 == "victim") read_ns[FILENAME ~ /after\/stamp$/] = ($2 + $3) / 2
			next
		}
		$2 == "stat" {
			copy = FILENAME ~ /after\/victim$/
			pid = $1; sub(/.*\) /, "")
			pid = pid " " $20
			there[copy, pid] = 1; parent[pid] = $2; pids[pid] = 1
			user[copy, pid] = $12 + $14; system_[copy, pid] = $13 + $15
			if (copy) alive[substr(pid, 1, index(pid, " ") - 1)] = 1
		}
		END {
			for (pid in pids) {
				if ((1, pid) in there) { u += user[1, pid]; s += system_[1, pid] }
				if ((0, pid) in there && ((1, pid) in there || parent[pid] in alive)) { u -= user[0, pid]; s -= system_[0, pid] }
			}
			printf "%.2f %.2f %.6f\n", u < 0 ? 0 : u / 100, s < 0 ? 0 : s / 100, (read_ns[1] - read_ns[0]) / 1e9
		}' "$1/before/stamp" "$1/after/stamp" "$1/before/victim" "$1/after/victim"
}
