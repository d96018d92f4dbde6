# The rules of `make lint` find what breaks them.

from lint.pages import sentences as prose
from lint.rows import read_directly
from lint.suite import sentences
from lint.words import MODULES, PACKAGE, PLACE, computed

COMPUTED = [
    *("f'{a / b}'", "f'{100 * a:.1f} points'", "a - b", "a + b", "-a", "x = rows['ns'].sum()"),
    *("sum(ns)", "x += 1", "np.polyfit(a, b, 1)", "rows.groupby('device')", "text % a"),
    *("values.median()", "f'{len(rows) - 3} more'", "fit(table)", "a ** 0.5", "a // 8"),
]
JOINED = [
    *("f'{share(a)} of it' + rest", "text = 'a'\ntext = text + more", "(a > b) & c"),
    *("def f() -> str: ...\nx = a + f()", "lines = [a] + rest", "rows[-1]", "duration(ns) + b"),
]
# Whatever a timeline is called, and however it came there.
READ = [
    "def of(run: Timeline) -> None: run.polls",
    "def of(run: 'Timeline | None') -> None: run.load('polls')",
    "def of(answer: Answer) -> None: answer.timeline.slices",
    "def of(capture: Capture) -> None:\n    one = capture.timeline(0, 1)\n    one.segments",
    "def of(run: Timeline) -> None:\n    for one in windows(run):\n        one.softirqs",
    "def of(run: Timeline) -> None: run.columns('displaced')",
    "def of(run: Timeline) -> None: run.table('coverage')",
]


def test_arithmetic_is_found_and_joining_is_none() -> None:
    assert not [code for code in COMPUTED if not list(computed(code))]
    assert not [code for code in JOINED if list(computed(code))]


def test_what_makes_words_is_found() -> None:
    names = {str(path.relative_to(PACKAGE)) for path in MODULES}
    assert {"questions/completeness/summary.py", "cli/stolen.py"} <= names


def test_a_place_is_found() -> None:
    places = [one[0] for one in PLACE.finditer("The cost below is below {{ most }}, and below 0")]
    assert places == ["below"]


def test_what_reads_rows_is_found() -> None:
    assert not [code for code in READ if not read_directly(code)]


def test_a_sentence_is_found() -> None:
    source = "assert a == 'one two three four'\nassert f'{a} two three' in b\n"
    source += "with raises(E, match='a b c d'):\n    raise E('a b c d')\n"
    assert sentences(source) == [1, 3]


def test_prose_is_cut_into_sentences() -> None:
    page = "# A head\n\nOne `a b`. Two\nlines.\n\n| [a](b.md) | c d |\n\n"
    page += "```sh\nno. prose.\n```\n- x\n- y"
    told = [one for one in prose(page) if one]
    assert told == ["# A head", "One code.", "Two lines.", "[a]", "c d", "- x", "- y"]
