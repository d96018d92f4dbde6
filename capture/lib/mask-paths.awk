# Names of files and folders, of network namespaces, and what an experiment says of itself: what netcost-record and
# its lab call things stays, everything else is called anew. The README leads to the rules, and
# netcost_analysis/masking/paths.py the same ones. Used with mask-names.awk.

# ending_of(NAME): the part that says of what kind a file is.
function ending_of(name) {
	if (match(name, /\.(netcost\.tar\.zst|netcost\.tar\.gz|perf\.data|dat|tracefs|jsonl|json|txt|log|csv|tsv)$/) && RSTART > 1) return substr(name, RSTART)
	return ""
}

# mask_label(NAME): what somebody called a file, a folder or a network namespace. It may be longer than it was.
function mask_label(name,  new) {
	if (name == "") return name
	if (("name", name) in map) return map["name", name]
	if (("name", name) in masked_already) return name
	do new = "name" ++count["name"]
	while (("name", new) in taken || new == name)
	return keep("name", name, new)
}

function mask_called(name,  ending) {
	ending = ending_of(name)
	return mask_label(substr(name, 1, length(name) - length(ending))) ending
}

# is_state(NAME): a file, or folder, of counters or settings, of whatever namespace.
function is_state(name) {
	return name ~ /^(stat|interrupts|softirqs|schedstat|net_dev|net_softnet_stat|softnet_stat|net_snmp6?|snmp6?|net_netstat|loadavg|stamp|kernel_config|sysctl(_[a-z_]+)?|queues|irq_affinity|affinity|cpuinfo|topology|cpufreq|governor|virtualization|clocksource|meminfo|vmstat|times|victim|victim_cgroup|work|tasks|victim_stat|daemons|energy|ip_link|ip_addr|ip_route|tc_qdisc|vulnerabilities|uptime|version|hugepages|hostname|cmdline|symbols|ethtool|settings|before|after|samples|cut)$/
}

# is_told_ethtool(NAME): what ethtool tells of a device.
function is_told_ethtool(name) {
	return name ~ /^(driver|features|coalesce|channels|rings|statistics|flow_rules|pause|link)$/
}

function is_counters(name) {
	return name ~ /^(stat|interrupts|softirqs|schedstat|net_dev|softnet_stat|net_softnet_stat|stamp)$/
}

function is_own_file(name) {
	return name ~ /^(manifest\.json|experiment\.json|steps\.tsv|SHA256SUMS|(victim|load|recorder|preflight|summary|turbostat|mpstat|pidstat|netperf|iperf3|sockperf|host|server|client)\.txt|(mpstat|pidstat|iperf3|perf_stat|counters|energy)\.jsonl?|kernel_config|victim_stat|owner|uname|(trace|samples|functions)\.(perf\.data|dat|tracefs|txt)|baseline|afterwards|calibration|idle|idle-traced|load|load-traced|files|before|after|samples|settings|repeats|bundle|experiment)$/
}

# is_step(NAME): numbers and the lab's own words, as it calls the recordings of its steps.
function is_step(name) {
	return name ~ /^(([0-9]+\.)*[0-9]+(x[0-9]+)?|bridge|route|ovs|openvswitch|xdp|nic|wire|threaded|softirq|to[0-9]+|pinned|free|none|max|pps|loopback|veth|udp|tcp|defer[0-9]+|rpso(n|ff)|(one|two)cpu|iperf3|sockperf|flows[0-9]*|repeat[0-9]*|run|base|load|idle|with|without|a|b)([-_](([0-9]+\.)*[0-9]+(x[0-9]+)?|bridge|route|ovs|openvswitch|xdp|nic|wire|threaded|softirq|to[0-9]+|pinned|free|none|max|pps|loopback|veth|udp|tcp|defer[0-9]+|rpso(n|ff)|(one|two)cpu|iperf3|sockperf|flows[0-9]*|repeat[0-9]*|run|base|load|idle|with|without|a|b))*$/
}

# mask_state(NAME): net_dev, net_dev.NAMESPACE, ip_link.NAMESPACE.json
function mask_state(name,  stem, ending, space) {
	stem = name
	sub(/\..*/, "", stem)
	if (!is_state(stem)) return mask_called(name)
	space = substr(name, length(stem) + 1)
	ending = match(space, /\.(json|txt)$/) ? substr(space, RSTART) : ""
	space = substr(space, 1, length(space) - length(ending))
	if (space == "" || space == ".host") return name
	return stem "." mask_label(substr(space, 2)) ending
}

