#!/bin/sh
# watch-service.sh LIBRARY ATTACHED: reports "service gone" on descriptor 3 once the service is not there any more.
library=$1 attached=$2
# shellcheck source=processes.sh
. "$library/processes.sh"
# shellcheck source=service.sh
. "$library/service.sh"
trap 'exit 0' TERM
while [ -z "$(service_gone)" ]; do
	sleep 0.2
done
echo "service gone" >&3
