# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Network namespaces, veth pairs between them, and whose CPU their packets are worked on. Sourced.
# Addresses are of 198.18.0.0/15, which is for benchmarks (RFC 2544).

# add_namespace WORD: makes netcost-lab-PID-START-WORD and sets namespace to that.
add_namespace() {
	namespace=netcost-lab-$mark-$1
	# Said first: a signal is taken between any two commands.
	namespaces="$namespaces $namespace"
	made namespace "$namespace"
	ip netns add "$namespace" || die "cannot make network namespaces"
	# Nothing but the load: no neighbour discovery, no router solicitations.
	nsenter --net="/run/netns/$namespace" sh -c 'echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6' 2>/dev/null
	ip -n "$namespace" link set lo up
}

remove_namespace() {
	[ ! -e "/run/netns/$1" ] || ip netns delete "$1" || die "cannot remove the namespace $1"
}

# inside NAMESPACE COMMAND...
inside() {
	inside_namespace=$1
	shift
	nsenter --net="/run/netns/$inside_namespace" "$@"
}

# add_veth NAMESPACE DEVICE NAMESPACE DEVICE: a pair, both ends up.
add_veth() {
	{
		ip -n "$1" link add name "$2" type veth peer name "$4" netns "$3" &&
			ip -n "$1" link set "$2" up &&
			ip -n "$3" link set "$4" up
	} || die "cannot set up the veth pair $2, $4"
}

# add_address NAMESPACE DEVICE ADDRESS/LENGTH
add_address() {
	ip -n "$1" address add "$3" dev "$2" || die "cannot give $2 the address $3"
}

# mac NAMESPACE DEVICE
mac() {
	ip -n "$1" -br link show "$2" | awk '{ print $3 }'
}

# add_neighbour NAMESPACE DEVICE ADDRESS MAC: no ARP in between.
add_neighbour() {
	ip -n "$1" neighbour replace "$3" nud permanent dev "$2" lladdr "$4" || die "cannot name the neighbour $3 of $2"
}

# set_device NAMESPACE DEVICE FILE VALUE: sysfs shows the devices of the namespace it was mounted in, so each
# needs a mount of its own, which ip netns exec makes.
set_device() {
	# shellcheck disable=SC2016 # for the inner shell to expand
	ip netns exec "$1" sh -c 'echo "$1" >"/sys/class/net/$2/$3"' set "$4" "$2" "$3" 2>/dev/null
}

# steer_by_rps NAMESPACE DEVICE CPU: receive packet steering hands all packets of the device to the CPU, as
# a NIC's flow rules would: an IPI, then the backlog's polls in softirqs, on top of whatever runs there.
steer_by_rps() {
	set_device "$1" "$2" queues/rx-0/rps_cpus "$(cpu_mask "$3")" || die "cannot steer packets: this kernel has no RPS"
}

# poll_by_napi NAMESPACE DEVICE SENDING_NAMESPACE SENDING_DEVICE: the device gets a NAPI instance, whose polls have its
# name. The kernel only goes by it for what GRO may merge, which a veth that hands on whole TSO packets does not send.
poll_by_napi() {
	{ inside "$1" ethtool -K "$2" gro on && inside "$3" ethtool -K "$4" tso off; } || die "cannot give $2 a NAPI instance"
}

# steer_by_thread NAMESPACE DEVICE CPU: the device's NAPI polls in a kernel thread of its own, pinned to the
# CPU. The only way to have XDP on a veth run elsewhere than on the sender's CPU.
steer_by_thread() {
	inside "$1" ethtool -K "$2" gro on || die "cannot give $2 a NAPI instance: gro cannot be switched on"
	napi_threads "$2" >"$workspace/napi_threads"
	set_device "$1" "$2" threaded 1 || die "this kernel has no threaded NAPI (5.12 and later have)"
	steer_by_thread_found=''
	for steer_by_thread_pid in $(napi_threads "$2"); do
		# Another namespace may have a device of that name.
		grep -qx "$steer_by_thread_pid" "$workspace/napi_threads" && continue
		taskset -p -c "$3" "$steer_by_thread_pid" >/dev/null || die "cannot pin the NAPI thread of $2"
		steer_by_thread_found=yes
	done
	[ -n "$steer_by_thread_found" ] || die "$2 got no NAPI thread"
}

# napi_threads DEVICE: the kernel threads that poll a device of that name, one a line.
napi_threads() {
	all_stats | sed -n "s,^\([0-9]*\) (napi/$1-.*,\1,p"
}

# cpu_mask CPU: the mask of that one CPU as sysfs writes it, 32 bits a word.
cpu_mask() {
	cpu_mask_words=$(($1 / 32))
	printf '%x' $((1 << $1 % 32))
	while [ "$cpu_mask_words" -gt 0 ]; do
		printf ',00000000'
		cpu_mask_words=$((cpu_mask_words - 1))
	done
}

# add_hub NAMESPACE BRIDGE: a bridge that never remembers who is where, so that each frame goes to every port.
add_hub() {
	{
		ip -n "$1" link add name "$2" type bridge ageing_time 0 mcast_snooping 0 &&
			ip -n "$1" link set "$2" up
	} || die "cannot set up a bridge"
}

# plug_in NAMESPACE BRIDGE DEVICE...
plug_in() {
	plug_in_namespace=$1 plug_in_bridge=$2
	shift 2
	for plug_in_device in "$@"; do
		{
			ip -n "$plug_in_namespace" link set "$plug_in_device" master "$plug_in_bridge" &&
				ip -n "$plug_in_namespace" link set dev "$plug_in_device" type bridge_slave learning off flood on
		} || die "cannot connect $plug_in_device to the bridge"
	done
}

# iperf_server PORT SECONDS: the command of a server for one client, which ends when none has come for so long.
iperf_server() {
	iperf_server_limit=''
	! iperf3 --help 2>&1 | grep -q -e --idle-timeout || iperf_server_limit=" --idle-timeout $2"
	echo "iperf3 --server --one-off --port $1$iperf_server_limit"
}
