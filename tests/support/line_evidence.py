# What each interrupt line is seen to have raised, in a timeline.

import pandas as pd

import netcost_analysis as netcost
from netcost_analysis.questions.devices.device_lines import evidence, raised_by


def evidence_of(timeline: netcost.Timeline) -> pd.DataFrame:
    return evidence(raised_by(timeline)[0], {})
