# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# What netcost-record says of itself, and how it quotes what was typed. Sourced.

usage() {
	cat <<-USAGE
		Usage: netcost-record -o DIR [--duration S] [--cpus LIST] [--profile NAME]
		           [--tool NAME] [--buffer KIB] [--clock NAME] [--compress]
		           [--victim 'CMD' [--victim-cpu N] [--baseline]] [--load 'CMD'] [--netns NAME] [--note TEXT]

		Records interrupts, softirqs, NAPI polls and context switches into the bundle DIR.

		  -o, --output DIR   the bundle to write; must not exist, or be empty
		  --duration S       seconds to record (default $default_seconds); with a victim the most it may
		                     take (default $default_victim_limit), for its end is the end of the recording
		  --cpus LIST        CPUs to record, such as 0-3,8 (default all)
		  --profile NAME     which events: $(profile_names) (default stolen)
		  --tool NAME        what records: perf, trace-cmd, or tracefs, which takes nothing but the kernel
		                     (default the first of them that works here)
		  --buffer KIB       ring buffer of each CPU (default 8192, less where memory is short)
		  --clock NAME       the trace's clock where perf is not the tool, as the kernel's file trace_clock
		                     lists them (default mono; times beside the trace fit no other)
		  --compress         let perf compress the trace while it records, trace-cmd once it has
		  --victim 'CMD'     a command to run as the victim; it must end by itself, with status 0
		  --victim-cpu N     the CPU it is pinned to (default the last one recorded)
		  --baseline         first run the victim by itself, untraced, into DIR/baseline
		  --load 'CMD'       a command that makes the load; it is ended with the victim
		  --netns NAME       take the counters of network devices from this network namespace
		  --note TEXT        a remark for the manifest; may be repeated
		  --help             this text

		Exit status: 0 the bundle is written; 1 it is not, and why is on stderr; 2 usage;
		128+N ended by signal N.

		  netcost-record -o /tmp/quiet --duration 10
		  netcost-record -o /tmp/stolen --victim 'openssl speed -seconds 5 -bytes 1024 -evp sha256' --victim-cpu 3
	USAGE
}

profile_names() {
	for profile_names_file in "$here"/profiles/*.events; do
		basename "$profile_names_file" .events
	done | paste -s -d ' ' -
}

# quoted WORD...: the words so that a shell reads the same words again.
quoted() {
	quoted_space=''
	for quoted_word in "$@"; do
		printf '%s' "$quoted_space"
		case $quoted_word in
		'' | *[!A-Za-z0-9_./:,=@%+-]*) printf '%s\n' "$quoted_word" | sed "s/'/'\\\\''/g; 1s/^/'/; \$s/\$/'/" | awk 'NR > 1 { print "" } { printf "%s", $0 }' ;;
		*) printf '%s' "$quoted_word" ;;
		esac
		quoted_space=' '
	done
}
