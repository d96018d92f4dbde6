# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Positive controls: did what an experiment switches switch? By the kernel's counters, which cost nothing while it runs.
# A step whose control fails is left out, with the reason. Sourced.

# count_packets BEFORE AFTER CPU: sets control_here and control_elsewhere, packets that this CPU has worked on and that all
# others have, and control_handed, the interrupts by which it was handed some. Of two copies of softnet_stat.
count_packets() {
	{
		softnet 1 "$1" | sed 's/^/before 1 /'
		softnet 10 "$1" | sed 's/^/before 10 /'
		softnet 1 "$2" | sed 's/^/after 1 /'
		softnet 10 "$2" | sed 's/^/after 10 /'
	} | awk -v cpu="$3" '
		{ sign = $1 == "after" ? 1 : -1 }
		$2 == 1 && $3 == cpu { here += sign * $4 }
		$2 == 1 && $3 != cpu { elsewhere += sign * $4 }
		$2 == 10 && $3 == cpu { handed += sign * $4 }
		END { printf "%.0f %.0f %.0f\n", here, elsewhere, handed }' >"$workspace/packets" || die "no room in $workspace"
	read -r control_here control_elsewhere control_handed <"$workspace/packets"
}

# steered BUNDLE CPU: was most of what the network did meanwhile done by this CPU? What acknowledges is worked on where it is
# sent. As count_packets, and fails with control_reason.
steered() {
	count_packets "$1/before/net_softnet_stat" "$1/after/net_softnet_stat" "$2"
	control_reason="CPU $2 has worked on $control_here packets and other CPUs on $control_elsewhere: they were not steered to it"
	[ "$control_here" -gt "$control_elsewhere" ] && [ "$control_here" -ge 100 ]
}

# refuse STEP: of the series, by control_reason.
refuse() {
	refused=$((refused + 1))
	remove_tree "${output:?}/$1"
	series_note "left out, because its control failed: $1: $control_reason"
}

# require_control COMMAND...: of an experiment that is one bundle.
require_control() {
	if "$@"; then
		warn "control: CPU $victim_cpu worked on $control_here packets, the others on $control_elsewhere"
	else
		remove_tree "$output"
		die "not recorded, because its control failed: $control_reason"
	fi
}
refused=0
