"""Bucket files by acidsql's writer, beside files by Spark's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyorc
import pytest

from acidsql.format.acid_metadata import KEY_INDEX, STATS, parse_key_index, parse_stats
from acidsql.storage.tails import last_keys, read_tail

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# Values of all types, NULL, and what lies at the ends of their ranges.
_VALUES = """
    SELECT * FROM VALUES
    (true, 1Y, 2S, 3, 4L, 5.5F, 6.25D, 'a', X'00FF',
     CAST(1.10 AS DECIMAL(9,2)), CAST('12345678901234567890.0123456789' AS DECIMAL(30,10)),
     DATE'2020-02-29', TIMESTAMP'2020-02-29 23:59:59.123456',
     array(1, null, 3), map('k', array(CAST(1.5 AS DECIMAL(5,2))), 'l', null),
     named_struct('x', 1, 'y', 'z')),
    (false, -128Y, -32768S, -2147483648, -9223372036854775807L, float('nan'), double('-Infinity'),
     '', X'', -9.99BD, -0.0000000001BD, DATE'0001-01-01', TIMESTAMP'0002-01-01 00:00:00',
     array(), map(), named_struct('x', null, 'y', null)),
    (null, 127Y, 32767S, 2147483647, 9223372036854775807L, float('-0.0'), double('1e-300'), '日本',
     X'E697A5', 0.00BD, 0BD, DATE'1582-10-04', TIMESTAMP'1582-10-15 00:00:00', null, null, null),
    (null, null, null, null, null, null, null, null, null, null, null, DATE'9999-12-31',
     TIMESTAMP'9999-12-31 23:59:59.999999', array(7), map('m', array()), null)
    AS v(b, t, s, i, l, f, d, c, x, short, long, day, at, a, m, r)"""
_TYPES = """b boolean, t tinyint, s smallint, i int, l bigint, f float, d double, c string,
    x binary, short decimal(9,2), long decimal(30,10), day date, at timestamp,
    a array<int>, m map<string,array<decimal(5,2)>>, r struct<x:int,y:string>"""


def _paths(lab: Lab, t: str) -> list[str]:
    return [str(lab.root(t) / name) for name in lab.tree(t) if "/bucket_" in name]


@pytest.mark.parametrize("hint", ["", "/*+ REPARTITION(1) */"], ids=["driver", "tasks"])
def test_values_are_those_of_sparks_writer(lab: Lab, tmp_path: Path, hint: str) -> None:
    t = lab.create(_TYPES)
    lab.sql(f"INSERT INTO {t} SELECT {hint} * FROM ({_VALUES})")
    plain = str(tmp_path / "plain")
    lab.spark.sql(f"SELECT * FROM ({_VALUES})").write.orc(plain)
    expected = lab.spark.read.orc(plain).collect()
    # All six columns, or ORC would not know what to do with the file.
    written = [event.row for event in lab.spark.read.orc(*_paths(lab, t)).collect()]
    assert sorted(map(str, written)) == sorted(map(str, expected))


def test_the_key_index_has_the_last_key_of_each_stripe(lab: Lab) -> None:
    properties = "TBLPROPERTIES ('transactional'='true', 'orc.stripe.size'='65536')"
    lab.sql(f"CREATE TABLE striped (id BIGINT, v STRING) STORED AS ORC {properties}")
    lab.sql("INSERT INTO striped SELECT id, uuid() FROM {r}", r=lab.spark.range(0, 60_000, 1, 1))
    (path,) = _paths(lab, "striped")
    files = lab.session.files
    tail = read_tail(files, path)
    assert len(tail.stripes) > 3
    keys = last_keys(files, path, len(tail.stripes))
    assert parse_key_index(tail.metadata[KEY_INDEX]) == tuple(keys)
    assert keys[-1] == (1, 536870912, 59_999)
    assert parse_stats(tail.metadata[STATS]) == (60_000, 0, 0)


def test_bloom_filters_are_those_of_the_tables_columns(lab: Lab) -> None:
    properties = "TBLPROPERTIES ('transactional'='true', 'orc.bloom.filter.columns'='v,nope')"
    lab.sql(f"CREATE TABLE filtered (id BIGINT, v STRING) STORED AS ORC {properties}")
    lab.sql("INSERT INTO filtered VALUES (1, 'a'), (2, 'b')")
    (path,) = _paths(lab, "filtered")
    with Path(path).open("rb") as stream:
        stripe = pyorc.Reader(stream).read_stripe(0)
        # Columns of a file are numbered: 1 to 5 are an event's, 6 is row, then the table's.
        assert stripe.bloom_filter_columns == (8,)
