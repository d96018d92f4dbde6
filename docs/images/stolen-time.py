# The picture of the README: python docs/images/stolen-time.py CAPTURE FILE.png (make pictures).

import sys

import matplotlib as mpl
import matplotlib.pyplot as plt

import netcost_analysis as netcost
from netcost_analysis import plots
from netcost_analysis.questions import answer, words
from netcost_analysis.questions import example as example_module
from netcost_analysis.units import share


def main(path: str, output: str) -> None:
    mpl.use("agg")
    timeline = netcost.open_capture(path).timeline().load("softirqs", "hardirqs", "displaced")
    losses = netcost.stolen(timeline)
    victim = answer.choose_victim(timeline, losses)
    example = example_module.moment(timeline, victim)
    if victim is None or example is None:
        sys.exit(f"{path} has no task that lost time to an interrupt")
    parts = answer.parts_of(timeline, victim)
    with plots.style():
        figure, axes = plt.subplots(2, figsize=(10, 6), height_ratios=[1, 1.5])
        plots.answer(axes[0], parts, victim, words.known(losses.loc[victim, "monitor_ns"]))
        plots.lanes(
            axes[1], *example.tables, example.cpu, example.window, example.taken, example.others
        )
        taken = share(losses.loc[victim, "stolen_network_share"])
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
