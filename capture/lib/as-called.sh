#!/bin/sh
# as-called.sh RUN COMMAND...: the command in this shell's place, with the locale and the file mode mask that
# netcost-record was called with, which has its own; RUN marks all that comes of it.
export NETCOST_RUN="$1"
shift
umask "${NETCOST_UMASK:-022}"
if [ -n "${NETCOST_LC_ALL+set}" ]; then LC_ALL=$NETCOST_LC_ALL; else unset LC_ALL; fi
unset NETCOST_LC_ALL NETCOST_UMASK
exec "$@"
