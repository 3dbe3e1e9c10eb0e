"""ALTER TABLE … PARTITION: the metastore and the directories after each statement."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.product.conditions import condition
from tests.product.test_layout import expected_tree

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

BeforeCommit = Callable[[Callable[[], Any]], None]


def partitions(lab: Lab, table: str) -> list[str]:
    """Return the names of a table's partitions."""
    return [name for (name,) in lab.sql(f"SHOW PARTITIONS {table}")]


@pytest.fixture
def t(lab: Lab) -> str:
    """Return a table with partitions on two levels."""
    name = lab.create("v int", partitioned="p int, q string")
    lab.insert(name, "(1, 1, 'a'), (2, 1, 'b'), (3, 2, 'a')")
    return name


def test_add_partitions(lab: Lab, t: str, tmp_path: Path) -> None:
    lab.sql(
        f"ALTER TABLE {t} ADD PARTITION (p = 3, q = 'x/y') "
        f"PARTITION (q = 'far', p = 4) LOCATION '{tmp_path}/far'"
    )
    assert partitions(lab, t) == ["p=1/q=a", "p=1/q=b", "p=2/q=a", "p=3/q=x%2Fy", "p=4/q=far"]
    assert (lab.root(t) / "p=3" / "q=x%2Fy").is_dir()
    assert (tmp_path / "far").is_dir()
    lab.insert(t, "(4, 3, 'x/y'), (5, 4, 'far')")
    lab.sql(f"DELETE FROM {t} WHERE v < 4")
    assert lab.rows(t) == [(4, 3, "x/y"), (5, 4, "far")]
    assert [path.name for path in (tmp_path / "far").iterdir()] == ["delta_0000003_0000003_0000"]
    assert not (lab.root(t) / "p=4").exists()
    assert lab.rows(t, "row__id.writeid") == [(3,), (3,)]


def test_add_partitions_that_exist(lab: Lab, t: str) -> None:
    add = f"ALTER TABLE {t} ADD {{}} PARTITION (p = 1, q = 'a') PARTITION (p = 9, q = 'z')"
    before = lab.state(t)
    assert condition(lab, add.format("")) == "PARTITIONS_ALREADY_EXIST"
    assert lab.state(t) == before
    lab.sql(add.format("IF NOT EXISTS"))
    assert partitions(lab, t) == ["p=1/q=a", "p=1/q=b", "p=2/q=a", "p=9/q=z"]
    assert lab.rows(t) == [(1, 1, "a"), (2, 1, "b"), (3, 2, "a")]


@pytest.mark.slow
def test_places_that_a_partition_cannot_have(lab: Lab, t: str, tmp_path: Path) -> None:
    other = lab.create("v int", values="(1)")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "000000_0").write_bytes(b"x")
    add = f"ALTER TABLE {t} ADD PARTITION (p = 8, q = 'z') LOCATION '{{}}'"
    before = lab.state(t), lab.state(other)
    for place, expected in {
        f"{tmp_path}/full": "PARTITION_LOCATION_NOT_EMPTY",
        f"{lab.root(other)}": "LOCATION_IN_USE",
        f"{lab.root(other)}/below": "LOCATION_IN_USE",
        f"{lab.root(t)}": "LOCATION_IN_USE",
        f"{lab.root(t)}/p=1/q=a": "LOCATION_IN_USE",
        f"{lab.root(t)}/p=1": "LOCATION_IN_USE",
        f"{lab.root(t)}/..": "LOCATION_IN_USE",
    }.items():
        assert condition(lab, add.format(place)) == expected, place
    stray = lab.root(t) / "p=8" / "q=z"
    (stray / "delta_0000001_0000001_0000").mkdir(parents=True)
    text = f"ALTER TABLE {t} ADD PARTITION (p = 8, q = 'z')"
    assert condition(lab, text) == "PARTITION_LOCATION_NOT_EMPTY"
    (stray / "delta_0000001_0000001_0000").rmdir()
    stray.rmdir()
    stray.parent.rmdir()
    assert (lab.state(t), lab.state(other)) == before


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "text",
    [
        "ADD PARTITION (p = 1)",
        "ADD PARTITION (p = 1, q)",
        "ADD PARTITION (p = 1, q = 'z', r = 1)",
        "DROP PARTITION (r = 1)",
        "DROP PARTITION (p = 9)",
        "DROP PARTITION (p = 1), PARTITION (p = 9)",
        "DROP PARTITION (p > 1), PARTITION (p < 1)",
        "DROP PARTITION (p > 1, q > 'a')",
        "DROP PARTITION (r < 1)",
        "DROP PARTITION (p < NULL)",
        "PARTITION (p = 9, q = 'a') RENAME TO PARTITION (p = 1, q = 'z')",
        "PARTITION (p = 1) RENAME TO PARTITION (p = 1, q = 'z')",
        "PARTITION (p = 1, q = 'a') RENAME TO PARTITION (p = 1)",
    ],
)
def test_specifications_that_name_no_partition(lab: Lab, t: str, text: str) -> None:
    before = lab.state(t)
    assert condition(lab, f"ALTER TABLE {t} {text}") == "PARTITIONS_NOT_FOUND"
    assert lab.state(t) == before


