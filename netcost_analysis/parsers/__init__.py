"""What other programs wrote: /proc, sysctl, ip, tc, ethtool, sysstat, benchmarks."""
