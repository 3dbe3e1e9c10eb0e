"""Tests of changes that are read without Spark, over histories that Hive wrote."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

pytest.importorskip("pyspark.sql.datasource")

from acidsql.datasource.change_reader import Changes, ChangeTask
from acidsql.datasource.options import Defaults, source_options
from tests.golden.histories import GOLDEN_HISTORIES, GoldenHistory
from tests.streaming.conftest import Shelf

_NAMES = ("_change_type", "_commit_version")


@pytest.mark.parametrize(
    "golden",
    [g for g in GOLDEN_HISTORIES if not g.table.partition_columns],
    ids=lambda g: g.table.name,
)
def test_changes_make_each_version_of_the_one_before(shelf: Shelf, golden: GoldenHistory) -> None:
    shelf.create("; ".join(" ".join(column) for column in golden.table.columns))
    shutil.copytree(golden.data, shelf.home / "t", dirs_exist_ok=True)
    names = [name for name, _ in golden.table.columns]
    oldest = golden.oldest_with_changes
    for net in ("none", "netChanges"):
        given = {
            "path": "t",
            "readchangefeed": "true",
            "startingversion": str(oldest),
            "startingboundinclusive": "false",
            "deduplicationmode": net,
        }
        options = source_options(given, Defaults(metastore=str(shelf.path), time_zone="UTC"))
        assert options.changes is not None
        with options.client() as client:
            changes = Changes(client, options.table, options.changes, None)
            told = _told(changes.tasks_of_options([*names, *_NAMES]))
            first, last = changes.first(), changes.latest()
            assert _told(changes.tasks_between(first, last, [*names, *_NAMES])) == told
            assert not changes.tasks_between(last, last, names)
            everything = _told(changes.tasks_between(None, last, [*names, *_NAMES]))
        later = sorted(version for version in golden.versions if version >= oldest)
        texts = {v: Counter(tuple(row) for _, row in golden.versions[v]) for v in later}
        assert Counter(row for row, _, _ in everything) == texts[later[-1]]
        assert {kind for _, kind, _ in everything} <= {"insert"}
        changed: dict[int, Counter[Any]] = defaultdict(Counter)
        for row, kind, version in told:
            changed[version][row] += 1 if kind == "insert" else -1
        if net == "none":
            for before, after in pairwise(later):
                assert _after(texts[before], changed[after]) == texts[after], after
        every: Counter[Any] = Counter()
        for one in changed.values():
            every.update(one)
        assert _after(texts[later[0]], every) == texts[later[-1]]


def _told(tasks: list[ChangeTask]) -> list[tuple[tuple[str | None, ...], str, int]]:
    """Return rows as texts, kinds and versions, sorted."""
    found = [row for task in tasks for batch in task.batches() for row in batch.to_pylist()]
    texts = [
        (tuple(map(_text, own)), kind, version)
        for *own, kind, version in (row.values() for row in found)
    ]
    return sorted(texts, key=repr)


def _text(value: Any) -> str | None:
    """Return a value as Hive writes it."""
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return None if value is None else str(value)


def _after(rows: Counter[Any], changed: Counter[Any]) -> Counter[Any]:
    """Return rows after changes, which delete none that is not there."""
    made = Counter(rows)
    made.update(changed)
    assert not -made
    return +made