def test_a_table_without_partitions_has_none_to_alter(lab: Lab) -> None:
    t = lab.create("v int", values="(1)")
    before = lab.state(t)
    for text in (
        "ADD PARTITION (p = 1)",
        "DROP PARTITION (p = 1)",
        "DROP IF EXISTS PARTITION (p=1)",
        "DROP IF EXISTS PARTITION (p < 1)",
    ):
        assert condition(lab, f"ALTER TABLE {t} {text}") == "PARTITIONS_NOT_FOUND"
    assert lab.state(t) == before


def test_drop_partitions_removes_their_files(lab: Lab, t: str, tmp_path: Path) -> None:
    lab.sql(f"ALTER TABLE {t} ADD PARTITION (p = 4, q = 'far') LOCATION '{tmp_path}/far'")
    lab.insert(t, "(4, 4, 'far')")
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = 1), PARTITION (p = 4, q = 'far') PURGE")
    assert partitions(lab, t) == ["p=2/q=a"]
    assert lab.rows(t) == [(3, 2, "a")]
    delta = [f"p=2/q=a/{path}" for path in expected_tree("delta_0000001_0000001_0000")]
    assert lab.tree(t) == sorted(["p=2/", "p=2/q=a/", *delta])
    assert list(tmp_path.iterdir()) == []
    lab.insert(t, "(9, 1, 'a')")
    assert lab.rows(t, "v, row__id.writeid") == [(3, 1), (9, 5)]
    assert lab.sql(f"ALTER TABLE {t} DROP IF EXISTS PARTITION (p = 7)") == []
    assert partitions(lab, t) == ["p=1/q=a", "p=2/q=a"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ("(p < 10)", ["p=10/q=a", "p=__HIVE_DEFAULT_PARTITION__/q=b"]),
        (
            "(p <= 2, q <> 'a')",
            ["p=1/q=a", "p=10/q=a", "p=2/q=a", "p=__HIVE_DEFAULT_PARTITION__/q=b"],
        ),
        (
            "(P >= 2, p != 10)",
            ["p=1/q=a", "p=1/q=b", "p=10/q=a", "p=__HIVE_DEFAULT_PARTITION__/q=b"],
        ),
        ("(p > 1, q), PARTITION (q > 'a')", ["p=1/q=a"]),
        (
            "(p == 1, q = 'a')",
            ["p=1/q=b", "p=10/q=a", "p=2/q=a", "p=__HIVE_DEFAULT_PARTITION__/q=b"],
        ),
        ("(p > 1, q = 'a'), PARTITION (p = 1)", ["p=__HIVE_DEFAULT_PARTITION__/q=b"]),
    ],
)
def test_drop_of_partitions_that_meet_comparisons(
    lab: Lab, t: str, filters: str, left: list[str]
) -> None:
    lab.insert(t, "(4, 10, 'a'), (5, NULL, 'b')")
    rows = {(1, 1, "a"), (2, 1, "b"), (3, 2, "a"), (4, 10, "a"), (5, None, "b")}
    lab.sql(f"ALTER TABLE {t} DROP PARTITION {filters}")
    assert partitions(lab, t) == left
    kept = {row for row in rows if f"p={row[1] or '__HIVE_DEFAULT_PARTITION__'}/q={row[2]}" in left}
    assert set(lab.rows(t)) == kept
    assert sorted(f"{p.parent.name}/{p.name}" for p in lab.root(t).glob("p=*/q=*")) == sorted(left)
    lab.sql(f"ALTER TABLE {t} DROP IF EXISTS PARTITION (p > 99)")
    assert partitions(lab, t) == left


def test_drop_compares_with_the_type_of_the_column(lab: Lab) -> None:
    t = lab.create("v int", partitioned="id date")
    lab.insert(t, "(1, DATE'2024-01-09'), (2, DATE'2024-01-10'), (3, DATE'2024-02-01')")
    with lab.settings(spark__sql__ansi__enabled="true"):
        failed = condition(lab, f"ALTER TABLE {t} DROP PARTITION (id < 'soon')")
    assert failed == "CAST_INVALID_INPUT"
    assert len(lab.rows(t)) == 3
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (id < '2024-1-10')")
    assert partitions(lab, t) == ["id=2024-01-10", "id=2024-02-01"]
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (id >= DATE'2024-02-01')")
    assert partitions(lab, t) == ["id=2024-01-10"]


