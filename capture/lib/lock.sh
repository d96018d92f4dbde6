# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Locks that name their owner: a folder with a file "owner" in it, a line of pid, when that process began (in ticks
# since boot, so that a pid that is used again is not taken for it), user, time, and what it does. Sourced.

# began_at PID: ticks since boot; nothing for a process that is gone.
began_at() {
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

# sign FOLDER: writes its owner.
sign() {
	sign_user=$(id -un 2>/dev/null || id -u)
	[ -z "${SUDO_USER-}" ] || sign_user="$sign_user (sudo by $SUDO_USER)"
	printf '%s\t%s\t%s\t%s\t%s\n' "$$" "$(began_at $$)" "$sign_user" "$(date '+%Y-%m-%d %H:%M:%S')" "$typed" 2>/dev/null >"$1/owner"
}

# owner_of FOLDER: who holds it, in a sentence's part; fails where nobody does any more.
owner_of() {
	owner_of_line=$(cat "$1/owner" 2>/dev/null)
	[ -n "$owner_of_line" ] || return 1
	owner_of_pid=$(echo "$owner_of_line" | cut -f 1)
	[ "$(began_at "$owner_of_pid")" = "$(echo "$owner_of_line" | cut -f 2)" ] || return 1
	echo "$owner_of_line" | awk -F '\t' '{ printf "%s, process %s, since %s: %s\n", $3, $1, $4, $5 }'
}

# take_lock FOLDER: fails, with lock_owner set, where another holds it. Those whose owner is gone are taken over.
take_lock() {
	if mkdir "$1" 2>/dev/null; then
		sign "$1" && locks="$locks $1" && return
	fi
	[ -d "$1" ] || { lock_owner="nobody, but it cannot be made" && return 1; }
	lock_owner=$(owner_of "$1") && return 1
	# Between its making and its signing a lock has no owner yet.
	sleep 0.2
	lock_owner=$(owner_of "$1") && return 1
	rm -rf "$1"
	mkdir "$1" 2>/dev/null && sign "$1" && locks="$locks $1"
}

release_locks() {
	for release_locks_one in $locks; do
		rm -rf "$release_locks_one"
	done
	locks=''
}
