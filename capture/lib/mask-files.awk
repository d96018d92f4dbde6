# The text files of a bundle, or of an experiment's bundles, without the names that are in them: each kind by its own
# rule. Its input is a list of the files in the folder netcost_folder, "text PATH", "trace PATH" or "uname
# PATH"; with netcost_learn it only learns what the host is called. A text is written to the folder netcost_masked, by its
# number in the list, and to netcost_paths for each "NUMBER <TAB> PATH <TAB> PATH WITHOUT NAMES". Names are in the
# environment, for awk changes backslashes in variables. Used with the other mask-*.awk.

function rule_of(path,  name) {
	name = path
	sub(/.*\//, "", name)
	if (path !~ /(^|\/)files\//) {
		if (name == "manifest.json") return "manifest"
		if (path == "experiment.json") return "experiment"
		if (path == "steps.tsv") return "steps"
	}
	if (name == "hostname") return "hostname"
	if (name == "cmdline") return "boot"
	if (name ~ /\.jsonl?$/) return path ~ /(^|\/)files\// ? "foreign" : "json"
	if (name ~ /^pidstat/) return "pidstat"
	if (name ~ /^(preflight|turbostat)\.txt$/ || name == "owner") return "own"
	if (name == "summary.txt") return "summary"
	if (path ~ /(^|\/)(before|after|settings)\// && name == "stamp") return "stamp"
	# Copies of /proc's counters, wherever a victim or a load puts them.
	if (name ~ /^(stat|interrupts|softirqs|schedstat|net_dev|softnet_stat|net_softnet_stat|stamp)$/) return "counters"
	if (path ~ /(^|\/)files\// || name ~ /^(victim|load|recorder)\.txt$/ || path ~ /(^|\/)(before|after)\/work$/) return "foreign"
	if (path ~ /(^|\/)(before|after|samples|settings)\// || name ~ /^(kernel_config|victim_stat)$/) return "counters"
	return ""
}

### what is learned, and what is written
function learn_hosts(path, file,  line, lines, rule, word) {
	rule = rule_of(path)
	in_namespaces = 0
	# Only what programs print can name another host anywhere.
	while ((getline line < file) > 0 && (++lines < 2000 || rule ~ /^(foreign|json)$/)) {
		if (rule == "manifest" && (in_namespaces || index(line, "\"network_namespaces\""))) learn_namespaces(line)
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

# A line of the array, which can be all in the line of its key.
function learn_namespaces(line,  n, part, i) {
	if (sub(/.*"network_namespaces"[ \t]*:[ \t]*/, "", line) && !sub(/^\[/, "", line)) line = "]"
	in_namespaces = !sub(/\].*/, "", line)
	n = split(line, part, "\"")
	for (i = 2; i <= n; i += 2) learn_namespace(part[i])
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

function mask_file(path, shown, file, target, rule,  line, lines, name) {
	hidden = columns = in_array = after_dashes = in_namespaces = 0
	key = ""
	name = path
	sub(/.*\//, "", name)
	printf "" > target
	if (rule == "manifest") {
		# Its notes name them, above the line that says which there are.
		while ((getline line < file) > 0) if (in_namespaces || index(line, "\"network_namespaces\"")) learn_namespaces(line)
		close(file)
	}
	while ((getline line < file) > 0) {
		# A program's own JSON begins with a brace.
		if (++lines == 1 && rule == "foreign" && line ~ /^[ \t]*([{]|\[[ \t]*([{]|$))/) rule = "foreign-json"
		if (name ~ /^net_dev/ && match(line, /^ *[^ :|]+:/)) learn_interface(substr(line, 1, RLENGTH - 1))
		if (rule ~ /^(manifest|json|experiment)$/) line = mask_json(line, rule)
		else if (rule == "steps") line = mask_steps(line, lines)
		else if (rule == "stamp") line = mask_stamp(line)
		else if (rule == "foreign-json") line = mask_json(line, "foreign")
		else if (rule == "hostname") line = mask_host(line)
		else if (rule == "boot") line = mask_boot(line)
		else if (rule == "pidstat") line = mask_pidstat(line)
		else if (rule == "foreign") line = mask_output(line)
		else if (rule == "own") line = mask_own(line)
		else if (rule == "summary") line = line ~ /^(victim|load) / ? substr(line, 1, 11) "-" : mask_own(line)
		else line = mask_counters(line)
		print line > target
	}
	close(file)
	close(target)
	said("text files masked", 1)
	said("lines or values of " listed_as(shown) " hidden", hidden)
}

# listed_as(SHOWN): an experiment has each file as often as it has bundles.
function listed_as(shown) {
	if (ENVIRON["netcost_kind"] == "experiment") sub(/.*\//, "", shown)
	return shown
}

function learn_interface(name) {
	sub(/^ +/, "", name)
	seen_interface(name)
}

BEGIN {
	folder = ENVIRON["netcost_folder"]
	masked = ENVIRON["netcost_masked"]
	paths = ENVIRON["netcost_paths"]
	report = ENVIRON["netcost_report"]
	if (ENVIRON["netcost_map"] != "") read_map(ENVIRON["netcost_map"])
	if (paths != "") printf "" > paths
}

{
	path = substr($0, index($0, " ") + 1)
}

ENVIRON["netcost_learn"] { learn_hosts(path, folder "/" path); next }

{
	shown = mask_file_name(path)
	rule = /^text / ? rule_of(path) : "trace"
	if (rule == "") {
		said(listed_as(shown) " left out", 1)
		next
	}
	if (rule != "trace") mask_file(path, shown, folder "/" path, masked "/" NR, rule)
	if (/^trace /) {
		# A recording that is a folder is one recording.
		name = match(shown, /\.(tracefs|perf\.data)\//) ? substr(shown, 1, RSTART + RLENGTH - 1) : shown
		if (!(name in is_told)) told_traces = told_traces "packed unmasked: " name "\n"
		is_told[name] = 1
	}
	printf "%d\t%s\t%s\n", rule == "trace" ? 0 : NR, path, shown > paths
}

END {
	if (ENVIRON["netcost_new_map"] != "") write_map(ENVIRON["netcost_new_map"])
	if (report != "") {
		for (i = 1; i <= mapped; i++) {
			split(order[i], part, SUBSEP)
			replaced[part[1]]++
		}
		n = split("host task path ipv4 ipv6 mac id name", kind, " ")
		for (i = 1; i <= n; i++) if (replaced[kind[i]]) printf "%d name%s of kind %s replaced\n", replaced[kind[i]], (replaced[kind[i]] == 1 ? "" : "s"), kind[i] > report
		for (i = 1; i <= tellings; i++) printf "%d x %s\n", told[telling[i]], mask_words(telling[i]) > report
		printf "%s", told_traces > report
		if (interface_names != "") printf "not masked: names of network devices: %s\n", interface_names > report
		print "not masked: names of interrupts, PCI devices and kernel functions; versions, process numbers, user ids, ports, times" > report
	}
}