function mask_file_name(path,  part, n, i, one, out, in_files, in_trace, in_state, in_ethtool) {
	n = split(path, part, "/")
	for (i = 1; i <= n; i++) {
		one = part[i]
		if (in_trace || one == "" || one == ".") out = one
		else if (in_ethtool) {
			out = in_ethtool == 1 ? seen_interface(one) : is_told_ethtool(one) ? one : mask_called(one)
			in_ethtool++
		} else if (in_files) out = is_counters(one) || one ~ /^(server|client|iperf3|sockperf|netperf)(\.(json|txt))?$/ ? one : mask_called(one)
		else if (in_state) {
			out = mask_state(one)
			in_ethtool = one ~ /^ethtool(\.|$)/
		} else if (is_own_file(one) || is_step(one)) out = one
		else if (one ~ /\.netcost\.tar\.(zst|gz)$/ && is_step(substr(one, 1, length(one) - length(ending_of(one))))) out = one
		else out = mask_called(one)
		if (one == "files") in_files = 1
		if (one ~ /^(before|after|samples|settings)$/) in_state = 1
		if (one ~ /\.(tracefs|perf\.data)$/ && i < n) in_trace = 1
		part[i] = mask_words(out)
	}
	out = part[1]
	for (i = 2; i <= n; i++) out = out "/" part[i]
	return out
}

# Names of network devices stand in every counter and event: they are listed, and stay.
function seen_interface(name) {
	if (!(name in is_interface)) {
		is_interface[name] = 1
		interface_names = interface_names (interface_names == "" ? "" : " ") mask_words(name)
	}
	return name
}

# mask_stamp(LINE): "net_dev.NAMESPACE 1 2", which file was read when.
function mask_stamp(line,  name) {
	name = line
	sub(/ .*/, "", name)
	return name ~ /[.\/]/ ? mask_words(substr(mask_file_name("before/" name), 8)) mask_words(substr(line, length(name) + 1)) : mask_words(line)
}

# mask_namespaces(TEXT): those that the manifests name, as words of what netcost-record says itself.
function mask_namespaces(text,  i, at, before, behind, out, size) {
	for (i = 1; i <= namespaces; i++) {
		size = length(namespace[i])
		out = ""
		while (at = index(text, namespace[i])) {
			before = at > 1 ? substr(text, at - 1, 1) : substr(out, length(out), 1)
			behind = substr(text, at + size, 1)
			out = out substr(text, 1, at - 1)
			if (before ~ /[A-Za-z0-9_-]/ || behind ~ /[A-Za-z0-9_-]/) out = out substr(text, at, size)
			else out = out mask_label(namespace[i])
			text = substr(text, at + size)
		}
		text = out text
	}
	return text
}

function learn_namespace(name) {
	if (name == "." || name == "" || name in is_namespace) return
	is_namespace[name] = 1
	namespace[++namespaces] = name
	mask_label(name)
}

### an experiment
function is_own_program(name) {
	return name ~ /^(netcost-record|repeat|datapath-sweep|guest|hidden-cost|io-sizes|local-regression|nic-guest|quiet-interface|stolen-time)$/
}

# mask_of_experiment(KEY, TEXT): a string of experiment.json.
function mask_of_experiment(low, text) {
	if (low == "command") {
		sub(/[ \t].*/, "", text)
		sub(/.*\//, "", text)
		return (is_own_program(text) ? text : "(masked)") " ..."
	}
	if (low ~ /^(victim|load|base)$/) return mask_command(text)
	if (low == "experiment") return is_own_program(text) ? text : hide()
	if (low == "table") return mask_file_name(text)
	if (low ~ /^(kernel|started|ended|arch|tool|profile)$/) return mask_words(text)
	return hide()
}

# mask_steps(LINE, NUMBER): a row of steps.tsv; the first names the columns.
function mask_steps(line, number,  n, i, cell, out) {
	n = split(line, cell, "\t")
	out = ""
	for (i = 1; i <= n; i++) {
		if (number == 1) {
			column[i] = cell[i]
			if (cell[i] !~ /^[A-Za-z][A-Za-z0-9_]*$/) cell[i] = hide()
			else cell[i] = mask_words(cell[i])
		} else if (column[i] == "bundle" || column[i] == "folder") cell[i] = mask_file_name(cell[i])
		else if (column[i] == "kernel" || (column[i] == "completeness" && cell[i] ~ /^[A-Za-z0-9_ .:;,%+()-]*$/)) cell[i] = mask_words(cell[i])
		else if (cell[i] !~ /^(|-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?(x[0-9]+)?|yes|no|on|off|max|none|all|one|two|bridge|route|ovs|openvswitch|xdp|nic|virtio|wire|threaded|softirq|pinned|free|loopback|veth|udp|tcp|base|load|idle|nan|a|b|[0-9]+-[0-9]+-[0-9]+T[0-9:]+Z)$/) cell[i] = hide()
		out = out (i > 1 ? "\t" : "") cell[i]
	}
	return out
}
