"""Tests of rewritten stripes: rows go from file to file unchanged, except those left out."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyorc
import pytest
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import FormatError
from acidsql.format.orc_stripes import StripeFile, stripe_file

pytestmark = pytest.mark.spark

SCHEMA = (
    "struct<i:bigint,s:string,d:decimal(7,2),w:decimal(30,3),c:char(4),b:binary,"
    "l:array<struct<x:int,y:string>>,m:map<string,double>>"
)


def values(i: int) -> tuple[Any, ...]:
    """Return a row of SCHEMA; each of its columns is sometimes null."""
    row = (
        i,
        f"text {i * 7919}",
        Decimal(i) / 100,
        Decimal(i) * 10**15 + Decimal("0.001"),
        "ab  ",
        bytes([i % 256]) * (i % 5),
        [(j, None if j else "y") for j in range(i % 3)],
        {"k": i / 7, "n": None},
    )
    return tuple(None if (i + n) % 11 == 10 else value for n, value in enumerate(row))


def write(path: Path, schema: str, rows: Sequence[tuple[Any, ...]], **settings: Any) -> Path:
    with path.open("wb") as stream, pyorc.Writer(stream, schema, **settings) as writer:
        writer.writerows(rows)
    return path


def read(path: Path) -> list[Any]:
    with path.open("rb") as stream:
        return list(pyorc.Reader(stream))


def stripes_of(path: Path) -> StripeFile:
    content = path.read_bytes()
    file = stripe_file(content, len(content))
    assert file is not None
    return file


def rewrite(
    spark: SparkSession,
    path: Path,
    left_out: Sequence[int] = (),
    stripes: slice = slice(None),
    **settings: str,
) -> Path:
    target = path.with_name(f"{path.name}_anew")
    own = stripes_of(path).tail.stripes[stripes]
    conf = bridge.hadoop_conf(spark)
    whole = bridge.StripeRows(
        path=bridge.hadoop_path(spark, str(path), conf)[1],
        start=own[0].offset,
        length=sum(s.index_length + s.data_length + s.footer_length for s in own),
        rows=sum(s.rows for s in own),
        left_out=left_out,
    )
    settings = {f"orc.{key.replace('_', '.')}": value for key, value in settings.items()}
    bridge.rewrite_stripes(
        spark, [whole], bridge.hadoop_path(spark, str(target), conf)[1], settings
    )
    return target


@pytest.mark.slow
def test_rows_that_are_left_out_are_the_only_ones_missing(
    spark: SparkSession, tmp_path: Path
) -> None:
    rows = [values(i) for i in range(30_000)]
    path = write(tmp_path / "rows", SCHEMA, rows, stripe_size=100_000, batch_size=1000)
    lengths = [s.rows for s in stripes_of(path).tail.stripes]
    assert len(lengths) > 2
    chance = random.Random(7)
    choices: list[Sequence[int]] = [
        (),
        (0,),
        (29_999,),
        range(8192),
        range(30_000),
        sorted(chance.sample(range(30_000), 3000)),
        sorted(chance.sample(range(30_000), 29_000)),
    ]
    for n, left_out in enumerate(choices):
        gone = set(left_out)
        target = rewrite(spark, path, left_out, compress="ZSTD")
        kept = [row for i, row in enumerate(rows) if i not in gone]
        assert read(target) == kept, n
        assert stripes_of(target).tail.compression == "zstd"
        target.unlink()
    second = rewrite(spark, path, [0, 5], slice(1, 3))
    first = lengths[0]
    expected = rows[first : first + lengths[1] + lengths[2]]
    del expected[5], expected[0]
    assert read(second) == expected


def test_wide_rows_are_read_a_few_at_a_time(spark: SparkSession, tmp_path: Path) -> None:
    chance = random.Random(7)
    rows = [(i, chance.randbytes(500_000)) for i in range(40)]
    path = write(tmp_path / "wide", "struct<i:int,b:binary>", rows)
    assert read(rewrite(spark, path, [3])) == [row for row in rows if row[0] != 3]


@pytest.fixture
def new_york(spark: SparkSession) -> Iterator[None]:
    """Change the JVM's default time zone."""
    zones = spark._jvm.java.util.TimeZone
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone("America/New_York"))
    yield
    zones.setDefault(before)


@pytest.mark.usefixtures("new_york")
@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kolkata"])
def test_wall_clocks_stay(spark: SparkSession, tmp_path: Path, zone: str) -> None:
    own = ZoneInfo(zone)
    clocks = [
        # There is no such hour in New York, and the next one is there twice.
        (datetime(2024, 3, 10, 2, 30, tzinfo=own), date(2024, 3, 10)),
        (datetime(2024, 11, 3, 1, 30, tzinfo=own), date(1582, 10, 15)),
        (datetime(1931, 7, 1, 1, 2, 3, 123456, tzinfo=own), date(1931, 7, 1)),
        (datetime(1969, 12, 31, 23, 59, 58, 500000, tzinfo=own), date(1969, 12, 31)),
        (datetime(2024, 7, 1, 12, 34, 56, 789000, tzinfo=own), date(9999, 12, 31)),
    ]
    path = write(tmp_path / "clocks", "struct<t:timestamp,d:date>", clocks, timezone=own)
    before = [(t.replace(tzinfo=None), d) for t, d in read(path)]
    after = [(t.replace(tzinfo=None), d) for t, d in read(rewrite(spark, path))]
    assert after == before
    if zone == "UTC":
        assert before == [(t.replace(tzinfo=None), d) for t, d in clocks]


def test_dates_stay_those_of_their_calendar(spark: SparkSession, tmp_path: Path) -> None:
    days = [(date(1500, 1, 1),), (date(1582, 10, 15),), (date(2024, 2, 29),)]
    path = write(tmp_path / "days", "struct<d:date>", days)
    hybrid = rewrite(spark, path)
    assert read(hybrid) == read(path)
    # Where the calendars differ, the same day has another number.
    proleptic = rewrite(spark, hybrid, proleptic_gregorian="true")
    assert stripes_of(proleptic).is_proleptic
    assert not stripes_of(hybrid).is_proleptic
    assert [read(proleptic)[i] == read(hybrid)[i] for i in range(3)] == [False, True, True]
    again = rewrite(spark, proleptic, proleptic_gregorian="true")
    assert read(again) == read(proleptic)
    texts = [
        [str(row[0]) for row in spark.read.orc(str(file)).collect()]
        for file in (hybrid, proleptic, again)
    ]
    assert texts[0] == texts[1] == texts[2]


def test_a_file_with_fewer_rows_than_it_should_have_is_an_error(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = write(tmp_path / "rows", "struct<i:int>", [(1,), (2,)])
    conf = bridge.hadoop_conf(spark)
    source, target = (
        bridge.hadoop_path(spark, str(p), conf)[1] for p in (path, tmp_path / "target")
    )
    wrong = bridge.StripeRows(path=source, start=3, length=1, rows=3, left_out=())
    with pytest.raises(FormatError, match="gave 2 rows in place of 3") as error:
        bridge.rewrite_stripes(spark, [wrong], target, {})
    assert error.value.condition == "FAILED_READ_FILE"
