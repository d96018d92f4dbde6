# The picture of the README: python docs/images/stolen-time.py CAPTURE FILE.png (make pictures).

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt

import netcost_analysis as netcost
from netcost_analysis.plots.palette import style
from netcost_analysis.plots.victim import answer
from netcost_analysis.units import share


def main(path: str, output: str) -> None:
    mpl.use("agg")
    ask = netcost.open_capture(path).timeline().ask.stolen_time
    headline, example = ask.headline(), ask.example()
    victim, row = headline["victim"], headline["of_victim"]
    if row is None or example["cpu"] is None:
        sys.exit(f"{path} has no task that lost time to an interrupt")
    with style():
        figure, axes = plt.subplots(2, figsize=(10, 6), height_ratios=[1, 1.5])
        answer(axes[0], headline.frame, victim, row["monitor_ns"])
        example.plot(axes[1])
        taken = share(row["stolen_network_share"])
        figure.suptitle(
            f"{victim}: packet processing took {taken} of its CPU time",
            x=0.01,
            ha="left",
            fontweight="bold",
            fontsize=12,
        )
        axes[1].set_title("One of its interrupts", pad=20)
        figure.savefig(output, dpi=150, metadata={"Software": None})


main(*sys.argv[1:3])
