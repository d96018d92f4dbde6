# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# Packing a bundle: which files, masked or not, with their sums, into one archive. Sourced by netcost-pack.

# choose_packer: sets packer and suffix by the name of the output, --gzip and what is installed.
choose_packer() {
	case $packer,$output in
	gzip,*.zst) bad_usage "--gzip packs no $output: name it .tar.gz" ;;
	*.tar.gz | *.tgz) packer=gzip ;;
	,*.tar.zst)
		packer=zstd
		command -v zstd >/dev/null || die "zstd is not installed, and $output takes it: name it .tar.gz"
		;;
	,*.*) bad_usage "-o wants a name that ends in .tar.zst or .tar.gz, not $output" ;;
	,)
		packer=zstd
		command -v zstd >/dev/null || packer=gzip
		;;
	esac
	command -v "$packer" >/dev/null || die "$packer is not installed, and needed"
	suffix=zst
	[ "$packer" != gzip ] || suffix=gz
}

# try_output: can a file be written where the archive goes?
try_output() {
	try_output_folder=$(dirname -- "$output")
	[ -d "$try_output_folder" ] || die "there is no folder $try_output_folder to write $output to"
	probe=$(mktemp "$output.XXXXXX" 2>/dev/null) || die "$output cannot be written there: no file can be made in $try_output_folder"
	# A block, and more than the lock takes.
	printf '%4096s' '' 2>/dev/null >"$probe" || die "$output cannot be written there: is there room in $try_output_folder?"
	rm -f "$probe"
	probe=''
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
	[ -z "$check_files_found" ] || die "$check_files_found is a link or no file: take it out of the bundle"
	check_files_found=$(find "$bundle" -name '*[![:print:]]*' | head -n 1)
	[ -z "$check_files_found" ] || die "a file's name in $bundle holds what cannot be printed: rename it"
	case $name in
	-*) die "the bundle's name begins with a dash: rename it" ;;
	esac
	check_files_found=$(find "$bundle" -name '*\\*' | head -n 1)
	[ -z "$check_files_found" ] || die "$check_files_found has a backslash in its name: rename it"
}

