#!/bin/sh
# watch-until.sh LIBRARY RUN KIND LEAST COMMAND ATTACHED: looks once a second whether the condition of --until holds, and reports
# "until held CLOCK VALUE CPU" on descriptor 3 once it does; of a command without VALUE and CPU. VALUE is that of the
# CPU with the most: percent of the second, or how many times it was squeezed. As long as it does not hold, "until now VALUE
# CPU". "until gone" where there is a service in ATTACHED and it has ended.
library=$1 run=$2 kind=$3 least=$4 command=$5 attached=$6
# shellcheck source=host.sh
. "$library/host.sh"
# shellcheck source=softnet.sh
. "$library/softnet.sh"
# shellcheck source=processes.sh
. "$library/processes.sh"
# shellcheck source=service.sh
. "$library/service.sh"
trap 'exit 0' TERM

# Lines CPU N OF: what grows, and what it is a share of.
reading() {
	case $kind in
	softirq)
		awk '/^cpu[0-9]/ { all = 0; for (i = 2; i <= 9 && i <= NF; i++) all += $i; printf "%d %.0f %.0f\n", substr($1, 4), $8, all }' /proc/stat
		;;
	ksoftirqd)
		read_clock
		for pid in $pids; do
			read -r ran _ <"/proc/$pid/schedstat" && read -r name <"/proc/$pid/comm" && echo "${name#ksoftirqd/} $ran $monotonic_ns"
		done 2>/dev/null
		;;
	squeezed)
		softnet 3 /proc/net/softnet_stat | sed 's/$/ 0/'
		;;
	esac
}

# most BEFORE NOW: "held VALUE CPU" where it is above the least, else "now VALUE CPU".
most() {
	printf '%s\n\n%s\n' "$1" "$2" | awk -v least="$least" -v kind="$kind" '
		NF == 0 { now = 1; next }
		!now { n[$1] = $2; of[$1] = $3; next }
		$1 in n {
			value = $2 - n[$1]
			if (kind != "squeezed") {
				if ($3 <= of[$1]) next
				value = 100 * value / ($3 - of[$1])
			} else if (value < 0) value += 4294967296
			if (cpu == "" || value > most) { most = value; cpu = $1 }
		}
		END { if (cpu != "") printf (kind == "squeezed" ? "%s %.0f %d\n" : "%s %.1f %d\n"), (most > least ? "held" : "now"), most, cpu }'
}

pids=''
[ "$kind" != ksoftirqd ] || pids=$(all_stats | sed -n 's,^\([0-9]*\) (ksoftirqd/[0-9]*) .*,\1,p')
before=$(reading)
while :; do
	sleep 1
	if [ -n "$attached" ] && [ -n "$(service_gone)" ]; then
		echo "until gone" >&3
		exit 0
	fi
	if [ "$kind" = command ]; then
		asked sh "$library/as-called.sh" "$run" sh -c "$command" </dev/null >/dev/null 2>&1 3>&- || continue
		found=''
	else
		now=$(reading)
		found=$(most "$before" "$now")
		before=$now
		case $found in
		held*) found=${found#held} ;;
		?*) echo "until $found" >&3 && continue ;;
		*) continue ;;
		esac
	fi
	read_clock
	echo "until held $monotonic_ns$found" >&3
	exit 0
done
