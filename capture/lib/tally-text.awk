# tally-text.awk: counts the lines of `perf script --ns -F trace:cpu,time,event,trace --show-lost-events` or of
# `trace-cmd report -t -N`, then a line "status N" of the program that wrote them.
#   awk -f tally.awk -f tally-text.awk GROWN -
# Beside the tallies: "lost N", of perf's LOST records; and that status, without which not all was read.

function watch(group, event, what, name) {
	kind[event ":"] = kind[group ":" event ":"] = what
	named[event ":"] = named[group ":" event ":"] = name
}

BEGIN {
	watch("irq", "softirq_entry", "softirq")
	watch("irq", "irq_handler_entry", "irq")
	watch("napi", "napi_poll", "packets")
	watch("sched", "sched_switch", "switches")
	watch("irq_vectors", "local_timer_entry", "vector", "LOC")
	watch("irq_vectors", "reschedule_entry", "vector", "RES")
	watch("irq_vectors", "call_function_entry", "vector", "CAL")
	watch("irq_vectors", "call_function_single_entry", "vector", "CAL")
}

NR == FNR {
	take_window()
	next
}

{
	# perf begins with [CPU] TIME: EVENT:, trace-cmd with the task, whose name may have blanks.
	for (i = 1; i < NF; i++) {
		if ($i !~ /^\[[0-9]+\]$/) continue
		event = $(i + 2)
		if (event in kind) break
		if (event == "PERF_RECORD_LOST") lost += $(i + 4)
		if (i == 1) {
			read++
			next
		}
	}
	if (i >= NF) {
		if ($1 == "status" && NF == 2) status = $2
		else unread++
		next
	}
	read++
	# [001]: here, too, to busybox a number that begins with 0 is octal.
	cpu = $i
	gsub(/^\[0*|\]$/, "", cpu)
	if (cpu == "") cpu = 0
	point = index($(i + 1), ".")
	at = (substr($(i + 1), 1, point - 1) - base) * 1000000000 + below_a_second(substr($(i + 1), point + 1, 9))
	begin(cpu, at)
	what = kind[event]
	if (what == "switches") count(what, "ctxt", "-", at, 1)
	else if (what == "vector") count(what, named[event], cpu, at, 1)
	# napi poll on napi struct ADDRESS for device NAME work N budget N
	else if (what == "packets") count_polled(cpu, at, $(NF - 2))
	# vec=N, irq=N
	else count(what, substr($(i + 3), 5) + 0, cpu, at, 1)
}

END {
	say_tallies()
	printf "lost %.0f\n", lost
	# Lines of another shape, such as trace-cmd's of a clock that it prints without a blank, are no events that are missing.
	print "status " (status == "" ? "none" : !read && unread > 9 ? "unread" : status)
}
