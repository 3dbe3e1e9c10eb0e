from __future__ import annotations

import pytest

from acidsql.errors import AcidParseError
from acidsql.syntax import parse
from acidsql.syntax.maintenance_statements import AbortTransactions

MALFORMED = [
    (
        "ALTER TABLE t COMPACT",
        "unexpected end of the statement, expected a string",
        (1, 22),
        "ALTER TABLE t COMPACT\n                     ^",
    ),
    (
        "ALTER TABLE t COMPACT ; -- bye",
        "unexpected ';', expected a string",
        (1, 23),
        "ALTER TABLE t COMPACT ; -- bye\n                      ^",
    ),
    (
        "ALTER TABLE t\n  PARTITION (p = 'é') -- 😀\n\tCOMPACT /* 😀 */ major",
        "unexpected 'major', expected a string",
        (3, 18),
        "\tCOMPACT /* 😀 */ major\n\t                ^",
    ),
    (
        "ALTER TABLE t COMPACT 'major' WAIT",
        (
            "unexpected 'WAIT', expected the end of the statement or AND or CLUSTERED "
            "or ORDER or POOL or WITH"
        ),
        (1, 31),
        "ALTER TABLE t COMPACT 'major' WAIT\n                              ^",
    ),
    (
        "ALTER TABLE t COMPACT 'major' AND -- wait",
        "unexpected end of the statement, expected WAIT",
        (1, 34),
        "ALTER TABLE t COMPACT 'major' AND -- wait\n                                 ^",
    ),
    (
        "ALTER TABLE t COMPACT 'major",
        'unexpected "\'", expected a string',
        (1, 23),
        "ALTER TABLE t COMPACT 'major\n                      ^",
    ),
    (
        "ALTER TABLE t COMPACT 'major'; SELECT 1",
        "unexpected 'SELECT', expected the end of the statement",
        (1, 32),
        "ALTER TABLE t COMPACT 'major'; SELECT 1\n                               ^",
    ),
    (
        "SHOW COMPACTIONS t u",
        "unexpected 'u'",
        (1, 20),
        "SHOW COMPACTIONS t u\n                   ^",
    ),
    (
        "SHOW TRANSACTIONS LIKE 'x'",
        "unexpected 'LIKE', expected the end of the statement",
        (1, 19),
        "SHOW TRANSACTIONS LIKE 'x'\n                  ^",
    ),
    (
        "ABORT TRANSACTIONS",
        "unexpected end of the statement, expected a number",
        (1, 19),
        "ABORT TRANSACTIONS\n                  ^",
    ),
    (
        "SHOW LOCKS IN d",
        "unexpected 'd', expected the end of the statement or EXTENDED or PARTITION",
        (1, 15),
        "SHOW LOCKS IN d\n              ^",
    ),
    (
        "OPTIMIZE TABLE t REWRITE",
        "unexpected end of the statement, expected DATA",
        (1, 25),
        "OPTIMIZE TABLE t REWRITE\n                        ^",
    ),
    (
        "CREATE TRANSACTIONAL t (a INT)",
        "unexpected 't', expected EXTERNAL or TABLE or TEMP or TEMPORARY or TRANSACTIONAL",
        (1, 22),
        "CREATE TRANSACTIONAL t (a INT)\n                     ^",
    ),
    (
        "CREATE TABLE t (a INT) FROBNICATE TBLPROPERTIES ('transactional'='true')",
        "unexpected 'FROBNICATE'",
        (1, 24),
        (
            "CREATE TABLE t (a INT) FROBNICATE TBLPROPERTIES ('transactional'='true')\n"
            "                       ^"
        ),
    ),
    (
        "CREATE TABLE IF t (a INT) TBLPROPERTIES (transactional = TRUE)",
        "unexpected 't'",
        (1, 17),
        "CREATE TABLE IF t (a INT) TBLPROPERTIES (transactional = TRUE)\n                ^",
    ),
    (
        "CREATE TABLE t (a INT TBLPROPERTIES ('a'='b', \"transactional\" \"true\")",
        "unexpected end of the statement, expected '(' or ')' or an expression",
        (1, 70),
        (
            "BLE t (a INT TBLPROPERTIES ('a'='b', \"transactional\" \"true\")\n"
            "                                                            ^"
        ),
    ),
    (
        "CREATE TABLE t (a INT)\nLOCATION 'x'\nLOCATION 'y' TBLPROPERTIES ('transactional'='true')",
        "LOCATION is given twice",
        (3, 1),
        "LOCATION 'y' TBLPROPERTIES ('transactional'='true')\n^",
    ),
    (
        "CREATE TABLE t (a INT) TBLPROPERTIES ('transactional'='true', TRANSACTIONAL=true)",
        "the property 'transactional' is given twice",
        (1, 63),
        (
            "EATE TABLE t (a INT) TBLPROPERTIES ('transactional'='true', TRANSACTIONAL=true)\n"
            "                                                            ^"
        ),
    ),
]


@pytest.mark.parametrize(("text", "message", "place", "context"), MALFORMED)
def test_malformed_statements_that_can_only_be_ours(
    text: str, message: str, place: tuple[int, int], context: str
) -> None:
    with pytest.raises(AcidParseError) as caught:
        parse(text)
    line, column = place
    assert caught.value.message == f"{message} (line {line}, column {column})\n{context}"
    assert (caught.value.line, caught.value.column) == place
    assert caught.value.context == context


def test_context_of_a_long_line_is_cut_around_the_caret() -> None:
    text = f"ALTER TABLE {'t' * 200} COMPACT 5 {'x' * 200}"
    with pytest.raises(AcidParseError) as caught:
        parse(text)
    assert caught.value.column == 222
    assert caught.value.context == f"{'t' * 51} COMPACT 5 {'x' * 58}\n{' ' * 60}^"


@pytest.mark.parametrize("digits", ["9223372036854775808", "9" * 5000], ids=["first", "long"])
def test_a_number_of_more_than_64_bits(digits: str) -> None:
    with pytest.raises(AcidParseError, match="999999 is too large|5808 is too large") as caught:
        parse(f"ABORT TRANSACTIONS 1 {digits}")
    assert caught.value.column == 22
    assert parse("ABORT TRANSACTIONS 009223372036854775807") == AbortTransactions(
        text="ABORT TRANSACTIONS 009223372036854775807", ids=(2**63 - 1,)
    )


# Quadratic time would be minutes.
@pytest.mark.parametrize("repeated", ["TBLPROPERTIES (", "TBLPROPERTIES (transactional     "])
def test_properties_are_looked_for_once(repeated: str) -> None:
    assert parse("CREATE TABLE t (a INT) TBLPROPERTIES (((" + repeated * 50_000) is None


def test_a_long_word_is_cut_in_the_message() -> None:
    with pytest.raises(AcidParseError) as caught:
        parse(f"SHOW LOCKS t {'x' * 1_000_000}")
    assert len(str(caught.value)) < 500
    assert caught.value.fragment == "x" * 1_000_000
