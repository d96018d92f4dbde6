# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# The journal of netcost-steer: every change is in it before it is made, so that whatever ends the shell that
# makes them, another one can undo them. Sourced. Uses state; a line a change, fields by tabs, the last a dot, for
# a line that is cut short (a full disk) says nothing, and nothing was changed by it:
#
#   write    FILE WAS BECOMES       a file of /proc or /sys
#   feature  DEVICE NAME WAS BECOMES IDS  as ethtool -k and -K call it; IDS of the flow rules that were there, by commas
#   flow     DEVICE MAC QUEUE IDS   a flow rule is about to be added; IDS of those that were there, by commas
#   rule     DEVICE MAC ID          and this is it

tab='	'

# make_workspace: a folder for what is temporary. Those of netcost-steers that were killed are removed: who that
# was is in the name.
make_workspace() {
	case ${TMPDIR-} in
	*[[:cntrl:]]*) bad_usage "TMPDIR takes a name without newlines and other control characters" ;;
	/*) make_workspace_parent=$TMPDIR ;;
	'') make_workspace_parent=/tmp ;;
	*) make_workspace_parent=$(pwd -P)/$TMPDIR ;;
	esac
	find "$make_workspace_parent/." ! -name . -prune -type d -user "$(id -u)" -name 'netcost-steer.[0-9]*-[0-9]*' 2>/dev/null |
		while IFS= read -r make_workspace_left; do
			make_workspace_owner=${make_workspace_left##*/netcost-steer.}
			case $make_workspace_owner in
			*[!0-9-]* | *-*-*) continue ;;
			esac
			is_running "${make_workspace_owner%-*}" "${make_workspace_owner#*-}" || rm -rf -- "$make_workspace_left"
		done
	# Asked before there is a subshell, which can outlive this one.
	make_workspace_name=$make_workspace_parent/netcost-steer.$$-$(began_at $$)
	hold_signals
	make_workspace_said=$(mkdir -m 700 -- "$make_workspace_name" 2>&1) ||
		die "cannot make a temporary folder in $make_workspace_parent: ${make_workspace_said##*: }"
	workspace=$make_workspace_name
	let_signals
}

# is_running PID START: is there such a process, and is it not another that has got its number?
is_running() {
	[ -n "$1" ] && [ -n "$2" ] && [ "$(began_at "$1")" = "$2" ]
}

# open_journal: fails, saying who has it, where there is one: a host is steered once.
open_journal() {
	open_journal_parent=$(dirname "$state")
	[ -d "$open_journal_parent" ] || mkdir -p "$open_journal_parent" || die "cannot make $open_journal_parent for the journal"
	hold_signals
	# One of two that start together makes it.
	if ! mkdir "$state" 2>/dev/null; then
		[ -d "$state" ] || die "cannot make $state for the journal"
		refuse_twice
	fi
	journal_mine=yes
	let_signals
	{
		echo "since $(date -u +%Y-%m-%dT%H:%M:%SZ) by process $$ of $(id -un)"
		echo "$typed"
		network_namespace
		echo "$$ $(began_at $$)"
	} >"$state/owner" || die "cannot write the journal in $state"
	: >"$state/journal" || die "cannot write the journal in $state"
}

refuse_twice() {
	die "this host is steered already, $(journal_owner): run netcost-steer restore first"
}

journal_owner() {
	head -n 1 "$state/owner" 2>/dev/null | grep . || echo "by somebody who left no name in $state"
}

# network_namespace: which one this is; devices and their files are of one.
network_namespace() {
	readlink "$procfs/self/ns/net" || echo unknown
}

# joined FIELD...: a line of them, with tabs in between.
joined() {
	joined_line=$1
	shift
	for joined_field in "$@"; do
		joined_line=$joined_line$tab$joined_field
	done
	printf '%s\n' "$joined_line"
}

# enter FIELD...: a line of the journal.
enter() {
	joined "$@" . 2>/dev/null >>"$state/journal" || die "cannot write the journal $state/journal: is there room?"
}

# entries: the lines of the journal that are whole, without the dot.
entries() {
	# Of a netcost-steer that did not say when its process began they have none.
	if [ -z "$(sed -n 4p "$state/owner" 2>/dev/null)" ]; then
		cat "$state/journal" 2>/dev/null
	else
		sed -n "s/$tab\\.\$//p" "$state/journal" 2>/dev/null
	fi
}

