# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What every experiment of the lab does: say what is wrong, take options, undo, wait. Sourced.
#
# An experiment sets experiment to its name, its defaults, and takes_value and takes_none to the names of its
# options; defines usage and explain_options; sources this and calls take_options "$@". Everything it starts
# runs through job or record, so that a signal is answered at once, and what it changes outside the
# namespaces through set_sysctl, so that end puts it back.

lab=$(dirname -- "$(readlink -f -- "$0")")
workspace='' namespaces='' running='' output_begun='' sysctls_locked=''
sysctls_lock=/run/netcost-lab.sysctls

warn() {
	printf '%s: %s\n' "$experiment" "$*" >&2
}

# Every exit runs end, so dying is only leaving.
die() {
	warn "$@"
	exit 1
}

bad_usage() {
	warn "$* (--help says how)"
	exit 2
}

### undo
# shellcheck disable=SC2317,SC2329 # reached by the traps
end() {
	end_status=$?
	trap '' INT TERM HUP QUIT PIPE
	trap - EXIT
	end_running
	if [ -n "$workspace" ]; then
		stop_beside
		restore_sysctls
		[ -z "$sysctls_locked" ] || rm -rf "$sysctls_lock"
	fi
	# The devices and what is configured on them go with the namespaces.
	for end_namespace in $namespaces; do
		remove_namespace "$end_namespace"
	done
	if [ -n "$workspace" ]; then
		rm -rf "$workspace" || warn "left behind: $workspace"
	fi
	if [ "$end_status" -ne 0 ] && [ -n "$output_begun" ] && [ -d "$output" ]; then
		rm -rf "$output" || warn "an unfinished series is left in $output"
	fi
	if [ "$end_status" -ne 0 ] && [ -n "$namespaces$output_begun" ]; then
		warn "ended early: what it had set up is removed${output_begun:+, and $output}"
	fi
	exit "$end_status"
}
trap end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 131' QUIT
trap 'exit 141' PIPE
trap 'exit 143' TERM

# end_running: ends the job that is waited for, gently: netcost-record has a host to put back.
end_running() {
	[ -n "$running" ] || return 0
	# It may not lead its group yet.
	kill -TERM "$running" 2>/dev/null || kill -TERM "${running#-}" 2>/dev/null
	wait "${running#-}"
	running=''
}

# stop_beside: what start_beside started, last first.
stop_beside() {
	[ -r "$workspace/beside" ] || return 0
	while read -r stop_beside_pid; do
		kill -TERM "-$stop_beside_pid" 2>/dev/null || kill -TERM "$stop_beside_pid" 2>/dev/null
	done <"$workspace/beside"
	while read -r stop_beside_pid; do
		wait "$stop_beside_pid" 2>/dev/null
	done <"$workspace/beside"
	rm -f "$workspace/beside"
}

# restore_sysctls: PATH and the value it had, a line each, last change first.
restore_sysctls() {
	[ -r "$workspace/sysctls" ] || return 0
	while read -r restore_sysctls_path restore_sysctls_value; do
		[ "$(cat "$restore_sysctls_path")" = "$restore_sysctls_value" ] ||
			{ echo "$restore_sysctls_value" >"$restore_sysctls_path"; } 2>/dev/null ||
			warn "cannot set $restore_sysctls_path back to $restore_sysctls_value"
	done <"$workspace/sysctls"
	rm -f "$workspace/sysctls"
}

# lock_sysctls: one experiment at a time sets what is the host's.
lock_sysctls() {
	[ -z "$sysctls_locked" ] || return 0
	if ! mkdir "$sysctls_lock" 2>/dev/null; then
		lock_sysctls_owner=$(cat "$sysctls_lock/pid" 2>/dev/null)
		if [ -z "$lock_sysctls_owner" ] || [ -d "/proc/$lock_sysctls_owner" ]; then
			die "process ${lock_sysctls_owner:-unknown} holds $sysctls_lock: another experiment sets the host's sysctls"
		fi
		# Its owner was killed.
		rm -rf "$sysctls_lock"
		mkdir "$sysctls_lock" 2>/dev/null || die "another experiment has just begun to set the host's sysctls"
	fi
	sysctls_locked=yes
	echo $$ >"$sysctls_lock/pid"
}

# set_sysctl PATH VALUE: of the host, until the experiment ends.
set_sysctl() {
	lock_sysctls
	if ! grep -qs "^$1 " "$workspace/sysctls"; then
		# Written whole before anything changes.
		echo "$1 $(cat "$1")" | cat - "$workspace/sysctls" >"$workspace/sysctls.new" 2>/dev/null
		mv "$workspace/sysctls.new" "$workspace/sysctls" || die "no room in $workspace"
	fi
	{ echo "$2" >"$1"; } 2>/dev/null || die "the kernel refuses $2 for $1"
}

