# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# A lock that names its owner: a folder with a file "owner" in it, a line of pid, when that process began (in ticks
# since boot, so that a pid that is used again is not taken for it), user, time, and what it does. Sourced.
#
# The rule for a lock whose owner is gone: it is taken over, by whoever signs it first once its file is removed.

# Who signs: this process, or the one in whose name it cleans up.
self_pid=${self_pid:-$$}
# Those held, or about to be, a path a line: no path here has a newline in it.
locks=''

# began_at PID: ticks since boot; nothing for a process that is gone.
began_at() {
	sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20
}

self_began=${self_began:-$(began_at "$self_pid")}

# begin_workspace TEMPLATE CLEANER: sets workspace, which goes whatever ends this process, and cleaner_pid, who sees to that.
# Fails with workspace_reason. "alive" in it is to be held open, and "held" made then.
begin_workspace() {
	set -- sh "$library/workspace.sh" "$1" "$library" "$2" "$self_pid" "$self_began"
	! command -v setsid >/dev/null || set -- setsid "$@"
	hold_signals
	workspace_reason=$(NETCOST_EXPERIMENT='' "$@" 2>&1)
	case $workspace_reason in
	[0-9]*/*) cleaner_pid=${workspace_reason%%
*} workspace=${workspace_reason#*
} ;;
	esac
	let_signals
	[ -n "$workspace" ]
}

# end_cleaner: there is nothing left to do for it. Its number is its own as long as it waits for this process.
end_cleaner() {
	[ -n "$cleaner_pid" ] || return 0
	kill -KILL "$cleaner_pid" 2>/dev/null
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		case $(sed 's/.*) //' "/proc/$cleaner_pid/stat" 2>/dev/null) in
		'' | Z* | X*) return ;;
		esac
		sleep 0.05
	done
}

# remove_workspace: what was only about to start may still make a file of its own there.
remove_workspace() {
	for _ in 1 2 3 4 5; do
		! rm -rf -- "$workspace" 2>/dev/null || return 0
		sleep 0.1
	done
	warn "left behind: $workspace"
}

# owner_line: this process, and what it does.
owner_line() {
	owner_line_user=$(id -un 2>/dev/null || id -u)
	[ -z "${SUDO_USER-}" ] || owner_line_user="$owner_line_user (sudo by $SUDO_USER)"
	printf '%s\t%s\t%s\t%s\t%s' "$self_pid" "$self_began" "$owner_line_user" "$(date '+%Y-%m-%d %H:%M:%S')" "$typed" | tr '\n' ' '
	echo
}

# sign FOLDER: writes its owner, unless it has one. Written aside and linked: whole when it is there, and of two one does it.
sign() {
	sign_draft=$1/owner.$self_pid-$self_began
	{ owner_line >"$sign_draft"; } 2>/dev/null || return 1
	if [ -s "$sign_draft" ] && ln "$sign_draft" "$1/owner" 2>/dev/null; then
		rm -f "$sign_draft"
		return 0
	fi
	sign_status=1
	# Not every file system has links; noclobber, so that it is made and not overwritten.
	if [ ! -e "$1/owner" ] && [ ! -L "$1/owner" ] && [ -s "$sign_draft" ] && ! ln "$sign_draft" "$sign_draft.link" 2>/dev/null; then
		(set -C && cat "$sign_draft" >"$1/owner") 2>/dev/null && sign_status=0
	fi
	rm -f "$sign_draft" "$sign_draft.link"
	return "$sign_status"
}

# is_own_folder FOLDER: no link, and of this user: what another has put there can lead anywhere.
is_own_folder() {
	[ -d "$1" ] && [ ! -L "$1" ] && [ -n "$(find "$1" -prune -user "$(id -u)" 2>/dev/null)" ]
}

# owner_of FOLDER: who holds it, in a sentence's part; fails where nobody does any more.
owner_of() {
	{ [ -f "$1/owner" ] && [ ! -L "$1/owner" ]; } || return 1
	owner_of_line=$(head -n 1 "$1/owner" 2>/dev/null)
	if [ -z "$owner_of_line" ]; then
		# It may just be written.
		sleep 0.2
		owner_of_line=$(head -n 1 "$1/owner" 2>/dev/null)
	fi
	[ -n "$owner_of_line" ] || return 1
	owner_of_pid=$(printf '%s\n' "$owner_of_line" | cut -f 1)
	[ "$(began_at "$owner_of_pid")" = "$(printf '%s\n' "$owner_of_line" | cut -f 2)" ] || return 1
	printf '%s\n' "$owner_of_line" | awk -F '\t' '{ printf "%s, process %s, since %s: %s\n", $3, $1, $4, $5 }'
}

# is_mine FOLDER: did this process sign it?
is_mine() {
	[ -f "$1/owner" ] && [ ! -L "$1/owner" ] && [ "$(cut -f 1,2 "$1/owner" 2>/dev/null)" = "$(printf '%s\t%s' "$self_pid" "$self_began")" ]
}

# take_lock FOLDER: fails, with lock_owner set, where another holds it.
take_lock() {
	take_lock_tries=0
	# Said first: a signal is taken between any two commands.
	case "
$locks" in
	*"
$1
"*) ;;
	*) locks="$locks$1
" ;;
	esac
	while [ "$take_lock_tries" -lt 20 ]; do
		take_lock_tries=$((take_lock_tries + 1))
		mkdir -m 700 "$1" 2>/dev/null
		[ -d "$1" ] || { lock_owner="nobody, but it cannot be made" && return 1; }
		is_own_folder "$1" || { lock_owner="another user, whose $1 it is" && return 1; }
		if sign "$1" || is_mine "$1"; then return 0; fi
		lock_owner=$(owner_of "$1") && return 1
		[ -e "$1/owner" ] || [ "$take_lock_tries" -lt 3 ] || break
		clear_dead_owner "$1"
	done
	lock_owner="nobody, but it cannot be written"
	return 1
}

# clear_dead_owner FOLDER: one at a time, for what was a dead owner's when it was looked at can be another's by now.
clear_dead_owner() {
	if mkdir "$1/clearing" 2>/dev/null; then
		[ ! -e "$1/owner" ] || owner_of "$1" >/dev/null || rm -f "$1/owner"
		rmdir "$1/clearing"
	else
		sleep 0.2
		# It takes milliseconds: who has not finished after ten tries was killed.
		[ "$take_lock_tries" -lt 10 ] || rmdir "$1/clearing" 2>/dev/null
	fi
}

# clear_dead_drafts FOLDER: those of processes that were killed while they signed it.
clear_dead_drafts() {
	find "$1" -name 'owner.*' 2>/dev/null | while IFS= read -r clear_dead_drafts_one; do
		clear_dead_drafts_by=${clear_dead_drafts_one##*/owner.} clear_dead_drafts_by=${clear_dead_drafts_by%.link}
		[ "$(began_at "${clear_dead_drafts_by%-*}")" = "${clear_dead_drafts_by#*-}" ] || rm -f "$clear_dead_drafts_one"
	done
}

# clear_dead_lock FOLDER: removes it where its owner was killed, and nobody is to take it.
clear_dead_lock() {
	if ! is_own_folder "$1" || owner_of "$1" >/dev/null; then return 0; fi
	take_lock_tries=0
	clear_dead_owner "$1"
	clear_dead_drafts "$1"
	rmdir "$1" 2>/dev/null || :
}

# release_locks: of each what this process wrote into it, and the folder where nothing else is in it.
release_locks() {
	while IFS= read -r release_locks_one; do
		{ [ -n "$release_locks_one" ] && is_own_folder "$release_locks_one"; } || continue
		! is_mine "$release_locks_one" || rm -f "$release_locks_one/owner"
		rm -f "$release_locks_one/owner.$self_pid-$self_began" "$release_locks_one/owner.$self_pid-$self_began.link"
		clear_dead_drafts "$release_locks_one"
		rmdir "$release_locks_one" 2>/dev/null
	done <<-LOCKS
		$locks
	LOCKS
	locks=''
}
