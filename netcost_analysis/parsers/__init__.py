"""Parsers for the output of other programs: /proc, sysctl, ip, tc, ethtool, sysstat, benchmarks."""
