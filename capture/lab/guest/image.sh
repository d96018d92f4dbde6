# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The guest's file system and kernels, made once from Debian's packages and kept. Sourced.
#
#   $work/root          what debootstrap made; its own apt fetches the kernels and checks their signatures
#   $work/root.cpio     that, as an initial file system: the guest has no disk
#   $work/root.made     says that root is ours: one that is not is not touched
#   $work/KERNEL.linux, KERNEL.cpio   a kernel, and the modules it needs with its configuration

packages=iproute2,ethtool,openssl,linux-perf,trace-cmd,sysstat,procps,kmod,util-linux,busybox,openvswitch-switch,iputils-ping,ca-certificates
# What a guest of ours loads, with all that these depend on.
modules='virtio_pci virtio_net virtio_rng 9p 9pnet_virtio e1000e igb bridge veth openvswitch'

# debian_mirror: the mirror to take packages from; on a Debian host its own, unless said.
debian_mirror() {
	[ -z "$mirror" ] || return 0
	# shellcheck disable=SC2016 # apt expands it
	mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 2>/dev/null | grep '/debian/*$' | head -n 1)
	[ -n "$mirror" ] || die "which Debian mirror? --mirror URL is needed where apt does not tell"
}

# kernel_package KERNEL: a pattern of the package's name; the newest of these is taken.
kernel_package() {
	case $1 in
	5.10) echo '^linux-image-5\.10\.0-[0-9]+-amd64$' ;;
	6.1) echo '^linux-image-6\.1\.0-[0-9]+-amd64$' ;;
	6.1-rt) echo '^linux-image-6\.1\.0-[0-9]+-rt-amd64$' ;;
	6.12) echo '^linux-image-6\.12\.[0-9]+\+deb12[.0-9]*-amd64$' ;;
	esac
}

# in_root COMMAND...
in_root() {
	job chroot "$work/root" "$@"
}

# make_root: once.
make_root() {
	[ ! -e "$work/root.cpio" ] || return 0
	debian_mirror
	mirror=${mirror%/}
	if [ -e "$work/root" ] || [ -L "$work/root" ]; then
		[ -f "$work/root.made" ] || die "$work/root is there, and nic-guest has not made it: another --work"
		remove_tree "$work/root" || die "cannot remove $work/root, which is not finished"
	fi
	{ echo "$typed" >"$work/root.made"; } 2>/dev/null || die "cannot write to $work: is there room?"
	warn "making the guest's file system in $work (once)"
	job debootstrap --variant=minbase --include=$packages bookworm "$work/root" "$mirror" >"$work/debootstrap.log" 2>&1 ||
		die "debootstrap failed: $(tail -n 1 "$work/debootstrap.log")"
	{
		echo "deb $mirror bookworm main"
		echo "deb $mirror-security bookworm-security main"
		echo "deb $mirror-security bullseye-security main"
	} >"$work/root/etc/apt/sources.list"
	cp /etc/resolv.conf "$work/root/etc/resolv.conf"
	mkdir -p "$work/root/kernels" "$work/root/share"
	install -m 755 "$lab/guest/init" "$work/root/init"
	# shellcheck disable=SC2016 # for the inner shell
	in_root sh -c 'find . -xdev \( -path ./kernels -o -path ./var/cache/apt -o -path ./var/lib/apt -o -path ./usr/share/doc \
		-o -path ./usr/share/man -o -path ./usr/share/locale -o -path ./proc -o -path ./sys \) -prune -o -print |
		busybox cpio -o -H newc' >"$work/root.cpio.new" 2>"$work/cpio.log" || die "cannot pack the guest's file system: $(tail -n 1 "$work/cpio.log")"
	mv -- "$work/root.cpio.new" "$work/root.cpio"
}

# make_kernel KERNEL
make_kernel() {
	[ ! -e "$work/$1.linux" ] || return 0
	warn "fetching kernel $1 (once)"
	in_root apt-get -qq update >"$work/apt.log" 2>&1 || die "cannot read the package lists: $(tail -n 1 "$work/apt.log")"
	make_kernel_package=$(in_root apt-cache search --names-only "$(kernel_package "$1")" | cut -d' ' -f1 | sort -V | tail -n 1)
	[ -n "$make_kernel_package" ] || die "the mirror has no kernel $1 any more"
	remove_tree "$work/root/kernels/$1" || die "cannot remove $work/root/kernels/$1, which is not finished"
	# shellcheck disable=SC2016 # for the inner shell
	in_root sh -ec 'cd /tmp && rm -f linux-image-*.deb && apt-get -qq download "$2" && dpkg-deb -x linux-image-*.deb "/kernels/$1" && rm linux-image-*.deb' \
		get "$1" "$make_kernel_package" >"$work/apt.log" 2>&1 || die "cannot fetch $make_kernel_package: $(tail -n 1 "$work/apt.log")"
	# shellcheck disable=SC2016 # for the inner shell
	in_root sh -ec '
		cd "/kernels/$1"; shift
		version=$(ls lib/modules)
		mkdir -p usr/lib && mv lib/modules usr/lib/ && rm -r lib && ln -s usr/lib lib
		depmod -b . "$version"
		for module in $1; do modprobe -d "$PWD" -S "$version" --show-depends "$module"; done |
			sed -n "s|^insmod $PWD/*lib/||p" | sort -u >needed
		{
			echo boot; echo "boot/config-$version"
			for file in $(cat needed) $(cd usr/lib && echo modules/"$version"/modules.*); do
				echo "usr/lib/$file"
			done
		} >files
		{
			# Every folder before what is in it; those of the root are there.
			sed "s|/[^/]*\$||" files | awk -F/ "{ path = \"\"; for (i = 1; i <= NF; i++) { path = path (i > 1 ? \"/\" : \"\") \$i; print path } }" |
				sort -u | grep -vx -e usr -e usr/lib
			cat files
		} | awk "!seen[\$0]++" | busybox cpio -o -H newc 2>/dev/null' pack "$1" "$modules" >"$work/$1.cpio" 2>"$work/cpio.log" ||
		die "cannot pack the modules of $make_kernel_package: $(tail -n 1 "$work/cpio.log")"
	find "$work/root/kernels/$1/boot" -name 'vmlinuz-*' -exec cp {} "$work/$1.linux.new" \;
	[ -s "$work/$1.linux.new" ] || die "$make_kernel_package holds no kernel"
	mv -- "$work/$1.linux.new" "$work/$1.linux"
}
