# How many examples hypothesis draws for a test that says so: these in the gate, ten times as many
# where the environment asks for a search.

import os

from hypothesis import settings


def examples(count: int) -> settings:
    times = 10 if os.environ.get("NETCOST_HYPOTHESIS") == "search" else 1
    return settings(max_examples=count * times)
