"""Tests of MERGE of few rows into a target that is too large to be read and shuffled for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyorc
import pytest
from pyspark.errors import PySparkException

from acidsql import bridge
from acidsql.commands import merge
from acidsql.errors import CardinalityError, WriteJobError
from acidsql.planning.merge_keys import Key, source_keys
from tests.limits import set_limits

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def large_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, merge_shuffle_bytes=-1)


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record how MERGEs join."""
    taken: list[str] = []
    for name in ("merge_join", "merge_with_broadcast_source"):
        own = getattr(bridge, name)

        def noted(*args: object, name: str = name, own: object = own) -> object:
            taken.append(name)
            return own(*args)  # type: ignore[operator]

        monkeypatch.setattr(bridge, name, noted)
    return taken


@pytest.fixture
def conditions(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record the conditions on the target that MERGEs derive from their sources."""
    found: list[str] = []

    def noted(*args: Any) -> list[Key]:
        own = source_keys(*args)
        found.extend(key.condition.text for key in own)
        return own

    monkeypatch.setattr(merge, "source_keys", noted)
    return found


def _upsert(t: str, source: str) -> str:
    return (
        f"MERGE INTO {t} AS a USING ({source}) AS b ON a.id = b.id "
        "WHEN MATCHED THEN UPDATE SET u = b.u, v = b.u "
        "WHEN NOT MATCHED THEN INSERT VALUES (b.id, b.u, b.u)"
    )


def test_the_source_is_computed_once(lab: Lab, joins: list[str]) -> None:
    t = lab.create("id bigint, u string, v string")
    lab.sql(f"INSERT INTO {t} SELECT id, 'old', 'old' FROM range(100)")
    counts = lab.sql(_upsert(t, "SELECT id, uuid() AS u FROM range(90, 120)"))
    assert counts == [(30, 10, 0, 20)]
    assert joins == ["merge_with_broadcast_source"]
    rows = lab.rows(t)
    assert sorted(row[0] for row in rows) == list(range(120))
    assert all(u == v and (u == "old") == (id_ < 90) for id_, u, v in rows)


@pytest.mark.slow
def test_rows_of_the_source_may_be_alike(lab: Lab) -> None:
    t = lab.create("id bigint, u string, v string")
    lab.sql(f"INSERT INTO {t} VALUES (1, 'old', 'old')")
    source = "SELECT * FROM VALUES (2L, 'x'), (2L, 'x'), (NULL, 'n'), (1L, 'y') AS s(id, u)"
    assert lab.sql(_upsert(t, source)) == [(4, 1, 0, 3)]
    assert sorted(map(repr, lab.rows(t))) == sorted(
        map(repr, [(1, "y", "y"), (2, "x", "x"), (2, "x", "x"), (None, "n", "n")])
    )
    with pytest.raises(CardinalityError, match="MERGE_CARDINALITY_VIOLATION"):
        lab.sql(_upsert(t, "SELECT * FROM VALUES (1L, 'x'), (1L, 'z') AS s(id, u)"))


def test_any_condition_joins(lab: Lab, joins: list[str]) -> None:
    t = lab.create("id bigint, u string, v string")
    lab.sql(f"INSERT INTO {t} SELECT id, string(id), 'old' FROM range(10)")
    text = _upsert(t, "SELECT id, 'new' AS u FROM range(8, 12)")
    assert lab.sql(text.replace("a.id = b.id", "a.id > b.id - 1 AND a.id <= b.id")) == [
        (4, 2, 0, 2)
    ]
    assert joins == ["merge_with_broadcast_source"]
    assert sorted(id_ for id_, u, _ in lab.rows(t) if u == "new") == [8, 9, 10, 11]


@pytest.mark.slow
def test_sources_that_are_not_few_and_other_joins_go_the_common_way(
    lab: Lab, joins: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id bigint, u string, v string")
    lab.sql(f"INSERT INTO {t} SELECT id, 'old', 'old' FROM range(10)")
    source = "SELECT id, 'new' AS u FROM range(8, 12)"
    with lab.settings(spark__sql__autoBroadcastJoinThreshold="-1"):
        assert lab.sql(_upsert(t, source)) == [(4, 2, 0, 2)]
    deleting = " WHEN NOT MATCHED BY SOURCE THEN DELETE"
    assert lab.sql(_upsert(t, source) + deleting) == [(12, 4, 8, 0)]
    set_limits(monkeypatch, merge_shuffle_bytes=16 * 1024 * 1024)
    assert lab.sql(_upsert(t, source)) == [(4, 4, 0, 0)]
    assert joins == ["merge_join"] * 3


@pytest.mark.repeated
def test_few_rows_of_a_source_that_seems_large_are_held(lab: Lab, joins: list[str]) -> None:
    """Check a source with a filter; Spark assumes that it keeps all rows."""
    t = lab.create("id bigint, u string, v string")
    lab.sql(f"INSERT INTO {t} SELECT id, uuid(), 'old' FROM range(40000)")
    s = lab.create("id bigint, u string, w bigint")
    lab.sql(f"INSERT INTO {s} SELECT id, uuid(), id % 10000 FROM range(20000)")
    newest = f"SELECT * FROM {s} WHERE w = 7"
    with lab.settings(spark__sql__autoBroadcastJoinThreshold="1000"):
        assert lab.sql(_upsert(t, newest)) == [(2, 2, 0, 0)]
        assert joins == ["merge_with_broadcast_source"]
        assert lab.sql(_upsert(t, f"SELECT * FROM {s} WHERE w < 1000")) == [(2000, 2000, 0, 0)]
        assert joins == ["merge_with_broadcast_source", "merge_join"]
        # More is read of this source than of its target: it is not read twice.
        text = f"SELECT id, u FROM {t} WHERE id = 7"
        assert lab.sql(
            _upsert(s, text).replace("v = b.u", "w = 0").replace("b.u, b.u)", "b.u, 0)")
        ) == [(1, 1, 0, 0)]
        assert joins == ["merge_with_broadcast_source", "merge_join", "merge_join"]


def test_nothing_of_an_explained_merge_runs(lab: Lab, joins: list[str]) -> None:
    t = lab.create("id bigint, u string, v string", values="(1, 'old', 'old')")
    source = "SELECT id, raise_error('run') AS u FROM range(1, 3)"
    assert "RightOuter" in lab.sql(f"EXPLAIN {_upsert(t, source)}")[0][0]
    assert joins == ["merge_join"]
    before = lab.state(t)
    with pytest.raises((PySparkException, WriteJobError), match="run"):
        lab.sql(_upsert(t, source))
    assert lab.state(t) == before


def _damage(lab: Lab, t: str, partition: str) -> None:
    """Make the rows of a partition unreadable."""
    (file,) = (lab.root(t) / partition).glob("*/bucket_*")
    content = bytearray(file.read_bytes())
    with file.open("rb") as stream:
        for stripe in pyorc.Reader(stream).iter_stripes():
            end = stripe.bytes_offset + stripe.bytes_length
            content[stripe.bytes_offset : end] = b"\xff" * stripe.bytes_length
    file.write_bytes(content)


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("inserting", [True, False])
def test_partitions_without_keys_of_the_source_are_not_read(lab: Lab, inserting: bool) -> None:
    t = lab.create("id int, v string", partitioned="p date, q string")
    lab.sql(
        f"INSERT INTO {t} SELECT CAST(id AS int), 'old', date_add(DATE'2024-02-28', "
        'CAST(id % 4 AS int)), IF(id % 4 = 3, NULL, "q\'é") FROM range(0, 20, 1, 1)'
    )
    _damage(lab, t, "p=2024-02-28/q=q%27é")
    _damage(lab, t, "p=2024-03-02/q=__HIVE_DEFAULT_PARTITION__")
    source = (
        "SELECT * FROM VALUES (1L, DATE'2024-02-29', \"q'é\"), (2L, DATE'2024-03-01', \"q'é\"), "
        "(0L, DATE'2024-03-01', \"q'é\"), (3L, DATE'2024-03-02', NULL) AS s(id, p, q)"
    )
    merge = (
        f"MERGE INTO {t} AS a USING ({source}) AS b ON a.p = b.p AND a.id = b.id AND b.q = a.q "
        "WHEN MATCHED AND a.id = 1 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 'new'"
    )
    if inserting:
        merge += " WHEN NOT MATCHED THEN INSERT VALUES (b.id, 'added', DATE'2030-01-01', 'q')"
    assert lab.sql(merge) == [(4, 1, 1, 2) if inserting else (2, 1, 1, 0)]
    kept = lab.sql(f"SELECT id, v FROM {t} WHERE p IN ('2024-02-29', '2024-03-01', '2030-01-01')")
    changed = [(0, "added"), (2, "new"), (3, "added")] if inserting else [(2, "new")]
    assert sorted((id_, v) for id_, v in kept if v != "old") == changed
    assert len(kept) == 7 + len(changed) + 1


KEYS = {
    "tinyint": "id % 256 - 128",
    "smallint": "-id",
    "int": "id - 5000",
    "bigint": "IF(id = 7, -9223372036854775807 - 1, id * 1000000007)",
    "date": "date_from_unix_date(CAST(id * 300 AS int) - 719000)",
    "string": "concat(id, chr(10), chr(id % 250), chr(39), chr(92), chr(34))",
    "decimal(12,3)": "(5000 - id) / 8",
    "char(6)": "rpad(id, 6, ' ')",
    "double": "id / 3",
    "timestamp": "timestamp_seconds(id * 86399)",
}


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("chosen", ["id IN (77, 78, 90, 7, 9050)", "id % 3 = 1"])
@pytest.mark.parametrize("kind", KEYS)
def test_keys_of_any_type_find_their_rows(
    lab: Lab, kind: str, chosen: str, conditions: list[str]
) -> None:
    value = f"CAST({KEYS[kind]} AS {kind})"
    t = lab.create(f"k {kind}, u string")
    lab.sql(f"INSERT INTO {t} SELECT DISTINCT {value}, 'old' FROM range(9000)")
    old = {row[0] for row in lab.rows(t, "k")}
    found = f"SELECT DISTINCT {value} AS k FROM range(9100) WHERE {chosen}"
    keys = {row[0] for row in lab.sql(found)}
    counts = lab.sql(
        f"MERGE INTO {t} AS a USING ({found} UNION ALL SELECT NULL) AS b ON b.k = a.k "
        "WHEN MATCHED THEN UPDATE SET u = 'new' WHEN NOT MATCHED THEN INSERT VALUES (b.k, 'added')"
    )
    is_compared = kind not in ("char(6)", "double", "timestamp")
    is_range = len(keys) > 1000
    assert bool(conditions) == is_compared
    assert all((" IN " in text) != is_range for text in conditions)
    rows = lab.rows(t)
    assert {k for k, u in rows if u == "new"} == keys & old
    assert {k for k, u in rows if u == "added"} == (keys - old) | {None}
    added = len(keys - old) + 1
    assert counts == [(len(keys & old) + added, len(keys & old), 0, added)]
    assert len(rows) == len(old) + added


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "source",
    [
        "SELECT id, 'n' AS u FROM range(2, 502)",
        "SELECT id, 'n' AS u FROM range(20000, 21500)",
        "SELECT id, 'n' AS u FROM range(0, 40000, 20)",
    ],
)
def test_many_keys(lab: Lab, source: str) -> None:
    t = lab.create("id bigint, u string, v string")
    lab.sql(f"INSERT INTO {t} SELECT id, 'old', 'old' FROM range(0, 40000, 1, 1)")
    number = lab.sql(f"SELECT count(*) FROM ({source})")[0][0]
    assert lab.sql(_upsert(t, source)) == [(number, number, 0, 0)]
    assert lab.sql(f"SELECT count(*), min(id) FROM {t} WHERE u = 'n' AND v = 'n'") == [
        (number, lab.sql(f"SELECT min(id) FROM ({source})")[0][0])
    ]


@pytest.mark.repeated
def test_keys_of_other_types_and_expressions(lab: Lab) -> None:
    t = lab.create("id int, u string, v string")
    lab.sql(f"INSERT INTO {t} SELECT CAST(id AS int), string(id), 'old' FROM range(3000)")
    source = "SELECT * FROM VALUES (5L, 'n'), (3000L, 'far'), (2999L, 'm') AS s(id, u)"
    assert lab.sql(_upsert(t, source)) == [(3, 2, 0, 1)]
    source = "SELECT * FROM VALUES (8L, 'new'), (9000000000, 'x') AS s(id, u)"
    text = _upsert(t, source).replace("a.id = b.id", "a.id + 1 = b.id AND a.u = string(b.id - 1)")
    assert lab.sql(text.replace("VALUES (b.id,", "VALUES (-1,")) == [(2, 1, 0, 1)]
    assert [row for row in lab.rows(t) if row[1] in ("new", "x")] == [
        (-1, "x", "x"),
        (7, "new", "new"),
    ]


def test_a_source_without_rows_or_keys(lab: Lab) -> None:
    t = lab.create("id bigint, u string, v string", values="(1, 'old', 'old')")
    assert lab.sql(_upsert(t, "SELECT id, 'x' AS u FROM range(0)")) == [(0, 0, 0, 0)]
    assert lab.sql(_upsert(t, "SELECT CAST(NULL AS bigint) AS id, 'x' AS u")) == [(1, 0, 0, 1)]
    assert lab.rows(t) == [(1, "old", "old"), (None, "x", "x")]
