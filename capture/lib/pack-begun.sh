# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# What netcost-pack has begun outside of its workspace: said there before it is made, so that it is taken away whatever
# ends netcost-pack. Each name has letters in it that mktemp drew for the workspace. Sourced.

# remember NAME VALUE
remember() {
	printf '%s\n' "$2" 2>/dev/null >"$workspace/remember-$1" || no_room
}

forget() {
	rm -f "$workspace/remember-$1"
}

remembered() {
	[ ! -e "$workspace/remember-$1" ] || cat "$workspace/remember-$1"
}

# undo_begun: the archive's room beside the output, the draft of a file, and of files that go with an archive those that
# are new, where the archive has not got its name.
undo_begun() {
	undo_begun_path=$(remembered draft)
	[ -z "$undo_begun_path" ] || rm -f "$undo_begun_path"
	undo_begun_room=$(remembered room)
	[ -n "$undo_begun_room" ] && [ -d "$undo_begun_room" ] || return 0
	if [ -e "$undo_begun_room/archive" ]; then
		for undo_begun_name in map report; do
			undo_begun_path=$(remembered "$undo_begun_name")
			[ -z "$undo_begun_path" ] || rm -f "$undo_begun_path"
		done
		rm -f "$undo_begun_room/archive"
	fi
	rmdir "$undo_begun_room"
}
