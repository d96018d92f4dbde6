# missing.awk: what the trace lacks, from grown.awk's and tally-*.awk's lines.
#   awk -v exact=yes -v lost=N -f missing.awk GROWN TALLIES >ROWS
# exact: the events' times are of the clock that the counters were read by. lost: events that the recorder lost, empty
# where that is not known. Of a CPU that tallies call late nothing is compared. Lines
#   row KIND NAME CPU COUNTED RECORDED INSIDE LEAST MOST
#   missing TEXT  each that is named: "48 % of NET_RX on CPU 1"
#   beyond        where more is missing than was lost
# LEAST are missing for certain: the counter grew by more than the trace has of all the time from the beginning of the
# first reading to the end of the second. MOST: more than it has of the time between the two.

# Rounded down, in whole numbers: what is not quite everything is not written as everything.
function share(n, of) {
	if (10 * n >= of) return sprintf("%d %%", int(100 * n / of))
	if (1000 * n >= of) return sprintf("%.1f %%", int(1000 * n / of) / 10)
	return "under 0.1 %"
}

$1 == "grown" {
	order[++rows] = $2 " " $3 " " $5
	kind[rows] = $2; name[rows] = $4; cpu[rows] = $5; counted[rows] = $6; sure[rows] = $7
	next
}

# A ring that overwrites may have nothing of when the counters were read first.
$1 == "late" { late[$2, $3] = late[$2, "-"] = 1; next }

$1 == "tally" {
	key = $2 " " $3 " " $4
	# Of switches a line for each CPU's pages.
	outer[key] += exact ? $5 : $7
	inner[key] += exact ? $6 : 0
	any[$2 " " $3] += $7
}

END {
	for (i = 1; i <= rows; i++) {
		key = order[i]
		split(key, part, " ")
		if ((kind[i], cpu[i]) in late) continue
		if (sure[i] == "" && !any[part[1] " " part[2]]) continue
		least[i] = counted[i] - outer[key]; if (least[i] < 0) least[i] = 0
		most = counted[i] - inner[key]; if (most < 0) most = 0
		if (kind[i] == "softirq" && name[i] == "NET_RX" && least[i] > 0) blind[cpu[i]] = 1
		if (kind[i] == "irq" && least[i] == 0) irqs++
		said[i] = sprintf("row %s %s %s %.0f %.0f %.0f %.0f %.0f", kind[i], name[i], cpu[i], counted[i], outer[key], inner[key], least[i], most)
	}
	for (i = 1; i <= rows; i++) {
		if (!(i in said)) continue
		if (irqs <= 200 || kind[i] != "irq" || least[i] > 0) print said[i]
		if (kind[i] != "packets") total += least[i]
	}
	if (total > lost + 0) print "beyond"
	# The network's softirqs first. Packets are counted again behind a tunnel and not at all before XDP: by themselves no
	# proof, and the last.
	for (;;) {
		worst = 0
		for (i = 1; i <= rows; i++) {
			if (!(i in said) || least[i] == 0 || (kind[i] == "packets" && !(cpu[i] in blind))) continue
			rank = least[i]
			if (kind[i] == "packets") rank -= 1e15
			if (kind[i] == "softirq" && name[i] ~ /^NET_/) rank += 1e15
			if (!worst || rank > best) { worst = i; best = rank }
		}
		if (!worst) break
		what = name[worst]
		if (kind[worst] == "irq") what = "interrupt " what
		else if (kind[worst] == "switches") what = "switches"
		printf "missing %s of %s%s\n", share(least[worst], counted[worst]), what, cpu[worst] == "-" ? "" : " on CPU " cpu[worst]
		least[worst] = 0
	}
}
