# The samples that a question about every task is asked on.


ALL = [
    "nic-stolen-time",
    "stolen-time-tcp.netcost.tar.zst",
    "stolen-time-top.netcost.tar.zst",
    "veth-stolen-time",
    "local-migrations.netcost.tar.zst",
    "quiet-interface.netcost.tar.zst",
    "nic-guest/6.12-nic-1-flows.netcost.tar.zst",
    "local-regression-traced/loopback-udp-defer0-rpson-twocpu-1.netcost.tar.zst",
]
