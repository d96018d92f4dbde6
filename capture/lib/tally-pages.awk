# tally-pages.awk: counts the events of the pages of one CPU's ring buffer (linux/ring_buffer.h).
#   { od -An -v -tu4 -wPAGE raw; echo "status $?"; } | awk -v cpu=0 -v big=NO -f tally.awk -f tally-pages.awk GROWN EVENTS -
# a page a line, in words of 32 bits; big is yes where the first byte of a word is its highest. EVENTS has lines
#   page DATA                word at which a page's events begin
#   event ID KIND NAME FIELD the events of that number; FIELD is the word of what is counted by, or -

NR == FNR {
	take_window()
	next
}

$1 == "page" {
	first = $2 + 1
	# The base in two words, exactly: 10^9 is 5^9 times 2^9.
	base_high = int(base * 1953125 / 8388608)
	base_low = (base * 1953125 - base_high * 8388608) * 512
	next
}

$1 == "event" { kind[$2 + 0] = $3; name[$2 + 0] = $4; field[$2 + 0] = $5; next }

$1 == "status" { status = $2; next }

{
	high = big == "yes" ? 1 : 2
	at = ($high - base_high) * 4294967296 + $(3 - high) - base_low
	# Behind the length are flags of what was lost before the page.
	i = first
	end = i + int($(big == "yes" ? first - 1 : 3) % 1048576 / 4)
	while (i < end) {
		word = $i
		if (big == "yes") { type = int(word / 134217728); delta = word % 134217728 }
		else { delta = int(word / 32); type = word - delta * 32 }
		if (type <= 28) {
			at += delta
			if (type > 0) { data = i + 1; i = data + type }
			else { data = i + 2; i += 1 + int(($(i + 1) + 3) / 4) }
			id = big == "yes" ? int($data / 65536) : $data % 65536
			if (id in kind) {
				begin(cpu, at)
				what = kind[id]
				if (what == "switches") count(what, "ctxt", "-", at, 1)
				else if (what == "vector") count(what, name[id], cpu, at, 1)
				else if (what == "packets") count_polled(cpu, at, $(data + field[id]))
				else count(what, $(data + field[id]), cpu, at, 1)
			}
		} else if (type == 30) {
			at += delta + $(i + 1) * 134217728
			i += 2
		} else if (type == 31) {
			at = ($(i + 1) - base_high * 32) * 134217728 + delta - base_low
			i += 2
		} else {
			if (delta == 0) break
			at += delta
			i += 1 + int(($(i + 1) + 3) / 4)
		}
	}
}

END {
	say_tallies()
	print "status " (status == "" ? "none" : status)
}
