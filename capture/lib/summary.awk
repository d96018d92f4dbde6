# summary.awk: what a recording says without any analysis, for summary.txt. Reads, in a bundle's folder, of
#   before/ and after/: stamp, softirqs, interrupts, net_softnet_stat, stat, work
#   of the baseline the same of work, and victim.txt; victim.txt
#   POLLED: a line "counted" and the tallies of packets and polls (tally.awk), empty where the trace was not counted
# named on its command line. Variables: victim_cpu, "" where there is none.
# Writes lines "NAME VALUE..." of each figure where figures is set, for tests; else the lines for a reader.

function hexadecimal(text,    i, n) {
	for (i = 1; i <= length(text); i++) n = n * 16 + index("0123456789abcdef", substr(text, i, 1)) - 1
	return n
}

# Between the middles of the two readings; older recordings say only when each copy began.
function seconds(file) {
	return (moment("after", file) - moment("before", file)) / 1e9
}

function moment(of, file) { return (of, file) in at ? at[of, file] : began[of] }

function share(part, whole) { return whole > 0 ? sprintf("%.1f %%", 100 * part / whole) : "unknown" }

function rate(n, file,    s) {
	s = seconds(file)
	return s > 0 ? n / s : 0
}

function number(n) { return n >= 100 || n == 0 ? sprintf("%.0f", n) : sprintf("%.1f", n) }

# Counters of 32 bits start again at 0.
function grown(after_, before_) { return after_ - before_ < 0 ? after_ - before_ + 4294967296 : after_ - before_ }

# ORDER[1], ORDER[2], ...: the keys of VALUES, the largest first, MOST at most. Returns how many there are.
function largest(values, order, most,    key, i, j, n) {
	for (key in values) {
		n++
		for (i = n <= most ? n : most + 1; i > 1 && values[order[i - 1]] < values[key]; i--)
			if (i <= most) order[i] = order[i - 1]
		if (i <= most) order[i] = key
	}
	return n
}

FNR == 1 {
	parts = split(FILENAME, part, "/")
	file = part[parts]
	side = parts > 1 ? part[parts - 1] : ""
	idle = part[1] == "baseline"
	columns = 0
}

file == "stamp" {
	if (NF == 3) at[(idle ? "idle " : "") side, $1] = ($2 + $3) / 2
	else if ($1 == "monotonic_ns" && !idle) began[side] = $2
	next
}

file == "work" { if ($0 ~ /^[0-9]+(\.[0-9]+)?$/) done[(idle ? "idle " : "") side] = $1; next }

# "Doing sha256 for 3s on 1024 size blocks: 4393276 sha256's in 2.69s"; -mr: +DT:ALGORITHM:SECONDS:SIZE, +R:BLOCKS:...
file == "victim.txt" {
	while (match($0, /Doing .* for [0-9]+s on [0-9]+ size blocks: ?[0-9]+ /)) {
		told = substr($0, RSTART, RLENGTH)
		what = told; sub(/^Doing /, "", what); sub(/( ops)? for [0-9]+s on .*/, "", what)
		size = told; sub(/.* on /, "", size); sub(/ size.*/, "", size)
		wall = told; sub(/s on [0-9]+ size.*/, "", wall); sub(/.* /, "", wall)
		blocks = told; sub(/ $/, "", blocks); sub(/.*[: ]/, "", blocks)
		if (wall > 0) pace[idle, tolower(what) " " size] = blocks / wall
		$0 = substr($0, RSTART + RLENGTH)
	}
	if (match($0, /^\+DT:[^:]+:[0-9]+:[0-9]+/)) { split($0, asked, ":"); next }
	if (match($0, /^\+R:[0-9]+:/) && asked[3] > 0) {
		split($0, result, ":")
		pace[idle, tolower(asked[2]) " " (asked[4] + 0)] = result[2] / asked[3]
		asked[3] = 0
	}
	next
}

$1 == "counted" && NF == 1 { counted = 1; next }

$1 == "tally" && ($2 == "packets" || $2 == "polls") {
	polled[$2, $4] += $7
	polled[$2] += $7
	next
}

# Of before/ and after/ of the recording alone.
idle { next }

(file == "softirqs" || file == "interrupts") && FNR == 1 {
	columns = NF
	for (i = 1; i <= NF; i++) { cpu[i] = $i; sub(/^CPU/, "", cpu[i]) }
	next
}

file == "softirqs" && $1 == "NET_RX:" {
	for (i = 1; i <= columns; i++) {
		if (side == "before") rx[cpu[i]] = $(i + 1)
		else if (cpu[i] in rx) { net_rx[cpu[i]] = grown($(i + 1), rx[cpu[i]]); net_rx_all += net_rx[cpu[i]] }
	}
	next
}

file == "interrupts" && NF > columns {
	line = $1; sub(/:$/, "", line)
	tail = ""
	for (i = columns + 2; i <= NF; i++) tail = tail " " $i
	for (i = 1; i <= columns; i++) {
		key = line SUBSEP cpu[i]
		if (side == "before") { irq[key] = $(i + 1); said[line] = tail }
		else if (key in irq && said[line] == tail) {
			n = grown($(i + 1), irq[key])
			lines[line] += n
			if (n > 0 && ++on[line] <= 6) where[line] = where[line] " " cpu[i] ":" number(rate(n, "interrupts"))
		}
	}
	next
}

