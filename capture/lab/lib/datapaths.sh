# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The data paths of datapath-sweep: source -> host -> destinations, each by other means. Sourced.
#
#   namespace source                 namespace host                         namespaces first, second
#   src0 ---------------------veth-> in0  bridge, routing, XDP or OVS  out1 ---veth-> dst1
#      or --veth-> wire --veth-> in0                                   out2 ---veth-> dst2
#
# The wire is a hub in a namespace of its own, whose RPS gives packets to the victim's CPU before they come to in0: as
# from a NIC, in0's NAPI then polls in softirqs on that CPU, XDP and all.
#
# DATAPATH_reason says in a line why this host cannot; nothing where it can. DATAPATH_path sets it up between
# in0 and out1, out2. Addresses are the same with all; each frame leaves src0 with the right MAC for its path.

source_address=198.18.0.1 first_address=198.18.1.1 second_address=198.18.2.1

# build_path NAME STEERING: all of it, with the packets of in0 worked on by the victim's CPU.
build_path() {
	add_namespace source
	source_ns=$namespace
	add_namespace host
	host_ns=$namespace
	add_namespace first
	first_ns=$namespace
	add_namespace second
	second_ns=$namespace
	if [ "$2" = wire ]; then
		add_namespace wire
		wire_ns=$namespace
		add_hub "$wire_ns" wire0
		add_veth "$source_ns" src0 "$wire_ns" near0
		add_veth "$host_ns" in0 "$wire_ns" far0
		plug_in "$wire_ns" wire0 near0 far0
		poll_by_napi "$host_ns" in0 "$wire_ns" far0
		steer_by_rps "$wire_ns" near0 "$victim_cpu"
	else
		add_veth "$source_ns" src0 "$host_ns" in0
	fi
	add_veth "$first_ns" dst1 "$host_ns" out1
	add_veth "$second_ns" dst2 "$host_ns" out2
	add_address "$source_ns" src0 $source_address/15
	add_address "$first_ns" dst1 $first_address/15
	add_address "$second_ns" dst2 $second_address/15
	first_mac=$(mac "$first_ns" dst1) second_mac=$(mac "$second_ns" dst2)
	name_destinations "$first_mac" "$second_mac"
	# Without NAPI a veth takes no frames that XDP redirects; the same for all paths.
	poll_by_napi "$first_ns" dst1 "$host_ns" out1
	poll_by_napi "$second_ns" dst2 "$host_ns" out2
	# From the wire frames come with their checksums; those a veth leaves out are lost in an XDP redirect.
	inside "$source_ns" ethtool -K src0 tx off >/dev/null || die "cannot have src0 write checksums"
	"$(echo "$1" | tr - _)_path"
	case $2 in
	rps) steer_by_rps "$host_ns" in0 "$victim_cpu" ;;
	threaded) steer_by_thread "$host_ns" in0 "$victim_cpu" ;;
	esac
}

remove_path() {
	stop_beside
	for remove_path_namespace in $namespaces; do
		remove_namespace "$remove_path_namespace"
	done
	namespaces=''
}

# name_destinations MAC MAC: what the source writes into its frames for the first and the second.
name_destinations() {
	add_neighbour "$source_ns" src0 $first_address "$1"
	add_neighbour "$source_ns" src0 $second_address "$2"
}

bridge_reason() {
	command -v bridge >/dev/null || echo "bridge of iproute2 is not installed"
}

bridge_path() {
	{
		ip -n "$host_ns" link add name br0 type bridge mcast_snooping 0 &&
			ip -n "$host_ns" link set br0 up &&
			ip -n "$host_ns" link set in0 master br0 &&
			ip -n "$host_ns" link set out1 master br0 &&
			ip -n "$host_ns" link set out2 master br0 &&
			bridge -n "$host_ns" fdb add "$first_mac" dev out1 master static &&
			bridge -n "$host_ns" fdb add "$second_mac" dev out2 master static
	} || die "cannot set up a bridge"
}

route_reason() {
	:
}

route_path() {
	inside "$host_ns" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward' || die "cannot switch forwarding on"
	{
		ip -n "$host_ns" route add $source_address dev in0 &&
			ip -n "$host_ns" route add $first_address dev out1 &&
			ip -n "$host_ns" route add $second_address dev out2
	} || die "cannot set the routes"
	add_neighbour "$host_ns" out1 $first_address "$first_mac"
	add_neighbour "$host_ns" out2 $second_address "$second_mac"
	name_destinations "$(mac "$host_ns" in0)" "$(mac "$host_ns" in0)"
}