### options
# take_options WORD...: sets the variable of each option (victim_cpu for --victim-cpu) and typed.
take_options() {
	typed="capture/lab/$experiment${*:+ $*}"
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h)
			usage
			exit 0
			;;
		-o) take_options_name=output ;;
		--*) take_options_name=${1#--} ;;
		-*) bad_usage "no such option: $1" ;;
		*) bad_usage "unexpected argument: $1" ;;
		esac
		case " output tool $takes_value " in
		*" $take_options_name "*)
			{ [ $# -ge 2 ] && [ -n "$2" ]; } || bad_usage "$1 needs a value"
			# The name is one of a list.
			eval "$(echo "$take_options_name" | tr - _)=\$2"
			shift 2
			continue
			;;
		esac
		case " $takes_none " in
		*" $take_options_name "*)
			eval "$(echo "$take_options_name" | tr - _)=yes"
			shift
			;;
		*) bad_usage "no such option: $1" ;;
		esac
	done
	[ -n "${output-}" ] || bad_usage "where to? -o DIR is needed"
	output=${output%/}
	case ${tool-} in
	'' | perf | trace-cmd | tracefs) ;;
	*) bad_usage "--tool wants perf, trace-cmd or tracefs, not $tool" ;;
	esac
}

# whole_number NAME VALUE LEAST MOST
whole_number() {
	case $2 in
	'' | *[!0-9]* | ????????*) bad_usage "$1 wants a whole number, not $2" ;;
	esac
	{ [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; } || bad_usage "$1 wants $3 to $4, not $2"
}

# whole_numbers NAME LIST LEAST MOST [WORD]: separated by commas; WORD is allowed as well.
whole_numbers() {
	for whole_numbers_value in $(list "$2"); do
		[ "$whole_numbers_value" = "${5-}" ] || whole_number "$1" "$whole_numbers_value" "$3" "$4"
	done
	[ -n "$(list "$2")" ] || bad_usage "$1 wants at least one value"
}

# one_of NAME LIST WORD...: is each of LIST, separated by commas, one of the words?
one_of() {
	one_of_name=$1 one_of_list=$2
	shift 2
	for one_of_value in $(list "$one_of_list"); do
		case " $* " in
		*" $one_of_value "*) ;;
		*) bad_usage "$one_of_name wants some of: $*; not $one_of_value" ;;
		esac
	done
	[ -n "$(list "$one_of_list")" ] || bad_usage "$one_of_name wants at least one value"
}

# list A,B,C: A B C
list() {
	echo "$1" | tr ',' '\n' | grep . | paste -s -d ' ' -
}

# new_folder: may the output be made there?
new_folder() {
	[ ! -e "$output" ] || { [ -d "$output" ] && [ -z "$(ls -A "$output" 2>&1)" ]; } || die "$output exists already"
}

# need PROGRAM...
need() {
	for needed in "$@"; do
		command -v "$needed" >/dev/null || die "$needed is not installed, and needed"
	done
	[ "$(id -u)" = 0 ] || die "network namespaces take root"
}

# choose_cpus: sets victim_cpu (the last online one unless chosen) and load_cpu, the first other.
choose_cpus() {
	online=$(awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo)
	victim_cpu=${victim_cpu:-$(echo "$online" | tail -n 1)}
	whole_number --victim-cpu "$victim_cpu" 0 65535
	echo "$online" | grep -qx "$victim_cpu" || bad_usage "CPU $victim_cpu is not online"
	load_cpu=$(echo "$online" | grep -vx "$victim_cpu" | head -n 1)
	[ -n "$load_cpu" ] || die "one CPU is not enough: the load needs another than the victim's"
}

### act
# make_workspace: a folder that goes with the experiment; programs compiled into it are on the PATH.
make_workspace() {
	workspace=$(mktemp -d "${TMPDIR:-/tmp}/netcost-lab.XXXXXX") || die "cannot make a temporary directory"
	PATH=$workspace:$PATH
	# What an experiment that was killed could not remove; its process is in the name.
	for make_workspace_left in /run/netns/netcost-lab-*; do
		make_workspace_pid=${make_workspace_left#*/netcost-lab-}
		make_workspace_pid=${make_workspace_pid%%-*}
		if [ -e "$make_workspace_left" ] && [ ! -d "/proc/$make_workspace_pid" ]; then
			remove_namespace "${make_workspace_left##*/}"
		fi
	done
}

# compile PROGRAM: from C, next to the experiments.
compile() {
	cc -O2 -o "$workspace/$1" "$lab/$1.c" || die "cannot compile $lab/$1.c"
}

# job COMMAND...: runs it in a session of its own to its end, or to the experiment's.
job() {
	setsid "$@" &
	running=-$!
	wait "${running#-}"
	job_status=$?
	running=''
	return "$job_status"
}

# start_beside COMMAND...: runs beside what follows, until stop_beside. Sets beside_pid.
start_beside() {
	setsid "$@" &
	beside_pid=$!
	{
		echo "$beside_pid"
		cat "$workspace/beside" 2>/dev/null
	} >"$workspace/beside.new"
	mv "$workspace/beside.new" "$workspace/beside" || die "no room in $workspace"
}

# record WORD...: netcost-record with the tool and the remark that belong to every bundle of the lab.
record() {
	# shellcheck disable=SC2086 # options that may be absent
	"$lab/../netcost-record" ${tool:+--tool "$tool"} "$@" --note "made by: $typed" &
	# Signalled alone: it ends what it started.
	running=$!
	wait "$running"
	record_status=$?
	running=''
	return "$record_status"
}

# record_knows OPTION: is this netcost-record's?
record_knows() {
	"$lab/../netcost-record" --help | grep -q -e "$1"
}
