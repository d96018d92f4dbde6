#!/bin/sh
# report-end.sh NAME COMMAND...: runs the command and reports "NAME ended STATUS" on descriptor 3.
# Runs as the leader of its own session, so that the command and all it starts can be ended together.
name=$1
shift

# The fifos by which recordings are held open are the caller's alone: when the caller is gone, its
# end of them must be the last.
exec 4>&- 5>&- 7>&- 8>&- 9>&-

# Who is ended with the command still says so; and starts none when it is ended before.
ended=''
trap 'ended=yes' TERM

# Some shells write how a child died; what the command itself writes still goes where it should.
exec 6>&2 2>/dev/null
[ -z "$ended" ] || exit 143
(exec "$@" 2>&6 6>&-)
echo "$name ended $?" >&3