file == "net_softnet_stat" {
	name = NF >= 13 ? hexadecimal($13) : FNR - 1
	if (side == "before") { packets0[name] = hexadecimal($1); dropped0 += hexadecimal($2); squeezed0 += hexadecimal($3) }
	else {
		if (name in packets0) packets[name] = grown(hexadecimal($1), packets0[name])
		dropped1 += hexadecimal($2); squeezed1 += hexadecimal($3)
	}
	next
}

file == "stat" && $1 ~ /^cpu[0-9]+$/ {
	name = substr($1, 4)
	# Guests' time is in user and nice as well.
	for (i = 2; i <= 9; i++) {
		if (side == "before") tick[name, i] = $i
		else if ((name, i) in tick) {
			n = $i - tick[name, i]
			if (n < 0) n = 0
			ticks[name, i] = n; ticks[name] += n
		}
	}
}

# work done of the baseline's; -1 where that is not known.
function work_share(    key, own, sum, n, wall0, wall1) {
	for (key in pace) {
		split(key, part, SUBSEP)
		if (part[1] + 0 == 0 && (1, part[2]) in pace && pace[1, part[2]] > 0) { sum += pace[key] / pace[1, part[2]]; n++ }
	}
	if (n) return sum / n
	wall0 = (at["idle after", "work"] - at["idle before", "work"]) / 1e9
	wall1 = seconds("work")
	if (wall0 <= 0 || wall1 <= 0 || !("after" in done) || !("idle after" in done)) return -1
	own = (done["idle after"] - done["idle before"]) / wall0
	return own > 0 ? (done["after"] - done["before"]) / wall1 / own : -1
}

function batch(name) { return polled["polls", name] > 0 ? polled["packets", name] / polled["polls", name] : 0 }

# On which CPU softirqs matter: the victim's, else the one that had most.
function cpu_in_question(    name, best) {
	if (victim_cpu != "") return victim_cpu
	best = -1
	for (name in net_rx) if (ticks[name] > 0 && ticks[name, 8] / ticks[name] > best) { best = ticks[name, 8] / ticks[name]; chosen = name }
	return chosen
}

END {
	worked = work_share()
	if (figures != "") {
		for (name in net_rx) {
			printf "net_rx %s %.6f\n", name, rate(net_rx[name], "softirqs")
			printf "packets %s %.6f\n", name, rate(packets[name], "net_softnet_stat")
			if (counted) printf "batch %s %.6f\n", name, batch(name)
			if (ticks[name] > 0) printf "softirq %s %.6f\nirq %s %.6f\n", name, ticks[name, 8] / ticks[name], name, ticks[name, 7] / ticks[name]
		}
		for (line in lines) printf "line %s %.6f\n", line, rate(lines[line], "interrupts")
		if (worked >= 0) printf "work - %.6f\n", worked
		exit
	}
	if (worked >= 0) printf "work       %s of its baseline's\n", share(worked, 1)
	name = cpu_in_question()
	if (name != "" && ticks[name] > 0)
		printf "CPU %-6s softirq %s, irq %s, user %s, system %s, idle %s, steal %s (ticks)\n", name (victim_cpu == "" ? "" : "*"),
			share(ticks[name, 8], ticks[name]), share(ticks[name, 7], ticks[name]), share(ticks[name, 2] + ticks[name, 3], ticks[name]),
			share(ticks[name, 4], ticks[name]), share(ticks[name, 5] + ticks[name, 6], ticks[name]), share(ticks[name, 9], ticks[name])
	n = largest(net_rx, order, 8)
	# A report is of other seconds: the victim's, or the trace's.
	if (n) printf "           CPU   NET_RX/s  packets/s  packets/poll  softirq  (in %.2f s between two readings)\n", seconds("softirqs")
	for (i = 1; i <= n && i <= 8; i++) {
		name = order[i]
		printf "           %-5s %8s  %9s  %12s  %7s\n", name, number(rate(net_rx[name], "softirqs")), number(rate(packets[name], "net_softnet_stat")),
			counted ? (polled["polls", name] > 0 ? sprintf("%.2f", batch(name)) : "-") : "not counted", share(ticks[name, 8], ticks[name])
		shown += net_rx[name]
	}
	if (n > 8) printf "           %d more CPUs: NET_RX/s %s\n", n - 8, number(rate(net_rx_all - shown, "softirqs"))
	n = largest(lines, busiest, 5)
	for (i = 1; i <= n && i <= 5; i++) {
		line = busiest[i]
		if (lines[line] > 0) printf "%-10s %6s/s %s:%s; by CPU%s%s\n", i == 1 ? "interrupts" : "", number(rate(lines[line], "interrupts")), line,
			substr(said[line], 1, 48), where[line], (on[line] > 6 ? " and " (on[line] - 6) " more CPUs" : "")
	}
	printf "softnet    %d squeezed, %d dropped\n", grown(squeezed1, squeezed0), grown(dropped1, dropped0)
}
