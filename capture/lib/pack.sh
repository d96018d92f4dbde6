# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Packing a bundle or an experiment: which files, masked or not, with their sums, into one archive. Sourced by
# netcost-pack.

# choose_packer: sets packer and suffix by the name of the output, --gzip and what is installed.
choose_packer() {
	case $packer,$output in
	gzip,*.tar.zst) bad_usage "--gzip packs no $output: name it .tar.gz" ;;
	*,*.tar.gz | *,*.tgz) packer=gzip ;;
	,*.tar.zst)
		packer=zstd
		command -v zstd >/dev/null || die "$output needs zstd, which is not installed: name it .tar.gz"
		;;
	*,?*) bad_usage "-o takes a name that ends in .tar.zst or .tar.gz, not $output" ;;
	,)
		packer=zstd
		command -v zstd >/dev/null || packer=gzip
		;;
	esac
	command -v "$packer" >/dev/null || die "$packer is needed and not installed"
	suffix=zst
	[ "$packer" != gzip ] || suffix=gz
}

# resolved FOLDER: sets resolved to its path without links; fails where it cannot be entered, or has a line break in it.
resolved() {
	# With a letter behind it: a line break at its end would be lost.
	resolved=$(cd -- "$1" 2>/dev/null && pwd -P && echo .) || return 1
	resolved=${resolved%??}
	case $resolved in
	*"$newline"*) return 1 ;;
	esac
}

# try_output: can a file be written where the archive goes?
try_output() {
	try_output_folder=$(dirname -- "$output")
	[ -d "$try_output_folder" ] || die "there is no folder $try_output_folder to write $output to"
	resolved "$try_output_folder" || die "$try_output_folder cannot be entered, or its full name contains a line break"
	case $resolved/ in
	"$bundle"/*) die "$output is inside what is to be packed: choose a place outside it" ;;
	esac
	remember room "$output.partial.$suffix_drawn"
	mkdir "$output.partial.$suffix_drawn" 2>/dev/null || {
		forget room
		die "$output cannot be written there: no file can be made in $try_output_folder"
	}
	room=$output.partial.$suffix_drawn
	# A block, and more than the lock takes.
	printf '%4096s' '' 2>/dev/null >"$room/archive" || die "$output cannot be written there: is there room in $try_output_folder?"
}

# no_room: what is written in between did not get there.
no_room() {
	die "cannot write to $workspace: is there room? TMPDIR says where else"
}

# room_left: not every awk says that it could not write.
room_left() {
	printf '%65536s' '' 2>/dev/null >"$workspace/probe" || no_room
	rm -f "$workspace/probe"
}

# check_files: nothing in a bundle leads elsewhere or is anything but a file with a plain name.
check_files() {
	check_files_found=$(find "$bundle" ! -type f ! -type d | head -n 1)
	[ -z "$check_files_found" ] || die "$check_files_found is a link or not a regular file: remove it from the bundle"
	check_files_found=$(find "$bundle"/ -name '*[[:cntrl:]]*' | head -n 1)
	[ -z "$check_files_found" ] || die "a file's name in $bundle contains unprintable characters: rename it"
	check_files_found=$(find "$bundle"/ -name '*\\*' | head -n 1)
	[ -z "$check_files_found" ] || die "$check_files_found has a backslash in its name: rename it"
	case $name in
	-*) die "the bundle's name begins with a dash: give another for the archive, --name NAME" ;;
	*[[:cntrl:]]* | *\\*) die "the bundle's name contains unprintable characters or a backslash: give another for the archive, --name NAME" ;;
	esac
}

# is_trace PATH: is it, or is it part of, a recording?
is_trace() {
	case /$1 in
	*/trace.perf.data* | */trace.dat* | */trace.tracefs/* | */*.perf.data | */*.perf.data/*) return 0 ;;
	esac
	# By what it begins with, whatever it is called.
	case $newline$may_be_traces$newline in
	*"$newline./$1$newline"*) ;;
	*) return 1 ;;
	esac
	# BusyBox's tr knows no [:print:].
	case $(head -c 10 "$bundle/$1" 2>/dev/null | LC_ALL=C tr -c ' -~' .) in
	PERFILE2* | 2ELIFREP* | PERFFILE* | ..Dtracing*) return 0 ;;
	esac
	return 1
}

# list_files: paths in the bundle to workspace/traces and workspace/texts.
list_files() {
	: >"$workspace/traces"
	: >"$workspace/texts"
	(cd "$bundle" && find . -type f) | sed 's,^\./,,' | sort 2>/dev/null >"$workspace/all" || no_room
	# Those that hold such words anywhere: to look into every file by itself would take seconds.
	may_be_traces=$(cd "$bundle" && LC_ALL=C find . -type f -exec grep -lF -e PERFILE2 -e 2ELIFREP -e PERFFILE -e Dtracing {} + 2>/dev/null)
	while IFS= read -r list_files_path; do
		case /$list_files_path in
		*/files/*) ;;
		# Of an earlier packing, or of the recorder's.
		*/SHA256SUMS) continue ;;
		*.netcost.tar.zst | *.netcost.tar.gz)
			[ -z "$mask" ] && [ "$trace" = keep ] || die "$list_files_path is packed already, and netcost-pack does not look into it: unpack it in its place (tar -xf), or let netcost mask $(quoted "$bundle") masked.netcost.tar.zst, on any machine that has netcost, mask all of it"
			;;
		esac
		if is_trace "$list_files_path"; then printf '%s\n' "$list_files_path" 2>/dev/null >&6; else printf '%s\n' "$list_files_path" 2>/dev/null; fi || no_room
	done <"$workspace/all" >"$workspace/texts" 6>"$workspace/traces"
	had_traces=''
	[ -s "$workspace/traces" ] || return 0
	had_traces=yes
	case $trace in
	refuse) die "$(head -n 1 "$workspace/traces") is a trace, and names tasks and hosts: --trace omit leaves it out, --trace keep packs it unmasked, and netcost mask $(quoted "$bundle") masked.netcost.tar.zst masks all of it, on any machine that has netcost" ;;
	omit) : >"$workspace/traces" ;;
	esac
}

