"""Tests of the rows that the reader returns, of each type and kind of file."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

import acidsql
from tests.product.test_types import VALUES
from tests.reader.conftest import as_json
from tests.seeds import seeds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.product.conftest import Lab
    from tests.reader.conftest import Compare

pytestmark = pytest.mark.spark

MORE_VALUES = {
    "decimal(18,4)": ["99999999999999.9999BD", "-0.0001BD"],
    "decimal(19,0)": ["9999999999999999999BD"],
    "array<decimal(9,2)>": ["array(1.25BD, NULL, -7BD)"],
    "array<decimal(20,2)>": ["array(1.25BD, NULL)"],
    "map<string,struct<x:int,y:array<string>>>": [
        "map('a', named_struct('x', 1, 'y', array('p', NULL)), 'b', NULL)",
        "map('c', named_struct('x', NULL, 'y', NULL))",
    ],
    "map<string,map<int,string>>": ["map('a', map(1, 'x', 2, NULL), 'b', map())"],
    "map<char(2),array<char(3)>>": ["map('a', array('b', NULL))"],
    "timestamp_ltz": [
        "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'1582-10-04 23:59:59.999999'",
        "TIMESTAMP'1969-12-31 23:59:58.123456'",
        "TIMESTAMP'2024-03-10 02:30:00.000001'",
        "TIMESTAMP'9999-12-31 23:59:59.999999'",
    ],
    "struct<a:map<timestamp_ltz,timestamp>,b:array<timestamp_ltz>,c:timestamp_ntz>": [
        "named_struct('a', map(TIMESTAMP'2024-11-03 01:30:00', NULL), 'b', "
        "array(TIMESTAMP'1500-01-01 00:00:00', NULL), 'c', TIMESTAMP_NTZ'2024-03-10 02:30:00')",
    ],
    "array<timestamp>": ["array(TIMESTAMP'1500-01-01 00:00:00', NULL)"],
    "struct<a:binary,b:boolean,c:tinyint,d:smallint,e:float>": [
        "named_struct('a', X'01', 'b', true, 'c', 1Y, 'd', 2S, 'e', float(0.5))",
        "named_struct('a', NULL, 'b', NULL, 'c', NULL, 'd', NULL, 'e', NULL)",
    ],
}
TYPES = {**VALUES, **MORE_VALUES}


def every_type(lab: Lab, rows: int) -> str:
    """Create a table with a column of each type, and values that come in runs and turns; create
    the view ``plain`` of the same rows.
    """
    columns = ", ".join(f"c{i} {kind}" for i, kind in enumerate(TYPES))
    t = lab.create(f"id int, {columns}")
    picked = []
    for i, (kind, values) in enumerate(TYPES.items()):
        array = ", ".join(f"CAST({value} AS {kind})" for value in (*values, "NULL"))
        count = len(values) + 1
        # A long run of each value, then all in turn: batches of one value and of many.
        turn = f"IF(id % 20000 < 9000, id DIV ({3000 + i * 40}), id * {i + 1} DIV {1 + i % 3})"
        picked.append(f"element_at(array({array}), CAST({turn} % {count} AS INT) + 1) AS c{i}")
    source = f"(SELECT CAST(id AS INT) AS id FROM range(0, {rows}, 1, 1))"
    query = f"SELECT id, {', '.join(picked)} FROM {source}"
    lab.frame(query).localCheckpoint().createOrReplaceTempView("plain")
    lab.sql(f"INSERT INTO {t} SELECT * FROM plain")
    return t


@pytest.mark.slow
def test_values_of_every_type(lab: Lab, same: Compare) -> None:
    with lab.settings(spark__sql__orc__columnarReaderBatchSize="500"):
        t = every_type(lab, 12_000)
        names = [f"c{i}" for i in range(len(TYPES))]
        # A view has no CHAR, whose values a table fills up with blanks.
        shown = ", ".join(["id", *(f"c{i}" for i, kind in enumerate(TYPES) if "char" not in kind)])
        assert same(lab, shown, f"FROM {t}") == as_json(lab.frame(f"SELECT {shown} FROM plain"))
        same(lab, "*, row__id", f"FROM {t}")
        for name in names:  # each column by itself, in the order of the file
            same(lab, f"id, {name}", f"FROM {t} WHERE id % 7 = 0")
        lab.sql(f"DELETE FROM {t} WHERE id % 3 = 0 OR id BETWEEN 4000 AND 6000")
        lab.sql(f"UPDATE {t} SET c0 = NOT c0 WHERE id % 50 = 1")
        kept = lab.frame(
            f"SELECT {shown} FROM plain WHERE NOT (id % 3 = 0 OR id BETWEEN 4000 AND 6000)"
        ).withColumn("c0", F.expr("IF(id % 50 = 1, NOT c0, c0)"))
        assert same(lab, shown, f"FROM {t}") == as_json(kept)
        lab.compact(t, "major")
        assert same(lab, shown, f"FROM {t}") == as_json(kept)


@pytest.mark.slow
def test_fields_of_nested_columns(lab: Lab, same: Compare) -> None:
    t = lab.create("id int, s struct<a:int,b:struct<c:string,d:int>,e:array<struct<f:int,g:int>>>")
    lab.insert(
        t,
        """(1, struct(1, struct('x', 2), array(struct(3, 4), NULL))), (2, NULL),
        (3, struct(NULL, NULL, NULL)), (4, struct(5, struct(NULL, 6), array()))""",
    )
    for columns in ("s.b.d", "s.e.g", "s.a, s.b.c", "s.b", "id", "1", "row__id.rowid, s.e.f"):
        same(lab, columns, f"FROM {t}")
    same(lab, "id", f"FROM {t} WHERE s.b.d > 2")
    same(lab, "count(*)", f"FROM {t} WHERE s.e IS NULL")


@pytest.mark.slow
def test_columns_that_were_added_renamed_and_widened(lab: Lab, same: Compare) -> None:
    t = lab.create(
        "a int, b smallint, c float, d decimal(5,2), e varchar(3), f char(4), g int, h date",
        values="(1, 2S, 0.5, 1.25, 'xy', 'z', 7, DATE'2024-01-01'),"
        "(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    for change in (
        "CHANGE COLUMN a a bigint",
        "CHANGE COLUMN b b int",
        "CHANGE COLUMN c c double",
        "CHANGE COLUMN d d decimal(20,4)",
        "CHANGE COLUMN e e string",
        "CHANGE COLUMN g renamed int",
        "ADD COLUMNS (n string, s struct<x:int>, k decimal(9,3))",
    ):
        lab.sql(f"ALTER TABLE {t} {change}")
    same(lab, "*, row__id", f"FROM {t}")
    lab.insert(
        t,
        "(2, 3, 0.25D, 2.5, 'longer', 'y', 8, DATE'2024-01-02', 'new', struct(1), 4.125), "
        "(3, 3, 0.25D, 2.5, 'x', 'y', 8, NULL, NULL, struct(NULL), NULL)",
    )
    same(lab, "*, row__id", f"FROM {t}")
    for condition in (
        "a = 1", "b > 2", "c = 0.5", "d = 1.25", "e = 'xy'", "renamed = 7", "n IS NULL",
        "n = 'new'", "s.x = 1", "k IS NOT NULL", "f = 'z'", "h > DATE'2024-01-01' OR n = 'new'",
    ):  # fmt: skip
        same(lab, "*", f"FROM {t} WHERE {condition}")


@pytest.mark.slow
def test_values_of_partitions(lab: Lab, same: Compare) -> None:
    t = lab.create(
        "id int", partitioned="i int, s string, d date, m decimal(5,2), b boolean, t timestamp"
    )
    lab.sql(
        f"""INSERT INTO {t} VALUES
        (1, 1, 'a', DATE'2024-01-01', 1.50, true, TIMESTAMP'2024-01-01 10:00:00'),
        (2, 1, ' b=%/', DATE'0001-01-01', -1, false, TIMESTAMP'2024-01-01 10:00:00.5'),
        (3, NULL, NULL, NULL, NULL, NULL, NULL)"""
    )
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    assert len(same(lab, "*, row__id", f"FROM {t}")) == 2
    for condition in (
        "i = 1",
        "s IS NULL",
        "d = DATE'2024-01-01'",
        "m > 1",
        "i <=> NULL AND id > 1",
    ):
        same(lab, "id, s, t, b", f"FROM {t} WHERE {condition}")
    same(lab, "i, count(*)", f"FROM {t} GROUP BY i")


@pytest.mark.slow
def test_joins_choose_partitions_when_they_run(lab: Lab, same: Compare) -> None:
    t = lab.create("id int", partitioned="p int")
    values = ", ".join(f"({i}, {i % 12})" for i in range(60))
    lab.sql(f"INSERT INTO {t} VALUES {values}")
    small = lab.create("k int, name string", values="(3, 'x'), (5, 'y')")
    rest = f"FROM {t} JOIN {small} ON p = k WHERE name = 'x'"
    assert len(same(lab, "id, p, name", rest)) == 5
    assert len(same(lab, "a.id, b.id", f"FROM {t} a JOIN {t} b ON a.id = b.id WHERE a.p = 2")) == 5
    assert len(same(lab, "*", f"FROM {t} WHERE p IN (SELECT max(k) FROM {small})")) == 5


# Columns with NULL, repeated values and values of one run.
_COLUMNS = {
    "i": ("int", "IF(id % 7 = 0, NULL, id % 50)"),
    "one": ("int", "IF(id % 4000 < 2000, 1, NULL)"),
    "n": ("bigint", "CAST(id AS BIGINT) * 1000003 % 977"),
    "s": ("string", "IF(id % 11 = 0, NULL, concat('v', id % 30))"),
    "same": ("string", "IF(id < 3000, 'same', concat('x', id % 3))"),
    "m": ("decimal(9,2)", "IF(id % 5 = 0, NULL, id % 40 / 4)"),
    "w": ("decimal(25,3)", "id % 13"),
    "d": ("date", "IF(id % 6 = 0, NULL, date_add(DATE'2020-01-01', id % 60))"),
    "b": ("boolean", "IF(id % 3 = 0, NULL, id % 3 = 1)"),
    "t": ("tinyint", "id % 100"),
    "f": ("double", "IF(id % 9 = 0, double('NaN'), id % 8 / 2)"),
    "ts": ("timestamp", "timestamp_seconds(id % 70 * 3600)"),
    "v": ("varchar(5)", "concat('v', id % 10)"),
}
_LITERALS = {
    "i": ["0", "1", "7", "49", "60"],
    "one": ["1", "2"],
    "n": ["0", "100", "976", "CAST(NULL AS BIGINT)"],
    "s": ["'v1'", "'v29'", "''", "'\\uE000'"],
    "same": ["'same'", "'x1'", "'x2'"],
    "m": ["0.25", "1.00", "9.75", "20"],
    "w": ["0", "12.000", "12.5"],
    "d": ["DATE'2020-01-05'", "DATE'2020-02-20'", "DATE'1500-01-01'"],
    "b": ["true", "false"],
    "t": ["0Y", "50Y", "99Y"],
    "f": ["0.5D", "3D", "double('NaN')"],
    "ts": ["TIMESTAMP'1970-01-01 10:00:00'", "TIMESTAMP'1970-01-03 00:00:00'"],
    "v": ["'v1'", "'v9'"],
}


def condition(random: Random, depth: int = 0) -> str:
    """Return a random condition on ``_COLUMNS``."""
    if depth < 2 and random.random() < 0.45:
        parts = [condition(random, depth + 1) for _ in range(2)]
        joined = random.choice((" AND ", " OR ")).join(f"({part})" for part in parts)
        return f"NOT ({joined})" if random.random() < 0.15 else joined
    column = random.choice(list(_COLUMNS))
    literals = _LITERALS[column]
    kind = random.random()
    if kind < 0.15:
        return f"{column} IS {random.choice(('', 'NOT '))}NULL"
    if kind < 0.35:
        some = ", ".join(random.sample(literals, min(2, len(literals))))
        return f"{column} {random.choice(('', 'NOT '))}IN ({some})"
    if kind < 0.45:
        return f"{column} BETWEEN {random.choice(literals)} AND {random.choice(literals)}"
    operator = random.choice(("=", "=", "<", "<=", ">", ">=", "<>", "<=>"))
    return f"{column} {operator} {random.choice(literals)}"


@pytest.fixture(scope="module")
def filtered() -> dict[str, str]:
    """Return the table of ``_COLUMNS`` of each kind, once it was made."""
    return {}


def rows_of_conditions(lab: Lab) -> str:
    """Create the table of ``_COLUMNS``: several stripes and row groups, deletes and updates."""
    declared = ", ".join(f"{name} {kind}" for name, (kind, _) in _COLUMNS.items())
    t = lab.create(
        f"id int, {declared}, big array<string>",
        properties={"orc.row.index.stride": "1000", "orc.stripe.size": "65536"},
    )
    values = ", ".join(f"CAST({value} AS {kind})" for kind, value in _COLUMNS.values())
    source = "(SELECT CAST(id AS INT) AS id FROM range(0, 9000, 1, 1))"
    big = "array(concat('e', id), NULL)"
    lab.sql(f"INSERT INTO {t} SELECT id, {values}, {big} FROM {source}")
    lab.sql(f"DELETE FROM {t} WHERE id % 17 = 3 OR id BETWEEN 5000 AND 5600")
    lab.sql(f"UPDATE {t} SET i = i + 1 WHERE id % 40 = 9")
    return t


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(2, 60))
def test_random_conditions(lab: Lab, same: Compare, filtered: dict[str, str], seed: int) -> None:
    if "t" not in filtered:
        filtered["t"] = rows_of_conditions(lab)
    random = Random(seed)
    columns = ["*, row__id", "id", "s, same, big", "count(*), max(same), min(m), max(d), sum(n)"]
    with lab.settings(spark__sql__orc__columnarReaderBatchSize=str(random.choice((100, 1024)))):
        for _ in range(8):
            rest = f"FROM {filtered['t']} WHERE {condition(random)}"
            same(lab, random.choice(columns), rest)


@pytest.mark.slow
def test_originals_and_loaded_files(
    lab: Lab, same: Compare, tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("originals") / "t"
    lab.spark.range(0, 5000, 1, 1).selectExpr(
        "CAST(id AS INT) AS id", "concat('s', id) AS s"
    ).write.orc(str(place))
    (written,) = place.glob("part-*.orc")
    written.rename(place / "000000_0")
    for left in place.glob("*"):
        if left.name != "000000_0":
            left.unlink()
    for left in place.glob(".*"):
        left.unlink()
    t = lab.create("id int, s string")
    lab.sql(f"LOAD DATA INPATH '{place}/000000_0' INTO TABLE {t}")
    assert len(same(lab, "*, row__id", f"FROM {t}")) == 5000
    assert len(same(lab, "s, row__id", f"FROM {t} WHERE id = 4321")) == 1
    assert len(same(lab, "s", f"FROM {t} WHERE id > 4321")) == 678
    lab.sql(f"DELETE FROM {t} WHERE id % 10 = 3")
    assert len(same(lab, "*, row__id", f"FROM {t} WHERE id > 100")) == 4409


@pytest.mark.slow
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu", "+05:30"])
def test_local_times_in_the_session_s_zone(
    lab: Lab, new_lab: Callable[..., Lab], same: Compare, zone: str
) -> None:
    t = lab.create("id int, t timestamp, a array<timestamp>, d date")
    lab.sql(
        f"""INSERT INTO {t} SELECT id, t, array(t, NULL), CAST(t AS DATE) FROM (
        SELECT id, TIMESTAMP'1850-01-01 00:00:00.000001' + make_dt_interval(CAST(id AS INT) * 97,
        0, 0, CAST(id % 60 AS DECIMAL(8,6)) + 0.123456) AS t FROM range(800))"""
    )
    lab.insert(
        t,
        "(1000, TIMESTAMP'0001-01-01 00:00:00', NULL, DATE'0001-01-01'),"
        "(1001, TIMESTAMP'1582-10-04 12:00:00', NULL, DATE'1582-10-04'),"
        "(1002, TIMESTAMP'1582-10-15 12:00:00', NULL, DATE'1582-10-15'),"
        "(1003, TIMESTAMP'9999-12-31 23:59:59.999999', NULL, DATE'9999-12-31'),"
        "(1004, TIMESTAMP'1969-12-31 23:59:59.5', NULL, NULL)",
    )
    there = new_lab(spark__sql__session__timeZone=zone)
    same(there, "id, CAST(t AS STRING) AS t, CAST(a AS STRING) AS a, d", f"FROM {t}")
    same(there, "id", f"FROM {t} WHERE t > TIMESTAMP'1900-01-01 00:00:00'")


def test_deleted_rows_on_request(lab: Lab) -> None:
    t = lab.create("id int, s string", values="(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    lab.sql(f"UPDATE {t} SET s = 'new' WHERE id = 3")
    frame = acidsql.table(lab.spark, t, deleted_rows=True)
    shown = frame.select("id", "s", "row__id", "row__is__deleted").collect()
    assert sorted(map(tuple, shown)) == [
        (1, "a", (1, 536870912, 0), False),
        (2, "b", (2, 536870912, 1), True),  # the write id that has deleted it
        (3, "c", (3, 536870912, 2), True),
        (3, "new", (3, 536870912, 0), False),
        (4, "d", (1, 536870912, 3), False),
    ]
    assert sorted(map(tuple, frame.select("s").collect())) == [
        ("a",), ("b",), ("c",), ("d",), ("new",)
    ]  # fmt: skip
    assert [r.id for r in frame.where("row__is__deleted").orderBy("id").collect()] == [2, 3]


def test_a_table_made_anew_has_no_deletes_of_the_old_one(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2), (3)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert lab.rows(t) == [(2,), (3,)]
    for gone in (2, 3, 1):
        lab.sql(f"DROP TABLE {t}")
        lab.sql(f"CREATE TABLE {t} (id int) TBLPROPERTIES ('transactional'='true')")
        lab.insert(t, "(1), (2), (3)")
        lab.sql(f"DELETE FROM {t} WHERE id = {gone}")
        assert lab.rows(t) == [(i,) for i in (1, 2, 3) if i != gone]


def test_one_scan_of_two_that_are_equal_is_run(lab: Lab) -> None:
    t = lab.create("id int, s string", values="(1, 'a'), (2, 'b')")
    frame = lab.frame(
        f"SELECT * FROM (SELECT id % 2 AS k, count(*) AS c FROM {t} GROUP BY id % 2) a "
        f"JOIN (SELECT id % 2 AS k, count(*) AS c FROM {t} GROUP BY id % 2) b ON a.k = b.k"
    )
    assert sorted(map(tuple, frame.collect())) == [(0, 1, 0, 1), (1, 1, 1, 1)]
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "ReusedExchange" in plan or "ResultQueryStage" not in plan


def test_a_cached_frame_is_of_its_own_snapshot(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2)")
    before = lab.frame(f"SELECT * FROM {t}").cache()
    assert sorted(map(tuple, before.collect())) == [(1,), (2,)]
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert lab.rows(t) == [(2,)]
    assert sorted(map(tuple, before.collect())) == [(1,), (2,)]
    before.unpersist()


def test_the_file_of_a_row_is_known(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    ((path,),) = lab.sql(f"SELECT input_file_name() FROM {t}")
    assert path.endswith("/delta_0000001_0000001_0000/bucket_00000")


def test_functions_of_nested_values_see_their_nulls(lab: Lab) -> None:
    """Check NULL in maps and arrays where a function takes a value without asking if it is NULL.

    Over Spark's own ORC reader it is the value of another row.
    """
    values = "(1, map(1, map('a', 1)), array(array(1))), (2, map(2, NULL), array(NULL))"
    t = lab.create("id int, m map<int,map<string,int>>, a array<array<int>>", values=values)
    lab.sql(f"ALTER TABLE {t} ADD COLUMN s STRUCT<m: MAP<INT, INT>, a: ARRAY<INT>>")
    query = (
        "SELECT id, transform(map_entries(m), e -> size(map_keys(e.value))), "
        f"transform(a, e -> e[0]), map_entries(s.m), transform(s.a, e -> e + 1) FROM {t}"
    )
    assert sorted(lab.sql(query)) == [(1, [1], [1], None, None), (2, [None], [None], None, None)]
    entries = f"SELECT id, to_json(transform(map_entries(m), e -> map_entries(e.value))) FROM {t}"
    assert dict(lab.sql(entries)) == {1: '[[{"key":"a","value":1}]]', 2: "[null]"}
