# shellcheck shell=sh disable=SC2154 # the variables are shared with what sources this
# What netcost-pack --mask does: masked copies of the texts, the map, and the list of what was done. Sourced.

# mask_awk: mask-files.awk with all that it uses; what it reads and writes is in its environment.
mask_awk() {
	netcost_random=$workspace/random netcost_folder=$bundle netcost_kind=$kind netcost_masked=$workspace/masked \
		awk -f "$library/mask-names.awk" -f "$library/mask-addresses.awk" -f "$library/mask-paths.awk" \
		-f "$library/mask-texts.awk" -f "$library/mask-outputs.awk" -f "$library/mask-files.awk" "$1" 2>/dev/null || die "cannot mask the files of $bundle: is there room in $workspace?"
}

# read_map: the map that is there already, into workspace/old-map.
read_map() {
	# Its own file, so that an old map is as good as none.
	: >"$workspace/old-map"
	[ -e "$map" ] || return 0
	[ -r "$map" ] || die "cannot read $map"
	cat "$map" 2>/dev/null >"$workspace/old-map" || no_room
	awk -F '\t' '!/^#/ && NF && NF != 3 { bad = 1 } END { exit bad }' <"$workspace/old-map" || die "$map is not a map of names: each line is KIND, ORIGINAL and REPLACEMENT"
}

# mask_files: workspace/masked/NUMBER for each text, workspace/paths with what it is called, the map and what was done
# beside them. What no rule is for is left out.
mask_files() {
	mkdir "$workspace/masked" 2>/dev/null || no_room
	od -An -v -tx1 -N 65536 /dev/urandom 2>/dev/null >"$workspace/random" || no_room
	read_map
	# The pages of a tracefs folder name the host as well, and the perf of a trace that is kept is not read.
	{
		(cd "$bundle" && find . -type f -name uname) | sed 's,^\./,uname ,'
		sed 's/^/text /' "$workspace/texts"
		sed 's/^/trace /' "$workspace/traces"
	} 2>/dev/null >"$workspace/to-mask"
	room_left
	netcost_learn=yes netcost_map=$workspace/old-map netcost_new_map=$workspace/hosts mask_awk "$workspace/to-mask"
	grep -v '^uname ' "$workspace/to-mask" 2>/dev/null >"$workspace/to-mask-now"
	netcost_map=$workspace/hosts netcost_new_map=$workspace/map netcost_paths=$workspace/paths netcost_report=$workspace/report \
		mask_awk "$workspace/to-mask-now"
	room_left
	check_masked
}

# check_masked: not one original of a host or an address is left, and what was JSON still is. An address may be another
# one's replacement.
check_masked() {
	awk -F '\t' '
		{ replacement[$3] = 1; kind[NR] = $1; original[NR] = $2 }
		END { for (i = 1; i <= NR; i++) if (kind[i] ~ /^(host|ipv4|ipv6|mac|id)$/ && !(original[i] in replacement)) print original[i] }
	' "$workspace/map" 2>/dev/null >"$workspace/originals" || no_room
	cut -f 3 "$workspace/paths" 2>/dev/null >"$workspace/shown" || no_room
	room_left
	[ "$(sort "$workspace/shown" | uniq -d | wc -l)" -eq 0 ] || die "two files of $bundle would have one name once they are masked: rename one"
	if [ -s "$workspace/originals" ]; then
		! grep -qiwF -f "$workspace/originals" "$workspace/shown" || die "the name of a file in $bundle still contains a name that has to be masked: rename it"
		check_masked_found=$(find "$workspace/masked" -type f -exec grep -liwF -f "$workspace/originals" {} + | head -n 1)
		[ -z "$check_masked_found" ] || die "$(original_of "${check_masked_found##*/}") still holds a name that is to be masked: leave the file out of the bundle"
	fi
	while IFS='	' read -r check_masked_number check_masked_from check_masked_path; do
		case /$check_masked_path in
		*/files/*) ;;
		*/manifest.json | /experiment.json)
			check_masked_said=$(why_no_json "$workspace/masked/$check_masked_number" '') || die "$check_masked_from cannot be masked: it would no longer be JSON, $check_masked_said"
			;;
		esac
	done <"$workspace/paths"
}

# original_of NUMBER: of which file the masked one is made.
original_of() {
	awk -F '\t' -v number="$1" '$1 == number { print $2 }' "$workspace/paths"
}

# quoted WORD: as a shell takes it, and never as an option.
quoted() {
	case $1 in
	-*) quoted_word=./$1 ;;
	*) quoted_word=$1 ;;
	esac
	case $quoted_word in
	*[!A-Za-z0-9_./:@%+,=-]*) printf "'%s'" "$(printf '%s\n' "$quoted_word" | sed "s/'/'\\\\''/g")" ;;
	*) printf '%s' "$quoted_word" ;;
	esac
}

# say_how_to_mask_traces: what to run where netcost is, for traces are not masked here.
say_how_to_mask_traces() {
	say_how_to_mask_traces_base=${output%.tar.*}
	case $trace in
	keep) set -- "$output" ;;
	*) set -- "$bundle" ;;
	esac
	echo "  the trace is masked by this, on any machine that has netcost, this map and $([ "$trace" = keep ] && echo "the archive" || echo "the bundle"):"
	echo "    netcost mask $(quoted "$1") $(quoted "${say_how_to_mask_traces_base%.netcost}-with-trace.netcost.tar.$suffix") --map $(quoted "$map")"
}
