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
		  --duration S       seconds to record (default $default_seconds); with a victim the most it may
		                     take (default $default_victim_limit), for its end is the end of the recording
		  --cpus LIST        CPUs to record, such as 0-3,8 (default all)
		  --profile NAME,... what is recorded (default stolen); the files in profiles/ say of what each
		                     consists: $(profile_names);
		                     none leaves only what runs beside the recorder
		  --tool NAME        what records: tracefs, which takes nothing but the kernel, perf, trace-cmd, or auto
		                     (default): what the last --check since boot found to miss least, else tracefs
		  --buffer KIB       ring buffer of each CPU (default 8192, less where memory is short)
		  --clock NAME       the trace's clock where perf is not the tool, as the kernel's file trace_clock
		                     lists them (default mono; times beside the trace fit no other)
		  --compress         let perf compress the trace while it records, trace-cmd once it has
		  --min-free MIB     do not begin, and end early, where the bundle's disk would have less left
		                     (default $min_free)
		  --check            only say whether it can be recorded, how much there will be and what it will cost
		  --strict           exit status 4 where the trace is not complete by the kernel's own counters
		  --no-count         do not compare the trace with the kernel's counters: counting its events takes this
		                     host's CPU time (niced, for 60 s at most)
		  --user NAME        run the commands of --victim, --load, --work and --until as this user, not as root
		  --victim 'CMD'     a command to run as the victim; it must end by itself, with status 0
		  --victim-cpu N     the CPU it is pinned to (default the last one recorded)
		  --baseline         first run the victim by itself, untraced, into DIR/baseline
		  --calibrate        run the victim four times: by itself, traced, with the load, and with both, so that
		                     what tracing costs can be told from what the load takes
		  --attach WHO       what runs already is the victim: PID, a process with its threads and children; the
		                     processes of a cgroup; or container:NAME; --baseline then watches it untraced before and after
		  --work 'CMD'       prints how much the victim has done so far, a number that grows; or, in the end, what
		                     sockperf, netperf, iperf3, wrk, redis-benchmark or fio measured
		  --until 'COND'     a rolling recording (perf or tracefs) that keeps what the rings hold when COND holds:
		                     'softirq>30%' or 'ksoftirqd>50%' of a CPU, 'squeezed>0' (each within a second), or a
		                     command, run once a second, that ends with status 0; or at a signal (Ctrl-C, TERM,
		                     USR1), or after --duration (default $default_until_limit); a larger --buffer reaches further back
		  --after S          how long it goes on then (default 1)
		  --load 'CMD'       a command that makes the load; it is ended with the victim
		  --interval S       seconds between copies of the host's counters (default 1; 0 for none)
		  --sidecars LIST    programs to run beside it: auto, none, or some of mpstat,pidstat,turbostat
		                     (default auto: those that are installed; neither these nor copies with --until)
		  --daemon NAME      note CPU time and memory of the processes of this name at each interval; may
		                     be repeated
		  --repeat N         record N times, into an experiment: DIR has a bundle for each
		  --alternate        each time without the load and with it, in turns
		  --alternate 'CMD A' 'CMD B'
		                     each time with A and with B for the victim, in turns (default --repeat $default_repeats)
		  --trace-for S      record only S seconds of the run (perf and tracefs), while what runs beside it and
		                     the victim's own account are of all of it
		  --trace-after S    from S seconds after it begins on (default $trace_after)
		  --netns NAME       take the counters of network devices from this network namespace; may be
		                     repeated; . is the one it is run in, pid:N that of process N
		  --note TEXT        a remark for the manifest; may be repeated
		  --help             this text

		Victim and load find in NETCOST_FILES the name of a folder of the bundle for files of their own.

		Exit status: 0 the bundle is written (with --check: it can be); 1 it is not, and why is on
		stderr; 2 usage; 3 the bundle is written, but ended early because the disk ran low; 4 with --strict:
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
