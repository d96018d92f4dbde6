# grown.awk: by how much the kernel's own counters grew between the two copies of a run, for what was recorded of it.
#   cd RUN; awk -v cpus='0 1' -v events=' irq:softirq_entry ... ' -v whole=yes -f grown.awk before/* after/* >GROWN
# of before/ and after/ those there are of stamp, softirqs, interrupts, net_softnet_stat, stat. whole says that
# every CPU that is online was recorded. After a first line
#   window KIND B0 B1 A0 A1       the counters were read in [B0, B1] and in [A0, A1], ns of CLOCK_MONOTONIC
#   grown KIND ID NAME CPU N SURE CPU is - for all together; not SURE: compared only where the trace has one at all
# KIND is softirq (ID: its number), irq (the line's number), vector, packets or switches. Each is left out where its
# event was not recorded.

function recorded(event) { return index(events, " " event " ") > 0 }

function grown(kind, id, name, cpu, n, sure) {
	# Counters of 32 bits start again at 0.
	if (n < 0) n += 4294967296
	if (n > 0) printf "grown %s %s %s %s %.0f %s\n", kind, id, name, cpu, n, sure
}

function hexadecimal(text,    i, n) {
	for (i = 1; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n
}

BEGIN {
	print "counters"
	count = split(cpus, list, " ")
	for (i = 1; i <= count; i++) wanted[list[i]] = 1
	softirqs = recorded("irq:softirq_entry")
	interrupts = recorded("irq:irq_handler_entry")
	if (recorded("irq_vectors:local_timer_entry")) vectors["LOC"] = 1
	if (recorded("irq_vectors:reschedule_entry")) vectors["RES"] = 1
	if (recorded("irq_vectors:call_function_entry") && recorded("irq_vectors:call_function_single_entry")) vectors["CAL"] = 1
	packets = recorded("napi:napi_poll")
	switches = whole && recorded("sched:sched_switch")
	kind["softirqs"] = "softirq"; kind["interrupts"] = "irq"; kind["net_softnet_stat"] = "packets"; kind["stat"] = "switches"
}

FNR == 1 {
	parts = split(FILENAME, part, "/")
	file = part[parts]; before = part[parts - 1] == "before"
	columns = 0
}

file == "stamp" && $1 in kind {
	if (before) began[$1] = $2 " " $3
	else if ($1 in began) printf "window %s %s %s %s\n", kind[$1], began[$1], $2, $3
	next
}

# Both begin with a line that names the columns' CPUs.
(file == "softirqs" || file == "interrupts") && FNR == 1 {
	columns = NF
	for (i = 1; i <= NF; i++) { cpu[i] = $i; sub(/^CPU/, "", cpu[i]) }
	next
}

file == "softirqs" && softirqs {
	name = $1; sub(/:$/, "", name)
	for (i = 1; i <= columns; i++) {
		key = name SUBSEP cpu[i]
		if (before) first[key] = $(i + 1)
		else if (key in first && cpu[i] in wanted) grown("softirq", FNR - 2, name, cpu[i], $(i + 1) - first[key], "sure")
	}
	next
}

file == "interrupts" && NF > columns {
	name = $1; sub(/:$/, "", name)
	if (name ~ /^[0-9]+$/ ? !interrupts : !(name in vectors)) next
	# Several handlers on a line have an event each, and some lines have handlers that have none: those of another
	# interrupt's thread. A named flow has none of these.
	tail = ""; flow = ""
	for (i = columns + 2; i <= NF; i++) {
		tail = tail " " $i
		if ($i ~ /[0-9]-(edge|fasteoi|level)$/ && i < NF) flow = "sure"
	}
	if (name ~ /^[0-9]+$/ && tail ~ /, /) next
	for (i = 1; i <= columns; i++) {
		key = name SUBSEP cpu[i]
		if (before) { first[key] = $(i + 1); said[key] = tail }
		else if (key in first && said[key] == tail && cpu[i] in wanted) {
			if (name in vectors) grown("vector", name, name, cpu[i], $(i + 1) - first[key], "")
			else grown("irq", name, name, cpu[i], $(i + 1) - first[key], flow)
		}
	}
	next
}

# Of CPUs that are online a line each, which older kernels do not number.
file == "net_softnet_stat" && packets {
	if (NF >= 13) name = hexadecimal($13)
	else if (!whole) next
	else name = list[FNR]
	if (before) polled[name] = hexadecimal($1)
	else if (name in polled && name in wanted) grown("packets", "packets", "packets", name, hexadecimal($1) - polled[name], "sure")
	next
}

file == "stat" && $1 == "ctxt" && switches {
	if (before) switched = $2
	else if (switched != "") grown("switches", "ctxt", "ctxt", "-", $2 - switched, "sure")
}
