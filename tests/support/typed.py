# What every answer is, whatever was recorded: its columns have their types, its words are whole.

from netcost_analysis.questions.answer import Answer
from netcost_analysis.schema import column


def assert_whole(answer: Answer[object]) -> None:
    shown = answer._repr_html_()
    assert shown.count("<p>") == shown.count("</p>")
    if answer.refusal is None:
        assert_typed(answer)


def assert_typed(answer: Answer[object]) -> None:
    for name, frame in {**answer.tables, "its frame": answer.frame}.items():
        # A matrix has a column for each of what its columns are named for.
        if frame.columns.name is not None:
            continue
        named = [key for key in frame.index.names if key is not None]
        flat = frame.reset_index() if named else frame
        for called, dtype in flat.dtypes.items():
            declared = column(str(called))
            assert declared is not None, f"columns.toml has no {called}"
            assert str(dtype) == str(declared.dtype), f"{called} of {name}"
