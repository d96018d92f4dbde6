# The rules by which mask-files.awk masks a text, a line at a time: counters, outputs of programs, JSON.
# Used with mask-names.awk and mask-paths.awk.

function said(what, amount) {
	if (amount == 0) return
	if (!(what in told)) telling[++tellings] = what
	told[what] += amount
}

### rules, a line at a time
function mask_counters(line,  text, from, to) {
	if (match(line, /^[0-9]+ cgroup \//)) return substr(line, 1, RLENGTH - 1) mask_words(mask_cgroup(substr(line, RLENGTH)))
	# "123 (name) S 1", as /proc/PID/stat has it: a name may hold parentheses and blanks.
	if (match(line, /[0-9]+ \(.*\) [A-Z] -?[0-9]+ /)) {
		text = substr(line, RSTART, RLENGTH)
		from = index(text, "(")
		to = length(text)
		while (substr(text, to, 1) != ")") to--
		line = substr(line, 1, RSTART + from - 1) mask_task(substr(text, from + 1, to - from - 1)) substr(line, RSTART + to - 1)
	}
	# What somebody called an interface, as ip prints it where it knows no JSON; who built the kernel.
	if (match(line, /^[ \t]*alias /)) line = substr(line, 1, RLENGTH) hide()
	gsub(/\([A-Za-z0-9_.+-]+@[A-Za-z0-9_.+-]+\)/, "(-)", line)
	return mask_words(line)
}

function mask_boot(line,  n, i, word, name, out) {
	n = split(line, word, " ")
	out = ""
	for (i = 1; i <= n; i++) {
		name = word[i]
		sub(/=.*/, "", name)
		if (name !~ /^(nohz|nohz_full|rcu_nocbs|rcutree\..*|isolcpus|irqaffinity|mitigations|threadirqs|preempt|idle|intel_idle\..*|processor\..*|cpuidle\..*|cpufreq\..*|net\..*|kvm.*|transparent_hugepage.*|intel_pstate|amd_pstate|tsc|clocksource|default_hugepagesz|hugepagesz|hugepages|iommu|intel_iommu|amd_iommu|skew_tick|nosmt|maxcpus|nr_cpus|pti|spectre_v2|numa_balancing|ro|rw|quiet|nmi_watchdog|nosoftlockup|highres|lapic|nox2apic)$/) {
			word[i] = index(word[i], "=") ? name "=-" : "-"
			hidden++
		}
		out = out (i > 1 ? " " : "") word[i]
	}
	return out
}

# "Linux 6.18.0 (name) 11/20/26 _x86_64_ (2 CPU)", above what sysstat's programs print.
function is_sysstat(line) {
	return line ~ /^Linux [^ ]+ \([^)]+\)/
}

function mask_sysstat(line,  from, to) {
	from = index(line, "(")
	to = index(line, ")")
	return substr(line, 1, from) mask_host(substr(line, from + 1, to - from - 1)) substr(line, to)
}

function mask_pidstat(line,  n, i, field, rest, start) {
	if (is_sysstat(line)) return mask_sysstat(line)
	n = split(line, field, " ")
	if (n && field[n] == "Command") {
		columns = n - (field[1] == "#")
		return line
	}
	if (!n) return line
	if (!columns || n < columns) return hide()
	rest = line
	for (i = 1; i < columns; i++) sub(/^[ \t]*[^ \t]+/, "", rest)
	sub(/^[ \t]+/, "", rest)
	start = substr(line, 1, length(line) - length(rest))
	if (rest ~ /^\|__/) {
		start = start "|__"
		rest = substr(rest, 4)
	}
	sub(/[ \t]+$/, "", rest)
	return start mask_task(rest)
}

function hide() {
	hidden++
	return "(masked)"
}

# Lines of programs whose output is of a known shape.
function mask_output(line,  bare) {
	# As a terminal would leave it: without what a carriage return has overwritten.
	sub(/\r+$/, "", line)
	sub(/.*\r/, "", line)
	bare = line
	gsub(/^[ \t]+|[ \t]+$/, "", bare)
	if (bare == "") return line
	if (is_sysstat(line)) return mask_sysstat(line)
	if (match(line, /^\[ perf record: Captured and wrote [0-9.]+ [KMG]B/)) return substr(line, 1, RLENGTH) " ]"
	if (bare ~ /^Doing [A-Za-z0-9_ .-]+ for [0-9]+s on [0-9]+ size blocks:/ ||
		bare ~ /^\+[A-Z][A-Z0-9]*:[A-Za-z0-9_:.+-]*$/ || bare ~ /^version: [0-9.]+[a-z0-9]*$/ ||
		bare ~ /^The .numbers. are in 1000s of bytes per second processed\.$/ || bare ~ /^type +[0-9]/ ||
		bare ~ /^[A-Za-z0-9_-]+( +[0-9.]+k)+$/ || bare ~ /^sent [0-9]+ (datagrams|packets|segments) / || bare ~ /^received [0-9]+ (datagrams|packets|bytes)/ ||
		bare ~ /^\[ perf record: Woken up [0-9]+ times to write data \]$/ || bare ~ /^CPU [0-9]+: [0-9]+ pages of [0-9]+ bytes$/ ||
		bare ~ /^CPU: ?[0-9]+$/ || bare ~ /^(entries|overrun|commit overrun|bytes|oldest event ts|now ts|dropped events|read events): +[0-9.]+$/ ||
		bare ~ /^Kernel buffer statistics:/ || bare ~ /^[0-9]+ bytes in size/ ||
		bare ~ /^\[ *(ID|SUM|[0-9]+)\]/ || bare ~ /^- - - / || bare ~ /^------*$/ || bare ~ /^iperf (Done\.|3[0-9.]*)$/ ||
		bare ~ /^(Server listening on|Connecting to host|Accepted connection from) / ||
		bare ~ /^(Recv +Send +Send|Socket +Socket +Message|Size +Size +Size|bytes +bytes +bytes|Local +\/Remote|Average: )/ ||
		bare ~ /^[0-9 \t.,:%\/*+-]+$/ || bare ~ /^[0-9][0-9]:[0-9][0-9]:[0-9][0-9] /) return mask_words(line)
	bare = benchmark_line(line)
	return bare == "" ? hide() : mask_words(bare)
}

# What netcost-record itself says: names of paths go as well.
function mask_own(line,  out, word) {
	line = mask_words(line)
	out = ""
	while (match(line, /(^|[ '"=])\/[^ '",;:)]+/)) {
		out = out substr(line, 1, RSTART - 1)
		word = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		if (word !~ /^\//) {
			out = out substr(word, 1, 1)
			word = substr(word, 2)
		}
		out = out mask_path(word)
	}
	return out line
}

### JSON: its strings, by the key they stand under. No string of ours goes over the end of a line.
function is_own_note(text) {
	return text ~ /^(tracefs was not mounted|not on this kernel|refused by this host|this host refuses|victim and snapshot times|the victim (was ended|without|with)|the load ended|the service ended|--work (did not|printed no)|the recording was (ended|rolling)|the condition (never )?held|the kernel's configuration|functions are sampled|the last events of CPU|ethtool read the first)/ ||
		text ~ /^(perf|trace-cmd|tracefs) recorded, for / || text ~ /^profile [a-z]+, not on this host/ || text ~ /^(mpstat|pidstat|turbostat|counters|energy) ended early/
}

function mask_string(text, rule,  low) {
	if (text == "") return text
	low = tolower(key)
	if (rule == "experiment") return mask_of_experiment(low, text)
	# Files and namespaces are called by them too.
	if (rule == "manifest" && low == "network_namespaces") return text == "." ? text : mask_words(mask_label(text))
	if (rule == "manifest" && low ~ /^(output|trace|files|baseline|afterwards|idle|load|idle_traced|load_traced)$/ && text !~ /[ \t]/) return mask_reference(text)
	if (low == "record_command") return "netcost-record ..."
	if (low == "command" && in_array) return argument(text)
	if (low ~ /^(command|cmd|cmdline|comm|task|work)$/) return mask_command(text)
	if (rule == "manifest" && low == "cgroup") return mask_cgroup(text)
	if (rule == "manifest" && low == "container") return mask_label(text)
	if (low == "daemons") return mask_task(text)
	if (low == "notes") return is_own_note(text) ? mask_own(mask_namespaces(text)) : hide()
	if (low ~ /^(alias|ifalias|cookie|title|comment|description|cwd|user|username|extra_data|system_info|server_output_text|error)$/) return hide()
	if (low ~ /^(nodename|hostname|host|uname)$/ && mask_words(text) == text) return mask_host(text)
	if (rule == "foreign" && mask_words(text) == text && text !~ /^-?[0-9]+(\.[0-9]+)?$/ && low !~ /^(protocol|version|fio version|throughput_units|time|timestamp|state|unit|event|cpu|.*congestion)$/) return hide()
	return mask_own(text)
}

# mask_cgroup(PATH): any part of it can be somebody's name.
function mask_cgroup(path,  n, part, i, out) {
	n = split(path, part, "/")
	out = part[1]
	for (i = 2; i <= n; i++) out = out "/" (part[i] == "" ? "" : mask_label(part[i]))
	return out
}

# mask_reference(PATH): of a file in the bundle, or of a folder, whose name ends in a slash.
function mask_reference(path,  end) {
	end = path ~ /\/$/ ? "/" : ""
	sub(/\/$/, "", path)
	return path == "." ? path end : mask_file_name(path) end
}

# argument(WORD): of the recorder's own command; what it ran is not said.
function argument(word) {
	if (word == "--") after_dashes = 1
	if (after_dashes && word != "--") return "x"
	return word ~ /\// ? "x" : word
}

function mask_json(line, rule,  out, text, rest, between) {
	out = ""
	while (match(line, /"([^"\\]|\\.)*"/)) {
		between = substr(line, 1, RSTART - 1)
		arrays(between)
		out = out between
		text = substr(line, RSTART + 1, RLENGTH - 2)
		rest = substr(line, RSTART + RLENGTH)
		if (rest ~ /^[ \t]*:/) {
			key = text
			in_array = after_dashes = 0
			out = out "\"" mask_words(text) "\""
		} else out = out "\"" mask_string(text, rule) "\""
		line = rest
	}
	arrays(line)
	return out line
}

# arrays(TEXT): does what follows stand in an array of strings?
function arrays(text) {
	if (text ~ /\]/) in_array = after_dashes = 0
	if (text ~ /\[[^]]*$/) in_array = 1
}