# is_trace PATH: is it, or is it part of, a recording?
is_trace() {
	case /$1 in
	*/trace.perf.data* | */trace.dat* | */trace.tracefs/* | */*.perf.data | */*.perf.data/*) return 0 ;;
	esac
	# By what it begins with, whatever it is called.
	case $(dd if="$bundle/$1" bs=10 count=1 2>/dev/null | od -An -c | tr -d ' \n') in
	PERFILE2* | 2ELIFREP* | PERFFILE* | '027\bDtracing'*) return 0 ;;
	esac
	return 1
}

# list_files: paths in the bundle to workspace/traces and workspace/texts.
list_files() {
	: >"$workspace/traces"
	: >"$workspace/texts"
	(cd "$bundle" && find . -type f) | sed 's,^\./,,' | LC_ALL=C sort 2>/dev/null >"$workspace/all" || no_room
	while IFS= read -r list_files_path; do
		case $list_files_path in
		# Of an earlier packing, or of the recorder's.
		SHA256SUMS) ;;
		*) if is_trace "$list_files_path"; then echo "$list_files_path" 2>/dev/null >&6; else echo "$list_files_path" 2>/dev/null; fi || no_room ;;
		esac
	done <"$workspace/all" >"$workspace/texts" 6>"$workspace/traces"
	[ -s "$workspace/traces" ] || return 0
	case $trace in
	refuse) die "$(head -n 1 "$workspace/traces") is a trace, and names tasks and hosts: --trace omit leaves it out, --trace keep packs it unmasked, and netcost mask masks it, on any machine" ;;
	omit) : >"$workspace/traces" ;;
	esac
}

# mask_files: masked copies of the texts in workspace/masked, the map and what was done beside them. What no rule
# is for is left out.
mask_files() {
	mkdir -p "$workspace/masked" 2>/dev/null || no_room
	od -An -v -tx1 -N 65536 /dev/urandom 2>/dev/null >"$workspace/random" || no_room
	# Its own file, so that an old map is as good as none.
	: >"$workspace/old-map"
	if [ -e "$map" ]; then
		[ -r "$map" ] || die "cannot read $map"
		cat "$map" 2>/dev/null >"$workspace/old-map" || no_room
		awk -F '\t' '!/^#/ && NF && NF != 3 { bad = 1 } END { exit bad }' "$map" || die "$map is no map of names: each line is KIND, ORIGINAL and REPLACEMENT"
	fi
	# The pages of a tracefs folder name the host as well, and the perf of a trace that is kept is not read.
	(cd "$bundle" && find . -type f -name uname) | sed 's,^\./,,' 2>/dev/null >"$workspace/names" || no_room
	cat "$workspace/texts" 2>/dev/null >>"$workspace/names" || no_room
	awk -v folder="$bundle" '{ print $0 "\t" folder "/" $0 }' "$workspace/names" 2>/dev/null >"$workspace/to-learn" || no_room
	LC_ALL=C awk -v random_file="$workspace/random" -v learn=1 -v map_file="$workspace/old-map" -v new_map_file="$workspace/hosts" \
		-f "$library/mask-names.awk" -f "$library/mask-addresses.awk" -f "$library/mask-texts.awk" "$workspace/to-learn" 2>/dev/null || die "cannot mask the files of $bundle: is there room in $workspace?"
	sed 's,/[^/]*$,,; t; d' "$workspace/texts" | LC_ALL=C sort -u | while IFS= read -r mask_files_folder; do
		mkdir -p "$workspace/masked/$mask_files_folder" 2>/dev/null || exit 1
	done || no_room
	awk -v folder="$bundle" -v target="$workspace/masked" '{ print $0 "\t" folder "/" $0 "\t" target "/" $0 }' "$workspace/texts" 2>/dev/null >"$workspace/to-mask" || no_room
	LC_ALL=C awk -v random_file="$workspace/random" -v map_file="$workspace/hosts" -v new_map_file="$workspace/map" -v report="$workspace/report" \
		-f "$library/mask-names.awk" -f "$library/mask-addresses.awk" -f "$library/mask-texts.awk" "$workspace/to-mask" 2>/dev/null || die "cannot mask the files of $bundle: is there room in $workspace?"
	room_left
	[ "$trace" != keep ] || [ ! -s "$workspace/traces" ] || sed 's/^/packed unmasked: /' "$workspace/traces" 2>/dev/null >>"$workspace/report" || no_room
	check_masked
	# The name of the bundle can be the host's.
	name=$(masked_name) || no_room
}

# masked_name: the bundle's own name, or "bundle" where a host's or an address is in it.
masked_name() {
	printf '%s\n' "${bundle##*/}" 2>/dev/null >"$workspace/masked-name" || return
	if names_in "$workspace/masked-name" >/dev/null; then echo bundle; else echo "${bundle##*/}"; fi
}

# names_in FILE...: those that hold the original of a host or an address, as grep -l says it.
names_in() {
	[ -s "$workspace/originals" ] || return 1
	grep -liwF -f "$workspace/originals" "$@"
}

# check_masked: not one original of a host or an address is left. An address may be another one's replacement.
check_masked() {
	awk -F '\t' '
		{ replacement[$3] = 1; kind[NR] = $1; original[NR] = $2 }
		END { for (i = 1; i <= NR; i++) if (kind[i] ~ /^(host|ipv4|ipv6|mac|id)$/ && !(original[i] in replacement)) print original[i] }
	' "$workspace/map" 2>/dev/null >"$workspace/originals" || no_room
	room_left
	find "$workspace/masked" -type f 2>/dev/null >"$workspace/masked-files" || no_room
	while IFS= read -r check_masked_file; do
		! names_in "$check_masked_file" >/dev/null || die "${check_masked_file#"$workspace/masked/"} still holds a name that is to be masked: leave the file out of the bundle"
	done <"$workspace/masked-files"
}

