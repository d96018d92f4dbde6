# Is its input JSON, as strictly as RFC 8259 has it? Where not, it writes one line, "line 3, column 14, after "user_s": ..."
# and exits with 1. With netcost_key in the environment, it must be an object that has this name. A byte of zero is
# for the caller to find: not every awk sees one. Names and strings end in the line that they begin in.

# expected: what comes next; one of these.
BEGIN {
	wanted["value"] = "a value"
	wanted["value or ]"] = "a value or ]"
	wanted["name"] = "a name in quotes"
	wanted["name or }"] = "a name in quotes or }"
	wanted[":"] = "a colon"
	wanted["end"] = "nothing more"
	most = 100
	control = "[" sprintf("%c", 1) "-" sprintf("%c", 31) "]"
	key = ENVIRON["netcost_key"]
	expected = "value"
	stack = ""
}

function fail(what, column) {
	if (failed) return
	failed = 1
	printf "line %d, column %d%s: %s\n", NR, column, last == "" ? "" : ", after \"" last "\"", what
}

function shown(text) {
	return length(text) > 30 ? substr(text, 1, 30) "..." : text
}

function unexpected(text, column,  what) {
	what = expected == "next" ? "a comma or " (stack ~ /\{$/ ? "}" : "]") : wanted[expected]
	fail(what " is wanted, not " shown(text) (expected == "name" && text ~ /^[0-9]+$/ && after_number ? " (a decimal comma?)" : ""), column)
}

function after_value() {
	expected = stack == "" ? "end" : "next"
}

function opened(letter, column) {
	if (expected !~ /^value/) unexpected(letter, column)
	else if (length(stack) >= most) fail("nested more than " most " deep", column)
	stack = stack letter
	expected = letter == "{" ? "name or }" : "value or ]"
	if (stack == "{") is_object = 1
}

function closed(letter, column,  open) {
	open = substr(stack, length(stack), 1)
	if (open != (letter == "}" ? "{" : "[") || (expected != "next" && expected !~ / or []}]$/)) { unexpected(letter, column); return }
	stack = substr(stack, 1, length(stack) - 1)
	after_value()
}

function comma(column) {
	if (expected != "next") { unexpected(",", column); return }
	expected = stack ~ /\{$/ ? "name" : "value"
}

# What is no string: numbers and words, between commas and what opens and closes.
function bare(text, column,  letter) {
	while (!failed && match(text, /[^ \t\r]/)) {
		column += RSTART - 1
		text = substr(text, RSTART)
		letter = substr(text, 1, 1)
		RLENGTH = 1
		if (letter ~ /[{[]/) opened(letter, column)
		else if (letter ~ /[]}]/) closed(letter, column)
		else if (letter == ":") {
			if (expected == ":") expected = "value"
			else unexpected(":", column)
		} else {
			match(text, /^[^][{}: \t\r]+/)
			letter = substr(text, 1, RLENGTH)
			if (expected !~ /^value/) unexpected(letter, column)
			else if (letter !~ /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?)$/ || length(letter) > 1000) fail(shown(letter) " is no value", column)
			after_number = letter ~ /[0-9]$/
			after_value()
		}
		text = substr(text, RLENGTH + 1)
		column += RLENGTH
	}
}

function outside(text, column,  n, part, i) {
	# One long line is split once: to cut it off its front, again and again, would take its length squared.
	n = split(text, part, ",")
	for (i = 1; i <= n && !failed; i++) {
		if (i > 1) comma(column++)
		bare(part[i], column)
		column += length(part[i])
	}
}

# A string, or the part of it that ends in an escaped quote.
function inside(text, column) {
	if (match(text, control)) fail("a string with a control character, or without its end", column + RSTART - 1)
	if (!index(text, "\\")) return
	gsub(/\\(["\\\/bfnrt]|u[0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f][0-9A-Fa-f])/, "", text)
	if (match(text, /\\/)) fail("a string with " substr(text, RSTART, 2) ", which is no escape", column)
}

function string_ended(text, column) {
	after_number = 0
	if (expected ~ /^name/) {
		last = text
		if (stack == "{" && text == key) has_key = 1
		expected = ":"
	} else if (expected ~ /^value/) after_value()
	else unexpected("\"" text "\"", column)
}

{
	if (failed) next
	n = split($0, piece, "\"")
	column = 1
	text = ""
	in_string = 0
	for (i = 1; i <= n && !failed; i++) {
		if (!in_string) {
			outside(piece[i], column)
			begun = column + length(piece[i])
		} else {
			escapes = 0
			while (escapes < length(piece[i]) && substr(piece[i], length(piece[i]) - escapes, 1) == "\\") escapes++
			# An escaped quote does not end it.
			is_part = i < n && escapes % 2
			inside(is_part ? substr(piece[i], 1, length(piece[i]) - 1) : piece[i], column)
			if (length(text) < 60) text = text substr(piece[i], 1, 60) (is_part ? "\"" : "")
			if (is_part) { column += length(piece[i]) + 1; continue }
			if (i == n) fail("a string without its end", begun)
			else if (!failed) string_ended(text, begun)
			text = ""
		}
		column += length(piece[i]) + 1
		in_string = !in_string
	}
}

END {
	if (!failed && !NR) { failed = 1; print "it is empty" }
	if (!failed && expected != "end") {
		failed = 1
		printf "it ends too early, in line %d%s\n", NR, last == "" ? "" : ", after \"" last "\""
	}
	if (!failed && key != "" && !(is_object && has_key)) {
		failed = 1
		printf "it has no \"%s\"\n", key
	}
	exit failed
}