xdp_reason() {
	command -v clang >/dev/null || echo "clang is not installed"
}

# attach_xdp MODE: xdp on the driver's own hook, or xdpgeneric.
attach_xdp() {
	attach_xdp_ports="$(xdp_port out1 "$first_mac") $(xdp_port out2 "$second_mac")" || die "cannot find out1 and out2"
	# Where Debian keeps asm/; elsewhere the folder is not there.
	clang -O2 -g -target bpf "-I/usr/include/$(uname -m)-linux-gnu" "-DPORTS=$attach_xdp_ports" \
		-c "$lab/xdp-forward.c" -o "$workspace/xdp-forward.o" || die "cannot compile $lab/xdp-forward.c"
	ip -n "$host_ns" link set dev in0 "$1" object "$workspace/xdp-forward.o" section xdp ||
		die "cannot attach the XDP program to in0"
}

# xdp_port DEVICE MAC: its line of the program's table.
xdp_port() {
	xdp_port_index=$(ip -n "$host_ns" -o link show "$1" | cut -d : -f 1)
	[ -n "$xdp_port_index" ] && echo "PORT($xdp_port_index,0x$(echo "$2" | sed 's/:/,0x/g'))"
}

xdp_path() {
	attach_xdp xdp
}

xdp_generic_reason() {
	xdp_reason
}

xdp_generic_path() {
	attach_xdp xdpgeneric
}

ovs_userspace_reason() {
	for ovs_reason_program in ovs-vswitchd ovsdb-server ovsdb-tool ovs-vsctl ovs-ofctl; do
		command -v "$ovs_reason_program" >/dev/null || { echo "Open vSwitch ($ovs_reason_program) is not installed" && return; }
	done
}

ovs_reason() {
	ovs_reason_text=$(ovs_userspace_reason)
	if [ -n "$ovs_reason_text" ]; then
		echo "$ovs_reason_text"
	elif [ ! -d /sys/module/openvswitch ] && ! modprobe -q -n openvswitch 2>/dev/null; then
		echo "this kernel has no module openvswitch"
	fi
}

ovs_path() {
	start_ovs system
}

ovs_userspace_path() {
	start_ovs netdev
}

# start_ovs DATAPATH: a switch of its own in the namespace, with its database in the workspace: the host's
# is not touched.
start_ovs() {
	OVS_RUNDIR=$workspace OVS_LOGDIR=$workspace OVS_DBDIR=$workspace
	export OVS_RUNDIR OVS_LOGDIR OVS_DBDIR
	rm -f -- "$workspace/ovs.conf"
	ovsdb-tool create "$workspace/ovs.conf" || die "cannot make a database for Open vSwitch"
	start_beside ovsdb-server --remote="punix:$workspace/ovs.sock" --unixctl="$workspace/ovsdb.ctl" "$workspace/ovs.conf" >"$workspace/ovsdb.txt" 2>&1
	for start_ovs_try in 1 2 3 4 5 6 7 8 9 10; do
		[ ! -S "$workspace/ovs.sock" ] || break
		sleep 0.2
	done
	ovs-vsctl --db="unix:$workspace/ovs.sock" --timeout 10 --no-wait init || die "Open vSwitch's database does not answer"
	start_beside nsenter --net="/run/netns/$host_ns" ovs-vswitchd --unixctl="$workspace/vswitchd.ctl" "unix:$workspace/ovs.sock" >"$workspace/vswitchd.txt" 2>&1
	{
		ovs-vsctl --db="unix:$workspace/ovs.sock" --timeout 10 add-br br0 -- set bridge br0 "datapath_type=$1" \
			-- add-port br0 in0 -- add-port br0 out1 -- add-port br0 out2 &&
			ovs-ofctl add-flow br0 "dl_dst=$first_mac,actions=output:out1" &&
			ovs-ofctl add-flow br0 "dl_dst=$second_mac,actions=output:out2"
	} ||
		die "Open vSwitch does not take the ports: $(tail -n 1 "$workspace/vswitchd.txt")"
}
