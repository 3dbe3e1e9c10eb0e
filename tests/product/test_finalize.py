"""Delete events are finalised by the driver or by a Spark job, to the same files."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import CardinalityError
from acidsql.injection_points import Point, attached
from tests.limits import set_limits
from tests.product.evidence import last_execution, plans_since, sorted_files

if TYPE_CHECKING:
    from acidsql.storage.finalize import Staging
    from acidsql.storage.staging_place import StagedFile
    from tests.product.conftest import AcidFile, Lab

pytestmark = pytest.mark.spark


def hive_items(file: AcidFile) -> dict[str, str]:
    return {k: v for k, v in file.metadata.items() if k.startswith("hive.")}


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("clustered", ["", "(id) INTO 2 BUCKETS"])
def test_delete_files_do_not_depend_on_where_events_are_staged_and_settled(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, clustered: str
) -> None:
    staged: list[StagedFile] = []

    def look(staging: Staging) -> None:
        staged.extend(staging.place.files)

    trees = []
    for changes in (
        {},
        {"driver_join_bytes": -1, "driver_events": 1000},
        {"driver_join_bytes": -1, "driver_events": 0},
    ):
        set_limits(monkeypatch, **changes)
        t = lab.create("id bigint, v string", partitioned="p int, q string", clustered=clustered)
        texts = "array('a', 'A', 'ab', 'a/b', 'é', '~', '', NULL)"
        lab.sql(
            f"INSERT INTO {t} SELECT id, 'a', id % 3 - 1, {texts}[id % 8] FROM {{r}}",
            r=lab.spark.range(0, 40),
        )
        staged.clear()
        with attached(Point.BEFORE_MERGING_EVENTS, look):
            assert lab.sql(
                f"""MERGE INTO {t} USING (SELECT explode(sequence(0, 29)) AS id) s ON {t}.id = s.id
                WHEN MATCHED AND s.id < 10 THEN DELETE
                WHEN MATCHED AND s.id < 20 THEN UPDATE SET v = 'b', p = 5
                WHEN NOT MATCHED BY SOURCE AND {t}.id > 37 THEN DELETE"""
            ) == [(22, 10, 12, 0)]
        # Rows have a directory for each partition; delete events of a clause have one.
        assert Counter(d.target for d in staged if d.target[0] != "i") == (
            {"d0": 1, "d1": 1, "d2": 1, "m": 1} if changes else {}
        )
        assert {d.values[0] for d in staged if d.target[0] == "i"} == {"5"}
        files = sorted_files(lab, t)
        trees.append(
            (
                lab.tree(t),
                lab.rows(t),
                {p: (f.events, hive_items(f)) for p, f in files.items() if "delete" in p},
            )
        )
    assert trees[0] == trees[1] == trees[2]


@pytest.mark.repeated
@pytest.mark.parametrize("retained", ["true", "false"])
@pytest.mark.parametrize("limit", [0, 1000])
def test_both_ways_of_settling_deletes_find_rows_matched_twice(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, limit: int, retained: str
) -> None:
    set_limits(monkeypatch, driver_events=limit)
    with lab.settings(spark__sql__retainGroupColumns=retained):
        _find_rows_matched_twice(lab)


def _find_rows_matched_twice(lab: Lab) -> None:
    t = lab.create("id int, v int", values="(1, 1), (2, 2), (3, 3)")
    before = lab.state(t)
    source = "(SELECT * FROM VALUES (1, 5), (1, 6), (2, 7) AS s(id, v)) s"
    for clause in (
        "WHEN MATCHED THEN UPDATE SET v = s.v",
        "WHEN MATCHED AND s.v = 5 THEN UPDATE SET v = 9",
        "WHEN MATCHED AND s.v = 5 THEN DELETE WHEN MATCHED THEN UPDATE SET v = 9",
    ):
        with pytest.raises(CardinalityError, match="MERGE_CARDINALITY_VIOLATION"):
            lab.sql(f"MERGE INTO {t} USING {source} ON {t}.id = s.id {clause}")
        assert lab.state(t) == before
    # Only deleting it, whichever match does it, is harmless.
    assert lab.sql(f"MERGE INTO {t} USING {source} ON {t}.id = s.id WHEN MATCHED THEN DELETE") == [
        (2, 0, 2, 0)
    ]
    (deletes,) = [f for p, f in sorted_files(lab, t).items() if p.startswith("delete")]
    assert len(deletes.events) == 2
    assert lab.rows(t) == [(3, 3)]


@pytest.mark.slow
def test_a_task_that_sorts_delete_events_holds_no_other_rows(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that no window is in the plan that sorts delete events.

    A window keeps all rows of a file in memory beside the sort. With 15 million events in a heap of
    4 GiB the sort spilled them one by one, until the buffers of its spill files filled the heap.
    """
    set_limits(monkeypatch, driver_events=0)
    set_limits(monkeypatch, driver_join_bytes=-1)
    t = lab.create("id int, v int", values="(1, 1), (2, 2), (3, 3)")
    before = last_execution(lab)
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    lab.sql(
        f"MERGE INTO {t} USING (SELECT 1 AS id) s ON {t}.id = s.id "
        f"WHEN MATCHED THEN UPDATE SET v = 9 WHEN NOT MATCHED BY SOURCE THEN DELETE"
    )
    sorting = [plan for plan in plans_since(lab, before) if "rowId" in plan and "Sort" in plan]
    assert len(sorting) >= 2
    assert not any("Window" in plan for plan in sorting)
