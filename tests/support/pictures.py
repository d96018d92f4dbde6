# Pictures: what is refused, flame graphs as SVG taken apart, colours as others see them.

import re
import xml.etree.ElementTree as ET

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from netcost_analysis import CaptureError
from netcost_analysis.answers.answer import Answer
from netcost_analysis.errors import AbsentError, ArgumentError


# A picture that is asked for by what the capture has not is refused, and says what there is.
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


SVG = "{http://www.w3.org/2000/svg}"


def parsed(text: str) -> ET.Element:
    # Our own, and without a document type there are no entities.
    assert "<!" not in text.replace("<![CDATA[", "")
    return ET.fromstring(text)  # noqa: S314


# Of each frame its title, and its rectangle's attributes.
def frames(text: str) -> dict[str, dict[str, str]]:
    found = {}
    for group in parsed(text).iter(f"{SVG}g"):
        title, rect = group.find(f"{SVG}title"), group.find(f"{SVG}rect")
        found[title.text or ""] = rect.attrib
    return found


# What a colour looks like to people who see fewer of them.
# Machado, Oliveira and Fernandes 2009, severity 1.0, on linear RGB.
DEFICIENT = {
    "nobody's": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def lab(color: str, seen: np.ndarray) -> np.ndarray:
    rgb = np.array(to_rgb(color))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(seen @ linear, 0, 1)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ linear / np.array([0.9505, 1.0, 1.089])
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])
