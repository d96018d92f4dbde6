# shellcheck shell=sh
# What a series of recordings has beside its bundles, for the lab and for netcost-record --repeat. Sourced, with json.sh.
#
#   experiment.json   which experiment, the command, kernel, date; table names the next file
#   steps.tsv         a line a step, the first names the columns; bundle or folder is the folder of its recording

# write_row FOLDER VALUE...: a line of its table.
write_row() {
	write_row_file=$1/steps.tsv write_row_line=$2
	shift 2
	for write_row_value in "$@"; do
		write_row_line="$write_row_line	$write_row_value"
	done
	printf '%s\n' "$write_row_line" >>"$write_row_file"
}

# write_experiment FOLDER NAME COMMAND STARTED VICTIM_CPU LOAD_CPU NOTES: the last is a file of lines, or none.
write_experiment() {
	{
		printf '{"netcost_experiment": 1,\n  "experiment": %s,\n  "command": %s,\n' "$(json_string "$2")" "$(json_string "$3")"
		printf '  "kernel": %s,\n  "started": "%s",\n  "ended": "%s",\n' \
			"$(json_string "$(uname -r)")" "$4" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
		printf '  "victim_cpu": %s,\n  "load_cpu": %s,\n' "${5:-null}" "${6:-null}"
		printf '  "table": "steps.tsv",\n  "notes": %s}\n' "$(json_lines "$7")"
	} >"$1/experiment.json"
}
