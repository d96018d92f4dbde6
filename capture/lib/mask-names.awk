# Names and what stands in their place: hosts, tasks, paths, addresses. The README leads to the rules; a map made
# here and one that `netcost mask` made are the same thing. Used with mask-addresses.awk and mask-texts.awk, which calls:
#   read_map(FILE), write_map(FILE), mask_host, mask_task, mask_path, mask_words (of free text)

# A bit from /dev/urandom, of the hexadecimal digits that the caller has put into the file netcost_random: an
# awk's own numbers can be guessed.
function random_bit(  line) {
	random_file = ENVIRON["netcost_random"]
	while (random == "" && random_file != "" && (getline line < random_file) > 0) {
		gsub(/[^0-9a-f]/, "", line)
		random = line
	}
	if (random == "") return rand() < 0.5
	line = substr(random, 1, 1)
	random = substr(random, 2)
	return index("13579bdf", line) > 0
}

function keep(kind, original, replacement) {
	map[kind, original] = replacement
	taken[kind, replacement] = 1
	order[++mapped] = kind SUBSEP original
	return replacement
}

function read_map(file,  line, part, n) {
	while ((getline line < file) > 0) {
		if (line ~ /^#/ || split(line, part, "\t") != 3 || (part[1] == "host" && is_no_host(part[2]))) continue
		keep(part[1], part[2], part[3])
		masked_already[part[1], part[3]] = 1
		if (part[1] == "ipv4") know(4, bits4(part[2]), bits4(part[3]))
		if (part[1] == "ipv6") know(6, bits6(expanded(part[2])), bits6(expanded(part[3])))
		if (part[1] == "mac" || part[1] == "id") count[part[1]]++
		if (match(part[3], /[0-9]+$/)) {
			n = substr(part[3], RSTART) + 0
			if (part[1] ~ /^(host|task|path|name)$/ && n > count[part[1]]) count[part[1]] = n
		}
	}
	close(file)
}

function write_map(file,  i, part) {
	printf "" > file
	for (i = 1; i <= mapped; i++) {
		split(order[i], part, SUBSEP)
		printf "%s\t%s\t%s\n", part[1], part[2], map[part[1], part[2]] > file
	}
	close(file)
}

# named(KIND, ORIGINAL, LONG, SHORT): a new name, never longer than the original: a trace has no more room.
function named(kind, original, long, short,  n, name, i) {
	if ((kind, original) in map) return map[kind, original]
	if ((kind, original) in masked_already || original == "") return original
	for (;;) {
		n = count[kind] + 1
		name = long n
		if (length(name) > length(original)) name = short n
		if (length(name) > length(original)) break
		count[kind] = n
		if (!((kind, name) in taken) && name != original) return keep(kind, original, name)
	}
	for (i = 0; i < 1296; i++) {
		name = substr("0123456789abcdefghijklmnopqrstuvwxyz", i % 36 + 1, 1)
		if (length(original) > 1) name = substr("0123456789abcdefghijklmnopqrstuvwxyz", int(i / 36) + 1, 1) name
		if (!((kind, name) in taken) && name != original) return keep(kind, original, name)
	}
	return keep(kind, original, substr("???????????????", 1, length(original)))
}

# is_no_host(TEXT): an address, or what would make every number a host.
function is_no_host(text) {
	return text ~ /^[0-9.]*$/ || text ~ /[:\/]/
}

function mask_host(name,  short, new) {
	sub(/\.$/, "", name)
	if (tolower(name) ~ /^(localhost(\.localdomain)?|\(none\)|unknown)$/) return name
	if (is_no_host(name)) return mask_words(name)
	if (("host", name) in map) return map["host", name]
	if (("host", name) in masked_already) return name
	short = name
	sub(/\..*/, "", short)
	# The first part of 3.example.com, or of localhost.example.com, is no name by itself.
	if (is_no_host(short) || tolower(short) == "localhost") short = name
	new = named("host", short, "host", "h")
	if (name != short) keep("host", name, new)
	return new
}

# As the kernel cuts it in an event; the names of its own threads can be longer in /proc.
function mask_task(name) {
	if (name ~ /^(swapper(\/[0-9]+)?|idle|<idle>|<\.\.\.>|ksoftirqd\/[0-9]+|kworker\/.*|migration\/[0-9]+|cpuhp\/[0-9]+|rcu_[a-z_]+(\/[0-9]+)?|rcu[a-z]*\/[0-9\/]+|irq\/[0-9]+-.*|napi\/.*|backlog_napi\/[0-9]+|ktimers(oftd)?\/[0-9]+|kthreadd|kswapd[0-9]+|kcompactd[0-9]+|khugepaged|kauditd|watchdogd?(\/[0-9]+)?|idle_inject\/[0-9]+|vhost-[0-9]+|oom_reaper|kdevtmpfs|khungtaskd|ksmd|hwrng|kdamond\.[0-9]+|psimon|pool_workqueue_(release)?|kthrotld|jbd2\/.*|scsi_eh_[0-9]+|scsi_tmf_[0-9]+|posixcputmr\/[0-9]+|card[0-9]-crtc[0-9])$/) return name
	name = substr(name, 1, 15)
	return named("task", name, "task", "t")
}

function mask_path(path) {
	if (path ~ /^(\/(proc|sys)(\/.*)?|\/dev\/(null|zero).*|(\/usr)?\/lib\/modules\/.*|\/)$/) return path
	return named("path", path, "/file", "/")
}

# mask_command(LINE): what the task is called, and whether there was more.
function mask_command(line,  word, more) {
	sub(/^[ \t]+/, "", line)
	word = line
	sub(/[ \t].*/, "", word)
	more = length(line) > length(word)
	if (word == "netcost-record") return word " ..."
	sub(/.*\//, "", word)
	return mask_task(word) (more ? " ..." : "")
}

function mask_mac(text,  low, n, number, start) {
	low = tolower(text)
	if (("mac", low) in map) return map["mac", low]
	if (("mac", low) in masked_already) return text
	if (low ~ /^(00:)+00$/ || low ~ /^(ff:)+ff$/ || low ~ /^01:(80:c2|00:5e):/ || low ~ /^33:33:00:00:/) return text
	n = ++count["mac"]
	number = sprintf("%02x:%02x", int(n / 256) % 256, n % 256)
	start = low ~ /^33:33:/ ? "33:33:ff" : "02"
	while (length(start) + length(number) + 1 < length(low)) start = start ":00"
	return keep("mac", low, start ":" number)
}

function mask_id(text,  low, digits, i, out, letter) {
	low = tolower(text)
	if (("id", low) in map) return map["id", low]
	if (("id", low) in masked_already || low ~ /^[0-]+$/) return text
	digits = sprintf("%032x", ++count["id"])
	out = ""
	for (i = length(low); i >= 1; i--) {
		letter = substr(low, i, 1)
		if (letter != "-") {
			letter = substr(digits, length(digits), 1)
			digits = substr(digits, 1, length(digits) - 1)
		}
		out = letter out
	}
	return keep("id", low, out)
}

# mask_token(TEXT): a run of digits, letters a to f, colons and dots between other letters.
function mask_token(text,  rest, digits) {
	if (tolower(text) ~ /^([0-9a-f][0-9a-f]:)+[0-9a-f][0-9a-f]$/ && length(text) >= 17) return mask_mac(text)
	for (rest = ""; text != ""; text = substr(text, 1, length(text) - 1)) {
		if (is_ipv4(text)) return mask_ipv4(text) rest
		if ((digits = expanded(text)) != "") return mask_ipv6(digits) rest
		if (text !~ /[.:]$/) break
		rest = substr(text, length(text)) rest
	}
	# With a port.
	if (rest == "" && match(text, /^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+:[0-9]+$/)) {
		digits = text
		sub(/:.*/, "", digits)
		if (is_ipv4(digits)) return mask_ipv4(digits) substr(text, length(digits) + 1)
	}
	return text rest
}

# is_id(TEXT): a UUID, or the 32 digits of a machine's identity.
function is_id(text) {
	if (length(text) == 32) return text ~ /^[0-9A-Fa-f]+$/
	return length(text) == 36 && text ~ /^[0-9A-Fa-f]+-[0-9A-Fa-f]+-[0-9A-Fa-f]+-[0-9A-Fa-f]+-[0-9A-Fa-f]+$/
}

function mask_words(line,  out, before, token, part, n, i) {
	line = mask_hosts(line)
	out = ""
	while (match(line, /[0-9A-Fa-f:.-]+/)) {
		token = substr(line, RSTART, RLENGTH)
		before = RSTART > 1 ? substr(line, RSTART - 1, 1) : substr(out, length(out), 1)
		out = out substr(line, 1, RSTART - 1)
		line = substr(line, RSTART + RLENGTH)
		# Versions follow a letter or a dash; letters behind make it no address.
		if (length(token) < 2 || before ~ /[A-Za-z0-9_]/ || (line ~ /^[A-Za-z0-9_]/ && token !~ /[:.]$/)) out = out token
		else if (is_id(token)) out = out mask_id(token)
		else if (token !~ /[:.]/ || token ~ /^-/) out = out token
		else {
			# A range of addresses, or one before a dash.
			n = split(token, part, "-")
			for (i = 1; i <= n; i++) out = out (i > 1 ? "-" : "") (i == 1 || part[i - 1] ~ /[:.].*[:.]/ ? mask_token(part[i]) : part[i])
		}
	}
	return out line
}

# mask_hosts(LINE): every known name of a host that stands as a word, in any case; the longest first, so that its
# domain goes with it.
function mask_hosts(line,  i, low, at, before, behind, out, size) {
	if (listed < mapped) list_hosts()
	for (i = 1; i <= hosts; i++) {
		low = tolower(host[i])
		size = length(low)
		out = ""
		while (at = index(tolower(line), low)) {
			before = at > 1 ? substr(line, at - 1, 1) : substr(out, length(out), 1)
			behind = substr(line, at + size, 1)
			out = out substr(line, 1, at - 1)
			if (before ~ /[A-Za-z0-9_-]/ || behind ~ /[A-Za-z0-9_-]/) out = out substr(line, at, size)
			else out = out map["host", host[i]]
			line = substr(line, at + size)
		}
		line = out line
	}
	return line
}

function list_hosts(  part, i) {
	while (listed < mapped) {
		split(order[++listed], part, SUBSEP)
		if (part[1] != "host") continue
		for (i = ++hosts; i > 1 && length(host[i - 1]) < length(part[2]); i--) host[i] = host[i - 1]
		host[i] = part[2]
	}
}
