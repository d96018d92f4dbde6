# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# netcost-record's options: reads them, and refuses what cannot be meant. Sourced.

# read_options ARGUMENT...
read_options() {
	while [ $# -gt 0 ]; do
		read_options_name=$1
		case $read_options_name in
		--help | -h)
			usage
			exit 0
			;;
		--baseline) baseline=yes ;;
		--calibrate) calibrate=yes ;;
		--check) check_only=yes ;;
		--compress) compress=1 ;;
		--alternate)
			alternate=load
			case ${2--} in
			-*) ;;
			*)
				case ${3--} in
				-*) bad_usage "--alternate takes two commands, or none" ;;
				esac
				{ [ -n "$2" ] && [ -n "$3" ]; } || bad_usage "--alternate needs commands that are not empty"
				alternate=commands side_a=$2 side_b=$3
				shift 2
				;;
			esac
			;;
		--strict) strict=yes ;;
		--no-count) no_count=yes ;;
		-o | --output | --duration | --cpus | --profile | --tool | --buffer | --clock | --victim | --victim-cpu | --load | \
			--netns | --note | --interval | --sidecars | --daemon | --min-free | --repeat | --trace-after | --trace-for | --attach | --work | \
			--until | --after | --user)
			[ $# -ge 2 ] || bad_usage "$read_options_name needs a value"
			[ -n "$2" ] || bad_usage "$read_options_name needs a value that is not empty"
			read_option_value "$1" "$2"
			shift
			;;
		--*=*) bad_usage "write ${read_options_name%%=*} VALUE, without =" ;;
		-*) bad_usage "no such option: $read_options_name" ;;
		*) bad_usage "unexpected argument: $read_options_name" ;;
		esac
		shift
	done
}

read_option_value() {
	case $1 in
	-o | --output)
		output=$2
		case $output in
		*[!/]*) while [ "${output%/}" != "$output" ]; do output=${output%/}; done ;;
		esac
		;;
	--duration) duration=$2 ;;
	--cpus) cpus=$2 ;;
	--profile) profile=$2 ;;
	--tool) tool=${2#auto} ;;
	--user) user=$2 ;;
	--buffer) buffer=$2 ;;
	--clock) clock=$2 ;;
	--victim) victim=$2 ;;
	--victim-cpu) victim_cpu=$2 ;;
	--load) load=$2 ;;
	--attach) attach=${2%/} ;;
	--work) work=$2 ;;
	--netns)
		case $2 in
		pid:*) netns="$netns${netns:+ }pid-${2#pid:}" ;;
		*) netns="$netns${netns:+ }$2" ;;
		esac
		;;
	--note) remarks=$remarks$2$newline ;;
	--interval) interval=$2 ;;
	--sidecars) sidecars=$(echo "$2" | tr ',' ' ') ;;
	--daemon) daemons="$daemons${daemons:+ }$2" ;;
	--min-free) min_free=$2 ;;
	--repeat) repeats=$2 ;;
	--trace-after) trace_after=$2 ;;
	--trace-for) trace_for=$2 ;;
	--until) until=$2 ;;
	--after) after=$2 ;;
	esac
}

# seconds_option NAME VALUE ZERO: a number of seconds; 0 only where ZERO says so.
seconds_option() {
	case $2 in
	*[!0-9.]* | .* | *. | *.*.*) bad_usage "$1 takes seconds, such as 5 or 2.5, not $2" ;;
	*[1-9]*) ;;
	*) [ "${3-}" = zero ] || bad_usage "$1 must be more than 0" ;;
	esac
}

