# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The bundle's folder: made, written where nobody takes it for a bundle, given its name. Sourced.
# Uses output, as it was typed; sets target, the same as an absolute path, and partial, where it is written:
#   TARGET.partial                 and renamed in the end, where there is no TARGET yet
#   TARGET/netcost-record.partial  and moved up in the end, where TARGET is an empty folder: a mount point, or what a link
#                                  leads to, cannot be replaced, and lies on the disk that was meant

# For what is written once the recording is whole: manifest, settings.
reserved_kib=512

index=manifest.json

# name_target: absolute, so that no program takes a leading dash for an option.
name_target() {
	case $output in
	'') ;;
	/*) target=$output ;;
	*) target=$(pwd)/$output ;;
	esac
}

# check_output: may it be made there?
check_output() {
	[ ! -L "$target" ] || [ -d "$target" ] || die "$output is a link that leads nowhere"
	[ -e "$target" ] || return 0
	# The root of a file system may have its own folder.
	{ [ -d "$target" ] && [ -z "$(find "$target/." ! -name . -prune ! -name lost+found ! -name netcost-record.partial 2>&1)" ]; } ||
		die "$output exists already"
	inside=yes
}

# begin_output: an empty folder of this process's own, with its name in it.
begin_output() {
	begin_output_folder=$target.partial begin_output_name=$output.partial
	if [ -n "$inside" ]; then
		begin_output_folder=$target/netcost-record.partial begin_output_name=$output/netcost-record.partial
	fi
	remember partial "$begin_output_folder"
	hold_signals
	begin_output_reason=$(unheard mkdir "$begin_output_folder" 2>&1) && partial=$begin_output_folder
	let_signals
	[ -n "$partial" ] || case $begin_output_reason in
	*'File exists') die "$begin_output_name exists: $(owner_of "$begin_output_folder" || echo "another netcost-record was killed and left it; remove it")" ;;
	*) die "cannot make $begin_output_name: ${begin_output_reason##*: }" ;;
	esac
	{ sign "$partial" && dd if=/dev/zero of="$partial/reserved" bs=1024 count="$reserved_kib" 2>/dev/null; } ||
		die "cannot write to $begin_output_name: is there room?"
}

# bundle_left [WORDS]: what becomes of the bundle if it ends here.
bundle_left() {
	if [ -z "$partial" ]; then
		:
	elif [ -n "$recorded" ]; then
		echo "; what was recorded is kept"
	else
		echo "${1:-; no bundle is left}"
	fi
}

# optional COMMAND...: what the recording does not need. Fails where it failed, with a note.
optional() {
	( "$@" ) 2>/dev/null && return
	note "not in the bundle, because it could not be written: $1"
	return 1
}

# finish_output: the rest of what belongs in it, and its name.
finish_output() {
	rm -f "$partial/reserved"
	if [ -z "$repeats" ]; then
		optional read_settings "$partial/after/settings"
		optional copy_kernel_config
		optional cp "$workspace/preflight" "$partial/preflight.txt"
		optional write_summary "$partial"
	fi
	write_index
	place_output || exit 1
}

copy_kernel_config() {
	kernel_config >"$partial/kernel_config" && return
	rm -f "$partial/kernel_config"
	note "the kernel's configuration cannot be read on this host"
}

# write_index: what makes a bundle of a folder, or an experiment.
write_index() {
	if [ -n "$repeats" ]; then write_repeats; else write_manifest "$partial"; fi
}

# place_output: the index last, for a folder without one is no bundle.
place_output() {
	place_output_from=$partial
	[ -z "$user" ] || chmod 700 "$partial"
	rm -f "$partial/owner"
	partial=''
	if [ -z "$inside" ]; then
		[ ! -e "$target" ] && mv "$place_output_from" "$target" && return
		warn "the bundle is whole, and in $output.partial: it cannot be renamed to $output"
		return 1
	fi
	find "$place_output_from/." ! -name . -prune ! -name "$index" >"$workspace/entries"
	echo "$place_output_from/$index" >>"$workspace/entries"
	while IFS= read -r place_output_entry; do
		mv "$place_output_entry" "$target/" || {
			warn "the bundle is whole, but not all of it could be moved from $place_output_from to $output: move the rest"
			return 1
		}
	done <"$workspace/entries"
	rmdir "$place_output_from"
}

# leave_output: on the way out. What is not recorded yet goes, what is recorded stays, with a manifest if that can be had.
leave_output() {
	[ -n "$partial" ] && [ -d "$partial" ] || return 0
	if [ -z "$recorded" ]; then
		rm -rf "$partial" || warn "an unfinished bundle is left in $partial"
		return
	fi
	rm -f "$partial/reserved"
	if [ "$completeness_state" = unknown ] && [ -z "$completeness_verdict" ]; then
		completeness_reason="netcost-record was ended while it counted the events, netcost info counts them"
		completeness_verdict="unknown: $completeness_reason"
	fi
	if (write_index); then
		place_output && warn "$output has what was recorded by then"
	else
		rm -f "$partial/owner"
		warn "what was recorded is in $partial, without $index"
	fi
}
