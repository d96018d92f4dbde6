# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# A series: a folder of bundles, what each step of the experiment was and gave, and how it was made. Sourced.
#
#   experiment.json   which experiment, the command, kernel, date; table names the next file
#   steps.tsv         a line a step, the first names the columns; bundle is the folder of its recording
#   NAME/             a bundle of netcost-record, or what a step without a trace left

# shellcheck source=../../lib/json.sh
. "$lab/../lib/json.sh"

# begin_series COLUMN...
begin_series() {
	mkdir -p "$output" || die "cannot make $output"
	output_begun=yes series_notes='' series_columns=$#
	series_started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	add_row "$@"
}

# add_row VALUE...
add_row() {
	[ $# -eq "$series_columns" ] || die "a row of $# values where $series_columns are wanted"
	add_row_line=$1
	shift
	for add_row_value in "$@"; do
		add_row_line="$add_row_line	$add_row_value"
	done
	echo "$add_row_line" >>"$output/steps.tsv" || die "cannot write $output/steps.tsv: is there room?"
}

# series_note TEXT: for the reader of experiment.json; said as well.
series_note() {
	warn "$*"
	printf '%s\n' "$*" >>"$workspace/series_notes"
}

# end_series
end_series() {
	{
		printf '{"netcost_experiment": 1,\n  "experiment": %s,\n  "command": %s,\n' "$(json_string "$experiment")" "$(json_string "$typed")"
		printf '  "kernel": %s,\n  "started": "%s",\n  "ended": "%s",\n' \
			"$(json_string "$(uname -r)")" "$series_started" "$(date -u +%Y-%m-%dT%H:%M:%SZ)"
		printf '  "victim_cpu": %s,\n  "load_cpu": %s,\n' "$victim_cpu" "$load_cpu"
		printf '  "table": "steps.tsv",\n  "notes": %s}\n' "$(json_lines "$workspace/series_notes")"
	} >"$output/experiment.json" || die "cannot write $output/experiment.json: is there room?"
	echo "$output: $(($(wc -l <"$output/steps.tsv") - 1)) steps, $(du -sk "$output" | cut -f1) kB"
}
