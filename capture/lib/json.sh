# shellcheck shell=sh
# JSON from POSIX sh. Sourced.

# json_string TEXT: TEXT as a JSON string, in ASCII. Shell words are bytes, JSON is Unicode: valid
# UTF-8 becomes \u escapes, every other byte U+FFFD, so that the result parses whatever was typed.
json_string() {
	printf '%s' "$1" | od -An -v -tu1 | LC_ALL=C awk '
		{ for (i = 1; i <= NF; i++) byte[++count] = $i + 0 }
		function escape(code) { out = out sprintf("\\u%04x", code) }
		# Length of a sequence that starts with this byte; 0 where none can.
		function length_of(lead) {
			if (lead >= 194 && lead <= 223) return 2
			if (lead >= 224 && lead <= 239) return 3
			if (lead >= 240 && lead <= 244) return 4
			return 0
		}
		END {
			for (i = 1; i <= count; i++) {
				lead = byte[i]
				if (lead == 34 || lead == 92) { out = out sprintf("\\%c", lead); continue }
				if (lead >= 32 && lead < 127) { out = out sprintf("%c", lead); continue }
				if (lead < 128) { escape(lead); continue }
				size = length_of(lead)
				code = size == 2 ? lead - 192 : size == 3 ? lead - 224 : lead - 240
				valid = size > 0 && i + size - 1 <= count
				for (j = 1; valid && j < size; j++) {
					valid = byte[i + j] >= 128 && byte[i + j] < 192
					code = code * 64 + byte[i + j] - 128
				}
				# Overlong forms, surrogates and what lies beyond Unicode are not UTF-8 either.
				if (size == 3 && (code < 2048 || (code >= 55296 && code < 57344))) valid = 0
				if (size == 4 && (code < 65536 || code > 1114111)) valid = 0
				if (!valid) { escape(65533); continue }
				i += size - 1
				if (code < 65536) { escape(code); continue }
				code -= 65536
				escape(55296 + int(code / 1024)); escape(56320 + code % 1024)
			}
			printf "\"%s\"", out
		}'
}

# json_array WORD...: the words as an array of strings.
json_array() {
	printf '['
	json_array_comma=''
	for json_array_word in "$@"; do
		printf '%s' "$json_array_comma"
		json_string "$json_array_word"
		json_array_comma=', '
	done
	printf ']'
}

# json_words LIST: the words of a list, separated by blanks, as an array of strings.
json_words() {
	json_words_list=$1
	set --
	for json_words_word in $json_words_list; do
		set -- "$@" "$json_words_word"
	done
	json_array "$@"
}

# json_lines FILE: the lines of FILE as an array of strings; a missing file is an empty array.
json_lines() {
	json_lines_file=$1
	set --
	if [ -r "$json_lines_file" ]; then
		while IFS= read -r json_lines_line; do
			set -- "$@" "$json_lines_line"
		done <"$json_lines_file"
	fi
	json_array "$@"
}
