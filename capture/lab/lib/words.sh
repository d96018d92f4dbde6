# shellcheck shell=sh
# Words of the command line: as a shell reads them again, as paths, as lists. Sourced, and with set -f: no word
# of a list is taken for a pattern.

# quoted WORD...: as one would type them.
quoted() {
	quoted_space=''
	for quoted_word in "$@"; do
		printf '%s' "$quoted_space"
		case $quoted_word in
		'' | *[!A-Za-z0-9_./:,=@%+-]*) printf '%s\n' "$quoted_word" | sed "s/'/'\\\\''/g; s/^/'/; s/\$/'/" | tr -d '\n' ;;
		*) printf '%s' "$quoted_word" ;;
		esac
		quoted_space=' '
	done
}

# one_line NAME WORD: refuses what would be two lines, or end a field, wherever it is written down.
one_line() {
	case $2 in
	*[[:cntrl:]]*) bad_usage "$1 takes a name without newlines and other control characters" ;;
	esac
}

# absolute PATH: it, from the root.
absolute() {
	case $1 in
	/*) printf '%s\n' "$1" ;;
	*) printf '%s/%s\n' "$(pwd -P)" "$1" ;;
	esac
}

# list A,B,C: A B C
list() {
	printf '%s\n' "$1" | tr ',' '\n' | grep . | paste -s -d ' ' -
}

# count_of LIST: how many are in A,B,C.
count_of() {
	list "$1" | wc -w
}

# in_turns NUMBER WORDS: them, in every second repetition from the last: none is always first.
in_turns() {
	if [ $(($1 % 2)) -eq 1 ]; then echo "$2"; else echo "$2" | awk '{ for (i = NF; i > 0; i--) print $i }'; fi
}

# whole_number NAME VALUE LEAST MOST
whole_number() {
	case $2 in
	'' | *[!0-9]* | ????????*) bad_usage "$1 takes a whole number, not $2" ;;
	esac
	{ [ "$2" -ge "$3" ] && [ "$2" -le "$4" ]; } || bad_usage "$1 takes $3 to $4, not $2"
}

# whole_numbers NAME LIST LEAST MOST [WORD]: separated by commas; WORD is allowed as well.
whole_numbers() {
	for whole_numbers_value in $(list "$2"); do
		[ "$whole_numbers_value" = "${5-}" ] || whole_number "$1" "$whole_numbers_value" "$3" "$4"
	done
	[ -n "$(list "$2")" ] || bad_usage "$1 takes at least one value"
}

# seconds NAME VALUE [MOST]: such as 0.5.
seconds() {
	case $2 in
	*[!0-9.]* | .* | *. | *.*.*) bad_usage "$1 takes seconds, such as 0.5, not $2" ;;
	*[1-9]*) ;;
	*) bad_usage "$1 takes more than 0" ;;
	esac
	[ -z "${3-}" ] || echo "$2 $3" | awk '{ exit ($1 > $2) }' || bad_usage "$1 takes at most $3, not $2"
}

# one_of NAME LIST WORD...: is each of LIST, separated by commas, one of the words?
one_of() {
	one_of_name=$1 one_of_list=$2
	shift 2
	for one_of_value in $(list "$one_of_list"); do
		case " $* " in
		*" $one_of_value "*) ;;
		*) bad_usage "$one_of_name takes some of: $*; not $one_of_value" ;;
		esac
	done
	[ -n "$(list "$one_of_list")" ] || bad_usage "$one_of_name takes at least one value"
}
