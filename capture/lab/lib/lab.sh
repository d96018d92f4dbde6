# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What every experiment of the lab does: say what is wrong, take options, undo. Sourced.
#
# An experiment sets experiment to its name, its defaults, and takes_value and takes_none to the names of its
# options; defines usage and explain_options; sources this and calls take_options "$@". Everything it starts
# runs through job, start_beside or record (running.sh), so that a signal is answered at once; what it makes outside of
# itself is written down first (undo.sh), and what it changes of the host goes through set_sysctl (sysctls.sh), so that
# end, or after a SIGKILL the next experiment, undoes it.

# Lists of options are split into words, and none of these is a pattern.
set -f
lab=$(dirname -- "$(readlink -f -- "$0")")
workspace='' namespaces='' running='' output_begun='' state='' mark='' guard='' locks='' lock_owner=''

# shellcheck source=words.sh
. "$lab/lib/words.sh"
# shellcheck source=../../lib/host.sh
. "$lab/../lib/host.sh"
# shellcheck source=../../lib/softnet.sh
. "$lab/../lib/softnet.sh"
# shellcheck source=../../lib/lock.sh
. "$lab/../lib/lock.sh"
# shellcheck source=../../lib/processes.sh
. "$lab/../lib/processes.sh"
# shellcheck source=../../lib/marked.sh
. "$lab/../lib/marked.sh"
# shellcheck source=undo.sh
. "$lab/lib/undo.sh"
# shellcheck source=sysctls.sh
. "$lab/lib/sysctls.sh"
# shellcheck source=deferral.sh
. "$lab/lib/deferral.sh"
# shellcheck source=busy.sh
. "$lab/lib/busy.sh"
# shellcheck source=running.sh
. "$lab/lib/running.sh"
# shellcheck source=control.sh
. "$lab/lib/control.sh"

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
	begin_end "$1"
	end_running
	end_watch_frees
	if [ -n "$state" ]; then
		[ -z "$workspace" ] || stop_beside
		end_started
		[ -z "$sysctls_locked" ] || restore_sysctls
		sysctls_locked=''
		release_locks
		undo_state "$state" "$mark"
	fi
	# 3 is of one that is written, without some of its steps.
	if [ "$end_status" -ne 0 ] && [ "$end_status" -ne 3 ] && [ -n "$namespaces$output_begun" ]; then
		warn "ended early: what it had set up is removed${output_begun:+, and what it had written to $output}"
	fi
	exit "$end_status"
}
# shellcheck source=../../lib/ending.sh
. "$lab/../lib/ending.sh"

### options
# take_options WORD...: sets the variable of each option (victim_cpu for --victim-cpu) and typed.
take_options() {
	typed="capture/lab/$experiment${*:+ $(quoted "$@")}"
	while [ $# -gt 0 ]; do
		case $1 in
		--help | -h)
			usage
			exit 0
			;;
		-o) take_options_name=output ;;
		--*[!a-z-]*) bad_usage "no such option: $1" ;;
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
	[ -n "${output-}" ] || bad_usage "-o DIR is needed: where to write"
	one_line -o "$output"
	one_line TMPDIR "${TMPDIR-}"
	case ${TMPDIR-} in
	*:*) bad_usage "TMPDIR takes a name without a colon: what is compiled there is run from there" ;;
	esac
	# The root stays one, and a name that begins with a dash is no option.
	[ -z "${output%/}" ] || output=${output%/}
	case $output in
	-*) output=./$output ;;
	esac
	case ${tool-} in
	'' | perf | trace-cmd | tracefs) ;;
	*) bad_usage "--tool takes perf, trace-cmd or tracefs, not $tool" ;;
	esac
}

# new_folder: may the output be made there?
new_folder() {
	[ ! -e "$output" ] || { [ -d "$output" ] && [ -z "$(ls -A "$output" 2>&1)" ]; } || die "$output exists already"
}

# need PROGRAM...
need() {
	for needed in "$@"; do
		command -v "$needed" >/dev/null || die "$needed is needed and not installed"
	done
	[ "$(id -u)" = 0 ] || die "network namespaces take root"
}

# online_cpus: a line each.
online_cpus() {
	awk -F: '/^processor/ { print $2 + 0 }' /proc/cpuinfo
}

# choose_cpus: sets victim_cpu (the last online one unless chosen) and load_cpu, the first other.
choose_cpus() {
	online=$(online_cpus)
	victim_cpu=${victim_cpu:-$(echo "$online" | tail -n 1)}
	whole_number --victim-cpu "$victim_cpu" 0 65535
	echo "$online" | grep -qx "$victim_cpu" || bad_usage "CPU $victim_cpu is not online"
	load_cpu=$(echo "$online" | grep -vx "$victim_cpu" | head -n 1)
	[ -n "$load_cpu" ] || die "one CPU is not enough: the load needs another CPU than the victim"
}
