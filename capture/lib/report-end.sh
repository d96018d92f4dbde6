#!/bin/sh
# report-end.sh NAME COMMAND...: runs the command and reports "NAME ended STATUS" on descriptor 3.
# Runs as the leader of its own session, so that the command and all it starts can be ended together.
name=$1
shift
# Who is ended with the command still says so, and is no "Terminated" on the user's screen.
trap : TERM
"$@"
echo "$name ended $?" >&3
