# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Sysctls of the host, changed for as long as an experiment runs. One experiment at a time does that, under a lock.
# A journal has a line "BOOT PATH VALUE" with the value that was there, written before the value is changed, by
# which the experiment itself or, where that was killed, the next one sets it back: what an experiment finds
# changed is never taken for what the host had. The journal is on /run, which like the values ends with a reboot;
# where it does not, its lines are of another boot. Sourced.

sysctls_lock=/run/netcost-lab.sysctls sysctls_journal=/run/netcost-lab.sysctls.journal
sysctls_locked=''

# lock_sysctls: fails, with lock_owner set, where another experiment has it.
lock_sysctls() {
	[ -z "$sysctls_locked" ] || return 0
	take_lock "$sysctls_lock" || return 1
	sysctls_locked=yes
}

unlock_sysctls() {
	[ -z "$sysctls_locked" ] || release_locks
	sysctls_locked=''
}

# set_sysctl PATH VALUE: of the host, until the experiment ends.
set_sysctl() {
	if [ -z "$sysctls_locked" ]; then
		lock_sysctls || die "another experiment sets the host's sysctls: ${lock_owner:-not known} ($sysctls_lock)"
		restore_sysctls "an experiment that was killed had left it" || die "the host's sysctls could not be set back to what they were before that experiment"
	fi
	if ! grep -qsF " $1 " "$sysctls_journal"; then
		set_sysctl_was=$(cat "$1") || die "cannot read $1"
		# A line that is cut short has no end, and nothing was changed then.
		printf '%s %s %s .\n' "$(boot_id)" "$1" "$set_sysctl_was" 2>/dev/null >>"$sysctls_journal" ||
			die "cannot write $sysctls_journal: is there room?"
	fi
	{ echo "$2" >"$1"; } 2>/dev/null || die "the kernel refuses $2 for $1"
}

# restore_sysctls [WHY]: what the journal says; says it where there is a reason to. Under the lock.
restore_sysctls() {
	[ -r "$sysctls_journal" ] || return 0
	restore_sysctls_failed=''
	while read -r restore_sysctls_boot restore_sysctls_path restore_sysctls_value; do
		case $restore_sysctls_value in
		*' .') restore_sysctls_value=${restore_sysctls_value% .} ;;
		*) continue ;;
		esac
		[ "$restore_sysctls_boot" = "$(boot_id)" ] || continue
		restore_sysctls_now=$(cat "$restore_sysctls_path" 2>/dev/null)
		[ "$restore_sysctls_now" != "$restore_sysctls_value" ] || continue
		if { echo "$restore_sysctls_value" >"$restore_sysctls_path"; } 2>/dev/null; then
			[ -z "${1-}" ] || warn "$restore_sysctls_path is $restore_sysctls_value again: $1 at $restore_sysctls_now"
		else
			warn "cannot set $restore_sysctls_path back to $restore_sysctls_value: $sysctls_journal stays"
			restore_sysctls_failed=yes
		fi
	done <"$sysctls_journal"
	[ -z "$restore_sysctls_failed" ] || return 1
	# The value says nothing of what the kernel does. An experiment that is killed meanwhile leaves the journal.
	! grep -qsF " $defer_sysctl " "$sysctls_journal" || restore_deferral
	rm -f "$sysctls_journal"
}

# undo_killed_sysctls: whoever holds the lock has done that, or does it at its end.
undo_killed_sysctls() {
	if [ ! -e "$sysctls_journal" ]; then
		clear_dead_lock "$sysctls_lock"
		return
	fi
	lock_sysctls || return 0
	restore_sysctls "an experiment that was killed had left it"
	unlock_sysctls
}