check_options() {
	case $output in
	'') [ -n "$check_only" ] || bad_usage "-o DIR is needed: where to write" ;;
	. | .. | */. | */.. | /) bad_usage "-o takes the name of a directory to make, not $output" ;;
	esac
	name_target
	case ${target-} in
	*"$newline"*) bad_usage "-o takes a path without a line break" ;;
	esac
	case ${TMPDIR-} in
	*"$newline"*) bad_usage "TMPDIR takes a path without a line break" ;;
	esac
	for check_options_pair in "--netns=$netns" "--daemon=$daemons" "--sidecars=$sidecars" "--profile=$profile"; do
		case ${check_options_pair#*=} in
		*[*?[\\\'\"]* | *"$newline"*) bad_usage "${check_options_pair%%=*} takes names, not ${check_options_pair#*=}" ;;
		esac
	done
	if [ "$alternate" = commands ]; then
		[ -z "$victim$attach" ] || bad_usage "--alternate makes its commands the victims: leave out --victim and --attach"
		victim=$side_a repeats=${repeats:-$default_repeats}
	fi
	if [ -z "$duration" ]; then
		duration=$default_seconds
		[ -z "$victim" ] || duration=$default_victim_limit
		[ -z "$until" ] || duration=$default_until_limit
	fi
	seconds_option --duration "$duration"
	# What runs beside a recording that waits for hours would fill the disk.
	if [ -n "$until" ]; then
		interval=${interval:-0} sidecars=${sidecars:-none}
	else
		interval=${interval:-1} sidecars=${sidecars:-auto}
	fi
	seconds_option --interval "$interval" zero
	case $interval in
	*[1-9]*) ;;
	*) interval=0 ;;
	esac
	split_profiles
	check_part
	check_until
	[ -z "$calibrate" ] || baseline=yes
	case $repeats in
	'') [ -z "$alternate" ] || bad_usage "--alternate needs --repeat N" ;;
	0* | *[!0-9]* | ?????*) bad_usage "--repeat takes a number from 1 to 9999, not $repeats" ;;
	*)
		index=experiment.json
		[ -z "$calibrate" ] || bad_usage "--calibrate makes four runs of its own: leave out --repeat and --alternate"
		[ -n "$load" ] || [ "$alternate" != load ] || bad_usage "--alternate needs a --load to leave out every other time"
		;;
	esac
	if [ -n "$attach" ]; then
		[ -z "$victim$victim_cpu" ] || bad_usage "--attach makes a running service the victim: leave out --victim and --victim-cpu"
		[ -z "$calibrate$trace_for" ] || bad_usage "--calibrate and --trace-for are for a --victim that is started"
		[ -z "$work" ] || baseline=yes
	else
		[ -z "$work" ] || [ -n "$victim" ] || bad_usage "--work needs a --victim or an --attach"
		[ -z "$work" ] || [ -z "$trace_for" ] || bad_usage "--work covers a whole run: leave out --trace-for"
		[ -n "$victim" ] || [ -z "$victim_cpu$baseline" ] || bad_usage "--victim-cpu, --baseline and --calibrate need a --victim"
	fi
	for check_options_name in $netns; do
		[ "$check_options_name" = . ] || [ -e "$(namespace_path "$check_options_name")" ] || bad_usage "no network namespace $check_options_name"
	done
	case $tool in
	'' | perf | trace-cmd | tracefs) ;;
	*) bad_usage "--tool takes auto, perf, trace-cmd or tracefs, not $tool" ;;
	esac
	[ -z "$user" ] || check_user
	case $buffer in
	*[!0-9]* | 0* | ????????*) bad_usage "--buffer takes KiB, such as 8192, not $buffer" ;;
	[1-3]) bad_usage "--buffer takes at least 4 KiB, a page, not $buffer" ;;
	esac
	case $min_free in
	*[!0-9]* | 0?*) bad_usage "--min-free takes MiB, such as 256, not $min_free" ;;
	# What the shell's sums hold.
	????????????????*) bad_usage "--min-free takes at most 15 digits of MiB, not $min_free" ;;
	esac
	for check_options_name in $sidecars; do
		case $check_options_name,$sidecars in
		auto,auto | none,none | mpstat,* | pidstat,* | turbostat,*) ;;
		*) bad_usage "--sidecars takes auto, none, or some of mpstat,pidstat,turbostat, not $check_options_name" ;;
		esac
	done
}

# check_part: of what is a part of the run recorded, and can it be?
check_part() {
	seconds_option --trace-after "$trace_after" zero
	if [ -z "$trace_for" ]; then
		case $trace_after in
		*[1-9]*) bad_usage "--trace-after needs --trace-for S" ;;
		esac
		return
	fi
	seconds_option --trace-for "$trace_for"
	{ [ -n "$event_profiles" ] && [ -z "$sampling_profile" ]; } || bad_usage "--trace-for is for profiles of tracepoints, not for $profile"
	[ "$tool" != trace-cmd ] || bad_usage "trace-cmd cannot begin within a run: leave out --trace-for, or take --tool perf or tracefs"
	[ -z "$calibrate" ] || bad_usage "--calibrate compares whole runs: leave out --trace-for"
	echo "$trace_after $trace_for $duration" | awk '{ exit ($1 + $2 > $3) }' ||
		bad_usage "--trace-after $trace_after and --trace-for $trace_for end after --duration $duration"
}

