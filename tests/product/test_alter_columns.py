"""ALTER TABLE … COLUMN: old files are read under new definitions, by the positions of columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def described(lab: Lab, table: str) -> list[tuple[str, str]]:
    """Return names and types of the columns in files."""
    columns = lab.session.metastore.table("default", table).columns
    return [(c.name, c.type.lower()) for c in columns]


@pytest.mark.slow
def test_new_columns_are_null_in_old_rows(lab: Lab) -> None:
    t = lab.create("id int, s string", values="(1, 'a'), (2, 'b')")
    assert lab.sql(f"ALTER TABLE {t} ADD COLUMNS (n INT COMMENT 'new', M map<string, int>)") == []
    assert lab.rows(t) == [(1, "a", None, None), (2, "b", None, None)]
    lab.insert(t, "(3, 'c', 30, map('k', 1))")
    lab.sql(f"UPDATE {t} SET n = 20 WHERE id = 2")
    rows = [(1, "a", None, None), (2, "b", 20, None), (3, "c", 30, {"k": 1})]
    assert lab.rows(t) == rows
    assert lab.rows(t, "id, row__id.writeid") == [(1, 1), (2, 4), (3, 3)]
    lab.compact(t, "minor")
    assert lab.rows(t) == rows
    lab.compact(t, "major")
    assert lab.rows(t) == rows
    assert lab.sql(f"DESCRIBE {t} n") == [
        ("col_name", "n"),
        ("data_type", "int"),
        ("comment", "new"),
    ]
    lab.sql(f"ALTER TABLE {t} ADD COLUMN z DATE")
    assert described(lab, t)[2:] == [("n", "int"), ("M", "map<string, int>"), ("z", "date")]


def test_an_alteration_takes_a_write_id(lab: Lab) -> None:
    t = lab.create("id int")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (n int)")
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN n TO m")
    lab.insert(t, "(1, 2)")
    assert lab.rows(t, "m, row__id.writeid") == [(2, 3)]
    assert lab.state(t).locks == lab.state(t).open_writers == 0


@pytest.mark.slow
def test_renamed_and_swapped_columns_keep_their_places(lab: Lab) -> None:
    t = lab.create("a int, b int, `c d` string", values="(1, 10, 'x')")
    for text in ("CHANGE a x INT", "CHANGE COLUMN b a INT", "RENAME COLUMN x TO b"):
        lab.sql(f"ALTER TABLE {t} {text}")
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN `c d` TO C")
    lab.insert(t, "(2, 20, 'y')")
    assert lab.frame(f"SELECT * FROM {t}").columns == ["b", "a", "C"]
    assert lab.rows(t) == [(1, 10, "x"), (2, 20, "y")]
    lab.sql(f"UPDATE {t} SET b = a WHERE c = 'x'")
    assert lab.rows(t) == [(10, 10, "x"), (2, 20, "y")]
    lab.compact(t, "major")
    assert lab.rows(t) == [(10, 10, "x"), (2, 20, "y")]


WIDENED = [
    ("tinyint", "CAST(-7 AS TINYINT)", "smallint", "300", -7),
    ("smallint", "CAST(-7 AS SMALLINT)", "int", "70000", -7),
    ("int", "2147483647", "bigint", "5000000000", 2147483647),
    ("int", "-5", "double", "0.5", -5.0),
    ("int", "-5", "string", "'x'", "-5"),
    ("bigint", "5000000000", "string", "'x'", "5000000000"),
    ("bigint", "-5000000000", "decimal(25,3)", "1.5", "-5000000000.000"),
    ("float", "CAST(0.5 AS FLOAT)", "double", "0.1", 0.5),
    ("decimal(5,2)", "123.45", "decimal(9,4)", "1.2345", "123.4500"),
    ("varchar(3)", "'abc'", "varchar(5)", "'abcde'", "abc"),
    ("varchar(3)", "'abc'", "string", "'abcdefgh'", "abc"),
    ("date", "DATE'1999-12-31'", "string", "'x'", "1999-12-31"),
]


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(("old", "value", "new", "later", "read"), WIDENED)
def test_old_values_are_read_as_the_new_type(
    lab: Lab, old: str, value: str, new: str, later: str, read: object
) -> None:
    t = lab.create(f"id int, v {old}", values=f"(1, {value}), (2, NULL), (3, {value})")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN v TYPE {new}")
    lab.insert(t, f"(4, {later})")
    lab.sql(f"DELETE FROM {t} WHERE v = (SELECT v FROM {t} WHERE id = 1) AND id = 1")
    shown = "CAST(v AS STRING)" if new.startswith("decimal") else "v"
    first = lab.rows(t, f"id, {shown}")
    assert first[:2] == [(2, None), (3, read)]
    assert [row[0] for row in first] == [2, 3, 4]
    lab.sql(f"UPDATE {t} SET id = id + 10")
    lab.compact(t, "major")
    assert lab.rows(t, f"id - 10, {shown}") == first


def test_change_keeps_what_it_does_not_say(lab: Lab) -> None:
    t = lab.create("id int NOT NULL COMMENT 'c' DEFAULT 5, v string", values="(1, 'a')")
    lab.sql(f"ALTER TABLE {t} CHANGE COLUMN id key BIGINT")
    (key, _) = lab.session.metastore.table("default", t).columns
    assert (key.name, key.type, key.nullable, key.default, key.comment) == (
        ("key", "BIGINT", False, "5", "c")
    )
    lab.sql(f"ALTER TABLE {t} CHANGE key key BIGINT COMMENT 'it\\'s new'")
    (key, _) = lab.session.metastore.table("default", t).columns
    assert key.comment == "it's new"


@pytest.mark.slow
def test_comment_default_and_not_null(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a')")
    for text in ("COMMENT 'x'", "SET DEFAULT upper('d')", "SET NOT NULL"):
        lab.sql(f"ALTER TABLE {t} ALTER COLUMN v {text}")
    lab.sql(f"INSERT INTO {t} (id) VALUES (2)")
    assert lab.rows(t) == [(1, "a"), (2, "D")]
    assert condition(lab, f"INSERT INTO {t} VALUES (3, NULL)").startswith("NOT_NULL")
    assert lab.sql(f"DESCRIBE {t} v")[2] == ("comment", "x")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN v DROP NOT NULL")
    lab.sql(f"ALTER TABLE {t} ALTER v DROP DEFAULT")
    lab.sql(f"INSERT INTO {t} (id) VALUES (3)")
    assert lab.rows(t)[2] == (3, None)
    assert condition(lab, f"ALTER TABLE {t} ALTER COLUMN v SET NOT NULL") == (
        "NOT_NULL_CONSTRAINT_VIOLATION"
    )
    lab.sql(f"UPDATE {t} SET v = 'z' WHERE v IS NULL")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN v SET NOT NULL")


def test_replace_columns_renames_widens_and_adds(lab: Lab) -> None:
    t = lab.create("a int, b string COMMENT 'kept'", values="(1, 'x')")
    lab.sql(f"ALTER TABLE {t} REPLACE COLUMNS (k bigint, b string, c date)")
    assert lab.rows(t) == [(1, "x", None)]
    assert described(lab, t) == [("k", "bigint"), ("b", "string"), ("c", "date")]


@pytest.mark.sample(1)
@pytest.mark.parametrize("cascade", [True, False])
def test_partitions_keep_their_columns_without_cascade(lab: Lab, cascade: bool) -> None:
    t = lab.create(
        "id int, s string", partitioned="p string", values="(1, 'a', 'x'), (2, 'b', 'y')"
    )
    word = "CASCADE" if cascade else "RESTRICT"
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (n int) {word}")
    own = {p.values: p.columns for p in lab.session.metastore.partitions("default", t)}
    kept = None if cascade else lab.session.metastore.table("default", t).columns[:2]
    assert own == {("x",): kept, ("y",): kept}
    assert lab.rows(t) == [(1, "a", None, "x"), (2, "b", None, "y")]
    lab.insert(t, "(3, 'c', 30, 'x'), (4, 'd', 40, 'new')")
    lab.sql(f"UPDATE {t} SET n = 20 WHERE id = 2")
    assert lab.rows(t) == [
        (1, "a", None, "x"),
        (2, "b", 20, "y"),
        (3, "c", 30, "x"),
        (4, "d", 40, "new"),
    ]


def test_bucket_columns_keep_their_type_and_may_be_renamed(lab: Lab) -> None:
    t = "altered_buckets"
    lab.sql(
        f"CREATE TABLE {t} (id int, v int) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true')"
    )
    lab.insert(t, "(1, 1), (2, 2), (3, 3)")
    text = f"ALTER TABLE {t} CHANGE id id BIGINT"
    assert condition(lab, text) == "NOT_SUPPORTED_CHANGE_COLUMN"
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN id TO key")
    lab.sql(f"INSERT INTO {t} VALUES (1, 10), (2, 20), (3, 30)")
    buckets = lab.sql(f"SELECT key, count(DISTINCT row__id.bucketid) FROM {t} GROUP BY key")
    assert sorted(buckets) == [(1, 1), (2, 1), (3, 1)]
    lab.sql(f"DROP TABLE {t}")


def test_new_fields_are_null_in_old_rows(lab: Lab) -> None:
    t = lab.create(
        "id int, st struct<f: int>, l array<struct<f: int>>, m map<string, struct<f: int>>"
    )
    lab.insert(t, "(1, named_struct('f', 1), array(named_struct('f', 2)), NULL)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (st.g string COMMENT 'new', n int, L.element.g int)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMN m.value.g int")
    lab.sql(f"ALTER TABLE {t} CHANGE st st struct<f: int, g: string COMMENT 'new', h: int>")
    assert described(lab, t)[1:] == [
        ("st", "struct<f: int, g: string comment 'new', h: int>"),
        ("l", "array<struct<f: int, g: int>>"),
        ("m", "map<string, struct<f: int, g: int>>"),
        ("n", "int"),
    ]
    assert lab.rows(t) == [(1, (1, None, None), [(2, None)], None, None)]
    lab.insert(
        t,
        "(2, named_struct('f', 3, 'g', 'x', 'h', 4), array(named_struct('f', 5, 'g', 6)), "
        "map('k', named_struct('f', 7, 'g', 8)), 9)",
    )
    lab.sql(f"UPDATE {t} SET st.g = 'y' WHERE st.g IS NULL")
    rows = [
        (1, (1, "y", None), [(2, None)], None, None),
        (2, (3, "x", 4), [(5, 6)], {"k": (7, 8)}, 9),
    ]
    assert lab.rows(t) == rows
    lab.compact(t, "major")
    assert lab.rows(t) == rows


REFUSED = {
    "ADD COLUMNS (n int NOT NULL)": "UNSUPPORTED_FEATURE.ADD_COLUMN_NOT_NULL",
    "ADD COLUMNS (n int NOT NULL DEFAULT NULL)": "UNSUPPORTED_FEATURE.ADD_COLUMN_NOT_NULL",
    "ADD COLUMNS (n timestamp DEFAULT now())": "UNSUPPORTED_FEATURE.ADD_COLUMN_DEFAULT",
    "ADD COLUMNS (n binary DEFAULT X'00')": "UNSUPPORTED_FEATURE.ADD_COLUMN_DEFAULT",
    "ADD COLUMNS (n string DEFAULT uuid())": "INVALID_DEFAULT_VALUE.NON_DETERMINISTIC",
    "ADD COLUMNS (n int DEFAULT 'x')": "CAST_INVALID_INPUT",
    "ADD COLUMNS (n varchar(2) DEFAULT 'abc')": "INVALID_DEFAULT_VALUE.TOO_LONG",
    "ADD COLUMNS (n int FIRST)": "UNSUPPORTED_FEATURE.COLUMN_POSITION",
    "ADD COLUMN n int AFTER id": "UNSUPPORTED_FEATURE.COLUMN_POSITION",
    "ADD COLUMN st.g int NOT NULL": "UNSUPPORTED_FEATURE.NESTED_COLUMN",
    "ADD COLUMNS (st.g int, n int DEFAULT 5)": "UNSUPPORTED_FEATURE.NESTED_COLUMN",
    "ADD COLUMN st.g int FIRST": "UNSUPPORTED_FEATURE.COLUMN_POSITION",
    "ADD COLUMN st.F int": "COLUMN_ALREADY_EXISTS",
    "ADD COLUMN st.f.g int": "COLUMN_NOT_FOUND",
    "ADD COLUMN v.g int": "COLUMN_NOT_FOUND",
    "ADD COLUMN nope.g int": "COLUMN_NOT_FOUND",
    "ADD COLUMN p.g int": "CANNOT_ALTER_PARTITION_COLUMN",
    "ADD COLUMN st.g interval day": "UNSUPPORTED_DATATYPE",
    "REPLACE COLUMNS (id int, v string, st.g int)": "UNSUPPORTED_FEATURE.NESTED_COLUMN",
    "CHANGE st st struct<g: int, f: int>": "NOT_SUPPORTED_CHANGE_COLUMN",
    "ADD COLUMNS (ID int)": "COLUMN_ALREADY_EXISTS",
    "ADD COLUMNS (p int)": "COLUMN_ALREADY_EXISTS",
    "ADD COLUMNS (row__id int)": "RESERVED_COLUMN_NAME",
    "ADD COLUMNS (n interval day)": "UNSUPPORTED_DATATYPE",
    "ADD COLUMNS (n nonsense)": "UNSUPPORTED_DATATYPE",
    "ADD COLUMNS (n)": "PARSE_SYNTAX_ERROR",
    "REPLACE COLUMNS (id int)": "UNSUPPORTED_FEATURE.DROP_COLUMNS",
    "REPLACE COLUMNS (id int, v string, st struct<f: bigint>)": "NOT_SUPPORTED_CHANGE_COLUMN",
    "DROP COLUMN v": "UNSUPPORTED_FEATURE.DROP_COLUMNS",
    "DROP COLUMNS (v, st)": "UNSUPPORTED_FEATURE.DROP_COLUMNS",
    "RENAME COLUMN nope TO x": "COLUMN_NOT_FOUND",
    "RENAME COLUMN v TO id": "COLUMN_ALREADY_EXISTS",
    "RENAME COLUMN p TO x": "CANNOT_ALTER_PARTITION_COLUMN",
    "RENAME COLUMN st.f TO x": "UNSUPPORTED_FEATURE.NESTED_COLUMN",
    "CHANGE v v int": "NOT_SUPPORTED_CHANGE_COLUMN",
    "ALTER COLUMN id TYPE smallint": "NOT_SUPPORTED_CHANGE_COLUMN",
    "ALTER COLUMN id FIRST": "UNSUPPORTED_FEATURE.COLUMN_POSITION",
    "CHANGE id id int AFTER v": "UNSUPPORTED_FEATURE.COLUMN_POSITION",
    "ALTER COLUMN id SET DEFAULT 'x'": "CAST_INVALID_INPUT",
    "ALTER COLUMN v SET NOT NULL": "NOT_NULL_CONSTRAINT_VIOLATION",
    "PARTITION (p = 1) ADD COLUMNS (n int)": "UNSUPPORTED_FEATURE.ALTER_TABLE",
    "SET SERDEPROPERTIES ('a' = 'b')": "UNSUPPORTED_FEATURE.ALTER_TABLE",
    "SET SERDE 'x'": "UNSUPPORTED_FEATURE.ALTER_TABLE",
}


def test_what_is_refused_changes_nothing(lab: Lab) -> None:
    t = lab.create("id int, v string, st struct<f: int>", partitioned="p int")
    lab.insert(t, "(1, NULL, named_struct('f', 1), 1)")
    before = lab.state(t), lab.session.metastore.table("default", t)
    for text, expected in REFUSED.items():
        assert condition(lab, f"ALTER TABLE {t} {text}") == expected, text
    assert (lab.state(t), lab.session.metastore.table("default", t)) == before
