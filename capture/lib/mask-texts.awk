# A bundle's text files without the names that are in them: each kind by its own rule, docs/mask.md. Its input is a
# list of the files, "PATH IN THE BUNDLE <TAB> FILE <TAB> WHERE TO"; with learn=1 it only learns what the host is
# called. Used with mask-names.awk; writes to report what it did.

function rule_of(path,  name) {
	name = path
	sub(/.*\//, "", name)
	if (name == "manifest.json") return "manifest"
	if (name == "hostname") return "hostname"
	if (name == "cmdline") return "boot"
	if (name ~ /\.jsonl?$/) return path ~ /(^|\/)files\// ? "foreign" : "json"
	if (name ~ /^pidstat/) return "pidstat"
	if (name ~ /^(preflight|turbostat)\.txt$/ || name == "owner") return "own"
	# Copies of /proc's counters, wherever a victim or a load puts them.
	if (name ~ /^(stat|interrupts|softirqs|schedstat|net_dev|softnet_stat|net_softnet_stat|stamp)$/) return "counters"
	if (path ~ /(^|\/)files\// || name ~ /^(victim|load|recorder)\.txt$/) return "foreign"
	if (path ~ /(^|\/)(before|after|samples|settings)\// || name ~ /^(kernel_config|victim_stat)$/) return "counters"
	return ""
}

function said(what, amount) {
	if (amount == 0) return
	if (!(what in told)) telling[++tellings] = what
	told[what] += amount
}

### rules, a line at a time
function mask_counters(line,  text, from, to) {
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
	bare = line
	gsub(/^[ \t]+|[ \t\r]+$/, "", bare)
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
		bare ~ /^(Server listening on|Connecting to host|Accepted connection from) / || bare ~ /^MIGRATED [A-Z_ ]+ TEST from / ||
		bare ~ /^(Recv +Send +Send|Socket +Socket +Message|Size +Size +Size|bytes +bytes +bytes|Local +\/Remote|Average: )/ ||
		bare ~ /^[0-9 \t.,:%\/*+-]+$/ || bare ~ /^[0-9][0-9]:[0-9][0-9]:[0-9][0-9] /) return mask_words(line)
	return hide()
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
	return text ~ /^(tracefs was not mounted|not on this kernel|refused by this host|this host refuses|victim and snapshot times|the victim (was ended|without|with)|the load ended|the recording was ended|the kernel's configuration|functions are sampled|the last events of CPU|ethtool read the first)/ ||
		text ~ /^(perf|trace-cmd|tracefs) recorded, for / || text ~ /^profile [a-z]+, not on this host/ || text ~ /^(mpstat|pidstat|turbostat|counters|energy) ended early/
}

function mask_string(text, rule,  low) {
	if (text == "") return text
	low = tolower(key)
	if (low == "record_command") return "netcost-record ..."
	if (low == "command" && in_array) return argument(text)
	if (low ~ /^(command|cmd|cmdline|comm|task)$/) return mask_command(text)
	if (low == "daemons") return mask_task(text)
	if (low == "notes") return is_own_note(text) ? mask_own(text) : hide()
	if (low ~ /^(alias|ifalias|cookie|title|comment|description|cwd|user|username|extra_data|system_info|server_output_text|error)$/) return hide()
	if (low ~ /^(nodename|hostname|host|uname)$/ && mask_words(text) == text) return mask_host(text)
	if (rule == "foreign" && mask_words(text) == text && low !~ /^(protocol|version|time|timestamp|state|unit|event|cpu|.*congestion)$/) return hide()
	return mask_own(text)
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

### files
function learn_hosts(path, file,  line, lines, rule, word) {
	rule = rule_of(path)
	# Only what programs print can name another host anywhere.
	while ((getline line < file) > 0 && (++lines < 2000 || rule ~ /^(foreign|json)$/)) {
		if (path ~ /(^|\/)hostname$/) mask_host(line)
		else if (path ~ /(^|\/)uname$/) { split(line, word, " "); mask_host(word[2]) }
		else if (is_sysstat(line)) mask_sysstat(line)
		else {
			if (index(line, "\"")) learn_json(line)
			if (index(line, "Connecting to host ") || index(line, " TEST ")) learn_peers(line)
		}
	}
	close(file)
}

function learn_json(line,  word) {
	while (match(line, /"(nodename|hostname|host)"[ \t]*:[ \t]*"[^" \t\\]+"/) || match(line, /"system_info"[ \t]*:[ \t]*"Linux [^ "\\]+/)) {
		word = substr(line, RSTART, RLENGTH)
		line = substr(line, RSTART + RLENGTH)
		sub(/"$/, "", word)
		sub(/.*[" ]/, "", word)
		learn_peer(word)
	}
}

# Whom iperf3 and netperf talk to.
function learn_peers(line,  n, i, word) {
	n = split(line, word, " ")
	for (i = 4; i <= n; i++) {
		if (word[i - 3] == "Connecting" && word[i - 2] == "to" && word[i - 1] == "host") learn_peer(word[i])
		# TEST from X (X) port N AF_INET to Y (Y), or TEST to Y
		if (word[i - 2] == "TEST" && word[i - 1] ~ /^(from|to)$/) learn_peer(word[i])
		if (word[i - 2] ~ /^AF_/ && word[i - 1] == "to") learn_peer(word[i])
	}
}

function learn_peer(name) {
	sub(/,.*/, "", name)
	if (name ~ /[A-Za-z]/ && !is_no_host(name) && name !~ /[()"]/) mask_host(name)
}

function mask_file(path, file, target, rule,  line, lines) {
	hidden = columns = in_array = after_dashes = 0
	key = ""
	printf "" > target
	while ((getline line < file) > 0) {
		# A program's own JSON begins with a brace.
		if (++lines == 1 && rule == "foreign" && line ~ /^[ \t]*([{]|\[[ \t]*([{]|$))/) rule = "foreign-json"
		if (rule == "manifest" || rule == "json") line = mask_json(line, rule)
		else if (rule == "foreign-json") line = mask_json(line, "foreign")
		else if (rule == "hostname") line = mask_host(line)
		else if (rule == "boot") line = mask_boot(line)
		else if (rule == "pidstat") line = mask_pidstat(line)
		else if (rule == "foreign") line = mask_output(line)
		else if (rule == "own") line = mask_own(line)
		else line = mask_counters(line)
		print line > target
	}
	close(file)
	close(target)
	said("text files masked", 1)
	said("lines or values of " path " hidden", hidden)
}

BEGIN {
	FS = "\t"
	if (map_file != "") read_map(map_file)
}

learn { learn_hosts($1, $2); next }

{
	rule = rule_of($1)
	if (rule == "") {
		said($1 " left out", 1)
		next
	}
	mask_file($1, $2, $3, rule)
}

END {
	if (new_map_file != "") write_map(new_map_file)
	if (report != "") {
		for (i = 1; i <= mapped; i++) {
			split(order[i], part, SUBSEP)
			replaced[part[1]]++
		}
		n = split("host task path ipv4 ipv6 mac id", kind, " ")
		for (i = 1; i <= n; i++) if (replaced[kind[i]]) printf "%d names of kind %s replaced\n", replaced[kind[i]], kind[i] > report
		for (i = 1; i <= tellings; i++) printf "%d x %s\n", told[telling[i]], mask_words(telling[i]) > report
	}
}
