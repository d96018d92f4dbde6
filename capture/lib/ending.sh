# shellcheck shell=sh disable=SC2034 # the variables are shared with what sources this
# Whatever makes a script leave, its function end undoes what it did: end STATUS, which begins with begin_end STATUS and
# ends with exit "$end_status". Sourced once end can run.
#
# A signal that waits while the shell is already leaving is taken up inside of end, and dash then leaves for good. A shell leaves
# by itself where an arithmetic has no number: none has a command in it, which the same signal may have ended.
holding='' held=''

# begin_end STATUS: from here on nothing interrupts. Sets end_status.
begin_end() {
	end_status=$1
	trap '' INT TERM HUP QUIT PIPE
	trap - EXIT
}

# at_signal STATUS
at_signal() {
	held=$1
	[ -n "$holding" ] || exit "$1"
}

# hold_signals: until let_signals: something is made and known to be ours, or neither.
hold_signals() {
	holding=yes
}

let_signals() {
	holding=''
	[ -z "$held" ] || exit "$held"
}

# unheard COMMAND...: in a command substitution, which hears no signal from then on and becomes the command. One that comes
# before ends it with nothing done; what the command makes is always said.
unheard() {
	trap '' HUP INT QUIT PIPE TERM
	exec "$@"
}

trap 'end $?' EXIT
trap 'at_signal 129' HUP
trap 'at_signal 130' INT
trap 'at_signal 131' QUIT
trap 'at_signal 141' PIPE
trap 'at_signal 143' TERM
