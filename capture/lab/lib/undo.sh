# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# What an experiment makes outside its own process is written down before it is made, so that whatever ends the
# experiment, the next one can remove it: a folder /run/netcost-lab/PID-START, START being when that process
# began (in ticks since boot), so that a pid that is used again is not taken for it. Its file "made" has a line
# each, kind and value with a tab in between:
#
#   boot ID             of the host; what is of another boot is gone but for the folders
#   command TEXT        what was typed
#   workspace FOLDER    for what is temporary; its file "mark" says whose it is
#   namespace NAME      in /run/netns
#   module NAME         of the kernel, which was not loaded
#   folder FOLDER       for the output, made because it was not there; it goes if it is empty
#   series FOLDER       the output; as long as it is not finished its file "unfinished" says whose it is
#   part NAME           a file or folder in that
#   bundle FOLDER       which netcost-record writes, as FOLDER.partial until it is finished
#
# Nothing is removed by its name alone: what has no mark of the experiment is somebody else's. Sourced.

states=/run/netcost-lab states_lock=/run/netcost-lab.undoing
tab='	'

boot_id() {
	cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo unknown
}

# begin_state: sets mark and state.
begin_state() {
	mark=$$-$(began_at $$)
	# Another experiment that ends removes the folder around it where it is empty.
	state=$states/$mark
	begin_state_once 2>/dev/null || begin_state_once ||
		die "cannot make $states/$mark, which says what to remove should this be killed"
	made boot "$(boot_id)"
	made command "$typed"
}

begin_state_once() {
	mkdir -p "$states" && mkdir -m 700 "$state"
}

# made KIND VALUE: it is about to be.
made() {
	printf '%s\t%s\n' "$1" "$2" 2>/dev/null >>"${state:?}/made" || die "cannot write $state/made: is there room?"
}

# made_folder FOLDER: makes it and those around it that are not there.
made_folder() {
	made_folder_missing=$1
	set --
	while [ ! -d "$made_folder_missing" ]; do
		set -- "$made_folder_missing" "$@"
		made_folder_missing=$(dirname -- "$made_folder_missing")
	done
	for made_folder_one in "$@"; do
		made folder "$made_folder_one"
		made_folder_said=$(mkdir -- "$made_folder_one" 2>&1) || die "cannot make $made_folder_one: ${made_folder_said##*: }"
	done
}

# load_module NAME: until the experiment ends, unless it is there already.
load_module() {
	[ ! -d "/sys/module/$1" ] || return 0
	made module "$1"
	modprobe -q "$1" 2>/dev/null
}

# is_mark_of FILE MARK
is_mark_of() {
	[ -f "$1" ] && [ ! -L "$1" ] && [ "$(cat "$1" 2>/dev/null)" = "$2" ]
}

# mounts_below FOLDER: a line each, innermost first.
mounts_below() {
	mounts_below_folder=$(CDPATH='' cd -- "$1" 2>/dev/null && pwd -P)
	# Everything is below the root, and below nothing.
	case $mounts_below_folder in
	'' | /) return 1 ;;
	esac
	folder=$mounts_below_folder/ awk '
		function plain(text,   at, out) {
			while (at = index(text, "\\")) {
				out = out substr(text, 1, at - 1) sprintf("%c", substr(text, at + 1, 1) * 64 + substr(text, at + 2, 1) * 8 + substr(text, at + 3, 1))
				text = substr(text, at + 4)
			}
			return out text
		}
		BEGIN { folder = ENVIRON["folder"] }
		{ point = plain($5) }
		index(point "/", folder) == 1 { found[++count] = point }
		END { while (count) print found[count--] }' /proc/self/mountinfo
}

# remove_tree FOLDER: and all that is in it, but nothing that is mounted there.
remove_tree() {
	{ [ -d "$1" ] && [ ! -L "$1" ]; } || return 0
	remove_tree_mounts=$(mounts_below "$1") || return 1
	printf '%s\n' "$remove_tree_mounts" | grep . | while IFS= read -r remove_tree_mount; do
		umount "$remove_tree_mount" 2>/dev/null
	done
	remove_tree_mounts=$(mounts_below "$1") && [ -z "$remove_tree_mounts" ] && rm -rf -- "$1"
}

### an experiment that has ended
# undo_state FOLDER MARK: last made first; fails, and keeps the folder, where something is left.
undo_state() {
	[ -d "$1" ] || return 0
	undo_failed='' undo_parts='' undo_said=''
	# One that was killed before it had made anything has no list.
	if [ -e "$1/made" ]; then
		{
			awk '{ line[NR] = $0 } END { for (i = NR; i > 0; i--) print line[i] }' "$1/made" >"$1/reversed" &&
				sed -n "s/^part$tab//p" "$1/made" >"$1/parts"
		} 2>/dev/null || {
			warn "cannot write to $1: is there room?"
			return 1
		}
	else
		: >"$1/reversed"
	fi
	while IFS=$tab read -r undo_kind undo_value; do
		case $undo_kind in
		namespace | module | workspace | folder | series | bundle)
			"undo_$undo_kind" "$undo_value" "$1" "$2" || {
				warn "left behind: $undo_kind $undo_value"
				undo_failed=yes
			}
			;;
		esac
	done <"$1/reversed"
	[ -z "$undo_failed" ] || return 1
	rm -f "$1/made" "$1/reversed" "$1/parts"
	rmdir "$1" || return 1
	rmdir "$states" 2>/dev/null || :
}

