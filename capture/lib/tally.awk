# tally.awk: the functions by which tally-text.awk and tally-pages.awk count events against the times at which the
# kernel's counters were read. Used together with one of them and a first file of grown.awk's lines.
# Times are ns since the second of the first reading: whole ns since boot are more than a number of awk holds.

function since_base(text,    digits) {
	digits = length(text)
	if (digits <= 9) return text - base * 1000000000
	return (substr(text, 1, digits - 9) - base) * 1000000000 + below_a_second(substr(text, digits - 8))
}

# Nine digits; to busybox a number that begins with 0 is octal.
function below_a_second(digits) { return ("1" digits) - 1000000000 }

# window KIND B0 B1 A0 A1; or rolling: the rings overwrite
function take_window() {
	if ($1 == "rolling") rolling = 1
	if ($1 != "window") return
	if (base == "") base = int(substr($3, 1, length($3) > 9 ? length($3) - 9 : 0))
	b0[$2] = since_base($3); b1[$2] = since_base($4); a0[$2] = since_base($5); a1[$2] = since_base($6)
	# The lines of vectors are in the file of the interrupts.
	if ($2 == "irq") { b0["vector"] = b0["irq"]; b1["vector"] = b1["irq"]; a0["vector"] = a0["irq"]; a1["vector"] = a1["irq"] }
}

function count(kind, id, cpu, at, n,    key) {
	key = kind " " id " " cpu
	whole[key] += n
	if (at >= b0[kind] && at <= a1[kind]) {
		outer[key] += n
		if (at >= b1[kind] && at <= a0[kind]) inner[key] += n
	}
}

# begin CPU AT: of a rolling recording, each CPU's oldest event.
function begin(cpu, at) { if (rolling && (!(cpu in oldest) || at < oldest[cpu])) oldest[cpu] = at }

# A poll and its packets. Of polls that brought any only the whole is counted, for no counter of the kernel's has them.
function count_polled(cpu, at, work) {
	count("packets", "packets", cpu, at, work)
	if (work > 0) whole["polls polls " cpu]++
}

# tally KIND ID CPU OUTER INNER WHOLE: of the events those in [B0, A1], in [B1, A0], and all. Of a rolling recording
# first CPU SECONDS NS, the oldest of them, and late KIND CPU where it is younger than B0.
function say_tallies(    key, cpu, kind) {
	for (cpu in oldest) {
		printf "first %s %.0f %.0f\n", cpu, base, oldest[cpu]
		for (kind in b0) if (oldest[cpu] > b0[kind]) print "late", kind, cpu
	}
	for (key in whole) printf "tally %s %.0f %.0f %.0f\n", key, outer[key], inner[key], whole[key]
}
