from netcost_analysis import parse_openssl_speed

OPENSSL_1 = """\
Doing aes-256 cbc for 10s on 16 size blocks: 26596388 aes-256 cbc's in 4.01s
Doing aes-256 cbc for 10s on 64 size blocks: 7137481 aes-256 cbc's in 4.14s
"""
OPENSSL_3 = """\
Doing AES-256-CBC ops for 3s on 1024 size blocks: 5262498 AES-256-CBC ops in 2.99s
version: 3.0.19
type           1024 bytes
AES-256-CBC    1798000.00k
"""
MACHINE_READABLE = """\
+DT:aes-256-cbc:3:1024
+R:5262498:aes-256-cbc:2.990000
+DT:aes-256-cbc:3:8192
+R:664001:aes-256-cbc:3.000000
+H:1024:8192
+F:22:aes-256-cbc:1802259.70:1813165.40
"""


def test_a_result_per_block_size_with_its_own_time() -> None:
    runs = parse_openssl_speed(OPENSSL_1)
    assert [run.size_bytes for run in runs] == [16, 64]
    assert runs[0] == ("aes-256 cbc", 16, 26596388, 10.0, 4.01)


def test_openssl_3_writes_ops() -> None:
    assert parse_openssl_speed(OPENSSL_3) == [("aes-256-cbc", 1024, 5262498, 3.0, 2.99)]


def test_the_machine_readable_form_says_the_same() -> None:
    first, second = parse_openssl_speed(MACHINE_READABLE)
    assert first == parse_openssl_speed(OPENSSL_3)[0]
    assert (second.size_bytes, second.blocks, second.user_s) == (8192, 664001, 3.0)


def test_a_run_that_was_cut_off_has_no_result() -> None:
    assert parse_openssl_speed("Doing sha256 for 3s on 1024 size blocks: ") == []
    assert parse_openssl_speed("") == []


def test_a_result_is_not_given_to_the_wrong_question() -> None:
    lone = MACHINE_READABLE.replace("+DT:aes-256-cbc:3:1024\n", "")
    assert [run.size_bytes for run in parse_openssl_speed(lone)] == [8192]
