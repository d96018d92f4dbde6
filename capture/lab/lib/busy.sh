# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Is the machine quiet enough for figures? Before an experiment sets anything up, and once it is over: what other
# programs had of the CPUs, and what a hypervisor took of them. No program is named. Sourced after processes.sh.

busy_limit=5 steal_limit=1

# host_times FILE: when it was, steal and all time of the CPUs, and of each program that is not of this experiment its
# time and that of its children that have ended, in ticks. Kernel threads work for the load, and the children of init are
# whoever's parent ended first, the experiment's too.
host_times() {
	{ cat /proc/uptime /proc/stat && all_stats; } | awk -v self="$$" '
		NR == 1 { print "at", $1; next }
		$1 == "cpu" { for (i = 2; i <= 9; i++) all += $i; print "cpus", $9, all; next }
		/^[0-9]+ \(/ {
			pid = $1
			sub(/^.*\) /, "")
			kernel = int($7 / 2097152) % 2
			if (pid != self && !kernel) print "program", pid "-" $20, $12 + $13, pid == 1 ? 0 : $14 + $15
		}' >"$1"
}

# busy_between FILE FILE: what was stolen, and what the busiest program had of a CPU, in percent. One whose children had
# more than there was to have had them from before.
busy_between() {
	awk -v hz="$(getconf CLK_TCK)" '
		FNR == 1 { file++ }
		$1 == "at" { seconds = $2 - was; was = $2 }
		$1 == "cpus" { stolen = $2 - stole; stole = $2; all = $3 - had; had = $3 }
		$1 == "program" && file == 1 { own[$2] = $3; children[$2] = $4 }
		$1 == "program" && file == 2 {
			ran = $3 - own[$2]; ended = $4 - children[$2]
			if (ran + ended <= all) ran += ended
			if (ran > most) most = ran
		}
		END { printf "%.1f %.1f\n", all ? 100 * stolen / all : 0, seconds ? 100 * most / hz / seconds : 0 }' "$1" "$2"
}

# watch_host: before anything of the experiment runs. Sets busy_said.
watch_host() {
	host_times "$workspace/host_at_rest"
	sleep 1
	host_times "$workspace/host_begun"
	say_busy "before it began" "$workspace/host_at_rest" "$workspace/host_begun"
	busy_said="$busy_said; load average $(cut -d ' ' -f 1 /proc/loadavg)"
	warn "$busy_said"
}

# say_busy WHEN FILE FILE: sets busy_said.
say_busy() {
	read -r busy_stolen busy_most <<-BUSY
		$(busy_between "$2" "$3")
	BUSY
	busy_said="$1 the busiest other program had $busy_most % of a CPU, and $busy_stolen % of all CPU time was stolen"
	if [ "$(echo "$busy_most $busy_stolen" | awk -v busy=$busy_limit -v steal=$steal_limit '{ print ($1 > busy || $2 > steal) }')" = 1 ]; then
		busy_said="unfit for figures: $busy_said (more than $busy_limit %, or than $steal_limit %)"
	fi
}
