# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# What netcost-record says of itself, and how it quotes what was typed. Sourced.

usage() {
	cat <<-USAGE
		Usage: netcost-record -o DIR [--duration S] [--cpus LIST] [--profile NAME,...] [--netns NAME]...
		           [--tool NAME] [--buffer KIB] [--clock NAME] [--compress] [--min-free MIB] [--check] [--strict]
		           [--no-count] [--user NAME]
		           [--victim 'CMD' [--victim-cpu N] [--baseline | --calibrate] [--work 'CMD']] [--load 'CMD']
		           [--attach PID|CGROUP|container:NAME [--baseline] [--work 'CMD']]
		           [--until 'COND' [--after S]] [--repeat N [--alternate]] [--alternate 'CMD A' 'CMD B']
		           [--trace-for S [--trace-after S]] [--interval S] [--sidecars LIST] [--daemon NAME]...
		           [--note TEXT]...

		Records interrupts, softirqs, NAPI polls and context switches into the bundle DIR.

		  -o, --output DIR   the bundle to write; must not exist, or be empty
		  --duration S       seconds to record (default $default_seconds); with a victim the most that it may
		                     take (default $default_victim_limit): the recording ends when the victim does
		  --cpus LIST        CPUs to record, such as 0-3,8 (default all)
		  --profile NAME,... what is recorded (default stolen); the files in profiles/ list the events:
		                     $(profile_names);
		                     none records no trace, only what runs beside it
		  --tool NAME        what records: tracefs (needs only the kernel), perf, trace-cmd, or auto (default):
		                     the tool that missed least in the last --check since boot, else tracefs
		  --buffer KIB       ring buffer of each CPU (default 8192, less where memory is short)
		  --clock NAME       the trace's clock if the tool is not perf: one of the kernel's trace_clock
		                     (default mono; times beside the trace fit no other)
		  --compress         let perf compress the trace while it records, or trace-cmd afterwards
		  --min-free MIB     free space to leave on the bundle's disk: do not begin, or end early, below it
		                     (default $min_free)
		  --check            only say whether this host can be recorded, how large it gets and what it costs
		  --strict           exit status 4 unless the kernel's own counters show that the trace is complete
		  --no-count         do not compare the trace with the kernel's counters: counting its events takes this
		                     host's CPU time (niced, for 60 s at most)
		  --user NAME        run the commands of --victim, --load, --work and --until as this user, not as root
		  --victim 'CMD'     a command to run as the victim; it must end by itself, with status 0
		  --victim-cpu N     the CPU to pin it to (default the last one recorded)
		  --baseline         first run the victim by itself, untraced, into DIR/baseline
		  --calibrate        run the victim four times: by itself, traced, with the load, and with both, to tell
		                     the cost of tracing from what the load takes
		  --attach WHO       make a running service the victim: PID (with its threads and children), a cgroup's
		                     path, or container:NAME; --baseline then watches it untraced before and after
		  --work 'CMD'       a command that prints how much the victim has done so far, a growing number; or at
		                     the end what sockperf, netperf, iperf3, wrk, redis-benchmark or fio measured
		  --until 'COND'     a rolling recording (perf or tracefs) that keeps what the rings hold when COND holds:
		                     'softirq>30%' or 'ksoftirqd>50%' of a CPU, 'squeezed>0' (each within a second), or a
		                     command, run once a second, that ends with status 0; or at a signal (Ctrl-C, TERM,
		                     USR1), or after --duration (default $default_until_limit); a larger --buffer reaches further back
		  --after S          how long to go on after that (default 1)
		  --load 'CMD'       a command that makes the load; it is stopped with the victim
		  --interval S       seconds between copies of the host's counters (default 1; 0 for none)
		  --sidecars LIST    programs to run beside it: auto, none, or some of mpstat,pidstat,turbostat
		                     (default auto: those that are installed; neither these nor copies with --until)
		  --daemon NAME      note CPU time and memory of the processes of this name at each interval; may
		                     be repeated
		  --repeat N         record N times, into an experiment: DIR has a bundle for each
		  --alternate        each time once without the load and once with it
		  --alternate 'CMD A' 'CMD B'
		                     each time once with A and once with B as the victim (default --repeat $default_repeats)
		  --trace-for S      trace only S seconds of the run (perf and tracefs); what runs beside it and the
		                     victim's own account cover all of it
		  --trace-after S    begin that S seconds after the run begins (default $trace_after)
		  --netns NAME       take the counters of network devices from this network namespace; may be
		                     repeated; . is the caller's, pid:N the one of process N
		  --note TEXT        a remark for the manifest; may be repeated
		  --help             this text

		NETCOST_FILES names a folder of the bundle where victim and load may write files.

		Exit status: 0 the bundle is written (with --check: it can be); 1 it is not, and stderr
		says why; 2 usage; 3 the bundle is written, but ended early because the disk ran low; 4 with --strict:
		it is written, and not complete or not known to be; 128+N ended by signal N.

		  netcost-record -o /tmp/quiet --duration 10
		  netcost-record -o /tmp/turns --alternate './bench-base' './bench-head'
		  netcost-record -o /tmp/stolen --victim 'openssl speed -seconds 5 -bytes 1024 -evp sha256' --victim-cpu 3
	USAGE
}

profile_names() {
	for profile_names_file in "$here"/profiles/*.events "$here"/profiles/*.sampling "$here"/profiles/*.counters; do
		profile_names_file=${profile_names_file##*/}
		echo "${profile_names_file%.*}"
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
