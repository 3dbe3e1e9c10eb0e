"""Tests of the codec of new tables, and of the files that are written into them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

import acidsql

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def _codecs(lab: Lab, table: str) -> set[str]:
    return {file.codec for file in lab.files(table).values()}


def _property(lab: Lab, table: str) -> str | None:
    return dict(lab.sql(f"SHOW TBLPROPERTIES {table}")).get("orc.compress")


@pytest.mark.slow
def test_new_tables_are_written_with_zstd(lab: Lab) -> None:
    t = lab.create("id int, v string", values="(1, 'a'), (2, 'b'), (3, 'c')")
    lab.sql(f"INSERT INTO {t} SELECT id, 'r' FROM range(10, 2000)")
    lab.sql(f"UPDATE {t} SET v = 'u' WHERE id = 2")
    lab.sql(f"UPDATE {t} SET v = 'w' WHERE id > 9")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    assert (_property(lab, t), _codecs(lab, t)) == ("ZSTD", {"ZSTD"})
    lab.compact(t, "minor")
    lab.compact(t, "major")
    assert _codecs(lab, t) == {"ZSTD"}
    assert lab.rows(t)[:2] == [(10, "w"), (100, "w")]


def test_the_table_property_decides(lab: Lab) -> None:
    with lab.settings(spark__acidsql__orc__compress="lz4"):
        t = lab.create("id int", properties={"orc.compress": "snappy"}, values="(1)")
    assert (_property(lab, t), _codecs(lab, t)) == ("snappy", {"SNAPPY"})


@pytest.mark.parametrize(
    ("settings", "codec"),
    [
        ({"spark__acidsql__orc__compress": "ZLIB"}, "ZLIB"),
        ({"spark__sql__orc__compression__codec": "snappy"}, "SNAPPY"),
        ({"spark__sql__orc__compression__codec": "uncompressed"}, "NONE"),
        (
            {
                "spark__acidsql__orc__compress": "lz4",
                "spark__sql__orc__compression__codec": "brotli",
            },
            "LZ4",
        ),
    ],
)
def test_the_session_chooses(lab: Lab, settings: dict[str, str], codec: str) -> None:
    with lab.settings(**settings):
        t = lab.create("id int", values="(1)")
    assert _property(lab, t) == codec
    lab.insert(t, "(2)")  # what a table was created with stays
    assert _codecs(lab, t) == {codec}


def test_a_codec_that_is_unknown_is_refused(lab: Lab) -> None:
    for key in ("spark__acidsql__orc__compress", "spark__sql__orc__compression__codec"):
        with (
            lab.settings(**{key: "lzo"}),
            pytest.raises(PySparkException) as caught,
        ):
            lab.create("id int")
        assert caught.value.getCondition() == "INVALID_CONF_VALUE"


def test_insert_only_tables_have_one_too(lab: Lab) -> None:
    t = lab.create("id int", properties={"transactional_properties": "insert_only"})
    lab.sql(f"INSERT INTO {t} VALUES (1)")
    (file,) = lab.root(t).rglob("0*")
    assert _property(lab, t) == "ZSTD"
    assert b"ORC" in file.read_bytes()[-4:]


def test_an_adopted_table_takes_that_of_its_newest_file(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id int", properties={"orc.compress": "zlib"}, values="(1)")
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress'='snappy')")
    lab.insert(t, "(2)")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    shutil.copytree(lab.root(t), tmp_path / "copy")
    lab.sql(
        f"CREATE TABLE {t}_adopted (id int) STORED AS ORC LOCATION '{tmp_path}/copy' "
        "TBLPROPERTIES ('transactional'='true')"
    )
    assert _property(lab, f"{t}_adopted") == "SNAPPY"
    assert lab.rows(f"{t}_adopted") == [(2,)]


def test_a_converted_table_takes_that_of_its_newest_file(lab: Lab) -> None:
    lab.spark.range(3).write.format("orc").option("compression", "lz4").saveAsTable("lz4_table")
    acidsql.sql(lab.spark, "ALTER TABLE lz4_table SET TBLPROPERTIES ('transactional'='true')")
    assert _property(lab, "lz4_table") == "LZ4"
    lab.sql("UPDATE lz4_table SET id = 9 WHERE id = 2")
    assert lab.rows("lz4_table") == [(0,), (1,), (9,)]


@pytest.mark.repeated
def test_minor_compaction_of_several_codecs_keeps_every_row(lab: Lab) -> None:
    t = lab.create("id int, v string", properties={"orc.compress": "zlib"})
    for number, codec in enumerate(("zlib", "zstd", "none", "zstd")):
        lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress'='{codec}')")
        lab.insert(t, f"({number}, '{codec}'), ({number + 10}, 'gone')")
        lab.sql(f"DELETE FROM {t} WHERE id = {number + 10}")
    assert _codecs(lab, t) == {"ZLIB", "ZSTD", "NONE"}
    before = lab.rows(t, "row__id, *")
    lab.compact(t, "minor")
    assert _codecs(lab, t) == {"ZSTD"}
    assert lab.rows(t, "row__id, *") == before
    lab.compact(t, "major")
    assert (_codecs(lab, t), lab.rows(t, "row__id, *")) == ({"ZSTD"}, before)
