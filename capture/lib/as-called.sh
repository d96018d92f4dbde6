#!/bin/sh
# as-called.sh RUN COMMAND...: the command in this shell's place, with the locale and the file mode mask that
# netcost-record was called with, which has its own; RUN marks all that comes of it, and it runs as --user says.
export NETCOST_RUN="$1"
shift
umask "${NETCOST_UMASK:-022}"
if [ -n "${NETCOST_LC_ALL+set}" ]; then LC_ALL=$NETCOST_LC_ALL; else unset LC_ALL; fi
unset NETCOST_LC_ALL NETCOST_UMASK
if [ -n "${NETCOST_USER-}" ]; then
	USER=$(id -un "$NETCOST_USER")
	HOME=$({ getent passwd "$USER" || grep "^$USER:" /etc/passwd; } 2>/dev/null | head -n 1 | cut -d : -f 6)
	LOGNAME=$USER HOME=${HOME:-/}
	export USER LOGNAME HOME
	set -- setpriv --reuid="$NETCOST_USER" --regid="$(id -g "$NETCOST_USER")" --init-groups -- "$@"
	unset NETCOST_USER
fi
exec "$@"