# stage_files: workspace/stage/NAME as it is to be packed, links to the files themselves, SHA256SUMS among them.
stage_files() {
	stage=$workspace/stage/$name
	cat "$workspace/traces" "$workspace/texts" | LC_ALL=C sort 2>/dev/null >"$workspace/to-pack" || no_room
	mkdir -p "$stage" 2>/dev/null || no_room
	while IFS= read -r stage_files_path; do
		case $stage_files_path in
		*/*) mkdir -p "$stage/${stage_files_path%/*}" || exit 1 ;;
		esac
		stage_files_from=$bundle/$stage_files_path
		if [ -n "$mask" ] && ! grep -qxF -e "$stage_files_path" "$workspace/traces"; then
			stage_files_from=$workspace/masked/$stage_files_path
			# No rule was for it.
			[ -e "$stage_files_from" ] || continue
		fi
		ln -s "$stage_files_from" "$stage/$stage_files_path" || exit 1
	done <"$workspace/to-pack" || no_room
	(cd "$stage" && find -L . -type f -exec sha256sum {} +) | sed 's,  \./,  ,' | LC_ALL=C sort -k 2 2>/dev/null >"$workspace/sums" || no_room
	[ "$(wc -l <"$workspace/sums")" -eq "$(find -L "$stage" -type f | wc -l)" ] || die "cannot read all of $bundle"
	cp "$workspace/sums" "$stage/SHA256SUMS" 2>/dev/null || no_room
	# As many as there should be: of a group, only the last command's status is seen.
	{
		printf '%s\n' "$name/SHA256SUMS" "$name/manifest.json"
		sed 's/^[0-9a-f]*  //' "$workspace/sums" | grep -vxF manifest.json | awk -v name="$name" '{ print name "/" $0 }'
	} 2>/dev/null >"$workspace/members"
	[ "$(wc -l <"$workspace/members")" -eq $(($(wc -l <"$workspace/sums") + 1)) ] || no_room
}

# tar_has OPTION: not every tar knows all of GNU's.
tar_has() {
	tar --help 2>&1 | grep -q -e "$1"
}

# write_archive: to partial; what was read must still be what was summed.
write_archive() {
	set -- -c -h -f - -C "$workspace/stage"
	if tar_has --owner && tar_has --group && tar_has --numeric-owner; then
		# Who packed it, and the modes that were set on that host, are nobody's concern.
		set -- --owner=0 --group=0 --numeric-owner "$@"
	fi
	if tar_has --hard-dereference; then set -- --hard-dereference "$@"; fi
	# In this order, as words: not every tar reads a list of names.
	while IFS= read -r write_archive_member; do
		set -- "$@" "$write_archive_member"
	done <"$workspace/members"
	umask 077
	: >"$partial" || die "cannot write $partial"
	written=''
	{
		tar "$@" 2>"$workspace/tar-said"
		echo $? 2>/dev/null >"$workspace/tar-status"
	} | pack_stream >"$partial" 2>"$workspace/packer-said"
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
	"$packer" -dc <"$partial"
}

# verify_archive: reads it back: whole, and every file what its sum says.
verify_archive() {
	unpack_stream | tar -t -f - 2>/dev/null >"$workspace/listed" || die "the archive cannot be listed: is there room in $workspace?"
	grep -v '/$' "$workspace/listed" | cmp -s - "$workspace/members" || die "the archive does not hold what it should: is there room for $output?"
	unpack_stream | tar -x -O -f - "$name/SHA256SUMS" 2>/dev/null | cmp -s - "$workspace/sums" || die "the archive cannot be read back"
	(cd "$stage" && sha256sum -c "$workspace/sums" >/dev/null 2>&1) || die "a file of $bundle changed while it was packed: pack it again"
}

# put_beside WHAT FILE: the map, for its owner's eyes, and the list of what was masked.
put_beside() {
	cat "$workspace/$1" >"$partial.$1" || die "cannot write $2: is there room?"
	written="$written $1"
	mv "$partial.$1" "$2" || die "cannot write $2"
}
