"""Tests of compaction: copied stripes, rewritten stripes, and cases that are left to Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.orc as pa_orc
import pyorc
import pytest

from acidsql import bridge
from acidsql.compaction import merging, rewriting
from acidsql.errors import AcidSqlError
from acidsql.format.orc_stripes import stripe_file, stripes_of
from tests.limits import set_limits
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# Stripes of 1,024 rows.
STRIPES = {"orc.stripe.size": "1024", "orc.rows.between.memory.checks": "1024"}


@dataclass
class Written:
    """Numbers of rows that were written: by Spark, and from file to file."""

    spark: list[int] = field(default_factory=list)
    anew: list[int] = field(default_factory=list)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Written:
    """Record what compactions write beside copies of stripes."""
    found = Written()
    by_spark, anew = rewriting.write_buckets_of, bridge.rewrite_stripes

    def counted(*given: Any, **named: Any) -> None:
        found.spark.append(given[2].count())
        by_spark(*given, **named)

    def rewritten(spark: Any, stripes: Sequence[bridge.StripeRows], *given: Any) -> None:
        found.anew.append(sum(some.rows - len(some.left_out) for some in stripes))
        anew(spark, stripes, *given)

    monkeypatch.setattr(merging, "write_buckets_of", counted)
    monkeypatch.setattr(bridge, "rewrite_stripes", rewritten)
    return found


def table(lab: Lab, *counts: int, columns: str = "id INT, t STRING", **properties: str) -> str:
    """Create a table with one INSERT for each of these numbers of rows."""
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
    lab: Lab, written: Written
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
    assert written == Written()
    assert stripe_bytes(only(lab, t, "delta_0000001_0000004_v*")) == expected
    assert len(expected) == 5
    (deletes,) = (
        f for p, f in lab.files(t).items() if p.startswith("delete_delta_0000001_0000004")
    )
    assert [(e[0], e[4]) for e in deletes.events] == [(2, 3), (2, 4), *[(2, 3)] * 5, (2, 4)]
    assert deletes.metadata["hive.acid.stats"] == "0,0,8"


@pytest.mark.slow
def test_major_compaction_writes_only_stripes_with_deleted_rows(lab: Lab, written: Written) -> None:
    t = table(lab, 5000, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id BETWEEN 2046 AND 2049 OR id = 7500")
    sources = [only(lab, t, f"delta_000000{i}_000000{i}_0000") for i in (1, 2)]
    old = [stripe for source in sources for stripe in stripe_bytes(source)]
    compacted(lab, t, "major")
    assert sorted(written.anew) == [952 - 1, 1024 + 1024 - 4]
    assert not written.spark
    new = stripe_bytes(only(lab, t, "base_*"))
    assert len(old) == 8
    assert [stripe for stripe in new if stripe in old] == [old[i] for i in (0, 3, 4, 5, 6)]
    (file,) = lab.files(t).values()
    assert file.metadata["hive.acid.stats"] == "7995,0,0"


def test_a_stripe_whose_rows_are_all_deleted_is_gone(lab: Lab, written: Written) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id >= 1024 AND id < 2048")
    compacted(lab, t, "major")
    assert written == Written()
    assert len(stripe_bytes(only(lab, t, "base_*"))) == 2


def test_everything_deleted(lab: Lab) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t}")
    compacted(lab, t, "major")
    assert lab.sql(f"SELECT * FROM {t}") == []


@pytest.mark.repeated
def test_partitions_and_buckets_each_have_their_files(lab: Lab, written: Written) -> None:
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
    assert not written.spark
    assert 0 < sum(written.anew) < 4000
    assert {n.rpartition("/")[2] for n in lab.files(t)} == {"bucket_00000", "bucket_00001"}


@pytest.mark.parametrize("kind", ["minor", "major"])
def test_many_small_stripes_become_one(
    lab: Lab, written: Written, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    set_limits(monkeypatch, small_stripes=5)
    t = lab.create("id INT, t STRING")
    for first in range(6):
        insert(lab, t, first * 3, 3)
    compacted(lab, t, kind)
    assert written == Written(anew=[18])
    assert len(stripe_bytes(only(lab, t, "[bd]*_v*"))) == 1


COMPRESS = "ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress'='SNAPPY')"
STRIDE = "ALTER TABLE {t} SET TBLPROPERTIES ('orc.row.index.stride'='2000')"


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["minor", "major"])
@pytest.mark.parametrize(
    ("change", "by_spark"),
    [
        (COMPRESS, False),
        (STRIDE, False),
        ("ALTER TABLE {t} ADD COLUMNS (n INT)", True),
        ("ALTER TABLE {t} RENAME COLUMN t TO other", True),
        ("ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT", True),
    ],
)
def test_files_of_several_kinds_are_written_anew(
    lab: Lab, written: Written, change: str, by_spark: bool, kind: str
) -> None:
    t = table(lab, 2000)
    lab.sql(change.format(t=t))
    insert(lab, t, 2000, 1500, ", 1" if "ADD" in change else "")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    compacted(lab, t, kind)
    rows = [3500 if kind == "minor" else 3499]
    assert written == (Written(spark=rows) if by_spark else Written(anew=rows))
    merged = [f for p, f in lab.files(t).items() if not p.startswith("delete")]
    assert {f.codec for f in merged} == {"SNAPPY" if change == COMPRESS else "ZSTD"}


@pytest.mark.sample(1)
@pytest.mark.parametrize("change", [COMPRESS, STRIDE])
def test_what_is_written_anew_takes_with_it_what_cannot_stand_beside_it(
    lab: Lab, written: Written, change: str
) -> None:
    t = table(lab, 5000)
    lab.sql(change.format(t=t))
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    compacted(lab, t, "major")
    assert not written.spark
    assert written.anew[-1] == 4999


def test_a_changed_codec_is_that_of_the_next_base(lab: Lab) -> None:
    t = table(lab, 2000, 1000)
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress'='SNAPPY')")
    compacted(lab, t, "major")
    assert {file.codec for file in lab.files(t).values()} == {"SNAPPY"}


@pytest.mark.repeated
def test_rows_deleted_everywhere(lab: Lab, written: Written) -> None:
    t = table(lab, 5000, 3000)
    lab.sql(f"UPDATE {t} SET t = 'new' WHERE id % 10 = 3")
    lab.sql(f"DELETE FROM {t} WHERE id % 7 = 1 OR id < 2000 OR id > 7000")
    rows = lab.sql(f"SELECT count(*) FROM {t}")[0][0]
    compacted(lab, t, "major")
    assert not written.spark
    assert sum(written.anew) == rows
    insert(lab, t, 8000, 2000)
    lab.sql(f"DELETE FROM {t} WHERE t = 'new' OR id BETWEEN 7900 AND 8100")
    compacted(lab, t, "major")
    assert not written.spark


def test_a_cluster_writes_what_is_much(
    lab: Lab, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    monkeypatch.setattr(lab.spark.sparkContext, "master", "yarn")
    set_limits(monkeypatch, rewritten_bytes=1000)
    compacted(lab, t, "major")
    assert written == Written(spark=[2999])


def test_more_delete_events_than_the_driver_holds_are_left_to_spark(
    lab: Lab, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id % 100 = 1")
    set_limits(monkeypatch, compaction_events=29)
    compacted(lab, t, "major")
    assert written == Written(spark=[2970])


@pytest.mark.slow
def test_a_bucket_is_written_in_pieces(
    lab: Lab, written: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = table(lab, 5000, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id % 100 = 1")
    set_limits(monkeypatch, least_chunk_bytes=1000)
    set_limits(monkeypatch, most_chunk_bytes=1000)
    compacted(lab, t, "major")
    assert len(written.anew) > 2
    assert sum(written.anew) == 7920


@pytest.mark.parametrize(
    ("part", "condition"), [("keys", "FAILED_READ_FILE"), ("values", "WRITE_JOB_FAILED")]
)
def test_damage_found_by_a_compaction_is_named(lab: Lab, part: str, condition: str) -> None:
    t = table(lab, 3000)
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    path = only(lab, t, "delta_*")
    content = bytearray(path.read_bytes())
    file = stripe_file(bytes(content), len(content))
    assert file is not None
    stripe = file.tail.stripes[0]
    data = stripe.offset + stripe.index_length
    end = data + stripe.data_length
    start, end = (data, data + 40) if part == "keys" else (end - 40, end)
    content[start:end] = b"\xff" * (end - start)
    path.write_bytes(content)
    before = lab.tree(t)
    with pytest.raises(AcidSqlError, match=f"{path.name} c.* not be|{path.name} cannot") as error:
        lab.compact(t, "major")
    assert error.value.condition == condition
    assert lab.tree(t) == before
    assert lab.compaction(t).state == "failed"


@pytest.mark.repeated
def test_a_column_that_was_added_later_is_null_in_copied_stripes(
    lab: Lab, written: Written
) -> None:
    t = table(lab, 2000, 1000)
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (n INT)")
    compacted(lab, t, "minor")
    assert written == Written()
    assert lab.sql(f"SELECT count(*), count(n) FROM {t}") == [(3000, 0)]
    lab.sql(f"DELETE FROM {t} WHERE id = 1500")
    compacted(lab, t, "major")
    assert not written.spark
    assert 0 < sum(written.anew) < 2999


@pytest.mark.repeated
def test_rows_of_an_aborted_transaction_are_not_copied(lab: Lab, written: Written) -> None:
    t = table(lab, 2000, 1000)
    with pytest.raises(Exception, match="DIVIDE_BY_ZERO"):
        lab.sql(f"INSERT INTO {t} SELECT 1, CAST(1 / (id - id) AS STRING) FROM range(10)")
    insert(lab, t, 3000, 1000)
    compacted(lab, t, "major")
    assert written == Written()
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
