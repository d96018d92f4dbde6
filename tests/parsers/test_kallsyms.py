# A recorded /proc/kallsyms as a table; what is no symbol is left out.

import pandas as pd

from netcost_analysis.parsers.kallsyms import parse_kallsyms

TEXT = """ffffffff81000000 T _text
ffffffffc0000000 t tcp_probe\t[tcp_probe]
0000000000000000 A fixed_percpu_data
"""


def test_a_row_per_symbol_in_order() -> None:
    made = parse_kallsyms(TEXT)
    assert made["address"].tolist() == [0xFFFFFFFF81000000, 0xFFFFFFFFC0000000, 0]
    assert made["address"].dtype == "uint64"
    assert made["type"].tolist() == ["T", "t", "A"]
    assert made["name"].tolist() == ["_text", "tcp_probe", "fixed_percpu_data"]
    assert made["module"].astype(object).where(made["module"].notna(), None).tolist() == [
        None,
        "tcp_probe",
        None,
    ]


def test_what_is_no_symbol_is_left_out() -> None:
    text = "\n \nffffffff81000000 T\nxyz T name\n-1 T name\n1ffffffffffffffff T name\n10 TT name\n"
    made = parse_kallsyms(text + "20 T name")
    assert made["address"].tolist() == [0x20]


def test_an_empty_one_has_the_same_columns() -> None:
    made = parse_kallsyms("")
    assert made.empty
    pd.testing.assert_index_equal(made.columns, parse_kallsyms(TEXT).columns)
    assert made["address"].dtype == "uint64"
