"""Compaction copies stripes where it can, and has Spark write the others anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.orc as pa_orc
import pyorc
import pytest

from acidsql.compaction import merging, stripes
from acidsql.format.orc_stripes import stripe_file, stripes_of
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# Stripes of 1,024 rows.
STRIPES = {"orc.stripe.size": "1024", "orc.rows.between.memory.checks": "1024"}


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that compactions have Spark write, in ``merging`` and in ``stripes``."""
    found: list[int] = []
    modules: tuple[Any, ...] = (merging, stripes)
    for module in modules:
        write = module.write_buckets_of

        def counted(*given: Any, write: Any = write, **named: Any) -> None:
            found.append(given[2].count())
            write(*given, **named)

        monkeypatch.setattr(module, "write_buckets_of", counted)
    return found


def table(lab: Lab, *counts: int, columns: str = "id INT, t STRING", **properties: str) -> str:
    """A table with one INSERT for each of these numbers of rows."""
    name = lab.create(columns, properties={**STRIPES, **properties})
    first = 0
    for count in counts:
        insert(lab, name, first, count)
        first += count
    return name


def insert(lab: Lab, name: str, first: int, count: int, more: str = "") -> None:
    lab.sql(
        f"INSERT INTO {name} SELECT CAST(id AS INT), concat('t', id){more} "
        f"FROM range({first}, {first + count}, 1, 1)"
    )


def compacted(lab: Lab, name: str, kind: str) -> None:
    """Compact a table: its rows and row ids stay, and its files are as they should be."""
    before = lab.rows(name, "*, row__id")
    assert lab.compact(name, kind).state == "succeeded"
    assert lab.rows(name, "*, row__id") == before
    for path, file in lab.files(name).items():
        assert file.metadata["hive.acid.key.index"] == file.expected_key_index, path
        assert file.keys == sorted(file.keys)
        content = pa_orc.ORCFile(str(lab.root(name) / path)).read(columns=["rowId"])
        assert content.num_rows == len(file.events)


def stripe_bytes(path: Path) -> list[bytes]:
    content = path.read_bytes()
    file = stripe_file(content, len(content))
    assert file is not None
    places = [(s.stripe.offset, s.stripe.offset + s.length) for s in stripes_of(file)]
    return [content[start:end] for start, end in places]


def only(lab: Lab, name: str, pattern: str) -> Path:
    (found,) = lab.root(name).glob(f"{pattern}/bucket_00000")
    return found


def test_minor_compaction_copies_rows_and_merges_deletes_without_spark(
    lab: Lab, written: list[int]
) -> None:
    t = table(lab, 2500, 1500)
    lab.sql(f"DELETE FROM {t} WHERE id % 700 = 3")
    lab.sql(f"DELETE FROM {t} WHERE id IN (5, 3999)")
    expected = [
        stripe
        for i in (1, 2)
        for stripe in stripe_bytes(only(lab, t, f"delta_000000{i}_000000{i}_0000"))
    ]
    compacted(lab, t, "minor")
    assert written == []
    assert stripe_bytes(only(lab, t, "delta_0000001_0000004_v*")) == expected
    assert len(expected) == 5
    (deletes,) = (
        f for p, f in lab.files(t).items() if p.startswith("delete_delta_0000001_0000004")
    )
    assert [(e[0], e[4]) for e in deletes.events] == [(2, 3), (2, 4), *[(2, 3)] * 5, (2, 4)]
    assert deletes.metadata["hive.acid.stats"] == "0,0,8"


def test_major_compaction_writes_only_stripes_with_deleted_rows(
    lab: Lab, written: list[int]
) -> None:
    t = table(lab, 5000, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id BETWEEN 2046 AND 2049 OR id = 7500")
    sources = [only(lab, t, f"delta_000000{i}_000000{i}_0000") for i in (1, 2)]
    old = [stripe for source in sources for stripe in stripe_bytes(source)]
    compacted(lab, t, "major")
    assert written == [1024 + 1024 + 952 - 5]
    new = stripe_bytes(only(lab, t, "base_*"))
    assert len(new) == len(old) == 8
    assert [a == b for a, b in zip(old, new, strict=True)] == [
        *(True, False, False, True, True),
        *(True, True, False),
    ]
    (file,) = lab.files(t).values()
    assert file.metadata["hive.acid.stats"] == "7995,0,0"


def test_a_stripe_whose_rows_are_all_deleted_is_gone(lab: Lab, written: list[int]) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id >= 1024 AND id < 2048")
    compacted(lab, t, "major")
    assert written == [0]
    assert len(stripe_bytes(only(lab, t, "base_*"))) == 2


def test_everything_deleted(lab: Lab) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t}")
    compacted(lab, t, "major")
    assert lab.sql(f"SELECT * FROM {t}") == []


