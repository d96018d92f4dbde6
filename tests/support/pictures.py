# A picture that is asked for by what the capture has not is refused, and says what there is.

import re

import matplotlib.pyplot as plt
import pytest

from netcost_analysis import CaptureError
from netcost_analysis.answers.answer import Answer
from netcost_analysis.errors import AbsentError, ArgumentError


def assert_others_are_refused(answer: Answer) -> None:
    drawn = len(plt.get_fignums())
    for picture, of in answer.question.pictures.items():
        plot = getattr(answer, f"plot_{picture}") if picture else answer.plot
        panels = [*of.panels(answer), *of.choices(answer)]
        if not panels:
            with pytest.raises(CaptureError, match="nothing to draw"):
                plot(device="eht0")
        for panel in panels:
            with pytest.raises(ArgumentError, match="not by nothing_of_it"):
                plot(**panel, nothing_of_it="eht0")
            for name, value in panel.items():
                with pytest.raises(AbsentError, match=re.escape(str(value))) as refused:
                    plot(**{name: f"{value}x"})
                assert f"no {name} '{value}x'" in str(refused.value)
    assert len(plt.get_fignums()) == drawn