# split_profiles: sets event_profiles, sampling_profile and counter_profiles, the files of the profiles asked for.
split_profiles() {
	event_profiles='' sampling_profile='' counter_profiles=''
	for split_profiles_name in $(echo "$profile" | tr ',' ' '); do
		case $split_profiles_name in
		none)
			[ "$profile" = none ] || bad_usage "--profile none is for no profile at all, not for $profile"
			continue
			;;
		*/*) split_profiles_file=/dev/null/none ;;
		*) split_profiles_file=$here/profiles/$split_profiles_name ;;
		esac
		if [ -r "$split_profiles_file.events" ]; then
			event_profiles="$event_profiles $split_profiles_name"
		elif [ -r "$split_profiles_file.sampling" ]; then
			[ -z "$sampling_profile" ] || bad_usage "profiles $sampling_profile and $split_profiles_name both sample functions: take one of them"
			sampling_profile=$split_profiles_name
		elif [ -r "$split_profiles_file.counters" ]; then
			counter_profiles="$counter_profiles $split_profiles_name"
		else
			bad_usage "no profile $split_profiles_name; there are: $(profile_names), or none"
		fi
	done
}

# check_cpus: sets recorded_cpus, victim_cpu and recorder_cpus, where what measures is kept off the victim.
check_cpus() {
	online=$(first_line /sys/devices/system/cpu/online)
	reserved=$(reserved_cpus) allowed=$(allowed_cpus)
	recorded_cpus=$(cpu_list "${cpus:-$online}") || bad_usage "--cpus takes a list such as 0-3,8, not $cpus"
	for cpu in $recorded_cpus; do
		cpu_list "$online" | grep -qx "$cpu" || bad_usage "CPU $cpu is not online (online: $online)"
	done
	default_victim_cpu=$(echo "$recorded_cpus" | without "$reserved" | grep -xF -e "$allowed" | tail -n 1)
	if [ -n "$victim" ]; then
		victim_cpu=${victim_cpu:-${default_victim_cpu:-$(echo "$recorded_cpus" | tail -n 1)}}
		echo "$recorded_cpus" | grep -qx -e "$victim_cpu" || bad_usage "--victim-cpu $victim_cpu is not one of the recorded CPUs"
		echo "$allowed" | grep -qx -e "$victim_cpu" || bad_usage "CPU $victim_cpu is not in the cpuset that netcost-record runs in ($(echo "$allowed" | paste -s -d , -)), so that no victim can be pinned to it"
	fi
	[ -n "$victim$reserved" ] || return 0
	recorder_cpus=$(echo "$allowed" | without "$victim_cpu$newline$reserved" | paste -s -d , -)
}

# without CPUS: the lines on standard input but for these, a line each.
without() {
	grep -vxF -e "$1"
}

# reserved_cpus: those that nothing is to run on that was not put there: isolated and nohz_full ones, a line each.
reserved_cpus() {
	for reserved_cpus_file in isolated nohz_full; do
		cpu_list "$(first_line "/sys/devices/system/cpu/$reserved_cpus_file")"
	done | sort -nu
}

# allowed_cpus: the online CPUs of the cpuset it runs in, a line each; all where a taskset cannot be asked for them.
allowed_cpus() {
	allowed_cpus_list=$(taskset -c "$online" sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status 2>/dev/null)
	cpu_list "${allowed_cpus_list:-$online}"
}

# check_user: sets NETCOST_USER, the number, by which lib/as-called.sh runs what is not the kit's own.
check_user() {
	command -v setpriv >/dev/null || bad_usage "--user needs setpriv (util-linux)"
	NETCOST_USER=$(id -u -- "$user" 2>/dev/null) || bad_usage "--user: there is no user $user"
	export NETCOST_USER
}

# check_daemons: a name that nobody has is a mistake, and found out before anything runs.
check_daemons() {
	for check_daemons_name in $daemons; do
		[ -n "$(pids_of "$check_daemons_name")" ] || die "no process is called $check_daemons_name (--daemon): ps -eo comm lists the names"
	done
}
