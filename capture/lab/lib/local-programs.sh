# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The programs that send and receive in local-regression: iperf3, and sockperf for UDP. Sourced.
#
# A program's client and server run in client_ns on client_cpu and in server_ns on victim_cpu, at address and port.

# Seconds that sockperf waits before it sends.
sockperf_wait=2

# client PROGRAM PROTOCOL SECONDS: its command, which takes a second more.
client() {
	client_iperf="iperf3 --client $address --port $port --omit 1 --time $3 --connect-timeout 5000 --json"
	case $1,$2 in
	iperf3,udp) client_command="$client_iperf --udp --bitrate 0 --length $size" ;;
	iperf3,tcp) client_command="$client_iperf --length 131072" ;;
	sockperf,udp) client_command="sockperf throughput -i $address -p $port --msg-size $size --time $(($3 + 1))" ;;
	esac
	echo "nsenter --net=/run/netns/$client_ns taskset -c $client_cpu $client_command"
}

# server PROGRAM: its command.
server() {
	case $1 in
	iperf3) set -- "$(iperf_server "$port" $((duration + 15)))" ;;
	sockperf) set -- sockperf server -i "$address" -p "$port" ;;
	esac
	echo nsenter --net="/run/netns/$server_ns" taskset -c "$victim_cpu" "$@"
}

# load_of PROGRAM PROTOCOL SECONDS: both, for netcost-record's shell. sockperf's server says what came when it is interrupted.
load_of() {
	load_of_client="$(client "$@") >\"\$NETCOST_FILES/$(report_of "$1")\""
	case $1 in
	iperf3) echo "$(server "$1") >/dev/null & sleep 0.2; $load_of_client; wait" ;;
	sockperf) echo "$(server "$1") >\"\$NETCOST_FILES/server.txt\" & sleep 0.2; $load_of_client; kill -INT \$!; wait" ;;
	esac
}

# await_server PROGRAM: until it listens; sockperf's does to datagrams.
await_server() {
	case $1 in
	iperf3) set -- "$1" 0A /proc/net/tcp /proc/net/tcp6 ;;
	sockperf) set -- "$1" 07 /proc/net/udp ;;
	esac
	await_server_left=40
	while [ "$await_server_left" -gt 0 ]; do
		! inside "$server_ns" grep -qs ":$(printf '%04X' "$port") .* $2 " "$3" ${4:+"$4"} || return 0
		await_server_left=$((await_server_left - 1))
		sleep 0.05
	done
	die "the $1 server does not listen"
}

# report_of PROGRAM: the file with what its client printed.
report_of() {
	case $1 in
	iperf3) echo iperf3.json ;;
	sockperf) echo sockperf.txt ;;
	esac
}

# said FILE PART NAME: the number NAME of the object PART in what iperf3 --json wrote, the last of that name.
said() {
	awk -v part="\"$2\"" -v name="\"$3\"" '
		/"end":/ { at_end = 1 }
		at_end && $1 ~ part { inside = 1 }
		inside && index($1, name) { value = $2; sub(/,$/, "", value); inside = 0 }
		END { print value }' "$1"
}

# read_throughput PROGRAM FOLDER: sets received and sent, in bits/s, and client_percent and server_percent of a CPU, by what
# client and server printed into FOLDER. sockperf reports no CPU time: it is pidstat's, where that ran. Its server received a
# share of all that its client sent: the same share of what it sent in a second arrived.
read_throughput() {
	read_throughput_report=$2/$(report_of "$1")
	case $1 in
	iperf3)
		received=$(said "$read_throughput_report" sum_received bits_per_second)
		sent=$(said "$read_throughput_report" sum_sent bits_per_second)
		client_percent=$(said "$read_throughput_report" cpu_utilization_percent host_total)
		server_percent=$(said "$read_throughput_report" cpu_utilization_percent remote_total)
		;;
	sockperf)
		client_percent='' server_percent=''
		[ ! -e "$2/pidstat.txt" ] || read -r client_percent server_percent <<-PERCENTS
			$(awk '
				$1 == "sockperf:" && $2 == "[tid" { server = $3 + 0 }
				$1 == "#" { for (i = 3; i <= NF; i++) at[$i] = i - 1 }
				$NF == "sockperf" && $(at["PID"]) == server { of_server = $(at["%CPU"]); next }
				$NF == "sockperf" { of_client = $(at["%CPU"]) }
				END { if (of_client != "" && of_server != "") print of_client, of_server }
			' "$2/server.txt" "$2/pidstat.txt")
		PERCENTS
		read -r received sent <<-RATES
			$(awk -v bits=$((size * 8)) '
				/ messages sent in / { sent = $4 }
				/Message Rate is / { rate = $6 * bits }
				/ messages received and handled/ { received = $3; any = 1 }
				END { if (rate && any) printf "%.0f %.0f", rate * (received < sent ? received / sent : 1), rate }
			' "$read_throughput_report" "$2/server.txt")
		RATES
		;;
	esac
	[ -n "$received" ] || die "$1 left no throughput in $read_throughput_report"
}
