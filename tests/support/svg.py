# Flame graphs as SVG, taken apart.

import xml.etree.ElementTree as ET

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
        assert title is not None
        assert rect is not None
        found[title.text or ""] = rect.attrib
    return found
