# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# What netcost-steer apply is to change, found out before anything is, and then changed. Sourced.
# The plan has a line a change: write FILE WAS BECOMES, feature DEVICE NAME WAS BECOMES, flow DEVICE MAC QUEUE.

# check_devices: leaves each of them in devices once.
check_devices() {
	devices=$(printf '%s\n' "$devices" | tr ' ' '\n' | awk 'NF && !seen[$0]++' | paste -s -d ' ' -)
	for check_device in $devices; do
		case $check_device in
		*[!A-Za-z0-9._:@-]* | . | ..) bad_usage "--device takes names, not $check_device" ;;
		esac
		[ -d "$sysfs/class/net/$check_device" ] || die "no network device $check_device"
		if [ -r "$sysfs/class/net/$check_device/bonding/slaves" ]; then
			die "$check_device is a bond: name its devices, --device $(paste -s -d ' ' "$sysfs/class/net/$check_device/bonding/slaves" | tr ' ' ',')"
		fi
	done
}

# plan FIELD...
plan() {
	joined "$@" >>"$workspace/plan" || die "no room in $workspace"
}

# plan_write FILE VALUE: unless it is so already.
plan_write() {
	plan_write_was=$(cat "$1" 2>/dev/null) || die "cannot read $1"
	same_setting "$1" "$plan_write_was" "$2" || plan write "$1" "$plan_write_was" "$2"
}

make_plan() {
	: >"$workspace/plan"
	check_devices
	[ -z "$wanted_cpu" ] || [ -d "$sysfs/devices/system/cpu/cpu$wanted_cpu" ] || die "there is no CPU $wanted_cpu"
	for device in $devices; do
		if [ -z "$keep_rps" ]; then
			for make_plan_file in "$sysfs/class/net/$device"/queues/rx-*/rps_cpus; do
				[ ! -e "$make_plan_file" ] || plan_write "$make_plan_file" 0
			done
		fi
		[ -z "$mac" ] || plan_flow "$device"
		[ -z "$wanted_cpu" ] || plan_interrupts "$device"
	done
	if [ -n "$qdisc" ]; then
		[ -e "$procfs/sys/net/core/default_qdisc" ] || die "no net.core.default_qdisc here: only the host has it, not its namespaces"
		plan_write "$procfs/sys/net/core/default_qdisc" "$qdisc"
	fi
}

plan_flow() {
	command -v ethtool >/dev/null || die "flow rules need ethtool, which is not installed"
	[ -d "$sysfs/class/net/$1/queues/rx-$queue" ] || die "$1 has no receive queue $queue"
	plan_flow_feature=$(feature "$1" ntuple-filters)
	case $plan_flow_feature in
	on) ;;
	off)
		[ -n "$ntuple" ] || die "ntuple-filters of $1 are off, and flow rules need them: switching them resets some NICs (i40e, the ixgbe family), which drop packets meanwhile; --ntuple does it"
		plan feature "$1" ntuple-filters off on
		;;
	*) die "$1 takes no flow rules (ntuple-filters: ${plan_flow_feature:-not known to ethtool}): steer by its RSS table, or record all CPUs" ;;
	esac
	plan_flow_there=$(rules_of "$1" "$mac")
	if [ -z "$plan_flow_there" ]; then
		plan flow "$1" "$mac" "$queue"
	elif [ "${plan_flow_there##* }" != "$queue" ]; then
		die "$1 has flow rule ${plan_flow_there%% *} for $mac to queue ${plan_flow_there##* } already: ethtool -N $1 delete ${plan_flow_there%% *}"
	fi
}

