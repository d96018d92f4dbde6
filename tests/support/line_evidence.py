# What each interrupt line is seen to have raised, of a timeline's tables as one batch.

import pandas as pd

from netcost_analysis.questions.devices.device_lines import evidence
from netcost_analysis.questions.devices.line_evidence import Evidence


def evidence_of(
    hardirqs: pd.DataFrame, softirqs: pd.DataFrame, polls: pd.DataFrame
) -> pd.DataFrame:
    found = Evidence()
    found.add(hardirqs, softirqs, polls)
    return evidence(found.raisers(), {})
