# IPv4 and IPv6 addresses in the place of others: what shares its first bits with another shares as many in its
# place, so that every subnet keeps its shape. The README leads to the rules. Used with mask-names.awk.

function bits4(address,  part, i, j, n, out) {
	split(address, part, ".")
	out = ""
	for (i = 1; i <= 4; i++) {
		n = part[i] + 0
		for (j = 128; j >= 1; j /= 2) {
			out = out (n >= j ? 1 : 0)
			if (n >= j) n -= j
		}
	}
	return out
}

function quad(bits,  i, j, n, out) {
	out = ""
	for (i = 0; i < 4; i++) {
		n = 0
		for (j = 1; j <= 8; j++) n = 2 * n + substr(bits, 8 * i + j, 1)
		out = out (i ? "." : "") n
	}
	return out
}

# expanded(IPV6): its 32 digits; nothing where it is none.
function expanded(address,  head, tail, n, m, part, i, out, four) {
	address = tolower(address)
	if (match(address, /[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/)) {
		four = substr(address, RSTART)
		if (!is_ipv4(four)) return ""
		address = substr(address, 1, RSTART - 1) hexes(bits4(four), 4) ":" hexes(substr(bits4(four), 17), 4)
	}
	if (address !~ /^[0-9a-f:]+$/ || address !~ /:.*:/ || address ~ /:::/ || address ~ /^:[^:]/ || address ~ /[^:]:$/) return ""
	head = address
	tail = ""
	if (i = index(address, "::")) {
		head = substr(address, 1, i - 1)
		tail = substr(address, i + 2)
		if (index(tail, "::")) return ""
	}
	out = ""
	n = split(head, part, ":")
	for (i = 1; i <= n; i++) {
		if (length(part[i]) > 4) return ""
		out = out substr("0000" part[i], length(part[i]) + 1)
	}
	four = ""
	m = split(tail, part, ":")
	for (i = 1; i <= m; i++) {
		if (length(part[i]) > 4) return ""
		four = four substr("0000" part[i], length(part[i]) + 1)
	}
	if (index(address, "::") ? n + m > 7 : n != 8) return ""
	while (length(out) + length(four) < 32) out = out "0"
	return out four
}

function bits6(digits,  i, j, n, out) {
	out = ""
	for (i = 1; i <= length(digits); i++) {
		n = index("0123456789abcdef", substr(digits, i, 1)) - 1
		for (j = 8; j >= 1; j /= 2) {
			out = out (n >= j ? 1 : 0)
			if (n >= j) n -= j
		}
	}
	return out
}

# hexes(BITS, DIGITS): the first so many hexadecimal digits.
function hexes(bits, digits,  i, j, n, out) {
	out = ""
	for (i = 0; i < digits; i++) {
		n = 0
		for (j = 1; j <= 4; j++) n = 2 * n + substr(bits, 4 * i + j, 1)
		out = out substr("0123456789abcdef", n + 1, 1)
	}
	return out
}

# colons(DIGITS): as inet_ntop writes it: the longest run of zero groups, of two at least, is ::.
function colons(digits,  i, group, run, best, from, at, out) {
	if (substr(digits, 1, 24) == "00000000000000000000ffff") return "::ffff:" quad(bits6(substr(digits, 25)))
	best = run = 0
	for (i = 0; i < 8; i++) {
		group[i] = substr(digits, 4 * i + 1, 4)
		sub(/^0+/, "", group[i])
		if (group[i] == "") group[i] = "0"
		run = group[i] == "0" ? run + 1 : 0
		if (run > best) { best = run; from = i - run + 1 }
	}
	if (best < 2) from = -1
	out = ""
	for (i = 0; i < 8; i++) {
		if (i == from) { out = out "::"; i += best - 1; continue }
		out = out (out == "" || out ~ /::$/ ? "" : ":") group[i]
	}
	return out
}

function know(family, original, replacement,  i) {
	for (i = 1; i <= length(original); i++)
		flip[family, substr(original, 1, i - 1)] = substr(original, i, 1) != substr(replacement, i, 1)
}

function on_the_way(family, prefix,  n, i, word) {
	n = split(special[family], word, " ")
	for (i = 1; i <= n; i++)
		if (length(prefix) < length(word[i]) && substr(word[i], 1, length(prefix)) == prefix) return 1
	return 0
}

# walk(FAMILY, BITS, HOST, FROM): HOST is where the part of a host begins; bits up to FROM stay.
function walk(family, bits, host, from,  i, prefix, own, turn, free, out) {
	out = substr(bits, 1, from)
	free = from > 0
	for (i = from + 1; i <= length(bits); i++) {
		prefix = substr(bits, 1, i - 1)
		own = i > host ? substr(prefix, host + 1) : "01"
		if (from == 0 && on_the_way(family, prefix)) {
			out = out substr(bits, i, 1)
			continue
		}
		# The network itself, its first address and its broadcast stay what they are.
		if (i > host && (own !~ /1/ || (family == 4 && own !~ /0/))) turn = 0
		else if ((family, prefix) in flip) turn = flip[family, prefix]
		else turn = flip[family, prefix] = (!free && i <= host) ? 1 : random_bit()
		free = 1
		out = out (turn ? 1 - substr(bits, i, 1) : substr(bits, i, 1))
	}
	return out
}

function is_ipv4(text,  part, n, i) {
	if (text !~ /^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/) return 0
	n = split(text, part, ".")
	for (i = 1; i <= n; i++) if (length(part[i]) > 3 || part[i] > 255) return 0
	return 1
}

function mask_ipv4(address,  new, first) {
	if (("ipv4", address) in map) return map["ipv4", address]
	first = address + 0
	if (("ipv4", address) in masked_already || first == 0 || first == 127 || first >= 224) return address
	new = quad(walk(4, bits4(address), 24, 0))
	return new == address ? address : keep("ipv4", address, new)
}

function mask_ipv6(digits,  bits, short, new) {
	short = colons(digits)
	if (("ipv6", short) in map) return map["ipv6", short]
	if (("ipv6", short) in masked_already) return short
	if (substr(digits, 1, 24) == "00000000000000000000ffff")
		return "::ffff:" mask_ipv4(quad(bits6(substr(digits, 25))))
	if (digits ~ /^0+1?$/) return short
	bits = bits6(digits)
	if (substr(digits, 1, 26) == "ff0200000000000000000001ff") new = walk(6, bits, 64, 104)
	else if (digits ~ /^ff/) return short
	else new = walk(6, bits, 64, 0)
	new = colons(hexes(new, 32))
	return new == short ? short : keep("ipv6", short, new)
}

BEGIN {
	srand()
	special[4] = "00000000 00001010 0110010001 01111111 1010100111111110 101011000001 1100000010101000 111"
	special[6] = "00000000 001 11111100 11111101 11111111 " bits6("fe80000000000000")
}