# plan_interrupts DEVICE: of the one queue, or of all.
plan_interrupts() {
	if [ -n "$wanted_irq" ]; then
		plan_irqs=$wanted_irq
	elif [ -n "$queue" ]; then
		plan_irqs=$(interrupt_of "$1" "$queue")
		case $(echo "$plan_irqs" | grep -c .) in
		1) ;;
		*) die "cannot tell which interrupt of $1 is queue $queue's: --irq with one of $(interrupts "$1" | awk '{ printf "%s%s (%s)", comma, $1, $2; comma = ", " } END { if (!NR) printf "none that is known" }')" ;;
		esac
	else
		plan_irqs=$(interrupts "$1" | cut -d ' ' -f 1)
		[ -n "$plan_irqs" ] || die "$1 has no interrupt of its own: a virtual device is steered by RPS, not by IRQ affinity"
	fi
	for plan_irq in $plan_irqs; do
		[ -e "$procfs/irq/$plan_irq/smp_affinity_list" ] || die "there is no interrupt $plan_irq"
		plan_write "$procfs/irq/$plan_irq/smp_affinity_list" "$wanted_cpu"
	done
	for plan_comm in "$procfs"/[0-9]*/comm; do
		read -r plan_name <"$plan_comm" || continue
		[ "$plan_name" != irqbalance ] || warn "irqbalance is running and moves interrupts back: stop it meanwhile"
	done 2>/dev/null
}

show_plan() {
	while IFS=$tab read -r show_kind show_first show_second show_third show_fourth; do
		case $show_kind in
		write) say "  echo $show_third >$show_first    # is $show_second" ;;
		feature) say "  ethtool -K $show_first $show_second $show_fourth    # is $show_third" ;;
		flow) say "  ethtool -N $show_first flow-type ether dst $show_second action $show_third" ;;
		esac
	done <"$workspace/plan" | if [ -n "$applied" ]; then sed 's/# is /# was /'; else cat; fi
}

# carry_out_plan: each change into the journal and then made. One that fails takes all back: end does.
carry_out_plan() {
	while IFS=$tab read -r carry_kind carry_first carry_second carry_third carry_fourth; do
		case $carry_kind in
		write)
			enter write "$carry_first" "$carry_second" "$carry_third"
			{ echo "$carry_third" >"$carry_first"; } 2>/dev/null || die "the kernel refuses $carry_third for $carry_first"
			;;
		feature)
			enter feature "$carry_first" "$carry_second" "$carry_third" "$carry_fourth" "$(rule_ids "$carry_first" | paste -s -d , -)"
			ethtool -K "$carry_first" "$carry_second" "$carry_fourth" >"$workspace/said" 2>&1 ||
				die "ethtool cannot switch $carry_second of $carry_first $carry_fourth: $(tail -n 1 "$workspace/said")"
			;;
		flow)
			enter flow "$carry_first" "$carry_second" "$carry_third" "$(rules "$carry_first" | cut -d ' ' -f 1 | paste -s -d , -)"
			ethtool -N "$carry_first" flow-type ether dst "$carry_second" action "$carry_third" >"$workspace/said" 2>&1 ||
				die "$carry_first refuses the flow rule: $(tail -n 1 "$workspace/said")"
			carry_rule=$(rules_of "$carry_first" "$carry_second" | head -n 1 | cut -d ' ' -f 1)
			[ -n "$carry_rule" ] || die "$carry_first took the flow rule and does not show it"
			enter rule "$carry_first" "$carry_second" "$carry_rule"
			;;
		esac
	done <"$workspace/plan"
}

# begin_restore: not two at a time, not while apply is at it, and where apply was.
begin_restore() {
	begin_restore_namespace=$(sed -n 3p "$state/owner" 2>/dev/null)
	[ "${begin_restore_namespace:-unknown}" = unknown ] || [ "$begin_restore_namespace" = "$(network_namespace)" ] ||
		die "applied in another network namespace ($begin_restore_namespace): restore there, or remove $state if it is gone"
	begin_restore_applier=$(sed -n 4p "$state/owner" 2>/dev/null)
	! is_running "${begin_restore_applier% *}" "${begin_restore_applier#* }" ||
		die "process ${begin_restore_applier% *} is applying it right now"
	take_lock "$state/restoring" || die "it is being put back right now by ${lock_owner:-another process}"
	# A shell that was killed before its first change left no journal.
	[ -e "$state/journal" ] || : >"$state/journal"
}
