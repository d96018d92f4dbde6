# shellcheck shell=sh
# /proc/net/softnet_stat. Sourced, with host.sh.

# softnet COLUMN FILE: "CPU COUNT" of a column: 1 packets worked on, 2 dropped at a full backlog, 3 times squeezed, 10 interrupts
# by which another CPU has handed it packets (RPS). Before 5.10 lines do not say whose they are: those of the online
# CPUs in turn.
softnet() {
	cpu_list "$(first_line "${sysfs:-/sys}/devices/system/cpu/online")" | awk -v column="$1" '
		function hex(text,   i, value) {
			for (i = 1; i <= length(text); i++) value = value * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
			return value
		}
		FILENAME == "-" { online[FNR] = $1; next }
		{ printf "%d %.0f\n", NF >= 13 ? hex($13) : online[FNR], hex($column) }' - "$2"
}
