"""MERGE of few rows into a target that is too large to be shuffled for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from acidsql import bridge
from acidsql.commands import row_level
from acidsql.errors import CardinalityError, WriteJobError

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def large_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_level, "_SHUFFLED_BYTES", -1)


@pytest.fixture
def joins(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ways in which MERGEs joined."""
    taken: list[str] = []
    for name in ("merged_rows", "merged_with_few"):
        own = getattr(bridge, name)

        def noted(*args: object, name: str = name, own: object = own) -> object:
            taken.append(name)
            return own(*args)  # type: ignore[operator]

        monkeypatch.setattr(bridge, name, noted)
    return taken


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
    assert joins == ["merged_with_few"]
    rows = lab.rows(t)
    assert sorted(row[0] for row in rows) == list(range(120))
    assert all(u == v and (u == "old") == (id_ < 90) for id_, u, v in rows)


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
    assert joins == ["merged_with_few"]
    assert sorted(id_ for id_, u, _ in lab.rows(t) if u == "new") == [8, 9, 10, 11]


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
    monkeypatch.setattr(row_level, "_SHUFFLED_BYTES", 16 * 1024 * 1024)
    assert lab.sql(_upsert(t, source)) == [(4, 4, 0, 0)]
    assert joins == ["merged_rows"] * 3


def test_nothing_of_an_explained_merge_runs(lab: Lab, joins: list[str]) -> None:
    t = lab.create("id bigint, u string, v string", values="(1, 'old', 'old')")
    source = "SELECT id, raise_error('run') AS u FROM range(1, 3)"
    assert "RightOuter" in lab.sql(f"EXPLAIN {_upsert(t, source)}")[0][0]
    assert joins == ["merged_rows"]
    before = lab.state(t)
    with pytest.raises((PySparkException, WriteJobError), match="run"):
        lab.sql(_upsert(t, source))
    assert lab.state(t) == before
