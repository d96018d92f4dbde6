# Files of a bundle that say what interfaces counted and when they were read.

from support.device_bundles import net_dev

S = 1_000_000_000
STAMP = "net_dev {0} {0}\ntc_qdisc.json {0} {0}\nethtool/eth0/statistics {0} {0}\nnet_softnet_stat {0} {0}\n"  # noqa: E501


def full_stamps() -> dict[str, str]:
    return {
        f"{side}/{name}": text
        for at, side in ((S, "before"), (3 * S, "after"))
        for name, text in (("stamp", STAMP.format(at)), ("net_dev", net_dev(eth0=(at, 1, 0, 0))))
    }
