"""What other programs wrote: /proc, sysstat, iperf3, netperf."""
