"""Row ids of delete events by where they go, without Spark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.model import Column, Table
from acidsql.storage.delete_files import RowId
from acidsql.storage.driver_writer import EventDestination, group_by_place

_TABLE = Table(
    database="d",
    name="t",
    columns=(Column(name="id", type="int"),),
    partition_columns=(Column(name="p", type="int"), Column(name="q", type="string")),
)
_places = st.tuples(
    st.sampled_from(["d0", "d1"]), st.integers(0, 150).map(str), st.text("aä ", max_size=2)
)


def _table(rows: Sequence[tuple[str, str, str]]) -> pa.Table:
    numbers = range(len(rows))
    targets, *values = ([row[i] for row in rows] for i in range(3))
    keys = [pa.array([n % 5 for n in numbers]), pa.array([7] * len(rows)), pa.array(numbers)]
    return pa.table([targets, *keys, *values], names=[f"c{i}" for i in range(6)])


@given(st.lists(_places, max_size=400))
def test_each_place_has_its_row_ids(rows: list[tuple[str, str, str]]) -> None:
    expected = defaultdict(list)
    for number, (target, *values) in enumerate(rows):
        expected[EventDestination(target, tuple(values))].append(RowId(number % 5, 7, number))
    found = group_by_place(_table(rows), _TABLE)
    assert {p: sorted(RowId(**k) for k in own.to_pylist()) for p, own in found.items()} == {
        place: sorted(own) for place, own in expected.items()
    }


def test_many_places_have_their_row_ids() -> None:
    """Check many groups, which Arrow returns in no certain order."""
    rows = [("d0", str(n % 97), "x" * (n % 7)) for n in range(1, 3000) if n % 3 != n % 7]
    for place, own in group_by_place(_table(rows), _TABLE).items():
        assert {(*place[:1], *place.values) for _ in own.to_pylist()} == {
            rows[key["row_id"]] for key in own.to_pylist()
        }
