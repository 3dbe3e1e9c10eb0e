"""Tests of FROM … INSERT … INSERT …: one transaction and snapshot, one statement id per branch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.format.bucket_codec import encode
from tests.product.conditions import condition
from tests.product.test_layout import check_files

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

SOURCE = "VALUES (1, 'a', 'x'), (2, 'b', 'x'), (3, 'c', 'y') AS s(id, v, p)"


def test_two_branches_into_one_partition(lab: Lab) -> None:
    """Check that all rows are kept, and that row ids differ in the statement id, as in Hive."""
    t = lab.create("id int, v string", partitioned="p string")
    counts = lab.sql(
        f"FROM {SOURCE} INSERT INTO {t} PARTITION (p) SELECT id, v, p WHERE id < 3 "
        f"INSERT INTO TABLE {t} PARTITION (p) SELECT id + 10, upper(v), p"
    )
    assert counts == [(5, 5)]
    rows = [(1, "a", "x"), (11, "A", "x"), (12, "B", "x"), (13, "C", "y"), (2, "b", "x")]
    assert lab.rows(t) == rows
    assert sorted(p.name for p in (lab.root(t) / "p=x").iterdir()) == [
        "delta_0000001_0000001_0000",
        "delta_0000001_0000001_0001",
    ]
    assert [p.name for p in (lab.root(t) / "p=y").iterdir()] == ["delta_0000001_0000001_0001"]
    check_files(lab, t, ("id", "v"))
    assert len(lab.rows(t, "DISTINCT row__id, p")) == 5
    lab.sql(f"DELETE FROM {t} WHERE id IN (2, 12)")
    assert lab.rows(t, "id") == [(1,), (11,), (13,)]


def test_a_minor_compaction_merges_the_branches(lab: Lab) -> None:
    t = lab.create("id int")
    lab.sql(f"FROM {SOURCE} INSERT INTO {t} SELECT id INSERT INTO {t} SELECT id + 10")
    before = lab.rows(t, "row__id, id")
    assert len(before) == 6
    entry = lab.compact(t, "minor")
    assert entry.state == "succeeded"
    assert lab.directories(t) == [f"delta_0000001_0000001_v{entry.txnid:07d}"]
    assert lab.rows(t, "row__id, id") == before


def test_all_branches_have_one_time(lab: Lab) -> None:
    t, u = lab.create("at timestamp"), lab.create("at timestamp")
    lab.sql(
        f"FROM VALUES (1) AS s(id) INSERT INTO {t} SELECT current_timestamp() "
        f"INSERT INTO {u} SELECT now() INSERT INTO {u} SELECT current_timestamp()"
    )
    assert lab.sql(f"SELECT count(*), count(DISTINCT at) FROM (TABLE {t} UNION ALL TABLE {u})") == [
        (3, 1)
    ]


def test_several_tables_and_one_without_partitions_twice(lab: Lab) -> None:
    t, u = lab.create("id int", values="(0)"), lab.create("v string, id int")
    lab.sql(
        f"WITH c AS (SELECT * FROM {SOURCE}) FROM c INSERT INTO {t} SELECT /*+ COALESCE(1) */ id "
        f"INSERT OVERWRITE {u} (id, v) SELECT id, v WHERE id > 1 "
        f"INSERT INTO {t} SELECT /*+ COALESCE(1) */ id + (SELECT max(id) FROM {t}) * 100 + 10"
    )
    assert lab.rows(t, "id, row__id") == [
        (0, (1, encode(0, 0), 0)),
        (1, (2, encode(0, 0), 0)),
        (11, (2, encode(0, 1), 0)),
        (12, (2, encode(0, 1), 1)),
        (13, (2, encode(0, 1), 2)),
        (2, (2, encode(0, 0), 1)),
        (3, (2, encode(0, 0), 2)),
    ]
    assert lab.rows(u) == [("b", 2), ("c", 3)]
    assert [name[:12] for name in lab.directories(u)] == ["base_0000001"]


def test_overwrites_of_a_partition_each(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p string", values="(7, 'x'), (8, 'y'), (9, 'z')")
    lab.sql(
        f"FROM {SOURCE} INSERT OVERWRITE {t} PARTITION (p = 'x') SELECT id WHERE p = 'x' "
        f"INSERT OVERWRITE {t} PARTITION (p = 'y') SELECT id WHERE id > 5 "
        f"INSERT OVERWRITE {t} PARTITION (p = 'z') IF NOT EXISTS SELECT id"
    )
    assert lab.rows(t) == [(1, "x"), (2, "x"), (9, "z")]


@pytest.mark.slow
def test_all_or_nothing(lab: Lab, before_commit: Callable[[Callable[[], Any]], None]) -> None:
    t, u = lab.create("id int", values="(0)"), lab.create("id int", partitioned="p string")
    before = lab.state(t), lab.state(u)
    text = f"FROM {SOURCE} INSERT INTO {t} SELECT id INSERT INTO {u} SELECT {{}}, p"
    assert condition(lab, text.format("1 / (id - 3)")) == "DIVIDE_BY_ZERO"
    assert (lab.state(t), lab.state(u)) == before

    def fail() -> None:
        raise KeyboardInterrupt

    before_commit(fail)
    with pytest.raises(KeyboardInterrupt):
        lab.sql(text.format("id"))
    assert (lab.state(t), lab.state(u)) == before
    lab.sql(text.format("id"))
    assert len(lab.rows(t)) == 4
    assert len(lab.rows(u)) == 3


@pytest.mark.slow
def test_what_could_not_be_done_as_one_is_refused(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p string", values="(7, 'x')")
    lab.sql("CREATE TABLE multi_plain (id int) USING orc")
    before = lab.state(t)
    mixed = "UNSUPPORTED_FEATURE.MULTI_INSERT_MIXED"
    overlapping = "UNSUPPORTED_FEATURE.MULTI_INSERT_OVERWRITE"
    for branches, expected in {
        f"INSERT INTO {t} SELECT id, p INSERT INTO multi_plain SELECT id": mixed,
        f"INSERT INTO {t} SELECT id, p INSERT OVERWRITE DIRECTORY '/x' SELECT id": mixed,
        f"INSERT OVERWRITE {t} SELECT id, p INSERT INTO {t} SELECT id, p": overlapping,
        f"INSERT OVERWRITE {t} SELECT id, p INSERT OVERWRITE {t} SELECT id, p": overlapping,
        f"INSERT OVERWRITE {t} PARTITION (p = 'a') SELECT id "
        f"INSERT OVERWRITE {t} PARTITION (p = 'a') SELECT id": overlapping,
    }.items():
        assert condition(lab, f"FROM {SOURCE} {branches}") == expected
    assert lab.state(t) == before
    lab.sql(
        "FROM (SELECT 5 AS id) s INSERT INTO multi_plain SELECT id INSERT INTO multi_plain "
        "SELECT id + 1"
    )
    assert lab.rows("multi_plain") == [(5,), (6,)]
    lab.sql("DROP TABLE multi_plain")
