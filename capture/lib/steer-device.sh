# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# A network device's queues, interrupts and flow rules, as sysfs, /proc/interrupts and ethtool show them. Sourced.
# Uses sysfs, procfs. Only reads.

# feature DEVICE NAME: on, off, or "off [fixed]", as ethtool -k calls it.
feature() {
	ethtool -k "$1" 2>/dev/null | sed -n "s/^$2: *//p"
}

# rule_ids DEVICE: of all its flow rules, a line each.
rule_ids() {
	ethtool -n "$1" 2>/dev/null | sed -n 's/^Filter: *\([0-9]*\).*/\1/p'
}

# rules DEVICE: "ID MAC QUEUE" of each flow rule by destination address, the MAC in small letters.
rules() {
	ethtool -n "$1" 2>/dev/null | awk '
		$1 == "Filter:" { id = $2 }
		/Dest MAC addr:/ { mac = tolower($4) }
		/Action: Direct to queue/ { if (mac != "") print id, mac, $NF; mac = "" }'
}

# rules_of DEVICE MAC
rules_of() {
	rules "$1" | awk -v mac="$2" '$2 == mac'
}

# interrupts DEVICE: "IRQ LABEL" of the device's own. A virtio device's are those of the PCI device around it.
interrupts() {
	interrupts_own=$(
		ls "$sysfs/class/net/$1/device/msi_irqs" 2>/dev/null ||
			ls "$sysfs/class/net/$1/device/../msi_irqs" 2>/dev/null ||
			cat "$sysfs/class/net/$1/device/irq" 2>/dev/null
	)
	# Labels are at the end of their lines. Where sysfs has no numbers, a label that begins with the device's name tells.
	awk -v device="$1" -v own=" $(echo "$interrupts_own" | paste -s -d ' ' -) " '
		{ irq = $1; sub(/:$/, "", irq) }
		irq !~ /^[0-9]+$/ { next }
		index(own, " " irq " ") || (own !~ /[1-9]/ && index($NF, device) == 1 && substr($NF, length(device) + 1, 1) !~ /[0-9A-Za-z]/) {
			print irq, $NF
		}' "$procfs/interrupts"
}

# interrupt_of DEVICE QUEUE: the IRQ that says packets of the queue have arrived; several where the labels do not
# tell, nothing where none does. Labels are the drivers own: mlx5_comp2@pci:0000:d8:00.0, eth0-TxRx-2, eth0-rx-2,
# virtio1-input.2, and eth0 alone where there is one for everything.
interrupt_of() {
	interrupts "$1" | awk -v device="$1" -v queue="$2" '
		{ label = $2; sub(/@.*/, "", label) }
		label ~ /(output[.]?|[-_.][Tt][Xx][-_.]?)[0-9]*$|async|config|ctrl|mgmt|cmd/ { next }
		label == device { whole = $1; next }
		match(label, /[0-9]+$/) && substr(label, RSTART) + 0 == queue + 0 { print $1; found = 1 }
		END { if (!found && whole != "" && queue == 0) print whole }'
}

# queue_packets DEVICE: "QUEUE PACKETS" of each receive queue, from the driver's own statistics.
queue_packets() {
	ethtool -S "$1" 2>/dev/null | awk '
		{ name = tolower($1); sub(/:$/, "", name) }
		name !~ /rx/ || name !~ /(packets|_cnt|pkts)$/ || name ~ /xdp|drop|bytes|tx|xsk/ { next }
		match(name, /[0-9]+/) {
			queue = substr(name, RSTART, RLENGTH)
			rest = substr(name, RSTART + RLENGTH)
			# One number: that of the queue. rx_64_octets_packets and the like count sizes.
			if (rest ~ /[0-9]/ || name ~ /octets|to_|prio|byte/) next
			if (!(queue in seen)) print queue + 0, $2
			seen[queue] = 1
		}'
}

# interrupt_counts IRQ: "CPU COUNT", a line a CPU.
interrupt_counts() {
	awk -v irq="$1:" '
		NR == 1 { for (i = 1; i <= NF; i++) cpu[i] = substr($i, 4); cpus = NF; next }
		$1 == irq { for (i = 1; i <= cpus; i++) print cpu[i], $(i + 1) }' "$procfs/interrupts"
}

# risen BEFORE AFTER: "KEY INCREASE" of files of "KEY NUMBER", largest first.
risen() {
	awk 'NR == FNR { was[$1] = $2; next } { printf "%s %.0f\n", $1, $2 - was[$1] }' "$1" "$2" | sort -k 2,2nr -k 1,1n
}