undo_namespace() {
	[ ! -e "/run/netns/$1" ] || { ip netns delete "$1" && undo_said="$undo_said, $1"; }
}

undo_module() {
	[ -d "/sys/module/$1" ] && grep -qx "boot$tab$(boot_id)" "$2/made" || return 0
	# The namespaces that used it end a moment after they are deleted.
	for undo_module_try in 1 2 3 4 5 6 7 8 9 10; do
		modprobe -q -r "$1" 2>/dev/null && return
		sleep 0.3
	done
	return 1
}

undo_workspace() {
	{ [ -d "$1" ] && [ ! -L "$1" ]; } || return 0
	# Without its mark it was only just made.
	rmdir -- "$1" 2>/dev/null || ! is_mark_of "$1/mark" "$3" || remove_tree "$1" || return 1
	undo_said="$undo_said, $1"
}

undo_folder() {
	rmdir -- "$1" 2>/dev/null || :
}

undo_series() {
	is_mark_of "$1/unfinished" "$3" || return 0
	while IFS= read -r undo_series_part; do
		case $undo_series_part in
		'' | .* | */*) continue ;;
		esac
		rm -f -- "$1/$undo_series_part" 2>/dev/null || remove_tree "$1/$undo_series_part" || return 1
		remove_tree "$1/$undo_series_part.partial" || return 1
	done <"$2/parts"
	rm -f -- "$1/unfinished"
	undo_said="$undo_said, $1"
	[ -z "$(ls -A "$1")" ] || warn "not removed: what is left in $1 was not written by this experiment"
}

undo_bundle() {
	# Its owner is a process, and it is gone.
	{ [ -f "$1.partial/owner" ] && ! owner_of "$1.partial" >/dev/null; } || return 0
	remove_tree "$1.partial" && undo_said="$undo_said, $1.partial"
}

### experiments that were killed
# undo_killed: what they have left, if any have.
undo_killed() {
	undo_killed_found=''
	for undo_killed_state in $(states_of_killed) $(namespaces_of_killed); do undo_killed_found=yes; done
	if [ -n "$undo_killed_found" ]; then
		undo_killed_left=100
		until take_lock "$states_lock"; do
			# Whoever holds it does the same.
			[ "$undo_killed_left" -gt 0 ] || die "cannot lock $states_lock: ${lock_owner:-another experiment}"
			undo_killed_left=$((undo_killed_left - 1))
			sleep 0.1
		done
		for undo_killed_state in $(states_of_killed); do
			end_marked "NETCOST_EXPERIMENT=$undo_killed_state" || warn "processes of an experiment that was killed do not end"
			undo_killed_command=$(sed -n "s/^command$tab//p" "$states/$undo_killed_state/made" 2>/dev/null)
			undo_state "$states/$undo_killed_state" "$undo_killed_state"
			undo_said=${undo_said#, }
			warn "an experiment was killed (process ${undo_killed_state%-*}: ${undo_killed_command:-not known}); removed: ${undo_said:-nothing, because nothing was left}"
		done
		for undo_killed_state in $(namespaces_of_killed); do
			ip netns delete "$undo_killed_state" || warn "left behind: namespace $undo_killed_state"
		done
		release_locks
	else
		# Of one that was killed when all was undone.
		clear_dead_lock "$states_lock"
	fi
	undo_killed_sysctls
	remove_killed_instances
}

# is_gone PID-START
is_gone() {
	is_gone_began=$(began_at "${1%-*}")
	[ -z "$is_gone_began" ] || [ "$is_gone_began" != "${1#*-}" ]
}

# names_in FOLDER: a line each.
names_in() {
	(
		set +f
		CDPATH='' cd -- "$1" 2>/dev/null || exit 0
		printf '%s\n' *
	)
}

states_of_killed() {
	for states_of_killed_one in $(names_in "$states"); do
		case $states_of_killed_one in
		*[!0-9-]* | *-*-* | -* | *-) continue ;;
		*-*) ;;
		*) continue ;;
		esac
		if is_gone "$states_of_killed_one" || ! grep -qsx "boot$tab$(boot_id)" "$states/$states_of_killed_one/made"; then
			echo "$states_of_killed_one"
		fi
	done
}

# namespaces_of_killed: those that no state has, by the process in the name.
namespaces_of_killed() {
	for namespaces_of_killed_one in $(names_in /run/netns); do
		case $namespaces_of_killed_one in
		netcost-lab-[0-9]*-[0-9]*-*) namespaces_of_killed_process=$(echo "$namespaces_of_killed_one" | cut -d - -f 3,4) ;;
		# Of older ones, which did not say when their process began.
		netcost-lab-[0-9]*-*)
			[ -d "/proc/$(echo "$namespaces_of_killed_one" | cut -d - -f 3)" ] || echo "$namespaces_of_killed_one"
			continue
			;;
		*) continue ;;
		esac
		if [ ! -d "$states/$namespaces_of_killed_process" ] && is_gone "$namespaces_of_killed_process"; then
			echo "$namespaces_of_killed_one"
		fi
	done
}