def test_drop_of_a_partition_whose_directory_is_gone(lab: Lab, t: str) -> None:
    lab.sql(f"ALTER TABLE {t} ADD PARTITION (p = 5, q = 'e')")
    (lab.root(t) / "p=5" / "q=e").rmdir()
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (p = 5)")
    assert partitions(lab, t) == ["p=1/q=a", "p=1/q=b", "p=2/q=a"]


@pytest.mark.slow
def test_rename_partition_takes_the_directory_along(lab: Lab, t: str) -> None:
    lab.sql(f"DELETE FROM {t} WHERE v = 2")
    lab.sql(f"ALTER TABLE {t} PARTITION (p = 2, q = 'a') RENAME TO PARTITION (p = 3, q = NULL)")
    assert partitions(lab, t) == [
        "p=1/q=a",
        "p=1/q=b",
        "p=3/q=__HIVE_DEFAULT_PARTITION__",
    ]
    assert lab.rows(t) == [(1, 1, "a"), (3, 3, None)]
    assert not (lab.root(t) / "p=2").exists()
    lab.insert(t, "(9, 3, NULL), (8, 2, 'a')")
    lab.sql(f"UPDATE {t} SET v = v + 100 WHERE p = 3")
    assert lab.rows(t) == [(1, 1, "a"), (103, 3, None), (109, 3, None), (8, 2, "a")]
    rename = f"ALTER TABLE {t} PARTITION (p = 1, q = 'a') RENAME TO PARTITION (p = 1, q = 'b')"
    before = lab.state(t)
    assert condition(lab, rename) == "PARTITIONS_ALREADY_EXIST"
    assert lab.state(t) == before


def test_a_partition_elsewhere_stays_there_when_renamed(lab: Lab, t: str, tmp_path: Path) -> None:
    lab.sql(f"ALTER TABLE {t} ADD PARTITION (p = 4, q = 'far') LOCATION '{tmp_path}/far'")
    lab.insert(t, "(4, 4, 'far')")
    lab.sql(f"ALTER TABLE {t} PARTITION (p = 4, q = 'far') RENAME TO PARTITION (p = 5, q = 'f')")
    assert lab.rows(t)[-1] == (4, 5, "f")
    assert (tmp_path / "far" / "delta_0000003_0000003_0000").is_dir()


def test_a_rename_onto_files_that_lie_there_is_refused(lab: Lab, t: str) -> None:
    stray = lab.root(t) / "p=2" / "q=z"
    stray.mkdir()
    (stray / "file").touch()
    before = lab.state(t)
    rename = f"ALTER TABLE {t} PARTITION (p = 2, q = 'a') RENAME TO PARTITION (p = 2, q = 'z')"
    assert condition(lab, rename) == "PATH_ALREADY_EXISTS"
    assert lab.state(t) == before


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "text",
    [
        "ADD PARTITION (p = 7, q = 'g')",
        "DROP PARTITION (p = 1)",
        "PARTITION (p = 1, q = 'a') RENAME TO PARTITION (p = 6, q = 'f')",
        "ADD COLUMNS (n int)",
        "ADD COLUMNS (n int) CASCADE",
        "SET TBLPROPERTIES ('k' = 'v')",
        "RENAME TO {t}_renamed",
    ],
)
def test_an_alteration_that_fails_leaves_the_table(
    lab: Lab, t: str, before_commit: BeforeCommit, text: str
) -> None:
    definition = lab.session.metastore.table("default", t)
    known = lab.session.metastore.partitions("default", t)
    before = lab.state(t)

    def fail() -> None:
        raise KeyboardInterrupt

    before_commit(fail)
    with pytest.raises(KeyboardInterrupt):
        lab.sql(f"ALTER TABLE {t} {text.format(t=t)}")
    assert lab.state(t) == before
    assert lab.session.metastore.table("default", t) == definition
    assert lab.session.metastore.partitions("default", t) == known


def test_an_alteration_waits_for_a_writer(
    lab: Lab, other: Lab, t: str, before_commit: BeforeCommit
) -> None:
    seen: list[str] = []
    with other.settings(spark__acidsql__lock__timeout="0.2"):
        session = other.session

    def alter() -> None:
        texts = ("DROP PARTITION (p = 1)", "ADD COLUMNS (n int)")
        seen.extend(condition(other, f"ALTER TABLE {t} {text}") for text in texts)

    before_commit(alter)
    lab.insert(t, "(5, 1, 'a')")
    assert session.settings.lock_timeout == 0.2
    assert seen == ["LOCK_TIMEOUT", "LOCK_TIMEOUT"]
    assert len(lab.rows(t)) == 4
