# How long a frame of a timeline takes in a browser without a window:
# `PYTHONPATH=tests python -m benchmarks.view CAPTURE [--times N]`. benchmarks.repeat makes a large
# capture of a small one. A frame is a zoom or a pan, what it draws of the tiles at hand, and the
# canvas flushed, so that nothing is left to another thread. Tiles come from the server meanwhile;
# drawing never waits for them: how long until the finest are there is measured by itself.

import argparse
import json
import time
from statistics import median, quantiles
from typing import Any

from netcost_analysis.opening.opening import open_capture
from netcost_analysis.view.tiles import Tiles
from support.browser import Shown, chromium, served

_STEPS = """
const done = arguments[arguments.length - 1];
const [times, act] = arguments;
const took = [];
const gaps = [];
let before = performance.now();
const centre = (step) => view.whole * (0.1 + 0.8 * ((step * 0.618) % 1));
const acts = {
  zoom: (step) => {
    if (step % 24 === 0) return view.show(0, view.whole);
    return view.zoom(step % 24 < 16 ? 0.55 : 1.7, centre(Math.floor(step / 24)));
  },
  pan: (step) => {
    if (step % 24) return view.pan(view.span / 20);
    return view.show(centre(step), centre(step) + view.whole / 2 ** (3 + (step / 24) % 12));
  },
};
const frame = (step) => {
  const started = performance.now();
  gaps.push(started - before);
  before = started;
  if (step === times) return done({ took, gaps: gaps.slice(1) });
  acts[act](step);
  view.draw();
  view.context.getImageData(0, 0, 1, 1);
  took.push(performance.now() - started);
  requestAnimationFrame(() => frame(step + 1));
};
requestAnimationFrame(() => frame(0));
"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.view")
    parser.add_argument("capture")
    parser.add_argument("--times", type=int, default=480)
    arguments = parser.parse_args()
    started = time.monotonic()
    timeline = open_capture(arguments.capture).timeline()
    tiles = Tiles.of(timeline)
    segments = sum(timeline.columns("sums")["segments"])
    told: dict[str, Any] = {
        "segments": segments,
        "cpus": len(tiles.header()["cpus"]),
        "seconds until it can be looked at": round(time.monotonic() - started, 2),
    }
    with chromium() as driver, served(tiles) as address:
        driver.set_script_timeout(300)
        shown = Shown(driver, address)
        told["canvas"] = shown.run("return [view.canvas.width, view.canvas.height];")
        for act in ("zoom", "pan"):
            found = shown.driver.execute_async_script(
                "const view = document.querySelector('#timeline').netcostView.scene;" + _STEPS,
                arguments.times,
                act,
            )
            told[act] = {
                "frame ms, median": round(median(found["took"]), 2),
                "frame ms, 95 of 100": round(quantiles(found["took"], n=20)[-1], 2),
                "frame ms, longest": round(max(found["took"]), 2),
                "from frame to frame ms, median": round(median(found["gaps"]), 2),
            }
        waited = []
        for step in range(20):
            begin = tiles.duration_ns * (step + 0.5) / 21
            started = time.monotonic()
            shown.show(begin, begin + tiles.duration_ns / 2 ** (step % 12 + 2))
            waited.append(time.monotonic() - started)
        told["seconds until the finest tiles are there, median"] = round(median(waited), 3)
    print(json.dumps(told, indent=2))


if __name__ == "__main__":
    main()
