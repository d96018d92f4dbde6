# Lines that benchmarks print: what is kept of sockperf, netperf's omni, wrk and redis-benchmark. What their user typed (a URL,
# a command of redis) is not kept. netcost_analysis/masking/outputs.py has the same. Used with mask-texts.awk.

# benchmark_line(LINE): what is kept of it; "" where no benchmark prints it.
function benchmark_line(line,  bare) {
	bare = line
	gsub(/\033\[[0-9;]*m/, "", bare)
	gsub(/^[ \t]+|[ \t]+$/, "", bare)
	if (match(bare, /^Running [0-9.]+[smh] test @ /)) return substr(bare, 1, RLENGTH) "-"
	return is_sockperf(bare) || is_wrk(bare) || is_redis(bare) || is_netperf(bare) ? line : ""
}

function is_sockperf(bare) {
	if (bare ~ /^sockperf\[CLIENT\] send on:(sockperf: using [a-z]+\(\) to block on socket\(s\))?$/) return 1
	if (!sub(/^sockperf: /, "", bare)) return 0
	return bare ~ /^== version #[A-Za-z0-9_.-]+ ==$/ || bare ~ /^Warmup stage [A-Za-z (.)]+$/ || bare == "Starting test..." ||
		bare ~ /^Test end[a-z ()]*$/ || bare ~ /^\[(Total Run|Valid Duration)\] [A-Za-z0-9 =.;]+$/ ||
		bare ~ /^=+ Printing statistics for Server No: [0-9]+$/ || bare ~ /^====> avg-[a-z0-9=. ()-]+$/ ||
		bare ~ /^# dropped messages[a-z0-9 =;#-]+$/ || bare ~ /^(Summary: |Total )[]A-Za-z0-9 [\/.;()]+$/ ||
		bare ~ /^---> [A-Za-z0-9 <>.=]+$/ || bare ~ /^NOTE: test was performed, [A-Za-z0-9=. -]+$/ ||
		bare == "No messages were received from the server. Is the server down?"
}

function is_wrk(bare) {
	return bare ~ /^[0-9]+ threads and [0-9]+ connections$/ || bare ~ /^Thread Stats +Avg +Stdev +Max +\+\/- Stdev$/ ||
		bare ~ /^(Latency|Req\/Sec)( +[0-9.]+[kMGmu]?[sh]?%?)+$/ || bare ~ /^Latency Distribution( \([A-Za-z -]+\))?$/ ||
		bare ~ /^[0-9.]+% +[0-9.]+(us|ms|s|m|h)$/ || bare ~ /^[0-9]+ requests in [0-9.]+(us|ms|s|m|h), [0-9.]+[KMGTP]?B read$/ ||
		bare ~ /^Socket errors: connect [0-9]+, read [0-9]+, write [0-9]+, timeout [0-9]+$/ ||
		bare ~ /^Non-2xx or 3xx responses: [0-9]+$/ || bare ~ /^(Requests|Transfer)\/sec: +[0-9.]+[KMGTP]?B?$/
}

# A test of redis-benchmark's own is in capitals; another's name is a command that somebody typed.
function is_redis(bare,  test) {
	if (match(bare, /^(====== |")?[A-Z][A-Z0-9_]*( \([A-Za-z0-9 ]+\))?/)) {
		test = substr(bare, RLENGTH + 1)
		if (test == " ======" || test ~ /^: [0-9.]+ requests per second(, p50=[0-9.]+ msec)?$/ || test ~ /^"(,"[0-9.]+")+$/) return 1
	}
	return bare ~ /^"test","rps"(,"[a-z0-9_]+")*$/ || bare ~ /^[0-9]+ requests completed in [0-9.]+ seconds$/ ||
		bare ~ /^[0-9]+ (parallel clients|bytes payload)$/ || bare ~ /^(keep alive|threads): [0-9]+$/ || bare ~ /^multi-thread: (yes|no)$/ ||
		bare ~ /^host configuration "(save|appendonly)":[a-z0-9 ]*$/ || bare == "Latency by percentile distribution:" ||
		bare == "Cumulative distribution of latencies:" || bare ~ /^[0-9.]+% <= [0-9.]+ milliseconds( \(cumulative count [0-9]+\))?$/ ||
		bare == "Summary:" || bare ~ /^(throughput summary: )?[0-9.]+ requests per second$/ || bare == "latency summary (msec):" ||
		bare ~ /^avg +min +p50 +p95 +p99 +max$/
}

function is_netperf(bare) {
	if (bare ~ /^(MIGRATED|OMNI) [A-Za-z_ |\/]+ TEST from / || bare ~ /^bytes +bytes +secs/) return 1
	if (bare ~ /^[A-Z][A-Z0-9_]*=[0-9.]+$/ || bare ~ /^THROUGHPUT_UNITS=[A-Za-z0-9^\/]+$/) return 1
	if (bare ~ /^[0-9]/) {
		gsub(/Trans\/s|10\^[0-9]bits\/s|[KMG]?Bytes\/s/, "", bare)
		return bare ~ /^[0-9., ]+$/
	}
	gsub(/Throughput|Units|Elapsed|Time|\(sec\)|Transaction|Rate|Tran\/s|Minimum|Maximum|Mean|Stddev|Latency|Percentile|[0-9][0-9]th|Microseconds|Local|Remote|Send|Recv|Calls/, "", bare)
	return bare ~ /^[ ,]*$/
}