def test_partitions_and_buckets_each_have_their_files(lab: Lab, written: list[int]) -> None:
    t = lab.create(
        "id INT, t STRING",
        partitioned="p INT",
        clustered="(id) INTO 2 BUCKETS",
        properties=STRIPES,
    )
    for first in (0, 4000):
        insert(lab, t, first, 4000, ", CAST(id % 2 AS INT)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1000 OR id = 5001")
    for p in (0, 1):
        before = lab.rows(t, "*, row__id")
        lab.compact(t, "major", f"p={p}")
        assert lab.rows(t, "*, row__id") == before
    assert 0 < sum(written) < 4000
    assert {n.rpartition("/")[2] for n in lab.files(t)} == {"bucket_00000", "bucket_00001"}


def test_many_small_stripes_become_one(lab: Lab, written: list[int]) -> None:
    t = table(lab, 3000, *[3] * 25)
    compacted(lab, t, "minor")
    assert len(written) == 1
    t = table(lab, 3000, *[3] * 25)
    compacted(lab, t, "major")
    assert written[1:] in ([75 + 3000], [75])


@pytest.mark.parametrize("kind", ["minor", "major"])
@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress'='SNAPPY')",
        "ALTER TABLE {t} ADD COLUMNS (n INT)",
        "ALTER TABLE {t} RENAME COLUMN t TO other",
        "ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT",
        "ALTER TABLE {t} SET TBLPROPERTIES ('orc.row.index.stride'='2000')",
    ],
)
def test_files_of_several_kinds_are_left_to_spark(
    lab: Lab, written: list[int], change: str, kind: str
) -> None:
    t = table(lab, 2000)
    lab.sql(change.format(t=t))
    insert(lab, t, 2000, 1500, ", 1" if "ADD" in change else "")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    compacted(lab, t, kind)
    assert written == [3500 if kind == "minor" else 3499]


def test_a_changed_codec_is_that_of_the_next_base(lab: Lab) -> None:
    t = table(lab, 2000, 1000)
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress'='SNAPPY')")
    compacted(lab, t, "major")
    assert {file.codec for file in lab.files(t).values()} == {"SNAPPY"}


def test_many_deleted_rows_are_left_to_spark(lab: Lab, written: list[int]) -> None:
    t = table(lab, 4000)
    lab.sql(f"DELETE FROM {t} WHERE id % 1000 = 0 AND id < 3000")
    compacted(lab, t, "major")
    assert written == [3997]


def test_a_column_that_was_added_later_is_null_in_copied_stripes(
    lab: Lab, written: list[int]
) -> None:
    t = table(lab, 2000, 1000)
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (n INT)")
    compacted(lab, t, "minor")
    assert written == []
    assert lab.sql(f"SELECT count(*), count(n) FROM {t}") == [(3000, 0)]
    # Rows that are written anew would have it: they are of another kind than those beside them.
    lab.sql(f"DELETE FROM {t} WHERE id = 1500")
    compacted(lab, t, "major")
    assert written[-1] == 2999


def test_rows_of_an_aborted_transaction_are_not_copied(lab: Lab, written: list[int]) -> None:
    t = table(lab, 2000, 1000)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        lab.sql(f"INSERT INTO {t} SELECT 1, CAST(1 / (id - id) AS STRING) FROM range(10)")
    insert(lab, t, 3000, 1000)
    compacted(lab, t, "major")
    assert written == []
    assert lab.sql(f"SELECT count(*), max(id) FROM {t}") == [(4000, 3999)]


def test_statistics_of_the_file_are_those_of_its_rows(lab: Lab) -> None:
    t = table(lab, 2000, 1000)
    compacted(lab, t, "minor")
    with only(lab, t, "delta_0000001_0000002_v*").open("rb") as stream:
        reader = pyorc.Reader(stream)
        statistics = {n: reader[n].statistics for n in (2, 4, 7, 8)}
    assert (statistics[2]["minimum"], statistics[2]["maximum"]) == (1, 2)
    assert (statistics[4]["minimum"], statistics[4]["maximum"]) == (0, 1999)
    assert (statistics[7]["minimum"], statistics[7]["maximum"]) == (0, 2999)
    assert statistics[7]["sum"] == sum(range(3000))
    assert (statistics[8]["minimum"], statistics[8]["maximum"]) == ("t0", "t999")