# why_no_json FILE KEY: fails, and says why, where it is no JSON object that has this name.
why_no_json() {
	if [ "$(tr -d '\000' <"$1" | wc -c)" -ne "$(wc -c <"$1")" ]; then
		echo "it holds a byte of zero"
		return 1
	fi
	netcost_key=$2 awk -f "$library/json-check.awk" <"$1"
}

# check_manifests: what nobody can open is found out here, where it can still be recorded again.
check_manifests() {
	while IFS= read -r check_manifests_path; do
		case /$check_manifests_path in
		*/files/*) continue ;;
		/experiment.json) check_manifests_key=netcost_experiment ;;
		*/manifest.json) check_manifests_key=netcost_bundle ;;
		*) continue ;;
		esac
		check_manifests_said=$(why_no_json "$bundle/$check_manifests_path" "$check_manifests_key") || die "$bundle/$check_manifests_path is broken: $check_manifests_said"
	done <"$workspace/texts"
}

# link_into FOLDER FILE...: links to the files, by their names.
link_into() {
	[ $# -gt 1 ] || return 0
	link_into_folder=$1
	shift
	ln -s "$@" "$link_into_folder/" 2>/dev/null || no_room
}

# stage_files: workspace/stage/NAME as it is to be packed, links to the files themselves, SHA256SUMS among them.
stage_files() {
	stage=$workspace/stage/$name
	mkdir -p "$stage" 2>/dev/null || no_room
	# NUMBER, PATH, and what it is called in the archive: number 0 is the file itself.
	[ -n "$mask" ] || cat "$workspace/traces" "$workspace/texts" 2>/dev/null | awk '{ printf "0\t%s\t%s\n", $0, $0 }' 2>/dev/null >"$workspace/paths" || no_room
	cut -f 3 "$workspace/paths" | sed 's,/[^/]*$,,; t; d' | sort -u | while IFS= read -r stage_files_folder; do
		mkdir -p "$stage/$stage_files_folder" 2>/dev/null || exit 1
	done || no_room
	# Files that keep their names are linked many at a time: a process for each would take seconds.
	stage_files_into='' && set --
	while IFS='	' read -r stage_files_number stage_files_path stage_files_shown; do
		if [ "$stage_files_number$stage_files_path" = "0$stage_files_shown" ]; then
			stage_files_folder=
			case $stage_files_path in */*) stage_files_folder=${stage_files_path%/*} ;; esac
			if [ "$stage_files_folder" != "$stage_files_into" ] || [ $# -ge 200 ]; then
				link_into "$stage/$stage_files_into" "$@"
				stage_files_into=$stage_files_folder && set --
			fi
			set -- "$@" "$bundle/$stage_files_path"
			continue
		fi
		stage_files_from=$workspace/masked/$stage_files_number
		[ "$stage_files_number" != 0 ] || stage_files_from=$bundle/$stage_files_path
		ln -s "$stage_files_from" "$stage/$stage_files_shown" 2>/dev/null || no_room
	done <"$workspace/paths"
	link_into "$stage/$stage_files_into" "$@"
	(cd "$stage" && find -L . -type f -exec sha256sum {} +) | sed 's,  \./,  ,' | sort -k 2 2>/dev/null >"$workspace/sums" || no_room
	[ "$(wc -l <"$workspace/sums")" -eq "$(wc -l <"$workspace/paths")" ] || die "cannot read all of $bundle"
	cp "$workspace/sums" "$stage/SHA256SUMS" 2>/dev/null || no_room
	# As many as there should be: of a group, only the last command's status is seen.
	{
		printf '%s\n' SHA256SUMS "$first"
		sed 's/^[0-9a-f]*  //' "$workspace/sums" | grep -vxF -e "$first"
	} 2>/dev/null >"$workspace/members"
	# And the sums themselves.
	[ "$(wc -l <"$workspace/members")" -eq "$(sed '$p' "$workspace/sums" | wc -l)" ] || no_room
}

# tar_has OPTION: not every tar knows all of GNU's.
tar_has() {
	tar_help=${tar_help:-$(tar --help 2>&1)}
	case $tar_help in *"$1"*) ;; *) return 1 ;; esac
}

# write_archive: to room/archive; what was read must still be what was summed.
write_archive() {
	set -- -c -h -f - -C "$workspace/stage"
	if tar_has --owner && tar_has --group && tar_has --numeric-owner; then
		# Who packed it, and the modes that were set on that host, are nobody's concern.
		set -- --owner=0 --group=0 --numeric-owner "$@"
	elif [ -n "$mask" ] && [ -n "$(find -L "$stage" ! -user 0 | head -n 1)" ]; then
		echo "not masked: the names of the user and the group that own the files, which this tar writes: one with --owner does not" 2>/dev/null >>"$workspace/report" || no_room
	fi
	if tar_has --hard-dereference; then set -- --hard-dereference "$@"; fi
	# In this order, as words: not every tar reads a list of names.
	while IFS= read -r write_archive_member; do
		set -- "$@" "$name/$write_archive_member"
	done <"$workspace/members"
	{
		tar "$@" 2>"$workspace/tar-said"
		echo $? 2>/dev/null >"$workspace/tar-status"
	} | pack_stream >"$room/archive" 2>"$workspace/packer-said"
	write_archive_status=$?
	[ "$write_archive_status" = 0 ] || die "$packer failed, saying: $(tail -n 1 "$workspace/packer-said"); is there room for $output?"
	[ -s "$workspace/tar-status" ] || no_room
	[ "$(cat "$workspace/tar-status")" = 0 ] || die "tar failed, saying: $(tail -n 1 "$workspace/tar-said")"
	verify_archive
	packed_said=", packed by $packer"
}

pack_stream() {
	if [ "$packer" = zstd ]; then zstd -q -c -T0 -6 -; else gzip -c -6; fi
}

unpack_stream() {
	"$packer" -dc <"$room/archive"
}

# listed_names: the names in it as they are, in every tar.
listed_names() {
	if tar_has --quoting-style; then tar --quoting-style=literal -t -f -; else tar -t -f -; fi
}

# verify_archive: reads it back: whole, and every file what its sum says.
verify_archive() {
	unpack_stream | listed_names 2>/dev/null >"$workspace/listed" || die "the archive cannot be listed: is there room in $workspace?"
	grep -v '/$' "$workspace/listed" | awk -v skip=$((${#name} + 2)) '{ print substr($0, skip) }' | cmp -s - "$workspace/members" || die "the archive is incomplete: is there room for $output?"
	# Its first file; by its name some tars take more than one.
	unpack_stream 2>/dev/null | tar -x -O -f - 2>/dev/null | head -c "$(wc -c <"$workspace/sums")" | cmp -s - "$workspace/sums" || die "the archive cannot be read back"
	(cd "$stage" && sha256sum -c "$workspace/sums" >/dev/null 2>&1) || die "a file of $bundle changed while it was packed: pack it again"
}

# put_beside WHAT FILE: the map, for its owner's eyes, and the list of what was masked.
put_beside() {
	remember draft "$2.$suffix_drawn"
	(set -C && : >"$2.$suffix_drawn") 2>/dev/null || {
		forget draft
		die "cannot write $2"
	}
	cat "$workspace/$1" 2>/dev/null >"$2.$suffix_drawn" || die "cannot write $2: is there room?"
	[ -e "$2" ] || remember "$1" "$2"
	mv -f "$2.$suffix_drawn" "$2" || die "cannot write $2"
	forget draft
}
