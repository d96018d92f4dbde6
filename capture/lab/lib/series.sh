# shellcheck shell=sh disable=SC2034,SC2154 # the variables are shared with what sources this
# A series: a folder of bundles, what each step of the experiment was and gave, and how it was made. Sourced.
#
#   experiment.json, steps.tsv   as ../../lib/series.sh writes them
#   NAME/                        a bundle of netcost-record, or what a step without a trace left
#   unfinished                   while it is written: by which experiment

# shellcheck source=../../lib/json.sh
. "$lab/../lib/json.sh"
# shellcheck source=../../lib/series.sh
. "$lab/../lib/series.sh"

# begin_series COLUMN...
begin_series() {
	begin_series_folder=$(absolute "$output")
	made_folder "$begin_series_folder"
	made series "$begin_series_folder"
	{ echo "$mark" >"$output/unfinished"; } 2>/dev/null || die "cannot write to $output: is there room?"
	output_begun=yes series_columns=$#
	part steps.tsv
	part experiment.json
	series_started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
	add_row "$@"
}

# part NAME: of the series, which is about to be written: what is not named stays should the experiment fail.
part() {
	made part "$1"
}

# add_row VALUE...
add_row() {
	[ $# -eq "$series_columns" ] || die "a row of $# values where $series_columns are wanted"
	write_row "$output" "$@" || die "cannot write $output/steps.tsv: is there room?"
}

# series_note TEXT: for the reader of experiment.json; said as well.
series_note() {
	warn "$*"
	printf '%s\n' "$*" >>"$workspace/series_notes"
}

# end_series
end_series() {
	printf '%s\n' "$busy_said" >>"$workspace/series_notes"
	host_times "$workspace/host_ended"
	say_busy "meanwhile" "$workspace/host_begun" "$workspace/host_ended"
	series_note "$busy_said"
	write_experiment "$output" "$experiment" "$typed" "$series_started" "$victim_cpu" "$load_cpu" "$workspace/series_notes" ||
		die "cannot write $output/experiment.json: is there room?"
	rm -f -- "$output/unfinished" || die "cannot finish $output"
	echo "$output: $(sed 1d "$output/steps.tsv" | wc -l) steps, $(du -sk "$output" | cut -f1) kB"
	[ "$refused" = 0 ] || {
		warn "$refused steps are left out, because their controls failed"
		exit 3
	}
}