# remove_journal: only what is netcost-steer's, and the folder where nothing else is in it.
remove_journal() {
	rm -f -- "$state/journal" "$state/reversed" "$state/owner"
	release_locks
	rmdir -- "$state" || warn "left behind: $state"
}

# undo_all: what the journal says, last change first; the journal goes when all is undone.
undo_all() {
	undo_all_failed='' undone=0
	entries | awk '{ line[NR] = $0 } END { for (i = NR; i > 0; i--) print line[i] }' >"$state/reversed" ||
		die "cannot write to $state: is there room?"
	while IFS=$tab read -r undo_kind undo_first undo_second undo_third undo_fourth undo_fifth; do
		case $undo_kind in
		write | feature | flow | rule) "undo_$undo_kind" "$undo_first" "$undo_second" "$undo_third" "$undo_fourth" "$undo_fifth" || undo_all_failed=yes ;;
		*)
			warn "not an entry of a journal: $undo_kind"
			undo_all_failed=yes
			;;
		esac
	done <"$state/reversed"
	if [ -n "$undo_all_failed" ]; then
		warn "not all could be put back: the journal stays in $state"
		return 1
	fi
	remove_journal
}

# undo_write FILE WAS BECOMES
undo_write() {
	if [ ! -e "$1" ]; then
		say "$1 is gone"
		return
	fi
	undo_write_now=$(cat "$1")
	[ "$undo_write_now" != "$2" ] || return 0
	same_setting "$1" "$undo_write_now" "$3" || say "$1 had been changed to $undo_write_now by somebody else"
	if { echo "$2" >"$1"; } 2>/dev/null; then
		undone=$((undone + 1))
		say "$1 is $2 again"
	else
		warn "cannot set $1 back to $2"
		return 1
	fi
}

# same_setting FILE A B: do they mean the same to the kernel? A mask of CPUs is digits, in words of eight with commas between
# them; a list of CPUs is numbers and ranges; what else there is is words.
same_setting() {
	case $1 in
	*/rps_cpus) [ "$(mask_digits "$2")" = "$(mask_digits "$3")" ] ;;
	*/smp_affinity_list) [ "$(cpu_list "$2" || echo "$2")" = "$(cpu_list "$3" || echo "$3")" ] ;;
	*) [ "$2" = "$3" ] ;;
	esac
}

mask_digits() {
	echo "$1" | awk -F , '{
		for (i = 1; i <= NF; i++) {
			while (length($i) < 8) $i = "0" $i
			digits = digits $i
		}
		sub(/^0+/, "", digits)
		print digits
	}'
}

# undo_feature DEVICE NAME WAS BECOMES IDS: unless somebody has changed it since, or added rules that would be cleared with it.
undo_feature() {
	undo_feature_now=$(feature "$1" "$2")
	undo_feature_rules=$(rule_ids "$1" | grep -vxF -e "$(echo "$5" | tr ',' '\n')")
	[ "$undo_feature_now" != "$3" ] || return 0
	if [ "$undo_feature_now" != "$4" ]; then
		say "$2 of $1 had been changed to $undo_feature_now by somebody else, and stays"
		return
	elif [ -n "$undo_feature_rules" ]; then
		say "$2 of $1 stays $4: flow rule $(echo "$undo_feature_rules" | paste -s -d , -) of somebody else would go with it"
		return
	fi
	if ethtool -K "$1" "$2" "$3" >/dev/null 2>&1; then
		undone=$((undone + 1))
		say "$2 of $1 is $3 again"
	else
		warn "cannot switch $2 of $1 $3"
		return 1
	fi
}

# undo_rule DEVICE MAC ID
undo_rule() {
	case " $(rules_of "$1" "$2" | cut -d ' ' -f 1 | paste -s -d ' ' -) " in
	*" $3 "*) ;;
	*)
		say "flow rule $3 of $1 is gone"
		return
		;;
	esac
	if ethtool -N "$1" delete "$3" >/dev/null 2>&1; then
		undone=$((undone + 1))
		say "flow rule $3 of $1 ($2) is removed"
	else
		warn "cannot remove flow rule $3 of $1: ethtool -N $1 delete $3"
		return 1
	fi
}

# undo_flow DEVICE MAC QUEUE IDS: a rule for the address that nobody entered is of a shell that ended in between.
undo_flow() {
	for undo_flow_rule in $(rules_of "$1" "$2" | cut -d ' ' -f 1); do
		case ",$4," in
		*",$undo_flow_rule,"*) ;;
		*) undo_rule "$1" "$2" "$undo_flow_rule" || return 1 ;;
		esac
	done
}
