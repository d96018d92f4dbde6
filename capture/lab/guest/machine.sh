# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# One guest from boot to power-off, and the sender at the other end of its wire. Sourced.

# check_qemu: is there one that does?
check_qemu() {
	command -v qemu-system-x86_64 >/dev/null ||
		die "qemu-system-x86_64 is needed and not installed: version 8 or later (Debian 12 has it in bookworm-backports)"
	check_qemu_version=$(qemu-system-x86_64 --version | sed -n 's/.*version \([0-9]*\)\..*/\1/p')
	[ "${check_qemu_version:-0}" -ge 8 ] ||
		die "qemu-system-x86_64 is of version $check_qemu_version: before 8 it hangs guests that it emulates"
	qemu-system-x86_64 -device help 2>/dev/null | grep -q "^name \"$device\"" || die "this QEMU has no $nic"
}

# add_wire: the host's end is a tap in the namespace; a queue of it is a queue of the NIC.
add_wire() {
	add_wire_queues=''
	[ "$nic" != virtio ] || add_wire_queues=multi_queue
	ip -n "$namespace" tuntap add dev tap0 mode tap ${add_wire_queues:+"$add_wire_queues"} || die "cannot make a tap: is /dev/net/tun there?"
	ip -n "$namespace" link set tap0 up txqueuelen 5000
	add_address "$namespace" tap0 "$host_address/30"
	add_neighbour "$namespace" tap0 "$guest_address" "$guest_mac"
}

# run_guest KERNEL: sets guest_status to what its experiment ended with, or to nothing.
run_guest() {
	guest_status=''
	rm -f -- "$share/request" "$share/answer" "$share/asked" "$share/sender" "$share/status"
	cat "$work/root.cpio" "$work/$1.cpio" >"$workspace/initrd" || die "no room for the guest's file system in $workspace"
	case $nic in
	virtio)
		run_guest_netdev=,queues=$queues
		run_guest_device=,mq=on,vectors=$((2 * queues + 2))
		;;
	*) run_guest_netdev='' run_guest_device='' ;;
	esac
	# In QEMU's options a comma ends a value, and two are one.
	run_guest_share=$(printf '%s\n' "$share" | sed 's/,/,,/g')
	# The TSC is emulated, which is as stable as it gets: without being told so, kernels fall back to the HPET.
	start_beside nsenter --net="/run/netns/$namespace" qemu-system-x86_64 \
		-machine q35 -accel tcg,thread=multi -cpu max -smp 2 -m "$memory" -nodefaults -display none -no-reboot \
		-serial "file:$run_guest_share/console.log" -kernel "$work/$1.linux" -initrd "$workspace/initrd" \
		-append "console=ttyS0 quiet panic=1 mitigations=off net.ifnames=0 clocksource=tsc tsc=reliable" \
		-device virtio-rng-pci -virtfs "local,path=$run_guest_share,mount_tag=share,security_model=none,multidevs=remap" \
		-netdev "tap,id=wire,ifname=tap0,script=no,downscript=no$run_guest_netdev" \
		-device "$device,netdev=wire,mac=$guest_mac,romfile=$run_guest_device" >"$workspace/qemu.log" 2>&1
	run_guest_pid=$beside_pid run_guest_until=$(date +%s)
	run_guest_until=$((run_guest_until + bound))
	while kill -0 "$run_guest_pid" 2>/dev/null; do
		[ "$(date +%s)" -lt "$run_guest_until" ] || {
			warn "the guest of kernel $1 has not ended after $bound s, and is ended"
			break
		}
		serve
		sleep 0.1
	done
	stop_beside
	guest_status=$(cat "$share/status" 2>/dev/null)
	[ -n "$guest_status" ] || {
		tail -n 5 "$workspace/qemu.log" "$share/console.log" "$share/guest.log" >&2 2>/dev/null
		return 1
	}
}

# serve: what the guest asks for (guest/ask): "NUMBER ADDRESS PORT ..." for udp-load send, "NUMBER stop".
serve() {
	[ -r "$share/request" ] || return 0
	read -r serve_number serve_words <"$share/request"
	rm -f -- "$share/request"
	case $serve_words in
	'') ;;
	stop) [ -z "$sender" ] || kill -TERM "$sender" 2>/dev/null ;;
	*)
		set -- nsenter --net="/run/netns/$namespace" udp-load send
		for serve_word in $serve_words; do
			set -- "$@" "$serve_word"
		done
		# shellcheck disable=SC2016 # for the inner shell
		start_beside sh -c 'number=$1 share=$2; shift 2; trap "kill \$pid 2>/dev/null" TERM; "$@" >"$share/sender" 2>&1 & pid=$!; wait $pid; wait $pid; echo "$number" >"$share/answer"' \
			serve "$serve_number" "$share" "$@"
		sender=$beside_pid
		;;
	esac
}
