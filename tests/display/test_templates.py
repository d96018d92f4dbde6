# Names in a capture come from strangers: in each form of the words they are text, and whole.

import re
from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from netcost_analysis.display.templates import (
    as_html,
    as_text,
    code,
    code_block,
    environment,
    escaped,
    joined,
)
from netcost_analysis.questions.samples.component_sums import component_summary
from netcost_analysis.units import printable
from support.host import examples

# What is nothing but spaces is nobody's name.
named = st.text(st.characters(codec="utf-8"), max_size=40).filter(lambda name: name.strip())
names = named | st.sampled_from(
    [
        *("<b>", "a|b*c*", "`", "``x`", "1. x", "- x", "#h", "&lt;", "[a](b)", "~~x~~", "$x$"),
        *("![", "\\", "a_b_c", "_x_", "*", "===", "---", "<script>", "<!--", "a\nb", "> q", "+ x"),
        *("http://x", "<http://x>", "&amp;", "1) x", "10", "| a |", "kworker/0:1-e"),
    ]
)


def flat(text: str) -> str:
    # As it is read: spaces are one, and what cannot be printed has an escape.
    return " ".join(printable(re.sub(r"[\n\r\t\v\f]+", " ", text)).split())


def read(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", "", html)).split())


@examples(50)
@given(names)
def test_a_name_is_text_in_every_form(name: str) -> None:
    for field in (escaped(name), code(name)):
        markdown = f"before {field} after"
        assert read(as_html(markdown)) == flat(f"before {name} after")
        assert " ".join(as_text(markdown).split()) == flat(f"before {name} after")


@given(names)
def test_a_name_at_the_start_of_a_line_begins_nothing(name: str) -> None:
    html = as_html(f"{escaped(name)} after")
    assert html.startswith("<p>")
    assert read(html) == flat(f"{name} after")
    block = as_html(f"Recorded with\n\n{code_block(f'x{name}')}\n")
    assert read(block) == flat(f"Recorded with x{name}")


# Beside a blank ** is no emphasis: such a name shows them.
@given(names.map(str.strip))
def test_a_template_escapes_once(name: str) -> None:
    made = environment().from_string(
        "{% macro m(x) %}**{{ x }}**{% endmacro %}{{ m(name) | markdown }}, {{ name }}, "
        "{{ [name, name] | joined }}"
    )
    text = made.render(name=name)
    assert read(as_html(f"x {text}")) == flat(f"x {name}, {name}, {name} and {name}")


def test_lists_in_sentences() -> None:
    assert joined(["a", "b", "c"]).split() == ["a,", "b", "and", "c"]
    assert joined(["a"]) == "a"
    assert joined([]) == "none"


# The paragraph that `netcost functions` writes without templates, and components.md as it is.
def test_names_of_a_capture_are_escaped_in_a_paragraph() -> None:
    hostile = "<b>*x*</b>`"
    row = {"component": hostile, "busy_share": 0.5, "busy_share_low": 0.4, "busy_share_high": 0.6}
    hidden = row | {"component": "interrupts off", "deciding_functions": hostile}
    parts = {
        "sampled_event": hostile,
        "busy_samples": 10,
        "components": [row, hidden],
        "interrupts_off": [{"busy_share": 0.1, "interrupts_off_in": hostile}],
        "unclassified_share": 0.01,
    }
    said = component_summary(parts, escaped, code)
    assert said.count(escaped(hostile)) == 2
    assert said.count(code(hostile)) == 2
    assert hostile not in said.replace(code(hostile), "")
