# Chromium without a window, and the timeline in it as a test looks at it.

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from support.host import missing, require_tool

WIDTH, HEIGHT = 1200, 760
_PATIENCE_S = 60
_VIEW = "const desk = document.querySelector('#timeline').netcostView; const view = desk.scene;"
# All that is seen has been loaded, and drawn, and the words below have come to rest.
_RESTS = f"""
const told = document.querySelector('#timeline');
if (!told || !told.netcostView) return false;
{_VIEW}
return view.store.isComplete && !view.isScheduled && view.frames.length > 0;
"""


@contextmanager
def chromium(scale: float = 1) -> Iterator[Any]:
    browser, driver = require_tool("chromium"), require_tool("chromedriver")
    try:
        from selenium.webdriver import Chrome, ChromeOptions
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        missing("needs selenium")
    options = ChromeOptions()
    options.binary_location = browser
    for one in (
        *("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"),
        *("--no-first-run", "--disable-extensions", "--disable-background-networking"),
        f"--window-size={WIDTH},{HEIGHT}",
        f"--force-device-scale-factor={scale}",
    ):
        options.add_argument(one)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = Chrome(options=options, service=Service(driver))
    try:
        yield found
    finally:
        found.quit()


def is_at_rest(driver: Any) -> bool:
    """Whether the page has its timeline by now, and that has drawn all that is seen."""
    found: bool = driver.execute_script(_RESTS)
    return found


class Shown:
    # A timeline that a page shows.
    def __init__(self, driver: Any, address: str | None = None) -> None:
        self.driver = driver
        driver.get_log("browser")
        if address is not None:
            driver.get(address)
        self.rest()

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(_VIEW + script, *given)

    def wait(self, script: str, *given: Any) -> Any:
        until = time.monotonic() + _PATIENCE_S
        while not (found := self.driver.execute_script(script, *given)):
            assert time.monotonic() < until, (script, self.complaints())
            time.sleep(0.02)
        return found

    def rest(self) -> "Shown":
        self.wait(_RESTS)
        return self

    def show(self, begin: float, end: float) -> "Shown":
        self.run("view.show(arguments[0], arguments[1]);", begin, end)
        return self.rest()

    @property
    def view(self) -> tuple[float, float]:
        begin, end = self.run("return [view.view.begin, view.view.end];")
        return begin, end

    def shares(self) -> dict[str, Any]:
        found: dict[str, Any] = self.run("return desk.shares();")
        return found

    # What went wrong in the page.
    def complaints(self) -> list[str]:
        return [one["message"] for one in self.driver.get_log("browser") if one["level"] != "INFO"]

    # Where a time of a CPU is, in CSS pixels of the canvas.
    def point(self, place: int, ns: float) -> tuple[float, float]:
        x, y = self.run(
            """const lane = view.laneOf(arguments[0]);
            return [view.xOf(arguments[1]) / view.scale, (lane.top + lane.height / 2) / view.scale];
            """,
            place,
            ns,
        )
        return x, y

    # As the hardware would: moves and presses at points of the canvas, what is in `held` held.
    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        box = self.run("const b = view.canvas.getBoundingClientRect(); return [b.left, b.top];")
        at = {"x": box[0] + x, "y": box[1] + y}
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, **at, **more})

    def drag(self, begin: tuple[float, float], end: tuple[float, float], shift: bool) -> None:
        held: dict[str, Any] = {"modifiers": 8 if shift else 0, "button": "left"}
        self.mouse("mousePressed", *begin, clickCount=1, **held)
        middle = [(one + other) / 2 for one, other in zip(begin, end, strict=True)]
        for x, y in (middle, end):
            self.mouse("mouseMoved", x, y, buttons=1, **held)
        self.mouse("mouseReleased", *end, clickCount=1, **held)

    def click(self, x: float, y: float) -> None:
        self.drag((x, y), (x, y), shift=False)

    def wheel(self, x: float, y: float, up: float) -> None:
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=-up)

    def keys(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()


@contextmanager
def served(tiles: Any) -> Iterator[str]:
    from netcost_analysis.view.serve import ViewServer

    with ViewServer(tiles) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.address
        finally:
            server.shutdown()
            thread.join()
