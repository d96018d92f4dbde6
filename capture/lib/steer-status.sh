# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# netcost-steer status: what is set, and whether packets go where it says: flow -> queue -> irq -> CPU, from
# counters over some seconds. Sourced.

# show_journal: each change, and whether it is still so.
show_journal() {
	if [ ! -d "$state" ]; then
		echo "nothing is applied"
		return
	fi
	echo "applied, $(journal_owner)"
	sed -n 2p "$state/owner" 2>/dev/null | sed 's/^/  /'
	entries >"$workspace/entries" || die "no room in $workspace"
	while IFS=$tab read -r show_kind show_first show_second show_third show_fourth; do
		case $show_kind in
		write)
			show_now=$(cat "$show_first" 2>/dev/null)
			if same_setting "$show_first" "$show_now" "$show_third"; then
				echo "  $show_first: $show_third (was $show_second)"
			else
				echo "  $show_first: ${show_now:-gone}, was set to $show_third: somebody has changed it since"
				contradicted=yes
			fi
			;;
		feature) echo "  $show_first: $show_second is $(feature "$show_first" "$show_second") (was $show_third)" ;;
		rule)
			show_rule=$(rules_of "$show_first" "$show_second" | awk -v id="$show_third" '$1 == id { print $3 }')
			if [ -n "$show_rule" ]; then
				echo "  $show_first: flow rule $show_third sends $show_second to queue $show_rule"
			else
				echo "  $show_first: flow rule $show_third for $show_second is gone"
				contradicted=yes
			fi
			;;
		esac
	done <"$workspace/entries"
}

# count_all FOLDER: the counters of all devices.
count_all() {
	mkdir -p "$1" || die "cannot write to $1"
	for count_all_device in $devices; do
		queue_packets "$count_all_device" >"$1/queues-$count_all_device"
		interrupts "$count_all_device" | while read -r count_all_irq _; do
			interrupt_counts "$count_all_irq" >"$1/irq-$count_all_irq"
		done
	done
	softnet 1 "$procfs/net/softnet_stat" >"$1/softnet"
}

# verify: waits, compares, says; sets verified to the devices where it is so and contradicted where it is not.
verify() {
	count_all "$workspace/before"
	sleep "$seconds"
	count_all "$workspace/after"
	verified='' quiet=''
	for device in $devices; do
		verify_device "$device"
	done
	echo "CPUs: packets taken from queues and backlogs in $seconds s"
	risen "$workspace/before/softnet" "$workspace/after/softnet" | while read -r verify_cpu verify_packets; do
		echo "  CPU $verify_cpu: $verify_packets"
	done
}

# verify_device DEVICE: its rules first; without one the busiest queue is followed.
verify_device() {
	echo "$1: counted for $seconds s"
	verify_steered=$(rules "$1")
	if [ -n "$verify_steered" ]; then
		echo "$verify_steered" | while read -r verify_id verify_mac verify_queue; do
			echo "  flow rule $verify_id: $verify_mac -> queue $verify_queue"
		done
	else
		echo "  no flow rule by destination address"
	fi
	risen "$workspace/before/queues-$1" "$workspace/after/queues-$1" >"$workspace/queues"
	if [ ! -s "$workspace/queues" ]; then
		echo "  the driver counts no packets by queue: the flow cannot be followed"
		quiet="$quiet $1"
		return
	fi
	verify_all=$(awk '{ sum += $2 } END { printf "%.0f", sum }' "$workspace/queues")
	if [ "$verify_all" = 0 ]; then
		echo "  no packet came in: send the flow some, and ask again"
		quiet="$quiet $1"
		return
	fi
	verify_queues=$(echo "$verify_steered" | awk 'NF { print $3 }' | sort -un)
	[ -n "$verify_queues" ] || verify_queues=$(head -n 1 "$workspace/queues" | cut -d ' ' -f 1)
	for verify_queue in $verify_queues; do
		verify_queue "$1" "$verify_queue"
	done
}

# verify_queue DEVICE QUEUE
verify_queue() {
	verify_packets=$(awk -v queue="$2" '$1 == queue { print $2 }' "$workspace/queues")
	echo "  queue $2: ${verify_packets:-0} of $verify_all packets"
	if [ "$((${verify_packets:-0} * 2))" -lt "$verify_all" ]; then
		echo "    less than half: other queues had $(awk -v queue="$2" '$1 != queue && $2 > 0 { printf "%s%s: %s", comma, $1, $2; comma = ", " }' "$workspace/queues")"
		contradicted=yes
	fi
	verify_irqs=$(interrupt_of "$1" "$2")
	if [ -z "$verify_irqs" ]; then
		echo "    no interrupt's label names this queue: netcost-steer cannot tell which is its"
		quiet="$quiet $1"
		return
	fi
	for verify_irq in $verify_irqs; do
		verify_irq "$1" "$2" "$verify_irq"
	done
}

# verify_irq DEVICE QUEUE IRQ
verify_irq() {
	verify_label=$(interrupts "$1" | awk -v irq="$3" '$1 == irq { print $2 }')
	verify_affinity=$(cat "$procfs/irq/$3/smp_affinity_list" 2>/dev/null)
	verify_effective=$(cat "$procfs/irq/$3/effective_affinity_list" 2>/dev/null)
	echo "    irq $3 ($verify_label): may run on CPU ${verify_affinity:-unknown}, is sent to ${verify_effective:-unknown}"
	risen "$workspace/before/irq-$3" "$workspace/after/irq-$3" | awk '$2 > 0' >"$workspace/cpus"
	if [ ! -s "$workspace/cpus" ]; then
		# A device that is polled all the time raises none.
		echo "    no interrupt in that time"
		quiet="$quiet $1"
		return
	fi
	awk '{ printf "    %s interrupts on CPU %s\n", $2, $1 }' "$workspace/cpus"
	verify_cpu=$(head -n 1 "$workspace/cpus" | cut -d ' ' -f 1)
	if [ "$(wc -l <"$workspace/cpus")" -gt 1 ]; then
		echo "    on more than one CPU"
		contradicted=yes
	elif [ -n "$wanted_cpu" ] && [ "$verify_cpu" != "$wanted_cpu" ]; then
		echo "    not on CPU $wanted_cpu"
		contradicted=yes
	else
		verified="$verified $1"
		echo "    so: $1 -> queue $2 -> irq $3 -> CPU $verify_cpu"
	fi
}
